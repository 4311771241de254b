//! [`Vectors`] for the evaluator.

use std::any::Any;

use bellerophon_ring::Result;
use bellerophon_ring::error::operation;

use super::Evaluator;
use crate::ciphertext::{Ciphertext, CiphertextMeta, Reading};
use crate::error::no_bootstrapping;
use crate::hook::Span;
use crate::metadata::Metadata;
use crate::origins::Origins;
use crate::params::Params;
use crate::vectors::{Fused, Planned, Scope, State, Statement, Vectors};

/// On ciphertexts.
impl Vectors for Evaluator {
    type Ciphertext = Ciphertext;

    fn params(&self) -> &Params {
        &self.params
    }

    fn fused<F: Fused>(&self, op: &F, x: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        operation(op.name(), || {
            // Step 1: vectors of these parameters and this key, bootstrapped where levels run out.
            x.iter().try_for_each(|x| self.check(x))?;
            let operands = op.operands(self, x)?;
            let operands: Vec<&Ciphertext> = operands.iter().map(|x| &**x).collect();
            let states: Vec<State> = operands.iter().map(|x| x.state()).collect();
            // Step 2: the metadata. Results that could wrap are refused before any work.
            let costs = |x: &Metadata, step| self.rotation_cost(x, step);
            let Planned { plan, results } = op.plan(&Scope::new(self.rules(), &costs), &states)?;
            // Step 3: the phases.
            let inner = op.run(self, &operands, &plan)?.into_iter().zip(results);
            let result = |(inner, State { metadata, origins })| {
                Ciphertext::at_level(&self.params, inner, metadata.meta, origins)
            };
            Ok(inner.map(result).collect())
        })
    }

    fn metadata(&self, x: &Ciphertext) -> Metadata {
        x.metadata()
    }

    fn stated(&self, _: Statement, x: Ciphertext, meta: CiphertextMeta) -> Ciphertext {
        x.changed(meta)
    }

    fn origins(&self, x: &Ciphertext) -> Origins {
        x.origins().clone()
    }

    fn with_origins(&self, x: Ciphertext, origins: Origins) -> Ciphertext {
        x.of(origins)
    }

    fn read_as(&self, x: Ciphertext, reading: Reading) -> Result<Ciphertext> {
        operation(reading.name(), || x.read_as(reading))
    }

    fn rotates_by(&self, x: &Ciphertext, step: i64) -> bool {
        let slots = x.meta().slots;
        let step = step.rem_euclid(slots as i64) as usize;
        step == 0 || self.keys.rotations(slots, x.lattice().limbs()).contains_key(&step)
    }

    fn refreshes(&self) -> Option<Span> {
        self.refresh.as_ref().map(|refresh| refresh.span())
    }

    fn refreshed(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let refresh = self.refresh.as_ref().ok_or_else(no_bootstrapping)?;
        let refreshed = operation("bootstrap", || refresh.refreshed(self, x, scale))?;
        self.automatic.add(&refreshed);
        Ok(refreshed)
    }

    fn attached<T: Any>(&self) -> Option<&T> {
        self.attachments.get()
    }
}
