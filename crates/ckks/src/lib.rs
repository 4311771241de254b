//! RNS-CKKS over module-LWE: approximate arithmetic on encrypted vectors of real or complex
//! numbers (Full-RNS HEAAN, DPad-HE).
//!
//! Each ciphertext carries its level, exact scale, value range and predicted noise. Every operation
//! updates them and refuses a result that could wrap around its modulus. The [`simulator`] runs the
//! same program on plain vectors before any key exists: it predicts precision, reports the keys
//! that the program needs, and meets the same errors.
//!
//! - [`ParamsSpec`], [`ModulusChain`], [`Params`]: a parameter set as written down, and checked
//! - [`KeyLevels`], [`EvaluationKeys`]: a request for keys; the keys, each up to its own level
//! - [`Encoder`], [`encrypt()`], [`decrypt()`]: vectors to ciphertexts and back
//! - [`Ciphertext`], [`Metadata`], [`Interval`]: a vector, and what is known of it without the key
//! - [`CkksOps`], [`ComposedOps`]: the operations, with an example at [`Evaluator`]; also of a
//!   [`Simulator`](simulator::Simulator) and a [`Debugger`](debugging::Debugger)
//! - [`Provided`], [`Stated`], [`Published`]: vectors as they travel between parties
//! - [`ReducingEvaluator`], [`RankReduction`], [`RingSwitch`]: to smaller ranks and rings
//!
//! # Conventions
//! - The phase is `b + <a, s>`. The level is the number of rescalings left; each rescaling divides
//!   by the one or more primes of its level. Slots follow the powers of 5. A rotation by `k` moves
//!   slot `j + k` to slot `j`.
//! - The scale is exact: that of a product is the product of the scales, and a rescaling divides it
//!   by the primes that it drops. Two scales with a relative difference below `2^-40` count as
//!   equal; a larger difference costs one level to match them.
//! - A vector of `n` values has padding in the slots behind them: see [`lengths`].
#![forbid(unsafe_code)]

// The scheme: parameters, encoding, metadata, evaluator, simulator. `circuits` builds on all of it.
mod attachments;
pub mod ciphertext;
mod composed_ops;
pub mod cost;
pub mod debugging;
pub mod embedding;
pub mod encode;
pub mod encrypt;
#[doc(hidden)]
pub mod error;
pub mod eval;
pub mod failure;
pub mod hook;
pub mod interval;
pub mod keys;
pub mod lengths;
pub mod metadata;
mod modulus_chain;
pub mod noise;
pub mod noise_flooding;
pub mod noise_model;
mod of_integers;
pub mod ops;
pub mod origins;
pub mod paper;
pub mod params;
pub mod provided;
pub mod publish;
mod rank;
pub mod refresh;
pub mod rotation_plan;
pub mod simulator;
mod slot_value;
pub mod sparse_slots;
mod stated;
pub mod vectors;
pub mod wire;

// One flat list of names for users; circuits keep their modules.
pub use bellerophon_mlwe::{KeyId, PublicKey, SecretKey, SecretKind, Security};
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use ciphertext::{Ciphertext, CiphertextMeta};
pub use composed_ops::ComposedOps;
pub use encode::{Encoder, Plaintext};
pub use encrypt::{
    SeededCiphertext, decrypt, decrypt_noisy, decrypt_values, encrypt, encrypt_public,
    encrypt_seeded,
};
pub use error::LevelScale;
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
pub use provided::{Provided, VectorStatement};
pub use publish::{Declaration, Published, ResultStatement};
pub use rank::{RankConversion, RankReduction, ReducingEvaluator, ReducingKeys, RingSwitch};
pub use slot_value::SlotValue;
pub use stated::{ByProvider, ByServer, Payload, Stated};
pub use vectors::Vectors;
