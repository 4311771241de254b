//! EvalMod on ciphertexts: metadata ([`Mod1::meta`]) beside computation ([`Mod1::apply`]), in the
//! same steps.
//!
//! ```text
//! Step 1:  u = t - shift                      the centre of the interval moves to 0
//! Step 2:  c = cos(2 pi width u / 2^r)        an even polynomial
//! Step 3:  c <- 2 c^2 - 1                     r times: the sine of 2 pi x
//! Step 4:  arcsine                            an odd polynomial, if planned
//! ```
//!
//! **Noise.** Let `V` be one rounding and `S_i` the scale of the intermediate result `i` of steps 2
//! to 4. A rescale there adds an error of variance `V / S_i^2`, and the result depends on it with
//! the derivative `D_i(x)`. The predicted variance is the mean over the expected `x` of
//!
//! ```text
//! D_t(x)^2 V_t / S_t^2 + sum_i D_i(x)^2 V / S_i^2
//! ```
//!
//! for an operand `t` of the variance `V_t`, and the largest one a bound for all of them. The
//! scales differ: the first levels may have larger primes
//! ([`BootstrapSpec::chain`](crate::bootstrap::BootstrapSpec::chain)). The errors of `T_2` and
//! `T_4`, which are enlarged most, are then made at the largest scales
//! ([`Mod1Spec::early_bits`](super::Mod1Spec::early_bits)).
//!
//! The terms of this mean differ by orders of magnitude: the rare integers in the middle of the
//! interval have by far the largest. The error of a slot is a mixture, with heavier tails than one
//! of the mean variance ([`Noise::worst`]).

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::cost::{Count, Work};
use bellerophon_ckks::interval::check_domain;
use bellerophon_ckks::noise::{Noise, times};
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Evaluator, Interval, KeyLevels, Metadata, Params,
    Result,
};
use bellerophon_mlwe as mlwe;

use super::Mod1;
use crate::error;
use crate::polynomial::paterson_stockmeyer::{add_constant, evaluate_plan};
use crate::polynomial::{Sensitivity, Steps, drift};

/// Largest drift of the scale of an intermediate result, in bits.
const MAX_DRIFT: f64 = 8.0;

/// Amplitude and scale of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mod1Output {
    /// The result is this times `sin(2 pi x)` (or times the reduced `2 pi x`, with an arcsine).
    /// Costs nothing: it goes into the scale.
    pub amplitude: f64,
    /// Scale of the result. `amplitude * scale` should be near the divisors of the levels:
    /// precision is lost in proportion otherwise.
    pub scale: f64,
}

impl Mod1 {
    pub(crate) fn count(&self, level: usize, count: &mut Count<'_>) {
        self.cosine.count(level, count);
        let mut here = level - self.cosine.depth();
        for _ in 0..self.doublings {
            count.product(here, 1.0);
            here -= 1;
        }
        if let Some(arcsine) = self.arcsine() {
            arcsine.count(here, count);
        }
    }

    /// The work on a vector at a level.
    pub fn work(&self, params: &Params, level: usize) -> Work {
        let mut work = Count::new(params);
        self.count(level, &mut work);
        work.work()
    }

    /// The keys for ciphertexts at `level`.
    pub fn keys(&self, level: usize) -> KeyLevels {
        KeyLevels::default().multiply(level)
    }

    /// The highest level up to `most` at which the reduction keeps its scales, for an operand at
    /// the scale of that level's divisor: the levels below have about the same divisors. `None` if
    /// the chain has no such level.
    pub fn highest_level(&self, params: &Params, most: usize) -> Option<usize> {
        (self.depth()..=most.min(params.max_level()))
            .rev()
            .find(|&level| self.starts(params, level))
    }

    /// As [`highest_level`](Self::highest_level): the lowest level from `least` on.
    pub fn lowest_level(&self, params: &Params, least: usize) -> Option<usize> {
        (least.max(self.depth())..=params.max_level()).find(|&level| self.starts(params, level))
    }

    /// Whether scales stay near the divisors from `level` down.
    pub(crate) fn starts(&self, params: &Params, level: usize) -> bool {
        drift(params, &self.cosine, level, params.divisor(level)) <= MAX_DRIFT
    }

    /// Reduces every slot modulo 1: from `t = x / width()` to `amplitude * sin(2 pi x)`, `depth()`
    /// levels lower.
    ///
    /// The range of the result is that of the sine. A caller that knows more (a message well within
    /// 1/4) states it with [`Ciphertext::assume_range_with_padding`].
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] when the carried range of `t` leaves `bound() / width()`,
    /// [`ErrorKind::OutOfLevels`], [`ErrorKind::Scale`] when the scale of the operand is far from
    /// the divisor of its level, or the levels below have other divisors,
    /// [`ErrorKind::MissingKey`], [`ErrorKind::Scale`] and mismatches.
    pub fn apply(
        &self,
        evaluator: &Evaluator,
        t: &Ciphertext,
        output: Mod1Output,
    ) -> Result<Ciphertext> {
        evaluator.check(t)?;
        let EvalModMeta { mut scales, sine, result } =
            self.meta(evaluator.params(), &t.metadata(), output)?;

        // Step 1: the argument of the polynomial.
        let first = scales.pop().expect("it starts with one");
        let u = evaluator.add_scalar(t, -self.shift())?;
        // Step 2: the cosine of the divided angle.
        let mut inner = evaluate_plan(evaluator, &u, &self.cosine, first)?;
        // Step 3: double angles.
        while let Some(scale) = scales.pop() {
            inner = doubled(evaluator, &inner, scale)?;
        }
        // Step 4: the arcsine.
        if let Some(plan) = self.arcsine() {
            let of_sine =
                Ciphertext::at_level(evaluator.params(), inner, sine, t.origins().clone());
            let scale = output.scale * output.amplitude;
            inner = evaluate_plan(evaluator, &of_sine, plan, scale)?;
        }
        Ok(Ciphertext::at_level(evaluator.params(), inner, result.meta, t.origins().clone()))
    }

    /// The metadata of [`apply`](Self::apply): the result, and the scales of steps 2 and 3.
    pub(crate) fn meta(
        &self,
        params: &Params,
        t: &Metadata,
        output: Mod1Output,
    ) -> Result<EvalModMeta> {
        let rules = params.rules();
        let Metadata { level, meta } = *t;
        rules.check_levels(self.depth(), level)?;
        let bound = self.bound() / self.width();
        check_domain(&meta.bounds, -bound, bound)?;
        bellerophon_ckks::encode::check_scale(output.amplitude)?;
        bellerophon_ckks::encode::check_scale(output.scale)?;
        let scale = output.scale * output.amplitude;
        let drift = drift(params, &self.cosine, level, meta.scale);
        if drift > MAX_DRIFT {
            let [log2_scale, log2_divisor] = [meta.scale, params.divisor(level)].map(f64::log2);
            return Err(error::drift(level, log2_scale, log2_divisor, drift, MAX_DRIFT));
        }

        // Scales, backward from the result: a square at level l has the scale s^2 / divisor(l), so
        // the operand of the step to the scale s has the scale sqrt(s divisor(l)).
        let sine_level = level - self.cosine.depth() - self.doublings;
        // Step 4: the powers of the arcsine keep their scales only near the divisor of the level.
        let sine_scale = if self.arcsine().is_some() { params.divisor(sine_level) } else { scale };
        // Steps 3 and 2.
        let mut scales = vec![sine_scale];
        for level in (sine_level + 1..).take(self.doublings) {
            let after = scales.last().expect("it starts with one");
            scales.push((after * params.divisor(level)).sqrt());
        }

        let noise = self.noise(params, t, &scales, scale);
        let unit = Bounds::all(Interval::real(-1.0, 1.0)?);
        let rounding = Noise::new(mlwe::noise::rounding(params.lattice()));
        let sine = CiphertextMeta { scale: sine_scale, bounds: unit, noise: rounding, ..meta };
        let largest = self.magnitude() * output.amplitude;
        let result = Metadata {
            level: level - self.depth(),
            meta: CiphertextMeta {
                scale: output.scale,
                bounds: Bounds::all(Interval::real(-largest, largest)?),
                noise: noise * (scale * scale),
                ..meta
            },
        };
        rules.check_range(&result)?;
        Ok(EvalModMeta { scales, sine, result })
    }

    /// The noise of the result at amplitude and scale 1: the error of the operand times the slope,
    /// and the roundings of all steps; their mean, and their largest.
    fn noise(&self, params: &Params, t: &Metadata, scales: &[f64], last: f64) -> Noise {
        let CiphertextMeta { noise, scale, .. } = t.meta;
        let rounding = mlwe::noise::rounding(params.lattice());
        let of = self.scales(params, t, scales, last);
        let largest =
            noise * (self.largest_slope / scale).powi(2) + rounding * self.largest_steps(&of);
        let parts: Vec<Part> = self.parts(&of, scale).collect();
        let mean = |of: &dyn Fn(&Part) -> f64| parts.iter().map(|p| p.weight * of(p)).sum::<f64>();
        let slopes = mean(&|part| part.slope.powi(2));
        Noise {
            total: times(noise.total, slopes) + rounding * mean(&|part| part.steps),
            plain: times(noise.plain, slopes),
            constant: times(noise.constant, slopes),
            ..largest
        }
    }

    /// The expected `x` and the error there ([module](self)), for an operand at a scale.
    pub(crate) fn parts(&self, scales: &Scales, operand: f64) -> impl Iterator<Item = Part> {
        self.expected().into_iter().map(move |(x, weight)| {
            let Sensitivity { input, steps } = self.sensitivity_with(scales, x);
            Part { x, weight, slope: input / operand, steps: steps * steps }
        })
    }

    /// The scales of all steps, from those of [`EvalModMeta::scales`] and that of the result.
    pub(crate) fn scales(
        &self,
        params: &Params,
        t: &Metadata,
        scales: &[f64],
        last: f64,
    ) -> Scales {
        let (sine, first) = (scales[0], scales[scales.len() - 1]);
        let sine_level = t.level - self.cosine.depth() - self.doublings;
        Scales {
            cosine: Steps::new(params, &self.cosine, t.level, t.meta.scale, first),
            doubled: scales.iter().rev().skip(1).map(|scale| scale.powi(-2)).collect(),
            arcsine: self.arcsine().map(|plan| Steps::new(params, plan, sine_level, sine, last)),
        }
    }

    /// The scale 1 of all steps but those of `T_2` and `T_4` ([`Mod1Spec::early_bits`]).
    ///
    /// [`Mod1Spec::early_bits`]: super::Mod1Spec::early_bits
    pub(super) fn plain_scales(&self) -> Scales {
        let [second, fourth] = self.early_bits;
        let scale = |index| match index {
            2 => f64::from(second).exp2(),
            4 => f64::from(fourth).exp2(),
            _ => 1.0,
        };
        Scales {
            cosine: Steps::given(&self.cosine, scale),
            doubled: vec![1.0; self.doublings],
            arcsine: self.arcsine().map(|plan| Steps::given(plan, |_| 1.0)),
        }
    }

    /// `D_t(x)` and the root of `sum_i D_i(x)^2 / S_i^2` ([module](self)).
    pub(super) fn sensitivity_with(&self, scales: &Scales, x: f64) -> Sensitivity {
        // Step 2: the cosine of the divided angle.
        let u = x / self.width() - self.shift();
        let (slope, mut sum) = self.cosine.derivatives_by(u, &scales.cosine);
        let (mut input, mut c) = (slope.re, self.cosine.eval(u).re);
        // Step 3: the error of c is enlarged by 4 c; another rescale.
        for rounding in &scales.doubled {
            input *= 4.0 * c;
            sum = 16.0 * c * c * sum + rounding;
            c = 2.0 * c * c - 1.0;
        }
        // Step 4: the arcsine.
        if let Some((plan, steps)) = self.arcsine().zip(scales.arcsine.as_ref()) {
            let (slope, added) = plan.derivatives_by(c, steps);
            input *= slope.re;
            sum = slope.norm_sqr() * sum + added;
        }
        Sensitivity { input, steps: sum.sqrt() }
    }
}

/// The scales of the steps of EvalMod.
pub(crate) struct Scales {
    /// Of the polynomial of the cosine.
    pub(super) cosine: Steps,
    /// `S^-2` of every double angle.
    pub(super) doubled: Vec<f64>,
    /// Of the polynomial of the arcsine.
    pub(super) arcsine: Option<Steps>,
}

/// The error of the result at an expected `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    /// The operand times the width.
    pub x: f64,
    /// The share of the slots, of all parts 1.
    pub weight: f64,
    /// The derivative `D_t(x)`, of a result with the scale times the amplitude 1, over the scale of
    /// the operand.
    pub slope: f64,
    /// The sum over the steps, `sum_i D_i(x)^2 / S_i^2`.
    pub steps: f64,
}

/// The metadata of EvalMod of one operand.
pub(crate) struct EvalModMeta {
    /// Scales of the sine, of the cosine before the last double angle, and so on; at least one.
    pub scales: Vec<f64>,
    /// The sine, after step 3.
    sine: CiphertextMeta,
    /// The result.
    pub result: Metadata,
}

/// Step 3: `2 c^2 - 1` at the given scale.
fn doubled(evaluator: &Evaluator, c: &mlwe::Ciphertext, scale: f64) -> Result<mlwe::Ciphertext> {
    let lattice = evaluator.params().lattice();
    let mut square = mlwe::Tensor::square(lattice, c)?;
    square.double_assign(lattice)?;
    let mut double = evaluator.relinearized_divided(square)?;
    add_constant(evaluator, &mut double, -scale)?;
    Ok(double)
}
