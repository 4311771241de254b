//! Look-ups of slot vectors: any function of every value, by tables on LWE ciphertexts (PEGASUS,
//! IEEE S&P 2021).
//!
//! The values move from the slots of a CKKS ciphertext to LWE ciphertexts, programmable
//! bootstrapping selects a table entry for each, and a bridge brings the entries back to the slots.
//!
//! | item | contents |
//! | --- | --- |
//! | [`LutParams`], [`LutSpec`] | the look-up part of a parameter set |
//! | [`Engine`], [`Bridge`] | the methods to apply a function, and the bridges of tables |
//! | [`LookupSecrets`], [`TableKeys`], [`LinearKeys`] | secrets and keys |
//! | [`LookupEvaluator`] | look-ups, plain or to an accuracy; extraction and packing |
//! | [`OrderOps`], [`LookupServer`] | maximum, argmax, comparison, sorting |
//! | [`OrderFunction`], [`OrderAccuracy`] | the predicted error of functions of several values |
//! | [`Flood`] | noise flooding before the switch from slots to LWE values |
//! | [`ErrorDistribution`] | the predicted error of a look-up |
//! | [`Stage`], [`Progress`], [`Watch`] | progress of long operations |
//! | [`Counts`] | the operations that can fail, for bounds on their probability |
//! | [`planner`] | the engine of a function: polynomial, functional bootstrapping or look-ups |
//! | [`RingBridge`], [`RingBridgeKeys`] | slots to LWE values under a small ring, and back |
//! | [`linear_bridge`] | LWE values to slots by one plain matrix product |
//! | [`wire`] | plain forms of the keys of both bridges |
//!
//! Cost of the ring bridge for `l` values: about `l` automorphisms in the small ring
//! ([`row_packing_noise`](bellerophon_repack::row_packing_noise) has their noise), two matrices of
//! CoeffsToSlots at the highest levels and the reduction. The linear bridge has a head of its own.
#![forbid(unsafe_code)]

mod bridge_choice;
mod corrected;
mod counts;
mod domain;
mod engine;
#[doc(hidden)]
pub mod error;
mod error_distribution;
mod evaluator;
mod extract;
mod flooding;
mod keys;
pub mod linear_bridge;
mod local_poly;
mod map;
mod map_many;
mod order_accuracy;
mod ordering;
mod pack;
mod params;
pub mod planner;
mod progress;
mod ring_bridge;
mod stage;
mod table_fit;
mod table_packing;
pub mod wire;

pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use bridge_choice::Bridge;
pub use counts::Counts;
pub use engine::Engine;
pub use error_distribution::ErrorDistribution;
pub use evaluator::LookupEvaluator;
pub use flooding::Flood;
pub use keys::{LinearKeys, LookupSecrets, LutKeys, TableKeys};
pub use linear_bridge::{Layout, RepackKey, SeededRepackKey};
pub use order_accuracy::{OrderAccuracy, OrderFunction};
pub use ordering::{LookupServer, OrderOps, distinguishable, most_indices};
pub use params::{LutParams, LutSpec};
pub use progress::{KeyProgress, Watch};
pub use ring_bridge::{Reduction, RingBridge, RingBridgeKeys, RingBridgeSpec};
pub use stage::{Progress, Stage};

#[cfg(test)]
mod testing;
