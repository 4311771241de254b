//! Engines that are ready to run.

use std::{fmt, sync::Arc};

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

/// An engine that is ready to run, for the parameters of the slots that it was prepared for; none
/// in a plan that was read from bytes.
#[derive(Clone, Default)]
pub(crate) struct Ready(pub(crate) Option<Arc<(Prepared, ckks::Params, String, [f64; 2])>>);

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
