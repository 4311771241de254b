//! The folder that client and server share: what the client sends, and what comes back.
//!
//! ```text
//! keys           parameters and evaluation keys
//! ID.request     what is asked for, in JSON
//! ID.input       the ciphertext
//! ID.result      the answer
//! ID.refused     or why there is none, in JSON
//! ```
#![allow(dead_code, reason = "client, server and tests use their own parts of this module")]

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::common::program::Failure;
use super::protocol::{Hash, JobId};

/// What is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    pub program: String,
    pub keys: Hash,
}

/// The folder.
#[derive(Debug, Clone)]
pub struct Shared(pub PathBuf);

impl Shared {
    /// Where the parameters and keys lie.
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// Where a part of a job lies.
    pub fn part(&self, job: JobId, what: &str) -> PathBuf {
        self.0.join(format!("{job}.{what}"))
    }

    /// The jobs without an answer, in order of their names.
    pub fn open_jobs(&self) -> io::Result<Vec<JobId>> {
        let mut jobs = vec![];
        for file in fs::read_dir(&self.0)? {
            let path = file?.path();
            let name = path.file_stem().and_then(|name| name.to_str()?.parse::<JobId>().ok());
            if let Some(job) = name.filter(|_| path.extension().is_some_and(|e| e == "request"))
                && !self.part(job, "result").exists()
                && !self.part(job, "refused").exists()
            {
                jobs.push(job);
            }
        }
        jobs.sort();
        Ok(jobs)
    }
}

/// Reads JSON that the user's files should hold.
pub fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, Failure> {
    let bytes = fs::read(path).map_err(|e| about(path, e))?;
    serde_json::from_slice(&bytes).map_err(|e| about(path, e))
}

/// Writes JSON as one file or none.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).map_err(Failure::run)?;
    write(path, &text)
}

/// Writes bytes as one file or none.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, false, |file| file.write_all(bytes))
}

/// Writes a file as a whole or not at all: under another name first, then to the disk, then to its
/// own name. A private one can be read by its owner alone.
pub fn write_with<T>(
    path: &Path,
    private: bool,
    content: impl FnOnce(&mut File) -> io::Result<T>,
) -> Result<T, Failure> {
    let part = path.with_extension("part");
    let written = || -> io::Result<T> {
        let mut file = create(&part, private)?;
        let value = content(&mut file)?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        Ok(value)
    };
    written().map_err(|e| {
        let _ = fs::remove_file(&part);
        about(path, e)
    })
}

fn create(path: &Path, private: bool) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::OpenOptionsExt;
        // The mode counts for a new file only.
        let _ = fs::remove_file(path);
        options.mode(0o600).create_new(true);
    }
    #[cfg(not(unix))]
    let _ = private;
    options.open(path)
}

/// A failure about a file.
pub fn about(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {why}", path.display()))
}
