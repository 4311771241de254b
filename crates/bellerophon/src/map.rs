//! Out of the slots, through a table, and back, over either bridge: the path of PEGASUS, Fig. 6, and
//! the one over the small ring.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{
    self as ckks, Account, Bounds, Ciphertext, Interval, Meta,
    dft::{Coefficients, SlotsToCoeffs},
    mod1::Mod1Output,
    noise::Noise,
};
use bellerophon_lwe::{
    self as lwe, LookupTable, TableDomain, extract, noise as lwe_noise, switch_modulus,
};
use bellerophon_repack::{self as repack, Layout, Reduction, RingBridge, RingBridgeKeys};

use crate::{
    Accuracy, Error, Params, Result, Stage,
    accuracy::Grid,
    flooding::Flood,
    keys::{LinearKeys, TableKeys},
    lookups::{self, LOG_LOWERED_SCALE, Lookups, largest_weight},
    plan::Way,
    progress::Observer,
};

/// How far the sine of the largest table value goes. The reduction modulo `q0` on the way back
/// returns a sine; the table holds the arcsine, so that together they are the identity. Noise
/// shrinks relative to the value up to amplitude 1, where the phase would reach a quarter of `q0`.
const AMPLITUDE: f64 = 0.9;

/// Standard deviations of what a look-up and its repacking add to a value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deviations {
    /// Noise, which moves values out of the range of the function.
    pub(crate) noise: f64,
    /// The error of the index, which does not: entries of a table lie in its range.
    pub(crate) index: f64,
}

/// Values that are looked up together: bounds the memory for values of dimension `N` on the linear
/// bridge (256 KiB each at `N = 2^15`), and is what one pass over the blind-rotation key serves on
/// all threads together.
const BATCH: usize = 128;

/// Integer factors between the scale of lowered values and the table's. From 8 on, rounding one
/// down widens the cells by at most an eighth; up to `2^22`, the rounding of lowered values, some `2^6`,
/// stays below the index error, of which it is counted as a part.
const FACTORS: std::ops::RangeInclusive<f64> = 8.0..=(1u64 << 22) as f64;

/// The bridge of a look-up, with its keys.
pub(crate) enum Crossing<'a> {
    Ring(&'a RingBridge, &'a RingBridgeKeys),
    Linear(&'a LinearKeys),
}

/// One look-up: its parameters, its domain, its noise.
pub(crate) struct Map<'a> {
    params: &'a Params,
    lookups: &'a Lookups,
    /// The parameters of the tables, with their engine.
    lattice: &'a lwe::Params,
    way: Way,
    domain: RangeInclusive<f64>,
    /// Variance of the noise with which the values of a fresh vector are lowered.
    lowered: f64,
    /// The table as it will be, but for the primes' distance from powers of two and for noise that
    /// vectors bring with them.
    planned: Fit,
}

/// How a domain lies in a table.
struct Fit {
    /// Its layout if the encoding could be chosen freely.
    wanted: TableDomain,
    table: TableDomain,
    /// The integer that brings lowered values to the table's scale, up to its rounding.
    factor: f64,
    /// Standard deviation of the index of a look-up, in cells, without the rounding to a cell.
    index_std: f64,
    /// Cells that stay free between the domain and each end of the table.
    guard: usize,
}

/// How table entries stand for values: `value = center + gain sin(2 pi phase / q0)`.
pub(crate) struct Output {
    pub(crate) center: f64,
    pub(crate) gain: f64,
    /// The least value.
    pub(crate) lo: f64,
    /// The largest value.
    pub(crate) hi: f64,
}

/// LWE values before the modulus switch: all of them, or the ciphertext that they are read from.
enum Source {
    Small(Vec<lwe::Ciphertext>),
    Large { b: Vec<u64>, a: Vec<u64> },
}

/// Values in the coefficients of a ring ciphertext modulo `q0`; times the factor they are at the
/// table's scale.
pub(crate) struct Lowered {
    places: Coefficients,
    factor: i64,
    domain: TableDomain,
    /// Standard deviation of the index against the values as they are but for noise that moves them out
    /// of their range, in cells, without the rounding to a cell; and of their further error.
    index_std: f64,
    error_std: f64,
}

/// Noise of lowered values in units of the phase at their scale, squared.
pub(crate) struct LoweredNoise {
    /// What moves values out of their range: what guard bands are for.
    pub(crate) leaving: f64,
    /// The error against the exact values.
    pub(crate) error: f64,
}

impl LoweredNoise {
    /// The noise of the extraction, and that which the vector carries: for guard bands its
    /// [excess](Account::excess). `flooding` is a deviation at the scale of the lowered values.
    pub(crate) fn new(
        lowering: &SlotsToCoeffs,
        x: &Account,
        flooding: Option<f64>,
    ) -> ckks::Result<Self> {
        let quiet = Account { meta: Meta { noise: Noise::NONE, ..x.meta }, ..*x };
        let Meta { scale, noise, .. } = lowering.lowered(&quiet)?.meta;
        let own = noise.total + flooding.map_or(0.0, |deviation| deviation.powi(2));
        let with = |carried: f64| own + (carried * scale).powi(2);
        Ok(Self { leaving: with(x.excess()), error: with(x.noise()) })
    }
}

impl Lowered {
    /// The cells of the table and the error of their index.
    pub(crate) fn grid(&self) -> Grid {
        let (center, step, degree) =
            (self.domain.center(), self.domain.step(), self.domain.degree());
        Grid { center, step, degree, index_std: self.index_std, error_std: self.error_std }
    }
}

impl Output {
    /// For values from `lo` to `hi`.
    pub(crate) fn over(lo: f64, hi: f64) -> Self {
        // A constant still needs a positive gain; any will do.
        let half_width = if hi > lo { (hi - lo) / 2.0 } else { lo.abs().max(1.0) };
        // Differences that are rounding in f64 are not worth the whole turn.
        let half_width = half_width.max(lo.abs().max(hi.abs()) * 2f64.powi(-20));
        Self { center: lo + (hi - lo) / 2.0, gain: half_width / AMPLITUDE, lo, hi }
    }

    /// The phase that stands for a value, in radians.
    pub(crate) fn angle(&self, value: f64) -> f64 {
        ((value - self.center) / self.gain).clamp(-1.0, 1.0).asin()
    }
}

impl<'a> Map<'a> {
    pub(crate) fn new(
        params: &'a Params,
        lookups: &'a Lookups,
        lattice: &'a lwe::Params,
        way: Way,
        domain: &RangeInclusive<f64>,
    ) -> Result<Self> {
        Self::planned(params, lookups, lattice, way, domain, None)
    }

    /// With noise of a deviation that floods the values on the way down.
    pub(crate) fn planned(
        params: &'a Params,
        lookups: &'a Lookups,
        lattice: &'a lwe::Params,
        way: Way,
        domain: &RangeInclusive<f64>,
        flood: Option<f64>,
    ) -> Result<Self> {
        check_domain(domain)?;
        let (lo, hi) = (*domain.start(), *domain.end());
        // Known before any work is done.
        let scale = 2f64.powi(lookups::log_lowered_scale(flood.is_some()));
        let planned = |lowered| fit(lookups, params, (lattice, way), domain, scale, lowered);
        planned(0.0)?;
        let mut lowered = lookups.lowered_variance(params, (hi - lo) / 2.0, flood.is_some())?;
        lowered += flood.map_or(0.0, |deviation| deviation.powi(2));
        let planned = planned(lowered)?;
        Ok(Self { params, lookups, lattice, way, domain: domain.clone(), lowered, planned })
    }

    fn center(&self) -> f64 {
        center(&self.domain)
    }

    /// The parameters of the tables, with their engine.
    pub(crate) fn lattice(&self) -> &'a lwe::Params {
        self.lattice
    }

    /// What the table covers.
    pub(crate) fn domain(&self) -> &RangeInclusive<f64> {
        &self.domain
    }

    /// Standard deviation of the index of a look-up, in cells, without the rounding to a cell.
    pub(crate) fn index_std(&self) -> f64 {
        self.planned.index_std
    }

    /// Variance of the phase modulo `q0` that values of a fresh vector have in an encoding of some
    /// width, over the ring bridge.
    pub(crate) fn extracted_variance(&self, ring: &RingBridge, width: f64) -> f64 {
        let q0 = self.lattice.ring_modulus().value() as f64;
        let factor = q0 / width / 2f64.powi(LOG_LOWERED_SCALE);
        self.lowered * factor * factor + ring.lowering_noise()
    }

    /// No value is read from a cell farther away than that, in a table of the given step.
    pub(crate) fn reach(&self, step: f64) -> f64 {
        (self.planned.guard + 1) as f64 * step
    }

    /// The table as it will be, but for the primes' distance from powers of two and for noise that
    /// vectors bring with them.
    pub(crate) fn planned_table(&self) -> &TableDomain {
        &self.planned.table
    }

    /// The range of the function over the cells of the table.
    pub(crate) fn output(&self, f: &impl Fn(f64) -> f64) -> Result<Output> {
        let domain = &self.planned.wanted;
        let half = domain.degree() as i64 / 2;
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for k in -half..half {
            let argument = domain.argument(k);
            let value = f(argument);
            if !value.is_finite() {
                return Err(lwe::Error::NotFinite { argument }.into());
            }
            (lo, hi) = (lo.min(value), hi.max(value));
        }
        Ok(Output::over(lo, hi))
    }

    /// Slots to coefficients at level 0 (step 1), so that the domain fills the table.
    pub(crate) fn lower(
        &self,
        evaluator: &ckks::Evaluator,
        lowering: &SlotsToCoeffs,
        x: &Ciphertext,
        flood: Option<(Flood<'_>, f64)>,
    ) -> Result<Lowered> {
        let Self { params, lookups, lattice, domain, .. } = self;
        let shifted = evaluator.add_scalar(x, -self.center())?;
        let deviation = flood.as_ref().map(|(_, deviation)| *deviation);
        let noise = LoweredNoise::new(lowering, &shifted.account(), deviation)?;
        let mut places = lowering.apply(evaluator, &shifted)?;
        if let Some((mut flood, deviation)) = flood {
            places = flood.apply(evaluator.params(), places, deviation)?;
        }
        let tables = (*lattice, self.way);
        let fit = fit(lookups, params, tables, domain, places.scale(), noise.leaving)?;
        let cell = lattice.ring_modulus().value() as f64 / (2 * lattice.ring_degree()) as f64;
        let beyond = (noise.error - noise.leaving).max(0.0).sqrt() * fit.factor / cell;
        let (factor, domain) = (fit.factor as i64, fit.table);
        Ok(Lowered { places, factor, domain, index_std: fit.index_std, error_std: beyond })
    }

    /// Extraction, key switch, table (steps 2 to 5), and on the linear bridge a key switch (steps 6
    /// and 7): LWE values that hold table entries, in the form in which the way up takes them.
    pub(crate) fn look_up(
        &self,
        tables: &TableKeys,
        crossing: &Crossing<'_>,
        lowered: &Lowered,
        output: &Output,
        f: &impl Fn(f64) -> f64,
        observer: &Observer<'_>,
    ) -> Result<Vec<lwe::Ciphertext>> {
        let lookup = &tables.lattice;
        let (q0, q) = (lookup.ring_modulus(), lookup.modulus());
        let turns = q0.value() as f64 / TAU;
        let encode = |y: f64| (turns * output.angle(y)).round() as i64;
        let table = LookupTable::new(*q0, lowered.domain, f, encode)?;
        let evaluator = lwe::Evaluator::new(lookup, &tables.lookup);
        let len = lowered.places.len();
        let mut results = Vec::with_capacity(len);
        observer.tell(Stage::LookUps, 0, len)?;
        let mut source = self.source(crossing, lowered)?;
        for start in (0..len).step_by(BATCH) {
            let range = start..len.min(start + BATCH);
            let values = match &mut source {
                Source::Small(values) => {
                    values[range].iter().map(|v| switch_modulus(v, q)).collect()
                }
                Source::Large { b, a } => range
                    .map(|i| Ok(switch_modulus(&extract(q0, b, a, lowered.places.place(i))?, q)))
                    .collect::<Result<Vec<_>>>()?,
            };
            results.extend(match crossing {
                Crossing::Ring(..) => {
                    let values = tables.lookup.switch.apply_batch(lookup, &values)?;
                    evaluator.look_up(&values, &[&table])?
                }
                Crossing::Linear(keys) => {
                    let values = keys.down.apply_batch(lookup, &values)?;
                    evaluator.look_up_and_switch(&values, &[&table])?
                }
            });
            observer.tell(Stage::LookUps, results.len(), len)?;
        }
        Ok(results)
    }

    /// Where the LWE values come from.
    fn source(&self, crossing: &Crossing<'_>, lowered: &Lowered) -> Result<Source> {
        Ok(match crossing {
            Crossing::Ring(ring, keys) => {
                Source::Small(ring.lower(keys, &lowered.places, lowered.factor)?)
            }
            Crossing::Linear(_) => {
                let lattice = self.params.arithmetic().lattice();
                let mut large = lowered.places.lattice().clone();
                large.mul_signed_assign(lattice, lowered.factor)?;
                let ring = lattice.q().prefix(1);
                let (b, mut masks) = large.into_parts();
                let coefficients = |poly| ring.inverse(poly).limb(0).to_vec();
                Source::Large { b: coefficients(b), a: coefficients(masks.remove(0)) }
            }
        })
    }

    /// Repacking and reduction (steps 8 to 10) of values whose error has a standard deviation: that of
    /// the table's index, of its noise, and of repacking. Padding is zero.
    pub(crate) fn raise(
        &self,
        evaluator: &ckks::Evaluator,
        crossing: &Crossing<'_>,
        values: &[lwe::Ciphertext],
        output: &Output,
        error: Deviations,
    ) -> Result<Ciphertext> {
        let layout = Layout::in_order(values.len())?;
        let level = self.lookups.level_after();
        let form = Mod1Output { amplitude: output.gain, scale: self.params.arithmetic().scale() };
        let scaled = match crossing {
            Crossing::Ring(ring, keys) => {
                ring.raise(evaluator, keys, values, &layout, Reduction::Sine, form, level)?
            }
            Crossing::Linear(keys) => {
                let reduction = self.lookups.reduction();
                repack::repack(evaluator, &keys.repack, values, &layout, reduction, form, level)?
            }
        };
        let moved = add_to_values(evaluator, &scaled, &layout, output.center)?;
        let range = Interval::real(output.lo, output.hi)?;
        Ok(with_error(evaluator.params(), moved, bounds(range, &layout), error)?)
    }

    /// Variance that the way up over the ring bridge adds to the phases of `count` values, in turns.
    pub(crate) fn raised_turns2(&self, ring: &RingBridge, count: usize) -> f64 {
        let q0 = self.lattice.ring_modulus().value() as f64;
        ring.raising_noise(ring.repeats(count.next_power_of_two())) / (q0 * q0)
    }

    /// Standard deviation that the noise of the table and of the way up adds to one of `count` values.
    pub(crate) fn output_std(&self, output: &Output, count: usize) -> f64 {
        let lookup = self.lattice;
        let (q0, q) = (lookup.ring_modulus().value() as f64, lookup.modulus().value() as f64);
        let rotated = lwe_noise::look_up(lookup);
        let turns = match (self.way, self.lookups.ring()) {
            (Way::Ring, Some(ring)) => {
                (rotated / (q0 * q0) + self.raised_turns2(ring, count)).sqrt()
            }
            _ => {
                let ring_norm2 = lookup.spec().ring_secret.expected_norm2(lookup.ring_degree());
                let variance = lwe_noise::modulus_switch(rotated, q0, q, ring_norm2)
                    + lwe_noise::key_switch(lookup, ring_norm2, lookup.ring_degree());
                variance.sqrt() / q
            }
        };
        output.gain * TAU * turns
    }

    /// The law of the error of a plain table, for values uniform in a part of the domain.
    pub(crate) fn accuracy(
        &self,
        range: &RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<Accuracy> {
        // Of one value, which is repeated most.
        let noise = self.output_std(&self.output(&f)?, 1);
        let table = self.planned_table();
        let half = table.degree() as i64 / 2;
        let cell = |k: i64| f(table.argument(k).clamp(*range.start(), *range.end()));
        let cells: Vec<f64> = (-half..half).map(cell).collect();
        let cells = &cells;
        Ok(Accuracy::law(range, table, self.index_std(), |x| {
            let exact = f(x);
            move |k| (cells[(k + half) as usize] - exact, noise)
        }))
    }
}

/// Adds a constant to the slots that hold values; padding stays zero.
pub(crate) fn add_to_values(
    evaluator: &ckks::Evaluator,
    x: &Ciphertext,
    layout: &Layout,
    constant: f64,
) -> ckks::Result<Ciphertext> {
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

/// The ranges of a vector of values in a layout, zero in all other slots.
pub(crate) fn bounds(range: Interval, layout: &Layout) -> Bounds {
    let bounds = Bounds::padded(range, layout.rows() < layout.slots());
    if layout.is_prefix() { bounds } else { bounds.mixed() }
}

/// The same vector with stated ranges and an error on top of its noise. The error of a value is in every
/// repetition of its slot.
pub(crate) fn with_error(
    params: &ckks::Params,
    x: Ciphertext,
    bounds: Bounds,
    error: Deviations,
) -> ckks::Result<Ciphertext> {
    let (inner, meta) = x.into_parts();
    let variance = |deviation: f64| (deviation * meta.scale).powi(2) / meta.slots as f64;
    let Deviations { noise, index } = error;
    let added = Noise { total: variance(noise.hypot(index)), excess: variance(noise) };
    let meta = Meta { bounds, noise: meta.noise + added, ..meta };
    Ciphertext::from_parts(params, inner, meta)
}

/// Refuses domains without an inside.
pub(crate) fn check_domain(domain: &RangeInclusive<f64>) -> Result<()> {
    let (lo, hi) = (*domain.start(), *domain.end());
    if lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite() {
        return Ok(());
    }
    Err(Error::Domain { lo, hi })
}

pub(crate) fn center(domain: &RangeInclusive<f64>) -> f64 {
    domain.start() + (domain.end() - domain.start()) / 2.0
}

/// The table for values lowered at a scale, with noise of a variance. The factor to its scale is
/// rounded down, which the layout takes into account.
fn fit(
    lookups: &Lookups,
    params: &Params,
    (lattice, way): (&lwe::Params, Way),
    domain: &RangeInclusive<f64>,
    scale: f64,
    lowered: f64,
) -> Result<Fit> {
    let (lo, hi) = (*domain.start(), *domain.end());
    let degree = lattice.ring_degree();
    let q0 = lattice.ring_modulus().value() as f64;
    let tried = |variance: f64| -> Result<Fit> {
        let (index_std, guard) = index(lookups, params, (lattice, way), variance);
        let wanted = TableDomain::fit(lo, hi, degree, guard)?;
        let factor = (wanted.phase_per_unit() * q0 / scale).floor();
        if !FACTORS.contains(&factor) {
            return Err(Error::DomainScale { lo, hi, log2_scale: scale.log2() });
        }
        let step = q0 / (scale * factor * 2.0 * degree as f64);
        let table = TableDomain::with_step(lo, hi, center(domain), step, degree, guard)?;
        Ok(Fit { wanted, table, factor, index_std, guard })
    };
    // Without noise the factor is the largest, which multiplies the noise.
    let largest = tried(0.0)?.factor;
    let fit = tried(lowered * largest * largest)?;
    let noise = lowered * fit.factor * fit.factor;
    Ok(Fit { index_std: index(lookups, params, (lattice, way), noise).0, ..fit })
}

/// Standard deviation of the index of a look-up, in cells, without the rounding to a cell, for the
/// secrets to be expected; and the guard band for secrets as heavy as they get. Values are lowered with
/// noise of a variance in units of the phase modulo `q0`.
fn index(
    lookups: &Lookups,
    params: &Params,
    (lookup, way): (&lwe::Params, Way),
    variance: f64,
) -> (f64, usize) {
    let (expected, largest) = match (way, lookups.ring()) {
        (Way::Ring, Some(ring)) => {
            let lowered = variance + ring.lowering_noise();
            let expected = lwe_noise::expected_index_error(lookup, lowered);
            (expected, lwe_noise::largest_index_error(lookup, lowered))
        }
        _ => {
            let slots = params.arithmetic().lattice();
            let (norm2, dimension) = (slots.secret_norm2(), slots.dimension());
            let (q0, q) = (lookup.ring_modulus().value() as f64, lookup.modulus().value() as f64);
            let switched = lwe_noise::modulus_switch(variance, q0, q, norm2)
                + lwe_noise::key_switch(lookup, norm2, dimension);
            let index = |norm2| lwe_noise::index_error(lookup, norm2, switched);
            let expected = lookup.spec().secret.expected_norm2(lookup.dimension());
            (index(expected), index(largest_weight(lookup) as f64))
        }
    };
    (expected.sqrt(), lwe_noise::guard(largest, lookups.log2_table_failure()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;

    /// Noise of three cells in lowered values is three cells of the index error, over either bridge, and
    /// the guard band grows with it.
    #[test]
    fn noise_of_lowered_values_is_in_the_index() {
        let params = Params::preset(Preset::ToyInsecure).unwrap();
        let lookups = params.lookups().unwrap();
        let scale = 2f64.powi(LOG_LOWERED_SCALE);
        let q0 = lookups.lattice().ring_modulus().value() as f64;
        let cell = q0 / (2 * lookups.lattice().ring_degree()) as f64;
        for way in [Way::Ring, Way::Linear] {
            let tables = (lookups.lattice(), way);
            let fit =
                |lowered| fit(lookups, &params, tables, &(-1.0..=1.0), scale, lowered).unwrap();
            let quiet = fit(0.0);
            let noisy = fit((3.0 * cell / quiet.factor).powi(2));
            let added = noisy.index_std.powi(2) - quiet.index_std.powi(2);
            let expected = 9.0 * (noisy.factor / quiet.factor).powi(2);
            assert!((added / expected - 1.0).abs() < 0.01, "{way:?}: {added}");
            let ratio =
                (noisy.guard as f64 / quiet.guard as f64) / (noisy.index_std / quiet.index_std);
            assert!((0.75..1.1).contains(&ratio), "{way:?}: {ratio}");
            assert!(noisy.factor < quiet.factor && noisy.table.step() > quiet.table.step());
        }
        // A fresh vector brings a small part of a cell.
        let map = Map::new(&params, lookups, lookups.lattice(), Way::Ring, &(-1.0..=1.0)).unwrap();
        let noise = map.lowered.sqrt() * map.planned.factor;
        assert!(noise > 0.0 && noise < 0.1 * cell, "{noise} {cell}");
    }
}
