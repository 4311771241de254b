//! Monomials `X^k` in NTT form, and the product that rotates an accumulator by a secret ternary
//! digit.

use crate::NttTable;

/// The powers of the `2N`-th root `psi` of one [`NttTable`], from which the values of any `X^k`
/// are read: position `i` of the transform of `X^k` is `psi^(e_i k)`.
#[derive(Debug, Clone)]
pub struct MonomialTable {
    powers: Vec<u64>,
}

impl MonomialTable {
    /// The powers of `table.root()`: `2N` words.
    pub fn new(table: &NttTable) -> Self {
        let q = table.modulus();
        let powers = std::iter::successors(Some(1), |&x| Some(q.mul(x, table.root())));
        Self { powers: powers.take(2 * table.degree()).collect() }
    }

    /// Writes `X^k` in NTT form; `k` counts modulo `2N`.
    ///
    /// # Panics
    /// If `out` does not have `N` elements.
    pub fn write(&self, table: &NttTable, k: usize, out: &mut [u64]) {
        let mask = self.powers.len() - 1;
        assert_eq!(out.len(), table.degree(), "one word per position");
        for (x, &e) in out.iter_mut().zip(table.exponents()) {
            *x = self.powers[(e as usize * k) & mask];
        }
    }

    /// `out_c = sum_r digit_r ((X^k - 1) key_(r,+,c) + (X^-k - 1) key_(r,-,c))` for `c = 0, 1`,
    /// position by position in NTT form: the external product with an encryption of
    /// `X^(k s) - 1` for `s` in `{-1, 0, 1}`, of which `key_+` encrypts `[s = 1]` and `key_-`
    /// encrypts `[s = -1]`.
    ///
    /// `digits` holds `R` rows of `N` words, `key` holds `4 R` rows in the order
    /// `(0,+,0), (0,+,1), (0,-,0), (0,-,1), (1,+,0), ..`, `out` two rows; all in `[0, q)`.
    ///
    /// # Panics
    /// If the slices do not have these lengths, or `R > 16`.
    pub fn ternary_product(
        &self,
        table: &NttTable,
        k: usize,
        digits: &[u64],
        key: &[u64],
        out: &mut [u64],
    ) {
        let n = table.degree();
        let rows = digits.len() / n;
        assert!(
            digits.len() == rows * n && rows <= 16 && key.len() == 4 * digits.len(),
            "R rows of digits and 4 R rows of key"
        );
        assert!(out.len() == 2 * n && self.powers.len() == 2 * n, "two rows of output");
        let q = table.modulus();
        let mask = 2 * n - 1;
        let (out_b, out_a) = out.split_at_mut(n);
        for (i, &e) in table.exponents().iter().enumerate() {
            let exponent = e as usize * k;
            let plus = q.sub(self.powers[exponent & mask], 1);
            let minus = q.sub(self.powers[exponent.wrapping_neg() & mask], 1);
            let mut sums = [0u128; 4];
            for (digit, key) in digits.chunks_exact(n).zip(key.chunks_exact(4 * n)) {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum += digit[i] as u128 * key[c * n + i] as u128;
                }
            }
            let [plus_b, plus_a, minus_b, minus_a] = sums.map(|sum| q.reduce_u128(sum));
            let combine = |x: u64, y: u64| {
                q.reduce_u128(plus as u128 * x as u128 + minus as u128 * y as u128)
            };
            out_b[i] = combine(plus_b, minus_b);
            out_a[i] = combine(plus_a, minus_a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ring, prime, sample};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    fn ring(degree: usize, bits: u32) -> Ring {
        Ring::new(degree, &prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()).unwrap()
    }

    #[test]
    fn monomials_are_transforms_of_monomials() {
        for degree in [8, 64] {
            let ring = ring(degree, 45);
            let table = ring.table(0);
            let monomials = MonomialTable::new(table);
            for k in 0..2 * degree {
                let mut coefficients = vec![0; degree];
                coefficients[k % degree] = if k < degree { 1 } else { -1 };
                let expected = ring.forward(ring.from_signed(&coefficients));
                let mut values = vec![7; degree];
                monomials.write(table, k, &mut values);
                assert_eq!(values, expected.limb(0));
                monomials.write(table, k + 2 * degree, &mut values);
                assert_eq!(values, expected.limb(0));
            }
        }
    }

    #[test]
    fn ternary_product_is_its_definition() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (degree, bits) in [(8, 30), (64, 45), (256, 50), (64, 61)] {
            let ring = ring(degree, bits);
            let table = ring.table(0);
            let monomials = MonomialTable::new(table);
            let one = ring.forward(ring.from_signed(&{
                let mut one = vec![0; degree];
                one[0] = 1;
                one
            }));
            for rows in [1, 2, 4] {
                let digits: Vec<_> = (0..rows).map(|_| sample::uniform(&ring, &mut rng)).collect();
                let key: Vec<_> = (0..4 * rows).map(|_| sample::uniform(&ring, &mut rng)).collect();
                for k in [0, 1, degree - 1, degree, 2 * degree - 1] {
                    let factors = [k, 2 * degree - k].map(|k| {
                        let mut x = ring.zero();
                        monomials.write(table, k, x.limb_mut(0));
                        ring.sub_assign(&mut x, &one);
                        x
                    });
                    let flat = |polys: &[crate::Poly<crate::Ntt>]| -> Vec<u64> {
                        polys.iter().flat_map(|p| p.limb(0)).copied().collect()
                    };
                    let mut out = vec![u64::MAX; 2 * degree];
                    monomials.ternary_product(table, k, &flat(&digits), &flat(&key), &mut out);
                    for c in 0..2 {
                        let mut expected = ring.zero();
                        for (r, digit) in digits.iter().enumerate() {
                            for (sign, factor) in factors.iter().enumerate() {
                                let mut term = digit.clone();
                                ring.mul_assign(&mut term, factor);
                                ring.mul_add_assign(
                                    &mut expected,
                                    &term,
                                    &key[4 * r + 2 * sign + c],
                                );
                            }
                        }
                        assert_eq!(&out[c * degree..][..degree], expected.limb(0));
                    }
                }
            }
        }
    }

    #[test]
    fn limb_operations_are_those_of_the_ring() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let (small, large) = (ring(64, 40), ring(64, 50));
        let (q, p) = (small.table(0), large.modulus(0));
        let a = sample::uniform(&small, &mut rng);
        let wide = sample::uniform(&large, &mut rng);
        let mut reduced = vec![0; 64];
        q.reduce_centered(&mut reduced, wide.limb(0), p);
        let mut sum = a.limb(0).to_vec();
        q.add_assign(&mut sum, &reduced);
        let mut product = vec![0; 64];
        q.sum_of_products(&mut product, &vec![(a.limb(0), &sum[..]); 130]);
        let mut scaled = reduced.clone();
        q.add_scaled_difference(&mut scaled, &sum, wide.limb(0), p, 5);
        for i in 0..64 {
            let lifted = q.modulus().from_i64(p.center(wide.limb(0)[i]));
            assert_eq!(reduced[i], lifted);
            assert_eq!(sum[i], q.modulus().add(a.limb(0)[i], lifted));
            let square = q.modulus().mul(a.limb(0)[i], sum[i]);
            assert_eq!(product[i], q.modulus().mul(square, 130));
            assert_eq!(scaled[i], q.modulus().mul_add(a.limb(0)[i], 5, lifted));
        }
    }
}
