//! Look-ups of slot vectors: any function of every value, by tables on LWE ciphertexts (PEGASUS,
//! IEEE S&P 2021).
//!
//! The values move from the slots to LWE ciphertexts, programmable bootstrapping selects a table
//! entry for each, and ring packing or the linear transform brings the entries back to the slots.
//!
//! | item | contents |
//! | --- | --- |
//! | [`LutParams`], [`LutSpec`], [`LutEngine`] | the look-up part of a parameter set; the engines of its blind rotation |
//! | [`Bridge`], [`BridgePath`] | the path between slots and LWE ciphertexts, as asked for and as chosen |
//! | [`LookupSecrets`], [`TableKeys`], [`LinearKeys`] | secrets and keys |
//! | [`LookupEvaluator`] | plain look-ups, several functions at once, look-ups to an accuracy, extraction and packing |
//! | [`OrderOps`], [`LookupServer`] | functions of several values: maximum, argmax, comparison, sorting |
//! | [`OrderFunction`], [`OrderAccuracy`] | the predicted error of functions of several values |
//! | [`Flood`] | noise flooding before the switch from slots to LWE values |
//! | [`ErrorDistribution`] | the predicted error of a look-up |
//! | [`Stage`], [`Progress`], [`Watch`] | progress of long operations |
//! | [`Counts`] | the operations that can fail, for bounds on their probability |

mod bridge_choice;
mod corrected;
mod counts;
mod domain;
mod engine;
mod error_distribution;
mod evaluator;
mod extract;
mod flooding;
mod keys;
mod local_poly;
mod map;
mod map_many;
mod order_accuracy;
mod ordering;
mod pack;
mod params;
mod progress;
mod stage;
mod table_fit;
mod table_packing;

pub use bridge_choice::{Bridge, BridgePath};
pub use counts::Counts;
pub use engine::LutEngine;
pub use error_distribution::ErrorDistribution;
pub use evaluator::LookupEvaluator;
pub use flooding::Flood;
pub use keys::{LinearKeys, LookupSecrets, LutKeys, TableKeys};
pub use order_accuracy::{OrderAccuracy, OrderFunction};
pub use ordering::{LookupServer, OrderOps, distinguishable, most_indices};
pub use params::{LutParams, LutSpec};
pub use progress::{KeyProgress, Watch};
pub use stage::{Progress, Stage};

pub(crate) use corrected::{CorrectionPlan, Corrections, KEYS as KEYS_OF_CORRECTIONS};
pub(crate) use domain::{carried_domain, center, check_domain, range_within};
pub(crate) use error_distribution::Grid;
pub(crate) use flooding::deviation as flooding_deviation;
pub(crate) use local_poly::Smooth;
pub(crate) use map::Map;

#[cfg(test)]
pub(crate) mod testing;
