//! Automorphisms `X -> X^g` of NTRU ciphertexts, with the key switch from `f(X^g)` back to `f`.

use bellerophon_ring::{Automorphism, Coeff, Poly, Result};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::{NtruContext, NtruGadgetCiphertext, NtruSecret};

/// NTRU' of `f(X^g) / f`. The polynomial `c(X^g)` has the phase `u(X^g)` under `f(X^g)`, and its
/// external product with this key has the same phase under `f`.
#[derive(Debug, Clone)]
pub(crate) struct NtruAutomorphismKey {
    map: Automorphism,
    key: NtruGadgetCiphertext,
}

impl PartialEq for NtruAutomorphismKey {
    fn eq(&self, other: &Self) -> bool {
        self.exponent() == other.exponent() && self.key == other.key
    }
}

impl Eq for NtruAutomorphismKey {}

impl NtruAutomorphismKey {
    /// The key of `X -> X^exponent`, with the exponent modulo `2N`.
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        exponent: usize,
        rng: &mut R,
    ) -> Result<Self> {
        secret.check(context)?;
        // The message f(X^g) / f, computed in NTT form.
        let map = context.ring().automorphism(exponent)?;
        let mut message = Zeroizing::new(context.ring().apply_ntt(secret.values(), &map));
        context.ring().mul_assign(&mut message, secret.inverse());
        let key = NtruGadgetCiphertext::of_values(context, secret, &message, rng);
        Ok(Self { map, key })
    }

    /// The key of an odd exponent with these rows. The caller has checked that they belong to the
    /// context.
    pub(crate) fn of_rows(context: &NtruContext, exponent: usize, rows: &[u64]) -> Result<Self> {
        let map = context.ring().automorphism(exponent)?;
        Ok(Self { map, key: NtruGadgetCiphertext::of_rows(context, rows) })
    }

    /// The exponent `g` in `[1, 2N)`.
    pub(crate) fn exponent(&self) -> usize {
        self.map.exponent()
    }

    /// The rows of the key, one after the other.
    pub(crate) fn rows(&self) -> &[u64] {
        self.key.rows()
    }

    /// Replaces `x` by a ciphertext of phase `phase(x)(X^g)`, plus the noise of an external
    /// product. The scratch space `digits` is provided by the caller.
    pub(crate) fn apply_in_place(
        &self,
        context: &NtruContext,
        x: &mut Poly<Coeff>,
        digits: &mut [u64],
    ) {
        // Step 1: c(X^g), under f(X^g). Step 2: the key switch to f.
        *x = context.ring().apply_coeff(x, &self.map);
        context.multiply(x.limb_mut(0), self.key.rows(), digits);
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::aligned::AlignedVec;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::engine::NtruRotation;
    use crate::noise;
    use crate::ntru::testing::{encrypt, phases};
    use crate::params::Params;
    use crate::params::tests::{insecure_ntru, insecure_ntru_that_drops};

    /// Every automorphism of degree 64 against its definition, with the noise bounded from both
    /// sides.
    #[test]
    fn images_are_those_of_the_phase() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for spec in [insecure_ntru, insecure_ntru_that_drops] {
            let params = Params::new(spec(8, 64, NtruRotation::Ternary)).unwrap();
            let context = params.ntru().unwrap();
            let mut squares = 0.0;
            for exponent in (1..128).step_by(2) {
                // The dropped bits are multiplied by the secret, so each run has a fresh one.
                let secret = NtruSecret::generate(context, &mut rng).unwrap();
                let message: Vec<i64> =
                    (0..64).map(|_| rng.random_range(-1i64 << 40..1 << 40)).collect();
                let x = encrypt(context, &secret, &message, &mut rng);
                let before = phases(context, &secret, &x);
                let key = NtruAutomorphismKey::generate(context, &secret, exponent, &mut rng);
                let key = key.unwrap();
                assert_eq!(key.exponent(), exponent);
                let (mut y, mut digits) = (x, AlignedVec::zeroed(context.digit_words()));
                key.apply_in_place(context, &mut y, &mut digits);
                let mut expected = [0i64; 64];
                for (i, &phase) in before.iter().enumerate() {
                    let place = i * exponent % 128;
                    expected[place % 64] = if place < 64 { phase } else { -phase };
                }
                let got = phases(context, &secret, &y);
                let errors = got.iter().zip(expected);
                squares += errors.map(|(got, e)| ((got - e) as f64).powi(2)).sum::<f64>();
            }
            let ratio = squares / (64.0 * 64.0) / noise::ntru_product(context);
            assert!((0.88..1.13).contains(&ratio), "{ratio}");
            let secret = NtruSecret::generate(context, &mut rng).unwrap();
            assert!(NtruAutomorphismKey::generate(context, &secret, 4, &mut rng).is_err());
        }
    }
}
