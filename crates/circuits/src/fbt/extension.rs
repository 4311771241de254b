//! Real functions as series on a share of the circle: Fourier extension.
//!
//! The domain `[lo, hi]` lies on the share `s` of the circle about `t = 0`,
//! `t = s (x - middle) / (hi - lo)`. On the rest of the circle the series is free: it continues the
//! function so that its coefficients stay small. Coefficients are found by least squares over
//! cosines and sines on the domain alone with a penalty on `j |a_j|` (Huybrechs, "On the Fourier
//! extension of nonperiodic functions", 2010; Adcock, Huybrechs and Martin-Vaquero, "On the
//! numerical stability of Fourier extensions", 2014). The error falls geometrically with the degree
//! for functions that are analytic around the domain, whether or not they are periodic.

mod breaks;
mod certify;
mod domain;
mod fit;
#[cfg(test)]
mod tests;

pub use breaks::detect_breaks;
pub use domain::ErrorBound;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use std::{f64::consts::PI, f64::consts::TAU, fmt, sync::Arc};

use num_complex::Complex64;

use self::certify::{Refusal, certify, extremes, least};
pub(super) use self::domain::Domain;
use self::fit::{Half, fit, samples};
use super::{Series, series::Gain};
use crate::approx::{Accuracy, Function, without_values};
use crate::error;
use bellerophon_ckks::Result;

/// Degrees that are tried for an error.
const DEGREES: [usize; 5] = [15, 31, 63, 127, 255];

/// Largest degree.
const MAX_DEGREE: usize = 255;

/// Penalties that are tried, `log2`, for functions of half spread 1.
const PENALTIES: [i32; 9] = [-18, -22, -26, -30, -34, -38, -42, -46, -50];

/// Noise of the powers of `E` against which the error is weighed where none is asked for.
const NOISE: f64 = 1.0 / (1u64 << 30) as f64;

/// By which factor the penalty that is taken may miss the least cost.
const NEAR: f64 = 1.1;

/// Gains up to this many times the natural one are harmless.
const NATURAL: f64 = 8.0;

/// Points at which a candidate is compared with the function, per coefficient.
const CHECKS: usize = 8;

/// Nodes around the circle at which gains are taken, per coefficient.
const GAIN_NODES: usize = 256;

/// A real function over a domain as a [`Series`], with the error and what noise does to it.
///
/// The value `x` belongs to the angle [`angle(x)`](Self::angle). **Beyond the domain the series
/// takes the values of its continuation**, which are unrelated to the function.
///
/// ```
/// use bellerophon_circuits::{approx::{Accuracy, Function, Known}, fbt::RealSeries};
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// let f = Function::from(Known::Sigmoid);
/// let sigmoid = RealSeries::for_error(&f, -8.0, 8.0, 0.75, Accuracy::bits(20.0))?;
/// // sigmoid(x) on [-8, 8], 0.75 of the circle: degree 15, error 2^-20.5, certified
/// println!("{sigmoid}");
/// assert!(sigmoid.error().is_certified() && sigmoid.error().value() <= 2f64.powi(-20));
/// assert!((sigmoid.eval(1.0) - 1.0 / (1.0 + (-1f64).exp())).abs() <= sigmoid.error().value());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RealSeries {
    name: Arc<str>,
    pub(super) domain: Domain,
    /// Its range is that of the function over the domain.
    pub(super) series: Series,
    error: ErrorBound,
    /// Of `dR/dt` over the domain, per revolution: the output error per error of the angle. About
    /// `(hi - lo) / share` times the slope of the function.
    pub(super) along: Gain,
    /// Of `Re sum_j j a_j E^j` over the domain: the output error per relative error of `|E|`.
    pub(super) across: Gain,
}

/// Name, domain and degree only: the coefficients may be secret.
impl fmt::Debug for RealSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RealSeries")
            .field("name", &self.name)
            .field("lo", &self.domain.lo)
            .field("hi", &self.domain.hi)
            .field("share", &self.domain.share)
            .field("degree", &self.series.degree())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for RealSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Domain { lo, hi, share } = self.domain;
        let kind = if self.error.is_certified() { "certified" } else { "measured" };
        write!(
            f,
            "{} on [{lo}, {hi}], {share} of the circle: degree {}, error 2^{:.1}, {kind}",
            self.name,
            self.series.degree(),
            self.error.value().log2(),
        )
    }
}

impl RealSeries {
    /// The function `f` on `[lo, hi]`, over `share` of the circle, by a series of a degree up
    /// to 255. Shares from 1/2 to 3/4 serve: a smaller one leaves more room to the
    /// continuation, a larger one loses less precision of the input.
    ///
    /// Of the penalties on the coefficients those are compared that minimise, to a tenth, the error
    /// plus `2^-30` times the gain, which is the sum of [`amplification`](Self::amplification) and
    /// the gain across the circle; among them the product of error and gain decides.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] unless `lo < hi`, both within `1e100`. [`ErrorKind::Accuracy`]
    /// for a share outside 1/16 to 15/16, a degree beyond 255, a function without a finite value
    /// somewhere in the domain, and one that exceeds its stated slope.
    pub fn of_degree(f: &Function, lo: f64, hi: f64, share: f64, degree: usize) -> Result<Self> {
        let domain = Domain::new(f, lo, hi, share)?;
        if degree > MAX_DEGREE {
            let reason = format!("degree {degree}: need at most {MAX_DEGREE}");
            return Err(error::approximation(f.name().into(), reason));
        }
        let problem = Problem::new(f, domain, degree)?;
        let candidates: Vec<Candidate> = PENALTIES.iter().map(|&p| problem.solve(p)).collect();
        let gain = |c: &Candidate| amplification(&c.series) + gains(&domain, &c.series).1.most;
        let gains: Vec<f64> = candidates.iter().map(gain).collect();
        let costs: Vec<f64> =
            candidates.iter().zip(&gains).map(|(c, gain)| c.sampled + NOISE * gain).collect();
        let allowed = NEAR * extremes(&costs).0;
        let near = (0..candidates.len()).filter(|&i| costs[i] <= allowed);
        let product = |i: usize| candidates[i].sampled * gains[i];
        let best = near.min_by(|&a, &b| product(a).total_cmp(&product(b)));
        let best = best.expect("the least cost is allowed");
        problem.certified(candidates.into_iter().nth(best).expect("a place of the list"))
    }

    /// The function `f` on `[lo, hi]`, over `share` of the circle, to an accuracy: the least degree
    /// among 15, 31, 63, 127 and 255 that reaches it (the largest degrees of 4 to 8 levels), and at
    /// that degree the largest penalty.
    ///
    /// Below degree 255 a series is skipped if its gain, the sum of
    /// [`amplification`](Self::amplification) and the gain across the circle, enlarges a noise of
    /// `2^-30` beyond the error and exceeds eight times the sum of the gain along the circle over
    /// `2 pi` and the spread of the function.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] with the error that degree 255 reaches, where that is too
    /// large: the function has a kink, a jump or a singularity in the domain or just beside it, or
    /// it is known by its slope alone, which certifies about `2^-18` of `slope (hi - lo)`.
    /// [`ErrorKind::Accuracy`] for an error that reaches the
    /// [spread](Accuracy::within_spread) of the function. Otherwise as for
    /// [`of_degree`](Self::of_degree).
    pub fn for_error(
        f: &Function,
        lo: f64,
        hi: f64,
        share: f64,
        accuracy: Accuracy,
    ) -> Result<Self> {
        let domain = Domain::new(f, lo, hi, share)?;
        let wanted = accuracy.within_spread(f.name(), |x| f.value(x), lo, hi)?;
        let within_reach = least(f, &domain) <= wanted;
        let mut reached = f64::INFINITY;
        for degree in DEGREES {
            let problem = Problem::new(f, domain, degree)?;
            // Step 1: whether the degree reaches the error at all, by the least penalty.
            let last = degree == MAX_DEGREE;
            let nearest = problem.solve(PENALTIES[PENALTIES.len() - 1]);
            let fits = within_reach && nearest.sampled <= wanted;
            if !(fits || last) {
                continue;
            }
            // Step 2: the largest penalty that reaches it at an acceptable gain.
            let usable = |c: &Candidate| {
                c.sampled <= wanted && (last || gain_fits(&domain, &c.series, wanted))
            };
            let mut larger = PENALTIES.iter().take_while(|_| fits).map(|&p| problem.solve(p));
            let first = larger.find(usable);
            let nearest = Some(nearest).filter(|c| last || usable(c));
            // Step 3: the certificate, which may be above what was seen.
            for candidate in first.into_iter().chain(nearest) {
                let series = problem.certified(candidate)?;
                if series.error.value() <= wanted {
                    return Ok(series);
                }
                reached = reached.min(series.error.value());
            }
        }
        Err(error::series_accuracy(
            f.name().into(),
            lo,
            hi,
            wanted,
            MAX_DEGREE,
            reached,
            detect_breaks(|x| f.value(x), lo, hi).len(),
        ))
    }

    /// The largest difference from the function over the domain.
    pub fn error(&self) -> ErrorBound {
        self.error
    }

    /// The place of `x` on the circle, in revolutions: `share (x - middle) / (hi - lo)`.
    pub fn angle(&self, x: f64) -> f64 {
        self.domain.angle(x)
    }

    /// The series at the place of `x`.
    pub fn eval(&self, x: f64) -> f64 {
        self.series.eval(self.angle(x))
    }

    /// The factor on independent noise of the powers of `E`: the output has `amplification` times
    /// the standard deviation of a real part, `sqrt(sum_{j > 0} |a_j|^2)`.
    pub fn amplification(&self) -> f64 {
        amplification(&self.series)
    }
}

fn amplification(series: &Series) -> f64 {
    series.coefficients.iter().skip(1).map(|a| a.norm_sqr()).sum::<f64>().sqrt()
}

/// Whether the gain of a series is natural for its slope, or harmless beside an error.
fn gain_fits(domain: &Domain, series: &Series, error: f64) -> bool {
    let (angle, radial) = gains(domain, series);
    let range = series.range;
    let natural = angle.most / TAU + (range.hi() - range.lo());
    let gain = amplification(series) + radial.most;
    NOISE * gain <= error || gain <= NATURAL * natural
}

/// The gains along the circle and across it, over the domain.
///
/// At an extreme between two nodes of distance `h` the slope of a gain is zero: it exceeds the
/// nearer node by at most `h^2 / 8` times the largest second derivative on the circle.
fn gains(domain: &Domain, series: &Series) -> (Gain, Gain) {
    let nodes = (GAIN_NODES * (series.degree() + 1)).next_power_of_two();
    let reach = (0.5 * domain.share * nodes as f64).ceil() as usize;
    let within = |values: Vec<f64>, curvature: f64| {
        let inside: Vec<f64> =
            (0..nodes).filter(|k| (*k).min(nodes - k) <= reach).map(|k| values[k]).collect();
        let mean = inside.iter().map(|g| g * g).sum::<f64>() / inside.len() as f64;
        let most = inside.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        Gain { most: most + curvature / (8 * nodes * nodes) as f64, mean: mean.sqrt() }
    };
    // Two more derivatives multiply `a_j` by `-(2 pi j)^2`.
    let along = series.largest(|j| Complex64::new(0.0, (TAU * j).powi(3)));
    let across = series.largest(|j| (j * (TAU * j).powi(2)).into());
    (within(series.derivative_nodes(nodes), along), within(series.radial_nodes(nodes), across))
}

/// A function at the points of a degree.
struct Problem<'a> {
    f: &'a Function,
    domain: Domain,
    degree: usize,
    /// The middle between the extreme values that were seen, and half of their distance.
    middle: f64,
    half: f64,
    /// Even and odd part about the middle of the domain, shifted by `middle`, in units of `half`.
    even: Vec<f64>,
    odd: Vec<f64>,
    /// Points and values with which candidates are compared.
    checks: Vec<(f64, f64)>,
}

/// A series, and the largest difference that was seen.
struct Candidate {
    series: Series,
    sampled: f64,
}

impl<'a> Problem<'a> {
    fn new(f: &'a Function, domain: Domain, degree: usize) -> Result<Self> {
        let points = samples(degree);
        let last = CHECKS * (degree + 1);
        let built = f.guarded(|value| {
            let pairs: Vec<(f64, f64)> =
                points.iter().map(|&u| (value(domain.point(u)), value(domain.point(-u)))).collect();
            let checks: Vec<(f64, f64)> = (0..=last)
                .map(|i| domain.point((PI * i as f64 / last as f64).cos()))
                .map(|x| (x, value(x)))
                .collect();
            (pairs, checks)
        });
        let (pairs, checks) = built.ok_or_else(|| without_values(f, domain.lo, domain.hi))?;
        let values: Vec<f64> =
            checks.iter().map(|c| c.1).chain(pairs.iter().flat_map(|p| [p.0, p.1])).collect();
        let (least, most) = extremes(&values);
        let half = 0.5 * (most - least);
        let middle = least + half;
        // Constants leave zeros, in any unit.
        let unit = if half > 0.0 { half } else { 1.0 };
        let part = |sign: f64| {
            let scaled = |v: f64| (v - middle) / unit;
            pairs.iter().map(|p| 0.5 * (scaled(p.0) + sign * scaled(p.1))).collect()
        };
        let (even, odd) = (part(1.0), part(-1.0));
        Ok(Self { f, domain, degree, middle, half, even, odd, checks })
    }

    /// The series for a penalty of `2^log2_penalty`, coefficients below rounding set to zero.
    fn solve(&self, log2_penalty: i32) -> Candidate {
        let (degree, share) = (self.degree, self.domain.share);
        let penalty = f64::from(log2_penalty).exp2();
        let cosines = fit(Half::Even, degree, share, penalty, &self.even);
        let sines = fit(Half::Odd, degree, share, penalty, &self.odd);
        let clean = |c: f64| if c.abs() > f64::EPSILON { c * self.half } else { 0.0 };
        // cos and sin are real and imaginary part of E^j: Re((c - i s) E^j).
        let mut coefficients: Vec<Complex64> = cosines
            .iter()
            .zip(&sines)
            .map(|(&c, &s)| Complex64::new(clean(c), -clean(s)))
            .collect();
        coefficients[0] += self.middle;
        let (least, most) = (self.middle - self.half, self.middle + self.half);
        let series = Series::new(coefficients, least, most)
            .expect("least squares of finite values with a penalty are finite");
        let sampled = self
            .checks
            .iter()
            .map(|&(x, value)| (series.eval(self.domain.angle(x)) - value).abs())
            .fold(0.0, f64::max);
        Candidate { series, sampled }
    }

    fn certified(&self, candidate: Candidate) -> Result<RealSeries> {
        let Candidate { series, sampled } = candidate;
        let (f, domain) = (self.f, self.domain);
        let magnitude = self.middle.abs() + self.half;
        let certificate =
            certify(f, &domain, &series, sampled, magnitude).map_err(|refusal| match refusal {
                Refusal::NoValue => without_values(f, domain.lo, domain.hi),
                Refusal::Slope => error::approximation(
                    f.name().into(),
                    format!(
                        "the stated bound on the slope does not hold somewhere in [{:?}, {:?}], or \
                         is no finite number: state a larger one",
                        domain.lo, domain.hi
                    ),
                ),
            })?;
        let (least, most) = certificate.range;
        let series = Series::new(series.coefficients.to_vec(), least, most)?;
        let (along, across) = gains(&domain, &series);
        let error = certificate.error;
        Ok(RealSeries { name: f.name().into(), domain, series, error, along, across })
    }
}
