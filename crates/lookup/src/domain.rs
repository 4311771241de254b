//! Domains of look-ups, and the ranges of values within them.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::ops::RangeInclusive;

use bellerophon_ckks::Interval;
use bellerophon_ring::Result;

use crate::error;

/// Refuses empty and infinite domains.
pub(crate) fn check_domain(domain: &RangeInclusive<f64>) -> Result<()> {
    let (lo, hi) = (*domain.start(), *domain.end());
    if lo.is_finite() && hi.is_finite() && lo < hi && (hi - lo).is_finite() {
        return Ok(());
    }
    Err(error::domain(lo, hi))
}

/// The middle of a domain.
pub(crate) fn center(domain: &RangeInclusive<f64>) -> f64 {
    domain.start() + (domain.end() - domain.start()) / 2.0
}

/// The domain of a look-up for a carried range: that range, or an interval around it if it is a
/// single point.
pub(crate) fn carried_domain(range: &Interval) -> RangeInclusive<f64> {
    // A point up to rounding has no width for a table.
    let (lo, hi) = (range.lo(), range.hi());
    if hi - lo > 1e-9 * range.bound() {
        return lo..=hi;
    }
    let (middle, half) = (f64::midpoint(lo, hi), (hi - lo).max(0.5));
    middle - half..=middle + half
}

/// The intersection of a domain and a carried range. Ranges outside the domain are refused: their
/// values would wrap around the table.
pub(crate) fn range_within(
    range: &Interval,
    domain: &RangeInclusive<f64>,
) -> Result<RangeInclusive<f64>> {
    if !range.is_real() {
        return Err(error::complex());
    }
    // Interval arithmetic rounds: an end of the range may lie outside the domain by the slack.
    let (lo, hi) = (*domain.start(), *domain.end());
    let slack = 1e-9 * (hi - lo);
    if range.lo() < lo - slack || range.hi() > hi + slack {
        let range = range.lo()..=range.hi();
        return Err(error::outside_domain(range, domain.clone()));
    }
    Ok(range.lo().clamp(lo, hi)..=range.hi().clamp(lo, hi))
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::{ErrorKind, refusal};

    use super::*;

    #[test]
    fn ranges_stay_within_the_domain() {
        let within = |lo, hi| range_within(&Interval::real(lo, hi).unwrap(), &(-1.0..=1.0));
        assert_eq!(within(-0.5, 0.25).unwrap(), -0.5..=0.25);
        assert_eq!(within(-1.0 - 1e-9, 1.0 + 1e-9).unwrap(), -1.0..=1.0);
        // Single points within the slack.
        let (low, high) = (-1.0 - 1e-9, 1.0 + 1e-9);
        assert_eq!(within(low, low).unwrap(), -1.0..=-1.0);
        assert_eq!(within(high, high).unwrap(), 1.0..=1.0);
        for (lo, hi) in [(-1.1, 0.0), (0.0, 1.1), (2.0, 2.0)] {
            assert!(
                refusal(&within(lo, hi))
                    .is(&ErrorKind::Domain, "and a table wraps around beyond its ends")
            );
        }
    }
}
