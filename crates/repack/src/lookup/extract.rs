//! Slots to LWE values, without a table.

#[cfg(doc)]
use crate::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_ckks::{Ciphertext, CkksOps};
use bellerophon_lwe::{self as lwe, Deviation, Encoding, Headroom, LweMeta, LweVec};

use super::{
    domain::{check_domain, range_within},
    evaluator::LookupEvaluator,
    flooding::Flood,
    map::LoweredNoise,
    params,
    stage::Stage,
};
use crate::{Result, error};

/// The largest integer factor between the scale after SlotsToCoeffs and that of the encoding, as
/// for look-ups.
const LARGEST_FACTOR: f64 = (1u64 << 22) as f64;

impl LookupEvaluator<'_> {
    /// Extracts the values of vectors as LWE values in the ring of the tables, in one encoding that
    /// leaves `headroom`; with noise flooding if `flood` is given. An integer factor for each
    /// vector aligns the scales. The remaining difference, less than half a cell of the tables,
    /// counts as noise.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] and [`ErrorKind::MissingKey`]; if no vector is given;
    /// [`ErrorKind::Domain`] for the domain and the ranges; too few levels; [`ErrorKind::Scale`],
    /// before any work, if integer factors leave more than half a cell; [`ErrorKind::Cancelled`].
    pub fn extract(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        mut flood: Option<&mut Flood<'_>>,
    ) -> Result<Vec<LweVec>> {
        // Step 1: checks. Everything that can be refused is refused before any work.
        let lookups = self.lookups;
        let (ring, keys) = self.ring_bridge()?;
        let (lo, hi) = (*domain.start(), *domain.end());
        check_domain(&domain)?;
        if operands.is_empty() {
            return Err(lwe::error::no_values());
        }
        if let Some(flood) = &flood {
            operands.iter().try_for_each(|x| flood.check(self.arithmetic.params(), x))?;
        }
        let ranges: Vec<_> =
            operands.iter().map(|x| range_within(x.range(), &domain)).collect::<Result<_>>()?;
        let lwe_params = lookups.lwe_params();
        let q0 = lwe_params.ring_modulus().value() as f64;
        let fit = |variance: f64, scale: f64| -> Result<(Encoding, f64)> {
            let failure = lookups.log2_table_failure();
            let wanted = Encoding::fit(lwe_params, lo, hi, variance, headroom, failure)?;
            let factor = (q0 / wanted.width() / scale).floor();
            if !(1.0..=LARGEST_FACTOR).contains(&factor) {
                return Err(error::domain_scale(lo, hi, scale.log2()));
            }
            Ok((wanted, factor))
        };
        let log_scale = params::log_s2c_scale(flood.is_some());
        let center = fit(0.0, 2f64.powi(log_scale))?.0.center();
        let s2c = self.slots_to_coeffs(flood.is_some())?;
        let noise = |variance: f64, by: f64| variance * by.powi(2) + ring.lowering_noise();
        // The relative difference of scales that is allowed: it moves values at an end of the
        // domain by half a cell.
        let most = 1.0 / lwe_params.spec().ring_degree as f64;
        let drifting = if operands.len() > 1 { (most * q0 / 4.0).powi(2) } else { 0.0 };
        let (mut shifted, mut scales, mut noises) = (Vec::new(), Vec::new(), Vec::new());
        let mut width = 0f64;
        // Step 2: the scale, the noise and the encoding that each operand needs.
        for x in operands {
            let x = self.entering(x, lookups.levels(), flood.is_some())?;
            let x = self.arithmetic.add_scalar(&x, -center)?;
            let metadata = x.metadata();
            let scale = s2c.lowered(&metadata)?.meta.scale;
            let deviation = match &flood {
                Some(flood) => Some(flood.deviation(s2c, center)?),
                None => None,
            };
            let failure = lookups.log2_table_failure();
            let lowered = LoweredNoise::new(s2c, &metadata, deviation, failure)?;
            // The factor without noise is an upper bound, and so is the noise that it multiplies.
            let largest = fit(0.0, scale)?.1;
            let factor = fit(noise(lowered.leaving.guarded, largest) + drifting, scale)?.1;
            // The widest encoding gives every operand its headroom.
            width = width.max(q0 / (scale * factor));
            shifted.push(x);
            scales.push(scale);
            noises.push(lowered);
        }
        // Step 3: the common encoding, and the integer factor of each operand.
        let common = Encoding::new(center, width)?;
        let factors = scales.iter().enumerate().map(|(vector, scale)| {
            let factor = (q0 / (width * scale)).round();
            let drift = width * scale * factor / q0 - 1.0;
            if drift.abs() > most {
                let (count, ratio) = (scales.len(), scale / scales[0]);
                return Err(error::scales(vector, count, ratio, drift));
            }
            Ok((factor, drift))
        });
        let factors = factors.collect::<Result<Vec<_>>>()?;
        // Step 4: SlotsToCoeffs, and noise flooding if asked for.
        let observer = self.observer();
        let total = operands.iter().map(|x| x.len()).sum();
        observer.tell(Stage::SlotsToCoefficients, 0, total)?;
        let mut done = 0;
        let mut lowered = Vec::with_capacity(operands.len());
        for x in &shifted {
            let coeffs = s2c.apply(self.arithmetic, x)?;
            lowered.push(match &mut flood {
                Some(flood) => {
                    let deviation = flood.deviation(s2c, center)?;
                    flood.apply(self.arithmetic.params(), coeffs, deviation)?
                }
                None => coeffs,
            });
            done += x.len();
            observer.tell(Stage::SlotsToCoefficients, done, total)?;
        }
        // Step 5: the key switch to the ring of the tables and extraction, with the tracked noise.
        let unit = width / q0;
        let lowered = lowered.iter().zip(ranges).zip(factors).zip(noises);
        let values = lowered.map(|(((x, range), (factor, drift)), carried)| {
            let items = ring.slots_to_lwe(keys, x, factor as i64)?;
            let bias = drift * (hi - lo) / 2.0;
            let variance = noise(carried.leaving.variance, factor) * unit * unit + bias * bias;
            // Values within their range are off by its width at most. All values count as those
            // with the largest error.
            let beyond = |error: f64| {
                let rest = (error - carried.leaving.variance).max(0.0).sqrt();
                (rest * factor * unit).min(hi - lo)
            };
            let (predicted, bound) = (beyond(carried.error.peak), beyond(carried.error.bound));
            let index = Deviation { predicted, bound: bound.max(predicted) };
            let (noise, (lo, hi)) = (Deviation::of_variance(variance), range.into_inner());
            let meta = LweMeta { encoding: common, lo, hi, noise, index, key: keys.id() };
            LweVec::from_parts(lwe_params, items, meta)
        });
        values.collect()
    }
}
