//! One functional bootstrap: metadata ([`FunctionalBootstrapper::meta`]) beside computation
//! ([`CircuitOps::functional_bootstrap`]), in the same steps.
//!
//! ```text
//! Step 1:       values in revolutions, at the scale of the circle, at the input level
//! Steps 2 to 4: S2C, mod raise, C2S; the real and imaginary parts of the slots
//! Steps 5, 6:   E = exp(2 pi i x) of either part; its powers
//! Step 7:       the series of every function
//! Step 8:       the real parts, put together
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Complex64, Evaluator, Interval, Metadata, Result,
    cost::{Count, Trace, Work},
    metadata::{route::Route, rules::MetadataRules},
    noise::{ENCODING, Noise},
    noise_model::NoiseModel,
    rotation_plan::RotationCosts,
    vectors::{Fused, Planned, Scope, State, Vectors},
};
use bellerophon_mlwe as mlwe;

use super::bootstrapper::fitting_factor;
use super::exponential::ExponentialMeta;
use super::function::Argument;
use super::{FbtInput, FunctionalBootstrapper, PeriodicFunction};
use crate::bootstrap::raising::RaisingMeta;
use crate::bootstrap::{BootstrapKeys, BootstrapStage, tell};
use crate::error;
use crate::polynomial::paterson_stockmeyer::{extend_powers, sum_of_powers};
use crate::polynomial::sums::Powers;
use crate::polynomial::{Basis, Power};

/// The metadata of a functional bootstrap of one vector.
#[derive(Debug)]
pub(crate) struct FbtMeta {
    /// Step 1: values in revolutions.
    pub turned: Turned,
    /// Steps 2 to 4: from S2C to the parts of the slots.
    pub raising: RaisingMeta,
    /// Step 5: the exponential of either part.
    pub exponential: ExponentialMeta,
    /// The result of each function.
    pub results: Vec<Metadata>,
}

/// Step 1: an operand in revolutions, at the scale of the circle.
#[derive(Debug)]
pub(crate) struct Turned {
    /// The route to the input level.
    route: Route,
    /// The integer factor there.
    factor: i64,
    /// The number subtracted from the values.
    centre: f64,
    /// The unit of the values after it, one revolution.
    period: f64,
    /// Whether the imaginary parts hold values too.
    both: bool,
}

impl Turned {
    /// The metadata of an operand after the step.
    pub(super) fn meta(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<Metadata> {
        let low = rules.follow(x, &self.route)?;
        let (mut centred, _) = rules.add_scalar(&low, -self.centre)?;
        if self.both && self.centre != 0.0 {
            (centred, _) = rules.add_scalar(&centred, -self.centre)?;
        }
        let mut circle = rules.mul_integer(&centred, self.factor)?;
        circle.meta = circle.meta.reinterpret_scale(self.share())?;
        Ok(circle)
    }

    fn apply(&self, e: &Evaluator, x: &Ciphertext) -> Result<Ciphertext> {
        let low = e.follow(x, &self.route)?;
        let centred = shifted(e, &low, -self.centre, self.both)?;
        e.mul_integer(&centred, self.factor)?.reinterpret_scale(self.share())
    }

    /// The message of a value of 1, in revolutions.
    fn share(&self) -> f64 {
        1.0 / (self.factor as f64 * self.period)
    }
}

/// The functional bootstrapper and the keys of an evaluator.
#[derive(Debug, Clone)]
pub(crate) struct Functional {
    pub bootstrapper: Arc<FunctionalBootstrapper>,
    pub keys: BootstrapKeys,
    /// Results computed so far, by all evaluators that share this count.
    pub begun: Arc<AtomicU64>,
}

impl FunctionalBootstrapper {
    pub(crate) fn meta(
        &self,
        x: &Metadata,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
        costs: RotationCosts<'_>,
    ) -> Result<FbtMeta> {
        let (params, rules) = (self.params(), self.params().rules());
        let (period, centre) = self.common_domain(functions)?;
        self.raising().check_slots(x)?;

        // Step 1: values in revolutions, at the scale of the circle.
        let (route, factor) = self.route(x, period)?;
        let turned = Turned { route, factor, centre, period, both: input.both };
        let mut circle = turned.meta(rules, x)?;
        // The computed scale equals this up to rounding in f64.
        circle.meta.scale = self.circle_scale();

        // Steps 2 to 4: S2C, mod raise, C2S; the parts of the slots.
        let raising = self.raising().meta(&circle, costs)?;
        let part = &raising.part;

        // Step 5: the exponential of either part.
        let exponential = self.exponential.meta(params, part, self.series_scale())?;
        let values = if input.both { 2 * x.meta.slots } else { x.meta.slots };
        let argument = self.argument(part, &exponential, values);

        // Steps 6 to 8: the series of every function and its real part.
        // Padding that S2C clears is at the centre; imaginary parts without a value hold zeros.
        let at = match self.raising().s2c.clears(&circle.meta) {
            true => Interval::between(centre, centre),
            false if input.both => Interval::ZERO,
            false => x.meta.bounds.padding,
        };
        let padding = (input.both || x.meta.len < x.meta.slots).then_some(at);
        let results = functions.iter().map(|&(f, scale)| {
            f.check_input(&input.range, &argument)?;
            let padding = f.range_with_padding(padding.as_ref());
            let bounds = match input.both {
                false => Bounds { values: f.range(), padding },
                // The last imaginary part may be padding.
                true => Bounds::all(Interval::complex(2f64.sqrt() * padding.bound())?),
            };
            let noise = self.result_noise(f, scale, &argument);
            let CiphertextMeta { slots, len, .. } = x.meta;
            let meta = CiphertextMeta { scale, slots, len, bounds, noise };
            let result = Metadata { level: exponential.level - f.levels(), meta };
            rules.check_range(&result)?;
            Ok(result)
        });
        let results = results.collect::<Result<_>>()?;
        Ok(FbtMeta { turned, raising, exponential, results })
    }

    /// Period and centre of functions of one vector, whose series must fit the chain.
    fn common_domain(&self, functions: &[(&PeriodicFunction, f64)]) -> Result<(f64, f64)> {
        let (first, _) = *functions.first().ok_or_else(error::no_values)?;
        let domain = (first.period(), first.centre);
        if functions.iter().any(|(f, _)| (f.period(), f.centre) != domain) {
            let reason = "functions of different periods or centres: those of one vector at a time \
                          need one domain";
            return Err(error::shape(reason.into()));
        }
        let deepest = functions.iter().map(|(f, _)| f.levels()).max().unwrap_or(0);
        match self.series_level() {
            left if deepest > left => Err(error::table_levels(deepest, left)),
            _ => Ok(domain),
        }
    }

    /// `E` of a part of the slots, with the errors that enter a series.
    fn argument(&self, part: &Metadata, meta: &ExponentialMeta, values: usize) -> Argument {
        let (params, exponential) = (self.params(), &self.exponential);
        let slot = params.lattice().spec().degree as f64 / 2.0;
        // An error of the argument, in revolutions, moves `E` along the circle.
        let deviation = |variance: f64| (slot * variance).sqrt() / part.meta.scale;
        let angle = |variance: f64| (exponential.bound * deviation(variance)).powi(2);
        Argument {
            circle: exponential.noise(params, part, meta, self.spec().weight),
            angle: part.meta.noise.map(angle),
            off: [exponential.error, exponential.radial_error()],
            level: meta.level,
            scale: meta.scale,
            values,
            log2_failure: self.spec().log2_failure,
        }
    }

    /// The noise of a function's result: of its series, and of the conjugation in step 8.
    fn result_noise(&self, f: &PeriodicFunction, scale: f64, argument: &Argument) -> Noise {
        let (params, lattice) = (self.params(), self.params().lattice());
        let degree = lattice.spec().degree as f64;
        if f.levels() == 0 {
            // A constant in every slot has its rounding only.
            return Noise::new(ENCODING / degree);
        }
        let level = argument.level - f.levels();
        let switched = mlwe::noise::automorphism(lattice, params.limbs_at(level));
        let noise = f.noise(params, argument, scale);
        noise.map(|v| v * scale * scale / (degree / 2.0)) + switched
    }

    /// Step 1: the route to a scale that divides that of the circle, and the integer quotient.
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

/// Functions of the values of a vector, each at the scale of its result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionalBootstrap<'f> {
    pub bootstrapper: &'f FunctionalBootstrapper,
    pub input: FbtInput,
    pub functions: &'f [(&'f PeriodicFunction, f64)],
}

impl Fused for FunctionalBootstrap<'_> {
    /// The metadata of the steps; none in the worst case, which predicts the results alone.
    type Plan = Option<FbtMeta>;

    fn name(&self) -> &'static str {
        "functional_bootstrap"
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Self::Plan>> {
        let (rules, State { metadata, origins }) = (scope.rules(), &x[0]);
        let (input, functions) = (self.input, self.functions);
        let (plan, results) = match rules.errors() {
            NoiseModel::Average => {
                let meta = self.bootstrapper.meta(metadata, input, functions, scope.costs())?;
                let results = meta.results.clone();
                (Some(meta), results)
            }
            NoiseModel::Worst => {
                (None, self.bootstrapper.bounded(rules, metadata, input, functions)?)
            }
        };
        let state = |metadata| State { metadata, origins: origins.clone() };
        Ok(Planned { plan, results: results.into_iter().map(state).collect() })
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &Self::Plan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        let (bootstrapper, input) = (self.bootstrapper, self.input);
        let missing = || error::missing_key("functional bootstrapping key", false);
        let Functional { keys, begun, .. } = e.attached().ok_or_else(missing)?;
        let meta = plan.as_ref().expect("an evaluator computes averages");
        begun.fetch_add(self.functions.len() as u64, Ordering::Relaxed);

        // Step 1: values in revolutions, at the scale of the circle.
        let circle = meta.turned.apply(e, x[0])?;

        // Steps 2 to 4: S2C, mod raise, C2S; the parts of the slots.
        let raising = bootstrapper.raising();
        let (re, im) = raising.apply(e, keys, &circle, &meta.raising, !input.both)?;

        // Steps 5 to 7 for either part: the exponential, its powers, the series.
        let parts = if input.both { 2 } else { 1 };
        let first = self.series(e, &re, meta, 0, parts)?;
        let second = im.map(|im| self.series(e, &im, meta, 1, parts)).transpose()?;

        // Step 8: the real parts, put together.
        let mut second = second.map(Vec::into_iter);
        let whole = |p| real_parts(e, p, second.as_mut().and_then(Iterator::next));
        first.into_iter().map(whole).collect()
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let values = |f: &PeriodicFunction| {
            let value = |z: &Complex64| match self.input.both {
                true => Complex64::new(f.eval(z.re), f.eval(z.im)),
                false => f.eval(z.re).into(),
            };
            x[0].iter().map(value).collect()
        };
        Ok(self.functions.iter().map(|(f, _)| values(f)).collect())
    }

    fn trace(&self, _: &[State], _: &Self::Plan, trace: &mut Trace<'_>) {
        let functions: Vec<&PeriodicFunction> = self.functions.iter().map(|&(f, _)| f).collect();
        let (b, both) = (self.bootstrapper, self.input.both);
        trace.needs(b.key_switches(&functions, both), |keys| keys.and(&b.keys()));
        b.count(&functions, both, &mut trace.count);
        trace.functional += 1;
        let each = b.spec().log2_failure;
        trace.failures = trace.failures.and(each, functions.len() as u64);
    }
}

/// Functions of the values of `x`, by the functional bootstrapper of an evaluator or a simulator.
pub(crate) fn functions<A: Vectors>(
    a: &A,
    x: &A::Ciphertext,
    input: FbtInput,
    functions: &[(&PeriodicFunction, f64)],
) -> Result<Vec<A::Ciphertext>> {
    a.fused(&FunctionalBootstrap { bootstrapper: attached(a)?, input, functions }, &[x])
}

pub(crate) fn attached<A: Vectors>(a: &A) -> Result<&FunctionalBootstrapper> {
    let bootstrapper = a.attached::<Arc<FunctionalBootstrapper>>();
    let missing = || error::missing_key("functional bootstrapping key", false);
    bootstrapper.map(|bootstrapper| &**bootstrapper).ok_or_else(missing)
}

impl FunctionalBootstrap<'_> {
    /// Steps 5 to 7 for one part: all series, each at half the scale of its result.
    fn series(
        &self,
        e: &Evaluator,
        x: &Ciphertext,
        meta: &FbtMeta,
        part: usize,
        parts: usize,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        // Step 5: the exponential.
        let circle = self.bootstrapper.exponential.apply(e, x, &meta.exponential)?;
        tell(e, BootstrapStage::Exponential, part + 1, parts)?;
        // Step 6: the powers that the series need, each once.
        let level = meta.exponential.level;
        let mut powers = Powers::from([(1, (circle, meta.exponential.scale))]);
        for (function, _) in self.functions {
            extend_powers(e, level, &mut powers, &function.plan)?;
        }
        // Step 7: the series.
        let (before, total) = (part * self.functions.len(), parts * self.functions.len());
        let series = |(i, &(function, scale)): (usize, &(&PeriodicFunction, f64))| {
            let sum = sum_of_powers(e, level, &powers, &function.plan, 0.5 * scale)?;
            tell(e, BootstrapStage::Functions, before + i + 1, total)?;
            Ok(sum)
        };
        self.functions.iter().enumerate().map(series).collect()
    }
}

/// Step 8: `(p + i q) + conj(p - i q)`, twice the real parts of `p` and of `i q`.
fn real_parts(
    e: &Evaluator,
    p: mlwe::Ciphertext,
    q: Option<mlwe::Ciphertext>,
) -> Result<mlwe::Ciphertext> {
    let lattice = e.params().lattice();
    let key = e.keys().conjugation(p.limbs())?;
    let (mut sum, mut difference) = (p.clone(), p);
    if let Some(mut q) = q {
        e.mul_i_assign(&mut q);
        sum.add_assign(lattice, &q)?;
        difference.sub_assign(lattice, &q)?;
    }
    sum.add_assign(lattice, &key.apply(lattice, &difference)?)?;
    Ok(sum)
}

impl FunctionalBootstrapper {
    /// Counts several functions of one vector.
    pub(crate) fn count(&self, functions: &[&PeriodicFunction], both: bool, count: &mut Count<'_>) {
        // Step 1: from S2C to C2S.
        self.raising().count(count);
        let (top, exponential) = (self.raising().output_level(), &self.exponential);
        let level = self.series_level();
        for _ in 0..if both { 2 } else { 1 } {
            // Step 2: the exponential, for each part: a polynomial, squarings, normalisation.
            exponential.plan.count(top, count);
            let mut here = top - exponential.plan.depth();
            for _ in 0..exponential.squarings() {
                count.product(here, 1.0);
                here -= 1;
            }
            if exponential.normalised {
                count.switch(here);
                (0..2).for_each(|_| count.product(here, 1.0));
                count.product(here - 1, 1.0);
            }
            // Step 3: powers of the exponential, each once, and the power series of every function.
            let powers = functions.iter().flat_map(|f| &f.plan.powers);
            let powers: BTreeMap<usize, &Power> = powers.map(|p| (p.index(), p)).collect();
            powers.values().for_each(|power| power.count(Basis::Monomial, level, count));
            functions.iter().for_each(|f| f.plan.root.count(level, count));
        }
        // Step 4: the real parts, one conjugation for each function.
        functions.iter().for_each(|f| count.switch(level - f.levels()));
    }

    /// The work of several functions of one vector, with values in both parts of the slots (`both`)
    /// or in the real parts alone.
    pub fn work(&self, functions: &[&PeriodicFunction], both: bool) -> Work {
        let mut count = Count::new(self.params());
        self.count(functions, both, &mut count);
        count.work()
    }
}

/// `x + c`, also in the imaginary parts if they hold values.
pub(crate) fn shifted<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    c: f64,
    both: bool,
) -> Result<A::Ciphertext> {
    let real = a.add_scalar(x, c)?;
    if !both || c == 0.0 {
        return Ok(real);
    }
    // -i (i z - c) = z + i c.
    let rotated = a.add_scalar(&a.mul_i(&real)?, -c)?;
    a.neg(&a.mul_i(&rotated)?)
}
