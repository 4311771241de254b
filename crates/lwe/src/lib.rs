//! LWE ciphertexts and programmable bootstrapping (PBS) of any real function.
//!
//! An LWE ciphertext under a secret `s` of `n` small coefficients is a pair `(b, a)` modulo `q`.
//! Its phase `b + <a, s>` is the scaled message plus noise. Programmable bootstrapping (table
//! look-up) replaces the message `m` by `f(m)`: the modulus switch to `2N` rounds the phase to an
//! index, blind rotation multiplies the test polynomial of `f` by `X^index` under encryption, and
//! sample extraction returns coefficient 0, the entry at that index.
//!
//! | module or type | contents |
//! | --- | --- |
//! | [`Params`], [`NtruSet`] | parameters, checked for security; sets of the NTRU engine |
//! | [`SecretKey`], [`Ciphertext`], [`encrypt`], [`phase`] | secrets, ciphertexts, encryption |
//! | [`sample_extract`], [`switch_modulus`], [`Mod2NCiphertext`] | from ring to LWE; moduli |
//! | [`KeySwitchKey`] | key switch: change of secret and dimension (PEGASUS.KS, Fig. 9) |
//! | [`TestPolynomial`], [`TableDomain`] | test polynomials; from reals to indices |
//! | [`rgsw`], [`external_product`] | RGSW, with a special modulus or with digits |
//! | [`Engine::Ntru`], [`NtruSpec`] | NTRU ciphertexts and the key switch to RLWE |
//! | [`paper`] | `pegasus-ntru`, as a baseline |
//! | [`blind_rotate_batch`], [`BlindRotationKey`] | blind rotation (Fig. 2), on either [`Engine`] |
//! | [`Evaluator`], [`LookupKeys`] | programmable bootstrapping, and all keys that it needs |
//! | [`LweVec`], [`Encoding`], [`Headroom`] | vectors with range and noise; sums and multiples |
//! | [`Evaluator::map`], [`Evaluator::maps`], [`OutputEncoding`] | table look-up on vectors |
//! | [`Evaluator::max`], [`Network`], [`SortOrder`] | functions of several values |
//! | [`noise`]; [`wire`] | predicted variances; serialized forms, of large keys in parts |
//!
//! # Signs and rounding
//! A [`Mod2NCiphertext`] has its coefficients modulo `2N`, where `N` is the degree of the test
//! polynomials (`n'` in the crates above). Index `k` in `[-N, N)` represents the phases nearest to
//! `k q / 2N`. A test polynomial covers `-N/2 <= k < N/2`. Past either end a look-up returns the
//! negated entry of the other end, so domains keep a guard band inside.
#![forbid(unsafe_code)]

mod blind_rotate;
mod ciphertext;
mod encoding;
mod encrypt;
mod engine;
#[doc(hidden)]
pub mod error;
pub mod external_product;
mod functions;
mod keys;
mod keyswitch;
mod lwe_vec;
mod map;
mod modulus_switching;
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
mod sample_extraction;
mod secret;
#[cfg(test)]
mod silence;
mod tabulate;
mod test_polynomial;
#[cfg(test)]
mod testing;
pub mod wire;

pub use bellerophon_ring::{Error, ErrorKind, Result, SortOrder};
pub use blind_rotate::{
    BlindRotationKey, RotationPart, SeededBlindRotationKey, blind_rotate_batch,
};
pub use ciphertext::Ciphertext;
pub use encoding::{Encoding, Headroom, OutputEncoding};
pub use encrypt::{encrypt, phase};
pub use engine::{Engine, NtruRotation, NtruSpec, RgswGadget};
pub use functions::{Network, check_pooling};
pub use keys::{LookupKeys, SeededLookupKeys};
pub use keyswitch::{KeySwitchKey, SeededKeySwitchKey};
pub use lwe_vec::{Deviation, LweMeta, LweVec};
pub use modulus_switching::{Mod2NCiphertext, switch_modulus};
pub use multi_value::EncodedFunction;
pub use params::{Params, ParamsSpec};
pub use pbs::Evaluator;
pub use presets::NtruSet;
pub use progress::Observer;
pub use publish::PublishedValues;
pub use sample_extraction::sample_extract;
pub use secret::SecretKey;
pub use test_polynomial::{TableDomain, TestPolynomial};
