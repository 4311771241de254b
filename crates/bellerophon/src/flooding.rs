//! Flooding noise in front of the way from slots to LWE values.

use std::ops::RangeInclusive;

use bellerophon_ckks::{
    self as ckks, Account, Ciphertext, Meta,
    dft::{Coefficients, SlotsToCoeffs},
    noise::Noise,
    sharing::{Flooding, NoiseBound},
};
use bellerophon_lwe::{Room, Values};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Poly, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::{
    Accuracy, Bridge, Evaluator, MapEngine, Params, Result, SharingBudget,
    client::system_rng,
    map::{self, Map},
};

/// `-log2` of the probability with which the noise of some value exceeds what is hidden.
const TAIL_BITS: f64 = 64.0;

/// How a vector is flooded: by what bound on its noise, on whose budget, and from which generator.
pub(crate) struct Flood<'r> {
    pub(crate) bound: &'r NoiseBound,
    pub(crate) budget: &'r mut SharingBudget,
    pub(crate) rng: &'r mut dyn CryptoRng,
}

impl Flood<'_> {
    /// Refuses vectors that the bound does not fit, and such beyond the budget.
    pub(crate) fn check(
        &self,
        op: &'static str,
        params: &ckks::Params,
        x: &Ciphertext,
    ) -> Result<()> {
        self.bound.check(op, params, x)?;
        self.budget.check(op, x.key())
    }

    /// The deviation of the noise for a vector that is lowered with a domain's middle at zero.
    pub(crate) fn deviation(&self, lowering: &SlotsToCoeffs, center: f64) -> Result<f64> {
        deviation(self.budget.flooding(), self.bound, lowering, center)
    }

    /// Adds noise of a deviation to the body, at the cost of a result.
    pub(crate) fn apply(
        &mut self,
        params: &ckks::Params,
        x: Coefficients,
        deviation: f64,
    ) -> Result<Coefficients> {
        let meta = *x.meta();
        let meta = Meta { noise: meta.noise + deviation * deviation, ..meta };
        let lattice = x.into_lattice();
        let (key, ring) = (lattice.key(), lattice.ring(params.lattice()));
        let noise = Gaussian::new(deviation)?.sample(params.degree(), &mut *self.rng);
        let noise: Zeroizing<Poly<_>> = Zeroizing::new(ring.forward(ring.from_signed(&noise)));
        let (mut b, a) = lattice.into_parts();
        ring.add_assign(&mut b, &noise);
        let inner = mlwe::Ciphertext::new(params.lattice(), b, a, key)?;
        self.budget.spend();
        Ok(Coefficients::from_parts(params, inner, meta)?)
    }
}

/// The deviation that hides the noise of a vector of some bound in its coefficients after the way down.
///
/// A noise polynomial of length `t` has slots whose squares sum up to `N t^2 / 2`, and the slots become
/// the coefficients, in another scale: so much of them comes of the program. The way down itself adds
/// noise of a variance `v` in each of `count` coefficients; its operations are the same for every program,
/// so errors are taken as independent: its length is below `sqrt(count) (tail sqrt(v) + 1/2)`, where
/// `tail = sqrt(2 ln(2^65 count))` deviations are left with probability `2^-64` by none of the
/// coefficients. Roundings times a secret are sub-Gaussian there.
pub(crate) fn deviation(
    terms: &Flooding,
    bound: &NoiseBound,
    lowering: &SlotsToCoeffs,
    center: f64,
) -> Result<f64> {
    // The way down is that of all slots.
    let Account { level, meta } = *bound.account();
    let bounds = meta.bounds.map(|range| range.shift(-center));
    let quiet = Account { level, meta: Meta { bounds, noise: Noise::NONE, ..meta } };
    let added = lowering.lowered(&quiet)?.meta;
    let of_slots = bound.length() * (added.slots as f64).sqrt();
    let count = meta.len as f64;
    let tail = (2.0 * (count.ln() + (TAIL_BITS + 1.0) * std::f64::consts::LN_2)).sqrt();
    let of_way = count.sqrt() * (tail * added.noise.total.sqrt() + 0.5);
    Ok(terms.deviation(of_slots * added.scale / meta.scale + of_way))
}

impl Evaluator {
    /// As [`map_over`](Self::map_over), with flooding noise in front of the switch from slots to LWE values.
    ///
    /// An LWE value carries on the noise of the slots, which depends on their key, and a look-up near
    /// the border of a cell depends on that noise; in the model of Li and Micciancio, in which an attacker
    /// sees decrypted results, published attacks on such switches recover keys ("How not to switch
    /// FHE schemes", 2026). Here a discrete Gaussian is added to every coefficient of the lowered vector:
    /// `sqrt(12 q) 2^(s/2)` times the length of the noise of its values, for the `q` vectors and `s` bits of
    /// the budget, which counts this one. It blurs the index of the table:
    /// [`Params::map_accuracy_flooded`] predicts what is left.
    ///
    /// `bound` is what the program that made the vector does to noise in the worst case
    /// ([`Shadow::noise_bound`](ckks::shadow::Shadow::noise_bound)), as for
    /// [`ClientKey::decrypt_for_sharing`](crate::ClientKey::decrypt_for_sharing): what the vector says of
    /// its own noise is an average, and whoever handed it in wrote it. So there is none for results of
    /// look-ups and of refreshing: what the key made of their index, or of their residues, is no noise that
    /// anything here knows of, and flooding does not hide it.
    ///
    /// ```
    /// use bellerophon::{SharingBudget, ckks::{Interval, shadow::Shadow}, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -2.0..=2.0)?;
    ///
    /// // The program does nothing: a fresh vector.
    /// let shadow = Shadow::new(server.params()).worst_case();
    /// let any = shadow.encrypt(&[0.0; 2], Interval::real(-2.0, 2.0)?, x.level())?;
    /// let bound = shadow.noise_bound(&any)?;
    /// let mut budget = SharingBudget::new(client.id(), 4, 30.0)?;
    /// budget.reserve(1)?;
    /// let y = server.map_flooded(&x, -2.0..=2.0, f64::exp, &bound, &mut budget)?;
    /// # assert!((client.decrypt(&y)?[0] - 0.5f64.exp()).abs() < 0.5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// What this promises: of `q` flooded vectors, the phases of the LWE values before the key switch
    /// are within `2^(-s/2) / sqrt(48)` of phases that do not depend on the noise of the slots, to anyone
    /// who does not know the flooding. What it does not: the server draws the noise and must keep it to
    /// itself; the noise that the way down adds is hidden as far as it is one of
    /// independent errors, but for a tail of `2^-64`; and
    /// key switch, rounding to an index and a table's failures come after it and depend on the LWE
    /// secret as ever. So a result is not safe to share because it was flooded here; for results that
    /// never left the slots, [`ClientKey::decrypt_for_sharing`](crate::ClientKey::decrypt_for_sharing)
    /// has a bound for all of it.
    ///
    /// # Errors
    /// As [`map_over`](Self::map_over), and those of [`NoiseBound::check`]; vectors are not refreshed on the way. A
    /// budget of another key, [`Error::NotReserved`](crate::Error::NotReserved); an error of the tables
    /// where the noise would fill them, and
    /// [`Error::DomainScale`](crate::Error::DomainScale) for domains more than some 16 wide: values are
    /// lowered at a larger scale, so that less noise is to be hidden.
    pub fn map_flooded(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
    ) -> Result<Ciphertext> {
        self.map_flooded_with(x, domain, f, bound, budget, &mut system_rng())
    }

    /// As [`map_flooded`](Self::map_flooded) from a given generator, which must be unknown to others and
    /// serve no other vector.
    ///
    /// # Errors
    /// As [`map_flooded`](Self::map_flooded).
    pub fn map_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
        mut rng: &mut R,
    ) -> Result<Ciphertext> {
        self.map_by("map flooded", x, domain, &f, Some(Flood { bound, budget, rng: &mut rng }))
    }

    /// As [`extract_for`](Self::extract_for), with flooding noise in front of the switch, as
    /// [`map_flooded`](Self::map_flooded) has it: the values carry its variance, which
    /// [`tables`](Self::tables) and what they predict take into account.
    ///
    /// # Errors
    /// As [`extract`](Self::extract) and [`map_flooded`](Self::map_flooded).
    pub fn extract_flooded(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        room: Room,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
    ) -> Result<Values> {
        self.extract_flooded_with(x, domain, room, bound, budget, &mut system_rng())
    }

    /// As [`extract_flooded`](Self::extract_flooded) from a given generator, which must be unknown to
    /// others and serve no other vector.
    ///
    /// # Errors
    /// As [`extract_flooded`](Self::extract_flooded).
    pub fn extract_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        room: Room,
        bound: &NoiseBound,
        budget: &mut SharingBudget,
        mut rng: &mut R,
    ) -> Result<Values> {
        let flood = Some(Flood { bound, budget, rng: &mut rng });
        Ok(self.extract_by("extract flooded", &[x], domain, room, flood)?.remove(0))
    }
}

impl Params {
    /// As [`map_accuracy`](Self::map_accuracy) for [`Evaluator::map_flooded`] of vectors of a bound.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy) and [`Evaluator::map_flooded`].
    pub fn map_accuracy_flooded(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
        bound: &NoiseBound,
    ) -> Result<Accuracy> {
        let op = "map_accuracy";
        let lookups = self.lookups_for(op)?;
        let (lattice, way) = (self.tables_on(op, MapEngine::Auto)?, lookups.way(op, Bridge::Auto)?);
        let lowering = lookups.flooded_to_coefficients(self.arithmetic())?;
        let flooding = deviation(terms, bound, lowering, map::center(&domain))?;
        Map::planned(self, lookups, lattice, way, &domain, Some(flooding))?.accuracy(&domain, f)
    }
}
