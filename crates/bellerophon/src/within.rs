//! Functions of several values, on slots.
//!
//! Values leave their slots in an encoding with the room that a function needs, go through the tables of
//! [`lwe::Evaluator`], and are packed into slots again.

use std::ops::RangeInclusive;

use bellerophon_ckks::Ciphertext;
use bellerophon_lwe::{self as lwe, Encoding, Network, Order, Output, Room, Values, noise};
use bellerophon_repack::{Layout, Reduction};

use crate::{Error, Evaluator, Result};

/// What packing as it stands takes of the turn, and nothing more.
const PACKED: Room = Room { terms: 2, levels: 0 };

/// What packing may add to values, as a part of the width that they reach.
const PACKING_ERROR: f64 = 1.0 / (1u64 << 13) as f64;

/// Functions of the values of one vector, or of several vectors place by place, on a domain: from
/// [`Evaluator::within`].
///
/// Each takes [`Lookups::levels`](crate::Lookups::levels) levels of its operands, whose carried ranges
/// must lie in the domain. Values come back at [`Evaluator::pack_level`], decisions (0 or 1) at
/// [`Lookups::level_after`](crate::Lookups::level_after). A comparator is one look-up; its decision is
/// right where two values differ by more than the errors of the index, a few parts in a thousand of the
/// domain's width with tables of degree 4096, and where they differ by less, either value is right to that
/// accuracy ([`lwe`] has the laws). Each step of comparators adds one such error.
///
/// The range of a result is that of its exact values: sorted values, maxima and minima of values of a
/// range lie in it. Noise may move them out by two fifths of half its width, for which the guard bands of
/// the next tables have room; where it may be more, the range is wider. Padding is zero.
///
/// The [noise](Ciphertext::noise) of a result is that of the worst case. For values it holds for ties,
/// and whatever errors the values share. Decisions are wrong where values tie: their noise is the
/// probability of that, about 1/2 for two values, times the square of what is decided about.
///
/// All go over the ring bridge, with the keys of [`Needs::map`](crate::Needs::map) for parameters that have
/// it, or those of `Needs::map_over(Bridge::Ring)`, and report to the callback of
/// [`Evaluator::with_progress`].
///
/// ```
/// use bellerophon::{lwe::Order, prelude::*};
/// # fn main() -> bellerophon::Result<()> {
/// // Toy dimensions, which protect nothing.
/// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
/// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
/// let within = server.within(-1.0..=1.0);
///
/// let x = client.encrypt(&[0.5, -0.75, 0.0, 0.875], -1.0..=1.0)?;
/// let sorted = client.decrypt(&within.sort(&x, Order::Ascending)?)?;
/// # for (found, expected) in sorted.iter().zip([-0.75, 0.0, 0.5, 0.875]) {
/// #     assert!((found - expected).abs() < 0.1, "{sorted:?}");
/// # }
/// let y = client.encrypt(&[0.0, 0.5, 0.5, -0.5], -1.0..=1.0)?;
/// let larger = client.decrypt(&within.max(&[&x, &y])?)?; // 0.5, 0.5, 0.5, 0.875
/// # for (found, expected) in larger.iter().zip([0.5, 0.5, 0.5, 0.875]) {
/// #     assert!((found - expected).abs() < 0.1, "{larger:?}");
/// # }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Of all functions: [`Error::OutsideDomain`](crate::Error::OutsideDomain) when a carried range does not
/// lie in the domain, [`Error::Domain`](crate::Error::Domain) and
/// [`Error::DomainScale`](crate::Error::DomainScale) for domains that no table takes,
/// [`Error::NoLookUps`](crate::Error::NoLookUps) and [`Error::NoRingBridge`](crate::Error::NoRingBridge)
/// for parameters without, [`Error::MissingKeys`](crate::Error::MissingKeys),
/// [`Error::Cancelled`](crate::Error::Cancelled), foreign keys, too few levels, vectors of different
/// lengths, [`Error::Scales`](crate::Error::Scales) as for [`Evaluator::extract_all`], and those of [`lwe::Evaluator`], among them tables too small for a network so deep.
#[derive(Debug, Clone)]
pub struct Within<'a> {
    evaluator: &'a Evaluator,
    domain: RangeInclusive<f64>,
}

impl Evaluator {
    /// Functions of several values that lie in a domain: largest and smallest, comparison, sorting,
    /// pooling.
    pub fn within(&self, domain: RangeInclusive<f64>) -> Within<'_> {
        Within { evaluator: self, domain }
    }
}

impl Within<'_> {
    /// Any function of the values of some vectors, by tables on LWE values: `room` is what the values
    /// are to leave in their encoding, and what `f` returns must leave room for packing
    /// ([`Evaluator::pack`]), which is known, and refused, only after it has run.
    pub fn apply(
        &self,
        operands: &[&Ciphertext],
        room: Room,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[Values]) -> lwe::Result<Values>,
    ) -> Result<Ciphertext> {
        self.through("apply", operands, room, Reduction::Identity, f)
    }

    /// Place by place, the largest of the values of several vectors of one length: one comparator a
    /// place less than there are vectors.
    pub fn max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        same_length("max", operands)?;
        let room = tournament(operands.len());
        let max = |tables: &lwe::Evaluator<'_>, values: &[Values]| tables.max_of(values);
        self.through("max", operands, room, Reduction::Identity, max)
    }

    /// As [`max`](Self::max), the smallest.
    pub fn min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        same_length("min", operands)?;
        let room = tournament(operands.len());
        let min = |tables: &lwe::Evaluator<'_>, values: &[Values]| tables.min_of(values);
        self.through("min", operands, room, Reduction::Identity, min)
    }

    /// Place by place, which of several vectors of one length has the largest value, as its number from
    /// 0 on: exactly one, also where some are equal. Two to three look-ups a place and vector
    /// ([`lwe::Evaluator::arg_max_label`]).
    ///
    /// # Errors
    /// As all, and [`Error::TooManyPlaces`](crate::Error::TooManyPlaces) as for
    /// [`place_of_largest`](Self::place_of_largest).
    pub fn arg_max(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "arg max";
        let (room, labels) = (self.contest(op, operands.len())?, self.numbers(op, operands.len())?);
        same_length(op, operands)?;
        self.through(op, operands, room, Reduction::Identity, |tables, values| {
            tables.arg_max_label(values, &labels, Output::Fit(PACKED))
        })
    }

    /// As [`arg_max`](Self::arg_max), which has the smallest.
    ///
    /// # Errors
    /// As [`arg_max`](Self::arg_max).
    pub fn arg_min(&self, operands: &[&Ciphertext]) -> Result<Ciphertext> {
        let op = "arg min";
        let (room, labels) = (self.contest(op, operands.len())?, self.numbers(op, operands.len())?);
        same_length(op, operands)?;
        self.through(op, operands, room, Reduction::Identity, |tables, values| {
            tables.arg_min_label(values, &labels, Output::Fit(PACKED))
        })
    }

    /// Place by place, 1 where `x > y` and 0 elsewhere: one look-up a place.
    pub fn greater(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        same_length("greater", &[x, y])?;
        let room = Room::comparators(1);
        self.through("greater", &[x, y], room, Reduction::Sine, |tables, values| {
            tables.greater(&values[0], &values[1], Output::Fit(Room::TABLE))
        })
    }

    /// `|x|` of every value: one look-up each.
    pub fn abs(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.through("abs", &[x], Room::TABLE, Reduction::Identity, |tables, values| {
            tables.abs(&values[0], Output::Fit(PACKED))
        })
    }

    /// The values of a vector in order: one look-up for each comparator of [`Network::odd_even`], in
    /// `r (r + 1) / 2` steps for up to `2^r` values. The encoding leaves room for the errors of all steps,
    /// which makes cells coarser: with very many values a place is worth little, and nothing refuses
    /// that. Of 16384 values, 105 steps, one comparator errs by 1.5% of the domain.
    pub fn sort(&self, x: &Ciphertext, order: Order) -> Result<Ciphertext> {
        let network = Network::odd_even(x.len())?;
        let room = depth(&network);
        self.through("sort", &[x], room, Reduction::Identity, |tables, values| {
            tables.sort_through(&values[0], &network, order)
        })
    }

    /// The `count` largest values of a vector, the largest first.
    ///
    /// # Errors
    /// As all, and if `count` is 0 or above the number of values.
    pub fn largest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        let op = "largest";
        let room = few(op, x.len(), count, (0..x.len()).rev())?;
        self.through(op, &[x], room, Reduction::Identity, |tables, values| {
            tables.largest(&values[0], count)
        })
    }

    /// The `count` smallest values of a vector, the smallest first.
    ///
    /// # Errors
    /// As [`largest`](Self::largest).
    pub fn smallest(&self, x: &Ciphertext, count: usize) -> Result<Ciphertext> {
        let op = "smallest";
        let room = few(op, x.len(), count, 0..x.len())?;
        self.through(op, &[x], room, Reduction::Identity, |tables, values| {
            tables.smallest(&values[0], count)
        })
    }

    /// The place of the largest value of a vector, counted from 0, as a vector of one number, which is
    /// to be rounded: a place among `k` carries the noise of `k / 2` look-ups whose entries span `4 k`,
    /// and what packing adds, up to `2^-13 k`. It is off by less than 1/2, but with a probability of
    /// `2^`[`log2_failure`](crate::Params::log2_failure), up to so many values, and more are refused:
    ///
    /// | parameters | NTRU | RGSW | RGSW, keys of [`Needs::map_to`](crate::Needs::map_to) |
    /// |---|---|---|---|
    /// | [`Functions`](crate::Preset::Functions) | 460 | 118 | 4096 |
    /// | [`FunctionsFine`](crate::Preset::FunctionsFine) | 642 | 95 | 4095 |
    /// | [`FunctionsPrecise`](crate::Preset::FunctionsPrecise) | | 76 | 4095 |
    ///
    /// # Errors
    /// As all, and [`Error::TooManyPlaces`](crate::Error::TooManyPlaces), which names the largest number,
    /// before any work.
    pub fn place_of_largest(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "place of largest";
        let (room, labels) = (self.contest(op, x.len())?, self.numbers(op, x.len())?);
        self.through(op, &[x], room, Reduction::Identity, |tables, values| {
            tables.arg_max_label(&values[0].singles(), &labels, Output::Fit(PACKED))
        })
    }

    /// As [`place_of_largest`](Self::place_of_largest), of the smallest.
    ///
    /// # Errors
    /// As [`place_of_largest`](Self::place_of_largest).
    pub fn place_of_smallest(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "place of smallest";
        let (room, labels) = (self.contest(op, x.len())?, self.numbers(op, x.len())?);
        self.through(op, &[x], room, Reduction::Identity, |tables, values| {
            tables.arg_min_label(&values[0].singles(), &labels, Output::Fit(PACKED))
        })
    }

    /// 1 at the place of the largest value of a vector, 0 at all others: exactly one 1, also where some
    /// are equal.
    pub fn mark_largest(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "mark largest";
        let room = self.contest(op, x.len())?;
        self.through(op, &[x], room, Reduction::Sine, |tables, values| {
            Values::concat(&tables.arg_max(&values[0].singles(), Room::TABLE)?)
        })
    }

    /// As [`mark_largest`](Self::mark_largest), the smallest.
    pub fn mark_smallest(&self, x: &Ciphertext) -> Result<Ciphertext> {
        let op = "mark smallest";
        let room = self.contest(op, x.len())?;
        self.through(op, &[x], room, Reduction::Sine, |tables, values| {
            Values::concat(&tables.arg_min(&values[0].singles(), Room::TABLE)?)
        })
    }

    /// The largest value of every `window` by `window` patch of an image, given row by row with so many
    /// `columns`; patches row by row ([`lwe::Evaluator::max_pool`]).
    ///
    /// # Errors
    /// As all, and [`lwe::Error::Image`] if the patches do not cover the image.
    pub fn max_pool(
        &self,
        image: &Ciphertext,
        columns: usize,
        window: usize,
    ) -> Result<Ciphertext> {
        lwe::check_pooling(image.len(), columns, window)?;
        let room = tournament(window * window);
        self.through("max pool", &[image], room, Reduction::Identity, |tables, values| {
            tables.max_pool(&values[0], columns, window)
        })
    }

    /// The room for a tournament that remembers who won, if the tables can play it.
    fn contest(&self, op: &'static str, count: usize) -> Result<Room> {
        let checked = || -> Result<()> { Ok(self.evaluator.tables()?.check_contest(count)?) };
        checked().map_err(|error| error.named(op))?;
        Ok(tournament(count))
    }

    /// The numbers of so many things, if they can be told apart when they come back.
    fn numbers(&self, op: &'static str, count: usize) -> Result<Vec<f64>> {
        let evaluator = self.evaluator;
        let failure = evaluator.parameters().lookups_for(op)?.log2_table_failure();
        let lattice = &evaluator.table_keys(op)?.lattice;
        if !told_apart(lattice, failure, count) {
            let most = most_places(lattice, failure, count);
            return Err(Error::TooManyPlaces { op, found: count, most });
        }
        Ok((0..count).map(|i| i as f64).collect())
    }

    /// Out of the slots, through `f`, and back, at the highest level that the reduction leaves.
    fn through(
        &self,
        op: &'static str,
        operands: &[&Ciphertext],
        room: Room,
        reduction: Reduction,
        f: impl FnOnce(&lwe::Evaluator<'_>, &[Values]) -> lwe::Result<Values>,
    ) -> Result<Ciphertext> {
        let evaluator = self.evaluator;
        let work = || {
            let (tables, domain) = (evaluator.tables()?, self.domain.clone());
            let values = evaluator.extract_by(op, operands, domain, room, None)?;
            let found = f(&tables, &values)?;
            let level = match reduction {
                Reduction::Identity => evaluator.pack_level()?,
                Reduction::Sine => evaluator.parameters().lookups_for(op)?.level_after(),
            };
            let layout = Layout::in_order(found.len())?;
            evaluator.pack_by(op, &found, &layout, level, reduction)
        };
        work().map_err(|error| error.named(op))
    }
}

/// The room for the tournament of so many values.
fn tournament(count: usize) -> Room {
    Room::comparators(count.max(1).next_power_of_two().ilog2())
}

fn depth(network: &Network) -> Room {
    Room::comparators(network.depth() as u32)
}

/// The room for a few of the sorted values, of which the first `count` places are asked for.
fn few(
    op: &'static str,
    len: usize,
    count: usize,
    places: impl Iterator<Item = usize>,
) -> Result<Room> {
    if count == 0 || count > len {
        return Err(lwe::Error::Lengths { op, left: len, right: count }.into());
    }
    let places: Vec<usize> = places.take(count).collect();
    Ok(depth(&Network::odd_even(len)?.keep(&places)?))
}

/// Fails unless all vectors have as many values as the first.
fn same_length(op: &'static str, operands: &[&Ciphertext]) -> Result<()> {
    let lengths = || operands.iter().map(|x| x.len());
    match lengths().find(|&len| Some(len) != lengths().next()) {
        Some(right) => Err(lwe::Error::Lengths { op, left: operands[0].len(), right }.into()),
        None => Ok(()),
    }
}

/// Whether numbers of places below `count` come back nearer than 1/2, but for a failure of the given
/// `log2`: [`noise::deviations`] of a label in its encoding, and what packing
/// adds.
fn told_apart(lattice: &lwe::Params, log2_failure: f64, count: usize) -> bool {
    let (last, variance) = (count.saturating_sub(1) as f64, noise::label(lattice, count));
    let Ok(encoding) = Encoding::fit(lattice, 0.0, last, variance, PACKED, log2_failure) else {
        return false;
    };
    let unit = encoding.width() / lattice.ring_modulus().value() as f64;
    let reach = noise::deviations(log2_failure) * variance.sqrt() * unit;
    reach + PACKING_ERROR * last < 0.5
}

/// The most places, below `beyond`, that are [`told_apart`]; the error of a place grows with their
/// number.
fn most_places(lattice: &lwe::Params, log2_failure: f64, beyond: usize) -> usize {
    let (mut most, mut beyond) = (1, beyond);
    while beyond - most > 1 {
        let middle = most + (beyond - most) / 2;
        match told_apart(lattice, log2_failure, middle) {
            true => most = middle,
            false => beyond = middle,
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MapEngine, Params, Preset};

    /// The table at [`Within::place_of_largest`].
    #[test]
    fn the_most_places_are_those_of_the_table() {
        use Preset::{Functions, FunctionsFine, FunctionsPrecise, ToyInsecure};
        let expected = [
            (Functions, [Some(460), Some(118), Some(4096)]),
            (FunctionsFine, [Some(642), Some(95), Some(4095)]),
            (FunctionsPrecise, [None, Some(76), Some(4095)]),
            (ToyInsecure, [Some(1426), Some(446), Some(4096)]),
        ];
        for (preset, expected) in expected {
            let params = Params::preset(preset).unwrap();
            let lookups = params.lookups().unwrap();
            let failure = lookups.log2_table_failure();
            let sets = [
                lookups.on(MapEngine::Ntru),
                lookups.on(MapEngine::Rgsw),
                lookups.corrected_on(MapEngine::Rgsw),
            ];
            let most = sets.map(|set| set.map(|set| most_places(set, failure, 1 << 16)));
            assert_eq!(most, expected, "{preset:?}");
            for set in sets.into_iter().flatten() {
                assert!(told_apart(set, failure, 1) && !told_apart(set, failure, 1 << 13));
            }
        }
    }
}
