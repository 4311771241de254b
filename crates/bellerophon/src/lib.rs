//! Polynomials and arbitrary functions on encrypted vectors of real numbers.
//!
//! Arithmetic runs in RNS-CKKS; any other function is a look-up: values leave their slots for LWE
//! ciphertexts, select entries of a table by blind rotation, and are packed into slots again
//! (PEGASUS, IEEE S&P 2021).
//!
//! ```
//! use bellerophon::prelude::*;
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Toy dimensions, which protect nothing, so that this runs in a second: programs take
//! // `Preset::Functions`.
//! let params = Params::preset(Preset::ToyInsecure)?;
//! let client = ClientKey::generate(&params)?; // secret; never leaves the client
//! let keys = client.evaluation_keys(&Needs::new().multiply().map())?; // public
//! let server = Evaluator::new(keys)?;
//!
//! let x = client.encrypt(&[-1.5, 0.25, 3.0])?;
//! let y = server.mul(&x, &x)?; // relinearised and rescaled
//! let z = server.map(&y, -1.0..=10.0, f64::sqrt)?; // any function
//! let result = client.decrypt(&z)?;
//! println!("{result:?}");
//! # for (found, expected) in result.iter().zip([1.5, 0.25, 3.0]) {
//! #     assert!((found - expected).abs() < 0.3, "{result:?}");
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Arithmetic only
//! A program without look-ups needs no preset: [`ckks::choose`] takes what it needs and gives the
//! smallest secure set with an account of why, how exact, how large and how slow it will be.
//!
//! ```
//! use bellerophon::ckks::{self, KeySpec, Security, choose::Requirements};
//! # use rand::SeedableRng;
//!
//! # fn main() -> bellerophon::Result<()> {
//! # let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! // Up to 1000 numbers, two products in a row, 20 bits right in the worst of them.
//! let needs = Requirements { security: Security::Bits128, slots: 1000, depth: 2, bits: 20.0 };
//! let choice = needs.choose()?;
//! println!("{choice}");
//!
//! let (params, top) = (choice.params(), choice.params().max_level());
//! let secret = ckks::SecretKey::generate(params.lattice(), &mut rng)?; // never leaves the client
//! let spec = KeySpec::new().multiply(top);
//! let keys = ckks::EvaluationKeys::generate(params, &secret, &spec, &mut rng)?; // public
//! let server = ckks::Evaluator::new(params, &keys)?;
//!
//! let encoder = ckks::Encoder::new(params);
//! let plain = encoder.encode(&[0.5, -0.25, 1.0], params.scale(), params.limbs_at(top))?;
//! let x = ckks::encrypt(params, &plain, &secret, &mut rng)?;
//! let y = server.mul(&server.square(&x)?, &x)?;
//! let cubes: Vec<f64> = ckks::decrypt_values(params, &y, &secret)?;
//! assert!(cubes.iter().zip([0.125, -0.015625, 1.0]).all(|(a, b)| (a - b).abs() < 1e-6));
//! # Ok(())
//! # }
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Preset`], [`Params`] | checked parameter sets by name, with security and failure probability |
//! | [`ClientKey`] | secret: encrypts, decrypts, makes the public keys |
//! | [`Needs`], [`EvaluationKeys`] | what a program does; the public keys for it |
//! | [`Evaluator`] | the server: arithmetic by [`ckks::Evaluator`], functions by [`Evaluator::map`] |
//! | [`Accuracy`] | the predicted error of a look-up |
//! | [`Progress`], [`Stage`] | what a long operation reports; a callback can stop it |
//! | [`ckks`], [`lwe`], [`repack`], [`mlwe`], [`ring`] | the crates below, for those who build their own |
#![forbid(unsafe_code)]

mod accuracy;
mod bridge;
mod client;
mod error;
mod evaluator;
mod keys;
mod needs;
mod params;
pub mod prelude;
mod progress;

pub use accuracy::Accuracy;
pub use bellerophon_ckks as ckks;
pub use bellerophon_lwe as lwe;
pub use bellerophon_mlwe as mlwe;
pub use bellerophon_repack as repack;
pub use bellerophon_ring as ring;
pub use ckks::Ciphertext;
pub use client::ClientKey;
pub use error::{Error, Result};
pub use evaluator::Evaluator;
pub use keys::EvaluationKeys;
pub use needs::Needs;
pub use params::{Params, ParamsSpec, Preset};
pub use progress::{Progress, Stage};

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
