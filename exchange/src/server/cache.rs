//! The keys in memory: the most recently used ones, within a budget.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::protocol::{Code, Refusal};

/// Values by name, each with its cost. The least recently used one is evicted first. A value in use
/// stays and counts.
pub struct Cache<K, V> {
    budget: u64,
    state: Mutex<State<K, V>>,
    /// Notified when a value is no longer used, or has been loaded.
    freed: Condvar,
}

struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    clock: u64,
    used: u64,
}

struct Entry<V> {
    /// `None` while it is being loaded.
    value: Option<Arc<V>>,
    cost: u64,
    last: u64,
}

/// The time between two looks whether a caller still waits.
const LOOK: Duration = Duration::from_millis(200);

/// There was no room as long as the caller waited.
pub struct Busy;

impl From<Busy> for Refusal {
    fn from(Busy: Busy) -> Self {
        let why = "the memory for keys is in use: try again later";
        Self::new(Code::TooManyRequests, why)
    }
}

/// A value in use.
pub struct Lease<'c, K: Eq + Hash + Copy, V> {
    cache: &'c Cache<K, V>,
    value: Option<Arc<V>>,
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    /// An empty cache.
    pub fn new(budget: u64) -> Self {
        let state = State { entries: HashMap::new(), clock: 0, used: 0 };
        Self { budget, state: Mutex::new(state), freed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The largest cost of a value.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Drops the value of a name, so that it is loaded again.
    pub fn forget(&self, name: K) {
        self.state().remove(name);
        self.freed.notify_all();
    }

    /// The value of a name, loaded if it is missing: by one caller, and only once the budget has
    /// room for it, so that the budget holds during loading, too. Waits as long as `patient`.
    ///
    /// # Errors
    /// Those of `load`, and [`Busy`].
    ///
    /// A caller must not hold a lease while it asks for another: two callers could wait for each
    /// other.
    ///
    /// # Panics
    /// For a cost above the budget.
    pub fn get<E: From<Busy>>(
        &self,
        name: K,
        cost: u64,
        patient: impl Fn() -> bool,
        load: impl FnOnce() -> Result<V, E>,
    ) -> Result<Lease<'_, K, V>, E> {
        assert!(cost <= self.budget, "callers refuse what never fits");
        let mut state = self.state();
        loop {
            state.clock += 1;
            let now = state.clock;
            match state.entries.get_mut(&name) {
                Some(Entry { value: Some(value), last, .. }) => {
                    *last = now;
                    return Ok(Lease { cache: self, value: Some(value.clone()) });
                }
                // Another caller loads it.
                Some(_) => {}
                None => {
                    if state.make_room(self.budget - cost) {
                        break;
                    }
                }
            }
            if !patient() {
                return Err(Busy.into());
            }
            let waited = self.freed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.used += cost;
        let last = state.clock;
        state.entries.insert(name, Entry { value: None, cost, last });
        drop(state);
        // Withdraws the entry if loading fails, also by a panic.
        let loading = Loading { cache: self, name, done: false };
        let value = Arc::new(load()?);
        loading.end(value.clone());
        Ok(Lease { cache: self, value: Some(value) })
    }
}

impl<K: Eq + Hash + Copy, V> State<K, V> {
    /// Drops unused values, the least recently used first, until at most `most` is used. Drops none
    /// if even dropping all of them does not suffice.
    fn make_room(&mut self, most: u64) -> bool {
        let unused = |entry: &&Entry<V>| {
            entry.value.as_ref().is_some_and(|value| Arc::strong_count(value) == 1)
        };
        let free: u64 = self.entries.values().filter(unused).map(|entry| entry.cost).sum();
        if self.used - free > most {
            return false;
        }
        while self.used > most {
            let entries = self.entries.iter().filter(|(_, entry)| unused(entry));
            let Some((&name, _)) = entries.min_by_key(|(_, entry)| entry.last) else {
                return false;
            };
            self.remove(name);
        }
        true
    }

    fn remove(&mut self, name: K) {
        if let Some(entry) = self.entries.remove(&name) {
            self.used -= entry.cost;
        }
    }
}

struct Loading<'c, K: Eq + Hash + Copy, V> {
    cache: &'c Cache<K, V>,
    name: K,
    done: bool,
}

impl<K: Eq + Hash + Copy, V> Loading<'_, K, V> {
    fn end(mut self, value: Arc<V>) {
        if let Some(entry) = self.cache.state().entries.get_mut(&self.name) {
            entry.value = Some(value);
        }
        self.done = true;
    }
}

impl<K: Eq + Hash + Copy, V> Drop for Loading<'_, K, V> {
    fn drop(&mut self) {
        if !self.done {
            self.cache.state().remove(self.name);
        }
        self.cache.freed.notify_all();
    }
}

impl<K: Eq + Hash + Copy, V> std::ops::Deref for Lease<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        self.value.as_ref().expect("a lease holds its value until it is dropped")
    }
}

impl<K: Eq + Hash + Copy, V> Drop for Lease<'_, K, V> {
    fn drop(&mut self) {
        // Under the lock, so that a waiting caller cannot miss it.
        let state = self.cache.state();
        self.value = None;
        drop(state);
        self.cache.freed.notify_all();
    }
}
