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
//! let x = client.encrypt(&[-1.5, 0.25, 3.0], -3.0..=3.0)?; // the range is public, the values are not
//! let y = server.mul(&x, &x)?; // relinearised and rescaled
//! let z = server.map(&y, f64::sqrt)?; // any function
//! let result = client.decrypt(&z)?;
//! println!("{result:?}");
//! # for (found, expected) in result.iter().zip([1.5, 0.25, 3.0]) {
//! #     assert!((found - expected).abs() < 0.4, "{result:?}");
//! # }
//! # Ok(())
//! # }
//! ```
//!
//! # Arithmetic only
//! A program without look-ups needs no preset: [`Requirements`] say what it needs, and the smallest
//! secure set comes with an account of why, how exact, how large and how slow it will be
//! ([`ckks::choose`]).
//!
//! ```
//! use bellerophon::{Requirements, mlwe::Security, prelude::*};
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Up to 1000 numbers, two products in a row, 20 bits right in the worst of them.
//! let (security, bootstraps) = (Security::Bits128, false);
//! let needs = Requirements { security, slots: 1000, depth: 2, bits: 20.0, bootstraps };
//! let params = Params::choose(&needs)?;
//! println!("{}", params.choice().expect("it was chosen"));
//!
//! let client = ClientKey::generate(&params)?;
//! let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply())?)?;
//! let x = client.encrypt(&[0.5, -0.25, 1.0], -1.0..=1.0)?;
//! let y = server.mul(&server.square(&x)?, &x)?;
//! let cubes = client.decrypt(&y)?;
//! assert!(cubes.iter().zip([0.125, -0.015625, 1.0]).all(|(a, b)| (a - b).abs() < 1e-6));
//! # Ok(())
//! # }
//! ```
//!
//! # Programs without end
//! Where the levels of any chain run out, a ciphertext is refreshed ([`ckks::bootstrap`]): on request,
//! or by the evaluator itself. Values stay within `[-1, 1]`.
//!
//! ```
//! use bellerophon::prelude::*;
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Toy dimensions, which protect nothing: programs take `Preset::Bootstrapping`.
//! let params = Params::preset(Preset::ToyBootstrapping)?;
//! let client = ClientKey::generate(&params)?;
//! let keys = client.evaluation_keys(&Needs::new().multiply().refresh())?;
//! let server = Evaluator::new(keys)?.refreshing_by_itself()?;
//!
//! let mut x = client.encrypt(&[0.999, -1.0, 0.5], -1.0..=1.0)?;
//! for _ in 0..6 {
//!     x = server.square(&x)?; // refreshed first where it must be
//! }
//! let x = server.refresh(&x)?; // on request
//! let powers = client.decrypt(&x)?;
//! assert!(powers.iter().zip([0.999f64, -1.0, 0.5]).all(|(a, b)| (a - b.powi(64)).abs() < 1e-4));
//! # Ok(())
//! # }
//! ```
//!
//! | item | what it is |
//! | --- | --- |
//! | [`Preset`], [`Params`] | checked parameter sets, many by name, with security and failure probability |
//! | [`ClientKey`] | secret: encrypts, decrypts, makes the public keys |
//! | [`Requirements`], [`Choice`] | parameters from what a program needs, with the reasons |
//! | [`Lookups`] | what a set has for look-ups |
//! | [`Needs`], [`EvaluationKeys`] | what a program does; the public keys for it |
//! | [`Evaluator`] | the server: arithmetic by [`ckks::Evaluator`], functions by [`Evaluator::map`] |
//! | [`Evaluator::extract`], [`Evaluator::pack`] | slots to [`lwe::Values`] and back: tables one after the other, functions of several values |
//! | [`Evaluator::within`] | largest, smallest, comparison, sorting, pooling on slots ([`Within`]) |
//! | [`Evaluator::maps`] | several functions of the same values, several vectors in one repacking |
//! | [`ckks::Evaluator::publish`], [`Published`], [`Declaration`] | results as they leave the server |
//! | [`Bridge`], [`MapEngine`] | the way between slots and tables, and what reads these |
//! | [`Evaluator::map_to`], [`MapPlan`] | functions to a wanted accuracy: look-ups whose error is corrected |
//! | [`Accuracy`] | the predicted error of a look-up |
//! | [`lookup`], [`exact`] | private look-up: a server's table at encrypted points of a large domain |
//! | [`mod@format`] | bytes: parameters, ciphertexts and keys between programs that do not trust each other |
//! | [`Evaluator::failures`], [`Params::program_failure`] | how likely it is that anything of a program failed |
//! | [`ClientKey::decrypt_for_sharing`], [`SharingBudget`] | results for others than the owner of the key |
//! | [`Evaluator::map_flooded`], [`Flooding`] | noise in front of the switch from slots to LWE values |
//! | [`Progress`], [`Stage`] | what a long operation reports; a callback can stop it |
//! | [`ckks`], [`lwe`], [`repack`], [`mlwe`], [`ring`] | the crates below, for those who build their own |
#![forbid(unsafe_code)]

mod accuracy;
mod blocks;
mod client;
mod corrected;
mod engine;
mod error;
mod evaluator;
mod failure;
mod flooding;
pub mod format;
mod horner;
mod keys;
mod local;
mod lookups;
mod map;
mod maps;
mod needs;
mod params;
mod plan;
pub mod prelude;
mod preset;
mod progress;
mod promises;
mod sharing;
mod values;
mod within;

pub use accuracy::Accuracy;
pub use bellerophon_ckks as ckks;
pub use bellerophon_lwe as lwe;
pub use bellerophon_mlwe as mlwe;
pub use bellerophon_repack as repack;
pub use bellerophon_repack::{exact, lookup};
pub use bellerophon_ring as ring;
pub use ckks::choose::{Choice, Requirements};
pub use ckks::sharing::Flooding;
pub use ckks::{Ciphertext, Declaration, FailureProbability, Published};
pub use client::ClientKey;
pub use corrected::MapPlan;
pub use engine::MapEngine;
pub use error::{Error, Result};
pub use evaluator::Evaluator;
pub use keys::EvaluationKeys;
pub use lookups::Lookups;
pub use needs::Needs;
pub use params::{Params, ParamsSpec};
pub use plan::Bridge;
pub use preset::Preset;
pub use progress::{Progress, Stage};
pub use sharing::{Shared, SharingBudget};
pub use within::Within;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
