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
    Error, Hash, KeyStore, KeyStoreOptions, Result, expression, map::MapCall, shape, store::lock,
};

/// What the functions of one process share. A process has one node, and with it one pool of
/// threads, whatever the number of partitions.
#[derive(Debug)]
pub struct Node {
    keys: KeyStore,
    threads: rayon::ThreadPool,
    memory: Arc<dyn MemoryPool>,
    functions: Mutex<BTreeMap<String, MapFunction>>,
    calls: Mutex<BTreeMap<&'static str, u64>>,
    plans: Mutex<HashMap<String, Arc<MapPlan>>>,
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
        let (functions, calls, plans) = Default::default();
        let threads = threads.map_err(failed)?;
        Ok(Arc::new(Self { keys, threads, memory, functions, calls, plans }))
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
        lock(&self.functions).insert(name.into(), function);
    }

    /// Makes the function of a text known under that text, if it is an expression.
    pub(crate) fn know(&self, text: &str) -> std::result::Result<(), String> {
        if expression::is_expression(text) && self.defined(text).is_none() {
            self.define(text, expression::compile(text)?);
        }
        Ok(())
    }

    pub(crate) fn defined(&self, name: &str) -> Option<MapFunction> {
        lock(&self.functions).get(name).cloned()
    }

    /// How often each function was evaluated on a vector, since the node exists: a plan that
    /// evaluates an expression twice shows here.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        lock(&self.calls).clone()
    }

    /// Computes a value for every row on the threads of the node. An error or a panic names the
    /// function and the row.
    pub(crate) fn rows<T: Send>(
        &self,
        function: &'static str,
        rows: usize,
        work: impl Fn(usize) -> bellerophon::Result<T> + Sync,
    ) -> Result<Vec<T>> {
        *lock(&self.calls).entry(function).or_default() += rows as u64;
        let guarded = |row| match guarded(|| work(row)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(source)) => Err(Error::Row { function, row, source: Box::new(source) }),
            Err(message) => Err(Error::Panicked { function, row, message }),
        };
        // All rows first: the error is that of the first bad row, whatever thread meets it.
        let work = || (0..rows).into_par_iter().map(guarded).collect::<Vec<_>>();
        self.threads.install(work).into_iter().collect()
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
        Ok(ckks::Evaluator::new(params.ckks(), &keys).map_err(bellerophon::Error::from)?)
    }

    /// A simulator for these parameters, with their name.
    pub(crate) fn simulator(&self, params: Hash) -> Result<(Params, Simulator)> {
        let params = self.keys.params(params)?;
        let simulator = shape::simulator(&params)?;
        Ok((params, simulator))
    }

    /// A plan of a map, made once: `place` says for what, besides the call.
    pub(crate) fn map_plan(
        &self,
        call: &MapCall,
        place: &str,
        plan: impl FnOnce() -> bellerophon::Result<MapPlan>,
    ) -> bellerophon::Result<Arc<MapPlan>> {
        let key = format!("{call:?} {place}");
        if let Some(known) = lock(&self.plans).get(&key) {
            return Ok(known.clone());
        }
        let made = Arc::new(plan()?);
        lock(&self.plans).insert(key, made.clone());
        Ok(made)
    }
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
