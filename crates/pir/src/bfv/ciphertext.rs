//! Ciphertexts of the exact scheme, and the operations that need no key.

use bellerophon_mlwe::{self as mlwe, KeyId};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{
    Ntt, Poly, Result, Ring,
    error::operation,
    rescale,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};

use super::{NoiseBound, Params, Plaintext};

/// A pair `(b, a)` with phase `b + a s`, in NTT form over the first primes, and a bound on its
/// noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Ciphertext {
    pub(crate) b: Poly<Ntt>,
    pub(crate) a: Poly<Ntt>,
    pub(crate) noise: NoiseBound,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

impl Ciphertext {
    /// Number of limbs.
    pub(crate) fn limbs(&self) -> usize {
        self.b.limbs()
    }

    /// A bound on its noise, modulo the primes of its limbs.
    #[cfg(test)]
    pub(crate) fn noise(&self) -> NoiseBound {
        self.noise
    }

    pub(crate) fn ring(&self, params: &Params) -> Ring {
        params.ring().at_limbs(self.limbs())
    }

    pub(crate) fn polys_mut(&mut self) -> [&mut Poly<Ntt>; 2] {
        [&mut self.b, &mut self.a]
    }

    /// `self += other`. Standard deviations of noise add up, since the terms may be dependent.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if a coefficient of the sum could be wrong with a probability above
    /// `2^-40`.
    pub(crate) fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        self.check_pair(params, other)?;
        // Refused before the ciphertext changes.
        self.noise = self.noise.sum(other.noise).check(params, self.limbs())?;
        let ring = self.ring(params);
        ring.add_assign(&mut self.b, &other.b);
        ring.add_assign(&mut self.a, &other.a);
        Ok(())
    }

    /// Multiplies the plaintext by another, modulo `t` and `X^N + 1`. The variance grows by the sum
    /// of the squares of the factor's coefficients; in a product of
    /// products, by the square of the sum of their magnitudes.
    ///
    /// # Errors
    /// [`ErrorKind::Noise`] if a coefficient could be wrong with a probability above `2^-40`; a
    /// ciphertext of fewer limbs than a fresh one is refused.
    pub fn mul_plain_assign(&mut self, params: &Params, plain: &Plaintext) -> Result<()> {
        operation("mul_plain_assign", || {
            params.check(self.fingerprint)?;
            params.check(plain.fingerprint)?;
            // The factor has all limbs, so the product is taken before any limb is dropped.
            check_limbs(self.limbs(), plain.poly.limbs())?;
            // Refused before the ciphertext changes.
            self.noise = self.noise.times(plain).check(params, self.limbs())?;
            let ring = self.ring(params);
            self.polys_mut().into_iter().for_each(|poly| ring.mul_assign(poly, &plain.poly));
            Ok(())
        })
    }

    /// Multiplies by `X^k`, `k` modulo `2N`. This adds no noise.
    pub(crate) fn mul_monomial_assign(&mut self, params: &Params, k: usize) -> Result<()> {
        params.check(self.fingerprint)?;
        let (ring, n) = (self.ring(params), params.degree());
        // X^N = -1: the sign changes with every N.
        let mut coefficients = vec![0; n];
        coefficients[k % n] = if (k / n).is_multiple_of(2) { 1 } else { -1 };
        let monomial = ring.forward_signed(&coefficients);
        self.polys_mut().into_iter().for_each(|poly| ring.mul_assign(poly, &monomial));
        Ok(())
    }

    /// Rescales to the first prime: divides by all others and rounds. The plaintext modulo `t`
    /// stays the same, and the noise gains that of one rounding.
    pub fn to_one_limb(self, params: &Params) -> Result<Self> {
        params.check(self.fingerprint)?;
        // Nothing to divide by: no rounding error is added.
        if self.limbs() == 1 {
            return Ok(self);
        }
        let (ring, limbs) = (self.ring(params), self.limbs());
        // Q m / t becomes q_0 m / t: the plaintext does not change.
        let Self { b, a, noise, fingerprint, key } = self;
        let divide = |poly| rescale(&ring, poly, limbs - 1);
        let noise = noise.to_one_limb(params, limbs);
        Ok(Self { b: divide(b), a: divide(a), noise, fingerprint, key })
    }

    pub(crate) fn check_pair(&self, params: &Params, other: &Self) -> Result<()> {
        params.check(self.fingerprint)?;
        params.check(other.fingerprint)?;
        check_key(other.key, self.key)?;
        check_limbs(other.limbs(), self.limbs())
    }
}

/// Checks that a ciphertext belongs to the key.
pub(crate) fn check_key(found: KeyId, needed: KeyId) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(mlwe::error::key_mismatch(found, needed))
}

pub(crate) fn check_limbs(found: usize, needed: usize) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(mlwe::error::limbs(found, needed.to_string()))
}

/// A fresh ciphertext with its mask as a seed: half the bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededCiphertext {
    pub(crate) seed: Seed,
    pub(crate) b: Poly<Ntt>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

/// Length of a seed in wire formats.
pub(crate) const SEED_BYTES: usize = 32;

impl SeededCiphertext {
    /// The ciphertext with its mask expanded.
    pub fn expand(&self, params: &Params) -> Result<Ciphertext> {
        params.check(self.fingerprint)?;
        // The mask is stream 0 of the seed, at the limbs of the body.
        let a = uniform_from_seed(&params.ring().at_limbs(self.b.limbs()), &self.seed, 0);
        let (b, noise) = (self.b.clone(), NoiseBound::fresh(params));
        Ok(Ciphertext { b, a, noise, fingerprint: self.fingerprint, key: self.key })
    }
}
