//! Fully homomorphic encryption: arithmetic and arbitrary functions on encrypted vectors of reals.
//!
//! Sums and products run in RNS-CKKS. Any other function can be a look-up: the values move from the
//! slots to LWE ciphertexts, programmable bootstrapping selects a table entry for each, and ring
//! packing brings the entries back to the slots (PEGASUS, IEEE S&P 2021).
//!
//! ```
//! use bellerophon::prelude::*;
//! # fn main() -> bellerophon::Result<()> {
//! // Toy dimensions, insecure, so that this runs in a second. Programs take `Preset::Functions`.
//! let params = Params::preset(Preset::Insecure(Toy::Functions))?;
//! let client = ClientKey::generate(&params)?; // secret; never leaves the client
//! let keys = client.evaluation_keys(&Needs::new().multiply().map())?; // public
//! let server = Evaluator::new(keys)?;
//!
//! let x = client.encrypt(&[-1.5, 0.25, 3.0], -3.0..=3.0)?; // the range is public
//! let y = server.mul(&x, &x)?; // relinearized and rescaled
//! let z = server.map(&y, f64::sqrt)?; // any function
//! let result = client.decrypt(&z)?; // about 1.5, 0.25, 3.0
//! # assert!((result[0] - 1.5).abs() < 0.4, "{result:?}");
//! # Ok(())
//! # }
//! ```
//!
//! Programs import the [`prelude`]. [`ckks`] is the scheme, with operations on slots, simulator and
//! debugger; [`circuits`] has functions, matrices, statistics, comparisons and bootstraps;
//! [`lookup`] and [`lwe`] are behind [`Evaluator::map`] and [`Evaluator::tables`]; [`pir`] on
//! [`bfv`] is private look-up; all share [`mlwe`] and [`ring`]. [`format`](mod@format) has bytes.
//! `docs/guide.md` has what holds for every program, `docs/recipes.md` complete programs.
#![forbid(unsafe_code)]

mod budget_file;
mod ckks_ops;
mod client;
mod debugging;
#[doc(hidden)]
pub mod error;
mod evaluator;
mod extract_pack;
mod failure;
pub mod format;
mod functional;
mod keys;
mod map;
mod master_seed;
mod message;
mod needs;
mod noise_flooding;
mod order_accuracy;
mod ordering;
mod params;
pub mod prelude;
mod preset;
mod public_key;
mod publish;
mod spec;

pub use bellerophon_circuits as circuits;
pub use bellerophon_ckks as ckks;
pub use bellerophon_lookup as lookup;
pub use bellerophon_lwe as lwe;
pub use bellerophon_mlwe as mlwe;
pub use bellerophon_pir as pir;
pub use bellerophon_pir::bfv;
pub use bellerophon_repack as repack;
pub use bellerophon_ring as ring;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use budget_file::BudgetFile;
pub use circuits::approx::Known;
pub use circuits::fbt::{
    IntTable, IntVec, PairedVec, PeriodicFunction, SeededIntVec, SeededPairedVec,
};
pub use circuits::param_search::{ProgramBounds, SelectedParams};
pub use ckks::debugging::Debugger;
pub use ckks::noise_flooding::{DecryptionBudget, FloodedValues, Flooding};
pub use ckks::{Ciphertext, Declaration, FailureProbability, Provided, Published};
pub use client::ClientKey;
pub use evaluator::Evaluator;
pub use keys::EvaluationKeys;
pub use lookup::planner::{
    Accuracy, CostModel, EngineRow, FasterEngine, MapFunction, MapPlan, MapRequest, Prediction,
    PriceOrigin,
};
pub use lookup::{
    Bridge, Engine, ErrorDistribution, LutParams, LutSpec, OrderAccuracy, OrderFunction, Progress,
    Stage,
};
pub use lwe::SortOrder;
pub use master_seed::MasterSeed;
pub use message::{Disc, Message, Modulo, Paired, ProvidedMessage};
pub use needs::Needs;
pub use ordering::OrderOps;
pub use params::Params;
pub use preset::{Dense, Preset, Toy};
pub use public_key::PublicKey;
pub use rand;
pub use spec::ParamsSpec;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../ARCHITECTURE.md")]
struct Architecture;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes.md")]
struct Recipes;
