//! Debugging: programs that run under the secret key, whose promises are checked.

use bellerophon_ckks::debugging::Debugger;

#[cfg(doc)]
use crate::ckks;
use crate::{ClientKey, During, Evaluator, Result};

impl ClientKey {
    /// A debugger for the programs of a server: it decrypts after every operation, reports the exact
    /// values, noise, ranges, padding and level of every step, and names the first promise that is
    /// false ([`ckks::debugging`]). For the owner of the key, on test data.
    ///
    /// It runs programs that are written for any [`CkksOps`](ckks::CkksOps), such as all circuits of
    /// [`ckks`]. The server runs the same program with its evaluator as `&*server`. The methods of
    /// [`Evaluator`] itself (`map`, `keep_within`, ..) are not in that trait: the vectors of such a
    /// program are checked one by one with [`watch`](Debugger::watch) and
    /// [`watch_decrypted`](Debugger::watch_decrypted).
    ///
    /// ```
    /// use bellerophon::{ckks::{self, Interval}, prelude::*};
    ///
    /// /// Three steps of a logistic map, for servers and debuggers.
    /// fn program<A: CkksOps>(a: &A, mut x: A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     for _ in 0..3 {
    ///         let rest = a.add_scalar(&a.neg(&x)?, 1.0)?;
    ///         x = a.mul_scalar(&a.mul(&x, &rest)?, 3.2)?;
    ///         x = a.assume_range(x, Interval::real(0.0, 0.75)?); // a promise
    ///     }
    ///     Ok(x)
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyBootstrapping)?)?;
    /// let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    /// let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    /// let values = [0.3, 0.25, 0.5];
    /// let x = client.encrypt(&values, 0.0..=1.0)?;
    /// program(&*server, x.clone())?; // nothing is wrong that the server could see
    ///
    /// let debugger = client.debugger(&server)?;
    /// program(&debugger, debugger.watch(x, &values)?)?;
    /// let report = debugger.report();
    /// println!("{report}"); // a table of the steps
    /// let promise = report.false_promise.expect("0.5 becomes 0.8");
    /// let found = "assume_range: the value at position 2 of 3 is outside [0, 0.75], by 0.05";
    /// assert_eq!(promise.to_string(), format!("step 6, {found}"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// For the evaluator of another client.
    pub fn debugger<'a>(&'a self, server: &'a Evaluator) -> Result<Debugger<'a>> {
        Ok(Debugger::new(server, &self.slots).during("debugger")?)
    }
}
