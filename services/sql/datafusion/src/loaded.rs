//! Evaluation keys in memory, within a budget.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use bellerophon::Evaluator;
use datafusion::execution::memory_pool::MemoryReservation;

use crate::{Error, Hash, Result};

/// The keys in memory. Nothing waits for a store or a disk while it holds their lock.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) keys: HashMap<Hash, Entry>,
    pub(crate) clock: u64,
    /// Bytes of these keys, and of those that are on their way.
    pub(crate) reservation: MemoryReservation,
    /// Those who load keys, one at a time for each name, and those who wait for them.
    pub(crate) turns: HashMap<Hash, Arc<Mutex<()>>>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    evaluator: Arc<Evaluator>,
    pub(crate) bytes: u64,
    used: u64,
}

impl Loaded {
    /// The evaluator of these keys, if they are in memory.
    pub(crate) fn get(&mut self, hash: Hash) -> Option<Arc<Evaluator>> {
        self.clock += 1;
        let entry = self.keys.get_mut(&hash)?;
        entry.used = self.clock;
        Some(entry.evaluator.clone())
    }

    /// Adds keys whose bytes are reserved.
    pub(crate) fn insert(
        &mut self,
        hash: Hash,
        evaluator: Arc<Evaluator>,
        bytes: u64,
    ) -> Arc<Evaluator> {
        self.clock += 1;
        let entry = Entry { evaluator: evaluator.clone(), bytes, used: self.clock };
        self.keys.insert(hash, entry);
        evaluator
    }

    /// Reserves memory for keys. The least recently used ones that nobody uses leave, until these
    /// fit the budget.
    pub(crate) fn reserve(&mut self, bytes: u64, budget: u64) -> Result<()> {
        loop {
            let total = self.reservation.size() as u64;
            if total + bytes <= budget {
                return Ok(self.reservation.try_grow(bytes as usize)?);
            }
            let unused = |entry: &Entry| Arc::strong_count(&entry.evaluator) == 1;
            let oldest = self.keys.iter().filter(|(_, entry)| unused(entry));
            let Some((&oldest, _)) = oldest.min_by_key(|(_, entry)| entry.used) else {
                return Err(Error::Budget { needed: bytes, pinned: total, budget });
            };
            if let Some(entry) = self.keys.remove(&oldest) {
                self.reservation.shrink(entry.bytes as usize);
            }
        }
    }
}
