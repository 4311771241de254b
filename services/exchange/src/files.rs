//! Files that are private whatever the umask, and the folder that client and server share.
//!
//! ```text
//! keys           parameters and evaluation keys
//! public         parameters and the public key, for providers
//! ID.request     the request, in JSON
//! ID.input       the ciphertext
//! ID.result      the answer: its head and the published result
//! ID.refused     or the refusal, in JSON
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::Failure;
use crate::protocol::{ClientId, Hash, JobId};

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    /// The program.
    pub program: String,
    /// The keys.
    pub keys: Hash,
    /// The client, which the answer repeats.
    pub owner: ClientId,
}

/// The folder that client and server share.
#[derive(Debug, Clone)]
pub struct Shared(pub PathBuf);

impl Shared {
    /// The path of the parameters and keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// The path of the parameters and the public key.
    pub fn public(&self) -> PathBuf {
        self.0.join("public")
    }

    /// The path of a part of a job.
    pub fn part(&self, job: JobId, what: &str) -> PathBuf {
        self.0.join(format!("{job}.{what}"))
    }

    /// Whether a job has a result or a refusal.
    pub fn is_answered(&self, job: JobId) -> bool {
        ["result", "refused"].into_iter().any(|what| self.part(job, what).exists())
    }

    /// The jobs without an answer, in order of their names.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open_jobs(&self) -> io::Result<Vec<JobId>> {
        let mut jobs = vec![];
        for file in fs::read_dir(&self.0)? {
            let path = file?.path();
            let name = path.file_stem().and_then(|name| name.to_str()?.parse::<JobId>().ok());
            let request = path.extension().is_some_and(|e| e == "request");
            jobs.extend(name.filter(|job| request && !self.is_answered(*job)));
        }
        jobs.sort();
        Ok(jobs)
    }
}

/// The largest size of JSON files of client and server.
const LONGEST_JSON: u64 = 1 << 20;

/// Reads a JSON file.
///
/// # Errors
/// For a file that is no such object.
pub fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, Failure> {
    serde_json::from_slice(&read(path, LONGEST_JSON)?).map_err(|e| about(path, e))
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let file = open(path, most)?;
    let mut bytes = Vec::with_capacity(file.metadata().map_or(0, |found| found.len()) as usize);
    file.take(most).read_to_end(&mut bytes).map_err(|e| about(path, e))?;
    Ok(bytes)
}

/// Opens a file of at most `most` bytes.
///
/// # Errors
/// For anything but a regular file, and for a longer one.
pub fn open(path: &Path, most: u64) -> Result<File, Failure> {
    let file = open_regular(path).map_err(|e| about(path, e))?;
    let bytes = file.metadata().map_err(|e| about(path, e))?.len();
    match bytes <= most {
        true => Ok(file),
        false => Err(about(path, format_args!("{bytes} bytes: at most {most} are read"))),
    }
}

/// Opens a regular file: no link, pipe or device, which somebody else may have put there.
///
/// # Errors
/// For anything else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file")),
    }
}

/// Writes JSON atomically.
///
/// # Errors
/// If the file cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    write(path, &serde_json::to_vec_pretty(value).map_err(Failure::run)?)
}

/// Writes bytes atomically.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, |file| file.write_all(bytes)).map_err(|e| about(path, e))
}

/// Writes a file atomically: under another name first, then to the disk, then renamed, with its
/// folder to the disk. Only the owner can read it.
///
/// # Errors
/// If the file cannot be written; then there is none.
pub fn write_with<T>(
    path: &Path,
    content: impl FnOnce(&mut File) -> io::Result<T>,
) -> io::Result<T> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = || -> io::Result<T> {
        remove(&part)?;
        let mut file = create(&part)?;
        let value = content(&mut file)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        sync_folder(path)?;
        Ok(value)
    };
    written().inspect_err(|_| drop(fs::remove_file(&part)))
}

/// Creates a file that only its owner can read. Refuses an existing one, which may be a link.
///
/// # Errors
/// If there is one, or none can be made.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Opens or creates a file that nothing is written to: for locks between processes.
///
/// # Errors
/// For anything but a regular file.
pub fn open_lock(path: &Path) -> io::Result<File> {
    match create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            open_regular(path)?;
            // Some file systems lock only what is open for writing.
            File::options().write(true).open(path)
        }
        created => created,
    }
}

/// Creates a folder, and those above it, that only its owner can enter.
///
/// # Errors
/// If it cannot be created.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes a file, if there is one.
///
/// # Errors
/// If it stays.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Flushes the folder of `path`, so that a new name in it survives a crash.
///
/// # Errors
/// If the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Only Unix opens folders.
        Some(folder) if cfg!(unix) => {
            let here = folder.as_os_str().is_empty();
            File::open(if here { Path::new(".") } else { folder })?.sync_all()
        }
        _ => Ok(()),
    }
}

/// A failure about a file.
pub fn about(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {why}", path.display()))
}
