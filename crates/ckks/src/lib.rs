//! RNS-CKKS over module-LWE: approximate arithmetic on encrypted vectors of real or complex
//! numbers (Full-RNS HEAAN, DPad-HE), as an evaluator that keeps its own books.
//!
//! | module | what stands there |
//! | --- | --- |
//! | [`ParamsSpec`], [`Params`] | literal parameters in, checked ones with all tables out |
//! | [`choose`] | parameters for people: from needs to a set with its reasons, sizes and times |
//! | [`paper`] | the sets of the papers, marked with the security that they have today |
//! | [`Chain`], [`Levels`] | modulus chains from sizes of primes, levels of one or several primes |
//! | [`Encoder`], [`Plaintext`] | vectors to polynomials and back; sparse vectors by small transforms |
//! | [`encrypt()`], [`encrypt_public`], [`decrypt()`] | under the secret key (seeded), the public key |
//! | [`Ciphertext`], [`Meta`] | a lattice ciphertext, its exact scale, slots, ranges, predicted noise |
//! | [`Account`], [`Estimate`] | all that is known of it without its phase; precision, range and levels left |
//! | [`Evaluator::publish`], [`Published`], [`Declaration`] | results as they leave a server: what is said of them is declared |
//! | [`Interval`], [`Bounds`] | ranges of messages, carried through every operation |
//! | [`RankReduction`], [`RankConversion`] | vectors at smaller module ranks, and between rank r and RLWE |
//! | [`ReducingEvaluator`], [`RankRefresh`], [`RingSwitch`] | circuits that go down in rank by themselves; refreshing by way of RLWE; few slots in a smaller ring |
//! | [`KeySpec`], [`EvaluationKeys`] | which keys a program needs; the keys, each at its own level |
//! | [`Evaluator`] | add, multiply, rescale, rotate, conjugate; alignment of levels and scales |
//! | [`Arithmetic`], [`shadow`] | one program for ciphertexts and, before any key, for plain vectors with the same books; sums, masks, comparison and functions of both |
//! | [`noise`] | predicted noise of every operation |
//! | [`linear`] | slot matrices by their diagonals, baby steps and giant steps |
//! | [`approx`] | functions of certified error: inverse, roots, exponential, sigmoid, sign, comparison |
//! | [`chebyshev`], [`polynomial`] | functions by polynomials of certified error, evaluated at optimal depth |
//! | [`matrix`] | products of matrices and vectors, either of them encrypted |
//! | [`statistics`] | sums, means, variances, deviations, covariances, correlations of columns |
//! | [`learning`] | logistic regression on one packed ciphertext |
//! | [`dft`] | slots to coefficients (S2C) and back (C2S) |
//! | [`mod1`] | reduction modulo 1 (F_mod) |
//! | [`bootstrap`] | refreshing ciphertexts that are out of levels |
//! | [`embedding`], [`diagonals`] | the canonical embedding; matrices by diagonals, in the clear |
//!
//! # Conventions
//! - Phase `b + <a, s>`; level = rescalings left, each of which divides by the one or more primes of
//!   its level; slots follow the powers of 5; a rotation by `k` brings slot `j + k` to slot `j`.
//! - The scale is bookkeeping of the library: a product has the product of the scales, a rescaling
//!   divides by exactly the primes that it drops. Scales that differ by less than `2^-40` relatively
//!   are one scale; where they differ by more, a level is spent to match them.
//! - Every ciphertext carries a bound on its message. A result that could wrap around its modulus
//!   is an error.
//!
//! # Lengths and padding
//! A vector of `n` values has the next power of two of slots, unless it is encoded in more; the slots
//! repeat over the ring. The slots behind the values are *padding*, zero after encryption.
//!
//! | | rule |
//! | --- | --- |
//! | slotwise operations | act on padding as on values: `x + 1` makes it 1, `2 x` and `x y` leave zeros, a polynomial makes it `p(0)` |
//! | products with values or masks | make it zero: [`Evaluator::mul_values`], [`Arithmetic::keep`], [`Arithmetic::clear_padding`] |
//! | rotations | move slots: padding becomes values, values become padding |
//! | reductions | take the values alone: [`Arithmetic::total`], [`Arithmetic::inner_sum`], [`Arithmetic::replicate`], [`Arithmetic::replicate_slot`], [`statistics`], [`matrix`], [`learning`] |
//! | transforms | act on all slots: the columns of a [`linear::LinearTransform`] behind the values multiply the padding |
//! | operands of unequal length | [`Error::LengthMismatch`]: two vectors, or a vector and values |
//! | repetition | by name alone: [`Ciphertext::broadcast`] for values, [`Ciphertext::repeated`] for slots |
//! | one number for all values | [`Evaluator::add_scalar`], [`Evaluator::mul_scalar`] |
//! | another number of values | [`Ciphertext::with_len`] takes padding for values, or values for padding |
//!
//! [`Bounds::padding`] carries the range of the padding. A reduction takes it as it is where it is
//! [known to be zero](Meta::is_clear) but for noise, and clears it first where it is not, which takes one
//! level; without a level left it is [`Error::Padding`].
//!
//! ```
//! # use bellerophon_ckks::{Arithmetic, Error, Interval, Params, Result, shadow::Shadow};
//! # fn f(params: &Params) -> Result<()> {
//! let a = Shadow::new(params);
//! let range = Interval::real(0.0, 4.0)?;
//! let x = a.encrypt(&[1.0, 2.0, 3.0], range, 2)?;
//! // Nothing is paid for padding that is zero, one level for other padding.
//! let (sum, moved) = (a.total(&x)?, a.total(&a.add_scalar(&x, 1.0)?)?);
//! assert_eq!((sum.reals(), sum.account().level), (vec![6.0; 3], 2));
//! assert_eq!((moved.reals(), moved.account().level), (vec![9.0; 3], 1));
//! // Vectors of unequal length: an error, or broadcast.
//! let two = a.encrypt(&[2.0], range, 2)?;
//! assert!(matches!(a.mul(&x, &two), Err(Error::LengthMismatch { left: 3, right: 1, .. })));
//! assert!(matches!(a.mul_values(&x, &[2.0]), Err(Error::LengthMismatch { .. })));
//! assert_eq!(a.mul(&x, &a.broadcast(two, 3)?)?.reals(), [2.0, 4.0, 6.0]);
//! # Ok(())
//! # }
//! # let chain = bellerophon_ckks::Chain {
//! #     degree: 1 << 8,
//! #     first_bits: 50,
//! #     levels: vec![bellerophon_ckks::Levels::single(40, 2)],
//! #     special: (50, 1),
//! # };
//! # let security = bellerophon_ckks::Security::Insecure;
//! # f(&Params::new(bellerophon_ckks::ParamsSpec::from_chain(&chain, 40, security).unwrap()).unwrap()).unwrap();
//! ```
//!
//! # Example
//! ```
//! use bellerophon_ckks::{
//!     Chain, Encoder, EvaluationKeys, Evaluator, Interval, KeySpec, Levels, Params, ParamsSpec, SecretKey,
//!     Security, decrypt_values, encrypt,
//! };
//! use rand::SeedableRng;
//!
//! # fn main() -> bellerophon_ckks::Result<()> {
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! // A toy ring; `ParamsSpec::w1()` is a set of 128 bits.
//! let chain = Chain {
//!     degree: 1 << 10,
//!     first_bits: 50,
//!     levels: vec![Levels::single(40, 2)],
//!     special: (50, 1),
//! };
//! let params = Params::new(ParamsSpec::from_chain(&chain, 40, Security::Insecure)?)?;
//! let secret = SecretKey::generate(params.lattice(), &mut rng)?;
//! let spec = KeySpec::new().multiply(2).rotate([1], 1);
//! let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng)?;
//!
//! let range = Interval::real(-2.0, 2.0)?; // declared: it is public
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

mod account;
pub mod approx;
mod arithmetic;
mod books;
pub mod bootstrap;
mod chain;
pub mod chebyshev;
pub mod choose;
mod ciphertext;
pub mod dft;
pub mod diagonals;
pub mod embedding;
mod encode;
mod encrypt;
mod error;
mod errors;
mod eval;
mod failure;
mod interval;
mod keys;
pub mod learning;
mod lengths;
pub mod linear;
pub mod matrix;
pub mod mod1;
pub mod noise;
pub mod paper;
mod params;
pub mod polynomial;
mod publish;
mod rank;
pub mod shadow;
pub mod sharing;
mod sparse;
pub mod statistics;
mod turn;
pub mod wire;

pub use account::{Account, Estimate};
pub use arithmetic::Arithmetic;
pub use bellerophon_mlwe::{KeyId, PublicKey, SecretKey, SecretKind, Security};
pub use chain::{Chain, Levels};
pub use ciphertext::{Ciphertext, Meta};
pub use encode::{Encoder, Plaintext, SlotValue};
pub use encrypt::{
    SeededCiphertext, decrypt, decrypt_values, encrypt, encrypt_public, encrypt_seeded,
};
pub use error::{Error, Result, Standing};
pub use eval::Evaluator;
pub use failure::FailureProbability;
pub use interval::{Bounds, Interval};
pub use keys::{EvaluationKeys, KeySizes, KeySpec};
pub use num_complex::Complex64;
pub use params::{Params, ParamsSpec};
pub use publish::{Declaration, Published};
pub use rank::{
    RankConversion, RankReduction, RankRefresh, ReducingEvaluator, ReducingKeys, RingSwitch,
};
