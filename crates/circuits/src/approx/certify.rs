//! Certified bounds on the error of a polynomial over a whole domain, not only at sample points.
//!
//! ```text
//! Step 1:  a proxy of high degree replaces the function, up to a known error near rounding
//! Step 2:  the difference of two polynomials is sampled; its curvature bounds it between samples
//! ```
//!
//! Step 1: a function bounded by `M` in the Bernstein ellipse of parameter `rho` is interpolated in
//! the `D + 1` Chebyshev nodes with an error of at most `4 M rho^-D / (rho - 1)` (Trefethen,
//! "Approximation Theory and Approximation Practice", theorem 8.2). Step 2: between two samples the
//! difference exceeds both by at most the curvature that its coefficients allow
//! ([`Chebyshev::extremes`]). The coefficients of the difference are as small as the error, so the
//! bound is one or two percent above the true error.

use std::f64::consts::PI;

use super::function::{Ellipse, Function};
use crate::chebyshev::Chebyshev;

/// Largest degree of a proxy.
const MAX_PROXY: usize = 2048;

/// The error of the proxy, in units of the error to certify.
const PROXY_SHARE: f64 = 1.0 / 4096.0;

/// The relative excess of a bound over the largest sample.
const LOOSENESS: f64 = 2e-3;

/// Largest number of samples.
const MAX_SAMPLES: f64 = 262_144.0;

/// Least and largest number of samples of functions with a bound on their slope only.
const SLOPE_SAMPLES: [f64; 2] = [131_072.0, 1_048_576.0];

/// The excess of a bound by slope over the largest sample, in units of the error to certify.
pub(super) const SLOPE_SHARE: f64 = 0.1;

/// Rounding of a value by Clenshaw's recurrence and of a coefficient by interpolation, in units of
/// `f64::EPSILON` times the degree times the sum of the coefficients.
const ROUNDING: f64 = 4.0;

/// A polynomial with a bound on its difference from a function.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    pub(crate) polynomial: Chebyshev,
    /// Bound on the difference from the function.
    pub(crate) error: f64,
}

impl Proxy {
    /// The proxy of least degree that can certify `error`; `None` when the function is not analytic
    /// in a large enough ellipse, or `error` is too close to the rounding of `f64`.
    pub(crate) fn new(f: &Function, lo: f64, hi: f64, error: f64) -> Option<Self> {
        let target = error * PROXY_SHARE;
        // Step 1: bounds on ellipses, rho - 1 in geometric steps as far as the function is bounded.
        let ellipses: Vec<(f64, f64)> = (0..160)
            .map(|i| 1.0 + 1e-3 * (i as f64 * 0.0625).exp2())
            .map_while(|rho| Some((rho, f.bound(&Ellipse::new(lo, hi, rho))?)))
            .collect();
        // Step 2: the least bound over all ellipses, and the least degree that meets the target.
        let tail = |degree: usize| {
            ellipses
                .iter()
                .map(|&(rho, m)| (4.0 * m / (rho - 1.0)).ln() - degree as f64 * rho.ln())
                .fold(f64::INFINITY, f64::min)
                .exp()
        };
        let degree = (1..=MAX_PROXY).find(|&d| tail(d) <= target)?;
        let polynomial = f.guarded(|value| Chebyshev::interpolate(value, lo, hi, degree))?;
        let error = tail(degree) + rounding(&polynomial);
        Some(Self { polynomial, error })
    }

    /// The coefficients up to `degree`: at most about twice the minimax error.
    pub(crate) fn truncated(&self, degree: usize) -> Chebyshev {
        let all = &self.polynomial.coefficients;
        let kept = all[..all.len().min(degree + 1)].to_vec();
        Chebyshev::new(self.polynomial.lo, self.polynomial.hi, kept)
    }

    /// A bound on the difference of the function from `p`, a polynomial over the same domain.
    pub(crate) fn certify(&self, p: &Chebyshev) -> f64 {
        debug_assert_eq!((p.lo, p.hi), (self.polynomial.lo, self.polynomial.hi));
        let (ours, theirs) = (&self.polynomial.coefficients, &p.coefficients);
        let at = |c: &[f64], k: usize| c.get(k).copied().unwrap_or(0.0);
        let difference = (0..ours.len().max(theirs.len())).map(|k| at(ours, k) - at(theirs, k));
        let difference = Chebyshev::new(p.lo, p.hi, difference.collect());
        supremum(&difference) + rounding(p) + self.error
    }
}

/// A bound on `|p|` over its domain.
fn supremum(p: &Chebyshev) -> f64 {
    // The largest value is at least the root mean square in the Chebyshev measure.
    let squares: f64 = p.coefficients.iter().map(|c| 0.5 * c * c).sum();
    let (least, most) = p.extremes(p.lo, p.hi, samples(p, LOOSENESS * squares.sqrt()));
    most.max(-least)
}

/// The number of samples of `p` between which it exceeds them by at most `excess`.
fn samples(p: &Chebyshev, excess: f64) -> usize {
    let terms = p.coefficients.iter().enumerate();
    let curvature: f64 = terms.map(|(k, c)| (k * k) as f64 * c.abs()).sum();
    let samples = PI * (curvature / (8.0 * excess)).sqrt();
    let least = 4.0 * (p.degree() + 1) as f64;
    // For the zero polynomial this is NaN, which the cast makes zero.
    samples.clamp(least, MAX_SAMPLES.max(least)) as usize + 1
}

/// An interval that contains `p` over `[lo, hi]`, a part of its domain, up to about `excess`. The
/// polynomial is rewritten for that part, where its coefficients are as small as its variation.
pub(crate) fn range_within(p: &Chebyshev, lo: f64, hi: f64, excess: f64) -> (f64, f64) {
    let middle = p.eval(0.5 * (lo + hi));
    let part = Chebyshev::interpolate(|x| p.eval(x) - middle, lo, hi, p.degree());
    let (least, most) = part.extremes(lo, hi, samples(&part, excess));
    let slack = rounding(p) + rounding(&part);
    (middle + least - slack, middle + most + slack)
}

/// A bound on the difference of `p` from a function of slope at most `slope`, by samples as dense
/// as it takes to certify an error of `wanted`, or as many as there may be.
pub(crate) fn by_slope(f: &Function, slope: f64, p: &Chebyshev, wanted: f64) -> f64 {
    let [least, most] = SLOPE_SAMPLES;
    let samples = 0.5 * PI * p.difference_slope(slope) / (SLOPE_SHARE * wanted);
    let certified = p.certified_error(|x| f.value(x), slope, samples.clamp(least, most) as usize);
    let slopes = slope + p.largest_slope() / (0.5 * (p.hi - p.lo));
    certified + rounding(p) + slopes * misplacement(p.lo, p.hi)
}

/// A bound on the distance of a sample of `[lo, hi]` from its place `middle + radius cos(a)` by
/// rounding: of the middle and of the sum, up to `f64::EPSILON` times the farthest point, and of
/// radius, angle, cosine and product. It is large in a narrow domain far from zero.
pub(crate) fn misplacement(lo: f64, hi: f64) -> f64 {
    let (farthest, radius) = (lo.abs().max(hi.abs()), 0.5 * (hi - lo));
    f64::EPSILON * (2.0 * farthest + 4.0 * radius)
}

pub(crate) fn rounding(p: &Chebyshev) -> f64 {
    ROUNDING * f64::EPSILON * (p.degree() + 1) as f64 * p.bound()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approx::Known;

    #[test]
    fn certificates_are_above_the_truth_and_near_it() {
        for (f, lo, hi) in [
            (Function::from(Known::Sigmoid), -8.0, 8.0),
            (Function::from(Known::Exp), -2.0, 5.0),
            (Function::from(Known::Inverse), 0.25, 4.0),
            (Function::from(Known::Sqrt), 0.1, 1.0),
            (Function::from(Known::Ln), 0.5, 6.0),
            (Function::from(Known::Gelu), -4.0, 4.0),
        ] {
            let proxy = Proxy::new(&f, lo, hi, 2f64.powi(-30)).unwrap();
            assert!(proxy.polynomial.sampled_error(|x| f.value(x), 30_000) <= proxy.error);
            for degree in [3, 7, 12, 31] {
                let p = proxy.truncated(degree);
                let found = p.sampled_error(|x| f.value(x), 30_000);
                let certified = proxy.certify(&p);
                assert!(found <= certified, "{f:?}, degree {degree}: {found:e} > {certified:e}");
                assert!(
                    certified < 1.03 * found + 2.0 * proxy.error,
                    "{f:?}, degree {degree}: {certified:e} says nothing of {found:e}"
                );
            }
        }
    }

    /// Samples of a steep function between two neighbouring numbers tell nothing.
    #[test]
    fn roundings_of_points_count() {
        let (lo, hi, slope) = (1e12, 1e12 + 1.0, 1e3);
        let f = Function::lipschitz("line", move |x| slope * (x - lo), slope);
        let p = Chebyshev::interpolate(|x| f.value(x), lo, hi, 1);
        let ulp = lo.next_up() - lo;
        let bound = by_slope(&f, slope, &p, 1e-3);
        assert!(bound >= slope * ulp && bound < 20.0 * slope * ulp, "{bound:e}");
        // Near zero they are lost beside the room between samples.
        let near = Function::lipschitz("line", move |x| slope * x, slope);
        let p = Chebyshev::interpolate(|x| near.value(x), 0.0, 1.0, 1);
        assert!(slope * misplacement(0.0, 1.0) < 1e-6 * by_slope(&near, slope, &p, 1e-3));
    }

    #[test]
    fn no_proxy_over_a_singularity_or_below_rounding() {
        assert!(Proxy::new(&Function::from(Known::Inverse), -1.0, 1.0, 1e-3).is_none());
        assert!(Proxy::new(&Function::lipschitz("abs", f64::abs, 1.0), -1.0, 1.0, 0.1).is_none());
    }

    #[test]
    fn parts_of_a_domain_have_ranges_of_their_own() {
        let p = Chebyshev::interpolate(|x| (9.0 * x).sin(), -1.0, 1.0, 40);
        let (least, most) = range_within(&p, 0.1, 0.12, 1e-6);
        let (low, high) = (0.9f64.sin(), 1.08f64.sin());
        assert!(least <= low && high <= most, "{least} {most}");
        assert!(low - least < 1.1e-6 && most - high < 1.1e-6, "{least} {most}");
    }
}
