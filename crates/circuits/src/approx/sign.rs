//! The sign by a composition of odd minimax polynomials.
//!
//! No polynomial approximates the sign near zero: a *margin* around zero is excluded. For
//! `margin <= |x| <= 1` the composition `p_k o .. o p_1` is within `error` of the sign. Each `p_i`
//! is the odd minimax polynomial for 1 over the image of the ones before, `[a_{i-1}, 1]`:
//!
//! ```text
//! a_0 = margin,    e_i = max over [a_{i-1}, 1] of |p_i - 1|,    a_i = (1 - e_i) / (1 + e_i),
//! ```
//!
//! Each `p_i` but the last is divided by `1 + e_i`, which keeps every intermediate value in
//! `[-1, 1]` at no cost. Among all compositions with given degrees this one has the least error
//! (Lee, Lee, No and Kim, "Minimax approximation of sign function by composite polynomial for
//! homomorphic comparison", eprint 2020/834, theorem 4; Cheon, Kim and Kim, eprint 2019/1234).
//! Dynamic programming over depth and work chooses the degrees.
//!
//! Inside the margin the values rise from `-1` to `1` within `[-1 - error, 1 + error]`, since the
//! derivative of each `p_i` has all its zeros beyond `a_{i-1}`. The error of a maximum or an
//! absolute value is at most the margin there.

mod sensitivity;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use std::{collections::BTreeMap, fmt};

use bellerophon_ring::decimal;

use super::accuracy::Accuracy;
use super::certify::range_within;
use super::remez::{Parity, remez};
use crate::chebyshev::Chebyshev;
use crate::error;
use crate::polynomial::{Plan, Polynomial, Sensitivity, power_depth};
use bellerophon_ckks::Result;

/// Odd degrees of the polynomials of a composition. Larger ones save little depth and cost much
/// work.
const DEGREES: [usize; 16] = [3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 31, 47, 63];

const MAX_DEPTH: usize = 40;

/// Margin of the search for the certificate, which is slightly above the true error.
const SEARCH: f64 = 0.99;

/// The relative excess of the certificate of a step over its true error.
const EXCESS: f64 = 2e-4;

/// Intervals of the margin for bounds on products with the sign.
const INTERVALS: u32 = 1 << 12;

/// Smallest margin, as a part of the radius.
const LEAST_MARGIN: f64 = 1.0 / (1u64 << 24) as f64;

const LEAST_ERROR: f64 = 1.0 / (1u64 << 40) as f64;

/// Margins tried for magnitudes: up to 2^4 times the error, in steps of `2^(1/4)`.
const WIDER: u32 = 16;

/// A prepared sign function: `sign(x)` for `margin <= |x| <= radius`, with its certified error.
///
/// [`CircuitOps::sign`](crate::CircuitOps::sign),
/// [`step`](crate::CircuitOps::step),
/// [`greater`](crate::CircuitOps::greater),
/// [`max`](crate::CircuitOps::max), [`min`](crate::CircuitOps::min),
/// [`abs`](crate::CircuitOps::abs) and [`relu`](crate::CircuitOps::relu)
/// evaluate it.
///
/// ```
/// use bellerophon_circuits::approx::{Accuracy, Sign};
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// // Distinguishes numbers of [0, 1] that differ by 2^-8, to an error of 2^-8.
/// let sign = Sign::new(1.0, 1.0 / 256.0, Accuracy::bits(8.0))?;
/// assert!(sign.error() <= 2f64.powi(-8));
/// assert!((sign.eval(2f64.powi(-8)) - 1.0).abs() <= sign.error());
/// println!("{sign}"); // degrees, levels, relinearizations, error
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sign {
    /// The largest `|x|` allowed.
    pub(crate) radius: f64,
    margin: f64,
    error: f64,
    magnitude_error: f64,
    /// All polynomials but the last.
    first: Vec<Polynomial>,
    /// The last one, for the sign and for the step.
    last: [Polynomial; 2],
    /// For the sign and for the step: the mean and a bound outside the margin.
    sensitivity: [Sensitivity; 2],
    peak: [Sensitivity; 2],
    /// Bounds for all arguments: on the product with the argument, and on the derivative.
    pub(crate) product: Sensitivity,
    /// A bound on the derivative, the largest factor of an error of the argument.
    pub(crate) slope: f64,
}

/// The result of the last polynomial of a [`Sign`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// -1 or 1.
    Sign = 0,
    /// 0 or 1.
    Step = 1,
}

impl Sign {
    /// The sign of `|x| <= radius` outside the margin, which is a part of the radius, to an
    /// accuracy, with the least work at the fewest levels. Takes one level more unless `1 / radius`
    /// is an integer.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] for a margin outside `2^-24` to below 1, an error outside
    /// `2^-40` to below 1, or a radius that is not positive.
    pub fn new(radius: f64, margin: f64, accuracy: Accuracy) -> Result<Self> {
        let error = accuracy.error()?;
        let possible = (LEAST_MARGIN..1.0).contains(&margin) && (LEAST_ERROR..1.0).contains(&error);
        if !(possible && radius.is_finite() && radius > 0.0) {
            return Err(error::approximation(
                "sign".into(),
                format!(
                    "radius {radius:?}, margin {margin:?} of it, error {error:?}: need a positive \
                     radius, a margin from 2^-24 to below 1, and an error from 2^-40 to below 1"
                ),
            ));
        }
        let degrees = cheapest(margin, error * SEARCH).ok_or_else(|| {
            let reason = format!(
                "no composition of depth up to {MAX_DEPTH} reaches an error of {} outside a \
                 margin of {}: allow more of either",
                decimal(error),
                decimal(margin)
            );
            error::approximation("sign".into(), reason)
        })?;
        Self::of_degrees(radius, margin, &degrees)
    }

    /// The sign with the fewest levels for which `|x| - x sign(x)` is within the accuracy for all
    /// `|x| <= radius` ([`magnitude_error`](Self::magnitude_error)). The margin may be several
    /// times wider: inside it, the sign is far from 1 only where `x` is far smaller.
    pub fn for_magnitudes(radius: f64, accuracy: Accuracy) -> Result<Self> {
        let error = accuracy.error()?;
        let (part, relative) = (error / radius, Accuracy::absolute(error / radius));
        // A magnitude is lost inside the margin only in proportion to the margin, so it may be
        // wider than the error. The widest margin that suffices is the cheapest.
        let margins = (1..=WIDER).rev().map(|i| part * (f64::from(i) / 4.0).exp2());
        for margin in margins.filter(|margin| *margin < 1.0) {
            let sign = Self::new(radius, margin, relative)?;
            if sign.magnitude_error <= error {
                return Ok(sign);
            }
        }
        Self::new(radius, part, relative)
    }

    /// The best composition of polynomials of these odd degrees, in the order of application, for
    /// `margin <= |x| / radius <= 1`.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] unless all degrees are odd and from 3 to 63, the margin between
    /// 0 and 1 and the radius positive.
    pub fn of_degrees(radius: f64, margin: f64, degrees: &[usize]) -> Result<Self> {
        let refuse = |reason: String| error::approximation("sign".into(), reason);
        let odd = degrees.iter().all(|d| d % 2 == 1 && (3..=63).contains(d));
        let possible = margin > 0.0 && margin < 1.0 && radius > 0.0 && radius.is_finite();
        if degrees.is_empty() || !odd || !possible {
            return Err(refuse(format!(
                "degrees {degrees:?}, margin {margin:?}, radius {radius:?}: need odd degrees from \
                 3 to 63, a margin between 0 and 1 and a positive radius"
            )));
        }

        // `least` is a_{i-1}, the least magnitude outside the margin after the steps so far.
        let mut least = margin;
        let mut margins = vec![];
        let mut steps: Vec<Chebyshev> = vec![];
        let mut error = 1.0;
        for (i, &degree) in degrees.iter().enumerate() {
            margins.push(least);
            // Steps 1 and 2: the polynomial and its range.
            let (polynomial, low, high) = certified_step(least, degree)?;
            error = (high - 1.0).max(1.0 - low);
            // Step 3: division by the largest value, except for the last polynomial.
            let largest = if i + 1 < degrees.len() { high } else { 1.0 };
            least = low / high;
            if least <= 0.0 {
                return Err(refuse(format!(
                    "degree {degree}: too low, the margin vanishes in f64; take a higher degree"
                )));
            }
            let domain = if i == 0 { radius } else { 1.0 };
            steps.push(scaled(&polynomial, 1.0 / largest, 0.0, domain));
        }
        let last = steps.pop().expect("at least one degree");
        // (sign + 1) / 2 is a change of the last coefficients: a step costs what a sign costs.
        let step = scaled(&last, 0.5, 0.5, last.hi);
        let mut sign = Self {
            radius,
            margin: margin * radius,
            error,
            magnitude_error: radius * error,
            first: steps.into_iter().map(Polynomial::new).collect(),
            last: [Polynomial::new(last), Polynomial::new(step)],
            sensitivity: [Sensitivity::IDENTITY; 2],
            peak: [Sensitivity::IDENTITY; 2],
            product: Sensitivity::IDENTITY,
            slope: 0.0,
        };
        sign.sensitivity = [Kind::Sign, Kind::Step].map(|kind| sign.mean_sensitivity(kind));
        let profiles = [Kind::Sign, Kind::Step].map(|kind| sign.profile(kind, &margins));
        // Errors of `x` are 1 / radius times as large in the units of the profiles.
        let slope = 1.0 / radius;
        sign.peak = profiles.each_ref().map(|profile| profile.largest(margin, |_| [slope, 1.0]));
        sign.product = profiles[0].largest(0.0, |u| [u, u * radius]);
        sign.slope = profiles[0].largest(0.0, |_| [slope, 0.0]).input;
        sign.magnitude_error = sign.magnitude_error.max(sign.lost_within(1.0));
        Ok(sign)
    }

    /// The least `|x|` for which the error holds: the radius times the margin.
    pub fn threshold(&self) -> f64 {
        self.margin
    }

    /// Certified bound on the error of the sign outside the margin; half of it for the step.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Certified bound on the error of `|x|` for all `x` within the radius, also inside the margin;
    /// half of it for the maximum, the minimum and the rectifier.
    pub fn magnitude_error(&self) -> f64 {
        self.magnitude_error
    }

    /// The largest `|x| - x sign(x) / largest` inside the margin, where the sign rises with `x`.
    pub(crate) fn lost_within(&self, largest: f64) -> f64 {
        let at = |i: u32| self.margin * f64::from(i) / f64::from(INTERVALS);
        let lost = |i| at(i + 1) * (1.0 - self.eval(at(i)) / largest);
        (0..INTERVALS).map(lost).fold(0.0, f64::max)
    }

    /// The degrees in the order of application.
    pub fn degrees(&self) -> Vec<usize> {
        self.polynomials(Kind::Sign).map(|p| p.chebyshev.degree()).collect()
    }

    /// Levels of the sign and of the step.
    pub fn levels(&self) -> usize {
        self.polynomials(Kind::Sign).map(Polynomial::levels).sum()
    }

    /// Relinearizations, most of the work.
    pub fn relinearizations(&self) -> usize {
        self.polynomials(Kind::Sign).map(|p| p.plan.relinearizations).sum()
    }

    /// The value at `x`, in the clear.
    pub fn eval(&self, x: f64) -> f64 {
        self.polynomials(Kind::Sign).fold(x, |x, p| p.eval(x))
    }

    /// The polynomials in the order of application.
    pub(crate) fn polynomials(&self, kind: Kind) -> impl Iterator<Item = &Polynomial> {
        self.first.iter().chain([&self.last[kind as usize]])
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sign for {:.3e} <= |x| <= {}: degrees {:?}, error 2^{:.1}, {} levels, {} \
             relinearizations",
            self.margin,
            self.radius,
            self.degrees(),
            self.error.log2(),
            self.levels(),
            self.relinearizations()
        )
    }
}

/// The minimax polynomial of a step over `[least, 1]`, and its certified range there.
fn certified_step(least: f64, degree: usize) -> Result<(Chebyshev, f64, f64)> {
    // Step 1: the minimax polynomial over [a_{i-1}, 1].
    let best = remez(|_| 1.0, &[[least, 1.0]], [-1.0, 1.0], degree, Parity::Odd);
    let best = best.ok_or_else(|| {
        let reason = format!("degree {degree}: the exchange does not converge");
        error::approximation("sign".into(), reason)
    })?;
    // Step 2: its certified range. The new margin matters as much as the error.
    let excess = EXCESS * best.seen.min(1.0 - best.seen);
    let (low, high) = range_within(&best.polynomial, least, 1.0, excess);
    Ok((best.polynomial, low, high))
}

/// `factor p + constant` over `[-radius, radius]`.
fn scaled(p: &Chebyshev, factor: f64, constant: f64, radius: f64) -> Chebyshev {
    let mut coefficients: Vec<f64> = p.coefficients.iter().map(|c| c * factor).collect();
    coefficients[0] += constant;
    Chebyshev::new(-radius, radius, coefficients)
}

/// `a_i` and `e_i` of a step from `a_{i-1} = least`.
fn narrowed(least: f64, degree: usize) -> Option<(f64, f64)> {
    let best = remez(|_| 1.0, &[[least, 1.0]], [-1.0, 1.0], degree, Parity::Odd)?;
    // The values lie in [1 - e, 1 + e]; divided by the largest one they start at this margin.
    Some(((1.0 - best.seen) / (1.0 + best.seen), best.seen))
}

/// The least depth that reaches `error`, from the largest `a_i` at each depth.
fn least_depth(margin: f64, error: f64) -> Option<usize> {
    // farthest[d] is the widest margin reached with d levels. A polynomial of degree 2^l - 1 is the
    // best one of depth l, and only a wider margin helps the steps after it: dynamic programming
    // over the depth.
    let mut farthest = vec![margin];
    for depth in 1..=MAX_DEPTH {
        let mut here = margin;
        for levels in 2..=6.min(depth) {
            let Some((next, e)) = narrowed(farthest[depth - levels], (1 << levels) - 1) else {
                continue;
            };
            if e <= error {
                return Some(depth);
            }
            here = here.max(next);
        }
        farthest.push(here);
    }
    None
}

/// The first steps of a composition.
#[derive(Clone)]
struct Partial {
    cost: f64,
    least: f64,
    degrees: Vec<usize>,
}

/// The degrees of least cost among the compositions of least depth, by dynamic programming: at
/// every depth, only beginnings that no other one beats in both cost and `a_i` are kept.
fn cheapest(margin: f64, error: f64) -> Option<Vec<usize>> {
    // Step 1: the least depth, and the cost of every degree.
    let depth = least_depth(margin, error)?;
    let costs: BTreeMap<usize, f64> = DEGREES
        .iter()
        .map(|&degree| {
            let c = (0..=degree).map(|k| (k % 2) as f64).collect();
            (degree, Plan::new(&Chebyshev::new(-1.0, 1.0, c)).cost())
        })
        .collect();
    // Step 2: extend the Pareto front of every depth by every degree.
    let mut fronts: Vec<Vec<Partial>> = vec![vec![]; depth + 1];
    fronts[0] = vec![Partial { cost: 0.0, least: margin, degrees: vec![] }];
    let mut best: Option<Partial> = None;
    for used in 0..depth {
        for begun in std::mem::take(&mut fronts[used]) {
            for (&degree, step) in &costs {
                let (after, cost) = (used + power_depth(degree + 1), begun.cost + step);
                // Too deep, or already as expensive as a complete composition.
                if after > depth || best.as_ref().is_some_and(|b| b.cost <= cost) {
                    continue;
                }
                let Some((least, e)) = narrowed(begun.least, degree) else { continue };
                let degrees = begun.degrees.iter().copied().chain([degree]).collect();
                let next = Partial { cost, least, degrees };
                if e <= error {
                    best = Some(next);
                } else if after < depth {
                    insert(&mut fronts[after], next);
                }
            }
        }
    }
    best.map(|b| b.degrees)
}

/// Adds a beginning to a Pareto front.
fn insert(front: &mut Vec<Partial>, new: Partial) {
    // Kept only if no composition is both as cheap and as wide; those that the new one dominates
    // leave.
    if front.iter().all(|old| old.cost > new.cost || old.least < new.least) {
        front.retain(|old| old.cost < new.cost || old.least > new.least);
        front.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ckks::ErrorKind;

    /// The largest deviation from the sign, with as many points near the margin as elsewhere.
    fn largest_error(sign: &Sign) -> f64 {
        let ratio = sign.radius / sign.threshold();
        let geometric = (0..20_000).map(|i| sign.threshold() * ratio.powf(i as f64 / 19_999.0));
        let even = (0..20_000)
            .map(|i| sign.threshold() + (sign.radius - sign.threshold()) * i as f64 / 19_999.0);
        geometric.chain(even).fold(0.0, |worst: f64, x| {
            worst.max((sign.eval(x) - 1.0).abs()).max((sign.eval(-x) + 1.0).abs())
        })
    }

    #[test]
    fn certified_errors_hold_and_are_tight() {
        for (margin, error) in [(-4.0, -20.0), (-8.0, -8.0), (-12.0, -12.0), (-6.0, -30.0)] {
            let sign = Sign::new(1.0, f64::exp2(margin), Accuracy::bits(-error)).unwrap();
            let found = largest_error(&sign);
            assert!(sign.error() <= f64::exp2(error), "{sign}");
            assert!(found <= sign.error(), "{sign}: {found:e}");
            assert!(sign.error() < 1.03 * found + 1e-12, "{sign}: {found:e}");
        }
    }

    #[test]
    fn depths_and_work_never_exceed_the_literature() {
        // A single polynomial of degree d has an error of about e^(-d margin) (Eremenko and
        // Yuditskii), so no composition can do with fewer than log2(beta ln 2 / margin) levels; the
        // degrees of eprint 2020/834, table 2, take the depths on the right.
        for (alpha, levels) in [(4.0, 6), (8.0, 11), (12.0, 16)] {
            let sign = Sign::new(1.0, f64::exp2(-alpha), Accuracy::bits(alpha)).unwrap();
            let bound = (alpha * std::f64::consts::LN_2 * f64::exp2(alpha)).log2();
            assert!(sign.levels() as f64 >= bound.floor(), "{sign}");
            assert!(sign.levels() <= levels, "{sign}");
            // One polynomial for it all would need about 2 sqrt(2^depth) products.
            assert!(sign.relinearizations() <= 3 * sign.levels(), "{sign}");
        }
    }

    #[test]
    fn values_within_the_margin_stay_between_the_signs() {
        let sign = Sign::new(3.0, 1.0 / 128.0, Accuracy::bits(10.0)).unwrap();
        assert!((sign.threshold() - 3.0 / 128.0).abs() < 1e-15);
        let mut before = 0.0;
        for i in 0..=2000 {
            let x = sign.threshold() * i as f64 / 2000.0;
            let y = sign.eval(x);
            assert!(y >= before - 1e-9 && y <= 1.0 + sign.error(), "at {x}: {y}");
            assert!((x.abs() - x * y).abs() <= sign.magnitude_error());
            before = y;
        }
    }

    #[test]
    fn magnitudes_take_fewer_levels_than_margins_suggest() {
        for log2_error in [-4.0, -8.0, -13.0] {
            let bound = 8.0 * f64::exp2(log2_error);
            let sign = Sign::for_magnitudes(8.0, Accuracy::absolute(bound)).unwrap();
            assert!(sign.magnitude_error() <= bound && sign.threshold() > 2.0 * bound, "{sign}");
            let usual = Sign::new(8.0, f64::exp2(log2_error), Accuracy::bits(-log2_error)).unwrap();
            assert!(sign.levels() < usual.levels(), "{sign}; {usual}");
            // Inside the margin and outside, on an even grid and near zero.
            let far = (0..20_000).map(|i| 8.0 * f64::from(i) / 19_999.0);
            let near = (0..20_000).map(|i| 2.0 * sign.threshold() * f64::from(i) / 19_999.0);
            let lost = |x: f64| (x - x * sign.eval(x)).abs();
            let found = far.chain(near).map(lost).fold(0.0, f64::max);
            assert!(found <= sign.magnitude_error(), "{sign}: {found:e}");
            assert!(sign.magnitude_error() < 1.03 * found, "{sign}: {found:e}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for (radius, margin, error) in [
            (1.0, 0.0, -8.0),
            (1.0, -8.0, 0.5),
            (1.0, -30.0, -8.0),
            (0.0, -8.0, -8.0),
            (f64::NAN, -8.0, -8.0),
            (1.0, f64::NAN, -8.0),
        ] {
            let error = Sign::new(radius, f64::exp2(margin), Accuracy::bits(-error)).unwrap_err();
            assert!(
                error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
                "{error}"
            );
        }
        assert!(Sign::of_degrees(1.0, 0.1, &[]).is_err());
        assert!(Sign::of_degrees(1.0, 0.1, &[4]).is_err());
        assert!(Sign::of_degrees(1.0, 1.5, &[3]).is_err());
        for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Sign::of_degrees(radius, 0.1, &[3]).is_err());
        }
    }
}
