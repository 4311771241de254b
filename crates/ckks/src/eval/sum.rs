//! Sums over slots, and sums of many products.
//!
//! A sum of `n` rotations doubles (or quadruples) a window: with `W_m[j] = x[j] + .. + x[j + m - 1]`
//!
//! ```text
//! W_{r m + t} = sum_{i < r} RotL^{i m}(W_m) + sum_{i < t} RotL^{r m + i}(x).
//! ```
//!
//! The rotations of one window share its decomposition, and one division by the special primes
//! ends each stage (Full-RNS HEAAN, section 5.2, takes the plain doublings of HEAAN's algorithm 2).
//! A stage of radix 4 takes three keys and about three quarters of the time of two doublings; where
//! its keys are missing, doublings do.

use bellerophon_mlwe::{self as mlwe, Decomposed, ExtendedCiphertext};

use super::Evaluator;
use crate::{
    Account, Bounds, Ciphertext, Error, Interval, KeySpec, Meta, Plaintext, Result,
    books::same_scale, error::Standing,
};

/// One stage: `radix` windows of length `window`, and `tail` single slots after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stage {
    window: usize,
    radix: usize,
    tail: usize,
}

impl Stage {
    /// The last stage towards `count`, by quarters or by halves.
    fn last(count: usize, radix: usize) -> Self {
        if count < radix {
            return Self { window: 1, radix: count, tail: 0 };
        }
        Self { window: count / radix, radix, tail: count % radix }
    }

    /// Distances of the rotations of the window, then of the operand itself.
    fn distances(
        self,
    ) -> (impl Iterator<Item = usize> + Clone, impl Iterator<Item = usize> + Clone) {
        let Self { window, radix, tail } = self;
        ((1..radix).map(move |i| i * window), (0..tail).map(move |i| radix * window + i))
    }
}

/// The stages of a sum of `count` terms, the first one first; `usable` says for which stages of
/// radix 4 there are keys.
fn stages(mut count: usize, usable: impl Fn(Stage) -> bool) -> Vec<Stage> {
    let mut stages = Vec::new();
    while count > 1 {
        let stage = Some(Stage::last(count, 4)).filter(|&stage| usable(stage));
        let stage = stage.unwrap_or_else(|| Stage::last(count, 2));
        count = stage.window;
        stages.push(stage);
    }
    stages.reverse();
    stages
}

impl KeySpec {
    /// The rotations of [`Evaluator::inner_sum`] up to `level`.
    #[must_use]
    pub fn inner_sum(mut self, count: usize, stride: i64, level: usize) -> Self {
        for stage in stages(count, |_| true) {
            let (window, single) = stage.distances();
            self = self.rotate(window.chain(single).map(|d| d as i64 * stride), level);
        }
        self
    }

    /// The rotations of [`Evaluator::total`] for vectors of `slots` slots, up to `level`.
    #[must_use]
    pub fn total(self, slots: usize, level: usize) -> Self {
        self.inner_sum(slots, 1, level)
    }

    /// The rotations of [`Evaluator::replicate`] up to `level`.
    #[must_use]
    pub fn replicate(self, count: usize, stride: i64, level: usize) -> Self {
        self.inner_sum(count, -stride, level)
    }
}

impl Evaluator {
    /// The sum of `count` slots at distance `stride`: slot `j` of the result is
    /// `x[j] + x[j + stride] + .. + x[j + (count - 1) stride]`, modulo the slots of `x`. Takes no
    /// level.
    ///
    /// About `1.5 log2(count)` rotations, half of a rotation's time each;
    /// [`KeySpec::inner_sum`] lists them. With `count * stride` the number of slots, every slot
    /// holds the sum of its residue class modulo `stride`; otherwise slots whose window leaves the
    /// part of interest hold sums that reach into the next part. Padding takes part with what it
    /// holds (zeros, as long as nothing was added to it; see [`keep`](Self::keep)).
    ///
    /// # Errors
    /// [`Error::SlotCount`] for a count that is zero or above the slots,
    /// [`Error::MissingRotationKey`], [`Error::RangeOverflow`] and mismatches.
    pub fn inner_sum(&self, x: &Ciphertext, count: usize, stride: i64) -> Result<Ciphertext> {
        self.inner_sum_as("inner sum", x, count, stride)
    }

    /// The sum over all slots, in every slot.
    ///
    /// # Errors
    /// As for [`inner_sum`](Self::inner_sum).
    pub fn total(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.inner_sum_as("total", x, x.slots(), 1)
    }

    /// Copies to the right: slot `j` of the result is the sum of `x[j - k stride]` for `k < count`.
    /// A block of `stride` slots that is followed by `count - 1` blocks of zeros fills them all with
    /// itself; one slot in a block of zeros (see [`keep`](Self::keep)) fills the block with stride 1.
    /// Takes no level.
    ///
    /// # Errors
    /// As for [`inner_sum`](Self::inner_sum).
    pub fn replicate(&self, x: &Ciphertext, count: usize, stride: i64) -> Result<Ciphertext> {
        self.inner_sum_as("replicate", x, count, -stride)
    }

    /// The value of one slot in every slot: a mask and a [`total`](Self::total). Takes one level.
    ///
    /// # Errors
    /// [`Error::SlotOutOfRange`], [`Error::OutOfLevels`], and those of
    /// [`inner_sum`](Self::inner_sum).
    pub fn replicate_slot(&self, x: &Ciphertext, slot: usize) -> Result<Ciphertext> {
        let op = "replicate a slot";
        let alone = self.masked(op, x, std::iter::once(slot..slot.saturating_add(1)))?;
        let mut all = self.inner_sum_as(op, &alone, x.slots(), 1)?;
        // One term is a slot of `x`, the others are zeros.
        all.meta.bounds = x.meta.bounds.mixed();
        Ok(all)
    }

    fn inner_sum_as(
        &self,
        op: &'static str,
        x: &Ciphertext,
        count: usize,
        stride: i64,
    ) -> Result<Ciphertext> {
        self.check(op, x)?;
        let slots = x.slots();
        if count == 0 || count > slots {
            return Err(Error::SlotCount { op, found: count, least: 1, most: slots });
        }
        let range = x.meta.bounds.slots.scale(count as f64);
        let bounds = if count == 1 { x.meta.bounds } else { Bounds::all(range) };
        self.check_range(op, &bounds, x.scale(), x.limbs())?;
        let step = |distance: usize| {
            (distance as i64 * stride.rem_euclid(slots as i64)).rem_euclid(slots as i64) as usize
        };
        let keys = self.keys().rotations(slots, x.limbs())?;
        let usable = |stage: Stage| {
            let (window, single) = stage.distances();
            window.chain(single).map(step).all(|step| step == 0 || keys.contains_key(&step))
        };
        let mut sum = x.clone();
        for stage in stages(count, usable) {
            let (window, single) = stage.distances();
            let window: Vec<usize> = std::iter::once(0).chain(window).map(step).collect();
            let single: Vec<usize> = single.map(step).collect();
            sum = self.sum_of_rotations(op, &[(&sum, &window), (x, &single)])?;
        }
        sum.meta.bounds = bounds;
        Ok(sum)
    }

    /// The sum of several rotations of several ciphertexts that stand alike: one decomposition for
    /// each ciphertext, one division by `P` in all. Steps without a key of their own are composed.
    /// The bounds are those of the first; the caller knows better.
    pub(crate) fn sum_of_rotations(
        &self,
        op: &'static str,
        terms: &[(&Ciphertext, &[usize])],
    ) -> Result<Ciphertext> {
        let lattice = self.params().lattice();
        let mut sum: Option<mlwe::Ciphertext> = None;
        let mut late: Option<ExtendedCiphertext> = None;
        let mut variance = 0.0;
        let mut add = |ct: mlwe::Ciphertext| -> Result<()> {
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &ct)?,
                None => sum = Some(ct),
            }
            Ok(())
        };
        let first = terms.first().ok_or(Error::NoValues { op })?.0;
        let limbs = first.limbs();
        let rounding = mlwe::noise::rounding(lattice);
        for &(x, steps) in terms {
            let keys = self.keys().rotations(x.slots(), limbs)?;
            let mut digits = None;
            for step in steps {
                variance += x.meta.variance;
                if *step == 0 {
                    add(x.inner.clone())?;
                    continue;
                }
                let Some(key) = keys.get(step) else {
                    let path = self.rotation_path(op, x, *step)?;
                    variance += path.len() as f64 * mlwe::noise::automorphism(lattice, limbs);
                    let mut rotated = x.inner.clone();
                    for key in path {
                        rotated = key.apply(lattice, &rotated)?;
                    }
                    add(rotated)?;
                    continue;
                };
                let digits = match &digits {
                    Some(digits) => digits,
                    None => digits.insert(Decomposed::new(lattice, x.inner.masks())?),
                };
                variance += mlwe::noise::automorphism(lattice, limbs) - rounding;
                let rotated = key.apply_extended(lattice, &x.inner, digits)?;
                match &mut late {
                    Some(late) => late.add_assign(lattice, &rotated)?,
                    None => late = Some(rotated),
                }
            }
        }
        if let Some(late) = late {
            variance += rounding;
            add(late.mod_down(lattice)?)?;
        }
        let inner = sum.ok_or(Error::NoValues { op })?;
        let meta = Meta { variance, ..first.meta };
        Ok(Ciphertext::at_level(self.params(), inner, meta))
    }

    /// `sum_i x_i y_i` of many pairs with one relinearisation and one rescaling. Takes one level
    /// from the lowest operand.
    ///
    /// The products must agree in scale: operands of one level and history do.
    ///
    /// # Errors
    /// [`Error::Lengths`] unless there are as many `y` as `x`, [`Error::NoValues`] for none,
    /// [`Error::ScaleMismatch`], and those of [`mul`](Self::mul).
    pub fn dot(&self, x: &[&Ciphertext], y: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "dot product";
        check_lengths(op, x.len(), y.len())?;
        let pairs: Vec<_> = x.iter().copied().zip(y.iter().copied()).collect();
        self.combination(&pairs, &[], 0.0, None).map_err(|error| error.named(op))
    }

    /// `sum_i x_i p_i` of many ciphertexts and encoded vectors with one rescaling. Takes one level
    /// from the lowest operand.
    ///
    /// # Errors
    /// [`Error::Lengths`] unless there are as many plaintexts as ciphertexts, [`Error::NoValues`]
    /// for none, [`Error::ScaleMismatch`] unless all products agree in scale, and those of
    /// [`mul_plain`](Self::mul_plain).
    pub fn dot_plain(&self, x: &[&Ciphertext], p: &[&Plaintext]) -> Result<Ciphertext> {
        let op = "dot product with plaintexts";
        check_lengths(op, x.len(), p.len())?;
        let levels = x.iter().map(|x| x.level()).chain(p.iter().map(|p| p.level()));
        let level = levels.min().ok_or(Error::NoValues { op })?;
        self.check_levels(op, 1, level)?;
        let scale = x[0].scale() * p[0].scale;
        let mut sum: Option<Account> = None;
        let mut terms = Vec::with_capacity(x.len());
        for (x, p) in x.iter().zip(p) {
            self.check(op, x)?;
            self.check_plain(op, p)?;
            let x = self.dropped(op, x, level)?;
            if !same_scale(x.scale() * p.scale, scale) {
                let standing = |scale: f64| Standing { level, log2_scale: scale.log2() };
                let (left, right) = (standing(x.scale() * p.scale), standing(scale));
                return Err(Error::ScaleMismatch { op, left, right });
            }
            let term = self.books().mul_plain(op, &x.account(), &p.account())?;
            sum = Some(match sum {
                None => term,
                Some(sum) => self.books().sum(op, &sum, &term, Interval::add)?,
            });
            let factor = p.poly_at(x.limbs());
            terms.push((x, factor));
        }
        let meta = sum.ok_or(Error::NoValues { op })?.meta;
        let ring = self.params().ring(terms[0].0.limbs());
        let body: Vec<_> = terms.iter().map(|(x, p)| (p, x.inner.b())).collect();
        let masks = (0..terms[0].0.inner.rank())
            .map(|i| {
                let pairs: Vec<_> = terms.iter().map(|(x, p)| (p, x.inner.a(i))).collect();
                ring.sum_of_products(&pairs)
            })
            .collect();
        let (body, key) = (ring.sum_of_products(&body), terms[0].0.key());
        let inner = mlwe::Ciphertext::new(self.params().lattice(), body, masks, key)?;
        self.rescaled(op, Ciphertext::at_level(self.params(), inner, meta))
    }
}

fn check_lengths(op: &'static str, left: usize, right: usize) -> Result<()> {
    if left != right {
        return Err(Error::Lengths { op, left, right });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_cover_every_term_once() {
        for usable in [true, false] {
            for count in 1..200 {
                let mut window = vec![0usize];
                for stage in stages(count, |_| usable) {
                    assert_eq!(stage.window, window.len());
                    let (by_window, single) = stage.distances();
                    let first = window.clone();
                    for d in by_window {
                        window.extend(first.iter().map(|t| t + d));
                    }
                    window.extend(single);
                }
                assert_eq!(window, (0..count).collect::<Vec<_>>());
            }
        }
        let steps =
            |count| -> usize { stages(count, |_| true).iter().map(|s| s.radix - 1 + s.tail).sum() };
        assert_eq!((steps(1), steps(2), steps(256), steps(512)), (0, 1, 12, 13));
    }
}
