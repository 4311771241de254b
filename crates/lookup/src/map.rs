//! A look-up: slots to LWE, programmable bootstrapping, LWE to slots. With the linear bridge this
//! is PEGASUS, Fig. 6; the ring bridge passes through the ring of the tables instead.

use std::{
    f64::consts::TAU,
    ops::{ControlFlow, RangeInclusive},
};

use bellerophon_circuits::{
    dft::{Coefficients, SlotsToCoeffs},
    eval_mod::{Mod1, Mod1Output},
};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Interval, Metadata,
    noise::{Noise, slot_std},
};
use bellerophon_lwe::{
    self as lwe, TableDomain, TestPolynomial, noise as lwe_noise, sample_extract, switch_modulus,
};
use bellerophon_mlwe::noise as mlwe_noise;
use bellerophon_ring::Result;

use crate::{
    bridge_choice::Bridge,
    domain::{center, check_domain},
    error_distribution::{ErrorDistribution, Grid},
    flooding::Flood,
    keys::{LinearKeys, TableKeys},
    linear_bridge::{layout::Layout, linear_repack::repack},
    params::{self, LOG_S2C_SCALE, LutParams},
    progress::Observer,
    ring_bridge::{bridge::RingBridge, keys::RingBridgeKeys, reduction::Reduction},
    stage::Stage,
    table_fit::{Fit, Leaving, fit},
};

/// The sine of the largest table value. The reduction modulo `q0` after packing returns a sine; the
/// table holds the arcsine, so that their composition is the identity. A larger amplitude makes
/// noise smaller relative to the values; at 1 the phase would reach a quarter of `q0`.
const AMPLITUDE: f64 = 0.9;

/// The errors that a look-up and ring packing add to a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    /// Standard deviation of noise, which can move values out of the range of the function.
    pub(crate) noise: f64,
    /// Variances of the error of the index, which cannot: every table entry lies in that range.
    pub(crate) index: Noise,
}

/// Values per batch of look-ups. It bounds the memory for values of dimension `N` on the linear
/// bridge (256 KiB each at `N = 2^15`); one pass over the blind-rotation key serves a batch on all
/// threads.
const BATCH: usize = 128;

/// The bridge of a look-up, with its keys.
pub(crate) enum Crossing<'a> {
    Ring(&'a RingBridge, &'a RingBridgeKeys),
    Linear(&'a LinearKeys),
}

/// One look-up: its parameters, its domain, its noise.
pub(crate) struct Map<'a> {
    lookups: &'a LutParams,
    /// The parameters of the tables, with their engine.
    lwe_params: &'a lwe::Params,
    bridge: Bridge,
    domain: RangeInclusive<f64>,
    /// Standard deviation of the flooding noise, if any.
    flood: Option<f64>,
    /// Variance of the noise of a fresh vector after SlotsToCoeffs.
    pub(super) lowered: f64,
    /// The expected table layout. It ignores the difference of the primes from powers of two and
    /// the noise that operands carry.
    pub(super) planned: Fit,
}

/// The encoding of values as table entries: `value = center + gain sin(2 pi phase / q0)`.
pub(crate) struct EntryEncoding {
    pub(crate) center: f64,
    pub(crate) gain: f64,
    /// The least value.
    pub(crate) lo: f64,
    /// The largest value.
    pub(crate) hi: f64,
}

/// LWE values before the modulus switch: extracted ones, or the ciphertext to extract them from.
enum Source {
    Small(Vec<lwe::Ciphertext>),
    Large { b: Vec<u64>, a: Vec<u64> },
}

/// Values in the coefficients of a ring ciphertext modulo `q0`. Multiplied by `factor`, they have
/// the scale of the table.
pub(crate) struct Lowered {
    coeffs: Coefficients,
    factor: i64,
    domain: TableDomain,
    /// Standard deviation of the index error, in cells, before rounding to a cell: from the noise
    /// of the look-up and from noise of the values that moves them out of their range.
    index_std: f64,
    /// Variances of the other errors of the values, in squared cells.
    operand: Noise,
}

/// Variances of the noise after SlotsToCoeffs, in units of the phase at that scale.
pub(crate) struct LoweredNoise {
    /// Noise that moves values out of their range. Guard bands absorb it.
    pub(crate) leaving: Leaving,
    /// The error against the exact values.
    pub(crate) error: Noise,
}

impl LoweredNoise {
    /// The noise of SlotsToCoeffs plus that of the vector, of which guard bands count the
    /// [excess](Metadata::excess). `flooding` is a standard deviation at the output scale.
    ///
    /// The tail of the excess is exponential ([`Noise::surely`]): except with probability
    /// `2^log2_failure` it stays within more deviations than a normal error, and counts in guard
    /// bands as many times.
    pub(crate) fn new(
        s2c: &SlotsToCoeffs,
        x: &Metadata,
        flooding: Option<f64>,
        log2_failure: f64,
    ) -> Result<Self> {
        let quiet = Metadata { meta: CiphertextMeta { noise: Noise::NONE, ..x.meta }, ..*x };
        let CiphertextMeta { scale, noise, .. } = s2c.lowered(&quiet)?.meta;
        let own = noise.total + flooding.map_or(0.0, |deviation| deviation.powi(2));
        let carried = |v: f64| (slot_std(v, x.meta.slots, x.meta.scale, true) * scale).powi(2);
        let longer = Noise::new(1.0).surely(1, log2_failure) / lwe_noise::deviations(log2_failure);
        let excess = carried(x.meta.noise.excess);
        let leaving = Leaving { variance: own + excess, guarded: own + longer.powi(2) * excess };
        Ok(Self { leaving, error: x.meta.noise.map(carried) + own })
    }
}

impl Lowered {
    /// The grid of the table cells with the errors of the index.
    pub(crate) fn grid(&self) -> Grid {
        let (center, step, degree) =
            (self.domain.center(), self.domain.step(), self.domain.degree());
        Grid { center, step, degree, index_std: self.index_std, operand: self.operand }
    }
}

impl EntryEncoding {
    /// For values from `lo` to `hi`.
    pub(crate) fn over(lo: f64, hi: f64) -> Self {
        // A constant needs some positive gain.
        let half_width = if hi > lo { (hi - lo) / 2.0 } else { lo.abs().max(1.0) };
        // A spread as small as f64 rounding must not fill the whole range of phases.
        let half_width = half_width.max(lo.abs().max(hi.abs()) * 2f64.powi(-20));
        Self { center: lo + (hi - lo) / 2.0, gain: half_width / AMPLITUDE, lo, hi }
    }

    /// The phase that encodes a value, in radians.
    pub(crate) fn angle(&self, value: f64) -> f64 {
        ((value - self.center) / self.gain).clamp(-1.0, 1.0).asin()
    }
}

impl<'a> Map<'a> {
    pub(crate) fn new(
        lookups: &'a LutParams,
        lwe_params: &'a lwe::Params,
        bridge: Bridge,
        domain: &RangeInclusive<f64>,
    ) -> Result<Self> {
        Self::planned(lookups, lwe_params, bridge, domain, None)
    }

    /// As [`new`](Self::new); `flood` is the standard deviation of the flooding noise, if any.
    pub(crate) fn planned(
        lookups: &'a LutParams,
        lwe_params: &'a lwe::Params,
        bridge: Bridge,
        domain: &RangeInclusive<f64>,
        flood: Option<f64>,
    ) -> Result<Self> {
        check_domain(domain)?;
        let (lo, hi) = (*domain.start(), *domain.end());
        // A domain that no table takes is refused without noise, before any work.
        let scale = 2f64.powi(params::log_s2c_scale(flood.is_some()));
        let planned =
            |lowered| fit(lookups, lwe_params, bridge, domain, scale, Leaving::normal(lowered));
        planned(0.0)?;
        // The layout with the noise of SlotsToCoeffs, and of flooding if there is any.
        let mut lowered = lookups.s2c_variance((hi - lo) / 2.0, flood.is_some())?;
        lowered += flood.map_or(0.0, |deviation| deviation.powi(2));
        let planned = planned(lowered)?;
        Ok(Self { lookups, lwe_params, bridge, domain: domain.clone(), flood, lowered, planned })
    }

    fn center(&self) -> f64 {
        center(&self.domain)
    }

    /// The parameters of the tables, with their engine.
    pub(crate) fn lwe_params(&self) -> &'a lwe::Params {
        self.lwe_params
    }

    /// The domain of the table.
    pub(crate) fn domain(&self) -> &RangeInclusive<f64> {
        &self.domain
    }

    /// Standard deviation of the index error of a look-up, in cells, before rounding to a cell.
    pub(crate) fn index_std(&self) -> f64 {
        self.planned.index_std
    }

    /// Variance of the phase modulo `q0` of the values of a fresh vector, extracted with the ring
    /// bridge into an encoding of width `width`.
    pub(crate) fn extracted_variance(&self, ring: &RingBridge, width: f64) -> f64 {
        // The noise after SlotsToCoeffs at the scale of the encoding, and that of the key switch.
        let q0 = self.lwe_params.ring_modulus().value() as f64;
        let factor = q0 / width / 2f64.powi(LOG_S2C_SCALE);
        self.lowered * factor * factor + ring.lowering_noise()
    }

    /// The largest distance between a value and the cell from which it is read, for cells of width
    /// `step`.
    pub(crate) fn reach(&self, step: f64) -> f64 {
        (self.planned.guard + 1) as f64 * step
    }

    /// The expected table. It ignores the difference of the primes from powers of two and the noise
    /// that operands carry.
    pub(crate) fn planned_table(&self) -> &TableDomain {
        &self.planned.table
    }

    /// The encoding for the range of the function over the cells of the table.
    pub(crate) fn entry_encoding(&self, f: &impl Fn(f64) -> f64) -> Result<EntryEncoding> {
        let domain = &self.planned.wanted;
        let half = domain.degree() as i64 / 2;
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for k in -half..half {
            let argument = domain.argument(k);
            let value = f(argument);
            if !value.is_finite() {
                return Err(lwe::error::not_finite(argument));
            }
            (lo, hi) = (lo.min(value), hi.max(value));
        }
        Ok(EntryEncoding::over(lo, hi))
    }

    /// SlotsToCoeffs to level 0 (PEGASUS Fig. 6, step 1), so that the domain fills the table; with
    /// flooding noise if `flood` is given.
    pub(crate) fn slots_to_coeffs(
        &self,
        evaluator: &ckks::Evaluator,
        s2c: &SlotsToCoeffs,
        x: &Ciphertext,
        flood: Option<(&mut Flood<'_>, f64)>,
    ) -> Result<Lowered> {
        // Step 1: the middle of the domain moves to zero, the middle of the table.
        let shifted = evaluator.add_scalar(x, -self.center())?;
        let deviation = flood.as_ref().map(|(_, deviation)| *deviation);
        let noise = self.lowered_noise(s2c, &shifted.metadata(), deviation)?;
        // Step 2: homomorphic decoding, then noise flooding of every coefficient.
        let mut coeffs = s2c.apply(evaluator, &shifted)?;
        if let Some((flood, deviation)) = flood {
            coeffs = flood.apply(evaluator.params(), coeffs, deviation)?;
        }
        // Step 3: the table layout for the scale and the noise that the values really have.
        let (fit, operand) = self.fitted(coeffs.meta().scale, &noise)?;
        let (factor, domain) = (fit.factor as i64, fit.table);
        Ok(Lowered { coeffs, factor, domain, index_std: fit.index_std, operand })
    }

    fn lowered_noise(
        &self,
        s2c: &SlotsToCoeffs,
        x: &Metadata,
        flooding: Option<f64>,
    ) -> Result<LoweredNoise> {
        LoweredNoise::new(s2c, x, flooding, self.lookups.log2_table_failure())
    }

    /// The table for values at a scale after SlotsToCoeffs, and the variances, in squared cells, of
    /// errors that keep values within their range.
    fn fitted(&self, scale: f64, noise: &LoweredNoise) -> Result<(Fit, Noise)> {
        let (lwe_params, bridge) = (self.lwe_params, self.bridge);
        let fit = fit(self.lookups, lwe_params, bridge, &self.domain, scale, noise.leaving)?;
        let degree = self.lwe_params.spec().ring_degree;
        let cell = self.lwe_params.ring_modulus().value() as f64 / (2 * degree) as f64;
        let cells = (fit.factor / cell).powi(2);
        let beyond = noise.error.map(|v| (v - noise.leaving.variance).max(0.0) * cells);
        Ok((fit, beyond))
    }

    /// The grid of the table cells for an operand, predicted from its metadata after the middle of
    /// the domain was subtracted.
    pub(crate) fn grid(&self, shifted: &Metadata) -> Result<Grid> {
        let s2c = match self.flood {
            None => self.lookups.to_coefficients(),
            Some(_) => self.lookups.flooded_to_coefficients()?,
        };
        let noise = self.lowered_noise(s2c, shifted, self.flood)?;
        let scale = s2c.lowered(shifted)?.meta.scale;
        let (Fit { table, index_std, .. }, operand) = self.fitted(scale, &noise)?;
        let (center, step, degree) = (table.center(), table.step(), table.degree());
        Ok(Grid { center, step, degree, index_std, operand })
    }

    /// Extraction, key switch and blind rotation (steps 2 to 5), and with the linear bridge another
    /// key switch (step 6). Returns LWE ciphertexts of table entries, ready for packing.
    pub(crate) fn look_up(
        &self,
        tables: &TableKeys,
        crossing: &Crossing<'_>,
        lowered: &Lowered,
        output: &EntryEncoding,
        f: &impl Fn(f64) -> f64,
        observer: &Observer<'_>,
    ) -> Result<Vec<lwe::Ciphertext>> {
        let lookup = &tables.lwe_params;
        let (q0, q) = (lookup.ring_modulus(), lookup.modulus());
        // The test polynomial holds the arcsine of every value, as a phase modulo q0.
        let per_radian = q0.value() as f64 / TAU;
        let encode = |y: f64| (per_radian * output.angle(y)).round() as i64;
        let table = TestPolynomial::new(*q0, lowered.domain, f, encode)?;
        let len = lowered.coeffs.meta().len;
        let mut results = Vec::with_capacity(len);
        observer.tell(Stage::LookUps, 0, len)?;
        let mut source = self.source(crossing, lowered)?;
        for start in (0..len).step_by(BATCH) {
            let range = start..len.min(start + BATCH);
            // Step 2 of Fig. 6: extraction. A modulus switch from q0 to the smaller q follows,
            // which the paper does without.
            let values = match &mut source {
                Source::Small(values) => {
                    values[range].iter().map(|v| switch_modulus(v, q)).collect()
                }
                Source::Large { b, a } => range
                    .map(|i| {
                        Ok(switch_modulus(&sample_extract(q0, b, a, lowered.coeffs.place(i))?, q))
                    })
                    .collect::<Result<Vec<_>>>()?,
            };
            // Every group of values is reported. The report of an empty batch would repeat the last
            // one.
            let before = results.len();
            let watch = |done: usize, _: usize| match done {
                0 => ControlFlow::Continue(()),
                done => observer.flow(Stage::LookUps, before + done, len),
            };
            let evaluator = lwe::Evaluator::new(lookup, &tables.lookup).observed(&watch);
            // Step 4: the key switch to the LWE secret. Step 5: the table, by blind rotation. Only
            // the linear bridge switches to the LWE secret again (step 6).
            let batch = match crossing {
                Crossing::Ring(..) => {
                    let values = tables.lookup.switch.apply_batch(lookup, &values)?;
                    evaluator.look_up(&values, &[&table])
                }
                Crossing::Linear(keys) => {
                    let values = keys.down.apply_batch(lookup, &values)?;
                    evaluator.look_up_and_switch(&values, &[&table])
                }
            };
            results.extend(batch.map_err(|error| observer.within(error, before, len))?);
        }
        Ok(results)
    }

    /// The LWE values before the modulus switch. The ring bridge switches all coefficients to the
    /// ring of the tables at once; the linear bridge extracts them one by one from the large ring.
    fn source(&self, crossing: &Crossing<'_>, lowered: &Lowered) -> Result<Source> {
        Ok(match crossing {
            Crossing::Ring(ring, keys) => {
                Source::Small(ring.slots_to_lwe(keys, &lowered.coeffs, lowered.factor)?)
            }
            Crossing::Linear(_) => {
                let lattice = self.lookups.slots().lattice();
                let mut large = lowered.coeffs.lattice().clone();
                large.mul_signed_assign(lattice, lowered.factor)?;
                let ring = lattice.q().at_limbs(1);
                let (b, mut masks) = large.into_parts();
                let coefficients = |poly| ring.inverse(poly).limb(0).to_vec();
                Source::Large { b: coefficients(b), a: coefficients(masks.remove(0)) }
            }
        })
    }

    /// Ring packing and the reduction modulo `q0` (steps 8 to 10). `error` is the error of the
    /// values that the metadata records: that of the index, of the table and of packing. Padding is
    /// zero.
    pub(crate) fn lwe_to_slots(
        &self,
        evaluator: &ckks::Evaluator,
        crossing: &Crossing<'_>,
        values: &[lwe::Ciphertext],
        output: &EntryEncoding,
        error: Added,
    ) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        let level = self.lookups.level_after();
        let form = Mod1Output { amplitude: output.gain, scale: self.lookups.slots().scale() };
        // Steps 8 and 9 of Fig. 6: the packing; step 10: the reduction, which returns
        // gain sin(2 pi phase / q0).
        let scaled = match crossing {
            Crossing::Ring(ring, keys) => {
                ring.lwe_to_slots(evaluator, keys, values, &layout, Reduction::Sine, form, level)?
            }
            Crossing::Linear(keys) => {
                let reduction = self.lookups.reduction();
                repack(evaluator, &keys.repack, values, &layout, reduction, form, level)?
            }
        };
        // The center of the range, which the sine leaves out.
        let moved = add_to_values(evaluator, &scaled, &layout, output.center)?;
        let range = Interval::real(output.lo, output.hi)?;
        with_error(evaluator.params(), moved, bounds(range, &layout), error)
    }

    /// Variance that packing with the ring bridge adds to the phases of `count` values, as parts of
    /// `q0`.
    pub(crate) fn packing_variance(&self, ring: &RingBridge, count: usize) -> f64 {
        let q0 = self.lwe_params.ring_modulus().value() as f64;
        ring.raising_noise(ring.repeats(count.next_power_of_two())) / (q0 * q0)
    }

    /// The variances that [`output_std`](Self::output_std) and the roundings of the reduction add.
    /// The metadata of a packed vector has the latter already.
    pub(crate) fn predicted_noise(&self, output: &EntryEncoding, count: usize) -> Noise {
        let (slots, ring) = (self.lookups.slots(), self.lookups.ring());
        let reduction = match (self.bridge, ring) {
            (Bridge::Ring, Some(ring)) => ring.reduction(Reduction::Sine),
            _ => self.lookups.reduction(),
        };
        let added = self.output_std(output, count).powi(2);
        reduction_noise(slots, reduction) * output.gain.powi(2) + added
    }

    /// Standard deviation that blind rotation and packing add to one of `count` values, without the
    /// roundings of the reduction.
    pub(crate) fn output_std(&self, output: &EntryEncoding, count: usize) -> f64 {
        let lookup = self.lwe_params;
        let (q0, q) = (lookup.ring_modulus().value() as f64, lookup.modulus().value() as f64);
        // The noise of an entry after blind rotation, modulo q0.
        let rotated = lwe_noise::look_up(lookup);
        let std = match (self.bridge, self.lookups.ring()) {
            (Bridge::Ring, Some(ring)) => {
                (rotated / (q0 * q0) + self.packing_variance(ring, count)).sqrt()
            }
            // The linear bridge switches modulus and key after the rotation.
            _ => {
                let ring_norm2 =
                    lookup.spec().ring_secret.expected_norm2(lookup.spec().ring_degree);
                let variance = lwe_noise::modulus_switch(rotated, q0, q, ring_norm2)
                    + lwe_noise::key_switch(lookup, ring_norm2, lookup.spec().ring_degree);
                variance.sqrt() / q
            }
        };
        // The slope of gain sin(2 pi phase / q0) is at most 2 pi gain.
        output.gain * TAU * std
    }

    /// The distribution of the error of a plain table, for values uniform in a part of the domain.
    pub(crate) fn accuracy(
        &self,
        range: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<ErrorDistribution> {
        // The noise for a single value, which packing repeats most.
        let noise = self.predicted_noise(&self.entry_encoding(&f)?, 1);
        let table = self.planned_table();
        let half = table.degree() as i64 / 2;
        let cell = |k: i64| f(table.argument(k).clamp(*range.start(), *range.end()));
        let cells: Vec<f64> = (-half..half).map(cell).collect();
        let cells = &cells;
        Ok(ErrorDistribution::law(range, table, self.index_std(), |x| {
            let exact = f(x);
            move |k| (cells[(k + half) as usize] - exact, noise)
        }))
    }
}

impl LutParams {
    /// Checks that tables of these parameters take the whole domain with this bridge.
    pub(crate) fn check_covers(
        &self,
        tables: &lwe::Params,
        bridge: Bridge,
        domain: &RangeInclusive<f64>,
    ) -> Result<()> {
        Map::new(self, tables, bridge, domain).map(drop)
    }
}

/// Variances of the sine that a reduction returns, at amplitude 1: every step rounds, and a slot
/// sums half the coefficients. The largest one is that of the rarest multiples of the modulus.
pub(super) fn reduction_noise(slots: &ckks::Params, reduction: &Mod1) -> Noise {
    let rounding = mlwe_noise::rounding(slots.lattice()) * slots.max_slots() as f64;
    let [mean, largest] = [reduction.mean_sensitivity(), reduction.largest_sensitivity()]
        .map(|sensitivity| (sensitivity.steps / slots.scale()).powi(2) * rounding);
    Noise::varying(mean, largest)
}

/// Adds a constant to the slots that hold values; padding stays zero.
pub(crate) fn add_to_values(
    evaluator: &ckks::Evaluator,
    x: &Ciphertext,
    layout: &Layout,
    constant: f64,
) -> Result<Ciphertext> {
    if constant == 0.0 {
        return Ok(x.clone());
    }
    if layout.rows() == layout.slots() {
        return evaluator.add_scalar(x, constant);
    }
    let mut constants = layout.place(&vec![constant; layout.rows()]);
    constants.truncate(x.len());
    evaluator.add_values(x, &constants)
}

/// The bounds of a vector with values of a range in a layout and zero in all other slots.
pub(crate) fn bounds(range: Interval, layout: &Layout) -> Bounds {
    let bounds = Bounds::padded(range, layout.rows() < layout.slots());
    if layout.is_prefix() { bounds } else { bounds.mixed() }
}

/// The same vector with given bounds and an error on top of its noise. Every repetition of a slot
/// has the same error.
pub(crate) fn with_error(
    params: &ckks::Params,
    x: Ciphertext,
    bounds: Bounds,
    error: Added,
) -> Result<Ciphertext> {
    // Noise in the metadata is per coefficient, in units of the scale.
    let origins = x.origins().clone();
    let (inner, meta) = x.into_parts();
    let per_unit = meta.scale.powi(2) / meta.slots as f64;
    // The error of the index stays within the range of the function.
    let index = Noise { excess: 0.0, ..error.index };
    let added = (index + error.noise.powi(2)) * per_unit;
    let meta = CiphertextMeta { bounds, noise: meta.noise + added, ..meta };
    Ok(Ciphertext::from_parts(params, inner, meta)?.of(origins))
}
