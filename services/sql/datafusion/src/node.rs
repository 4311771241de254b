//! What the functions of one process share: keys, threads, memory, counters.

use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use bellerophon::{
    MapFunction, MapPlan, Params,
    ckks::{self, EvaluationKeys, simulator::Simulator},
    mlwe::KeyId,
};
use datafusion::{
    common::DataFusionError,
    execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool},
    object_store::ObjectStore,
};
use rayon::prelude::*;

use crate::{
    Error, Hash, KeyStore, KeyStoreOptions, Result, expression,
    shape::{self, Shape},
    store::lock,
};

/// Results of one kind that a node keeps: plans, descriptions, compiled expressions.
const KEPT: usize = 1 << 10;

/// What the functions of one process share. A process has one node, and with it one pool of
/// threads, whatever the number of partitions.
#[derive(Debug)]
pub struct Node {
    keys: KeyStore,
    threads: rayon::ThreadPool,
    memory: Arc<dyn MemoryPool>,
    defined: Mutex<HashMap<String, Known>>,
    calls: Mutex<BTreeMap<&'static str, u64>>,
    /// Results under the hash of a text that says of what: texts hold tables.
    expressions: Mutex<HashMap<Hash, MapFunction>>,
    plans: Mutex<HashMap<Hash, Arc<MapPlan>>>,
    shapes: Mutex<HashMap<Hash, Shape>>,
}

/// A function that a node knows under a text.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) function: MapFunction,
    /// How often the text was defined. A query that began before a definition keeps the function
    /// that it found, and its plans are not those of the next one.
    pub(crate) version: u64,
}

/// The resources of a node.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// The keys in memory and in the folder of the node.
    pub keys: KeyStoreOptions,
    /// Threads for encrypted vectors; 0 for as many as the machine has.
    pub threads: usize,
    /// Bytes of memory for keys, for vectors in work and for the states of aggregates together.
    pub memory: usize,
}

impl NodeOptions {
    /// All threads and 8 GiB of memory; keys as [`KeyStoreOptions::new`].
    pub fn new(folder: impl Into<std::path::PathBuf>) -> Self {
        Self { keys: KeyStoreOptions::new(folder), threads: 0, memory: 8 << 30 }
    }
}

impl Node {
    /// A node whose objects are in `store`.
    ///
    /// # Errors
    /// [`Error::File`] if the folder or the threads cannot be made.
    pub fn new(store: Arc<dyn ObjectStore>, options: NodeOptions) -> Result<Arc<Self>> {
        let memory: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(options.memory));
        let keys = KeyStore::new(store, &memory, options.keys)?;
        let threads = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build();
        let failed = |error| DataFusionError::External(Box::new(error));
        let threads = threads.map_err(failed)?;
        let (defined, calls, expressions, plans, shapes) = Default::default();
        Ok(Arc::new(Self { keys, threads, memory, defined, calls, expressions, plans, shapes }))
    }

    /// The objects of the node.
    pub fn keys(&self) -> &KeyStore {
        &self.keys
    }

    /// The memory that keys, vectors and states share.
    pub fn memory(&self) -> &Arc<dyn MemoryPool> {
        &self.memory
    }

    /// Makes a function known to `he_map` under a name. All processes of a cluster must know it.
    pub fn define(&self, name: impl Into<String>, function: MapFunction) {
        let (name, mut defined) = (name.into(), lock(&self.defined));
        let version = defined.get(&name).map_or(0, |known| known.version) + 1;
        defined.insert(name, Known { function, version });
    }

    /// The function that is defined under a text, or that the text expresses over a domain.
    pub(crate) fn known(&self, text: &str, domain: [f64; 2]) -> Result<Option<Known>> {
        if let Some(known) = lock(&self.defined).get(text) {
            return Ok(Some(known.clone()));
        }
        if !expression::is_expression(text) {
            return Ok(None);
        }
        let malformed =
            |reason| Error::plan("he_map", format!("{text:?} is no function: {reason}"));
        let compile = || expression::compile(text, domain).map_err(malformed);
        let function = once(&self.expressions, &format!("{text} {domain:?}"), compile)?;
        Ok(Some(Known { function, version: 0 }))
    }

    /// How often each function was evaluated on a vector, since the node exists: a plan that
    /// evaluates an expression twice shows here.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.calls).clone()
    }

    /// Evaluates a function on these rows of a batch, on the threads of the node, and counts them.
    /// An error or a panic names the function and the row.
    pub(crate) fn rows<T: Send>(
        &self,
        function: &'static str,
        rows: &[usize],
        work: impl Fn(usize) -> bellerophon::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        *lock(&self.calls).entry(function).or_default() += rows.len() as u64;
        self.each(function, rows, work)
    }

    /// Computes a value for every row, as [`rows`](Self::rows), without counting.
    pub(crate) fn each<T: Send>(
        &self,
        function: &'static str,
        rows: &[usize],
        work: impl Fn(usize) -> bellerophon::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let guarded = |&row: &usize| match guarded(|| work(row)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(source)) => Err(Error::Row { function, row, source: Box::new(source) }),
            Err(message) => Err(Error::Panicked { function, row, message }),
        };
        // All rows first: the error is that of the first bad row, whatever thread meets it.
        let work = || rows.par_iter().map(guarded).collect::<Vec<_>>();
        self.on_threads(work).into_iter().collect()
    }

    /// Work of several threads, on those of the node.
    pub(crate) fn on_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.threads.install(work)
    }

    /// Reserves memory for the duration of a call.
    pub(crate) fn reserve(
        &self,
        function: &'static str,
        bytes: usize,
    ) -> Result<datafusion::execution::memory_pool::MemoryReservation> {
        let reservation = MemoryConsumer::new(function).register(&self.memory);
        reservation.try_grow(bytes)?;
        Ok(reservation)
    }

    /// An evaluator for what needs no keys.
    pub(crate) fn without_keys(&self, params: &Params, owner: KeyId) -> Result<ckks::Evaluator> {
        let keys = EvaluationKeys::none(params.ckks(), owner);
        Ok(ckks::Evaluator::new(params.ckks(), &keys)?)
    }

    /// A simulator for these parameters, with their name.
    pub(crate) fn simulator(&self, params: Hash) -> Result<(Params, Simulator)> {
        let params = self.keys.params(params)?;
        let simulator = shape::simulator(&params)?;
        Ok((params, simulator))
    }

    /// A plan of a map, made once for a text that says for what.
    pub(crate) fn map_plan(
        &self,
        key: &str,
        plan: impl FnOnce() -> bellerophon::Result<MapPlan>,
    ) -> bellerophon::Result<Arc<MapPlan>> {
        once(&self.plans, key, || plan().map(Arc::new))
    }

    /// The description of a result, derived once for a text that says of what: an engine asks many
    /// times while it plans a query, and the simulator takes milliseconds.
    pub(crate) fn shape(&self, key: &str, derive: impl FnOnce() -> Result<Shape>) -> Result<Shape> {
        once(&self.shapes, key, derive)
    }
}

/// A result that is computed if it is not known yet.
fn once<T: Clone, E>(
    known: &Mutex<HashMap<Hash, T>>,
    key: &str,
    compute: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let key = Hash::of(key.as_bytes());
    if let Some(found) = lock(known).get(&key) {
        return Ok(found.clone());
    }
    let made = compute()?;
    let mut known = lock(known);
    // Other queries of a long life would take all memory.
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(key, made.clone());
    Ok(made)
}

/// Runs code that calls functions of users. A panic becomes its message.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let panic: &(dyn Any + Send) = &*panic;
        match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(text), _) => text.to_string(),
            (_, Some(text)) => text.clone(),
            _ => "no message".into(),
        }
    })
}
