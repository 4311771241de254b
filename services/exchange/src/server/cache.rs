//! The keys in memory: the most recently used ones, within a budget.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::protocol::{Code, Refusal};

/// Values by name, each with its cost. The least recently used one is evicted first. A value in use
/// stays and counts.
pub struct Cache<K, V> {
    budget: u64,
    state: Mutex<State<K, V>>,
    /// Notified when a value is no longer used.
    freed: Condvar,
}

struct State<K, V> {
    entries: HashMap<K, Entry<V>>,
    clock: u64,
    used: u64,
}

struct Entry<V> {
    /// Shared with those who use it.
    slot: Arc<Slot<V>>,
    cost: u64,
    last: u64,
}

/// A value that is loaded by the first who asks for it, while others wait.
struct Slot<V> {
    value: OnceLock<V>,
    loading: Mutex<()>,
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
    slot: Option<Arc<Slot<V>>>,
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    /// An empty cache.
    pub fn new(budget: u64) -> Self {
        let state = State { entries: HashMap::new(), clock: 0, used: 0 };
        Self { budget, state: Mutex::new(state), freed: Condvar::new() }
    }

    /// The largest cost of a value.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Drops the value of a name, so that it is loaded again.
    pub fn forget(&self, name: K) {
        self.state.lock().remove(name);
        self.freed.notify_all();
    }

    /// The value of a name, loaded if it is missing: by one caller, and only once the budget has
    /// room for it, so that the budget holds during loading, too. Waits for room as long as
    /// `patient`.
    ///
    /// A caller must not hold a lease while it asks for another: two callers could wait for each
    /// other.
    ///
    /// # Errors
    /// Those of `load`, and [`Busy`].
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
        let mut state = self.state.lock();
        while !state.entries.contains_key(&name) && !state.make_room(self.budget - cost) {
            if !patient() {
                return Err(Busy.into());
            }
            self.freed.wait_for(&mut state, LOOK);
        }
        // The cost counts from here on. One that cannot be loaded is as good as unused.
        let slot = state.reserve(name, cost);
        drop(state);
        let lease = Lease { cache: self, slot: Some(slot.clone()) };
        let _loading = slot.loading.lock();
        if slot.value.get().is_none() {
            let value = load()?;
            slot.value.get_or_init(|| value);
        }
        Ok(lease)
    }
}

impl<K: Eq + Hash + Copy, V> State<K, V> {
    /// The slot of a name, which is the one used last.
    fn reserve(&mut self, name: K, cost: u64) -> Arc<Slot<V>> {
        self.clock += 1;
        let entry = self.entries.entry(name).or_insert_with(|| {
            self.used += cost;
            let slot = Slot { value: OnceLock::new(), loading: Mutex::new(()) };
            Entry { slot: Arc::new(slot), cost, last: 0 }
        });
        entry.last = self.clock;
        entry.slot.clone()
    }

    /// Drops unused values, the least recently used first, until at most `most` is used. Drops none
    /// if even dropping all of them does not suffice.
    fn make_room(&mut self, most: u64) -> bool {
        let unused = |(_, entry): &(&K, &Entry<V>)| Arc::strong_count(&entry.slot) == 1;
        let free: u64 = self.entries.iter().filter(unused).map(|(_, entry)| entry.cost).sum();
        if self.used - free > most {
            return false;
        }
        while self.used > most {
            let oldest = self.entries.iter().filter(unused).min_by_key(|(_, entry)| entry.last);
            let Some((&name, _)) = oldest else { return false };
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

impl<K: Eq + Hash + Copy, V> Deref for Lease<'_, K, V> {
    type Target = V;

    fn deref(&self) -> &V {
        let value = self.slot.as_ref().and_then(|slot| slot.value.get());
        value.expect(
            "a lease is returned once its value is loaded, and holds it until it is dropped",
        )
    }
}

impl<K: Eq + Hash + Copy, V> Drop for Lease<'_, K, V> {
    fn drop(&mut self) {
        // Under the lock, so that a waiting caller cannot miss it.
        let state = self.cache.state.lock();
        self.slot = None;
        drop(state);
        self.cache.freed.notify_all();
    }
}
