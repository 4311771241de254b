//! [`Vectors`] for the evaluator that reduces ranks. Each operation brings its operands to one
//! rank, runs on the evaluator of that rank, and reduces the rank of the results.

use std::borrow::Cow;

use bellerophon_ring::Result;
use bellerophon_ring::error::operation;

use super::ReducingEvaluator;
use crate::ciphertext::{Ciphertext, CiphertextMeta, Reading};
use crate::metadata::Metadata;
use crate::origins::Origins;
use crate::params::Params;
use crate::vectors::{Fused, Statement, Vectors};

/// On ciphertexts, each at the smallest rank that its level allows.
impl Vectors for ReducingEvaluator {
    type Ciphertext = Ciphertext;

    /// The parameters of the largest rank.
    fn params(&self) -> &Params {
        self.evaluators()[0].params()
    }

    fn fused<F: Fused>(&self, op: &F, x: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        operation(op.name(), || {
            // A circuit that was prepared for one rank runs there.
            let rank = match op.prepared_for() {
                Some(params) => self.rank_with(params.lattice().fingerprint())?,
                None => self.meeting(x.iter().copied()),
            };
            let met: Vec<Cow<'_, Ciphertext>> =
                x.iter().map(|x| self.at(x, rank)).collect::<Result<_>>()?;
            let met: Vec<&Ciphertext> = met.iter().map(|x| &**x).collect();
            let results = self.evaluators()[rank].fused(op, &met)?;
            results.into_iter().map(|x| self.settled(x)).collect()
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
        self.evaluators()[self.meeting([x])].rotates_by(x, step)
    }
}
