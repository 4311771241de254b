//! The domain of a series on the circle, and the error of a series over it.

use crate::approx::{Function, check_domain};
use crate::error;
use bellerophon_ckks::Result;

/// Least share of the circle that a domain takes, and least share that it leaves.
const LEAST_SHARE: f64 = 1.0 / 16.0;

/// The largest difference of a series from its function over the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorBound {
    /// Proved for the whole domain, from what is known of the function.
    Certified(f64),
    /// The largest difference in 16385 points of the domain, for a function that is known by its
    /// values alone, or that is analytic in too small a neighbourhood of the domain.
    Measured(f64),
}

impl ErrorBound {
    /// The bound.
    pub fn value(self) -> f64 {
        match self {
            Self::Certified(error) | Self::Measured(error) => error,
        }
    }

    /// Whether the bound is proved.
    pub fn is_certified(self) -> bool {
        matches!(self, Self::Certified(_))
    }
}

/// An interval on a share of the circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Domain {
    pub(in super::super) lo: f64,
    pub(in super::super) hi: f64,
    pub(in super::super) share: f64,
}

impl Domain {
    pub(super) fn new(f: &Function, lo: f64, hi: f64, share: f64) -> Result<Self> {
        check_domain(lo, hi)?;
        if (LEAST_SHARE..=1.0 - LEAST_SHARE).contains(&share) {
            return Ok(Self { lo, hi, share });
        }
        let reason = format!(
            "a share {share:?} of the circle: need {LEAST_SHARE} to {}, the rest carries the \
             continuation",
            1.0 - LEAST_SHARE
        );
        Err(error::approximation(f.name().into(), reason))
    }

    pub(super) fn width(&self) -> f64 {
        self.hi - self.lo
    }

    pub(super) fn radius(&self) -> f64 {
        0.5 * self.width()
    }

    pub(super) fn middle(&self) -> f64 {
        self.lo + self.radius()
    }

    /// The point at `u` of `[-1, 1]`.
    pub(super) fn point(&self, u: f64) -> f64 {
        (self.middle() + self.radius() * u).clamp(self.lo, self.hi)
    }

    /// Revolutions of the circle for `x`.
    pub(super) fn angle(&self, x: f64) -> f64 {
        self.share * ((x - self.middle()) / self.width())
    }
}
