//! How far a bootstrap has come, and a way to stop it.

use std::{fmt, ops::ControlFlow, sync::Arc};

use bellerophon_ckks::{Evaluator, Result, vectors::Vectors};

use crate::error;

/// A stage of a bootstrap, plain ([`bootstrap`](super)) or functional ([`fbt`](crate::fbt)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BootstrapStage {
    /// S2C: the values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// The modulus raise under the sparse secret.
    Raise,
    /// C2S: the values move back to the slots.
    CoefficientsToSlots,
    /// EvalMod of a part of the slots, in plain bootstraps; there are two where the imaginary parts
    /// hold values.
    EvalMod,
    /// The exponential of a part of the slots, in functional bootstraps; there are two where the
    /// imaginary parts hold values.
    Exponential,
    /// The series of a function of a part of the slots, in functional bootstraps.
    Functions,
}

impl BootstrapStage {
    /// A few words for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::Raise => "modulus raise",
            Self::CoefficientsToSlots => "coefficients to slots",
            Self::EvalMod => "EvalMod",
            Self::Exponential => "exponential",
            Self::Functions => "functions",
        }
    }
}

/// A callback that an evaluator carries: the stage, what is finished in it, and all of it.
type Callback = dyn Fn(BootstrapStage, usize, usize) -> ControlFlow<()> + Send + Sync;

/// What an evaluator reports to.
#[derive(Clone)]
pub(super) struct Watch(Arc<Callback>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    pub(super) fn new(
        callback: impl Fn(BootstrapStage, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(callback))
    }
}

/// Reports to the callback of an evaluator, if it has one.
pub(crate) fn tell(
    evaluator: &Evaluator,
    stage: BootstrapStage,
    done: usize,
    total: usize,
) -> Result<()> {
    match evaluator.attached::<Watch>().map(|Watch(callback)| callback(stage, done, total)) {
        None | Some(ControlFlow::Continue(())) => Ok(()),
        Some(ControlFlow::Break(())) => Err(error::cancelled(stage.name(), done, total)),
    }
}
