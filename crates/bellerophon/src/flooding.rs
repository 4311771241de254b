//! Flooding noise in front of the way from slots to LWE values.

use std::ops::RangeInclusive;

use bellerophon_ckks::{self as ckks, Ciphertext, Meta, dft::Coefficients, sharing::Flooding};
use bellerophon_lwe::{Room, Values};
use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Poly, sample::Gaussian};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::{Accuracy, Bridge, Evaluator, MapEngine, Params, Result, client::system_rng, map::Map};

/// `-log2` of the probability with which the noise of some value exceeds what is hidden.
const TAIL_BITS: f64 = 64.0;

/// On what terms a vector is flooded, and from which generator.
pub(crate) struct Flood<'r> {
    pub(crate) terms: &'r Flooding,
    pub(crate) rng: &'r mut dyn CryptoRng,
}

impl Flood<'_> {
    /// Adds the noise to the body.
    pub(crate) fn apply(&mut self, params: &ckks::Params, x: Coefficients) -> Result<Coefficients> {
        let (scale, slots, len, bounds) = (x.scale(), x.slots(), x.len(), *x.bounds());
        let deviation = deviation(self.terms, x.variance(), len);
        let variance = x.variance() + deviation * deviation;
        let lattice = x.into_lattice();
        let (key, ring) = (lattice.key(), lattice.ring(params.lattice()));
        let noise = Gaussian::new(deviation)?.sample(params.degree(), &mut *self.rng);
        let noise: Zeroizing<Poly<_>> = Zeroizing::new(ring.forward(ring.from_signed(&noise)));
        let (mut b, a) = lattice.into_parts();
        ring.add_assign(&mut b, &noise);
        let inner = mlwe::Ciphertext::new(params.lattice(), b, a, key)?;
        Ok(Coefficients::from_parts(params, inner, Meta { scale, slots, len, bounds, variance })?)
    }
}

/// The deviation that hides noise of a variance in as many coefficients as there are values: with the
/// length `sqrt(count) (tail std + 1/2)`, where `tail = sqrt(2 ln(2^65 count))` deviations are left with
/// probability `2^-64` by none of the coefficients. Roundings times a secret are sub-Gaussian there.
pub(crate) fn deviation(terms: &Flooding, variance: f64, count: usize) -> f64 {
    let count = count as f64;
    let tail = (2.0 * (count.ln() + (TAIL_BITS + 1.0) * std::f64::consts::LN_2)).sqrt();
    terms.deviation(count.sqrt() * (tail * variance.sqrt() + 0.5))
}

impl Evaluator {
    /// As [`map`](Self::map), with flooding noise in front of the switch from slots to LWE values.
    ///
    /// An LWE value carries on the noise of the slots, which depends on their key, and a look-up near
    /// the border of a cell depends on that noise; in the model of Li and Micciancio, in which an attacker
    /// sees decrypted results, published attacks on such switches recover keys ("How not to switch
    /// FHE schemes", 2026). Here a discrete Gaussian is added to every coefficient of the lowered vector:
    /// `sqrt(12 q) 2^(s/2)` times the noise of its values, for `q` vectors and `s` bits
    /// ([`Flooding`]). It blurs the index of the table:
    /// [`Params::map_accuracy_flooded`] predicts what is left.
    ///
    /// What this promises: of `q` flooded vectors, the phases of the LWE values before the key switch
    /// are within `2^(-s/2) / sqrt(48)` of phases that do not depend on the noise of the slots, to anyone
    /// who does not know the flooding. What it does not: the server draws the noise and must keep it to
    /// itself; the noise that is hidden is the one that the vector carries, an average for independent
    /// errors, times a tail for `2^-64`, not a bound for programs that add up one error many times; and
    /// key switch, rounding to an index and a table's failures come after it and depend on the LWE
    /// secret as ever. So a result is not safe to share because it was flooded here; for results that
    /// never left the slots, [`ClientKey::decrypt_for_sharing`](crate::ClientKey::decrypt_for_sharing)
    /// has a bound.
    ///
    /// # Errors
    /// As [`map`](Self::map); an error of the tables where the noise would fill them, and
    /// [`Error::DomainScale`](crate::Error::DomainScale) for domains more than some 16 wide: values are
    /// lowered at a larger scale, so that less noise is to be hidden.
    pub fn map_flooded(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
    ) -> Result<Ciphertext> {
        self.map_flooded_with(x, domain, f, terms, &mut system_rng())
    }

    /// As [`map_flooded`](Self::map_flooded) from a given generator.
    ///
    /// # Errors
    /// As [`map_flooded`](Self::map_flooded).
    pub fn map_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
        mut rng: &mut R,
    ) -> Result<Ciphertext> {
        self.map_by("map flooded", x, domain, &f, Some(Flood { terms, rng: &mut rng }))
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
        terms: &Flooding,
    ) -> Result<Values> {
        self.extract_flooded_with(x, domain, room, terms, &mut system_rng())
    }

    /// As [`extract_flooded`](Self::extract_flooded) from a given generator.
    ///
    /// # Errors
    /// As [`extract_flooded`](Self::extract_flooded).
    pub fn extract_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        domain: RangeInclusive<f64>,
        room: Room,
        terms: &Flooding,
        mut rng: &mut R,
    ) -> Result<Values> {
        let flood = Some(Flood { terms, rng: &mut rng });
        Ok(self.extract_by("extract flooded", &[x], domain, room, flood)?.remove(0))
    }
}

impl Params {
    /// As [`map_accuracy`](Self::map_accuracy) for [`Evaluator::map_flooded`] of fresh vectors of
    /// `count` values.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy) and [`Evaluator::map_flooded`].
    pub fn map_accuracy_flooded(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
        count: usize,
    ) -> Result<Accuracy> {
        let op = "map_accuracy";
        let lookups = self.lookups_for(op)?;
        let (lattice, way) = (self.tables_on(op, MapEngine::Auto)?, lookups.way(op, Bridge::Auto)?);
        let flood = Some((terms, count));
        Map::planned(self, lookups, lattice, way, &domain, flood)?.accuracy(&domain, f)
    }
}
