//! The accuracy that a caller requests.

use crate::error;
#[cfg(doc)]
use bellerophon_ckks::ErrorKind;
use bellerophon_ckks::Result;

/// Intervals between the points at which the spread of a function is taken.
const INTERVALS: u32 = 1 << 10;

/// A function whose values differ by less than this part of the largest one is a constant that was
/// computed with rounding.
const ROUNDING: f64 = 1e-12;

/// A requested accuracy: the largest absolute error of any value of a result. Specifications, which
/// are stored in the bytes of parameters, have their errors as plain exponents
/// ([`BootstrapSpec::log2_error`](crate::bootstrap::BootstrapSpec::log2_error),
/// [`Mod1Spec::log2_error`](crate::eval_mod::Mod1Spec::log2_error)).
///
/// ```
/// use bellerophon_circuits::approx::Accuracy;
///
/// # fn main() -> bellerophon_ckks::Result<()> {
/// assert_eq!(Accuracy::bits(14.0), Accuracy::absolute(1.0 / 16384.0));
/// assert_eq!(Accuracy::absolute(1e-4).error()?, 1e-4);
/// // The values of tanh differ by less than 2: an error of 14 leaves nothing of them.
/// let refused = Accuracy::absolute(14.0).within_spread("tanh", f64::tanh, -8.0, 8.0);
/// assert!(refused.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Accuracy {
    error: f64,
}

impl Accuracy {
    /// Errors of at most `error`, such as `1e-4`.
    pub const fn absolute(error: f64) -> Self {
        Self { error }
    }

    /// This many correct bits after the binary point: errors of at most `2^-bits`.
    pub fn bits(bits: f64) -> Self {
        Self { error: (-bits).exp2() }
    }

    /// Errors of at most `2^-bits` of the spread of a function on `[lo, hi]`; of 1 for a constant.
    pub fn bits_of_spread(bits: f64, f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> Self {
        let (least, most) = extremes(f, lo, hi);
        let spread = if most > least { most - least } else { 1.0 };
        Self { error: spread * (-bits).exp2() }
    }

    /// The largest error.
    pub fn error(self) -> Result<f64> {
        match self.error.is_finite() && self.error > 0.0 {
            true => Ok(self.error),
            false => {
                let reason = format!("error {:?}: need a positive, finite number", self.error);
                Err(error::approximation("accuracy".into(), reason))
            }
        }
    }

    /// The largest error, which must be below the spread of a function: the difference of its
    /// largest and its smallest value at 1025 points of `[lo, hi]`. A constant function takes any
    /// error, and so does one that is not finite at a point.
    pub fn within_spread(
        self,
        name: &str,
        f: impl Fn(f64) -> f64,
        lo: f64,
        hi: f64,
    ) -> Result<f64> {
        let error = self.error()?;
        let (least, most) = extremes(f, lo, hi);
        let spread = most - least;
        let varies = spread > ROUNDING * least.abs().max(most.abs());
        if !varies || error < spread {
            return Ok(error);
        }
        let reason = format!(
            "error {error:?} on [{lo:?}, {hi:?}], where the values differ by less than that: need \
             an error below their difference, as `Accuracy::bits_of_spread` states"
        );
        Err(error::approximation(name.into(), reason))
    }
}

/// The smallest and the largest value of a function at 1025 points of `[lo, hi]`.
fn extremes(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> (f64, f64) {
    let at = |i: u32| lo + (hi - lo) * (f64::from(i) / f64::from(INTERVALS));
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    (0..=INTERVALS).map(at).map(f).fold(ends, |(a, b), y| (a.min(y), b.max(y)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ckks::ErrorKind;

    #[test]
    fn errors_above_the_spread_are_refused() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let of =
            |error: f64| Accuracy::absolute(error).within_spread("sigmoid(x)", sigmoid, -8.0, 8.0);
        assert_eq!(of(0.5).unwrap(), 0.5);
        for error in [14f64.exp2(), 14.0, 1.0, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(
                of(error)
                    .unwrap_err()
                    .is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of")
            );
        }
        let text = of(14f64.exp2()).unwrap_err().to_string();
        assert!(text.contains("16384") && text.contains("differ by less"), "{text}");
        // Errors in units of a small function.
        let small = |x: f64| 1e-12 * x;
        assert!(Accuracy::bits(30.0).within_spread("small", small, 0.0, 1.0).is_err());
        assert!(Accuracy::bits(50.0).within_spread("small", small, 0.0, 1.0).is_ok());
    }

    #[test]
    fn constants_and_poles_take_any_error() {
        let one = |x: f64| x.sin().powi(2) + x.cos().powi(2);
        for f in [one, |_| 0.0, |x: f64| 1.0 / x, |_| f64::NAN] {
            assert_eq!(Accuracy::bits(-14.0).within_spread("f", f, -1.0, 1.0).unwrap(), 16384.0);
        }
    }
}
