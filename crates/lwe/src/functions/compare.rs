//! Maximum, minimum, magnitude and comparison.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result};

use crate::encoding::{Encoding, Headroom, OutputEncoding};
use crate::lwe_vec::{Deviation, LweVec};
use crate::pbs::Evaluator;
use crate::progress::LookupProgress;
use crate::{error, noise};

/// The value that a comparator selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    Largest,
    Smallest,
}

impl Evaluator<'_> {
    /// The smaller and the larger value of each pair, with one look-up for each pair.
    pub fn min_max(&self, a: &LweVec, b: &LweVec) -> Result<(LweVec, LweVec)> {
        self.with_progress(a.len(), |work| self.min_max_in(work, a, b)).during("min_max")
    }

    /// `|x|` of each value, with one look-up for each. A fitted encoding also includes the index
    /// error, and is never narrower than the encoding of the operand.
    pub fn abs(&self, values: &LweVec, output: OutputEncoding) -> Result<LweVec> {
        let output = match output {
            OutputEncoding::Fit(headroom) => {
                OutputEncoding::Encoding(self.magnitudes(values, headroom)?)
            }
            given => given,
        };
        let run = |work: &mut _| self.map_in(work, values, &[&f64::abs], output);
        let out = self.with_progress(values.len(), run).during("abs")?;
        // |x| has slope 1, so the index error of this table moves results out of the range: it
        // counts as noise of the phase.
        let noise = out.meta().noise.hypot(self.noise_std(values));
        // The range of the function stays. The index error of the operand is passed on.
        let (lo, hi) = (out.meta().lo, out.meta().hi);
        Ok(out.with_noise(lo..=hi, noise)?.with_index(values.meta().index))
    }

    /// The encoding of `|x|`. Its error is the index error of the operand, whose width may differ
    /// greatly from the width of the result.
    fn magnitudes(&self, values: &LweVec, headroom: Headroom) -> Result<Encoding> {
        // The range of |x|.
        let most = values.meta().lo.abs().max(values.meta().hi.abs());
        let least = values.meta().lo.max(-values.meta().hi).max(0.0);
        let fit = |variance: f64| {
            let variance = noise::look_up(self.params) + variance;
            Encoding::fit(self.params, least, most, variance, headroom, self.log2_failure)
        };
        // The error is the largest fraction of a period at the narrowest encoding.
        let narrowest = fit(0.0)?.width().max(values.meta().encoding.width());
        let q0 = self.params.ring_modulus().value() as f64;
        let fitted = fit((self.noise_std(values).bound * q0 / narrowest).powi(2))?;
        Encoding::new(fitted.center(), fitted.width().max(narrowest))
    }

    /// 1 where `a > b` and 0 elsewhere, with one look-up for each pair. The result is correct if
    /// the two values differ by more than the error of the argument, whose standard deviation is
    /// [`index_std`](Self::index_std) of `a - b`. At a distance of six standard deviations it is
    /// wrong with probability `2^-29`. The [`index`](crate::LweMeta::index) of the result
    /// is that of the worst case `a = b`, which is 1/2.
    pub fn greater(&self, a: &LweVec, b: &LweVec, output: OutputEncoding) -> Result<LweVec> {
        let run = |work: &mut _| self.map_in(work, &a.sub(b)?, &[&step], output);
        self.with_progress(a.len(), run).during("greater")
    }

    /// The largest value over `k` lanes at each position, with `k - 1` look-ups for each position
    /// in `ceil(log2 k)` batches.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] without headroom for the difference of two lanes.
    pub fn max(&self, lanes: &[LweVec]) -> Result<LweVec> {
        self.tournament(lanes, Pick::Largest).during("max")
    }

    /// The smallest value over several lanes at each position, as [`max`](Self::max).
    pub fn min(&self, lanes: &[LweVec]) -> Result<LweVec> {
        self.tournament(lanes, Pick::Smallest).during("min")
    }

    /// The common length of all lanes. Fails if there are none or their lengths differ.
    pub(crate) fn common_len(lanes: &[LweVec]) -> Result<usize> {
        let len = lanes.first().ok_or_else(error::no_values)?.len();
        match lanes.iter().find(|lane| lane.len() != len) {
            Some(lane) => Err(error::lengths(len, lane.len())),
            None => Ok(len),
        }
    }

    /// A tree of comparators. The comparators of a round run in one batch.
    pub(crate) fn tournament(&self, lanes: &[LweVec], pick: Pick) -> Result<LweVec> {
        let len = Self::common_len(lanes)?;
        let mut work = self.begin((lanes.len() - 1) * len)?;
        self.tournament_in(&mut work, lanes, pick)
    }

    /// [`tournament`](Self::tournament) within a longer operation, of at least one lane and with
    /// equal lengths.
    pub(crate) fn tournament_in(
        &self,
        work: &mut LookupProgress<'_>,
        lanes: &[LweVec],
        pick: Pick,
    ) -> Result<LweVec> {
        let len = lanes[0].len();
        let mut lanes = lanes.to_vec();
        while lanes.len() > 1 {
            // An odd lane moves to the next round.
            let rest = lanes.split_off(lanes.len() / 2 * 2);
            let (a, b) = lanes.split_at(lanes.len() / 2);
            let winners = self.pick_in(work, &LweVec::concat(a)?, &LweVec::concat(b)?, pick)?;
            lanes = winners.split(len);
            lanes.extend(rest);
        }
        Ok(lanes.remove(0))
    }

    /// [`max`](Self::max) or [`min`](Self::min) of two lanes within a longer operation.
    pub(crate) fn pick_in(
        &self,
        work: &mut LookupProgress<'_>,
        a: &LweVec,
        b: &LweVec,
        pick: Pick,
    ) -> Result<LweVec> {
        let excess = self.excess(work, a, b)?;
        self.picked(a, b, &excess, pick)
    }

    /// [`min_max`](Self::min_max) within a longer operation.
    pub(crate) fn min_max_in(
        &self,
        work: &mut LookupProgress<'_>,
        a: &LweVec,
        b: &LweVec,
    ) -> Result<(LweVec, LweVec)> {
        let excess = self.excess(work, a, b)?;
        let pick = |pick| self.picked(a, b, &excess, pick);
        Ok((pick(Pick::Smallest)?, pick(Pick::Largest)?))
    }

    /// `max(a - b, 0)` at the width of the difference.
    fn excess(&self, work: &mut LookupProgress<'_>, a: &LweVec, b: &LweVec) -> Result<LweVec> {
        let difference = a.sub(b)?;
        let output = OutputEncoding::Encoding(excess_encoding(&difference)?);
        self.map_in(work, &difference, &[&positive], output)
    }

    /// Maximum or minimum from the excess `max(a - b, 0)`, with the range and the errors that the
    /// module documentation states.
    pub(crate) fn picked(
        &self,
        a: &LweVec,
        b: &LweVec,
        excess: &LweVec,
        pick: Pick,
    ) -> Result<LweVec> {
        // Step 1: the noise of the result: that of an operand, and the error of this look-up.
        let fresh = noise::comparator(self.params, excess.meta().encoding.width());
        // No other value shares the noise of this look-up, so it adds in variance. The factor of
        // the bounds covers the maximum of several equal values.
        let equal = noise::comparator_variance_factor(self.log2_failure).sqrt();
        let covering = |x: Deviation| Deviation { bound: x.bound * equal, ..x };
        let noise = a.meta().noise.max(b.meta().noise).hypot(Deviation::of_variance(fresh));
        let index = a.meta().index.max(b.meta().index);
        // Step 2: max(a, b) = b + max(a - b, 0), and min(a, b) = a - max(a - b, 0).
        let (winner, range) = match pick {
            Pick::Largest => {
                (b.add(excess)?, a.meta().lo.max(b.meta().lo)..=a.meta().hi.max(b.meta().hi))
            }
            Pick::Smallest => {
                (a.sub(excess)?, a.meta().lo.min(b.meta().lo)..=a.meta().hi.min(b.meta().hi))
            }
        };
        Ok(winner.with_noise(range, covering(noise))?.with_index(covering(index)))
    }
}

/// The encoding of `max(d, 0)` that can be added to the operands of the difference `d`.
pub(crate) fn excess_encoding(difference: &LweVec) -> Result<Encoding> {
    // The same width as the operands, so that the sum needs no alignment.
    Encoding::new(0.0, difference.meta().encoding.width())
}

/// `max(x, 0)`.
pub(crate) fn positive(x: f64) -> f64 {
    x.max(0.0)
}

/// 1 if `x > 0`, and 0 otherwise.
pub(crate) fn step(x: f64) -> f64 {
    f64::from(u8::from(x > 0.0))
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::engine::NtruRotation;
    use crate::params::tests::{insecure, insecure_ntru};
    use crate::testing::Setup;

    fn pairs() -> (Vec<f64>, Vec<f64>) {
        // All differences of a grid, including equal values and both ends.
        let grid: Vec<f64> = (0..=8).map(|i| -2.0 + 0.5 * f64::from(i)).collect();
        let all = grid.iter().flat_map(|&a| grid.iter().map(move |&b| (a, b)));
        all.unzip()
    }

    #[test]
    fn comparators_are_off_by_one_index_error() {
        let ntru = insecure_ntru(64, 512, NtruRotation::Ternary);
        for spec in [insecure(64, 512, false), insecure(64, 512, true), ntru] {
            let mut s = Setup::new(spec);
            let encoding = s.fit(-2.0..=2.0, 1e6, Headroom::comparators(1));
            let (x, y) = pairs();
            let a = s.encrypt(&x, -2.0..=2.0, encoding);
            let b = s.encrypt(&y, -2.0..=2.0, encoding);
            let evaluator = s.evaluator();
            let (min, max) = evaluator.min_max(&a, &b).unwrap();
            let lanes = [a.clone(), b.clone()];
            assert_eq!(evaluator.max(&lanes).unwrap(), max);
            assert_eq!(evaluator.min(&lanes).unwrap(), min);
            assert_eq!(
                (max.meta().lo, max.meta().hi, min.meta().lo, min.meta().hi),
                (-2.0, 2.0, -2.0, 2.0)
            );
            let predicted = max.variance();
            let mut squares = 0.0;
            let mut deciding = 0.0;
            let got = min.decrypt(&s.ring).unwrap().into_iter().zip(max.decrypt(&s.ring).unwrap());
            for ((least, most), (x, y)) in got.zip(x.iter().zip(&y)) {
                for error in [least - x.min(*y), most - x.max(*y)] {
                    assert!(error.abs() < 6.0 * predicted.sqrt(), "{x} {y}: {error}");
                    if x > y {
                        squares += error * error;
                        deciding += 1.0;
                    } else if x < y {
                        assert!(error.abs() < 0.01, "{x} {y}: {error}");
                    }
                }
            }
            let ratio = squares / deciding / predicted;
            assert!((0.6..1.6).contains(&ratio), "{:?}: {ratio}", s.params.spec().engine);
        }
    }

    #[test]
    fn comparison_and_magnitude() {
        let mut s = Setup::new(insecure(64, 512, true));
        let encoding = s.fit(-2.0..=2.0, 1e6, Headroom::comparators(1));
        let (x, y) = pairs();
        let a = s.encrypt(&x, -2.0..=2.0, encoding);
        let b = s.encrypt(&y, -2.0..=2.0, encoding);
        let evaluator = s.evaluator();
        let output = OutputEncoding::Fit(Headroom::TABLE);
        let greater = evaluator.greater(&a, &b, output).unwrap().decrypt(&s.ring).unwrap();
        for (got, (x, y)) in greater.iter().zip(x.iter().zip(&y)) {
            let bit = got.round();
            assert!((got - bit).abs() < 0.01, "{got}");
            assert!(x == y && (bit == 0.0 || bit == 1.0) || bit == step(x - y), "{x} {y} {got}");
        }
        let difference = a.sub(&b).unwrap();
        let distance = evaluator.abs(&difference, output).unwrap();
        assert_eq!((distance.meta().lo, distance.meta().hi), (0.0, 4.0));
        let bound = 6.0 * distance.variance().sqrt();
        assert!(bound < 6.5 * evaluator.index_std(&difference));
        for (got, (x, y)) in distance.decrypt(&s.ring).unwrap().iter().zip(x.iter().zip(&y)) {
            assert!((got - (x - y).abs()).abs() < bound, "{x} {y} {got}");
        }
    }

    /// A range far narrower than the encoding: the fitted encoding includes the index error of the
    /// width, and the results fit a table.
    #[test]
    fn magnitudes_of_a_narrow_range_fit_what_comes_next() {
        let mut s = Setup::new(insecure(64, 512, true));
        let encoding = s.fit(-2.0..=2.0, 1e6, Headroom::TABLE);
        for (lo, hi) in [(-0.2, 0.2), (1.8, 2.0), (-2.0, -1.9), (-2.0, 2.0), (0.0, 0.0)] {
            let x = s.encrypt(&[lo, hi], lo..=hi, encoding);
            let evaluator = s.evaluator();
            for terms in [1, 2] {
                let headroom = Headroom { terms, levels: 0 };
                let y = evaluator.abs(&x, OutputEncoding::Fit(headroom)).unwrap();
                let sum = if terms == 2 { y.add(&y).unwrap() } else { y.clone() };
                evaluator.table_domain(&sum).unwrap();
                let bound = 6.0 * y.meta().noise.bound;
                for (got, x) in y.decrypt(&s.ring).unwrap().iter().zip([lo, hi]) {
                    assert!((got - x.abs()).abs() < bound, "{lo}..={hi}: {got}");
                }
            }
        }
    }

    #[test]
    fn tournaments_of_any_size() {
        let mut s = Setup::new(insecure(64, 1024, false));
        for count in [1, 2, 3, 5, 8] {
            let levels = usize::ilog2(count * 2 - 1);
            let encoding = s.fit(-2.0..=2.0, 1e6, Headroom::comparators(levels));
            let rows: Vec<Vec<f64>> = (0..count)
                .map(|i| (0..4).map(|j| f64::from((7 * i as i32 + 3 * j) % 9 - 4) / 2.0).collect())
                .collect();
            let lanes: Vec<_> =
                rows.iter().map(|row| s.encrypt(row, -2.0..=2.0, encoding)).collect();
            let evaluator = s.evaluator();
            let (max, min) = (evaluator.max(&lanes).unwrap(), evaluator.min(&lanes).unwrap());
            let bound = 6.0 * max.variance().sqrt();
            let (max, min) = (max.decrypt(&s.ring).unwrap(), min.decrypt(&s.ring).unwrap());
            for place in 0..4 {
                let column = || rows.iter().map(|row| row[place]);
                let (most, least) = (column().fold(-9.0, f64::max), column().fold(9.0, f64::min));
                assert!((max[place] - most).abs() < bound, "{count} {place}: {}", max[place]);
                assert!((min[place] - least).abs() < bound, "{count} {place}: {}", min[place]);
            }
        }
        assert!(matches!(
            s.evaluator().max(&[]),
            Err(e)
                if e.op() == "max"
                    && e.is(&ErrorKind::Length, "no values; need at least one")
        ));
    }

    /// The statements of the module documentation on ties, and on the two results of one
    /// comparator.
    #[test]
    fn ties_and_pairs_err_by_more_than_independent_values() {
        let mut s = Setup::new(insecure(64, 1024, false));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(4));
        let lanes: Vec<_> = (0..16).map(|_| s.encrypt(&[0.5; 60], 0.0..=1.0, encoding)).collect();
        let evaluator = s.evaluator();
        let mean_square = |values: &LweVec, exact: f64| {
            let got = values.decrypt(&s.ring).unwrap();
            got.iter().map(|v| (v - exact).powi(2)).sum::<f64>() / got.len() as f64
        };
        let best = evaluator.max(&lanes).unwrap();
        let (measured, one) = (mean_square(&best, 0.5), best.variance() / 4.0);
        // Six variances of one error: between the tracked four and the square of four.
        assert!((4.3..8.0).contains(&(measured / one)), "{}", measured / one);
        let a = s.encrypt(&[0.9; 200], 0.0..=1.0, encoding);
        let b = s.encrypt(&[0.2; 200], 0.0..=1.0, encoding);
        let (min, max) = s.evaluator().min_max(&a, &b).unwrap();
        let difference = max.sub(&min).unwrap();
        let got = difference.decrypt(&s.ring).unwrap();
        let measured = got.iter().map(|v| (v - 0.7).powi(2)).sum::<f64>() / 200.0;
        let ratio = measured / difference.variance();
        assert!((0.75..1.33).contains(&ratio), "{ratio}");
    }

    #[test]
    fn lanes_of_different_lengths_are_refused() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(2));
        let lanes: Vec<_> =
            [1, 2, 1, 2].map(|len| s.encrypt(&vec![0.5; len], 0.0..=1.0, encoding)).into();
        let (evaluator, output) = (s.evaluator(), OutputEncoding::Fit(Headroom::TABLE));
        let refused = [
            evaluator.max(&lanes).unwrap_err(),
            evaluator.arg_min(&lanes, Headroom::TABLE).unwrap_err(),
            evaluator.arg_max_label(&lanes, &[0.0; 4], output).unwrap_err(),
            evaluator.max_indicators(&lanes, output).unwrap_err(),
        ];
        for error in refused {
            assert!(
                error.is(
                    &ErrorKind::Length,
                    "one operand has 1 value(s) and another one 2: take operands of one"
                ),
                "{error}"
            );
        }
    }

    #[test]
    fn values_without_room_for_differences_are_refused() {
        let mut s = Setup::new(insecure(8, 256, false));
        let encoding = s.fit(-2.0..=2.0, 1e6, Headroom::TABLE);
        let a = s.encrypt(&[1.0], -2.0..=2.0, encoding);
        let error = s.evaluator().max(&[a.clone(), a]).unwrap_err();
        assert!(
            error.op() == "max"
                && error.is(&ErrorKind::Range, "encode the inputs with headroom for more"),
            "{error}"
        );
    }
}
