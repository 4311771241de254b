//! The exponential `E = exp(2 pi i x)` of real slots `x`: it removes the integers that the mod
//! raise adds. Metadata ([`Exponential::meta`]) beside computation ([`Exponential::apply`]).

use std::f64::consts::{PI, TAU};

use bellerophon_ckks::{Ciphertext, Complex64, Evaluator, Metadata, Params, Result, noise::Noise};
use bellerophon_mlwe as mlwe;

use crate::error;
use crate::polynomial::paterson_stockmeyer::{add_constant, evaluate_plan};
use crate::polynomial::{Plan, Steps, drift, power_depth};

/// Interpolation points: coefficients beyond them are below `1e-17`.
const POINTS: usize = 512;

/// Largest `2 pi bound / 2^doublings` for which [`POINTS`] are enough.
const MAX_ANGLE: f64 = 128.0;

/// Terms in the sum for the error of the series, beyond its degree and beyond its angle.
const TAIL: usize = 32;

/// Largest drift of the scale of a power, in bits.
const MAX_DRIFT: f64 = 8.0;

/// Sample points for the average noise over the interval.
const SAMPLES: usize = 129;

/// A plan for `E = exp(2 pi i x)`, `|x| <= bound`.
///
/// ```text
/// Step 1:  F = exp(2 pi i x / 2^r)     by a Chebyshev series, coefficients 2 i^k J_k(A), A = 2 pi
/// bound / 2^r Step 2:  F <- F^2                    r times, r - 1 times before a normalisation
/// Step 3:  E = F^2 (2 - F conj(F))     instead of the last squaring
/// ```
///
/// Step 3 brings `E` back to the circle: an error of the modulus of `F`, which every squaring
/// doubles, enters the modulus of `E` as its square. It takes one level and three key switches more
/// than a squaring.
#[derive(Clone, Debug)]
pub struct Exponential {
    pub(crate) bound: f64,
    doublings: usize,
    /// Whether step 3 is part of the plan.
    pub(crate) normalised: bool,
    /// The plan of step 1.
    pub(crate) plan: Plan,
    /// Bound on the error of `E` from the series, without noise. A normalisation leaves the part
    /// along the circle.
    pub(crate) error: f64,
}

/// Variances of the error of `E` in one slot, relative to `|E| = 1`, without that of the argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CircleNoise {
    /// Along the circle.
    pub tangential: Noise,
    /// Across the circle.
    pub radial: Noise,
}

/// The metadata of [`Exponential::apply`]: the scales of its steps, and the level of `E`.
#[derive(Clone, Debug)]
pub(crate) struct ExponentialMeta {
    /// Of `F` after step 1 and after each squaring of step 2; at least one.
    pub(super) scales: Vec<f64>,
    /// Of `F^2` and of `2 - F conj(F)`, if normalised.
    pub(super) factor: Option<f64>,
    /// Of `E`.
    pub scale: f64,
    /// The level of `E`.
    pub level: usize,
}

impl Exponential {
    /// A Chebyshev series and `doublings` squarings, the last one normalised if wanted.
    pub(crate) fn new(
        bound: f64,
        degree: usize,
        doublings: usize,
        normalised: bool,
    ) -> Result<Self> {
        let angle = TAU * bound / (doublings as f64).exp2();
        let sensible = (0.5..=4096.0).contains(&bound)
            && (usize::from(normalised)..=16).contains(&doublings)
            && (1..=255).contains(&degree)
            && angle <= MAX_ANGLE;
        if !sensible {
            return Err(error::params(format!(
                "exponential of |x| <= {bound} by degree {degree} and {doublings} squarings: need \
                 a bound from 1/2 to 4096, a degree from 1 to 255, and squarings that bring \
                     2 pi bound / 2^squarings below {MAX_ANGLE}, at most 16 and one to normalise"
            )));
        }

        // Step 1: exp(i A u) = J_0(A) + 2 sum_k i^k J_k(A) T_k(u), by interpolation in the
        // Chebyshev nodes.
        let coefficient = |k: usize| {
            let term = |j: usize| {
                let theta = PI * (j as f64 + 0.5) / POINTS as f64;
                Complex64::cis(angle * theta.cos()) * (k as f64 * theta).cos()
            };
            let sum: Complex64 = (0..POINTS).map(term).sum();
            let real = sum * (if k == 0 { 1.0 } else { 2.0 } / POINTS as f64);
            // Even coefficients are real, odd ones imaginary.
            if k.is_multiple_of(2) {
                Complex64::from(real.re)
            } else {
                Complex64::new(0.0, real.im)
            }
        };
        let coefficients: Vec<Complex64> = (0..=degree).map(coefficient).collect();

        // Step 2: the error, the sum of the omitted terms. Beyond the angle each is less than half
        // of the one before, so those after the last one here are below the rounding of the others.
        let last = POINTS / 2;
        let tail: f64 = (degree + 1..=(degree + TAIL).max(angle as usize + TAIL).min(last))
            .map(|k| coefficient(k).norm())
            .sum();
        let plan = Plan::chebyshev(&coefficients);
        // A squaring doubles an error and adds its square.
        let error = (0..doublings).fold(tail, |e, _| e * (2.0 + e));
        Ok(Self { bound, doublings, normalised, plan, error })
    }

    /// Bound on the part of the error across the circle.
    pub(crate) fn radial_error(&self) -> f64 {
        if self.normalised { self.error.powi(2) } else { self.error }
    }

    pub(crate) fn depth(&self) -> usize {
        self.plan.depth() + self.doublings + usize::from(self.normalised)
    }

    /// Key switches: relinearizations, and a conjugation for the normalisation.
    pub(crate) fn key_switches(&self) -> usize {
        self.plan.relinearizations + self.doublings + if self.normalised { 3 } else { 0 }
    }

    /// Squarings of step 2.
    pub(crate) fn squarings(&self) -> usize {
        self.doublings - usize::from(self.normalised)
    }

    /// Ciphertexts in memory at once.
    pub(crate) fn width(&self) -> usize {
        self.plan.powers.len() + 4
    }

    /// The metadata of [`apply`](Self::apply) of an argument, for `E` at a scale.
    pub(crate) fn meta(
        &self,
        params: &Params,
        part: &Metadata,
        scale: f64,
    ) -> Result<ExponentialMeta> {
        params.rules().check_levels(self.depth(), part.level)?;
        let drift = drift(params, &self.plan, part.level, part.meta.scale);
        if drift > MAX_DRIFT {
            let level = part.level;
            let [log2_scale, log2_divisor] =
                [part.meta.scale, params.divisor(level)].map(f64::log2);
            let most = MAX_DRIFT;
            return Err(error::drift(level, log2_scale, log2_divisor, drift, most));
        }

        // Scales backward from E: a square at level l has the scale s^2 / divisor(l), so the
        // operand of the step to the scale s has the scale sqrt(s divisor(l)).
        let level = part.level - self.depth();
        let mut below = level;
        let mut before = |after: f64| {
            below += 1;
            (after * params.divisor(below)).sqrt()
        };
        // Step 3.
        let (factor, last) = match self.normalised {
            true => {
                let factor = before(scale);
                (Some(factor), before(factor))
            }
            false => (None, scale),
        };
        // Steps 2 and 1.
        let squarings = self.doublings - usize::from(self.normalised);
        let mut scales = vec![last];
        for _ in 0..squarings {
            let after = scales[scales.len() - 1];
            scales.push(before(after));
        }
        scales.reverse();
        Ok(ExponentialMeta { scales, factor, scale, level })
    }

    /// `E` of a vector with the slots `x / bound`.
    pub(crate) fn apply(
        &self,
        evaluator: &Evaluator,
        part: &Ciphertext,
        meta: &ExponentialMeta,
    ) -> Result<mlwe::Ciphertext> {
        let lattice = evaluator.params().lattice();
        // Step 1: the exponential of the divided angle.
        let mut f = evaluate_plan(evaluator, part, &self.plan, meta.scales[0])?;
        // Step 2: the squarings.
        for _ in &meta.scales[1..] {
            let square = mlwe::Tensor::square(lattice, &f)?;
            f = evaluator.relinearized_divided(square)?;
        }
        let Some(factor) = meta.factor else { return Ok(f) };
        // Step 3: the last squaring, normalised: F^2 (2 - F conj(F)).
        let key = evaluator.keys().conjugation(f.limbs())?;
        let conjugate = key.apply(lattice, &f)?;
        let square = evaluator.relinearized_divided(mlwe::Tensor::square(lattice, &f)?)?;
        let product = mlwe::Tensor::product(lattice, &f, &conjugate)?;
        let mut rest = evaluator.relinearized_divided(product)?;
        rest.neg_assign(lattice)?;
        add_constant(evaluator, &mut rest, 2.0 * factor)?;
        evaluator.relinearized_divided(mlwe::Tensor::product(lattice, &square, &rest)?)
    }

    /// Noise of `E` from the roundings of its steps: averaged over the expected `x`, integers with
    /// the standard deviation `sqrt((weight + 1) / 12)` and any fraction, and a bound for all `x`.
    ///
    /// Let `V` be the variance of one rounding in a slot. Step 1 adds `V` times the squared
    /// derivatives by its intermediate results. Each squaring multiplies the noise by 4 and adds
    /// `V`. A normalisation keeps the part along the circle, multiplied by 4, and adds `3 V` in
    /// both directions. Without it an imaginary error of `x` is one across the circle.
    pub(crate) fn noise(
        &self,
        params: &Params,
        part: &Metadata,
        meta: &ExponentialMeta,
        weight: usize,
    ) -> CircleNoise {
        let rounding = slot_rounding(params);
        let steps = Steps::new(params, &self.plan, part.level, part.meta.scale, meta.scales[0]);
        let spread = 2.0 * (weight as f64 + 1.0) / 12.0 + 1.0 / 6.0;
        // Step 1, averaged over x.
        let (mut total, mut weights) = (0.0, 0.0);
        for i in 0..SAMPLES {
            let u = 2.0 * i as f64 / (SAMPLES - 1) as f64 - 1.0;
            let x = u * self.bound;
            let density = (-x * x / spread).exp();
            let sum = self.plan.derivatives_by(u, &steps).1;
            total += density * sum;
            weights += density;
        }
        // Step 2.
        let largest = self.plan.largest_steps(&steps);
        let mut variance = Noise::varying(total / weights, largest) * rounding;
        for scale in &meta.scales[1..] {
            variance = variance * 4.0 + rounding / (scale * scale);
        }
        let last = rounding / (meta.scale * meta.scale);
        let conjugation = |level, scale: f64| {
            let switched = mlwe::noise::automorphism(params.lattice(), params.limbs_at(level));
            params.lattice().spec().degree as f64 / 2.0 * switched / (scale * scale)
        };
        let Some(factor) = meta.factor else {
            // The conjugation that separates the parts of the slots makes x complex.
            let imaginary = conjugation(part.level, part.meta.scale) * (TAU * self.bound).powi(2);
            return CircleNoise { tangential: variance, radial: variance + imaginary };
        };
        // Step 3.
        let conjugation = conjugation(meta.level + 2, meta.scales[meta.scales.len() - 1]);
        let steps = 2.0 * rounding / (factor * factor) + last + conjugation;
        CircleNoise { tangential: variance * 4.0 + steps, radial: Noise::new(steps) }
    }
}

/// The variance of a part of a slot from one rounding, in units of the phase.
pub(crate) fn slot_rounding(params: &Params) -> f64 {
    params.lattice().spec().degree as f64 / 2.0 * mlwe::noise::rounding(params.lattice())
}

/// Levels of a power series of a degree.
pub(crate) fn series_depth(degree: usize) -> usize {
    power_depth(degree + 1)
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::{
        Bounds, CiphertextMeta, Interval, LevelGroup, ModulusChain, ParamsSpec, Security,
    };

    use super::*;

    /// A series, squared several times.
    #[test]
    fn exponential_by_squarings_has_the_stated_error() {
        // Weight 32: the figures for the degrees in use.
        for (degree, doublings, log2) in
            [(31, 3, -29.2), (23, 4, -33.9), (27, 4, -44.5), (15, 5, -27.3), (47, 2, -27.6)]
        {
            let e = Exponential::new(16.5, degree, doublings, false).unwrap();
            let mut worst: f64 = 0.0;
            for i in -4000..=4000 {
                let x = 16.5 * i as f64 / 4000.0;
                let mut f = e.plan.eval(x / 16.5);
                (0..doublings).for_each(|_| f = f * f);
                worst = worst.max((f - Complex64::cis(TAU * x)).norm());
            }
            assert!(worst <= e.error + 1e-13, "degree {degree}: {worst} {}", e.error);
            assert!(worst.log2() > e.error.log2() - 1.5, "degree {degree}: too wide");
            assert!((worst.log2() - log2).abs() < 0.6, "degree {degree}: 2^{}", worst.log2());
        }
    }

    #[test]
    fn levels_and_switches() {
        let plain = Exponential::new(16.5, 31, 3, false).unwrap();
        let normalised = Exponential::new(16.5, 31, 3, true).unwrap();
        assert_eq!((plain.depth(), plain.key_switches()), (8, 13));
        assert_eq!((normalised.depth(), normalised.key_switches()), (9, 16));
        for (bound, degree, doublings, normalised) in [
            (0.1, 31, 3, false),
            (f64::NAN, 31, 3, false),
            (16.5, 0, 3, false),
            (16.5, 300, 3, false),
            (16.5, 31, 0, true),
            (16.5, 31, 17, false),
            (4096.0, 31, 1, false),
        ] {
            assert!(Exponential::new(bound, degree, doublings, normalised).is_err());
        }
    }

    /// At no argument is the noise along the circle larger than its bound, which is near.
    #[test]
    fn no_argument_exceeds_the_noise_along_the_circle() {
        let params = params();
        let interval = Bounds::all(Interval::between(-1.0, 1.0));
        let (scale, noise) = (params.scale(), Noise::NONE);
        let meta = CiphertextMeta { scale, slots: 256, len: 256, bounds: interval, noise };
        let part = Metadata { level: params.max_level(), meta };
        for (degree, doublings, normalised) in [(31, 3, true), (31, 3, false), (23, 4, true)] {
            let e = Exponential::new(16.5, degree, doublings, normalised).unwrap();
            let meta = e.meta(&params, &part, scale).unwrap();
            let noise = e.noise(&params, &part, &meta, 32);
            // The roundings of step 1, through the squarings and the normalisation.
            let steps = Steps::new(&params, &e.plan, part.level, scale, meta.scales[0]);
            let squarings = meta.scales.len() as i32 - 1 + i32::from(normalised);
            let enlarged = slot_rounding(&params) * 4f64.powi(squarings);
            let at = |i: i32| e.plan.derivatives_by(f64::from(i) / 5e4 - 1.0, &steps).1;
            let largest = (0..=100_000).map(at).fold(0.0, f64::max);
            let (own, bound) = (enlarged * largest, noise.tangential.bound);
            assert!(own <= bound && bound <= 3.0 * own, "{degree}: {own:e} {bound:e}");
            assert!(noise.tangential.total < noise.tangential.peak);
        }
    }

    fn params() -> Params {
        let levels = vec![LevelGroup::single(45, 12)];
        let chain = ModulusChain { degree: 1 << 9, first_bits: 55, levels, special: (50, 2) };
        Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap()
    }
}
