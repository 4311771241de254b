//! [`Vectors`] for the evaluator of the facade: operations and circuits run on the evaluator of the
//! slots.

use std::any::Any;

use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, Metadata, Origins, Params,
    ciphertext::Reading,
    hook::Span,
    vectors::{Fused, Statement, Vectors},
};
use bellerophon_ring::Result;

use crate::evaluator::Evaluator;

/// On ciphertexts.
impl Vectors for Evaluator {
    type Ciphertext = Ciphertext;

    fn params(&self) -> &Params {
        self.arithmetic.params()
    }

    fn metadata(&self, x: &Ciphertext) -> Metadata {
        self.arithmetic.metadata(x)
    }

    fn fused<F: Fused>(&self, operation: &F, x: &[&Ciphertext]) -> Result<Vec<Ciphertext>> {
        self.arithmetic.fused(operation, x)
    }

    fn stated(&self, statement: Statement, x: Ciphertext, meta: CiphertextMeta) -> Ciphertext {
        self.arithmetic.stated(statement, x, meta)
    }

    fn origins(&self, x: &Ciphertext) -> Origins {
        self.arithmetic.origins(x)
    }

    fn with_origins(&self, x: Ciphertext, origins: Origins) -> Ciphertext {
        self.arithmetic.with_origins(x, origins)
    }

    fn read_as(&self, x: Ciphertext, reading: Reading) -> Result<Ciphertext> {
        self.arithmetic.read_as(x, reading)
    }

    fn rotates_by(&self, x: &Ciphertext, step: i64) -> bool {
        self.arithmetic.rotates_by(x, step)
    }

    fn refreshes(&self) -> Option<Span> {
        self.arithmetic.refreshes()
    }

    fn refreshed(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        self.arithmetic.refreshed(x, scale)
    }

    fn attached<T: Any>(&self) -> Option<&T> {
        self.arithmetic.attached()
    }
}
