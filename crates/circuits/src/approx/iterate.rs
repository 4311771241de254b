//! Iterations from a starting polynomial: Goldschmidt's products for the inverse, Newton's
//! iteration for roots, squarings for the exponential.

use std::collections::BTreeSet;

use super::certify::rounding;
use super::fit::least_degree;
use super::function::{Function, Known};
use crate::chebyshev::Chebyshev;
use crate::polynomial::Polynomial;

const MAX_STEPS: usize = 8;

/// Degrees of starting polynomials tried are `2^t - 1` up to this `t`.
const MAX_LOG_DEGREE: u32 = 9;

/// Margin for the rounding of `f64`, which the exact formulas leave out.
const SEARCH: f64 = 0.99;

/// The evaluation of a prepared function.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    Polynomial(Polynomial),
    /// An inverse by Goldschmidt's products.
    ///
    /// Let `e_0 = T_d(u(x)) / T_d(u(0))`: of the polynomials of degree `d` that are 1 at zero, the
    /// least over the domain. Then `y_0 = (1 - e_0) / x` is a polynomial of degree `d - 1`, and
    ///
    /// ```text
    /// y_{j+1} = y_j (1 + e_j),    e_{j+1} = e_j^2,    y_k = (1 - e_0^(2^k)) / x.
    /// ```
    ///
    /// (With `d = 1` and the domain `[0, 2]` this is the product `(1 + z)(1 + z^2)(1 + z^4) ..`,
    /// `z = 1 - x`, of Full-RNS HEAAN, section 5.2, after algorithm 2 of Cheon, Kim, Kim and
    /// Song 2017.) The error relative to `1/x` is at most `|T_d(u(0))|^(-2^k)`, attained at the
    /// ends of the domain.
    Inverse {
        /// `y_0`.
        start: Polynomial,
        /// `e_0`.
        residue: Polynomial,
        /// `k`.
        steps: usize,
    },
    /// A square root, or its inverse, by Newton's iteration for the inverse root,
    ///
    /// ```text
    /// y' = y (3 - x y^2) / 2 = 3/2 y - 1/2 (x y) y^2,
    /// ```
    ///
    /// which maps a relative error `d` to at most `3/2 d^2 + 1/2 d^3`. The square root is `x y`;
    /// its last step is `3/2 (x y) - 1/2 (x^2 y) y^2`, at the same depth.
    Root {
        /// The first `y`.
        start: Polynomial,
        /// Iterations, at least one.
        steps: usize,
        /// Whether the root itself is wanted.
        root: bool,
    },
    /// An exponential by squarings, `e^x = (e^(x / 2^k))^(2^k)`.
    ///
    /// An error `h` of the root `r <= m` grows to at most `2^k (m + h)^(2^k - 1) h`.
    Exponential {
        /// The polynomial for `e^(x / 2^k)`.
        root: Polynomial,
        /// `k`, at least one.
        steps: usize,
    },
}

impl Program {
    /// Inverses on `[lo, hi]`, a domain without zero, with their certified absolute errors, for
    /// starting polynomials of several degrees.
    pub(crate) fn inverses(lo: f64, hi: f64, error: f64) -> Vec<(Self, f64)> {
        let nearest = lo.abs().min(hi.abs());
        let sharp_enough = |relative: f64| {
            (1..=MAX_STEPS).find(|&k| relative.powi(1 << k) <= SEARCH * error * nearest)
        };
        (1..=MAX_LOG_DEGREE)
            .filter_map(|t| {
                // Step 1: e_0 of degree 2^t - 1, and the iterations that reach the error.
                let degree = (1usize << t) - 1;
                let basis = |c: f64| {
                    let mut coefficients = vec![0.0; degree + 1];
                    coefficients[degree] = c;
                    Chebyshev::new(lo, hi, coefficients)
                };
                let outside = basis(1.0).eval(0.0);
                let steps = sharp_enough(1.0 / outside.abs()).filter(|_| outside.is_finite())?;
                // Step 2: y_0 = (1 - e_0) / x, a polynomial.
                let residue = basis(1.0 / outside);
                let quotient = |x: f64| (1.0 - residue.eval(x)) / x;
                let start = Chebyshev::interpolate(quotient, lo, hi, degree - 1);
                // Step 3: the exact error, and the rounding of both polynomials.
                let slack = 4.0 * (rounding(&start) + rounding(&residue) / nearest);
                let certified = outside.abs().powi(-(1 << steps)) / nearest + slack;
                let (start, residue) = (Polynomial::new(start), Polynomial::new(residue));
                let program = Self::Inverse { start, residue, steps };
                (certified <= error).then_some((program, certified))
            })
            .collect()
    }

    /// Roots on `[lo, hi]`, positive, with their certified absolute errors.
    pub(crate) fn roots(lo: f64, hi: f64, error: f64, root: bool) -> Vec<(Self, f64)> {
        let f = Function::from(Known::InverseSqrt);
        // The absolute error of the result is the relative error times this.
        let unit = if root { hi.sqrt() } else { lo.sqrt().recip() };
        let sharpened = |relative: f64| 1.5 * relative.powi(2) + 0.5 * relative.powi(3);
        (1..=3)
            .filter_map(|steps| {
                // Step 1: backward from the wanted error, the relative error of the start.
                let mut relative = SEARCH * error / unit;
                for _ in 0..steps {
                    relative = (relative / 1.5).sqrt() * (1.0 - 0.25 * relative.sqrt().min(1.0));
                }
                // Step 2: the starting polynomial of least degree.
                let wanted = relative.min(0.3) / hi.sqrt();
                let (start, found) = least_degree(&f, lo, hi, wanted)?;
                // Step 3: forward from its certified error.
                let first = found * hi.sqrt();
                let last = (0..steps).fold(first, |relative, _| sharpened(relative));
                let certified = last * unit + 8.0 * f64::EPSILON * unit;
                let start = Polynomial::new(start);
                (certified <= error).then_some((Self::Root { start, steps, root }, certified))
            })
            .collect()
    }

    /// Exponentials on `[lo, hi]` with their certified absolute errors.
    pub(crate) fn exponentials(lo: f64, hi: f64, error: f64) -> Vec<(Self, f64)> {
        (1..=4)
            .filter_map(|steps| {
                let share = 0.5f64.powi(steps);
                let value = move |x: f64| (share * x).exp();
                let bound = move |e: &super::Ellipse| Some((share * e.right()).exp());
                let f = Function::analytic("root of exp(x)", value, bound);
                let most = (share * hi).exp();
                let power = (1 << steps) - 1;
                let grown = |h: f64| (power + 1) as f64 * (most + h).powi(power) * h;
                let (root, found) = least_degree(&f, lo, hi, SEARCH * error / grown(0.0) / most)
                    .or_else(|| least_degree(&f, lo, hi, SEARCH * error / grown(1.0)))?;
                let certified = grown(found);
                let (root, steps) = (Polynomial::new(root), steps as usize);
                (certified <= error).then_some((Self::Exponential { root, steps }, certified))
            })
            .collect()
    }

    /// Levels on a ciphertext whose scale is near the primes of its level.
    pub(crate) fn levels(&self) -> usize {
        match self {
            Self::Polynomial(p) => p.levels(),
            Self::Inverse { start, residue, steps } => residue.levels().max(start.levels()) + steps,
            Self::Root { start, steps, .. } => start.levels() + 2 * steps,
            Self::Exponential { root, steps } => root.levels() + steps,
        }
    }

    pub(crate) fn relinearizations(&self) -> usize {
        match self {
            Self::Polynomial(p) => p.plan.relinearizations,
            Self::Inverse { start, residue, steps } => {
                // The two polynomials share their powers.
                let plans = [&start.plan, &residue.plan];
                let powers: BTreeSet<usize> =
                    plans.iter().flat_map(|plan| &plan.powers).map(|p| p.index()).collect();
                let sums: usize = plans.iter().map(|p| p.relinearizations - p.powers.len()).sum();
                powers.len() + sums + 2 * steps - 1
            }
            // The last step of a root squares x and multiplies it besides.
            Self::Root { start, steps, root } => {
                start.plan.relinearizations + 3 * steps + 2 * usize::from(*root)
            }
            Self::Exponential { root, steps } => root.plan.relinearizations + steps,
        }
    }

    /// Degree as a polynomial in the argument, iterations multiplied out.
    pub(crate) fn degree(&self) -> usize {
        let of = |p: &Polynomial| p.chebyshev.degree();
        match self {
            Self::Polynomial(p) => of(p),
            Self::Inverse { residue, steps, .. } => (of(residue) << steps) - 1,
            Self::Root { start, steps, root } => {
                (0..*steps).fold(of(start), |d, _| 3 * d + 1) + usize::from(*root)
            }
            Self::Exponential { root, steps } => of(root) << steps,
        }
    }

    /// The value at `x`, in the clear.
    pub(crate) fn eval(&self, x: f64) -> f64 {
        match self {
            Self::Polynomial(p) => p.eval(x),
            Self::Inverse { start, residue, steps } => {
                let first = (start.eval(x), residue.eval(x));
                (0..*steps).fold(first, |(y, e), _| (y * (1.0 + e), e * e)).0
            }
            Self::Root { start, steps, root } => {
                let y = (0..*steps).fold(start.eval(x), |y, _| y * (1.5 - 0.5 * x * y * y));
                if *root { x * y } else { y }
            }
            Self::Exponential { root, steps } => (0..*steps).fold(root.eval(x), |y, _| y * y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(eval: impl Fn(f64) -> f64, f: fn(f64) -> f64, lo: f64, hi: f64) -> f64 {
        let points =
            (0..=20_000).map(|i| (1.0 - (std::f64::consts::PI * i as f64 / 2e4).cos()) / 2.0);
        points.map(|t| lo + (hi - lo) * t).map(|x| (eval(x) - f(x)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn products_have_their_exact_error() {
        for (lo, hi) in [(0.5, 1.5), (0.01, 1.0), (-3.0, -0.25)] {
            for bits in [10, 25, 35] {
                let error = 0.5f64.powi(bits);
                let all = Program::inverses(lo, hi, error);
                assert!(all.len() > 1);
                for (g, certified) in all {
                    let found = worst(|x| g.eval(x), f64::recip, lo, hi);
                    assert!(found <= certified && certified <= error, "{found:e} {certified:e}");
                    assert!(certified < 1.01 * found + 1e-10, "{found:e} {certified:e}");
                }
            }
        }
    }

    #[test]
    fn roots_and_exponentials_hold_their_certificates() {
        for root in [true, false] {
            let f: fn(f64) -> f64 = if root { f64::sqrt } else { |x| x.sqrt().recip() };
            for (lo, hi) in [(0.1, 1.0), (0.005, 2.0)] {
                let all = Program::roots(lo, hi, 1e-6, root);
                assert_eq!(all.len(), 3);
                for (n, certified) in all {
                    let found = worst(|x| n.eval(x), f, lo, hi);
                    assert!(found <= certified && certified <= 1e-6, "{found:e} {certified:e}");
                }
            }
        }
        for (s, certified) in Program::exponentials(-4.0, 4.0, 1e-5) {
            let found = worst(|x| s.eval(x), f64::exp, -4.0, 4.0);
            assert!(found <= certified && certified <= 1e-5, "{found:e} {certified:e}");
            assert!(certified < 8.0 * found, "{found:e} {certified:e}");
        }
    }
}
