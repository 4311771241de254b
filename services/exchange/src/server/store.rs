//! What survives a crash: records in a database, bytes in files.
//!
//! ```text
//! ROOT/lock                        locked by the server that uses the folder
//! ROOT/exchange.redb               owners, keys, jobs and deletions, in JSON
//! ROOT/begun                       says that there was a database: none is created again
//! ROOT/incoming/N                  an upload in progress; removed at the start
//! ROOT/attempts/OWNER.ID.TRIES     an attempt in progress; the start counts what a crash has left
//! ROOT/blobs/OWNER/HASH.keys       parameters and keys
//! ROOT/blobs/OWNER/ID.request      the ciphertext of a job
//! ROOT/blobs/OWNER/ID.answer       its answer; the request is removed after it
//! ROOT/aside/OWNER/NAME            files without a record
//! ```
//! A file is flushed to the disk, renamed, its folder flushed, and then named by a record. So every
//! record has its bytes, and a file without a record is left over from a crash or newer than the
//! database.

mod recovery;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use redb::{Database, TableDefinition};
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::files;
use crate::protocol::{ClientId, Hash, Hex, JobId, Refusal, State};
pub use recovery::Found;

const RECORDS: TableDefinition<&str, &[u8]> = TableDefinition::new("records");

/// A client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerRecord {
    /// The operator's name for it.
    pub name: String,
    /// Whether the operator has invited it.
    pub invited: bool,
    /// Whether its token is refused.
    pub revoked: bool,
    /// Bytes that it may store; `None` is the server's default.
    pub quota: Option<u64>,
    /// The network from which it was admitted without an invitation.
    #[serde(default)]
    pub network: Option<IpAddr>,
}

impl OwnerRecord {
    /// Whether it has a place among those without an invitation. A revoked client has none, but
    /// stays known, so that its token remains refused.
    pub fn is_guest(&self) -> bool {
        !self.invited && !self.revoked
    }
}

/// Checked keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Their name.
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

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Its name.
    pub id: JobId,
    /// The program.
    pub program: String,
    /// The keys.
    pub keys: Hash,
    /// Position in the order of acceptance.
    pub number: u64,
    /// The hash of the ciphertext's bytes.
    pub digest: Hash,
    /// The number of these bytes.
    pub bytes: u64,
    /// The predicted work.
    pub work: u64,
    /// Attempts that a crash has ended.
    pub tries: u32,
    /// [`State::Accepted`] also while it runs.
    pub state: State,
    /// The reason if there is no answer.
    pub refusal: Option<Refusal>,
    /// Bytes and hash of the answer.
    pub answer: Option<(u64, Hash)>,
}

/// The key and the new value of a record; `None` removes it.
pub type Change = (String, Option<Vec<u8>>);

/// The folder of the server.
pub struct Store {
    root: PathBuf,
    next: AtomicU64,
    /// Keeps the folder from other servers, also while the database is closed after a fault.
    _lock: File,
    /// `None` after a fault of the disk: the next use opens it again.
    database: Mutex<Option<Database>>,
}

/// An attempt at a job. Its mark is removed on drop, which takes no room on the disk.
pub struct Attempt(PathBuf);

impl Drop for Attempt {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// An upload in progress. Its file is removed on drop.
pub struct Spool {
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
    /// Bytes so far.
    pub written: u64,
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Spool {
    /// The hash of the bytes so far.
    pub fn hash(&self) -> Hash {
        Hex::of(self.hasher.finalize().as_bytes())
    }

    /// The content from its beginning.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn content(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Flushes the file under its name, and reads it back.
    fn finish(self, to: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(folder) = to.parent() {
            files::create_folder(folder)?;
            files::sync_folder(folder)?;
        }
        fs::rename(&self.path, to)?;
        let whole =
            files::sync_folder(to).and_then(|()| check(to, self.written, Some(self.hash())));
        whole.inspect_err(|_| drop(fs::remove_file(to)))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Refuses a file of another length, or with another hash.
fn check(path: &Path, bytes: u64, hash: Option<Hash>) -> io::Result<()> {
    let file = files::open_regular(path)?;
    let (found, damaged) = (file.metadata()?.len(), io::ErrorKind::InvalidData);
    if found != bytes {
        return Err(io::Error::new(damaged, format!("{found} bytes, need {bytes}")));
    }
    let Some(hash) = hash else { return Ok(()) };
    let mut hasher = blake3::Hasher::new();
    match Hash::of(hasher.update_reader(file)?.finalize().as_bytes()) == hash {
        true => Ok(()),
        false => Err(io::Error::new(damaged, "its hash differs from the recorded one")),
    }
}

/// The change of a client's record.
pub fn owner_change(owner: ClientId, record: Option<&OwnerRecord>) -> Change {
    change(format!("owner/{owner}"), record)
}

/// The change of the record of keys.
pub fn key_change(owner: ClientId, keys: Hash, record: Option<&KeyRecord>) -> Change {
    change(format!("keys/{owner}/{keys}"), record)
}

/// The change of the record of a job.
pub fn job_change(owner: ClientId, job: JobId, record: Option<&JobRecord>) -> Change {
    change(format!("jobs/{owner}/{job}"), record)
}

/// The change of the record that a job is deleted, or that the deletion is done. The number tells
/// the job from a later one of the same name.
fn deletion_change(owner: ClientId, job: (JobId, u64), noted: bool) -> Change {
    change(format!("deleted/{owner}/{}/{}", job.0, job.1), noted.then_some(&job))
}

fn change(key: String, record: Option<&impl Serialize>) -> Change {
    (key, record.map(|record| serde_json::to_vec(record).expect("records are plain data")))
}

impl Store {
    /// Opens or creates the folder, checks the files that the records name, and tidies up after a
    /// crash ([`Found`]).
    ///
    /// # Errors
    /// If the folder is unusable, another server uses it, its database is lost, or a newer server
    /// has written that.
    pub fn open(root: &Path) -> io::Result<(Self, Found)> {
        for folder in ["blobs", "incoming", "attempts"] {
            files::create_folder(&root.join(folder))?;
        }
        let lock = files::open_lock(&root.join("lock"))?;
        lock.try_lock().map_err(|e| match e {
            TryLockError::WouldBlock => in_use(),
            TryLockError::Error(e) => e,
        })?;
        let (root, next, database) = (root.to_path_buf(), AtomicU64::new(0), Mutex::new(None));
        let store = Self { root, next, _lock: lock, database };
        store.create_database()?;
        let mut found = store.load()?;
        store.end_deletions(&mut found)?;
        store.count_attempts(&mut found);
        // The names of the folder, of the database and of the other folders survive a crash.
        for path in [&store.root, &store.root.join("blobs")] {
            files::sync_folder(path)?;
        }
        let begun = store.begun();
        if !begun.try_exists()? {
            files::write_with(&begun, |_| Ok(()))?;
        }
        store.verify(&mut found);
        Ok((store, found))
    }

    /// Runs `work` on the database, which is opened again after a fault: the old one refuses all.
    fn database<T, E: Into<redb::Error>>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, E>,
    ) -> io::Result<T> {
        let mut slot = self.database.lock();
        let path = Self::database_file(&self.root);
        let open = || -> io::Result<Database> {
            // One that has vanished is not created anew.
            files::open_regular(&path)?;
            Database::create(&path).map_err(|e| as_io(e.into()))
        };
        let database = match slot.take() {
            Some(database) => database,
            None => open()?,
        };
        let done = work(&database).map_err(|e| as_io(e.into()))?;
        *slot = Some(database);
        Ok(done)
    }

    /// Changes records, all or none, on the disk when it returns.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn write(&self, changes: &[Change]) -> io::Result<()> {
        self.database(|database| -> Result<(), redb::Error> {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(RECORDS)?;
                for (key, value) in changes {
                    match value {
                        Some(value) => drop(table.insert(key.as_str(), value.as_slice())?),
                        None => drop(table.remove(key.as_str())?),
                    }
                }
            }
            Ok(transaction.commit()?)
        })
    }

    /// The file of keys.
    pub fn keys(&self, owner: ClientId, keys: Hash) -> PathBuf {
        self.blob(owner, &format!("{keys}.keys"))
    }

    /// The file of a part of a job.
    pub fn job(&self, owner: ClientId, job: JobId, what: &str) -> PathBuf {
        self.blob(owner, &format!("{job}.{what}"))
    }

    fn blob(&self, owner: ClientId, name: &str) -> PathBuf {
        self.root.join("blobs").join(owner.as_str()).join(name)
    }

    /// The socket of the operator.
    pub fn socket(root: &Path) -> PathBuf {
        root.join("admin.sock")
    }

    /// The database. Its absence tells that no server has used the folder.
    pub fn database_file(root: &Path) -> PathBuf {
        root.join("exchange.redb")
    }

    fn begun(&self) -> PathBuf {
        self.root.join("begun")
    }

    /// Marks an attempt at a job, the `tries`-th one.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn attempt(&self, owner: ClientId, job: JobId, tries: u32) -> io::Result<Attempt> {
        let path = self.root.join("attempts").join(format!("{owner}.{job}.{tries}"));
        files::remove(&path)?;
        files::create(&path).map(|_| Attempt(path))
    }

    /// Whether the disk takes a file of this length.
    ///
    /// # Errors
    /// If it does not.
    pub fn try_room(&self, bytes: u64) -> io::Result<()> {
        let mut spool = self.spool()?;
        io::copy(&mut io::repeat(0).take(bytes), &mut spool)?;
        spool.file.sync_all()
    }

    /// Creates a file for an upload.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn spool(&self) -> io::Result<Spool> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join("incoming").join(number.to_string());
        let file = files::create(&path)?;
        Ok(Spool { path, file, hasher: blake3::Hasher::new(), written: 0 })
    }

    /// Stores checked keys, and their owner.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_keys(
        &self,
        owner: ClientId,
        of: &OwnerRecord,
        spool: Spool,
        record: &KeyRecord,
    ) -> io::Result<()> {
        let path = self.keys(owner, record.keys);
        spool.finish(&path)?;
        let changes = [owner_change(owner, Some(of)), key_change(owner, record.keys, Some(record))];
        self.name(&path, &changes)
    }

    /// Stores a job. Once this returns, no crash loses it.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_job(&self, owner: ClientId, spool: Spool, record: &JobRecord) -> io::Result<()> {
        let path = self.job(owner, record.id, "request");
        spool.finish(&path)?;
        self.name(&path, &[job_change(owner, record.id, Some(record))])
    }

    /// Writes the records that name a file, or removes the file: no record would name it.
    fn name(&self, path: &Path, changes: &[Change]) -> io::Result<()> {
        self.write(changes).inspect_err(|_| drop(files::remove(path)))
    }

    /// Stores the outcome of a job; its request goes only after the answer is whole on the disk.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_outcome(
        &self,
        owner: ClientId,
        record: &mut JobRecord,
        outcome: Result<Vec<u8>, Refusal>,
    ) -> io::Result<()> {
        match outcome {
            Ok(answer) => {
                let mut spool = self.spool()?;
                spool.write_all(&answer)?;
                record.answer = Some((spool.written, spool.hash()));
                record.state = State::Done;
                let path = self.job(owner, record.id, "answer");
                spool.finish(&path)?;
                self.name(&path, &[job_change(owner, record.id, Some(record))])?;
            }
            Err(refusal) => {
                (record.state, record.refusal) = (State::Refused, Some(refusal));
                self.write(&[job_change(owner, record.id, Some(record))])?;
            }
        }
        let request = self.job(owner, record.id, "request");
        files::remove(&request).unwrap_or_else(|e| warn!(path = ?request, %e, "left where it is"));
        Ok(())
    }

    /// Removes keys.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn forget_keys(&self, owner: ClientId, keys: Hash) -> io::Result<()> {
        self.write(&[key_change(owner, keys, None)])?;
        files::remove(&self.keys(owner, keys))
    }

    /// Records that a job in the hands of a worker is deleted. Once this returns, no crash brings
    /// it back, whatever the worker writes afterwards.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn note_deletion(&self, owner: ClientId, job: JobId, number: u64) -> io::Result<()> {
        self.write(&[deletion_change(owner, (job, number), true)])
    }

    /// Removes a job.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn forget_job(&self, owner: ClientId, job: JobId, number: u64) -> io::Result<()> {
        let deletion = deletion_change(owner, (job, number), false);
        self.write(&[job_change(owner, job, None), deletion])?;
        files::remove(&self.job(owner, job, "request"))?;
        files::remove(&self.job(owner, job, "answer"))
    }

    /// Removes the keys and jobs of a client, and its record unless it stays.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn purge(&self, owner: ClientId, mut changes: Vec<Change>, stays: bool) -> io::Result<()> {
        if !stays {
            changes.push(owner_change(owner, None));
        }
        self.write(&changes)?;
        match fs::remove_dir_all(self.root.join("blobs").join(owner.as_str())) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// The refusal of a job whose data the disk has lost.
pub fn lost() -> Refusal {
    Refusal::new(crate::protocol::Code::Lost, "the server's disk has lost a part of it")
}

fn as_io(error: redb::Error) -> io::Error {
    match error {
        redb::Error::Io(e) => e,
        redb::Error::DatabaseAlreadyOpen => in_use(),
        other => io::Error::other(other),
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, "another server uses this folder")
}
