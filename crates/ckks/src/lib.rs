//! RNS-CKKS over module-LWE: approximate arithmetic on encrypted vectors of real or complex
//! numbers (Full-RNS HEAAN, DPad-HE).
//!
//! Each ciphertext carries its level, exact scale, value range and predicted noise. Every operation
//! updates them and refuses a result that could wrap around its modulus. The [`simulator`] runs the
//! same program on plain vectors before any key exists: it predicts precision, reports the keys
//! that the program needs, and meets the same errors.
//!
//! # Map of modules
//!
//! The scheme:
//!
//! | module | contents |
//! | --- | --- |
//! | `params`: [`ParamsSpec`], [`Params`] | a parameter set as written down; the checked set with its tables |
//! | `modulus_chain`: [`ModulusChain`], [`LevelGroup`] | a modulus chain from prime sizes, one or several primes per level |
//! | [`param_search`] | a parameter set from a program's slots, depth and precision, with the reasons |
//! | [`paper`] | the parameter sets of the papers, with their security by current estimates |
//! | `encode`: [`Encoder`], [`Plaintext`] | vectors to plaintext polynomials and back |
//! | [`embedding`] | the canonical embedding, a special FFT |
//! | `encrypt`: [`encrypt()`], [`encrypt_public`], [`decrypt()`] | encryption under the secret key (also seeded) or the public key; decryption |
//! | `ciphertext`: [`Ciphertext`], [`CiphertextMeta`] | a lattice ciphertext with its scale, slots, ranges and predicted noise |
//! | `metadata`: [`Metadata`], [`Estimate`] | everything known of a ciphertext without the key; `metadata/rules` has the rule of each operation |
//! | `interval`: [`Interval`], [`Bounds`] | value ranges and interval arithmetic |
//! | [`noise`] | predicted noise of every operation, on average or in the worst case |
//! | `keys`: [`KeyLevels`], [`EvaluationKeys`] | a request for evaluation keys; the keys, each up to its own level |
//! | `eval`: [`Evaluator`] | addition, multiplication, rescaling, rotation, conjugation, alignment of levels and scales |
//! | `ops`: [`CkksOps`] | the trait of programs that run on an [`Evaluator`] or a [`Simulator`](simulator::Simulator) |
//! | `composed_ops`: [`ComposedOps`] | sums, masks, comparison and functions on top of it |
//! | [`simulator`] | runs a program on plain vectors and reports keys, levels, work and noise |
//! | [`debugging`] | runs a program under the secret key, and names the first false promise |
//! | [`cost`] | work of operations and its predicted time |
//! | `provided`: [`Provided`] | vectors that others encrypt under the public key of an owner |
//! | `publish`: [`Evaluator::publish`], [`Published`], [`Declaration`], [`Evaluator::admit`] | results that leave a server, and inputs, with declared metadata |
//! | [`noise_flooding`] | decryption for others than the owner of the key |
//! | `rank`: [`RankReduction`], [`RankConversion`] | key switches to a smaller module rank; conversion between rank `r` and RLWE |
//! | `rank`: [`ReducingEvaluator`], [`RankBootstrap`], [`RingSwitch`] | automatic rank reduction; bootstrapping of rank `r` through RLWE; few slots to a smaller ring |
//! | [`wire`] | byte forms of parameters, ciphertexts and keys |
//!
//! The circuits:
//!
//! | module | contents |
//! | --- | --- |
//! | `circuits/lintrans`: [`lintrans`], [`diagonals`] | linear transforms of slots by diagonals, baby-step giant-step, hoisting |
//! | `circuits/polynomial`: [`chebyshev`], [`polynomial`] | polynomial approximation and evaluation at optimal depth |
//! | `circuits/approx`: [`approx`] | functions of certified error: inverse, roots, exponential, sigmoid, sign, comparison |
//! | `circuits/matrix`: [`matrix`] | products of matrices and vectors, plain or encrypted |
//! | `circuits/statistics`: [`statistics`] | sums, means, variances, deviations, covariances, correlations of columns |
//! | `circuits/learning`: [`learning`] | logistic regression on one packed ciphertext |
//! | `circuits/ordering`: [`ordering`] | sorting, maxima, quantiles, counts and histograms of whole vectors |
//! | `circuits/dft`: [`dft`] | SlotsToCoeffs (S2C) and CoeffsToSlots (C2S) |
//! | `circuits/eval_mod`: [`eval_mod`] | EvalMod, the reduction modulo 1 |
//! | `circuits/bootstrap`: [`bootstrap`] | bootstrapping, Meta-BTS, automatic bootstrapping |
//! | `circuits/fbt`: [`fbt`] | functional bootstrapping: tables and real functions as power series of `exp(2 pi i t)` |
//!
//! # Conventions
//! - The phase is `b + <a, s>`. The level is the number of rescalings left; each rescaling divides
//!   by the one or more primes of its level. Slots follow the powers of 5. A rotation by `k` moves
//!   slot `j + k` to slot `j`.
//! - The library tracks the scale exactly: a product has the product of the scales, a rescaling
//!   divides the scale by exactly the primes that it drops. Two scales with a relative difference
//!   below `2^-40` count as equal; a larger difference costs one level to match them.
//! - Every ciphertext carries a bound on its message. A result that could wrap around its modulus
//!   is an error.
//!
//! # Lengths and padding
//! A vector of `n` values has the next power of two of slots, unless it is encoded in more. Its
//! slots repeat over the ring. The slots behind the values are *padding*, zero after encryption.
//!
//! | | rule |
//! | --- | --- |
//! | slotwise operations | act on padding as on values: `x + 1` makes it 1, `2 x` and `x y` leave zeros; a polynomial whose domain it leaves moves it there first |
//! | bootstraps | make it zero |
//! | products with values or masks | make it zero: [`CkksOps::mul_values`], [`ComposedOps::mask`], [`ComposedOps::clear_padding`] |
//! | rotations | move slots: padding becomes values, values become padding |
//! | reductions | take the values alone: [`ComposedOps::sum_slots`], [`ComposedOps::inner_sum`], [`ComposedOps::replicate`], [`ComposedOps::replicate_slot`], [`statistics`], [`matrix`], [`learning`] |
//! | linear transforms | act on all slots: the columns of a [`lintrans::LinearTransform`] behind the values multiply the padding |
//! | operands of unequal length | [`ErrorKind::Length`]: two vectors, or a vector and values |
//! | repetition | only when asked for: [`CkksOps::broadcast`] for values, [`CkksOps::repeated`] for slots |
//! | one number for all values | [`CkksOps::add_scalar`], [`CkksOps::mul_scalar`] |
//! | another number of values | [`CkksOps::with_len`] makes padding into values, or values into padding |
//!
//! [`Bounds::padding`] carries the range of the padding. A reduction uses padding as it is if that
//! is [known to be zero](Bounds::padding_is_zero) up to noise. Otherwise it clears the padding
//! first, which takes one level; with no level left it returns [`ErrorKind::Length`].
//!
//! ```
//! # use bellerophon_ckks::{CkksOps, ComposedOps, ErrorKind, Interval, Params, Result};
//! # use bellerophon_ckks::simulator::Simulator;
//! # fn f(params: &Params) -> Result<()> {
//! let a = Simulator::new(params);
//! let range = Interval::real(0.0, 4.0)?;
//! let x = a.encrypt(&[1.0, 2.0, 3.0], range, 2)?;
//! // Padding that is zero costs nothing, other padding costs one level.
//! let (sum, moved) = (a.sum_slots(&x)?, a.sum_slots(&a.add_scalar(&x, 1.0)?)?);
//! assert_eq!((sum.reals(), sum.metadata().level), (vec![6.0; 3], 2));
//! assert_eq!((moved.reals(), moved.metadata().level), (vec![9.0; 3], 1));
//! // Vectors of unequal length: an error, or an explicit broadcast.
//! let two = a.encrypt(&[2.0], range, 2)?;
//! let refused = a.mul(&x, &two).unwrap_err();
//! assert!(refused.is(&ErrorKind::Length, "3 values against 1"));
//! let refused = a.mul_values(&x, &[2.0]).unwrap_err();
//! assert_eq!(*refused.kind(), ErrorKind::Length);
//! assert_eq!(a.mul(&x, &a.broadcast(two, 3)?)?.reals(), [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! # let chain = bellerophon_ckks::ModulusChain {
//! #     degree: 1 << 8,
//! #     first_bits: 50,
//! #     levels: vec![bellerophon_ckks::LevelGroup::single(40, 2)],
//! #     special: (50, 1),
//! # };
//! # let security = bellerophon_ckks::Security::Insecure;
//! # let spec = bellerophon_ckks::ParamsSpec::from_chain(&chain, 40, security).unwrap();
//! # f(&Params::new(spec).unwrap()).unwrap();
//! ```
//!
//! # Example
//! ```
//! use bellerophon_ckks::{
//!     CkksOps, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, ModulusChain,
//!     Params, ParamsSpec, SecretKey, Security, decrypt_values, encrypt,
//! };
//! use rand::SeedableRng;
//!
//! # fn main() -> bellerophon_ckks::Result<()> {
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! // A toy ring without security; `ParamsSpec::w1()` is a set of 128 bits.
//! let chain = ModulusChain {
//!     degree: 1 << 10,
//!     first_bits: 50,
//!     levels: vec![LevelGroup::single(40, 2)],
//!     special: (50, 1),
//! };
//! let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! let spec = KeyLevels::default().multiply(2).rotate([1], 1);
//! let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng)?;
//!
//! let range = Interval::real(-2.0, 2.0)?; // declared, and public
//! let plain = Encoder::new(&params).encode(&[0.5, -1.5, 2.0, 0.25], range, params.scale(), 3)?;
//! let x = encrypt(&params, &plain, &secret, &mut rng)?;
//! let eval = Evaluator::new(&params, &keys)?;
//! let y = eval.add_scalar(&eval.square(&x)?, -1.0)?;
//! let z = eval.mul(&y, &eval.rotate(&y, 1)?)?;
//!
//! let found: Vec<f64> = decrypt_values(&params, &z, &secret)?;
//! let expected = [-0.75 * 1.25, 1.25 * 3.0, 3.0 * -0.9375, -0.9375 * -0.75];
//! assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
//! assert_eq!((z.level(), z.range().lo()), (0, -3.0));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

// The scheme: parameters, encoding, metadata, evaluator, simulator. `circuits` builds on all of it.
mod ciphertext;
mod circuits;
mod composed_ops;
pub mod cost;
pub mod debugging;
pub mod embedding;
mod encode;
mod encrypt;
#[doc(hidden)]
pub mod error;
mod eval;
mod failure;
mod interval;
mod keys;
mod lengths;
mod metadata;
mod modulus_chain;
pub mod noise;
pub mod noise_flooding;
mod noise_model;
mod ops;
mod origins;
pub mod paper;
pub mod param_search;
mod params;
mod provided;
mod publish;
mod rank;
mod rotation_plan;
pub mod simulator;
mod sparse_slots;
// The name of this crate in what its unit tests share with `tests/ckks`.
#[cfg(test)]
extern crate self as bellerophon_ckks;
#[cfg(test)]
mod tests;
pub mod wire;

// One flat list of names for users; circuits keep their modules.
pub use bellerophon_mlwe::{KeyId, PublicKey, SecretKey, SecretKind, Security};
pub(crate) use bellerophon_ring::During;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use ciphertext::{Ciphertext, CiphertextMeta};
pub use circuits::{
    approx, bootstrap, chebyshev, dft, diagonals, eval_mod, fbt, learning, lintrans, matrix,
    ordering, polynomial, statistics,
};
pub use composed_ops::ComposedOps;
pub use encode::{Encoder, Plaintext, SlotValue};
pub use encrypt::{
    SeededCiphertext, decrypt, decrypt_noisy, decrypt_values, encrypt, encrypt_public,
    encrypt_seeded,
};
pub(crate) use error::LevelScale;
pub use eval::Evaluator;
pub use failure::FailureProbability;
pub use interval::{Bounds, Interval};
pub use keys::{EvaluationKeys, KeyLevels, KeySizes};
pub use metadata::{Estimate, Metadata};
pub use modulus_chain::{LevelGroup, ModulusChain};
pub use num_complex::Complex64;
pub use ops::CkksOps;
pub use origins::Origins;
pub use params::{Params, ParamsSpec};
pub use provided::Provided;
pub use publish::{Declaration, Published};
pub use rank::{
    RankBootstrap, RankConversion, RankReduction, ReducingEvaluator, ReducingKeys, RingSwitch,
};
