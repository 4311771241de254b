//! Argmax and argmin.
//!
//! Two variants treat ties differently. The argmax *tournament* (a tournament that records its
//! winners) marks exactly one value. Among values that differ by less than the index errors it may
//! mark any. The *indicators* of PEGASUS (section V.A) compare every value with the maximum, and
//! mark all values that are within a tolerance of it.
//!
//! Arguments are lanes: `k` vectors of equal length. The argmax is taken over the lanes, separately
//! at each position.

use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{During, Result};

use super::{
    argmax_tournament::{Bracket, Side, is_match},
    compare::Pick,
};
use crate::ciphertext::Ciphertext;
use crate::encoding::{Encoding, Headroom, OutputEncoding};
use crate::lwe_vec::{Deviation, LweVec};
use crate::pbs::Evaluator;
use crate::{error, noise};

/// Tolerance of the indicators, in standard deviations of the index error.
const MISS: f64 = 6.0;

impl Evaluator<'_> {
    /// One-hot argmax over `k` lanes: at each position, 1 for the lane with the largest value and 0
    /// for the others. Exactly one lane has 1. It takes `2 k - 3` look-ups for each position with
    /// the special-modulus gadget, and `3 k - 5` with digits and on NTRU.
    ///
    /// A tournament of more than two lanes uses an encoding of its own, with headroom for two
    /// terms. If the requested headroom is larger, another `k` look-ups for each position convert
    /// the results.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] if the tables cannot distinguish the sums of the tournament.
    pub fn arg_max(&self, lanes: &[LweVec], headroom: Headroom) -> Result<Vec<LweVec>> {
        self.winners(lanes, Pick::Largest, headroom).during("arg_max")
    }

    /// One-hot argmin, as [`arg_max`](Self::arg_max).
    pub fn arg_min(&self, lanes: &[LweVec], headroom: Headroom) -> Result<Vec<LweVec>> {
        self.winners(lanes, Pick::Smallest, headroom).during("arg_min")
    }

    /// At each position the label of the lane with the largest value, for example its number. It
    /// takes about as many look-ups as [`arg_max`](Self::arg_max). A label is the sum of
    /// `ceil(k / 2)` look-ups and has their noise ([`noise::label`]), which a fitted encoding
    /// includes.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`], before any look-up, if that noise may reach half the smallest distance
    /// between two different labels, as for the numbers of very many lanes.
    pub fn arg_max_label(
        &self,
        lanes: &[LweVec],
        labels: &[f64],
        output: OutputEncoding,
    ) -> Result<LweVec> {
        self.label(lanes, labels, Pick::Largest, output)
    }

    /// The label of the lane with the smallest value, as [`arg_max_label`](Self::arg_max_label).
    pub fn arg_min_label(
        &self,
        lanes: &[LweVec],
        labels: &[f64],
        output: OutputEncoding,
    ) -> Result<LweVec> {
        self.label(lanes, labels, Pick::Smallest, output)
    }

    /// At each position, 1 for every lane that ties with the largest value and 0 for the others,
    /// with `2 k - 1` look-ups for each position. The second result is the tolerance `t`, six
    /// standard deviations of the index error of the comparison. The largest value is marked,
    /// values up to `2 t` below it may be marked, and values further below are not.
    pub fn max_indicators(
        &self,
        lanes: &[LweVec],
        output: OutputEncoding,
    ) -> Result<(Vec<LweVec>, f64)> {
        self.indicators(lanes, Pick::Largest, output)
    }

    /// Indicators of the smallest value, as [`max_indicators`](Self::max_indicators).
    pub fn min_indicators(
        &self,
        lanes: &[LweVec],
        output: OutputEncoding,
    ) -> Result<(Vec<LweVec>, f64)> {
        self.indicators(lanes, Pick::Smallest, output)
    }

    /// [`max_indicators`](Self::max_indicators) or [`min_indicators`](Self::min_indicators).
    fn indicators(
        &self,
        lanes: &[LweVec],
        pick: Pick,
        output: OutputEncoding,
    ) -> Result<(Vec<LweVec>, f64)> {
        let len = Self::common_len(lanes)?;
        let mut work = self.begin((2 * lanes.len() - 1) * len)?;
        // Step 1: the maximum (or minimum) over all lanes.
        let best = self.tournament_in(&mut work, lanes, pick)?;
        // Step 2: the distance of each lane from it, which is not negative.
        let all = LweVec::concat(lanes)?;
        let difference = match pick {
            Pick::Largest => LweVec::concat(&vec![best; lanes.len()])?.sub(&all)?,
            Pick::Smallest => all.sub(&LweVec::concat(&vec![best; lanes.len()])?)?,
        };
        let range = 0.0..=difference.meta().hi;
        let difference = difference.within(range)?;
        // Step 3: one look-up for each lane marks distances within the tolerance.
        let tolerance = MISS * self.index_std(&difference);
        let near = |d: f64| f64::from(u8::from(d <= tolerance));
        let out = self.map_in(&mut work, &difference, &[&near], output)?;
        Ok((out.split(len), tolerance))
    }

    /// [`arg_max`](Self::arg_max) or [`arg_min`](Self::arg_min).
    fn winners(&self, lanes: &[LweVec], pick: Pick, headroom: Headroom) -> Result<Vec<LweVec>> {
        let len = Self::common_len(lanes)?;
        if lanes.len() == 1 {
            let output = OutputEncoding::Fit(headroom);
            return self.constant(&lanes[0], 1.0, 0.0..=1.0, output).map(|winner| vec![winner]);
        }
        // Step 1: the encoding of the tournament, and the output encoding if it differs.
        let bracket = Bracket::new(lanes.len());
        let fit = |variance: f64, headroom: Headroom| {
            Encoding::fit(self.params, 0.0, 1.0, variance, headroom, self.log2_failure)
        };
        let fresh = noise::look_up(self.params);
        let (encoding, moved) = if bracket.rounds.len() == 1 {
            // No sum of bits is looked up, so the requested headroom suffices.
            (fit(fresh, Headroom { terms: headroom.terms.max(3), ..headroom })?, None)
        } else {
            let bits = self.tournament_encoding(&bracket)?;
            // Each round of the outcome adds the noise of a look-up to the indicators.
            let wanted = fit(bracket.rounds.len() as f64 * bits.variance, headroom);
            let fits = wanted.is_ok_and(|wanted| wanted.width() <= bits.encoding.width());
            let moved =
                if fits { None } else { Some(OutputEncoding::Encoding(fit(fresh, headroom)?)) };
            (bits.encoding, moved)
        };
        // Step 2: play the matches from the first round to the last.
        let more = if moved.is_some() { lanes.len() } else { 0 };
        let look_ups = self.match_look_ups(lanes.len()) + bracket.count(|_| true) + more;
        let mut work = self.begin(look_ups * len)?;
        let won = self.play(&mut work, &bracket, lanes, pick, encoding)?;
        // Step 3: from the last round to the first, find which lane wins all its matches.
        let outcome = self.outcome(&mut work, &bracket, &won, |_| true)?;
        let won = outcome.lanes.into_iter().map(|won| won.expect("every lane is a side"));
        let all = LweVec::concat(&won.collect::<Vec<_>>())?;
        // Step 4: convert the indicators to the output encoding, where necessary.
        let all = match moved {
            None => all,
            Some(output) => {
                let bit = |sum: f64| f64::from(u8::from(sum > 0.5));
                self.map_in(&mut work, &all, &[&bit], output)?
            }
        };
        Ok(all.with_index(undecided(lanes.len())).split(len))
    }

    /// [`arg_max_label`](Self::arg_max_label) or [`arg_min_label`](Self::arg_min_label).
    fn label(
        &self,
        lanes: &[LweVec],
        labels: &[f64],
        pick: Pick,
        output: OutputEncoding,
    ) -> Result<LweVec> {
        let len = Self::common_len(lanes)?;
        check_labels(lanes.len(), labels)?;
        if lanes.len() == 1 {
            return self.constant(&lanes[0], labels[0], labels[0]..=labels[0], output);
        }
        // Step 1: the matches that have a lane as a side, with the labels of their sides. Each lane
        // is a side of exactly one match, so `ceil(k / 2)` look-ups name all lanes.
        let bracket = Bracket::new(lanes.len());
        let bits = self.tournament_encoding(&bracket)?;
        let label = |side: &Side| match side {
            Side::Lane(i) => labels[*i],
            Side::Match(_) => 0.0,
        };
        let naming: Vec<_> = bracket
            .matches()
            .enumerate()
            .filter(|(_, sides)| !sides.iter().all(is_match))
            .map(|(i, sides)| (i, sides.each_ref().map(label)))
            .collect();
        // Step 2: the output encoding. Each part is 0 or a label, and the noises of all parts add.
        let lo = labels.iter().copied().fold(0.0, f64::min);
        let hi = labels.iter().copied().fold(0.0, f64::max);
        let variance = noise::label(self.params, lanes.len());
        debug_assert_eq!(naming.len(), lanes.len().div_ceil(2));
        let encoding = output.resolve(self.params, &(lo..=hi), variance, self.log2_failure)?;
        let unit = encoding.width() / self.params.ring_modulus().value() as f64;
        // Step 3: the noise must stay below half the smallest distance between two labels.
        let reach = noise::deviations(self.log2_failure) * variance.sqrt() * unit;
        check_reach(labels, reach)?;
        // Step 4: play the matches, and find which of them the overall winner comes from.
        let output = OutputEncoding::Encoding(encoding);
        let look_ups = self.match_look_ups(lanes.len()) + bracket.count(is_match) + naming.len();
        let mut work = self.begin(look_ups * len)?;
        let won = self.play(&mut work, &bracket, lanes, pick, bits.encoding)?;
        let outcome = self.outcome(&mut work, &bracket, &won, is_match)?;
        // Step 5: one look-up for each match with a lane gives the label of the overall winner, or
        // 0 if the winner is in another match.
        let sums: Vec<_> = naming.iter().map(|(i, _)| outcome.sums[*i].clone()).collect();
        let tables: Vec<_> = naming.iter().map(|(_, labels)| name_winner(*labels)).collect();
        let functions: Vec<_> = tables.iter().map(|table| table as &dyn Fn(f64) -> f64).collect();
        let named = self.map_in(&mut work, &LweVec::concat(&sums)?, &functions, output)?;
        // Step 6: the sum of all parts is the label.
        let (lo, hi) = (named.meta().lo, named.meta().hi);
        let mut parts = named.split(len).into_iter();
        let first = parts.next().expect("a lane plays somewhere");
        let sum = parts.try_fold(first, |sum, part| {
            // At most one term is not zero, and each comes from a blind rotation of its own.
            sum.add_independent(&part.within(0.0..=0.0)?)?.within(lo..=hi)
        })?;
        let least = labels.iter().copied().fold(f64::INFINITY, f64::min);
        let most = labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(sum.with_index(undecided(labels.len()) * (most - least)))
    }

    /// Trivial ciphertexts of a public value, in a vector of the length of `like`.
    fn constant(
        &self,
        like: &LweVec,
        value: f64,
        range: RangeInclusive<f64>,
        output: OutputEncoding,
    ) -> Result<LweVec> {
        self.check_key(like)?;
        let variance = noise::look_up(self.params);
        let encoding = output.resolve(self.params, &range, variance, self.log2_failure)?;
        self.begin(0)?;
        let q0 = self.params.ring_modulus();
        let phase = encoding.encode(value, q0);
        let item = Ciphertext::trivial(*q0, self.params.spec().ring_degree, phase);
        // The rounding of the phase to an integer is the only error.
        let (items, key) = (vec![item; like.len()], like.meta().key);
        self.results(items, encoding, range, 1.0 / 12.0, Deviation::NONE, key)
    }
}

/// The largest error of a winner's bit among `count` values. Its mean square is the probability
/// that another value wins if all of them differ by less than the index errors.
fn undecided(count: usize) -> Deviation {
    Deviation { bound: 1.0, ..Deviation::of_variance(1.0 - 1.0 / count as f64) }
}

/// Fails unless there is one finite label for each of `lanes` lanes.
fn check_labels(lanes: usize, labels: &[f64]) -> Result<()> {
    if lanes != labels.len() {
        return Err(error::lengths(lanes, labels.len()));
    }
    match labels.iter().position(|label| !label.is_finite()) {
        Some(index) => Err(error::constant("label", Some(index), labels.len(), "a finite number")),
        None => Ok(()),
    }
}

/// Fails if errors may reach half the smallest distance between two different labels.
fn check_reach(labels: &[f64], reach: f64) -> Result<()> {
    match reach >= least_gap(labels) / 2.0 {
        true => Err(error::labels_too_near(labels.len(), reach)),
        false => Ok(()),
    }
}

/// The smallest distance between two different labels, or infinity if all are equal.
fn least_gap(labels: &[f64]) -> f64 {
    let mut sorted = labels.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
    gaps.fold(f64::INFINITY, f64::min)
}

/// The table that maps a sum of [`Outcome`] to the label of the side that is the overall winner, or
/// to 0.
fn name_winner(labels: [f64; 2]) -> impl Fn(f64) -> f64 {
    move |sum| match sum {
        0.5..1.5 => labels[1],
        2.5.. => labels[0],
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::{
        params::tests::insecure,
        testing::{Count, Setup},
    };

    /// `count` values at each of four positions, well apart and in different orders.
    fn rows(count: usize) -> Vec<Vec<f64>> {
        let value = |i: usize, place: usize| {
            let rank = (i + place * (count / 3 + 1)) % count;
            rank as f64 / count.max(2) as f64
        };
        (0..count).map(|i| (0..4).map(|place| value(i, place)).collect()).collect()
    }

    /// [`rows`], also encrypted with headroom for a tournament.
    fn contestants(s: &mut Setup, count: usize) -> (Vec<Vec<f64>>, Vec<LweVec>) {
        let levels = count.next_power_of_two().ilog2();
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(levels));
        let rows = rows(count);
        let lanes = rows.iter().map(|row| s.encrypt(row, 0.0..=1.0, encoding)).collect();
        (rows, lanes)
    }

    fn best(rows: &[Vec<f64>], place: usize, largest: bool) -> usize {
        let order = |a: &usize, b: &usize| rows[*a][place].total_cmp(&rows[*b][place]);
        let all = 0..rows.len();
        if largest { all.max_by(order).unwrap() } else { all.min_by(order).unwrap() }
    }

    #[test]
    fn exactly_the_best_is_named() {
        for (digits, counts) in [(false, [1usize, 2, 3, 5, 8]), (true, [2, 4, 6, 7, 9])] {
            let mut s = Setup::new(insecure(32, 1024, digits));
            for count in counts {
                let (rows, lanes) = contestants(&mut s, count);
                let look_ups = Count::default();
                let watch = |done, total| look_ups.tell(done, total);
                let evaluator = s.evaluator().observed(&watch);
                let labels: Vec<f64> = (0..count).map(|i| i as f64 - 2.0).collect();
                let headroom = Headroom { terms: 2, levels: 0 };
                for largest in [true, false] {
                    let won = if largest {
                        evaluator.arg_max(&lanes, headroom).unwrap()
                    } else {
                        evaluator.arg_min(&lanes, headroom).unwrap()
                    };
                    let each = if digits { 3 * count - 5 } else { (2 * count).max(3) - 3 };
                    if count > 1 {
                        let each = 4 * each.max(1);
                        assert_eq!(look_ups.told(), (each, each), "{count}");
                    }
                    let output = OutputEncoding::Fit(Headroom::TABLE);
                    let label = if largest {
                        evaluator.arg_max_label(&lanes, &labels, output).unwrap()
                    } else {
                        evaluator.arg_min_label(&lanes, &labels, output).unwrap()
                    };
                    let (done, total) = look_ups.told();
                    assert_eq!(done, total);
                    let label = label.decrypt(&s.ring).unwrap();
                    let won: Vec<_> = won.iter().map(|won| won.decrypt(&s.ring).unwrap()).collect();
                    for (place, label) in label.iter().enumerate() {
                        let best = best(&rows, place, largest);
                        assert!((label - labels[best]).abs() < 0.1, "{count} {place}: {label}");
                        for (i, won) in won.iter().enumerate() {
                            let expected = f64::from(u8::from(i == best));
                            assert!((won[place] - expected).abs() < 0.05, "{count} {place} {i}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ties_have_one_winner_and_all_indicators() {
        let mut s = Setup::new(insecure(32, 2048, false));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(3));
        let rows = [[0.2, 0.9], [0.7, 0.9], [0.7, 0.1], [0.0, 0.9], [0.7, 0.3]];
        let lanes: Vec<_> = rows.iter().map(|row| s.encrypt(row, 0.0..=1.0, encoding)).collect();
        let evaluator = s.evaluator();
        let won = evaluator.arg_max(&lanes, Headroom::TABLE).unwrap();
        let (near, tolerance) =
            evaluator.max_indicators(&lanes, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        let (far, _) =
            evaluator.min_indicators(&lanes, OutputEncoding::Fit(Headroom::TABLE)).unwrap();
        assert!(tolerance < 0.1, "{tolerance}");
        let open = |values: &[LweVec]| -> Vec<Vec<f64>> {
            values.iter().map(|values| values.decrypt(&s.ring).unwrap()).collect()
        };
        let (won, near, far) = (open(&won), open(&near), open(&far));
        for place in 0..2 {
            let most = rows.iter().map(|row| row[place]).fold(0.0, f64::max);
            let least = rows.iter().map(|row| row[place]).fold(1.0, f64::min);
            let winners = (0..5).filter(|&i| won[i][place].round() == 1.0).collect::<Vec<_>>();
            assert_eq!(winners.len(), 1);
            assert_eq!(rows[winners[0]][place], most);
            for i in 0..5 {
                assert_eq!(near[i][place].round() == 1.0, rows[i][place] == most, "{place} {i}");
                assert_eq!(far[i][place].round() == 1.0, rows[i][place] == least, "{place} {i}");
            }
        }
    }

    /// Tables whose noise is several steps, and tables of degree 2^14. The sums of a tournament are
    /// read correctly, labels and indicators fit the tables that they were encoded for, and a large
    /// headroom of the results does not affect the tournament.
    #[test]
    fn contests_have_the_room_that_they_need() {
        let noisy = crate::params::ParamsSpec { ring_sigma: 2048.0, ..insecure(32, 1024, true) };
        let precise = insecure(16, 1 << 14, true);
        for (spec, counts, terms) in [(noisy, [3usize, 9], 8), (precise, [2, 3], 100)] {
            let mut s = Setup::new(spec);
            for count in counts {
                let (rows, lanes) = contestants(&mut s, count);
                let look_ups = Count::default();
                let watch = |done, total| look_ups.tell(done, total);
                let evaluator = s.evaluator().observed(&watch);
                let each = if count == 2 { 1 } else { 4 * count - 5 };
                let labels: Vec<f64> = (0..count).map(|i| i as f64 - 2.0).collect();
                let label =
                    evaluator.arg_max_label(&lanes, &labels, OutputEncoding::Fit(Headroom::TABLE));
                let label = label.unwrap();
                let again = evaluator
                    .map(&label, f64::round, OutputEncoding::Fit(Headroom::TABLE))
                    .unwrap();
                let wide = Headroom { terms, levels: 0 };
                let won = evaluator.arg_max(&lanes, wide).unwrap();
                assert_eq!(look_ups.told(), (4 * each, 4 * each));
                // The requested number of terms is added, and the sum fits a table.
                let sums: Vec<_> = won.iter().map(|won| won.times(terms.into()).unwrap()).collect();
                for sum in &sums {
                    evaluator.table_domain(sum).unwrap();
                }
                let open = |x: &LweVec| x.decrypt(&s.ring).unwrap();
                let (again, won): (_, Vec<_>) = (open(&again), won.iter().map(open).collect());
                for (place, again) in again.iter().enumerate() {
                    let best = best(&rows, place, true);
                    assert!((again - labels[best]).abs() < 0.5, "{count} {place}: {again}");
                    for (i, won) in won.iter().enumerate() {
                        assert_eq!(won[place].round() == 1.0, i == best, "{count} {place} {i}");
                    }
                }
            }
        }
    }

    /// A single lane wins in the requested encoding, and the observer is called.
    #[test]
    fn one_lane_is_no_exception() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(1));
        let x = s.encrypt(&[0.5, 0.6], 0.0..=1.0, encoding);
        let look_ups = Count::default();
        let watch = |done, total| look_ups.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        let lanes = [x];
        let won = evaluator.arg_max(&lanes, Headroom { terms: 7, levels: 0 }).unwrap();
        assert!(won[0].meta().encoding.width() > 14.0);
        let asked = Encoding::new(3.0, 8.0).unwrap();
        let label =
            evaluator.arg_min_label(&lanes, &[2.5], OutputEncoding::Encoding(asked)).unwrap();
        assert_eq!((&label.meta().encoding, label.meta().lo, label.meta().hi), (&asked, 2.5, 2.5));
        assert_eq!(look_ups.calls(), 2);
        for (values, expected) in [(&won[0], 1.0), (&label, 2.5)] {
            for got in values.decrypt(&s.ring).unwrap() {
                assert!((got - expected).abs() < 1e-9, "{got} {expected}");
            }
        }
    }

    /// Impossible tournaments are rejected before the first look-up.
    #[test]
    fn contests_that_cannot_end_do_not_begin() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(1));
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let lanes = [x.clone(), x];
        let look_ups = Count::default();
        let watch = |done, total| look_ups.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        let label = |labels: [f64; 2], output| {
            evaluator.arg_max_label(&lanes, &labels, output).unwrap_err()
        };
        let error = label([1.0, f64::NAN], OutputEncoding::Fit(Headroom::TABLE));
        assert!(error.to_string().contains("the label at position 1 of 2: need"), "{error}");
        let narrow = OutputEncoding::Encoding(Encoding::new(0.0, 4.0).unwrap());
        let error = label([1.0, 5.0], narrow);
        assert!(error.is(&ErrorKind::Range, "encode the inputs with headroom for more"), "{error}");
        let error = label([1e9, 1e9 + 1.0], OutputEncoding::Fit(Headroom::TABLE));
        assert!(error.is(&ErrorKind::Noise, "two of the 2 labels"), "{error}");
        let endless = Headroom { terms: 1, levels: u32::MAX };
        let error = evaluator.arg_max(&lanes, endless).unwrap_err();
        assert!(
            error.is(&ErrorKind::Domain, "use a larger degree, a smaller domain or a"),
            "{error}"
        );
        assert_eq!(look_ups.calls(), 0);
        // Sums that are too close to each other.
        let mut s = Setup::new(insecure(64, 128, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::TABLE);
        let lanes = [0.1, 0.5, 0.9].map(|v| s.encrypt(&[v], 0.0..=1.0, encoding));
        let error = s.evaluator().arg_max(&lanes, Headroom::TABLE).unwrap_err();
        assert!(error.is(&ErrorKind::Domain, ", 3.0]: its ends are"), "{error}");
    }

    #[test]
    fn wrong_operands_are_refused() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Headroom::comparators(1));
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let evaluator = s.evaluator();
        let output = OutputEncoding::Fit(Headroom::TABLE);
        assert!(
            refusal(&evaluator.arg_max(&[], Headroom::TABLE))
                .is(&ErrorKind::Length, "no values; need at least one")
        );
        assert!(
            refusal(&evaluator.max_indicators(&[], output))
                .is(&ErrorKind::Length, "no values; need at least one")
        );
        let error = evaluator.arg_min_label(&[x.clone(), x], &[1.0], output).unwrap_err();
        assert!(error.is(
            &ErrorKind::Length,
            "one operand has 2 value(s) and another one 1: take operands of one"
        ));
    }
}
