//! Blind rotation by one external product for each coordinate of a ternary secret.
//!
//! Chillotti, Gama, Georgieva and Izabachène's rotation with PEGASUS's two keys for a ternary
//! coordinate, `EK+` of `[s = 1]` and `EK-` of `[s = -1]`, in one product:
//! `AC += ((X^a - 1) EK+ + (X^-a - 1) EK-) (.) AC`, which is `X^(a s) AC` for each of the three
//! values of `s`. The factors are applied to the key in NTT form, so a step costs the
//! transforms of a single external product.

use bellerophon_ring::{MonomialTable, Ntt, Poly, aligned::AlignedVec, sample};
use chacha20::ChaCha20Rng;
use rand::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

use crate::{
    Exponents, Params, Result, SecretKey, par,
    rgsw::{Accumulator, RowEncryptor},
};

/// `[s = 1]` and `[s = -1]`.
const SIGNS: [i64; 2] = [1, -1];

/// The blind-rotation key as it travels: one seed and the bodies of all rows.
#[derive(Clone, PartialEq, Eq)]
pub struct SeededBlindRotationKey {
    dimension: usize,
    seed: sample::Seed,
    /// Coordinate, limb, row, sign, coefficient in NTT form.
    bodies: AlignedVec,
}

impl SeededBlindRotationKey {
    /// Encrypts the coordinates of an LWE secret under a ring secret.
    ///
    /// # Errors
    /// If one of the secrets is not of these parameters.
    pub fn generate<R: CryptoRng + ?Sized>(
        params: &Params,
        lwe: &SecretKey,
        ring: &SecretKey,
        rng: &mut R,
    ) -> Result<Self> {
        lwe.check("blind-rotation key", params.dimension())?;
        let encryptor = RowEncryptor::new(params, ring)?;
        let seed = sample::Seed::random(rng);
        // The noise of a coordinate has its own stream of a generator that stays here, so that
        // coordinates can be made in any order.
        let mut noise_key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *noise_key);

        let context = params.rgsw();
        let (n, limbs, rows) = (params.ring_degree(), context.ring().limbs(), context.rows());
        let element = limbs * rows * 2 * n;
        let mut bodies = AlignedVec::zeroed(params.dimension() * element);
        par::each_chunk(&mut bodies, element, |j, out| {
            let mut noise = ChaCha20Rng::from_seed(*noise_key);
            noise.set_stream(j as u64);
            for (sign, value) in SIGNS.into_iter().enumerate() {
                let s = lwe.coefficients()[j];
                // [s = value] for s in {-1, 0, 1}, without a branch.
                let bit = s * (s + value) / 2;
                let message = constant(params, bit);
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
        Ok(Self { dimension: params.dimension(), seed, bodies })
    }

    /// Adds the masks: the key in the order in which a rotation reads it.
    pub fn expand(&self, params: &Params) -> BlindRotationKey {
        let context = params.rgsw();
        let (n, limbs, rows) = (params.ring_degree(), context.ring().limbs(), context.rows());
        let mut words = AlignedVec::zeroed(2 * self.bodies.len());
        par::each_chunk(&mut words, limbs * rows * 4 * n, |j, out| {
            let mut mask = vec![0; n];
            let bodies = &self.bodies[j * limbs * rows * 2 * n..];
            let elements = out.chunks_mut(rows * 4 * n).zip(bodies.chunks(rows * 2 * n));
            for ((out, bodies), q) in elements.zip(context.ring().moduli()) {
                for (i, body) in bodies.chunks(n).enumerate() {
                    let stream = stream(rows, j, i / 2, i % 2);
                    sample::fill_uniform_from_seed(q, &mut mask, &self.seed, stream);
                    MonomialTable::interleave(out, body, 2 * i, 4 * rows);
                    MonomialTable::interleave(out, &mask, 2 * i + 1, 4 * rows);
                }
            }
        });
        BlindRotationKey { dimension: self.dimension, words }
    }

    /// Bytes on the wire: the seed, and the bodies packed to the bits of their primes.
    pub fn byte_len(&self, params: &Params) -> usize {
        let ring = params.rgsw().ring();
        let bits: usize = ring.moduli().map(|q| q.bits() as usize).sum();
        32 + (self.bodies.len() / ring.limbs() * bits).div_ceil(8)
    }
}

/// The stream of the seed that makes the mask of a row.
fn stream(rows: usize, coordinate: usize, row: usize, sign: usize) -> u64 {
    ((coordinate * 2 + sign) * rows + row) as u64
}

/// The constant polynomial `bit` in NTT form.
fn constant(params: &Params, bit: i64) -> Zeroizing<Poly<Ntt>> {
    let mut message = Zeroizing::new(params.rgsw().ring().zero::<Ntt>());
    message.data_mut().fill(bit as u64);
    message
}

/// Sizes only: the contents are public, but hundreds of megabytes long.
impl std::fmt::Debug for SeededBlindRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededBlindRotationKey of dimension {}", self.dimension)
    }
}

/// A blind-rotation key ready for use: bodies and masks in NTT form and in the order in which a
/// rotation reads them: coordinate, limb, line of eight positions, row, sign, body and mask.
#[derive(Clone, PartialEq, Eq)]
pub struct BlindRotationKey {
    dimension: usize,
    words: AlignedVec,
}

impl BlindRotationKey {
    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The words that the key of a parameter set has.
    pub(crate) fn size(params: &Params) -> usize {
        params.dimension() * params.rgsw().ring().limbs() * 4 * params.rgsw().digit_words()
    }

    /// The words that this key has.
    pub(crate) fn words(&self) -> usize {
        self.words.len()
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Walks the key with a group of accumulators (Fig. 2, lines 4 to 6): the coordinates are the
    /// outer loop, so that one element serves the whole group while it is in cache.
    pub(crate) fn rotate(
        &self,
        params: &Params,
        accumulators: &mut [Accumulator],
        exponents: &[&Exponents],
    ) {
        let context = params.rgsw();
        let ring = context.ring();
        let mut digits = AlignedVec::zeroed(context.digit_words());
        let mut product = AlignedVec::zeroed(context.product_words());
        let element = self.words.len() / self.dimension;
        for (j, element) in self.words.chunks_exact(element).enumerate() {
            for (accumulator, exponents) in accumulators.iter_mut().zip(exponents) {
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
    }
}

/// Sizes only: the contents are public, but hundreds of megabytes long.
impl std::fmt::Debug for BlindRotationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlindRotationKey of dimension {}, {} words", self.dimension, self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ciphertext, Error, LookupTable, TableDomain, blind_rotate_batch, encrypt,
        params::tests::insecure, rgsw::tests::phases,
    };

    struct Setup {
        params: Params,
        lwe: SecretKey,
        ring: SecretKey,
        key: BlindRotationKey,
        rng: ChaCha20Rng,
    }

    fn setup(dimension: usize, degree: usize, digits: bool) -> Setup {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(insecure(dimension, degree, digits)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let key = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
        let key = key.expand(&params);
        Setup { params, lwe, ring, key, rng }
    }

    /// A table whose entries differ everywhere, far above the noise.
    fn ramp(params: &Params) -> LookupTable {
        let domain = TableDomain::fit(-1.0, 1.0, params.ring_degree(), 0).unwrap();
        let encode = |y: f64| (y * (1u64 << 43) as f64).round() as i64;
        LookupTable::new(*params.ring_modulus(), domain, |x| x, encode).unwrap()
    }

    fn max_noise(digits: bool) -> i64 {
        if digits { 1 << 33 } else { 1 << 13 }
    }

    #[test]
    fn rotates_by_every_index_and_returns_its_entry() {
        for digits in [false, true] {
            let mut s = setup(8, 64, digits);
            let table = ramp(&s.params);
            let q = s.params.modulus();
            // Indices that the rounding of the mask moves are computed from the exponents.
            let values: Vec<_> = (-64..64)
                .map(|k| {
                    let phase = k * q.value() as i64 / 128;
                    let value = encrypt(q, &s.lwe, phase, 1.0, &mut s.rng).unwrap();
                    Exponents::new(&value, 64).unwrap()
                })
                .collect();
            let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
            for (value, accumulator) in values.iter().zip(&out) {
                let mask = value.a().iter().zip(s.lwe.coefficients());
                let index = value.b() as i64 + mask.map(|(&a, &s)| a as i64 * s).sum::<i64>();
                let index = (index + 64).rem_euclid(128) - 64;
                for (i, phase) in phases(accumulator, &s.ring).into_iter().enumerate() {
                    let error = phase - table.entry((index - i as i64 + 64).rem_euclid(128) - 64);
                    assert!(error.abs() < max_noise(digits), "{digits} {index} {i}: {error}");
                }
            }
        }
    }

    /// Every border between two cells of a small table, from both sides, with phases that stand
    /// in the clear so that nothing but the rounding of `b` decides.
    #[test]
    fn cell_borders_round_to_the_nearest_index() {
        let s = setup(8, 64, false);
        let table = ramp(&s.params);
        let q = s.params.modulus();
        let mut values = Vec::new();
        let mut expected = Vec::new();
        for k in -64..64i64 {
            let border = (2 * k as i128 + 1) * q.value() as i128;
            let below = border.div_euclid(256) as i64;
            for (phase, index) in [(below, k), (below + 1, k + 1)] {
                let value = Ciphertext::trivial(*q, 8, phase);
                values.push(Exponents::new(&value, 64).unwrap());
                expected.push(if index == 64 { -64 } else { index });
            }
        }
        let out = blind_rotate_batch(&s.params, &values, &[&table], &s.key).unwrap();
        for (accumulator, index) in out.iter().zip(expected) {
            assert_eq!(phases(accumulator, &s.ring)[0], table.entry(index), "{index}");
        }
        // The signs and the wrap, spelt out: the top of the table, then minus the bottom.
        let value = |k| table.domain().argument(k) * (1u64 << 43) as f64;
        assert_eq!(table.entry(31) as f64, value(31).round());
        assert_eq!(table.entry(32) as f64, -value(-32).round());
        assert_eq!(table.entry(-32) as f64, value(-32).round());
        assert_eq!(table.entry(-33) as f64, -value(31).round());
    }

    #[test]
    fn a_batch_is_its_values_and_tables_may_differ() {
        let mut s = setup(8, 64, false);
        let (up, down) = (ramp(&s.params), {
            let domain = TableDomain::fit(-1.0, 1.0, 64, 0).unwrap();
            let encode = |y: f64| (y * -1e12) as i64;
            LookupTable::new(*s.params.ring_modulus(), domain, |x| x, encode).unwrap()
        });
        let values: Vec<_> = (0..37)
            .map(|i| {
                let value = encrypt(s.params.modulus(), &s.lwe, i << 20, 1.0, &mut s.rng).unwrap();
                Exponents::new(&value, 64).unwrap()
            })
            .collect();
        let tables: Vec<_> = (0..37).map(|i| if i % 2 == 0 { &up } else { &down }).collect();
        let batch = blind_rotate_batch(&s.params, &values, &tables, &s.key).unwrap();
        for ((value, table), expected) in values.into_iter().zip(tables).zip(&batch) {
            let alone = blind_rotate_batch(&s.params, &[value], &[table], &s.key).unwrap();
            assert_eq!(&alone[0], expected);
        }
    }

    #[test]
    fn wrong_operands_are_refused() {
        let s = setup(8, 64, false);
        let table = ramp(&s.params);
        let value = Ciphertext::trivial(*s.params.modulus(), 8, 0);
        let good = Exponents::new(&value, 64).unwrap();
        let run = |values: &[Exponents], tables: &[&LookupTable], key| {
            blind_rotate_batch(&s.params, values, tables, key).unwrap_err()
        };
        let error = run(std::slice::from_ref(&good), &[&table, &table], &s.key);
        assert_eq!(error, Error::TableCount { tables: 2, values: 1 });
        let coarse = Exponents::new(&value, 32).unwrap();
        assert!(matches!(run(&[coarse], &[&table], &s.key), Error::Dimension { found: 32, .. }));
        let long = Ciphertext::trivial(*s.params.modulus(), 16, 0);
        let long = Exponents::new(&long, 64).unwrap();
        assert!(matches!(run(&[long], &[&table], &s.key), Error::Dimension { found: 16, .. }));
        let other = setup(16, 64, false);
        let error = run(std::slice::from_ref(&good), &[&table], &other.key);
        assert!(matches!(error, Error::Dimension { found: 16, needed: 8, .. }));
        let wide = ramp(&setup(8, 128, false).params);
        assert!(matches!(
            run(std::slice::from_ref(&good), &[&wide], &s.key),
            Error::Dimension { .. }
        ));
        let domain = *table.domain();
        let foreign = LookupTable::new(*s.params.modulus(), domain, |x| x, |_| 0).unwrap();
        assert!(matches!(run(&[good], &[&foreign], &s.key), Error::Modulus { .. }));
        assert!(blind_rotate_batch(&s.params, &[], &[&table], &s.key).unwrap().is_empty());
    }

    #[test]
    fn seeded_keys_expand_to_the_same_rows_and_know_their_size() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let params = Params::new(insecure(8, 64, false)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let seeded = SeededBlindRotationKey::generate(&params, &lwe, &ring, &mut rng).unwrap();
        assert_eq!(seeded.expand(&params), seeded.expand(&params));
        let q0_bits = params.ring_modulus().bits() as usize;
        assert_eq!(seeded.byte_len(&params), 32 + 8 * 2 * 2 * 64 * (q0_bits + 50) / 8);
        let key = seeded.expand(&params);
        assert_eq!(key.memory_bytes(), 8 * 2 * 2 * 2 * 2 * 64 * 8);
        let wrong = SeededBlindRotationKey::generate(&params, &ring, &ring, &mut rng);
        assert!(matches!(wrong, Err(Error::Dimension { .. })));
    }
}
