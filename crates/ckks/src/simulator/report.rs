//! The report of a simulated program.

use std::fmt;

use bellerophon_ring::Error;

use crate::cost::{Trace, Work};
use crate::failure::FailureProbability;
use crate::keys::KeyLevels;

/// The first operation of a program that fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The index of the operation in the program, from 1.
    pub operation: usize,
    /// The error, with its remedy.
    pub error: Error,
}

/// The report of a program that ran on a [`Simulator`](super::Simulator).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Number of operations, bootstraps and the failed operation included.
    pub operations: usize,
    /// Number of bootstraps. They need bootstrapping keys in
    /// addition to `keys`.
    pub bootstraps: usize,
    /// Number of functional bootstraps.
    pub functional: usize,
    /// A bound on the probability that any value of any bootstrapped vector is wrong: the sum of
    /// `BootstrapSpec::log2_failure` for each
    /// bootstrap and `FbtSpec::log2_failure` for each
    /// function. No other operation fails at random.
    pub failures: FailureProbability,
    /// Number of key switches, in products, rotations, conjugations and circuits.
    pub key_switches: usize,
    /// Work of all operations that switch keys, rescale or multiply, which dominate the running
    /// time. Sums and encodings are not counted.
    pub work: Work,
    /// The keys that the program needs, each up to the highest level of its use. Every rotation
    /// step has a key of its own.
    pub keys: KeyLevels,
    /// The lowest level of any result.
    pub lowest_level: Option<usize>,
    /// The first failure, if there was one.
    pub failure: Option<Failure>,
}

impl Report {
    /// Adds keys and work of an operation.
    pub(super) fn add(&mut self, trace: Trace<'_>) {
        let Trace { count, key_switches, keys, bootstraps, functional, failures } = trace;
        self.key_switches += key_switches;
        self.keys = std::mem::take(&mut self.keys).and(&keys);
        self.work += count.work();
        self.bootstraps += bootstraps;
        self.functional += functional;
        self.failures = self.failures.and(failures.log2(), 1);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Operations and keys, then bootstraps with their failure probability, levels and failure.
        let Self { operations, bootstraps, key_switches, keys, .. } = self;
        write!(f, "{operations} operation(s), {key_switches} key switch(es); ")?;
        match keys.relinearization {
            Some(level) => write!(f, "products up to level {level}")?,
            None => write!(f, "no products")?,
        }
        write!(f, ", {} rotation key(s)", keys.rotations.len())?;
        if *bootstraps > 0 {
            let log2 = self.failures.log2();
            write!(f, "; {bootstraps} bootstrap(s), failure probability at most 2^{log2:.1}")?;
        }
        if self.functional > 0 {
            let (count, log2) = (self.functional, self.failures.log2());
            write!(
                f,
                "; {count} functional bootstrap(s), failure probability at most 2^{log2:.1}"
            )?;
        }
        if let Some(level) = self.lowest_level {
            write!(f, "; lowest level {level}")?;
        }
        match &self.failure {
            Some(Failure { operation, error }) => {
                write!(f, "; operation {operation} fails: {error}")
            }
            None => write!(f, "; no operation fails"),
        }
    }
}
