//! The correction that reaches an accuracy.

use std::ops::RangeInclusive;

use bellerophon_ckks::{self as ckks, Interval};
use bellerophon_lwe as lwe;

use super::{correction::Correction, known::Known};
use crate::{
    Bridge, Error, ErrorDistribution, LutEngine, LutParams, Params, Result,
    evaluator::range_within,
    local_poly::{MAX_ORDER, Smooth},
    map::Map,
};

/// The number of values whose largest error defines the accuracy, with probability 95%.
const COUNT: usize = 1024;

/// The plan by which [`Evaluator::map_to`](crate::Evaluator::map_to) reaches an accuracy: from
/// [`Params::map_to_plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct MapPlan {
    order: usize,
    accuracy: ErrorDistribution,
}

impl MapPlan {
    /// The degree of the correction; 0 is a plain table.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The number of levels between [`LutParams::level_after`] and the result: the order, but at
    /// least two for a corrected look-up and none for a plain table.
    pub fn levels(&self) -> usize {
        levels(self.order)
    }

    /// The predicted distribution of the error.
    pub fn accuracy(&self) -> &ErrorDistribution {
        &self.accuracy
    }
}

fn levels(order: usize) -> usize {
    if order == 0 { 0 } else { order.max(2) }
}

/// The possible corrections of one operand: its look-up, its range, and how the slots know it.
pub(crate) struct Corrections<'a> {
    params: &'a Params,
    lookups: &'a LutParams,
    pub(super) map: Map<'a>,
    /// The part of the domain in which values can lie. Polynomials are fitted and errors predicted
    /// on it.
    range: RangeInclusive<f64>,
    known: Known,
}

impl<'a> Corrections<'a> {
    /// The corrections of an operand at a level whose carried range lies within the domain.
    pub(crate) fn new(
        op: &'static str,
        params: &'a Params,
        lattice: &'a lwe::Params,
        domain: &RangeInclusive<f64>,
        carried: &Interval,
        level: usize,
    ) -> Result<Self> {
        // Corrected tables take the ring bridge: the linear one adds too much noise.
        let lookups = params.lookups_for(op)?;
        let map = Map::new(params, lookups, lattice, lookups.path(op, Bridge::Ring)?, domain)?;
        let range = range_within(op, carried, domain)?;
        let known = Known::of_level(op, params, lookups, &map, level)?;
        Ok(Self { params, lookups, map, range, known })
    }

    /// The look-up.
    pub(crate) fn map(&self) -> &Map<'a> {
        &self.map
    }

    /// Where values can lie.
    pub(crate) fn range(&self) -> &RangeInclusive<f64> {
        &self.range
    }

    /// The function with its arguments clamped to the range of the values.
    pub(crate) fn inside<'f>(&self, f: impl Fn(f64) -> f64 + 'f) -> impl Fn(f64) -> f64 + 'f {
        let (lo, hi) = (*self.range.start(), *self.range.end());
        move |x| f(x.clamp(lo, hi))
    }

    /// The plan and the correction of an order; order 0 is a plain table without a correction.
    pub(crate) fn of_order(
        &self,
        op: &'static str,
        f: &Smooth<'_>,
        order: usize,
    ) -> Result<(MapPlan, Option<Correction>)> {
        let Self { params, lookups, map, range, known } = self;
        if order == 0 {
            let accuracy = map.accuracy(range, |x| f.value(x))?;
            return Ok((MapPlan { order, accuracy }, None));
        }
        // The products of the correction take levels of the packed tables.
        let (left, needed) = (lookups.level_after(), levels(order));
        if left < needed {
            return Err(ckks::Error::OutOfLevels { op, needed, left }.into());
        }
        let ring = lookups.ring().ok_or(Error::NoRingBridge { op })?;
        let correction = Correction::new(map, range, f, *known, order)?;
        let accuracy = correction.accuracy(params, ring, map, range, f)?;
        Ok((MapPlan { order, accuracy }, Some(correction)))
    }

    /// The correction of the least order that reaches `bits`.
    pub(super) fn to_bits(
        &self,
        op: &'static str,
        f: &Smooth<'_>,
        bits: f64,
    ) -> Result<(MapPlan, Option<Correction>)> {
        // Bits count relative to the largest value, if it exceeds 1.
        let plain = self.map.output(&|x| f.value(x))?;
        let largest = plain.lo.abs().max(plain.hi.abs()).max(1.0);
        let mut best = f64::NEG_INFINITY;
        for order in 0..=f.highest_order() {
            let found = self.of_order(op, f, order)?;
            best = best.max((largest / found.0.accuracy.max_abs(COUNT)).log2());
            if best >= bits {
                return Ok(found);
            }
        }
        Err(Error::Accuracy { op, wanted: bits, best })
    }
}

impl Params {
    /// The plan by which [`Evaluator::map_to`](crate::Evaluator::map_to) reaches `bits` with the
    /// keys of [`Needs::map_to`](crate::Needs::map_to), and the error to expect, for an operand at
    /// a level with values uniform in the domain.
    /// [`Evaluator::map_to_plan`](crate::Evaluator::map_to_plan) takes the carried range and the
    /// keys into account. An operand below [`LutParams::level_to_correct`] is packed beside its
    /// tables, with some five times the noise.
    ///
    /// # Errors
    /// [`Error::Accuracy`] if `bits` is out of reach, with the best accuracy; too few levels before
    /// or after the tables, or more than the parameters have; [`Error::NoCorrection`] and
    /// [`Error::NoRingBridge`] for parameters without corrected look-ups, and errors of
    /// [`map_accuracy`](Self::map_accuracy).
    pub fn map_to_plan(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_with(domain, f, &[], bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan), for
    /// [`Evaluator::map_to_with`](crate::Evaluator::map_to_with).
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_with(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(LutEngine::Auto, domain, &Smooth::new(&f, derivatives), bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan), with a given engine.
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_on(
        &self,
        engine: LutEngine,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(engine, domain, &Smooth::new(&f, &[]), bits, level)
    }

    fn map_to_plan_by(
        &self,
        engine: LutEngine,
        domain: RangeInclusive<f64>,
        f: &Smooth<'_>,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        let lookups = self.lookups_for(op)?;
        // Step 1: the level of the operand.
        let (needed, highest) = (lookups.levels(), self.levels());
        if level < needed {
            return Err(ckks::Error::OutOfLevels { op, needed, left: level }.into());
        }
        if level > highest {
            return Err(ckks::Error::LevelTooHigh { op, wanted: level, highest }.into());
        }
        // Step 2: the smallest order that reaches the bits, for values anywhere in the domain.
        let lattice = self.corrected_on(op, engine)?;
        let values = Interval::real(*domain.start(), *domain.end())?;
        let corrections = Corrections::new(op, self, lattice, &domain, &values, level)?;
        Ok(corrections.to_bits(op, f, bits)?.0)
    }

    /// The parameters of corrected tables on an engine.
    pub(crate) fn corrected_on(&self, op: &'static str, engine: LutEngine) -> Result<&lwe::Params> {
        match self.lookups_for(op)?.corrected_on(engine) {
            Some(lattice) => Ok(lattice),
            // If the engine itself is missing, that is the error.
            None => {
                self.tables_on(op, engine)?;
                Err(Error::NoCorrection { op, params: self.name().into() })
            }
        }
    }
}

impl LutParams {
    /// The lowest level at which [`Evaluator::map_to`](crate::Evaluator::map_to) uses its operand
    /// directly for the distance from the cells. It is the level of results of tables, and leaves
    /// the levels of the largest correction beside those of SlotsToCoeffs. A lower operand is
    /// packed beside its tables.
    pub fn level_to_correct(&self) -> usize {
        self.level_after().max(self.levels() + MAX_ORDER)
    }
}
