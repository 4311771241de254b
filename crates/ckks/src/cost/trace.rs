//! What operations take: keys, key switches, work, failures.

use super::Count;
use crate::failure::FailureProbability;
use crate::keys::KeyLevels;
use crate::params::Params;

/// Keys and work of operations, which the simulator reports and predictions count.
#[derive(Debug)]
pub struct Trace<'p> {
    /// The work.
    pub count: Count<'p>,
    /// Number of key switches.
    pub key_switches: usize,
    /// The keys, each at the level of its use.
    pub keys: KeyLevels,
    /// Number of bootstraps.
    pub bootstraps: usize,
    /// Number of functional bootstraps.
    pub functional: usize,
    /// A bound on the probability that any result is wrong.
    pub failures: FailureProbability,
}

impl<'p> Trace<'p> {
    /// Nothing yet.
    pub fn new(params: &'p Params) -> Self {
        Self {
            count: Count::new(params),
            key_switches: 0,
            keys: KeyLevels::default(),
            bootstraps: 0,
            functional: 0,
            failures: FailureProbability::NONE,
        }
    }

    /// Key switches, and the keys that they need.
    pub fn needs(&mut self, key_switches: usize, keys: impl FnOnce(KeyLevels) -> KeyLevels) {
        self.key_switches += key_switches;
        self.keys = keys(std::mem::take(&mut self.keys));
    }
}
