//! Serialized forms of values and keys ([`bellerophon_ring::wire`]).
//!
//! Uniform polynomials are stored as seeds, and all residues of a key modulo one prime as one
//! packed run. The reader has the [`Params`] of the object and checks the form against them before
//! it allocates memory: dimension, degree, moduli and engine, counts, ranges, and every residue.
//!
//! A blind-rotation key takes hundreds of megabytes. In one piece it is a form like the others
//! ([`RotationForm`]). In [parts](crate::SeededBlindRotationKey::parts) neither sender nor receiver
//! holds more than one part in addition to the expanded key
//! ([`BlindRotationKey::from_parts`](crate::BlindRotationKey::from_parts)). Expanded keys are
//! compressed first ([`LookupKeys::compress`](crate::LookupKeys::compress)), or written in parts
//! ([`BlindRotationKey::parts`](crate::BlindRotationKey::parts)).
//!
//! | module | contents |
//! | --- | --- |
//! | `lwe_vec` | LWE ciphertexts, vectors, published values |
//! | `keys` | key-switching keys, look-up keys |
//! | `rotation` | blind-rotation keys and their parts |

mod keys;
mod lwe_vec;
mod params;
mod rotation;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

pub use keys::{KeySwitchForm, LookupKeysForm};
pub use lwe_vec::{CiphertextForm, PublishedValuesForm, ValuesForm};
pub use params::ParamsForm;
pub use rotation::{EngineForm, RotationForm};

use crate::params::Params;

/// Numbers that identify the types of objects; see
/// [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`Ciphertext`](crate::Ciphertext).
    pub const CIPHERTEXT: u16 = 0x0301;
    /// [`LweVec`](crate::LweVec).
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
