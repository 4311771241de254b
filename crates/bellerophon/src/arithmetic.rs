//! Arithmetic on slots: the operations of the CKKS evaluator that programs call, with the range
//! that [`keep_within`](Evaluator::keep_within) promises.

use std::ops::Range;

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Sign},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial},
};
#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Ciphertext, CkksOps, Complex64, ComposedOps, SlotValue};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

use crate::evaluator::Evaluator;
#[cfg(doc)]
use crate::needs::Needs;

/// # Sums and products
/// Operands of different levels and scales are aligned. All of these refuse operands of other keys
/// or parameters, lengths that differ, and results that could
/// wrap around; those that take a level refuse operands without one.
impl Evaluator {
    /// `x + y`. Takes no level.
    pub fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.add(x, y)?)
    }

    /// `x - y`. Takes no level.
    pub fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.sub(x, y)?)
    }

    /// `-x`. Takes no level.
    pub fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.neg(x)?)
    }

    /// `x + c` for one number. Takes no level.
    pub fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.add_scalar(x, c)?)
    }

    /// `x + v` for a plain vector, one number for each value. Takes no level.
    pub fn add_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.stated(self.arithmetic.add_values(x, values)?)
    }

    /// `x y`, relinearized and rescaled ([`Needs::multiply`]). Takes one level.
    pub fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul(x, y)?)
    }

    /// `x^2`, faster than a product ([`Needs::multiply`]). Takes one level.
    pub fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.square(x)?)
    }

    /// `sum_i x_i y_i` over pairs of vectors, with one relinearization ([`Needs::multiply`]).
    /// Takes one level. The range of the result is that of products of any values: where the
    /// pairs are squares, declare that no value is negative
    /// ([`assume_range`](Self::assume_range)).
    pub fn dot(&self, x: &[&Ciphertext], y: &[&Ciphertext]) -> Result<Ciphertext> {
        self.stated(self.arithmetic.dot(x, y)?)
    }

    /// `c x` for one number. Takes one level.
    pub fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul_scalar(x, c)?)
    }

    /// `c x` for one complex number. Takes one level.
    pub fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul_complex(x, c)?)
    }

    /// `k x` for one integer. Takes no level; the range and the noise grow by `|k|`.
    pub fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul_integer(x, k)?)
    }

    /// `i x`. Takes no level.
    pub fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul_i(x)?)
    }

    /// `x v` for a plain vector, one number for each value. Takes one level; padding becomes
    /// zero. One number for all values: [`mul_scalar`](Self::mul_scalar).
    pub fn mul_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mul_values(x, values)?)
    }

    /// `sum_i v_i x_i` for plain vectors `v_i`. Takes one level.
    pub fn dot_values<T: SlotValue>(
        &self,
        x: &[&Ciphertext],
        values: &[Vec<T>],
    ) -> Result<Ciphertext> {
        self.stated(self.arithmetic.dot_values(x, values)?)
    }

    /// `sum_i c_i x_i + constant` for numbers `c_i`, with one rescale, at the given or the
    /// default scale. Takes one level from the lowest operand.
    pub fn linear_combination(
        &self,
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.stated(self.arithmetic.linear_combination(terms, constant, scale)?)
    }

    /// The sum of many vectors, given themselves or by reference: those of providers
    /// ([`Provided`](crate::Provided)), too. Takes no level.
    pub fn add_many<T: AsRef<Ciphertext>>(&self, terms: &[T]) -> Result<Ciphertext> {
        let terms: Vec<_> = terms.iter().map(AsRef::as_ref).collect();
        self.stated(self.arithmetic.add_many(&terms)?)
    }
}

/// # Slots
/// Rotations take keys of [`Needs::rotate`] or [`Needs::rotate_any`], and sums keys of
/// [`Needs::sums`].
impl Evaluator {
    /// Rotates the slots by `step`, to the left for positive steps: value `i + step` moves to
    /// place `i`. Takes no level.
    pub fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.rotate(x, step)?)
    }

    /// Several rotations of one vector, which share most of their work. Takes no level.
    pub fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        self.stated(self.arithmetic.rotate_many(x, steps)?)
    }

    /// Sums of rotations of several vectors. Takes no level.
    pub fn sum_of_rotations(&self, terms: &[(&Ciphertext, &[i64])]) -> Result<Ciphertext> {
        self.stated(self.arithmetic.sum_of_rotations(terms)?)
    }

    /// The complex conjugate ([`Needs::conjugate`]). Takes no level.
    pub fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.conjugate(x)?)
    }

    /// The real parts of the slots ([`Needs::conjugate`]). Takes no level.
    pub fn real_part(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.real_part(x)?)
    }

    /// The sum of the values, in every slot. Takes no level, or one to clear padding that may
    /// not be zero.
    pub fn sum_slots(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.sum_slots(x)?)
    }

    /// The sum of `count` slots at distance `stride`, for every slot. Levels as
    /// [`sum_slots`](Self::sum_slots).
    pub fn inner_sum(&self, x: &Ciphertext, count: usize, stride: i64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.inner_sum(x, count, stride)?)
    }

    /// Copies of the slots at `count` distances of `stride` to the right. Levels as
    /// [`sum_slots`](Self::sum_slots).
    pub fn replicate(&self, x: &Ciphertext, count: usize, stride: i64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.replicate(x, count, stride)?)
    }

    /// One of the values in every slot. Takes one level.
    pub fn replicate_slot(&self, x: &Ciphertext, slot: usize) -> Result<Ciphertext> {
        self.stated(self.arithmetic.replicate_slot(x, slot)?)
    }

    /// Keeps the slots of a range and makes the others zero. Takes one level.
    pub fn mask(&self, x: &Ciphertext, range: Range<usize>) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mask(x, range)?)
    }

    /// Keeps the listed slots and makes the others zero. Takes one level.
    pub fn mask_slots(&self, x: &Ciphertext, slots: &[usize]) -> Result<Ciphertext> {
        self.stated(self.arithmetic.mask_slots(x, slots)?)
    }

    /// Makes the padding behind the values zero. Takes one level, none without padding.
    pub fn clear_padding(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.stated(self.arithmetic.clear_padding(x)?)
    }

    /// Moves the middle of the range of the padding to a number; the values are unchanged.
    /// Takes no level.
    pub fn move_padding(&self, x: &Ciphertext, to: f64) -> Result<Ciphertext> {
        self.stated(self.arithmetic.move_padding(x, to)?)
    }

    /// A linear transform of the slots, prepared with [`LinearTransform::new`]. Takes one
    /// level.
    pub fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        self.stated(self.arithmetic.transform(x, m)?)
    }
}

/// # Polynomials and smooth functions
/// All take keys of [`Needs::multiply`]. [`circuits::approx`](crate::circuits::approx) prepares
/// functions, and tells their levels and errors.
impl Evaluator {
    /// `p(x)` for a polynomial in the Chebyshev basis, at the given or the default scale.
    pub fn polynomial(
        &self,
        x: &Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.stated(self.arithmetic.polynomial(x, p, scale)?)
    }

    /// Several polynomials of one vector over one domain, with shared powers, each at the given or
    /// the default scale.
    pub fn polynomials(
        &self,
        x: &Ciphertext,
        polynomials: &[(&Polynomial, Option<f64>)],
    ) -> Result<Vec<Ciphertext>> {
        self.stated(self.arithmetic.polynomials(x, polynomials)?)
    }

    /// `p(x)` for a polynomial in powers of `x`, at the given or the default scale.
    pub fn monomial(&self, x: &Ciphertext, p: &Monomial, scale: Option<f64>) -> Result<Ciphertext> {
        self.stated(self.arithmetic.monomial(x, p, scale)?)
    }

    /// `f(x)` for a prepared function. Takes [`Approximation::levels`] levels.
    pub fn apply(&self, x: &Ciphertext, f: &Approximation) -> Result<Ciphertext> {
        self.stated(self.arithmetic.apply(x, f)?)
    }

    /// `f(x)` to an accuracy over the carried range of `x`.
    pub fn function(&self, x: &Ciphertext, f: &Function, accuracy: Accuracy) -> Result<Ciphertext> {
        self.stated(self.arithmetic.function(x, f, accuracy)?)
    }

    /// The sign of every value. Takes [`Sign::levels`] levels. Magnitudes below [`Sign::margin`]
    /// give anything between -1 and 1; a range beyond the radius is
    /// refused ([`ErrorKind::Domain`]).
    pub fn sign(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.sign(x, sign)?)
    }

    /// 1 for positive and 0 for negative values, with margin and radius as for
    /// [`sign`](Self::sign). Takes [`Sign::levels`] levels.
    pub fn step(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.step(x, sign)?)
    }

    /// 1 where `x > y` and 0 where `x < y`. Where `|x - y|` is below [`Sign::margin`] the result is
    /// anything between; the range of `x - y` must be within the radius. Takes [`Sign::levels`]
    /// levels.
    pub fn greater(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.greater(x, y, sign)?)
    }

    /// The larger of two values, slot by slot. Takes one level more than
    /// [`sign`](Self::sign). [`within`](Self::within) has maxima by look-up.
    pub fn max(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.max(x, y, sign)?)
    }

    /// The smaller of two values, slot by slot. Takes one level more than
    /// [`sign`](Self::sign).
    pub fn min(&self, x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.min(x, y, sign)?)
    }

    /// `|x|`. Takes one level more than [`sign`](Self::sign).
    pub fn abs(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.abs(x, sign)?)
    }

    /// `max(x, 0)`. Takes one level more than [`sign`](Self::sign).
    pub fn relu(&self, x: &Ciphertext, sign: &Sign) -> Result<Ciphertext> {
        self.stated(self.arithmetic.relu(x, sign)?)
    }
}

/// # Levels
/// Bootstraps take keys of [`Needs::bootstrap`], and report to the callback of
/// [`with_progress`](Self::with_progress).
impl Evaluator {
    /// Drops to a lower level, where operations are faster and vectors smaller.
    pub fn drop_to_level(&self, x: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.stated(self.arithmetic.drop_to_level(x, level)?)
    }

    /// The same values with new levels ([`circuits::bootstrap`](crate::circuits::bootstrap)). They
    /// must lie in the range for which the parameters' bootstrap is specified, `[-1, 1]` for all
    /// presets. Padding becomes zero.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for parameters without bootstrapping; errors for too few levels
    /// and for a range that is too wide.
    pub fn bootstrap(&self, x: &Ciphertext) -> Result<Ciphertext> {
        // Keys could not be requested for parameters without bootstrapping.
        self.params().bootstrapper()?;
        self.stated(self.arithmetic.bootstrap(x)?)
    }

    /// As [`bootstrap`](Self::bootstrap), with about `rounds` times the bits of precision.
    pub fn bootstrap_iterated(&self, x: &Ciphertext, rounds: usize) -> Result<Ciphertext> {
        self.params().bootstrapper()?;
        self.stated(self.arithmetic.bootstrap_iterated(x, rounds)?)
    }
}
