//! [`Vectors`] for the debugger: every operation runs on the ciphertext and on its exact values.

use std::any::Any;

use bellerophon_ring::Result;

use super::{AUTOMATIC, Debugger, Watched};
use crate::ciphertext::{Ciphertext, CiphertextMeta, Reading};
use crate::hook::Span;
use crate::metadata::Metadata;
use crate::origins::Origins;
use crate::params::Params;
use crate::simulator::SimCiphertext;
use crate::vectors::{Fused, Statement, Vectors};

/// The ciphertexts of vectors, and their exact values.
fn apart<'x>(x: &[&'x Watched]) -> (Vec<&'x Ciphertext>, Vec<&'x SimCiphertext>) {
    x.iter().map(|x| (&x.real, &x.exact)).unzip()
}

/// On ciphertexts and their exact values. Every automatic bootstrap is a step of its own.
impl Vectors for Debugger<'_> {
    type Ciphertext = Watched;

    fn params(&self) -> &Params {
        self.evaluator.params()
    }

    fn metadata(&self, x: &Watched) -> Metadata {
        x.real.metadata()
    }

    fn fused<F: Fused>(&self, operation: &F, x: &[&Watched]) -> Result<Vec<Watched>> {
        let (op, (real, exact)) = (operation.name(), apart(x));
        let (real, exact) =
            self.run(op, |e| e.fused(operation, &real), |s| s.fused(operation, &exact))?;
        real.into_iter().zip(exact).map(|(real, exact)| self.finished(op, real, exact)).collect()
    }

    fn read_as(&self, x: Watched, reading: Reading) -> Result<Watched> {
        let (op, Watched { real, exact }) = (reading.name(), x);
        let (real, exact) =
            self.run(op, |_| real.read_as(reading), |s| s.read_as(exact, reading))?;
        self.finished(op, real, exact)
    }

    /// A statement of noise is false if the root mean square of the errors exceeds six times the
    /// deviation, any other if a slot leaves its range.
    fn stated(&self, statement: Statement, x: Watched, meta: CiphertextMeta) -> Watched {
        self.checked(statement, x, meta)
    }

    fn origins(&self, x: &Watched) -> Origins {
        x.real.origins().clone()
    }

    fn with_origins(&self, x: Watched, origins: Origins) -> Watched {
        Watched::new(x.real.of(origins), x.exact)
    }

    fn rotates_by(&self, x: &Watched, step: i64) -> bool {
        self.evaluator.rotates_by(&x.real, step)
    }

    fn refreshes(&self) -> Option<Span> {
        self.evaluator.refreshes()
    }

    fn refreshed(&self, x: &Watched, scale: f64) -> Result<Watched> {
        // Its step is that of the bootstrap which the evaluator has seen.
        let (real, exact) =
            self.run(AUTOMATIC, |e| e.refreshed(&x.real, scale), |s| s.refreshed(&x.exact, scale))?;
        Ok(Watched::new(real, exact))
    }

    fn attached<T: Any>(&self) -> Option<&T> {
        self.evaluator.attached()
    }
}
