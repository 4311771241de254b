//! Module-LWE of any rank over `R = Z[X] / (X^N + 1)`; rank 1 is RLWE. The crate holds secrets,
//! ciphertexts, keys and one generalised key switch from `R^r1` to `R^r2`. Relinearization,
//! automorphisms and changes of rank all call this key switch.
//!
//! | module | contents |
//! | --- | --- |
//! | [`security`] | tables of the lattice estimator and the rules that read them |
//! | [`Params`], [`ParamsSpec`] | parameter sets: specification in, checked parameters out |
//! | [`SecretKey`], [`PublicKey`] | keys; symmetric encryption (seeded) and public-key encryption (modulo `Q` and a special prime) |
//! | [`Ciphertext`], [`CiphertextQP`] | data, linear operations, rescaling; the same modulo `P Q` |
//! | [`KeySwitchKey`], [`key_switch`], [`HoistedDigits`] | the key switch, with digits shared (hoisting) |
//! | [`Tensor`] | products before relinearization |
//! | [`RelinStrategy`], [`RelinKeys`] | relinearization: direct, through a temporary rank, or through a larger ring |
//! | [`GaloisKey`], [`GaloisKeys`] | automorphisms, with and without hoisting |
//! | [`RankHoistedKeys`] | sequences of rotations at a temporary rank |
//! | [`ModRaiseKey`], [`RaiseTransform`] | from `q_0` to `Q`: alone, and with a matrix in the same key switch |
//! | [`RankReduceKey`], [`pad_rank`] | changes of rank |
//! | [`rank_schedule`] | the levels at which a circuit can reduce the rank |
//! | [`ModuleMap`] | `R_N` as a module over `R_n`: extraction and embedding in NTT form |
//! | [`paper`] | the parameter sets of DPad-HE |
//! | [`RingConversion`], [`RingSwitchKeys`] | conversion of slot messages between a module rank and RLWE; ring switching to smaller rings |
//! | [`noise`], [`noise::measured`] | predicted variances and bounds; measured noise, given the secret |
//!
//! # Conventions
//! - The phase of `(b, a_1, ..., a_r)` is `b + <a, s>`; polynomials are in NTT form.
//! - A ciphertext has limbs, its primes `q_0..q_l`. The levels of `ckks` are groups of them. A
//!   polynomial modulo `Q_l P` has the limbs `q_0..q_l, p_0..p_{k-1}`.
//! - Plaintexts are polynomials. The scheme above this crate keeps track of their scale.
//! - Every ciphertext and key carries the fingerprint of its parameters and the identity of its
//!   secret key. Operands of different parameters or keys give an error that names both.
//! - Randomness is passed in. Secrets are wiped on drop and never printed by `Debug`.
//!
//! # Example
//! ```
//! use bellerophon_mlwe::{
//!     GaloisKey, Params, ParamsSpec, RelinKeys, RelinStrategy, SecretKey, SecretKind, Security,
//!     noise::measured,
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
//! let strategy = RelinStrategy::direct(&params);
//! let relin = RelinKeys::generate(&strategy, &secret, params.q().limbs(), &mut rng)?;
//! let rotate = GaloisKey::generate(&secret, 5, params.q().limbs(), &mut rng)?;
//!
//! // 2^40 X, squared and divided by the last prime (about 2^45), then X -> X^5.
//! let mut coefficients = vec![0; 1024];
//! coefficients[1] = 1 << 40;
//! let message = params.q().forward(params.q().from_signed(&coefficients));
//! let ct = secret.encrypt(&message, &mut rng)?;
//! let ct = rotate.apply(&params, &relin.multiply(&ct, &ct, 0)?.rescale(&params, 1)?)?;
//!
//! let ring = ct.ring(&params);
//! let phase = measured::centered_f64(&ring, &ring.inverse((*ct.phase(&secret)?).clone()));
//! assert!((phase[10] / 2f64.powi(35) - 1.0).abs() < 1e-6);
//! assert!(phase[11].abs() < 2f64.powi(12));
//! # Ok(())
//! # }
//! ```
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
mod rank;
mod relinearize;
mod secret;
pub mod security;
mod tensor;
#[cfg(test)]
mod testing;
pub mod wire;

pub(crate) use bellerophon_ring::During;
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
pub use rank::{RankReduceKey, pad_rank};
pub use relinearize::RelinKeys;
pub use secret::SecretKey;
pub use security::{SecretKind, Security};
pub use tensor::Tensor;
