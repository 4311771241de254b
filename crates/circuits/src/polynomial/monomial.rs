//! Polynomials in the monomial basis, with real or complex coefficients.

use super::planned::SAMPLES;
use super::{Plan, Response, Sensitivity, power_depth};
use crate::{chebyshev::Chebyshev, error};
use bellerophon_ckks::{CiphertextMeta, Complex64, ErrorKind, Interval, Result, noise};

/// Larger values are refused: sums of them could overflow.
const LARGEST_VALUE: f64 = 1e280;

/// A polynomial `sum_k c_k x^k` with the plan of its evaluation, for real or complex slots.
///
/// [`ComposedOps::monomial`](crate::CircuitOps::monomial) evaluates it in
/// `ceil(log2(degree + 1))` levels and about `2 sqrt(degree)` relinearizations, without a level for
/// a domain. The price is precision: an error of `x^k` is multiplied by `c_k`. If coefficients
/// alternate and cancel, as in approximations over `[-r, r]` for large `r`, the
/// [Chebyshev basis](Self::to_chebyshev) loses less.
///
/// ```
/// use bellerophon_circuits::polynomial::Monomial;
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// let p = Monomial::new(&[1.0, 0.0, -0.5, 0.0, 0.25])?; // 1 - x^2 / 2 + x^4 / 4
/// assert_eq!(p.levels(), 3);
/// assert_eq!(p.eval(2.0.into()).re, 3.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct Monomial {
    coefficients: Vec<Complex64>,
    pub(crate) plan: Plan,
}

/// Prints degree and plan only: the coefficients may be secret.
impl std::fmt::Debug for Monomial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monomial")
            .field("degree", &self.degree())
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Monomial {
    /// The polynomial with these coefficients, the constant first.
    pub fn new(coefficients: &[f64]) -> Result<Self> {
        let complex: Vec<Complex64> = coefficients.iter().map(|&c| c.into()).collect();
        Self::complex(&complex)
    }

    /// As [`new`](Self::new) with complex coefficients, at the same cost.
    pub fn complex(coefficients: &[Complex64]) -> Result<Self> {
        if coefficients.is_empty() {
            return Err(error::no_values());
        }
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            let (what, count) = ("coefficient", coefficients.len());
            return Err(error::non_finite(what, index, count));
        }
        let last = coefficients.iter().rposition(|c| *c != Complex64::ZERO).unwrap_or(0);
        let coefficients = coefficients[..=last].to_vec();
        Ok(Self { plan: Plan::monomial(&coefficients), coefficients })
    }

    pub(crate) fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// Levels of the evaluation on a ciphertext whose scale is near the divisor of its level,
    /// `ceil(log2(degree + 1))`.
    pub fn levels(&self) -> usize {
        power_depth(self.degree() + 1)
    }

    pub(crate) fn is_real(&self) -> bool {
        self.coefficients.iter().all(|c| c.im == 0.0)
    }

    /// The value at `x`.
    pub fn eval(&self, x: Complex64) -> Complex64 {
        self.coefficients.iter().rev().fold(Complex64::ZERO, |sum, c| sum * x + c)
    }

    /// The same polynomial in the Chebyshev basis of `[lo, hi]`, for real arguments there: better
    /// conditioned where the coefficients cancel.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] unless `lo < hi`, [`ErrorKind::Accuracy`] for complex
    /// coefficients and values beyond `f64`.
    pub fn to_chebyshev(&self, lo: f64, hi: f64) -> Result<Chebyshev> {
        if !(lo.is_finite() && hi.is_finite() && lo < hi) {
            return Err(error::interval(lo, hi));
        }
        if !self.is_real() {
            return Err(error::approximation(
                "a polynomial with complex coefficients".into(),
                "the Chebyshev basis takes real ones: convert real and imaginary part apart".into(),
            ));
        }
        if self.magnitude(lo.abs().max(hi.abs())) >= LARGEST_VALUE {
            return Err(error::approximation(
                "a polynomial".into(),
                format!("values on [{lo:?}, {hi:?}] are too large for f64"),
            ));
        }
        Ok(Chebyshev::interpolate(|x| self.eval(x.into()).re, lo, hi, self.degree()))
    }

    /// `sum_k |c_k| r^k`.
    fn magnitude(&self, r: f64) -> f64 {
        self.coefficients.iter().rev().fold(0.0, |sum, c| sum * r + c.norm())
    }

    /// A range that contains the values over a range: from the Chebyshev basis for reals, from the
    /// magnitudes of the coefficients for complex numbers.
    pub(crate) fn range(&self, of: &Interval) -> Interval {
        let most = self.magnitude(of.bound());
        let disc = Interval::between(-most, most);
        if !of.is_real() || !self.is_real() {
            return disc.as_complex();
        }
        match self.to_chebyshev(of.lo(), of.hi()) {
            Ok(p) => {
                let (least, most) = p.extremes(of.lo(), of.hi(), SAMPLES);
                Interval::between(least, most)
            }
            Err(e) if e.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of") => disc,
            // A single point.
            Err(_) => {
                let value = self.eval(of.lo().into()).re;
                Interval::between(value, value)
            }
        }
    }

    /// The response to the noise of an operand; for complex numbers, at the largest magnitude.
    pub(crate) fn response(&self, x: &CiphertextMeta) -> Response {
        let of = &x.bounds.slots();
        let sizes;
        // Step 1: the points: 65 of a real range, or the largest magnitude of a complex one.
        let (plan, points): (_, Vec<f64>) = match of.is_real() {
            true => (
                &self.plan,
                (0..=64).map(|i| of.lo() + (of.hi() - of.lo()) * i as f64 / 64.0).collect(),
            ),
            false => {
                let magnitudes = self.coefficients.iter().map(|c| c.norm().into());
                sizes = Plan::monomial(&magnitudes.collect::<Vec<_>>());
                (&sizes, vec![of.bound()])
            }
        };
        let at = |x: f64| {
            let (input, steps) = plan.derivatives(x);
            Sensitivity { input: input.norm(), steps }
        };
        // The derivative is at most sum k |c_k| M^(k-1) for values up to M.
        let most = of.bound() + noise::LARGEST * x.slot_std(x.noise.excess);
        let slope = self.coefficients.iter().enumerate().skip(1);
        let slope = slope.map(|(k, c)| k as f64 * c.norm() * most.powi(k as i32 - 1)).sum();
        // Step 2: mean squares over the points for the total, the largest for the peak.
        let total = Sensitivity::mean(points.iter().map(|&x| at(x)));
        let peak = points.iter().map(|&x| at(x)).fold(self.largest(of), Sensitivity::max);
        // Step 3: the error of the operand enters the excess by the slope at the ends.
        let mut excess = Sensitivity { input: 0.0, ..peak };
        for s in x.ends().into_iter().map(at) {
            excess = excess.max(Sensitivity { steps: 0.0, ..s });
        }
        Response { total, peak, bound: Sensitivity { input: slope, ..peak }, excess }
    }

    /// A bound on the sensitivity over a real range.
    fn largest(&self, of: &Interval) -> Sensitivity {
        if !of.is_real() {
            return Sensitivity { input: 0.0, steps: 0.0 };
        }
        let (middle, radius) = (0.5 * (of.lo() + of.hi()), 0.5 * (of.hi() - of.lo()));
        let place = |a: f64| (middle + radius * a.cos()).into();
        let slope = self.plan.largest_over(place, |x| self.plan.derivatives(x).0.norm_sqr());
        let steps = self.plan.largest_over(place, |x| self.plan.derivatives(x).1.powi(2));
        Sensitivity { input: slope.sqrt(), steps: steps.sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ring::error::refusal;

    #[test]
    fn values_ranges_and_conversions() {
        let p = Monomial::new(&[0.5, -1.0, 0.0, 2.0, 0.0]).unwrap();
        assert_eq!((p.degree(), p.levels(), p.is_real()), (3, 2, true));
        let c = p.to_chebyshev(-1.0, 3.0).unwrap();
        for x in [-1.0, 0.3, 2.9] {
            let value = 0.5 - x + 2.0 * x * x * x;
            assert!((p.eval(x.into()).re - value).abs() < 1e-12);
            assert!((c.eval(x) - value).abs() < 1e-11);
        }
        let range = p.range(&Interval::real(-1.0, 3.0).unwrap());
        assert!(range.lo() <= -0.5 && range.hi() >= 51.5 && range.hi() < 52.5, "{range:?}");
        let point = p.range(&Interval::real(2.0, 2.0).unwrap());
        assert_eq!((point.lo(), point.hi()), (14.5, 14.5));
        let disc = p.range(&Interval::complex(2.0).unwrap());
        assert_eq!((disc.hi(), disc.is_real()), (18.5, false));
    }

    #[test]
    fn complex_coefficients_and_refusals() {
        let i = Complex64::I;
        let p = Monomial::complex(&[i, 1.0.into(), i * 2.0]).unwrap();
        assert!(!p.is_real() && p.to_chebyshev(0.0, 1.0).is_err());
        assert_eq!(p.eval(i), i + i - i * 2.0);
        assert!(
            refusal(&Monomial::new(&[]))
                .is(&ErrorKind::Length, "no operands or values: need at least one")
        );
        let error = Monomial::new(&[1.0, f64::NAN]).unwrap_err();
        assert!(error.is(&ErrorKind::NotFinite, "at position 1 of"), "{error}");
        let large = Monomial::new(&[1.0, 1e308]).unwrap();
        assert!(
            refusal(&large.to_chebyshev(-10.0, 10.0))
                .is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of")
        );
        assert_eq!(large.range(&Interval::real(-10.0, 10.0).unwrap()).hi(), f64::INFINITY);
        let zero = Monomial::new(&[0.0, 0.0]).unwrap();
        assert_eq!((zero.degree(), zero.levels()), (0, 0));
    }
}
