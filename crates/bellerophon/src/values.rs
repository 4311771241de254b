//! Out of the slots to LWE values, and back, without a table in between.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{self as ckks, Ciphertext, Interval, mod1::Mod1Output};
use bellerophon_lwe::{self as lwe, Encoding, Room, Values};
use bellerophon_repack::{self as repack, Layout, Reduction, RingBridge, RingBridgeKeys};

use crate::{
    Error, Evaluator, Lookups, Result, Stage,
    evaluator::range_within,
    flooding::Flood,
    lookups,
    map::{self, Deviations, LoweredNoise},
};

/// Standard deviations of noise that must fit beside the range of values that are packed.
const TAIL: f64 = 9.0;

/// Integer factors between the scale of lowered values and that of their encoding: see
/// [`crate::map`].
const LARGEST_FACTOR: f64 = (1u64 << 22) as f64;

impl Evaluator {
    /// The values of a vector as LWE values under the ring of the tables, in an encoding that leaves
    /// the whole of a table to the domain ([`Room::TABLE`]): for [`tables`](Self::tables), as many
    /// one after the other as one likes.
    ///
    /// Takes [`Lookups::levels`](crate::Lookups::levels) levels of the operand and goes over the ring
    /// bridge. LWE values carry on the noise of the slots; they are for the server's work, not for
    /// decryption by others. Noise counts as noise of the phase up to what moves values out of their
    /// range, and beyond that as the index error of earlier tables ([`Values`]).
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range does not lie in the domain,
    /// [`Error::Domain`], [`Error::DomainScale`], [`Error::NoLookUps`], [`Error::NoRingBridge`],
    /// [`Error::MissingKeys`] without `Needs::map` for the ring bridge, [`Error::Cancelled`], and
    /// those of the arithmetic, too few levels among them.
    pub fn extract(&self, x: &Ciphertext, domain: RangeInclusive<f64>) -> Result<Values> {
        self.extract_for(x, domain, Room::TABLE)
    }

    /// As [`extract`](Self::extract), leaving room in the encoding for what is to come before the next
    /// table: sums, differences, comparators.
    ///
    /// # Errors
    /// As [`extract`](Self::extract).
    pub fn extract_for(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        room: Room,
    ) -> Result<Values> {
        Ok(self.extract_by("extract", &[x], domain, room, None)?.remove(0))
    }

    /// As [`extract_for`](Self::extract_for) for several vectors that are to be added, compared or joined
    /// afterwards: their values stand in one encoding. An integer factor each brings different scales
    /// together; what it leaves, less than half a step of the tables, is counted as noise.
    ///
    /// # Errors
    /// As [`extract`](Self::extract), if no vector is given, and [`Error::Scales`], before any work, if
    /// the factors leave more: of scales that have nothing in common, on domains more than some ten wide.
    pub fn extract_all(
        &self,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        room: Room,
    ) -> Result<Vec<Values>> {
        self.extract_by("extract all", operands, domain, room, None)
    }

    pub(crate) fn extract_by(
        &self,
        op: &'static str,
        operands: &[&Ciphertext],
        domain: RangeInclusive<f64>,
        room: Room,
        mut flood: Option<Flood<'_>>,
    ) -> Result<Vec<Values>> {
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
            let wanted = Encoding::fit(lattice, lo, hi, variance, room, failure)?;
            let factor = (q0 / wanted.width() / scale).floor();
            if !(1.0..=LARGEST_FACTOR).contains(&factor) {
                return Err(Error::DomainScale { lo, hi, log2_scale: scale.log2() });
            }
            Ok((wanted, factor))
        };
        // All that can be refused is, before any work is done.
        let log_scale = lookups::log_lowered_scale(flood.is_some());
        let center = fit(0.0, 2f64.powi(log_scale))?.0.center();
        let lowering = self.lowering(op, flood.is_some())?;
        let noise = |variance: f64, by: f64| variance * by.powi(2) + ring.lowering_noise();
        // Scales may drift by so much that values at an end of the domain are half a step off.
        let most = 1.0 / lattice.ring_degree() as f64;
        let drifting = if operands.len() > 1 { (most * q0 / 4.0).powi(2) } else { 0.0 };
        let (mut shifted, mut scales, mut noises) = (Vec::new(), Vec::new(), Vec::new());
        let mut width = 0f64;
        for x in operands {
            let x = self.entering(op, x, lookups.levels(), flood.is_some())?;
            let x = self.arithmetic.add_scalar(&x, -center)?;
            let account = x.account();
            let scale = lowering.lowered(&account).map_err(|e| e.named(op))?.meta.scale;
            let deviation = match &flood {
                Some(flood) => Some(flood.deviation(lowering, center)?),
                None => None,
            };
            let lowered = LoweredNoise::new(lowering, &account, deviation)?;
            // Without noise the factor is the largest, which multiplies the noise.
            let largest = fit(0.0, scale)?.1;
            let factor = fit(noise(lowered.leaving, largest) + drifting, scale)?.1;
            // The widest encoding leaves all of them the room that they need.
            width = width.max(q0 / (scale * factor));
            shifted.push(x);
            scales.push(scale);
            noises.push(lowered);
        }
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
        let observer = self.observer(op);
        let total = operands.iter().map(|x| x.len()).sum();
        observer.tell(Stage::SlotsToCoefficients, 0, total)?;
        let mut done = 0;
        let mut lowered = Vec::with_capacity(operands.len());
        for x in &shifted {
            let places = lowering.apply(&self.arithmetic, x).map_err(|e| e.named(op))?;
            lowered.push(match &mut flood {
                Some(flood) => {
                    let deviation = flood.deviation(lowering, center)?;
                    flood.apply(self.arithmetic.params(), places, deviation)?
                }
                None => places,
            });
            done += x.len();
            observer.tell(Stage::SlotsToCoefficients, done, total)?;
        }
        let unit = width / q0;
        let lowered = lowered.iter().zip(ranges).zip(factors).zip(noises);
        let values = lowered.map(|(((x, range), (factor, drift)), carried)| {
            let items = ring.lower(keys, x, factor as i64)?;
            let bias = drift * (hi - lo) / 2.0;
            let variance = noise(carried.leaving, factor) * unit * unit + bias * bias;
            // Values that are clamped to their range are off by its width at most.
            let beyond = (carried.error - carried.leaving).max(0.0) * (factor * unit).powi(2);
            let beyond = beyond.min((hi - lo).powi(2));
            let values = Values::new(lattice, items, common, range, variance, keys.id())?;
            Ok(values.with_index_variance(beyond)?)
        });
        values.collect()
    }

    /// Tables and functions of several values on LWE values, with the keys of this client; it reports
    /// to whom this evaluator reports.
    ///
    /// # Errors
    /// [`Error::NoLookUps`], and [`Error::MissingKeys`] without `Needs::map`.
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

    /// LWE values in the slots of a vector, in order, at [`Evaluator::pack_level`].
    ///
    /// The way up undoes the sine of the reduction by a polynomial: its error is below `2^-13` of the
    /// width that the values reach, beside their own. It takes three levels more
    /// than the way up of [`map`](Self::map), whose tables hold the inverse sine.
    ///
    /// The range of the result is that of the values, widened where noise may move them out of it by
    /// more than two fifths of half its width. Its noise is the [`Values::deviation`], which holds
    /// whatever errors the values share, with the root of the [`Values::index_variance`] and the error
    /// of the polynomial. Padding is zero.
    ///
    /// # Errors
    /// As [`pack_in`](Self::pack_in).
    pub fn pack(&self, values: &Values) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        self.pack_in(values, &layout, self.pack_level()?)
    }

    /// As [`pack`](Self::pack) into any slots, at any level up to [`Evaluator::pack_level`]: a lower
    /// one is faster. Slots without a value hold zero.
    ///
    /// Values of several tables come up in one repacking: [`Values::concat`] joins them.
    ///
    /// # Errors
    /// [`Error::TooWideToPack`] for values that reach more than an eighth of a turn from the middle of
    /// their range, [`Error::MissingKeys`] without `Needs::map` for the ring bridge,
    /// [`Error::NoLookUps`], [`Error::NoRingBridge`], [`Error::Repack`] for a layout of another number
    /// of values or a level that is too high, [`Error::Cancelled`], foreign keys.
    pub fn pack_in(&self, values: &Values, layout: &Layout, level: usize) -> Result<Ciphertext> {
        self.pack_by("pack", values, layout, level, Reduction::Identity)
    }

    /// As [`pack`](Self::pack) for values each of which is one end of its range or the other: the
    /// results of comparisons, at a level up to
    /// [`Lookups::level_after`](crate::Lookups::level_after). Nothing need undo the sine of the
    /// reduction, which is right at both ends, so that results come up three levels higher.
    ///
    /// # Errors
    /// As [`pack_in`](Self::pack_in); values may reach nearly a quarter of a turn.
    pub fn pack_ends(&self, values: &Values, level: usize) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        self.pack_by("pack ends", values, &layout, level, Reduction::Sine)
    }

    pub(crate) fn pack_by(
        &self,
        op: &'static str,
        values: &Values,
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
        let (lo, hi, width) = (values.lo(), values.hi(), values.encoding().width());
        let deviation = values.deviation();
        let half = (hi - lo) / 2.0;
        let (most, amplitude) = match reduction {
            Reduction::Identity => (ring.reach(), width / TAU),
            // At the ends the sine is half the range; without a range anything is.
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
        // Step 1: packing and reduction of the values about the middle of their range.
        let centred = values.centred();
        let scale = self.keys.params.arithmetic().scale();
        let output = Mod1Output { amplitude, scale };
        let evaluator = &self.arithmetic;
        let packed =
            ring.raise(evaluator, keys, centred.items(), layout, reduction, output, level)?;
        let center = centred.encoding().center();
        let moved = map::add_to_values(evaluator, &packed, layout, center)?;
        // Step 2: the error against the messages, and what of it moves values out of their range.
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

    /// The level at which [`pack`](Self::pack) leaves vectors, the highest to be had.
    ///
    /// # Errors
    /// [`Error::NoLookUps`] and [`Error::NoRingBridge`] for parameters without, [`Error::Repack`] for
    /// a chain that is too short.
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
    ) -> Result<(&Lookups, &RingBridge, &RingBridgeKeys)> {
        let lookups = self.keys.params.lookups_for(op)?;
        let ring = lookups.ring().ok_or(Error::NoRingBridge { op })?;
        // Without a choice of bridge, small rings take the other one.
        let need = if self.keys.linear.is_some() { "map_over" } else { "map" };
        let keys = self.keys.ring.as_deref().ok_or(Error::MissingKeys { op, need })?;
        Ok((lookups, ring, keys))
    }
}
