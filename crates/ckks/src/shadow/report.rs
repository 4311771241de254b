//! What a shadow has seen.

use std::fmt;

use crate::{Error, FailureProbability, KeySpec};

/// The first operation of a program that fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Which operation of the program it is, from 1.
    pub operation: usize,
    /// What is wrong, and the remedy.
    pub error: Error,
}

/// The account of a program that ran on a [`Shadow`](super::Shadow).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Operations performed, refreshes and the failed one included.
    pub operations: usize,
    /// How many of them refresh. Those need the keys of
    /// [`BootstrapKeys`](crate::bootstrap::BootstrapKeys) beside `keys`.
    pub refreshes: usize,
    /// A bound on the probability that any value of any refreshed vector comes back as garbage: the sum
    /// of [`BootstrapSpec::log2_failure`](crate::bootstrap::BootstrapSpec::log2_failure). Nothing else
    /// fails.
    pub failures: FailureProbability,
    /// How many of them switch keys: products, rotations, conjugations, each counted as often as it
    /// takes a key.
    pub key_switches: usize,
    /// The keys that they take, each up to the highest level at which it is used. Every rotation
    /// has its own key.
    pub keys: KeySpec,
    /// The lowest level that a result stood at.
    pub lowest_level: Option<usize>,
    /// The first failure, if there was one.
    pub failure: Option<Failure>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operations, refreshes, key_switches, keys, .. } = self;
        write!(f, "{operations} operation(s), {key_switches} of them or their parts with a key; ")?;
        match keys.relinearisation() {
            Some(level) => write!(f, "products up to level {level}")?,
            None => write!(f, "no products")?,
        }
        write!(f, ", {} rotation key(s)", keys.rotations().count())?;
        if *refreshes > 0 {
            write!(
                f,
                "; {refreshes} refresh(es), one of which fails with a probability of at most 2^{:.1}",
                self.failures.log2()
            )?;
        }
        if let Some(level) = self.lowest_level {
            write!(f, "; lowest level {level}")?;
        }
        match &self.failure {
            Some(Failure { operation, error }) => {
                write!(f, "; operation {operation} fails: {error}")
            }
            None => write!(f, "; nothing fails"),
        }
    }
}
