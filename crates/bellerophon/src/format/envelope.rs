//! The envelope: header, object, hash.

use std::{fmt, io::Read, str::FromStr};

use bellerophon_ring::wire::Fingerprint;
use serde::Serialize;
use zeroize::Zeroize;

use super::{FormatError, codec};
use crate::Result;

/// The first bytes of every object.
const MAGIC: [u8; 8] = *b"BELLEROP";

/// The version that is written, and the only one that is read.
const VERSION: u16 = 2;

/// What stands before an object: 56 bytes, little-endian.
///
/// | offset | bytes | |
/// | --- | --- | --- |
/// | 0 | 8 | `BELLEROP` |
/// | 8 | 2 | version of the format, 2 |
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

    /// Of an object that is not written yet.
    pub(super) fn new(kind: u16, fingerprint: Fingerprint) -> Self {
        Self { kind, fingerprint, len: 0 }
    }

    /// Reads the header of an envelope, of which it takes the first [`LEN`](Self::LEN) bytes, so
    /// that a program can tell what it is about to receive.
    ///
    /// # Errors
    /// [`FormatError::Length`], [`FormatError::Foreign`], [`FormatError::Version`],
    /// [`FormatError::Reserved`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            let (found, needed) = (bytes.len() as u64, Self::LEN as u64);
            return Err(FormatError::Length { found, needed }.into());
        };
        if bytes[..8] != MAGIC {
            return Err(FormatError::Foreign.into());
        }
        let two = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        if two(8) != VERSION {
            return Err(FormatError::Version { found: two(8), newest: VERSION }.into());
        }
        let reserved = u32::from(two(12)) | u32::from(two(14)) << 16;
        if reserved != 0 {
            return Err(FormatError::Reserved { found: reserved }.into());
        }
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

    /// Bytes of the whole envelope; saturates for a length that is a lie.
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
            return Err(FormatError::Kind { found, needed, name }.into());
        }
        if self.fingerprint != fingerprint {
            let (found, needed) = (self.fingerprint, fingerprint);
            return Err(FormatError::Fingerprint { name, found, needed }.into());
        }
        Ok(())
    }
}

/// The BLAKE3 hash of an object with its header: what names it.
///
/// It tells damage, and different objects, apart; it does not tell who made them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Bytes of a hash.
    pub const LEN: usize = 32;

    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        let hash = Self(*hasher.update(bytes).finalize().as_bytes());
        // It holds the last of what may be a secret.
        hasher.zeroize();
        hash
    }

    /// The hash at the end of an envelope.
    pub(super) fn of_sealed(bytes: &[u8]) -> Self {
        Self(*bytes.last_chunk().expect("an envelope ends with a hash"))
    }
}

/// As 64 hexadecimal digits.
impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// From 64 hexadecimal digits.
impl FromStr for ContentHash {
    type Err = crate::Error;

    fn from_str(digits: &str) -> Result<Self> {
        let malformed = || {
            let reason = "need 64 hexadecimal digits".into();
            crate::Error::from(FormatError::Malformed { name: "content hash", reason })
        };
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| malformed())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| malformed())?;
        }
        Ok(Self(bytes))
    }
}

/// An object behind its header, with its hash behind it, in a vector that never grew: no copy of a
/// part of it is left behind.
pub(super) fn seal(header: Header, form: &impl Serialize) -> Result<Vec<u8>> {
    let len = codec::size(form)?;
    let mut bytes = Vec::with_capacity(Header::LEN + len + ContentHash::LEN);
    bytes.extend_from_slice(&Header { len: len as u64, ..header }.bytes());
    codec::encode(form, &mut bytes)?;
    let hash = ContentHash::of(&bytes);
    bytes.extend_from_slice(&hash.0);
    Ok(bytes)
}

/// The object of an envelope that is whole, undamaged, of this type and of these parameters.
pub(super) fn open<'a>(
    bytes: &'a [u8],
    name: &'static str,
    kind: u16,
    fingerprint: Fingerprint,
) -> Result<&'a [u8]> {
    let header = Header::parse(bytes)?;
    header.check(name, kind, fingerprint)?;
    let (found, needed) = (bytes.len() as u64, header.total());
    if found != needed {
        return Err(FormatError::Length { found, needed }.into());
    }
    let (sealed, _) = bytes.split_at(bytes.len() - ContentHash::LEN);
    let (found, stated) = (ContentHash::of(sealed), ContentHash::of_sealed(bytes));
    if found != stated {
        return Err(FormatError::Damaged { name, found, stated }.into());
    }
    Ok(&sealed[Header::LEN..])
}

/// The bytes of an envelope of this type and of these parameters, which are not looked at further.
pub(super) fn receive(
    reader: &mut impl Read,
    name: &'static str,
    kind: u16,
    fingerprint: Fingerprint,
    limit: u64,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_up_to(reader, Header::LEN as u64, &mut bytes)?;
    let header = Header::parse(&bytes)?;
    header.check(name, kind, fingerprint)?;
    let needed = header.total();
    if needed > limit {
        return Err(FormatError::TooLong { name, found: needed, limit }.into());
    }
    read_up_to(reader, needed - Header::LEN as u64, &mut bytes)?;
    match bytes.len() as u64 {
        found if found == needed => {
            // As it grew it took room ahead.
            bytes.shrink_to_fit();
            Ok(bytes)
        }
        found => Err(FormatError::Length { found, needed }.into()),
    }
}

/// Appends up to `count` bytes; the vector grows with what arrives, not with what was announced.
fn read_up_to(reader: &mut impl Read, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
    reader.take(count).read_to_end(bytes).map_err(FormatError::Io)?;
    Ok(())
}
