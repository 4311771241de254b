//! How far a functional bootstrap has come, and a way to stop it.

use std::{fmt, ops::ControlFlow, sync::Arc};

use crate::{ErrorKind, Evaluator, Result};

/// A part of a functional bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FbtStage {
    /// S2C: the values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// The modulus raise under the sparse secret.
    Raise,
    /// C2S: the values move back to the slots.
    CoefficientsToSlots,
    /// The exponential of a part of the slots; there are two where the imaginary parts hold values.
    Exponential,
    /// The series of a function of a part of the slots.
    Functions,
}

impl FbtStage {
    /// A few words for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::Raise => "modulus raise",
            Self::CoefficientsToSlots => "coefficients to slots",
            Self::Exponential => "exponential",
            Self::Functions => "functions",
        }
    }
}

/// A callback that an evaluator carries: the stage, what is finished in it, and all of it.
type Callback = dyn Fn(FbtStage, usize, usize) -> ControlFlow<()> + Send + Sync;

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
    pub(crate) fn tell(&self, stage: FbtStage, done: usize, total: usize) -> Result<()> {
        match self.0.as_ref().map(|callback| callback(stage, done, total)) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => Err(ErrorKind::Cancelled { stage, done, total }.into()),
        }
    }
}

impl Evaluator {
    /// The same evaluator, whose functional bootstraps, tables of integers among them, tell
    /// `callback` how far they have come: at the end of S2C, of the raise and of C2S, after each
    /// exponential and after each function of a part of the slots, with what is finished of the
    /// stage and all of it. A callback that returns [`ControlFlow::Break`] stops the operation
    /// there ([`ErrorKind::Cancelled`]). What it is told depends on the shape of the operands
    /// alone. No effect without [`with_functional`](Self::with_functional).
    pub fn watching(
        mut self,
        callback: impl Fn(FbtStage, usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        if let Some(functional) = &mut self.functional {
            functional.watch = Watch(Some(Arc::new(callback)));
        }
        self
    }
}
