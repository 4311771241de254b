//! A file of evaluation keys of which rotation keys are read when they are needed.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use bellerophon_mlwe::{self as mlwe, GaloisKey, GaloisSource, KeyEnd};
use bellerophon_ring::wire::Wire;

use super::{ContentHash, FormatError, Header};
use crate::Result;

/// Keys in a file, and those of them that are in memory.
pub(super) struct Store {
    file: File,
    params: mlwe::Params,
    /// Whose keys they are.
    end: KeyEnd,
    places: BTreeMap<usize, Place>,
    budget: usize,
    shelf: Mutex<Shelf>,
}

/// Where the envelope of a key stands.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    bytes: u64,
    limbs: usize,
    hash: ContentHash,
}

/// Bytes of the envelope of a Galois key beside its seed and its residues, at most.
const OVERHEAD: usize = 256;

/// The keys in memory, each with the time of its last use.
#[derive(Default)]
struct Shelf {
    keys: BTreeMap<usize, (Arc<GaloisKey>, u64)>,
    bytes: usize,
    clock: u64,
}

impl Store {
    pub(super) fn new(file: File, params: &mlwe::Params, end: KeyEnd, budget: usize) -> Self {
        let (places, shelf) = (BTreeMap::new(), Mutex::default());
        Self { file, params: params.clone(), end, places, budget, shelf }
    }

    /// Says where the envelope of a key begins, whose header and hash are read here. Returns its bytes
    /// and the hash.
    pub(super) fn announce(
        &mut self,
        exponent: usize,
        limbs: usize,
        offset: u64,
    ) -> Result<(u64, ContentHash)> {
        let mut header = [0; Header::LEN];
        read_at(&self.file, &mut header, offset).map_err(FormatError::Io)?;
        let header = Header::parse(&header)?;
        header.check(GaloisKey::NAME, GaloisKey::KIND, self.params.fingerprint())?;
        let bytes = header.total();
        let limit = (GaloisKey::seeded_byte_len(&self.params, limbs)? + OVERHEAD) as u64;
        if bytes > limit {
            return Err(FormatError::TooLong { name: GaloisKey::NAME, found: bytes, limit }.into());
        }
        let mut hash = [0; ContentHash::LEN];
        let end = offset.saturating_add(bytes - ContentHash::LEN as u64);
        read_at(&self.file, &mut hash, end).map_err(FormatError::Io)?;
        let hash = ContentHash(hash);
        self.places.insert(exponent, Place { offset, bytes, limbs, hash });
        Ok((bytes, hash))
    }

    fn read(&self, exponent: usize, place: Place) -> Result<GaloisKey> {
        // No more than the parameters say: announced and checked.
        let mut bytes = vec![0; place.bytes as usize];
        read_at(&self.file, &mut bytes, place.offset).map_err(FormatError::Io)?;
        let (found, stated) = (ContentHash::of_sealed(&bytes), place.hash);
        if found != stated {
            return Err(FormatError::Damaged { name: GaloisKey::NAME, found, stated }.into());
        }
        let key: GaloisKey = super::from_bytes(&self.params, &bytes)?;
        let shape = key.key().shape();
        if (key.exponent(), key.limbs(), shape.to) != (exponent, place.limbs, self.end) {
            let reason = "another key than the list of the file says".into();
            return Err(FormatError::Malformed { name: GaloisKey::NAME, reason }.into());
        }
        Ok(key)
    }
}

impl GaloisSource for Store {
    fn load(&self, exponent: usize) -> mlwe::Result<Arc<GaloisKey>> {
        let failed = |reason: String| mlwe::Error::Stored { exponent, reason };
        let lock = || self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = lock().take(exponent) {
            return Ok(key);
        }
        let place = self.places.get(&exponent).ok_or_else(|| failed("not in the file".into()))?;
        // Not under the lock: several threads read several keys at a time.
        let key = self.read(exponent, *place).map_err(|error| failed(error.to_string()))?;
        let key = Arc::new(key);
        lock().put(&key, self.budget);
        Ok(key)
    }
}

impl Shelf {
    fn take(&mut self, exponent: usize) -> Option<Arc<GaloisKey>> {
        self.clock += 1;
        let (key, used) = self.keys.get_mut(&exponent)?;
        *used = self.clock;
        Some(key.clone())
    }

    /// Keeps a key, and gives up the ones not used for longest until all are within the budget; a key
    /// in use goes when its last user does.
    fn put(&mut self, key: &Arc<GaloisKey>, budget: usize) {
        let size = |key: &GaloisKey| key.key().memory_len();
        self.clock += 1;
        self.bytes += size(key);
        if let Some((old, _)) = self.keys.insert(key.exponent(), (key.clone(), self.clock)) {
            self.bytes -= size(&old);
        }
        while self.bytes > budget {
            let oldest = self.keys.iter().min_by_key(|(_, (_, used))| *used);
            let Some(exponent) = oldest.map(|(&exponent, _)| exponent) else { break };
            if let Some((key, _)) = self.keys.remove(&exponent) {
                self.bytes -= size(&key);
            }
        }
    }
}

/// A reader of a file from an offset on, which leaves the file's own position alone.
pub(super) struct From<'f> {
    pub(super) file: &'f File,
    pub(super) offset: u64,
}

impl Read for From<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = read_some_at(self.file, bytes, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    From { file, offset }.read_exact(bytes)
}

#[cfg(unix)]
fn read_some_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_some_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

pub(super) fn open(path: &Path) -> Result<File> {
    Ok(File::open(path).map_err(FormatError::Io)?)
}
