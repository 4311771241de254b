//! The record of operations: what a program did goes into the [`Report`].

use std::sync::{MutexGuard, PoisonError};

use bellerophon_ring::{During, Result};

use super::{Failure, Report, SimCiphertext, Simulator};
use crate::cost::Trace;
use crate::metadata::rules::MetadataRules;

impl Simulator {
    /// The report of the program so far.
    pub fn report(&self) -> Report {
        self.lock().clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Report> {
        // The report is whole after every statement, so a panic elsewhere leaves it usable.
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs one operation and records it in the report.
    pub(super) fn perform<'v>(
        &self,
        op: &'static str,
        operands: impl IntoIterator<Item = &'v SimCiphertext>,
        operation: impl FnOnce(MetadataRules<'_>) -> Result<Vec<SimCiphertext>>,
    ) -> Result<Vec<SimCiphertext>> {
        // Step 1: check the operands and run the operation, without the lock: it may record keys
        // and work.
        let checked = operands.into_iter().try_for_each(|x| self.check(x));
        let result = checked.and_then(|()| operation(self.rules())).during(op);

        // Step 2: count it, and record the lowest level or the first failure.
        let mut report = self.lock();
        report.operations += 1;
        match &result {
            Ok(vectors) => {
                let levels = vectors.iter().map(|vector| vector.metadata.level);
                report.lowest_level = levels.chain(report.lowest_level).min();
            }
            Err(error) if report.failure.is_none() => {
                let (operation, error) = (report.operations, error.clone());
                report.failure = Some(Failure { operation, error });
            }
            Err(_) => {}
        }
        result
    }

    /// Records keys and work of an operation.
    pub(super) fn record(&self, trace: Trace<'_>) {
        self.lock().add(trace);
    }
}
