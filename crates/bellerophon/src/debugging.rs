//! Debugging: programs that run under the secret key, whose promises are checked.

use bellerophon_ckks::debugging::{Debugger, Watched};
use bellerophon_lookup::planner::MapRequest;
use bellerophon_ring::{Result, error::operation};

use crate::client::ClientKey;
use crate::evaluator::Evaluator;

impl ClientKey {
    /// A debugger for the programs of a server: it decrypts after every operation, reports the
    /// exact values, noise, ranges, padding and level of every step, and names the first promise
    /// that is false. For the owner of the key, on test data.
    ///
    /// It has the operations on slots, on [`Watched`] vectors, which [`watch`](Debugger::watch)
    /// starts, and [`Evaluator::map_watched`]. [`watch_decrypted`](Debugger::watch_decrypted)
    /// checks all other results.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Bootstrapping))?)?;
    /// let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    /// let values = [0.3, 0.25, 0.5];
    ///
    /// // A logistic map, whose range is a promise.
    /// let debugger = client.debugger(&server)?;
    /// let mut x = debugger.watch(client.encrypt(&values, 0.0..=0.5)?, &values)?;
    /// for _ in 0..3 {
    ///     let rest = debugger.sub(&x, &debugger.square(&x)?)?;
    ///     x = debugger.keep_within(&debugger.mul_scalar(&rest, 3.2)?, 0.0..=0.75)?;
    /// }
    /// let report = debugger.report(); // prints as a table of the steps
    /// let promise = report.false_promise.expect("0.5 becomes 0.8").to_string();
    /// assert!(promise.contains("keep_within: the value at position 2 of 3 is outside [0, 0.75]"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn debugger<'a>(&'a self, server: &'a Evaluator) -> Result<Debugger<'a>> {
        operation("debugger", || Debugger::new(&server.arithmetic, &self.slots))
    }
}

impl Evaluator {
    /// As [`map_with`](Self::map_with), in one step of a debugger of this evaluator, and one for
    /// each automatic bootstrap. The exact values are those of the function.
    pub fn map_watched(
        &self,
        debugger: &Debugger<'_>,
        x: &Watched,
        request: &MapRequest<'_>,
    ) -> Result<Watched> {
        // The function is called on the stated range alone, as by the evaluator.
        let range = x.ciphertext().range();
        let inside = |v: f64| v.clamp(range.lo(), range.hi());
        let values: Vec<f64> = x.exact().iter().map(|z| request.value(inside(z.re))).collect();
        operation("map_watched", || {
            debugger.perform("map", &values, |arithmetic| {
                let server = Self { arithmetic: arithmetic.clone(), ..self.clone() };
                server.map_with(x.ciphertext(), request)
            })
        })
    }
}
