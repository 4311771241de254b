//! Look-ups to a wanted accuracy.
//!
//! What limits a look-up is the error of its index: a few cells, mostly from rounding to them. That error
//! depends on the rounded ciphertext alone, so several tables that are read at the SAME index share it.
//! One of them, the identity, returns the cell `c` that was read; `d = x - c` is then known in the slots,
//! and
//!
//! ```text
//! f(x) = p_c(d) = T_0 + d (T_1 + d (T_2 + ..)),      T_j: table of coefficient j of p_c,
//! ```
//!
//! takes the error away up to the degree of `p_c` ([`local`](crate::local)). All tables come from one
//! rotation ([`lwe::Evaluator::maps`]), on NTRU from as many of the same index, and go up in one
//! repacking ([`blocks`](crate::blocks)). That leaves them at one amplitude: what differs from table to
//! table goes into the scale. It costs a level for each power of `d`; the mask that parts the tables is
//! on the last factor and on `T_0`, and costs one only where there is a single power.
//!
//! Where `x` has too few levels left, it goes the way up beside the tables, at a thirty-second of a turn:
//! what comes back is `g(x)`, a sine so flat that it rises everywhere, and the table of the identity is
//! one of `g`.

use std::{cell::RefCell, collections::HashMap, f64::consts::TAU, ops::RangeInclusive};

use bellerophon_ckks::{self as ckks, Bounds, Ciphertext, Interval, Meta};
use bellerophon_lwe::{self as lwe, Encoding, Room, Table, noise as lwe_noise};
use bellerophon_mlwe::noise as mlwe_noise;
use bellerophon_repack::{Reduction, RingBridge};

use crate::{
    Accuracy, Bridge, Error, Evaluator, Lookups, MapEngine, Params, Result,
    accuracy::Grid,
    evaluator::range_within,
    horner::{Noise, NoiseSum},
    local::{self, Coefficients, LocalPolynomials, MAX_ORDER, Smooth},
    map::{Map, Output},
    plan::Way,
};

/// The number of values whose largest error the wanted accuracy is meant for, with probability 95%.
const COUNT: usize = 1024;

/// What the way up leaves free of an operand that it takes beside the tables: sums of so many would fit.
const RAISED: Room = Room { terms: 8, levels: 0 };

/// Functions whose values are all smaller than this part of 1 come up as if they were that large.
const SMALLEST: f64 = 1.0 / 1024.0;

/// How the operand is known, that is subtracted from what the table of the identity returns.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// As it is, in the slots.
    Itself,
    /// As the sine of its phase, `width / 2 pi sin(2 pi (x - center) / width)`, of a standard deviation.
    Sine { center: f64, width: f64, std: f64 },
}

impl Known {
    /// What takes the place of the value.
    fn of(&self, x: f64) -> f64 {
        match *self {
            Self::Itself => x,
            Self::Sine { center, width, .. } => width / TAU * (TAU * (x - center) / width).sin(),
        }
    }

    /// How an operand of a level will be known: as it is, if it has the levels, or raised beside the
    /// tables.
    fn of_level(
        op: &'static str,
        params: &Params,
        lookups: &Lookups,
        map: &Map<'_>,
        level: usize,
    ) -> Result<Self> {
        if level >= lookups.level_to_correct() {
            return Ok(Self::Itself);
        }
        let ring = lookups.ring().ok_or(Error::NoRingBridge { op })?;
        let (lo, hi) = (*map.domain().start(), *map.domain().end());
        let (lattice, failure) = (map.lattice(), lookups.log2_table_failure());
        let fit = |noise| Encoding::fit(lattice, lo, hi, noise, RAISED, failure);
        // Without noise it is the narrowest, in which noise is largest.
        let encoding = fit(map.extracted_variance(ring, fit(0.0)?.width()))?;
        let noise = map.extracted_variance(ring, encoding.width());
        let q0 = lattice.ring_modulus().value() as f64;
        Ok(Self::raised(params, ring, &encoding, encoding.width() * noise.sqrt() / q0))
    }

    /// What comes of values of an encoding, and of a standard deviation, on the way up.
    fn raised(params: &Params, ring: &RingBridge, encoding: &Encoding, std: f64) -> Self {
        let (center, width) = (encoding.center(), encoding.width());
        let q0 = params.arithmetic().divisor(0);
        let raised = ring.raising_noise(ring.repeats(1)).sqrt() / q0;
        let added = raised.hypot(reduction_std(params, ring) / TAU);
        Self::Sine { center, width, std: std.hypot(width * added) }
    }

    /// How a table stands for what takes the place of values of a range, and the multiple of it that the
    /// operand stands for at the same amplitude.
    fn cells(&self, range: &RangeInclusive<f64>) -> (Output, i64) {
        let output = Output::over(self.of(*range.start()), self.of(*range.end()));
        match *self {
            Self::Itself => (output, 1),
            Self::Sine { width, .. } => {
                let times = (width / TAU / output.gain).floor().max(1.0);
                (Output { gain: width / TAU / times, ..output }, times as i64)
            }
        }
    }

    /// Standard deviation of its noise, beside that of the vector's own.
    fn std(&self) -> f64 {
        match *self {
            Self::Itself => 0.0,
            Self::Sine { std, .. } => std,
        }
    }
}

/// How [`Evaluator::map_to`] reaches an accuracy: from [`Params::map_to_plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct MapPlan {
    order: usize,
    accuracy: Accuracy,
}

impl MapPlan {
    /// The degree of the correction; 0 is a plain table.
    pub fn order(&self) -> usize {
        self.order
    }

    /// How many levels below [`Lookups::level_after`] the result stands: as many as the order, but at
    /// least two unless it is a plain table.
    pub fn levels(&self) -> usize {
        levels(self.order)
    }

    /// The predicted law of the error.
    pub fn accuracy(&self) -> &Accuracy {
        &self.accuracy
    }
}

fn levels(order: usize) -> usize {
    if order == 0 { 0 } else { order.max(2) }
}

/// A function as local polynomials, and how their coefficients come up from the tables.
pub(crate) struct Correction {
    polynomials: LocalPolynomials,
    known: Known,
    /// The identity, or what takes its place.
    pub(crate) cells: Output,
    /// What the operand is multiplied by to be known at the amplitude of the identity.
    pub(crate) times: i64,
    /// The coefficients, that of `d^0` first.
    pub(crate) coefficients: Vec<Output>,
}

impl Correction {
    /// Standard deviation of the operand's noise as it is known, beside that of the vector's own.
    pub(crate) fn known_std(&self) -> f64 {
        self.known.std()
    }
}

impl Params {
    /// How [`Evaluator::map_to`] of an operand of a level, its values uniform in the domain, reaches
    /// `bits` with the keys of [`Needs::map_to`](crate::Needs::map_to), and what error is to be expected.
    /// For an operand that carries a narrower range, and for other keys, there is
    /// [`Evaluator::map_to_plan`]. An operand that has fewer levels than
    /// [`Lookups::level_to_correct`] goes the way up beside its tables, with some five times the noise
    /// there.
    ///
    /// # Errors
    /// [`Error::Accuracy`] when it cannot, with what can be had; too few levels before or after the
    /// tables, or more than the parameters have; [`Error::NoCorrection`] and
    /// [`Error::NoRingBridge`] for parameters without the means, and those of
    /// [`map_accuracy`](Self::map_accuracy).
    pub fn map_to_plan(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_with(domain, f, &[], bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan), for [`Evaluator::map_to_with`].
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_with(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(MapEngine::Auto, domain, &Smooth::new(&f, derivatives), bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan) on a given engine.
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_on(
        &self,
        engine: MapEngine,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(engine, domain, &Smooth::new(&f, &[]), bits, level)
    }

    fn map_to_plan_by(
        &self,
        engine: MapEngine,
        domain: RangeInclusive<f64>,
        f: &Smooth<'_>,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        let lookups = self.lookups_for(op)?;
        let (needed, highest) = (lookups.levels(), self.levels());
        if level < needed {
            return Err(ckks::Error::OutOfLevels { op, needed, left: level }.into());
        }
        if level > highest {
            return Err(ckks::Error::LevelTooHigh { op, wanted: level, highest }.into());
        }
        let lattice = self.corrected_on(op, engine)?;
        let map = Map::new(self, lookups, lattice, lookups.way(op, Bridge::Ring)?, &domain)?;
        let known = Known::of_level(op, self, lookups, &map, level)?;
        Ok(plan(op, self, lookups, &map, &domain, f, (bits, known))?.0)
    }

    /// The parameters of tables whose index error is corrected, on an engine.
    pub(crate) fn corrected_on(&self, op: &'static str, engine: MapEngine) -> Result<&lwe::Params> {
        match self.lookups_for(op)?.corrected_on(engine) {
            Some(lattice) => Ok(lattice),
            // It may be the engine that is missing.
            None => {
                self.tables_on(op, engine)?;
                Err(Error::NoCorrection { op, params: self.name().into() })
            }
        }
    }
}

impl Lookups {
    /// The level from which on an operand of [`Evaluator::map_to`] is taken as it is, to be compared
    /// with what was read of it: that at which results of tables come up, with the levels of the
    /// largest correction to spare.
    pub fn level_to_correct(&self) -> usize {
        self.level_after().max(self.levels() + MAX_ORDER)
    }
}

/// The least order that reaches the accuracy.
fn plan(
    op: &'static str,
    params: &Params,
    lookups: &Lookups,
    map: &Map<'_>,
    range: &RangeInclusive<f64>,
    f: &Smooth<'_>,
    (bits, known): (f64, Known),
) -> Result<(MapPlan, Option<Correction>)> {
    let ring = lookups.ring().ok_or(Error::NoRingBridge { op })?;
    let value = |x| f.value(x);
    let plain = map.output(&value)?;
    let largest = plain.lo.abs().max(plain.hi.abs()).max(1.0);
    let bits_of = |law: &Accuracy| (largest / law.max_abs(COUNT)).log2();
    let accuracy = map.accuracy(range, value)?;
    let mut best = bits_of(&accuracy);
    if best >= bits {
        return Ok((MapPlan { order: 0, accuracy }, None));
    }
    for order in 1..=f.highest_order() {
        let correction = Correction::new(map, range, f, known, order)?;
        let accuracy = correction.accuracy(params, ring, map, range, f)?;
        best = best.max(bits_of(&accuracy));
        if best >= bits {
            let left = lookups.level_after();
            let needed = levels(order);
            if left < needed {
                return Err(ckks::Error::OutOfLevels { op, needed, left }.into());
            }
            return Ok((MapPlan { order, accuracy }, Some(correction)));
        }
    }
    Err(Error::Accuracy { op, wanted: bits, best })
}

impl Correction {
    fn new(
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        known: Known,
        order: usize,
    ) -> Result<Self> {
        let table = map.planned_table();
        let polynomials =
            LocalPolynomials::fit(f, &|x| known.of(x), table, range, map.index_std(), order)?;
        let ranges = (0..=order).map(|j| {
            let values = polynomials.cells().iter().map(|p| p[j]);
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), y| (lo.min(y), hi.max(y)))
        });
        let ranges: Vec<(f64, f64)> = ranges.collect();
        let largest = ranges[0].0.abs().max(ranges[0].1.abs()).max(1.0);
        let reach = map.reach(table.step());
        let coefficients = ranges.iter().enumerate().map(|(j, &(lo, hi))| {
            // What a coefficient adds to values up to the largest is as noisy as that, at most; a
            // smaller gain would be lost in the scale.
            let least = if j == 0 { SMALLEST } else { reach.powi(-(j as i32)) };
            let output = Output::over(lo, hi);
            Output { gain: output.gain.max(least * largest), ..output }
        });
        let coefficients = coefficients.collect();
        let (cells, times) = known.cells(range);
        Ok(Self { polynomials, known, cells, times, coefficients })
    }

    /// The law of the error: that of the polynomials, and the noise of every table.
    fn accuracy(
        &self,
        params: &Params,
        ring: &RingBridge,
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
    ) -> Result<Accuracy> {
        let (table, lattice) = (map.planned_table(), map.lattice());
        let half = table.degree() as i64 / 2;
        let q0 = lattice.ring_modulus().value() as f64;
        let (lo, hi) = (*range.start(), *range.end());
        let cell = |k| self.known.of(table.argument(k).clamp(lo, hi));
        let cells: Vec<f64> = (-half..half).map(cell).collect();
        // What `maps` will do: one unit for all, that of the steepest table.
        let steps2: Vec<f64> = (0..=self.coefficients.len())
            .map(|j| {
                let angles: Vec<f64> = match j {
                    0 => cells.iter().map(|&c| self.cells.angle(c)).collect(),
                    _ => {
                        let output = &self.coefficients[j - 1];
                        self.polynomials.cells().iter().map(|p| output.angle(p[j - 1])).collect()
                    }
                };
                let steps = angles.windows(2).map(|pair| (pair[1] - pair[0]) * q0 / TAU);
                steps.map(|step| step * step).sum()
            })
            .collect();
        let steepest = steps2.iter().copied().fold(0.0, f64::max);
        let unit = lwe_noise::multi_value_unit(lattice, steepest).max(1.0);
        let reduction = reduction_std(params, ring);
        let one_rotation = lattice.one_rotation_for_several();
        let noise = |output: &Output, steps2: f64| {
            let table = match one_rotation {
                true => lwe_noise::multi_value(lattice, steps2 / (unit * unit), unit),
                false => lwe_noise::look_up(lattice),
            };
            let raised2 = ring.raising_noise(ring.repeats(1)) / (q0 * q0);
            Noise {
                table: output.gain * TAU * table.sqrt() / q0,
                way: output.gain * (TAU * TAU * raised2 + reduction * reduction).sqrt(),
            }
        };
        let of_distance = noise(&self.cells, steps2[0]);
        let of_distance = Noise { way: of_distance.way.hypot(self.known.std()), ..of_distance };
        let of_coefficients: Vec<Noise> =
            self.coefficients.iter().zip(&steps2[1..]).map(|(o, &s)| noise(o, s)).collect();
        let index_std = map.index_std();
        let (cells, of_coefficients) = (&cells, &of_coefficients);
        Ok(Accuracy::law(range, table, index_std, |x| {
            let (exact, known) = (f.value(x), self.known.of(x));
            move |k| {
                let p = self.polynomials.at(k);
                let d = known - cells[(k + half) as usize];
                let mut sum = NoiseSum::new(one_rotation);
                sum.add(local::slope(p, d), of_distance);
                for (j, noise) in (0..).zip(of_coefficients) {
                    sum.add(d.powi(j), *noise);
                }
                (local::evaluate(p, d) - exact, sum.std())
            }
        }))
    }
}

/// Standard deviation of the sine that a reduction returns, at amplitude 1: every step of it rounds, and a
/// slot sums up half the coefficients.
fn reduction_std(params: &Params, ring: &RingBridge) -> f64 {
    let slots = params.arithmetic();
    let rounding = mlwe_noise::rounding(slots.lattice()) * slots.max_slots() as f64;
    let steps = ring.reduction(Reduction::Sine).mean_sensitivity().steps;
    steps * rounding.sqrt() / slots.scale()
}

impl Evaluator {
    /// Applies any function to every value, to an accuracy: the largest error of 1024 values uniform in
    /// the domain is below `2^-bits max(1, max |f|)` with probability 95%.
    ///
    /// Where a plain table ([`map_over`](Self::map_over)) is as exact as that, it does. Else tables of the
    /// identity and of the coefficients of local polynomials of `f` are read at one index, and
    /// [`MapPlan::order`] products take the error of that index away: smooth functions gain several
    /// bits. At a kink (ReLU, the absolute value) the error of a plain table remains; such functions
    /// reach no more than that near the kink, and the prediction knows.
    ///
    /// The result stands [`MapPlan::levels`] below [`Lookups::level_after`](crate::Lookups::level_after),
    /// and its padding is zero. An operand below that level, or with less than three levels beside those of the extraction, goes up
    /// beside its tables. A value fails as in [`map`](Self::map), for each of the
    /// `order + 2` tables, or one more: with a probability of at most
    /// `2^`[`log2_failure`](crate::Params::log2_failure) `(order + 4) / 2`. `f` is called only where the carried range of `x` says
    /// that values can lie.
    ///
    /// The polynomials are fitted to `f`, whose derivatives need not be known.
    ///
    /// # Errors
    /// As for [`map_over`](Self::map_over), [`Error::MissingKeys`] without
    /// [`Needs::map_to`](crate::Needs::map_to), [`Error::Accuracy`] when no correction reaches it,
    /// [`Error::NoCorrection`] for parameters without the means.
    pub fn map_to(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
    ) -> Result<Ciphertext> {
        self.map_to_with(x, domain, f, &[], bits)
    }

    /// As [`map_to`](Self::map_to), with the derivatives of `f` given, the first one first: the
    /// polynomials are Taylor's, of a degree of at most the number of derivatives. For functions that
    /// are themselves known to a few digits more than the result only, so that nothing can be fitted to
    /// their differences, or that take long to compute: each is called a few times for each cell of a
    /// table, and not some sixty times for each degree tried. Without derivatives it fits.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map_to())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -4.0..=4.0)?;
    /// let slope = |x: f64| 1.0 - x.tanh().powi(2);
    /// let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    /// let y = server.map_to_with(&x, -4.0..=4.0, f64::tanh, &[&slope, &bend], 8.0)?;
    /// assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 2f64.powi(-8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_to`](Self::map_to); derivatives that are not finite where values can lie are refused
    /// as `f` is.
    pub fn map_to_with(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<Ciphertext> {
        let op = "map_to";
        let (map, range) = self.to_be_corrected(op, x, &domain)?;
        let inside = |t: f64| f(t.clamp(*range.start(), *range.end()));
        let smooth = Smooth::new(&inside, derivatives);
        let (plan, correction) = self.planned(op, x, &map, &range, &smooth, bits)?;
        let result = match correction {
            // Planned for that bridge.
            None => self.clone().over(Bridge::Ring).map_over(x, domain, &f),
            Some(correction) => self.corrected(op, x, &map, &range, &smooth, correction, &plan),
        };
        result.map_err(|error| error.named(op))
    }

    /// How [`map_to_with`](Self::map_to_with) of the same arguments would reach the accuracy:
    /// [`Params::map_to_plan`] with the engine of the keys, for the range that `x` carries in place of
    /// the whole domain.
    ///
    /// # Errors
    /// As [`map_to_with`](Self::map_to_with), those of the work itself apart.
    pub fn map_to_plan(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        let (map, range) = self.to_be_corrected(op, x, &domain)?;
        let inside = |t: f64| f(t.clamp(*range.start(), *range.end()));
        let smooth = Smooth::new(&inside, derivatives);
        Ok(self.planned(op, x, &map, &range, &smooth, bits)?.0)
    }

    /// The look-up, and where values can lie.
    fn to_be_corrected(
        &self,
        op: &'static str,
        x: &Ciphertext,
        domain: &RangeInclusive<f64>,
    ) -> Result<(Map<'_>, RangeInclusive<f64>)> {
        let lookups = self.parameters().lookups_for(op)?;
        let lattice = &self.table_keys(op)?.lattice;
        if !lookups.corrects(lattice) {
            return Err(Error::MissingKeys { op, need: "map_to" });
        }
        let map = Map::new(self.parameters(), lookups, lattice, Way::Ring, domain)?;
        Ok((map, range_within(op, x.range(), domain)?))
    }

    fn planned(
        &self,
        op: &'static str,
        x: &Ciphertext,
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        bits: f64,
    ) -> Result<(MapPlan, Option<Correction>)> {
        let params = self.parameters();
        let lookups = params.lookups_for(op)?;
        let known = Known::of_level(op, params, lookups, map, x.level())?;
        plan(op, params, lookups, map, range, f, (bits, known))
    }

    #[expect(clippy::too_many_arguments, reason = "one look-up, worked out before")]
    fn corrected(
        &self,
        op: &'static str,
        x: &Ciphertext,
        map: &Map<'_>,
        range: &RangeInclusive<f64>,
        f: &Smooth<'_>,
        planned: Correction,
        plan: &MapPlan,
    ) -> Result<Ciphertext> {
        let (_, ring, _) = self.ring_bridge(op)?;
        let (tables, order) = (self.tables()?, plan.order);
        let (beside, correction) = match planned.known {
            Known::Itself => (None, planned),
            Known::Sine { .. } => {
                let values = self.extract_for(x, map.domain().clone(), RAISED)?;
                let deviation = values.noise_variance().sqrt();
                let known = Known::raised(self.parameters(), ring, values.encoding(), deviation);
                (Some(values), Correction::new(map, range, f, known, order)?)
            }
        };
        let values = self.extract(x, map.domain().clone())?;
        // The step of the table that is read, which is that of the encoding.
        let degree = map.lattice().ring_degree();
        let step = values.encoding().width() / (2 * degree) as f64;
        // The distance is that from the operand as it is, its own noise included.
        let deviation = map.index_std() * step;
        let memo = RefCell::new(HashMap::<u64, Coefficients>::new());
        let polynomial = |c: f64| {
            let known = |x| correction.known.of(x);
            let fit = || f.polynomial(&known, c, range, deviation, order);
            *memo.borrow_mut().entry(c.to_bits()).or_insert_with(fit)
        };
        let polynomial = &polynomial;
        let identity = |c: f64| correction.cells.angle(correction.known.of(c));
        let angles: Vec<_> = correction
            .coefficients
            .iter()
            .enumerate()
            .map(|(j, output)| move |c: f64| output.angle(polynomial(c)[j]))
            .collect();
        let encoding = lwe::Output::Encoding(Encoding::new(0.0, TAU)?);
        let mut functions: Vec<Table<'_>> = vec![(&identity, encoding)];
        functions.extend(angles.iter().map(|angle| -> Table<'_> { (angle, encoding) }));
        let read = tables.maps(&values, &functions)?;

        let noise = 9.0
            * (read[0].noise_variance().sqrt() * correction.cells.gain)
                .hypot(correction.known.std());
        let reach = map.reach(step) + noise;
        let sum = self.correct(op, x, &correction, (&read, beside.as_ref()), reach)?;
        let plain = map.output(&|x| f.value(x))?;
        // The law of the correction, and what the operand's own noise does to the function.
        let center = values.centred().encoding().center();
        let error = |operand: f64| {
            let error_std = operand / step;
            let carried = Grid { center, step, degree, index_std: 0.0, error_std };
            let carried = carried.operand_error(range, |x| f.value(x)).sqrt();
            plan.accuracy.worst_rms().hypot(carried)
        };
        let (total, excess) = (error(x.noise()), error(x.excess()));
        let (lattice, meta) = sum.into_parts();
        let padded = meta.len < meta.slots;
        // A correction may leave the range of the function by its own error, and by what moves its
        // operand out of the operand's range.
        let range = Interval::real(plain.lo, plain.hi)?;
        let variance = |error: f64| (error * meta.scale).powi(2) / meta.slots as f64;
        let noise = ckks::noise::Noise { total: variance(total), excess: variance(excess) };
        let meta = Meta { bounds: Bounds::padded(range, padded), noise, ..meta };
        Ok(Ciphertext::from_parts(self.arithmetic.params(), lattice, meta)?)
    }
}
