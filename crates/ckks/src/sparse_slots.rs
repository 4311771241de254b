//! NTTs of sparsely packed vectors: polynomials in a power of `X`, by a small NTT and replication.
//!
//! A vector of `n` slots is a polynomial `p(Y)` of degree below `2n` in `Y = X^g`, `g = N / 2n`.
//! Its value at `psi^e` is `p((psi^g)^e)`. Therefore the large NTT consists of the `2n` values of
//! an NTT of degree `2n`, each `g` times. The root of the small table is `psi^g`
//! ([`NttTable::root`]), so the value at `psi^e` is the value of the small table at exponent `e`
//! modulo `4n`.

use std::sync::{Arc, OnceLock};

use bellerophon_ring::{Modulus, Ntt, NttTable, Poly, Ring, each_chunk};
use zeroize::{Zeroize, Zeroizing};

/// Number of words from which limbs are distributed over threads.
const PARALLEL: usize = 1 << 14;

/// Smallest degree that the NTT of the ring crate supports.
const MIN_DEGREE: usize = 8;

/// The small NTTs of every degree `8, 16, .. N / 2`, built on first use.
pub struct SparseTransforms {
    ring: Ring,
    by_degree: Vec<OnceLock<Vec<SmallTransform>>>,
}

/// Signed integer coefficients, in 64-bit words if they fit. Wiped on drop.
pub enum Coefficients {
    /// Magnitudes below `2^62`.
    Narrow(Zeroizing<Vec<i64>>),
    /// Magnitudes below `2^127`.
    Wide(Zeroizing<Vec<i128>>),
}

impl Coefficients {
    /// Number of coefficients.
    #[expect(clippy::len_without_is_empty, reason = "there is always a coefficient")]
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(c) => c.len(),
            Self::Wide(c) => c.len(),
        }
    }

    /// The same polynomial in a smaller power of `X`, as `length` coefficients with zeros in
    /// between.
    fn spread(&self, length: usize) -> Self {
        fn spread<T: Copy + Default + Zeroize>(c: &[T], length: usize) -> Zeroizing<Vec<T>> {
            let mut out = Zeroizing::new(vec![T::default(); length]);
            for (i, &x) in c.iter().enumerate() {
                out[i * (length / c.len())] = x;
            }
            out
        }
        match self {
            Self::Narrow(c) => Self::Narrow(spread(c, length)),
            Self::Wide(c) => Self::Wide(spread(c, length)),
        }
    }

    /// The `length` coefficients of the same polynomial, of magnitude below `2^62`.
    ///
    /// # Panics
    /// For coefficients that take two words.
    pub fn signed(&self, length: usize) -> Vec<i64> {
        let Self::Narrow(coefficients) = self.spread(length) else {
            panic!("coefficients of more than 62 bits");
        };
        coefficients.to_vec()
    }

    /// Writes the residues modulo one prime.
    fn write(&self, q: &Modulus, out: &mut [u64]) {
        match self {
            Self::Narrow(c) => {
                // Constant time in each coefficient: the only branch is on whether all magnitudes
                // are below the modulus.
                let largest = c.iter().fold(0, |m, &x| m | x.unsigned_abs());
                if largest < q.value() {
                    for (x, &c) in out.iter_mut().zip(&**c) {
                        *x = (c as u64).wrapping_add(q.value() & (c >> 63) as u64);
                    }
                } else {
                    out.iter_mut().zip(&**c).for_each(|(x, &c)| *x = q.from_i64(c));
                }
            }
            Self::Wide(c) => out.iter_mut().zip(&**c).for_each(|(x, &c)| *x = q.from_i128(c)),
        }
    }
}

/// Calls `f(i, limb)` for every limb, in parallel if several threads are available.
fn each_limb(data: &mut [u64], degree: usize, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
    if data.len() >= PARALLEL {
        return each_chunk(data, degree, f);
    }
    data.chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
}

/// The NTT of one degree modulo one prime.
struct SmallTransform {
    table: NttTable,
    /// Position `i` of the large NTT holds value `map[i]` of the small NTT. Primes share it.
    map: Arc<[u32]>,
}

impl SparseTransforms {
    /// Empty tables; each size is computed on first use.
    pub fn new(ring: &Ring) -> Self {
        let sizes = (ring.degree() / MIN_DEGREE).trailing_zeros() as usize;
        Self { ring: ring.clone(), by_degree: (0..sizes).map(|_| OnceLock::new()).collect() }
    }

    /// The NTT form, over the first `limbs` primes, of `sum_i c_i X^{g i}` with
    /// `g = N / coefficients.len()`; the length is a power of two up to `N`.
    pub fn forward(&self, coefficients: &Coefficients, limbs: usize) -> Poly<Ntt> {
        let degree = self.ring.degree();
        let length = coefficients.len();
        // Fewer coefficients than the smallest NTT: insert zeros.
        if length < MIN_DEGREE.min(degree) {
            return self.forward(&coefficients.spread(MIN_DEGREE), limbs);
        }
        // A full polynomial of words: the transform of the ring reduces and transforms in one pass.
        if let Coefficients::Narrow(coefficients) = coefficients
            && length == degree
        {
            return self.ring.at_limbs(limbs).forward_signed(coefficients);
        }
        let mut poly = self.ring.at_limbs(limbs).zero();
        self.prepare(length);
        each_limb(poly.data_mut(), degree, |i, limb| self.write(coefficients, i, 0, limb));
        poly
    }

    /// As [`forward`](Self::forward), over the first `limbs` primes and then all primes of
    /// `special`.
    pub fn forward_extended(
        &self,
        special: &Self,
        coefficients: Coefficients,
        limbs: usize,
    ) -> Poly<Ntt> {
        let degree = self.ring.degree();
        let mut poly = Poly::zero(degree, limbs + special.ring.limbs());
        let coefficients = self.prepare_extended(special, coefficients);
        let write = |i, limb: &mut [u64]| {
            self.write_extended(special, &coefficients, limbs, i, limb);
        };
        each_limb(poly.data_mut(), degree, write);
        poly
    }

    /// As [`prepared`](Self::prepared), for [`write_extended`](Self::write_extended).
    pub fn prepare_extended(&self, special: &Self, coefficients: Coefficients) -> Coefficients {
        special.prepared(self.prepared(coefficients))
    }

    /// Builds the tables for [`write`](Self::write), and returns the coefficients in the form that
    /// it takes.
    pub fn prepared(&self, coefficients: Coefficients) -> Coefficients {
        let coefficients = match coefficients.len() < MIN_DEGREE.min(self.ring.degree()) {
            true => coefficients.spread(MIN_DEGREE),
            false => coefficients,
        };
        self.prepare(coefficients.len());
        coefficients
    }

    /// Limb `i` of [`forward_extended`](Self::forward_extended), or the first line of each of its
    /// tiles of 64 words.
    pub fn write_extended(
        &self,
        special: &Self,
        coefficients: &Coefficients,
        limbs: usize,
        i: usize,
        limb: &mut [u64],
    ) {
        match i.checked_sub(limbs) {
            None => self.write(coefficients, i, 0, limb),
            Some(i) => special.write(coefficients, i, 0, limb),
        }
    }

    /// Builds the tables of a degree, before several threads use them.
    fn prepare(&self, length: usize) {
        if length < self.ring.degree() {
            self.transforms(length);
        }
    }

    /// Limb `i` of [`forward`](Self::forward); or the first line (8 words) of each of its tiles (64
    /// words), from the tile at position `first` on. The two cases differ in the length of `limb`.
    pub fn write(&self, coefficients: &Coefficients, i: usize, first: usize, limb: &mut [u64]) {
        let length = coefficients.len();
        // A full polynomial has no replication.
        if length == self.ring.degree() {
            let table = self.ring.table(i);
            coefficients.write(table.modulus(), limb);
            table.forward(limb);
            return;
        }

        // Step 1: the small NTT.
        let SmallTransform { table, map } = &self.transforms(length)[i];
        let mut values = Zeroizing::new(vec![0; length]);
        coefficients.write(table.modulus(), &mut values);
        table.forward(&mut values);

        // Step 2: replicate, one line at a time.
        let (lines, tiles) = (map.as_chunks::<8>().0, map.as_chunks::<64>().0);
        let copy = |(line, sources): (&mut [u64; 8], &[u32])| {
            for (x, &source) in line.iter_mut().zip(sources) {
                *x = values[source as usize];
            }
        };
        let by_tile = limb.len() < map.len();
        let limb = limb.as_chunks_mut().0.iter_mut();
        match by_tile {
            true => limb.zip(tiles[first / 64..].iter().map(|tile| &tile[..8])).for_each(copy),
            false => limb.zip(lines.iter().map(|line| &line[..])).for_each(copy),
        }
    }

    /// The table of one degree and one prime, and for each position of the large NTT the position
    /// in the small one. The positions are empty for the largest degree, where they are the
    /// identity.
    pub fn transform(&self, degree: usize, limb: usize) -> (&NttTable, &[u32]) {
        if degree == self.ring.degree() {
            return (self.ring.table(limb), &[]);
        }
        let SmallTransform { table, map } = &self.transforms(degree)[limb];
        (table, map)
    }

    fn transforms(&self, degree: usize) -> &[SmallTransform] {
        let index = (degree / MIN_DEGREE).trailing_zeros() as usize;
        self.by_degree[index].get_or_init(|| {
            let mut small: Vec<SmallTransform> = Vec::with_capacity(self.ring.limbs());
            for i in 0..self.ring.limbs() {
                let large = self.ring.table(i);
                // The order of the values depends on the back end alone.
                let alike = |&k: &usize| self.ring.table(k).exponents() == large.exponents();
                let before = i.checked_sub(1).filter(alike).map(|k| small[k].map.clone());
                small.push(SmallTransform::new(large, degree, before));
            }
            small
        })
    }
}

impl SmallTransform {
    /// For the positions `before` of a table with the same order of values, if there is one.
    fn new(large: &NttTable, degree: usize, before: Option<Arc<[u32]>>) -> Self {
        let q = *large.modulus();
        let table = NttTable::new(degree, q).expect("a prime 1 mod 2N is 1 mod every divisor");
        let order = 2 * degree;
        // psi^g is the root of the small table, so exponents modulo the order match.
        debug_assert_eq!(q.pow(large.root(), (large.degree() / degree) as u64), table.root());
        let map = before.unwrap_or_else(|| {
            let mut position = vec![0u32; order];
            for (i, &e) in table.exponents().iter().enumerate() {
                position[e as usize] = i as u32;
            }
            large.exponents().iter().map(|&e| position[e as usize % order]).collect()
        });
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
            for wide in [1i128, 1 << 40, 1 << 70] {
                let mut c: Vec<i128> = (0..n).map(|i| (i as i128 * 97 - 1000) * wide).collect();
                c[0] = -wide;
                let mut spread = vec![0; degree];
                for (i, &x) in c.iter().enumerate() {
                    spread[i * degree / n] = x;
                }
                for limbs in 1..=3 {
                    let part = ring.at_limbs(limbs);
                    let expected = part.forward(part.from_signed_wide(&spread));
                    let narrow: Result<Vec<i64>, _> = c.iter().map(|&x| x.try_into()).collect();
                    if let Ok(narrow) = narrow {
                        let narrow = Coefficients::Narrow(narrow.into());
                        assert!(sparse.forward(&narrow, limbs) == expected, "{n} words");
                    }
                    let wide = Coefficients::Wide(c.clone().into());
                    assert!(sparse.forward(&wide, limbs) == expected, "{n} coefficients");
                }
            }
        }
    }

    #[test]
    fn small_transforms_say_where_their_values_stand() {
        let degree = 64;
        let primes = prime::ntt_primes_below(degree, 30, 2, &[]).unwrap();
        let ring = Ring::new(degree, &primes).unwrap();
        let sparse = SparseTransforms::new(&ring);
        for small in [8usize, 16, 32, 64] {
            let c: Vec<i64> = (0..small as i64).map(|i| i * i - 7).collect();
            let expected = sparse.forward(&Coefficients::Narrow(c.clone().into()), 2);
            for limb in 0..2 {
                let (table, positions) = sparse.transform(small, limb);
                let mut values: Vec<u64> = c.iter().map(|&x| table.modulus().from_i64(x)).collect();
                table.forward(&mut values);
                for (i, &x) in expected.limb(limb).iter().enumerate() {
                    let source = positions.get(i).map_or(i, |&position| position as usize);
                    assert_eq!(x, values[source]);
                }
                assert_eq!(positions.is_empty(), small == degree);
            }
        }
    }
}
