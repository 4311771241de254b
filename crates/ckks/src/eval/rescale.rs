//! The rescale: division by the primes of a level.

use bellerophon_mlwe as mlwe;

use super::Evaluator;
use crate::{Ciphertext, During, Result};

impl Evaluator {
    /// Computes [`CkksOps::rescale`](crate::CkksOps::rescale).
    pub(crate) fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.check(x).during("rescale")?;
        self.rescaled(x.clone()).during("rescale")
    }

    /// As [`rescale`](Self::rescale), consuming its operand.
    pub(crate) fn rescaled(&self, x: Ciphertext) -> Result<Ciphertext> {
        let metadata = self.rules().rescaled(&x.metadata())?;
        let inner = self.divided(x.inner)?;
        Ok(Ciphertext::at_level(self.params(), inner, metadata.meta, x.origins))
    }

    /// The rescale of a lattice ciphertext above level 0.
    pub(crate) fn divided(&self, inner: mlwe::Ciphertext) -> Result<mlwe::Ciphertext> {
        let params = self.params();
        let below = params.limbs_at(params.level_at(inner.limbs()) - 1);
        let primes = inner.limbs() - below;
        inner.rescale(params.lattice(), primes)
    }
}
