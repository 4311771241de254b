//! Errors of the byte format.

use std::io;

use bellerophon_ring::wire::Fingerprint;

use super::{ContentHash, foreign, kinds};

/// The reason why bytes were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Reading or writing failed.
    #[error("reading or writing failed: {}{}", .0, ended(.0))]
    Io(#[from] io::Error),
    /// No bytes.
    #[error("no bytes: the file is empty, or nothing was sent")]
    Empty,
    /// Fewer bytes than any object has.
    #[error("{found} bytes, and an object has at least {least}: cut off")]
    Short {
        /// Bytes found.
        found: usize,
        /// Bytes in front of every object.
        least: usize,
    },
    /// The bytes do not begin as the format does.
    #[error("not an object of Bellerophon: {found}")]
    Foreign {
        /// What they look like.
        found: &'static str,
    },
    /// A program on the way took the bytes for text.
    #[error(
        "not an object of Bellerophon any more: the bytes were decoded as text on the way: open the \
         file in binary mode"
    )]
    Decoded,
    /// Another version of the format.
    #[error(
        "format version {found}: this library reads version {needed}: write the object again with \
         this release, or update the library"
    )]
    Version {
        /// The version of the bytes.
        found: u16,
        /// The version that this library reads and writes.
        needed: u16,
    },
    /// An object of another type.
    #[error(
        "the bytes hold {}, but the reader expects {name} (type {needed:#06x}): read them as the \
         type that was written, or send the other object",
        kinds::printed(*found)
    )]
    Kind {
        /// The type of the bytes.
        found: u16,
        /// The expected type.
        needed: u16,
        /// The expected type in words.
        name: &'static str,
    },
    /// An object of other parameters.
    #[error(
        "{name} of the parameters {found}: the reader has {needed}: read the sender's parameters \
         first, or agree on a preset"
    )]
    Fingerprint {
        /// The expected object.
        name: &'static str,
        /// Fingerprint of the parameters of the bytes.
        found: Fingerprint,
        /// Fingerprint of the parameters of the reader.
        needed: Fingerprint,
    },
    /// More bytes than the reader allows.
    #[error("{name} of {found} bytes: the reader allows {limit}")]
    TooLong {
        /// The expected object.
        name: &'static str,
        /// Bytes of the envelope.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Fewer or more bytes than the header states.
    #[error("{found} bytes, but the header states {needed}: truncated, or more than one object")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes of the envelope.
        needed: u64,
    },
    /// The hash does not match.
    #[error(
        "{name}: the bytes are damaged: their hash is {found}, but the envelope states {stated}"
    )]
    Damaged {
        /// The expected object.
        name: &'static str,
        /// The hash of the bytes.
        found: ContentHash,
        /// The hash in the envelope.
        stated: ContentHash,
    },
    /// Reserved bits that are set.
    #[error("reserved bits of the header are set: {found:#010x}")]
    Reserved {
        /// The bits.
        found: u32,
    },
    /// A secret that cannot be decrypted: which of the reasons holds is not told.
    #[error(
        "the secret cannot be decrypted: the passphrase is another one, or the bytes were changed \
         or cut short"
    )]
    Locked,
    /// A secret under a passphrase whose cost is not allowed.
    #[error(
        "a passphrase at {memory_kib} KiB of memory and {passes} passes: 65536 to 262144 KiB and 3 \
         to 16 passes are allowed (`PassphraseCost`)"
    )]
    PassphraseCost {
        /// Memory in KiB.
        memory_kib: u32,
        /// Passes.
        passes: u32,
    },
    /// An empty passphrase.
    #[error("an empty passphrase encrypts nothing: give one, or take `ClientKey::to_secret_bytes`")]
    EmptyPassphrase,
    /// The contents are not a valid object of the type.
    #[error("{name} cannot be read: {reason}")]
    Malformed {
        /// The expected object.
        name: &'static str,
        /// The fault.
        reason: String,
    },
}

impl FormatError {
    /// Why bytes that do not begin with a magic word and a whole head are no object.
    pub(super) fn no_object(bytes: &[u8], magic: &[u8; 8], least: usize) -> Self {
        let found = bytes.len();
        if bytes.is_empty() {
            return Self::Empty;
        }
        if foreign::decoded(bytes, magic) {
            return Self::Decoded;
        }
        if bytes[..found.min(8)] == magic[..found.min(8)] {
            return Self::Short { found, least };
        }
        let unknown = "the bytes do not begin with its magic word";
        Self::Foreign { found: foreign::looks_like(bytes).unwrap_or(unknown) }
    }

    /// This error, or its cause if a program on the way took the bytes for text.
    pub(super) fn or_decoded(self, bytes: &[u8], magic: &[u8; 8]) -> Self {
        if foreign::decoded(bytes, magic) { Self::Decoded } else { self }
    }
}

/// What the end of the bytes within an object means.
fn ended(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ": the bytes end within an object: truncated",
        _ => "",
    }
}
