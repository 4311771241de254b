//! [`Vectors`] for the simulator: every operation on plain values, with the metadata of
//! ciphertexts.

use std::any::Any;

use bellerophon_ring::Result;
use num_complex::Complex64;

use super::{Failure, SimCiphertext, Simulator, one_key};
use crate::ciphertext::{CiphertextMeta, Reading};
use crate::cost::Trace;
use crate::error::no_bootstrapping;
use crate::hook::Span;
use crate::metadata::Metadata;
use crate::noise::Noise;
use crate::noise_model::NoiseModel;
use crate::origins::Origins;
use crate::params::Params;
use crate::vectors::{Fused, Planned, Scope, State, Statement, Vectors};

impl Simulator {
    /// `x` with stated metadata. A statement cannot lower the bound on the error against the exact
    /// program, and a slightly different scale raises it.
    fn with_metadata_bound(&self, x: SimCiphertext, meta: CiphertextMeta) -> SimCiphertext {
        let known = self.rules().taken_for(&x.metadata, meta.scale);
        let noise = Noise { excess: meta.noise.excess, ..meta.noise.max(known) };
        x.with(CiphertextMeta { noise, ..meta })
    }
}

/// Operations on plain vectors, with the metadata of ciphertexts.
impl Vectors for Simulator {
    type Ciphertext = SimCiphertext;

    fn params(&self) -> &Params {
        &self.params
    }

    fn metadata(&self, x: &SimCiphertext) -> Metadata {
        x.metadata
    }

    fn fused<F: Fused>(&self, operation: &F, x: &[&SimCiphertext]) -> Result<Vec<SimCiphertext>> {
        self.perform(operation.name(), x.iter().copied(), |rules| {
            // Step 1: the operands, with a bootstrap where levels run out.
            let operands = operation.operands(self, x)?;
            let states: Vec<State> = operands
                .iter()
                .map(|x| State { metadata: x.metadata, origins: x.origins.clone() })
                .collect();
            // Step 2: metadata, keys and work. A refused operation needs no key.
            let Planned { plan, results } =
                operation.plan(&Scope::new(rules, &one_key), &states)?;
            let mut trace = Trace::new(&self.params);
            operation.trace(&states, &plan, &mut trace);
            self.record(trace);
            // Step 3: the exact values.
            let slots: Vec<&[Complex64]> = operands.iter().map(|x| x.slots()).collect();
            let exact = operation.exact(&slots, &results)?.into_iter().zip(results);
            Ok(exact.map(|(values, x)| self.vector(values, x.metadata, x.origins)).collect())
        })
    }

    fn read_as(&self, x: SimCiphertext, reading: Reading) -> Result<SimCiphertext> {
        let mut results = self.perform(reading.name(), [&x], |_| {
            let meta = reading.metadata(x.metadata.meta, self.params.max_slots())?;
            // The polynomial is the same: its slots repeat anyway.
            let factor = if let Reading::Multiplied(factor) = reading { factor } else { 1.0 };
            let values = x.values.iter().cycle().take(meta.slots).map(|&a| a * factor).collect();
            let origins = x.origins.repeated(x.values.len(), meta.slots);
            Ok(vec![self.vector(values, Metadata { meta, ..x.metadata }, origins)])
        })?;
        Ok(results.pop().expect("one result"))
    }

    fn stated(&self, _: Statement, x: SimCiphertext, meta: CiphertextMeta) -> SimCiphertext {
        match self.noise_model {
            // An average may be overridden, a bound only raised.
            NoiseModel::Average => x.with(meta),
            NoiseModel::Worst => self.with_metadata_bound(x, meta),
        }
    }

    fn as_message(&self, x: SimCiphertext, meta: CiphertextMeta) -> SimCiphertext {
        x.with(meta)
    }

    fn origins(&self, x: &SimCiphertext) -> Origins {
        x.origins.clone()
    }

    fn with_origins(&self, x: SimCiphertext, origins: Origins) -> SimCiphertext {
        SimCiphertext { origins, ..x }
    }

    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // The report keeps the first failure under the name of the composed operation.
        let failed_before = self.lock().failure.is_some();
        work().map_err(|error| {
            let error = error.during(op);
            let mut report = self.lock();
            if !failed_before {
                // An error outside any operation counts as one operation more.
                let found = report.failure.as_ref().map(|failure| failure.operation);
                let operation = found.unwrap_or(report.operations + 1);
                report.operations = report.operations.max(operation);
                report.failure = Some(Failure { operation, error: error.clone() });
            }
            error
        })
    }

    fn rotates_by(&self, _: &SimCiphertext, _: i64) -> bool {
        // The report requests a key for every step that the program uses.
        true
    }

    fn refreshes(&self) -> Option<Span> {
        self.refresh.as_ref().map(|refresh| refresh.span())
    }

    fn refreshed(&self, x: &SimCiphertext, scale: f64) -> Result<SimCiphertext> {
        let refresh = self.refresh.as_ref().ok_or_else(no_bootstrapping)?;
        let refreshed = self.composed("bootstrap", || refresh.refreshed(self, x, scale))?;
        self.automatic.add(&refreshed);
        Ok(refreshed)
    }

    fn attached<T: Any>(&self) -> Option<&T> {
        self.attachments.get()
    }

    fn noise_model(&self) -> NoiseModel {
        self.noise_model
    }
}
