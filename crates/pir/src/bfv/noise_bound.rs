//! Noise model: a public bound on the noise of one ciphertext, for any plaintext.

use bellerophon_ring::Result;

use super::{Norms, Params, Plaintext, noise};
use crate::error;

/// `log2` of the probability with which a value may be wrong.
pub(crate) const LOG2_FAILURE: f64 = -40.0;

/// A bound on every coefficient of `phase - Q m / t`: the variance of the random part, and the
/// magnitude of the rounding error of the encryption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseBound {
    variance: f64,
    rounding: f64,
    /// Whether the coefficients of the random part are independent of one another.
    independent: bool,
}

impl NoiseBound {
    /// The noise of a fresh ciphertext.
    pub(crate) fn fresh(params: &Params) -> Self {
        Self { variance: noise::fresh(params), rounding: 0.5, independent: true }
    }

    /// The noise of an encryption of zero under a public key.
    pub(crate) fn public_zero(params: &Params) -> Self {
        Self { variance: noise::public_zero(params), rounding: 0.0, independent: true }
    }

    /// A known variance that includes the rounding error, of coefficients that may be dependent.
    pub(crate) fn of(variance: f64) -> Self {
        Self { variance, rounding: 0.0, independent: false }
    }

    /// A bound that a peer states.
    pub(crate) fn restore(variance: f64, rounding: f64, independent: bool) -> Result<Self> {
        // NaN and infinity would pass every later comparison or none.
        for (what, found) in [("variance of noise", variance), ("rounding", rounding)] {
            if !(0.0..f64::INFINITY).contains(&found) {
                let (found, needed) = (found.to_string(), "a finite number from 0 on");
                return Err(error::value(what, found, needed));
            }
        }
        Ok(Self { variance, rounding, independent })
    }

    /// Whether the coefficients of the random part are independent of one another.
    pub(crate) fn independent(&self) -> bool {
        self.independent
    }

    /// Upper bound on the variance of one coefficient.
    pub(crate) fn variance(&self) -> f64 {
        self.variance
    }

    /// Upper bound on the rounding error of one coefficient.
    pub(crate) fn rounding(&self) -> f64 {
        self.rounding
    }

    /// The noise of a sum. Standard deviations add up, which holds for dependent terms too.
    pub(crate) fn sum(self, other: Self) -> Self {
        Self {
            variance: (self.variance.sqrt() + other.variance.sqrt()).powi(2),
            rounding: self.rounding + other.rounding,
            independent: self.independent && other.independent,
        }
    }

    /// The noise of a product. The variance grows by the sum of the squares of the factor's
    /// coefficients if the coefficients of the noise are independent. Otherwise, as after a
    /// product, it grows by the square of the sum of their magnitudes.
    pub(crate) fn times(self, factor: &Plaintext) -> Self {
        // Independent coefficients add variances; dependent ones at worst add magnitudes.
        let Norms { sum, squares } = factor.norms;
        let grown = if self.independent { squares } else { sum.powi(2) };
        Self { variance: self.variance * grown, rounding: self.rounding * sum, independent: false }
    }

    /// A bound that holds for both.
    pub(crate) fn worse(self, other: Self) -> Self {
        Self {
            variance: self.variance.max(other.variance),
            rounding: self.rounding.max(other.rounding),
            independent: self.independent && other.independent,
        }
    }

    /// The noise after packing ciphertexts of `limbs` limbs with `n` coefficients each, none of
    /// them noisier than this.
    pub(crate) fn packed(self, params: &Params, limbs: usize, n: usize) -> Result<Self> {
        // Packed coefficients share the noise of their automorphisms: they are dependent.
        let variance = noise::packed(params, limbs, n, self.variance)?;
        Ok(Self { variance, independent: false, ..self })
    }

    /// The noise after rescaling from `limbs` limbs to one.
    pub(crate) fn to_one_limb(self, params: &Params, limbs: usize) -> Self {
        Self {
            variance: noise::to_one_limb(params, limbs, self.variance),
            rounding: self.rounding * noise::share_of_one_limb(params, limbs),
            ..self
        }
    }

    /// `log2` of a bound on the probability that one coefficient of a ciphertext of `limbs` limbs
    /// is decrypted wrongly.
    pub(crate) fn log2_failure(&self, params: &Params, limbs: usize) -> f64 {
        // Decryption rescales to one limb, and the rounding error takes its part of the threshold.
        let one = self.to_one_limb(params, limbs);
        noise::log2_tail(noise::threshold(params) - one.rounding, one.variance)
    }

    /// Refuses noise with which a coefficient is wrong with a probability above `2^-40`.
    pub(crate) fn check(self, params: &Params, limbs: usize) -> Result<Self> {
        let log2_failure = self.log2_failure(params, limbs);
        if log2_failure > LOG2_FAILURE {
            return Err(error::noise(log2_failure, LOG2_FAILURE));
        }
        Ok(self)
    }
}
