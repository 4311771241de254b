//! Plain forms of the keys of both bridges ([`bellerophon_ring::wire`]).
//!
//! All bodies of a key are one run of packed residues; all masks are seeds. A reader has the
//! parameters, or the bridge, and checks the form against them before it allocates memory.

mod bridge;
pub mod kind;
mod lut;
mod repack;
#[cfg(test)]
mod tests;

pub use bridge::RingBridgeKeysForm;
pub use lut::LutForm;
pub use repack::RepackKeyForm;
