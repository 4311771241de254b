//! Noise flooding before the switch from slots to LWE values.

use std::ops::RangeInclusive;

use bellerophon_ckks::{Ciphertext, noise_flooding::NoiseBound};
use bellerophon_lwe::{Headroom, LweVec};
use bellerophon_repack::lookup::Flood;
use rand::CryptoRng;

use crate::{DecryptionBudget, During, Evaluator, Result, client::system_rng};

impl Evaluator {
    /// As [`extract_for`](Self::extract_for), with the noise flooding of
    /// [`map_flooded`](Self::map_flooded). The values carry its variance, and
    /// [`tables`](Self::tables) take it into account.
    ///
    /// # Errors
    /// As [`extract`](Self::extract) and [`map_flooded`](Self::map_flooded).
    pub fn extract_flooded(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
    ) -> Result<LweVec> {
        self.extract_flooded_with(x, domain, headroom, bound, budget, &mut system_rng())
    }

    /// As [`extract_flooded`](Self::extract_flooded), from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)). The generator must be secret and serve no other
    /// vector.
    ///
    /// # Errors
    /// As [`extract_flooded`](Self::extract_flooded).
    pub fn extract_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        mut rng: &mut R,
    ) -> Result<LweVec> {
        let op = "extract_flooded";
        let lookup = self.lookup().during(op)?;
        let mut values = flooded(x, bound, budget, &mut rng, |flood| {
            Ok(lookup.extract(&[x], domain, headroom, Some(flood))?)
        })
        .during(op)?;
        Ok(values.remove(0))
    }
}

/// Runs an operation with noise flooding on the terms of a budget, from which the vector is taken
/// as soon as it is flooded.
pub(crate) fn flooded<T>(
    x: &Ciphertext,
    bound: &NoiseBound,
    budget: &mut DecryptionBudget,
    rng: &mut dyn CryptoRng,
    run: impl FnOnce(&mut Flood<'_>) -> Result<T>,
) -> Result<T> {
    budget.check(x.lattice().key())?;
    let mut flood = Flood::new(bound, *budget.flooding(), rng);
    let result = run(&mut flood);
    // The vector counts as a result, whatever became of it.
    for _ in 0..flood.applied() {
        budget.spend();
    }
    result
}
