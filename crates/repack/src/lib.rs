//! Repacking: many LWE ciphertexts become one CKKS ciphertext, and the way from there to them.
//!
//! The values `m_i` stand in LWE ciphertexts `(b_i, a_i)` modulo `q` under a secret `s` of dimension
//! `n`, as look-up tables leave them. Given `s` encrypted under CKKS, one plain matrix product
//! computes all phases at once (PEGASUS section III.C and Fig. 6, steps 8 to 10):
//!
//! ```text
//! A s + b = m + q k,       then F_mod removes q k slot by slot.
//! ```
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`Layout`] | which value goes to which slot |
//! | [`Tiling`], [`Matrix`] | Fig. 5, step 1: diagonals of "tall" and "short" matrices |
//! | [`linear_transform`] | Fig. 5 on ciphertexts: baby steps given, giant steps, sums of columns |
//! | [`SeededRepackKey`], [`RepackKey`] | the LWE secret under CKKS, in its baby-step rotations |
//! | [`repack()`] | all of it: LWE ciphertexts in, one CKKS ciphertext out |
//! | [`partial_decryption`] | its first half, `A s + b` |
//! | [`noise`] | predicted noise of each |
//!
//! Where the values stand under the secret of a ring of small degree `n'`, they are packed there by
//! automorphisms, and half of a bootstrapping brings them to the slots:
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`pack_rows`], [`pack_values`] | many ring ciphertexts, or LWE values, as one ring ciphertext |
//! | [`ModulePacking`] | the same for LWE values through modules of a middle rank, for comparison |
//! | [`RingBridge`], [`RingBridgeKeys`] | the way down to LWE values under a small ring, and the way up |
//!
//! The same packing answers private look-ups: a server evaluates any table at encrypted points.
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`exact`] | plaintexts modulo `t` on ring ciphertexts, and their packing |
//! | [`lookup`] | client and server of private look-up in large domains |
//! | [`wire`] | plain forms of the keys of both bridges |
//!
//! Cost of packing `l` values and of the rest of the way: about `l` automorphisms in the small ring
//! ([`row_packing_noise`] has their noise), two matrices of C2S at the highest levels and the
//! reduction. Cost of the first way, for `n = 1024` and `G` baby steps: `n` products of a ciphertext with a plaintext, and
//! `n / G - 1` rotations, whatever the number of values from `n` up; below that `l` products,
//! `l / G - 1` rotations between giant steps and `log2(n / l)` to sum up columns.
#![forbid(unsafe_code)]

mod bridge;
mod error;
pub mod exact;
mod key;
mod layout;
pub mod lookup;
mod lwe;
mod module;
pub mod noise;
mod par;
mod products;
mod rows;
mod tiling;
mod transform;
pub mod wire;

pub use bridge::{Reduction, RingBridge, RingBridgeKeys, RingBridgeSpec};
pub use error::{Error, Result};
pub use key::{RepackKey, SeededRepackKey, rotation_steps};
pub use layout::Layout;
pub use lwe::{partial_decryption, repack};
pub use module::{ModulePacking, ModulePackingKeys, SeededModulePackingKeys};
pub use rows::{
    pack_rows, pack_rows_in_batches, pack_values, pack_values_in_batches, packed_values_noise,
    row_packing_exponents, row_packing_keys, row_packing_noise,
};
pub use tiling::{Matrix, RowMajor, Tiling};
pub use transform::linear_transform;

#[cfg(test)]
mod tests;
