//! Noise models: errors of several sources add up as independent ones, or in the worst case.

use crate::noise::{self, Noise, Operand};
use crate::origins::Relation;

/// The rules by which the metadata of a result tracks noise.
///
/// On average, sources are independent, and operands unless they share an origin ([`Noise`]). In
/// the worst case, each "variance" is the square of a bound on `|e|_2 / sqrt(N)` that holds for any
/// correlation of errors: a sum obeys `|e + e'|_2 <= |e|_2 + |e'|_2`, and a product with a
/// polynomial whose slots are at most `M` multiplies the length of an error by at most `M`, since
/// the map from coefficients to slots is an isometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoiseModel {
    /// Expected variances of independent errors.
    #[default]
    Average,
    /// Bounds for errors of any correlation.
    Worst,
}

/// `-log2` of the probability that one source of errors exceeds the length of [`worst_source`].
pub const SOURCE_BITS: f64 = 64.0;

impl NoiseModel {
    /// The variance of a source of errors: an encryption, a rounding, a key switch.
    pub fn source(self, degree: usize, variance: f64) -> f64 {
        match self {
            Self::Average => variance,
            Self::Worst => worst_source(degree) * variance,
        }
    }

    /// The variance of the rounding to integers in encoding, by at most one half.
    pub fn encoding(self, real: bool) -> f64 {
        match self {
            Self::Average => self.of_message(real, noise::ENCODING),
            // Every coefficient is off by one half at most.
            Self::Worst => 0.25,
        }
    }

    /// The variance of an error that is a function of the message. The coefficients of a real
    /// message come in pairs, and so do those of such an error: all of it is in the real parts of
    /// the slots. Of other errors, one half is.
    pub fn of_message(self, real: bool, variance: f64) -> f64 {
        if self == Self::Average && real { 2.0 * variance } else { variance }
    }

    /// The noise of a sum.
    pub fn sum(self, x: Noise, y: Noise, relation: Relation) -> Noise {
        x.sum(y, self.relation(relation))
    }

    /// Whether errors may be equal: in the worst case always (the triangle inequality for lengths,
    /// of which the variances are squares).
    fn relation(self, relation: Relation) -> Relation {
        if self == Self::Worst { Relation::Related } else { relation }
    }

    /// Adds a source of errors that no stated range includes. It is independent of the operand: its
    /// digits and roundings are.
    pub fn with(self, x: Noise, source: f64) -> Noise {
        match self {
            Self::Average => x + source,
            Self::Worst => self.sum(x, Noise::new(source), Relation::Related),
        }
    }

    /// A bound on the coefficients of the noise polynomial: 16 standard deviations on average, the
    /// Euclidean length of the polynomial in the worst case.
    pub fn largest(self, degree: usize, variance: f64) -> f64 {
        match self {
            Self::Average => noise::LARGEST * variance.sqrt(),
            Self::Worst => (degree as f64 * variance).sqrt(),
        }
    }

    /// The noise of a product before relinearization, `m_x e_y + m_y e_x + e_x e_y`. No slot of
    /// `e_x` exceeds `sqrt(N) |e_x|_2`.
    pub fn product(self, degree: usize, x: Operand, y: Operand, relation: Relation) -> Noise {
        // The coefficient of e_x e_y: N V_x V_y on average, (N |e_x| |e_y|)^2 in the worst case.
        let both = match self {
            Self::Average => degree,
            Self::Worst => degree * degree,
        };
        noise::product(both, x, y, self.relation(relation))
    }

    /// The noise of a square before relinearization.
    pub fn square(self, degree: usize, x: Operand) -> Noise {
        match self {
            Self::Average => noise::square(degree, x),
            // Lengths add up whatever the correlation, so the general rule covers squares.
            Self::Worst => self.product(degree, x, x, Relation::Related),
        }
    }

    /// The variance of the error by which two slightly different scales count as equal; the error
    /// of a slot is at most `slots`, in units of the phase. It is a function of the message, so the
    /// average model counts it as part of the computed value and not as noise.
    pub fn mismatch(self, degree: usize, slots: f64) -> f64 {
        match self {
            Self::Average => 0.0,
            Self::Worst => slots * slots / degree as f64,
        }
    }
}

/// The factor by which the mean square of the `N` coefficients of one source may exceed its
/// variance, except with probability about `2^-64`.
///
/// The error is the product of a random polynomial with the secret or with errors of a key. In the
/// slots its squared length is a sum of squares of `N` independent normal variables with weights
/// `|s_j|^2`, where `s_j` is a slot of the secret. The factor has three parts:
/// - *Spread.* By Laurent and Massart (2000, lemma 1) the sum exceeds its mean by more than
///   `2 |w|_2 sqrt(x) + 2 |w|_inf x` with probability below `e^-x`. The squares `|s_j|^2` fall off
///   exponentially: relative to the sum, none is above `(ln N + x) / N = |w|_inf`, and therefore
///   `|w|_2^2 <= |w|_inf |w|_1 = |w|_inf`.
/// - *Weight.* The weight of a ternary secret exceeds its mean by less than `sqrt(N x / 2)`
///   (Hoeffding).
/// - *Range.* Roundings and digits are uniform on average. At the ends of their range their squares
///   are three times as large.
///
/// The bound assumes that masks are random, as in LWE, and that programs are chosen without
/// knowledge of the key. A rounding or digit concentrated on a few slots, or on large slots of the
/// secret, would be longer.
pub fn worst_source(degree: usize) -> f64 {
    // x is the natural logarithm of the inverse failure probability.
    let n = degree as f64;
    let x = SOURCE_BITS * std::f64::consts::LN_2;
    let largest = (n.ln() + x) / n;
    let spread = 1.0 + 2.0 * (largest * x).sqrt() + 2.0 * largest * x;
    // The expected weight is 2 N / 3, so the relative excess is 3 / (2 N) sqrt(N x / 2).
    let weight = 1.0 + 1.5 * (x / (2.0 * n)).sqrt();
    3.0 * spread * weight
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: with `x = 64 ln 2`, `3 (1 + 0.545 + 0.148) 1.039` at degree `2^15`.
    #[test]
    fn worst_cases_by_hand() {
        assert!((worst_source(1 << 15) - 5.278).abs() < 5e-3, "{}", worst_source(1 << 15));
        assert!((worst_source(1 << 10) - 30.9).abs() < 5e-2, "{}", worst_source(1 << 10));
        let (worst, average) = (NoiseModel::Worst, NoiseModel::Average);
        let noise = Noise::new(4.0).included();
        assert_eq!(worst.with(noise, 9.0), Noise { excess: 9.0, ..Noise::new(25.0) });
        assert_eq!(average.with(noise, 9.0), Noise { excess: 9.0, ..Noise::new(13.0) });
        assert_eq!((worst.largest(4, 9.0), average.largest(4, 9.0)), (6.0, 48.0));
        let x = Operand { message: 3.0, noise: Noise::new(4.0) };
        let y = Operand { message: 5.0, noise: Noise::new(1.0) };
        for relation in [Relation::Independent, Relation::Related] {
            assert_eq!(worst.product(2, x, y, relation), Noise::new(289.0));
            assert_eq!(worst.square(2, x), worst.product(2, x, x, relation));
        }
        assert_eq!((worst.mismatch(4, 6.0), average.mismatch(4, 6.0)), (9.0, 0.0));
        // Nothing is better in the worst case than on average.
        let independent = average.product(2, x, y, Relation::Independent);
        let related = average.product(2, x, y, Relation::Related);
        assert!(independent.total < related.total && related.total < 289.0);
        assert_eq!(independent.bound, related.bound);
        assert!(average.square(2, x).total < worst.square(2, x).total);
    }
}
