//! Transforms of polynomials in a power of `X`, by a small NTT and replication.
//!
//! A vector of `n` slots is a polynomial `p(Y)` of degree below `2n` in `Y = X^g`, `g = N / 2n`.
//! Its value at `psi^e` is `p((psi^g)^e)`, so the large transform holds the `2n` values of a
//! transform of degree `2n`, each `g` times: the root of the small table is `psi^g`
//! ([`NttTable::root`]), so the value wanted at `psi^e` stands where the small table has the
//! exponent `e` modulo `4n`.

use std::sync::OnceLock;

use bellerophon_ring::{Coeff, Ntt, NttTable, Poly, Ring};

/// Smallest degree that the ring's transforms support.
const MIN_DEGREE: usize = 8;

/// The small transforms of every degree `8, 16, .. N / 2`, built when first used.
pub(crate) struct SparseTransforms {
    ring: Ring,
    by_degree: Vec<OnceLock<Vec<SmallTransform>>>,
}

/// The transform of one degree modulo one prime.
struct SmallTransform {
    table: NttTable,
    /// Position `i` of the large transform holds value `map[i]` of the small one.
    map: Vec<u32>,
}

impl SparseTransforms {
    pub(crate) fn new(ring: &Ring) -> Self {
        let sizes = (ring.degree() / MIN_DEGREE).trailing_zeros() as usize;
        Self { ring: ring.clone(), by_degree: (0..sizes).map(|_| OnceLock::new()).collect() }
    }

    /// The NTT form, over the first `limbs` primes, of `sum_i c_i X^{g i}` with
    /// `g = N / coefficients.len()`; the length is a power of two up to `N`.
    pub(crate) fn forward(&self, coefficients: &[i128], limbs: usize) -> Poly<Ntt> {
        let degree = self.ring.degree();
        let ring = self.ring.prefix(limbs);
        if coefficients.len() == degree {
            return ring.forward(self.coefficients(&ring, coefficients));
        }
        if coefficients.len() < MIN_DEGREE {
            let gap = MIN_DEGREE / coefficients.len();
            let mut spread = vec![0; MIN_DEGREE];
            for (i, &c) in coefficients.iter().enumerate() {
                spread[i * gap] = c;
            }
            return self.forward(&spread, limbs);
        }
        let small = self.transforms(coefficients.len());
        let mut poly = ring.zero();
        let mut values = vec![0; coefficients.len()];
        for (i, SmallTransform { table, map }) in small.iter().enumerate().take(limbs) {
            for (value, &c) in values.iter_mut().zip(coefficients) {
                *value = table.modulus().from_i128(c);
            }
            table.forward(&mut values);
            for (x, &source) in poly.limb_mut(i).iter_mut().zip(map) {
                *x = values[source as usize];
            }
        }
        poly
    }

    fn coefficients(&self, ring: &Ring, coefficients: &[i128]) -> Poly<Coeff> {
        // Word-sized arithmetic where it is enough: nearly always.
        let narrow: Option<Vec<i64>> =
            coefficients.iter().map(|&c| i64::try_from(c).ok()).collect();
        match narrow {
            Some(narrow) => ring.from_signed(&narrow),
            None => ring.from_signed_wide(coefficients),
        }
    }

    fn transforms(&self, degree: usize) -> &[SmallTransform] {
        let index = (degree / MIN_DEGREE).trailing_zeros() as usize;
        self.by_degree[index].get_or_init(|| {
            (0..self.ring.limbs())
                .map(|i| SmallTransform::new(self.ring.table(i), degree))
                .collect()
        })
    }
}

impl SmallTransform {
    fn new(large: &NttTable, degree: usize) -> Self {
        let q = *large.modulus();
        let table = NttTable::new(degree, q).expect("a prime 1 mod 2N is 1 mod every divisor");
        let order = 2 * degree;
        debug_assert_eq!(q.pow(large.root(), (large.degree() / degree) as u64), table.root());
        let mut position = vec![0u32; order];
        for (i, &e) in table.exponents().iter().enumerate() {
            position[e as usize] = i as u32;
        }
        let map = large.exponents().iter().map(|&e| position[e as usize % order]).collect();
        Self { table, map }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ring::prime;

    #[test]
    fn equals_the_large_transform() {
        let degree = 256;
        let mut primes = prime::ntt_primes_below(degree, 30, 2, &[]).unwrap();
        primes.extend(prime::ntt_primes_around(degree, 59, 1, &[]).unwrap());
        let ring = Ring::new(degree, &primes).unwrap();
        let sparse = SparseTransforms::new(&ring);
        for log in 0..=8 {
            let n = 1usize << log;
            for wide in [1i128, 1 << 70] {
                let c: Vec<i128> = (0..n).map(|i| (i as i128 * 97 - 1000) * wide).collect();
                let mut spread = vec![0; degree];
                for (i, &x) in c.iter().enumerate() {
                    spread[i * degree / n] = x;
                }
                for limbs in 1..=3 {
                    let part = ring.prefix(limbs);
                    let expected = part.forward(part.from_signed_wide(&spread));
                    assert!(sparse.forward(&c, limbs) == expected, "{n} coefficients");
                }
            }
        }
    }
}
