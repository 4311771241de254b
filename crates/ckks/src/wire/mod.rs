//! Plain forms of parameters, encrypted vectors and keys ([`bellerophon_ring::wire`]).
//!
//! Evaluation keys have no form of their own: they travel one by one, each as what
//! [`bellerophon_mlwe::wire`] says, so that nobody has to hold a set of them twice.

mod bootstrap;
mod ciphertext;
mod params;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::{Params, bootstrap::Bootstrapper};

pub use bootstrap::{BootstrapForm, BootstrapKeysForm};
pub use ciphertext::{CiphertextForm, MetaForm, PublishedForm, SeededCiphertextForm};
pub use params::ParamsForm;

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
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
}

impl Fingerprinted for Params {
    fn fingerprint(&self) -> Fingerprint {
        Params::fingerprint(self)
    }
}

impl Fingerprinted for Bootstrapper {
    fn fingerprint(&self) -> Fingerprint {
        self.params().fingerprint()
    }
}
