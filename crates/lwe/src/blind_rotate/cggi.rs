//! CGGI blind rotation: one external product for each coordinate of a ternary secret.
//!
//! The rotation of Chillotti, Gama, Georgieva and Izabachène with PEGASUS's two keys for a ternary
//! coordinate, `EK+` of `[s = 1]` and `EK-` of `[s = -1]`, in one product:
//! `AC += ((X^a - 1) EK+ + (X^-a - 1) EK-) (.) AC`. The result is `X^(a s) AC` for each of the
//! three values of `s`. The factors multiply the key in NTT form, so a step costs the transforms of
//! a single external product.

use std::ops::Range;

use bellerophon_ring::{MonomialTable, Ntt, Poly, Result, aligned::AlignedVec, each_chunk, sample};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use crate::external_product::Accumulator;
use crate::modulus_switching::Mod2NCiphertext;
use crate::rgsw::{RgswContext, RowEncryptor};
use crate::secret::SecretKey;
use crate::test_polynomial::TestPolynomial;

/// `[s = 1]` and `[s = -1]`.
const SIGNS: [i64; 2] = [1, -1];

/// The compressed blind-rotation key: one seed and the bodies of all rows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SeededRgswRotationKey {
    pub(super) seed: sample::Seed,
    /// Layout, outermost first: coordinate, limb, row, sign, coefficient in NTT form.
    pub(super) bodies: AlignedVec,
}

impl SeededRgswRotationKey {
    /// Encrypts the coordinates of an LWE secret under a ring secret.
    pub(super) fn generate<R: CryptoRng + ?Sized>(
        context: &RgswContext,
        sigma: f64,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let encryptor = RowEncryptor::new(context, sigma, ring)?;
        let seed = sample::Seed::random(rng);
        // Step 1: a local noise key. Each coordinate has its own stream, so that coordinates can be
        // generated in any order.
        let mut noise_key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *noise_key);

        // Step 2: for each coordinate, the RGSW encryptions of [s = 1] and [s = -1].
        let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
        let element = limbs * rows * 2 * n;
        let mut bodies = AlignedVec::zeroed(lwe.dimension() * element);
        each_chunk(&mut bodies, element, |j, out| {
            let mut noise = ChaCha20Rng::from_seed(*noise_key);
            noise.set_stream(j as u64);
            for (sign, value) in SIGNS.into_iter().enumerate() {
                let s = lwe.coefficients()[j];
                // [s = value] for s in {-1, 0, 1}, without a branch.
                let bit = s * (s + value) / 2;
                let message = constant(context, bit);
                for row in 0..rows {
                    // The masks come from the public seed and are not stored.
                    let stream = stream(rows, j, row, sign);
                    let mask = sample::uniform_from_seed(context.ring(), &seed, stream);
                    let body = Zeroizing::new(encryptor.body(row, &mask, &message, &mut noise));
                    for limb in 0..limbs {
                        let start = ((limb * rows + row) * 2 + sign) * n;
                        out[start..start + n].copy_from_slice(body.limb(limb));
                    }
                }
            }
        });
        Ok(Self { seed, bodies })
    }

    /// Adds the masks and interleaves the rows into the layout that a rotation reads.
    pub(super) fn expand(&self, context: &RgswContext) -> RgswRotationKey {
        RgswRotationKey { seed: self.seed, words: with_masks(context, &self.seed, 0, &self.bodies) }
    }

    /// Serialized bytes of a key of this dimension: the seed, and the bodies packed to the bits of
    /// their primes.
    pub(super) fn wire_bytes(dimension: usize, context: &RgswContext) -> usize {
        let bits: usize = context.ring().moduli().map(|q| q.bits() as usize).sum();
        let bodies = dimension * context.rows() * 2 * context.ring().degree();
        32 + (bodies * bits).div_ceil(8)
    }
}

/// The bodies of the coordinates from `first` on with their masks, in the layout that a rotation
/// reads.
pub(super) fn with_masks(
    context: &RgswContext,
    seed: &sample::Seed,
    first: usize,
    bodies: &[u64],
) -> AlignedVec {
    let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
    let mut words = AlignedVec::zeroed(2 * bodies.len());
    each_chunk(&mut words, limbs * rows * 4 * n, |j, out| {
        let mut mask = vec![0; n];
        let bodies = &bodies[j * limbs * rows * 2 * n..];
        let elements = out.chunks_mut(rows * 4 * n).zip(bodies.chunks(rows * 2 * n));
        for ((out, bodies), q) in elements.zip(context.ring().moduli()) {
            // Body i belongs to row i / 2 and sign i % 2.
            for (i, body) in bodies.chunks(n).enumerate() {
                let stream = stream(rows, first + j, i / 2, i % 2);
                sample::fill_uniform_from_seed(q, &mut mask, seed, stream);
                MonomialTable::interleave(out, body, 2 * i, 4 * rows);
                MonomialTable::interleave(out, &mask, 2 * i + 1, 4 * rows);
            }
        }
    });
    words
}

/// The stream of the seed from which the mask of a row is sampled.
fn stream(rows: usize, coordinate: usize, row: usize, sign: usize) -> u64 {
    ((coordinate * 2 + sign) * rows + row) as u64
}

/// The constant polynomial `bit` in NTT form.
fn constant(context: &RgswContext, bit: i64) -> Zeroizing<Poly<Ntt>> {
    let mut message = Zeroizing::new(context.ring().zero::<Ntt>());
    message.data_mut().fill(bit as u64);
    message
}

/// Sizes only: the contents are public, but take hundreds of megabytes.
impl std::fmt::Debug for SeededRgswRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededRgswRotationKey of {} words", self.bodies.len())
    }
}

/// An expanded blind-rotation key: bodies and masks in NTT form, in the layout that a rotation
/// reads. Outermost first: coordinate, limb, line of eight positions, row, sign, body and mask.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RgswRotationKey {
    /// The seed of the masks.
    pub(super) seed: sample::Seed,
    pub(super) words: AlignedVec,
}

impl RgswRotationKey {
    /// Words in memory.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// The bodies of some coordinates in the compressed layout.
    pub(super) fn bodies(&self, context: &RgswContext, coordinates: Range<usize>) -> AlignedVec {
        let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
        let mut bodies = AlignedVec::zeroed(coordinates.len() * limbs * rows * 2 * n);
        each_chunk(&mut bodies, limbs * rows * 2 * n, |j, out| {
            let words = &self.words[(coordinates.start + j) * limbs * rows * 4 * n..];
            for (out, words) in out.chunks_mut(rows * 2 * n).zip(words.chunks(rows * 4 * n)) {
                for (i, body) in out.chunks_mut(n).enumerate() {
                    MonomialTable::deinterleave(words, body, 2 * i, 4 * rows);
                }
            }
        });
        bodies
    }

    /// Rotates test polynomials by the exponents of their values (Fig. 2, lines 3 to 6). The
    /// coordinates are the outer loop: one key element serves the whole group while it is in cache.
    pub(super) fn rotate(
        &self,
        context: &RgswContext,
        group: &[(&TestPolynomial, &Mod2NCiphertext)],
    ) -> Vec<Accumulator> {
        // Line 3 of Fig. 2: AC = (f X^b, 0).
        let start = |(table, value): &(&TestPolynomial, &Mod2NCiphertext)| {
            let b = table.rotated(value.b() as usize);
            Accumulator::new(*table.modulus(), &b, &vec![0; b.len()])
        };
        let mut accumulators: Vec<_> = group.iter().map(start).collect();
        let ring = context.ring();
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let mut product = AlignedVec::zeroed(context.product_words());
        // Line 4: for each coordinate j.
        let element = ring.limbs() * 4 * digits.len();
        for (j, element) in self.words.chunks_exact(element).enumerate() {
            for (accumulator, (_, exponents)) in accumulators.iter_mut().zip(group) {
                let k = exponents.a()[j] as usize;
                if k == 0 {
                    // The exponent is public. Both factors are zero, so AC does not change.
                    continue;
                }
                // Line 5, both of its products in one: AC += key_k (.) AC with
                // key_k = (X^k - 1) EK+ + (X^-k - 1) EK-, limb by limb.
                let limbs = element.chunks_exact(4 * digits.len());
                let limbs = limbs.zip(product.chunks_exact_mut(2 * ring.degree()));
                for (i, (key, product)) in limbs.enumerate() {
                    let table = ring.table(i);
                    context.decompose(i, accumulator.words(), &mut digits);
                    context.monomials()[i].ternary_product(table, k, &digits, key, product);
                    product.chunks_exact_mut(ring.degree()).for_each(|row| table.inverse(row));
                }
                // Division by the special prime, if the gadget has one, and the addition to AC.
                context.finish(&product, accumulator.words_mut());
            }
        }
        accumulators
    }
}

/// Sizes only: the contents are public, but take hundreds of megabytes.
impl std::fmt::Debug for RgswRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgswRotationKey of {} words", self.words.len())
    }
}
