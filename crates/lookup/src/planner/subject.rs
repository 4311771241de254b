//! What a map is planned for: a parameter set, and the keys of a server.

use std::sync::Arc;

use bellerophon_circuits::{bootstrap::Bootstrapper, fbt::FunctionalBootstrapper};
use bellerophon_ckks as ckks;
use bellerophon_ring::Result;

use crate::{
    bridge_choice::Bridge, engine::Engine, error, evaluator::LookupEvaluator, params::LutParams,
};

/// A parameter set for which maps are planned.
pub trait PlanSubject {
    /// The parameters of the slots.
    fn slots(&self) -> &ckks::Params;

    /// The highest level for programs.
    fn levels(&self) -> usize;

    /// The look-up part.
    fn lookups(&self) -> Result<&LutParams>;

    /// The bootstrapper.
    fn bootstrapper(&self) -> Result<&Arc<Bootstrapper>>;

    /// The functional bootstrapper.
    fn functional(&self) -> Result<&Arc<FunctionalBootstrapper>>;

    /// Bytes of the keys of an engine in their wire form, with a given bridge for tables.
    fn key_bytes(&self, engine: Engine, bridge: Option<Bridge>) -> Result<usize>;
}

/// A server with its keys, for which maps are planned, and which evaluates them.
#[derive(Debug, Clone, Copy)]
pub struct MapServer<'a> {
    /// The evaluator of the slots.
    pub arithmetic: &'a ckks::Evaluator,
    /// Its look-ups, for parameters with look-ups.
    pub lookups: Option<LookupEvaluator<'a>>,
    /// Whether it has the keys of functional bootstrapping.
    pub functional: bool,
}

impl<'a> MapServer<'a> {
    /// Its look-ups.
    pub(super) fn with_lookups(&self) -> Result<LookupEvaluator<'a>> {
        self.lookups.ok_or_else(|| error::missing_keys("map"))
    }
}
