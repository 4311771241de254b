//! A cache of Galois keys in front of a [`GaloisSource`](super::GaloisSource).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crate::galois::GaloisKey;

/// Galois keys in memory, within a budget of bytes. The least recently used ones are evicted (LRU).
pub struct GaloisCache {
    budget: usize,
    keys: Mutex<Keys>,
}

/// The keys, each with the time of its last use.
#[derive(Default)]
struct Keys {
    keys: BTreeMap<usize, (Arc<GaloisKey>, u64)>,
    bytes: usize,
    clock: u64,
}

impl GaloisCache {
    /// An empty cache of at most `budget` bytes.
    pub fn new(budget: usize) -> Self {
        Self { budget, keys: Mutex::default() }
    }

    /// The key of an exponent, which `load` loads if it is not in memory. Several threads can load
    /// several keys at a time.
    pub fn get_or_load<E>(
        &self,
        exponent: usize,
        load: impl FnOnce() -> Result<GaloisKey, E>,
    ) -> Result<Arc<GaloisKey>, E> {
        let lock = || self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = lock().take(exponent) {
            return Ok(key);
        }
        // Without the lock.
        let key = Arc::new(load()?);
        lock().put(&key, self.budget);
        Ok(key)
    }
}

impl Keys {
    fn take(&mut self, exponent: usize) -> Option<Arc<GaloisKey>> {
        self.clock += 1;
        let (key, used) = self.keys.get_mut(&exponent)?;
        *used = self.clock;
        Some(key.clone())
    }

    /// Inserts a key, and evicts the least recently used ones until all are within the budget. A
    /// key in use is freed with its last user.
    fn put(&mut self, key: &Arc<GaloisKey>, budget: usize) {
        let size = |key: &GaloisKey| key.key().memory_len();
        self.clock += 1;
        self.bytes += size(key);
        if let Some((old, _)) = self.keys.insert(key.exponent(), (key.clone(), self.clock)) {
            self.bytes -= size(&old);
        }
        while self.bytes > budget {
            let oldest = self.keys.iter().min_by_key(|(_, (_, used))| *used);
            let Some(exponent) = oldest.map(|(&exponent, _)| exponent) else { break };
            if let Some((key, _)) = self.keys.remove(&exponent) {
                self.bytes -= size(&key);
            }
        }
    }
}
