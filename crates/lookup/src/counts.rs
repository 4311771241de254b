//! Counts of the operations of look-ups that can fail.

use std::sync::atomic::{AtomicU64, Ordering};

use bellerophon_ckks::FailureProbability;

use crate::params::LutParams;

/// Counts of the operations of look-ups that can fail. Each counted operation fails with at most
/// half the failure probability of a look-up.
#[derive(Debug, Default)]
pub struct Counts {
    /// Blind rotations: the index error may exceed the guard band.
    pub(super) indices: AtomicU64,
    /// Values packed into slots: the overflow may exceed the range of the reduction.
    packed: AtomicU64,
}

impl Counts {
    /// Counts values that are looked up.
    pub(super) fn looked_up(&self, values: usize) {
        self.indices.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// Counts values that are packed.
    pub(super) fn packed(&self, values: usize) {
        self.packed.fetch_add(values as u64, Ordering::Relaxed);
    }

    /// Adds the failure probability of everything counted so far.
    pub fn add_to(&self, sum: FailureProbability, lookups: &LutParams) -> FailureProbability {
        let half = lookups.log2_table_failure();
        let [indices, packed] =
            [&self.indices, &self.packed].map(|count| count.load(Ordering::Relaxed));
        sum.and(half, indices).and(half, packed)
    }
}
