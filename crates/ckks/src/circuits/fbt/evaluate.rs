//! One functional bootstrap: metadata ([`FunctionalBootstrapper::meta`]) beside computation
//! ([`CkksOps::functional_bootstrap`]), in the same steps.
//!
//! ```text
//! Step 1:       values in revolutions, at the scale of the circle, at the input level
//! Steps 2 to 4: S2C, mod raise, C2S; the real and imaginary parts of the slots
//! Steps 5, 6:   E = exp(2 pi i x) of either part; its powers
//! Step 7:       the series of every function
//! Step 8:       the real parts, put together
//! ```

#[cfg(doc)]
use crate::ErrorKind;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bellerophon_mlwe as mlwe;

use super::bootstrapper::fitting_factor;
use super::exponential::ExponentialMeta;
use super::paired::shifted;
use super::{FbtInput, FunctionalBootstrapper, PeriodicFunction};
use crate::bootstrap::BootstrapStage;
use crate::bootstrap::{BootstrapKeys, raising::RaisingMeta};
use crate::lintrans::RotationCosts;
use crate::metadata::{alignment::Route, rules::MetadataRules};
use crate::noise::{ENCODING, Noise};
use crate::polynomial::Powers;
use crate::{
    Bounds, Ciphertext, CiphertextMeta, During, Evaluator, Interval, Metadata, Params, Result,
    error,
};

/// The metadata of a functional bootstrap of one vector.
pub(crate) struct FbtMeta {
    /// Step 1: the route of the operand to the input level.
    pub route: Route,
    /// Step 1: the integer factor there.
    pub factor: i64,
    /// Step 1: the number subtracted from the values.
    pub centre: f64,
    /// Step 1: the unit of the values after it, one revolution.
    pub period: f64,
    /// Steps 2 to 4: from S2C to the parts of the slots.
    pub raising: RaisingMeta,
    /// Step 5: the exponential of either part.
    pub exponential: ExponentialMeta,
    /// The result of each function.
    pub results: Vec<Metadata>,
}

/// The functional bootstrapper and the keys of an evaluator.
#[derive(Debug, Clone)]
pub(crate) struct Functional {
    pub bootstrapper: Arc<FunctionalBootstrapper>,
    keys: BootstrapKeys,
    /// Results computed so far, by all evaluators that share this count.
    pub begun: Arc<AtomicU64>,
}

impl Evaluator {
    /// Adds functional bootstrapping to the evaluator. Reserves its working memory now.
    ///
    /// # Errors
    /// [`mlwe::ErrorKind::ParamsMismatch`], [`ErrorKind::Bytes`] or
    /// [`mlwe::ErrorKind::KeyMismatch`] when the parts do not belong together.
    pub fn with_functional(
        mut self,
        bootstrapper: impl Into<Arc<FunctionalBootstrapper>>,
        keys: BootstrapKeys,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        let op = "add functional bootstrapping to an evaluator";
        bootstrapper.raising().check_keys(&self, &keys).during(op)?;
        bootstrapper.reserve();
        self.functional = Some(Functional { bootstrapper, keys, begun: Arc::default() });
        Ok(self)
    }

    /// Computes [`CkksOps::functional_bootstrapper`](crate::CkksOps::functional_bootstrapper).
    pub(crate) fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        self.functional.as_ref().map(|functional| &functional.bootstrapper)
    }
}

impl FunctionalBootstrapper {
    /// The metadata of [`Evaluator::functional_bootstrap`].
    pub(crate) fn meta(
        &self,
        x: &Metadata,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
        costs: RotationCosts<'_>,
    ) -> Result<FbtMeta> {
        let (params, rules) = (self.params(), self.params().rules());
        let (first, _) = *functions.first().ok_or_else(error::no_values)?;
        let (period, centre) = (first.period(), first.centre());
        if functions.iter().any(|(f, _)| (f.period(), f.centre()) != (period, centre)) {
            let reason =
                "functions of different periods or centres: those of one vector at a time need \
                          one domain"
                    .to_string();
            return Err(error::shape(reason));
        }
        self.raising().check_slots(x)?;
        let deepest = functions.iter().map(|(f, _)| f.levels()).max().unwrap_or(0);
        if deepest > self.series_level() {
            let (needed, left) = (deepest, self.series_level());
            return Err(error::table_levels(needed, left));
        }

        // Step 1: values in revolutions, at the scale of the circle.
        let (route, factor) = self.route(x, period)?;
        let low = rules.follow(x, &route)?;
        let centred = rules.shifted(&low, -centre, input.both)?;
        let mut circle = rules.mul_integer(&centred, factor)?;
        circle.meta = circle.meta.reinterpret_scale(1.0 / (factor as f64 * period))?;
        // The computed scale equals this up to rounding in f64.
        circle.meta.scale = self.circle_scale();

        // Steps 2 to 4: S2C, mod raise, C2S; the parts of the slots.
        let raising = self.raising().meta(&circle, costs)?;

        // Step 5: the exponential of either part.
        let exponential = self.exponential().meta(params, &raising.part, self.series_scale())?;
        let circle_noise =
            self.exponential().noise(params, &raising.part, &exponential, self.spec().weight);

        // An error of the argument, in revolutions, moves `E` along the circle.
        let width = self.exponential().bound();
        let angle = |v: f64| (width * slot_deviation(params, v, raising.part.meta.scale)).powi(2);
        let argument = raising.part.meta.noise.map(angle);
        let tangential = circle_noise.tangential.bound / std::f64::consts::TAU.powi(2);
        // Integers are exact by their error against the exact program; reals may leave their domain
        // by what no stated range includes.
        let deviation = |f: &PeriodicFunction| {
            let exact = f.as_table().map_or(0.0, |_| argument.bound);
            (exact.max(argument.excess) + tangential).sqrt() * period
        };
        let off = self.exponential().error();
        let moved = off / std::f64::consts::TAU * period;
        let values = if input.both { 2 * x.meta.slots } else { x.meta.slots };
        let failure = (values, self.spec().log2_failure);

        // Steps 6 to 8: the series of every function and its real part.
        let part = &raising.part;
        // Padding that S2C clears is at the centre; imaginary parts without a value hold zeros.
        let at = match self.raising().s2c().clears(&circle.meta) {
            true => Interval::between(centre, centre),
            false if input.both => Interval::ZERO,
            false => x.meta.bounds.padding,
        };
        let padding = (input.both || x.meta.len < x.meta.slots).then_some(at);
        let results = functions.iter().map(|&(f, scale)| {
            f.check_input(&input.range, (deviation(f), moved), failure)?;
            let from = (exponential.level, exponential.scale);
            let noise = f.noise(
                params,
                (circle_noise, argument, [off, self.exponential().radial_error()]),
                from,
                scale,
                failure,
            );
            let level = exponential.level - f.levels();
            let padding = f.range_with_padding(padding.as_ref());
            let bounds = match input.both {
                false => Bounds { values: f.range(), padding },
                // The last imaginary part may be padding.
                true => Bounds::all(Interval::complex(2f64.sqrt() * padding.bound())?),
            };
            let switched = mlwe::noise::automorphism(params.lattice(), params.limbs_at(level));
            let mut noise = noise
                .map(|v| v * scale * scale / (params.lattice().spec().degree as f64 / 2.0))
                + switched;
            if f.levels() == 0 {
                // A constant in every slot has its rounding only.
                noise = Noise::new(ENCODING / params.lattice().spec().degree as f64);
            }
            let meta = CiphertextMeta { scale, bounds, noise, ..part.meta };
            let result = Metadata {
                level,
                meta: CiphertextMeta { slots: x.meta.slots, len: x.meta.len, ..meta },
            };
            rules.check_range(&result)?;
            Ok(result)
        });
        let results = results.collect::<Result<_>>()?;
        Ok(FbtMeta { route, factor, centre, period, raising, exponential, results })
    }

    /// Step 1: the route of an operand to the input level, to a scale that divides that of the
    /// circle, and the integer quotient.
    fn route(&self, x: &Metadata, period: f64) -> Result<(Route, i64)> {
        let rules = self.params().rules();
        let input_level = self.input_level();
        self.raising().check_level(x)?;
        if let Some(factor) = fitting_factor(self.circle_scale(), period, x.meta.scale) {
            return Ok((Route::drop_to(input_level), factor));
        }
        // Any other scale is matched by a constant, which takes a level.
        let whole = self.circle_scale() / period;
        let factor = (whole / self.params().scale()).floor().max(1.0);
        let route = rules.match_scale(x, whole / factor, input_level)?;
        Ok((route, factor as i64))
    }
}

impl Evaluator {
    /// Computes [`CkksOps::functional_bootstrap`](crate::CkksOps::functional_bootstrap).
    pub(crate) fn functional_bootstrap(
        &self,
        x: &Ciphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Ciphertext>> {
        let op = "functional_bootstrap";
        let key = "functional bootstrapping key";
        let missing = error::missing_key(key, None).during(op);
        let functional = self.functional.as_ref().ok_or(missing)?;
        let Functional { bootstrapper, keys, begun } = functional;
        self.check(x).during(op)?;
        let costs = |x: &Metadata, step| self.rotation_cost(x, step).during(op);
        let meta = bootstrapper.meta(&x.metadata(), input, functions, &costs).during(op)?;
        begun.fetch_add(functions.len() as u64, Ordering::Relaxed);

        // Step 1: values in revolutions, at the scale of the circle.
        let low = self.follow(x, &meta.route).during(op)?;
        let mut circle = shifted(self, &low, -meta.centre, input.both)?;
        circle = self.mul_integer(&circle, meta.factor)?;
        circle = circle.reinterpret_scale(1.0 / (meta.factor as f64 * meta.period))?;

        // Steps 2 to 4: S2C, mod raise, C2S; the parts of the slots.
        let raising = bootstrapper.raising();
        let tell = |stage| self.watch.tell(stage, 1, 1).during(op);
        let coefficients = raising.to_coefficients(keys, &circle).during(op)?;
        tell(BootstrapStage::SlotsToCoefficients)?;
        let raised = raising.raise(self, keys, coefficients, &meta.raising).during(op)?;
        tell(BootstrapStage::Raise)?;
        let (re, im) = raising.to_slots(self, &raised, (&meta.raising, !input.both))?;
        tell(BootstrapStage::CoefficientsToSlots)?;

        // Steps 5 to 7 for either part: the exponential, its powers, the series.
        let parts = if input.both { 2 } else { 1 };
        let series = |part, ciphertext: &Ciphertext| {
            self.series_of(functional, (part, parts, ciphertext), &meta, functions).during(op)
        };
        let first = series(0, &re)?;
        let second = im.map(|im| series(1, &im)).transpose()?;

        // Step 8: the real parts, put together.
        let mut second = second.map(Vec::into_iter);
        let results = first.into_iter().zip(&meta.results).map(|(p, result)| {
            let other = second.as_mut().and_then(Iterator::next);
            let whole = self.real_parts(p, other).during(op)?;
            Ok(Ciphertext::at_level(self.params(), whole, result.meta, x.origins.clone()))
        });
        results.collect()
    }

    /// Steps 5 to 7 for part `part` of `parts`: the series of all functions, each at half the scale
    /// of its result.
    fn series_of(
        &self,
        Functional { bootstrapper, .. }: &Functional,
        (part, parts, ciphertext): (usize, usize, &Ciphertext),
        meta: &FbtMeta,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<mlwe::Ciphertext>> {
        // Step 5: the exponential.
        let e = bootstrapper.exponential().apply(self, ciphertext, &meta.exponential)?;
        self.watch.tell(BootstrapStage::Exponential, part + 1, parts)?;
        // Step 6: the powers that the series need, each once.
        let level = meta.exponential.level;
        let mut powers = Powers::from([(1, (e, meta.exponential.scale))]);
        for (function, _) in functions {
            self.extend_powers(level, &mut powers, function.plan())?;
        }
        // Step 7: the series.
        let (before, total) = (part * functions.len(), parts * functions.len());
        let series = |(i, &(function, scale)): (usize, &(&PeriodicFunction, f64))| {
            let sum = self.sum_of_powers(level, &powers, function.plan(), 0.5 * scale)?;
            self.watch.tell(BootstrapStage::Functions, before + i + 1, total)?;
            Ok(sum)
        };
        functions.iter().enumerate().map(series).collect()
    }

    /// Step 8: `p + conj(p)`, or `(p + i q) + conj(p - i q)`: twice the real part of `p`, plus `i`
    /// times twice that of `q`.
    fn real_parts(
        &self,
        p: mlwe::Ciphertext,
        q: Option<mlwe::Ciphertext>,
    ) -> Result<mlwe::Ciphertext> {
        let lattice = self.params().lattice();
        let key = self.keys().conjugation(p.limbs())?;
        let (mut sum, mut difference) = (p.clone(), p);
        if let Some(mut q) = q {
            self.mul_i_assign(&mut q);
            sum.add_assign(lattice, &q)?;
            difference.sub_assign(lattice, &q)?;
        }
        sum.add_assign(lattice, &key.apply(lattice, &difference)?)?;
        Ok(sum)
    }
}

impl MetadataRules<'_> {
    /// `x + c`, also in the imaginary parts where they hold values.
    pub(super) fn shifted(self, x: &Metadata, c: f64, both: bool) -> Result<Metadata> {
        let (real, _) = self.add_scalar(x, c)?;
        match both && c != 0.0 {
            true => Ok(self.add_scalar(&real, c)?.0),
            false => Ok(real),
        }
    }
}

/// The standard deviation of the real part of a slot for a variance of the coefficients.
fn slot_deviation(params: &Params, variance: f64, scale: f64) -> f64 {
    (params.lattice().spec().degree as f64 / 2.0 * variance).sqrt() / scale
}
