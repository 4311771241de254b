//! Noise flooding before the switch from slots to LWE values.

use std::ops::RangeInclusive;

#[cfg(doc)]
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Ciphertext, noise_flooding::NoiseBound};
use bellerophon_lwe::{Headroom, LweVec};
use bellerophon_repack::{self as repack, lookup::Flood};
use rand::CryptoRng;

#[cfg(doc)]
use crate::Params;
use crate::{DecryptionBudget, During, Evaluator, Result, client::system_rng};

impl Evaluator {
    /// As [`map_over`](Self::map_over), with noise flooding before the switch from slots to LWE
    /// values.
    ///
    /// LWE values keep the noise of the slots, which depends on the secret key, and a look-up near
    /// the border of a cell depends on that noise. In the model of Li and Micciancio, in which an
    /// attacker sees decrypted results, published attacks on such switches recover keys ("How not
    /// to switch FHE schemes", 2026). Flooding adds a discrete Gaussian to every coefficient after
    /// SlotsToCoeffs, of standard deviation `sqrt(12 q) 2^(s/2)` times the length of the noise of
    /// the values, for the `q` vectors and `s` bits of the budget, which counts this vector. The
    /// flooding blurs the index of the table: [`Params::map_accuracy_flooded`] predicts the
    /// remaining accuracy.
    ///
    /// `bound` is the worst-case noise of the program that made the vector
    /// ([`Simulator::noise_bound`](ckks::simulator::Simulator::noise_bound)), as for
    /// [`ClientKey::decrypt_flooded`](crate::ClientKey::decrypt_flooded). The noise in the metadata
    /// of the vector is an average, and its sender may have written anything. There is no bound for
    /// results of look-ups: the error of their index depends on the key, and flooding does not hide
    /// it.
    ///
    /// ```
    /// use bellerophon::{DecryptionBudget, ckks::{Interval, simulator::Simulator}, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -2.0..=2.0)?;
    ///
    /// // The program does nothing: a fresh vector.
    /// let simulator = Simulator::new(server.params().ckks()).worst_case();
    /// let any = simulator.encrypt(&[0.0; 2], Interval::real(-2.0, 2.0)?, x.level())?;
    /// let bound = simulator.noise_bound(&any)?;
    /// let mut budget = DecryptionBudget::new(client.id(), 4, 30.0)?;
    /// budget.reserve(1)?;
    /// let y = server.map_flooded(&x, -2.0..=2.0, f64::exp, &bound, &mut budget)?;
    /// # assert!((client.decrypt(&y)?[0] - 0.5f64.exp()).abs() < 0.5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// What this promises: for anyone who does not know the flooding noise, the phases of the LWE
    /// values of `q` flooded vectors, before the key switch, are within statistical distance
    /// `2^(-s/2) / sqrt(48)` of phases that do not depend on the noise of the slots.
    ///
    /// What it does not promise: the server draws the noise and must keep it secret. The noise of
    /// SlotsToCoeffs is hidden only as far as its errors are independent, except for a tail of
    /// `2^-64`. The key switch, the rounding to an index and failures of the table come after the
    /// flooding and depend on the LWE secret. So flooding here does not make a result safe to
    /// share. For results that never left the slots,
    /// [`ClientKey::decrypt_flooded`](crate::ClientKey::decrypt_flooded) has a bound that covers
    /// everything.
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over), and those of [`NoiseBound::check`]; operands are never
    /// bootstrapped. For a budget of another key;
    /// [`ErrorKind::NotReserved`](crate::ErrorKind::NotReserved); an error of the tables if the
    /// noise would fill them; and [`ErrorKind::DomainScale`](crate::ErrorKind::DomainScale) for
    /// domains more than some 16 wide, because flooded values have a larger scale, so that the
    /// noise to be hidden is smaller.
    pub fn map_flooded(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
    ) -> Result<Ciphertext> {
        self.map_flooded_with(x, domain, f, bound, budget, &mut system_rng())
    }

    /// As [`map_flooded`](Self::map_flooded), from a given generator. It must be secret and serve
    /// no other vector.
    ///
    /// # Errors
    /// As [`map_flooded`](Self::map_flooded).
    pub fn map_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bound: &NoiseBound,
        budget: &mut DecryptionBudget,
        mut rng: &mut R,
    ) -> Result<Ciphertext> {
        let op = "map_flooded";
        let lookup = self.lookup().during(op)?;
        flooded(x, bound, budget, &mut rng, |flood| {
            lookup.map(x, domain, &f, Some(flood)).during(op)
        })
        .during(op)
    }

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

    /// As [`extract_flooded`](Self::extract_flooded), from a given generator. It must be secret and
    /// serve no other vector.
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
            lookup.extract(&[x], domain, headroom, Some(flood)).during(op)
        })
        .during(op)?;
        Ok(values.remove(0))
    }
}

/// Runs an operation with noise flooding on the terms of a budget, from which the vector is taken
/// as soon as it is flooded.
fn flooded<T>(
    x: &Ciphertext,
    bound: &NoiseBound,
    budget: &mut DecryptionBudget,
    rng: &mut dyn CryptoRng,
    run: impl FnOnce(&mut Flood<'_>) -> repack::Result<T>,
) -> Result<T> {
    budget.check(x.key())?;
    let mut flood = Flood::new(bound, *budget.flooding(), rng);
    let result = run(&mut flood);
    // The vector counts as a result, whatever became of it.
    for _ in 0..flood.applied() {
        budget.spend();
    }
    Ok(result?)
}
