//! Bounds on the probability that any operation of an evaluator has failed.

#[cfg(doc)]
use bellerophon_circuits::bootstrap::BootstrapSpec;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_ckks::FailureProbability;

use crate::evaluator::Evaluator;

impl Evaluator {
    /// A bound on the probability that any operation of this evaluator so far has failed and
    /// returned garbage: the sum over its look-ups and bootstraps, including those on LWE values
    /// ([`tables`](Self::tables)), automatic and cancelled ones. Arithmetic never fails like that.
    ///
    /// A value of a look-up counts with half of the probability
    /// [`LutSpec::log2_failure`](bellerophon_lookup::LutSpec::log2_failure) for every blind
    /// rotation and with half for its packing, a bootstrapped vector with
    /// [`BootstrapSpec::log2_failure`]. Clones of an evaluator share one sum.
    /// [`Params::program_failure`](crate::Params::program_failure) computes the bound in advance.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// assert_eq!(server.failures().log2(), f64::NEG_INFINITY);
    /// let x = client.encrypt(&[0.5, -1.25], -2.0..=2.0)?;
    /// server.map(&x, f64::exp)?;
    /// assert_eq!(server.failures(), params.program_failure(2, 0)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn failures(&self) -> FailureProbability {
        let sum = self.arithmetic.failures();
        match self.keys.params.optional_lookups() {
            Some(lookups) => self.counts.add_to(sum, lookups),
            None => sum,
        }
    }

    /// Returns this evaluator with a new, empty sum of [`failures`](Self::failures), for one of
    /// several programs.
    pub fn reset_failures(mut self) -> Self {
        self.arithmetic = self.arithmetic.reset_failures();
        self.counts = Default::default();
        self
    }
}
