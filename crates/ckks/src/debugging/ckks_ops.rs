//! [`Vectors`] for the debugger: every operation runs on the ciphertext and on its exact values.

use std::any::Any;

use bellerophon_ring::Result;

use super::{AUTOMATIC, Debugger, Watched};
use crate::ciphertext::{Ciphertext, CiphertextMeta};
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
        let (real, exact) = apart(x);
        self.steps(operation.name(), |e| e.fused(operation, &real), |s| s.fused(operation, &exact))
    }

    fn reinterpret_scale(&self, x: Watched, factor: f64) -> Result<Watched> {
        let Watched { real, exact } = x;
        let real = real.reinterpret_scale(factor);
        self.step("reinterpret_scale", |_| real, |s| s.reinterpret_scale(exact, factor))
    }

    fn repeated(&self, x: Watched, slots: usize) -> Result<Watched> {
        let Watched { real, exact } = x;
        self.step("repeated", |_| real.repeated(slots), |s| s.repeated(exact, slots))
    }

    fn broadcast(&self, x: Watched, len: usize) -> Result<Watched> {
        let Watched { real, exact } = x;
        self.step("broadcast", |_| real.broadcast(len), |s| s.broadcast(exact, len))
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
