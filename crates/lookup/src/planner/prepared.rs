//! Engines that are ready to run.

use std::{fmt, ops::RangeInclusive, sync::Arc};

use bellerophon_ckks as ckks;

use super::vector::VectorProgram;

/// An engine that is ready to run.
pub(crate) enum Prepared {
    /// A program for the whole vector.
    Vector(Box<VectorProgram>),
    /// One table for each value.
    Table,
    /// Tables with a correction of a degree.
    Corrected { order: usize },
}

/// An engine that is ready to run, with what it was prepared for.
pub(crate) struct ReadyEngine {
    pub(crate) prepared: Prepared,
    /// The parameters of the slots.
    pub(crate) slots: ckks::Params,
    /// The name of the function.
    pub(crate) function: String,
    pub(crate) domain: RangeInclusive<f64>,
}

/// The chosen engine of a plan; none in a plan that was read from bytes.
#[derive(Clone, Default)]
pub(crate) struct Ready(pub(crate) Option<Arc<ReadyEngine>>);

/// Everything that is prepared follows from the visible part of a plan.
impl PartialEq for Ready {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ready").field(&self.0.is_some()).finish()
    }
}
