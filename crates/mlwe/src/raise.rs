//! Raising the modulus of a ciphertext from `q_0` to `Q`, under another secret than it came from.
//!
//! Read over the integers, the phase of a ciphertext modulo `q_0` is `m + q_0 I`, and how large `I`
//! becomes depends on the weight of its secret. Bootstrapping therefore brings ciphertexts to a
//! sparse secret `s'` at the lowest level, where sparse secrets are safe (sparse-secret
//! encapsulation: Bossuat, Troncoso-Pastoriza and Hubaux, eprint 2022/024), reads them modulo `Q`
//! there, and switches back to the dense secret `s`. This file has the second half.
//!
//! The masks that are read modulo `Q` are small integers, below `q_0 / 2` each, which are the one
//! digit of their own decomposition: the switch takes one row `b_i = -<a_i, s> + e_i + P s'_i`
//! modulo `P Q` for each component of `s'` instead of a gadget ciphertext. The sparse secret stands
//! under no modulus above that of its own parameters: here it is the message.

use bellerophon_ring::sample::{Seed, uniform_from_seed};
use bellerophon_ring::{Ntt, Poly};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::packed_len;
use crate::encrypt::{SEED_BYTES, error_poly, restrict_extended, sub_product};
use crate::keyswitch::{KeyEnd, check_primes};
use crate::{Ciphertext, Error, ExtendedCiphertext, Params, Result, SecretKey};

/// Largest `log2` of a coefficient times the factor of [`RaiseKey::raise`].
const MAX_LOG_COEFFICIENT: f64 = 62.0;

/// The key that raises the modulus of ciphertexts of one limb.
#[derive(Debug, Clone, PartialEq)]
pub struct RaiseKey {
    from: KeyEnd,
    to: KeyEnd,
    limbs: usize,
    seed: Seed,
    /// One body for each component of the source secret, over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    b: Vec<Poly<Ntt>>,
    /// Mask `c` of row `i` is stream `i * rank + c` of the seed.
    a: Vec<Vec<Poly<Ntt>>>,
}

impl RaiseKey {
    /// The key from a secret at `q_0` to one at `limbs` limbs. The first primes of the two chains
    /// must be the same; special primes and the rest of the chain may differ.
    ///
    /// # Errors
    /// [`Error::Degree`], [`Error::Moduli`] or [`Error::Limbs`] if the parameters do not fit.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let op = "generate a raising key";
        let params = to.params();
        if from.params().degree() != params.degree() {
            let (found, needed) = (from.params().degree(), params.degree());
            return Err(Error::Degree { op, found, needed });
        }
        check_primes(op, from.params(), params, 1)?;
        params.check_limbs(op, limbs)?;
        let ring = params.gadget().ring(limbs);
        let secrets: Vec<Zeroizing<Poly<Ntt>>> = (0..params.rank())
            .map(|c| Zeroizing::new(restrict_extended(to.ntt(c), limbs, params.limbs())))
            .collect();
        let factor: Vec<u64> = ring
            .moduli()
            .map(|q| params.p().moduli().fold(1, |x, p| q.mul(x, q.reduce(p.value()))))
            .collect();
        let seed = Seed::random(rng);
        let a = masks(params, limbs, &seed, from.params().rank());
        let rows = a.iter().enumerate();
        let b = rows
            .map(|(i, masks)| {
                let mut b = error_poly(params, ring, rng);
                for (mask, secret) in masks.iter().zip(&secrets) {
                    sub_product(ring, &mut b, mask.clone(), secret);
                }
                let message = ring.forward(ring.from_signed(from.coefficients(i)));
                let mut message = Zeroizing::new(message);
                ring.mul_residues_assign(&mut message, &factor);
                ring.add_assign(&mut b, &message);
                b
            })
            .collect();
        Ok(Self { from: from.into(), to: to.into(), limbs, seed, b, a })
    }

    /// Puts checked parts together, with the masks expanded.
    pub(crate) fn from_bodies(
        params: &Params,
        from: KeyEnd,
        to: KeyEnd,
        limbs: usize,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
    ) -> Self {
        let a = masks(params, limbs, &seed, b.len());
        Self { from, to, limbs, seed, b, a }
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// One body for each component of the source secret.
    pub(crate) fn bodies(&self) -> &[Poly<Ntt>] {
        &self.b
    }

    /// Whose ciphertexts it takes.
    pub fn from(&self) -> KeyEnd {
        self.from
    }

    /// Whose ciphertexts it gives.
    pub fn to(&self) -> KeyEnd {
        self.to
    }

    /// Limbs of what it gives.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// Components of the source secret.
    pub fn rows(&self) -> usize {
        self.b.len()
    }

    /// Bytes when residues are packed to the bits of their primes and the masks are a seed.
    pub fn seeded_byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.limbs))
    }

    /// `factor` times a ciphertext of one limb, read over the integers and modulo `Q`, under the
    /// target secret. With `b`, `a_i` the centred representatives, the phase of the result is
    /// `factor (b + <a, s'>)` plus noise of variance [`noise::raise`](crate::noise::raise).
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], [`Error::Limbs`] for more than one limb,
    /// [`Error::Parameter`] when `factor q_0 / 2` leaves 62 bits.
    pub fn raise(&self, params: &Params, ct: &Ciphertext, factor: i64) -> Result<Ciphertext> {
        let op = "raise the modulus";
        params.check(op, self.to.fingerprint)?;
        if ct.fingerprint() != self.from.fingerprint {
            let (found, needed) = (ct.fingerprint(), self.from.fingerprint);
            return Err(Error::ParamsMismatch { op, found, needed });
        }
        if ct.key() != self.from.key {
            return Err(Error::KeyMismatch { op, found: ct.key(), needed: self.from.key });
        }
        if ct.limbs() != 1 {
            return Err(Error::Limbs { op, found: ct.limbs(), needed: "1".into() });
        }
        let q = params.q().modulus(0);
        if (factor as f64).abs().log2() + (q.value() as f64).log2() - 1.0 >= MAX_LOG_COEFFICIENT {
            return Err(Error::Parameter {
                field: "factor",
                found: factor.to_string(),
                needed: format!("a factor that keeps q_0 / 2 below 2^{MAX_LOG_COEFFICIENT}"),
            });
        }
        let lowest = params.q().prefix(1);
        let integers = |poly: &Poly<Ntt>| -> Vec<i64> {
            let coefficients = lowest.inverse(poly.clone());
            coefficients.limb(0).iter().map(|&x| q.center(x) * factor).collect()
        };
        let ring = params.gadget().ring(self.limbs);
        let digits: Vec<Poly<Ntt>> =
            ct.masks().iter().map(|a| ring.forward(ring.from_signed(&integers(a)))).collect();
        let column = |polys: &[&Poly<Ntt>]| {
            let pairs: Vec<_> = digits.iter().zip(polys.iter().copied()).collect();
            ring.sum_of_products(&pairs)
        };
        let masks = (0..params.rank())
            .map(|c| column(&self.a.iter().map(|row| &row[c]).collect::<Vec<_>>()))
            .collect();
        let mut raised = ExtendedCiphertext {
            b: column(&self.b.iter().collect::<Vec<_>>()),
            a: masks,
            limbs: self.limbs,
            fingerprint: self.to.fingerprint,
            key: self.to.key,
        };
        let q = params.q().prefix(self.limbs);
        raised.add_body_assign(params, &q.forward(q.from_signed(&integers(ct.b()))))?;
        raised.mod_down(params)
    }
}

/// Mask `c` of row `i` is stream `i * rank + c` of the seed.
fn masks(params: &Params, limbs: usize, seed: &Seed, rows: usize) -> Vec<Vec<Poly<Ntt>>> {
    let (ring, rank) = (params.gadget().ring(limbs), params.rank());
    let stream = |i: usize, c: usize| uniform_from_seed(ring, seed, (i * rank + c) as u64);
    (0..rows).map(|i| (0..rank).map(|c| stream(i, c)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, message, params, rng, spec};
    use crate::{KeySwitchKey, ParamsSpec, SecretKind, measure, noise};

    #[test]
    fn encapsulation_raises_the_modulus_and_keeps_the_phase() {
        let params = params(512, 1, 5, 1);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let sparse_spec = ParamsSpec {
            q: vec![params.spec().q[0]],
            secret: SecretKind::Sparse(32),
            ..spec(512, 1, 1, 1)
        };
        let low = Params::new(sparse_spec).unwrap();
        let sparse = SecretKey::generate(&low, &mut rng(2)).unwrap();
        let down = KeySwitchKey::between(&secret, &sparse, 1, &mut rng(3)).unwrap();
        let m = message(&params, 1, 7);
        let ct = secret.encrypt(&m, &mut rng(4)).unwrap();
        let ct = down.switch(&low, &ct).unwrap();
        let q0 = params.q().modulus(0).value() as f64;
        // From no noise but the rounding to noise that the special prime does not divide away.
        for (limbs, factor) in [(4, 1), (5, -3), (5, 1 << 15)] {
            let key = RaiseKey::generate(&sparse, &secret, limbs, &mut rng(5)).unwrap();
            let raised = key.raise(&params, &ct, factor).unwrap();
            assert_eq!((raised.limbs(), raised.key()), (limbs, secret.id()));
            let ring = raised.ring(&params);
            let phase = ring.inverse((*raised.phase(&secret).unwrap()).clone());
            let phase = measure::centered_f64(&ring, &phase);
            // The same phase modulo q_0, and few multiples of it.
            let low_ring = params.q().prefix(1);
            let wanted = low_ring.inverse((*ct.phase(&sparse).unwrap()).clone());
            let wanted = measure::centered_f64(&low_ring, &wanted);
            let factor = factor as f64;
            let errors: Vec<f64> = phase
                .iter()
                .zip(&wanted)
                .map(|(x, y)| {
                    let turns = ((x / factor - y) / q0).round();
                    assert!(turns.abs() < 10.0, "{turns} multiples of q_0");
                    x - factor * (y + turns * q0)
                })
                .collect();
            let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            assert_close(variance, noise::raise(&params, 1, factor as i64), 1.35);
        }
    }

    #[test]
    fn misfits_are_refused() {
        let params = params(64, 1, 3, 1);
        let (one, two) = (&mut rng(1), &mut rng(2));
        let secret = SecretKey::generate(&params, one).unwrap();
        let other = SecretKey::generate(&params, two).unwrap();
        let key = RaiseKey::generate(&other, &secret, 3, one).unwrap();
        let ct = |secret: &SecretKey, limbs| {
            secret.encrypt(&message(&params, limbs, 1), &mut rng(1)).unwrap()
        };
        let refused = key.raise(&params, &ct(&secret, 1), 1);
        assert!(matches!(refused, Err(Error::KeyMismatch { .. })));
        let refused = key.raise(&params, &ct(&other, 2), 1);
        assert!(matches!(refused, Err(Error::Limbs { found: 2, .. })));
        let refused = key.raise(&params, &ct(&other, 1), 1 << 20);
        assert!(matches!(refused, Err(Error::Parameter { field: "factor", .. })));
        assert!(RaiseKey::generate(&other, &secret, 4, one).is_err());
        let foreign = crate::testing::params(128, 1, 3, 1);
        let foreign = SecretKey::generate(&foreign, two).unwrap();
        let refused = RaiseKey::generate(&foreign, &secret, 1, one);
        assert!(matches!(refused, Err(Error::Degree { .. })));
    }
}
