//! Division by the last prime.

use super::Evaluator;
use crate::{Ciphertext, Result};

impl Evaluator {
    /// Divides the phase by the last prime, rounding, and drops it (Full-RNS HEAAN, section 4,
    /// RS): one level down, the scale divided by exactly that prime, the message unchanged.
    ///
    /// # Errors
    /// [`OutOfLevels`](crate::Error::OutOfLevels) at level 0, and those of
    /// [`add`](Self::add).
    pub fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.check("rescale", x)?;
        self.rescaled("rescale", x.clone())
    }

    /// As [`rescale`](Self::rescale), consuming its operand.
    pub(crate) fn rescaled(&self, op: &'static str, x: Ciphertext) -> Result<Ciphertext> {
        let account = self.books().rescaled(op, &x.account())?;
        Ok(Ciphertext { inner: x.inner.rescale(self.params().lattice())?, meta: account.meta })
    }
}
