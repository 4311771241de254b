//! The external product of an RGSW ciphertext and an accumulator.
//!
//! The gadget decomposition of a ciphertext is `b = sum_t b_t g_t`, `a = sum_t a_t g_t`. The
//! external product is the sum of digits times rows, and its phase is `m (b + a z)` plus noise:
//!
//! ```text
//! Step 1:  decompose           the digits of b and a, modulo each prime in NTT form
//! Step 2:  sum_t digit_t row_t (of a blind rotation: `MonomialTable::ternary_product`)
//! Step 3:  finish              mod-down, if the gadget has a special modulus
//! ```
//!
//! Accumulators are modulo `q0` and in coefficient form, as the gadget decomposition needs them.

use bellerophon_ring::{Modulus, Result, aligned::AlignedVec};

use crate::ciphertext::Ciphertext;
use crate::rgsw::{Gadget, RgswContext};

/// A ring ciphertext `(b, a)` modulo `q0` in coefficient form: the accumulator of a blind rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accumulator {
    modulus: Modulus,
    words: AlignedVec,
}

impl Accumulator {
    /// The ciphertext `(b, a)` from residues in `[0, q)`.
    pub(crate) fn new(modulus: Modulus, b: &[u64], a: &[u64]) -> Self {
        let mut words = AlignedVec::zeroed(b.len() + a.len());
        words[..b.len()].copy_from_slice(b);
        words[b.len()..].copy_from_slice(a);
        Self { modulus, words }
    }

    /// The degree of the ring.
    pub(crate) fn degree(&self) -> usize {
        self.words.len() / 2
    }

    /// The coefficients of `b`.
    pub(crate) fn b(&self) -> &[u64] {
        &self.words[..self.degree()]
    }

    /// The coefficients of `a`.
    pub(crate) fn a(&self) -> &[u64] {
        &self.words[self.degree()..]
    }

    /// The coefficients of `b`, then those of `a`.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Sample extraction: coefficient `k` as an LWE ciphertext under the coefficients of the ring
    /// secret.
    pub(crate) fn sample_extract(&self, k: usize) -> Result<Ciphertext> {
        crate::sample_extraction::sample_extract(&self.modulus, self.b(), self.a(), k)
    }
}

impl RgswContext {
    /// Words of the digits of an accumulator modulo one prime: `rows x N`.
    pub(crate) fn digit_words(&self) -> usize {
        self.rows() * self.ring().degree()
    }

    /// Words of a product: `limbs x 2 x N`.
    pub(crate) fn product_words(&self) -> usize {
        self.ring().limbs() * 2 * self.ring().degree()
    }

    /// Writes the digits of an accumulator modulo the `i`-th prime in NTT form, `rows x N`.
    pub(crate) fn decompose(&self, i: usize, accumulator: &[u64], digits: &mut [u64]) {
        let n = self.ring().degree();
        let table = self.ring().table(i);
        match &self.gadget {
            // With a special modulus the accumulator is its own digit: unchanged modulo q0, and
            // lifted from its centred residues modulo q'.
            Gadget::SpecialModulus { .. } if i == 0 => digits.copy_from_slice(accumulator),
            Gadget::SpecialModulus { .. } => {
                let components = accumulator.chunks_exact(n).zip(digits.chunks_exact_mut(n));
                components.for_each(|(x, out)| {
                    table.reduce_centered(out, x, self.ring().modulus(0));
                });
            }
            Gadget::Digits(gadget) => {
                let rows = digits.chunks_exact_mut(gadget.digits() * n);
                accumulator.chunks_exact(n).zip(rows).for_each(|(x, rows)| {
                    table.signed_digits(gadget, x, rows);
                });
            }
        }
        digits.chunks_exact_mut(n).for_each(|row| table.forward(row));
    }

    /// Adds a product (`limbs x 2 x N`, coefficients) to an accumulator. With a special modulus the
    /// product is divided by it first (mod-down).
    pub(crate) fn finish(&self, product: &[u64], accumulator: &mut [u64]) {
        let n = self.ring().degree();
        let q0 = self.ring().table(0);
        let components = accumulator.chunks_exact_mut(n);
        match &self.gadget {
            Gadget::SpecialModulus { inverse } => {
                // (low - high) / q' modulo q0, where high is the centred residue modulo q'.
                let special = self.ring().modulus(1);
                let (first, second) = product.split_at(2 * n);
                let limbs = first.chunks_exact(n).zip(second.chunks_exact(n));
                for (x, (low, high)) in components.zip(limbs) {
                    q0.add_scaled_difference(x, low, high, special, *inverse);
                }
            }
            Gadget::Digits(_) => {
                components.zip(product.chunks_exact(n)).for_each(|(x, y)| q0.add_assign(x, y));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bellerophon_ring::sample;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::encrypt::phase;
    use crate::params::Params;
    use crate::params::tests::insecure;
    use crate::rgsw::RowEncryptor;
    use crate::secret::SecretKey;

    /// The phases of all coefficients.
    pub(crate) fn phases(x: &Accumulator, secret: &SecretKey) -> Vec<i64> {
        (0..x.degree()).map(|k| phase(&x.sample_extract(k).unwrap(), secret).unwrap()).collect()
    }

    /// The external product of `x` and a fresh RGSW encryption of `message`.
    fn external_product(
        params: &Params,
        secret: &SecretKey,
        message: &[i64],
        x: &Accumulator,
        rng: &mut ChaCha20Rng,
    ) -> Accumulator {
        // Step 1: the rows of the encryption, bodies and masks.
        let context = params.rgsw().unwrap();
        let (ring, n) = (context.ring(), x.degree());
        let encryptor = RowEncryptor::new(context, params.spec().ring_sigma, secret).unwrap();
        let message = ring.forward(ring.from_signed(message));
        let masks: Vec<_> = (0..context.rows()).map(|_| sample::uniform(ring, rng)).collect();
        let rows = masks.iter().enumerate();
        let bodies: Vec<_> =
            rows.map(|(row, mask)| encryptor.body(row, mask, &message, rng)).collect();
        // Step 2: for each prime, gadget decomposition and inner product with bodies and masks.
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let mut product = AlignedVec::zeroed(context.product_words());
        for (i, product) in product.chunks_exact_mut(2 * n).enumerate() {
            let table = ring.table(i);
            context.decompose(i, x.words(), &mut digits);
            for (out, key) in product.chunks_exact_mut(n).zip([&bodies, &masks]) {
                let limbs = key.iter().map(|row| row.limb(i));
                let pairs: Vec<_> = digits.chunks_exact(n).zip(limbs).collect();
                table.sum_of_products(out, &pairs);
                table.inverse(out);
            }
        }
        // Step 3: mod-down, if the gadget has a special modulus.
        let mut out = Accumulator::new(x.modulus, &vec![0; n], &vec![0; n]);
        context.finish(&product, out.words_mut());
        out
    }

    #[test]
    fn external_products_multiply_phases() {
        for digits in [false, true] {
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            let params = Params::new(insecure(8, 64, digits)).unwrap();
            let secret = SecretKey::generate_ring(&params, &mut rng).unwrap();
            let q0 = params.ring_modulus();
            let mut uniform =
                || -> Vec<u64> { (0..64).map(|_| rng.random_range(0..q0.value())).collect() };
            let x = Accumulator::new(*q0, &uniform(), &uniform());
            let before = phases(&x, &secret);
            for k in [0, 1, 63] {
                let mut message = vec![0; 64];
                message[k] = -1;
                let y = external_product(&params, &secret, &message, &x, &mut rng);
                for (i, got) in phases(&y, &secret).into_iter().enumerate() {
                    let source = (i + 64 - k) % 64;
                    let expected = if i >= k { -before[source] } else { before[source] };
                    let error = q0.center(q0.from_i64(got - expected));
                    let bound = if digits { 1 << 28 } else { 1 << 9 };
                    assert!(error.abs() < bound, "{digits} {k} {i}: {error}");
                }
            }
        }
    }
}
