//! A contest: a tournament that remembers who won.
//!
//! From the last match down, `wins = parent wins and match won`, one look-up of `parent + 2 match`,
//! and the other side by subtraction. The bits stand in an encoding of their own, with the room that
//! these sums need.

use super::compare::{Pick, excess_encoding, positive};
use crate::{
    Encoding, Error, Evaluator, Output, Result, Room, Table, Values, noise, progress::Work,
};

/// The largest sum that a contest reads: 1 if the match is the winner's, and 2 if its first side won.
const LARGEST_SUM: f64 = 3.0;

/// One side of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Lane(usize),
    /// The winner of an earlier match.
    Match(usize),
}

/// Who plays whom; matches are numbered in the order in which they are played.
pub(super) struct Bracket {
    pub(super) rounds: Vec<Vec<[Side; 2]>>,
}

impl Bracket {
    pub(super) fn new(lanes: usize) -> Self {
        let mut entrants: Vec<Side> = (0..lanes).map(Side::Lane).collect();
        let (mut rounds, mut played) = (Vec::new(), 0);
        while entrants.len() > 1 {
            let rest = entrants.split_off(entrants.len() / 2 * 2);
            let (a, b) = entrants.split_at(entrants.len() / 2);
            let round: Vec<_> = a.iter().zip(b).map(|(&a, &b)| [a, b]).collect();
            entrants = (played..played + round.len()).map(Side::Match).chain(rest).collect();
            played += round.len();
            rounds.push(round);
        }
        Self { rounds }
    }

    /// The sides of every match.
    pub(super) fn matches(&self) -> impl DoubleEndedIterator<Item = &[Side; 2]> {
        self.rounds.iter().flatten()
    }

    /// The number of matches but the last that have a side for which `wanted` holds.
    pub(super) fn count(&self, wanted: impl Fn(&Side) -> bool) -> usize {
        self.matches().rev().skip(1).filter(|sides| sides.iter().any(&wanted)).count()
    }
}

pub(super) fn is_match(side: &Side) -> bool {
    matches!(side, Side::Match(_))
}

/// How the bits of a contest are encoded.
pub(super) struct Contest {
    pub(super) encoding: Encoding,
    /// What a look-up leaves at most, in units of the phase, squared.
    pub(super) variance: f64,
}

/// Whether each side of a bracket wins it all, as far as that was asked for; and match by match
/// the sum from which it was read: 1 if the match is the winner's, and 2 if its first side won.
pub(super) struct Outcome {
    pub(super) lanes: Vec<Option<Values>>,
    pub(super) sums: Vec<Values>,
}

impl Evaluator<'_> {
    /// The encoding of a contest's bits, so fine as its sums allow; sums must stand so far apart that
    /// no table takes one for the other.
    pub(super) fn contest(&self, bracket: &Bracket) -> Result<Contest> {
        let (q0, n) = (self.params.ring_modulus().value() as f64, self.params.ring_degree());
        let variance = if self.rotations(2) == 1 {
            // At the finest: a step of 1 in a turn of two ranges of the sums, or, if that is
            // steeper, the excess of the difference, which rises by half a turn.
            let bit = (q0 / (2.0 * LARGEST_SUM)).powi(2);
            let excess = q0 * q0 / (4 * n) as f64;
            let unit = noise::multi_value_unit(self.params, bit.max(excess));
            noise::multi_value(self.params, bit / (unit * unit), unit)
        } else {
            noise::look_up(self.params)
        };
        // Twice the bit of a match, and what is alive after as many look-ups as there are rounds
        // above it.
        let sums = (bracket.rounds.len() + 3) as f64 * variance;
        let (lo, hi) = (0.0, LARGEST_SUM);
        let encoding = Encoding::fit(self.params, lo, hi, sums, Room::TABLE, self.log2_failure)?;
        let index = noise::largest_index_error(self.params, sums);
        let guard = noise::guard(index, self.log2_failure);
        let available = (n / 2) as f64 - guard as f64;
        let reach = LARGEST_SUM * guard as f64;
        if available < reach {
            return Err(Error::TableTooSmall { lo, hi, reach, guard, available, degree: n });
        }
        Ok(Contest { encoding, variance })
    }

    /// Fails unless the tables tell the sums of a contest of so many values apart
    /// ([`arg_max`](Self::arg_max)); of fewer than three values nothing is read of sums.
    ///
    /// # Errors
    /// [`Error::TableTooSmall`].
    pub fn check_contest(&self, count: usize) -> Result<()> {
        match count {
            0..=2 => Ok(()),
            _ => self.contest(&Bracket::new(count)).map(|_| ()),
        }
    }

    /// Look-ups a place for all matches of a bracket: the last one needs no winner's value.
    pub(super) fn match_look_ups(&self, lanes: usize) -> usize {
        self.rotations(2) * (lanes - 2) + 1
    }

    /// Plays all rounds, each in one batch: for every match, 1 where its first side won.
    pub(super) fn play(
        &self,
        work: &mut Work<'_>,
        bracket: &Bracket,
        lanes: &[Values],
        pick: Pick,
        encoding: Encoding,
    ) -> Result<Vec<Values>> {
        let places = lanes[0].len();
        let output = Output::Encoding(encoding);
        let first_won = |d: f64| {
            let won = match pick {
                Pick::Largest => d > 0.0,
                Pick::Smallest => d <= 0.0,
            };
            f64::from(u8::from(won))
        };
        let (mut won, mut best) = (Vec::new(), Vec::new());
        for (i, round) in bracket.rounds.iter().enumerate() {
            let value = |side: &Side| -> Values {
                match side {
                    Side::Lane(i) => lanes[*i].clone(),
                    Side::Match(i) => Values::clone(&best[*i]),
                }
            };
            let of = |k: usize| {
                Values::concat(&round.iter().map(|sides| value(&sides[k])).collect::<Vec<_>>())
            };
            let (a, b) = (of(0)?, of(1)?);
            let difference = a.sub(&b)?;
            let decided = if i + 1 == bracket.rounds.len() {
                self.map_in(work, &difference, &[&first_won], output)?
            } else {
                let excess = Output::Encoding(excess_encoding(&difference)?);
                let tables: [Table<'_>; 2] = [(&first_won, output), (&positive, excess)];
                let mut results = self.maps_in(work, &difference, &tables)?;
                let excess = results.pop().expect("two functions, two results");
                best.extend(self.picked(&a, &b, &excess, pick)?.split(places));
                results.remove(0)
            };
            won.extend(decided.split(places));
        }
        Ok(won)
    }

    /// From the last match back to the first: which sides win it all, for matches with a side for
    /// which `wanted` holds.
    pub(super) fn outcome(
        &self,
        work: &mut Work<'_>,
        bracket: &Bracket,
        won: &[Values],
        wanted: impl Fn(&Side) -> bool,
    ) -> Result<Outcome> {
        let places = won[0].len();
        let mut lanes = vec![None; won.len() + 1];
        let mut alive: Vec<Option<Values>> = vec![None; won.len()];
        let mut sums = vec![None; won.len()];
        let mut after = won.len();
        for round in bracket.rounds.iter().rev() {
            let start = after - round.len();
            for i in start..after {
                let twice = won[i].times(2)?;
                // What is alive was read elsewhere: the noises are independent.
                sums[i] = Some(match &alive[i] {
                    Some(alive) => alive.add(&twice)?.independent(),
                    None => twice.add_constant(1.0)?,
                });
            }
            let split: Vec<usize> =
                (start..after).filter(|i| round[i - start].iter().any(&wanted)).collect();
            let firsts = if after == won.len() {
                vec![won[start].clone()]
            } else if split.is_empty() {
                Vec::new()
            } else {
                let sums: Vec<_> = split.iter().filter_map(|&i| sums[i].clone()).collect();
                let output = Output::Encoding(*won[0].encoding());
                let both = |sum: f64| f64::from(u8::from(sum > 2.5));
                self.map_in(work, &Values::concat(&sums)?, &[&both], output)?.split(places)
            };
            for (i, first) in split.into_iter().zip(firsts) {
                let second = match &alive[i] {
                    Some(alive) => alive.sub(&first)?,
                    None => first.neg().add_constant(1.0)?,
                };
                let second = second.independent().within(0.0..=1.0)?;
                for (&side, wins) in round[i - start].iter().zip([first, second]) {
                    match side {
                        Side::Lane(i) => lanes[i] = Some(wins),
                        Side::Match(i) => alive[i] = Some(wins),
                    }
                }
            }
            after = start;
        }
        Ok(Outcome { lanes, sums: sums.into_iter().flatten().collect() })
    }
}
