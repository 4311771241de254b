//! Standard deviations of errors: as predicted, and a bound.

use std::ops::{Add, Mul};

use bellerophon_ring::Result;

use crate::error;

/// The standard deviation of an error, in units of the values: as predicted, and a bound on it.
///
/// An LWE value does not know which errors it has in common with another: `x + x` has twice the
/// error of `x`. Deviations of sums therefore add, which holds for errors of any correlation;
/// independent errors of deviations `d` and `d'` have `sqrt(d^2 + d'^2)`
/// ([`LweVec::add_independent`]).
///
/// [`LweVec::add_independent`]: crate::LweVec::add_independent
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Deviation {
    /// As it is expected. What reports accuracy reads it.
    pub predicted: f64,
    /// At least the prediction. It holds for comparators of equal values, too, and no statement of
    /// noise or range in the slots lowers it. What decides on refusals, on guard bands and on
    /// exactness reads it.
    pub bound: f64,
}

impl Deviation {
    /// No error.
    pub const NONE: Self = Self { predicted: 0.0, bound: 0.0 };

    /// The deviation of an error of a known variance.
    pub fn of_variance(variance: f64) -> Self {
        Self { predicted: variance.sqrt(), bound: variance.sqrt() }
    }

    /// One rule for both.
    pub(crate) fn map(self, rule: impl Fn(f64) -> f64) -> Self {
        Self { predicted: rule(self.predicted), bound: rule(self.bound) }
    }

    /// One rule for both, of two errors.
    fn zip(self, other: Self, rule: impl Fn(f64, f64) -> f64) -> Self {
        let predicted = rule(self.predicted, other.predicted);
        Self { predicted, bound: rule(self.bound, other.bound) }
    }

    /// The larger ones of two errors.
    pub(crate) fn max(self, other: Self) -> Self {
        self.zip(other, f64::max)
    }

    /// The deviation of a sum of independent errors.
    pub(crate) fn hypot(self, other: Self) -> Self {
        self.zip(other, f64::hypot)
    }

    /// Fails unless the prediction is a number from 0 on and the bound a finite one that is not
    /// below it.
    pub(crate) fn check(&self, what: &'static str) -> Result<()> {
        // Both are sums of the same terms, each rounded: hence the tolerance.
        let (found, least) = (self.bound, self.predicted * (1.0 - 1e-9));
        if least >= 0.0 && found >= least && found.is_finite() {
            return Ok(());
        }
        let needed = "a finite number that is not below the predicted deviation, from 0 on";
        Err(error::number(what, found, needed))
    }
}

/// The deviation of a sum of errors of any correlation.
impl Add for Deviation {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, |x, y| x + y)
    }
}

/// The deviation of a multiple.
impl Mul<f64> for Deviation {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        self.map(|x| x * factor.abs())
    }
}
