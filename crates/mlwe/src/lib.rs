//! Module-LWE of any rank over `R = Z[X] / (X^N + 1)`; rank 1 is RLWE. The crate holds secrets,
//! ciphertexts, keys and one generalised key switch from `R^r1` to `R^r2`. Relinearization,
//! automorphisms and changes of rank all call this key switch.
//!
//! | module | contents |
//! | --- | --- |
//! | [`security`] | tables of the lattice estimator and the rules that read them |
//! | [`Params`], [`ParamsSpec`] | parameter sets: specification in, checked parameters out |
//! | [`SecretKey`], [`PublicKey`] | keys; symmetric (seeded) and public-key encryption |
//! | [`Ciphertext`], [`CiphertextQP`] | data, linear operations, rescaling; the same modulo `P Q` |
//! | [`KeySwitchKey`], [`key_switch`], [`HoistedDigits`] | the key switch; hoisting |
//! | [`Tensor`] | products before relinearization |
//! | [`RelinStrategy`], [`RelinKeys`] | relinearization by one of three strategies |
//! | [`GaloisKey`], [`GaloisKeys`] | automorphisms, with and without hoisting |
//! | [`RankHoistedKeys`] | sequences of rotations at a temporary rank |
//! | [`ModRaiseKey`], [`RaiseTransform`] | from `q_0` to `Q`; the same with a matrix |
//! | [`RankReduceKey`], [`pad_rank`], [`rank_schedule`] | changes of rank, and their levels |
//! | [`ModuleMap`] | `R_N` as a module over `R_n`: extraction and embedding in NTT form |
//! | [`paper`] | the parameter sets of DPad-HE |
//! | [`RingConversion`], [`RingSwitchKeys`] | slot messages between rank and RLWE; ring switching |
//! | [`noise`], [`noise::measured`] | predicted variances and bounds; measured noise |
//!
//! # Conventions
//! - The phase of `(b, a_1, ..., a_r)` is `b + <a, s>`; polynomials are in NTT form.
//! - A ciphertext has limbs, its primes `q_0..q_l`. The levels of `ckks` are groups of them. A
//!   polynomial modulo `Q_l P` has the limbs `q_0..q_l, p_0..p_{k-1}`.
//! - Plaintexts are polynomials. The scheme above this crate keeps track of their scale.
//! - Every ciphertext and key carries the fingerprint of its parameters and the identity of its
//!   secret key. Operands of different parameters or keys give an error that names both.
//! - Randomness is passed in. Secrets are wiped on drop and never printed by `Debug`.
#![forbid(unsafe_code)]

mod ciphertext;
mod ciphertext_qp;
mod double_hoisting;
mod dpad;
mod encrypt;
#[doc(hidden)]
pub mod error;
mod galois;
mod hoisted_digits;
mod key_id;
mod keyswitch;
mod keyswitch_cost;
#[cfg(test)]
mod laws;
mod lowest_primes;
mod mod_raise;
mod module_map;
pub mod noise;
pub mod paper;
mod params;
mod raise_transform;
mod rank_reduction;
mod relinearize;
mod secret;
pub mod security;
mod tensor;
#[cfg(test)]
mod testing;
pub mod wire;

pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use ciphertext::Ciphertext;
pub use ciphertext_qp::CiphertextQP;
pub use double_hoisting::Rotation;
pub use dpad::{
    RankHoistedKeys, RankStep, RelinKind, RelinStrategy, RingConversion, RingSwitchKeys,
    non_adjacent_form, rank_at, rank_schedule, temporary_security_bits, trace_exponents,
};
pub use encrypt::{PublicKey, SeededCiphertext};
pub use galois::{
    GaloisCache, GaloisKey, GaloisKeys, GaloisSource, conjugation_exponent, inverse_exponent,
    rotation_exponent,
};
pub use hoisted_digits::HoistedDigits;
pub use key_id::{KeyId, KeyIdent};
pub use keyswitch::{
    KeySwitchKey, SeededKeySwitchKey, SwitchKeyInfo, key_switch, key_switch_decomposed,
};
pub use keyswitch_cost::RelinCost;
pub use mod_raise::ModRaiseKey;
pub use module_map::ModuleMap;
pub use params::{MOST_PRIMES, Params, ParamsSpec};
pub use raise_transform::{RaiseTerm, RaiseTransform, RaiseTransformKey};
pub use rank_reduction::{RankReduceKey, pad_rank};
pub use relinearize::RelinKeys;
pub use secret::SecretKey;
pub use security::{SecretKind, Security};
pub use tensor::Tensor;
