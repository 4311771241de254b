//! The linear bridge: many LWE ciphertexts become one CKKS ciphertext by one plain matrix product.
//!
//! The values `m_i` are given as LWE ciphertexts `(b_i, a_i)` modulo `q` under a secret `s` of
//! dimension `n`: the outputs of look-up tables. Given `s` encrypted under CKKS, one plain matrix
//! product computes all phases at once (PEGASUS section III.C and Fig. 6, steps 8 to 10):
//!
//! ```text
//! A s + b = m + q k,       then EvalMod removes q k slot by slot.
//! ```
//!
//! | item | contents |
//! | --- | --- |
//! | [`Layout`] | which value goes to which slot |
//! | [`Tiling`], [`Matrix`] | Fig. 5, step 1: diagonals of "tall" and "short" matrices |
//! | [`linear_transform`] | Fig. 5 on ciphertexts: baby steps given, giant steps, sums of columns |
//! | [`SeededRepackKey`], [`RepackKey`] | the LWE secret under CKKS, in its baby-step rotations |
//! | [`repack()`] | the whole bridge: LWE ciphertexts in, one CKKS ciphertext out |
//! | [`partial_decryption`] | its first half, `A s + b` |
//! | [`noise`] | predicted noise of both |
//!
//! Cost for `n = 1024` and `G` baby steps: `n` products of a ciphertext with a plaintext and
//! `n / G - 1` rotations, for any number of values from `n` up. Fewer than `n` values take `l`
//! products, `l / G - 1` rotations between giant steps and `log2(n / l)` to sum up columns.

pub(crate) mod layout;
pub(crate) mod linear_repack;
pub mod noise;
mod products;
pub(crate) mod repack_key;
pub(crate) mod tall_diagonals;
mod transform;

pub use layout::Layout;
pub use linear_repack::{partial_decryption, repack};
pub use repack_key::{RepackKey, SeededRepackKey, rotation_steps};
pub use tall_diagonals::{Matrix, RowMajor, Tiling};
pub use transform::linear_transform;

#[cfg(test)]
mod tests;
