//! The plan of EvalMod: interval, degree, double angles, predicted error.

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use std::f64::consts::{LN_2, TAU};
use std::sync::OnceLock;

use crate::chebyshev::Chebyshev;
use crate::error;
use crate::polynomial::{Plan, Sensitivity, power_depth};
use bellerophon_ckks::Result;

/// Largest degree tried for the polynomial of the cosine.
const MAX_DEGREE: usize = 1022;

/// Degree at which the Chebyshev coefficients of the arcsine are found.
const EXACT_DEGREE: usize = 127;

const MAX_DOUBLINGS: usize = 8;

/// Number of offsets tried, as fractions of the bound.
const OFFSETS: usize = 8;

/// Largest magnitude of [`Mod1Spec::early_bits`].
const MAX_EARLY_BITS: u32 = 400;

/// The price of a bit of precision, in relinearizations.
const BIT_COST: f64 = 2.0;

/// The specification of a homomorphic reduction modulo 1; [`Mod1::new`] finds its polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Mod1Spec {
    /// Number of nonzero coefficients `+-1` of the secret under which the values are reduced.
    pub weight: usize,
    /// `log2` of the probability that one value leaves the interval of approximation; its result is
    /// then arbitrary. -60 or less in presets.
    pub log2_failure: f64,
    /// `log2` of the largest approximation error of the sine, at amplitude 1.
    pub log2_error: f64,
    /// The arcsine that undoes the sine, if wanted.
    pub arcsine: Option<Arcsine>,
    /// Levels beyond the least depth that a plan may take to be cheaper or more precise: a double
    /// angle takes a level and halves the degree.
    pub spare: usize,
    /// `log2` of the scales of `T_2` and of `T_4` relative to that of later steps, which follow
    /// from the sizes of the first levels. The choice of a plan weighs errors by it.
    pub early_bits: [i32; 2],
}

/// A polynomial that maps `sin(2 pi x)` to `2 pi x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arcsine {
    /// Odd degree. An odd degree `d` takes `ceil(log2(d + 1))` levels.
    pub degree: usize,
    /// Largest distance of a value from the nearest integer, below 1/4: the polynomial approximates
    /// the arcsine for `|sin| <= sin(2 pi message)`.
    pub message: f64,
}

impl Arcsine {
    /// The largest error of the polynomial, for an exact sine.
    pub(crate) fn error(self) -> Result<f64> {
        let (_, polynomial, _) = arcsine_plan(self)?;
        Ok(arcsine_error(&polynomial, self.message))
    }
}

/// A plan for `sin(2 pi x)`, or for `2 pi` times `x` reduced modulo 1, over an interval: see the
/// [module](super).
///
/// **Noise.** Every even function of `u` goes through `T_2(u) = 2 u^2 - 1`. An error of `T_2` is
/// multiplied by `A sin(A u) / 4 u` in `cos(A u)`: by up to `A^2 / 4` in the middle of the
/// interval, where most `I` are. The symmetry that makes the polynomial even exists about every
/// integer plus 1/4. The interval is therefore centred on an integer `+ 1/4` instead of 1/4:
/// it is wider (mostly at no extra level), with the frequent values away from its middle. Levels of
/// different sizes achieve more, for the rare `I` as well: with larger scales of `T_2` and of
/// `T_4`, whose error is multiplied by up to `A^2 / 16` ([`Mod1Spec::early_bits`]).
/// [`mean_sensitivity`](Self::mean_sensitivity) averages the effect of the error of every rescale
/// over the expected `x`, and [`apply`](Self::apply) predicts its noise in the same way, with the
/// scale of every rescale.
#[derive(Clone, Debug)]
pub struct Mod1 {
    bound: f64,
    /// Standard deviation of `x`; infinite when nothing is known.
    deviation: f64,
    offset: usize,
    pub(crate) doublings: usize,
    polynomial: Chebyshev,
    /// The plan of that polynomial.
    pub(crate) cosine: Plan,
    /// The error of the cosine of the divided angle.
    pub(crate) cosine_error: f64,
    arcsine: Option<(Arcsine, Chebyshev, Plan)>,
    /// `log2` of the scales of `T_2` and of `T_4` ([`Mod1Spec::early_bits`]).
    pub(crate) early_bits: [i32; 2],
    mean: Sensitivity,
    /// Of [`largest_sensitivity`](Self::largest_sensitivity): the slope, the squared rest.
    pub(super) largest_slope: f64,
    pub(super) largest_squares: OnceLock<f64>,
}

/// Half the width of the interval that contains `x = (b + <a, s>) / q` except with probability
/// `2^log2_failure`, for `a` uniform modulo `q` and a secret of `weight` coefficients `+-1`.
///
/// With `a` centred, `S = <a, s> / q` is a sum of `h = weight` independent uniform numbers of
/// `[-1/2, 1/2]`, and `|b / q| <= 1/2`. Chernoff's bound with the exact moment generating function,
///
/// ```text
/// P(|S| >= t) <= 2 (sinh(v/2) / (v/2))^h exp(-v t)          for every v > 0,
/// ```
///
/// is solved for `t` with the best `v`. (Uniform variables are strictly sub-Gaussian: the bound is
/// below `2 exp(-6 t^2 / h)`, which is that of a normal variable of the same variance `h / 12`.)
pub fn overflow_bound(weight: usize, log2_failure: f64) -> f64 {
    // The failure probability, and the factor 2 for both tails.
    let h = weight as f64;
    let surprise = (1.0 - log2_failure) * LN_2;
    // ln(sinh(y) / y), without overflow.
    let log_sinhc = |y: f64| {
        if y < 1e-3 { y * y / 6.0 } else { y + (-(-2.0 * y).exp()).ln_1p() - (2.0 * y).ln() }
    };
    // The least t at this v.
    let tail = |v: f64| (h * log_sinhc(0.5 * v) + surprise) / v;
    // The tail falls and then rises in v: golden-section search in log v.
    let (mut lo, mut hi) = (1e-4f64.ln(), 1e4f64.ln());
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..200 {
        let (a, b) = (hi - ratio * (hi - lo), lo + ratio * (hi - lo));
        if tail(a.exp()) < tail(b.exp()) { hi = b } else { lo = a }
    }
    // |S| is at most h / 2; the 1/2 is that of b.
    tail((0.5 * (lo + hi)).exp()).min(0.5 * h) + 0.5
}

impl Mod1 {
    /// Finds the cheapest plan of at most [`Mod1Spec::spare`] levels above the least depth.
    ///
    /// # Errors
    /// [`ErrorKind::Parameters`] when the specification is invalid or no plan attains the error.
    pub fn new(spec: &Mod1Spec) -> Result<Self> {
        if spec.weight == 0 || !(-1000.0..0.0).contains(&spec.log2_failure) {
            return Err(error::params(format!(
                "reduction modulo 1: weight {} and failure probability 2^{}: need a weight of at \
                     least 1 and an exponent from -1000 to below 0",
                spec.weight, spec.log2_failure
            )));
        }
        if spec.early_bits.iter().any(|bits| bits.unsigned_abs() > MAX_EARLY_BITS) {
            let reason = format!(
                "reduction modulo 1 with early scales of {:?} bits: need at most {MAX_EARLY_BITS}",
                spec.early_bits
            );
            return Err(error::params(reason));
        }
        let deviation = ((spec.weight as f64 + 1.0) / 12.0).sqrt();
        let bound = overflow_bound(spec.weight, spec.log2_failure);
        Self::build(bound, deviation, spec)
    }

    /// As [`new`](Self::new), for any `|x| <= bound`.
    #[cfg(test)]
    pub(crate) fn within(bound: f64, log2_error: f64, arcsine: Option<Arcsine>) -> Result<Self> {
        let of_bound = Mod1Spec {
            weight: 0,
            log2_failure: f64::NEG_INFINITY,
            log2_error,
            arcsine,
            spare: 0,
            early_bits: [0; 2],
        };
        Self::build(bound, f64::INFINITY, &of_bound)
    }

    /// The cheapest plan for an interval and a standard deviation of `x`, by exhaustive search.
    fn build(bound: f64, deviation: f64, spec: &Mod1Spec) -> Result<Self> {
        let Mod1Spec { log2_error, arcsine, spare, early_bits, .. } = *spec;
        if !(0.25..=1e4).contains(&bound) || !(-45.0..0.0).contains(&log2_error) {
            return Err(error::params(format!(
                "reduction modulo 1 of |x| <= {bound} to an error of 2^{log2_error}: need a bound \
                 from 1/4 to 10^4 and an error from 2^-45 to below 1"
            )));
        }

        // Step 1: for every offset and number of double angles, the polynomial of least degree.
        let arcsine = arcsine.map(arcsine_plan).transpose()?;
        let candidate = |(offset, doublings)| {
            let (polynomial, cosine_error) = cosine(bound, offset, doublings, log2_error)?;
            Some((offset, doublings, polynomial, cosine_error))
        };
        let candidates: Vec<_> = (0..=OFFSETS)
            .map(|i| (bound * i as f64 / OFFSETS as f64) as usize)
            .flat_map(|offset| (0..=MAX_DOUBLINGS).map(move |r| (offset, r)))
            .filter_map(candidate)
            .collect();

        // Step 2: those within `spare` levels of the least depth.
        let depth = |r: usize, p: &Chebyshev| r + power_depth(p.degree() + 1);
        let least = candidates.iter().map(|(_, r, p, _)| depth(*r, p)).min();
        candidates
            .into_iter()
            .filter(|(_, r, p, _)| {
                least.is_some_and(|least| depth(*r, p) <= least.saturating_add(spare))
            })
            // Step 3: their plans and sensitivities; the least burden wins.
            .map(|(offset, doublings, polynomial, cosine_error)| {
                let mut plan = Self {
                    bound,
                    deviation,
                    offset,
                    doublings,
                    cosine: Plan::new(&polynomial),
                    polynomial,
                    cosine_error,
                    arcsine: arcsine.clone(),
                    early_bits,
                    mean: Sensitivity::IDENTITY,
                    largest_slope: 0.0,
                    largest_squares: OnceLock::new(),
                };
                plan.mean = plan.averaged_sensitivity();
                plan
            })
            .min_by(|x, y| x.burden().total_cmp(&y.burden()))
            .map(|plan| Self { largest_slope: plan.steepest(), ..plan })
            .ok_or_else(|| {
                error::params(format!(
                    "reduction modulo 1 of |x| <= {bound:.1}: no polynomial of degree up to \
                     {MAX_DEGREE} attains an error of 2^{log2_error}: allow a larger error or use \
                     a secret of smaller weight"
                ))
            })
    }

    /// The cost that the chosen plan minimises: work, and bits lost to noise at [`BIT_COST`] each.
    fn burden(&self) -> f64 {
        let noise = self.mean.input.hypot(self.mean.steps);
        self.cosine.cost() + self.doublings as f64 + BIT_COST * noise.log2()
    }

    /// The largest distance of an expected `x` from an integer.
    pub(super) fn message(&self) -> f64 {
        self.arcsine.as_ref().map_or(0.25, |a| a.0.message)
    }

    /// Largest valid `|x|`: `K + 1/2` in the literature.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The input slots are `t = x / width()`; the linear map before can include the division at no
    /// cost. `|t| < 1` for `|x| <= bound()`.
    pub fn width(&self) -> f64 {
        self.bound + self.offset as f64 + 0.25
    }

    /// The argument of the polynomial is `t - shift()`.
    pub(crate) fn shift(&self) -> f64 {
        (self.offset as f64 + 0.25) / self.width()
    }

    /// Levels of the reduction.
    pub fn depth(&self) -> usize {
        self.cosine.depth() + self.doublings + self.arcsine.as_ref().map_or(0, |a| a.2.depth())
    }

    /// Degree of the polynomial for the cosine of the divided angle.
    pub(crate) fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    pub(crate) fn arcsine(&self) -> Option<&Plan> {
        self.arcsine.as_ref().map(|a| &a.2)
    }

    pub(super) fn arcsine_polynomial(&self) -> Option<&Chebyshev> {
        self.arcsine.as_ref().map(|a| &a.1)
    }

    /// Relinearizations, most of the work.
    pub(crate) fn relinearizations(&self) -> usize {
        let arcsine = self.arcsine.as_ref().map_or(0, |a| a.2.relinearizations);
        self.cosine.relinearizations + self.doublings + arcsine
    }

    /// Bound on the error of the sine for `|x| <= bound()`, without noise.
    ///
    /// The series of the cosine has a certified error `e` ([`Chebyshev::cosine`]); `r` double
    /// angles are the map `T_{2^r}`, whose slope is at most `4^r`: `4^r e`. The slope is attained
    /// where the divided angle is a multiple of `pi` only.
    pub(crate) fn sine_error(&self) -> f64 {
        self.cosine_error * 4f64.powi(self.doublings as i32)
    }

    /// Bound on the difference of the result from `sin(2 pi x)`, or, with an arcsine, from `2 pi`
    /// times the distance of `x` from the nearest integer, for distances up to `message`; without
    /// noise.
    pub fn approximation_error(&self) -> f64 {
        let Some((Arcsine { message, .. }, p, _)) = &self.arcsine else { return self.sine_error() };
        // The inverse has slope 1 / cos(2 pi message) at most there.
        let slope = 1.0 / (TAU * message).cos();
        slope * self.sine_error() + arcsine_error(p, *message)
    }

    /// Bound on the magnitude of the result.
    pub(crate) fn magnitude(&self) -> f64 {
        match &self.arcsine {
            None => 1.0 + self.sine_error(),
            Some((_, p, _)) => p.bound() + self.sine_error(),
        }
    }

    /// The result of [`apply`](Self::apply) in the clear, for one `x`.
    #[cfg(test)]
    pub(crate) fn eval(&self, x: f64) -> f64 {
        let mut c = self.cosine.eval(x / self.width() - self.shift()).re;
        for _ in 0..self.doublings {
            c = 2.0 * c * c - 1.0;
        }
        self.arcsine.as_ref().map_or(c, |(_, _, plan)| plan.eval(c).re)
    }

    /// The effect on the result of errors of the input slots `t` and of the rescales, at `x`.
    /// Errors of `T_2` and `T_4` count by their scales ([`Mod1Spec::early_bits`]).
    #[cfg(test)]
    pub(crate) fn sensitivity(&self, x: f64) -> Sensitivity {
        self.sensitivity_with(&self.plain_scales(), x)
    }

    /// Root mean square of the sensitivity over the expected `x`: within 1/4 of the integers
    /// (`message` with an arcsine), the integers distributed normally with the variance
    /// `(weight + 1) / 12`, or evenly when only the bound is known.
    pub fn mean_sensitivity(&self) -> Sensitivity {
        self.mean
    }

    /// [`mean_sensitivity`](Self::mean_sensitivity).
    fn averaged_sensitivity(&self) -> Sensitivity {
        let (mut input, mut steps) = (0.0, 0.0);
        let scales = self.plain_scales();
        for (x, weight) in self.expected() {
            let s = self.sensitivity_with(&scales, x);
            input += weight * s.input * s.input;
            steps += weight * s.steps * s.steps;
        }
        Sensitivity { input: input.sqrt(), steps: steps.sqrt() }
    }

    /// Points of the expected distribution of `x` and their weights, whose sum is 1: every integer
    /// and the two ends of the message about it.
    pub(super) fn expected(&self) -> Vec<(f64, f64)> {
        let message = self.message();
        let last = self.bound.floor() as i64;
        let about = |integer: i64| {
            let weight = (-0.5 * (integer as f64 / self.deviation).powi(2)).exp();
            [-message, 0.0, message].map(|part| (integer as f64 + part, weight))
        };
        let mut points: Vec<_> =
            (-last..=last).flat_map(about).filter(|(x, _)| x.abs() <= self.bound).collect();
        let sum: f64 = points.iter().map(|(_, weight)| weight).sum();
        points.iter_mut().for_each(|(_, weight)| *weight /= sum);
        points
    }
}

/// The polynomial of least degree for `cos(2 pi u / 2^r)`, `|u| <= bound + offset + 1/4`, that
/// leaves an error of `2^log2_error` after `r` double angles, and its own error.
fn cosine(bound: f64, offset: usize, r: usize, log2_error: f64) -> Option<(Chebyshev, f64)> {
    let angle = TAU * (bound + offset as f64 + 0.25) / 2f64.powi(r as i32);
    let allowed = log2_error.exp2() / 4f64.powi(r as i32);
    // The coefficients fall fast beyond the angle and not before.
    let first = (angle as usize & !1).max(2);
    (first..=MAX_DEGREE)
        .step_by(2)
        .map(|degree| Chebyshev::cosine(angle, degree))
        .find(|(_, error)| *error <= allowed)
}

/// The polynomial for the arcsine in the Chebyshev basis of `[-1, 1]`, where the sine lies.
fn arcsine_plan(arcsine: Arcsine) -> Result<(Arcsine, Chebyshev, Plan)> {
    let Arcsine { degree, message } = arcsine;
    if degree % 2 == 0 || degree > 63 || !(0.001..0.25).contains(&message) {
        return Err(error::params(format!(
            "arcsine of degree {degree} for values within {message} of the integers: need an \
                 odd degree up to 63 and a distance from 0.001 to below 0.25"
        )));
    }
    let largest = (TAU * message).sin();
    let near = Chebyshev::interpolate(f64::asin, -largest, largest, degree);
    // The same polynomial in another basis: interpolation of the degree is exact.
    let wide = Chebyshev::interpolate(|s| near.eval(s), -1.0, 1.0, degree);
    let odd = |(k, &c): (usize, &f64)| if k % 2 == 1 { c } else { 0.0 };
    let p = Chebyshev::new(-1.0, 1.0, wide.coefficients.iter().enumerate().map(odd).collect());
    let plan = Plan::new(&p);
    Ok((arcsine, p, plan))
}

/// A bound on the error of the arcsine's polynomial for angles up to `2 pi message`.
///
/// Let `c_k` be the Chebyshev coefficients of the arcsine over `[-l, l]`, `l = sin(2 pi message)`.
/// They are not negative, since the coefficients of its power series are not: those beyond the
/// degree `d` have the sum `asin(l) - sum_{k <= d} c_k`. Interpolation turns each `T_k` beyond `d`
/// into one up to it, so its error is at most twice that sum, which is nearly attained at `l`. The
/// `c_k` are those of a high degree, which the coefficients beyond that one lower.
fn arcsine_error(p: &Chebyshev, message: f64) -> f64 {
    let largest = (TAU * message).sin();
    let exact = Chebyshev::interpolate(f64::asin, -largest, largest, EXACT_DEGREE);
    let kept: f64 = exact.coefficients.iter().take(p.degree() + 1).sum();
    let rounding = (p.degree() + 1) as f64 * f64::EPSILON * p.bound();
    2.0 * (TAU * message - kept).max(0.0) + rounding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::common::mod1_spec as spec;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn overflow_bound_holds_and_is_near_the_normal_tail() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let draws = 200_000;
        for (weight, log2_failure) in [(1, -3.0), (8, -5.0), (64, -10.0), (64, -4.0)] {
            let bound = overflow_bound(weight, log2_failure);
            let beyond = (0..draws)
                .filter(|_| {
                    let s: f64 = (0..weight).map(|_| rng.random_range(-0.5..0.5)).sum();
                    s.abs() > bound - 0.5
                })
                .count();
            assert!((beyond as f64) <= draws as f64 * log2_failure.exp2(), "weight {weight}");
        }
        // Nine standard deviations leave 2^-62 of a normal variable; uniform ones have less.
        for weight in [64, 128, 192, 683] {
            let deviations = (overflow_bound(weight, -60.0) - 0.5) / (weight as f64 / 12.0).sqrt();
            assert!((8.4..9.3).contains(&deviations), "weight {weight}: {deviations}");
        }
        // A single coefficient cannot exceed 1/2 at all.
        assert_eq!(overflow_bound(1, -60.0), 1.0);
    }

    #[test]
    fn plans_for_the_weights_in_use() {
        for (weight, bound, depth) in [(32, 13.4, 7), (64, 20.3, 8), (128, 29.6, 8), (192, 36.5, 9)]
        {
            let plan = Mod1::new(&spec(weight)).unwrap();
            assert!(plan.bound() < bound, "weight {weight}: |x| <= {}", plan.bound());
            assert_eq!(plan.depth(), depth, "weight {weight}");
            assert!(plan.relinearizations() <= 18, "weight {weight}: {plan:?}");
        }
        let dense = Mod1::new(&spec(683)).unwrap();
        assert!(dense.bound() < 69.5 && dense.depth() == 9);
    }

    #[test]
    fn result_is_the_sine_within_the_stated_error() {
        for weight in [8, 64, 192] {
            let plan = Mod1::new(&spec(weight)).unwrap();
            let error = (0..=100_000)
                .map(|i| plan.bound() * (i as f64 / 50_000.0 - 1.0))
                .map(|x| (plan.eval(x) - (TAU * x).sin()).abs())
                .fold(0.0, f64::max);
            assert!(plan.approximation_error() <= 2f64.powi(-24));
            assert!(error <= plan.approximation_error() + 1e-12, "weight {weight}: {error}");
            assert!(3.0 * error > plan.approximation_error(), "weight {weight}: {error}");
        }
    }

    #[test]
    fn a_spare_level_makes_plans_cheaper_and_more_precise() {
        let least = Mod1::new(&Mod1Spec { log2_error: -32.0, ..spec(32) }).unwrap();
        let spare = Mod1::new(&Mod1Spec { log2_error: -32.0, spare: 1, ..spec(32) }).unwrap();
        assert_eq!(spare.depth(), least.depth() + 1);
        assert!(spare.relinearizations() < least.relinearizations());
        assert!(2.0 * spare.mean_sensitivity().steps < least.mean_sensitivity().steps);
    }

    #[test]
    fn arcsine_restores_the_identity() {
        for (degree, message, good) in [(3, 0.02, 1e-6), (7, 0.05, 1e-8), (15, 0.125, 1e-7)] {
            let arcsine = Some(Arcsine { degree, message });
            let plan = Mod1::new(&Mod1Spec { arcsine, log2_error: -32.0, ..spec(64) }).unwrap();
            let bare = Mod1::new(&Mod1Spec { log2_error: -32.0, ..spec(64) }).unwrap();
            let extra = ((degree + 1) as f64).log2().ceil() as usize;
            assert_eq!(plan.depth(), bare.depth() + extra);
            assert!(plan.approximation_error() < good, "{}", plan.approximation_error());
            for i in -500..=500 {
                let m = message * i as f64 / 500.0;
                let error = (plan.eval(m + (i % 17) as f64) - TAU * m).abs();
                assert!(error <= plan.approximation_error(), "degree {degree} at {m}: {error}");
            }
        }
    }

    /// An offset lowers it.
    #[test]
    fn sensitivity_is_the_slope_of_the_sine() {
        let plan = Mod1::new(&spec(64)).unwrap();
        for i in -40..=40 {
            let x = 0.53 * i as f64;
            let slope = TAU * plan.width() * (TAU * x).cos();
            if x.abs() < plan.bound() {
                assert!((plan.sensitivity(x).input - slope).abs() < 1e-2);
            }
        }
        let plan = Mod1::new(&spec(192)).unwrap();
        assert!(plan.offset > 0 && plan.mean_sensitivity().steps < 400.0);
        // Without it the middle of the interval costs (2 pi width)^2 / 4.
        assert!(plan.sensitivity(plan.offset as f64).steps > 8000.0);
    }

    #[test]
    fn senseless_specifications_are_refused() {
        assert!(Mod1::new(&Mod1Spec { weight: 0, ..spec(64) }).is_err());
        assert!(Mod1::new(&Mod1Spec { log2_failure: 1.0, ..spec(64) }).is_err());
        assert!(Mod1::new(&Mod1Spec { log2_failure: f64::NAN, ..spec(64) }).is_err());
        assert!(Mod1::new(&Mod1Spec { early_bits: [-401, 0], ..spec(64) }).is_err());
        assert!(Mod1::new(&Mod1Spec { early_bits: [0, i32::MIN], ..spec(64) }).is_err());
        assert!(Mod1::within(f64::NAN, -20.0, None).is_err());
        assert!(Mod1::within(1e5, -20.0, None).is_err());
        for (degree, message) in [(4, 0.1), (99, 0.1), (3, 0.25), (3, f64::NAN)] {
            assert!(Mod1::within(16.0, -20.0, Some(Arcsine { degree, message })).is_err());
        }
    }

    /// The bound on the error of the arcsine holds at every angle, and is attained.
    #[test]
    fn errors_of_arcsines_are_bounds() {
        for (degree, message) in [(1, 0.01), (3, 0.02), (5, 0.1), (7, 0.033), (15, 0.2), (31, 0.2)]
        {
            let (_, p, _) = arcsine_plan(Arcsine { degree, message }).unwrap();
            let bound = arcsine_error(&p, message);
            let error = |i: i32| {
                let angle = TAU * message * f64::from(i) / 1e5;
                (p.eval(angle.sin()) - angle).abs()
            };
            let seen = (0..=100_000).map(error).fold(0.0, f64::max);
            assert!(seen <= bound && bound < 1.05 * seen + 1e-13, "{degree}: {seen:e} {bound:e}");
        }
    }
}
