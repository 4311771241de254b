//! Secret and public key: encryption, and decryption by rounding.

use std::fmt;

use bellerophon_mlwe::{self as mlwe, KeyId};
use bellerophon_ring::{
    Modulus, Ntt, Poly, Result,
    sample::{self, Seed, fill_uniform_from_seed},
    wire::Fingerprint,
};
use rand::{CryptoRng, RngExt};
use zeroize::Zeroizing;

use super::params::Switching;
use super::{Ciphertext, NoiseBound, Params, SeededCiphertext};
use super::{ciphertext::check_key, plaintext::check_plain};
use crate::error;

/// A secret with uniform ternary coefficients. Wiped on drop, redacted in `Debug`, no equality.
#[derive(Clone)]
pub struct SecretKey {
    params: Params,
    id: KeyId,
    /// The secret in NTT form over all primes of ciphertexts.
    ntt: Zeroizing<Poly<Ntt>>,
    /// Its negative.
    minus: Zeroizing<Poly<Ntt>>,
    coefficients: Zeroizing<Vec<i64>>,
    /// The same secret in the lattice layer, for parameters with special primes.
    lattice: Option<mlwe::SecretKey>,
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SecretKey {
    /// Draws a secret.
    pub fn generate<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        let coefficients = sample::ternary(params.degree(), rng);
        Self::of(params, KeyId(rng.random()), coefficients)
    }

    /// Restores a stored secret with the identity that was stored with it.
    pub(crate) fn restore(
        params: &Params,
        id: KeyId,
        coefficients: Zeroizing<Vec<i64>>,
    ) -> Result<Self> {
        let kind = mlwe::SecretKind::Ternary;
        if coefficients.len() != params.degree() {
            let (what, needed) = ("number of coefficients", params.degree().to_string());
            return Err(error::shape(what, coefficients.len(), needed));
        }
        if !kind.may_be(&coefficients) {
            let (what, found, needed) = ("secret", "another".into(), "uniform ternary");
            return Err(error::value(what, found, needed));
        }
        Self::of(params, id, coefficients)
    }

    fn of(params: &Params, id: KeyId, coefficients: Zeroizing<Vec<i64>>) -> Result<Self> {
        let lattice = match params.switching() {
            Switching::Digits(_) => None,
            Switching::Special(lattice) => {
                Some(mlwe::SecretKey::restore(lattice, &coefficients, id)?)
            }
        };
        let ntt = Zeroizing::new(params.ring().forward_signed(&coefficients));
        let mut minus = ntt.clone();
        params.ring().neg_assign(&mut minus);
        Ok(Self { params: params.clone(), id, ntt, minus, coefficients, lattice })
    }

    /// The parameters.
    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    /// The public identity.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// The `N` coefficients. Secret: wipe every copy.
    pub(crate) fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The secret in NTT form.
    pub(crate) fn ntt(&self) -> &Poly<Ntt> {
        &self.ntt
    }

    /// The secret of the lattice layer, for parameters with special primes.
    pub(crate) fn lattice(&self) -> Option<&mlwe::SecretKey> {
        self.lattice.as_ref()
    }

    /// Encrypts a polynomial with `N` coefficients in `[0, t)`.
    ///
    /// # Errors
    /// [`ErrorKind::Range`](crate::ErrorKind::Range) for a coefficient that is not below `t`.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        &self,
        coefficients: &[u64],
        rng: &mut R,
    ) -> Result<Ciphertext> {
        self.encrypt_seeded(coefficients, rng)?.expand(&self.params)
    }

    /// As [`encrypt`](Self::encrypt), with the mask left as a seed.
    pub fn encrypt_seeded<R: CryptoRng + ?Sized>(
        &self,
        coefficients: &[u64],
        rng: &mut R,
    ) -> Result<SeededCiphertext> {
        check_plain(&self.params, coefficients)?;
        // The mask is stream 0 of a fresh seed.
        let scale = self.params.scale();
        let seed = Seed::random(rng);
        let (b, _) = self.body(&seed, 0, rng, |limb, q, i| scale.apply(limb, q, coefficients[i]));
        Ok(SeededCiphertext { seed, b, fingerprint: self.params.fingerprint(), key: self.id })
    }

    /// The body `round(Q m / t) + e - a s` and its mask `a`, which is stream `stream` of the seed.
    /// `scaled(limb, q, i)` is coefficient `i` of `round(Q m / t)` modulo prime `limb`.
    pub(crate) fn body<R: CryptoRng + ?Sized>(
        &self,
        seed: &Seed,
        stream: u64,
        rng: &mut R,
        scaled: impl Fn(usize, &Modulus, usize) -> u64,
    ) -> (Poly<Ntt>, Poly<Ntt>) {
        let ring = self.params.ring();
        let (mut body, mut mask) = (ring.zero(), ring.zero());
        self.write_body(seed, stream, rng, scaled, body.data_mut(), mask.data_mut());
        (body, mask)
    }

    /// As [`body`](Self::body), writing the limbs of body and mask to the given slices.
    pub(crate) fn write_body<R: CryptoRng + ?Sized>(
        &self,
        seed: &Seed,
        stream: u64,
        rng: &mut R,
        scaled: impl Fn(usize, &Modulus, usize) -> u64,
        body: &mut [u64],
        mask: &mut [u64],
    ) {
        let (ring, n) = (self.params.ring(), self.params.degree());
        let error = self.params.gaussian().sample(n, rng);
        let mut product = Zeroizing::new(vec![0; n]);
        let limbs = body.chunks_exact_mut(n).zip(mask.chunks_exact_mut(n)).enumerate();
        for (limb, (body, mask)) in limbs {
            let (q, table) = (ring.modulus(limb), ring.table(limb));
            // Step 1: the message plus the error, whose sign is resolved without a branch.
            for (i, (x, &e)) in body.iter_mut().zip(error.iter()).enumerate() {
                *x = q.add((e + (q.value() as i64 & (e >> 63))) as u64, scaled(limb, q, i));
            }
            // Step 2: in NTT form subtract a s, with a expanded from the seed.
            table.forward(body);
            fill_uniform_from_seed(q, mask, seed, stream);
            table.sum_of_products(&mut product, &[(mask, self.minus.limb(limb))]);
            table.add_assign(body, &product);
        }
    }

    /// Decrypts: the coefficients of the plaintext, in `[0, t)`.
    pub fn decrypt(&self, ct: &Ciphertext) -> Result<Zeroizing<Vec<u64>>> {
        self.params.check(ct.fingerprint)?;
        check_key(ct.key, self.id)?;
        // Rounding needs one word, so the ciphertext is rescaled to the first prime first.
        let ct = ct.clone().to_one_limb(&self.params)?;
        Ok(self.round_phase(ct.b, &ct.a))
    }

    /// `round(t (b + a s) / q_0)` modulo `t`, coefficient by coefficient.
    pub(crate) fn round_phase(&self, b: Poly<Ntt>, a: &Poly<Ntt>) -> Zeroizing<Vec<u64>> {
        let ring = self.params.ring().at_limbs(1);
        // Step 1: the phase, in coefficients.
        let mut phase = Zeroizing::new(b);
        let secret = Zeroizing::new(self.ntt.limb_range(0..1));
        ring.mul_add_assign(&mut phase, a, &secret);
        let phase = Zeroizing::new(ring.inverse(std::mem::replace(&mut *phase, ring.zero())));
        // Step 2: rounding in constant time.
        let rounding = Rounding::new(&self.params);
        Zeroizing::new(phase.limb(0).iter().map(|&x| rounding.round(x)).collect())
    }
}

/// All ones if the numbers are equal, zero otherwise, without a branch.
pub(crate) fn same(a: usize, b: usize) -> u64 {
    let d = (a ^ b) as u64;
    ((d | d.wrapping_neg()) >> 63).wrapping_sub(1)
}

/// Rounding of `t x / q` modulo `t`, in constant time.
pub(crate) struct Rounding {
    q: Modulus,
    t: u64,
    /// `q^-1` modulo `2^64`.
    inverse: u64,
}

impl Rounding {
    pub(crate) fn new(params: &Params) -> Self {
        let q = *params.ring().modulus(0);
        // Newton iteration: every step doubles the correct low bits. An odd q is its own inverse
        // modulo 8, so five steps from 3 bits give 64.
        let step = |x: u64| x.wrapping_mul(2u64.wrapping_sub(q.value().wrapping_mul(x)));
        let inverse = (0..5).fold(q.value(), |x, _| step(x));
        Self { q, t: params.plain(), inverse }
    }

    pub(crate) fn round(&self, x: u64) -> u64 {
        let product = u128::from(x) * u128::from(self.t) + u128::from(self.q.value() / 2);
        // floor(product / q) = (product - product mod q) / q. That difference is a multiple of q
        // below 2^33 q, so the quotient is its low word times q^-1 modulo 2^64.
        let multiple = (product as u64).wrapping_sub(self.q.reduce_u128(product));
        let quotient = multiple.wrapping_mul(self.inverse);
        // A quotient of t is 0 modulo t.
        quotient & !same(quotient as usize, self.t as usize)
    }
}

/// A public encryption of zero, from which anybody can derive fresh ones.
#[derive(Debug, Clone, PartialEq)]
pub struct PublicKey {
    pub(crate) b: Poly<Ntt>,
    pub(crate) a: Poly<Ntt>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) key: KeyId,
}

impl PublicKey {
    /// The public key of a secret.
    pub fn generate<R: CryptoRng + ?Sized>(secret: &SecretKey, rng: &mut R) -> Self {
        let seed = Seed::random(rng);
        let (b, a) = secret.body(&seed, 0, rng, |_, _, _| 0);
        Self { b, a, fingerprint: secret.params.fingerprint(), key: secret.id }
    }

    /// A fresh encryption of zero.
    pub fn zero<R: CryptoRng + ?Sized>(&self, params: &Params, rng: &mut R) -> Result<Ciphertext> {
        params.check(self.fingerprint)?;
        // (b, a) u + (e_0, e_1) with a ternary u.
        let ring = params.ring();
        let small = |values: &[i64]| Zeroizing::new(ring.forward_signed(values));
        let ephemeral = small(&sample::ternary(params.degree(), rng));
        let mut part = |key: &Poly<Ntt>| {
            let mut part = ring.forward_signed(&params.gaussian().sample(params.degree(), rng));
            ring.mul_add_assign(&mut part, key, &ephemeral);
            part
        };
        let (b, a) = (part(&self.b), part(&self.a));
        let noise = NoiseBound::public_zero(params);
        Ok(Ciphertext { b, a, noise, fingerprint: self.fingerprint, key: self.key })
    }

    /// Identity of the secret key.
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// Bytes with residues packed to the bits of their primes.
    pub(crate) fn byte_len(&self, params: &Params) -> usize {
        2 * params.packed_len(params.ring())
    }
}
