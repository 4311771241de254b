//! The product that rotates an accumulator by a secret ternary coefficient: the inner loop of blind
//! rotation.

use crate::backend;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;

impl MonomialTable {
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
        assert!(self.degree() == n, "the monomials must have the degree of the table");
        backend::ternary_product(table, self, k, digits, key, out);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::backend::Backend;
    use crate::modulus::Modulus;
    use crate::poly::{Ntt, Poly};
    use crate::ring::Ring;
    use crate::{prime, sample};

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
    fn ternary_product_is_its_definition_on_all_back_ends() {
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
