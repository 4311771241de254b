//! NTRU and NTRU' ciphertexts, and the encryption of the rows of keys.

use bellerophon_ring::{Coeff, DigitGadget, Modulus, Ntt, Poly, aligned::AlignedVec, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::{NtruContext, NtruSecret};
use crate::Result;

/// `c = (g + u) / f` modulo `Q`, in coefficient form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtruCiphertext {
    modulus: Modulus,
    poly: Poly<Coeff>,
}

impl NtruCiphertext {
    /// Encrypts the polynomial with the given coefficients modulo `Q`, which are already scaled.
    ///
    /// # Errors
    /// If there is not one coefficient for each power of `X`, or the secret has another degree or
    /// modulus.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        message: &[i64],
        rng: &mut R,
    ) -> Result<Self> {
        secret.check_for("NTRU encryption", context, message)?;
        // c = (g + u) / f with a fresh ternary g.
        let ring = context.ring();
        let noise = Zeroizing::new(ring.from_signed(&sample::ternary(context.degree(), rng)));
        let mut sum = ring.from_signed(message);
        ring.add_assign(&mut sum, &noise);
        let mut c = ring.forward(sum);
        ring.mul_assign(&mut c, secret.inverse());
        Ok(Self { modulus: *ring.modulus(0), poly: ring.inverse(c) })
    }

    /// Fails with the operation's name unless the ciphertext has the degree and modulus of the
    /// context.
    pub(crate) fn check(&self, op: &'static str, context: &NtruContext) -> Result<()> {
        context.check(op, self.poly.degree(), &self.modulus)
    }

    /// A ciphertext with the polynomial that `f` computes from this one's.
    pub(crate) fn map(&self, f: impl FnOnce(&mut Poly<Coeff>)) -> Self {
        let mut poly = self.poly.clone();
        f(&mut poly);
        Self { modulus: self.modulus, poly }
    }

    /// The polynomial `c`.
    pub fn poly(&self) -> &Poly<Coeff> {
        &self.poly
    }
}

/// `g_t / f + B_t v` for each digit `t`: an NTRU' encryption of a small `v`, in NTT form.
#[derive(Clone, PartialEq, Eq)]
pub struct NtruGadgetCiphertext {
    gadget: DigitGadget,
    /// One row after the other.
    rows: AlignedVec,
}

impl NtruGadgetCiphertext {
    /// Encrypts the polynomial with the given coefficients.
    ///
    /// # Errors
    /// If there is not one coefficient for each power of `X`, or the secret has another degree or
    /// modulus.
    pub fn encrypt<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        secret: &NtruSecret,
        message: &[i64],
        rng: &mut R,
    ) -> Result<Self> {
        secret.check_for("NTRU' encryption", context, message)?;
        let message = Zeroizing::new(context.forward(message));
        Ok(Self::of_values(context, secret, &message, rng))
    }

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
        Self { gadget: *context.gadget(), rows }
    }

    /// The ciphertext with these rows. The caller has checked that they belong to the context.
    pub(crate) fn of_rows(context: &NtruContext, words: &[u64]) -> Self {
        let mut rows = AlignedVec::zeroed(context.digit_words());
        rows.copy_from_slice(words);
        Self { gadget: *context.gadget(), rows }
    }

    /// Fails with the operation's name unless the key has the degree, modulus and digits of the
    /// context.
    pub(crate) fn check(&self, op: &'static str, context: &NtruContext) -> Result<()> {
        context.check_key(op, self.rows.len() / self.gadget.digits(), &self.gadget)
    }

    /// The rows, one after the other.
    pub(crate) fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// The external product: a ciphertext of phase `v phase(x)` plus noise
    /// ([`noise::ntru_product`](crate::noise::ntru_product)).
    ///
    /// # Errors
    /// If ciphertext or key have another degree or modulus, or the key has other digits.
    pub fn product(&self, context: &NtruContext, x: &NtruCiphertext) -> Result<NtruCiphertext> {
        let op = "NTRU external product";
        x.check(op, context)?;
        self.check(op, context)?;
        let mut digits = AlignedVec::zeroed(context.digit_words());
        Ok(x.map(|x| context.multiply(x.limb_mut(0), &self.rows, &mut digits)))
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
    use super::*;
    use crate::{
        NtruRotation, Params, noise,
        params::tests::{insecure_ntru, insecure_ntru_that_drops},
    };
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn phases_are_message_and_ternary_noise() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(insecure_ntru(8, 64, NtruRotation::Ternary)).unwrap();
        let context = params.ntru().unwrap();
        let secret = NtruSecret::generate(context, &mut rng).unwrap();
        let message: Vec<i64> = (0..64).map(|i| (i - 32) << 33).collect();
        let c = NtruCiphertext::encrypt(context, &secret, &message, &mut rng).unwrap();
        let phases = secret.phases(context, &c).unwrap();
        let noise: Vec<i64> = phases.iter().zip(&message).map(|(p, m)| p - m).collect();
        assert!(noise.iter().all(|e| (-1..=1).contains(e)));
        assert!(noise.iter().any(|&e| e != 0));
        // Messages are modulo Q, including those near the limit of a word.
        let message: Vec<i64> = (0..64).map(|i| [i64::MAX, i64::MIN][i % 2]).collect();
        let c = NtruCiphertext::encrypt(context, &secret, &message, &mut rng).unwrap();
        let q = context.ring().modulus(0);
        for (&p, m) in secret.phases(context, &c).unwrap().iter().zip(message) {
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
                let x = NtruCiphertext::encrypt(context, &secret, &message, &mut rng).unwrap();
                let before = secret.phases(context, &x).unwrap();
                let factor = secret_monomial(64, k);
                let key = NtruGadgetCiphertext::encrypt(context, &secret, &factor, &mut rng);
                let y = key.unwrap().product(context, &x).unwrap();
                for (i, &got) in secret.phases(context, &y).unwrap().iter().enumerate() {
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
