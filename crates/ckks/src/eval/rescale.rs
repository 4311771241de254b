//! Division by the primes of a level.

use bellerophon_mlwe as mlwe;

use super::Evaluator;
use crate::{Ciphertext, Result};

impl Evaluator {
    /// Divides the phase by the primes of the level, rounding, and drops them (Full-RNS HEAAN,
    /// section 4, RS): one level down, the scale divided by exactly their product
    /// ([`Params::divisor`](crate::Params::divisor)), the message unchanged.
    ///
    /// The noise is one rounding, also where a level has several primes.
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
        Ok(Ciphertext::at_level(self.params(), self.divided(x.inner)?, account.meta))
    }

    /// A lattice ciphertext above level 0, one level down.
    pub(crate) fn divided(&self, inner: mlwe::Ciphertext) -> Result<mlwe::Ciphertext> {
        let params = self.params();
        let below = params.limbs_at(params.level_at(inner.limbs()) - 1);
        let primes = inner.limbs() - below;
        Ok(inner.rescale_by(params.lattice(), primes)?)
    }
}
