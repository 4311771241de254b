//! Stores that fail.

use std::{
    fmt, fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use bellerophon::prelude::*;
use bellerophon_datafusion::{Hash, Iteration, Node, State, Values, decrypt};
use datafusion::{
    arrow::record_batch::RecordBatch,
    object_store::{
        CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
        ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
        local::LocalFileSystem, path::Path,
    },
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};

use crate::world::{World, close, needs, node_on, numbers};

const QUERY: &str = "SELECT he_sum_slots(he_sum(x)) AS s FROM t";

/// The longest wait for work of other threads: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(100);

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// A fault of the network.
    Network,
    /// The connection ends after some bytes of the object.
    Cut,
    /// The caller has no rights.
    Denied,
    /// The store does not answer before it is told to.
    Silent,
    /// More bytes follow the object, again and again.
    Endless,
}

/// Bytes of a part of an endless object.
const PART: u64 = 1 << 12;

/// Parts behind the object, more than anything has: no test fills a disk.
const PARTS: usize = 1 << 14;

/// A store whose first requests fail.
#[derive(Debug)]
struct Failing {
    inner: LocalFileSystem,
    fault: Fault,
    left: AtomicUsize,
    requests: AtomicUsize,
    answers: AtomicBool,
    /// Bytes of endless objects.
    served: Arc<AtomicU64>,
}

impl Failing {
    fn new(world: &World, fault: Fault, times: usize) -> Arc<Self> {
        let inner = LocalFileSystem::new_with_prefix(world.folder.path()).unwrap();
        let (left, requests, answers) = (times.into(), 0.into(), false.into());
        Arc::new(Self { inner, fault, left, requests, answers, served: Arc::default() })
    }

    /// Waits for a number of requests.
    fn asked(&self, requests: usize) {
        let begin = Instant::now();
        while self.requests() < requests {
            assert!(begin.elapsed() < PATIENCE, "{} requests", self.requests());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Answers the requests that wait.
    fn answer(&self) {
        self.answers.store(true, Ordering::Relaxed);
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    /// The fault of this request, if it fails.
    fn next(&self) -> Option<Fault> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let less = |left: usize| left.checked_sub(1);
        let failed = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        failed.is_ok().then_some(self.fault)
    }

    fn checked(&self) -> Result<()> {
        self.next().map_or(Ok(()), |fault| Err(error(fault)))
    }
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Denied => Error::PermissionDenied { path: "here".into(), source: "no".into() },
        _ => Error::Generic { store: "failing", source: "the network is down".into() },
    }
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failing")
    }
}

#[async_trait::async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, at: &Path, bytes: PutPayload, how: PutOptions) -> Result<PutResult> {
        self.checked()?;
        self.inner.put_opts(at, bytes, how).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        how: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.checked()?;
        self.inner.put_multipart_opts(at, how).await
    }

    async fn get_opts(&self, at: &Path, how: GetOptions) -> Result<GetResult> {
        match self.next() {
            None => self.inner.get_opts(at, how).await,
            Some(fault @ (Fault::Cut | Fault::Endless)) => {
                let GetResult { meta, range, attributes, payload } =
                    self.inner.get_opts(at, how).await?;
                let whole = GetResult {
                    payload,
                    meta: meta.clone(),
                    range: range.clone(),
                    attributes: attributes.clone(),
                };
                let bytes = whole.bytes().await?;
                let parts = if fault == Fault::Cut {
                    let parts = [Ok(bytes.slice(..bytes.len() / 2)), Err(error(Fault::Network))];
                    stream::iter(parts).boxed()
                } else {
                    let (len, part) = (bytes.len(), PART as usize);
                    let cut = move |i: usize| Ok(bytes.slice(i..(i + part).min(len)));
                    let starts = (0..len).step_by(part).chain(std::iter::repeat_n(0, PARTS));
                    let served = self.served.clone();
                    let parts = stream::iter(starts.map(cut)).inspect(move |part| {
                        let arrived = part.as_ref().map_or(0, |bytes| bytes.len() as u64);
                        served.fetch_add(arrived, Ordering::Relaxed);
                    });
                    parts.boxed()
                };
                let payload = GetResultPayload::Stream(parts);
                Ok(GetResult { payload, meta, range, attributes })
            }
            Some(Fault::Silent) => {
                while !self.answers.load(Ordering::Relaxed) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                self.inner.get_opts(at, how).await
            }
            Some(fault) => Err(error(fault)),
        }
    }

    fn delete_stream(
        &self,
        places: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(places)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, how: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, how).await
    }
}

/// The sum of the query on a node whose copies of objects are new.
async fn sum(world: &World, store: &Arc<Failing>, cache: &str) -> Vec<f64> {
    let node = node_on(store.clone(), world.folder.path(), cache, 1 << 30);
    let session = world.session_on(&node, Some(world.keys), 1).await;
    numbers(&world.query(&session, QUERY, Values::First).await, "s")
}

#[tokio::test]
async fn faults_that_may_pass_are_repeated() {
    let world = World::new();
    let expected = [world.x.iter().sum::<f64>()];
    for (fault, cache) in [(Fault::Network, "one"), (Fault::Cut, "two")] {
        // Parameters and keys: as many faults as the first of them survives.
        let store = Failing::new(&world, fault, 4);
        close(&sum(&world, &store, cache).await, &expected, 1e-2);
        assert_eq!(store.requests(), 6, "{fault:?}");
    }
}

#[tokio::test]
async fn a_store_that_is_down_fails_the_query() {
    let world = World::new();
    for (fault, requests) in [(Fault::Network, 5), (Fault::Cut, 5), (Fault::Denied, 1)] {
        let store = Failing::new(&world, fault, usize::MAX);
        let cache = format!("{fault:?}");
        let node = node_on(store.clone(), world.folder.path(), &cache, 1 << 30);
        let session = world.session_on(&node, Some(world.keys), 1).await;
        let refusal = world.refusal(&session, QUERY).await;
        assert!(refusal.contains("Object Store error"), "{refusal}");
        assert_eq!(store.requests(), requests, "{refusal}");
        // Nothing is left that a later query takes for the object.
        let copies = fs::read_dir(world.folder.path().join(cache)).unwrap();
        let copies = copies.map(|file| file.unwrap().path());
        let copies: Vec<_> =
            copies.filter(|path| path.extension() != Some("lock".as_ref())).collect();
        assert!(copies.is_empty(), "{copies:?}");
    }
}

#[tokio::test]
async fn what_is_missing_or_damaged_is_not_asked_for_again() {
    let world = World::new();
    let place = world.folder.path().join("keys").join(world.params.to_string());
    let mut bytes = fs::read(&place).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&place, bytes).unwrap();
    for expected in ["the SHA-256 of its bytes", "Object Store error"] {
        let store = Failing::new(&world, Fault::Network, 0);
        let node = node_on(store.clone(), world.folder.path(), "fresh", 1 << 30);
        let session = world.session_on(&node, Some(world.keys), 1).await;
        let refusal = world.refusal(&session, QUERY).await;
        assert!(refusal.contains(expected), "{refusal}");
        assert_eq!(store.requests(), 1, "{refusal}");
        fs::remove_file(&place).ok();
    }
}

#[test]
fn objects_and_states_are_stored_in_spite_of_faults() {
    let world = World::new();
    let node = |faults, cache: &str| -> Arc<Node> {
        let store = Failing::new(&world, Fault::Network, faults);
        node_on(store, world.folder.path(), cache, 1 << 30)
    };
    let keys = world.client.evaluation_keys(&needs()).unwrap();
    let name = node(3, "copies").keys().put_keys(&keys).unwrap();
    let stored = fs::read(world.folder.path().join("keys").join(name.to_string())).unwrap();
    assert_eq!(Hash::of(&stored), name);
    let state = State { iteration: 3, vectors: vec![name] };
    Iteration::new(&node(2, "states"), "program").keep(&state).unwrap();
    assert_eq!(Iteration::new(&node(4, "more"), "program").resume(&[name]).unwrap(), state);
}

/// The result of work on a thread of its own.
fn started<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver
}

/// The result of work that must not wait for other work.
fn unhindered<T>(work: &Receiver<T>) -> T {
    work.recv_timeout(PATIENCE).expect("it waits for other work")
}

#[test]
fn an_object_that_does_not_come_hinders_no_other() {
    let world = World::new();
    let keys = world.client.evaluation_keys(&needs()).unwrap();
    let other_keys = world.node.keys().put_keys(&keys).unwrap();
    let other_params = Params::preset(Preset::Insecure(Toy::Bootstrapping)).unwrap();
    let other_params = world.node.keys().put_params(&other_params).unwrap();

    let store = Failing::new(&world, Fault::Silent, 1);
    let node = node_on(store.clone(), world.folder.path(), "one", 1 << 30);
    let params = |name: Hash| {
        let node = node.clone();
        started(move || node.keys().params(name).map(|_| ()))
    };
    let late = params(world.params);
    store.asked(1);
    unhindered(&params(other_params)).unwrap();
    assert!(late.try_recv().is_err());
    store.answer();
    unhindered(&late).unwrap();

    let store = Failing::new(&world, Fault::Silent, 0);
    let node = node_on(store.clone(), world.folder.path(), "two", 1 << 30);
    node.keys().params(world.params).unwrap();
    store.left.store(1, Ordering::Relaxed);
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let query = |keys: Hash| {
        let session = runtime().block_on(world.session_on(&node, Some(keys), 1));
        started(move || runtime().block_on(async { session.sql(QUERY).await?.collect().await }))
    };
    let check = |batches: datafusion::common::Result<Vec<RecordBatch>>| {
        let found = decrypt(&world.client, &batches.unwrap(), Values::First).unwrap();
        close(&numbers(&found, "s"), &[world.x.iter().sum::<f64>()], 1e-2);
    };
    let late = query(world.keys);
    store.asked(2);
    check(unhindered(&query(other_keys)));
    // Keys in memory, too.
    check(unhindered(&query(other_keys)));
    assert!(late.try_recv().is_err());
    store.answer();
    check(unhindered(&late));
    assert_eq!(store.requests(), 3);
}

/// The refusal of a node that reads from an endless store, and the bytes that it took.
fn endless(
    world: &World,
    object: &str,
    budget: u64,
    read: impl AsyncFn(&Arc<Node>) -> String,
) -> (String, u64) {
    let (store, cache) = (Failing::new(world, Fault::Endless, 0), format!("copies of {object}"));
    let node = node_on(store.clone(), world.folder.path(), &cache, budget);
    if object != "params" {
        node.keys().params(world.params).unwrap();
    }
    store.left.store(usize::MAX, Ordering::Relaxed);
    let refusal = tokio::runtime::Runtime::new().unwrap().block_on(read(&node));
    let copies = fs::read_dir(world.folder.path().join(cache)).unwrap();
    let copies = copies.map(|file| file.unwrap().path());
    let partial = |path: &std::path::PathBuf| path.extension() == Some("partial".as_ref());
    assert_eq!(copies.filter(partial).count(), 0, "{refusal}");
    (refusal, store.served.load(Ordering::Relaxed))
}

#[test]
fn objects_are_copied_no_further_than_headers_allow() {
    let world = World::new();
    let size = |name: Hash| {
        let path = world.folder.path().join("keys").join(name.to_string());
        fs::metadata(path).unwrap().len()
    };
    let query = async |node: &Arc<Node>, sql: &str| {
        let session = world.session_on(node, Some(world.keys), 1).await;
        world.refusal(&session, sql).await
    };
    // Parameters, and a vector: what their headers say.
    let params = async |node: &Arc<Node>| {
        node.keys().params(world.params).map(|_| ()).unwrap_err().to_string()
    };
    let (refusal, served) = endless(&world, "params", 1 << 30, params);
    assert!(refusal.contains("bytes or more"), "{refusal}");
    assert!(served <= size(world.params) + 2 * PART, "{served}");
    let fresh = world.client.encrypt_seeded(&[0.5; 1024], -2.0..=2.0).unwrap();
    let vector = world.node.keys().put_vector(world.client.params(), &fresh).unwrap();
    let scaled = |name: Hash| format!("SELECT he_scale(he_object('{name}'), 2)");
    let read = async |node: &Arc<Node>| query(node, &scaled(vector)).await;
    let (refusal, served) = endless(&world, "vector", 1 << 30, read);
    assert!(refusal.contains("bytes or more"), "{refusal}");
    assert!(served <= size(vector) + 2 * PART, "{served}");
    // A header that says more than a vector of these parameters has.
    let path = world.folder.path().join("keys");
    let mut long = fs::read(path.join(vector.to_string())).unwrap();
    long[48..56].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let name = Hash::of(&long);
    fs::write(path.join(name.to_string()), &long).unwrap();
    let read = async |node: &Arc<Node>| query(node, &scaled(name)).await;
    let (refusal, served) = endless(&world, "long", 1 << 30, read);
    assert!(refusal.contains("bytes or more"), "{refusal}");
    assert_eq!(served, PART);
    // Keys: the budget, and at once if the store says that they exceed it.
    let keys = size(world.keys);
    let read = async |node: &Arc<Node>| query(node, QUERY).await;
    let (refusal, served) = endless(&world, "keys", 2 * keys, read);
    assert!(refusal.contains("the budget is"), "{refusal}");
    assert!((keys..2 * keys + 2 * PART).contains(&served), "{served}");
    let (refusal, served) = endless(&world, "budget", keys - 1, read);
    assert!(refusal.contains(&format!("keys of {keys} bytes")), "{refusal}");
    assert_eq!(served, PART);
    // The note on the state of a program.
    let state = State { iteration: 1, vectors: vec![vector] };
    Iteration::new(&world.node, "program").keep(&state).unwrap();
    let read = async |node: &Arc<Node>| {
        Iteration::new(node, "program").resume(&[vector]).unwrap_err().to_string()
    };
    let (refusal, served) = endless(&world, "note", 1 << 30, read);
    assert!(refusal.contains("no valid state"), "{refusal}");
    assert!(served <= (64 << 10) + PART, "{served}");
}
