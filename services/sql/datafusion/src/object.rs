//! Objects of a store by their first bytes: what they are, and how many bytes they have at most.

use std::{fs::File, io::Read, path::Path};

use bellerophon::{
    ClientKey, Params, bfv,
    ckks::wire::kind as vector,
    format::{Header, kind},
    pir,
    ring::wire::{Fingerprint, SecretWire, Wire},
};

use crate::{Error, Hash, ObjectFault, Result, vector::ADMITTED};

/// The types of objects that are secrets, with their names.
const SECRETS: [(u16, &str); 4] = [
    (ClientKey::KIND, ClientKey::NAME),
    (bfv::SecretKey::KIND, bfv::SecretKey::NAME),
    (pir::Client::KIND, pir::Client::NAME),
    (pir::Pending::KIND, pir::Pending::NAME),
];

/// The other types of objects that a store takes.
const OTHERS: [u16; 5] =
    [kind::PARAMS, kind::KEY_LIST, bfv::Params::KIND, pir::ServerKeys::KIND, pir::Query::KIND];

/// Bytes of a table, at most.
pub(crate) const MOST_TABLE: u64 = 1 << 24;

/// Bytes of parameters, at most.
pub(crate) const MOST_PARAMS: u64 = 1 << 20;

/// Bytes of a note on the state of a program, at most.
pub(crate) const MOST_NOTE: usize = 1 << 16;

/// Bytes of an encrypted vector of parameters that are not known, at most.
pub(crate) const MOST_VECTOR: u64 = 1 << 27;

/// Bytes of an envelope beside polynomials, at most.
pub(crate) const REST: u64 = 1 << 16;

/// The objects that a caller takes.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) kinds: &'a [u16],
    pub(crate) tables: bool,
    /// States of programs, too.
    pub(crate) states: bool,
    pub(crate) needed: &'static str,
    /// Bytes, at most; none for vectors, whose parameters say it.
    pub(crate) most: Option<u64>,
}

impl Wanted<'_> {
    /// Refuses secrets, and other objects than the caller takes, by their first bytes.
    pub(crate) fn check(&self, hash: Hash, start: &[u8]) -> Result<()> {
        let header = match is_table(start) {
            true if self.tables => return Ok(()),
            true => {
                let fault = ObjectFault::IsTable(self.needed);
                return Err(Error::Object { hash, fault });
            }
            false => header(hash, start)?,
        };
        check_kind(hash, header.kind, self.kinds, self.needed)
    }

    /// Bytes of an object that begins like this, at most; `vector` says it for parameters.
    pub(crate) fn most(
        &self,
        hash: Hash,
        start: &[u8],
        vector: impl Fn(Fingerprint) -> u64,
    ) -> Result<u64> {
        self.check(hash, start)?;
        if is_table(start) {
            return Ok(MOST_TABLE);
        }
        let header = header(hash, start)?;
        let most = self.most.unwrap_or_else(|| vector(header.fingerprint));
        // The keys of a list follow it, each in an envelope of its own.
        if header.kind == kind::KEY_LIST {
            return Ok(most);
        }
        check_size(hash, start, header.total(), most)?;
        Ok(header.total())
    }
}

/// Refuses more bytes of an object that begins like this.
pub(crate) fn check_size(hash: Hash, start: &[u8], found: u64, most: u64) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    if is_table(start) {
        return Err(Error::Object { hash, fault: ObjectFault::Table });
    }
    match header(hash, start)?.kind {
        kind::KEY_LIST => Err(Error::Budget { needed: found, pinned: 0, budget: most }),
        _ => Err(Error::Object { hash, fault: ObjectFault::Long { found, most } }),
    }
}

/// Bytes of an encrypted vector of these parameters, at most.
pub(crate) fn most_vector(params: &Params) -> u64 {
    let params = params.ckks();
    let spec = params.lattice().spec();
    let words = spec.degree * (spec.rank + 1) * params.limbs_at(params.max_level());
    (words * size_of::<u64>()) as u64 + REST
}

/// Refuses secrets, and objects that no function reads.
pub(crate) fn check_public(hash: Hash, bytes: &[u8]) -> Result<()> {
    let kind = header(hash, bytes)?.kind;
    if let Some((_, name)) = SECRETS.into_iter().find(|&(secret, _)| secret == kind) {
        return Err(Error::Secret(name));
    }
    let public = [&ADMITTED[..], &OTHERS].concat();
    let needed = "parameters, public keys, an encrypted vector or a query of a look-up";
    check_kind(hash, kind, &public, needed)
}

/// The first bytes of a file, as many as a header has.
pub(crate) fn start(path: &Path) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::file(path))?;
    file.take(Header::LEN as u64).read_to_end(&mut start).map_err(Error::file(path))?;
    Ok(start)
}

/// Whether bytes are those of a table, or its first ones: numbers with semicolons between them. An
/// envelope begins otherwise.
pub(crate) fn is_table(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(Header::LEN)];
    start.iter().all(|byte| byte.is_ascii_digit() || b"+-.eE; ".contains(byte)) && start.len() > 2
}

/// The header of an object.
pub(crate) fn header(hash: Hash, bytes: &[u8]) -> Result<Header> {
    if bytes.len() < Header::LEN {
        return Err(Error::Object { hash, fault: ObjectFault::Short(bytes.len()) });
    }
    Header::parse(bytes).map_err(|error| Error::Object { hash, fault: ObjectFault::Header(error) })
}

/// Refuses secrets, and other types than the caller needs.
fn check_kind(hash: Hash, found: u16, kinds: &[u16], needed: &'static str) -> Result<()> {
    if SECRETS.iter().any(|&(secret, _)| secret == found) {
        return Err(Error::Object { hash, fault: ObjectFault::Secret });
    }
    if found == vector::CIPHERTEXT && kinds.contains(&vector::PUBLISHED) {
        return Err(Error::Object { hash, fault: ObjectFault::Unpublished });
    }
    if !kinds.contains(&found) {
        return Err(Error::Object { hash, fault: ObjectFault::Kind { found, needed } });
    }
    Ok(())
}
