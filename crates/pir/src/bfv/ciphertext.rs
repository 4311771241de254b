//! Ciphertexts and plaintext factors of the exact scheme, and the operations that need no key.

use bellerophon_mlwe::{self as mlwe, KeyId};
use bellerophon_ring::{
    Ntt, Poly, Ring, rescale,
    sample::{Seed, uniform_from_seed},
    wire::Fingerprint,
};
use zeroize::{Zeroize, Zeroizing};

use super::{NoiseBound, Params};
use crate::{During, ErrorKind, Result};

/// `log2` of the probability with which a value may be wrong.
pub(crate) const LOG2_FAILURE: f64 = -40.0;

/// Bounds on the coefficients, of least magnitude, of a polynomial modulo `t`. The noise of a
/// product with the polynomial follows from them. They are declared and public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norms {
    /// An upper bound on the sum of the magnitudes of its coefficients.
    pub sum: f64,
    /// An upper bound on the sum of their squares.
    pub squares: f64,
}

impl Norms {
    /// The norms that hold for any polynomial modulo `t`: `N t / 2` and `N (t / 2)^2`.
    pub(crate) fn any(params: &Params) -> Self {
        let (n, half) = (params.degree() as f64, params.plain() as f64 / 2.0);
        Self { sum: n * half, squares: n * half * half }
    }

    /// The norms of the given coefficients.
    fn of(coefficients: &[i64]) -> Self {
        let sum = |f: fn(f64) -> f64| coefficients.iter().map(|&c| f(c as f64)).sum();
        Self { sum: sum(f64::abs), squares: sum(|c| c * c) }
    }

    /// Whether `other` is no larger, up to floating-point rounding.
    fn hold(&self, other: &Self) -> bool {
        // Norms are sums of floating-point terms, whose order may differ at the peer.
        let slack = 1.0 + 1e-12;
        other.sum <= self.sum * slack && other.squares <= self.squares * slack
    }
}

/// A polynomial modulo `t` as a factor of ciphertexts: its coefficients of least magnitude, in NTT
/// form. It may be its owner's secret: it is wiped on drop, and `Debug` prints only its degree.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    pub(crate) poly: Poly<Ntt>,
    pub(crate) norms: Norms,
    pub(crate) fingerprint: Fingerprint,
}

impl Plaintext {
    /// The polynomial with `N` coefficients in `[0, t)`. A product with it is stated to have the
    /// noise of the worst polynomial, so the noise reveals nothing about this one.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] for another number of coefficients, [`ErrorKind::Plain`] for one that
    /// is not below `t`.
    pub fn new(params: &Params, coefficients: &[u64]) -> Result<Self> {
        Self::declared(params, coefficients, Norms::any(params))
    }

    /// As [`new`](Self::new) for a polynomial whose norms are known to be small. Products state the
    /// noise that follows from the declared norms: whoever sees a product learns these norms.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and [`ErrorKind::Value`] for coefficients of larger norms.
    pub(crate) fn declared(params: &Params, coefficients: &[u64], norms: Norms) -> Result<Self> {
        // Step 1: coefficients of least magnitude, whose norms the declared ones must bound.
        let op = "encode a plaintext";
        check_plain(params, coefficients).during(op)?;
        let signed: Zeroizing<Vec<i64>> =
            Zeroizing::new(coefficients.iter().map(|&m| params.center(m)).collect());
        if !norms.hold(&Norms::of(&signed)) {
            let (what, found) = ("norms", "larger ones".into());
            return Err(
                ErrorKind::Value { what, found, needed: "at most the declared ones" }.during(op)
            );
        }
        // Step 2: NTT form, with the declared norms in place of the actual ones, which may be
        // secret.
        let mut plain = Self::from_signed(params, &signed);
        plain.norms = norms;
        Ok(plain)
    }

    /// The polynomial with the given small coefficients.
    pub(crate) fn from_signed(params: &Params, coefficients: &[i64]) -> Self {
        let poly = params.ring().forward_signed(coefficients);
        Self { poly, norms: Norms::of(coefficients), fingerprint: params.fingerprint() }
    }
}

impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext of degree {} (redacted)", self.poly.degree())
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.poly.zeroize();
    }
}

/// Checks that there are `N` coefficients below `t`.
pub(crate) fn check_plain(params: &Params, coefficients: &[u64]) -> Result<()> {
    if coefficients.len() != params.degree() {
        let (found, needed) = (coefficients.len(), format!("the degree {}", params.degree()));
        return Err(ErrorKind::Shape { what: "number of coefficients", found, needed }.into());
    }
    let plain = params.plain();
    match coefficients.iter().position(|&m| m >= plain) {
        None => Ok(()),
        Some(index) => Err(ErrorKind::Plain { index, plain }.into()),
    }
}

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
    /// `2^-40`; those of the lattice layer unless both have the same parameters, key and limbs.
    pub(crate) fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        let op = "add";
        self.check_pair(params, other).during(op)?;
        // Refused before the ciphertext changes.
        self.noise = self.noise.sum(other.noise).check(params, self.limbs()).during(op)?;
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
    /// [`ErrorKind::Noise`] for a factor that could make a coefficient wrong with a probability
    /// above `2^-40`; those of the lattice layer for other parameters, or fewer limbs than fresh
    /// ciphertexts have.
    pub fn mul_plain_assign(&mut self, params: &Params, plain: &Plaintext) -> Result<()> {
        let op = "multiply by a plaintext";
        params.check(self.fingerprint).during(op)?;
        params.check(plain.fingerprint).during(op)?;
        // The factor has all limbs, so the product is taken before any limb is dropped.
        check_limbs(self.limbs(), plain.poly.limbs()).during(op)?;
        // Refused before the ciphertext changes.
        self.noise = self.noise.times(plain).check(params, self.limbs()).during(op)?;
        let ring = self.ring(params);
        self.polys_mut().into_iter().for_each(|poly| ring.mul_assign(poly, &plain.poly));
        Ok(())
    }

    /// Multiplies by `X^k`, `k` modulo `2N`. This adds no noise.
    ///
    /// # Errors
    /// Those of the lattice layer for other parameters.
    pub(crate) fn mul_monomial_assign(&mut self, params: &Params, k: usize) -> Result<()> {
        params.check(self.fingerprint).during("multiply by a monomial")?;
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
    ///
    /// # Errors
    /// Those of the lattice layer for other parameters.
    pub(crate) fn to_one_limb(self, params: &Params) -> Result<Self> {
        params.check(self.fingerprint).during("drop limbs")?;
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
    Err(mlwe::ErrorKind::KeyMismatch { found, needed }.into())
}

pub(crate) fn check_limbs(found: usize, needed: usize) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(mlwe::ErrorKind::Limbs { found, needed: needed.to_string() }.into())
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
    ///
    /// # Errors
    /// Those of the lattice layer for other parameters.
    pub fn expand(&self, params: &Params) -> Result<Ciphertext> {
        params.check(self.fingerprint).during("expand a ciphertext")?;
        // The mask is stream 0 of the seed, at the limbs of the body.
        let a = uniform_from_seed(&params.ring().at_limbs(self.b.limbs()), &self.seed, 0);
        let (b, noise) = (self.b.clone(), NoiseBound::fresh(params));
        Ok(Ciphertext { b, a, noise, fingerprint: self.fingerprint, key: self.key })
    }
}
