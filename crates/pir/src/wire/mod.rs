//! Plain forms of exact ciphertexts and their keys, and of the messages of private look-up
//! ([`bellerophon_ring::wire`]).
//!
//! All bodies of a key are one run of packed residues; all masks are seeds. A reader has the
//! parameters and checks the form against them before it allocates memory.

mod bfv;
mod lookup;
mod secret;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::bfv::Params;

pub use bfv::{ExactForm, ExactPublicKeyForm, PackingKeysForm, ParamsForm, SeededExactForm};
pub use lookup::{EncryptedFunctionForm, QueryForm, ResponseForm, ServerKeysForm};
pub use secret::{ClientForm, ExactSecretForm, PendingForm};

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`bfv::Params`](crate::bfv::Params).
    pub const EXACT_PARAMS: u16 = 0x0403;
    /// [`bfv::Ciphertext`](crate::bfv::Ciphertext).
    pub const EXACT_CIPHERTEXT: u16 = 0x0404;
    /// [`bfv::SeededCiphertext`](crate::bfv::SeededCiphertext).
    pub const SEEDED_EXACT_CIPHERTEXT: u16 = 0x0405;
    /// [`bfv::PublicKey`](crate::bfv::PublicKey).
    pub const EXACT_PUBLIC_KEY: u16 = 0x0406;
    /// [`bfv::SeededPackingKeys`](crate::bfv::SeededPackingKeys).
    pub const PACKING_KEYS: u16 = 0x0407;
    /// [`ServerKeys`](crate::ServerKeys).
    pub const SERVER_KEYS: u16 = 0x0408;
    /// [`Query`](crate::Query).
    pub const QUERY: u16 = 0x0409;
    /// [`Response`](crate::Response).
    pub const RESPONSE: u16 = 0x040a;
    /// [`EncryptedFunction`](crate::EncryptedFunction).
    pub const ENCRYPTED_FUNCTION: u16 = 0x040b;
    /// [`bfv::SecretKey`](crate::bfv::SecretKey).
    pub const EXACT_SECRET_KEY: u16 = 0x040c;
    /// [`Client`](crate::Client).
    pub const CLIENT: u16 = 0x040d;
    /// [`Pending`](crate::Pending).
    pub const PENDING: u16 = 0x040e;
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}
