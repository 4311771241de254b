//! What is known of the noise of one ciphertext, whatever it encrypts.

use super::{LOG2_FAILURE, Norms, Params, Plaintext, noise};
use crate::{Error, Result};

/// A bound on `phase - Q m / t`: a random part by its variance, and the rounding of what was encrypted by
/// its magnitude, both in every coefficient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseBound {
    variance: f64,
    rounding: f64,
    /// Whether the coefficients of the random part are independent of one another.
    independent: bool,
}

impl NoiseBound {
    /// Of a fresh ciphertext.
    pub(crate) fn fresh(params: &Params) -> Self {
        Self { variance: noise::fresh(params), rounding: 0.5, independent: true }
    }

    /// Of an encryption of zero under a public key.
    pub(crate) fn public_zero(params: &Params) -> Self {
        Self { variance: noise::public_zero(params), rounding: 0.0, independent: true }
    }

    /// Of coefficients that may depend on one another, of which the variance is known, rounding and all.
    pub(crate) fn of(variance: f64) -> Self {
        Self { variance, rounding: 0.0, independent: false }
    }

    /// What somebody else states.
    ///
    /// # Errors
    /// [`Error::Value`] for numbers that are none or negative.
    pub(crate) fn restore(
        op: &'static str,
        variance: f64,
        rounding: f64,
        independent: bool,
    ) -> Result<Self> {
        for (what, found) in [("variance of noise", variance), ("rounding", rounding)] {
            if !(0.0..f64::INFINITY).contains(&found) {
                let (found, needed) = (found.to_string(), "a finite number from 0 on");
                return Err(Error::Value { op, what, found, needed });
            }
        }
        Ok(Self { variance, rounding, independent })
    }

    /// Whether the coefficients of the random part are independent of one another.
    pub(crate) fn independent(&self) -> bool {
        self.independent
    }

    /// The variance of one coefficient, at most.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// What rounding adds to a coefficient, at most.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Of a sum, whether its terms depend on one another or not: standard deviations add up.
    pub(crate) fn sum(self, other: Self) -> Self {
        Self {
            variance: (self.variance.sqrt() + other.variance.sqrt()).powi(2),
            rounding: self.rounding + other.rounding,
            independent: self.independent && other.independent,
        }
    }

    /// Of a product: the sum of squares of the factor's coefficients times the variance where the
    /// coefficients are independent, the square of the sum of their magnitudes where they need not be,
    /// as after a product.
    pub(crate) fn times(self, factor: &Plaintext) -> Self {
        let Norms { sum, squares } = factor.norms;
        let grown = if self.independent { squares } else { sum.powi(2) };
        Self { variance: self.variance * grown, rounding: self.rounding * sum, independent: false }
    }

    /// At least both.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            variance: self.variance.max(other.variance),
            rounding: self.rounding.max(other.rounding),
            independent: self.independent && other.independent,
        }
    }

    /// Of ciphertexts at so many limbs, none of them worse than this, packed with `n` coefficients each.
    pub(crate) fn packed(self, params: &Params, limbs: usize, n: usize) -> Result<Self> {
        let variance = noise::packed(params, limbs, n, self.variance)?;
        Ok(Self { variance, independent: false, ..self })
    }

    /// After dropping all limbs of so many but one.
    pub(crate) fn to_one_limb(self, params: &Params, limbs: usize) -> Self {
        Self {
            variance: noise::to_one_limb(params, limbs, self.variance),
            rounding: self.rounding * noise::share_of_one_limb(params, limbs),
            ..self
        }
    }

    /// `log2` of a bound on the probability that decryption of a ciphertext at so many limbs gets one
    /// coefficient wrong.
    pub fn log2_failure(&self, params: &Params, limbs: usize) -> f64 {
        let one = self.to_one_limb(params, limbs);
        noise::log2_tail(noise::threshold(params) - one.rounding, one.variance)
    }

    /// `Err` where a coefficient is wrong with a probability above `2^-40`.
    pub(crate) fn check(self, params: &Params, limbs: usize, op: &'static str) -> Result<Self> {
        let log2_failure = self.log2_failure(params, limbs);
        if log2_failure > LOG2_FAILURE {
            return Err(Error::Noise { op, log2_failure, needed: LOG2_FAILURE });
        }
        Ok(self)
    }
}
