//! A decryption budget that survives restarts: a file that only counts down.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind as IoKind, Read, Write},
    path::{Path, PathBuf},
};

use bellerophon_ckks::noise_flooding::{DecryptionBudget, Flooding};
use bellerophon_mlwe::KeyId;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};

#[cfg(doc)]
use crate::client::ClientKey;
use crate::error;

/// The first bytes.
const MAGIC: [u8; 8] = *b"BELLBUDG";

/// The version of the file.
const VERSION: u16 = 1;

/// Bytes of the file without the hash at its end.
const BODY: usize = 52;

/// The file of a [`DecryptionBudget`]: the number of results of a key that may still be shared.
///
/// [`reserve`](Self::reserve) counts before it returns: the smaller number is on the disk when the
/// first of those results can be decrypted. A crash loses results that were never shared, never a
/// count. A lock on a file beside it (`.lock`) makes calls of several processes take turns, and the
/// file is replaced as a whole. Symbolic links are followed once.
///
/// The file never counts up: it is created once, a call refuses more than it saw before, and
/// [`open`](Self::open) refuses more than the number that the caller kept elsewhere, such as beside
/// the secret key. It cannot detect
/// - a restored backup of the file, where no such number is kept or the backup has that too;
/// - a file that somebody wrote on purpose: its hash finds damage, not intent;
/// - a second file for the same key, such as a hard link: make one for the lifetime of a key;
/// - a file system that does not keep what it said that it kept, or has no locks.
///
/// ```
/// use bellerophon::{BudgetFile, prelude::*};
/// # fn main() -> bellerophon::Result<()> {
/// # let path = std::env::temp_dir().join(format!("bellerophon-budget-{}", std::process::id()));
/// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
/// BudgetFile::create(&path, client.id(), 10, 30.0)?; // once: ten results will ever be shared
/// // In each run; no number is kept elsewhere.
/// let mut file = BudgetFile::open(&path, client.id(), None)?;
/// let budget = file.reserve(1)?; // for `ClientKey::decrypt_flooded`
/// assert_eq!((budget.reserved(), file.left()), (1, 9));
/// # std::fs::remove_file(&path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BudgetFile {
    path: PathBuf,
    lock: File,
    record: Record,
}

/// The contents of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Record {
    key: KeyId,
    queries: u64,
    statistical_bits: f64,
    left: u64,
}

impl BudgetFile {
    /// Creates the file of a new budget: `queries` results of a key at `statistical_bits` bits, as
    /// for [`DecryptionBudget::new`].
    ///
    /// # Errors
    /// [`ErrorKind::Budget`] if there is a file.
    pub fn create(
        path: impl AsRef<Path>,
        key: KeyId,
        queries: u64,
        statistical_bits: f64,
    ) -> Result<Self> {
        operation("BudgetFile::create", || {
            let path = path.as_ref();
            let within = fs::canonicalize(folder(path))?;
            let path = within.join(path.file_name().unwrap_or_default());
            DecryptionBudget::new(key, queries, statistical_bits)?;
            let record = Record { key, queries, statistical_bits, left: queries };
            let file = Self { lock: open_lock(&path)?, path, record };
            let held = Held::new(&file.lock)?;
            // The lock file is held: nobody creates one in between.
            if fs::symlink_metadata(&file.path).is_ok() {
                return Err(file.refused("there is one: open it; a key has one budget in its life"));
            }
            record.write(&file.path)?;
            drop(held);
            Ok(file)
        })
    }

    /// Opens the file of a key. `most` is the number of results left that was kept elsewhere after
    /// the last use ([`left`](Self::left)), if one was: a file with more is an older one.
    ///
    /// # Errors
    /// [`ErrorKind::Budget`] for a file with more than `most` results; [`ErrorKind::Io`] if there
    /// is none: a lost file counts as used up, not as new.
    pub fn open(path: impl AsRef<Path>, key: KeyId, most: Option<u64>) -> Result<Self> {
        operation("BudgetFile::open", || {
            // Before the lock, so that none is left beside no file.
            let path = fs::canonicalize(path)?;
            let lock = open_lock(&path)?;
            let expected = Record { key, queries: 0, statistical_bits: 0.0, left: u64::MAX };
            let mut file = Self { path, lock, record: expected };
            let held = Held::new(&file.lock)?;
            let record = Record::read(&file.path)?;
            let record =
                record.ok_or_else(|| file.refused("it is damaged, or none of this version"));
            let record = record?;
            drop(held);
            if record.key != key {
                return Err(file.refused("it is of another key"));
            }
            if most.is_some_and(|most| record.left > most) {
                return Err(file.refused(OLDER));
            }
            file.record = record;
            Ok(file)
        })
    }

    /// Reserves `results` decryptions: they are counted on the disk, then returned as a budget of
    /// no more than these.
    ///
    /// # Errors
    /// [`ErrorKind::Budget`] if fewer are left, and for a file that was replaced since the last
    /// call. No result is reserved after an error.
    pub fn reserve(&mut self, results: u64) -> Result<DecryptionBudget> {
        operation("BudgetFile::reserve", || {
            // Step 1: no other process counts until this one has.
            let held = Held::new(&self.lock)?;
            let found = Record::read(&self.path)?;
            let damaged = || self.refused("it is damaged, or none of this version");
            let found = found.ok_or_else(damaged)?;
            if (Record { left: self.record.left, ..found }) != self.record {
                return Err(self.refused("it is another one than when it was opened"));
            }
            if found.left > self.record.left {
                return Err(self.refused(OLDER));
            }
            // Step 2: the count, which a refusal leaves as it is.
            let Record { key, queries, statistical_bits, left } = found;
            let resume = |left| DecryptionBudget::resume(key, queries, statistical_bits, left);
            let left = resume(left).and_then(|mut all| all.reserve(results))?;
            let mut budget = resume(results)?;
            budget.reserve(results)?;
            // Step 3: on the disk before any result can be decrypted.
            let record = Record { left, ..found };
            record.write(&self.path)?;
            drop(held);
            self.record = record;
            Ok(budget)
        })
    }

    /// Results left when this file was last read or written. Keep it elsewhere to detect older
    /// files.
    pub fn left(&self) -> u64 {
        self.record.left
    }

    /// The terms of the flooding.
    pub fn flooding(&self) -> Result<Flooding> {
        Flooding::new(self.record.queries, self.record.statistical_bits)
    }

    fn refused(&self, reason: &'static str) -> bellerophon_ring::Error {
        error::budget_file(self.path.display().to_string(), reason)
    }
}

/// The refusal of a file that counts up.
const OLDER: &str = "it has more results left than were left before: it is an older one, such as a \
    restored backup; put back the newest one, or make a new key";

impl Record {
    /// Magic word, version, two zero bytes, key, number of results, bits, results left; then the
    /// BLAKE3 hash.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.key.0.to_le_bytes());
        bytes.extend(self.queries.to_le_bytes());
        bytes.extend(self.statistical_bits.to_le_bytes());
        bytes.extend(self.left.to_le_bytes());
        bytes.extend(blake3::hash(&bytes).as_bytes());
        bytes
    }

    /// `None` for other bytes than this version writes.
    fn read(path: &Path) -> Result<Option<Self>> {
        let mut bytes = vec![];
        File::open(path)?.take(BODY as u64 + 33).read_to_end(&mut bytes)?;
        let Some(body) = bytes.first_chunk::<BODY>() else { return Ok(None) };
        let eight = |at: usize| *body[at..].first_chunk().expect("eight bytes");
        let record = Self {
            key: KeyId(u128::from_le_bytes(*body[12..].first_chunk().expect("16 bytes"))),
            queries: u64::from_le_bytes(eight(28)),
            statistical_bits: f64::from_le_bytes(eight(36)),
            left: u64::from_le_bytes(eight(44)),
        };
        Ok((record.bytes() == bytes && record.left <= record.queries).then_some(record))
    }

    /// Replaces the file as a whole, and returns when that is on the disk.
    fn write(self, path: &Path) -> Result<()> {
        let part = beside(path, "part");
        let mut file = private().truncate(true).open(&part)?;
        file.write_all(&self.bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)?;
        // The name is on the disk once its folder is. Windows has no handle of a folder.
        if cfg!(unix) {
            File::open(folder(path))?.sync_all()?;
        }
        Ok(())
    }
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Files are for their owner alone, whatever the umask.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A file beside another one.
fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    name.into()
}

fn open_lock(path: &Path) -> Result<File> {
    Ok(private().truncate(false).open(beside(path, "lock"))?)
}

/// The lock, until it is dropped.
struct Held<'f>(&'f File);

impl<'f> Held<'f> {
    fn new(file: &'f File) -> Result<Self> {
        loop {
            match file.lock() {
                Err(e) if e.kind() == IoKind::Interrupted => {}
                other => return Ok(other.map(|()| Self(file))?),
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // The system unlocks a file that is closed, at the latest when the process ends.
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;

    const KEY: KeyId = KeyId(0x0123_4567_89ab_cdef);

    /// A folder of a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = format!("bellerophon-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(folder);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn budget(&self) -> PathBuf {
            self.0.join("budget")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn refused<T>(result: &Result<T>, word: &str) -> bool {
        refusal(result).is(&ErrorKind::Budget, word)
    }

    #[test]
    fn counts_survive_restarts_and_never_grow() {
        let folder = Folder::new("restarts");
        let path = folder.budget();
        let mut file = BudgetFile::create(&path, KEY, 10, 30.0).unwrap();
        assert!(refused(&BudgetFile::create(&path, KEY, 10, 30.0), "there is one"));
        let full = fs::read(&path).unwrap();
        let mut budget = file.reserve(3).unwrap();
        // What is left in the file is reserved there alone.
        assert_eq!((budget.reserved(), budget.left(), file.left()), (3, 0, 7));
        assert!(budget.reserve(1).is_err());
        budget.check(KEY).unwrap();
        drop(file);
        // Another run. Reserved results that were not shared are lost.
        let mut file = BudgetFile::open(&path, KEY, Some(7)).unwrap();
        assert_eq!(file.left(), 7);
        assert_eq!(file.flooding().unwrap(), Flooding::new(10, 30.0).unwrap());
        assert!(file.reserve(8).is_err());
        assert_eq!(fs::read(&path).unwrap()[44], 7);
        assert_eq!(file.reserve(2).unwrap().reserved(), 2);
        // Another key, and a number that was kept elsewhere.
        assert!(refused(&BudgetFile::open(&path, KeyId(1), None), "another key"));
        assert!(refused(&BudgetFile::open(&path, KEY, Some(4)), "older"));
        BudgetFile::open(&path, KEY, Some(5)).unwrap();
        // A backup is put back while the file is open, and while it is not.
        fs::write(&path, &full).unwrap();
        assert!(refused(&file.reserve(1), "older"));
        assert!(refused(&BudgetFile::open(&path, KEY, Some(5)), "older"));
        // Nothing is left where nothing is.
        fs::remove_file(&path).unwrap();
        for read in [BudgetFile::open(&path, KEY, None).map(drop), file.reserve(1).map(drop)] {
            assert!(refusal(&read).is(&ErrorKind::Io, "reading or writing failed"));
        }
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = Folder::new("damaged");
        let path = folder.budget();
        let mut file = BudgetFile::create(&path, KEY, 10, 30.0).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), BODY + 32);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).unwrap();
            assert!(refused(&BudgetFile::open(&path, KEY, None), "damaged"), "{at}");
            assert!(refused(&file.reserve(1), "damaged"), "{at}");
        }
        for len in [0, 1, BODY, bytes.len() - 1] {
            fs::write(&path, &bytes[..len]).unwrap();
            assert!(refused(&BudgetFile::open(&path, KEY, None), "damaged"), "{len}");
        }
        fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
        assert!(refused(&BudgetFile::open(&path, KEY, None), "damaged"));
        // A file of the same key with other terms.
        fs::remove_file(&path).unwrap();
        BudgetFile::create(&path, KEY, 10, 31.0).unwrap();
        assert!(refused(&file.reserve(1), "another one"));
        for (queries, bits) in [(0, 30.0), (10, 0.0), (10, 65.0), (10, f64::NAN)] {
            assert!(BudgetFile::create(folder.0.join("other"), KEY, queries, bits).is_err());
        }
        assert!(!folder.0.join("other").exists());
    }

    /// Whoever has the budgets of all runs has no more results than the file had.
    #[test]
    fn ten_results_are_ten_over_any_number_of_runs() {
        let folder = Folder::new("ten");
        let path = folder.budget();
        drop(BudgetFile::create(&path, KEY, 10, 30.0).unwrap());
        let mut total = 0;
        while let Ok(mut budget) = BudgetFile::open(&path, KEY, None).unwrap().reserve(1) {
            let left = budget.left();
            budget.reserve(left).unwrap();
            total += budget.reserved();
        }
        assert_eq!(total, 10);
    }

    /// A file is one, by whatever links it is reached: each name counted for itself.
    #[cfg(unix)]
    #[test]
    fn links_lead_to_one_count() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let (path, link, way) = (folder.budget(), folder.0.join("link"), folder.0.join("way"));
        symlink(&folder.0, &way).unwrap();
        let mut file = BudgetFile::create(way.join("budget"), KEY, 10, 30.0).unwrap();
        symlink(&path, &link).unwrap();
        let mut other = BudgetFile::open(&link, KEY, None).unwrap();
        assert_eq!(file.reserve(4).unwrap().reserved(), 4);
        assert_eq!((other.reserve(5).unwrap().reserved(), other.left()), (5, 1));
        assert!(file.reserve(2).is_err());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(!folder.0.join("link.lock").exists());
        assert!(refused(&BudgetFile::create(&link, KEY, 10, 30.0), "there is one"));
        // A way that leads elsewhere later does not take the file along.
        fs::remove_file(&way).unwrap();
        assert_eq!((file.reserve(1).unwrap().reserved(), file.left()), (1, 0));
        // Only its owner reads it.
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// Users of one file at the same time, each with a handle of its own as another process has.
    #[test]
    fn users_of_one_file_take_turns() {
        let folder = Folder::new("turns");
        let path = folder.budget();
        BudgetFile::create(&path, KEY, 90, 30.0).unwrap();
        let each = || {
            let mut file = BudgetFile::open(&path, KEY, None).unwrap();
            (0..40).filter(|_| file.reserve(1).is_ok()).count()
        };
        let reserved: usize = std::thread::scope(|scope| {
            let users: Vec<_> = (0..4).map(|_| scope.spawn(each)).collect();
            users.into_iter().map(|user| user.join().unwrap()).sum()
        });
        assert_eq!(reserved, 90);
        assert_eq!(BudgetFile::open(&path, KEY, Some(0)).unwrap().left(), 0);
    }
}
