//! Byte forms of parameters, encrypted vectors and keys ([`bellerophon_ring::wire`]).
//!
//! Each type has a *plain form*, a struct that `serde` writes and that the reader checks before it
//! builds the type. [`EvaluationKeys`](crate::EvaluationKeys) have a form inside other keys only: a
//! set of its own is sent key by key in the forms of [`bellerophon_mlwe::wire`], so that neither
//! side holds it twice.

mod ciphertext;
mod keys;
mod params;
mod rank;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_rank;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

pub use ciphertext::{CiphertextForm, MetaForm, RangeForm, SeededCiphertextForm, StatedForm};
pub use keys::{EvaluationKeysForm, KeyLevelsForm};
pub use params::ParamsForm;
pub use rank::ReducingKeysForm;

use crate::params::Params;

/// Type numbers of serialized objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
/// Those of circuits are of the same range.
pub mod kind {
    /// [`Params`](crate::Params).
    pub const PARAMS: u16 = 0x0200;
    /// [`Ciphertext`](crate::Ciphertext).
    pub const CIPHERTEXT: u16 = 0x0201;
    /// [`SeededCiphertext`](crate::SeededCiphertext).
    pub const SEEDED_CIPHERTEXT: u16 = 0x0202;
    /// [`Published`](crate::Published).
    pub const PUBLISHED: u16 = 0x0204;
    /// [`Provided`](crate::Provided).
    pub const PROVIDED: u16 = 0x020b;
    /// [`RankReduction`](crate::RankReduction).
    pub const RANK_REDUCTION: u16 = 0x020c;
    /// [`RankConversion`](crate::RankConversion).
    pub const RANK_CONVERSION: u16 = 0x020d;
    /// [`RingSwitch`](crate::RingSwitch).
    pub const RING_SWITCH: u16 = 0x020e;
    /// [`ReducingKeys`](crate::ReducingKeys).
    pub const REDUCING_KEYS: u16 = 0x0210;
    /// [`KeyLevels`](crate::KeyLevels).
    pub const KEY_LEVELS: u16 = 0x0211;
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        self.lattice().fingerprint()
    }
}
