//! The envelope: header, object, hash.

use std::io::Read;

use bellerophon_ring::Result;
use bellerophon_ring::wire::Fingerprint;
use serde::Serialize;

use super::{ContentHash, codec};
use crate::error;

/// The first bytes of every object.
const MAGIC: [u8; 8] = *b"BELLEROP";

/// The version of the format.
const VERSION: u16 = 1;

/// The header in front of an object: 56 bytes, little-endian.
///
/// | offset | bytes | |
/// | --- | --- | --- |
/// | 0 | 8 | `BELLEROP` |
/// | 8 | 2 | version of the format, 1 |
/// | 10 | 2 | type of the object |
/// | 12 | 4 | reserved, zero |
/// | 16 | 32 | fingerprint of the parameters, zero where there are none |
/// | 48 | 8 | bytes of the object |
///
/// The object follows, then 32 bytes: the BLAKE3 hash of everything before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Type of the object ([`Wire::KIND`](bellerophon_ring::wire::Wire::KIND)).
    pub kind: u16,
    /// Fingerprint of the parameters.
    pub fingerprint: Fingerprint,
    /// Bytes of the object, without header and hash.
    pub len: u64,
}

impl Header {
    /// Bytes of a header.
    pub const LEN: usize = 56;

    /// The header of an object whose length is not known yet.
    pub(super) fn new(kind: u16, fingerprint: Fingerprint) -> Self {
        Self { kind, fingerprint, len: 0 }
    }

    /// Reads the header from the first [`LEN`](Self::LEN) bytes of an envelope, so that a program
    /// knows what it is about to receive.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        // Magic word and version first: the rest means something only in this format.
        let whole = bytes.first_chunk::<{ Self::LEN }>().filter(|head| head[..8] == MAGIC);
        let Some(bytes) = whole else {
            return Err(error::no_object(bytes, &MAGIC, Self::LEN));
        };
        let two = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let found = two(8);
        if found != VERSION {
            return Err(error::format_version(found, VERSION));
        }
        let reserved = u32::from(two(12)) | u32::from(two(14)) << 16;
        if reserved != 0 {
            return Err(error::reserved_bits(reserved));
        }
        // The remaining fields have no invalid values: `check` compares them with what is expected.
        let fingerprint = *bytes[16..].first_chunk().expect("32 bytes");
        let len = *bytes.last_chunk().expect("8 bytes");
        Ok(Self {
            kind: two(10),
            fingerprint: Fingerprint::from_bytes(fingerprint),
            len: u64::from_le_bytes(len),
        })
    }

    fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.kind.to_le_bytes());
        bytes[16..48].copy_from_slice(self.fingerprint.as_bytes());
        bytes[48..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// Bytes of the whole envelope. Saturates for an impossible length.
    pub fn total(&self) -> u64 {
        self.len.saturating_add((Self::LEN + ContentHash::LEN) as u64)
    }

    /// Refuses another type and other parameters.
    pub(super) fn check(
        &self,
        name: &'static str,
        kind: u16,
        fingerprint: Fingerprint,
    ) -> Result<()> {
        if self.kind != kind {
            let (found, needed) = (self.kind, kind);
            let kind = error::object_kind(found, needed, name);
            return Err(error::or_decoded(kind, &self.bytes(), &MAGIC));
        }
        if self.fingerprint != fingerprint {
            let (found, needed) = (self.fingerprint, fingerprint);
            let other = error::foreign_parameters(name, found, needed);
            return Err(error::or_decoded(other, &self.bytes(), &MAGIC));
        }
        Ok(())
    }
}

/// The envelope of an object: header, object, hash. The vector never grows, so that no copy of a
/// part of a secret is left in freed memory.
pub(super) fn seal(header: Header, form: &impl Serialize) -> Result<Vec<u8>> {
    // The size is computed first, so that the vector is allocated once.
    let len = codec::size(form)?;
    let mut bytes = Vec::with_capacity(Header::LEN + len + ContentHash::LEN);
    bytes.extend_from_slice(&Header { len: len as u64, ..header }.bytes());
    codec::encode(form, &mut bytes)?;
    let hash = ContentHash::of(&bytes);
    bytes.extend_from_slice(&hash.0);
    Ok(bytes)
}

/// The encoded object of an envelope. Checks header, type, fingerprint, length and hash.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    name: &'static str,
    kind: u16,
    fingerprint: Fingerprint,
) -> Result<&'a [u8]> {
    // Step 1: the header: format, type, parameters.
    let header = Header::parse(bytes)?;
    header.check(name, kind, fingerprint)?;
    // Step 2: the length: nothing is missing, nothing follows.
    let (found, needed) = (bytes.len() as u64, header.total());
    if found != needed {
        let length = error::envelope_length(found, needed);
        return Err(error::or_decoded(length, bytes, &MAGIC));
    }
    // Step 3: the hash of header and object.
    let (sealed, _) = bytes.split_at(bytes.len() - ContentHash::LEN);
    let (found, stated) = (ContentHash::of(sealed), ContentHash::of_sealed(bytes));
    if found != stated {
        let damaged = error::damaged(name, found, stated);
        return Err(error::or_decoded(damaged, bytes, &MAGIC));
    }
    Ok(&sealed[Header::LEN..])
}

/// Receives the bytes of an envelope. Checks type, fingerprint and length, but not the hash.
pub(super) fn receive(
    reader: &mut impl Read,
    name: &'static str,
    kind: u16,
    fingerprint: Fingerprint,
    limit: u64,
) -> Result<Vec<u8>> {
    // The header alone decides whether the rest is read.
    let mut bytes = Vec::new();
    read_up_to(reader, Header::LEN as u64, &mut bytes)?;
    let header = Header::parse(&bytes)?;
    header.check(name, kind, fingerprint)?;
    let needed = header.total();
    if needed > limit {
        let long = error::too_long(name, needed, limit);
        return Err(error::or_decoded(long, &bytes, &MAGIC));
    }
    // Within the limit: the object and its hash.
    read_up_to(reader, needed - Header::LEN as u64, &mut bytes)?;
    match bytes.len() as u64 {
        found if found == needed => {
            // The growing vector may have reserved more.
            bytes.shrink_to_fit();
            Ok(bytes)
        }
        found => Err(error::or_decoded(error::envelope_length(found, needed), &bytes, &MAGIC)),
    }
}

/// Appends up to `count` bytes. The vector grows with the received bytes, not with the announced
/// length.
fn read_up_to(reader: &mut impl Read, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
    reader.take(count).read_to_end(bytes)?;
    Ok(())
}
