//! The server's files: keys, accepted jobs, outcomes.
//!
//! ```text
//! ROOT/incoming/N                       an upload in progress; emptied at the start
//! ROOT/clients/CLIENT/keys/HASH         parameters and keys
//! ROOT/clients/CLIENT/jobs/ID.request   an accepted job: its ticket and its ciphertext
//! ROOT/clients/CLIENT/jobs/ID.outcome   the result, or the refusal; the request is removed after it
//! ROOT/clients/CLIENT/jobs/ID.tries     one byte for every attempt of a worker
//! ```
//! A file begins with one line of JSON. It is written under `incoming`, flushed to the disk
//! (fsync), renamed, and its folder is flushed. So a file under its name is complete, and
//! acknowledged data survives any crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::protocol::{ClientId, Hash, Hex, JobId, Refusal};
use super::tell::tell;

/// An accepted job, as in the head of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    pub id: JobId,
    pub program: String,
    pub keys: Hash,
    /// Position in the order of acceptance.
    pub number: u64,
    /// The hash of the ciphertext's bytes.
    pub digest: Hash,
    pub bytes: u64,
}

/// The outcome of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    pub ticket: Ticket,
    /// The reason if there is no result.
    pub refusal: Option<Refusal>,
    /// Bytes of the result.
    pub bytes: u64,
}

/// Checked keys, as in the head of their file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyRecord {
    pub keys: Hash,
    /// The name of the parameters, for people.
    pub params: String,
    /// The public identity of the client's secret key.
    pub secret: Hex<32>,
    /// Bytes of the parameters, at the beginning of the upload.
    pub params_bytes: u64,
    /// Bytes of parameters and keys.
    pub bytes: u64,
}

/// The contents of the disk at the start.
pub struct Found {
    pub keys: Vec<(ClientId, KeyRecord)>,
    pub waiting: Vec<(ClientId, Ticket)>,
    pub ended: Vec<(ClientId, Outcome)>,
}

/// Bytes of the line of JSON at the front of a file, padded with spaces.
const HEAD: usize = 2048;

/// The folder of the server.
pub struct Store {
    root: PathBuf,
    next: AtomicU64,
    /// Locked as long as the server runs: two servers on one folder would run every job twice.
    _lock: File,
}

/// An upload in progress. Its file is removed on drop.
pub struct Spool {
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    written: u64,
    moved: bool,
}

impl Spool {
    /// Appends bytes of the content.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The hash of the content so far.
    pub fn hash(&self) -> Hash {
        Hex::of(self.hasher.finalize().as_bytes())
    }

    /// The content from its beginning.
    pub fn content(&self) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(HEAD as u64))?;
        Ok(file)
    }

    /// Writes the head and flushes the file under its name.
    fn finish(mut self, head: &impl Serialize, to: &Path) -> io::Result<()> {
        let mut line = serde_json::to_vec(head)?;
        if line.len() >= HEAD {
            return Err(io::Error::other("the head of a file is too long"));
        }
        line.resize(HEAD - 1, b' ');
        line.push(b'\n');
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&line)?;
        self.file.sync_all()?;
        fs::rename(&self.path, to)?;
        self.moved = true;
        // A file that may not be on the disk does not count.
        sync_folder(to).inspect_err(|_| drop(fs::remove_file(to)))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !self.moved {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Store {
    /// Opens or creates the folder, and finds the files of an earlier server.
    pub fn open(root: &Path) -> io::Result<(Self, Found)> {
        let (clients, incoming) = (root.join("clients"), root.join("incoming"));
        for folder in [&clients, &incoming] {
            fs::create_dir_all(folder)?;
        }
        sync_folder(&clients)?;
        sync_folder(root)?;
        let lock = File::create(root.join("lock"))?;
        lock.try_lock().map_err(|_| io::Error::other("another server uses this folder"))?;
        for left in inside(&incoming)? {
            or_left_out(remove(&left).map_err(|e| about(&left, e)))?;
        }
        let store = Self { root: root.to_path_buf(), next: AtomicU64::new(0), _lock: lock };
        let found = store.find()?;
        Ok((store, found))
    }

    fn find(&self) -> io::Result<Found> {
        let mut found = Found { keys: vec![], waiting: vec![], ended: vec![] };
        for folder in inside(&self.root.join("clients"))? {
            let Some(client) = named(&folder) else { continue };
            let files = |what: &str| -> io::Result<Vec<PathBuf>> {
                Ok(or_left_out(inside(&folder.join(what)))?.unwrap_or_default())
            };
            for path in files("keys")? {
                let Some(keys) = named::<64>(&path) else { continue };
                let record = whole::<KeyRecord>(&path)?.filter(|record| record.keys == keys);
                found.keys.extend(record.map(|record| (client, record)));
            }
            for path in files("jobs")? {
                let Some(id) = path.file_stem().and_then(|stem| named(Path::new(stem))) else {
                    continue;
                };
                match path.extension().and_then(|e| e.to_str()) {
                    Some("outcome") => {
                        let outcome = whole::<Outcome>(&path)?.filter(|o| o.ticket.id == id);
                        if outcome.is_some() {
                            or_left_out(self.forget_request(client, id))?;
                        }
                        found.ended.extend(outcome.map(|outcome| (client, outcome)));
                    }
                    Some("request") => {
                        let outcome = path.with_extension("outcome");
                        if outcome.exists() && whole::<Outcome>(&outcome)?.is_some() {
                            continue;
                        }
                        let ticket = whole::<Ticket>(&path)?.filter(|ticket| ticket.id == id);
                        found.waiting.extend(ticket.map(|ticket| (client, ticket)));
                    }
                    Some("tries") if !path.with_extension("request").exists() => {
                        or_left_out(remove(&path).map_err(|e| about(&path, e)))?;
                    }
                    _ => {}
                }
            }
        }
        found.waiting.sort_by_key(|(_, ticket)| ticket.number);
        Ok(found)
    }

    fn client(&self, client: ClientId) -> PathBuf {
        self.root.join("clients").join(client.as_str())
    }

    fn key_path(&self, client: ClientId, keys: Hash) -> PathBuf {
        self.client(client).join("keys").join(keys.as_str())
    }

    fn job_path(&self, client: ClientId, job: JobId, what: &str) -> PathBuf {
        self.client(client).join("jobs").join(format!("{job}.{what}"))
    }

    /// The folders of a client, on disk.
    fn make_client(&self, client: ClientId) -> io::Result<()> {
        let folder = self.client(client);
        fs::create_dir_all(folder.join("keys"))?;
        fs::create_dir_all(folder.join("jobs"))?;
        // Flushed also if they existed: another thread may have created them a moment ago.
        sync_folder(&folder.join("jobs"))?;
        sync_folder(&folder)
    }

    /// Creates a file for an upload.
    pub fn spool(&self) -> io::Result<Spool> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join("incoming").join(number.to_string());
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.seek(SeekFrom::Start(HEAD as u64))?;
        let hasher = blake3::Hasher::new();
        Ok(Spool { path, file, hasher, written: 0, moved: false })
    }

    /// Stores checked keys.
    pub fn keep_keys(&self, client: ClientId, spool: Spool, record: &KeyRecord) -> io::Result<()> {
        self.make_client(client)?;
        spool.finish(record, &self.key_path(client, record.keys))
    }

    /// Stores a job. Once this returns, no crash loses it.
    pub fn keep_job(&self, client: ClientId, spool: Spool, ticket: &Ticket) -> io::Result<()> {
        self.make_client(client)?;
        // Files of an earlier job of this name would count for this one.
        for what in ["outcome", "tries"] {
            remove(&self.job_path(client, ticket.id, what))?;
        }
        spool.finish(ticket, &self.job_path(client, ticket.id, "request"))
    }

    /// Stores the outcome of a job, then removes its request.
    pub fn keep_outcome(
        &self,
        client: ClientId,
        outcome: &Outcome,
        result: &[u8],
    ) -> io::Result<()> {
        let mut spool = self.spool()?;
        spool.write(result)?;
        spool.finish(outcome, &self.job_path(client, outcome.ticket.id, "outcome"))?;
        self.forget_request(client, outcome.ticket.id)
    }

    /// Parameters and keys.
    pub fn keys(&self, client: ClientId, keys: Hash) -> io::Result<BufReader<File>> {
        Ok(open::<KeyRecord>(&self.key_path(client, keys))?.1)
    }

    /// The ciphertext of a job.
    pub fn request(&self, client: ClientId, job: JobId) -> io::Result<Vec<u8>> {
        let (ticket, file) = open::<Ticket>(&self.job_path(client, job, "request"))?;
        let mut bytes = vec![];
        file.take(ticket.bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The result of a job.
    pub fn result(&self, client: ClientId, job: JobId) -> io::Result<BufReader<File>> {
        Ok(open::<Outcome>(&self.job_path(client, job, "outcome"))?.1)
    }

    /// The number of attempts at a job.
    pub fn tries(&self, client: ClientId, job: JobId) -> io::Result<u64> {
        match fs::metadata(self.job_path(client, job, "tries")) {
            Ok(noted) if noted.is_file() => Ok(noted.len()),
            Ok(_) => Err(io::Error::other("not a file")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(e) => Err(e),
        }
    }

    /// Records an attempt at a job.
    pub fn note_try(&self, client: ClientId, job: JobId) -> io::Result<()> {
        let path = self.job_path(client, job, "tries");
        OpenOptions::new().append(true).create(true).open(path)?.write_all(b"+")
    }

    /// Removes keys.
    pub fn forget_keys(&self, client: ClientId, keys: Hash) -> io::Result<()> {
        let path = self.key_path(client, keys);
        remove(&path)?;
        sync_folder(&path)
    }

    /// Removes all files of a job.
    pub fn forget_job(&self, client: ClientId, job: JobId) -> io::Result<()> {
        self.forget_request(client, job)?;
        let path = self.job_path(client, job, "outcome");
        remove(&path)?;
        sync_folder(&path)
    }

    fn forget_request(&self, client: ClientId, job: JobId) -> io::Result<()> {
        remove(&self.job_path(client, job, "request"))?;
        remove(&self.job_path(client, job, "tries"))
    }
}

/// The name at the end of a path, if it is one.
fn named<const N: usize>(path: &Path) -> Option<Hex<N>> {
    path.file_name()?.to_str()?.parse().ok()
}

/// The head of a file, and the file behind it.
fn open<T: DeserializeOwned>(path: &Path) -> io::Result<(T, BufReader<File>)> {
    let about = |e| about(path, e);
    let mut file = BufReader::new(File::open(path).map_err(about)?);
    let mut line = vec![];
    (&mut file).take(HEAD as u64).read_until(b'\n', &mut line).map_err(about)?;
    let head = serde_json::from_slice(&line).map_err(|e| about(e.into()))?;
    Ok((head, file))
}

/// An error with the path that it concerns.
fn about(path: &Path, error: io::Error) -> io::Error {
    match short_of(&error) {
        // Unchanged: its text would hide the kind.
        true => error,
        false => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
    }
}

/// The head of a file, unless the file is unreadable, damaged or foreign: then it stays, and the
/// others count.
fn whole<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    or_left_out(open(path).map(|(head, _)| head))
}

/// The contents, or nothing for the fault of a single file. A lack of memory or of open files would
/// affect all of them, so it is an error of the start.
fn or_left_out<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if short_of(&e) => Err(e),
        Err(e) => {
            tell(format_args!("left out: {e}"));
            Ok(None)
        }
    }
}

/// Whether memory or open files are exhausted.
fn short_of(error: &io::Error) -> bool {
    // ENFILE and EMFILE have no `ErrorKind`.
    let files = cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
    files || error.kind() == io::ErrorKind::OutOfMemory
}

/// Whether an error of the disk may be temporary. A missing or damaged file is not.
pub fn passes(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    !matches!(error.kind(), NotFound | InvalidData | UnexpectedEof)
}

/// The entries of a folder; none for a folder that a crash has prevented.
fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.and_then(|e| e.map(|entry| Ok(entry?.path())).collect()),
    };
    paths.map_err(|e| about(folder, e))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Flushes the folder of `path`, so that a new name in it survives a crash.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().map(|folder| match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    });
    match folder {
        // Only Unix opens folders.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
