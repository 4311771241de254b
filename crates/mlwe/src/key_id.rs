//! The public identity of secret keys.

use std::fmt;

use bellerophon_ring::wire::Fingerprint;
use rand::{CryptoRng, RngExt};
use serde::{Deserialize, Serialize};

/// The public identity of a secret key: 128 random bits drawn together with the key. Ciphertexts
/// and keys carry it so that operands of different keys are told apart. Among `2^32` keys, two
/// share an identity with probability below `2^-64`.
///
/// The identity is no proof of origin: a sender can state any identity. An operation on objects
/// with a false identity returns noise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyId(pub u128);

impl KeyId {
    pub(crate) fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        Self(rng.random())
    }
}

/// What a ciphertext or one end of a key switch belongs to: the parameters (by fingerprint) and the
/// secret key (by identity).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyIdent {
    /// Fingerprint of the parameters.
    pub fingerprint: Fingerprint,
    /// Identity of the secret key.
    pub key: KeyId,
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
