//! Noise prediction, based on [`bellerophon_mlwe::noise`].
//!
//! A *variance* is that of one coefficient of the noise polynomial in the phase, as in the lattice
//! layer. [`slot_std`] converts it to the standard deviation of a decoded slot.
//!
//! Errors of independent sources add up as variances. Errors that stem from the same encryption
//! ([`Origins`](crate::Origins)) may be equal, and add up as amplitudes: `x + x` has twice the
//! error of `x`.
//!
//! The roundings of plaintexts follow from public numbers and are in vectors of different
//! encryptions. A vector carries them as parts of its variance: `sum_i p x_i` has the error
//! `e_p sum_i x_i`, so the rounding of one plaintext adds up as amplitudes in vectors that have the
//! plaintext in common. The rounding of a constant is one number in all slots, and adds up as
//! amplitudes in all sums, of vectors and of slots. For `e = a + r` and `e' = a' + r'` with equal
//! errors `a, a'` of variances `A, A'` and independent rests, the variance of the sum is
//!
//! ```text
//! V + V' + 2 sqrt(A A').
//! ```
//!
//! A message enters a product by the largest magnitude of a slot times the scale, which bounds the
//! effect on the variance. Predictions are therefore upper estimates for messages below their
//! bounds.
//!
//! A vector carries four variances and two parts of the first: see [`Noise`].

use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::{Add, AddAssign, Mul};

use bellerophon_mlwe::noise::canonical;
use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::error;
use crate::origins::Relation;
use crate::params::Params;

/// Noise variance of the rounding to integers in encoding.
pub const ENCODING: f64 = 1.0 / 12.0;

/// Number of standard deviations that bounds every coefficient of a noise polynomial.
pub const LARGEST: f64 = 16.0;

/// Standard deviation of the error of a decoded slot, in units of the message, for noise of this
/// variance in the coefficients: of the real part if `real`, else of the complex value.
///
/// A slot is the sum of the `2 slots` coefficients that decoding reads, times roots of unity. Its
/// real part has variance `slots * variance`, its complex value twice that.
pub fn slot_std(variance: f64, slots: usize, scale: f64, real: bool) -> f64 {
    // Real messages read the real part alone.
    let parts = if real { 1.0 } else { 2.0 };
    (parts * slots as f64 * variance).sqrt() / scale
}

/// Number of standard deviations that bounds the error of the worst of `slots` slots, except with
/// probability `2^log2_failure`: `(ln(slots) - ln(failure)) / sqrt(2)`, at least 1.
///
/// A rounding `e_1` enters the phase as `e_1 s`, the error of a key as the product of a digit and
/// the error. In a slot, each of them is the product of two complex Gaussians. The real part of
/// such a product has the Laplace distribution, `P(|e| > t) = exp(-sqrt(2) t / std)`; absolute
/// values, sums of products and Gaussian errors have lighter tails. The union bound over the slots
/// gives the formula. Full-RNS HEAAN, appendix A.2, takes 16 deviations for a product of two
/// Gaussians: probability `2^-19` at `2^14` slots.
pub fn worst_factor(slots: usize, log2_failure: f64) -> f64 {
    // slots exp(-sqrt(2) t) = 2^log2_failure, solved for t.
    (((slots as f64).ln() - log2_failure * std::f64::consts::LN_2) / 2f64.sqrt()).max(1.0)
}

/// As [`worst_factor`], for a sum of errors of any correlation, relative to the sum of their
/// standard deviations.
///
/// With exponential tails, the mean of `|e|` over its largest values, a share `p` of all, is
/// `std (1 - ln p) / sqrt(2)`. This mean (the expected shortfall) is subadditive for any joint
/// distribution (Acerbi and Tasche, 2002), and no value below it is exceeded with probability `p`.
pub fn sure_factor(slots: usize, log2_failure: f64) -> f64 {
    worst_factor(slots, log2_failure) + FRAC_1_SQRT_2
}

/// The predicted noise of a vector: variances of one coefficient of the phase, or, in a
/// [worst case](crate::simulator::Simulator::worst_case), squares of bounds.
///
/// Total and peak tell how exact a result is, the bound whether it may be called exact, the excess
/// whether it may wrap around its modulus:
///
/// | variance | of the slots | errors that share an encryption | other errors | a stated range |
/// | --- | --- | --- | --- | --- |
/// | `total` | their mean | amplitudes | variances | changes nothing |
/// | `peak` | the largest | amplitudes | variances | changes nothing |
/// | `bound` | the largest | amplitudes | amplitudes | changes nothing |
/// | `excess` | the largest | amplitudes | amplitudes | sets it to zero |
///
/// Other errors share the roundings of plaintexts (`plain`, `constant`), which are parts of `total`
/// and `peak`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Noise {
    /// Variance of the error against the exact program, averaged over the slots. It is reported and
    /// never causes an error. In a loop it may grow up to infinity.
    pub total: f64,
    /// The same variance where it is largest. After a bootstrap it depends on the multiple of the
    /// modulus that a slot held, and slots of rare multiples have a much larger one.
    pub peak: f64,
    /// The largest variance for errors of any correlation, which no statement of noise or range
    /// lowers. A published vector has the width of the declared range instead, which no error
    /// within the range exceeds, and an [admitted](crate::Evaluator::admit) one the declared noise
    /// if that covers its bound.
    pub bound: f64,
    /// Variance of the departure from the carried ranges, which overflow checks include. Products
    /// use it as the error since the last stated range, and polynomials also evaluate beyond the
    /// ends of the range by this amount. Finite in every ciphertext.
    pub excess: f64,
    /// The part of `total` and `peak` that is the rounding of encoded vectors: equal in vectors
    /// that have such a plaintext in common.
    pub plain: f64,
    /// The part of `total` and `peak` that is the rounding of constants: equal in all slots, and in
    /// all vectors.
    pub constant: f64,
}

impl Noise {
    /// No noise.
    pub const NONE: Self = Self::new(0.0);

    /// Noise of this variance in every slot, which no stated range includes.
    pub const fn new(variance: f64) -> Self {
        Self::varying(variance, variance)
    }

    /// Noise of a mean variance, and of a largest one, which no stated range includes.
    pub const fn varying(mean: f64, largest: f64) -> Self {
        let (bound, excess) = (largest, largest);
        Self { total: mean, peak: largest, bound, excess, plain: 0.0, constant: 0.0 }
    }

    /// The rounding of an encoded vector.
    pub const fn plain(variance: f64) -> Self {
        Self { plain: variance, ..Self::new(variance) }
    }

    /// The rounding of a constant.
    pub const fn constant(variance: f64) -> Self {
        Self { constant: variance, ..Self::new(variance) }
    }

    /// Applies one rule to all variances. What the rule adds to no noise is shared with nothing.
    #[must_use]
    pub fn map(self, rule: impl Fn(f64) -> f64) -> Self {
        let part = |v: f64| if v == 0.0 { 0.0 } else { (rule(v) - rule(0.0)).max(0.0) };
        Self {
            total: rule(self.total),
            peak: rule(self.peak),
            bound: rule(self.bound),
            excess: rule(self.excess),
            plain: part(self.plain),
            constant: part(self.constant),
        }
    }

    /// Applies one rule to all variances of two vectors.
    #[must_use]
    pub fn zip(self, other: Self, rule: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            total: rule(self.total, other.total),
            peak: rule(self.peak, other.peak),
            bound: rule(self.bound, other.bound),
            excess: rule(self.excess, other.excess),
            plain: rule(self.plain, other.plain),
            constant: rule(self.constant, other.constant),
        }
    }

    /// The noise of a sum.
    #[must_use]
    pub fn sum(self, other: Self, relation: Relation) -> Self {
        let sure = self.zip(other, amplitudes);
        let (mut shared, mut plain) = (covariances(self.constant, other.constant), sure.plain);
        match relation {
            Relation::Related => return sure,
            Relation::Rounded => shared += covariances(self.plain, other.plain),
            Relation::Independent => plain = self.plain + other.plain,
        }
        let [total, peak] = [self.total + other.total, self.peak + other.peak];
        // In the worst slot the parts are as much larger as the whole.
        let largest = times(shared, times(self.largest(), other.largest()).sqrt());
        Self { total: total + shared, peak: peak + largest, plain, ..sure }
    }

    /// How many times the variance of the worst slot is that of the mean slot.
    fn largest(self) -> f64 {
        let ratio = self.peak / self.total;
        if ratio.is_finite() { ratio.max(1.0) } else { 1.0 }
    }

    /// The same noise with another mean, of which the roundings of plaintexts are parts.
    #[must_use]
    pub fn with_mean(self, total: f64) -> Self {
        let parts = self.plain + self.constant;
        let share = if parts > total { total / parts } else { 1.0 };
        Self {
            total,
            plain: times(self.plain, share),
            constant: times(self.constant, share),
            ..self
        }
    }

    /// The same noise in a vector that shares no roundings with others.
    #[must_use]
    pub fn unshared(self) -> Self {
        Self { plain: 0.0, constant: 0.0, ..self }
    }

    /// The noise after a statement of its variance in every slot, which may raise the bound.
    #[must_use]
    pub fn stated(self, total: f64) -> Self {
        Self { peak: total, bound: self.bound.max(total), ..self.with_mean(total) }
    }

    /// The noise of a vector whose range leaves out all of its error.
    #[must_use]
    pub fn unstated(self) -> Self {
        Self { excess: self.bound, ..self }
    }

    /// The noise after a statement of the range, which includes the error so far.
    #[must_use]
    pub fn included(self) -> Self {
        Self { excess: 0.0, ..self }
    }

    /// The larger variances of two vectors.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, f64::max)
    }

    /// A bound on the error of the worst of `slots` slots, except with probability
    /// `2^log2_failure`, by the predicted variances; in the units of their square roots.
    ///
    /// With the mean variance `V` and the largest one `P`, a share `V / P` of the slots at `P` and
    /// no error in the others has the heaviest tail: `exp(-c / sqrt(v))` is convex in the variance
    /// `v` beyond three deviations. With the tail of [`worst_factor`], the union bound gives
    ///
    /// ```text
    /// slots (V / P) exp(-sqrt(2 / P) t) = 2^log2_failure,
    /// ```
    ///
    /// solved for `t`: for equal variances `(ln(slots) - ln(failure)) / sqrt(2)` deviations.
    pub fn worst(&self, slots: usize, log2_failure: f64) -> f64 {
        // A rounding in f64 does not make the mean larger than the largest.
        let (mean, largest) = (self.total, self.peak.max(self.total));
        if largest == 0.0 || !largest.is_finite() {
            return largest;
        }
        let share = (mean / largest).max(f64::MIN_POSITIVE).log2();
        worst_factor(slots, log2_failure - share) * largest.sqrt()
    }

    /// A bound on the error of the worst of `slots` slots, except with probability
    /// `2^log2_failure`, for operands of any correlation; in the units of [`worst`](Self::worst).
    pub fn surely(&self, slots: usize, log2_failure: f64) -> f64 {
        sure_factor(slots, log2_failure) * self.bound.sqrt()
    }
}

/// The variance of a sum of equal errors.
pub fn amplitudes(x: f64, y: f64) -> f64 {
    (x.sqrt() + y.sqrt()).powi(2)
}

/// `2 sqrt(x y)`: what equal errors of these variances add to the variance of a sum.
fn covariances(x: f64, y: f64) -> f64 {
    2.0 * times(x.sqrt(), y.sqrt())
}

/// The noise of a sum of errors that are independent but for the roundings of constants.
impl Add for Noise {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (bound, excess) = (self.bound + other.bound, self.excess + other.excess);
        Self { bound, excess, ..self.sum(other, Relation::Independent) }
    }
}

/// Adds an independent error of this variance.
impl Add<f64> for Noise {
    type Output = Self;

    fn add(self, variance: f64) -> Self {
        let Self { plain, constant, .. } = self;
        Self { plain, constant, ..self.map(|x| x + variance) }
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

/// The noise of a multiple; the operand is the square of the factor.
impl Mul<f64> for Noise {
    type Output = Self;

    fn mul(self, square: f64) -> Self {
        self.map(|x| times(x, square))
    }
}

/// A product of nonnegative numbers that is zero if either factor is: infinity times zero is zero.
pub fn times(x: f64, y: f64) -> f64 {
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

/// The noise of a product before relinearization, `m_x e_y + m_y e_x + e_x e_y`: independent errors
/// give `M_x^2 V_y + M_y^2 V_x + N V_x V_y` (Full-RNS HEAAN, appendix A.2, with the messages by
/// their bounds in the slots), others the square of the sum of the three roots.
pub fn product(degree: usize, x: Operand, y: Operand, relation: Relation) -> Noise {
    let by_y = y.noise.map(|of_y| times(x.message.powi(2), of_y));
    let by_x = x.noise.map(|of_x| times(y.message.powi(2), of_x));
    let both = x.noise.zip(y.noise, |of_x, of_y| degree as f64 * times(of_x, of_y));
    by_y.sum(by_x, relation).sum(both, relation)
}

/// The noise of a product with an encoded vector but that of `x` itself: the message and the noise
/// of `x` times the rounding of the encoding.
pub fn encoding(degree: usize, x: Operand, rounding: f64) -> Noise {
    let noise = x.noise.map(|v| times(x.message.powi(2) + degree as f64 * v, rounding));
    Noise { plain: noise.total, constant: 0.0, ..noise }
}

/// The noise of a square before relinearization: the error is `2 m e + e^2`.
pub fn square(degree: usize, x: Operand) -> Noise {
    // The variance of 2 m e is 4 m^2 V. The squared error counts 2 N V^2, twice that of independent
    // errors.
    x.noise.map(|v| 4.0 * times(x.message.powi(2), v) + 2.0 * degree as f64 * v.powi(2))
}

/// The relative change of a message by a rescaling at `level` in the scheme of Full-RNS HEAAN:
/// `|1 - q / q_l|`, at most `2^-eta` (section 3.1). That scheme keeps a nominal scale `q` (here the
/// default scale) although it divides by a prime `q_l` near it.
///
/// This library divides the scale by the exact `q_l` and does not have this error.
pub fn approximate_basis(params: &Params, level: usize) -> f64 {
    (1.0 - params.scale() / params.divisor(level)).abs()
}

/// The bounds of appendix A of Full-RNS HEAAN for a ciphertext of that scheme: public-key
/// encryption, key switches with one digit, approximate basis conversions, and a scale that is
/// never corrected. They give the theoretical line of Fig. 1 of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heaan {
    /// Rescalings left.
    pub level: usize,
    /// Bound on the slots of the message, in units of the message.
    pub message: f64,
    /// High-probability bound on the error of a slot by noise, in the same units.
    pub noise: f64,
    /// Bound on the accumulated error of the approximate basis.
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
    pub fn mul(&self, params: &Params, y: &Self) -> Result<Self> {
        let level = self.level.min(y.level);
        ensure(level != 0, || error::out_of_levels(1, 0))?;
        params.check_level(level)?;
        let (lattice, scale) = (params.lattice(), params.scale());
        // Appendix A.2, "Multiplication". In units of the message, the product is divided by one
        // scale, the key switch by two.
        let product = canonical::product(self.message, self.noise, y.message, y.noise);
        let switch = canonical::single_digit_relinearize(lattice, params.limbs_at(level));
        // Appendix A.2, "Rescaling", and section 3.1 for the approximate basis.
        let rounding = canonical::rescale(lattice);
        let message = self.message * y.message;
        let basis = approximate_basis(params, level);
        Ok(Self {
            level: level - 1,
            message,
            noise: (1.0 + basis) * (product + switch / (scale * scale)) + rounding / scale,
            basis: self.basis * y.message + y.basis * self.message + basis * message,
        })
    }

    /// Bits after the binary point that the bounds guarantee.
    pub fn bits(&self) -> f64 {
        -(self.noise + self.basis).log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Roundings of one plaintext add up as amplitudes in vectors that share it, those of constants
    /// in all: `14 + 14 + 2`, with `2 sqrt(4 4)` more for the plaintext, and four times 14.
    #[test]
    fn roundings_in_common() {
        let (plain, constant) = (Noise::plain(4.0), Noise::constant(1.0));
        let x = Noise::new(9.0).sum(plain, Relation::Independent);
        let x = x.sum(constant, Relation::Independent);
        let sum = |relation| x.sum(x, relation);
        let (independent, rounded) = (sum(Relation::Independent), sum(Relation::Rounded));
        assert_eq!([independent.total, independent.plain, independent.constant], [30.0, 8.0, 4.0]);
        assert_eq!([rounded.peak, rounded.plain, rounded.constant], [38.0, 16.0, 4.0]);
        let related = sum(Relation::Related).total;
        assert!((related - 56.0).abs() < 1e-12);
        assert!(independent.bound >= related && (x + x).bound == 2.0 * x.bound);
        let stated = x.stated(2.0);
        let parts = [stated.plain, stated.constant, (x + 1.0).constant];
        assert!(
            parts.iter().zip([1.6, 0.4, 1.0]).all(|(part, share)| (part - share).abs() < 1e-12)
        );
    }

    /// No rule gives NaN for unbounded noise, and a stated range removes the excess only.
    #[test]
    fn unbounded_noise() {
        let unbounded = |excess| Noise { excess, ..Noise::new(f64::INFINITY) };
        let endless = unbounded(2.0);
        assert_eq!(endless * 0.0, Noise::NONE);
        assert_eq!(endless * 3.0, unbounded(6.0));
        let (x, zero) = (
            Operand { message: 3.0, noise: endless },
            Operand { message: 0.0, noise: Noise::NONE },
        );
        for relation in [Relation::Independent, Relation::Related] {
            assert_eq!(product(8, x, zero, relation), Noise::NONE);
            assert_eq!(product(8, x, x, relation).total, f64::INFINITY);
            // (3 sqrt(2) + 3 sqrt(2) + 2 sqrt(8))^2.
            assert!((product(8, x, x, relation).excess - 200.0).abs() < 1e-9);
        }
        assert_eq!(square(8, x), unbounded(136.0));
        assert_eq!(square(8, Operand { message: 0.0, ..x }).total, f64::INFINITY);
        let stated = Noise { excess: 1.0, ..Noise::new(5.0) };
        assert_eq!(Noise::new(4.0).included() + 1.0, stated);
        assert_eq!((endless + Noise::new(1.0)).max(Noise::new(7.0)).excess, 7.0);
    }
}
