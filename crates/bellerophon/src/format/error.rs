//! What can be wrong with bytes before their object is looked at.

use std::io;

use bellerophon_ring::wire::Fingerprint;

use super::ContentHash;

/// Why bytes were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Reading or writing failed.
    #[error("reading or writing failed: {0}")]
    Io(#[from] io::Error),
    /// The bytes do not begin as the format does.
    #[error("these are no bytes of Bellerophon: they do not begin with its magic word")]
    Foreign,
    /// A version that this library does not know.
    #[error(
        "format version {found}: this library reads version {newest} alone; write the object again \
         with this release, or update it"
    )]
    Version {
        /// The version of the bytes.
        found: u16,
        /// The version that this library reads.
        newest: u16,
    },
    /// An object of another type.
    #[error("an object of type {found:#06x} where {name} (type {needed:#06x}) is read")]
    Kind {
        /// The type of the bytes.
        found: u16,
        /// The type that is read.
        needed: u16,
        /// The same in words.
        name: &'static str,
    },
    /// An object of other parameters.
    #[error(
        "{name} of the parameters {found}: the reader has {needed}; read the sender's \
         parameters first, or agree on a preset"
    )]
    Fingerprint {
        /// What is read.
        name: &'static str,
        /// Fingerprint of the parameters of the bytes.
        found: Fingerprint,
        /// Fingerprint of those of the reader.
        needed: Fingerprint,
    },
    /// More bytes than the reader allows.
    #[error("{name} of {found} bytes: the reader allows {limit}")]
    TooLong {
        /// What is read.
        name: &'static str,
        /// Bytes of the envelope.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// Fewer or more bytes than the header says.
    #[error("{found} bytes where the header says {needed}: cut short, or more than one object")]
    Length {
        /// Bytes found.
        found: u64,
        /// Bytes of the envelope.
        needed: u64,
    },
    /// The hash does not fit.
    #[error("{name}: the bytes are damaged: their hash is {found}, they say {stated}")]
    Damaged {
        /// What is read.
        name: &'static str,
        /// The hash of the bytes.
        found: ContentHash,
        /// The hash behind them.
        stated: ContentHash,
    },
    /// Reserved bits that are set.
    #[error("reserved bits of the header are set: {found:#010x}")]
    Reserved {
        /// The bits.
        found: u32,
    },
    /// The object is none of its type.
    #[error("{name} cannot be read: {reason}")]
    Malformed {
        /// What is read.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
}
