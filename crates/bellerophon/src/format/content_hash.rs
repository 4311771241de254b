//! The hash of an envelope, which names its object.

use std::fmt;

use zeroize::Zeroize;

/// The BLAKE3 hash of an object with its header. It names the object.
///
/// It detects damage and distinguishes objects. It does not authenticate their sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Bytes of a hash.
    pub const LEN: usize = 32;

    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        let hash = Self(*hasher.update(bytes).finalize().as_bytes());
        // The hasher holds the last block, which may be secret.
        hasher.zeroize();
        hash
    }

    /// The hash at the end of an envelope.
    pub(super) fn of_sealed(bytes: &[u8]) -> Self {
        Self(*bytes.last_chunk().expect("an envelope ends with a hash"))
    }
}

/// Writes 64 hexadecimal digits.
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
