//! The least-squares polynomial of the logistic function.

use crate::approx::solve;
use crate::error;
use bellerophon_ckks::{CkksOps, Result};

/// Points of Simpson's rule on `[0, 1]`.
const POINTS: usize = 1 << 12;

/// The polynomial of degree 3, 5 or 7 nearest to `1 / (1 + exp(-x))` over `[-bound, bound]` in the
/// mean square:
///
/// ```text
/// 1/2 + c_1 u + c_3 u^3 + ..,     u = x / bound.
/// ```
///
/// With `bound` 8 these are the polynomials `g_3`, `g_5`, `g_7` of eprint 2018/254, section 3.1.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquaresSigmoid {
    bound: f64,
    /// Of `u, u^3, u^5, ..`.
    pub(crate) odd: Vec<f64>,
}

impl LeastSquaresSigmoid {
    pub(crate) fn new(degree: usize, bound: f64) -> Result<Self> {
        if ![3, 5, 7].contains(&degree) {
            return Err(error::shape(format!("degree {degree}: need 3, 5 or 7")));
        }
        if !(bound > 0.0 && bound.is_finite()) {
            return Err(error::shape(format!("bound {bound:?}: need a finite number above zero")));
        }
        // Normal equations on [0, 1] (all functions are odd): rows <u^i, u^j>, right <u^i, f>.
        let count = degree.div_ceil(2);
        let power = |i: usize| 2 * i as i32 + 1;
        let target = |u: f64| 1.0 / (1.0 + (-bound * u).exp()) - 0.5;
        let mut rows: Vec<Vec<f64>> = (0..count)
            .map(|i| {
                let gram = (0..count).map(|j| 1.0 / f64::from(power(i) + power(j) + 1));
                gram.chain([integral(|u| u.powi(power(i)) * target(u))]).collect()
            })
            .collect();
        let odd = solve(&mut rows).expect("normal equations of independent functions");
        Ok(Self { bound, odd })
    }

    /// The degree.
    #[cfg(test)]
    pub(crate) fn degree(&self) -> usize {
        2 * self.odd.len() - 1
    }

    /// The value at `x`.
    pub fn eval(&self, x: f64) -> f64 {
        let u = x / self.bound;
        0.5 + u * self.odd.iter().rev().fold(0.0, |sum, c| sum * u * u + c)
    }

    /// Levels that the polynomial takes, also times another ciphertext.
    pub(crate) fn levels(&self) -> usize {
        if self.odd.len() == 2 { 2 } else { 3 }
    }

    pub(super) fn leading(&self) -> f64 {
        self.odd[self.odd.len() - 1]
    }

    /// `m (p(u) - 1/2) / leading` for `u = x / bound` and `w = m u` one level below `u`: the
    /// multiplier `m` costs no level of its own.
    pub(super) fn times<A: CkksOps>(
        &self,
        eval: &A,
        u: &A::Ciphertext,
        w: &A::Ciphertext,
    ) -> Result<A::Ciphertext> {
        // p(u) - 1/2 = leading u f(y) with y = u^2 and f monic.
        let y = eval.square(u)?;
        let monic: Vec<f64> = self.odd.iter().map(|c| c / self.leading()).collect();
        match monic[..] {
            [a, _] => eval.mul(w, &eval.add_scalar(&y, a)?),
            // y^2 + b y + c: the square and the multiple share a rescale.
            [c, b, _] => eval.mul(w, &eval.mul_add_many(&[(&y, &y)], &[(&y, b)], c, None)?),
            _ => {
                // A real cubic has a real root: a linear factor and a quadratic one, at depth 3
                // instead of the 4 of Horner.
                let (root, b, c) = split_cubic([monic[0], monic[1], monic[2]]);
                let left = eval.mul(w, &eval.add_scalar(&y, -root)?)?;
                eval.mul(&left, &eval.mul_add_many(&[(&y, &y)], &[(&y, b)], c, None)?)
            }
        }
    }
}

/// A real root `r` of `y^3 + k_2 y^2 + k_1 y + k_0`, and `b, c` of the quotient `y^2 + b y + c`.
fn split_cubic([k0, k1, k2]: [f64; 3]) -> (f64, f64, f64) {
    let value = |y: f64| ((y + k2) * y + k1) * y + k0;
    // Cauchy's bound holds all roots; the cubic changes its sign between its ends.
    let reach = 1.0 + k0.abs().max(k1.abs()).max(k2.abs());
    let (mut lo, mut hi) = (-reach, reach);
    for _ in 0..200 {
        let middle = 0.5 * (lo + hi);
        if value(middle) < 0.0 { lo = middle } else { hi = middle }
    }
    let root = 0.5 * (lo + hi);
    let b = k2 + root;
    (root, b, k1 + root * b)
}

fn integral(f: impl Fn(f64) -> f64) -> f64 {
    let step = 1.0 / POINTS as f64;
    let weight = |i: usize| match i {
        0 | POINTS => 1.0,
        i if i % 2 == 1 => 4.0,
        _ => 2.0,
    };
    (0..=POINTS).map(|i| weight(i) * f(i as f64 * step)).sum::<f64>() * step / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_of_the_paper() {
        // eprint 2018/254, section 3.1, in x / 8; the last coefficient of its g_5 is 2% below the
        // minimum's.
        for (degree, expected) in [
            (3, vec![1.20096, -0.81562]),
            (5, vec![1.53048, -2.3533056]),
            (7, vec![1.73496, -4.19407, 5.43402, -2.50739]),
        ] {
            let sigmoid = LeastSquaresSigmoid::new(degree, 8.0).unwrap();
            assert_eq!(sigmoid.degree(), degree);
            for (found, expected) in sigmoid.odd.iter().zip(&expected) {
                assert!((found / expected - 1.0).abs() < 1e-3, "{sigmoid:?}");
            }
            let error = |x: f64| (sigmoid.eval(x) - 1.0 / (1.0 + (-x).exp())).abs();
            let worst = (-80..=80).map(|i| error(f64::from(i) / 10.0)).fold(0.0, f64::max);
            let stated = [0.12, 0.08, 0.04][degree / 2 - 1];
            assert!(worst < stated && worst > stated / 4.0, "{degree}: {worst}");
        }
    }

    #[test]
    fn no_polynomial_is_nearer() {
        let sigmoid = LeastSquaresSigmoid::new(5, 4.0).unwrap();
        let distance = |p: &LeastSquaresSigmoid| {
            integral(|u| (p.eval(4.0 * u) - 1.0 / (1.0 + (-4.0 * u).exp())).powi(2))
        };
        for i in 0..3 {
            for change in [1e-3, -1e-3] {
                let mut other = sigmoid.clone();
                other.odd[i] += change;
                assert!(distance(&other) > distance(&sigmoid));
            }
        }
    }

    #[test]
    fn cubics_split() {
        for k in [[-0.7, 2.1, -2.2], [1.0, 0.0, 0.0], [-6.0, 11.0, -6.0]] {
            let (root, b, c) = split_cubic(k);
            for (found, expected) in [-root * c, c - root * b, b - root].into_iter().zip(k) {
                assert!((found - expected).abs() < 1e-9, "{k:?}");
            }
        }
    }

    #[test]
    fn refuses_other_degrees() {
        assert!(LeastSquaresSigmoid::new(4, 8.0).is_err());
        assert!(LeastSquaresSigmoid::new(3, 0.0).is_err());
        assert!(LeastSquaresSigmoid::new(3, f64::NAN).is_err());
    }
}
