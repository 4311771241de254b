//! The error of a series as an approximation of a function over the domain.
//!
//! With `x = middle + radius cos(a)` the series is an entire function of `cos(a)`,
//! `|R| <= sum_j |a_j| cosh(2 pi j s Im(x) / (hi - lo))`. A Chebyshev interpolant replaces the
//! series, another one replaces the function where that is analytic; both have a bound on their
//! error ([`Proxy`]). Their difference is a cosine polynomial of degree `D`: its largest value is
//! at most the largest of `n` equally spaced samples divided by `cos(pi D / n)` (M. Riesz).
//!
//! A function with a known bound `L` on its slope is sampled at angles of distance `h`. Between two
//! adjacent samples, the function departs from their mean by at most `L radius h / 2`. The
//! polynomial departs from the chord between them by at most `h^2 / 8 sum_k k^2 |c_k|`.

use std::{f64::consts::PI, f64::consts::TAU, sync::Arc};

use num_complex::Complex64;

use super::domain::{Domain, ErrorBound};
use crate::approx::Function;
use crate::approx::certify::{Proxy, misplacement, rounding};
use crate::chebyshev::Chebyshev;
use crate::fbt::Series;

/// Angles over the whole circle, in units of the degree of the polynomial that is sampled.
const ANGLES: usize = 16;

/// Least number of angles from which a range is taken.
const RANGE_ANGLES: usize = 1 << 15;

/// Angles for functions that are known by their slope alone: half of them
/// give points of the domain.
const SLOPE_ANGLES: usize = 1 << 19;

/// Angles where nothing is certified.
const MEASURED_ANGLES: usize = 1 << 15;

/// Rounding of a value of a series, in units of `f64::EPSILON` times the sum of the magnitudes of
/// its coefficients.
const SERIES_ROUNDING: f64 = 256.0;

/// Errors are certified down to about this share of the largest value.
const RESOLUTION: f64 = 1.0 / (1u64 << 44) as f64;

/// By how much a sampled slope may exceed the stated one, relatively: rounding.
const SLOPE_ROOM: f64 = 1e-6;

/// Why a series has no certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The function has no value somewhere, or one too large for `f64`.
    NoValue,
    /// The stated slope is no number, or values differ by more than it allows.
    Slope,
}

/// Error and range of a series over the domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Certificate {
    /// The largest difference from the function.
    pub(super) error: ErrorBound,
    pub(super) range: (f64, f64),
}

/// The certificate of a series with an error of about `sampled`.
pub(super) fn certify(
    f: &Function,
    domain: &Domain,
    series: &Series,
    sampled: f64,
    magnitude: f64,
) -> Result<Certificate, Refusal> {
    let wanted = sampled.max(RESOLUTION * magnitude);
    if let Some(slope) = f.slope() {
        return by_slope(f, slope, domain, series, wanted);
    }
    match Proxy::new(f, domain.lo, domain.hi, wanted) {
        Some(proxy) => Ok(by_proxy(&proxy, domain, series, wanted)),
        None => measured(f, domain, series),
    }
}

/// The series as a Chebyshev polynomial of `x` over the domain.
fn polynomial(series: &Series, domain: &Domain, wanted: f64) -> Option<Proxy> {
    let (own, to) = (Arc::new(series.clone()), *domain);
    let values = own.clone();
    let entire = Function::analytic(
        "series",
        move |x| values.eval(to.angle(x)),
        move |ellipse| {
            let rate = TAU * to.share * ellipse.height() / to.width();
            let terms = own.coefficients.iter().enumerate();
            Some(terms.map(|(j, a)| a.norm() * (rate * j as f64).cosh()).sum())
        },
    );
    let mut proxy = Proxy::new(&entire, domain.lo, domain.hi, wanted)?;
    proxy.error += SERIES_ROUNDING * f64::EPSILON * series.magnitude();
    Some(proxy)
}

fn by_proxy(proxy: &Proxy, domain: &Domain, series: &Series, wanted: f64) -> Certificate {
    let range = range(&proxy.polynomial);
    let error = match polynomial(series, domain, wanted) {
        Some(own) => {
            let (p, q) = (&proxy.polynomial, &own.polynomial);
            supremum(p, q) + proxy.error + own.error + placement(p, domain) + placement(q, domain)
        }
        // The coefficients are too large for any certificate.
        None => f64::INFINITY,
    };
    let range = (range.0 - proxy.error, range.1 + proxy.error);
    Certificate { error: ErrorBound::Certified(error), range }
}

/// A bound on the difference of two polynomials over their domain.
fn supremum(p: &Chebyshev, q: &Chebyshev) -> f64 {
    let at = |p: &Chebyshev, k: usize| p.coefficients.get(k).copied().unwrap_or(0.0);
    let degree = p.degree().max(q.degree());
    let difference = (0..=degree).map(|k| at(p, k) - at(q, k));
    let angles = (ANGLES * degree).next_power_of_two();
    let (least, most) = extremes(&at_angles(difference, angles));
    let rounding = f64::EPSILON * (p.bound() + q.bound());
    most.max(-least) / (PI * degree as f64 / angles as f64).cos() + rounding
}

/// An interval that contains the polynomial over its domain, nearly the smallest one.
fn range(p: &Chebyshev) -> (f64, f64) {
    let angles = (ANGLES * p.degree()).next_power_of_two().max(RANGE_ANGLES);
    let (least, most) = extremes(&at_angles(p.coefficients.iter().copied(), angles));
    // At an extreme the derivative is zero, and a sample is within half of the spacing.
    let room = (PI / angles as f64).powi(2) / 2.0 * curvature(p) + f64::EPSILON * p.bound();
    (least - room, most + room)
}

/// Error of values by the rounding of points: large in a narrow domain far from zero.
fn placement(p: &Chebyshev, domain: &Domain) -> f64 {
    let farthest = domain.lo.abs().max(domain.hi.abs());
    f64::EPSILON * farthest / domain.radius() * p.angular_slope()
}

/// `sum_k k^2 |c_k|`, a bound on the second derivative by the angle.
fn curvature(p: &Chebyshev) -> f64 {
    p.coefficients.iter().enumerate().map(|(k, c)| (k * k) as f64 * c.abs()).sum()
}

/// `sum_k c_k cos(k a)` at equally spaced angles.
fn at_angles(coefficients: impl Iterator<Item = f64>, angles: usize) -> Vec<f64> {
    let series = Series::new(coefficients.map(Complex64::from).collect(), 0.0, 0.0);
    series.expect("the coefficients of a Chebyshev polynomial are finite").eval_nodes(angles)
}

fn by_slope(
    f: &Function,
    slope: f64,
    domain: &Domain,
    series: &Series,
    wanted: f64,
) -> Result<Certificate, Refusal> {
    if !(slope.is_finite() && slope >= 0.0) {
        return Err(Refusal::Slope);
    }
    let Some(own) = polynomial(series, domain, wanted) else { return measured(f, domain, series) };
    let p = &own.polynomial;
    let values = at_angles(p.coefficients.iter().copied(), SLOPE_ANGLES);

    // Step 1: the function and the polynomial at the same angles, from hi to lo.
    let spacing = TAU / SLOPE_ANGLES as f64;
    let point = |i: usize| domain.point((spacing * i as f64).cos());
    let last = SLOPE_ANGLES / 2;
    let found: Vec<f64> =
        f.guarded(|value| (0..=last).map(|i| value(point(i))).collect()).ok_or(Refusal::NoValue)?;

    // Step 2: the slope that was stated holds between the samples, up to the rounding of values.
    let largest = found.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let steep = (1..=last).any(|i| {
        let rise = (found[i] - found[i - 1]).abs();
        let run = (point(i) - point(i - 1)).abs();
        rise > slope * run * (1.0 + SLOPE_ROOM)
            + 8.0 * f64::EPSILON * (largest + slope * domain.hi.abs().max(domain.lo.abs()))
    });
    if steep {
        return Err(Refusal::Slope);
    }

    // Step 3: the largest difference, and what it can grow by between two samples.
    let seen = found.iter().zip(&values).map(|(f, p)| (f - p).abs()).fold(0.0, f64::max);
    let room = slope_room(slope, domain);
    let error = seen
        + room
        + spacing * spacing / 8.0 * curvature(p)
        + own.error
        + rounding(p)
        + placement(p, domain);
    let (least, most) = extremes(&found);
    Ok(Certificate { error: ErrorBound::Certified(error), range: (least - room, most + room) })
}

/// How far a function can depart from the mean of two neighbouring samples.
fn slope_room(slope: f64, domain: &Domain) -> f64 {
    let between = 0.5 * domain.radius() * TAU / SLOPE_ANGLES as f64;
    slope * (between + misplacement(domain.lo, domain.hi))
}

/// The least error that a certificate can state, however near the series is.
pub(super) fn least(f: &Function, domain: &Domain) -> f64 {
    f.slope().map_or(0.0, |slope| slope_room(slope, domain))
}

fn measured(f: &Function, domain: &Domain, series: &Series) -> Result<Certificate, Refusal> {
    let last = MEASURED_ANGLES / 2;
    let point = |i: usize| domain.point((PI * i as f64 / last as f64).cos());
    let found: Vec<f64> =
        f.guarded(|value| (0..=last).map(|i| value(point(i))).collect()).ok_or(Refusal::NoValue)?;
    let differences = found.iter().enumerate();
    let error = differences
        .map(|(i, value)| (value - series.eval(domain.angle(point(i)))).abs())
        .fold(0.0, f64::max);
    Ok(Certificate { error: ErrorBound::Measured(error), range: extremes(&found) })
}

pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    values.iter().fold(ends, |(least, most), &v| (least.min(v), most.max(v)))
}
