//! The folder that client and server share: the uploads of the client, and the answers.
//!
//! ```text
//! keys           parameters and evaluation keys
//! ID.request     the request, in JSON
//! ID.input       the ciphertext
//! ID.result      the answer
//! ID.refused     or the refusal, in JSON
//! ```
#![allow(dead_code, reason = "client, server and tests use their own parts of this module")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::common::program::Failure;
use super::protocol::{Hash, JobId};

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    pub program: String,
    pub keys: Hash,
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Shared(pub PathBuf);

impl Shared {
    /// The path of the parameters and keys.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
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
    pub fn open_jobs(&self) -> io::Result<Vec<JobId>> {
        let mut jobs = vec![];
        for file in fs::read_dir(&self.0)? {
            let path = file?.path();
            let name = path.file_stem().and_then(|name| name.to_str()?.parse::<JobId>().ok());
            if let Some(job) = name.filter(|_| path.extension().is_some_and(|e| e == "request"))
                && !self.is_answered(job)
            {
                jobs.push(job);
            }
        }
        jobs.sort();
        Ok(jobs)
    }
}

/// The largest size of JSON files of client and server.
const LONGEST_JSON: u64 = 1 << 20;

/// Reads a JSON file of the user.
pub fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, Failure> {
    serde_json::from_slice(&read(path, LONGEST_JSON)?).map_err(|e| about(path, e))
}

/// Reads a file of at most `limit` bytes.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    open(path, most)?.take(most).read_to_end(&mut bytes).map_err(|e| about(path, e))?;
    Ok(bytes)
}

/// Opens a file of at most `limit` bytes. It must be a regular file and no link, pipe or device,
/// which somebody else may have put there.
pub fn open(path: &Path, most: u64) -> Result<File, Failure> {
    let found = fs::symlink_metadata(path).map_err(|e| about(path, e))?;
    if !found.is_file() {
        return Err(about(path, "not a regular file"));
    }
    if found.len() > most {
        return Err(about(path, format_args!("{} bytes: at most {most} are read", found.len())));
    }
    File::open(path).map_err(|e| about(path, e))
}

/// Writes JSON atomically.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).map_err(Failure::run)?;
    write(path, &text)
}

/// Writes bytes atomically.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, false, |file| file.write_all(bytes))
}

/// Writes a file atomically: under another name first, then to the disk, then renamed, with its
/// folder to the disk. Only the owner can read a private file.
pub fn write_with<T>(
    path: &Path,
    private: bool,
    content: impl FnOnce(&mut File) -> io::Result<T>,
) -> Result<T, Failure> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = || -> io::Result<T> {
        let mut file = create(&part, private)?;
        let value = content(&mut file)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        match path.parent() {
            // Only Unix opens folders.
            Some(folder) if cfg!(unix) && !folder.as_os_str().is_empty() => {
                File::open(folder)?.sync_all()?;
            }
            _ => {}
        }
        Ok(value)
    };
    written().map_err(|e| {
        let _ = fs::remove_file(&part);
        about(path, e)
    })
}

/// Creates a new file. Refuses an existing one, which may be a link to somewhere else.
fn create(path: &Path, private: bool) -> io::Result<File> {
    let _ = fs::remove_file(path);
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)
}

/// A failure about a file.
pub fn about(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {why}", path.display()))
}
