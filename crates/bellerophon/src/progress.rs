//! Progress reports of long operations, and their cancellation.

use std::{fmt, ops::ControlFlow, sync::Arc};

use bellerophon_ckks::fbt::FbtStage;

use crate::{Error, Result};

/// A stage of a look-up ([`Evaluator::map`](crate::Evaluator::map)), of an extraction or a packing,
/// or of a functional bootstrap ([`Evaluator::integers`](crate::Evaluator::integers)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// Extraction, the switch to the LWE secret, and blind rotation.
    LookUps,
    /// Ring packing: the entries return to the slots.
    Repacking,
    /// The mod raise of a functional bootstrap.
    Raise,
    /// The values move back to the slots, at the highest levels.
    CoefficientsToSlots,
    /// The complex exponential of a part of the slots.
    Exponential,
    /// The trigonometric series of the functions.
    Functions,
}

impl Stage {
    /// The name for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::LookUps => "look-ups",
            Self::Repacking => "repacking",
            Self::Raise => FbtStage::Raise.name(),
            Self::CoefficientsToSlots => FbtStage::CoefficientsToSlots.name(),
            Self::Exponential => FbtStage::Exponential.name(),
            Self::Functions => FbtStage::Functions.name(),
        }
    }

    /// A stage of a functional bootstrap.
    pub(crate) fn functional(stage: FbtStage) -> Self {
        match stage {
            FbtStage::SlotsToCoefficients => Self::SlotsToCoefficients,
            FbtStage::Raise => Self::Raise,
            FbtStage::CoefficientsToSlots => Self::CoefficientsToSlots,
            FbtStage::Exponential => Self::Exponential,
            _ => Self::Functions,
        }
    }
}

/// What a long operation reports ([`Evaluator::with_progress`](crate::Evaluator::with_progress)).
///
/// A look-up reports values, at the beginning of each stage, after each batch of values, and at the
/// end of each stage (`done == total`). A functional bootstrap reports steps at their end: one each
/// for the moves between slots and coefficients and for the raise, an exponential for each part of
/// the slots that holds values, and each function of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Values or steps finished in this stage.
    pub done: usize,
    /// Values or steps of this stage.
    pub total: usize,
}

/// The callback of an evaluator.
pub(crate) type Callback = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

/// The callback of the LWE evaluator below: look-ups done, look-ups in total.
pub(crate) type LookUpCallback = dyn Fn(usize, usize) -> ControlFlow<()> + Send + Sync;

/// Both callbacks of an evaluator.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) callback: Arc<Callback>,
    pub(crate) look_ups: Arc<LookUpCallback>,
}

impl Watch {
    pub(crate) fn new(callback: Arc<Callback>) -> Self {
        let above = callback.clone();
        let look_ups = move |done, total| above(Progress { stage: Stage::LookUps, done, total });
        Self { callback, look_ups: Arc::new(look_ups) }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The callback of one operation, if there is one.
pub(crate) struct Observer<'a> {
    pub(crate) op: &'static str,
    pub(crate) callback: Option<&'a Callback>,
}

impl Observer<'_> {
    /// Reports progress. An error if the callback stops the operation.
    pub(crate) fn tell(&self, stage: Stage, done: usize, total: usize) -> Result<()> {
        match self.callback.map(|callback| callback(Progress { stage, done, total })) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => {
                Err(Error::Cancelled { op: self.op, stage, done, total })
            }
        }
    }
}
