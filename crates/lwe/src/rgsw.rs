//! RGSW ciphertexts and the external product, with a special modulus or with digits.
//!
//! An RGSW encryption of a small `m` under `z` has `2 d` rows, `d` the digits of a component. Row
//! `t` of component 0 is a ring encryption of `g_t m`, row `t` of component 1 one of `g_t m z`.
//! The gadget decomposition of a ciphertext is `b = sum_t b_t g_t`, `a = sum_t a_t g_t`. The
//! external product is the sum of digits times rows, and its phase is `m (b + a z)` plus noise.
//!
//! Accumulators are modulo `q0` and in coefficient form, as the gadget decomposition needs them.

use bellerophon_ring::{
    DigitGadget, Modulus, MonomialTable, Ntt, Poly, Result, Ring, aligned::AlignedVec, sample,
};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::engine::RgswGadget;
use crate::error;
use crate::secret::SecretKey;

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

/// The rings, digits and constants of the external product of one parameter set.
#[derive(Debug)]
pub struct RgswContext {
    ring: Ring,
    monomials: Vec<MonomialTable>,
    gadget: Gadget,
}

#[derive(Debug)]
enum Gadget {
    /// `q'^-1` modulo `q0`.
    SpecialModulus {
        inverse: u64,
    },
    Digits(DigitGadget),
}

impl RgswContext {
    pub(crate) fn new(degree: usize, q0: Modulus, gadget: RgswGadget) -> Result<Self> {
        let (ring, gadget) = match gadget {
            // The rows are modulo q0 q', and mod-down divides products by q'.
            RgswGadget::SpecialModulus { modulus } => {
                let special = Modulus::new(modulus)?;
                if modulus < q0.value() {
                    // The noise of a step is q0 / q' times the noise of the key.
                    return Err(error::parameter(
                        "gadget.modulus",
                        modulus.to_string(),
                        format!("a special prime above q0 = {}", q0.value()),
                    ));
                }
                let ring = Ring::new(degree, &[q0, special])?;
                (ring, Gadget::SpecialModulus { inverse: q0.inv(q0.reduce(modulus))? })
            }
            // The rows are modulo q0.
            RgswGadget::Digits { base_log, count } => {
                if count > 2 {
                    return Err(error::parameter(
                        "gadget.count",
                        count.to_string(),
                        "1 or 2 digits: with more a special modulus is faster".into(),
                    ));
                }
                let digits = DigitGadget::new(q0, base_log, count)?;
                (Ring::new(degree, &[q0])?, Gadget::Digits(digits))
            }
        };
        let monomials = (0..ring.limbs()).map(|i| MonomialTable::new(ring.table(i))).collect();
        Ok(Self { ring, monomials, gadget })
    }

    /// The ring of the rows: modulo `q0` or `q0 q'`.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The monomials `X^k` in NTT form, one table for each prime of the ring.
    pub(crate) fn monomials(&self) -> &[MonomialTable] {
        &self.monomials
    }

    /// The number of digits of a component.
    pub fn digits(&self) -> usize {
        match &self.gadget {
            Gadget::SpecialModulus { .. } => 1,
            Gadget::Digits(gadget) => gadget.digits(),
        }
    }

    /// The digit gadget, unless the gadget is a special modulus.
    pub(crate) fn digit_gadget(&self) -> Option<&DigitGadget> {
        match &self.gadget {
            Gadget::SpecialModulus { .. } => None,
            Gadget::Digits(gadget) => Some(gadget),
        }
    }

    /// The number of rows of an RGSW ciphertext: twice [`digits`](Self::digits), those of `b`
    /// first.
    pub(crate) fn rows(&self) -> usize {
        2 * self.digits()
    }

    /// Words of the digits of an accumulator modulo one prime: `rows x N`.
    pub(crate) fn digit_words(&self) -> usize {
        self.rows() * self.ring.degree()
    }

    /// Words of a product: `limbs x 2 x N`.
    pub(crate) fn product_words(&self) -> usize {
        self.ring.limbs() * 2 * self.ring.degree()
    }

    /// The gadget constant `g_t` modulo every prime of the ring.
    fn factor(&self, t: usize) -> Vec<u64> {
        match &self.gadget {
            // g_0 = q', which is 0 modulo q'.
            Gadget::SpecialModulus { .. } => {
                vec![self.ring.modulus(0).reduce(self.ring.modulus(1).value()), 0]
            }
            Gadget::Digits(gadget) => vec![gadget.factors()[t]],
        }
    }

    /// Writes the digits of an accumulator modulo the `i`-th prime in NTT form, `rows x N`.
    pub(crate) fn decompose(&self, i: usize, accumulator: &[u64], digits: &mut [u64]) {
        let n = self.ring.degree();
        let table = self.ring.table(i);
        match &self.gadget {
            // With a special modulus the accumulator is its own digit: unchanged modulo q0, and
            // lifted from its centred residues modulo q'.
            Gadget::SpecialModulus { .. } if i == 0 => digits.copy_from_slice(accumulator),
            Gadget::SpecialModulus { .. } => {
                let components = accumulator.chunks_exact(n).zip(digits.chunks_exact_mut(n));
                components.for_each(|(x, out)| {
                    table.reduce_centered(out, x, self.ring.modulus(0));
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
        let n = self.ring.degree();
        let q0 = self.ring.table(0);
        let components = accumulator.chunks_exact_mut(n);
        match &self.gadget {
            Gadget::SpecialModulus { inverse } => {
                // (low - high) / q' modulo q0, where high is the centred residue modulo q'.
                let special = self.ring.modulus(1);
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

/// The constants for encrypting rows: the secret and its multiples by the gadget constants.
pub(crate) struct RowEncryptor<'p> {
    ring: &'p Ring,
    noise: sample::Gaussian,
    secret: Zeroizing<Poly<Ntt>>,
    /// The plaintexts of the rows of an encryption of 1: all `g_t`, then all `g_t z`.
    units: Vec<Zeroizing<Poly<Ntt>>>,
}

impl<'p> RowEncryptor<'p> {
    pub(crate) fn new(context: &'p RgswContext, sigma: f64, secret: &SecretKey) -> Result<Self> {
        secret.check(context.ring().degree())?;
        let ring = context.ring();
        let secret = Zeroizing::new(ring.forward(ring.from_signed(secret.coefficients())));
        // Row t of component 0 encrypts g_t, row t of component 1 encrypts g_t z.
        let mut one = vec![0; ring.degree()];
        one[0] = 1;
        let one = Zeroizing::new(ring.forward(ring.from_signed(&one)));
        let units = [&one, &secret]
            .into_iter()
            .flat_map(|component| {
                (0..context.digits()).map(|t| {
                    let mut unit = component.clone();
                    ring.mul_residues_assign(&mut unit, &context.factor(t));
                    unit
                })
            })
            .collect();
        let noise = sample::Gaussian::new(sigma)?;
        Ok(Self { ring, noise, secret, units })
    }

    /// The body for a mask: `e + m unit_row - mask z`.
    pub(crate) fn body<R: CryptoRng + ?Sized>(
        &self,
        row: usize,
        mask: &Poly<Ntt>,
        message: &Poly<Ntt>,
        rng: &mut R,
    ) -> Poly<Ntt> {
        let ring = self.ring;
        let mut body = ring.forward(ring.from_signed(&self.noise.sample(ring.degree(), rng)));
        ring.mul_add_assign(&mut body, message, &self.units[row]);
        // The mask is public, so the product reveals the secret: it is erased on drop.
        let mut masked = Zeroizing::new(Poly::clone(mask));
        ring.mul_assign(&mut masked, &self.secret);
        ring.sub_assign(&mut body, &masked);
        body
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bellerophon_ring::ErrorKind;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::encrypt::phase;
    use crate::error::refusal;
    use crate::params::Params;
    use crate::params::tests::insecure;

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

    #[test]
    fn secrets_of_other_dimensions_are_refused() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        assert!(RowEncryptor::new(params.rgsw().unwrap(), 3.2, &lwe).is_err());
    }

    #[test]
    fn gadgets_that_cannot_work_are_refused() {
        let q0 = Modulus::new(insecure(8, 64, false).ring_modulus).unwrap();
        let small = bellerophon_ring::prime::ntt_primes_below(64, 30, 1, &[]).unwrap()[0];
        let special = RgswGadget::SpecialModulus { modulus: small.value() };
        assert!(
            refusal(&RgswContext::new(64, q0, special))
                .is(&ErrorKind::Parameters, "is not supported: need")
        );
        let digits = RgswGadget::Digits { base_log: 5, count: 3 };
        assert!(
            refusal(&RgswContext::new(64, q0, digits))
                .is(&ErrorKind::Parameters, "is not supported: need")
        );
    }
}
