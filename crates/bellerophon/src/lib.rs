//! Fully homomorphic encryption: arithmetic and arbitrary functions on encrypted vectors of reals.
//!
//! Sums and products run in RNS-CKKS. Any other function can be a look-up: the values move from the
//! slots to LWE ciphertexts, programmable bootstrapping selects a table entry for each, and ring
//! packing brings the entries back to the slots (PEGASUS, IEEE S&P 2021).
//!
//! ```
//! use bellerophon::prelude::*;
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Toy dimensions, insecure, so that this runs in a second. Programs take `Preset::Functions`.
//! let params = Params::preset(Preset::ToyInsecure)?;
//! let client = ClientKey::generate(&params)?; // secret; never leaves the client
//! let keys = client.evaluation_keys(&Needs::new().multiply().map())?; // public
//! let server = Evaluator::new(keys)?;
//!
//! let x = client.encrypt(&[-1.5, 0.25, 3.0], -3.0..=3.0)?; // the range is public
//! let y = server.mul(&x, &x)?; // relinearized and rescaled
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
//! A program without look-ups needs no preset. [`ProgramBounds`] state its depth, precision and
//! number of slots; [`Params::choose`] returns the smallest secure parameter set and explains the
//! choice: precision, sizes and times ([`ckks::param_search`]).
//!
//! ```
//! use bellerophon::{ProgramBounds, mlwe::Security, prelude::*};
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Up to 1000 numbers, two products in a row, 20 correct bits in the worst slot.
//! let (security, bootstraps) = (Security::Bits128, false);
//! let accuracy = Accuracy::bits(20.0);
//! let bounds = ProgramBounds { security, slots: 1000, depth: 2, accuracy, bootstraps };
//! let params = Params::choose(&bounds)?;
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
//! # Bootstrapping
//! A ciphertext without levels is bootstrapped ([`ckks::bootstrap`]): on request, or automatically
//! by the evaluator. Its values must lie in `[-1, 1]`.
//!
//! ```
//! use bellerophon::prelude::*;
//!
//! # fn main() -> bellerophon::Result<()> {
//! // Toy dimensions, insecure. Programs take `Preset::Bootstrapping`.
//! let params = Params::preset(Preset::ToyBootstrapping)?;
//! let client = ClientKey::generate(&params)?;
//! let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
//! let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
//!
//! let mut x = client.encrypt(&[0.999, -1.0, 0.5], -1.0..=1.0)?;
//! for _ in 0..6 {
//!     x = server.square(&x)?; // bootstrapped first if its levels are used up
//! }
//! let x = server.bootstrap(&x)?; // on request
//! let powers = client.decrypt(&x)?;
//! assert!(powers.iter().zip([0.999f64, -1.0, 0.5]).all(|(a, b)| (a - b.powi(64)).abs() < 1e-4));
//! # Ok(())
//! # }
//! ```
//!
//! # Builds
//! Run programs and tests with `--release`. A build without optimisation is more than a hundred
//! times slower. For development builds, add this to the `Cargo.toml` of the program: its own code
//! stays quick to compile and to debug, and its dependencies are optimised once.
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! debug-assertions = false
//! overflow-checks = false
//! ```
//!
//! # Random numbers
//! Keys and encryptions draw from a generator that the operating system seeds. Methods that end in
//! `_with` take another one, such as a seeded one for tests: any generator of **`rand` 0.10** that
//! implements its trait `CryptoRng`. Generators of other versions of `rand` do not implement it,
//! and the compiler then says "the trait bound `..: CryptoRng` is not satisfied". The re-export
//! [`rand`] is the right version.
//!
//! ```
//! use bellerophon::{prelude::*, rand::{SeedableRng, rngs::StdRng}};
//! # fn main() -> bellerophon::Result<()> {
//! # let params = Params::preset(Preset::ToyInsecure)?;
//! let mut rng = StdRng::seed_from_u64(1); // for tests: the same keys in every run
//! let client = ClientKey::generate_with(&params, &mut rng)?;
//! let x = client.encrypt_with(&[0.5], 0.0..=1.0, params.levels(), &mut rng)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Recipes
//! `docs/recipes.md` in the repository has ten complete programs: statistics with a histogram, a
//! neural network, files between two programs, many providers, order statistics, long loops, exact
//! tables, cancelling, mistakes and their messages, features.
//!
//! # Contents
//! | item | contents |
//! | --- | --- |
//! | [`Preset`], [`Params`] | checked parameter sets, most of them named, with security and failure probability |
//! | [`ProgramBounds`], [`SelectedParams`] | parameter search for a program without look-ups |
//! | [`LutParams`] | the look-up part of a parameter set |
//! | [`ClientKey`] | the secret keys: encryption, decryption, generation of the public keys |
//! | [`PublicKey`], [`Provided`], [`ProvidedIntegers`] | encryption by others for the owner of a key: many providers, one owner |
//! | [`Needs`], [`EvaluationKeys`] | the operations of a program; the public keys for them |
//! | [`Evaluator`] | the server: arithmetic on slots, functions by [`Evaluator::map`], bootstraps |
//! | [`ckks::statistics`], [`ckks::matrix`], [`ckks::learning`] | means, variances and correlations; products of matrices; logistic regression |
//! | [`Debugger`] | a program under the secret key, step by step: false promises are named |
//! | [`ckks::ordering`] | sorting, medians, largest values, counts and histograms of whole vectors |
//! | [`ckks::approx`], [`ckks::ComposedOps::function`] | functions of vectors by polynomials of certified error |
//! | [`Modulo`], [`Evaluator::integers`] | exact tables of encrypted integers |
//! | [`Evaluator::extract`], [`Evaluator::pack`] | slots to [`lwe::LweVec`] and back: chains of tables, functions of several values |
//! | [`Evaluator::within`] | maximum, argmax, comparison, sorting and pooling on slots ([`OrderOps`]) |
//! | [`Params::order_accuracy`], [`OrderAccuracy`] | their predicted error, before any key exists |
//! | [`Evaluator::map_with`], [`MapRequest`], [`MapFunction`], [`Accuracy`] | functions with a domain, to a requested accuracy, by a given engine or the fastest one |
//! | [`Evaluator::map_many`] | several functions of the same values; several vectors in one ring packing |
//! | [`Evaluator::map_plan`], [`Params::map_plan`], [`MapPlan`], [`CostModel`] | predicted time, error, levels and keys of every engine |
//! | [`Bridge`], [`LutEngine`] | the path between slots and LWE ciphertexts; the engine of the blind rotation |
//! | [`ErrorDistribution`] | the predicted error of a look-up |
//! | [`ckks::Evaluator::publish`], [`Published`], [`Declaration`] | results in the form in which they leave the server |
//! | [`ckks::Evaluator::admit`], [`admit_integers`](ckks::Evaluator::admit_integers), [`admit_paired`](ckks::Evaluator::admit_paired) | inputs of clients that may choose their range, held to the declaration of the server |
//! | [`Evaluator::publish_integers`], [`ckks::Evaluator::publish_paired`] | the same for encrypted integers and for paired vectors |
//! | [`Evaluator::failures`], [`Params::program_failure`] | bounds on the probability that a program fails |
//! | [`ClientKey::decrypt_flooded`], [`DecryptionBudget`] | noise flooding: results for anyone but the owner of the key |
//! | [`BudgetFile`] | a decryption budget in a file, which survives restarts |
//! | [`MasterSeed`], [`ClientKey::to_encrypted_bytes`] | all secret keys of a client from one seed; a secret key under a passphrase |
//! | [`Evaluator::map_flooded`], [`Flooding`] | noise flooding in front of the switch from slots to LWE ciphertexts |
//! | [`mod@format`] | byte formats of parameters, ciphertexts and keys, for programs that do not trust each other |
//! | [`pir`], [`bfv`] | private look-up: a server's table at encrypted points of a large domain |
//! | [`mod@lengths`] | lengths, padding and broadcasting: one rule for all operations |
//! | [`Progress`], [`Stage`] | progress reports of long operations, and cancellation |
//! | [`ckks`], [`lwe`], [`repack`], [`mlwe`], [`ring`] | the crates below the facade |
//!
//! # Cargo features
//! `parallel`, on by default: operations run on the active pool of rayon. With
//! `default-features = false` they run on the calling thread, and rayon is no dependency. Results
//! are the same. The back ends for AVX2, AVX-512 and AVX-512 IFMA need no feature: the machine's is
//! detected at run time.
#![forbid(unsafe_code)]

mod arithmetic;
mod budget_file;
mod client;
mod debugging;
#[doc(hidden)]
pub mod error;
mod evaluator;
mod extract_pack;
mod failure;
pub mod format;
mod functional;
mod kept;
mod keys;
pub mod lengths;
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
mod spec;

pub use bellerophon_ckks as ckks;
pub use bellerophon_lwe as lwe;
pub use bellerophon_mlwe as mlwe;
pub use bellerophon_pir as pir;
pub use bellerophon_pir::bfv;
pub use bellerophon_repack as repack;
pub use bellerophon_ring as ring;
pub(crate) use bellerophon_ring::During;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use budget_file::BudgetFile;
pub use ckks::fbt::{
    IntTable, IntVec, PairedVec, PeriodicFunction, ProvidedIntegers, PublishedIntegers,
    PublishedPaired, SeededIntVec, SeededPairedVec,
};
pub use ckks::noise_flooding::{DecryptionBudget, FloodedValues, Flooding};
pub use ckks::param_search::{ProgramBounds, SelectedParams};
pub use ckks::{Ciphertext, Declaration, FailureProbability, Provided, Published};
pub use client::ClientKey;
pub use debugging::Debugger;
pub use evaluator::Evaluator;
pub use keys::EvaluationKeys;
pub use master_seed::MasterSeed;
pub use message::{Disc, Message, Modulo, Paired, ProvidedMessage};
pub use needs::Needs;
pub use ordering::OrderOps;
pub use params::Params;
pub use preset::Preset;
pub use public_key::PublicKey;
pub use rand;
pub use repack::lookup::{
    Bridge, ErrorDistribution, LutEngine, LutParams, LutSpec, OrderAccuracy, OrderFunction,
    Progress, Stage,
};
pub use repack::planner::{
    Accuracy, CostModel, Engine, EngineRow, FasterEngine, MapFunction, MapPlan, MapRequest,
    Prediction, PriceOrigin,
};
pub use spec::ParamsSpec;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../ARCHITECTURE.md")]
struct Architecture;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/recipes.md")]
struct Recipes;
