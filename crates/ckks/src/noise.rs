//! Predicted noise, on top of [`bellerophon_mlwe::noise`].
//!
//! A *variance* is that of one coefficient of the noise polynomial in the phase, as in the lattice
//! layer, and contributions are added as independent ones: a vector added to itself has twice the
//! error, not `sqrt(2)` times ([`Evaluator::mul_integer`](crate::Evaluator::mul_integer) knows).
//! [`slot_std`] turns it into an error of the decoded values. Messages enter by the largest
//! magnitude of a slot times the scale, which bounds what a product with them does to the variance:
//! predictions are upper estimates wherever messages stay below their bounds.
//!
//! A vector carries two variances ([`Noise`]): of its error against the exact program, and of its
//! departure from the carried range. Every rule of this crate holds for both.

use std::ops::{Add, AddAssign, Mul};

use bellerophon_mlwe::noise::canonical;

use crate::{Error, Params, Result};

/// Variance of rounding an encoding to integers.
pub const ENCODING: f64 = 1.0 / 12.0;

/// Deviations within which every coefficient of a noise polynomial stays.
pub(crate) const LARGEST: f64 = 16.0;

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

/// What is predicted of the noise of a vector: two variances of one coefficient of the phase, or, in
/// a [worst case](crate::shadow::Shadow::worst_case), two squares of bounds.
///
/// The first answers how exact a result is, the second whether it may wrap. Both follow the same
/// rules; they differ once a program states a range
/// ([`Ciphertext::assume_range`](crate::Ciphertext::assume_range)): the statement includes the error,
/// so the excess starts again from zero there, and the total does not.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// Of the error against the exact program. In a loop it may grow without end, up to infinity;
    /// it is reported and refuses nothing.
    pub total: f64,
    /// Of the departure from the carried ranges: products take it for the error since the last stated
    /// range, polynomials follow what leaves the ends of the range. Finite in every ciphertext; checks
    /// of overflow count it.
    pub excess: f64,
}

impl Noise {
    /// No noise.
    pub const NONE: Self = Self::new(0.0);

    /// Noise of a variance, none of which a stated range includes.
    pub const fn new(variance: f64) -> Self {
        Self { total: variance, excess: variance }
    }

    /// The same rule for both variances.
    #[must_use]
    pub fn map(self, rule: impl Fn(f64) -> f64) -> Self {
        Self { total: rule(self.total), excess: rule(self.excess) }
    }

    /// The same rule for both variances of two vectors.
    #[must_use]
    pub fn zip(self, other: Self, rule: impl Fn(f64, f64) -> f64) -> Self {
        Self { total: rule(self.total, other.total), excess: rule(self.excess, other.excess) }
    }

    /// After a statement of the range, which includes the error so far.
    #[must_use]
    pub fn included(self) -> Self {
        Self { excess: 0.0, ..self }
    }

    /// The larger variances of two vectors.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, f64::max)
    }
}

/// Of a sum of independent errors.
impl Add for Noise {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, |x, y| x + y)
    }
}

/// With an independent source of errors of a variance.
impl Add<f64> for Noise {
    type Output = Self;

    fn add(self, variance: f64) -> Self {
        self.map(|x| x + variance)
    }
}

impl AddAssign for Noise {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl AddAssign<f64> for Noise {
    fn add_assign(&mut self, variance: f64) {
        *self = *self + variance;
    }
}

/// Of a multiple, by the square of the factor.
impl Mul<f64> for Noise {
    type Output = Self;

    fn mul(self, square: f64) -> Self {
        self.map(|x| times(x, square))
    }
}

/// A product of numbers that are not negative, zero where one of them is: unbounded noise times
/// nothing is nothing.
pub(crate) fn times(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { x * y }
}

/// An operand of a product: the largest magnitude of a slot times the scale, and the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operand {
    /// `bound * scale`.
    pub message: f64,
    /// Variances of the noise.
    pub noise: Noise,
}

/// A product before relinearisation: `M_x^2 V_y + M_y^2 V_x + N V_x V_y` (Full-RNS HEAAN, appendix
/// A.2, with the messages by their bounds in the slots).
pub fn product(degree: usize, x: Operand, y: Operand) -> Noise {
    x.noise.zip(y.noise, |of_x, of_y| {
        times(x.message.powi(2), of_y)
            + times(y.message.powi(2), of_x)
            + degree as f64 * times(of_x, of_y)
    })
}

/// A square before relinearisation: the error is `2 m e + e^2`.
pub fn square(degree: usize, x: Operand) -> Noise {
    x.noise.map(|v| 4.0 * times(x.message.powi(2), v) + 2.0 * degree as f64 * v.powi(2))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No rule makes a number that is none of unbounded noise, and a stated range takes away the
    /// excess alone.
    #[test]
    fn unbounded_noise() {
        let endless = Noise { total: f64::INFINITY, excess: 2.0 };
        assert_eq!(endless * 0.0, Noise::NONE);
        assert_eq!(endless * 3.0, Noise { total: f64::INFINITY, excess: 6.0 });
        let (x, zero) = (
            Operand { message: 3.0, noise: endless },
            Operand { message: 0.0, noise: Noise::NONE },
        );
        assert_eq!(product(8, x, zero), Noise::NONE);
        assert_eq!(product(8, x, x), Noise { total: f64::INFINITY, excess: 68.0 });
        assert_eq!(square(8, x), Noise { total: f64::INFINITY, excess: 136.0 });
        assert_eq!(square(8, Operand { message: 0.0, ..x }).total, f64::INFINITY);
        assert_eq!(Noise::new(4.0).included() + 1.0, Noise { total: 5.0, excess: 1.0 });
        assert_eq!((endless + Noise::new(1.0)).max(Noise::new(7.0)).excess, 7.0);
    }
}
