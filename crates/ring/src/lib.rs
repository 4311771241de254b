//! Negacyclic rings `R_Q = Z_Q[X] / (X^N + 1)` in residue number systems: the arithmetic under
//! lattice cryptography. This crate knows nothing of keys.
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`Modulus`], [`prime`] | one prime with its reduction constants; the search for primes |
//! | [`ntt`], [`backend`] | the number-theoretic transform; its kernels per instruction set |
//! | [`performance`] | what bounds each kernel, and how near it comes |
//! | [`Ring`], [`Poly`], [`Automorphism`] | an ordered list of primes; residue polynomials as plain data; `X -> X^g` |
//! | [`MonomialTable`] | `X^k` in NTT form; the inner loop of blind rotation |
//! | [`SubringMap`] | `R_N` as a module over `R_n`: components of polynomials in NTT form |
//! | [`BaseConverter`], [`ModDown`], [`rescale`] | changing the basis: Conv, ModUp, ModDown, division by the last prime |
//! | [`HybridGadget`], [`DigitGadget`] | RNS digits with special primes; signed base-`2^w` digits of one prime |
//! | [`Digits`], [`Rows`], [`Row`], [`Finish`], [`Addend`] | the inner product of a key switch, streamed limb by limb |
//! | [`wire`] | plain forms of what is stored and sent; packed residues |
//! | [`sample`] | uniform residues, also from a seed; secrets and noise in constant time |
//!
//! # Conventions
//! Residues are `u64` in `[0, q)`; lazier bounds are written `[0, 4q) -> [0, q)` where a kernel
//! takes them. A polynomial is limb-major; its level is its number of limbs less one. Position
//! `i` of a polynomial in NTT form is its value at `psi^e_i`, `e_i =` [`NttTable::exponents`]`[i]`.
#![deny(unsafe_code)]

mod addend;
pub mod aligned;
mod automorphism;
#[allow(unsafe_code)]
pub mod backend;
mod convert;
mod error;
mod gadget;
mod hybrid;
mod limb;
mod modulus;
mod monomial;
pub mod ntt;
mod par;
#[doc = include_str!("../docs/performance.md")]
pub mod performance {}
mod poly;
pub mod prime;
mod product;
mod ring;
mod row;
pub mod sample;
mod signed;
mod subring;
#[cfg(test)]
mod testing;
mod transform;
pub mod wire;

pub use addend::Addend;
pub use automorphism::Automorphism;
pub use backend::Backend;
pub use convert::{BaseConverter, ModDown, rescale};
pub use error::{Error, Result};
pub use gadget::DigitGadget;
pub use hybrid::HybridGadget;
pub use modulus::Modulus;
pub use monomial::MonomialTable;
pub use ntt::NttTable;
pub use poly::{Coeff, Domain, Ntt, Poly};
pub use product::{Digits, Finish, Rows};
pub use ring::Ring;
pub use row::Row;
pub use signed::SmallSum;
pub use subring::SubringMap;
pub use transform::{Factor, Rotated, Weighted};
