//! The correction that reaches an accuracy.

use std::ops::RangeInclusive;

use bellerophon_circuits::approx::Accuracy;
use bellerophon_ckks as ckks;
use bellerophon_ckks::Interval;
use bellerophon_lwe as lwe;
use bellerophon_ring::Result;

use super::{correction::Correction, known::Known};
use crate::{
    bridge_choice::Bridge, domain::range_within, error, error_distribution::ErrorDistribution,
    local_poly::Smooth, map::Map, params::LutParams,
};

/// The number of values whose largest error defines the accuracy, with probability 95%.
const COUNT: usize = 1024;

/// The correction that reaches an accuracy, with its predicted error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CorrectionPlan {
    order: usize,
    accuracy: ErrorDistribution,
}

impl CorrectionPlan {
    /// The degree of the correction; 0 is a plain table.
    pub(crate) fn order(&self) -> usize {
        self.order
    }

    /// The levels that the correction takes below [`LutParams::level_after`]: none for a plain
    /// table, else the order, at least two.
    pub(crate) fn levels(&self) -> usize {
        levels(self.order)
    }

    /// The predicted distribution of the error.
    pub(crate) fn accuracy(&self) -> &ErrorDistribution {
        &self.accuracy
    }
}

fn levels(order: usize) -> usize {
    if order == 0 { 0 } else { order.max(2) }
}

/// The possible corrections of one operand: its look-up, its range, and how the slots know it.
pub(crate) struct Corrections<'a> {
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
        lookups: &'a LutParams,
        lwe_params: &'a lwe::Params,
        domain: &RangeInclusive<f64>,
        carried: &Interval,
        level: usize,
    ) -> Result<Self> {
        // Corrected tables take the ring bridge: the linear one adds too much noise.
        let map = Map::new(lookups, lwe_params, lookups.bridge(Some(Bridge::Ring))?, domain)?;
        let range = range_within(carried, domain)?;
        let known = Known::of_level(lookups, &map, level)?;
        Ok(Self { lookups, map, range, known })
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
        f: &Smooth<'_>,
        order: usize,
    ) -> Result<(CorrectionPlan, Option<Correction>)> {
        let Self { lookups, map, range, known } = self;
        if order == 0 {
            let accuracy = map.accuracy(range, |x| f.value(x))?;
            return Ok((CorrectionPlan { order, accuracy }, None));
        }
        // The products of the correction take levels of the packed tables.
        let (left, needed) = (lookups.level_after(), levels(order));
        if left < needed {
            return Err(ckks::error::out_of_levels(needed, left));
        }
        let ring = lookups.ring().ok_or_else(error::no_ring_bridge)?;
        let correction = Correction::new(map, range, f, *known, order)?;
        let accuracy = correction.accuracy(lookups, ring, map, range, f)?;
        Ok((CorrectionPlan { order, accuracy }, Some(correction)))
    }

    /// The correction of the least order that reaches an accuracy.
    pub(crate) fn to_accuracy(
        &self,
        f: &Smooth<'_>,
        accuracy: Accuracy,
    ) -> Result<(CorrectionPlan, Option<Correction>)> {
        let wanted = accuracy.error()?;
        let mut best = f64::INFINITY;
        for order in 0..=f.highest_order() {
            let found = self.of_order(f, order)?;
            best = best.min(found.0.accuracy.max_abs(COUNT));
            if best <= wanted {
                return Ok(found);
            }
        }
        Err(error::accuracy(wanted, best))
    }
}
