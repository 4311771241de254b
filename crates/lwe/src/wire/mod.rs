//! Plain forms of values and keys ([`bellerophon_ring::wire`]).
//!
//! Whatever is uniform travels as a seed, all residues of a key as one run each modulo a prime. A
//! reader has the [`Params`] of the object and checks the form against them before it
//! takes memory: dimension, degree, moduli and engine, counts, ranges, and every residue.
//!
//! A blind-rotation key is hundreds of megabytes long. In one piece it is a form like the others
//! ([`RotationForm`]); in [parts](crate::SeededBlindRotationKey::parts) neither side holds more than one
//! part beside the key that is in use ([`BlindRotationKey::from_parts`](crate::BlindRotationKey::from_parts)).
//! The keys in use travel as what [`LookupKeys::compress`](crate::LookupKeys::compress) makes of them, or
//! in parts too ([`BlindRotationKey::parts`](crate::BlindRotationKey::parts)).

mod keys;
mod rotation;
#[cfg(test)]
mod tests;
mod values;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::Params;

pub use keys::{KeySwitchForm, LookupKeysForm};
pub use rotation::{EngineForm, RotationForm};
pub use values::{CiphertextForm, PublishedValuesForm, ValuesForm};

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`Ciphertext`](crate::Ciphertext).
    pub const CIPHERTEXT: u16 = 0x0301;
    /// [`Values`](crate::Values).
    pub const VALUES: u16 = 0x0302;
    /// [`SeededKeySwitchKey`](crate::SeededKeySwitchKey).
    pub const KEY_SWITCH_KEY: u16 = 0x0303;
    /// [`SeededBlindRotationKey`](crate::SeededBlindRotationKey).
    pub const BLIND_ROTATION_KEY: u16 = 0x0304;
    /// [`RotationPart`](crate::RotationPart).
    pub const ROTATION_PART: u16 = 0x0305;
    /// [`SeededLookupKeys`](crate::SeededLookupKeys).
    pub const LOOKUP_KEYS: u16 = 0x0306;
    /// [`PublishedValues`](crate::PublishedValues).
    pub const PUBLISHED_VALUES: u16 = 0x0307;
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}
