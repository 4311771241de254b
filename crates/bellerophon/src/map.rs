//! Out of the slots, through a table, and back, over either bridge: the path of PEGASUS, Fig. 6, and
//! the one over the small ring.

use std::{f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{
    self as ckks, Ciphertext, Interval,
    dft::{Coefficients, SlotsToCoeffs},
    mod1::Mod1Output,
};
use bellerophon_lwe::{
    self as lwe, LookupTable, TableDomain, extract, noise as lwe_noise, switch_modulus,
};
use bellerophon_repack::{self as repack, Layout, Reduction, RingBridge, RingBridgeKeys};

use crate::{
    Accuracy, Error, Params, Result, Stage,
    keys::{LinearKeys, TableKeys},
    lookups::{LOG_LOWERED_SCALE, Lookups, largest_weight},
    plan::Way,
    progress::Observer,
};

/// How far the sine of the largest table value goes. The reduction modulo `q0` on the way back
/// returns a sine; the table holds the arcsine, so that together they are the identity. Noise
/// shrinks relative to the value up to amplitude 1, where the phase would reach a quarter of `q0`.
const AMPLITUDE: f64 = 0.9;

/// Values that are looked up together: bounds the memory for values of dimension `N` on the linear
/// bridge (256 KiB each at `N = 2^15`), and is what one pass over the blind-rotation key serves on
/// all threads together.
const BATCH: usize = 128;

/// Integer factors between the scale of lowered values and the table's. From 8 on, rounding one
/// down widens the cells by at most an eighth; up to `2^22`, the noise of lowered values, some
/// `2^9`, stays below half a cell of `2^32`, which is lost beside the four of the index error.
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
        let (lo, hi) = (*domain.start(), *domain.end());
        if !(lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite()) {
            return Err(Error::Domain { lo, hi });
        }
        let lookup = lattice;
        // The noise of the slots vanishes below the rounding to the LWE modulus.
        let (index_std, largest) = match (way, lookups.ring()) {
            (Way::Ring, Some(ring)) => {
                let lowered = ring.lowering_noise();
                let expected = lwe_noise::expected_index_error(lookup, lowered);
                (expected.sqrt(), lwe_noise::largest_index_error(lookup, lowered).sqrt())
            }
            _ => {
                let slots = params.arithmetic().lattice();
                let (norm2, dimension) = (slots.secret_norm2(), slots.dimension());
                let rounded = (norm2 + 1.0) / 12.0;
                let switched = rounded + lwe_noise::key_switch(lookup, norm2, dimension);
                let index_std = |norm2| lwe_noise::index_error(lookup, norm2, switched).sqrt();
                (index_std(lwe_norm2(lookup)), index_std(largest_weight(lookup) as f64))
            }
        };
        let guard = lwe_noise::guard(largest * largest, lookups.log2_table_failure());
        let map = Self { params, lookups, lattice, way, domain: domain.clone(), index_std, guard };
        // Known before any work is done: the lowered values come out at this scale, but for the
        // primes' distance from powers of two.
        map.planned_table()?;
        Ok(map)
    }

    fn center(&self) -> f64 {
        self.domain.start() + (self.domain.end() - self.domain.start()) / 2.0
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
        self.index_std
    }

    /// No value is read from a cell farther away than that, in a table of the given step.
    pub(crate) fn reach(&self, step: f64) -> f64 {
        (self.guard + 1) as f64 * step
    }

    /// The table as it will be, but for the primes' distance from powers of two.
    pub(crate) fn planned_table(&self) -> Result<TableDomain> {
        Ok(self.table(2f64.powi(LOG_LOWERED_SCALE))?.0)
    }

    /// The table for values lowered at a scale, and the integer factor that brings them to its scale, up
    /// to its rounding, which the layout of the table takes into account.
    fn table(&self, scale: f64) -> Result<(TableDomain, f64)> {
        let wanted = self.wanted_domain()?;
        let factor = self.factor(&wanted, scale)?;
        let q0 = self.lattice.ring_modulus().value() as f64;
        let step = q0 / (scale * factor * 2.0 * wanted.degree() as f64);
        let (lo, hi, degree) = (wanted.lo(), wanted.hi(), wanted.degree());
        let table = TableDomain::with_step(lo, hi, self.center(), step, degree, self.guard)?;
        Ok((table, factor))
    }

    /// The table's layout if the encoding could be chosen freely.
    fn wanted_domain(&self) -> Result<TableDomain> {
        let degree = self.lattice.ring_degree();
        Ok(TableDomain::fit(*self.domain.start(), *self.domain.end(), degree, self.guard)?)
    }

    /// The integer that brings lowered values to the scale of the wanted table, or just below.
    fn factor(&self, wanted: &TableDomain, scale: f64) -> Result<f64> {
        let q0 = self.lattice.ring_modulus().value() as f64;
        let factor = (wanted.phase_per_unit() * q0 / scale).floor();
        if !FACTORS.contains(&factor) {
            let (lo, hi) = (wanted.lo(), wanted.hi());
            return Err(Error::DomainScale { lo, hi, log2_scale: scale.log2() });
        }
        Ok(factor)
    }

    /// The range of the function over the cells of the table.
    pub(crate) fn output(&self, f: &impl Fn(f64) -> f64) -> Result<Output> {
        let domain = self.wanted_domain()?;
        let half = domain.degree() as i64 / 2;
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for k in -half..half {
            let argument = domain.argument(k);
            let value = f(argument);
            if !value.is_finite() {
                return Err(lwe::Error::NotFinite { argument, value }.into());
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
    ) -> Result<Lowered> {
        let shifted = evaluator.add_scalar(x, -self.center())?;
        let places = lowering.apply(evaluator, &shifted)?;
        let (domain, factor) = self.table(places.scale())?;
        Ok(Lowered { places, factor: factor as i64, domain })
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

    /// Repacking and reduction (steps 8 to 10); noise leaves the range of the table by no more than
    /// `margin`.
    pub(crate) fn raise(
        &self,
        evaluator: &ckks::Evaluator,
        crossing: &Crossing<'_>,
        values: &[lwe::Ciphertext],
        output: &Output,
        margin: f64,
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
        let shifted = evaluator.add_scalar(&scaled, output.center)?;
        Ok(shifted.assume_range(Interval::real(output.lo - margin, output.hi + margin)?))
    }

    /// Standard deviation that the noise of the table and of the way up adds to a value.
    pub(crate) fn output_std(&self, output: &Output) -> f64 {
        let lookup = self.lattice;
        let (q0, q) = (lookup.ring_modulus().value() as f64, lookup.modulus().value() as f64);
        let rotated = lwe_noise::look_up(lookup);
        let turns = match (self.way, self.lookups.ring()) {
            (Way::Ring, Some(ring)) => (rotated + ring.raising_noise()).sqrt() / q0,
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
        let noise = self.output_std(&self.output(&f)?);
        let table = self.planned_table()?;
        let cell = |k: i64| f(table.argument(k).clamp(*range.start(), *range.end()));
        Ok(Accuracy::law(range, &table, self.index_std, |x, k| (cell(k) - f(x), noise)))
    }
}

fn lwe_norm2(lookup: &lwe::Params) -> f64 {
    lookup.spec().secret.expected_norm2(lookup.dimension())
}
