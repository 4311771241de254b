//! Debugging: programs that run under the secret key, whose promises are checked.

mod arithmetic;

use std::{fmt, ops::RangeInclusive, sync::Arc};

use bellerophon_ckks::{
    self as ckks, Ciphertext, Complex64, SlotValue,
    debugging::{Debugger as Steps, Report, Watched},
};
use bellerophon_lookup::planner::MapRequest;
use bellerophon_ring::{Result, error::operation};

use crate::client::ClientKey;
use crate::evaluator::Evaluator;

/// Runs the programs of a server under the secret key: every operation is a step, which is
/// decrypted and checked ([`ckks::debugging`]). [`ClientKey::debugger`] makes it.
///
/// It has the operations on slots of the [`Evaluator`], on [`Watched`] vectors, which
/// [`watch`](Self::watch) starts. Programs over [`CkksOps`](ckks::CkksOps) run on
/// [`steps`](Self::steps). What it does not have runs on the evaluator, and
/// [`watch_decrypted`](Self::watch_decrypted) checks the result. Clones share the report.
#[derive(Clone)]
pub struct Debugger<'a> {
    steps: Arc<Steps<'a>>,
    server: Evaluator,
}

impl ClientKey {
    /// A debugger for the programs of a server: it decrypts after every operation, reports the
    /// exact values, noise, ranges, padding and level of every step, and names the first promise
    /// that is false. For the owner of the key, on test data.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Bootstrapping))?)?;
    /// let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    /// let values = [0.3, 0.25, 0.5];
    ///
    /// // A logistic map, whose range is a promise. The server sees nothing wrong.
    /// let debugger = client.debugger(&server)?.keep_within(0.0..=0.75)?;
    /// let mut x = debugger.watch(client.encrypt(&values, 0.0..=0.5)?, &values)?;
    /// for _ in 0..3 {
    ///     let rest = debugger.sub(&x, &debugger.square(&x)?)?;
    ///     x = debugger.mul_scalar(&rest, 3.2)?;
    /// }
    /// let report = debugger.report();
    /// println!("{report}"); // a table of the steps
    /// let promise = report.false_promise.expect("0.5 becomes 0.8").to_string();
    /// assert!(promise.contains("keep_within: the value at position 2 of 3 is outside [0, 0.75]"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn debugger<'a>(&'a self, server: &'a Evaluator) -> Result<Debugger<'a>> {
        operation("debugger", || {
            let steps = Steps::new(&server.arithmetic, &self.slots)?;
            Ok(Debugger { steps: Arc::new(steps), server: server.clone() })
        })
    }
}

impl<'a> Debugger<'a> {
    /// The debugger of the slots, which runs programs over [`CkksOps`](ckks::CkksOps).
    pub fn steps(&self) -> &Steps<'a> {
        &self.steps
    }

    /// As [`Steps::watch`].
    pub fn watch<T: SlotValue>(&self, x: Ciphertext, values: &[T]) -> Result<Watched> {
        self.steps.watch(x, values)
    }

    /// As [`Steps::watch_decrypted`].
    pub fn watch_decrypted(&self, x: Ciphertext) -> Result<Watched> {
        self.steps.watch_decrypted(x)
    }

    /// As [`Steps::report`].
    pub fn report(&self) -> Report {
        self.steps.report()
    }
}

impl Debugger<'_> {
    /// As [`Evaluator::keep_within`]. A statement is a step, where it changes a range.
    pub fn keep_within(mut self, range: RangeInclusive<f64>) -> Result<Self> {
        self.server = self.server.keep_within(range)?;
        Ok(self)
    }

    /// As [`Evaluator::map`], in one step.
    pub fn map(&self, x: &Watched, f: impl Fn(f64) -> f64) -> Result<Watched> {
        self.map_with(x, &MapRequest::new(f))
    }

    /// As [`Evaluator::map_with`], in one step and one for each automatic bootstrap. The engines
    /// are those for which the evaluator has keys; the exact values are those of the function.
    pub fn map_with(&self, x: &Watched, request: &MapRequest<'_>) -> Result<Watched> {
        // The function is called on the stated range alone, as by the evaluator.
        let range = x.ciphertext().range();
        let inside = |v: f64| v.clamp(range.lo(), range.hi());
        let values: Vec<f64> = x.exact().iter().map(|z| request.value(inside(z.re))).collect();
        self.steps.perform("map", &values, |arithmetic| {
            let mut server = self.server.clone();
            server.arithmetic = arithmetic.clone();
            server.map_with(x.ciphertext(), request)
        })
    }

    /// As [`Evaluator::assume_range`].
    pub fn assume_range(&self, x: &Watched, range: RangeInclusive<f64>) -> Result<Watched> {
        self.statement("assume_range", x, |server| server.assume_range(x.ciphertext(), range))
    }

    /// As [`Evaluator::assume_noise`].
    pub fn assume_noise(&self, x: &Watched, deviation: f64) -> Result<Watched> {
        ckks::CkksOps::assume_noise(&*self.steps, x.clone(), deviation)
    }

    /// A statement about the values of `x`, as a step.
    fn statement(
        &self,
        operation: &'static str,
        x: &Watched,
        state: impl FnOnce(&Evaluator) -> Result<Ciphertext>,
    ) -> Result<Watched> {
        let exact: &[Complex64] = x.exact();
        self.steps.perform(operation, exact, |_| state(&self.server))
    }

    /// The result of an operation, in the range of [`keep_within`](Self::keep_within).
    fn stated(&self, result: ckks::Result<Watched>) -> Result<Watched> {
        let x = result?;
        let kept = self.server.stated(x.ciphertext().clone())?;
        match kept.metadata() == x.ciphertext().metadata() {
            true => Ok(x),
            false => self.statement("keep_within", &x, |_| Ok(kept)),
        }
    }

    /// As [`stated`](Self::stated), for several results.
    fn all_stated(&self, results: ckks::Result<Vec<Watched>>) -> Result<Vec<Watched>> {
        results?.into_iter().map(|x| self.stated(Ok(x))).collect()
    }
}

/// Prints the public identity of the key only.
impl fmt::Debug for Debugger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps.fmt(f)
    }
}
