//! A debugging evaluator, which holds the secret key: it decrypts after every step of a program and
//! names the first promise that is false.
//!
//! Ranges ([`ComposedOps::assume_range`], [`CkksOps::with_metadata`]) and noise
//! ([`CkksOps::assume_noise`]) that a caller states are promises. No server can check them: a false
//! one shows as wrong values, many steps later. A [`Debugger`] is a [`CkksOps`] whose vectors
//! ([`Watched`]) are a ciphertext and the exact values that it should have. A program written for
//! any [`CkksOps`] runs on it unchanged, with the keys and the metadata of the evaluator, and
//! leaves a [`Report`]. Every automatic bootstrap is a step of its own, `bootstrap (automatic)`.
//!
//! A promise counts as false if an exact or a decrypted slot leaves the range by more than
//! - the worst departure that the noise allows ([`Metadata::excess`]), which a statement about all
//!   slots sets to zero, or
//! - the error of the slot against the exact program, as far as it is below `2^-14` of the width of
//!   the range: values at an end of their range leave it by their noise, which harms nothing.
//!
//! The imaginary part of the error of a real slot may be as large as the width of the range.
//!
//! The operation that is named is a statement, or the first one in which a statement that holds for
//! the operands no longer does.
//!
//! The report shows decrypted values and their noise, from which the key can be computed: it is for
//! the owner of the key alone.

use bellerophon_ring::Error;
mod automatic;
mod ckks_ops;
mod report;
mod step;
mod violation;

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use bellerophon_mlwe::{self as mlwe, SecretKey};
use bellerophon_ring::{During, Result};
use num_complex::Complex64;

pub use automatic::Automatic;
pub use report::{FalsePromise, Report};
pub use step::Step;
pub use violation::{Outside, Violation};

use crate::ciphertext::{Ciphertext, CiphertextMeta};
#[cfg(doc)]
use crate::composed_ops::ComposedOps;
use crate::encode::check_values;
use crate::encrypt::decrypt_up_to;
use crate::eval::Evaluator;
use crate::lengths::check_len;
#[cfg(doc)]
use crate::metadata::Metadata;
use crate::ops::CkksOps;
use crate::simulator::{SimCiphertext, Simulator};
use crate::slot_value::SlotValue;
use crate::vectors::{Statement, Vectors};
use violation::Seen;

/// The operation of a step that the evaluator inserts.
const AUTOMATIC: &str = "bootstrap (automatic)";

/// Runs programs on ciphertexts and on their exact values, decrypts every result, and keeps a
/// [`Report`].
pub struct Debugger<'a> {
    evaluator: &'a Evaluator,
    secret: &'a SecretKey,
    simulator: Simulator,
    report: Mutex<Report>,
}

/// A ciphertext, and the values that exact arithmetic would give it.
#[derive(Debug, Clone)]
pub struct Watched {
    real: Ciphertext,
    exact: SimCiphertext,
}

impl Watched {
    /// The simulator counts one key for each rotation, and has encryptions of its own: the metadata
    /// are those of the ciphertext.
    fn new(real: Ciphertext, exact: SimCiphertext) -> Self {
        let exact = exact.with_state(real.metadata(), real.origins().clone());
        Self { real, exact }
    }

    /// The ciphertext.
    pub fn ciphertext(&self) -> &Ciphertext {
        &self.real
    }

    /// The exact values.
    pub fn exact(&self) -> &[Complex64] {
        self.exact.values()
    }
}

impl AsRef<Ciphertext> for Watched {
    fn as_ref(&self) -> &Ciphertext {
        &self.real
    }
}

impl<'a> Debugger<'a> {
    /// A debugger of the programs of an evaluator, with its keys and its automatic bootstraps.
    pub fn new(evaluator: &'a Evaluator, secret: &'a SecretKey) -> Result<Self> {
        let op = "make a debugger";
        let (found, needed) = (secret.id(), evaluator.keys().secret_id());
        if found != needed {
            return Err(mlwe::error::key_mismatch(found, needed)).during(op);
        }
        let simulator = Simulator::new(evaluator.params());
        let mut simulator = simulator.with_attachments(evaluator.attachments.clone());
        // The bootstraps of plain values, beside those of ciphertexts.
        if evaluator.refreshes().is_some() {
            simulator = simulator.refreshing(evaluator.attached().cloned());
        }
        Ok(Self { evaluator, secret, simulator, report: Mutex::default() })
    }

    /// An encrypted vector of these values, which is one step of the report.
    pub fn watch<T: SlotValue>(&self, x: Ciphertext, values: &[T]) -> Result<Watched> {
        self.watched("watch", x, values)
    }

    /// A vector with the values that exact arithmetic gives it, as a step of that name.
    fn watched<T: SlotValue>(
        &self,
        op: &'static str,
        x: Ciphertext,
        values: &[T],
    ) -> Result<Watched> {
        check_values(values, self.evaluator.params().max_slots()).during(op)?;
        check_len(x.len(), values.len()).during(op)?;
        let mut exact = self.opened(&x).during(op)?;
        if x.meta.bounds.padding_is_zero() {
            exact.fill(Complex64::ZERO);
        }
        exact.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.to_complex());
        self.started(op, x, exact)
    }

    /// As [`watch`](Self::watch), of a vector whose values are those that it decrypts to: for the
    /// results of a program that does not run on the debugger, one call for each step.
    pub fn watch_decrypted(&self, x: Ciphertext) -> Result<Watched> {
        let op = "watch_decrypted";
        let exact = self.opened(&x).during(op)?;
        self.started(op, x, exact)
    }

    /// The steps so far, and the first false promise.
    pub fn report(&self) -> Report {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All slots of a vector under the key of the debugger.
    fn opened(&self, x: &Ciphertext) -> Result<Vec<Complex64>> {
        self.evaluator.check(x)?;
        // At all limbs: the slots of a false range may need them.
        let plaintext = decrypt_up_to(self.evaluator.params(), x, f64::INFINITY, self.secret)?;
        self.evaluator.encoder().decode_slots(&plaintext)
    }

    /// A vector with which a program starts.
    fn started(
        &self,
        operation: &'static str,
        x: Ciphertext,
        exact: Vec<Complex64>,
    ) -> Result<Watched> {
        let exact = self.simulator.vector(exact, x.metadata(), x.origins().clone());
        self.finished(operation, x, exact)
    }

    /// An operation outside [`CkksOps`], as a step whose exact values are given. `run` gets the
    /// evaluator. The exact values of vectors that it bootstraps automatically are those to which
    /// they decrypt.
    pub fn perform<T: SlotValue, E: From<Error>>(
        &self,
        operation: &'static str,
        values: &[T],
        run: impl FnOnce(&Evaluator) -> Result<Ciphertext, E>,
    ) -> Result<Watched, E> {
        let (evaluator, automatic) = self.evaluator.seen();
        let real = run(&evaluator)?;
        for x in automatic.take() {
            let exact = self.opened(&x)?;
            self.started(AUTOMATIC, x, exact)?;
        }
        Ok(self.watched(operation, real, values)?)
    }

    /// An operation on ciphertexts and on exact values, with its automatic bootstraps in the
    /// report.
    fn run<R, S>(
        &self,
        operation: &'static str,
        real: impl FnOnce(&Evaluator) -> Result<R>,
        exact: impl FnOnce(&Simulator) -> Result<S>,
    ) -> Result<(R, S)> {
        let (evaluator, automatic) = self.evaluator.seen();
        let (simulator, expected) = self.simulator.seen();
        let results = (real(&evaluator).during(operation)?, exact(&simulator).during(operation)?);
        // Both follow one rule: their bootstraps are the same, in the same order.
        for (real, exact) in automatic.take().into_iter().zip(expected.take()) {
            self.finished(AUTOMATIC, real, exact)?;
        }
        Ok(results)
    }

    /// A result with its step in the report.
    fn finished(
        &self,
        operation: &'static str,
        real: Ciphertext,
        exact: SimCiphertext,
    ) -> Result<Watched> {
        let decrypted = self.opened(&real).during(operation)?;
        let x = Watched::new(real, exact);
        self.record(operation, &x, &decrypted, |seen| seen.outside());
        Ok(x)
    }

    /// A vector with stated metadata. Vectors of other keys go on unseen: the next operation
    /// refuses them.
    fn checked(&self, statement: Statement, x: Watched, meta: CiphertextMeta) -> Watched {
        let x = Watched::new(self.evaluator.with_metadata(x.real, meta), x.exact);
        if let Ok(decrypted) = self.opened(&x.real) {
            self.record(statement.name(), &x, &decrypted, |seen| match statement {
                Statement::Noise => seen.noisy(),
                _ => seen.outside(),
            });
        }
        x
    }

    /// Adds a step to the report, whose promise `check` decides.
    fn record(
        &self,
        operation: &'static str,
        x: &Watched,
        decrypted: &[Complex64],
        check: impl FnOnce(&Seen<'_>) -> Option<Violation>,
    ) {
        let seen = Seen { metadata: x.real.metadata(), exact: x.exact.slots(), decrypted };
        let (step, violation) = (seen.step(operation), check(&seen));
        self.report.lock().unwrap_or_else(PoisonError::into_inner).add(step, violation);
    }
}

/// Prints the public identity of the key only.
impl fmt::Debug for Debugger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debugger").field("key", &self.secret.id()).finish_non_exhaustive()
    }
}
