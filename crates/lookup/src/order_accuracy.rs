//! The predicted error of functions of several values ([`ordering`](super::ordering)), before any
//! key exists.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_lwe::{self as lwe, Encoding, Headroom, Network, noise};
use bellerophon_ring::Result;

use crate::{
    domain::check_domain,
    engine::Engine,
    error,
    ordering::{depth, few, tournament},
    params::{LOG_S2C_SCALE, LutParams},
    ring_bridge::reduction::Reduction,
};

/// `log2` of the probability that a value in a wrong order is further from its neighbour than
/// [`OrderAccuracy::order_gap`].
const LOG2_GAP_FAILURE: f64 = -29.0;

/// A function of several values whose accuracy is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderFunction {
    /// The slotwise maximum or minimum of several vectors.
    Max {
        /// The number of vectors.
        vectors: usize,
    },
    /// The largest value of every square patch of an image.
    MaxPool {
        /// The length of an edge of a patch.
        window: usize,
    },
    /// All values of a vector in order.
    Sort {
        /// The number of values.
        values: usize,
    },
    /// The largest or smallest values of a vector, in order.
    Largest {
        /// The number of values.
        values: usize,
        /// The number of results.
        count: usize,
    },
}

/// The predicted error of a function of several values, in units of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OrderAccuracy {
    /// Comparators in a row, each with one error.
    pub comparators: usize,
    /// The standard deviation of the error of a result to which every comparator adds its error,
    /// for values that differ by more than their errors. This is an upper estimate: a comparator
    /// computes `b + max(a - b, 0)`, which adds no error where `b` is the larger value.
    pub rms: f64,
    /// The standard deviation of the error at the worst values, ties among them: the
    /// [noise](bellerophon_ckks::Metadata::noise) that the result of fresh operands carries.
    pub worst_rms: f64,
}

impl OrderAccuracy {
    /// A bound on the errors of `count` results, which holds with probability 95% for any values.
    pub fn max_abs(&self, count: usize) -> f64 {
        let each = 0.05 / count.max(1) as f64;
        noise::deviations(each.log2()) * self.worst_rms
    }

    /// Two values further apart than this come back in order, except with probability `2^-29`. The
    /// results for closer values may stand in either order: sort the decrypted results again if
    /// that matters. The errors of two results may be opposite, so that their difference has twice
    /// the error of each.
    pub fn order_gap(&self) -> f64 {
        2.0 * noise::deviations(LOG2_GAP_FAILURE) * self.rms
    }
}

impl OrderFunction {
    /// The headroom of the encoding of the operands, the comparators in a row, and the least number
    /// of results, which packing repeats most.
    fn network(self) -> Result<(Headroom, usize, usize)> {
        // A tournament is a tree: a value passes as many comparators as the tree has levels.
        let of_tournament = |count| {
            let headroom = tournament(count);
            (headroom, headroom.levels as usize, 1)
        };
        match self {
            Self::Max { vectors: 0 } | Self::MaxPool { window: 0 } | Self::Sort { values: 0 } => {
                Err(lwe::error::no_values())
            }
            Self::Max { vectors } => Ok(of_tournament(vectors)),
            Self::MaxPool { window } => Ok(of_tournament(window * window)),
            // Sorting: as many comparators in a row as the network has layers.
            Self::Sort { values } => {
                let network = Network::odd_even(values)?;
                Ok((depth(&network), network.depth(), values))
            }
            Self::Largest { values, count } => {
                let headroom = few(values, count, (0..values).rev())?;
                // A single value takes a tree of comparators.
                let comparators = match count {
                    1 => of_tournament(values).1,
                    _ => headroom.levels as usize,
                };
                Ok((headroom, comparators, count))
            }
        }
    }
}

impl LutParams {
    /// The predicted error of a function of several values on a domain, for fresh operands and the
    /// tables of [`Engine::Rgsw`].
    ///
    /// # Errors
    /// Networks deeper than the tables allow are refused.
    pub fn order_accuracy(
        &self,
        domain: &RangeInclusive<f64>,
        function: OrderFunction,
    ) -> Result<OrderAccuracy> {
        let tables = self.on(Engine::Rgsw)?;
        let ring = self.ring().ok_or_else(error::no_ring_bridge)?;
        check_domain(domain)?;
        let (headroom, comparators, results) = function.network()?;
        let (lo, hi) = (*domain.start(), *domain.end());
        let failure = self.log2_table_failure();
        // Step 1: the encoding of the operands, as the extraction chooses it: an integer factor
        // after SlotsToCoeffs, for the noise that it multiplies.
        let q0 = tables.ring_modulus().value() as f64;
        let scale = 2f64.powi(LOG_S2C_SCALE);
        let lowered = self.s2c_variance((hi - lo) / 2.0, false)?;
        let phase = |factor: f64| lowered * factor * factor + ring.lowering_noise();
        let factor = |variance: f64| -> Result<f64> {
            let wanted = Encoding::fit(tables, lo, hi, variance, headroom, failure)?;
            let factor = (q0 / wanted.width() / scale).floor();
            match factor >= 1.0 {
                true => Ok(factor),
                false => Err(error::domain_scale(lo, hi, scale.log2())),
            }
        };
        let factor = factor(phase(factor(0.0)?))?;
        let width = q0 / (scale * factor);
        // Step 2: the errors of all comparators in a row.
        let unit = width / q0;
        let [variance, worst] =
            noise::comparators(tables, width, phase(factor) * unit * unit, comparators, failure);
        // Step 3: ring packing, and the inverse of the sine after it.
        let repeats = ring.repeats(results.next_power_of_two());
        let packing = ring.raising_noise(repeats) * unit * unit;
        let amplitude = width / TAU;
        let polynomial = amplitude * ring.reduction(Reduction::Identity).approximation_error();
        let packed = |variance: f64| (variance + packing + polynomial * polynomial).sqrt();
        Ok(OrderAccuracy { comparators, rms: packed(variance), worst_rms: packed(worst) })
    }
}
