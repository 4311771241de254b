//! Noise flooding before the switch from slots to LWE values.

use std::ops::RangeInclusive;

use bellerophon_ckks::{
    self as ckks, Ciphertext, CiphertextMeta, Metadata,
    dft::{Coefficients, SlotsToCoeffs},
    noise::Noise,
    noise_flooding::{Flooding, NoiseBound},
};
use bellerophon_lwe::{Headroom, LweVec};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Poly, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::{
    Bridge, DecryptionBudget, ErrorDistribution, Evaluator, LutEngine, Params, Result,
    client::system_rng,
    map::{self, Map},
};

/// `-log2` of the probability that the noise of some value exceeds the bound that the flooding
/// hides.
const TAIL_BITS: f64 = 64.0;

/// The flooding of a vector: the bound on its noise, the budget, and the generator.
pub(crate) struct Flood<'r> {
    pub(crate) bound: &'r NoiseBound,
    pub(crate) budget: &'r mut DecryptionBudget,
    pub(crate) rng: &'r mut dyn CryptoRng,
}

impl Flood<'_> {
    /// Refuses vectors that do not match the bound, and vectors beyond the budget.
    pub(crate) fn check(
        &self,
        op: &'static str,
        params: &ckks::Params,
        x: &Ciphertext,
    ) -> Result<()> {
        self.bound.check(op, params, x)?;
        self.budget.check(op, x.key())
    }

    /// The standard deviation of the flooding noise of a vector whose domain has its middle at
    /// `center`.
    pub(crate) fn deviation(&self, s2c: &SlotsToCoeffs, center: f64) -> Result<f64> {
        deviation(self.budget.flooding(), self.bound, s2c, center)
    }

    /// Adds Gaussian noise to the body, and takes one result from the budget.
    pub(crate) fn apply(
        &mut self,
        params: &ckks::Params,
        x: Coefficients,
        deviation: f64,
    ) -> Result<Coefficients> {
        // Step 1: the tracked noise includes the flooding.
        let meta = *x.meta();
        let meta = CiphertextMeta { noise: meta.noise + deviation * deviation, ..meta };
        let lattice = x.into_lattice();
        let (key, ring) = (lattice.key(), lattice.ring(params.lattice()));
        // Step 2: a discrete Gaussian in every coefficient of the body. It is erased on drop.
        let noise = Gaussian::new(deviation)?.sample(params.degree(), &mut *self.rng);
        let noise: Zeroizing<Poly<_>> = Zeroizing::new(ring.forward(ring.from_signed(&noise)));
        let (mut b, a) = lattice.into_parts();
        ring.add_assign(&mut b, &noise);
        let inner = mlwe::Ciphertext::new(params.lattice(), b, a, key)?;
        // Step 3: the vector counts as a result, whatever becomes of it.
        self.budget.spend();
        Ok(Coefficients::from_parts(params, inner, meta)?)
    }
}

/// The standard deviation that hides the noise of a vector with a given bound, in its coefficients
/// after SlotsToCoeffs.
///
/// The noise of the program: a noise polynomial of length `t` has slots whose squares sum to
/// `N t^2 / 2`, and SlotsToCoeffs turns the slots into coefficients at another scale.
///
/// The noise of SlotsToCoeffs: variance `v` in each of `count` coefficients. Its operations are the
/// same for every program, so its errors are taken as independent. Its length is below
/// `sqrt(count) (tail sqrt(v) + 1/2)`, where `tail = sqrt(2 ln(2^65 count))` standard deviations
/// are exceeded by some coefficient with probability at most `2^-64`. Products of roundings and a
/// secret are sub-Gaussian there.
pub(crate) fn deviation(
    terms: &Flooding,
    bound: &NoiseBound,
    s2c: &SlotsToCoeffs,
    center: f64,
) -> Result<f64> {
    // Step 1: the noise that SlotsToCoeffs of all slots adds.
    let Metadata { level, meta } = *bound.metadata();
    let bounds = meta.bounds.map(|range| range.shift(-center));
    let quiet = Metadata { level, meta: CiphertextMeta { bounds, noise: Noise::NONE, ..meta } };
    let added = s2c.lowered(&quiet)?.meta;
    // Step 2: the length of the program's noise, and that of SlotsToCoeffs with its tail.
    let of_slots = bound.length() * (added.slots as f64).sqrt();
    let count = meta.len as f64;
    let tail = (2.0 * (count.ln() + (TAIL_BITS + 1.0) * std::f64::consts::LN_2)).sqrt();
    let of_s2c = count.sqrt() * (tail * added.noise.total.sqrt() + 0.5);
    // Step 3: the deviation that hides their sum on these terms.
    Ok(terms.deviation(of_slots * added.scale / meta.scale + of_s2c))
}

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
    /// [`Error::NotReserved`](crate::Error::NotReserved); an error of the tables if the noise would
    /// fill them; and [`Error::DomainScale`](crate::Error::DomainScale) for domains more than some
    /// 16 wide, because flooded values have a larger scale, so that the noise to be hidden is
    /// smaller.
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
        self.map_by("map_flooded", x, domain, &f, Some(Flood { bound, budget, rng: &mut rng }))
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
        let flood = Some(Flood { bound, budget, rng: &mut rng });
        Ok(self.extract_by("extract_flooded", &[x], domain, headroom, flood)?.remove(0))
    }
}

impl Params {
    /// As [`map_accuracy`](Self::map_accuracy), for [`Evaluator::map_flooded`] of vectors with a
    /// given noise bound.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy) and [`Evaluator::map_flooded`].
    pub fn map_accuracy_flooded(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
        bound: &NoiseBound,
    ) -> Result<ErrorDistribution> {
        let op = "map_accuracy";
        let lookups = self.lookups_for(op)?;
        let (lattice, path) =
            (self.tables_on(op, LutEngine::Auto)?, lookups.path(op, Bridge::Auto)?);
        let s2c = lookups.flooded_to_coefficients(self.ckks())?;
        let flooding = deviation(terms, bound, s2c, map::center(&domain))?;
        Map::planned(self, lookups, lattice, path, &domain, Some(flooding))?.accuracy(&domain, f)
    }
}
