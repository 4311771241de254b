//! How far a long operation has come, and a way to stop it.

use std::{fmt, ops::ControlFlow, sync::Arc};

use crate::{Error, Result};

/// A part of a look-up ([`Evaluator::map`](crate::Evaluator::map)), or of a way down or up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// The values are extracted, switched to the LWE secret, and select their table entries.
    LookUps,
    /// The entries are packed into slots.
    Repacking,
}

impl Stage {
    /// A few words for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::LookUps => "look-ups",
            Self::Repacking => "repacking",
        }
    }
}

/// What a long operation reports ([`Evaluator::with_progress`](crate::Evaluator::with_progress)) at the beginning of each stage, after each batch of values, and
/// at the end of each stage (`done == total`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The stage that it is in.
    pub stage: Stage,
    /// Values finished in this stage.
    pub done: usize,
    /// Values of this stage.
    pub total: usize,
}

/// A callback that an evaluator carries.
pub(crate) type Callback = dyn Fn(Progress) -> ControlFlow<()> + Send + Sync;

/// The same for what happens below, among the tables: look-ups done, look-ups in all.
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

/// Who is told by one operation, if somebody is.
pub(crate) struct Observer<'a> {
    pub(crate) op: &'static str,
    pub(crate) callback: Option<&'a Callback>,
}

impl Observer<'_> {
    /// Reports; an error if the caller wants to stop.
    pub(crate) fn tell(&self, stage: Stage, done: usize, total: usize) -> Result<()> {
        match self.callback.map(|callback| callback(Progress { stage, done, total })) {
            None | Some(ControlFlow::Continue(())) => Ok(()),
            Some(ControlFlow::Break(())) => {
                Err(Error::Cancelled { op: self.op, stage, done, total })
            }
        }
    }
}
