//! Arithmetic on slots: the operations of the CKKS evaluator that programs call, under the error
//! type of the facade.

#[cfg(doc)]
use crate::ErrorKind;
use std::ops::Range;

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, SlotValue,
    approx::{Accuracy, Approximation, Function, Sign},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial},
};

use crate::{During, Evaluator, Result};
#[cfg(doc)]
use crate::{Needs, ckks};

/// Methods that call the method of the same name of [`ckks::Evaluator`] or of its trait
/// [`CkksOps`]. Errors name the method that the program called, not a part of it.
macro_rules! operations {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident $(<$T:ident>)? ($($arg:ident: $type:ty),*) -> $output:ty;
    )*) => {$(
        $(#[$attribute])*
        pub fn $name $(<$T: SlotValue>)? (&self, $($arg: $type),*) -> Result<$output> {
            let op = stringify!($name);
            self.stated(self.arithmetic.$name($($arg),*).during(op)?).during(op)
        }
    )*};
}

/// # Sums and products
/// Operands of different levels and scales are aligned. All of these refuse operands of other keys
/// or parameters, lengths that differ ([`lengths`](mod@crate::lengths)), and results that could
/// wrap around; those that take a level refuse operands without one.
impl Evaluator {
    operations! {
        /// `x + y`. Takes no level.
        fn add(x: &Ciphertext, y: &Ciphertext) -> Ciphertext;
        /// `x - y`. Takes no level.
        fn sub(x: &Ciphertext, y: &Ciphertext) -> Ciphertext;
        /// `-x`. Takes no level.
        fn neg(x: &Ciphertext) -> Ciphertext;
        /// `x + c` for one number. Takes no level.
        fn add_scalar(x: &Ciphertext, c: f64) -> Ciphertext;
        /// `x + v` for a plain vector, one number for each value. Takes no level.
        fn add_values<T>(x: &Ciphertext, values: &[T]) -> Ciphertext;
        /// `x y`, relinearized and rescaled ([`Needs::multiply`]). Takes one level.
        fn mul(x: &Ciphertext, y: &Ciphertext) -> Ciphertext;
        /// `x^2`, faster than a product ([`Needs::multiply`]). Takes one level.
        fn square(x: &Ciphertext) -> Ciphertext;
        /// `sum_i x_i y_i` over pairs of vectors, with one relinearization ([`Needs::multiply`]).
        /// Takes one level. The range of the result is that of products of any values: where the
        /// pairs are squares, declare that no value is negative
        /// ([`assume_range`](Self::assume_range)).
        fn dot(x: &[&Ciphertext], y: &[&Ciphertext]) -> Ciphertext;
        /// `c x` for one number. Takes one level.
        fn mul_scalar(x: &Ciphertext, c: f64) -> Ciphertext;
        /// `c x` for one complex number. Takes one level.
        fn mul_complex(x: &Ciphertext, c: Complex64) -> Ciphertext;
        /// `k x` for one integer. Takes no level; the range and the noise grow by `|k|`.
        fn mul_integer(x: &Ciphertext, k: i64) -> Ciphertext;
        /// `i x`. Takes no level.
        fn mul_i(x: &Ciphertext) -> Ciphertext;
        /// `x v` for a plain vector, one number for each value. Takes one level; padding becomes
        /// zero. One number for all values: [`mul_scalar`](Self::mul_scalar).
        fn mul_values<T>(x: &Ciphertext, values: &[T]) -> Ciphertext;
        /// `sum_i v_i x_i` for plain vectors `v_i`. Takes one level.
        fn dot_values<T>(x: &[&Ciphertext], values: &[Vec<T>]) -> Ciphertext;
        /// `sum_i c_i x_i + constant` for numbers `c_i`, with one rescale, at the given or the
        /// default scale. Takes one level from the lowest operand.
        fn linear_combination(
            terms: &[(&Ciphertext, f64)],
            constant: f64,
            scale: Option<f64>
        ) -> Ciphertext;
    }

    /// The sum of many vectors, given themselves or by reference: those of providers
    /// ([`Provided`](crate::Provided)), too. Takes no level.
    ///
    /// # Errors
    /// [`ckks::ErrorKind::Length`] for no vectors; otherwise as for two vectors.
    pub fn add_many<T: AsRef<Ciphertext>>(&self, terms: &[T]) -> Result<Ciphertext> {
        let terms: Vec<_> = terms.iter().map(AsRef::as_ref).collect();
        self.stated(self.arithmetic.add_many(&terms).during("add_many")?).during("add_many")
    }
}

/// # Slots
/// Rotations take keys of [`Needs::rotate`] or [`Needs::rotate_any`], and sums keys of
/// [`Needs::sums`].
impl Evaluator {
    operations! {
        /// Rotates the slots by `step`, to the left for positive steps: value `i + step` moves to
        /// place `i`. Takes no level.
        fn rotate(x: &Ciphertext, step: i64) -> Ciphertext;
        /// Several rotations of one vector, which share most of their work. Takes no level.
        fn rotate_many(x: &Ciphertext, steps: &[i64]) -> Vec<Ciphertext>;
        /// Sums of rotations of several vectors. Takes no level.
        fn sum_of_rotations(terms: &[(&Ciphertext, &[i64])]) -> Ciphertext;
        /// The complex conjugate ([`Needs::conjugate`]). Takes no level.
        fn conjugate(x: &Ciphertext) -> Ciphertext;
        /// The real parts of the slots ([`Needs::conjugate`]). Takes no level.
        fn real_part(x: &Ciphertext) -> Ciphertext;
        /// The sum of the values, in every slot. Takes no level, or one to clear padding that may
        /// not be zero.
        fn sum_slots(x: &Ciphertext) -> Ciphertext;
        /// The sum of `count` slots at distance `stride`, for every slot. Levels as
        /// [`sum_slots`](Self::sum_slots).
        fn inner_sum(x: &Ciphertext, count: usize, stride: i64) -> Ciphertext;
        /// Copies of the slots at `count` distances of `stride` to the right. Levels as
        /// [`sum_slots`](Self::sum_slots).
        fn replicate(x: &Ciphertext, count: usize, stride: i64) -> Ciphertext;
        /// One of the values in every slot. Takes one level.
        fn replicate_slot(x: &Ciphertext, slot: usize) -> Ciphertext;
        /// Keeps the slots of a range and makes the others zero. Takes one level.
        fn mask(x: &Ciphertext, range: Range<usize>) -> Ciphertext;
        /// Keeps the listed slots and makes the others zero. Takes one level.
        fn mask_slots(x: &Ciphertext, slots: &[usize]) -> Ciphertext;
        /// Makes the padding behind the values zero. Takes one level, none without padding.
        fn clear_padding(x: &Ciphertext) -> Ciphertext;
        /// Moves the middle of the range of the padding to a number; the values are unchanged.
        /// Takes no level.
        fn move_padding(x: &Ciphertext, to: f64) -> Ciphertext;
        /// A linear transform of the slots, prepared with [`LinearTransform::new`]. Takes one
        /// level.
        fn transform(x: &Ciphertext, m: &LinearTransform) -> Ciphertext;
    }
}

/// # Polynomials and smooth functions
/// All take keys of [`Needs::multiply`]. [`ckks::approx`] prepares functions, and tells their
/// levels and errors.
impl Evaluator {
    operations! {
        /// `p(x)` for a polynomial in the Chebyshev basis, at the given or the default scale.
        fn polynomial(x: &Ciphertext, p: &Polynomial, scale: Option<f64>) -> Ciphertext;
        /// Several polynomials of one vector over one domain, with shared powers.
        fn polynomials(
            x: &Ciphertext,
            polynomials: &[&Polynomial],
            scale: Option<f64>
        ) -> Vec<Ciphertext>;
        /// `p(x)` for a polynomial in powers of `x`, at the given or the default scale.
        fn monomial(x: &Ciphertext, p: &Monomial, scale: Option<f64>) -> Ciphertext;
        /// `f(x)` for a prepared function. Takes [`Approximation::levels`] levels.
        fn apply(x: &Ciphertext, f: &Approximation) -> Ciphertext;
        /// `f(x)` to an accuracy over the carried range of `x`.
        fn function(x: &Ciphertext, f: &Function, accuracy: Accuracy) -> Ciphertext;
        /// The sign of every value. Takes [`Sign::levels`] levels.
        fn sign(x: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// 1 for positive and 0 for negative values. Takes [`Sign::levels`] levels.
        fn step(x: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// 1 where `x > y` and 0 where `x < y`. Takes [`Sign::levels`] levels.
        fn greater(x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// The larger of two values, slot by slot. Takes one level more than
        /// [`sign`](Self::sign). [`within`](Self::within) has maxima by look-up.
        fn max(x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// The smaller of two values, slot by slot. Takes one level more than
        /// [`sign`](Self::sign).
        fn min(x: &Ciphertext, y: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// `|x|`. Takes one level more than [`sign`](Self::sign).
        fn abs(x: &Ciphertext, sign: &Sign) -> Ciphertext;
        /// `max(x, 0)`. Takes one level more than [`sign`](Self::sign).
        fn relu(x: &Ciphertext, sign: &Sign) -> Ciphertext;
    }
}

/// # Levels
/// Bootstraps take keys of [`Needs::bootstrap`], and report to the callback of
/// [`with_progress`](Self::with_progress).
impl Evaluator {
    operations! {
        /// Drops to a lower level, where operations are faster and vectors smaller.
        fn drop_to_level(x: &Ciphertext, level: usize) -> Ciphertext;
    }

    /// The same values with new levels ([`ckks::bootstrap`]). They must lie in the range for which
    /// the parameters' bootstrap is specified, `[-1, 1]` for all presets. Padding becomes zero.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for parameters without bootstrapping, [`ErrorKind::MissingKey`]
    /// for keys without it; errors for too few levels and a range that is too wide.
    pub fn bootstrap(&self, x: &Ciphertext) -> Result<Ciphertext> {
        // Keys could not be requested for parameters without bootstrapping.
        self.params().bootstrapper()?;
        self.stated(self.arithmetic.bootstrap(x).during("bootstrap")?).during("bootstrap")
    }

    /// As [`bootstrap`](Self::bootstrap), with about `rounds` times the bits of precision.
    ///
    /// # Errors
    /// As [`bootstrap`](Self::bootstrap).
    pub fn bootstrap_iterated(&self, x: &Ciphertext, rounds: usize) -> Result<Ciphertext> {
        let op = "bootstrap_iterated";
        self.params().bootstrapper().during(op)?;
        self.stated(self.arithmetic.bootstrap_iterated(x, rounds).during(op)?).during(op)
    }
}
