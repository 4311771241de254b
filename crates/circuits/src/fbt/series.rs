//! Power series of `E = exp(2 pi i t)` whose real part is a function of `t`.

use std::f64::consts::{PI, TAU};
use std::fmt;

#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::{Interval, Result};
use num_complex::Complex64;

use super::fourier::transform;
use crate::error;

/// Terms in a block of Horner's rule; each block starts from a power of `E` computed from its
/// angle.
const BLOCK: usize = 64;

/// The function `R(t) = Re P(E)`, `E = exp(2 pi i t)`, with
///
/// ```text
/// P(E) = sum_{j <= d} a_j E^j,        a_j complex,        t in revolutions, modulo 1.
/// ```
///
/// An error of `E` is multiplied by one of two derivatives: an error of the angle by
/// `derivative`, a relative error `r` of the modulus, `E (1 + r)` instead of
/// `E`, by `radial`.
#[derive(Clone, PartialEq)]
pub struct Series {
    /// The coefficients `a_0 .. a_d`, the last one not zero unless `d = 0`.
    pub(crate) coefficients: Vec<Complex64>,
    /// The range of the entries of a table, or of a function over its domain. Elsewhere on the
    /// circle the series may leave it.
    pub(crate) range: Interval,
}

/// The largest and the mean size of a derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// A bound on the largest magnitude.
    pub most: f64,
    /// The root mean square.
    pub mean: f64,
}

/// Prints the degree only: the coefficients may be secret.
impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("degree", &self.degree()).finish_non_exhaustive()
    }
}

impl Series {
    /// The series of `a_0, a_1, ..` with values in `[least, most]`, without trailing zeros.
    pub(crate) fn new(mut coefficients: Vec<Complex64>, least: f64, most: f64) -> Result<Self> {
        if let Some(index) = coefficients.iter().position(|a| !a.is_finite()) {
            let (what, count) = ("coefficient", coefficients.len());
            return Err(error::non_finite(what, index, count));
        }
        let range = Interval::real(least, most)?;
        while coefficients.len() > 1 && coefficients.last() == Some(&Complex64::ZERO) {
            coefficients.pop();
        }
        if coefficients.is_empty() {
            coefficients.push(Complex64::ZERO);
        }
        Ok(Self { coefficients, range })
    }

    /// The degree `d`.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// `R(t)`.
    pub(crate) fn eval(&self, t: f64) -> f64 {
        self.weighted(t, |_| 1.0).re
    }

    /// `dR/dt`, per revolution.
    #[cfg(test)]
    pub(crate) fn derivative(&self, t: f64) -> f64 {
        -TAU * self.weighted(t, |j| j).im
    }

    /// `d Re P(r E) / dr` at `r = 1`, which is `Re sum_j j a_j E^j`: the error of the value for a
    /// relative error of the modulus of `E`.
    #[cfg(test)]
    pub(crate) fn radial(&self, t: f64) -> f64 {
        self.weighted(t, |j| j).re
    }

    /// `sum_j |a_j|`, a bound on `|P(E)|`.
    pub(crate) fn magnitude(&self) -> f64 {
        self.coefficients.iter().map(|a| a.norm()).sum()
    }

    /// `sum_j (2 pi j)^order |a_j|`, a bound on the derivative of `R` of that order, per
    /// revolution.
    #[cfg(test)]
    pub(crate) fn derivative_bound(&self, order: u32) -> f64 {
        let terms = self.coefficients.iter().enumerate();
        terms.map(|(j, a)| (TAU * j as f64).powi(order as i32) * a.norm()).sum()
    }

    /// A bound on `|Re sum_j w(j) a_j E^j|` over the circle. A trigonometric polynomial of degree
    /// `d` stays above `cos(d a)` times its maximum within an angle `a` of it (M. Riesz), so
    /// `n > 2 d` samples miss it by a factor of `cos(pi d / n)` at most.
    pub(crate) fn largest(&self, weight: impl Fn(f64) -> Complex64) -> f64 {
        let d = self.degree();
        let count = (4 * d).next_power_of_two();
        let samples = self.weighted_nodes(count, weight);
        let most = samples.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        most / (PI * d as f64 / count as f64).cos()
    }

    /// `R(k / count)` for `k < count`, by a fast Fourier transform.
    pub(crate) fn eval_nodes(&self, count: usize) -> Vec<f64> {
        self.weighted_nodes(count, |_| Complex64::ONE)
    }

    /// `derivative` at `k / count` for `k < count`.
    pub(crate) fn derivative_nodes(&self, count: usize) -> Vec<f64> {
        self.weighted_nodes(count, |j| Complex64::new(0.0, TAU * j))
    }

    /// `radial` at `k / count` for `k < count`, by a fast Fourier transform.
    pub(crate) fn radial_nodes(&self, count: usize) -> Vec<f64> {
        self.weighted_nodes(count, Complex64::from)
    }

    /// `Re sum_j w(j) a_j exp(2 pi i j k / count)` for `k < count`.
    pub(crate) fn weighted_nodes(
        &self,
        count: usize,
        weight: impl Fn(f64) -> Complex64,
    ) -> Vec<f64> {
        let mut folded = vec![Complex64::ZERO; count];
        // On `count` equally spaced points E^j depends on j modulo `count`: fold the coefficients,
        // then one transform.
        for (j, a) in self.coefficients.iter().enumerate().skip(1).take_while(|_| count > 0) {
            folded[j % count] += weight(j as f64) * a;
        }
        transform(&mut folded);
        // The constant is added apart, without the rounding of the transform.
        let constant = (weight(0.0) * self.coefficients[0]).re;
        folded.iter().map(|value| value.re + constant).collect()
    }

    /// `sum_j w(j) a_j E^j` by Horner's rule in blocks, each from a power without rounding of its
    /// angle: errors do not grow with the degree.
    fn weighted(&self, t: f64, weight: impl Fn(f64) -> f64) -> Complex64 {
        let power = |j: f64| {
            // j t modulo 1 without loss: the product in two parts by a fused multiply-add.
            let product = j * t;
            let rest = j.mul_add(t, -product);
            Complex64::cis(TAU * (product - product.round() + rest))
        };
        let base = power(1.0);
        // Horner within blocks, a fresh power for each block: roundings do not grow with the
        // degree.
        let blocks = self.coefficients.chunks(BLOCK).enumerate();
        let sums = blocks.map(|(block, coefficients)| {
            let start = (block * BLOCK) as f64;
            let terms = coefficients.iter().enumerate().rev();
            let sum = terms
                .fold(Complex64::ZERO, |sum, (j, a)| sum * base + a * weight(start + j as f64));
            sum * power(start)
        });
        sums.sum()
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::ErrorKind;
    use bellerophon_ring::error::refusal;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn random(degree: usize) -> Series {
        let mut rng = ChaCha20Rng::seed_from_u64(degree as u64);
        let mut part = || rng.random_range(-1.0..1.0);
        let coefficients = (0..=degree).map(|_| Complex64::new(part(), part())).collect();
        Series::new(coefficients, -1.0, 1.0).unwrap()
    }

    #[test]
    fn values_and_derivatives_follow_the_definition() {
        for degree in [0, 1, 2, 63, 64, 65, 200] {
            let series = random(degree);
            for t in [0.0, 0.1, 0.5, -0.3, 7.75, 1e6 + 0.125] {
                let at = |r: f64, t: f64| -> f64 {
                    let terms = series.coefficients.iter().enumerate();
                    terms
                        .map(|(j, a)| {
                            let angle = TAU * (j as f64 * (t - t.floor())).fract();
                            (a * Complex64::from_polar(r.powi(j as i32), angle)).re
                        })
                        .sum()
                };
                let scale = 1.0 + degree as f64;
                assert!((series.eval(t) - at(1.0, t)).abs() < 1e-13 * scale, "{degree} {t}");
                let h = 1e-6;
                let slope = (at(1.0, t + h) - at(1.0, t - h)) / (2.0 * h);
                let growth = (at(1.0 + h, t) - at(1.0 - h, t)) / (2.0 * h);
                let room = 1e-6 * scale.powi(3);
                assert!((series.derivative(t) - slope).abs() < 10.0 * room, "{degree} {t}");
                assert!((series.radial(t) - growth).abs() < room, "{degree} {t}");
            }
        }
    }

    #[test]
    fn bounds_hold_and_nodes_agree_with_points() {
        let series = random(300);
        // More nodes than terms, and fewer.
        for count in [1, 7, 64, 100, 1024] {
            let (values, radial) = (series.eval_nodes(count), series.radial_nodes(count));
            let slopes = series.derivative_nodes(count);
            for k in 0..count {
                let t = k as f64 / count as f64;
                assert!((values[k] - series.eval(t)).abs() < 1e-11);
                assert!((radial[k] - series.radial(t)).abs() < 1e-9);
                assert!((slopes[k] - series.derivative(t)).abs() < 1e-8);
                assert!(values[k].abs() <= series.magnitude());
                assert!(series.derivative(t).abs() <= series.derivative_bound(1));
            }
        }
        assert!(series.eval_nodes(0).is_empty());
    }

    #[test]
    fn high_degrees_keep_their_precision() {
        let series = random(65_535);
        let values = series.eval_nodes(1 << 16);
        for k in [0usize, 1, 777, 32_768, 65_535] {
            let found = series.eval(k as f64 / 65_536.0);
            assert!((values[k] - found).abs() < 1e-10, "{k}: {found} {}", values[k]);
        }
    }

    #[test]
    fn zeros_are_cut_off_and_bad_input_is_refused() {
        let zeros = Series::new(vec![Complex64::ZERO; 4], 0.0, 0.0).unwrap();
        assert_eq!((zeros.degree(), zeros.eval(0.3)), (0, 0.0));
        assert_eq!(Series::new(vec![], 0.0, 0.0).unwrap(), zeros);
        let bad = vec![Complex64::ONE, Complex64::new(0.0, f64::NAN)];
        assert_eq!(Series::new(bad, 0.0, 1.0).unwrap_err(), error::non_finite("coefficient", 1, 2));
        let upside_down = Series::new(vec![Complex64::ONE], 1.0, 0.0);
        assert!(refusal(&upside_down).is(&ErrorKind::Domain, "interval ["));
        let secret = Series::new(vec![Complex64::from(1234.5)], 1234.5, 1234.5).unwrap();
        assert!(!format!("{secret:?}").contains("1234"));
    }
}
