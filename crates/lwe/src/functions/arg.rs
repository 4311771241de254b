//! Which value is the largest or the smallest.
//!
//! Two answers to ties. A contest (a tournament that remembers who won) names exactly one value, and
//! among values that differ by less than the index errors any may be. The *indicators* of PEGASUS
//! (section V.A) compare every value with the maximum, and name all that come near enough.

use std::ops::RangeInclusive;

use super::{
    compare::Pick,
    contest::{Bracket, Side, is_match},
};
use crate::{Ciphertext, Encoding, Error, Evaluator, Output, Result, Room, Values, noise};

/// Standard deviations by which the true maximum may miss itself.
const MISS: f64 = 6.0;

impl Evaluator<'_> {
    /// For each of `k` values, place by place, 1 if it is the largest and else 0; exactly one of
    /// them is. With the special-modulus gadget `2 k - 3` look-ups a place, with digits and on NTRU
    /// `3 k - 5`.
    ///
    /// A contest of more than two is played in an encoding of its own, which has room for two terms.
    /// Where `room` asks for more than it leaves, another `k` look-ups a place bring the results there.
    ///
    /// # Errors
    /// As [`max_of`](Self::max_of), and [`Error::TableTooSmall`] if the tables cannot tell the sums of
    /// the contest apart.
    pub fn arg_max(&self, lanes: &[Values], room: Room) -> Result<Vec<Values>> {
        self.winners("arg-max", lanes, Pick::Largest, room)
    }

    /// As [`arg_max`](Self::arg_max) for the smallest.
    ///
    /// # Errors
    /// As [`arg_max`](Self::arg_max).
    pub fn arg_min(&self, lanes: &[Values], room: Room) -> Result<Vec<Values>> {
        self.winners("arg-min", lanes, Pick::Smallest, room)
    }

    /// Place by place the label of the largest of `k` values, its number for example; about as
    /// many look-ups as [`arg_max`](Self::arg_max). A label is the sum of `ceil(k / 2)` look-ups, whose
    /// noise ([`noise::label`]) it carries and a fitted encoding has room for.
    ///
    /// # Errors
    /// As [`arg_max`](Self::arg_max), and if there are not as many labels as values, or one is not
    /// finite; [`Error::LabelsTooNear`], before any work, where that noise may be half the least
    /// distance of two labels that differ: numbers of very many values.
    pub fn arg_max_label(
        &self,
        lanes: &[Values],
        labels: &[f64],
        output: Output,
    ) -> Result<Values> {
        self.label("arg-max", lanes, labels, Pick::Largest, output)
    }

    /// As [`arg_max_label`](Self::arg_max_label) for the smallest.
    ///
    /// # Errors
    /// As [`arg_max_label`](Self::arg_max_label).
    pub fn arg_min_label(
        &self,
        lanes: &[Values],
        labels: &[f64],
        output: Output,
    ) -> Result<Values> {
        self.label("arg-min", lanes, labels, Pick::Smallest, output)
    }

    /// For each of `k` values, place by place, 1 if it ties with the largest and else 0:
    /// `2 k - 1` look-ups a place. Beside the indicators stands the tolerance `t`, six standard
    /// deviations of what the comparison sees: the largest value is named, values up to `2 t`
    /// below it may be, values further below are not.
    ///
    /// # Errors
    /// As [`max_of`](Self::max_of).
    pub fn max_indicators(&self, lanes: &[Values], output: Output) -> Result<(Vec<Values>, f64)> {
        self.indicators("maximum indicators", lanes, Pick::Largest, output)
    }

    /// As [`max_indicators`](Self::max_indicators) for the smallest.
    ///
    /// # Errors
    /// As [`max_indicators`](Self::max_indicators).
    pub fn min_indicators(&self, lanes: &[Values], output: Output) -> Result<(Vec<Values>, f64)> {
        self.indicators("minimum indicators", lanes, Pick::Smallest, output)
    }

    fn indicators(
        &self,
        op: &'static str,
        lanes: &[Values],
        pick: Pick,
        output: Output,
    ) -> Result<(Vec<Values>, f64)> {
        let places = Self::places(op, lanes)?;
        let mut work = self.begin(op, (2 * lanes.len() - 1) * places)?;
        let best = self.tournament_in(&mut work, lanes, pick)?;
        let all = Values::concat(lanes)?;
        let difference = match pick {
            Pick::Largest => Values::concat(&vec![best; lanes.len()])?.sub(&all)?,
            Pick::Smallest => all.sub(&Values::concat(&vec![best; lanes.len()])?)?,
        };
        let range = 0.0..=difference.hi();
        let difference = difference.within(range)?;
        let tolerance = MISS * self.index_std(&difference);
        let near = |d: f64| f64::from(u8::from(d <= tolerance));
        let out = self.map_in(&mut work, &difference, &[&near], output)?;
        Ok((out.split(places), tolerance))
    }

    fn winners(
        &self,
        op: &'static str,
        lanes: &[Values],
        pick: Pick,
        room: Room,
    ) -> Result<Vec<Values>> {
        let places = Self::places(op, lanes)?;
        if lanes.len() == 1 {
            return Ok(vec![self.constant(op, &lanes[0], 1.0, 0.0..=1.0, Output::Fit(room))?]);
        }
        let bracket = Bracket::new(lanes.len());
        let fit = |variance: f64, room: Room| {
            Encoding::fit(self.params, 0.0, 1.0, variance, room, self.log2_failure)
        };
        let fresh = noise::look_up(self.params);
        let (encoding, moved) = if bracket.rounds.len() == 1 {
            // Nothing more is read.
            (fit(fresh, Room { terms: room.terms.max(3), ..room })?, None)
        } else {
            let contest = self.contest(&bracket)?;
            // Each round on the way down adds a look-up's noise to the indicators.
            let wanted = fit(bracket.rounds.len() as f64 * contest.variance, room);
            let fits = wanted.is_ok_and(|wanted| wanted.width() <= contest.encoding.width());
            let moved = if fits { None } else { Some(Output::Encoding(fit(fresh, room)?)) };
            (contest.encoding, moved)
        };
        let more = if moved.is_some() { lanes.len() } else { 0 };
        let look_ups = self.match_look_ups(lanes.len()) + bracket.count(|_| true) + more;
        let mut work = self.begin(op, look_ups * places)?;
        let won = self.play(&mut work, &bracket, lanes, pick, encoding)?;
        let outcome = self.outcome(&mut work, &bracket, &won, |_| true)?;
        let won = outcome.lanes.into_iter().map(|won| won.expect("every lane is a side"));
        let all = Values::concat(&won.collect::<Vec<_>>())?;
        let all = match moved {
            None => all,
            Some(output) => {
                let bit = |sum: f64| f64::from(u8::from(sum > 0.5));
                self.map_in(&mut work, &all, &[&bit], output)?
            }
        };
        Ok(all.with_index_variance(undecided(lanes.len()))?.split(places))
    }

    fn label(
        &self,
        op: &'static str,
        lanes: &[Values],
        labels: &[f64],
        pick: Pick,
        output: Output,
    ) -> Result<Values> {
        let places = Self::places(op, lanes)?;
        if lanes.len() != labels.len() {
            return Err(Error::Lengths { op, left: lanes.len(), right: labels.len() });
        }
        if let Some(i) = labels.iter().position(|label| !label.is_finite()) {
            let (what, index, needed) = ("label", Some(i), "a finite number");
            return Err(Error::Constant { op, what, index, needed });
        }
        if lanes.len() == 1 {
            return self.constant(op, &lanes[0], labels[0], labels[0]..=labels[0], output);
        }
        let bracket = Bracket::new(lanes.len());
        let contest = self.contest(&bracket)?;
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
        // Each part is 0 or a label, and the noises of all add up.
        let lo = labels.iter().copied().fold(0.0, f64::min);
        let hi = labels.iter().copied().fold(0.0, f64::max);
        let variance = noise::label(self.params, lanes.len());
        debug_assert_eq!(naming.len(), lanes.len().div_ceil(2));
        let encoding = output.resolve(op, self.params, &(lo..=hi), variance, self.log2_failure)?;
        let unit = encoding.width() / self.params.ring_modulus().value() as f64;
        let reach = noise::deviations(self.log2_failure) * variance.sqrt() * unit;
        let (gap, count) = (least_gap(labels), labels.len());
        if reach >= gap / 2.0 {
            return Err(Error::LabelsTooNear { op, count, reach });
        }
        let output = Output::Encoding(encoding);
        let look_ups = self.match_look_ups(lanes.len()) + bracket.count(is_match) + naming.len();
        let mut work = self.begin(op, look_ups * places)?;
        let won = self.play(&mut work, &bracket, lanes, pick, contest.encoding)?;
        let outcome = self.outcome(&mut work, &bracket, &won, is_match)?;
        let sums: Vec<_> = naming.iter().map(|(i, _)| outcome.sums[*i].clone()).collect();
        let tables: Vec<_> = naming.iter().map(|(_, labels)| name_winner(*labels)).collect();
        let functions: Vec<_> = tables.iter().map(|table| table as &dyn Fn(f64) -> f64).collect();
        let named = self.map_in(&mut work, &Values::concat(&sums)?, &functions, output)?;
        let (lo, hi) = (named.lo(), named.hi());
        let mut parts = named.split(places).into_iter();
        let first = parts.next().expect("a lane plays somewhere");
        let sum = parts.try_fold(first, |sum, part| {
            // One of the terms at most is not zero, and each has had a rotation of its own.
            sum.add(&part.within(0.0..=0.0)?)?.independent().within(lo..=hi)
        })?;
        let least = labels.iter().copied().fold(f64::INFINITY, f64::min);
        let most = labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        sum.with_index_variance(undecided(labels.len()) * (most - least).powi(2))
    }

    /// A value that everybody knows, at as many places as `like` has.
    fn constant(
        &self,
        op: &'static str,
        like: &Values,
        value: f64,
        range: RangeInclusive<f64>,
        output: Output,
    ) -> Result<Values> {
        self.check_key(op, like)?;
        let variance = noise::look_up(self.params);
        let encoding = output.resolve(op, self.params, &range, variance, self.log2_failure)?;
        self.begin(op, 0)?;
        let q0 = self.params.ring_modulus();
        let phase = encoding.encode(value, q0);
        let item = Ciphertext::trivial(*q0, self.params.ring_degree(), phase);
        self.results(vec![item; like.len()], encoding, range, [1.0 / 12.0, 0.0], like.key())
    }
}

/// The probability that another of so many values wins, where all of them differ by less than the
/// index errors: the largest mean square of the error of a winner's bit.
fn undecided(count: usize) -> f64 {
    1.0 - 1.0 / count as f64
}

/// The least distance of two labels that differ; infinite where none do.
fn least_gap(labels: &[f64]) -> f64 {
    let mut sorted = labels.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|&gap| gap > 0.0);
    gaps.fold(f64::INFINITY, f64::min)
}

/// Reads the label of the side that won it all from the sum of [`Outcome`].
fn name_winner(labels: [f64; 2]) -> impl Fn(f64) -> f64 {
    move |sum| match sum {
        0.5..1.5 => labels[1],
        2.5.. => labels[0],
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        params::tests::insecure,
        testing::{Count, Setup},
    };

    /// Four places of `count` values each, well apart, in different orders; all equal in none.
    fn rows(count: usize) -> Vec<Vec<f64>> {
        let value = |i: usize, place: usize| {
            let rank = (i + place * (count / 3 + 1)) % count;
            rank as f64 / count.max(2) as f64
        };
        (0..count).map(|i| (0..4).map(|place| value(i, place)).collect()).collect()
    }

    /// [`rows`], also encrypted with room for a contest.
    fn contestants(s: &mut Setup, count: usize) -> (Vec<Vec<f64>>, Vec<Values>) {
        let levels = count.next_power_of_two().ilog2();
        let encoding = s.fit(0.0..=1.0, 1e6, Room::comparators(levels));
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
                let room = Room { terms: 2, levels: 0 };
                for largest in [true, false] {
                    let won = if largest {
                        evaluator.arg_max(&lanes, room).unwrap()
                    } else {
                        evaluator.arg_min(&lanes, room).unwrap()
                    };
                    let each = if digits { 3 * count - 5 } else { (2 * count).max(3) - 3 };
                    if count > 1 {
                        let each = 4 * each.max(1);
                        assert_eq!(look_ups.told(), (each, each), "{count}");
                    }
                    let output = Output::Fit(Room::TABLE);
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
        let encoding = s.fit(0.0..=1.0, 1e6, Room::comparators(3));
        let rows = [[0.2, 0.9], [0.7, 0.9], [0.7, 0.1], [0.0, 0.9], [0.7, 0.3]];
        let lanes: Vec<_> = rows.iter().map(|row| s.encrypt(row, 0.0..=1.0, encoding)).collect();
        let evaluator = s.evaluator();
        let won = evaluator.arg_max(&lanes, Room::TABLE).unwrap();
        let (near, tolerance) = evaluator.max_indicators(&lanes, Output::Fit(Room::TABLE)).unwrap();
        let (far, _) = evaluator.min_indicators(&lanes, Output::Fit(Room::TABLE)).unwrap();
        assert!(tolerance < 0.1, "{tolerance}");
        let open = |values: &[Values]| -> Vec<Vec<f64>> {
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

    /// Tables that leave noise of steps, and tables of degree 2^14: the sums of a contest are read
    /// right, labels and indicators go into the tables that they were fitted for, and a wide room
    /// for the results costs the contest nothing.
    #[test]
    fn contests_have_the_room_that_they_need() {
        let noisy = crate::ParamsSpec { ring_sigma: 2048.0, ..insecure(32, 1024, true) };
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
                let label = evaluator.arg_max_label(&lanes, &labels, Output::Fit(Room::TABLE));
                let label = label.unwrap();
                let again = evaluator.map(&label, f64::round, Output::Fit(Room::TABLE)).unwrap();
                let wide = Room { terms, levels: 0 };
                let won = evaluator.arg_max(&lanes, wide).unwrap();
                assert_eq!(look_ups.told(), (4 * each, 4 * each));
                // So many are added, and a table takes the sum.
                let sums: Vec<_> = won.iter().map(|won| won.times(terms.into()).unwrap()).collect();
                for sum in &sums {
                    evaluator.table_domain("", sum).unwrap();
                }
                let open = |x: &Values| x.decrypt(&s.ring).unwrap();
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

    /// One value wins by itself, in the encoding asked for, and the observer hears of it.
    #[test]
    fn one_lane_is_no_exception() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Room::comparators(1));
        let x = s.encrypt(&[0.5, 0.6], 0.0..=1.0, encoding);
        let look_ups = Count::default();
        let watch = |done, total| look_ups.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        let lanes = [x];
        let won = evaluator.arg_max(&lanes, Room { terms: 7, levels: 0 }).unwrap();
        assert!(won[0].encoding().width() > 14.0);
        let asked = Encoding::new(3.0, 8.0).unwrap();
        let label = evaluator.arg_min_label(&lanes, &[2.5], Output::Encoding(asked)).unwrap();
        assert_eq!((label.encoding(), label.lo(), label.hi()), (&asked, 2.5, 2.5));
        assert_eq!(look_ups.calls(), 2);
        for (values, expected) in [(&won[0], 1.0), (&label, 2.5)] {
            for got in values.decrypt(&s.ring).unwrap() {
                assert!((got - expected).abs() < 1e-9, "{got} {expected}");
            }
        }
    }

    /// What cannot work is known before the first look-up.
    #[test]
    fn contests_that_cannot_end_do_not_begin() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Room::comparators(1));
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let lanes = [x.clone(), x];
        let look_ups = Count::default();
        let watch = |done, total| look_ups.tell(done, total);
        let evaluator = s.evaluator().observed(&watch);
        let label = |labels: [f64; 2], output| {
            evaluator.arg_max_label(&lanes, &labels, output).unwrap_err()
        };
        let error = label([1.0, f64::NAN], Output::Fit(Room::TABLE));
        assert!(matches!(error, Error::Constant { what: "label", .. }), "{error}");
        let narrow = Output::Encoding(Encoding::new(0.0, 4.0).unwrap());
        let error = label([1.0, 5.0], narrow);
        assert!(matches!(error, Error::Wraps { .. }), "{error}");
        let error = label([1e9, 1e9 + 1.0], Output::Fit(Room::TABLE));
        let Error::LabelsTooNear { count: 2, reach, .. } = error else { panic!("{error}") };
        assert!(reach > 0.5 && reach < 1e9, "{reach}");
        let endless = Room { terms: 1, levels: u32::MAX };
        let error = evaluator.arg_max(&lanes, endless).unwrap_err();
        assert!(matches!(error, Error::TableTooSmall { .. }), "{error}");
        assert_eq!(look_ups.calls(), 0);
        // Sums that stand too near to each other.
        let mut s = Setup::new(insecure(64, 128, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Room::TABLE);
        let lanes = [0.1, 0.5, 0.9].map(|v| s.encrypt(&[v], 0.0..=1.0, encoding));
        let error = s.evaluator().arg_max(&lanes, Room::TABLE).unwrap_err();
        let too_near = |reach: f64, available: f64| available >= 1.0 && reach > available;
        assert!(
            matches!(error, Error::TableTooSmall { hi: 3.0, reach, available, .. } if too_near(reach, available)),
            "{error}"
        );
    }

    #[test]
    fn wrong_operands_are_refused() {
        let mut s = Setup::new(insecure(8, 256, true));
        let encoding = s.fit(0.0..=1.0, 1e6, Room::comparators(1));
        let x = s.encrypt(&[0.5], 0.0..=1.0, encoding);
        let evaluator = s.evaluator();
        let output = Output::Fit(Room::TABLE);
        assert!(matches!(evaluator.arg_max(&[], Room::TABLE), Err(Error::NoValues { .. })));
        assert!(matches!(evaluator.max_indicators(&[], output), Err(Error::NoValues { .. })));
        let error = evaluator.arg_min_label(&[x.clone(), x], &[1.0], output).unwrap_err();
        assert!(matches!(error, Error::Lengths { left: 2, right: 1, .. }));
    }
}
