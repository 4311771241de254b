//! Negacyclic rings `R_Q = Z_Q[X] / (X^N + 1)` in a residue number system (RNS): the arithmetic of
//! lattice cryptography. Keys and ciphertexts are in the crates above.
//!
//! | module | contents |
//! | --- | --- |
//! | [`Modulus`], [`prime`] | one prime with its reduction constants; the search for primes |
//! | [`ntt`], [`backend`] | the number-theoretic transform; its kernels per instruction set |
//! | [`Ring`], [`Poly`], [`Automorphism`] | an ordered list of primes; residue polynomials as plain data; `X -> X^g` |
//! | [`Gaussian`] | constants `a + b i`, with `X^(N/2)` as `i`; sums of rows times such constants |
//! | [`MonomialTable`] | `X^k` in NTT form, for the inner loop of blind rotation |
//! | [`SubringMap`] | `R_N` as a module over `R_n`: components of polynomials in NTT form |
//! | [`BaseConverter`], [`ModDown`], [`rescale`] | basis extension: Conv, ModUp, mod-down, division by the last prime |
//! | [`HybridGadget`], [`DigitGadget`] | RNS digits with special primes; signed base-`2^w` digits of one prime |
//! | [`Digits`], [`KeyRows`], [`PackedPoly`], [`Epilogue`], [`Addend`] | the inner product of a key switch, evaluated limb by limb |
//! | [`KeyDecomposition`], [`DecomposedRows`], [`GadgetKey`] | the same with key rows that are cut into digits too |
//! | [`wire`] | serialized forms; bit-packed residues |
//! | [`sample`] | uniform residues, also from a seed; secrets and errors in constant time |
//!
//! # Conventions
//! Residues are `u64` in `[0, q)`. A kernel that accepts a wider range says so, in the form
//! `[0, 4q) -> [0, q)`. A polynomial is stored limb by limb; its level is its number of limbs less
//! one. Position `i` of a polynomial in NTT form is its value at `psi^e_i`, with `e_i =`
//! [`NttTable::exponents`]`[i]`.
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
mod ring;
pub mod sample;
mod small_poly;
mod subring;
mod ternary_product;
#[cfg(test)]
mod testing;
mod vec_ops;
mod weighted_sums;
pub mod wire;

pub use automorphism::Automorphism;
pub use backend::Backend;
pub use basis_extension::{BaseConverter, ModDown, rescale};
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
pub use ring::Ring;
pub use small_poly::SmallProductSum;
pub use subring::SubringMap;
pub use weighted_sums::{Factor, Weighted};
