//! Noise flooding: results for anyone but the owner of the key, and vectors that leave the slots.

use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::{
    Ciphertext, Encoder,
    noise_flooding::{DecryptionBudget, FloodedValues, NoiseBound},
};
use bellerophon_lookup::{Flood, LookupServer};
use bellerophon_lwe::{Headroom, LweVec};
use bellerophon_ring::{Result, error::operation};
use rand::CryptoRng;

use crate::client::{ClientKey, system_rng};
use crate::evaluator::Evaluator;

impl ClientKey {
    /// Decrypts a vector with noise flooding, for anyone but the owner of the key: the added noise
    /// hides that of the computation, which depends on the key ([`decrypt`](Self::decrypt)).
    /// Accepts a [published](ckks::Evaluator::publish) result, too.
    ///
    /// `bound` is the worst-case noise of the program that made the vector. The owner of the key
    /// computes it by running the program on the simulator. The noise in the metadata of a
    /// ciphertext is an average, and its sender may have written anything.
    ///
    /// `docs/guide.md` has an example and the conditions: no look-ups, no crafted ciphertexts, a
    /// rotation key for every step.
    ///
    /// # Errors
    /// Also for a vector whose level or scale is not that of the program's result
    /// ([`DecryptionBudget::decrypt_flooded`]). A refused call takes nothing from the budget.
    pub fn decrypt_flooded(
        &self,
        ciphertext: &impl AsRef<Ciphertext>,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
    ) -> Result<FloodedValues> {
        self.decrypt_flooded_with(ciphertext, bound, budget, &mut system_rng())
    }

    /// As [`decrypt_flooded`](Self::decrypt_flooded), from a generator of
    /// [`rand`](crate::rand). It must be unknown to those with whom
    /// the result is shared, and serve no other result: the difference of two results under the
    /// same noise has no noise, and reveals the key.
    pub fn decrypt_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        ciphertext: &impl AsRef<Ciphertext>,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        rng: &mut R,
    ) -> Result<FloodedValues> {
        let encoder = Encoder::new(self.params().ckks());
        budget.decrypt_flooded(&encoder, ciphertext.as_ref(), &self.slots, bound, rng)
    }
}

impl Evaluator {
    /// As [`extract_for`](Self::extract_for), with the noise flooding of
    /// [`map_flooded`](Self::map_flooded). The values carry its variance, and
    /// [`tables`](Self::tables) take it into account.
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

    /// As [`extract_flooded`](Self::extract_flooded), from a generator of [`rand`](crate::rand)
    /// that is secret and serves no other vector.
    pub fn extract_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        headroom: Headroom,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        mut rng: &mut R,
    ) -> Result<LweVec> {
        operation("extract_flooded", || {
            let (lookup, x) = (self.lookup()?, [x]);
            let mut flood = Flood::new(bound, budget, &mut rng);
            Ok(lookup.extract(&x, domain, headroom, Some(&mut flood))?.remove(0))
        })
    }
}
