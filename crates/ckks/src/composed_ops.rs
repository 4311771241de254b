//! [`ComposedOps`]: sums, masks, functions and comparison, each a short program of [`CkksOps`].

#[cfg(doc)]
use crate::ErrorKind;
use std::{iter::once, ops::Range};

use crate::{
    Bounds, CiphertextMeta, CkksOps, During, Result,
    approx::{Accuracy, Approximation, Function, Sign, apply, compare},
    error,
    eval::{mask::masked, padding, sum},
    polynomial::{Monomial, Polynomial},
};
#[cfg(doc)]
use crate::{Ciphertext, Params};

/// Operations composed of those of [`CkksOps`]: defined once for every implementation of it, so
/// that levels, keys, ranges and predicted noise of a dry run are those of the evaluator.
///
/// ```
/// use bellerophon_ckks::{CkksOps, ComposedOps, Result};
///
/// /// `x^2 - 0.5 x`, summed over the values.
/// fn energy<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
///     let y = a.sub(&a.square(x)?, &a.mul_scalar(x, 0.5)?)?;
///     a.sum_slots(&y)
/// }
/// ```
pub trait ComposedOps: CkksOps {
    /// The sum of `count` slots at distance `stride`: slot `j` of the result is
    /// `x[j] + x[j + stride] + .. + x[j + (count - 1) stride]`, modulo the slots of `x`, where
    /// padding counts as zero. Takes no level, or one to clear padding that is not [known to be
    /// zero](crate::Bounds::padding_is_zero).
    ///
    /// About `1.5 log2(count)` rotations, half of a rotation's time each;
    /// [`KeyLevels::inner_sum`](crate::KeyLevels::inner_sum) lists them. If `count * stride` is the
    /// number of slots, every slot holds the sum of its residue class modulo `stride`; otherwise
    /// the windows of some slots reach into the next part of the vector (see [`mask`](Self::mask)).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a count that is zero or above the slots,
    /// [`ErrorKind::MissingKey`], [`ErrorKind::Range`] and mismatches.
    fn inner_sum(
        &self,
        x: &Self::Ciphertext,
        count: usize,
        stride: i64,
    ) -> Result<Self::Ciphertext> {
        let op = "inner_sum";
        self.composed(op, || sum::inner_sum(self, x, count, stride))
    }

    /// The sum of the values, in every slot, padding included. Takes no level, or one to clear
    /// padding that is not [known to be zero](crate::Bounds::padding_is_zero).
    ///
    /// # Errors
    /// As for [`inner_sum`](Self::inner_sum).
    fn sum_slots(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("sum_slots", || self.inner_sum(x, self.metadata(x).meta.slots, 1))
    }

    /// Copies to the right: slot `j` of the result is the sum of `x[j - k stride]` for `k < count`.
    /// A block of `stride` slots followed by `count - 1` blocks of zeros is copied into all of
    /// them; one slot in a block of zeros (see [`mask`](Self::mask)) fills the block with stride 1.
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

    /// One of the values in every slot, padding included: a mask and a
    /// [`sum_slots`](Self::sum_slots). Takes one level.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for padding and beyond, [`ErrorKind::OutOfLevels`], and those
    /// of [`inner_sum`](Self::inner_sum).
    fn replicate_slot(&self, x: &Self::Ciphertext, slot: usize) -> Result<Self::Ciphertext> {
        let op = "replicate_slot";
        self.composed(op, || {
            let CiphertextMeta { len, bounds, .. } = self.metadata(x).meta;
            if slot >= len {
                return Err(error::position(slot, len));
            }
            let all = self.sum_slots(&self.mask_slots(x, &[slot])?)?;
            // One term is a value of `x`, the others are zeros.
            let meta =
                CiphertextMeta { bounds: Bounds::all(bounds.values), ..self.metadata(&all).meta };
            Ok(self.with_metadata(all, meta))
        })
    }

    /// Keeps the slots of the range and makes the others zero, by a product with ones and zeros.
    /// Takes one level; the scale is unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a reversed range and for slots that the vector does not have,
    /// [`ErrorKind::OutOfLevels`], and mismatches.
    fn mask(&self, x: &Self::Ciphertext, range: Range<usize>) -> Result<Self::Ciphertext> {
        let op = "mask";
        self.composed(op, || masked(self, x, once(range)))
    }

    /// Keeps the listed slots and makes the others zero, as [`mask`](Self::mask).
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for a slot that the vector does not have, and those of
    /// [`mask`](Self::mask).
    fn mask_slots(&self, x: &Self::Ciphertext, slots: &[usize]) -> Result<Self::Ciphertext> {
        let (op, most) = ("mask_slots", self.metadata(x).meta.slots);
        self.composed(op, || match slots.iter().find(|&&slot| slot >= most) {
            Some(&found) => Err(error::slot_out_of_range(found, most)),
            None => masked(self, x, slots.iter().map(|&slot| slot..slot + 1)),
        })
    }

    /// Makes the padding zero, as [`mask`](Self::mask) of the first [`len`](Ciphertext::len) slots.
    /// Takes one level, none without padding. A bootstrap clears padding at no level.
    ///
    /// # Errors
    /// As for [`mask`](Self::mask).
    fn clear_padding(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        let CiphertextMeta { len, slots, .. } = self.metadata(x).meta;
        self.composed("clear_padding", || match len == slots {
            true => Ok(x.clone()),
            false => self.mask(x, 0..len),
        })
    }

    /// Adds a constant to the padding that brings the middle of its range to `to`: the values are
    /// unchanged. Takes no level. A function of the slots whose domain the padding leaves can then
    /// be computed; [`polynomial`](CkksOps::polynomial) and all functions here do so by themselves.
    ///
    /// # Errors
    /// [`ErrorKind::NotFinite`], [`ErrorKind::Range`] and mismatches.
    fn move_padding(&self, x: &Self::Ciphertext, to: f64) -> Result<Self::Ciphertext> {
        self.composed("move_padding", || padding::moved(self, x, to))
    }

    /// `sum_i x_i y_i` with one relinearization and one rescale. Takes one level from the lowest
    /// operand.
    ///
    /// Products of different scales are aligned: see [`mul_add_many`](CkksOps::mul_add_many).
    ///
    /// # Errors
    /// [`ErrorKind::Length`] unless there are as many `y` as `x`, [`ErrorKind::Length`] for
    /// none, [`ErrorKind::Scale`], and those of [`mul`](CkksOps::mul).
    fn dot(&self, x: &[&Self::Ciphertext], y: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        let op = "dot";
        self.composed(op, || {
            sum::check_lengths(x.len(), y.len()).during(op)?;
            let pairs: Vec<_> = x.iter().copied().zip(y.iter().copied()).collect();
            self.mul_add_many(&pairs, &[], 0.0, None)
        })
    }

    /// `p(x)` in every slot, real or complex, at the given scale (by default [`Params::scale`]).
    /// Takes [`Monomial::levels`] levels, and one more if the scale of `x` is far from the divisor
    /// of its level.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::MissingKey`] without a relinearization key,
    /// [`ErrorKind::Range`] when a term could wrap (state a tighter range, or use the
    /// [Chebyshev basis](Monomial::to_chebyshev)), and mismatches.
    fn monomial(
        &self,
        x: &Self::Ciphertext,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Self::Ciphertext> {
        self.composed("monomial", || self.monomial_in(&self.power_basis(x, &[p])?, p, scale))
    }

    /// Several polynomials of one vector over one domain, with shared powers.
    ///
    /// # Errors
    /// As for [`chebyshev_basis`](CkksOps::chebyshev_basis) and
    /// [`polynomial`](CkksOps::polynomial).
    fn polynomials(
        &self,
        x: &Self::Ciphertext,
        polynomials: &[&Polynomial],
        scale: Option<f64>,
    ) -> Result<Vec<Self::Ciphertext>> {
        self.composed("polynomials", || {
            let powers = self.chebyshev_basis(x, polynomials)?;
            polynomials.iter().map(|p| self.polynomial_in(&powers, p, scale)).collect()
        })
    }

    /// `f(x)` in every slot for a prepared function. Takes [`Approximation::levels`] levels (one
    /// more if the scale of `x` is far from the primes of its level).
    ///
    /// The result is at the default scale, or, for roots by Newton's iteration, near it.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] when the carried range of the values is not within the domain:
    /// prepare over a wider domain, or state a tighter range
    /// ([`assume_range`](CkksOps::assume_range)). [`ErrorKind::Length`] as for
    /// [`polynomial`](CkksOps::polynomial).
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::MissingKey`] without a relinearization key,
    /// [`ErrorKind::Range`] and mismatches.
    fn apply(&self, x: &Self::Ciphertext, f: &Approximation) -> Result<Self::Ciphertext> {
        let op = "apply";
        self.composed(op, || apply::apply(self, x, f))
    }

    /// `f(x)` of every value, to an accuracy over the carried range of the values:
    /// [`Approximation::new`] and [`apply`](Self::apply) at once. For many vectors over one domain,
    /// prepare once.
    ///
    /// # Errors
    /// Those of both; [`ErrorKind::Domain`] for complex slots.
    fn function(
        &self,
        x: &Self::Ciphertext,
        f: &Function,
        accuracy: Accuracy,
    ) -> Result<Self::Ciphertext> {
        let op = "function";
        self.composed(op, || apply::function(self, x, f, accuracy))
    }

    /// The sign of every slot: within [`Sign::error`] of -1 or 1 for `margin <= |x|`, between them
    /// for smaller `|x|`. Takes [`Sign::levels`] levels.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] when the carried range exceeds the radius ([`Sign::new`]
    /// takes a larger one, [`assume_range`](CkksOps::assume_range) states a smaller range),
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::MissingKey`] without a relinearization key, and
    /// mismatches.
    fn sign(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("sign", || compare::sign(self, x, sign))
    }

    /// 1 where `x >= margin`, 0 where `x <= -margin`, within half of [`Sign::error`], at the cost
    /// of [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn step(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        self.composed("step", || compare::step(self, x, sign))
    }

    /// 1 where `x > y`, 0 where `x < y`, within half of [`Sign::error`] if the two differ by at
    /// least the margin: the [`step`](Self::step) of `x - y`, whose range must be within the radius
    /// (1 for numbers of `[0, 1]`).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn greater(
        &self,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
        sign: &Sign,
    ) -> Result<Self::Ciphertext> {
        self.composed("greater", || self.step(&self.sub(x, y)?, sign))
    }

    /// The larger of the two, slot by slot, as `y + (x - y) step(x - y)`, within half of
    /// [`Sign::magnitude_error`] for all `x` and `y` that differ by at most the radius. Takes one
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
        let op = "max";
        self.composed(op, || compare::max(self, x, y, sign))
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
        self.composed("min", || self.neg(&self.max(&self.neg(x)?, &self.neg(y)?, sign)?))
    }

    /// `|x|` as `x sign(x)`, within [`Sign::magnitude_error`] everywhere, best with
    /// [`Sign::for_magnitudes`]. Takes one level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn abs(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let op = "abs";
        self.composed(op, || compare::abs(self, x, sign))
    }

    /// `max(x, 0)` as `x step(x)`, within half of [`Sign::magnitude_error`] everywhere, best with
    /// [`Sign::for_magnitudes`]. Takes one level more than [`sign`](Self::sign).
    ///
    /// # Errors
    /// As for [`sign`](Self::sign).
    fn relu(&self, x: &Self::Ciphertext, sign: &Sign) -> Result<Self::Ciphertext> {
        let op = "relu";
        self.composed(op, || compare::relu(self, x, sign))
    }
}

impl<A: CkksOps> ComposedOps for A {}
