//! Module-LWE of any rank over `R = Z[X] / (X^N + 1)`, RLWE being rank 1: secrets, ciphertexts,
//! keys, and one generalised key switch from `R^r1` to `R^r2` that relinearisation, automorphisms
//! and rank changes all call.
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`security`] | tables of the lattice estimator and the rules that read them |
//! | [`Params`], [`ParamsSpec`] | parameter sets: specification in, checked parameters out |
//! | [`SecretKey`], [`PublicKey`] | keys; encryption symmetric (seeded) and public (modulo `Q` and a special prime) |
//! | [`Ciphertext`], [`ExtendedCiphertext`] | data, linear operations, rescaling; the same modulo `P Q` |
//! | [`KeySwitchKey`], [`key_switch`], [`Decomposed`] | the key switch, with digits shared (hoisting) |
//! | [`Tensor`] | products before relinearisation |
//! | [`RelinRoute`], [`RelinKeys`] | relinearisation: direct, by way of a temporary rank or a larger ring |
//! | [`GaloisKey`], [`GaloisKeys`] | automorphisms, hoisted or not |
//! | [`RankHoistedKeys`] | rotations one after the other at a temporary rank |
//! | [`RankReduceKey`], [`pad_rank`] | changes of rank |
//! | [`rank_schedule`] | the levels at which a circuit may go down in rank |
//! | [`ModuleMap`] | `R_N` as a module over `R_n`: extraction and embedding in NTT form |
//! | [`paper`] | the parameter sets of DPad-HE |
//! | [`RingConversion`], [`RingSwitchKeys`] | messages in slots from rank to RLWE and back; to smaller rings |
//! | [`noise`], [`measure`] | predicted variances and bounds; measured noise, given the secret |
//!
//! # Conventions
//! - The phase of `(b, a_1, ..., a_r)` is `b + <a, s>`; polynomials are in NTT form.
//! - Level = limbs - 1. A polynomial modulo `Q_l P` has the limbs `q_0..q_l, p_0..p_{k-1}`.
//! - Plaintexts are polynomials; their scale is the business of the scheme above.
//! - Every ciphertext and key carries the fingerprint of its parameters and the identity of its
//!   secret key; operands that do not belong together give an error that names both.
//! - Randomness is passed in; secrets are wiped on drop and never shown by `Debug`.
//!
//! # Example
//! ```
//! use bellerophon_mlwe::{
//!     GaloisKey, Params, ParamsSpec, RelinKeys, RelinRoute, SecretKey, SecretKind, Security, measure,
//! };
//! use bellerophon_ring::prime;
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let q = prime::ntt_primes_around(1024, 45, 3, &[])?;
//! let p = prime::ntt_primes_below(1024, 50, 1, &q)?;
//! let params = Params::new(ParamsSpec {
//!     degree: 1024,
//!     rank: 2,
//!     q: q.iter().map(|q| q.value()).collect(),
//!     p: p.iter().map(|p| p.value()).collect(),
//!     secret: SecretKind::Ternary,
//!     sigma: 3.2,
//!     security: Security::Insecure, // 185 bits of modulus at dimension 2048
//! })?;
//! let mut rng = StdRng::try_from_rng(&mut SysRng)?;
//! let secret = SecretKey::generate(&params, &mut rng)?;
//! let relin = RelinKeys::generate(&RelinRoute::direct(&params), &secret, params.limbs(), &mut rng)?;
//! let rotate = GaloisKey::generate(&secret, 5, params.limbs(), &mut rng)?;
//!
//! // 2^40 X, squared and divided by the last prime (about 2^45), then X -> X^5.
//! let mut coefficients = vec![0; 1024];
//! coefficients[1] = 1 << 40;
//! let message = params.q().forward(params.q().from_signed(&coefficients));
//! let ct = secret.encrypt(&message, &mut rng)?;
//! let ct = rotate.apply(&params, &relin.square(&ct)?.rescale(&params)?)?;
//!
//! let ring = ct.ring(&params);
//! let phase = measure::centered_f64(&ring, &ring.inverse((*ct.phase(&secret)?).clone()));
//! assert!((phase[10] / 2f64.powi(35) - 1.0).abs() < 1e-6);
//! assert!(phase[11].abs() < 2f64.powi(12));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod ciphertext;
mod decomposed;
mod dpad;
mod encrypt;
mod error;
mod extended;
mod galois;
mod galois_set;
mod hoisted;
mod keyswitch;
pub mod measure;
mod module_map;
pub mod noise;
pub mod paper;
mod params;
mod raise;
mod rank;
mod secret;
pub mod security;
mod tensor;
#[cfg(test)]
mod testing;
pub mod wire;

pub use ciphertext::Ciphertext;
pub use decomposed::Decomposed;
pub use dpad::{
    RankHoistedKeys, RankStep, RelinCost, RelinKeys, RelinRoute, RingConversion, RingSwitchKeys,
    SeededRelinKeys, Strategy, non_adjacent_form, rank_at, rank_schedule, temporary_security_bits,
    trace_exponents,
};
pub use encrypt::{PublicKey, SeededCiphertext, SeededPublicKey};
pub use error::{Error, Result};
pub use extended::ExtendedCiphertext;
pub use galois::{
    GaloisKey, SeededGaloisKey, conjugation_exponent, inverse_exponent, rotation_exponent,
};
pub use galois_set::{GaloisKeys, GaloisSource};
pub use hoisted::Rotation;
pub use keyswitch::{
    KeyEnd, KeyShape, KeySwitchKey, SeededKeySwitchKey, key_switch, key_switch_decomposed,
};
pub use module_map::ModuleMap;
pub use params::{MOST_PRIMES, Params, ParamsSpec};
pub use raise::RaiseKey;
pub use rank::{RankReduceKey, SeededRankReduceKey, pad_rank};
pub use secret::{KeyId, SecretKey};
pub use security::{SecretKind, Security};
pub use tensor::Tensor;
