//! Monomials `X^k` in NTT form, and the product that rotates an accumulator by a secret ternary
//! coefficient.

use crate::{
    NttTable, backend,
    ntt::roots::{Line, bit_reverse},
};

/// The powers of the `2N`-th root `psi` of an [`NttTable`]. They give the values of every `X^k`:
/// position `i` of the transform of `X^k` is `psi^(e_i k)`.
#[derive(Debug, Clone)]
pub struct MonomialTable {
    /// `psi^j scale`, `2N` words. The scale compensates for the factors that the two reductions of
    /// a product leave on the back end of the table.
    powers: Vec<u64>,
    /// `psi^(j N / 32)` with companions: the ratios between the lanes of a line. Empty for degrees
    /// without vector transforms.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    lanes: Vec<[u64; 2]>,
}

impl MonomialTable {
    /// The powers of `table.root()`: `2N` words.
    pub fn new(table: &NttTable) -> Self {
        let (q, n) = (table.modulus(), table.degree());
        let backend = backend::of_transform(table.backend(), n);
        // Two reductions of 2^-b each are compensated by 2^(2b).
        let scale = q.pow(q.reduce(2), 2 * backend.radix(q) as u64);
        let powers: Vec<u64> =
            std::iter::successors(Some(1), |&x| Some(q.mul(x, table.root()))).take(2 * n).collect();
        let bits = backend.companion_bits();
        let companion = |w: u64| (((w as u128) << bits) / q.value() as u128) as u64;
        let lanes = match n / 32 {
            // Degrees below 128 have no vector transform.
            0..4 => Vec::new(),
            step => powers.iter().step_by(step).map(|&w| [w, companion(w)]).collect(),
        };
        Self { powers: powers.into_iter().map(|x| q.mul(x, scale)).collect(), lanes }
    }

    /// `psi^e` and `psi^-e` times the scale, with `e` modulo `2N`.
    #[inline(always)]
    pub(crate) fn powers(&self, e: usize) -> [u64; 2] {
        // The order of psi is 2N, a power of two.
        let mask = self.powers.len() - 1;
        [self.powers[e & mask], self.powers[e.wrapping_neg() & mask]]
    }

    /// The scale, which is `psi^0` times the scale.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    #[inline(always)]
    pub(crate) fn one(&self) -> u64 {
        self.powers[0]
    }

    /// The ratios of `X^k` and `X^-k` at the eight lanes of a line to their values at lane 0:
    /// values and companions. Lane `c` is bits 3 to 5 of the order before the transposition of
    /// tiles, so its exponent differs by `N / 32 bit_reverse(c)`.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "read by wide kernels"))]
    pub(crate) fn lanes(&self, k: usize) -> [[Line; 2]; 2] {
        [k, k.wrapping_neg()].map(|k| {
            // Exponents of the lanes are multiples of N / 32, so there are 64 of them modulo 2N.
            let root = |lane| self.lanes[k.wrapping_mul(bit_reverse(lane, 3)) & 63];
            [0, 1].map(|part| std::array::from_fn(|lane| root(lane)[part]))
        })
    }

    /// Writes row `row` of `rows` into a key for [`ternary_product`](Self::ternary_product).
    ///
    /// # Panics
    /// If `key` does not hold `rows` rows of the length of `words`, or `row` is not below `rows`.
    pub fn interleave(key: &mut [u64], words: &[u64], row: usize, rows: usize) {
        assert!(row < rows && key.len() == rows * words.len(), "the row must fit the key");
        for (group, line) in key.chunks_exact_mut(8 * rows).zip(words.chunks_exact(8)) {
            // A group holds one line of every row.
            group[8 * row..8 * row + 8].copy_from_slice(line);
        }
    }

    /// Reads row `row` of `rows` from a key: the inverse of [`interleave`](Self::interleave).
    ///
    /// # Panics
    /// If `key` does not hold `rows` rows of the length of `words`, or `row` is not below `rows`.
    pub fn deinterleave(key: &[u64], words: &mut [u64], row: usize, rows: usize) {
        assert!(row < rows && key.len() == rows * words.len(), "the row must fit the key");
        for (group, line) in key.chunks_exact(8 * rows).zip(words.chunks_exact_mut(8)) {
            line.copy_from_slice(&group[8 * row..8 * row + 8]);
        }
    }

    /// `out_c = sum_r digit_r ((X^k - 1) key_(r,+,c) + (X^-k - 1) key_(r,-,c))` for each column
    /// `c`, pointwise in NTT form. This is the external product with an encryption of `X^(k s) - 1`
    /// for `s` in `{-1, 0, 1}`, where `key_+` encrypts `[s = 1]` and `key_-` encrypts `[s = -1]`.
    ///
    /// `digits` holds `R` rows of `N` words, and `out` one row for each of `C` columns (two for
    /// RGSW, one for NTRU). `key` holds `2 R C` rows, cut into lines of eight words: the first
    /// lines of the rows `(0,+,0), .., (0,+,C-1), (0,-,0), .., (1,+,0), ..`, then the second lines,
    /// and so on ([`interleave`](Self::interleave)). All words are in `[0, q)`. `table` must be the
    /// one from which the monomials were built.
    ///
    /// # Panics
    /// Unless the slices have these lengths, `R` is 1 to 4, and `C` is 1 or 2.
    pub fn ternary_product(
        &self,
        table: &NttTable,
        k: usize,
        digits: &[u64],
        key: &[u64],
        out: &mut [u64],
    ) {
        let n = table.degree();
        // The lengths determine R and C.
        let (rows, columns) = (digits.len() / n, out.len() / n);
        assert!(
            (1..=4).contains(&rows) && digits.len() == rows * n,
            "need one to four rows of digits"
        );
        assert!((1..=2).contains(&columns) && out.len() == columns * n, "need one or two columns");
        assert!(key.len() == 2 * rows * columns * n, "the key must have these rows and columns");
        assert!(self.powers.len() == 2 * n, "the monomials must have the degree of the table");
        backend::ternary_product(table, self, k, digits, key, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Modulus, Ntt, Poly, Ring, prime, sample};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use std::sync::Arc;

    /// One ring for each back end that runs here.
    fn rings(degree: usize, bits: u32) -> Vec<Ring> {
        let q: Modulus = prime::ntt_primes_below(degree, bits, 1, &[]).unwrap()[0];
        let tables = Backend::ALL.map(|b| NttTable::with_backend(degree, q, b));
        let ring = |table| Ring::from_tables(degree, vec![Arc::new(table)]).unwrap();
        tables.into_iter().flatten().map(ring).collect()
    }

    /// `X^k - 1`.
    fn factor(ring: &Ring, k: usize) -> Poly<Ntt> {
        let n = ring.degree();
        let mut coefficients = vec![0; n];
        coefficients[k % n] = if k % (2 * n) < n { 1 } else { -1 };
        coefficients[0] -= 1;
        ring.forward(ring.from_signed(&coefficients))
    }

    #[test]
    fn ternary_product_is_its_definition_on_every_back_end() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (degree, bits) in [(8, 30), (64, 45), (128, 28), (256, 46), (512, 50), (128, 61)] {
            for ring in rings(degree, bits) {
                let table = ring.table(0);
                let monomials = MonomialTable::new(table);
                // Beside random words the largest residues, where lazy bounds are tightest.
                let top = {
                    let mut top = ring.zero();
                    top.data_mut().fill(table.modulus().value() - 1);
                    top
                };
                let cases = [(1, 1), (2, 0), (2, degree - 1), (3, 2), (4, 2 * degree - 1)];
                let cases = cases.into_iter().flat_map(|(rows, k)| [(1, rows, k), (2, rows, k)]);
                for (columns, rows, k) in cases {
                    let mut draw = |i: usize| match i % 3 {
                        0 => top.clone(),
                        _ => sample::uniform(&ring, &mut rng),
                    };
                    let extreme = k == degree - 1;
                    let digits: Vec<_> =
                        (0..rows).map(|r| draw(if extreme { 0 } else { r + 1 })).collect();
                    let key: Vec<_> = (0..2 * columns * rows)
                        .map(|r| draw(if extreme { 0 } else { r }))
                        .collect();
                    let flat = |polys: &[Poly<Ntt>]| -> Vec<u64> {
                        polys.iter().flat_map(|p| p.limb(0)).copied().collect()
                    };
                    let mut lines = vec![0; key.len() * degree];
                    for (row, poly) in key.iter().enumerate() {
                        MonomialTable::interleave(&mut lines, poly.limb(0), row, key.len());
                    }
                    for (row, poly) in key.iter().enumerate() {
                        let mut back = vec![0; degree];
                        MonomialTable::deinterleave(&lines, &mut back, row, key.len());
                        assert_eq!(back, poly.limb(0));
                    }
                    let mut out = vec![u64::MAX; columns * degree];
                    monomials.ternary_product(table, k, &flat(&digits), &lines, &mut out);
                    let factors = [factor(&ring, k), factor(&ring, 2 * degree - k)];
                    for c in 0..columns {
                        let mut expected = ring.zero();
                        for (r, digit) in digits.iter().enumerate() {
                            for (sign, factor) in factors.iter().enumerate() {
                                let mut term = digit.clone();
                                ring.mul_assign(&mut term, factor);
                                let key = &key[columns * (2 * r + sign) + c];
                                ring.mul_add_assign(&mut expected, &term, key);
                            }
                        }
                        let found = &out[c * degree..][..degree];
                        let name = table.backend().name();
                        assert!(
                            found == expected.limb(0),
                            "{name} {degree} {bits} {rows} {columns} {k}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn limb_operations_are_those_of_the_ring() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for (small, large) in [(40, 50), (50, 46), (45, 61), (61, 30)] {
            for small in rings(64, small) {
                let wide = rings(64, large)[0].clone();
                let (q, p) = (small.table(0), wide.modulus(0));
                let a = sample::uniform(&small, &mut rng);
                let wide = sample::uniform(&wide, &mut rng);
                let mut reduced = vec![0; 64];
                q.reduce_centered(&mut reduced, wide.limb(0), p);
                let mut sum = a.limb(0).to_vec();
                q.add_assign(&mut sum, &reduced);
                let mut product = vec![0; 64];
                q.sum_of_products(&mut product, &vec![(a.limb(0), &sum[..]); 130]);
                let mut scaled = reduced.clone();
                let factor = q.modulus().value() - 5;
                q.add_scaled_difference(&mut scaled, &sum, wide.limb(0), p, factor);
                let q = q.modulus();
                for i in 0..64 {
                    let lifted = q.from_i64(p.center(wide.limb(0)[i]));
                    assert_eq!(reduced[i], lifted);
                    assert_eq!(sum[i], q.add(a.limb(0)[i], lifted));
                    assert_eq!(product[i], q.mul(q.mul(a.limb(0)[i], sum[i]), 130));
                    assert_eq!(scaled[i], q.mul_add(a.limb(0)[i], factor, lifted));
                }
            }
        }
    }
}
