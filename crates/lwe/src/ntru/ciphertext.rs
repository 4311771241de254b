//! NTRU' ciphertexts, and the encryption of the rows of keys.

use bellerophon_ring::{Ntt, Poly, aligned::AlignedVec, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::{NtruContext, NtruSecret};

/// `g_t / f + B_t v` for each digit `t`: an NTRU' encryption of a small `v`, in NTT form.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NtruGadgetCiphertext {
    /// One row after the other.
    rows: AlignedVec,
}

impl NtruGadgetCiphertext {
    /// Encrypts a polynomial modulo `Q` in NTT form. It need not be small.
    pub(crate) fn of_values<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Self {
        let mut rows = AlignedVec::zeroed(context.digit_words());
        for (t, out) in rows.chunks_exact_mut(context.degree()).enumerate() {
            out.copy_from_slice(row(context, secret, t, message, rng).limb(0));
        }
        Self { rows }
    }

    /// The ciphertext with these rows. The caller has checked that they belong to the context.
    pub(crate) fn of_rows(context: &NtruContext, words: &[u64]) -> Self {
        let mut rows = AlignedVec::zeroed(context.digit_words());
        rows.copy_from_slice(words);
        Self { rows }
    }

    /// The rows, one after the other.
    pub(crate) fn rows(&self) -> &[u64] {
        &self.rows
    }
}

/// Size only.
impl std::fmt::Debug for NtruGadgetCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NtruGadgetCiphertext of {} words", self.rows.len())
    }
}

/// Row `t` of an NTRU' encryption: `g / f + B_t v` with a fresh ternary `g`.
pub(crate) fn row<R: CryptoRng + ?Sized>(
    context: &NtruContext,
    secret: &NtruSecret,
    t: usize,
    message: &Poly<Ntt>,
    rng: &mut R,
) -> Poly<Ntt> {
    let ring = context.ring();
    // B_t v, then g / f, and their sum.
    let mut scaled = Zeroizing::new(message.clone());
    ring.mul_residues_assign(&mut scaled, &[context.gadget().factors()[t]]);
    let mut row = context.forward(&sample::ternary(context.degree(), rng));
    ring.mul_assign(&mut row, secret.inverse());
    ring.add_assign(&mut row, &scaled);
    row
}

/// The coefficients of `X^k` for a secret `k` of any size. The running time depends on the degree
/// only.
pub(crate) fn secret_monomial(degree: usize, k: i64) -> Zeroizing<Vec<i64>> {
    // X^k = X^(k mod 2N), and X^(j + N) = -X^j. `is(j)` is 1 for the exponent and 0 elsewhere.
    let exponent = k as u64 & (2 * degree as u64 - 1);
    let is = |j: usize| ((exponent ^ j as u64).wrapping_sub(1) >> 63) as i64;
    Zeroizing::new((0..degree).map(|j| is(j) - is(j + degree)).collect())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::engine::NtruRotation;
    use crate::noise;
    use crate::ntru::testing::{encrypt, phases};
    use crate::params::Params;
    use crate::params::tests::{insecure_ntru, insecure_ntru_that_drops};

    #[test]
    fn phases_are_message_and_ternary_noise() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(insecure_ntru(8, 64, NtruRotation::Ternary)).unwrap();
        let context = params.ntru().unwrap();
        let secret = NtruSecret::generate(context, &mut rng).unwrap();
        let message: Vec<i64> = (0..64).map(|i| (i - 32) << 33).collect();
        let c = encrypt(context, &secret, &message, &mut rng);
        let found = phases(context, &secret, &c);
        let noise: Vec<i64> = found.iter().zip(&message).map(|(p, m)| p - m).collect();
        assert!(noise.iter().all(|e| (-1..=1).contains(e)));
        assert!(noise.iter().any(|&e| e != 0));
        // Messages are modulo Q, including those near the limit of a word.
        let message: Vec<i64> = (0..64).map(|i| [i64::MAX, i64::MIN][i % 2]).collect();
        let c = encrypt(context, &secret, &message, &mut rng);
        let q = context.ring().modulus(0);
        for (&p, m) in phases(context, &secret, &c).iter().zip(message) {
            let error = q.center(q.sub(q.from_i64(p), q.from_i64(m)));
            assert!((-1..=1).contains(&error), "{error}");
        }
    }

    /// Every monomial of both signs against the definition, with the noise bounded from both sides.
    #[test]
    fn external_products_multiply_phases() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for spec in [insecure_ntru, insecure_ntru_that_drops] {
            let params = Params::new(spec(8, 64, NtruRotation::Ternary)).unwrap();
            let context = params.ntru().unwrap();
            let q = context.ring().modulus(0);
            let mut squares = 0.0;
            for k in 0..128 {
                // The dropped bits are multiplied by the secret, so each run has a fresh one.
                let secret = NtruSecret::generate(context, &mut rng).unwrap();
                let message: Vec<i64> =
                    (0..64).map(|_| rng.random_range(-1i64 << 40..1 << 40)).collect();
                let x = encrypt(context, &secret, &message, &mut rng);
                let before = phases(context, &secret, &x);
                let factor = secret_monomial(64, k);
                let factor = context.forward(&factor);
                let key = NtruGadgetCiphertext::of_values(context, &secret, &factor, &mut rng);
                let (mut y, mut digits) = (x, AlignedVec::zeroed(context.digit_words()));
                context.multiply(y.limb_mut(0), key.rows(), &mut digits);
                for (i, &got) in phases(context, &secret, &y).iter().enumerate() {
                    let source = (i as i64 - k).rem_euclid(128);
                    let sign = if source < 64 { 1 } else { -1 };
                    let error = got - sign * before[source as usize % 64];
                    squares += (q.center(q.from_i64(error)) as f64).powi(2);
                }
            }
            let ratio = squares / (128.0 * 64.0) / noise::ntru_product(context);
            assert!((0.9..1.1).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn secret_monomials_are_powers_of_x() {
        for k in -300i64..300 {
            let place = k.rem_euclid(32) as usize;
            let mut expected = vec![0; 16];
            expected[place % 16] = if place < 16 { 1 } else { -1 };
            assert_eq!(*secret_monomial(16, k), expected, "{k}");
        }
    }
}
