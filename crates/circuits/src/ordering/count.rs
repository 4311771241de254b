//! Counts of values below a threshold, and quantiles by bisection with such counts.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::eval::statements::within;
use bellerophon_ckks::noise::Noise;
use bellerophon_ckks::origins::Relation;
use bellerophon_ckks::{CiphertextMeta, CkksOps, ComposedOps, Interval, Result, refresh};

use super::Comparator;
use super::unit::{SLACK, Unit, check_noise, opened};
use crate::error;

/// Bits of the last step of a bisection below the margin.
const STEP_BITS: f64 = 2.0;

impl Comparator {
    /// Bound on the error of one value in a count, outside the margin.
    pub(super) fn count_error(&self) -> f64 {
        0.5 * self.sign.error()
    }

    /// The number of values below a threshold of the declared range, in every slot.
    ///
    /// A value closer to the threshold than the margin counts as a number between 0 and 1, one half
    /// if equal: the error of the count is at most half of the number of such values. All others
    /// together have an error of at most `len` times the [`error`](Self::error) of a count. Errors
    /// of values spread evenly around the threshold cancel. Counts
    /// [`of_integers`](Self::of_integers) are exact, those equal to the threshold not counted.
    ///
    /// Takes [`levels`](Self::levels) levels.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for a threshold outside the declared range, where the count is known,
    /// and those of all functions here ([module](super)).
    pub fn count_below<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        threshold: f64,
    ) -> Result<A::Ciphertext> {
        a.composed("count below a threshold", || {
            let CiphertextMeta { bounds, .. } = a.metadata(x).meta;
            let unit = Unit::of(bounds.values, &self.sign)?;
            let (lo, hi) = (bounds.values.lo(), bounds.values.hi());
            let boundary = self.boundary(threshold);
            if !(lo..=hi).contains(&boundary) {
                let reason = format!(
                    "threshold {threshold:?} for values of [{lo:?}, {hi:?}], compared with \
                     {boundary:?}: need that in the range (elsewhere the count is known)"
                );
                return Err(error::shape(reason));
            }
            let filler = self.filler(&unit, bounds.values);
            let u = unit.entered(a, x, filler)?;
            let threshold = unit.place(boundary);
            let d = a.add_scalar(&a.neg(&u)?, threshold)?;
            let len = a.metadata(x).meta.len;
            self.check_integers(bounds.values, len)?;
            let count = self.positives(a, &d, len, threshold - filler)?;
            self.check_count(&a.metadata(&count).meta, len)?;
            a.with_len(count, len)
        })
    }

    /// The number of values below an encrypted one: a vector of that value alone, or with it in
    /// every slot, as [`quantile`](Self::quantile) and [`max`](Self::max) return it. Errors are
    /// those of [`count_below`](Self::count_below), with a margin of the range of both operands
    /// together. [`of_integers`](Self::of_integers) the rank is exact if the value is an integer
    /// too.
    ///
    /// Takes [`levels`](Self::levels) levels and one more, which clears the padding.
    pub fn rank<A: CkksOps>(
        &self,
        a: &A,
        x: &A::Ciphertext,
        value: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        a.composed("rank of a value", || {
            let (of_x, of_value) = (a.metadata(x).meta, a.metadata(value).meta);
            let whole = of_value.len == of_value.slots
                || (of_value.slots == of_x.slots && of_value.len >= of_x.len);
            if !whole {
                let reason = format!(
                    "a value in {} of {} slots against {} values in {}: need it alone, or in all \
                     slots",
                    of_value.len, of_value.slots, of_x.len, of_x.slots
                );
                return Err(error::shape(reason));
            }
            let range = of_x.bounds.values.hull(&of_value.bounds.values);
            let unit = Unit::of(range, &self.sign)?;
            self.check_integers(range, of_x.len)?;
            let u = unit.entered(a, x, 0.0)?;
            let v = a.repeated(unit.entered(a, value, 0.0)?, of_x.slots)?;
            let d = self.untied(a, a.sub(&a.with_len(v, of_x.slots)?, &u)?)?;
            // Step 1: 1 where the value is larger, 0 where it is smaller and in the padding.
            let ones: Vec<f64> =
                (0..of_x.slots).map(|i| f64::from(u8::from(i < of_x.len))).collect();
            let larger = a.mul_values(&self.counted(a, &d, None)?, &ones)?;
            // Step 2: how many are larger.
            let count = within(a, a.sum_slots(&larger)?, self.count_range(of_x.len)?);
            self.check_count(&a.metadata(&count).meta, of_x.len)?;
            a.with_len(count, of_x.len)
        })
    }

    /// The number of positive ones among the first `len` differences, in every slot. The others are
    /// `padding`, and the value of the step at each is subtracted. With automatic bootstrapping one
    /// level is left, since counts are too large for a bootstrap.
    pub(super) fn positives<A: CkksOps>(
        &self,
        a: &A,
        d: &A::Ciphertext,
        len: usize,
        padding: f64,
    ) -> Result<A::Ciphertext> {
        let slots = a.metadata(d).meta.slots;
        let steps = self.counted(a, d, (len < slots).then_some(padding))?;
        let sum = a.sum_slots(&*refresh::replenished(a, &steps, 1)?)?;
        let each = 0.5 * (1.0 + self.sign.eval(padding));
        let count = a.add_scalar(&sum, -each * (slots - len) as f64)?;
        Ok(within(a, count, self.count_range(len)?))
    }

    fn count_range(&self, len: usize) -> Result<Interval> {
        let (len, beyond) = (len as f64, self.count_error());
        Interval::real(-len * beyond, len * (1.0 + beyond))
    }

    /// The part of the first `len` differences that are positive, times `factor`, in every slot.
    fn share<A: CkksOps>(
        &self,
        a: &A,
        d: &A::Ciphertext,
        len: usize,
        factor: f64,
    ) -> Result<A::Ciphertext> {
        let slots = a.metadata(d).meta.slots;
        let part = factor / len as f64;
        let parts: Vec<f64> = (0..slots).map(|i| if i < len { part } else { 0.0 }).collect();
        let steps = self.steps(a, d)?;
        let sum = a.sum_slots(&a.mul_values(&steps, &parts)?)?;
        let beyond = self.count_error();
        Ok(within(a, sum, Interval::real(-factor * beyond, factor * (1.0 + beyond))?))
    }
}

impl Comparator {
    /// Steps of [`quantile`](Self::quantile), down to a quarter of the margin or less.
    pub(super) fn quantile_steps(&self) -> usize {
        (STEP_BITS - self.sign.threshold().log2()).ceil() as usize
    }

    /// See [`error`](Self::error): the margin, the last step and the error of the sign.
    pub(super) fn quantile_error(&self) -> f64 {
        let last = 0.5f64.powi(self.quantile_steps() as i32 + 1);
        (self.sign.threshold() + self.sign.error()) * Unit::widening(&self.sign) + last
    }

    /// Bound on the error of the rank in [`quantile`](Self::quantile), as a part of the number of
    /// values.
    pub fn quantile_rank_error(&self) -> f64 {
        (self.sign.threshold() + self.sign.error()) / self.shrunk() + self.count_error()
    }

    /// The factor of the excess of a count before its sign.
    fn shrunk(&self) -> f64 {
        1.0 - 2.0 * self.sign.error() - SLACK
    }

    /// The median of a vector, [`quantile`](Self::quantile) 1/2.
    pub fn median<A: CkksOps>(&self, a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
        a.composed("median", || self.quantile(a, x, 0.5))
    }

    /// The value below which a part `q` of the values lies, in the slot of every value, by
    /// bisection of the declared range: each step
    /// counts the values above a threshold and moves it by the sign of the count's distance from
    /// `1 - q`.
    ///
    /// # Accuracy
    /// Let `m` be the margin, `r` [`quantile_rank_error`](Self::quantile_rank_error) and `b`
    /// its [`error`](Self::error). The result is within `b` (times the width of the
    /// declared range) of a value that is the quantile of some `q'` with `|q' - q| <= r`. Both
    /// bounds are due to margins: a value within `m` of the threshold counts in part, and a
    /// decision is partial if the count is within `m len` of the wanted one.
    /// - If values have a density of `p` per width of the range around the quantile, the error is
    ///   up to `b + r / p`; if many values equal the quantile, up to `b`.
    /// - For a `q` within `r` of 0 or 1 any threshold beyond the values is a quantile of some such
    ///   `q'`: [`min`](Self::min) and [`max`](Self::max) give the ends.
    /// - If no value is near (the median of two clusters of equal size), any threshold between is a
    ///   quantile.
    ///
    /// # Noise
    /// If the count is within `m len` of the wanted one, its noise moves the decision by up to the
    /// slope of the sign at zero. The predicted noise of the result counts it in every step, the
    /// excess does not: a sign of any argument in `[-1, 1]` keeps the threshold in the declared
    /// range.
    ///
    /// Takes twice [`levels`](Self::levels) levels for each step, and two more.
    pub fn quantile<A: CkksOps>(&self, a: &A, x: &A::Ciphertext, q: f64) -> Result<A::Ciphertext> {
        a.composed("quantile", || {
            if !(0.0..=1.0).contains(&q) {
                return Err(error::shape(format!("the quantile {q:?}: need a part from 0 to 1")));
            }
            let CiphertextMeta { len, bounds, .. } = a.metadata(x).meta;
            // Step 1: the values in the unit of the comparator.
            let unit = Unit::of(bounds.values, &self.sign)?;
            // Errors of the values move their quantile by at most the largest of them.
            let (of_u, u) = opened(a, unit.entered(a, x, 0.0)?);
            // Step 2: all moves together reach the ends of the declared range, and not beyond.
            let reach = unit.place(bounds.values.hi());
            let (first, mut decided) = self.moved(a, &u, None, len, q, 0.5 * reach)?;
            let mut threshold = unit.settled(a, first, &of_u)?;
            // Step 3: bisection: every move is half as long as the one before.
            for step in 1..self.quantile_steps() {
                let by = reach * 0.5f64.powi(step as i32 + 1);
                let (before, last) = opened(a, threshold);
                let last = self.ready(a, last)?;
                let (next, noise) = self.moved(a, &u, Some(&last), len, q, by)?;
                decided = decided.sum(noise, Relation::Independent);
                threshold = unit.settled(a, next, &before)?;
            }
            // Step 4: the noise of all decisions, and the way back to the range of the values.
            let mut meta = a.metadata(&threshold).meta;
            let decided = decided * meta.scale.powi(2);
            meta.noise = meta.noise.sum(decided.included(), Relation::Independent);
            let threshold = a.with_metadata(threshold, meta);
            unit.left(a, &threshold, len)
        })
    }

    /// One step of the bisection: the threshold (0 at first) moved by `by`, up where more than
    /// `1 - q` of the first `len` values are above it; and the noise, in squares of the unit,
    /// that the noise of the count brings into it where the sign is steepest.
    fn moved<A: CkksOps>(
        &self,
        a: &A,
        u: &A::Ciphertext,
        threshold: Option<&A::Ciphertext>,
        len: usize,
        q: f64,
        by: f64,
    ) -> Result<(A::Ciphertext, Noise)> {
        // Step 1: the part of the values above the threshold minus the wanted one, scaled so that
        // the difference and its error are in [-1, 1].
        let d = match threshold {
            Some(t) => a.sub(u, t)?,
            None => u.clone(),
        };
        let shrunk = self.shrunk();
        let share = self.share(a, &d, len, shrunk)?;
        let f = a.add_scalar(&share, -shrunk * (1.0 - q))?;
        check_noise(&a.metadata(&f).meta)?;
        let (of_f, f) = opened(a, a.assume_range_with_padding(f, Interval::real(-1.0, 1.0)?));
        // Step 2: its sign moves the threshold.
        let s = self.signs(a, &f)?;
        let by = by / (1.0 + self.sign.error());
        let moved: Vec<_> = threshold.map(|t| (t, 1.0)).into_iter().chain([(&s, by)]).collect();
        let decided = of_f.meta.noise * (by * self.slope / of_f.meta.scale).powi(2);
        Ok((a.linear_combination(&moved, 0.0, None)?, decided))
    }
}
