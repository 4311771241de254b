//! Cryptographic fingerprints of parameters.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The identity of a parameter set: 256 bits of BLAKE3. Two objects belong together if their
/// fingerprints are equal. Two different sets with one fingerprint would be a collision of the
/// hash.
///
/// `Display` writes the first 8 bytes as 16 hexadecimal digits, for error messages. `Debug` writes
/// all 32 bytes.
///
/// A fingerprint is computed once, when parameters are built. Operations only compare it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Size of a fingerprint in bytes.
    pub const LEN: usize = 32;

    /// All zeros, for objects that are read without parameters.
    pub const NONE: Self = Self([0; Self::LEN]);

    /// The fingerprint of bytes: BLAKE3 in key derivation mode. Each kind of parameters has its own
    /// context, so that equal bytes of two kinds have different fingerprints.
    pub fn of_bytes(context: &str, bytes: &[u8]) -> Self {
        Self(blake3::derive_key(context, bytes))
    }

    /// The fingerprint of numbers, from their little-endian bytes. The caller puts the length
    /// before each list and a number before each choice, so that different parameter sets give
    /// different numbers.
    pub fn of(context: &str, words: impl IntoIterator<Item = u64>) -> Self {
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        Self::of_bytes(context, &bytes)
    }

    /// A stated fingerprint, for example from a header.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Parameters with a fingerprint, against which objects are read.
pub trait Fingerprinted {
    /// The fingerprint. Equal parameters have the same fingerprint on every machine and in every
    /// version of the byte format.
    fn fingerprint(&self) -> Fingerprint;
}

/// Two parameter sets, for objects that lead from the first to the second.
impl<A: Fingerprinted, B: Fingerprinted> Fingerprinted for (A, B) {
    fn fingerprint(&self) -> Fingerprint {
        let prints = [self.0.fingerprint(), self.1.fingerprint()].map(|print| print.0);
        Fingerprint::of_bytes("bellerophon 2026-11-26 pair of parameters", &prints.concat())
    }
}

impl<T: Fingerprinted> Fingerprinted for Arc<T> {
    fn fingerprint(&self) -> Fingerprint {
        (**self).fingerprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key derivation mode at inputs of 0 and 1024 bytes, from the test vectors published by
    /// the authors of BLAKE3 (`test_vectors/test_vectors.json`): byte `i` of the input is
    /// `i mod 251`.
    #[test]
    fn known_answers() {
        let context = "BLAKE3 2019-12-27 16:29:52 test vectors context";
        let input: Vec<u8> = (0..1024u32).map(|i| (i % 251) as u8).collect();
        let words = |len: usize| {
            input[..len].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        };
        for (len, known) in [
            (0, "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"),
            (1024, "7356cd7720d5b66b6d0697eb3177d9f8d73a4a5c5e968896eb6a689684302706"),
        ] {
            let found = Fingerprint::of(context, words(len));
            assert_eq!(format!("{found:?}"), known);
            assert_eq!(found.to_string(), known[..16]);
            assert_eq!(found, Fingerprint::of_bytes(context, &input[..len]));
            assert_eq!(found, Fingerprint::from_bytes(*found.as_bytes()));
        }
    }

    #[test]
    fn kinds_and_numbers_are_told_apart() {
        let prints = [
            Fingerprint::NONE,
            Fingerprint::of("one", []),
            Fingerprint::of("one", [0]),
            Fingerprint::of("one", [0, 0]),
            Fingerprint::of("one", [1]),
            Fingerprint::of("one", [1 << 63]),
            Fingerprint::of("another", [1]),
        ];
        let distinct: std::collections::BTreeSet<_> = prints.into_iter().collect();
        assert_eq!(distinct.len(), prints.len());
    }
}
