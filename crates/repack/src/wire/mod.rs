//! Plain forms of the keys of either bridge, of exact ciphertexts, and of what private look-up sends
//! ([`bellerophon_ring::wire`]).
//!
//! All bodies of a key are one run of packed residues, all masks seeds. A reader has the parameters, or
//! the bridge, and checks the form against them before it takes memory.

mod bridge;
mod exact;
mod lookup;
mod repack;
mod secret;
mod seeds;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::{RingBridge, exact::Params};

pub use bridge::RingBridgeKeysForm;
pub use exact::{ExactForm, ExactPublicKeyForm, PackingKeysForm, ParamsForm, SeededExactForm};
pub use lookup::{EncryptedFunctionForm, QueryForm, ResponseForm, ServerKeysForm};
pub use repack::RepackKeyForm;
pub use secret::{ClientForm, ExactSecretForm, PendingForm};
pub use seeds::Seeds;

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`SeededRepackKey`](crate::SeededRepackKey).
    pub const REPACK_KEY: u16 = 0x0401;
    /// [`RingBridgeKeys`](crate::RingBridgeKeys).
    pub const RING_BRIDGE_KEYS: u16 = 0x0402;
    /// [`exact::Params`](crate::exact::Params).
    pub const EXACT_PARAMS: u16 = 0x0403;
    /// [`exact::Ciphertext`](crate::exact::Ciphertext).
    pub const EXACT_CIPHERTEXT: u16 = 0x0404;
    /// [`exact::SeededCiphertext`](crate::exact::SeededCiphertext).
    pub const SEEDED_EXACT_CIPHERTEXT: u16 = 0x0405;
    /// [`exact::PublicKey`](crate::exact::PublicKey).
    pub const EXACT_PUBLIC_KEY: u16 = 0x0406;
    /// [`exact::SeededPackingKeys`](crate::exact::SeededPackingKeys).
    pub const PACKING_KEYS: u16 = 0x0407;
    /// [`lookup::ServerKeys`](crate::lookup::ServerKeys).
    pub const SERVER_KEYS: u16 = 0x0408;
    /// [`lookup::Query`](crate::lookup::Query).
    pub const QUERY: u16 = 0x0409;
    /// [`lookup::Response`](crate::lookup::Response).
    pub const RESPONSE: u16 = 0x040a;
    /// [`lookup::EncryptedFunction`](crate::lookup::EncryptedFunction).
    pub const ENCRYPTED_FUNCTION: u16 = 0x040b;
    /// [`exact::SecretKey`](crate::exact::SecretKey).
    pub const EXACT_SECRET_KEY: u16 = 0x040c;
    /// [`lookup::Client`](crate::lookup::Client).
    pub const CLIENT: u16 = 0x040d;
    /// [`lookup::Pending`](crate::lookup::Pending).
    pub const PENDING: u16 = 0x040e;
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}

impl Fingerprinted for RingBridge {
    fn fingerprint(&self) -> Fingerprint {
        let rings = [self.ring(), self.sparse_ring()].map(|ring| ring.fingerprint());
        let prints = [self.slots().fingerprint(), rings[0], rings[1]];
        let bytes = prints.map(|print| *print.as_bytes()).concat();
        Fingerprint::of_bytes("bellerophon 2026-11-24 parameters of a ring bridge", &bytes)
    }
}
