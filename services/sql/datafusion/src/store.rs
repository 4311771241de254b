//! Public objects by the hash of their bytes, and the keys that a node has in memory.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{BufWriter, Cursor, ErrorKind, Read, Seek, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bellerophon::{
    Ciphertext, EvaluationKeys, Evaluator, Params,
    ckks::wire::kind as vector,
    format::{self, Header, kind},
    mlwe::Security,
    ring::wire::{Fingerprint, Fingerprinted, Wire},
};
use datafusion::{
    common::DataFusionError,
    execution::memory_pool::{MemoryConsumer, MemoryPool},
    object_store::{self, ObjectStore, ObjectStoreExt, WriteMultipart, path::Path as StorePath},
};
use futures::StreamExt;
use sha2::{Digest, Sha256};

use crate::{
    Error, Hash, ObjectFault, Result,
    loaded::Loaded,
    map,
    object::{
        self, MOST_NOTE, MOST_PARAMS, MOST_TABLE, MOST_VECTOR, Wanted, header, is_table, start,
    },
    retry::attempts,
    vector::{self as encrypted, ADMITTED, Stated},
};

/// The folders of a store: objects of anybody, and intermediate results, which servers alone write.
const OBJECTS: &str = "keys";
const STATES: &str = "vectors";

/// Uploads of one object that wait for the store at a time.
const PARTS: usize = 4;

/// Public objects in an object store (a folder, or any other of [`object_store`]), each under
/// `keys/` and the SHA-256 of its bytes.
///
/// Objects are parameters, public keys, encrypted vectors, queries of look-ups and tables in the
/// clear. A node copies an object once into a folder of its own and hashes it while it arrives, no
/// more of it than its type, its header and its parameters allow; processes of one machine that
/// share the folder wait for each other. Requests that fail with a fault that may pass are tried
/// five times in all, with 1.5 seconds of pauses; no attempt begins after a minute. Evaluation keys
/// stay in memory within a budget: the least recently used ones go first, and keys in use stay.
/// Keys of rotations are read from the copy on demand.
///
/// [`object_store`]: datafusion::object_store
#[derive(Debug)]
pub struct KeyStore {
    store: Arc<dyn ObjectStore>,
    folder: PathBuf,
    security: Security,
    budget: u64,
    rotations: usize,
    loaded: Mutex<Loaded>,
    params: Mutex<HashMap<Hash, Params>>,
    downloads: AtomicU64,
}

/// How a node keeps keys.
#[derive(Debug, Clone)]
pub struct KeyStoreOptions {
    /// The folder for copies of objects. Processes of one machine may share it.
    pub folder: PathBuf,
    /// The security that parameters must have.
    pub security: Security,
    /// Bytes of evaluation keys in memory, counted as their objects have. Larger ones stay where
    /// they are.
    pub budget: u64,
    /// Bytes of memory for the rotation keys of each set of keys.
    pub rotations: usize,
}

impl KeyStoreOptions {
    /// 128 bits of security, 4 GiB of keys, 1 GiB of rotation keys.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let (security, budget, rotations) = (Security::Bits128, 4 << 30, 1 << 30);
        Self { folder: folder.into(), security, budget, rotations }
    }
}

impl KeyStore {
    /// A store whose keys in memory count in a memory pool.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be made.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        memory: &Arc<dyn MemoryPool>,
        options: KeyStoreOptions,
    ) -> Result<Self> {
        let KeyStoreOptions { folder, security, budget, rotations } = options;
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let reservation = MemoryConsumer::new("bellerophon keys").register(memory);
        let (keys, turns, params, downloads) = Default::default();
        let loaded = Mutex::new(Loaded { keys, clock: 0, reservation, turns });
        Ok(Self { store, folder, security, budget, rotations, loaded, params, downloads })
    }

    /// Stores the bytes of an envelope, and returns their name.
    ///
    /// # Errors
    /// [`Error::Secret`] for secrets, [`Error::Object`] for types that no function reads,
    /// [`Error::Store`].
    pub fn put(&self, bytes: &[u8]) -> Result<Hash> {
        let hash = Hash::of(bytes);
        object::check_public(hash, bytes)?;
        self.upload(&place(OBJECTS, hash), &mut Cursor::new(bytes))?;
        Ok(hash)
    }

    /// Stores a vector of the state of a program. Intermediate results lie apart from the objects
    /// of clients and providers, under `vectors/`.
    pub(crate) fn put_state(&self, bytes: &[u8]) -> Result<Hash> {
        let hash = Hash::of(bytes);
        if header(hash, bytes)?.kind != vector::CIPHERTEXT {
            return self.put(bytes);
        }
        self.upload(&place(STATES, hash), &mut Cursor::new(bytes))?;
        Ok(hash)
    }

    /// Stores a table in the clear, for `he_map`: its entries as text.
    ///
    /// # Errors
    /// [`Error::Object`] unless there are two or more finite entries, in at most 16 MiB of text;
    /// [`Error::Store`].
    pub fn put_table(&self, entries: &[f64]) -> Result<Hash> {
        let text = entries.iter().map(f64::to_string).collect::<Vec<_>>().join(";");
        let hash = Hash::of(text.as_bytes());
        if map::entries(&text).is_none() || text.len() as u64 > MOST_TABLE {
            return Err(Error::Object { hash, fault: ObjectFault::Table });
        }
        self.upload(&place(OBJECTS, hash), &mut Cursor::new(text.as_bytes()))?;
        Ok(hash)
    }

    /// Stores parameters.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_params(&self, params: &Params) -> Result<Hash> {
        self.put(&params.to_bytes()?)
    }

    /// Stores an encrypted vector, such as weights or a model: a fresh one, one of a provider, or a
    /// published result.
    ///
    /// # Errors
    /// As [`put`](Self::put), also for unpublished results, and if the vector has other parameters.
    pub fn put_vector<T>(&self, params: &Params, vector: &T) -> Result<Hash>
    where
        T: Wire<Params = bellerophon::ckks::Params>,
    {
        self.put(&format::to_bytes(params, vector)?)
    }

    /// Stores evaluation keys, by way of a file: they may be larger than the memory.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Store`], errors of keys that cannot be written.
    pub fn put_keys(&self, keys: &EvaluationKeys) -> Result<Hash> {
        let (path, file) = self.scratch()?;
        let mut writer = Hashed { inner: BufWriter::new(file), hasher: Sha256::new() };
        keys.write_to(&mut writer)?;
        writer.flush().map_err(Error::file(&path))?;
        let hash = Hash::finished(writer.hasher);
        let stored = File::open(&path)
            .map_err(Error::file(&path))
            .and_then(|mut file| self.upload(&place(OBJECTS, hash), &mut file));
        fs::remove_file(&path).map_err(Error::file(&path))?;
        stored.map(|()| hash)
    }

    /// Keeps a text under a name that is no hash: the last one replaces the others. A name has one
    /// writer at a time: a repeated request could replace the text of another one.
    pub(crate) fn put_note(&self, name: &str, text: String) -> Result<()> {
        let path = StorePath::from(format!("states/{name}"));
        let put = async || Ok(self.store.put(&path, text.clone().into()).await.map(|_| ())?);
        wait(put)
    }

    /// The text under a name, if there is one.
    pub(crate) fn note(&self, name: &str) -> Result<Option<String>> {
        let path = StorePath::from(format!("states/{name}"));
        let get = async || {
            let mut stream = match self.store.get(&path).await {
                Ok(found) => found.into_stream(),
                Err(object_store::Error::NotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let mut bytes = Vec::new();
            while let Some(chunk) = stream.next().await.transpose()?.filter(|c| !c.is_empty()) {
                if bytes.len() + chunk.len() > MOST_NOTE {
                    let reason =
                        format!("{name:?} has no valid state: more than {MOST_NOTE} bytes");
                    return Err(Error::plan("Iteration", reason));
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(Some(bytes))
        };
        let bytes = wait(get)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Objects that this process copied from the store.
    pub fn downloads(&self) -> u64 {
        self.downloads.load(Ordering::Relaxed)
    }

    /// Bytes of the keys in memory, counted as their objects have.
    pub fn loaded_bytes(&self) -> u64 {
        lock(&self.loaded).keys.values().map(|entry| entry.bytes).sum()
    }

    /// Parameters by name. Vectors of the store ([`he_object`](crate#functions)) have parameters
    /// that were loaded here, or that belong to a column of an earlier query.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`], and those of parameters without the needed security.
    pub fn params(&self, hash: Hash) -> Result<Params> {
        if let Some(params) = lock(&self.params).get(&hash) {
            return Ok(params.clone());
        }
        // Without the lock: a copy may take long, and others want other parameters.
        let path = self.local(hash, kind::PARAMS, "parameters", MOST_PARAMS)?;
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        let params = Params::from_bytes(&bytes, self.security)?;
        Ok(lock(&self.params).entry(hash).or_insert(params).clone())
    }

    /// The security that parameters must have.
    pub(crate) fn security(&self) -> &Security {
        &self.security
    }

    /// An object of at most so many bytes that belongs to these parameters.
    pub(crate) fn read<T: Wire>(&self, hash: Hash, params: &T::Params, most: u64) -> Result<T> {
        let path = self.local(hash, T::KIND, T::NAME, most)?;
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        Ok(format::from_bytes(params, &bytes)?)
    }

    /// Whether an object that a query names is a table; else it is an encrypted vector.
    pub(crate) fn is_table(&self, hash: Hash) -> Result<bool> {
        let needed = "an encrypted vector or a table";
        let wanted = Wanted { kinds: &ADMITTED, tables: true, states: true, needed, most: None };
        let path = self.copied(hash, wanted)?;
        Ok(is_table(&start(&path)?))
    }

    /// An encrypted vector, and the name of its parameters.
    pub(crate) fn object(&self, hash: Hash) -> Result<(Hash, Ciphertext)> {
        let bytes = self.vector(hash)?;
        let fingerprint = header(hash, &bytes)?.fingerprint;
        let is_its = |params: &Params| params.ckks().fingerprint() == fingerprint;
        let known = lock(&self.params);
        let found = known.iter().find(|(_, params)| is_its(params));
        let found = found.map(|(name, params)| (*name, params.clone()));
        drop(known);
        let Some((name, params)) = found else {
            return Err(Error::Object { hash, fault: ObjectFault::UnknownParams });
        };
        // A fresh vector states its noise.
        if header(hash, &bytes)?.kind != vector::CIPHERTEXT
            && let Stated::Refused(reason) = encrypted::stated(&params, &bytes)?
        {
            return Err(Error::Object { hash, fault: ObjectFault::Stated(reason) });
        }
        Ok((name, encrypted::read(&params, &bytes)?))
    }

    /// The entries of a table by name.
    pub(crate) fn table(&self, hash: Hash) -> Result<Arc<[f64]>> {
        let (kinds, needed, most) = (&[][..], "a table", None);
        let wanted = Wanted { kinds, tables: true, states: false, needed, most };
        let path = self.copied(hash, wanted)?;
        let malformed = || Error::Object { hash, fault: ObjectFault::Table };
        let bytes = fs::read(&path).map_err(Error::file(&path))?;
        // Nothing in a table tells that its copy was damaged since it arrived.
        let found = Hash::of(&bytes);
        if found != hash {
            return Err(Error::Object { hash, fault: ObjectFault::Hash(found) });
        }
        let text = String::from_utf8(bytes).map_err(|_| malformed())?;
        map::entries(&text).ok_or_else(malformed)
    }

    /// The bytes of an encrypted vector by name.
    pub(crate) fn vector(&self, hash: Hash) -> Result<Vec<u8>> {
        let needed = "an encrypted vector";
        let wanted = Wanted { kinds: &ADMITTED, tables: false, states: true, needed, most: None };
        let path = self.copied(hash, wanted)?;
        fs::read(&path).map_err(Error::file(&path))
    }

    /// An evaluator with the keys of this name, loaded at most once at a time.
    pub(crate) fn evaluator(&self, hash: Hash, params: &Params) -> Result<Arc<Evaluator>> {
        // Step 1: those who need the same keys wait for the first of them.
        let turn = {
            let mut loaded = lock(&self.loaded);
            if let Some(evaluator) = loaded.get(hash) {
                return Ok(evaluator);
            }
            loaded.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            loaded.turns.entry(hash).or_default().clone()
        };
        let _turn = lock(&turn);
        if let Some(evaluator) = lock(&self.loaded).get(hash) {
            return Ok(evaluator);
        }
        // Step 2: the copy of the node, and memory for it.
        let path = self.local(hash, kind::KEY_LIST, "evaluation keys", self.budget)?;
        let bytes = fs::metadata(&path).map_err(Error::file(&path))?.len();
        lock(&self.loaded).reserve(bytes, self.budget)?;
        // Step 3: the keys.
        let opened = EvaluationKeys::open(params, &path, self.rotations)
            .and_then(|(keys, _)| Evaluator::new(keys));
        let mut loaded = lock(&self.loaded);
        match opened {
            Ok(evaluator) => Ok(loaded.insert(hash, Arc::new(evaluator), bytes)),
            Err(error) => {
                loaded.reservation.shrink(bytes as usize);
                Err(error.into())
            }
        }
    }

    fn local(&self, hash: Hash, kind: u16, needed: &'static str, most: u64) -> Result<PathBuf> {
        let (kinds, most) = (&[kind][..], Some(most));
        self.copied(hash, Wanted { kinds, tables: false, states: false, needed, most })
    }

    /// The file of an object, or of a state where the caller takes one.
    fn copied(&self, hash: Hash, wanted: Wanted) -> Result<PathBuf> {
        if !wanted.states {
            return self.copy(OBJECTS, hash, wanted);
        }
        let state = || {
            let kinds = &[vector::CIPHERTEXT][..];
            self.copy(STATES, hash, Wanted { kinds, tables: false, ..wanted })
        };
        if self.local_copy(STATES, hash).exists() {
            return state();
        }
        match self.copy(OBJECTS, hash, wanted) {
            Err(Error::Store(missing @ object_store::Error::NotFound { .. })) => match state() {
                Err(Error::Store(object_store::Error::NotFound { .. })) => {
                    Err(Error::Store(missing))
                }
                found => found,
            },
            found => found,
        }
    }

    /// Where the copy of an object is.
    fn local_copy(&self, folder: &str, hash: Hash) -> PathBuf {
        self.folder.join(match folder {
            OBJECTS => hash.to_string(),
            folder => format!("{folder}-{hash}"),
        })
    }

    /// The file of an object, copied from a folder of the store if it is not there yet.
    fn copy(&self, folder: &str, hash: Hash, wanted: Wanted) -> Result<PathBuf> {
        // Step 1: one process of the machine copies, the others wait.
        let path = self.local_copy(folder, hash);
        let turn = path.with_extension("lock");
        let guard = File::create(&turn).map_err(Error::file(&turn))?;
        guard.lock().map_err(Error::file(&turn))?;
        if !path.exists() {
            // Step 2: under another name until the hash is right.
            let partial = path.with_extension("partial");
            let from = place(folder, hash);
            let copied = wait(async || self.download(&from, hash, wanted, &partial).await);
            if let Err(error) = copied {
                // A partial file may not exist.
                fs::remove_file(&partial).ok();
                return Err(error);
            }
            fs::rename(&partial, &path).map_err(Error::file(&path))?;
            self.downloads.fetch_add(1, Ordering::Relaxed);
            return Ok(path);
        }
        // Step 3: the copy may be of another type than this caller needs.
        wanted.check(hash, &start(&path)?)?;
        Ok(path)
    }

    /// Copies an object to a file. Its first bytes say what it is, and how many bytes follow: no
    /// more arrive.
    async fn download(
        &self,
        from: &StorePath,
        hash: Hash,
        wanted: Wanted<'_>,
        path: &Path,
    ) -> Result<()> {
        let found = self.store.get(from).await?;
        let (size, mut stream) = (found.meta.size, found.into_stream());
        let mut file = BufWriter::new(File::create(path).map_err(Error::file(path))?);
        let (mut hasher, mut start, mut most) = (Sha256::new(), Vec::new(), None);
        let mut copied = 0;
        while let Some(chunk) = stream.next().await.transpose()? {
            // A local file that shrinks while it is read gives empty chunks without an end.
            if chunk.is_empty() {
                break;
            }
            copied += chunk.len() as u64;
            let missing = Header::LEN - start.len();
            start.extend_from_slice(&chunk[..missing.min(chunk.len())]);
            if most.is_none() && start.len() == Header::LEN {
                let found = wanted.most(hash, &start, |params| self.most_vector(params))?;
                // What the store says of the object, before most of it arrives.
                object::check_size(hash, &start, size, found)?;
                most = Some(found);
            }
            if let Some(most) = most {
                object::check_size(hash, &start, copied, most)?;
            }
            hasher.update(&chunk);
            file.write_all(&chunk).map_err(Error::file(path))?;
        }
        if most.is_none() {
            wanted.check(hash, &start)?;
        }
        file.flush().map_err(Error::file(path))?;
        match Hash::finished(hasher) {
            found if found == hash => Ok(()),
            found => Err(Error::Object { hash, fault: ObjectFault::Hash(found) }),
        }
    }

    /// Bytes of an encrypted vector, at most: of these parameters if they are known here.
    fn most_vector(&self, params: Fingerprint) -> u64 {
        let known = lock(&self.params);
        let its = known.values().find(|known| known.ckks().fingerprint() == params);
        let largest = || known.values().map(object::most_vector).fold(MOST_VECTOR, u64::max);
        its.map_or_else(largest, object::most_vector)
    }

    /// A new file in the folder.
    fn scratch(&self) -> Result<(PathBuf, File)> {
        let process = std::process::id();
        for number in 0.. {
            let path = self.folder.join(format!("upload-{process}-{number}"));
            match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                file => return file.map_err(Error::file(&path)).map(|file| (path, file)),
            }
        }
        unreachable!("some number is free")
    }

    fn upload(&self, to: &StorePath, reader: &mut (impl Read + Seek + Send)) -> Result<()> {
        wait(async || {
            reader.rewind().map_err(Error::file(&self.folder))?;
            let mut upload = WriteMultipart::new(self.store.put_multipart(to).await?);
            match self.send(reader, &mut upload).await {
                Ok(()) => Ok(upload.finish().await.map(|_| ())?),
                Err(error) => {
                    // The first error says more.
                    upload.abort().await.ok();
                    Err(error)
                }
            }
        })
    }

    /// Sends all bytes, some parts at a time.
    async fn send(&self, reader: &mut impl Read, upload: &mut WriteMultipart) -> Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = reader.read(&mut buffer).map_err(Error::file(&self.folder))?;
            if read == 0 {
                return Ok(());
            }
            upload.wait_for_capacity(PARTS).await?;
            upload.write(&buffer[..read]);
        }
    }
}

/// A writer that hashes what it writes.
struct Hashed<W> {
    inner: W,
    hasher: Sha256,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

fn place(folder: &str, hash: Hash) -> StorePath {
    StorePath::from(format!("{folder}/{hash}"))
}

/// Waits for an operation of a store, from any thread: functions of a query are not asynchronous.
/// Faults that may pass are repeated.
fn wait<T: Send>(operation: impl AsyncFnMut() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(DataFusionError::from)?.block_on(attempts(operation))
        });
        waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The content of a lock. A panic of another thread leaves maps that are complete.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
