//! Slots to LWE values, and LWE values to slots, without a table in between.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{self as ckks, Ciphertext, Interval, eval_mod::Mod1Output};
use bellerophon_lwe::{self as lwe, Encoding, Headroom, LweVec};
use bellerophon_repack::{self as repack, Layout, Reduction, RingBridge, RingBridgeKeys};

use crate::{
    Error, Evaluator, LutParams, Result, Stage,
    evaluator::range_within,
    flooding::Flood,
    lut_params,
    map::{self, Deviations, LoweredNoise},
};

/// Standard deviations of noise that must fit beside the range of the packed values.
const TAIL: f64 = 9.0;

/// The largest integer factor between the scale after SlotsToCoeffs and that of the encoding: see
/// [`crate::map`].
const LARGEST_FACTOR: f64 = (1u64 << 22) as f64;

impl Evaluator {
    /// Extracts the values of a vector as LWE values in the ring of the tables. Their encoding
    /// leaves a whole table to the domain ([`Headroom::TABLE`]). Any number of tables can follow
    /// ([`tables`](Self::tables)).
    ///
    /// Takes [`LutParams::levels`](crate::LutParams::levels) levels of the operand, and the ring
    /// bridge. LWE values keep the noise of the slots; they are for the server, not for decryption
    /// by others. Noise that can move values out of their range counts as noise of the phase; the
    /// rest counts as index error of earlier tables ([`LweVec`]).
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] if the carried range does not lie in the domain; [`Error::Domain`],
    /// [`Error::DomainScale`], [`Error::NoLookUps`], [`Error::NoRingBridge`];
    /// [`Error::MissingKeys`] without [`Needs::map`](crate::Needs::map) for the ring bridge;
    /// [`Error::Cancelled`]; and errors of the arithmetic, among them too few levels.
    pub fn extract(&self, x: &Ciphertext, domain: RangeInclusive<f64>) -> Result<LweVec> {
        self.extract_for(x, domain, Headroom::TABLE)
    }

    /// As [`extract`](Self::extract), with headroom in the encoding for the operations before the
    /// next table: sums, differences, comparators.
    ///
    /// # Errors
    /// As [`extract`](Self::extract).
    pub fn extract_for(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        headroom: Headroom,
    ) -> Result<LweVec> {
        Ok(self.extract_by("extract", &[x], domain, headroom, None)?.remove(0))
    }

    /// As [`extract_for`](Self::extract_for), for several vectors that will be added, compared or
    /// concatenated: their values share one encoding. An integer factor for each vector aligns the
    /// scales. The remaining difference, less than half a cell of the tables, counts as noise.
    ///
    /// # Errors
    /// As [`extract`](Self::extract), if no vector is given, and [`Error::Scales`], before any
    /// work, if the difference is larger. That happens for unrelated scales on domains more than
    /// some ten wide.
    pub fn extract_all(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        headroom: Headroom,
    ) -> Result<Vec<LweVec>> {
        self.extract_by("extract_all", operands, domain, headroom, None)
    }

    pub(crate) fn extract_by(
        &self,
        op: &'static str,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        mut flood: Option<Flood<'_>>,
    ) -> Result<Vec<LweVec>> {
        // Step 1: checks. Everything that can be refused is refused before any work.
        let (lookups, ring, keys) = self.ring_bridge(op)?;
        let (lo, hi) = (*domain.start(), *domain.end());
        map::check_domain(&domain)?;
        if operands.is_empty() {
            return Err(lwe::Error::NoValues { op }.into());
        }
        if let Some(flood) = &flood {
            operands.iter().try_for_each(|x| flood.check(op, self.arithmetic.params(), x))?;
        }
        let ranges: Vec<_> =
            operands.iter().map(|x| range_within(op, x.range(), &domain)).collect::<Result<_>>()?;
        let lattice = lookups.lattice();
        let q0 = lattice.ring_modulus().value() as f64;
        let fit = |variance: f64, scale: f64| -> Result<(Encoding, f64)> {
            let failure = lookups.log2_table_failure();
            let wanted = Encoding::fit(lattice, lo, hi, variance, headroom, failure)?;
            let factor = (q0 / wanted.width() / scale).floor();
            if !(1.0..=LARGEST_FACTOR).contains(&factor) {
                return Err(Error::DomainScale { lo, hi, log2_scale: scale.log2() });
            }
            Ok((wanted, factor))
        };
        let log_scale = lut_params::log_s2c_scale(flood.is_some());
        let center = fit(0.0, 2f64.powi(log_scale))?.0.center();
        let s2c = self.slots_to_coeffs(op, flood.is_some())?;
        let noise = |variance: f64, by: f64| variance * by.powi(2) + ring.lowering_noise();
        // The relative difference of scales that is allowed: it moves values at an end of the
        // domain by half a cell.
        let most = 1.0 / lattice.ring_degree() as f64;
        let drifting = if operands.len() > 1 { (most * q0 / 4.0).powi(2) } else { 0.0 };
        let (mut shifted, mut scales, mut noises) = (Vec::new(), Vec::new(), Vec::new());
        let mut width = 0f64;
        // Step 2: the scale, the noise and the encoding that each operand needs.
        for x in operands {
            let x = self.entering(op, x, lookups.levels(), flood.is_some())?;
            let x = self.arithmetic.add_scalar(&x, -center)?;
            let metadata = x.metadata();
            let scale = s2c.lowered(&metadata).map_err(|e| e.named(op))?.meta.scale;
            let deviation = match &flood {
                Some(flood) => Some(flood.deviation(s2c, center)?),
                None => None,
            };
            let lowered = LoweredNoise::new(s2c, &metadata, deviation)?;
            // The factor without noise is an upper bound, and so is the noise that it multiplies.
            let largest = fit(0.0, scale)?.1;
            let factor = fit(noise(lowered.leaving, largest) + drifting, scale)?.1;
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
                return Err(Error::Scales { op, vector, ratio: scale / scales[0], drift });
            }
            Ok((factor, drift))
        });
        let factors = factors.collect::<Result<Vec<_>>>()?;
        // Step 4: SlotsToCoeffs, and noise flooding if asked for.
        let observer = self.observer(op);
        let total = operands.iter().map(|x| x.len()).sum();
        observer.tell(Stage::SlotsToCoefficients, 0, total)?;
        let mut done = 0;
        let mut lowered = Vec::with_capacity(operands.len());
        for x in &shifted {
            let coeffs = s2c.apply(&self.arithmetic, x).map_err(|e| e.named(op))?;
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
            let items = ring.lower(keys, x, factor as i64)?;
            let bias = drift * (hi - lo) / 2.0;
            let variance = noise(carried.leaving, factor) * unit * unit + bias * bias;
            // Values within their range are off by its width at most.
            let beyond = (carried.error - carried.leaving).max(0.0) * (factor * unit).powi(2);
            let beyond = beyond.min((hi - lo).powi(2));
            let values = LweVec::new(lattice, items, common, range, variance, keys.id())?;
            Ok(values.with_index_variance(beyond)?)
        });
        values.collect()
    }

    /// The evaluator of tables and of functions of several LWE values, with the keys of this
    /// client. It reports to the progress callback of this evaluator.
    ///
    /// # Errors
    /// [`Error::NoLookUps`], and [`Error::MissingKeys`] without [`Needs::map`](crate::Needs::map).
    pub fn tables(&self) -> Result<lwe::Evaluator<'_>> {
        let op = "tables";
        let lookups = self.keys.params.lookups_for(op)?;
        let keys = self.table_keys(op)?;
        let tables = lwe::Evaluator::new(&keys.lattice, &keys.lookup);
        let tables = tables.with_failure(lookups.log2_table_failure())?;
        let tables = tables.counted(&self.counts.indices);
        Ok(match &self.watch {
            Some(watch) => tables.observed(&*watch.look_ups),
            None => tables,
        })
    }

    /// Packs LWE values into the slots of a vector, in order, at [`Evaluator::pack_level`].
    ///
    /// A polynomial inverts the sine of the reduction. Its error, below `2^-13` of the width that
    /// the values reach, adds to their own. It takes three levels more than the return of
    /// [`map`](Self::map), whose tables hold the arcsine.
    ///
    /// The range of the result is that of the values, widened if noise may move them out of it by
    /// more than two fifths of half its width. The noise of the result combines
    /// [`LweVec::deviation`], which holds for any correlation of the errors, the root of
    /// [`LweVec::index_variance`], and the error of the polynomial. Padding is zero.
    ///
    /// # Errors
    /// As [`pack_in`](Self::pack_in).
    pub fn pack(&self, values: &LweVec) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        self.pack_in(values, &layout, self.pack_level()?)
    }

    /// As [`pack`](Self::pack) into any slots, at any level up to [`Evaluator::pack_level`]; a
    /// lower level is faster. Slots without a value hold zero.
    ///
    /// One call packs the values of several tables: [`LweVec::concat`] joins them.
    ///
    /// # Errors
    /// [`Error::TooWideToPack`] for values that reach more than an eighth of the encoding width
    /// from the middle of their range; [`Error::MissingKeys`] without
    /// [`Needs::map`](crate::Needs::map) for the ring bridge; [`Error::NoLookUps`],
    /// [`Error::NoRingBridge`]; [`Error::Repack`] for a layout of another number of values or a
    /// level that is too high; [`Error::Cancelled`]; keys of another client.
    pub fn pack_in(&self, values: &LweVec, layout: &Layout, level: usize) -> Result<Ciphertext> {
        self.pack_by("pack", values, layout, level, Reduction::Identity)
    }

    /// As [`pack`](Self::pack) for values that each equal one end of their range: the results of
    /// comparisons, at a level up to [`LutParams::level_after`](crate::LutParams::level_after). The
    /// sine of the reduction is right at both ends and needs no inversion, so results return three
    /// levels higher.
    ///
    /// # Errors
    /// As [`pack_in`](Self::pack_in); values may reach nearly a quarter of the encoding width.
    pub fn pack_ends(&self, values: &LweVec, level: usize) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        self.pack_by("pack_ends", values, &layout, level, Reduction::Sine)
    }

    pub(crate) fn pack_by(
        &self,
        op: &'static str,
        values: &LweVec,
        layout: &Layout,
        level: usize,
        reduction: Reduction,
    ) -> Result<Ciphertext> {
        let (lookups, ring, keys) = self.ring_bridge(op)?;
        let highest = lookups.highest_level(reduction);
        if highest.is_none_or(|highest| level > highest) {
            return Err(repack::Error::Level { op, wanted: level, highest }.into());
        }
        if values.key() != keys.id() {
            let (left, right) = (values.key(), keys.id());
            return Err(ckks::Error::KeyMismatch { op, left, right }.into());
        }
        // Step 1: the amplitude of the sine, and whether the values reach too far.
        let (lo, hi, width) = (values.lo(), values.hi(), values.encoding().width());
        let deviation = values.deviation();
        let half = (hi - lo) / 2.0;
        let (most, amplitude) = match reduction {
            Reduction::Identity => (ring.reach(), width / TAU),
            // At both ends the sine must be half the range. A range of a single point takes any
            // amplitude.
            Reduction::Sine if half > 0.0 => (0.25, half / (TAU * half / width).sin()),
            Reduction::Sine => (0.25, width / TAU),
        };
        let reach = (half + TAIL * deviation) / width;
        if reach > most {
            return Err(Error::TooWideToPack { op, lo, hi, deviation, width, reach, most });
        }
        let observer = self.observer(op);
        let len = values.len();
        observer.tell(Stage::Repacking, 0, len)?;
        self.counts.packed(len);
        // Step 2: ring packing and the reduction, of the values around the middle of their range.
        let centred = values.centred();
        let scale = self.keys.params.ckks().scale();
        let output = Mod1Output { amplitude, scale };
        let evaluator = &self.arithmetic;
        let packed =
            ring.raise(evaluator, keys, centred.items(), layout, reduction, output, level)?;
        let center = centred.encoding().center();
        let moved = map::add_to_values(evaluator, &packed, layout, center)?;
        // Step 3: the metadata: the error against the messages, and the part that moves values out
        // of their range.
        let polynomial = match reduction {
            Reduction::Identity => amplitude * ring.reduction(reduction).approximation_error(),
            Reduction::Sine => 0.0,
        };
        let (noise, index) = (deviation.hypot(polynomial), values.index_variance().sqrt());
        let error = Deviations { noise, index };
        let bounds = map::bounds(Interval::real(lo, hi)?, layout);
        let result = map::with_error(evaluator.params(), moved, bounds, error)?;
        observer.tell(Stage::Repacking, len, len)?;
        Ok(result)
    }

    /// The level of the result of [`pack`](Self::pack), the highest possible one.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRingBridge`] for parameters without, [`Error::Repack`]
    /// for a chain that is too short.
    pub fn pack_level(&self) -> Result<usize> {
        let op = "pack";
        let lookups = self.keys.params.lookups_for(op)?;
        lookups.ring().ok_or(Error::NoRingBridge { op })?;
        let highest = lookups.highest_level(Reduction::Identity);
        Ok(highest.ok_or(repack::Error::Level { op, wanted: 0, highest })?)
    }

    /// The ring bridge and its keys.
    pub(crate) fn ring_bridge(
        &self,
        op: &'static str,
    ) -> Result<(&LutParams, &RingBridge, &RingBridgeKeys)> {
        let lookups = self.keys.params.lookups_for(op)?;
        let ring = lookups.ring().ok_or(Error::NoRingBridge { op })?;
        // `Needs::map` may have asked for the keys of the linear bridge only.
        let need = if self.keys.linear.is_some() { "map_over" } else { "map" };
        let keys = self.keys.ring.as_deref().ok_or(Error::MissingKeys { op, need })?;
        Ok((lookups, ring, keys))
    }
}
