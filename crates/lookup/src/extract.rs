//! Slots to LWE values, without a table.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_circuits::dft::{Coefficients, SlotsToCoeffs};
use bellerophon_ckks::{Ciphertext, CkksOps};
use bellerophon_lwe::{self as lwe, Deviation, Encoding, Headroom, LweMeta, LweVec};
use bellerophon_ring::Result;

use crate::{
    domain::{check_domain, range_within},
    error,
    evaluator::LookupEvaluator,
    flooding::Flood,
    map::LoweredNoise,
    params,
    stage::Stage,
};

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
    /// [`ErrorKind::Scale`], before any work, if integer factors leave more than half a cell
    /// between the encodings of the vectors.
    pub fn extract(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        flood: Option<&mut Flood<'_>>,
    ) -> Result<Vec<LweVec>> {
        // Step 1: checks. Everything that can be refused is refused before any work.
        let lookups = self.lookups;
        let (ring, keys) = self.ring_bridge()?;
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
        let encodings = Encodings {
            lwe_params,
            domain: [*domain.start(), *domain.end()],
            headroom,
            log2_failure: lookups.log2_table_failure(),
            lowering: ring.lowering_noise(),
        };
        let log_scale = params::log_s2c_scale(flood.is_some());
        let center = encodings.fit(0.0, 2f64.powi(log_scale))?.0.center();
        let s2c = self.slots_to_coeffs(flood.is_some())?;
        let q0 = lwe_params.ring_modulus().value() as f64;
        // The relative difference of scales that is allowed: it moves values at an end of the
        // domain by half a cell.
        let most = 1.0 / lwe_params.spec().ring_degree as f64;
        let drifting = if operands.len() > 1 { (most * q0 / 4.0).powi(2) } else { 0.0 };
        // Step 2: the scale, the noise and the encoding that each operand needs.
        let operands = operands.iter().map(|x| {
            let x = self.entering(x, lookups.levels(), flood.is_some())?;
            let x = self.arithmetic.add_scalar(&x, -center)?;
            Operand::new(x, &encodings, s2c, flood.as_deref(), center, drifting)
        });
        let operands = operands.collect::<Result<Vec<_>>>()?;
        // Step 3: the common encoding, and the integer factor of each operand. The widest encoding
        // gives every operand its headroom.
        let width = operands.iter().map(|x| q0 / (x.scale * x.factor)).fold(0.0, f64::max);
        let common = Encoding::new(center, width)?;
        let aligned = aligned(&operands, width, q0, most)?;
        // Step 4: SlotsToCoeffs, and noise flooding if asked for.
        let lowered = self.lowered(&operands, s2c, flood, center)?;
        // Step 5: the key switch to the ring of the tables and extraction, with the tracked noise.
        let lowered = lowered.iter().zip(ranges).zip(aligned).zip(operands);
        let values = lowered.map(|(((x, range), aligned), operand)| {
            let items = ring.slots_to_lwe(keys, x, aligned.factor as i64)?;
            let (noise, index) = operand.deviations(&aligned, &encodings, width / q0);
            let (lo, hi) = range.into_inner();
            let meta = LweMeta { encoding: common, lo, hi, noise, index, key: keys.id() };
            LweVec::from_parts(lwe_params, items, meta)
        });
        values.collect()
    }

    /// SlotsToCoeffs of every operand, and noise flooding if asked for.
    fn lowered(
        &self,
        operands: &[Operand],
        s2c: &SlotsToCoeffs,
        mut flood: Option<&mut Flood<'_>>,
        center: f64,
    ) -> Result<Vec<Coefficients>> {
        let observer = self.observer();
        let total = operands.iter().map(|x| x.shifted.len()).sum();
        observer.tell(Stage::SlotsToCoefficients, 0, total)?;
        let mut done = 0;
        let mut lowered = Vec::with_capacity(operands.len());
        for Operand { shifted, .. } in operands {
            let coeffs = s2c.apply(self.arithmetic, shifted)?;
            lowered.push(match &mut flood {
                Some(flood) => {
                    let deviation = flood.deviation(s2c, center)?;
                    flood.apply(self.arithmetic.params(), coeffs, deviation)?
                }
                None => coeffs,
            });
            done += shifted.len();
            observer.tell(Stage::SlotsToCoefficients, done, total)?;
        }
        Ok(lowered)
    }
}

/// The encodings of the values of a domain in the ring of the tables.
struct Encodings<'a> {
    lwe_params: &'a lwe::Params,
    domain: [f64; 2],
    headroom: Headroom,
    log2_failure: f64,
    /// Variance that the switch to the ring of the tables adds.
    lowering: f64,
}

impl Encodings<'_> {
    /// The encoding for noise of a variance, and the integer factor to it from a scale.
    fn fit(&self, variance: f64, scale: f64) -> Result<(Encoding, f64)> {
        let ([lo, hi], q0) = (self.domain, self.lwe_params.ring_modulus().value() as f64);
        let (headroom, failure) = (self.headroom, self.log2_failure);
        let wanted = Encoding::fit(self.lwe_params, lo, hi, variance, headroom, failure)?;
        let factor = (q0 / wanted.width() / scale).floor();
        if !(1.0..=LARGEST_FACTOR).contains(&factor) {
            return Err(error::domain_scale(lo, hi, scale.log2()));
        }
        Ok((wanted, factor))
    }

    /// The variance in the ring of the tables, from that after SlotsToCoeffs times a factor.
    fn noise(&self, variance: f64, factor: f64) -> f64 {
        variance * factor.powi(2) + self.lowering
    }
}

/// A vector before SlotsToCoeffs.
struct Operand {
    /// The values without the centre of the domain.
    shifted: Ciphertext,
    /// The scale and the noise after SlotsToCoeffs.
    scale: f64,
    noise: LoweredNoise,
    /// The largest integer factor that leaves the headroom.
    factor: f64,
}

impl Operand {
    fn new(
        shifted: Ciphertext,
        encodings: &Encodings<'_>,
        s2c: &SlotsToCoeffs,
        flood: Option<&Flood<'_>>,
        center: f64,
        drifting: f64,
    ) -> Result<Self> {
        let metadata = shifted.metadata();
        let scale = s2c.lowered(&metadata)?.meta.scale;
        let deviation = match flood {
            Some(flood) => Some(flood.deviation(s2c, center)?),
            None => None,
        };
        let noise = LoweredNoise::new(s2c, &metadata, deviation, encodings.log2_failure)?;
        // The factor without noise is an upper bound, and so is the noise that it multiplies.
        let largest = encodings.fit(0.0, scale)?.1;
        let variance = encodings.noise(noise.leaving.guarded, largest) + drifting;
        let factor = encodings.fit(variance, scale)?.1;
        Ok(Self { shifted, scale, noise, factor })
    }

    /// The noise of the extracted values and the error of their index, in units of the values.
    /// `unit` is that of a phase.
    fn deviations(
        &self,
        aligned: &Aligned,
        encodings: &Encodings<'_>,
        unit: f64,
    ) -> (Deviation, Deviation) {
        let (Aligned { factor, drift }, [lo, hi]) = (*aligned, encodings.domain);
        let bias = drift * (hi - lo) / 2.0;
        let own = self.noise.leaving.variance;
        let variance = encodings.noise(own, factor) * unit * unit + bias * bias;
        // Values within their range are off by its width at most. All values count as those with
        // the largest error.
        let beyond = |error: f64| {
            let rest = (error - own).max(0.0).sqrt();
            (rest * factor * unit).min(hi - lo)
        };
        let (predicted, bound) = (beyond(self.noise.error.peak), beyond(self.noise.error.bound));
        let index = Deviation { predicted, bound: bound.max(predicted) };
        (Deviation::of_variance(variance), index)
    }
}

/// The integer factor to the common encoding, and the relative difference of scales that it leaves.
#[derive(Clone, Copy)]
struct Aligned {
    factor: f64,
    drift: f64,
}

/// The factors from the scales of operands to that of an encoding of a width.
///
/// # Errors
/// [`ErrorKind::Scale`] if one leaves a difference above `most`.
fn aligned(operands: &[Operand], width: f64, q0: f64, most: f64) -> Result<Vec<Aligned>> {
    let aligned = operands.iter().enumerate().map(|(vector, &Operand { scale, .. })| {
        let factor = (q0 / (width * scale)).round();
        let drift = width * scale * factor / q0 - 1.0;
        if drift.abs() > most {
            let (count, ratio) = (operands.len(), scale / operands[0].scale);
            return Err(error::scales(vector, count, ratio, drift));
        }
        Ok(Aligned { factor, drift })
    });
    aligned.collect()
}
