//! Polynomials for a function over a domain: the minimax polynomial of a degree, the least squares
//! polynomial of a degree, and the least degree that reaches an error.

use super::certify::{Proxy, SLOPE_SHARE, by_slope};
use super::function::Function;
use super::remez::{Parity, remez};
use crate::chebyshev::Chebyshev;
use crate::polynomial::power_depth;

pub(super) const MAX_DEGREE: usize = 1023;

/// Least `log2` of a requested error.
pub(super) const LEAST_ERROR: f64 = -40.0;

/// A truncated series that misses the error by at most this factor, at a degree that would save a
/// level, is replaced by the minimax polynomial.
const REACH: f64 = 8.0;

/// Largest degree of a best approximation.
const MAX_MINIMAX: usize = 127;

/// The minimax polynomial of a degree, by [`remez`]; the interpolant in the Chebyshev nodes where
/// the exchange does not converge. `None` if `f` has no finite value somewhere in the domain.
pub(super) fn minimax(f: &Function, lo: f64, hi: f64, degree: usize) -> Option<Chebyshev> {
    // Step 1: the interpolant, also the polynomial where the exchange cannot serve.
    let interpolated =
        f.guarded(|value| Chebyshev::interpolate(value, lo, hi, degree.min(MAX_DEGREE)))?;
    // Step 2: the best polynomial has the parity of the function. The odd, or the even, basis
    // polynomials satisfy Haar's condition, which the exchange needs, on one side of the middle.
    let parity = match &interpolated {
        p if p.is_odd() => Parity::Odd,
        p if p.is_even() => Parity::Even,
        _ => Parity::Any,
    };
    let part = if parity == Parity::Any { [lo, hi] } else { [0.5 * (lo + hi), hi] };
    // Step 3: the exchange.
    let best = (degree <= MAX_MINIMAX)
        .then(|| remez(|x| f.value(x), &[part], [lo, hi], degree, parity))
        .flatten();
    Some(best.map_or(interpolated, |best| best.polynomial))
}

/// A bound on `|p - f|` over the domain of `p`; `None` if the bounds of `f` certify nothing there.
pub(super) fn certified_error(f: &Function, p: &Chebyshev) -> Option<f64> {
    // The certificate must be finer than the error, which the samples estimate from below.
    let sampled = p.sampled_error(|x| f.value(x), 16 * (p.degree() + 8));
    let wanted = sampled.max(LEAST_ERROR.exp2());
    let error = match f.slope() {
        Some(slope) => by_slope(f, slope, p, wanted),
        None => Proxy::new(f, p.lo, p.hi, wanted)?.certify(p),
    };
    error.is_finite().then_some(error)
}

/// A polynomial of least depth and about least degree with a certified error of at most `error`.
pub(super) fn least_degree(f: &Function, lo: f64, hi: f64, error: f64) -> Option<(Chebyshev, f64)> {
    if let Some(slope) = f.slope() {
        return least_degree_by_slope(f, slope, lo, hi, error);
    }
    // Step 1: a precise proxy, whose truncations are the candidates.
    let proxy = Proxy::new(f, lo, hi, error)?;
    let coefficients = &proxy.polynomial.coefficients;
    // The mean square of the terms left out is below the error, their sum above it.
    let mut squares = 0.0;
    let few = coefficients
        .iter()
        .rposition(|c| {
            squares += c * c;
            (0.5 * squares).sqrt() > error
        })
        .unwrap_or(0);
    let good = |degree: usize| {
        let p = proxy.truncated(degree);
        let found = proxy.certify(&p);
        (found <= error).then_some((p, found))
    };
    // Step 2: the least degree by bisection between too few terms and all.
    let (mut least, mut degree) = (few, coefficients.len().min(MAX_DEGREE));
    let (mut p, mut found) = good(degree)?;
    while least < degree {
        let middle = (least + degree) / 2;
        match good(middle) {
            Some(better) => (degree, (p, found)) = (middle, better),
            None => least = middle + 1,
        }
    }
    // Step 3: one level less, by a best approximation?
    let shallow = (1usize << (power_depth(degree + 1).max(1) - 1)) - 1;
    if (1..=MAX_MINIMAX).contains(&shallow) && shallow < degree {
        // The truncation of that degree shows whether a minimax polynomial can reach the error.
        let near = proxy.truncated(shallow);
        if proxy.certify(&near) <= REACH * error {
            let best = minimax(f, lo, hi, shallow);
            let certified = best.and_then(|p| Some((certified_error(f, &p)?, p)));
            if let Some((e, p)) = certified
                && e <= error
            {
                return Some((p, e));
            }
        }
    }
    Some((p, found))
}

/// As [`least_degree`] for functions known by their slope.
fn least_degree_by_slope(
    f: &Function,
    slope: f64,
    lo: f64,
    hi: f64,
    error: f64,
) -> Option<(Chebyshev, f64)> {
    let good = |degree: usize| {
        let p = f.guarded(|value| Chebyshev::interpolate(value, lo, hi, degree))?;
        let most = (1.0 - SLOPE_SHARE) * error;
        (p.sampled_error(|x| f.value(x), 8 * degree + 64) <= most).then_some(p)
    };
    let mut most = 1;
    while good(most).is_none() {
        if most == MAX_DEGREE {
            return None;
        }
        most = (2 * most + 1).min(MAX_DEGREE);
    }
    let mut least = most / 2;
    while least + 1 < most {
        let middle = (least + most) / 2;
        if good(middle).is_some() { most = middle } else { least = middle }
    }
    let p = good(most)?;
    let found = by_slope(f, slope, &p, error);
    (found <= error).then_some((p, found))
}

/// The projection onto polynomials of a degree, by Legendre's polynomials and Gauss' quadrature.
pub(super) fn mean_square(f: impl Fn(f64) -> f64, lo: f64, hi: f64, degree: usize) -> Chebyshev {
    let (middle, radius) = (0.5 * (lo + hi), 0.5 * (hi - lo));
    // P_0 .. P_last at t, by (k + 1) P_{k+1} = (2k + 1) t P_k - k P_{k-1}.
    let legendre = |t: f64, last: usize| {
        let mut p = vec![1.0, t];
        for k in 1..last {
            let next = ((2 * k + 1) as f64 * t * p[k] - k as f64 * p[k - 1]) / (k + 1) as f64;
            p.push(next);
        }
        p
    };
    // Step 1: the projection, by Gauss' quadrature with many more nodes than the degree.
    let nodes = 8 * degree + 256;
    let mut projection = vec![0.0; degree + 1];
    for i in 0..nodes {
        // A zero of P_nodes by Newton's method from Tricomi's estimate, and its weight.
        let mut t = (std::f64::consts::PI * (i as f64 + 0.75) / (nodes as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..6 {
            let p = legendre(t, nodes);
            slope = nodes as f64 * (p[nodes - 1] - t * p[nodes]) / (1.0 - t * t);
            t -= p[nodes] / slope;
        }
        let weight = 2.0 / ((1.0 - t * t) * slope * slope);
        let value = f(middle + radius * t);
        for (k, (sum, p)) in projection.iter_mut().zip(legendre(t, degree)).enumerate() {
            *sum += weight * value * p * (2 * k + 1) as f64 / 2.0;
        }
    }
    // Step 2: from Legendre's basis to Chebyshev's; interpolation is exact at this degree.
    let series = |x: f64| {
        let p = legendre((x - middle) / radius, degree);
        projection.iter().zip(p).map(|(c, p)| c * p).sum()
    };
    Chebyshev::interpolate(series, lo, hi, degree)
}
