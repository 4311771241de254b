//! The argmax tournament: a tournament of comparators that records its winners.
//!
//! The first pass plays the matches from the first round to the last and keeps one bit for each:
//! whether its first side won. The second pass goes from the last match to the first. A side is the
//! overall winner if its match decides the tournament and the side won the match. One look-up of
//! `overall + 2 won` computes this for the first side; a subtraction gives the second. The bits
//! have an encoding of their own, with the headroom that these sums need.

use bellerophon_ring::Result;

use super::compare::{Pick, excess_encoding, positive};
use crate::encoding::{Encoding, Headroom, OutputEncoding};
use crate::lwe_vec::LweVec;
use crate::multi_value::EncodedFunction;
use crate::pbs::Evaluator;
use crate::progress::LookupProgress;
use crate::{error, noise};

/// The largest sum that a tournament looks up: 1 if the overall winner comes from the match, plus 2
/// if the first side won.
const LARGEST_SUM: f64 = 3.0;

/// One side of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// An input lane.
    Lane(usize),
    /// The winner of an earlier match.
    Match(usize),
}

/// The rounds of a tournament. Matches are numbered in the order in which they are played.
pub(super) struct Bracket {
    pub(super) rounds: Vec<Vec<[Side; 2]>>,
}

impl Bracket {
    /// Pairs the winners of each round, until one is left. An odd entrant moves to the next round.
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

    /// The number of matches, except the last, that have a side for which `wanted` holds.
    pub(super) fn count(&self, wanted: impl Fn(&Side) -> bool) -> usize {
        self.matches().rev().skip(1).filter(|sides| sides.iter().any(&wanted)).count()
    }
}

/// Whether a side is the winner of an earlier match.
pub(super) fn is_match(side: &Side) -> bool {
    matches!(side, Side::Match(_))
}

/// The encoding of the bits of a tournament.
pub(super) struct TournamentEncoding {
    pub(super) encoding: Encoding,
    /// The largest noise variance of a look-up, in squared units of the phase.
    pub(super) variance: f64,
}

/// The result of the second pass.
pub(super) struct Outcome {
    /// For each lane, as far as requested, 1 if it is the overall winner and 0 otherwise.
    pub(super) lanes: Vec<Option<LweVec>>,
    /// For each match the looked-up sum: 1 if the overall winner comes from the match, plus 2 if
    /// its first side won.
    pub(super) sums: Vec<LweVec>,
}

impl Evaluator<'_> {
    /// The finest encoding of a tournament's bits that holds their sums. Fails unless neighbouring
    /// sums are far enough apart for a table to distinguish them.
    pub(super) fn tournament_encoding(&self, bracket: &Bracket) -> Result<TournamentEncoding> {
        // Step 1: the noise of one bit.
        let (q0, n) = (self.params.ring_modulus().value() as f64, self.params.spec().ring_degree);
        let variance = if self.rotations(2) == 1 {
            // The worst case at the finest encoding: a step of 1 in a period of twice the range of
            // the sums, or, if it is steeper, the excess of the difference, which rises by half a
            // period.
            let bit = (q0 / (2.0 * LARGEST_SUM)).powi(2);
            let excess = q0 * q0 / (4 * n) as f64;
            let unit = noise::multi_value_unit(self.params, bit.max(excess));
            noise::multi_value(self.params, bit / (unit * unit), unit)
        } else {
            noise::look_up(self.params)
        };
        // Step 2: the noise of a sum. Twice the bit of a match has 4 variances. The overall bit has
        // one for each round above the match.
        let sums = (bracket.rounds.len() + 3) as f64 * variance;
        let (lo, hi) = (0.0, LARGEST_SUM);
        let encoding =
            Encoding::fit(self.params, lo, hi, sums, Headroom::TABLE, self.log2_failure)?;
        // Step 3: half the distance between neighbouring sums must be at least the guard band.
        let index = noise::largest_index_error(self.params, sums);
        let guard = noise::guard(index, self.log2_failure);
        let available = (n / 2) as f64 - guard as f64;
        let reach = LARGEST_SUM * guard as f64;
        if available < reach {
            return Err(error::table_too_small(lo, hi, reach, guard, available, n));
        }
        Ok(TournamentEncoding { encoding, variance })
    }

    /// Fails unless the tables can distinguish the sums of a tournament of `count` lanes
    /// ([`arg_max`](Self::arg_max)). Fewer than three lanes need no look-up of sums.
    pub fn check_tournament(&self, count: usize) -> Result<()> {
        match count {
            0..=2 => Ok(()),
            _ => self.tournament_encoding(&Bracket::new(count)).map(|_| ()),
        }
    }

    /// Look-ups for each position of all matches of a bracket. The last match needs only the bit,
    /// not the value of the winner.
    pub(super) fn match_look_ups(&self, lanes: usize) -> usize {
        self.rotations(2) * (lanes - 2) + 1
    }

    /// First pass: plays all rounds, each in one batch. The result has for every match 1 where its
    /// first side won, and 0 elsewhere.
    pub(super) fn play(
        &self,
        work: &mut LookupProgress<'_>,
        bracket: &Bracket,
        lanes: &[LweVec],
        pick: Pick,
        encoding: Encoding,
    ) -> Result<Vec<LweVec>> {
        let len = lanes[0].len();
        let output = OutputEncoding::Encoding(encoding);
        let first_won = |d: f64| {
            let won = match pick {
                Pick::Largest => d > 0.0,
                Pick::Smallest => d <= 0.0,
            };
            f64::from(u8::from(won))
        };
        let (mut won, mut best) = (Vec::new(), Vec::new());
        for (i, round) in bracket.rounds.iter().enumerate() {
            let value = |side: &Side| -> LweVec {
                match side {
                    Side::Lane(i) => lanes[*i].clone(),
                    Side::Match(i) => LweVec::clone(&best[*i]),
                }
            };
            let of = |k: usize| {
                LweVec::concat(&round.iter().map(|sides| value(&sides[k])).collect::<Vec<_>>())
            };
            // Step 1: the differences of both sides of all matches of the round.
            let (a, b) = (of(0)?, of(1)?);
            let difference = a.sub(&b)?;
            // Step 2: look up the bit, and except in the last round the excess max(a - b, 0), which
            // gives the winner's value.
            let decided = if i + 1 == bracket.rounds.len() {
                self.map_in(work, &difference, &[&first_won], output)?
            } else {
                let excess = OutputEncoding::Encoding(excess_encoding(&difference)?);
                let tables = [
                    EncodedFunction::new(&first_won, output),
                    EncodedFunction::new(&positive, excess),
                ];
                let mut results = self.maps_in(work, &difference, &tables)?;
                let excess = results.pop().expect("two functions, two results");
                best.extend(self.picked(&a, &b, &excess, pick)?.split(len));
                results.remove(0)
            };
            won.extend(decided.split(len));
        }
        Ok(won)
    }

    /// Second pass, from the last match to the first: which sides are the overall winner, for
    /// matches with a side for which `wanted` holds.
    pub(super) fn outcome(
        &self,
        work: &mut LookupProgress<'_>,
        bracket: &Bracket,
        won: &[LweVec],
        wanted: impl Fn(&Side) -> bool,
    ) -> Result<Outcome> {
        let len = won[0].len();
        let mut lanes = vec![None; won.len() + 1];
        let mut alive: Vec<Option<LweVec>> = vec![None; won.len()];
        let mut sums = vec![None; won.len()];
        let mut after = won.len();
        for round in bracket.rounds.iter().rev() {
            // Step 1: for each match of the round, the sum of its overall bit and twice its own
            // bit. The overall bit of the last match is the constant 1.
            let start = after - round.len();
            for i in start..after {
                let twice = won[i].times(2)?;
                // Both bits come from different look-ups, so their noises are independent.
                sums[i] = Some(match &alive[i] {
                    Some(alive) => alive.add_independent(&twice)?,
                    None => twice.add_constant(1.0)?,
                });
            }
            // Step 2: the first side is the overall winner if the sum is 3. The last match needs no
            // look-up.
            let split: Vec<usize> =
                (start..after).filter(|i| round[i - start].iter().any(&wanted)).collect();
            let firsts = if after == won.len() {
                vec![won[start].clone()]
            } else if split.is_empty() {
                Vec::new()
            } else {
                let sums: Vec<_> = split.iter().filter_map(|&i| sums[i].clone()).collect();
                let output = OutputEncoding::Encoding(won[0].meta().encoding);
                let both = |sum: f64| f64::from(u8::from(sum > 2.5));
                self.map_in(work, &LweVec::concat(&sums)?, &[&both], output)?.split(len)
            };
            // Step 3: the bit of the second side is the overall bit minus that of the first side.
            for (i, first) in split.into_iter().zip(firsts) {
                let second = match &alive[i] {
                    Some(alive) => alive.add_independent(&first.neg())?,
                    None => first.neg().add_constant(1.0)?,
                };
                let second = second.within(0.0..=1.0)?;
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
