//! The layout of a domain in a table: the scale of the values, the guard bands and the index error.

use std::ops::RangeInclusive;

use bellerophon_lwe::{self as lwe, TableDomain, noise as lwe_noise};
use bellerophon_ring::Result;

use crate::{
    bridge_choice::Bridge,
    domain::center,
    error,
    params::{LutParams, largest_weight},
};

/// Integer factors between the scale after SlotsToCoeffs and that of the table. From 8 on, rounding
/// the factor down widens the cells by at most an eighth. Up to `2^22`, the rounding error of
/// SlotsToCoeffs, some `2^6`, stays below the index error, which includes it.
const FACTORS: RangeInclusive<f64> = 8.0..=(1u64 << 22) as f64;

/// The layout of a domain in a table.
pub(super) struct Fit {
    /// The ideal layout, for a freely chosen encoding.
    pub(super) wanted: TableDomain,
    /// The layout at the scale that an integer factor reaches.
    pub(super) table: TableDomain,
    /// The integer that brings values after SlotsToCoeffs to the scale of the table.
    pub(super) factor: f64,
    /// Standard deviation of the index error of a look-up, in cells, before rounding to a cell.
    pub(super) index_std: f64,
    /// Free cells between the domain and each end of the table.
    pub(super) guard: usize,
}

/// Variances of noise after SlotsToCoeffs that moves values out of their range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    /// The variance, from which the index error follows.
    pub(crate) variance: f64,
    /// The variance of a normal error that needs the same guard band.
    pub(crate) guarded: f64,
}

impl Leaving {
    /// Normal noise.
    pub(super) fn normal(variance: f64) -> Self {
        Self { variance, guarded: variance }
    }
}

/// The table for values at `scale` after SlotsToCoeffs with noise that leaves the range. The factor
/// between the scales is rounded down; the layout takes that into account.
pub(super) fn fit(
    lookups: &LutParams,
    lwe_params: &lwe::Params,
    bridge: Bridge,
    domain: &RangeInclusive<f64>,
    scale: f64,
    leaving: Leaving,
) -> Result<Fit> {
    let (lo, hi) = (*domain.start(), *domain.end());
    let degree = lwe_params.spec().ring_degree;
    let q0 = lwe_params.ring_modulus().value() as f64;
    let tried = |variance: f64| -> Result<Fit> {
        let (index_std, guard) = index(lookups, lwe_params, bridge, variance);
        let wanted = TableDomain::fit(lo, hi, degree, guard)?;
        let factor = (wanted.phase_per_unit() * q0 / scale).floor();
        if !FACTORS.contains(&factor) {
            return Err(error::domain_scale(lo, hi, scale.log2()));
        }
        let step = q0 / (scale * factor * 2.0 * degree as f64);
        let table = TableDomain::with_step(lo, hi, center(domain), step, degree, guard)?;
        Ok(Fit { wanted, table, factor, index_std, guard })
    };
    // Step 1: the factor without noise is an upper bound, and so is the noise that it multiplies.
    let largest = tried(0.0)?.factor;
    // Step 2: the layout with guard bands for that noise.
    let fit = tried(leaving.guarded * largest * largest)?;
    // Step 3: the index error with the noise that the chosen factor really gives.
    let noise = leaving.variance * fit.factor * fit.factor;
    Ok(Fit { index_std: index(lookups, lwe_params, bridge, noise).0, ..fit })
}

/// Standard deviation of the index error of a look-up, in cells, before rounding to a cell, for
/// secrets of expected norm; and the guard band for secrets of the largest norm. `variance` is that
/// of the noise before extraction, in units of the phase modulo `q0`.
fn index(lookups: &LutParams, lookup: &lwe::Params, bridge: Bridge, variance: f64) -> (f64, usize) {
    // The ring bridge adds the noise of one key switch before the modulus switch; the linear bridge
    // switches the modulus and then the key.
    let (expected, largest) = match (bridge, lookups.ring()) {
        (Bridge::Ring, Some(ring)) => {
            let lowered = variance + ring.lowering_noise();
            let expected = lwe_noise::expected_index_error(lookup, lowered);
            (expected, lwe_noise::largest_index_error(lookup, lowered))
        }
        _ => {
            let slots = lookups.slots().lattice();
            let (norm2, dimension) = (slots.secret_norm2(), slots.dimension());
            let (q0, q) = (lookup.ring_modulus().value() as f64, lookup.modulus().value() as f64);
            let switched = lwe_noise::modulus_switch(variance, q0, q, norm2)
                + lwe_noise::key_switch(lookup, norm2, dimension);
            let index = |norm2| lwe_noise::index_error(lookup, norm2, switched);
            let expected = lookup.spec().secret.expected_norm2(lookup.spec().dimension);
            (index(expected), index(largest_weight(lookup) as f64))
        }
    };
    // The expected norm predicts the accuracy; the largest norm sets the guard band.
    (expected.sqrt(), lwe_noise::guard(largest, lookups.log2_table_failure()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{map::Map, params::LOG_S2C_SCALE, testing};

    /// Noise of three cells after SlotsToCoeffs is an index error of three cells with either
    /// bridge, and the guard band grows with it.
    #[test]
    fn noise_of_lowered_values_is_in_the_index() {
        let lookups = &testing::toy();
        let scale = 2f64.powi(LOG_S2C_SCALE);
        let q0 = lookups.lwe_params().ring_modulus().value() as f64;
        let cell = q0 / (2 * lookups.lwe_params().spec().ring_degree) as f64;
        for bridge in [Bridge::Ring, Bridge::Linear] {
            let lwe_params = lookups.lwe_params();
            let fit = |leaving| {
                super::fit(lookups, lwe_params, bridge, &(-1.0..=1.0), scale, leaving).unwrap()
            };
            let quiet = fit(Leaving::normal(0.0));
            let noisy = fit(Leaving::normal((3.0 * cell / quiet.factor).powi(2)));
            let added = noisy.index_std.powi(2) - quiet.index_std.powi(2);
            let expected = 9.0 * (noisy.factor / quiet.factor).powi(2);
            assert!((added / expected - 1.0).abs() < 0.01, "{bridge:?}: {added}");
            let ratio =
                (noisy.guard as f64 / quiet.guard as f64) / (noisy.index_std / quiet.index_std);
            assert!((0.75..1.1).contains(&ratio), "{bridge:?}: {ratio}");
            assert!(noisy.factor < quiet.factor && noisy.table.step() > quiet.table.step());
            // An error with a longer tail takes the guard band of a larger normal one, and has the
            // index error of its own variance.
            let variance = (cell / quiet.factor).powi(2);
            let long = fit(Leaving { variance, guarded: 9.0 * variance });
            assert_eq!((long.guard, long.factor), (noisy.guard, noisy.factor));
            let ratio = long.index_std.powi(2) - quiet.index_std.powi(2);
            assert!((ratio / expected * 9.0 - 1.0).abs() < 0.01, "{bridge:?}: {ratio}");
        }
        // The noise of a fresh vector is a small part of a cell.
        let map = Map::new(lookups, lookups.lwe_params(), Bridge::Ring, &(-1.0..=1.0)).unwrap();
        let noise = map.lowered.sqrt() * map.planned.factor;
        assert!(noise > 0.0 && noise < 0.1 * cell, "{noise} {cell}");
    }
}
