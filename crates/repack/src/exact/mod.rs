//! Exact plaintexts modulo any `t` on ring ciphertexts, and their packing by Algorithm 1: what
//! private look-up ([`crate::lookup`]) is made of.
//!
//! A plaintext is a polynomial `m` modulo `t`. It stands in a ciphertext as `round(Q m / t)`,
//! and decryption rounds `t phase / Q` (Fan and Vercauteren's scheme, no products of ciphertexts):
//! exact while noise, together with the error of the rounding, stays below `Q / 2t`. That error is at most half
//! in every coefficient and does not depend on how large `m` is (`floor(Q / t) m` would be off by up to
//! `t`, and a product with a factor by up to `N t^2 / 2`). Every ciphertext carries a bound on its noise
//! ([`NoiseBound`]), and what could make a coefficient wrong is refused; [`noise`] has the formulas.
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Params`], [`ParamsSpec`], [`KeyGadget`] | parameters, checked against the security tables |
//! | [`SecretKey`], [`PublicKey`] | encryption and decryption; encryptions of zero by anybody |
//! | [`Ciphertext`], [`SeededCiphertext`], [`Plaintext`] | sums, products with plaintexts, monomials |
//! | [`PackingKeys`], [`SeededPackingKeys`] | one key for each stage of Algorithm 1 |
//! | [`pack`], [`pack_in_batches`], [`pack_values`] | Algorithm 1 on ciphertexts, and on LWE values |
//! | [`NoiseBound`], [`noise`] | predicted variances, probability of failure |
//!
//! Automorphisms switch keys in one of two ways. Over one prime a mask is written in signed digits of
//! base `2^w`, the lowest bits rounded away ([`KeyGadget::Digits`]): the whole modulus is that of the
//! ciphertexts, which suits small rings. Over several primes there are special ones
//! ([`KeyGadget::Special`]) and the switch is that of [`bellerophon_mlwe`].

mod block;
mod bound;
mod ciphertext;
mod encrypt;
mod keys;
pub mod noise;
mod pack;
mod params;

pub(crate) use block::{Block, sum_of_products};
pub use bound::NoiseBound;
pub use ciphertext::{Ciphertext, Norms, Plaintext, SeededCiphertext};
pub(crate) use ciphertext::{LOG2_FAILURE, check_key};
pub(crate) use encrypt::same;
pub use encrypt::{PublicKey, SecretKey};
pub(crate) use keys::SeededKind;
pub use keys::{PackingKeys, SeededPackingKeys};
pub(crate) use pack::pack_leaves;
pub use pack::{pack, pack_in_batches, pack_values};
pub use params::{KeyGadget, Params, ParamsSpec};
pub(crate) use params::{MOST_PRIMES, Switching};

#[cfg(test)]
pub(crate) mod tests;
