//! Failure probabilities, added up.

/// A bound on the probability that anything in a program fails: the sum over its operations, whatever
/// they have in common, as a power of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailureProbability {
    log2: f64,
}

impl Default for FailureProbability {
    fn default() -> Self {
        Self::NONE
    }
}

impl FailureProbability {
    /// Nothing can fail.
    pub const NONE: Self = Self { log2: f64::NEG_INFINITY };

    /// With `count` operations more that fail with probability `2^log2_each` each; with certainty, if that
    /// is no probability (above 0, or no number). Sums that an `f64` does not hold as such (of `2^-2000`,
    /// say) are right, too.
    #[must_use]
    pub fn and(self, log2_each: f64, count: u64) -> Self {
        // The least of a number and NaN is the number.
        let log2_each = log2_each.min(0.0);
        let more = match count {
            0 => f64::NEG_INFINITY,
            _ => log2_each + (count as f64).log2(),
        };
        let (larger, smaller) = (self.log2.max(more), self.log2.min(more));
        if larger == f64::NEG_INFINITY {
            return Self::NONE;
        }
        let added = (smaller - larger).exp2().ln_1p() / std::f64::consts::LN_2;
        Self { log2: larger + added }
    }

    /// `log2` of it: minus infinity where nothing can fail. From 0 on it says nothing.
    pub fn log2(self) -> f64 {
        self.log2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_probabilities() {
        let none = FailureProbability::default();
        assert_eq!(none.log2(), f64::NEG_INFINITY);
        assert_eq!(none.and(-60.0, 0), none);
        assert_eq!(none.and(f64::NEG_INFINITY, 5), none);
        assert_eq!(none.and(-60.0, 1024).log2(), -50.0);
        // What is no probability is no reason to trust in anything.
        for odd in [f64::NAN, f64::INFINITY, 3.0] {
            assert_eq!(none.and(odd, 1).log2(), 0.0);
            assert!((none.and(-1.0, 1).and(odd, 2).log2() - 2.5f64.log2()).abs() < 1e-12);
            assert_eq!(none.and(odd, 0), none);
        }
        // 3 / 16 + 5 / 64 = 17 / 64.
        let sum = none.and(-4.0, 3).and(-6.0, 5);
        assert!((sum.log2() - (17f64 / 64.0).log2()).abs() < 1e-12);
        // Where 2^-2000 is zero as a number; and a small one beside a large one is not lost.
        assert_eq!(none.and(-2000.0, 1).and(-2000.0, 3).log2(), -1998.0);
        assert!(none.and(-10.0, 1).and(-50.0, 1).log2() > -10.0);
        // One at a time or all at once.
        let mut steps = none;
        for _ in 0..1000 {
            steps = steps.and(-60.0, 7);
        }
        assert!((steps.log2() - none.and(-60.0, 7000).log2()).abs() < 1e-9);
    }
}
