//! Sums of failure probabilities (union bound).

/// A bound on the probability that any operation of a program fails: the union bound, the sum over
/// its operations, which need not be independent. Stored as `log2`.
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
    /// Failure is impossible.
    pub const NONE: Self = Self { log2: f64::NEG_INFINITY };

    /// Adds `count` operations that each fail with probability `2^log2_each`. If `log2_each` is
    /// above 0 or NaN, the operations count as certain to fail. The sum is also right where the
    /// probability underflows an `f64` (such as `2^-2000`).
    #[must_use]
    pub fn and(self, log2_each: f64, count: u64) -> Self {
        // `f64::min` of NaN and a number is the number: NaN becomes 0, a probability of one.
        let log2_each = log2_each.min(0.0);
        let more = match count {
            0 => f64::NEG_INFINITY,
            _ => log2_each + (count as f64).log2(),
        };
        let (larger, smaller) = (self.log2.max(more), self.log2.min(more));
        if larger == f64::NEG_INFINITY {
            return Self::NONE;
        }
        // log2(2^a + 2^b) = a + log2(1 + 2^(b - a)) for a >= b.
        let added = (smaller - larger).exp2().ln_1p() / std::f64::consts::LN_2;
        Self { log2: larger + added }
    }

    /// `log2` of the bound: minus infinity if failure is impossible. A value of 0 or more is no
    /// bound.
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
        // An invalid probability counts as certain failure.
        for odd in [f64::NAN, f64::INFINITY, 3.0] {
            assert_eq!(none.and(odd, 1).log2(), 0.0);
            assert!((none.and(-1.0, 1).and(odd, 2).log2() - 2.5f64.log2()).abs() < 1e-12);
            assert_eq!(none.and(odd, 0), none);
        }
        // 3 / 16 + 5 / 64 = 17 / 64.
        let sum = none.and(-4.0, 3).and(-6.0, 5);
        assert!((sum.log2() - (17f64 / 64.0).log2()).abs() < 1e-12);
        // 2^-2000 is zero as an `f64`; and a small probability is not lost beside a large one.
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
