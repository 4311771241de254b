//! A selected parameter set.

use std::sync::Arc;

#[cfg(doc)]
use bellerophon_ckks::Metadata;
use bellerophon_ckks::{ModulusChain, Params, ParamsSpec, Result};
use bellerophon_mlwe::Security;

#[cfg(doc)]
use super::LOG2_FAILURE;
use super::{Predicted, ProgramBounds, ReductionChoice};
use crate::bootstrap::Bootstrapper;

/// A parameter set chosen for [`ProgramBounds`]. [`Display`](std::fmt::Display) explains the
/// choice.
#[derive(Debug, Clone)]
pub struct SelectedParams {
    /// The requirements.
    pub requirements: ProgramBounds,
    /// The checked set.
    pub params: Params,
    pub(super) chain: ModulusChain,
    pub(super) log_scale: u32,
    /// Correct bits after the binary point of the result, in the worst slot; at least the requested
    /// bits.
    pub bits: f64,
    /// The bootstrapping part of the set, if requested.
    pub bootstrap: Option<SelectedBootstrap>,
}

/// The bootstrapping part of a selected set.
#[derive(Debug, Clone)]
pub struct SelectedBootstrap {
    /// The bootstrapper, with levels, keys and predictions. Its matrices are not encoded in
    /// advance.
    pub bootstrapper: Arc<Bootstrapper>,
    /// Correct bits after the binary point in the worst slot of a bootstrapped vector of numbers of
    /// `[-1, 1]`, except with probability `2^`[`LOG2_FAILURE`] ([`Metadata::worst`]).
    pub bits: f64,
    /// The chosen EvalMod, and those that should meet the requirements at a higher cost: by their
    /// predicted times.
    pub reductions: Vec<ReductionChoice>,
}

impl SelectedParams {
    /// The set in literal form.
    pub fn spec(&self) -> Result<ParamsSpec> {
        let mut spec = ParamsSpec::from_chain(&self.chain, self.log_scale, Security::Insecure)?;
        let lattice = self.params.lattice().spec();
        (spec.lattice.secret, spec.lattice.security) = (lattice.secret, lattice.security);
        Ok(spec)
    }

    /// Predicted sizes and times.
    pub fn predicted(&self) -> Predicted {
        let bootstrapper = self.bootstrap.as_ref().map(|r| &*r.bootstrapper);
        Predicted::of(&self.params, bootstrapper)
    }
}
