//! Gaussian integers `a + b i` as polynomials: `X^(N/2)` is a square root of `-1` in the ring.
//!
//! At the root `psi^e` the polynomial `a + b X^(N/2)` has the value `a + b psi^(e N / 2)`.
//! `psi^(e N / 2)` depends on `e` modulo 4 only: it is `iota = psi^(N/2)` for `e = 1 mod 4` and
//! `-iota` for `e = 3 mod 4`. The roots of each kind fill one half of a polynomial in NTT form
//! ([`NttTable::exponents`](crate::NttTable::exponents)). A product by a Gaussian integer is thus
//! one product by a constant per half, and costs as much as a product by a real integer.

use crate::backend::{self, MAX_PRODUCTS, WeightedRows};
use crate::par::{self, CHEAP};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// Words of the rows that all sums of products read before the next ones: 256 KiB, which fit the
/// second-level cache.
const CACHED: usize = 1 << 15;

/// Smallest number of words for the kernels.
const LINE: usize = 8;

/// A Gaussian integer modulo each prime of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gaussian {
    /// For each prime, the values in the first and in the second half of the positions.
    values: Vec<[u64; 2]>,
}

impl Ring {
    /// `re + im i`.
    pub fn gaussian(&self, re: i128, im: i128) -> Gaussian {
        let value = |i| {
            let table = self.table(i);
            let q = table.modulus();
            let real = q.from_i128(re);
            // A real constant has the same value at every root.
            if im == 0 {
                return [real; 2];
            }
            // iota = psi^(N/2) at the first half of the positions, -iota at the second.
            let iota = q.pow(table.root(), self.degree() as u64 / 2);
            let imaginary = q.mul(q.from_i128(im), iota);
            [q.add(real, imaginary), q.sub(real, imaginary)]
        };
        Gaussian { values: (0..self.limbs()).map(value).collect() }
    }

    /// `a += c`.
    pub fn add_gaussian_assign(&self, a: &mut Poly<Ntt>, c: &Gaussian) {
        self.check_gaussian(c);
        self.each(a, CHEAP, |table, i, limb| {
            let q = table.modulus();
            // Each half has one constant.
            for (half, value) in limb.chunks_mut(self.degree() / 2).zip(c.values[i]) {
                half.iter_mut().for_each(|x| *x = q.add(*x, value));
            }
        });
    }

    /// The sums `sum_k c_k rows[i_k]` for lists of terms `(i_k, c_k)`: the product of a matrix of
    /// constants and a vector of rows. Rows may have more limbs than the ring; the additional limbs
    /// are not read. The rows pass through the cache once for all sums together.
    ///
    /// # Panics
    /// If degrees differ, if there are too few limbs, or if an index is out of range.
    pub fn gaussian_sums(
        &self,
        rows: &[&Poly<Ntt>],
        sums: &[Vec<(usize, Gaussian)>],
    ) -> Vec<Poly<Ntt>> {
        for row in rows {
            assert_eq!(row.degree(), self.degree(), "all rows must have the degree of the ring");
            assert!(row.limbs() >= self.limbs(), "every row needs a limb per prime");
        }
        sums.iter().flatten().for_each(|(_, weight)| self.check_gaussian(weight));
        let half = self.degree() / 2;
        // Step 1: the chunks. A chunk of all rows fits the cache, and a chunk lies in one half.
        let chunk = prev_power_of_two(CACHED / rows.len().max(1)).clamp(LINE, half.max(LINE));
        let mut results: Vec<Poly<Ntt>> = sums.iter().map(|_| self.zero()).collect();
        let limbs = par::by_limb(&mut results);
        let words = self.degree() * sums.len();
        par::each_with(limbs, words, CHEAP, Scratch::default, |scratch, i, mut outputs| {
            let table = self.table(i);
            for start in (0..self.degree()).step_by(chunk.min(half)) {
                let range = start..start + chunk.min(half);
                let side = usize::from(start >= half);
                // Step 2: every sum reads the chunk of the rows while it is in cache.
                for (out, terms) in outputs.iter_mut().zip(sums) {
                    let out = &mut out[range.clone()];
                    // At most as many products as an accumulator holds.
                    for (count, terms) in terms.chunks(MAX_PRODUCTS - 1).enumerate() {
                        let rows: Vec<&[u64]> =
                            terms.iter().map(|(k, _)| &rows[*k].limb(i)[range.clone()]).collect();
                        scratch.weights.clear();
                        scratch.weights.extend(terms.iter().map(|(_, c)| c.values[i][side]));
                        scratch.add_sum(table, out, &rows, count == 0);
                    }
                }
            }
        });
        results
    }

    fn check_gaussian(&self, c: &Gaussian) {
        assert_eq!(c.values.len(), self.limbs(), "the Gaussian integer must belong to this ring");
    }
}

/// Buffers of a thread.
#[derive(Default)]
struct Scratch {
    weights: Vec<u64>,
    partial: Vec<u64>,
}

impl Scratch {
    /// `out = sum_k weights_k rows_k` if `first`, else `out += sum_k weights_k rows_k`.
    fn add_sum(
        &mut self,
        table: &crate::ntt::NttTable,
        out: &mut [u64],
        rows: &[&[u64]],
        first: bool,
    ) {
        let q = table.modulus();
        if out.len() < LINE {
            for (j, x) in out.iter_mut().enumerate() {
                let products = rows.iter().zip(&self.weights).map(|(row, &w)| q.mul(row[j], w));
                *x = products.fold(*x, |sum, product| q.add(sum, product));
            }
            return;
        }
        let bits = vec![q.bits(); rows.len()];
        let sum = WeightedRows { rows, bits: &bits, weights: &self.weights, multiples: None };
        if first {
            backend::weighted_sum(table, out, sum);
            return;
        }
        // Further parts are computed apart and added.
        self.partial.resize(out.len(), 0);
        backend::weighted_sum(table, &mut self.partial, sum);
        backend::add_assign(table, out, &self.partial);
    }
}

/// The largest power of two that is at most `x`, or 1.
fn prev_power_of_two(x: usize) -> usize {
    1 << x.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::backend::Backend;
    use crate::ntt::NttTable;
    use crate::{prime, testing};

    /// All back ends that this CPU has.
    fn rings(degree: usize) -> Vec<Ring> {
        let moduli = prime::ntt_primes_below(degree, 45, 2, &[]).unwrap();
        let ring = |backend: Backend| {
            let tables: crate::error::Result<Vec<_>> = moduli
                .iter()
                .map(|&q| NttTable::with_backend(degree, q, backend).map(Arc::new))
                .collect();
            Ring::from_tables(degree, tables.ok()?).ok()
        };
        Backend::ALL.into_iter().filter_map(ring).collect()
    }

    /// `re + im X^(N/2)` by its coefficients.
    fn polynomial(ring: &Ring, re: i128, im: i128) -> Poly<Ntt> {
        let mut coefficients = vec![0; ring.degree()];
        (coefficients[0], coefficients[ring.degree() / 2]) = (re, im);
        ring.forward(ring.from_signed_wide(&coefficients))
    }

    /// `a *= c`, one value of `c` for each half of a limb.
    fn mul_assign(ring: &Ring, a: &mut Poly<Ntt>, c: &Gaussian) {
        for (i, values) in c.values.iter().enumerate() {
            for (half, &value) in a.limb_mut(i).chunks_mut(ring.degree() / 2).zip(values) {
                half.iter_mut().for_each(|x| *x = ring.modulus(i).mul(*x, value));
            }
        }
    }

    #[test]
    fn constants_are_the_polynomials_that_they_stand_for() {
        for degree in [8, 16, 64, 128, 256, 1024] {
            for ring in rings(degree) {
                for (re, im) in [(0, 1), (3, -5), (-(1i128 << 100), 1i128 << 90), (7, 0)] {
                    let (c, p) = (ring.gaussian(re, im), polynomial(&ring, re, im));
                    let a: Poly<Ntt> = testing::values(&ring, 3);
                    let (mut sum, mut expected) = (a.clone(), a.clone());
                    ring.add_gaussian_assign(&mut sum, &c);
                    ring.add_assign(&mut expected, &p);
                    assert_eq!(sum, expected, "degree {degree}: sum with {re} + {im} i");
                    let (mut product, mut expected) = (a.clone(), a);
                    mul_assign(&ring, &mut product, &c);
                    ring.mul_assign(&mut expected, &p);
                    assert_eq!(product, expected, "degree {degree}: product by {re} + {im} i");
                }
            }
        }
    }

    #[test]
    fn sums_are_sums_of_products() {
        for (degree, count) in [(8, 3), (64, 5), (256, 130), (4096, 20)] {
            for ring in rings(degree) {
                let rows: Vec<Poly<Ntt>> =
                    (0..count).map(|k| testing::values(&ring, 100 + k as u64)).collect();
                let rows: Vec<&Poly<Ntt>> = rows.iter().collect();
                // All rows, every third one, and none.
                let term = |k: usize| {
                    let re = (k as i128 + 1) << (k % 60);
                    (k, ring.gaussian(re, -3 * k as i128))
                };
                let sums: Vec<Vec<_>> = vec![
                    (0..count).map(term).collect(),
                    (0..count).step_by(3).map(term).collect(),
                    vec![],
                ];
                let found = ring.gaussian_sums(&rows, &sums);
                for (found, terms) in found.iter().zip(&sums) {
                    let mut expected = ring.zero();
                    for (k, c) in terms {
                        let mut product = rows[*k].clone();
                        mul_assign(&ring, &mut product, c);
                        ring.add_assign(&mut expected, &product);
                    }
                    assert_eq!(found, &expected, "degree {degree}, {} terms", terms.len());
                }
                // A view of fewer primes reads the first limbs of the rows.
                let low = ring.at_limbs(1);
                let sums = vec![vec![(0, low.gaussian(2, 1))]];
                let mut expected = rows[0].limb_range(0..1);
                mul_assign(&low, &mut expected, &low.gaussian(2, 1));
                assert_eq!(low.gaussian_sums(&rows, &sums), [expected]);
            }
        }
    }
}
