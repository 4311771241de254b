//! How far a bootstrap has come, and a way to stop it.

#[cfg(doc)]
use crate::ErrorKind;
use std::{fmt, ops::ControlFlow, sync::Arc};

use crate::{Evaluator, Result, error};

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

/// The callback, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<Arc<Callback>>);

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    /// Reports; an error if the caller wants to stop.
    pub(crate) fn tell(&self, stage: BootstrapStage, done: usize, total: usize) -> Result<()> {
        match self.0.as_ref().map(|callback| callback(stage, done, total)) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => Err(error::cancelled(stage, done, total)),
        }
    }
}

impl Evaluator {
    /// The same evaluator, whose bootstraps report their progress to `callback`: plain ones, those
    /// that [`with_auto_bootstrap`](Self::with_auto_bootstrap) inserts, and functional ones, tables
    /// of integers among them. A report is made at the end of S2C, of the raise and of C2S, after
    /// EvalMod or the exponential of each part of the slots, and after each function of a part,
    /// with what is finished of the stage and all of it. A callback that returns
    /// [`ControlFlow::Break`] stops the operation there ([`ErrorKind::Cancelled`]). Reports depend
    /// on the shape of the operands alone.
    pub fn watching(
        mut self,
        callback: impl Fn(BootstrapStage, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.watch = Watch(Some(Arc::new(callback)));
        self
    }
}
