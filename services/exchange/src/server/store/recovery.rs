//! What a server finds at its start: records, files, and what a crash or a lost database has left.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use redb::{ReadableDatabase, ReadableTable};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::{Change, JobRecord, KeyRecord, OwnerRecord, RECORDS, Store};
use super::{check, deletion_change, job_change, lost};
use crate::files;
use crate::protocol::{ClientId, JobId, State};

/// The schema of the records, and the key of its number. A database without a number is of the
/// first schema: it is older than the number.
const SCHEMA: u32 = 1;
const SCHEMA_KEY: &str = "schema";

/// The folder for files that no record names.
const ASIDE: &str = "aside";

/// The contents of the disk at the start.
#[derive(Debug, Default)]
pub struct Found {
    /// The clients.
    pub owners: Vec<(ClientId, OwnerRecord)>,
    /// Their keys.
    pub keys: Vec<(ClientId, KeyRecord)>,
    /// Their jobs.
    pub jobs: Vec<(ClientId, JobRecord)>,
    /// Jobs that were deleted while a worker had them, each with its number.
    deleted: Vec<(ClientId, (JobId, u64))>,
    /// Files of records that cannot be read. They stay: the record may be of a newer server.
    unread: Vec<PathBuf>,
    /// Files that are no longer needed: a crash came before their removal.
    spent: HashSet<PathBuf>,
}

impl Store {
    /// Creates the database of a new folder. In one that a server has used none is new: it is lost,
    /// and an empty one would disown clients, and take revoked ones as guests.
    pub(super) fn create_database(&self) -> io::Result<()> {
        let path = Self::database_file(&self.root);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.len() > 0 => return Ok(()),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        if self.begun().try_exists()? || !self.client_files().is_empty() {
            let why = "exchange.redb is missing or empty in a folder that a server has used: \
                       restore the whole folder from a backup, or begin anew in another one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        // Its creation was interrupted, and it has nothing.
        files::remove(&path)?;
        // Created here, so that it is private whatever the umask.
        files::create(&path).map(drop)
    }

    /// Refuses a database whose records only a newer server understands.
    fn check_schema(&self) -> io::Result<()> {
        let number = self.database(|database| -> Result<_, redb::Error> {
            let table = database.begin_read()?.open_table(RECORDS)?;
            Ok(table.get(SCHEMA_KEY)?.map(|number| number.value().to_vec()))
        })?;
        let Some(number) = number else {
            let first = SCHEMA.to_string().into_bytes();
            return self.write(&[(SCHEMA_KEY.to_string(), Some(first))]);
        };
        let number = String::from_utf8_lossy(&number);
        match number.parse::<u32>() {
            Ok(1..=SCHEMA) => Ok(()),
            _ => {
                let why = format!(
                    "exchange.redb has the schema {number}, and this server reads those up to \
                     {SCHEMA}: start the server that wrote it, or restore a backup from before it"
                );
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
        }
    }

    /// Reads all records.
    pub(super) fn load(&self) -> io::Result<Found> {
        // The table is there from here on.
        self.write(&[])?;
        self.check_schema()?;
        let mut found = Found::default();
        self.database(|database| -> Result<(), redb::Error> {
            for entry in database.begin_read()?.open_table(RECORDS)?.iter()? {
                let (key, value) = entry?;
                let parts: Vec<&str> = key.value().split('/').collect();
                let Some(owner) = parts.get(1).and_then(|owner| owner.parse().ok()) else {
                    continue;
                };
                let (bytes, file) = (value.value(), parts.get(2).copied().unwrap_or_default());
                let fault = match parts[0] {
                    "owner" => add(&mut found.owners, owner, bytes).inspect_err(|_| {
                        // Its token may have been refused.
                        let name = "an unreadable record".to_string();
                        let closed = OwnerRecord {
                            name,
                            invited: true,
                            revoked: true,
                            ..OwnerRecord::default()
                        };
                        found.owners.push((owner, closed));
                    }),
                    "keys" => add(&mut found.keys, owner, bytes),
                    "deleted" => add(&mut found.deleted, owner, bytes),
                    _ => add(&mut found.jobs, owner, bytes),
                };
                if let Err(e) = fault {
                    warn!(key = key.value(), %e, "a damaged record is left out; its files stay");
                    let parts = ["keys", "request", "answer"];
                    let paths = parts.map(|what| self.blob(owner, &format!("{file}.{what}")));
                    found.unread.extend(paths);
                }
            }
            Ok(())
        })?;
        found.jobs.sort_by_key(|(_, job)| job.number);
        Ok(found)
    }

    /// Forgets the jobs that were deleted while a worker had them. Their files go in
    /// [`verify`](Self::verify), if they are those of the records.
    pub(super) fn end_deletions(&self, found: &mut Found) -> io::Result<()> {
        let deleted: HashSet<_> = found.deleted.drain(..).collect();
        // The record of a job that only a newer server can read keeps its deletion.
        let unread: HashSet<_> = found.unread.iter().collect();
        let mut changes: Vec<Change> = vec![];
        for (owner, job) in &deleted {
            if !unread.contains(&self.job(*owner, job.0, "request")) {
                changes.push(deletion_change(*owner, *job, false));
            }
        }
        found.jobs.retain(|(owner, job)| {
            let stays = !deleted.contains(&(*owner, (job.id, job.number)));
            if !stays {
                changes.push(job_change(*owner, job.id, None));
                let [request, answer] =
                    ["request", "answer"].map(|what| self.job(*owner, job.id, what));
                let own = check(&request, job.bytes, Some(job.digest)).is_ok();
                let named = |(bytes, hash)| check(&answer, bytes, Some(hash)).is_ok();
                if own || job.answer.is_some_and(named) {
                    found.spent.insert(answer);
                }
                found.spent.extend(own.then_some(request));
            }
            stays
        });
        self.write(&changes)
    }

    /// Counts the attempts that a crash has ended, by their marks.
    pub(super) fn count_attempts(&self, found: &mut Found) {
        let marks = entries(&self.root.join("attempts"));
        let mut tries: HashMap<(ClientId, JobId), u32> = HashMap::new();
        for mark in &marks {
            let name = mark.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let mut parts = name.split('.');
            let mut next = || parts.next().unwrap_or_default();
            if let (Ok(owner), Ok(job), Ok(number)) =
                (next().parse(), next().parse(), next().parse::<u32>())
            {
                let most = tries.entry((owner, job)).or_default();
                *most = number.max(*most);
            }
        }
        let mut changes = vec![];
        for (owner, job) in &mut found.jobs {
            let marked = tries.get(&(*owner, job.id)).copied().unwrap_or(0);
            if job.state == State::Accepted && marked > job.tries {
                job.tries = marked;
                changes.push(job_change(*owner, job.id, Some(job)));
            }
        }
        // As long as the disk is full, the marks are the record.
        match self.write(&changes) {
            Ok(()) => marks.iter().for_each(|mark| remove(mark)),
            Err(e) => warn!(%e, "unfinished attempts are not recorded yet"),
        }
    }

    /// Names damaged files; their keys are left out, their jobs run again or end as lost. Removes
    /// what is no longer needed, and moves aside what no record names.
    pub(super) fn verify(&self, found: &mut Found) {
        entries(&self.root.join("incoming")).iter().for_each(|path| remove(path));
        let mut known: HashSet<PathBuf> = found.unread.drain(..).collect();
        found.keys.retain(|(owner, record)| {
            let path = self.keys(*owner, record.keys);
            let whole = check(&path, record.bytes, None);
            if let Err(e) = &whole {
                warn!(?path, %e, "damaged keys");
            }
            known.insert(path);
            whole.is_ok()
        });
        for (owner, job) in &mut found.jobs {
            let [request, answer] =
                ["request", "answer"].map(|what| self.job(*owner, job.id, what));
            if let Some((bytes, hash)) = job.answer
                && let Err(e) = check(&answer, bytes, Some(hash))
            {
                warn!(path = ?answer, %e, "damaged answer");
                (job.state, job.answer) = (State::Accepted, None);
            }
            // Other files of this name are those of a later job, and the database is older.
            let own = check(&request, job.bytes, Some(job.digest));
            match (job.state, own) {
                (State::Accepted, Ok(())) => {
                    known.insert(request);
                    // It is computed again.
                    found.spent.insert(answer);
                }
                (State::Accepted, Err(e)) => {
                    warn!(path = ?request, %e, "damaged request");
                    (job.state, job.refusal) = (State::Refused, Some(lost()));
                }
                (_, own) => {
                    if own.is_ok() {
                        found.spent.extend([request, answer.clone()]);
                    }
                    if job.answer.is_some() {
                        known.insert(answer);
                    }
                }
            }
        }
        let mut aside = 0;
        for path in self.client_files().into_iter().filter(|path| !known.contains(path)) {
            if found.spent.contains(&path) {
                remove(&path);
                continue;
            }
            match self.set_aside(&path) {
                Ok(()) => aside += 1,
                Err(e) => warn!(?path, %e, "left where it is"),
            }
        }
        if aside > 0 {
            let folder = self.root.join(ASIDE);
            warn!(
                ?folder,
                files = aside,
                "no record names these files: a crash left them, or the \
                database is older than they are"
            );
        }
    }

    /// The files of clients. Others in these folders are not ours.
    fn client_files(&self) -> Vec<PathBuf> {
        let folders = entries(&self.root.join("blobs")).into_iter().filter(|folder| {
            let name = folder.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.parse::<ClientId>().is_ok())
        });
        let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
        files.retain(|path| {
            let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
            ["keys", "request", "answer"].contains(&extension)
        });
        files
    }

    /// Moves a file of a client out of the way, into a folder of the same name.
    fn set_aside(&self, path: &Path) -> io::Result<()> {
        let name = path.strip_prefix(self.root.join("blobs")).map_err(io::Error::other)?;
        let to = self.root.join(ASIDE).join(name);
        files::create_folder(to.parent().unwrap_or(&self.root))?;
        fs::rename(path, to)
    }
}

fn add<T: DeserializeOwned>(
    to: &mut Vec<(ClientId, T)>,
    owner: ClientId,
    bytes: &[u8],
) -> serde_json::Result<()> {
    to.push((owner, serde_json::from_slice(bytes)?));
    Ok(())
}

/// Removes a file that is no longer needed.
fn remove(path: &Path) {
    files::remove(path).unwrap_or_else(|e| warn!(?path, %e, "left where it is"));
}

/// The entries of a folder; an unreadable one counts as empty and is named.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).and_then(|e| e.map(|entry| Ok(entry?.path())).collect());
    paths.unwrap_or_else(|e: io::Error| {
        warn!(?folder, %e, "left out");
        vec![]
    })
}
