//! How far a long operation has come, and a way to stop it.

use std::ops::ControlFlow;

use crate::{Error, Result};

/// A part of a look-up ([`Evaluator::map`](crate::Evaluator::map)).
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

/// What a long operation reports at the beginning of each stage, after each batch of values, and
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

/// Who is told.
pub(crate) struct Observer<'a> {
    pub(crate) op: &'static str,
    pub(crate) callback: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Observer<'_> {
    /// Reports; an error if the caller wants to stop.
    pub(crate) fn tell(&mut self, stage: Stage, done: usize, total: usize) -> Result<()> {
        match (self.callback)(Progress { stage, done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Cancelled { op: self.op, stage, done, total }),
        }
    }
}
