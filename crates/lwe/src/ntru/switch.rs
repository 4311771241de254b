//! The key switch from NTRU to the ring secret. An NTRU ciphertext `c` is the ring ciphertext
//! `(0, c)` under `f`, and one key switch modulo `q0` converts it to a ciphertext under `z`.

use bellerophon_ring::{Coeff, Ntt, Poly, Result, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::{NtruContext, NtruSecret};
use crate::external_product::Accumulator;
use crate::secret::SecretKey;

/// The compressed ring-switching key: ring encryptions of `B_t f` under `z` modulo `q0`, one for
/// each digit, as one seed and the bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeededRingSwitchKey {
    pub(crate) seed: sample::Seed,
    pub(crate) bodies: Vec<Poly<Ntt>>,
}

impl SeededRingSwitchKey {
    /// Encrypts the NTRU secret `source` under the ring secret `target`.
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        sigma: f64,
        source: &NtruSecret,
        target: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        target.check(context.degree())?;
        let ring = context.table_ring();
        // Step 1: both secrets in NTT form modulo q0.
        let noise = sample::Gaussian::new(sigma)?;
        let seed = sample::Seed::random(rng);
        let forward = |x: &[i64]| Zeroizing::new(ring.forward(ring.from_signed(x)));
        let (message, secret) = (forward(source.coefficients()), forward(target.coefficients()));
        // Step 2: for each digit t, body = e + B_t f - mask z.
        let factors = context.switch_gadget().factors();
        let bodies = factors.into_iter().enumerate().map(|(t, factor)| {
            let mut body = ring.forward(ring.from_signed(&noise.sample(context.degree(), rng)));
            let mut scaled = message.clone();
            ring.mul_residues_assign(&mut scaled, &[factor]);
            ring.add_assign(&mut body, &scaled);
            // The mask is public, so the product reveals the secret: it is erased on drop.
            let mask = sample::uniform_from_seed(ring, &seed, t as u64);
            let mut masked = Zeroizing::new(mask);
            ring.mul_assign(&mut masked, &secret);
            ring.sub_assign(&mut body, &masked);
            body
        });
        let bodies = bodies.collect();
        Ok(Self { seed, bodies })
    }

    /// Expands the masks from the seed.
    pub(crate) fn expand(&self, context: &NtruContext) -> RingSwitchKey {
        let mask = |t| sample::uniform_from_seed(context.table_ring(), &self.seed, t as u64);
        RingSwitchKey {
            seed: self.seed,
            bodies: self.bodies.clone(),
            masks: (0..self.bodies.len()).map(mask).collect(),
        }
    }

    /// Serialized bytes of a key: the seed, and the bodies packed to the bits of `q0`.
    pub(crate) fn wire_bytes(context: &NtruContext) -> usize {
        let gadget = context.switch_gadget();
        let bits = gadget.modulus().bits() as usize;
        32 + (gadget.digits() * context.degree() * bits).div_ceil(8)
    }
}

/// An expanded ring-switching key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingSwitchKey {
    /// The seed of the masks.
    seed: sample::Seed,
    bodies: Vec<Poly<Ntt>>,
    masks: Vec<Poly<Ntt>>,
}

impl RingSwitchKey {
    /// The compressed key.
    pub(crate) fn compress(&self) -> SeededRingSwitchKey {
        SeededRingSwitchKey { seed: self.seed, bodies: self.bodies.clone() }
    }

    /// Words in memory.
    pub(crate) fn words(&self) -> usize {
        self.bodies.iter().chain(&self.masks).map(Poly::degree).sum()
    }

    /// Converts an NTRU ciphertext modulo `Q` under `f` to a ring ciphertext modulo `q0` under `z`.
    pub(crate) fn apply(&self, context: &NtruContext, c: Poly<Coeff>) -> Accumulator {
        let ring = context.table_ring();
        let (table, gadget, n) = (ring.table(0), context.switch_gadget(), ring.degree());
        // Step 1: modulus switch from Q to q0.
        let c = context.scaled_to_table(c);
        // Step 2: gadget decomposition in NTT form.
        let mut digits = vec![0; gadget.digits() * n];
        table.signed_digits(gadget, c.limb(0), &mut digits);
        digits.chunks_exact_mut(n).for_each(|digit| table.forward(digit));
        // Step 3: inner product of the digits with bodies and masks.
        let [b, a] = [&self.bodies, &self.masks].map(|key| {
            let rows = key.iter().map(|row| row.limb(0));
            let pairs: Vec<_> = digits.chunks_exact(n).zip(rows).collect();
            let mut out = vec![0; n];
            table.sum_of_products(&mut out, &pairs);
            table.inverse(&mut out);
            out
        });
        Accumulator::new(*ring.modulus(0), &b, &a)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::engine::{Engine, NtruRotation};
    use crate::external_product::tests::phases;
    use crate::noise;
    use crate::ntru::testing;
    use crate::params::Params;
    use crate::params::tests::insecure_ntru;

    #[test]
    fn phases_scale_and_change_their_secret() {
        // The second digits drop 30 bits, which is all of their noise.
        for base_log in [12, 5] {
            changes_its_secret(base_log);
        }
    }

    fn changes_its_secret(switch_base_log: u32) {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut spec = insecure_ntru(8, 256, NtruRotation::Ternary);
        if let Engine::Ntru(ntru) = &mut spec.engine {
            ntru.switch_base_log = switch_base_log;
        }
        let params = Params::new(spec).unwrap();
        let context = params.ntru().unwrap();
        let secret = NtruSecret::generate(context, &mut rng).unwrap();
        let target = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let seeded =
            SeededRingSwitchKey::generate(context, 3.2, &secret, &target, &mut rng).unwrap();
        let key = seeded.expand(context);
        let (q0, q) = (params.ring_modulus(), context.ring().modulus(0));
        assert_eq!(key.words(), 2 * context.switch_gadget().digits() * 256);
        let mut squares = 0.0;
        for _ in 0..40 {
            let message: Vec<i64> =
                (0..256).map(|_| rng.random_range(-1i64 << 42..1 << 42)).collect();
            let c = testing::encrypt(context, &secret, &message, &mut rng);
            let before = testing::phases(context, &secret, &c);
            let after = phases(&key.apply(context, c), &target);
            for (before, after) in before.iter().zip(after) {
                let exact = *before as f64 * q0.value() as f64 / q.value() as f64;
                squares += (after as f64 - exact).powi(2);
            }
        }
        let ratio = squares / (40.0 * 256.0) / noise::ntru_ring_switch(&params, context);
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
        let short = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        assert!(SeededRingSwitchKey::generate(context, 3.2, &secret, &short, &mut rng).is_err());
    }
}
