//! LWE ciphertexts and programmable bootstrapping (PBS) of any real function.
//!
//! An LWE ciphertext under a secret `s` of `n` small coefficients is a pair `(b, a)` modulo `q`.
//! Its phase `b + <a, s>` is the scaled message plus noise. Programmable bootstrapping, also called
//! table look-up, replaces the message `m` by `f(m)` for any real function `f`:
//!
//! 1. The modulus switch to `2N` rounds the phase to an index.
//! 2. Blind rotation multiplies the test polynomial of `f` by `X^index` under encryption.
//! 3. Sample extraction returns coefficient 0, which holds the entry at that index.
//!
//! | module or type | contents |
//! | --- | --- |
//! | [`Params`], [`NtruSet`] | parameters, checked against the security tables; sets of the NTRU engine |
//! | [`SecretKey`], [`Ciphertext`], [`encrypt`], [`phase`] | secrets, ciphertexts, encryption |
//! | [`sample_extract`], [`switch_modulus`], [`Mod2NCiphertext`] | sample extraction from ring ciphertexts; modulus switch |
//! | [`KeySwitchKey`] | key switch: change of secret and dimension (PEGASUS.KS, Fig. 9) |
//! | [`TestPolynomial`], [`TableDomain`] | test polynomials, and the map between reals and their indices |
//! | [`rgsw`] | external products with a special modulus or with digits |
//! | [`Engine::Ntru`], [`NtruSpec`] | external products of NTRU ciphertexts, automorphisms, the key switch from NTRU to RLWE |
//! | [`paper`] | `pegasus-ntru` with its own conversion from NTRU to LWE, as a baseline |
//! | [`blind_rotate_batch`], [`BlindRotationKey`] | blind rotation (Fig. 2), on either [`Engine`] |
//! | [`Evaluator`], [`LookupKeys`] | programmable bootstrapping, and all keys that it needs |
//! | [`LweVec`], [`Encoding`], [`Headroom`] | vectors under the ring secret with range and noise; sums and multiples |
//! | [`Evaluator::map`], [`OutputEncoding`] | table look-up on vectors, chained without limit |
//! | [`Evaluator::maps`], [`Table`] | several functions from one blind rotation |
//! | [`Evaluator::max`], [`Evaluator::sort`], [`Network`], [`Evaluator::arg_max`] | functions of several values: comparison, sorting, top-k, max-pooling, argmax, selection |
//! | [`noise`] | predicted variances of all of these |
//! | [`wire`], [`RotationPart`] | serialized forms of keys and values; large keys in parts |
//!
//! # Signs and rounding
//! A [`Mod2NCiphertext`] has its coefficients modulo `2N`, where `N` is the degree of the test
//! polynomials. (The crates above, which also have a ring of slots, write `n'` for it.) Index `k`
//! in `[-N, N)` represents the phases nearest to `k q / 2N`. A test polynomial covers
//! `-N/2 <= k < N/2`. Past either end a look-up returns the negated entry of the other end, so
//! domains keep a guard band inside.
#![forbid(unsafe_code)]

mod blind_rotate;
mod ciphertext;
mod encoding;
mod encrypt;
mod engine;
#[doc(hidden)]
pub mod error;
mod functions;
mod keys;
mod keyswitch;
mod lwe_vec;
mod map;
mod modswitch;
mod multi_value;
pub mod noise;
mod ntru;
pub mod paper;
mod params;
mod pbs;
mod presets;
mod progress;
mod publish;
pub mod rgsw;
mod sample_extract;
mod secret;
#[cfg(test)]
mod silence;
mod tabulate;
mod test_polynomial;
#[cfg(test)]
mod testing;
pub mod wire;

pub(crate) use bellerophon_ring::During;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use blind_rotate::{
    BlindRotationKey, RotationPart, SeededBlindRotationKey, blind_rotate_batch,
};
pub use ciphertext::Ciphertext;
pub use encoding::{Encoding, Headroom, OutputEncoding};
pub use encrypt::{encrypt, phase};
pub use engine::{Engine, NtruRotation, NtruSpec, RgswGadget};
pub use functions::{Network, Order, check_pooling};
pub use keys::{LookupKeys, SeededLookupKeys};
pub use keyswitch::{KeySwitchKey, SeededKeySwitchKey};
pub use lwe_vec::{Deviation, LweMeta, LweVec};
pub use modswitch::{Mod2NCiphertext, switch_modulus};
pub use multi_value::Table;
pub use params::{Params, ParamsSpec};
pub use pbs::Evaluator;
pub use presets::NtruSet;
pub use progress::Observer;
pub use publish::PublishedValues;
pub use sample_extract::sample_extract;
pub use secret::SecretKey;
pub use test_polynomial::{TableDomain, TestPolynomial};
