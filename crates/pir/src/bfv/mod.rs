//! The exact scheme under private look-up: plaintexts modulo any `t` in ring ciphertexts, and their
//! packing by Algorithm 1.
//!
//! A plaintext is a polynomial `m` modulo `t`. A ciphertext encrypts it as `round(Q m / t)`, and
//! decryption rounds `t phase / Q` (the scheme of Fan and Vercauteren, without products of
//! ciphertexts). Decryption is exact while the noise and the rounding error together stay below
//! `Q / 2t`. The rounding error is at most one half in every coefficient, for any `m`. (An encoding
//! as `floor(Q / t) m` would be off by up to `t`, and its product with a factor by up to
//! `N t^2 / 2`.) Every ciphertext carries a bound on its noise ([`NoiseBound`]). An operation that
//! could make a coefficient wrong is refused.
//!
//! | item | contents |
//! | --- | --- |
//! | [`Params`], [`ParamsSpec`], [`KeyGadget`] | parameters, checked against the security tables |
//! | [`SecretKey`], [`PublicKey`] | encryption and decryption; public encryptions of zero |
//! | [`Ciphertext`], [`SeededCiphertext`], [`Plaintext`] | sums, products with plaintexts, monomials |
//! | [`PackingKeys`], [`SeededPackingKeys`] | one key for each stage of Algorithm 1 |
//! | [`pack`], [`pack_values`] | Algorithm 1 on ciphertexts, and on LWE values |
//! | [`NoiseBound`] | predicted variances, probability of failure |
//!
//! The key switch of an automorphism has one of two gadgets. Over one prime, a mask is decomposed
//! into signed digits of base `2^w` and its lowest bits are rounded away ([`KeyGadget::Digits`]):
//! the whole modulus belongs to the ciphertexts, which suits small rings. Over several primes, the
//! gadget has special primes ([`KeyGadget::Special`]) and the key switch is that of
//! [`bellerophon_mlwe`].

mod block;
mod ciphertext;
mod encrypt;
mod keys;
pub(crate) mod noise;
mod noise_bound;
mod pack;
mod params;
mod plaintext;

pub(crate) use block::{Block, sum_of_products};
pub(crate) use ciphertext::check_key;
pub use ciphertext::{Ciphertext, SeededCiphertext};
pub(crate) use encrypt::same;
pub use encrypt::{PublicKey, SecretKey};
pub(crate) use keys::SeededKind;
pub use keys::{PackingKeys, SeededPackingKeys};
pub(crate) use noise_bound::LOG2_FAILURE;
pub use noise_bound::NoiseBound;
pub(crate) use pack::pack_leaves;
pub use pack::{pack, pack_values};
pub use params::{KeyGadget, Params, ParamsSpec};
pub(crate) use params::{MOST_PRIMES, Switching};
pub use plaintext::{Norms, Plaintext};

#[cfg(test)]
pub(crate) mod tests;
