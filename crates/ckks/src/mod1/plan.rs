//! Choosing the approximation: interval, degree, double angles, predicted error.

use std::f64::consts::{LN_2, TAU};

use crate::chebyshev::Chebyshev;
use crate::polynomial::{Plan, Sensitivity, power_depth};
use crate::{Error, Result};

/// Largest degree of the cosine's polynomial that is tried.
const MAX_DEGREE: usize = 1022;

/// Most double-angle steps that are tried.
const MAX_DOUBLINGS: usize = 8;

/// What a homomorphic reduction modulo 1 must cope with and attain.
#[derive(Clone, Debug, PartialEq)]
pub struct Mod1Spec {
    /// Number of nonzero coefficients `+-1` of the secret under which the values are reduced.
    pub weight: usize,
    /// `log2` of the probability that a value leaves the interval of approximation (the result is
    /// then garbage), for one value: -60 or less for presets.
    pub log2_failure: f64,
    /// `log2` of the largest error of the sine that the approximation may make, at amplitude 1.
    pub log2_error: f64,
    /// Whether to undo the sine afterwards, and where.
    pub arcsine: Option<Arcsine>,
}

/// A polynomial that turns `sin(2 pi x)` back into `2 pi x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arcsine {
    /// Odd degree. An odd degree `d` takes `ceil(log2(d + 1))` levels.
    pub degree: usize,
    /// Largest distance of a value from the nearest integer, below 1/4: the polynomial is good
    /// for `|sin| <= sin(2 pi message)`.
    pub message: f64,
}

/// A plan for evaluating `sin(2 pi x)` (or `2 pi` times `x` reduced modulo 1) for all `x` that
/// occur: see the [module](super).
#[derive(Clone, Debug)]
pub struct Mod1 {
    bound: f64,
    /// Standard deviation of `x`; infinite when nothing is known.
    deviation: f64,
    doublings: usize,
    polynomial: Chebyshev,
    cosine: Plan,
    cosine_error: f64,
    arcsine: Option<(Arcsine, Chebyshev, Plan)>,
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
    let h = weight as f64;
    let surprise = (1.0 - log2_failure) * LN_2;
    // ln(sinh(y) / y), without overflow.
    let log_sinhc =
        |y: f64| if y < 1e-3 { y * y / 6.0 } else { y + (-(-2.0 * y).exp()).ln_1p() - (2.0 * y).ln() };
    let tail = |v: f64| (h * log_sinhc(0.5 * v) + surprise) / v;
    // The tail falls and then rises in v: golden-section search in log v.
    let (mut lo, mut hi) = (1e-4f64.ln(), 1e4f64.ln());
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..200 {
        let (a, b) = (hi - ratio * (hi - lo), lo + ratio * (hi - lo));
        if tail(a.exp()) < tail(b.exp()) { hi = b } else { lo = a }
    }
    tail((0.5 * (lo + hi)).exp()).min(0.5 * h) + 0.5
}

impl Mod1 {
    /// Finds the plan of least depth, and among those the one of least cost.
    ///
    /// # Errors
    /// [`Error::Params`] when the specification makes no sense or no plan attains the error.
    pub fn new(spec: &Mod1Spec) -> Result<Self> {
        if spec.weight == 0 || !(-1000.0..0.0).contains(&spec.log2_failure) {
            return Err(Error::Params {
                reason: format!(
                    "reduction modulo 1: weight {} and failure probability 2^{}: need a weight of at \
                     least 1 and an exponent from -1000 to below 0",
                    spec.weight, spec.log2_failure
                ),
            });
        }
        let deviation = ((spec.weight + 1) as f64 / 12.0).sqrt();
        let bound = overflow_bound(spec.weight, spec.log2_failure);
        Self::build(bound, deviation, spec.log2_error, spec.arcsine)
    }

    /// As [`new`](Self::new), for any `|x| <= bound`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(bound: f64, log2_error: f64, arcsine: Option<Arcsine>) -> Result<Self> {
        Self::build(bound, f64::INFINITY, log2_error, arcsine)
    }

    fn build(
        bound: f64,
        deviation: f64,
        log2_error: f64,
        arcsine: Option<Arcsine>,
    ) -> Result<Self> {
        let refuse = |reason: String| Error::Params { reason };
        if !(0.25..=1e4).contains(&bound) || !(-45.0..0.0).contains(&log2_error) {
            return Err(refuse(format!(
                "reduction modulo 1 of |x| <= {bound} to an error of 2^{log2_error}: need a bound \
                 from 1/4 to 10^4 and an error from 2^-45 to below 1"
            )));
        }
        let arcsine = arcsine.map(arcsine_plan).transpose()?;
        let candidates = (0..=MAX_DOUBLINGS).filter_map(|r| cosine_plan(bound, r, log2_error));
        let (doublings, (polynomial, cosine, cosine_error)) = candidates
            .min_by(|(r, x), (s, y)| {
                let depth = |r: &usize, plan: &Plan| r + plan.depth();
                let cost = |r: &usize, plan: &Plan| *r as f64 + plan.cost();
                depth(r, &x.1).cmp(&depth(s, &y.1)).then(cost(r, &x.1).total_cmp(&cost(s, &y.1)))
            })
            .ok_or_else(|| {
                refuse(format!(
                    "reduction modulo 1 of |x| <= {bound:.1}: no polynomial of degree up to \
                     {MAX_DEGREE} attains an error of 2^{log2_error}: allow a larger error or use a \
                     secret of smaller weight"
                ))
            })?;
        Ok(Self { bound, deviation, doublings, polynomial, cosine, cosine_error, arcsine })
    }

    /// Largest `|x|` for which the result means anything: `K + 1/2` of the literature.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The input slots are `t = x / width()`; the linear map before can do that for nothing.
    /// `|t| < 1` for `|x| <= bound()`.
    pub fn width(&self) -> f64 {
        self.bound + 0.25
    }

    /// Levels taken.
    pub fn depth(&self) -> usize {
        self.cosine.depth() + self.doublings + self.arcsine.as_ref().map_or(0, |a| a.2.depth())
    }

    /// Double-angle steps.
    pub fn doublings(&self) -> usize {
        self.doublings
    }

    /// Degree of the polynomial for the cosine of the divided angle.
    pub fn degree(&self) -> usize {
        self.polynomial.degree()
    }

    /// The plan of that polynomial.
    pub fn cosine(&self) -> &Plan {
        &self.cosine
    }

    /// The plan of the arcsine, if there is one.
    pub fn arcsine(&self) -> Option<&Plan> {
        self.arcsine.as_ref().map(|a| &a.2)
    }

    /// Relinearisations, which is most of the work.
    pub fn relinearisations(&self) -> usize {
        let arcsine = self.arcsine.as_ref().map_or(0, |a| a.2.relinearisations());
        self.cosine.relinearisations() + self.doublings + arcsine
    }

    /// Bound on the error of the sine for `|x| <= bound()`, noise apart.
    ///
    /// The series of the cosine has a certified error `e` ([`Chebyshev::cosine`]); `r` double
    /// angles are the map `T_{2^r}`, whose slope is at most `4^r`: `4^r e`. The slope is attained
    /// where the divided angle is a multiple of `pi` only.
    pub fn sine_error(&self) -> f64 {
        self.cosine_error * 4f64.powi(self.doublings as i32)
    }

    /// Bound on the difference of the result from `sin(2 pi x)`, or, with an arcsine, from `2 pi`
    /// times the distance of `x` from the nearest integer, as long as that is within `message`;
    /// noise apart.
    pub fn approximation_error(&self) -> f64 {
        let Some((Arcsine { message, .. }, p, _)) = &self.arcsine else { return self.sine_error() };
        // The inverse has slope 1 / cos(2 pi message) at most there.
        let slope = 1.0 / (TAU * message).cos();
        slope * self.sine_error() + arcsine_error(p, *message)
    }

    /// Bound on the magnitude of the result.
    pub fn magnitude(&self) -> f64 {
        match &self.arcsine {
            None => 1.0 + self.sine_error(),
            Some((_, p, _)) => p.bound() + self.sine_error(),
        }
    }

    /// The result without encryption: what [`apply`](Self::apply) computes, for one `x`.
    pub fn eval(&self, x: f64) -> f64 {
        let mut c = self.cosine.eval((x - 0.25) / self.width());
        for _ in 0..self.doublings {
            c = 2.0 * c * c - 1.0;
        }
        self.arcsine.as_ref().map_or(c, |(_, _, plan)| plan.eval(c))
    }

    /// How errors of the input slots `t` and of the rescalings on the way show in the result.
    pub fn sensitivity(&self, x: f64) -> Sensitivity {
        let u = (x - 0.25) / self.width();
        let mut sensitivity = self.cosine.sensitivity(u);
        let mut c = self.cosine.eval(u);
        for _ in 0..self.doublings {
            sensitivity = sensitivity.then(Sensitivity { input: 4.0 * c, steps: 1.0 });
            c = 2.0 * c * c - 1.0;
        }
        match &self.arcsine {
            None => sensitivity,
            Some((_, _, plan)) => sensitivity.then(plan.sensitivity(c)),
        }
    }

    /// Root mean square of [`sensitivity`](Self::sensitivity) over the `x` that occur: within 1/4
    /// of the integers (`message` with an arcsine), these distributed normally with the variance
    /// `(weight + 1) / 12`, or evenly when only the bound is known.
    pub fn mean_sensitivity(&self) -> Sensitivity {
        let message = self.arcsine.as_ref().map_or(0.25, |a| a.0.message);
        let (mut weights, mut input, mut steps) = (0.0, 0.0, 0.0);
        let last = self.bound.floor() as i64;
        for integer in -last..=last {
            let weight = (-0.5 * (integer as f64 / self.deviation).powi(2)).exp();
            for i in -4..=4 {
                let x = integer as f64 + message * i as f64 / 4.0;
                if x.abs() > self.bound {
                    continue;
                }
                let s = self.sensitivity(x);
                weights += weight;
                input += weight * s.input * s.input;
                steps += weight * s.steps * s.steps;
            }
        }
        Sensitivity { input: (input / weights).sqrt(), steps: (steps / weights).sqrt() }
    }
}

/// The polynomial of least degree for `cos(2 pi u / 2^r)`, `|u| <= bound + 1/4`, that leaves an
/// error of `2^log2_error` after `r` double angles, its plan, and its own error.
fn cosine_plan(bound: f64, r: usize, log2_error: f64) -> Option<(usize, (Chebyshev, Plan, f64))> {
    let angle = TAU * (bound + 0.25) / 2f64.powi(r as i32);
    let allowed = log2_error.exp2() / 4f64.powi(r as i32);
    // The terms fall fast beyond the angle and not at all before.
    let first = (angle as usize & !1).max(2);
    let (degree, (polynomial, error)) = (first..=MAX_DEGREE)
        .step_by(2)
        .map(|degree| (degree, Chebyshev::cosine(angle, degree)))
        .find(|(_, (_, error))| *error <= allowed)?;
    debug_assert_eq!(polynomial.degree(), degree);
    let plan = Plan::new(&polynomial);
    debug_assert_eq!(plan.depth(), power_depth(degree + 1));
    Some((r, (polynomial, plan, error)))
}

/// The polynomial for the arcsine over `[-sin(2 pi message), sin(2 pi message)]`, in the Chebyshev
/// basis of `[-1, 1]`, where the sine lies.
fn arcsine_plan(arcsine: Arcsine) -> Result<(Arcsine, Chebyshev, Plan)> {
    let Arcsine { degree, message } = arcsine;
    if degree % 2 == 0 || degree > 63 || !(0.001..0.25).contains(&message) {
        return Err(Error::Params {
            reason: format!(
                "arcsine of degree {degree} for values within {message} of the integers: need an \
                 odd degree up to 63 and a distance from 0.001 to below 0.25"
            ),
        });
    }
    let largest = (TAU * message).sin();
    let near = Chebyshev::interpolate(f64::asin, -largest, largest, degree);
    // The same polynomial in another basis: interpolation of the degree is exact.
    let wide = Chebyshev::interpolate(|s| near.eval(s), -1.0, 1.0, degree);
    let odd = |(k, &c): (usize, &f64)| if k % 2 == 1 { c } else { 0.0 };
    let p = Chebyshev::new(-1.0, 1.0, wide.coefficients().iter().enumerate().map(odd).collect());
    let plan = Plan::new(&p);
    Ok((arcsine, p, plan))
}

/// Largest error of the arcsine's polynomial for angles up to `2 pi message`, sampled.
fn arcsine_error(p: &Chebyshev, message: f64) -> f64 {
    (0..=1000)
        .map(|i| TAU * message * i as f64 / 1000.0)
        .map(|angle| (p.eval(angle.sin()) - angle).abs())
        .fold(0.0, f64::max)
}
