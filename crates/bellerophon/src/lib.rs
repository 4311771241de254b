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
