//! A file of evaluation keys whose rotation keys are read on demand.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

use bellerophon_mlwe::{self as mlwe, GaloisCache, GaloisKey, GaloisSource, KeyIdent};
use bellerophon_ring::Result;
use bellerophon_ring::wire::Wire;

use super::{ContentHash, Header};
use crate::error;

/// The rotation keys of a file, with a cache of those in memory.
pub(super) struct Store {
    file: File,
    params: mlwe::Params,
    /// The client and the parameters of the keys.
    end: KeyIdent,
    entries: BTreeMap<usize, Entry>,
    cache: GaloisCache,
}

/// The position of the envelope of a key.
#[derive(Clone, Copy)]
struct Entry {
    offset: u64,
    bytes: u64,
    limbs: usize,
    hash: ContentHash,
}

/// An upper bound on the bytes of the envelope of a Galois key beside its seed and its residues.
const OVERHEAD: usize = 256;

impl Store {
    pub(super) fn new(file: File, params: &mlwe::Params, end: KeyIdent, budget: usize) -> Self {
        let (entries, cache) = (BTreeMap::new(), GaloisCache::new(budget));
        Self { file, params: params.clone(), end, entries, cache }
    }

    /// Registers the key whose envelope begins at `offset`. Reads its header and its hash, and
    /// returns the bytes of the envelope and the hash.
    pub(super) fn announce(
        &mut self,
        exponent: usize,
        limbs: usize,
        offset: u64,
    ) -> Result<(u64, ContentHash)> {
        // Step 1: the header, with type and parameters.
        let mut header = [0; Header::LEN];
        read_at(&self.file, &mut header, offset)?;
        let header = Header::parse(&header)?;
        header.check(GaloisKey::NAME, GaloisKey::KIND, self.params.fingerprint())?;
        // Step 2: the length, bounded by the size of a key with this number of limbs.
        let bytes = header.total();
        let limit = (GaloisKey::seeded_byte_len(&self.params, limbs)? + OVERHEAD) as u64;
        if bytes > limit {
            return Err(error::too_long(GaloisKey::NAME, bytes, limit));
        }
        // Step 3: the hash at the end of the envelope, against which the key is checked when it is
        // read.
        let mut hash = [0; ContentHash::LEN];
        let end = offset.saturating_add(bytes - ContentHash::LEN as u64);
        read_at(&self.file, &mut hash, end)?;
        let hash = ContentHash(hash);
        self.entries.insert(exponent, Entry { offset, bytes, limbs, hash });
        Ok((bytes, hash))
    }

    fn read(&self, exponent: usize, entry: Entry) -> Result<GaloisKey> {
        // `announce` has bounded the length by the parameters.
        let mut bytes = vec![0; entry.bytes as usize];
        read_at(&self.file, &mut bytes, entry.offset)?;
        let (found, stated) = (ContentHash::of_sealed(&bytes), entry.hash);
        if found != stated {
            return Err(error::damaged(GaloisKey::NAME, found, stated));
        }
        let key: GaloisKey = super::from_bytes(&self.params, &bytes)?;
        // A valid envelope may still hold another key than the list names.
        let shape = key.key().shape();
        if (key.exponent(), shape.limbs, shape.to) != (exponent, entry.limbs, self.end) {
            let reason = "not the key that the list of the file names".into();
            return Err(error::malformed(GaloisKey::NAME, reason));
        }
        Ok(key)
    }
}

impl GaloisSource for Store {
    fn load(&self, exponent: usize) -> mlwe::Result<Arc<GaloisKey>> {
        let failed = |reason: String| mlwe::error::stored(exponent, reason);
        let entry = self.entries.get(&exponent).ok_or_else(|| failed("not in the file".into()))?;
        let key = self.cache.get_or_load(exponent, || self.read(exponent, *entry));
        key.map_err(|error| failed(error.to_string()))
    }
}

/// A reader of a file from an offset on. It does not change the file's own position.
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
    Ok(File::open(path)?)
}
