//! Serialized forms of parameters, ciphertexts and keys ([`bellerophon_ring::wire`]).
//!
//! Uniform polynomials are replaced by a seed. All bodies of a key form one run of bit-packed
//! residues. A reader has the [`Params`] of the object (for a key, those of its output) and checks
//! the form against them. Values that the reader cannot know, such as the rank at the other end of
//! a key, must agree with the number of bytes.

mod ciphertext;
mod key;
mod key_set;
mod params;
mod rings;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

pub use ciphertext::{CiphertextForm, PublicKeyForm, SeededCiphertextForm};
pub use key::{GaloisKeyForm, KeySwitchKeyForm, RaiseTransformKeyForm, RelinKeysForm};
pub use key_set::{GaloisKeysForm, HoistedKey, HoistedKeyForm};
pub use params::{ParamsForm, SecretForm, SecurityForm};
pub use rings::{RingConversionForm, RingSwitchKeysForm};

use crate::dpad::RelinStrategy;
use crate::params::Params;
use crate::security::Security;

/// The parameters of both ends of a key or a conversion: where it starts, and where it leads.
pub type Ends<P> = (P, P);

/// Type numbers of the objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`Params`](crate::Params).
    pub const PARAMS: u16 = 0x0100;
    /// [`Ciphertext`](crate::Ciphertext).
    pub const CIPHERTEXT: u16 = 0x0101;
    /// [`SeededCiphertext`](crate::SeededCiphertext).
    pub const SEEDED_CIPHERTEXT: u16 = 0x0102;
    /// [`PublicKey`](crate::PublicKey).
    pub const PUBLIC_KEY: u16 = 0x0103;
    /// [`KeySwitchKey`](crate::KeySwitchKey).
    pub const KEY_SWITCH_KEY: u16 = 0x0104;
    /// [`GaloisKey`](crate::GaloisKey).
    pub const GALOIS_KEY: u16 = 0x0105;
    /// [`RankReduceKey`](crate::RankReduceKey).
    pub const RANK_REDUCE_KEY: u16 = 0x0106;
    /// [`RelinKeys`](crate::RelinKeys).
    pub const RELIN_KEYS: u16 = 0x0107;
    /// [`ModRaiseKey`](crate::ModRaiseKey).
    pub const RAISE_KEY: u16 = 0x0108;
    /// [`RingConversion`](crate::RingConversion).
    pub const RING_CONVERSION: u16 = 0x0109;
    /// [`RingSwitchKeys`](crate::RingSwitchKeys).
    pub const RING_SWITCH_KEYS: u16 = 0x010a;
    /// [`HoistedKey`](super::HoistedKey). Its number is of the list of evaluation keys, which
    /// contains it.
    pub const HOISTED_KEY: u16 = 0x0503;
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}

impl Fingerprinted for RelinStrategy {
    fn fingerprint(&self) -> Fingerprint {
        self.params().fingerprint()
    }
}

/// The context for reading parameter sets, which depend on no other object.
impl Fingerprinted for Security {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::NONE
    }
}
