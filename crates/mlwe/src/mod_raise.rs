//! ModRaise: raises the modulus of a ciphertext from `q_0` to `Q` and switches its secret.
//!
//! Over the integers, the phase of a ciphertext modulo `q_0` is `m + q_0 I`. The size of `I`
//! depends on the weight of the secret. Bootstrapping therefore switches ciphertexts to a sparse
//! secret `s'` at the lowest level, where sparse secrets are safe, reads them modulo `Q`, and
//! switches back to the dense secret `s` (sparse-secret encapsulation: Bossuat, Troncoso-Pastoriza
//! and Hubaux, eprint 2022/024). This file implements the raise and the switch back, for the ring
//! bridge between slots and LWE. In bootstrapping, the same key switch also applies the first
//! matrix of C2S ([`RaiseTransform`](crate::RaiseTransform)).
//!
//! The coefficients of the masks modulo `q_0` are integers of magnitude below `q_0 / 2`: each mask
//! is the single digit of its own decomposition. The switch therefore takes one row
//! `b_i = -<a_i, s> + e_i + P s'_i` modulo `P Q` for each component of `s'` instead of a gadget
//! ciphertext. The sparse secret is never used as a key above the modulus of its own parameters:
//! here it is the message.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::error::ensure;
use bellerophon_ring::{
    During, Ntt, Poly, Result,
    sample::{Seed, uniform_from_seed},
};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::{Ciphertext, packed_len};
use crate::ciphertext_qp::CiphertextQP;
use crate::encrypt::{SEED_BYTES, error_poly, restrict_extended, sub_product};
use crate::error;
use crate::key_id::KeyIdent;
use crate::keyswitch::{SwitchKeyInfo, check_end};
use crate::params::{Params, check_primes};
use crate::secret::SecretKey;

/// Largest `log2` of `factor` times a coefficient in [`ModRaiseKey::mod_raise`].
const MAX_LOG_COEFFICIENT: f64 = 62.0;

/// The key of ModRaise: it takes ciphertexts of one limb.
#[derive(Debug, Clone, PartialEq)]
pub struct ModRaiseKey {
    shape: SwitchKeyInfo,
    seed: Seed,
    /// One body for each component of the source secret, over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    b: Vec<Poly<Ntt>>,
    /// Mask `c` of row `i` is stream `i * rank + c` of the seed.
    a: Vec<Vec<Poly<Ntt>>>,
}

impl ModRaiseKey {
    /// Generates the key from a secret at `q_0` to a secret at `limbs` limbs. The two chains must
    /// have the same first prime. Special primes and the rest of the chain may differ.
    pub fn generate<R: CryptoRng + ?Sized>(
        from: &SecretKey,
        to: &SecretKey,
        limbs: usize,
        rng: &mut R,
    ) -> Result<Self> {
        let params = to.params();
        // Step 1: the chains share degree and first prime.
        if from.params().degree() != params.degree() {
            let (found, needed) = (from.params().degree(), params.degree());
            return Err(error::degree(found, needed));
        }
        check_primes(from.params(), params, 1)?;
        params.check_limbs(limbs)?;
        // Step 2: the target secret at the limbs of the key, and P modulo every prime.
        let ring = params.gadget().ring(limbs);
        let secrets: Vec<Zeroizing<Poly<Ntt>>> = (0..params.rank())
            .map(|c| Zeroizing::new(restrict_extended(to.ntt(c), limbs, params.limbs())))
            .collect();
        let factor: Vec<u64> = ring
            .moduli()
            .map(|q| params.p().moduli().fold(1, |x, p| q.mul(x, q.reduce(p.value()))))
            .collect();
        // Step 3: the masks, from one seed.
        let seed = Seed::random(rng);
        let a = masks(params, limbs, &seed, from.params().rank());
        let rows = a.iter().enumerate();
        // Step 4: the bodies b_i = e_i - <a_i, s> + P s'_i.
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
        let (from_rank, to_rank) = (from.params().rank(), params.rank());
        let shape = SwitchKeyInfo { from: from.into(), to: to.into(), limbs, from_rank, to_rank };
        Ok(Self { shape, seed, b, a })
    }

    /// Assembles checked parts and expands the masks.
    pub(crate) fn from_bodies(
        params: &Params,
        from: KeyIdent,
        to: KeyIdent,
        limbs: usize,
        seed: Seed,
        b: Vec<Poly<Ntt>>,
    ) -> Self {
        let a = masks(params, limbs, &seed, b.len());
        let (from_rank, to_rank) = (b.len(), params.rank());
        Self { shape: SwitchKeyInfo { from, to, limbs, from_rank, to_rank }, seed, b, a }
    }

    /// The metadata: everything except the polynomials.
    pub fn shape(&self) -> &SwitchKeyInfo {
        &self.shape
    }

    /// The seed of the masks.
    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// One body for each component of the source secret.
    pub(crate) fn bodies(&self) -> &[Poly<Ntt>] {
        &self.b
    }

    /// Size in bytes with residues bit-packed to the width of their primes and masks as a seed.
    pub fn seeded_byte_len(&self, params: &Params) -> usize {
        SEED_BYTES + self.b.len() * packed_len(params.gadget().ring(self.shape.limbs))
    }

    /// ModRaise: reads a ciphertext of one limb over the integers, multiplies it by `factor`, and
    /// returns it modulo `Q` under the target secret. With `b`, `a_i` the centred representatives,
    /// the phase of the result is `factor (b + <a, s'>)` plus noise of variance
    /// [`noise::mod_raise`](crate::noise::mod_raise).
    ///
    /// # Errors
    /// [`ErrorKind::Level`] for more than one limb; [`ErrorKind::Parameters`] unless `factor q_0 /
    /// 2` is below `2^62`.
    pub fn mod_raise(&self, params: &Params, ct: &Ciphertext, factor: i64) -> Result<Ciphertext> {
        self.check(params, ct, factor).during("mod_raise")?;
        // Step 1: centred integer coefficients, times the factor.
        let q = params.q().modulus(0);
        let lowest = params.q().at_limbs(1);
        let integers = |poly: &Poly<Ntt>| -> Vec<i64> {
            let coefficients = lowest.inverse(poly.clone());
            coefficients.limb(0).iter().map(|&x| q.center(x) * factor).collect()
        };
        // Step 2: each mask modulo Q_l P is its own single digit.
        let ring = params.gadget().ring(self.shape.limbs);
        let digits: Vec<Poly<Ntt>> =
            ct.masks().iter().map(|a| ring.forward(ring.from_signed(&integers(a)))).collect();
        // Step 3: inner product of these digits with the rows of the key.
        let column = |polys: &[&Poly<Ntt>]| {
            let pairs: Vec<_> = digits.iter().zip(polys.iter().copied()).collect();
            ring.sum_of_products(&pairs)
        };
        let masks = (0..params.rank())
            .map(|c| column(&self.a.iter().map(|row| &row[c]).collect::<Vec<_>>()))
            .collect();
        let mut raised = CiphertextQP {
            b: column(&self.b.iter().collect::<Vec<_>>()),
            a: masks,
            limbs: self.shape.limbs,
            ident: self.shape.to,
        };
        // Step 4: add P b, then mod-down.
        let q = params.q().at_limbs(self.shape.limbs);
        raised.add_body_assign(params, &q.forward(q.from_signed(&integers(ct.b()))))?;
        raised.mod_down(params)
    }

    /// Fails unless parameters and key are those of the source, the ciphertext has one limb, and
    /// its coefficients times the factor are below `2^62`.
    fn check(&self, params: &Params, ct: &Ciphertext, factor: i64) -> Result<()> {
        params.check(self.shape.to.fingerprint)?;
        check_end(ct.ident(), self.shape.from)?;
        ensure(ct.limbs() == 1, || error::limbs(ct.limbs(), "1".into()))?;
        let q = params.q().modulus(0);
        if (factor as f64).abs().log2() + (q.value() as f64).log2() - 1.0 >= MAX_LOG_COEFFICIENT {
            return Err(error::parameter(
                "factor",
                factor.to_string(),
                format!("a factor that keeps q_0 / 2 below 2^{MAX_LOG_COEFFICIENT}"),
            ));
        }
        Ok(())
    }
}

/// The masks: mask `c` of row `i` is stream `i * rank + c` of the seed.
fn masks(params: &Params, limbs: usize, seed: &Seed, rows: usize) -> Vec<Vec<Poly<Ntt>>> {
    let (ring, rank) = (params.gadget().ring(limbs), params.rank());
    let stream = |i: usize, c: usize| uniform_from_seed(ring, seed, (i * rank + c) as u64);
    (0..rows).map(|i| (0..rank).map(|c| stream(i, c)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;

    use super::*;
    use crate::error::refusal;
    use crate::keyswitch::KeySwitchKey;
    use crate::noise::{self, measured};
    use crate::params::ParamsSpec;
    use crate::security::SecretKind;
    use crate::testing::{assert_close, message, params, rng, spec};

    #[test]
    fn encapsulation_raises_moduli_and_keeps_the_phase() {
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
            let key = ModRaiseKey::generate(&sparse, &secret, limbs, &mut rng(5)).unwrap();
            let raised = key.mod_raise(&params, &ct, factor).unwrap();
            assert_eq!((raised.limbs(), raised.ident().key), (limbs, secret.id()));
            let ring = raised.ring(&params);
            let phase = ring.inverse((*raised.phase(&secret).unwrap()).clone());
            let phase = measured::centered_f64(&ring, &phase);
            // The same phase modulo q_0, and few multiples of it.
            let low_ring = params.q().at_limbs(1);
            let wanted = low_ring.inverse((*ct.phase(&sparse).unwrap()).clone());
            let wanted = measured::centered_f64(&low_ring, &wanted);
            let factor = factor as f64;
            let errors: Vec<f64> = phase
                .iter()
                .zip(&wanted)
                .map(|(x, y)| {
                    let multiples = ((x / factor - y) / q0).round();
                    assert!(multiples.abs() < 10.0, "{multiples} multiples of q_0");
                    x - factor * (y + multiples * q0)
                })
                .collect();
            let variance = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            assert_close(variance, noise::mod_raise(&params, 1, factor as i64), 1.35);
        }
    }

    #[test]
    fn misfits_are_refused() {
        let params = params(64, 1, 3, 1);
        let (one, two) = (&mut rng(1), &mut rng(2));
        let secret = SecretKey::generate(&params, one).unwrap();
        let other = SecretKey::generate(&params, two).unwrap();
        let key = ModRaiseKey::generate(&other, &secret, 3, one).unwrap();
        let ct = |secret: &SecretKey, limbs| {
            secret.encrypt(&message(&params, limbs, 1), &mut rng(1)).unwrap()
        };
        let refused = key.mod_raise(&params, &ct(&secret, 1), 1);
        assert!(
            refusal(&refused)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
        let refused = key.mod_raise(&params, &ct(&other, 2), 1);
        assert!(refusal(&refused).is(&ErrorKind::Level, "2 limbs where"));
        let refused = key.mod_raise(&params, &ct(&other, 1), 1 << 20);
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter factor ="));
        assert!(ModRaiseKey::generate(&other, &secret, 4, one).is_err());
        let foreign = crate::testing::params(128, 1, 3, 1);
        let foreign = SecretKey::generate(&foreign, two).unwrap();
        let refused = ModRaiseKey::generate(&foreign, &secret, 1, one);
        assert!(refusal(&refused).is(&ErrorKind::Shape, "a polynomial of degree bound"));
    }
}
