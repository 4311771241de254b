//! One interface for programs that run on ciphertexts and, beforehand, on plain vectors.

use std::{iter::once, ops::Range, sync::Arc};

use crate::{
    Account, Bounds, Complex64, Error, Interval, Meta, Params, Result, SlotValue,
    approx::{Approximation, Function, Kind, Sign, apply, compare},
    bootstrap::{Bootstrapper, precise},
    eval::{mask::masked, sum},
    lengths::pair,
    linear::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis},
};
#[cfg(doc)]
use crate::{Ciphertext, Evaluator};

/// Arithmetic on vectors of slots: what a program needs of an [`Evaluator`], or of the
/// [`Shadow`](crate::shadow::Shadow) that tells beforehand what would become of it.
///
/// Every operation means what the evaluator's operation of that name means and meets the same
/// errors; levels, scales, ranges and predicted noise come out the same. What is made of other
/// operations alone (sums, masks, functions, comparison) is written here, once for both.
///
/// ```
/// use bellerophon_ckks::{Arithmetic, Result};
///
/// /// `x^2 - 0.5 x`, summed over the values.
/// fn energy<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
///     let y = a.sub(&a.square(x)?, &a.mul_scalar(x, 0.5)?)?;
///     a.total(&y)
/// }
/// ```
pub trait Arithmetic: Sized {
    /// What is computed with: ciphertexts, or plain vectors in their place.
    type Ciphertext: Clone;

    /// What a [`PowerBasis`] holds.
    type Powers;

    /// The parameters.
    fn params(&self) -> &Params;

    /// Level, scale, ranges and predicted noise.
    fn account(&self, x: &Self::Ciphertext) -> Account;

    /// [`Evaluator::add`].
    fn add(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::sub`].
    fn sub(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::neg`].
    fn neg(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::add_values`].
    fn add_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::add_scalar`].
    fn add_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_unscaled`].
    fn mul_unscaled(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::square_unscaled`].
    fn square_unscaled(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul`].
    fn mul(&self, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::square`].
    fn square(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::rescale`].
    fn rescale(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_values`].
    fn mul_values<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_values_to`].
    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Self::Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_scalar`].
    fn mul_scalar(&self, x: &Self::Ciphertext, c: f64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_complex`].
    fn mul_complex(&self, x: &Self::Ciphertext, c: Complex64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_integer`].
    fn mul_integer(&self, x: &Self::Ciphertext, k: i64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::mul_i`].
    fn mul_i(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::combination`].
    fn combination(
        &self,
        products: &[(&Self::Ciphertext, &Self::Ciphertext)],
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// `sum_i c_i x_i + constant` with one rescaling: the terms are brought to the lowest level
    /// among them, and each constant is encoded at the scale that makes all products agree, so the
    /// `x_i` may stand at different levels and scales. The result has exactly `scale` (the default
    /// scale if none is given). Takes one level from the lowest operand.
    ///
    /// # Errors
    /// [`Error::NoValues`] without terms, [`Error::OutOfLevels`], [`Error::NonFinite`],
    /// [`Error::ScaleMismatch`] for a term whose scale leaves its constant less than 8 bits (one
    /// that was not rescaled), [`Error::RangeOverflow`] and mismatches.
    fn linear_combination(
        &self,
        terms: &[(&Self::Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.combination(&[], terms, constant, Some(scale.unwrap_or(self.params().scale())))
    }

    /// [`Evaluator::rotate`].
    fn rotate(&self, x: &Self::Ciphertext, step: i64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::rotate_many`].
    fn rotate_many(&self, x: &Self::Ciphertext, steps: &[i64]) -> Result<Vec<Self::Ciphertext>>;

    /// [`Evaluator::conjugate`].
    fn conjugate(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext>;

    /// [`Evaluator::polynomial`].
    fn polynomial(
        &self,
        x: &Self::Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::transform`].
    fn transform(&self, x: &Self::Ciphertext, m: &LinearTransform) -> Result<Self::Ciphertext>;

    /// [`Evaluator::drop_to_level`].
    fn drop_to_level(&self, x: &Self::Ciphertext, level: usize) -> Result<Self::Ciphertext>;

    /// [`Evaluator::match_scale`].
    fn match_scale(
        &self,
        x: &Self::Ciphertext,
        scale: f64,
        level: usize,
    ) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::times_free`].
    fn times_free(&self, x: Self::Ciphertext, factor: f64) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::repeated`].
    fn repeated(&self, x: Self::Ciphertext, slots: usize) -> Result<Self::Ciphertext>;

    /// [`Ciphertext::broadcast`].
    fn broadcast(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext>;

    /// The same vector with what a program knows better than the books, which follow it step by
    /// step: bounds, noise, number of values, or a scale off by no more than roundings of `f64`.
    ///
    /// A statement that does not hold makes later checks and noise estimates worthless.
    fn restated(&self, x: Self::Ciphertext, meta: Meta) -> Self::Ciphertext;

    /// Several operations under one name, which their errors get.
    ///
    /// # Errors
    /// Those of `work`.
    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T>;

    /// [`Evaluator::sum_of_rotations`].
    fn sum_of_rotations(&self, terms: &[(&Self::Ciphertext, &[i64])]) -> Result<Self::Ciphertext>;

    /// [`Evaluator::rotates_by`].
    fn rotates_by(&self, x: &Self::Ciphertext, step: i64) -> bool;

    /// [`Evaluator::dot_values`].
    fn dot_values<T: SlotValue>(
        &self,
        x: &[&Self::Ciphertext],
        values: &[Vec<T>],
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::bootstrapper`].
    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>>;

    /// [`Evaluator::refreshes_by_itself`].
    fn refreshes_by_itself(&self) -> bool;

    /// [`Evaluator::refresh_to`].
    fn refresh_to(&self, x: &Self::Ciphertext, scale: f64) -> Result<Self::Ciphertext>;

    /// [`Evaluator::refresh`].
    fn refresh(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.refresh_to(x, self.params().scale())
    }

    /// [`Evaluator::refresh_precisely`].
    fn refresh_precisely(&self, x: &Self::Ciphertext, rounds: usize) -> Result<Self::Ciphertext> {
        self.composed("refresh precisely", || precise::refreshed(self, x, rounds))
    }

    /// [`Evaluator::power_basis`].
    fn power_basis(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<Self::Powers>>;

    /// [`Evaluator::chebyshev_basis`].
    fn chebyshev_basis(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Self::Powers>>;

    /// [`Evaluator::monomial_in`].
    fn monomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// [`Evaluator::polynomial_in`].
    fn polynomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext>;

    /// States a range of the values that the caller can prove where interval arithmetic cannot. Padding,
    /// the slots behind the values, keeps the range that it has, and becomes values by rotation:
    /// [`assume_all`](Self::assume_all) speaks of it, too.
    ///
    /// The statement includes the error of the values, as that of [`Ciphertext::assume_range`] does:
    /// after it, [`excess`](Account::excess) is zero for vectors without padding. The error of padding
    /// stays in the excess, or in the range of padding once it is above `2^-10` of the stated range.
    ///
    /// A range that does not hold makes later overflow checks worthless, and bounds on noise, too.
    fn assume_range(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.account(&x).meta.assume_range(range);
        self.restated(x, meta)
    }

    /// [`Ciphertext::assume_range`]: as [`assume_range`](Self::assume_range) of every slot, padding
    /// included, and of its error.
    fn assume_all(&self, x: Self::Ciphertext, range: Interval) -> Self::Ciphertext {
        let meta = self.account(&x).meta.assume_all(range);
        self.restated(x, meta)
    }

    /// [`Ciphertext::assume_real`].
    fn assume_real(&self, x: Self::Ciphertext) -> Self::Ciphertext {
        let meta = self.account(&x).meta.assume_real();
        self.restated(x, meta)
    }

    /// [`Ciphertext::with_len`].
    fn with_len(&self, x: Self::Ciphertext, len: usize) -> Result<Self::Ciphertext> {
        let meta = self.account(&x).meta;
        self.composed("set the number of values", || Ok(self.restated(x, meta.with_len(len)?)))
    }

    /// The sum of many vectors.
    ///
    /// # Errors
    /// [`Error::NoValues`] for none of them; those of [`Evaluator::add`].
    fn add_many(&self, terms: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        let (first, rest) = terms.split_first().ok_or(Error::NoValues { op: "add many" })?;
        rest.iter().try_fold((*first).clone(), |sum, term| self.add(&sum, term))
    }

    /// The real parts, `(x + conj(x)) / 2`; the halving is one of scale.
    ///
    /// # Errors
    /// As for [`Evaluator::conjugate`].
    fn real_part(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        let sum = self.add(x, &self.conjugate(x)?)?;
        Ok(self.assume_real(self.times_free(sum, 0.5)?))
    }

    /// The sum of `count` slots at distance `stride`: slot `j` of the result is
    /// `x[j] + x[j + stride] + .. + x[j + (count - 1) stride]`, modulo the slots of `x`, where padding
    /// counts as zero. Takes no level, or one where the padding is not [known to be zero](Meta::is_clear)
    /// and has to be cleared first.
    ///
    /// About `1.5 log2(count)` rotations, half of a rotation's time each;
    /// [`KeySpec::inner_sum`](crate::KeySpec::inner_sum) lists them. With `count * stride` the number
    /// of slots, every slot holds the sum of its residue class modulo `stride`; otherwise slots whose
    /// window leaves the part of interest hold sums that reach into the next part. Padding takes part
    /// with what it holds (zeros, as long as nothing was added to it; see [`keep`](Self::keep)).
    ///
    /// # Errors
    /// [`Error::SlotCount`] for a count that is zero or above the slots,
    /// [`Error::MissingRotationKey`], [`Error::RangeOverflow`] and mismatches.
    fn inner_sum(
        &self,
        x: &Self::Ciphertext,
        count: usize,
        stride: i64,
    ) -> Result<Self::Ciphertext> {
        let op = "inner sum";
        self.composed(op, || sum::inner_sum(self, op, x, count, stride))
    }

    /// The sum of the values, in every slot, padding included. Takes no level, or one where the
    /// padding is not [known to be zero](Meta::is_clear) and has to be cleared first.
    ///
    /// # Errors
    /// As for [`inner_sum`](Self::inner_sum).
    fn total(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("total", || self.inner_sum(x, self.account(x).meta.slots, 1))
    }

    /// Copies to the right: slot `j` of the result is the sum of `x[j - k stride]` for `k < count`.
    /// A block of `stride` slots that is followed by `count - 1` blocks of zeros fills them all with
    /// itself; one slot in a block of zeros (see [`keep`](Self::keep)) fills the block with stride 1.
    /// Padding counts as zero, which takes a level as for [`inner_sum`](Self::inner_sum), otherwise
    /// none.
    ///
    /// # Errors
    /// As for [`inner_sum`](Self::inner_sum).
    fn replicate(
        &self,
        x: &Self::Ciphertext,
        count: usize,
        stride: i64,
    ) -> Result<Self::Ciphertext> {
        self.composed("replicate", || self.inner_sum(x, count, stride.wrapping_neg()))
    }

    /// One of the values in every slot, padding included: a mask and a [`total`](Self::total). Takes
    /// one level.
    ///
    /// # Errors
    /// [`Error::SlotOutOfRange`] for padding and what is no slot, [`Error::OutOfLevels`], and those of
    /// [`inner_sum`](Self::inner_sum).
    fn replicate_slot(&self, x: &Self::Ciphertext, slot: usize) -> Result<Self::Ciphertext> {
        let op = "replicate a slot";
        self.composed(op, || {
            let Meta { len, bounds, .. } = self.account(x).meta;
            if slot >= len {
                return Err(Error::SlotOutOfRange { op, found: slot, slots: len });
            }
            let all = self.total(&self.keep_slots(x, &[slot])?)?;
            // One term is a value of `x`, the others are zeros.
            let meta = Meta { bounds: Bounds::all(bounds.values), ..self.account(&all).meta };
            Ok(self.restated(all, meta))
        })
    }

    /// Keeps the slots of the range and makes the others zero, by a product with ones and zeros.
    /// Takes one level; the scale stays.
    ///
    /// # Errors
    /// [`Error::SlotOutOfRange`] for a slot that the vector does not have, [`Error::OutOfLevels`],
    /// and mismatches.
    fn keep(&self, x: &Self::Ciphertext, range: Range<usize>) -> Result<Self::Ciphertext> {
        let op = "keep slots";
        self.composed(op, || masked(self, op, x, once(range)))
    }

    /// Keeps the listed slots and makes the others zero, as [`keep`](Self::keep).
    ///
    /// # Errors
    /// As for [`keep`](Self::keep).
    fn keep_slots(&self, x: &Self::Ciphertext, slots: &[usize]) -> Result<Self::Ciphertext> {
        let op = "keep slots";
        let ranges = slots.iter().map(|&slot| slot..slot.saturating_add(1));
        self.composed(op, || masked(self, op, x, ranges))
    }

    /// Makes the padding zero, whatever the computation left there, as [`keep`](Self::keep) of the
    /// first [`len`](Ciphertext::len) slots. Takes one level also where there is no padding.
    ///
    /// # Errors
    /// As for [`keep`](Self::keep).
    fn clear_padding(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("clear the padding", || self.keep(x, 0..self.account(x).meta.len))
    }

    /// `sum_i x_i y_i` of many pairs with one relinearisation and one rescaling. Takes one level
    /// from the lowest operand.
    ///
    /// The products must agree in scale: operands of one level and history do.
    ///
    /// # Errors
    /// [`Error::Lengths`] unless there are as many `y` as `x`, [`Error::NoValues`] for none,
    /// [`Error::ScaleMismatch`], and those of [`mul`](Self::mul).
    fn dot(&self, x: &[&Self::Ciphertext], y: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        let op = "dot product";
        self.composed(op, || {
            sum::check_lengths(op, x.len(), y.len())?;
            let pairs: Vec<_> = x.iter().copied().zip(y.iter().copied()).collect();
            self.combination(&pairs, &[], 0.0, None)
        })
    }

    /// `p(x)` in every slot, real or complex, at the given scale (the default scale if none is
    /// given). Takes [`Monomial::levels`] levels, and one more when the scale of `x` is far from what
    /// its level divides by.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key,
    /// [`Error::RangeOverflow`] when a term could wrap (state a tighter range, or use the
    /// [Chebyshev basis](Monomial::to_chebyshev)), and mismatches.
    fn monomial(
        &self,
        x: &Self::Ciphertext,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.monomial_in(&self.power_basis(x, &[p])?, p, scale)
    }

    /// Several polynomials of one vector, over one domain, that share their powers.
    ///
    /// # Errors
    /// As for [`chebyshev_basis`](Self::chebyshev_basis) and [`polynomial`](Self::polynomial).
    fn polynomials(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Polynomial],
        scale: Option<f64>,
    ) -> Result<Vec<Self::Ciphertext>> {
        let powers = self.chebyshev_basis(x, polynomials)?;
        polynomials.iter().map(|p| self.polynomial_in(&powers, p, scale)).collect()
    }

    /// `f(x)` in every slot for a prepared function. Takes [`Approximation::levels`] levels (one
    /// more when the scale of `x` is far from the primes of its level).
    ///
    /// The result is at the default scale, or, for roots by Newton's iteration, near it.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range of `x`, padding included, is not within the
    /// domain: prepare over a wider one, or, where more is known than the range says, state it by
    /// [`assume_all`](Self::assume_all). [`Error::OutOfLevels`], [`Error::MissingKey`] without a
    /// relinearisation key, [`Error::RangeOverflow`] and mismatches.
    fn apply(&self, x: &Self::Ciphertext, f: &Approximation) -> Result<Self::Ciphertext> {
        let op = "apply a function";
        self.composed(op, || apply::apply(self, op, x, f))
    }

    /// `f(x)` in every slot, to an error of `2^log2_error` over the range that `x` carries, padding
    /// included: [`Approximation::new`] and [`apply`](Self::apply) at once. Where many vectors share
    /// a domain, prepare once.
    ///
    /// ```no_run
    /// # use bellerophon_ckks::{Arithmetic, Ciphertext, Evaluator, Interval, Result, approx::Function};
    /// # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
    /// let x = x.assume_range(Interval::real(0.5, 2.0)?); // what is known of the slots
    /// let y = evaluator.function(&x, &Function::ln(), -20.0)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of both; [`Error::OutsideDomain`] for complex slots, and where it is the padding that
    /// makes the range too wide.
    fn function(
        &self,
        x: &Self::Ciphertext,
        f: &Function,
        log2_error: f64,
    ) -> Result<Self::Ciphertext> {
        let op = "apply a function";
        self.composed(op, || apply::function(self, op, x, f, log2_error))
    }

    /// The sign of every slot: within [`Sign::error`] of -1 or 1 where `margin <= |x|`, between
    /// them where `x` is nearer to zero. Takes [`Sign::levels`] levels.
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range leaves the radius ([`Sign::within`] takes a
    /// larger one, [`assume_all`](Self::assume_all) states a smaller range),
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key, and mismatches.
    fn sign(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let (op, scale) = ("sign", self.params().scale());
        self.composed(op, || compare::signed(self, op, x, sign, Kind::Sign, scale))
    }

    /// 1 where `x >= margin`, 0 where `x <= -margin`, within half of [`Sign::error`]; at the price of
    /// [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn step(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let (op, scale) = ("step", self.params().scale());
        self.composed(op, || compare::signed(self, op, x, sign, Kind::Step, scale))
    }

    /// 1 where `x > y`, 0 where `x < y`, within half of [`Sign::error`] wherever the two differ by at
    /// least the margin: the [`step`](Self::step) of `x - y`, whose range must be within the radius
    /// (1 serves for numbers of `[0, 1]`).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn greater(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("compare", || self.step(&self.sub(x, y)?, sign))
    }

    /// The larger of the two, slot by slot, as `y + (x - y) step(x - y)`, within half of
    /// [`Sign::magnitude_error`] for any `x` and `y` that differ by no more than the radius. Takes a
    /// level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn max(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        let op = "maximum";
        self.composed(op, || {
            let (of_x, of_y) = (self.account(x).meta, self.account(y).meta);
            let range = pair(op, &of_x, &of_y, compare::larger)?.bounds;
            compare::stepped(self, op, &self.sub(x, y)?, Some(y), sign, range)
        })
    }

    /// The smaller of the two, slot by slot, as `-max(-x, -y)`; see [`max`](Self::max).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn min(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("minimum", || self.neg(&self.max(&self.neg(x)?, &self.neg(y)?, sign)?))
    }

    /// `|x|` as `x sign(x)`, within [`Sign::magnitude_error`] everywhere. Takes a level more than
    /// [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn abs(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let op = "absolute value";
        self.composed(op, || compare::abs(self, op, x, sign))
    }

    /// `max(x, 0)` as `x step(x)`, within half of [`Sign::magnitude_error`] everywhere. Takes a
    /// level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn relu(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let op = "rectifier";
        let range = self.account(x).meta.bounds.map(|r| compare::larger(r, &Interval::ZERO));
        self.composed(op, || compare::stepped(self, op, x, None, sign, range))
    }
}

/// `x`, whose exact slots the caller knows to lie in a range; their error stays on top of it, as it was.
pub(crate) fn within<A: Arithmetic>(a: &A, x: A::Ciphertext, range: Interval) -> A::Ciphertext {
    let meta = a.account(&x).meta.within(range);
    a.restated(x, meta)
}
