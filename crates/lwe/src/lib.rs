//! LWE values and look-up tables of any real function.
//!
//! An LWE value under a secret `s` of `n` small coefficients is `(b, a)` modulo `q`, with the
//! phase `b + <a, s>`: the message, scaled, plus noise. A look-up replaces the message `m` by
//! `f(m)` for any real function `f`: the phase is rounded to an index, a table of `f` is
//! rotated by that index with the secret encrypted, and the entry that comes to stand at
//! coefficient 0 is extracted.
//!
//! | module or type | what stands there |
//! | --- | --- |
//! | [`Params`], [`NtruSet`] | parameters, checked against the security tables; sets of the NTRU engine |
//! | [`SecretKey`], [`Ciphertext`], [`encrypt`], [`phase`] | secrets, values, encryption |
//! | [`extract`], [`switch_modulus`], [`Exponents`] | coefficients of ring ciphertexts as values; change of modulus |
//! | [`KeySwitchKey`] | change of secret and dimension (PEGASUS.KS, Fig. 9) |
//! | [`LookupTable`], [`TableDomain`] | test polynomials, and how reals are laid on their indices |
//! | [`rgsw`] | external products with a special modulus or with digits |
//! | [`ntru`] | external products of NTRU ciphertexts, automorphisms, the way out |
//! | [`paper`] | `pegasus-ntru` with its own way out of NTRU, to measure against |
//! | [`blind_rotate_batch`], [`BlindRotationKey`] | rotation by an encrypted index (Fig. 2), on either [`Engine`] |
//! | [`Evaluator`], [`LookupKeys`] | a look-up from end to end, and all keys that it needs |
//! | [`Values`], [`Encoding`], [`Room`] | values under the ring secret with range and noise; sums and multiples |
//! | [`Evaluator::map`], [`Output`] | tables of values, as many one after the other as one likes |
//! | [`Evaluator::maps`], [`Table`] | several functions from one rotation |
//! | [`Evaluator::max`], [`Evaluator::sort`], [`Network`], [`Evaluator::arg_max`] | functions of several values: comparison, sorting, the largest few, max-pooling, which one is the largest, choices |
//! | [`noise`] | predicted variances of all of these |
//! | [`wire`], [`RotationPart`] | plain forms of keys and values; large keys in parts |
//!
//! # Signs and rounding
//! Exponents count modulo `2N`, `N` the degree of the tables: index `k` in `[-N, N)` stands for
//! the phases nearest to `k q / 2N`. A table covers `-N/2 <= k < N/2`; past its ends a look-up
//! returns minus the other end, so domains keep a guard band inside.
#![forbid(unsafe_code)]

mod blind_rotate;
mod bootstrap;
mod ciphertext;
mod encoding;
mod encrypt;
mod error;
mod extract;
mod functions;
mod keys;
mod keyswitch;
mod lut;
mod map;
mod modswitch;
mod multi_value;
pub mod noise;
pub mod ntru;
pub mod paper;
mod par;
mod params;
mod progress;
mod publish;
pub mod rgsw;
mod samples;
mod secret;
mod sets;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod testing;
mod values;
pub mod wire;

pub use blind_rotate::{
    BlindRotationKey, RotationPart, SeededBlindRotationKey, blind_rotate_batch,
};
pub use bootstrap::Evaluator;
pub use ciphertext::Ciphertext;
pub use encoding::{Encoding, Output, Room};
pub use encrypt::{encrypt, phase};
pub use error::{Error, Result};
pub use extract::extract;
pub use functions::{Network, Order, check_pooling};
pub use keys::{LookupKeys, SeededLookupKeys};
pub use keyswitch::{KeySwitchKey, SeededKeySwitchKey};
pub use lut::{LookupTable, TableDomain};
pub use modswitch::{Exponents, switch_modulus};
pub use multi_value::Table;
pub use params::{Engine, NtruRotation, NtruSpec, Params, ParamsSpec, RgswGadget};
pub use progress::Observer;
pub use publish::PublishedValues;
pub use secret::SecretKey;
pub use sets::NtruSet;
pub use values::Values;
