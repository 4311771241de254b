//! Predicted noise, on top of [`bellerophon_mlwe::noise`].
//!
//! A *variance* is that of one coefficient of the noise polynomial in the phase, as in the lattice
//! layer, and contributions are added as independent ones: a vector added to itself has twice the
//! error, not `sqrt(2)` times ([`Evaluator::mul_integer`](crate::Evaluator::mul_integer) knows).
//! [`slot_std`] turns it into an error of the decoded values. Messages enter by the largest
//! magnitude of a slot times the scale, which bounds what a product with them does to the variance:
//! predictions are upper estimates wherever messages stay below their bounds.

use bellerophon_mlwe::noise::canonical;

use crate::{Error, Params, Result};

/// Variance of rounding an encoding to integers.
pub const ENCODING: f64 = 1.0 / 12.0;

/// Standard deviation of a decoded slot, in units of the message, for noise of this variance in
/// the coefficients.
///
/// A slot is the sum of the `2 slots` coefficients that decoding reads, times roots of unity: its
/// real part has variance `slots * variance`, its modulus twice that.
pub fn slot_std(variance: f64, slots: usize, scale: f64, real: bool) -> f64 {
    let parts = if real { 1.0 } else { 2.0 };
    (parts * slots as f64 * variance).sqrt() / scale
}

/// How many standard deviations the error of the worst of `slots` slots stays below, except with
/// probability `2^log2_failure`: `(ln(slots) - ln(failure)) / sqrt(2)`, at least 1.
///
/// A rounding `e_1` reaches the phase as `e_1 s`, a key's error as a digit times the error. In a slot
/// either is the product of two complex Gaussians, one of which (the secret, the key) is the same for
/// all operations: its real part has Laplace's distribution, `P(|e| > t) = exp(-sqrt(2) t / std)`,
/// and the modulus, measured by its own deviation, falls faster. Sums of products and Gaussian errors
/// have lighter tails, so the bound covers them all; the union over the slots gives the formula.
/// Full-RNS HEAAN, appendix A.2, takes 16 deviations for a product of two Gaussians: probability
/// `2^-19` at `2^14` slots.
pub fn worst_factor(slots: usize, log2_failure: f64) -> f64 {
    (((slots as f64).ln() - log2_failure * std::f64::consts::LN_2) / 2f64.sqrt()).max(1.0)
}

/// An operand of a product: the largest magnitude of a slot times the scale, and the variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operand {
    /// `bound * scale`.
    pub message: f64,
    /// Variance of the noise.
    pub variance: f64,
}

/// A product before relinearisation: `M_x^2 V_y + M_y^2 V_x + N V_x V_y` (Full-RNS HEAAN, appendix
/// A.2, with the messages by their bounds in the slots).
pub fn product(degree: usize, x: Operand, y: Operand) -> f64 {
    x.message.powi(2) * y.variance
        + y.message.powi(2) * x.variance
        + degree as f64 * x.variance * y.variance
}

/// A square before relinearisation: the error is `2 m e + e^2`.
pub fn square(degree: usize, x: Operand) -> f64 {
    4.0 * x.message.powi(2) * x.variance + 2.0 * degree as f64 * x.variance.powi(2)
}

/// By how much a rescaling at `level` changes a message in the scheme of Full-RNS HEAAN, which keeps
/// calling its scale `q` (here the default scale) while it divides by a prime near it:
/// `|1 - q / q_l|` times the message, at most `2^-eta` (section 3.1).
///
/// Here the scale of a ciphertext is divided by the very `q_l`, so this error does not arise
/// ([`Ciphertext::scale`](crate::Ciphertext::scale)).
///
/// # Panics
/// When there is no such level.
pub fn approximate_basis(params: &Params, level: usize) -> f64 {
    (1.0 - params.scale() / params.divisor(level)).abs()
}

/// A ciphertext of Full-RNS HEAAN as appendix A bounds it: its public-key encryption, products
/// with one digit and approximate conversions, and a scale that is never corrected. What Fig. 1 of
/// the paper draws its theoretical line from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heaan {
    /// Rescalings left.
    pub level: usize,
    /// Bound on the slots of the message, in units of the message.
    pub message: f64,
    /// High-probability bound on the error of a slot that noise makes, in the same units.
    pub noise: f64,
    /// Bound on the error that the approximate basis has made so far.
    pub basis: f64,
}

impl Heaan {
    /// A fresh encryption at the highest level: `B_enc` (appendix A.2, "Encryption").
    pub fn fresh(params: &Params, message: f64) -> Self {
        let noise = canonical::fresh(params.lattice()) / params.scale();
        Self { level: params.max_level(), message, noise, basis: 0.0 }
    }

    /// A product with its rescaling, one level below the lower operand: appendix A.2,
    /// "Multiplication" and "Rescaling", and the approximate basis (section 3.1).
    ///
    /// # Errors
    /// [`Error::OutOfLevels`] when an operand is at level 0, [`Error::LevelTooHigh`] when both are
    /// above the highest.
    pub fn mul(&self, params: &Params, y: &Self) -> Result<Self> {
        let level = self.level.min(y.level);
        if level == 0 {
            return Err(Error::OutOfLevels { op: "multiply", needed: 1, left: 0 });
        }
        params.check_level("multiply", level)?;
        let (lattice, scale) = (params.lattice(), params.scale());
        // In units of the message, a product is divided by one scale, its switch by two.
        let product = canonical::product((self.message, self.noise), (y.message, y.noise));
        let switch = canonical::single_digit_relinearise(lattice, params.limbs_at(level));
        let rounding = canonical::rescale(lattice);
        let message = self.message * y.message;
        let off = approximate_basis(params, level);
        Ok(Self {
            level: level - 1,
            message,
            noise: (1.0 + off) * (product + switch / (scale * scale)) + rounding / scale,
            basis: self.basis * y.message + y.basis * self.message + off * message,
        })
    }

    /// Bits after the binary point that the bounds leave.
    pub fn bits(&self) -> f64 {
        -(self.noise + self.basis).log2()
    }
}
