//! Approximation of functions by Chebyshev interpolation.
//!
//! On the domain `[lo, hi]`, with `u = (2x - lo - hi) / (hi - lo)` in `[-1, 1]`,
//!
//! ```text
//! p(x) = sum_{k <= d} c_k T_k(u),       T_k(cos a) = cos(k a),
//! ```
//!
//! interpolates `f` in the `d + 1` Chebyshev nodes; the coefficients are a discrete cosine
//! transform of the values there. For a function analytic around the domain the error falls
//! geometrically with `d` and stays within a factor of about `2 + (2/pi) ln d` of the best
//! polynomial's.

use std::{f64::consts::PI, fmt};

/// A polynomial in the Chebyshev basis of an interval.
#[derive(Clone, PartialEq)]
pub struct Chebyshev {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    /// Coefficients `c_0 .. c_d`, the last one not zero.
    pub(crate) coefficients: Vec<f64>,
}

/// Domain and degree only: the coefficients may be secret.
impl fmt::Debug for Chebyshev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chebyshev")
            .field("lo", &self.lo)
            .field("hi", &self.hi)
            .field("degree", &self.degree())
            .finish_non_exhaustive()
    }
}

impl Chebyshev {
    /// The polynomial `sum_k coefficients[k] T_k` over `[lo, hi]`; no coefficient at all is zero.
    ///
    /// # Panics
    /// When the interval is empty or anything is not finite.
    pub fn new(lo: f64, hi: f64, mut coefficients: Vec<f64>) -> Self {
        assert!(lo.is_finite() && hi.is_finite() && lo < hi, "interval [{lo}, {hi}]");
        assert!(coefficients.iter().all(|c| c.is_finite()), "a coefficient is not finite");
        while coefficients.last() == Some(&0.0) {
            coefficients.pop();
        }
        Self { lo, hi, coefficients }
    }

    /// Interpolates `f` over `[lo, hi]` in `degree + 1` Chebyshev nodes.
    ///
    /// Takes `O(degree^2)` operations; coefficients that are nothing but rounding (below `2^-49`
    /// of the largest) become zero, so that odd and even functions give odd and even polynomials.
    ///
    /// # Panics
    /// When the interval is empty or `f` is not finite at a node.
    pub fn interpolate(f: impl Fn(f64) -> f64, lo: f64, hi: f64, degree: usize) -> Self {
        // Step 1: the values at the nodes.
        let nodes = degree + 1;
        let angle = |j: usize| PI * (j as f64 + 0.5) / nodes as f64;
        let middle = 0.5 * (lo + hi);
        let values: Vec<f64> =
            (0..nodes).map(|j| f(middle + 0.5 * (hi - lo) * angle(j).cos())).collect();
        // Step 2: cos(k angle(j)) = cos(pi k (2j + 1) / 2 nodes): the index modulo 4 nodes keeps it
        // exact.
        let cosines: Vec<f64> =
            (0..4 * nodes).map(|i| (PI * i as f64 / (2 * nodes) as f64).cos()).collect();
        // Step 3: the discrete cosine transform.
        let mut coefficients: Vec<f64> = (0..nodes)
            .map(|k| {
                let sum: f64 = values
                    .iter()
                    .enumerate()
                    .map(|(j, v)| v * cosines[k * (2 * j + 1) % (4 * nodes)])
                    .sum();
                sum * if k == 0 { 1.0 } else { 2.0 } / nodes as f64
            })
            .collect();
        // Step 4: rounding leaves tiny odd coefficients of even functions, and the like: exact
        // zeros show the parity.
        let largest = coefficients.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        for c in &mut coefficients {
            if c.abs() < largest * 8.0 * f64::EPSILON {
                *c = 0.0;
            }
        }
        Self::new(lo, hi, coefficients)
    }

    /// The series of `cos(a u)` over `[-1, 1]` up to `degree`, with a bound on its error there.
    ///
    /// ```text
    /// cos(a u) = J_0(a) + 2 sum_{k >= 1} (-1)^k J_{2k}(a) T_{2k}(u)        (DLMF 10.12.2)
    /// ```
    ///
    /// so the error is at most the sum of the `2 |J_{2k}(a)|` left out, no sampling needed.
    /// (Rounding adds about `2^-52 a` to either.)
    pub(crate) fn cosine(a: f64, degree: usize) -> (Self, f64) {
        let terms = cosine_terms(a, degree);
        let error = terms[degree + 1..].iter().map(|c| c.abs()).sum();
        (Self::new(-1.0, 1.0, terms[..=degree].to_vec()), error)
    }

    /// A bound on the error over `[-1, 1]` of the derivative of [`cosine`](Self::cosine): that of
    /// `T_k` is at most `k^2`.
    pub(crate) fn cosine_slope_error(a: f64, degree: usize) -> f64 {
        let terms = cosine_terms(a, degree);
        (degree + 1..terms.len()).map(|k| (k * k) as f64 * terms[k].abs()).sum()
    }

    /// The degree; 0 for constants and for the zero polynomial.
    pub(crate) fn degree(&self) -> usize {
        self.coefficients.len().saturating_sub(1)
    }

    /// The coefficient of `T_0`.
    pub(crate) fn constant(&self) -> f64 {
        self.coefficients.first().copied().unwrap_or(0.0)
    }

    /// Slope and shift of the map of the domain onto `[-1, 1]`: `u = slope x + shift`.
    pub(crate) fn unit_map(&self) -> (f64, f64) {
        let width = self.hi - self.lo;
        (2.0 / width, -(self.lo + self.hi) / width)
    }

    /// Whether every odd coefficient (about the middle of the domain) is zero.
    pub(crate) fn is_even(&self) -> bool {
        self.coefficients.iter().skip(1).step_by(2).all(|&c| c == 0.0)
    }

    /// Whether every even coefficient (about the middle of the domain) is zero.
    pub(crate) fn is_odd(&self) -> bool {
        self.coefficients.iter().step_by(2).all(|&c| c == 0.0)
    }

    /// `u` in `[-1, 1]` for `x` in the domain.
    pub(crate) fn to_unit(&self, x: f64) -> f64 {
        (2.0 * x - self.lo - self.hi) / (self.hi - self.lo)
    }

    /// The value at `x`, by Clenshaw's recurrence.
    pub fn eval(&self, x: f64) -> f64 {
        let u = self.to_unit(x);
        // Clenshaw: b_k = c_k + 2 u b_{k+1} - b_{k+2}.
        let (mut next, mut after) = (0.0, 0.0);
        for &c in self.coefficients.iter().skip(1).rev() {
            (next, after) = (c + 2.0 * u * next - after, next);
        }
        self.coefficients.first().copied().unwrap_or(0.0) + u * next - after
    }

    /// Largest value that the polynomial can take in its domain: `sum |c_k|`.
    pub(crate) fn bound(&self) -> f64 {
        self.coefficients.iter().map(|c| c.abs()).sum()
    }

    /// Largest derivative by the angle `a`, `u = cos a`, at most: `sum k |c_k|`.
    pub(crate) fn angular_slope(&self) -> f64 {
        self.coefficients.iter().enumerate().map(|(k, c)| k as f64 * c.abs()).sum()
    }

    /// By `u`: `sum_k c'_k T_k(u)` with `c'_(k-1) = c'_(k+1) + 2 k c_k`, and `c'_0` halved.
    pub(crate) fn derivative(&self) -> Self {
        let degree = self.degree();
        let mut slope = vec![0.0; degree + 2];
        for k in (1..=degree).rev() {
            slope[k - 1] = slope[k + 1] + 2.0 * k as f64 * self.coefficients[k];
        }
        slope[0] *= 0.5;
        slope.truncate(degree.max(1));
        Self::new(-1.0, 1.0, slope)
    }

    /// A bound on the derivative by `u` in `[-1, 1]`.
    pub(crate) fn largest_slope(&self) -> f64 {
        let (slope, degree) = (self.derivative(), self.degree());
        // Samples dense enough for a margin far below the bound.
        let (least, most) = slope.extremes(-1.0, 1.0, 512 + 16 * degree);
        least.abs().max(most.abs())
    }

    /// Bounds on the least and the largest value over `[lo, hi]`, by samples evenly spaced in
    /// angle. An extreme between two of them exceeds both by at most `spacing^2 / 8 sum k^2 |c_k|`.
    pub(crate) fn extremes(&self, lo: f64, hi: f64, samples: usize) -> (f64, f64) {
        let angle = |x: f64| self.to_unit(x).clamp(-1.0, 1.0).acos();
        let (first, last) = (angle(hi), angle(lo));
        let spacing = (last - first).max(0.0) / (samples.max(2) - 1) as f64;
        let middle = 0.5 * (self.lo + self.hi);
        let radius = 0.5 * (self.hi - self.lo);
        let (least, most) = (0..samples.max(2))
            .map(|i| self.eval(middle + radius * (first + i as f64 * spacing).cos()))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let squares = self.coefficients.iter().enumerate();
        // As a function of the angle the polynomial is a cosine sum, whose second derivative is at
        // most sum k^2 |c_k|. Between samples at distance h it exceeds both by at most h^2 / 8 of
        // that.
        let curvature: f64 = squares.map(|(k, c)| (k * k) as f64 * c.abs()).sum();
        let margin = spacing * spacing / 8.0 * curvature;
        let bound = self.bound();
        ((least - margin).max(-bound), (most + margin).min(bound))
    }

    /// Largest difference from `f` at samples spaced like Chebyshev nodes, the ends among them.
    pub(crate) fn sampled_error(&self, f: impl Fn(f64) -> f64, samples: usize) -> f64 {
        let last = samples.max(2) - 1;
        let (middle, radius) = (0.5 * (self.lo + self.hi), 0.5 * (self.hi - self.lo));
        (0..=last)
            .map(|i| {
                let x = middle - radius * (PI * i as f64 / last as f64).cos();
                (f(x) - self.eval(x)).abs()
            })
            .fold(0.0, f64::max)
    }

    /// A bound on the difference from an `f` of slope at most `lipschitz`: the
    /// [sampled](Self::sampled_error) one, and its growth up to the middle between two samples.
    pub(crate) fn certified_error(
        &self,
        f: impl Fn(f64) -> f64,
        lipschitz: f64,
        samples: usize,
    ) -> f64 {
        // Every angle is within half a spacing of a sample; slopes of function and polynomial bound
        // the change up to there.
        let spacing = PI / (samples.max(2) - 1) as f64;
        self.sampled_error(f, samples) + 0.5 * spacing * self.difference_slope(lipschitz)
    }

    /// A bound on the derivative by the angle of the difference from a function of such a slope.
    pub(crate) fn difference_slope(&self, lipschitz: f64) -> f64 {
        lipschitz * 0.5 * (self.hi - self.lo) + self.angular_slope()
    }
}

/// The coefficients of `cos(a u)`, far beyond a degree.
fn cosine_terms(a: f64, degree: usize) -> Vec<f64> {
    // Beyond a + 60 the terms are below 2^-100 of the first one left out.
    let last = degree.max(a.abs() as usize) + 60;
    let series = bessel(a, last);
    // Jacobi-Anger: cos(a u) = J_0(a) + 2 sum_k (-1)^k J_2k(a) T_2k(u).
    let term = |k: usize| match k {
        0 => series[0],
        _ if k % 2 == 1 => 0.0,
        _ if k % 4 == 2 => -2.0 * series[k],
        _ => 2.0 * series[k],
    };
    (0..=last).map(term).collect()
}

/// Bessel functions `J_0(a) .. J_last(a)`, by Miller's backward recurrence
/// `J_{k-1} = (2k/a) J_k - J_{k+1}`, normalised by `J_0 + 2 sum J_{2k} = 1` (DLMF 10.74(iv)).
fn bessel(a: f64, last: usize) -> Vec<f64> {
    if a == 0.0 {
        return (0..=last).map(|k| if k == 0 { 1.0 } else { 0.0 }).collect();
    }
    // Miller's algorithm: the recurrence is stable downward only, from a start above all wanted
    // orders, up to a common factor that the sum J_0 + 2 sum J_2k = 1 gives.
    let start = 2 * ((last.max(a.abs() as usize) + 60) / 2);
    let mut j = vec![0.0; start + 2];
    j[start] = 1e-280;
    for k in (1..=start).rev() {
        j[k - 1] = 2.0 * k as f64 / a * j[k] - j[k + 1];
        if j[k - 1].abs() > 1e200 {
            j[k - 1..].iter_mut().for_each(|x| *x *= 1e-250);
        }
    }
    let sum: f64 = j[0] + 2.0 * j.iter().skip(2).step_by(2).sum::<f64>();
    j.truncate(last + 1);
    j.into_iter().map(|x| x / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interpolation_is_exact_at_nodes_and_on_polynomials() {
        let f = |x: f64| ((0.3 * x - 2.0) * x + 1.0) * x - 4.0;
        let p = Chebyshev::interpolate(f, -3.0, 5.0, 7);
        assert!(p.sampled_error(f, 1000) < 1e-13);
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let p = Chebyshev::interpolate(sigmoid, -8.0, 8.0, 20);
        for j in 0..21 {
            let x = 8.0 * (PI * (j as f64 + 0.5) / 21.0).cos();
            assert!((p.eval(x) - sigmoid(x)).abs() < 1e-14);
        }
    }

    #[test]
    fn basis_polynomials_are_cosines() {
        for k in 0..9 {
            let mut c = vec![0.0; k + 1];
            c[k] = 1.0;
            let t = Chebyshev::new(-1.0, 1.0, c);
            for i in 0..50 {
                let a = 0.13 * i as f64;
                assert!((t.eval(a.cos()) - (k as f64 * a).cos()).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn parity_is_seen() {
        let p = Chebyshev::interpolate(|x| (2.0 * x).cos(), -3.0, 3.0, 16);
        assert!(p.is_even() && !p.is_odd());
        assert!(Chebyshev::interpolate(f64::sin, -1.0, 1.0, 9).is_odd());
        assert_eq!(Chebyshev::new(0.0, 1.0, vec![]).eval(0.3), 0.0);
    }

    #[test]
    fn certified_error_bounds_every_point_closely() {
        let f = |x: f64| x.tanh();
        let p = Chebyshev::interpolate(f, -4.0, 4.0, 31);
        let certified = p.certified_error(f, 1.0, 1 << 20);
        let sampled = p.sampled_error(f, 12_345);
        assert!(sampled <= certified && certified < sampled + 2e-5, "{sampled} {certified}");
        // A few samples still certify, at a higher price.
        assert!(p.certified_error(f, 1.0, 50) >= sampled);
    }

    #[test]
    fn largest_slope_bounds_the_derivative_closely() {
        for degree in [0usize, 1, 2, 7, 30, 200] {
            let p = Chebyshev::interpolate(|x| (9.0 * x).sin() + x, -1.0, 1.0, degree);
            let (bound, h) = (p.largest_slope(), 1e-6);
            let slope = |u: f64| (p.eval(u + h) - p.eval(u - h)).abs() / (2.0 * h);
            let inside = (-9999..=9999).map(|i| slope(f64::from(i) / 1e4 * (1.0 - h)));
            let found = inside.fold(0.0, f64::max);
            assert!(found <= bound * (1.0 + 1e-6) + 1e-9, "{degree}: {found} above {bound}");
            assert!(bound <= 1.02 * found + 1e-9, "{degree}: {bound} far above {found}");
        }
    }

    #[test]
    fn extremes_hold_over_parts_of_the_domain() {
        let p = Chebyshev::interpolate(|x| (3.0 * x).sin(), -1.0, 4.0, 25);
        for (lo, hi) in [(-1.0, 4.0), (0.0, 0.1), (1.0, 3.0), (2.0, 2.0)] {
            let (least, most) = p.extremes(lo, hi, 500);
            let values = (0..=1000).map(|i| p.eval(lo + (hi - lo) * i as f64 / 1000.0));
            let (a, b) = values.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
            assert!(
                least <= a + 1e-12 && b <= most + 1e-12,
                "[{lo}, {hi}]: {least} {a} {b} {most}"
            );
            assert!(a - least < 2e-3 && most - b < 2e-3, "[{lo}, {hi}]: {least} {a} {b} {most}");
        }
    }

    #[test]
    fn bessel_functions_have_their_tabled_values() {
        // DLMF / Abramowitz and Stegun tables 9.1 and 9.4.
        let tabled = [
            (1.0, 0, 0.765_197_686_557_966_6),
            (1.0, 1, 0.440_050_585_744_933_5),
            (5.0, 2, 0.046_565_116_277_752_2),
            (10.0, 10, 0.207_486_106_633_358_9),
            (2.0, 20, 3.918_972_805_090_753e-19),
            (50.0, 0, 0.055_812_327_669_251_75),
        ];
        for (a, k, value) in tabled {
            let found = bessel(a, 20)[k];
            assert!((found / value - 1.0_f64).abs() < 1e-12, "J_{k}({a}) = {found}");
        }
    }

    #[test]
    fn cosine_bound_holds_and_is_tight() {
        for a in [0.0, 0.5, 3.0, 14.7, 29.5, 60.0] {
            for degree in [10usize, 20, 30, 50, 62, 90] {
                let (p, bound) = Chebyshev::cosine(a, degree);
                assert!(p.is_even() && p.degree() <= degree);
                let found = p.sampled_error(|u| (a * u).cos(), 4000);
                assert!(found <= bound + 3e-14, "a {a} degree {degree}: {found} > {bound}");
                if bound < 1e-2 && found > 1e-12 {
                    assert!(bound < 2.5 * found, "a {a} degree {degree}: {found}, {bound}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn clenshaw_is_the_sum_of_the_basis(c in prop::collection::vec(-1.0f64..1.0, 0..20),
                                            a in 0.0f64..PI) {
            let p = Chebyshev::new(2.0, 6.0, c.clone());
            let sum: f64 = c.iter().enumerate().map(|(k, c)| c * (k as f64 * a).cos()).sum();
            let value = p.eval(4.0 + 2.0 * a.cos());
            prop_assert!((value - sum).abs() < 1e-11);
            prop_assert!(value.abs() <= p.bound() + 1e-11);
        }
    }
}
