//! Predicted noise, on top of [`bellerophon_mlwe::noise`].
//!
//! A *variance* is that of one coefficient of the noise polynomial in the phase, as in the lattice
//! layer, and contributions are added as independent ones: a vector added to itself has twice the
//! error, not `sqrt(2)` times ([`Evaluator::mul_integer`](crate::Evaluator::mul_integer) knows).
//! [`slot_std`] turns it into an error of the decoded values. Messages enter by the largest
//! magnitude of a slot times the scale, which bounds what a product with them does to the variance:
//! predictions are upper estimates wherever messages stay below their bounds.

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
