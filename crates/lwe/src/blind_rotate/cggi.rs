//! Blind rotation by one external product for each coordinate of a ternary secret.
//!
//! Chillotti, Gama, Georgieva and Izabachène's rotation with PEGASUS's two keys for a ternary
//! coordinate, `EK+` of `[s = 1]` and `EK-` of `[s = -1]`, in one product:
//! `AC += ((X^a - 1) EK+ + (X^-a - 1) EK-) (.) AC`, which is `X^(a s) AC` for each of the three
//! values of `s`. The factors are applied to the key in NTT form, so a step costs the
//! transforms of a single external product.

use std::ops::Range;

use bellerophon_ring::{MonomialTable, Ntt, Poly, aligned::AlignedVec, sample};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use crate::{
    Exponents, LookupTable, Result, SecretKey, par,
    rgsw::{Accumulator, RgswContext, RowEncryptor},
};

/// `[s = 1]` and `[s = -1]`.
const SIGNS: [i64; 2] = [1, -1];

/// The blind-rotation key as it travels: one seed and the bodies of all rows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SeededRgswRotationKey {
    pub(super) seed: sample::Seed,
    /// Coordinate, limb, row, sign, coefficient in NTT form.
    pub(super) bodies: AlignedVec,
}

impl SeededRgswRotationKey {
    /// Encrypts the coordinates of an LWE secret under a ring secret.
    ///
    /// # Errors
    /// If the ring secret is not of this degree.
    pub(super) fn generate<R: CryptoRng + ?Sized>(
        context: &RgswContext,
        sigma: f64,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        let encryptor = RowEncryptor::new(context, sigma, ring)?;
        let seed = sample::Seed::random(rng);
        // The noise of a coordinate has its own stream of a generator that stays here, so that
        // coordinates can be made in any order.
        let mut noise_key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *noise_key);

        let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
        let element = limbs * rows * 2 * n;
        let mut bodies = AlignedVec::zeroed(lwe.dimension() * element);
        par::each_chunk(&mut bodies, element, |j, out| {
            let mut noise = ChaCha20Rng::from_seed(*noise_key);
            noise.set_stream(j as u64);
            for (sign, value) in SIGNS.into_iter().enumerate() {
                let s = lwe.coefficients()[j];
                // [s = value] for s in {-1, 0, 1}, without a branch.
                let bit = s * (s + value) / 2;
                let message = constant(context, bit);
                for row in 0..rows {
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

    /// Adds the masks: the key in the order in which a rotation reads it.
    pub(super) fn expand(&self, context: &RgswContext) -> RgswRotationKey {
        RgswRotationKey { seed: self.seed, words: with_masks(context, &self.seed, 0, &self.bodies) }
    }

    /// Bytes on the wire of a key of this dimension: the seed, and the bodies packed to the bits of
    /// their primes.
    pub(super) fn wire_bytes(dimension: usize, context: &RgswContext) -> usize {
        let bits: usize = context.ring().moduli().map(|q| q.bits() as usize).sum();
        let bodies = dimension * context.rows() * 2 * context.ring().degree();
        32 + (bodies * bits).div_ceil(8)
    }
}

/// The bodies of the coordinates from `first` on with their masks, in the order in which a rotation
/// reads them.
pub(super) fn with_masks(
    context: &RgswContext,
    seed: &sample::Seed,
    first: usize,
    bodies: &[u64],
) -> AlignedVec {
    let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
    let mut words = AlignedVec::zeroed(2 * bodies.len());
    par::each_chunk(&mut words, limbs * rows * 4 * n, |j, out| {
        let mut mask = vec![0; n];
        let bodies = &bodies[j * limbs * rows * 2 * n..];
        let elements = out.chunks_mut(rows * 4 * n).zip(bodies.chunks(rows * 2 * n));
        for ((out, bodies), q) in elements.zip(context.ring().moduli()) {
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

/// The stream of the seed that makes the mask of a row.
fn stream(rows: usize, coordinate: usize, row: usize, sign: usize) -> u64 {
    ((coordinate * 2 + sign) * rows + row) as u64
}

/// The constant polynomial `bit` in NTT form.
fn constant(context: &RgswContext, bit: i64) -> Zeroizing<Poly<Ntt>> {
    let mut message = Zeroizing::new(context.ring().zero::<Ntt>());
    message.data_mut().fill(bit as u64);
    message
}

/// Sizes only: the contents are public, but hundreds of megabytes long.
impl std::fmt::Debug for SeededRgswRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededRgswRotationKey of {} words", self.bodies.len())
    }
}

/// A blind-rotation key ready for use: bodies and masks in NTT form and in the order in which a
/// rotation reads them: coordinate, limb, line of eight positions, row, sign, body and mask.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct RgswRotationKey {
    /// That of the masks.
    pub(super) seed: sample::Seed,
    pub(super) words: AlignedVec,
}

impl RgswRotationKey {
    /// The words that this key has.
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// The bodies of some coordinates, as they travel.
    pub(super) fn bodies(&self, context: &RgswContext, coordinates: Range<usize>) -> AlignedVec {
        let (n, limbs, rows) = (context.ring().degree(), context.ring().limbs(), context.rows());
        let mut bodies = AlignedVec::zeroed(coordinates.len() * limbs * rows * 2 * n);
        par::each_chunk(&mut bodies, limbs * rows * 2 * n, |j, out| {
            let words = &self.words[(coordinates.start + j) * limbs * rows * 4 * n..];
            for (out, words) in out.chunks_mut(rows * 2 * n).zip(words.chunks(rows * 4 * n)) {
                for (i, body) in out.chunks_mut(n).enumerate() {
                    MonomialTable::deinterleave(words, body, 2 * i, 4 * rows);
                }
            }
        });
        bodies
    }

    /// Tables rotated by the exponents of their values (Fig. 2, lines 3 to 6): the coordinates are
    /// the outer loop, so that one element of the key serves the whole group while it is in cache.
    pub(super) fn rotate(
        &self,
        context: &RgswContext,
        group: &[(&LookupTable, &Exponents)],
    ) -> Vec<Accumulator> {
        // Line 3: AC = (f X^b, 0).
        let start = |(table, value): &(&LookupTable, &Exponents)| {
            let b = table.rotated(value.b() as usize);
            Accumulator::new(*table.modulus(), &b, &vec![0; b.len()])
        };
        let mut accumulators: Vec<_> = group.iter().map(start).collect();
        let ring = context.ring();
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let mut product = AlignedVec::zeroed(context.product_words());
        let element = ring.limbs() * 4 * digits.len();
        for (j, element) in self.words.chunks_exact(element).enumerate() {
            for (accumulator, (_, exponents)) in accumulators.iter_mut().zip(group) {
                let k = exponents.a()[j] as usize;
                if k == 0 {
                    // The exponent is public, and both factors vanish.
                    continue;
                }
                let limbs = element.chunks_exact(4 * digits.len());
                let limbs = limbs.zip(product.chunks_exact_mut(2 * ring.degree()));
                for (i, (key, product)) in limbs.enumerate() {
                    let table = ring.table(i);
                    context.decompose(i, accumulator.words(), &mut digits);
                    context.monomials()[i].ternary_product(table, k, &digits, key, product);
                    product.chunks_exact_mut(ring.degree()).for_each(|row| table.inverse(row));
                }
                context.finish(&product, accumulator.words_mut());
            }
        }
        accumulators
    }
}

/// Sizes only: the contents are public, but hundreds of megabytes long.
impl std::fmt::Debug for RgswRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgswRotationKey of {} words", self.words.len())
    }
}
