//! Ring packing: many LWE ciphertexts become one CKKS ciphertext; the bridges between CKKS slots
//! and LWE values; and look-ups of slot vectors over them.
//!
//! The values `m_i` are given as LWE ciphertexts `(b_i, a_i)` modulo `q` under a secret `s` of
//! dimension `n`: the outputs of look-up tables. Given `s` encrypted under CKKS, one plain matrix
//! product computes all phases at once (PEGASUS section III.C and Fig. 6, steps 8 to 10):
//!
//! ```text
//! A s + b = m + q k,       then EvalMod removes q k slot by slot.
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`Layout`] | which value goes to which slot |
//! | [`Tiling`], [`Matrix`] | Fig. 5, step 1: diagonals of "tall" and "short" matrices |
//! | [`linear_transform`] | Fig. 5 on ciphertexts: baby steps given, giant steps, sums of columns |
//! | [`SeededRepackKey`], [`RepackKey`] | the LWE secret under CKKS, in its baby-step rotations |
//! | [`repack()`] | the whole linear bridge: LWE ciphertexts in, one CKKS ciphertext out |
//! | [`partial_decryption`] | its first half, `A s + b` |
//! | [`noise`] | predicted noise of both |
//!
//! Values under the secret of a ring of small degree `n'` are packed in that ring by automorphisms.
//! Half of a bootstrapping then moves them to the slots:
//!
//! | module | contents |
//! | --- | --- |
//! | [`pack_rows`], [`pack_values`] | many ring ciphertexts, or LWE values, as one ring ciphertext |
//! | [`mod@ring_packing`] | the same algorithm in parts, for schemes with ciphertexts of their own |
//! | [`ModulePacking`] | the same for LWE values through modules of a middle rank, for comparison |
//! | [`RingBridge`], [`RingBridgeKeys`] | slots to LWE values under a small ring, and back |
//! | [`wire`] | plain forms of the keys of both bridges |
//!
//! On both bridges rest the functions of slot vectors:
//!
//! | module | contents |
//! | --- | --- |
//! | [`lookup`] | parameters, keys and evaluation of look-ups: any function of every value |
//! | [`planner`] | which engine applies a function: polynomials, functional bootstrapping or look-ups |
//!
//! Cost of the ring bridge for `l` values: about `l` automorphisms in the small ring
//! ([`row_packing_noise`] has their noise), two matrices of CoeffsToSlots at the highest levels and
//! the reduction. Cost of the linear bridge for `n = 1024` and `G` baby steps: `n` products of a
//! ciphertext with a plaintext and `n / G - 1` rotations, for any number of values from `n` up.
//! Fewer than `n` values take `l` products, `l / G - 1` rotations between giant steps and
//! `log2(n / l)` to sum up columns.
#![forbid(unsafe_code)]

mod bridge;
#[doc(hidden)]
pub mod error;
mod key;
mod layout;
mod linear_repack;
pub mod lookup;
mod module;
pub mod noise;
pub mod planner;
mod products;
pub mod ring_packing;
mod tall_diagonals;
mod transform;
pub mod wire;

pub(crate) use bellerophon_ring::During;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use bridge::{Reduction, RingBridge, RingBridgeKeys, RingBridgeSpec};
pub use key::{RepackKey, SeededRepackKey, rotation_steps};
pub use layout::Layout;
pub use linear_repack::{partial_decryption, repack};
pub use module::{ModulePacking, ModulePackingKeys, SeededModulePackingKeys};
pub(crate) use ring_packing::packed_values_noise;
pub use ring_packing::{
    pack_rows, pack_values, row_packing_exponents, row_packing_keys, row_packing_noise,
};
pub use tall_diagonals::{Matrix, RowMajor, Tiling};
pub use transform::linear_transform;

#[cfg(test)]
mod tests;
