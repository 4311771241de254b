//! Noise flooding: results for anyone but the owner of the key, and vectors that leave the slots.

use std::ops::RangeInclusive;

use bellerophon_ckks::{Ciphertext, Encoder, noise_flooding::NoiseBound};
use bellerophon_lwe::{Headroom, LweVec};
use bellerophon_repack::lookup::{Flood, LookupServer};
use rand::CryptoRng;

#[cfg(doc)]
use crate::ckks;
use crate::{
    ClientKey, DecryptionBudget, During, Evaluator, FloodedValues, Result, client::system_rng,
};

impl ClientKey {
    /// Decrypts a vector with noise flooding, for anyone but the owner of the key: the added noise
    /// hides that of the computation, which depends on the key ([`decrypt`](Self::decrypt)).
    ///
    /// `bound` is the worst-case noise of the program that made the vector. The owner of the key
    /// computes it by running the program on the simulator. The noise in the metadata of a
    /// ciphertext is an average, and its sender may have written anything.
    ///
    /// ```
    /// use bellerophon::{DecryptionBudget, ckks::{self, Interval, simulator::Simulator},
    /// prelude::*};
    ///
    /// // The program, for the server and for the simulator.
    /// fn program<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    ///     a.mul(x, &a.add_scalar(x, 1.0)?)
    /// }
    ///
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let client = ClientKey::generate(&params)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply())?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -1.0..=1.0)?;
    /// let y = program(&*server, &x)?;
    ///
    /// // The worst-case noise of the program, with any values of that number and range.
    /// let simulator = Simulator::new(params.ckks()).worst_case();
    /// let any = simulator.encrypt(&[0.0; 2], Interval::real(-1.0, 1.0)?, params.levels())?;
    /// let bound = simulator.noise_bound(&program(&simulator, &any)?)?;
    ///
    /// // Ten results of this key will ever be shared. Store the remaining number before the first.
    /// let mut budget = DecryptionBudget::new(client.id(), 10, 30.0)?;
    /// let left = budget.reserve(1)?;
    /// # assert_eq!(left, 9);
    /// let shared = client.decrypt_flooded(&y, &bound, &mut budget)?;
    /// assert!((shared.values[0] - 0.75).abs() < (-shared.bits).exp2() && shared.bits > 5.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The promise covers arithmetic on slots, including polynomials, transforms and bootstrapping
    /// ([`Simulator::worst_case`](ckks::simulator::Simulator::worst_case)). These conditions apply:
    /// - No look-ups: the index error of a look-up ([`Evaluator::map`] and others), some thousandth
    ///   of its domain, depends on the key, and no bound covers it.
    /// - The vector comes from the program. Crafted ciphertexts are not covered.
    /// - The evaluator has a rotation key for every step
    ///   ([`Report::keys`](ckks::simulator::Report::keys)). Evaluators with
    ///   [`Needs::rotate_any`](crate::Needs::rotate_any) or with fewer keys compose rotations.
    /// - The inputs are encrypted as on the simulator: under the secret key, or for
    ///   [`Simulator::encrypt_public`](ckks::simulator::Simulator::encrypt_public) under the public
    ///   key.
    ///
    /// - A published result has the level and the scale of the simulated one: declare them
    ///   ([`Declaration::from`](crate::Declaration) the simulated result, or `with_level` and
    ///   `with_scale`).
    ///
    /// A vector that carries more noise than the bound is refused. The number of values is that of
    /// the program.
    ///
    /// [`Evaluator::map`]: crate::Evaluator::map
    ///
    /// # Errors
    /// Those of [`DecryptionBudget::decrypt_flooded`]: no reserved result, a budget of another key,
    /// noise as large as the values, a vector whose level or scale is not that of the program's
    /// result, and one that could wrap around its modulus. A refused call takes nothing from the
    /// budget.
    pub fn decrypt_flooded(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
    ) -> Result<FloodedValues> {
        self.decrypt_flooded_with(ciphertext, bound, budget, &mut system_rng())
    }

    /// As [`decrypt_flooded`](Self::decrypt_flooded), from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)). The generator must be unknown to those with whom
    /// the result is shared, and serve no other result: the difference of two results under the
    /// same noise has no noise, and reveals the key.
    ///
    /// # Errors
    /// As [`decrypt_flooded`](Self::decrypt_flooded).
    pub fn decrypt_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        ciphertext: &Ciphertext,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        rng: &mut R,
    ) -> Result<FloodedValues> {
        let encoder = Encoder::new(self.params().ckks());
        budget.decrypt_flooded(&encoder, ciphertext, &self.slots, bound, rng)
    }
}

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
        let (lookup, x) = (self.lookup().during(op)?, [x]);
        let mut flood = Flood::new(bound, budget, &mut rng);
        Ok(lookup.extract(&x, domain, headroom, Some(&mut flood)).during(op)?.remove(0))
    }
}
