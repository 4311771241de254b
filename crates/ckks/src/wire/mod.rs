//! Byte forms of parameters, encrypted vectors and keys ([`bellerophon_ring::wire`]).
//!
//! Each type has a *plain form*, a struct that `serde` writes and that the reader checks before it
//! builds the type. [`EvaluationKeys`](crate::EvaluationKeys) have a form inside other keys only: a
//! set of its own is sent key by key in the forms of [`bellerophon_mlwe::wire`], so that neither
//! side holds it twice.

mod bootstrap;
mod ciphertext;
mod fbt;
mod keys;
mod params;
mod rank;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_fbt;
#[cfg(test)]
mod tests_rank;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::{
    Params,
    bootstrap::{Bootstrapper, Raising},
};

pub use bootstrap::{BootstrapForm, BootstrapKeysForm};
pub use ciphertext::{CiphertextForm, MetaForm, ProvidedForm, PublishedForm, SeededCiphertextForm};
pub use fbt::{
    FbtForm, IntegersForm, PairedForm, ProvidedIntegersForm, PublishedIntegersForm,
    PublishedPairedForm, SeededIntegersForm,
};
pub use keys::{EvaluationKeysForm, KeyLevelsForm};
pub use params::ParamsForm;
pub use rank::{RankBootstrapForm, ReducingKeysForm};

/// Type numbers of serialized objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`Params`](crate::Params).
    pub const PARAMS: u16 = 0x0200;
    /// [`Ciphertext`](crate::Ciphertext).
    pub const CIPHERTEXT: u16 = 0x0201;
    /// [`SeededCiphertext`](crate::SeededCiphertext).
    pub const SEEDED_CIPHERTEXT: u16 = 0x0202;
    /// [`BootstrapKeys`](crate::bootstrap::BootstrapKeys).
    pub const BOOTSTRAP_KEYS: u16 = 0x0203;
    /// [`Published`](crate::Published).
    pub const PUBLISHED: u16 = 0x0204;
    /// [`PairedVec`](crate::fbt::PairedVec).
    pub const PAIRED: u16 = 0x0205;
    /// [`SeededPairedVec`](crate::fbt::SeededPairedVec).
    pub const SEEDED_PAIRED: u16 = 0x0206;
    /// [`PublishedPaired`](crate::fbt::PublishedPaired).
    pub const PUBLISHED_PAIRED: u16 = 0x0207;
    /// [`IntVec`](crate::fbt::IntVec).
    pub const INTEGERS: u16 = 0x0208;
    /// [`SeededIntVec`](crate::fbt::SeededIntVec).
    pub const SEEDED_INTEGERS: u16 = 0x0209;
    /// [`PublishedIntegers`](crate::fbt::PublishedIntegers).
    pub const PUBLISHED_INTEGERS: u16 = 0x020a;
    /// [`Provided`](crate::Provided).
    pub const PROVIDED: u16 = 0x020b;
    /// [`ProvidedIntegers`](crate::fbt::ProvidedIntegers).
    pub const PROVIDED_INTEGERS: u16 = 0x0212;
    /// [`RankReduction`](crate::RankReduction).
    pub const RANK_REDUCTION: u16 = 0x020c;
    /// [`RankConversion`](crate::RankConversion).
    pub const RANK_CONVERSION: u16 = 0x020d;
    /// [`RingSwitch`](crate::RingSwitch).
    pub const RING_SWITCH: u16 = 0x020e;
    /// [`RankBootstrap`](crate::RankBootstrap).
    pub const RANK_BOOTSTRAP: u16 = 0x020f;
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

impl Fingerprinted for Bootstrapper {
    fn fingerprint(&self) -> Fingerprint {
        self.params().fingerprint()
    }
}

impl Fingerprinted for Raising {
    fn fingerprint(&self) -> Fingerprint {
        self.params().fingerprint()
    }
}
