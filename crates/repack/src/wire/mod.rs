//! Plain forms of the keys of either bridge ([`bellerophon_ring::wire`]).
//!
//! All bodies of a key are one run of packed residues, all masks seeds. A reader has the parameters, or
//! the bridge, and checks the form against them before it takes memory.

mod bridge;
mod repack;
mod seeds;
#[cfg(test)]
mod tests;

pub use bridge::RingBridgeKeysForm;
pub use repack::RepackKeyForm;
pub use seeds::Seeds;

/// Numbers of the types of objects; see [`Wire::KIND`](bellerophon_ring::wire::Wire::KIND).
pub mod kind {
    /// [`SeededRepackKey`](crate::SeededRepackKey).
    pub const REPACK_KEY: u16 = 0x0401;
    /// [`RingBridgeKeys`](crate::RingBridgeKeys).
    pub const RING_BRIDGE_KEYS: u16 = 0x0402;
}
