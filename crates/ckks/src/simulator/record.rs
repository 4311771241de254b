//! The record of operations: what a program did goes into the [`Report`].

use std::sync::{MutexGuard, PoisonError};

use super::{Failure, Report, SimCiphertext, Simulator};
use crate::{During, KeyLevels, Result, cost::Count, metadata::rules::MetadataRules};

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
        operation: impl FnOnce(MetadataRules<'_>) -> Result<SimCiphertext>,
    ) -> Result<SimCiphertext> {
        let one = |rules: MetadataRules<'_>| operation(rules).map(|vector| vec![vector]);
        Ok(self.perform_all(op, operands, one)?.pop().expect("one result"))
    }

    /// As [`perform`](Self::perform) for an operation with several results.
    pub(super) fn perform_all<'v>(
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

    /// Records the key switches and keys of an operation.
    pub(super) fn needs(&self, key_switches: usize, keys: impl FnOnce(KeyLevels) -> KeyLevels) {
        let mut report = self.lock();
        report.key_switches += key_switches;
        report.keys = keys(std::mem::take(&mut report.keys));
    }

    /// Records the work of an operation.
    pub(super) fn works(&self, count: impl FnOnce(&mut Count<'_>)) {
        // Count without the lock, then add.
        let mut work = Count::new(&self.params);
        count(&mut work);
        self.lock().work += work.work();
    }
}
