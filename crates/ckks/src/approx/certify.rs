//! Bounds on the error of a polynomial over a whole domain, not only where it was sampled.
//!
//! A function bounded by `M` in the Bernstein ellipse of parameter `rho` is interpolated in the
//! `D + 1` Chebyshev nodes with an error of at most `4 M rho^-D / (rho - 1)` (Trefethen,
//! "Approximation Theory and Approximation Practice", theorem 8.2). So a *proxy* of high degree
//! stands for the function, as near as rounding lets it, and what remains is the difference of two
//! polynomials: its largest value is sampled, and between two samples it exceeds both by at most
//! the curvature that its own coefficients allow ([`Chebyshev::extremes`]). The coefficients of the
//! difference are as small as the error itself, so the bound is above the truth by a percent or two.

use std::f64::consts::PI;

use super::function::{Ellipse, Function};
use crate::chebyshev::Chebyshev;

/// Largest degree of a proxy.
const MAX_PROXY: usize = 2048;

/// The proxy's own error, in units of the error that is to be certified.
const PROXY_SHARE: f64 = 1.0 / 4096.0;

/// What a bound may exceed the largest sample by, relatively.
const LOOSENESS: f64 = 2e-3;

/// Most samples taken for that.
const MAX_SAMPLES: f64 = 262_144.0;

/// Samples of functions that are known by their slope alone.
const SLOPE_SAMPLES: usize = 1 << 17;

/// Rounding of a value by Clenshaw's recurrence and of a coefficient by interpolation, in units of
/// `f64::EPSILON` times the degree times the sum of the coefficients.
const ROUNDING: f64 = 4.0;

/// A polynomial that a function does not differ from by more than a known amount.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    /// The polynomial, over the whole domain.
    pub(crate) polynomial: Chebyshev,
    /// Bound on the difference from the function.
    pub(crate) error: f64,
}

impl Proxy {
    /// The proxy of least degree whose error serves for certifying `error`; nothing when the
    /// function is not analytic enough, or `error` too near to the rounding of `f64`.
    pub(crate) fn new(f: &Function, lo: f64, hi: f64, error: f64) -> Option<Self> {
        let target = error * PROXY_SHARE;
        // rho - 1 in geometric steps, as far as the function is bounded.
        let ellipses: Vec<(f64, f64)> = (0..160)
            .map(|i| 1.0 + 1e-3 * (i as f64 * 0.0625).exp2())
            .map_while(|rho| Some((rho, f.bound(&Ellipse::new(lo, hi, rho))?)))
            .collect();
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

    /// The first coefficients, up to `degree`: within a factor of two or so of the best polynomial.
    pub(crate) fn truncated(&self, degree: usize) -> Chebyshev {
        let all = self.polynomial.coefficients();
        let kept = all[..all.len().min(degree + 1)].to_vec();
        Chebyshev::new(self.polynomial.lo(), self.polynomial.hi(), kept)
    }

    /// A bound on the difference of the function from `p`, a polynomial over the same domain.
    pub(crate) fn certify(&self, p: &Chebyshev) -> f64 {
        debug_assert_eq!((p.lo(), p.hi()), (self.polynomial.lo(), self.polynomial.hi()));
        let (ours, theirs) = (self.polynomial.coefficients(), p.coefficients());
        let at = |c: &[f64], k: usize| c.get(k).copied().unwrap_or(0.0);
        let difference = (0..ours.len().max(theirs.len())).map(|k| at(ours, k) - at(theirs, k));
        let difference = Chebyshev::new(p.lo(), p.hi(), difference.collect());
        supremum(&difference) + rounding(p) + self.error
    }
}

/// A bound on `|p|` over its domain.
fn supremum(p: &Chebyshev) -> f64 {
    // The largest value is no less than the root mean square, in the measure of Chebyshev.
    let squares: f64 = p.coefficients().iter().map(|c| 0.5 * c * c).sum();
    let (least, most) = p.extremes(p.lo(), p.hi(), samples(p, LOOSENESS * squares.sqrt()));
    most.max(-least)
}

/// Samples of `p` between which it exceeds them by no more than `room`.
fn samples(p: &Chebyshev, room: f64) -> usize {
    let terms = p.coefficients().iter().enumerate();
    let curvature: f64 = terms.map(|(k, c)| (k * k) as f64 * c.abs()).sum();
    let samples = PI * (curvature / (8.0 * room)).sqrt();
    let least = 4.0 * (p.degree() + 1) as f64;
    // For the zero polynomial that is no number: the cast makes it zero.
    samples.clamp(least, MAX_SAMPLES.max(least)) as usize + 1
}

/// An interval that contains `p` over `[lo, hi]`, a part of its domain, with ends that exceed the
/// truth by about `room`: the polynomial is rewritten for that part, where its coefficients are as
/// small as its variation there.
pub(crate) fn range_within(p: &Chebyshev, lo: f64, hi: f64, room: f64) -> (f64, f64) {
    let middle = p.eval(0.5 * (lo + hi));
    let part = Chebyshev::interpolate(|x| p.eval(x) - middle, lo, hi, p.degree());
    let (least, most) = part.extremes(lo, hi, samples(&part, room));
    let slack = rounding(p) + rounding(&part);
    (middle + least - slack, middle + most + slack)
}

/// A bound on the difference of `p` from a function of slope at most `slope`.
pub(crate) fn by_slope(f: &Function, slope: f64, p: &Chebyshev) -> f64 {
    p.certified_error(|x| f.value(x), slope, SLOPE_SAMPLES) + rounding(p)
}

/// What rounding can do to values of a polynomial.
pub(crate) fn rounding(p: &Chebyshev) -> f64 {
    ROUNDING * f64::EPSILON * (p.degree() + 1) as f64 * p.bound()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_above_the_truth_and_near_it() {
        for (f, lo, hi) in [
            (Function::sigmoid(), -8.0, 8.0),
            (Function::exp(), -2.0, 5.0),
            (Function::inverse(), 0.25, 4.0),
            (Function::sqrt(), 0.1, 1.0),
            (Function::ln(), 0.5, 6.0),
            (Function::gelu(), -4.0, 4.0),
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

    #[test]
    fn no_proxy_over_a_singularity_or_below_rounding() {
        assert!(Proxy::new(&Function::inverse(), -1.0, 1.0, 1e-3).is_none());
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
