//! Byte forms of bootstrap specifications and keys, and the vectors of functional bootstrapping
//! ([`bellerophon_ring::wire`]).

mod bootstrap;
mod fbt;
mod rank_bootstrap;
#[cfg(test)]
mod tests_bootstrap;
#[cfg(test)]
mod tests_fbt;
pub(crate) mod word;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};
pub use bootstrap::BootstrapKeysForm;
pub use fbt::{IntegersForm, PairedForm, SeededIntegersForm};
pub use rank_bootstrap::RankBootstrapForm;

use crate::bootstrap::{Bootstrapper, Raising};

/// Type numbers of serialized objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
/// Those of the scheme are in the same range.
pub mod kind {
    /// [`BootstrapKeys`](crate::bootstrap::BootstrapKeys).
    pub const BOOTSTRAP_KEYS: u16 = 0x0203;
    /// [`PairedVec`](crate::fbt::PairedVec).
    pub const PAIRED: u16 = 0x0205;
    /// [`SeededPairedVec`](crate::fbt::SeededPairedVec).
    pub const SEEDED_PAIRED: u16 = 0x0206;
    /// [`Published`](bellerophon_ckks::Published) of [`PairedVec`](crate::fbt::PairedVec).
    pub const PUBLISHED_PAIRED: u16 = 0x0207;
    /// [`IntVec`](crate::fbt::IntVec).
    pub const INTEGERS: u16 = 0x0208;
    /// [`SeededIntVec`](crate::fbt::SeededIntVec).
    pub const SEEDED_INTEGERS: u16 = 0x0209;
    /// [`Published`](bellerophon_ckks::Published) of [`IntVec`](crate::fbt::IntVec).
    pub const PUBLISHED_INTEGERS: u16 = 0x020a;
    /// [`Provided`](bellerophon_ckks::Provided) of [`IntVec`](crate::fbt::IntVec).
    pub const PROVIDED_INTEGERS: u16 = 0x0212;
    /// [`RankBootstrap`](crate::rank_bootstrap::RankBootstrap).
    pub const RANK_BOOTSTRAP: u16 = 0x020f;
}

impl Fingerprinted for Bootstrapper {
    fn fingerprint(&self) -> Fingerprint {
        self.params().fingerprint()
    }
}

impl Fingerprinted for Raising {
    fn fingerprint(&self) -> Fingerprint {
        self.params.fingerprint()
    }
}
