//! How errors of several sources add up: as independent ones, or in the worst way.

use crate::{
    Error, Result,
    noise::{self, Noise, Operand, times},
};

/// What the books take for the variance of a sum, of a product, of a source.
///
/// With independent errors variances are added. In the worst case the number that stands for a variance
/// is the square of a bound on `|e|_2 / sqrt(N)` that holds however the errors of a program hang
/// together: `|e + e'|_2 <= |e|_2 + |e'|_2`, and a product with a polynomial whose slots are at most
/// `M` lengthens an error at most `M` times, since the slots are an isometry of the coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Errors {
    #[default]
    Independent,
    WorstCase,
}

/// `-log2` of the probability that one source of errors is longer than [`worst_source`] says.
const SOURCE_BITS: f64 = 64.0;

impl Errors {
    /// Of a source of errors: an encryption, a rounding, a key switch.
    pub fn source(self, degree: usize, variance: f64) -> f64 {
        match self {
            Self::Independent => variance,
            Self::WorstCase => worst_source(degree) * variance,
        }
    }

    /// Of an encoding's rounding to integers, by at most a half.
    pub fn encoding(self, real: bool) -> f64 {
        match self {
            Self::Independent => self.of_message(real, noise::ENCODING),
            Self::WorstCase => 0.25,
        }
    }

    /// Of an error of a variance that is a function of the message. The coefficients of real messages
    /// come in pairs, and so does such an error: all of it shows in the real parts of the slots, of
    /// other errors half.
    pub fn of_message(self, real: bool, variance: f64) -> f64 {
        if self == Self::Independent && real { 2.0 * variance } else { variance }
    }

    /// Of a sum.
    pub fn sum(self, x: Noise, y: Noise) -> Noise {
        match self {
            Self::Independent => x + y,
            Self::WorstCase => x.zip(y, |x, y| (x.sqrt() + y.sqrt()).powi(2)),
        }
    }

    /// With a source of errors that no stated range includes.
    pub fn with(self, x: Noise, source: f64) -> Noise {
        self.sum(x, Noise::new(source))
    }

    /// No coefficient of the noise polynomial is larger: 16 deviations, or the length of all
    /// coefficients.
    pub fn largest(self, degree: usize, variance: f64) -> f64 {
        match self {
            Self::Independent => noise::LARGEST * variance.sqrt(),
            Self::WorstCase => (degree as f64 * variance).sqrt(),
        }
    }

    /// Of a product before relinearisation: `m_x e_y + m_y e_x + e_x e_y`, where no slot of `e_x` is
    /// larger than `sqrt(N) |e_x|_2`.
    pub fn product(self, degree: usize, x: Operand, y: Operand) -> Noise {
        match self {
            Self::Independent => noise::product(degree, x, y),
            Self::WorstCase => x.noise.zip(y.noise, |of_x, of_y| {
                let (of_x, of_y) = (of_x.sqrt(), of_y.sqrt());
                let both = degree as f64 * times(of_x, of_y);
                (times(x.message, of_y) + times(y.message, of_x) + both).powi(2)
            }),
        }
    }

    /// Of a square before relinearisation.
    pub fn square(self, degree: usize, x: Operand) -> Noise {
        match self {
            Self::Independent => noise::square(degree, x),
            Self::WorstCase => self.product(degree, x, x),
        }
    }

    /// Of a polynomial that slots of a magnitude, in units of the phase, are off by: where two scales pass
    /// for one. It is a function of messages, so it is nothing on average but a part of what is computed.
    pub fn mismatch(self, degree: usize, slots: f64) -> f64 {
        match self {
            Self::Independent => 0.0,
            Self::WorstCase => slots * slots / degree as f64,
        }
    }

    /// Refuses operations whose errors are known on average alone.
    pub fn check_bounded(self, op: &'static str) -> Result<()> {
        match self {
            Self::Independent => Ok(()),
            Self::WorstCase => Err(Error::NoWorstCase { op }),
        }
    }
}

/// By how much the mean square of the `N` coefficients of one source may exceed its variance, but for a
/// probability of some `2^-64`.
///
/// The error is a product of a random polynomial and the secret, or errors of a key. In the slots that
/// is a sum of squares of `N` independent normal variables with the weights `|s_j|^2`, `s_j` a slot of
/// the secret; by Laurent and Massart (2000, lemma 1) it exceeds its mean by more than
/// `2 |w|_2 sqrt(x) + 2 |w|_inf x` with probability below `e^-x`. The squares `|s_j|^2` fall off
/// exponentially: relative to the mean, none is above `(ln N + x) / N = |w|_inf`, and so
/// `|w|_2^2 <= |w|_inf |w|_1 = |w|_inf`. The weight of a ternary secret exceeds its mean by less than
/// `sqrt(N x / 2)` (Hoeffding). And roundings and digits, uniform on average, may be at the ends of their
/// range, where their squares are three times as large.
///
/// Masks are taken as random there, as LWE has them, and programs as made without the key: a rounding or
/// a digit whose whole weight lay in a few slots, or where those of the secret are large, would be longer.
pub(crate) fn worst_source(degree: usize) -> f64 {
    let n = degree as f64;
    let x = SOURCE_BITS * std::f64::consts::LN_2;
    let largest = (n.ln() + x) / n;
    let spread = 1.0 + 2.0 * (largest * x).sqrt() + 2.0 * largest * x;
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
        let (worst, average) = (Errors::WorstCase, Errors::Independent);
        let noise = Noise { total: 4.0, excess: 0.0 };
        assert_eq!(worst.with(noise, 9.0), Noise { total: 25.0, excess: 9.0 });
        assert_eq!(average.with(noise, 9.0), Noise { total: 13.0, excess: 9.0 });
        assert_eq!((worst.largest(4, 9.0), average.largest(4, 9.0)), (6.0, 48.0));
        let x = Operand { message: 3.0, noise: Noise::new(4.0) };
        let y = Operand { message: 5.0, noise: Noise::new(1.0) };
        assert_eq!(worst.product(2, x, y), Noise::new(289.0));
        assert_eq!(worst.square(2, x), worst.product(2, x, x));
        assert_eq!((worst.mismatch(4, 6.0), average.mismatch(4, 6.0)), (9.0, 0.0));
        // Nothing is better in the worst case than on average.
        assert!(average.product(2, x, y).total < 289.0);
        assert!(average.square(2, x).total < worst.square(2, x).total);
        assert!(average.check_bounded("").is_ok() && worst.check_bounded("").is_err());
    }
}
