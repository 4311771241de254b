//! Real functions with bounds in the complex plane, from which certificates follow.

use std::{cell::Cell, f64::consts::FRAC_PI_2, f64::consts::PI, fmt, sync::Arc};

/// Larger values are refused: sums of them could overflow.
const LARGEST_VALUE: f64 = 1e280;

/// A Bernstein ellipse: the image of the circle `|w| = rho` under
/// `z = middle + radius (w + 1/w) / 2`, with its foci at the ends of the interval `[lo, hi]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ellipse {
    lo: f64,
    hi: f64,
    rho: f64,
}

impl Ellipse {
    pub(crate) fn new(lo: f64, hi: f64, rho: f64) -> Self {
        Self { lo, hi, rho }
    }

    /// The leftmost point, which is real.
    pub fn left(&self) -> f64 {
        0.5 * (self.lo + self.hi) - self.reach()
    }

    /// The rightmost point, which is real.
    pub fn right(&self) -> f64 {
        0.5 * (self.lo + self.hi) + self.reach()
    }

    /// The largest imaginary part.
    pub fn height(&self) -> f64 {
        0.25 * (self.hi - self.lo) * (self.rho - 1.0 / self.rho)
    }

    fn reach(&self) -> f64 {
        0.25 * (self.hi - self.lo) * (self.rho + 1.0 / self.rho)
    }
}

/// A bound on the modulus over a closed ellipse, or `None` where the function is not known to be
/// analytic.
type Bound = dyn Fn(&Ellipse) -> Option<f64> + Send + Sync;

/// The certificate of a function.
#[derive(Clone)]
enum Smoothness {
    /// A bound in the complex plane.
    Analytic(Arc<Bound>),
    /// A bound on the slope over any interval.
    Lipschitz(f64),
    Unknown,
}

/// A real function: its name, its values, and a bound that certifies approximations.
///
/// Common functions are [predefined](Known) with their bounds. Another function takes a
/// bound on its modulus over ellipses ([`analytic`](Self::analytic)), which certifies errors down
/// to `2^-40`, or a bound on its slope ([`lipschitz`](Self::lipschitz)), which certifies about
/// `2^-20`. For a function given by its values only ([`sampled`](Self::sampled)) nothing is
/// certified.
///
/// ```
/// use bellerophon_circuits::approx::{Accuracy, Approximation, Function};
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// // 1 / (1 + x^2) has poles at +-i: |1 + z^2| >= (1 - y)(1 + y) where |Im z| <= y < 1.
/// let bell = Function::analytic("1/(1 + x^2)", |x| 1.0 / (1.0 + x * x), |ellipse| {
///     let y = ellipse.height();
///     (y < 1.0).then(|| 1.0 / (1.0 - y * y))
/// });
/// let plan = Approximation::new(&bell, -1.0, 1.0, Accuracy::bits(20.0))?;
/// assert!(plan.error() <= 2f64.powi(-20) && plan.levels() == 5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Function {
    name: Arc<str>,
    value: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    smoothness: Smoothness,
    pub(crate) iteration: Option<Iteration>,
}

/// Functions with an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Iteration {
    Inverse,
    Sqrt,
    InverseSqrt,
    Exp,
}

/// The predefined functions; [`Function::from`] has their values and bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// `1 / x`, on either side of zero.
    Inverse,
    /// The square root, of positive numbers.
    Sqrt,
    /// `1 / sqrt(x)`, of positive numbers.
    InverseSqrt,
    /// `e^x`.
    Exp,
    /// The natural logarithm, of positive numbers: `|ln z| <= |ln |z|| + pi/2` to the right of
    /// zero.
    Ln,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent, `2 sigmoid(2x) - 1`.
    Tanh,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x sigmoid(x)`, also called swish.
    Silu,
    /// `x Phi(x)` with the normal distribution function, as in neural networks.
    ///
    /// With `erf(x + iy) = erf(x) + (2 / sqrt(pi)) e^(-x^2) int_0^y ..`, of which the integrand is
    /// at most `e^(y^2)`, the bound is `|z| (1 + y e^(y^2) / sqrt(pi))` at `y = height / sqrt(2)`.
    Gelu,
    /// The sine; `|sin(x + i y)| <= cosh(y)`.
    Sin,
    /// The cosine.
    Cos,
}

impl From<Known> for Function {
    fn from(known: Known) -> Self {
        match known {
            Known::Inverse => {
                // The point of an ellipse nearest to a real point outside is a vertex.
                Self::analytic("1/x", |x| 1.0 / x, |e| nearest(e).map(|r| 1.0 / r))
                    .by(Iteration::Inverse)
            }
            Known::Sqrt => {
                let bound = |e: &Ellipse| (e.left() > 0.0).then(|| e.right().sqrt());
                Self::analytic("sqrt(x)", f64::sqrt, bound).by(Iteration::Sqrt)
            }
            Known::InverseSqrt => {
                let bound = |e: &Ellipse| (e.left() > 0.0).then(|| 1.0 / e.left().sqrt());
                Self::analytic("1/sqrt(x)", |x| 1.0 / x.sqrt(), bound).by(Iteration::InverseSqrt)
            }
            Known::Exp => {
                Self::analytic("exp(x)", f64::exp, |e| Some(e.right().exp())).by(Iteration::Exp)
            }
            Known::Ln => {
                let bound = |e: &Ellipse| {
                    let ends = e.left().ln().abs().max(e.right().ln().abs());
                    (e.left() > 0.0).then_some(ends + FRAC_PI_2)
                };
                Self::analytic("ln(x)", f64::ln, bound)
            }
            Known::Sigmoid => {
                // The poles are the odd multiples of i pi.
                let bound = |e: &Ellipse| Some(1.0 / distance_from_pole(e.height())?);
                Self::analytic("sigmoid(x)", sigmoid, bound)
            }
            Known::Tanh => {
                let bound = |e: &Ellipse| Some(1.0 + 2.0 / distance_from_pole(2.0 * e.height())?);
                Self::analytic("tanh(x)", f64::tanh, bound)
            }
            Known::Softplus => {
                let value = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
                let bound = |e: &Ellipse| {
                    // |ln w| <= |ln |w|| + pi for w = 1 + e^z, which keeps its distance from zero.
                    let least = distance_from_pole(e.height())?;
                    Some((-least.ln()).max(e.right().max(0.0) + std::f64::consts::LN_2) + PI)
                };
                Self::analytic("softplus(x)", value, bound)
            }
            Known::Silu => {
                let bound = |e: &Ellipse| Some(farthest(e) / distance_from_pole(e.height())?);
                Self::analytic("silu(x)", |x| x * sigmoid(x), bound)
            }
            Known::Gelu => {
                let value = |x: f64| 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
                let bound = |e: &Ellipse| {
                    let y = e.height() * std::f64::consts::FRAC_1_SQRT_2;
                    Some(farthest(e) * (1.0 + y * (y * y).exp() / PI.sqrt()))
                };
                Self::analytic("gelu(x)", value, bound)
            }
            Known::Sin => Self::analytic("sin(x)", f64::sin, |e| Some(e.height().cosh())),
            Known::Cos => Self::analytic("cos(x)", f64::cos, |e| Some(e.height().cosh())),
        }
    }
}

impl Function {
    /// A function with a bound on its modulus over ellipses around the domain.
    ///
    /// `bound` returns an upper bound on `|f(z)|` over the closed [`Ellipse`], or `None` if `f` has
    /// a singularity there. A wrong bound makes certificates invalid.
    pub fn analytic(
        name: &str,
        value: impl Fn(f64) -> f64 + Send + Sync + 'static,
        bound: impl Fn(&Ellipse) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        let smoothness = Smoothness::Analytic(Arc::new(bound));
        Self { name: name.into(), value: Arc::new(value), smoothness, iteration: None }
    }

    /// A function whose slope is at most `slope` in magnitude, such as `|x|` with slope 1.
    pub fn lipschitz(
        name: &str,
        value: impl Fn(f64) -> f64 + Send + Sync + 'static,
        slope: f64,
    ) -> Self {
        let smoothness = Smoothness::Lipschitz(slope);
        Self { name: name.into(), value: Arc::new(value), smoothness, iteration: None }
    }

    /// A function given by its values only. A [`RealSeries`](crate::fbt::RealSeries) of it has a
    /// measured error; an [`Approximation`](super::Approximation) of it is refused, since no error
    /// can be certified.
    pub fn sampled(name: &str, value: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        let smoothness = Smoothness::Unknown;
        Self { name: name.into(), value: Arc::new(value), smoothness, iteration: None }
    }

    fn by(self, iteration: Iteration) -> Self {
        Self { iteration: Some(iteration), ..self }
    }

    /// The name, such as `sigmoid(x)`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value at `x`.
    pub fn value(&self, x: f64) -> f64 {
        (self.value)(x)
    }

    /// Whether it is given by its values only ([`sampled`](Self::sampled)).
    pub fn is_sampled(&self) -> bool {
        matches!(self.smoothness, Smoothness::Unknown)
    }

    /// The result of `build` from the values; `None` if one of them is no number or too large.
    pub(crate) fn guarded<T>(&self, build: impl FnOnce(&dyn Fn(f64) -> f64) -> T) -> Option<T> {
        let good = Cell::new(true);
        let built = build(&|x| {
            let value = self.value(x);
            // Interpolation needs finite numbers; the flag tells afterwards that some of them were
            // made up.
            let fits = value.abs() < LARGEST_VALUE;
            good.set(good.get() && fits);
            if fits { value } else { 0.0 }
        });
        good.get().then_some(built)
    }

    /// A bound on the modulus over an ellipse, where one is known.
    pub(crate) fn bound(&self, ellipse: &Ellipse) -> Option<f64> {
        match &self.smoothness {
            Smoothness::Analytic(bound) => bound(ellipse).filter(|m| m.is_finite()),
            Smoothness::Lipschitz(_) | Smoothness::Unknown => None,
        }
    }

    /// The bound on the slope of functions that are known by that alone.
    pub(crate) fn slope(&self) -> Option<f64> {
        match self.smoothness {
            Smoothness::Lipschitz(slope) => Some(slope),
            Smoothness::Analytic(_) | Smoothness::Unknown => None,
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.name)
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The least `|1 + e^z|` for `|Im z| <= height`, above zero below the poles at `i pi`.
fn distance_from_pole(height: f64) -> Option<f64> {
    match height {
        h if h <= FRAC_PI_2 => Some(1.0),
        h if h < PI => Some(h.sin()),
        _ => None,
    }
}

/// The distance of an ellipse from zero, where zero is outside.
fn nearest(e: &Ellipse) -> Option<f64> {
    (e.left() * e.right() > 0.0).then(|| e.left().abs().min(e.right().abs()))
}

/// The largest `|z|` over an ellipse, at most.
fn farthest(e: &Ellipse) -> f64 {
    e.left().abs().max(e.right().abs()).hypot(e.height())
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex64;

    type Values = fn(Complex64) -> Complex64;

    fn erf(z: Complex64) -> Complex64 {
        // Taylor's series, good for small arguments.
        let (mut term, mut sum) = (z, z);
        for n in 1..400 {
            term *= -z * z / n as f64;
            sum += term / (2 * n + 1) as f64;
        }
        sum * 2.0 / PI.sqrt()
    }

    #[test]
    fn bounds_hold_on_ellipses() {
        let one = Complex64::ONE;
        let all: Vec<(Function, Values, f64, f64)> = vec![
            (Function::from(Known::Inverse), |z| z.inv(), 0.5, 3.0),
            (Function::from(Known::Inverse), |z| z.inv(), -2.0, -0.1),
            (Function::from(Known::Sqrt), |z| z.sqrt(), 0.1, 2.0),
            (Function::from(Known::InverseSqrt), |z| z.sqrt().inv(), 0.1, 2.0),
            (Function::from(Known::Exp), |z| z.exp(), -3.0, 2.0),
            (Function::from(Known::Ln), |z| z.ln(), 0.2, 8.0),
            (Function::from(Known::Sigmoid), |z| ((-z).exp() + Complex64::ONE).inv(), -8.0, 8.0),
            (Function::from(Known::Tanh), |z| z.tanh(), -3.0, 4.0),
            (Function::from(Known::Softplus), |z| (z.exp() + Complex64::ONE).ln(), -6.0, 5.0),
            (Function::from(Known::Silu), |z| z / ((-z).exp() + Complex64::ONE), -4.0, 4.0),
            (Function::from(Known::Gelu), |z| z * 0.5 * (erf(z / 2f64.sqrt()) + 1.0), -1.0, 1.0),
            (Function::from(Known::Sin), |z| z.sin(), -5.0, 2.0),
            (Function::from(Known::Cos), |z| z.cos(), -5.0, 2.0),
        ];
        for (f, complex, lo, hi) in all {
            let real = 0.5 * (lo + hi) + 0.1;
            let difference = complex(one * real) - f.value(real);
            assert!(difference.norm() < 1e-12, "{f:?} is not what it is compared with");
            let mut bounded = 0;
            for rho in [1.05, 1.2, 1.5, 2.0, 3.0] {
                let ellipse = Ellipse::new(lo, hi, rho);
                let Some(bound) = f.bound(&ellipse) else { continue };
                bounded += 1;
                let most = (0..3000)
                    .map(|i| {
                        let w = Complex64::from_polar(rho, PI * i as f64 / 1500.0);
                        complex((w + w.inv()) * 0.25 * (hi - lo) + 0.5 * (lo + hi)).norm()
                    })
                    .fold(0.0, f64::max);
                assert!(most <= bound * (1.0 + 1e-9), "{f:?}, rho {rho}: {most} > {bound}");
            }
            assert!(bounded > 0, "{f:?} has no ellipse");
        }
    }

    #[test]
    fn ellipses_stop_at_singularities() {
        assert!(Function::from(Known::Inverse).bound(&Ellipse::new(1.0, 3.0, 3.8)).is_none());
        assert!(Function::from(Known::Inverse).bound(&Ellipse::new(1.0, 3.0, 3.7)).is_some());
        assert!(Function::from(Known::Sigmoid).bound(&Ellipse::new(-8.0, 8.0, 1.5)).is_none());
        assert!(
            Function::lipschitz("abs", f64::abs, 1.0).bound(&Ellipse::new(0.0, 1.0, 2.0)).is_none()
        );
    }
}
