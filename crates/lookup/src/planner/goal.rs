//! What the planner compares engines for.

use std::{collections::BTreeSet, ops::RangeInclusive};

use super::function::MapFunction;
use crate::engine::Engine;

/// `log2` of the probability, for each cause of errors, that some value of the vector exceeds its
/// predicted bound.
pub(super) const LOG2_FAILURE: f64 = -20.0;

/// A request for which the planner compares engines, with its defaults filled in.
pub(crate) struct Goal {
    pub(crate) function: MapFunction,
    pub(crate) domain: RangeInclusive<f64>,
    pub(crate) log2_error: f64,
    pub(crate) engines: BTreeSet<Engine>,
}
