//! [`ComposedOps`]: sums and masks, each a short program of [`CkksOps`].

use std::{
    iter::once,
    ops::{Range, RangeInclusive},
};

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

#[cfg(doc)]
use crate::ciphertext::Ciphertext;
use crate::ciphertext::CiphertextMeta;
use crate::error;
use crate::eval::mask::masked;
use crate::eval::{padding, range, sum};
use crate::interval::Bounds;
use crate::ops::CkksOps;
use crate::ops::plain::check_lengths;
#[cfg(doc)]
use crate::params::Params;

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
    /// About `1.5 log2(count)` rotations, half of a rotation's time each. Their keys are those of
    /// [`KeyLevels::inner_sum`](crate::KeyLevels::inner_sum), or of steps that compose them.
    ///
    /// If `count * stride` is the number of slots, every slot holds the sum of its residue class
    /// modulo `stride`. Otherwise the windows of the last slots wrap around to the first ones:
    /// [`mask`](Self::mask) clears those results, and enough padding prevents them.
    fn inner_sum(
        &self,
        x: &Self::Ciphertext,
        count: usize,
        stride: i64,
    ) -> Result<Self::Ciphertext> {
        self.composed("inner_sum", || sum::inner_sum(self, x, count, stride))
    }

    /// The sum of the values, in every slot, padding included. Takes no level, or one to clear
    /// padding that is not [known to be zero](crate::Bounds::padding_is_zero).
    ///
    /// ```
    /// use bellerophon_ckks::{CkksOps, ComposedOps, Interval, simulator::Simulator};
    /// # use bellerophon_ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, Security};
    /// # let levels = vec![LevelGroup::single(40, 2)];
    /// # let chain = ModulusChain { degree: 1 << 8, first_bits: 50, levels, special: (50, 1) };
    /// # let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
    /// let a = Simulator::new(&params);
    /// let x = a.encrypt(&[1.0, 2.0, 3.0], Interval::real(0.0, 4.0)?, 2)?;
    /// // Padding that is zero costs nothing, other padding costs one level.
    /// let (sum, moved) = (a.sum_slots(&x)?, a.sum_slots(&a.add_scalar(&x, 1.0)?)?);
    /// assert_eq!((sum.reals(), sum.metadata().level), (vec![6.0; 3], 2));
    /// assert_eq!((moved.reals(), moved.metadata().level), (vec![9.0; 3], 1));
    /// # Ok::<(), bellerophon_ckks::Error>(())
    /// ```
    fn sum_slots(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        self.composed("sum_slots", || self.inner_sum(x, self.metadata(x).meta.slots, 1))
    }

    /// Copies to the right: slot `j` of the result is the sum of `x[j - k stride]` for `k < count`.
    /// A block of `stride` slots followed by `count - 1` blocks of zeros is copied into all of
    /// them; one slot in a block of zeros (see [`mask`](Self::mask)) fills the block with stride 1.
    /// Copies that leave the last slot wrap around to the first ones. Padding counts as zero, which
    /// takes a level as for [`inner_sum`](Self::inner_sum), otherwise none. The keys are those of
    /// [`KeyLevels::replicate`](crate::KeyLevels::replicate).
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
    fn replicate_slot(&self, x: &Self::Ciphertext, slot: usize) -> Result<Self::Ciphertext> {
        self.composed("replicate_slot", || {
            let CiphertextMeta { len, bounds, .. } = self.metadata(x).meta;
            ensure(slot < len, || error::position("values", slot, len))?;
            let all = self.sum_slots(&self.mask_slots(x, &[slot])?)?;
            // One term is a value of `x`, the others are zeros.
            let meta =
                CiphertextMeta { bounds: Bounds::all(bounds.values), ..self.metadata(&all).meta };
            Ok(self.with_metadata(all, meta))
        })
    }

    /// Keeps the slots of the range and makes the others zero, by a product with ones and zeros.
    /// Takes one level; the scale is unchanged.
    fn mask(&self, x: &Self::Ciphertext, range: Range<usize>) -> Result<Self::Ciphertext> {
        self.composed("mask", || masked(self, x, once(range)))
    }

    /// Keeps the listed slots and makes the others zero, as [`mask`](Self::mask).
    fn mask_slots(&self, x: &Self::Ciphertext, slots: &[usize]) -> Result<Self::Ciphertext> {
        let most = self.metadata(x).meta.slots;
        self.composed("mask_slots", || match slots.iter().find(|&&slot| slot >= most) {
            Some(&found) => Err(error::position("slots", found, most)),
            None => masked(self, x, slots.iter().map(|&slot| slot..slot + 1)),
        })
    }

    /// Makes the padding zero, as [`mask`](Self::mask) of the first [`len`](Ciphertext::len) slots.
    /// Takes one level, none without padding. A bootstrap clears padding at no level.
    fn clear_padding(&self, x: &Self::Ciphertext) -> Result<Self::Ciphertext> {
        let CiphertextMeta { len, slots, .. } = self.metadata(x).meta;
        self.composed("clear_padding", || match len == slots {
            true => Ok(x.clone()),
            false => self.mask(x, 0..len),
        })
    }

    /// Adds a constant to the padding that brings the middle of its range to `to`, for a function
    /// whose domain the padding leaves. Takes no level.
    fn move_padding(&self, x: &Self::Ciphertext, to: f64) -> Result<Self::Ciphertext> {
        self.composed("move_padding", || padding::moved(self, x, to))
    }

    /// Promises a range of the values that interval arithmetic cannot derive: of a polynomial, of a
    /// sum that cancels, of data that the caller knows. Takes no level.
    ///
    /// A value outside the range invalidates later checks and results. The range must hold for the
    /// values of the exact program and for those that decryption would return. A loop that promises
    /// a range in every step can therefore run indefinitely;
    /// [`Metadata::noise`](crate::Metadata::noise) accumulates the error of all its steps.
    ///
    /// The promise is about the values alone. Padding has a range of its own: where that is narrow
    /// and leaves the promised range, the padding is moved into it, and bootstraps clear it.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if the range has no value in common with the carried range.
    fn assume_range(
        &self,
        x: &Self::Ciphertext,
        range: RangeInclusive<f64>,
    ) -> Result<Self::Ciphertext> {
        self.composed("assume_range", || range::assumed(self, x, &range))
    }

    /// As [`assume_range`](Self::assume_range), where a tighter carried range stays, and complex
    /// vectors stay as they are: for the steps of a loop.
    ///
    /// # Errors
    /// [`ErrorKind::Declaration`] if the range has no value in common with the carried range.
    fn keep_within(
        &self,
        x: &Self::Ciphertext,
        range: RangeInclusive<f64>,
    ) -> Result<Self::Ciphertext> {
        self.composed("keep_within", || range::kept(self, x, &range))
    }

    /// `sum_i x_i y_i` with one relinearization and one rescale. Takes one level from the lowest
    /// operand.
    ///
    /// Products of different scales are aligned: see [`mul_add_many`](CkksOps::mul_add_many).
    fn dot(&self, x: &[&Self::Ciphertext], y: &[&Self::Ciphertext]) -> Result<Self::Ciphertext> {
        self.composed("dot", || {
            check_lengths(x.len(), y.len())?;
            let pairs: Vec<_> = x.iter().copied().zip(y.iter().copied()).collect();
            self.mul_add_many(&pairs, &[], 0.0, None)
        })
    }
}

impl<A: CkksOps> ComposedOps for A {}
