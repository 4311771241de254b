//! Negacyclic rings `R_Q = Z_Q[X] / (X^N + 1)` in a residue number system (RNS): the arithmetic of
//! lattice cryptography. Keys and ciphertexts are in the crates above.
//!
//! | module | contents |
//! | --- | --- |
//! | [`Modulus`], [`prime`] | one prime with its reduction constants; the search for primes |
//! | [`ntt`], [`backend`] | the number-theoretic transform; its kernels per instruction set |
//! | [`Ring`], [`Poly`], [`PackedPoly`], [`Automorphism`] | bases; polynomials; `X -> X^g` |
//! | [`Gaussian`] | constants `a + b i`, with `X^(N/2)` as `i`; sums of rows times such constants |
//! | [`MonomialTable`] | `X^k` in NTT form, for the inner loop of blind rotation |
//! | [`SubringMap`] | `R_N` as a module over `R_n`: components of polynomials in NTT form |
//! | [`BaseConverter`], [`ModDown`], [`rescale`] | basis extension, mod-down, rescaling |
//! | [`HybridGadget`], [`DigitGadget`] | digits with special primes; signed base-`2^w` digits |
//! | [`Digits`], [`KeyRows`], [`Epilogue`], [`Addend`] | the inner product of a key switch |
//! | [`KeyDecomposition`], [`DecomposedRows`], [`GadgetKey`] | with key rows cut into digits |
//! | [`wire`] | serialized forms; bit-packed residues |
//! | [`sample`] | uniform residues, also from a seed; secrets and errors in constant time |
//!
//! # Conventions
//! Residues are `u64` in `[0, q)`. A kernel that accepts a wider range says so, in the form
//! `[0, 4q) -> [0, q)`. A polynomial is stored limb by limb; its level is its number of limbs less
//! one. Position `i` of a polynomial in NTT form is its value at `psi^e_i`, with `e_i =`
//! [`NttTable::exponents`]`[i]`.

// The words of this crate for memory, one meaning each:
// - limb: a polynomial modulo one prime;
// - row: one of several polynomials, or limbs, that a sum or a conversion reads;
// - line: 8 words, a cache line; lane: the position in a line;
// - tile: 64 words, 8 lines that are transposed together;
// - piece: the words of a limb in which a transform is finished, within the first-level cache;
// - burst: 8 lines of a row, as the first pass of a transform reads them;
// - block: a burst of each row of a base conversion, one after the other;
// - strand: one of the equal shares of a row that the first pass reads side by side;
// - part: some of the products of a sum, whose result the next part resumes;
// - permutation: the positions of the values of a limb under an automorphism.
#![deny(unsafe_code)]

pub mod aligned;
mod automorphism;
#[allow(unsafe_code)]
pub mod backend;
mod basis_extension;
mod decimal;
#[doc(hidden)]
pub mod error;
mod gadget;
mod gaussian;
mod modulus;
mod monomial;
pub mod ntt;
mod packed_poly;
mod par;
mod poly;
mod primality;
pub mod prime;
mod rescaling;
mod ring;
pub mod sample;
mod small_poly;
mod sort_order;
mod subring;
mod ternary_product;
#[cfg(test)]
mod testing;
mod vec_ops;
mod weighted_sums;
pub mod wire;

pub use automorphism::Automorphism;
pub use backend::Backend;
pub use basis_extension::{BaseConverter, ModDown};
pub use decimal::decimal;
pub use error::During;
#[doc(hidden)]
pub use error::refusal;
pub use error::{Error, ErrorKind, Result};
pub use gadget::{
    Addend, DecomposedRows, DigitGadget, Digits, Epilogue, GadgetKey, HybridGadget,
    KeyDecomposition, KeyRows, Rotated,
};
pub use gaussian::Gaussian;
pub use modulus::Modulus;
pub use monomial::MonomialTable;
pub use ntt::NttTable;
pub use packed_poly::PackedPoly;
pub use par::{each_chunk, each_item, join, map_items, threads, try_map};
pub use poly::{Coeff, Domain, Ntt, Poly};
pub use rescaling::rescale;
pub use ring::Ring;
pub use small_poly::SmallProductSum;
pub use sort_order::SortOrder;
pub use subring::SubringMap;
pub use weighted_sums::{Factor, Weighted};
