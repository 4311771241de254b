//! Plain forms of the keys of both bridges ([`bellerophon_ring::wire`]).
//!
//! All bodies of a key are one run of packed residues; all masks are seeds. A reader has the
//! parameters, or the bridge, and checks the form against them before it allocates memory.

mod bridge;
mod lut;
mod repack;
mod seeds;
#[cfg(test)]
mod tests;

use bellerophon_ring::wire::{Fingerprint, Fingerprinted};

use crate::RingBridge;

pub use bridge::RingBridgeKeysForm;
pub use lut::LutForm;
pub use repack::RepackKeyForm;
pub use seeds::Seeds;

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`SeededRepackKey`](crate::SeededRepackKey).
    pub const REPACK_KEY: u16 = 0x0401;
    /// [`RingBridgeKeys`](crate::RingBridgeKeys).
    pub const RING_BRIDGE_KEYS: u16 = 0x0402;
}

impl Fingerprinted for RingBridge {
    fn fingerprint(&self) -> Fingerprint {
        let rings = [self.ring(), self.sparse_ring()].map(|ring| ring.fingerprint());
        let prints = [self.slots().fingerprint(), rings[0], rings[1]];
        let bytes = prints.map(|print| *print.as_bytes()).concat();
        Fingerprint::of_bytes("bellerophon 2026-11-24 parameters of a ring bridge", &bytes)
    }
}
