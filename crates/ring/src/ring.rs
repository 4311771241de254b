//! `R_Q = Z_Q[X] / (X^N + 1)` for a product `Q` of distinct primes, and its arithmetic.

use std::{ops::Range, sync::Arc};

use num_bigint::{BigInt, BigUint};

use crate::aligned::{AlignedVec, Pool};
use crate::backend;
use crate::error::ensure;
use crate::error::{self, Result};
use crate::modulus::Modulus;
use crate::ntt::NttTable;
use crate::ntt::roots::Roots;
use crate::par::{self, CHEAP, HEAVY};
use crate::poly::{Coeff, Domain, Ntt, Poly};

/// An ordered list of primes with their NTT tables for one degree `N`.
///
/// The tables are shared behind an `Arc`. [`at_limbs`](Self::at_limbs) (the ring of a lower level)
/// and [`slice`](Self::slice) are views without copies. All operations on polynomials expect as
/// many limbs as the ring has, with residues in `[0, q)`, and return the same.
///
/// # Panics
/// Every operation panics if a polynomial has another degree or number of limbs than the ring. The
/// crates above check their inputs first.
#[derive(Debug, Clone)]
pub struct Ring {
    degree: usize,
    tables: Arc<[Arc<NttTable>]>,
    range: Range<usize>,
    /// The pool of buffers for polynomials of this ring.
    pool: Pool,
}

impl Ring {
    /// The ring of degree `degree` modulo the product of `moduli`, which must be distinct primes
    /// with `q = 1 mod 2 * degree`.
    pub fn new(degree: usize, moduli: &[Modulus]) -> Result<Self> {
        let tables: Result<Vec<_>> = moduli.iter().map(|&q| NttTable::new(degree, q)).collect();
        let mut tables = tables?;
        // The roots of all primes go to one allocation: a key switch reads them all.
        let roots = tables.iter_mut().flat_map(|t| [&mut t.forward_roots, &mut t.inverse_roots]);
        Roots::gather(roots);
        Self::from_tables(degree, tables.into_iter().map(Arc::new).collect())
    }

    /// As [`new`](Self::new), from existing tables, for example tables of a forced back end.
    pub(crate) fn from_tables(degree: usize, tables: Vec<Arc<NttTable>>) -> Result<Self> {
        // Tables of the same degree and of distinct primes.
        for (i, table) in tables.iter().enumerate() {
            if table.degree() != degree {
                let reason = format!("a table of degree {}, not {degree}", table.degree());
                return Err(error::basis(reason));
            }
            if tables[..i].iter().any(|other| other.modulus() == table.modulus()) {
                let reason = format!("the prime {} occurs twice", table.modulus().value());
                return Err(error::basis(reason));
            }
        }
        ensure(!tables.is_empty(), || error::basis("no primes".into()))?;
        let pool = Pool::default();
        Ok(Self { degree, range: 0..tables.len(), tables: tables.into(), pool })
    }

    /// The degree `N`.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The number of primes.
    pub fn limbs(&self) -> usize {
        self.range.len()
    }

    /// The table of the `i`-th prime.
    pub fn table(&self, i: usize) -> &NttTable {
        &self.tables[self.range.clone()][i]
    }

    /// The `i`-th prime.
    pub fn modulus(&self, i: usize) -> &Modulus {
        self.table(i).modulus()
    }

    /// The primes in order.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = &Modulus> {
        self.tables[self.range.clone()].iter().map(|t| t.modulus())
    }

    /// `log2(Q)`.
    pub fn log2_modulus(&self) -> f64 {
        self.moduli().map(Modulus::log2).sum()
    }

    /// `Q`.
    pub fn big_modulus(&self) -> BigUint {
        self.moduli().map(|q| BigUint::from(q.value())).product()
    }

    /// The ring modulo the first `limbs` primes.
    pub fn at_limbs(&self, limbs: usize) -> Self {
        self.slice(0..limbs)
    }

    /// The ring modulo the primes in `range`.
    pub fn slice(&self, range: Range<usize>) -> Self {
        // A view: tables and pool are shared.
        assert!(
            range.start < range.end && range.end <= self.limbs(),
            "the range must be non-empty and within the ring"
        );
        let range = self.range.start + range.start..self.range.start + range.end;
        let (tables, pool) = (self.tables.clone(), self.pool.clone());
        Self { degree: self.degree, tables, range, pool }
    }

    /// The ring modulo the primes of `self` followed by those of `other`.
    pub fn join(&self, other: &Self) -> Result<Self> {
        let own = &self.tables[self.range.clone()];
        let more = &other.tables[other.range.clone()];
        // `from_tables` refuses a prime that is in both rings.
        let joined = Self::from_tables(self.degree, own.iter().chain(more).cloned().collect())?;
        Ok(Self { pool: self.pool.clone(), ..joined })
    }

    /// Reserves memory for `polynomials` polynomials until the ring and all its views are dropped.
    /// Missing memory is allocated and touched now instead of during a later computation. A ring
    /// keeps at most 1 GiB.
    pub fn reserve(&self, polynomials: usize) {
        self.pool.reserve(self.degree * self.limbs(), polynomials);
    }

    /// The zero polynomial.
    pub fn zero<D: Domain>(&self) -> Poly<D> {
        Poly::over(self.pool.zeroed(self.degree * self.limbs()), self.degree)
    }

    /// An uninitialized polynomial, for a caller that writes all of it.
    pub(crate) fn uninit<D: Domain>(&self) -> Poly<D> {
        Poly::over(self.scratch(self.limbs() * self.degree), self.degree)
    }

    /// Uninitialized words.
    pub(crate) fn scratch(&self, words: usize) -> AlignedVec {
        self.pool.uninit(words)
    }

    /// The polynomial with the `N` given signed coefficients.
    pub fn from_signed(&self, coefficients: &[i64]) -> Poly<Coeff> {
        assert_eq!(coefficients.len(), self.degree, "need one coefficient per power of X");
        self.fill(|q, j| q.from_i64(coefficients[j]))
    }

    /// As [`from_signed`](Self::from_signed) for coefficients of up to 127 bits.
    pub fn from_signed_wide(&self, coefficients: &[i128]) -> Poly<Coeff> {
        assert_eq!(coefficients.len(), self.degree, "need one coefficient per power of X");
        self.fill(|q, j| q.from_i128(coefficients[j]))
    }

    fn fill(&self, f: impl Fn(&Modulus, usize) -> u64 + Sync + Send) -> Poly<Coeff> {
        let mut poly = self.uninit();
        par::each_limb(poly.data_mut(), self.degree, CHEAP, |i, limb| {
            // One modulus per limb, so limbs are independent.
            let q = self.modulus(i);
            limb.iter_mut().enumerate().for_each(|(j, x)| *x = f(q, j));
        });
        poly
    }

    /// Forward NTT, in place.
    pub fn forward(&self, mut a: Poly<Coeff>) -> Poly<Ntt> {
        self.each(&mut a, HEAVY, |table, _, limb| table.forward(limb));
        a.relabel()
    }

    /// Inverse NTT, in place.
    pub fn inverse(&self, mut a: Poly<Ntt>) -> Poly<Coeff> {
        self.each(&mut a, HEAVY, |table, _, limb| table.inverse(limb));
        a.relabel()
    }

    /// `a += b`.
    pub fn add_assign<D: Domain>(&self, a: &mut Poly<D>, b: &Poly<D>) {
        self.check(b);
        self.each(a, CHEAP, |table, i, limb| backend::add_assign(table, limb, b.limb(i)));
    }

    /// `a -= b`.
    pub fn sub_assign<D: Domain>(&self, a: &mut Poly<D>, b: &Poly<D>) {
        self.check(b);
        self.each(a, CHEAP, |table, i, limb| backend::sub_assign(table, limb, b.limb(i)));
    }

    /// `a = -a`.
    pub fn neg_assign<D: Domain>(&self, a: &mut Poly<D>) {
        self.each(a, CHEAP, |table, _, limb| {
            backend::neg_assign(table, limb);
        });
    }

    /// `a *= b`.
    pub fn mul_assign(&self, a: &mut Poly<Ntt>, b: &Poly<Ntt>) {
        self.check(b);
        self.each(a, CHEAP, |table, i, limb| backend::mul_assign(table, limb, b.limb(i)));
    }

    /// `acc += a b`.
    pub fn mul_add_assign(&self, acc: &mut Poly<Ntt>, a: &Poly<Ntt>, b: &Poly<Ntt>) {
        self.check(a);
        self.check(b);
        self.each(acc, CHEAP, |table, i, limb| {
            backend::mul_add_assign(table, limb, a.limb(i), b.limb(i));
        });
    }

    /// `sum_i a_i b_i`, with one reduction per 63 products (per 15 with 52-bit words).
    pub fn sum_of_products(&self, pairs: &[(&Poly<Ntt>, &Poly<Ntt>)]) -> Poly<Ntt> {
        pairs.iter().flat_map(|(a, b)| [a, b]).for_each(|a| self.check(a));
        // An empty sum is zero; otherwise the first chunk overwrites the limb.
        let mut sum = if pairs.is_empty() { self.zero() } else { self.uninit() };
        self.each(&mut sum, CHEAP, |table, i, limb| {
            let limbs: Vec<_> = pairs.iter().map(|(a, b)| (a.limb(i), b.limb(i))).collect();
            let mut chunks = limbs.chunks(backend::MAX_PRODUCTS);
            if let Some(first) = chunks.next() {
                backend::sum_of_products(table, limb, first);
            }
            // Further chunks exceed the accumulator and are added as residues.
            for chunk in chunks {
                let mut partial = vec![0; limb.len()];
                backend::sum_of_products(table, &mut partial, chunk);
                backend::add_assign(table, limb, &partial);
            }
        });
        sum
    }

    /// Several [sums of products](Self::sum_of_products), limb by limb. A factor of several sums is
    /// read into the cache once. At most 63 products each.
    pub fn sums_of_products(&self, sums: &[&[(&Poly<Ntt>, &Poly<Ntt>)]]) -> Vec<Poly<Ntt>> {
        // Shapes first: a panic in a kernel would leave partial results.
        for pairs in sums {
            assert!(pairs.len() <= backend::MAX_PRODUCTS, "at most 63 products");
            pairs.iter().flat_map(|(a, b)| [a, b]).for_each(|a| self.check(a));
        }
        let mut results: Vec<Poly<Ntt>> = sums.iter().map(|_| self.uninit()).collect();
        let words = self.degree * sums.len();
        par::each_with(
            par::by_limb(&mut results),
            words,
            CHEAP,
            || (),
            |(), i, limbs| {
                // All sums of a limb before the next limb: shared factors stay in cache.
                for (out, pairs) in limbs.into_iter().zip(sums) {
                    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.limb(i), b.limb(i))).collect();
                    backend::sum_of_products(self.table(i), out, &pairs);
                }
            },
        );
        results
    }

    /// `a *= c` for a signed integer.
    pub fn mul_signed_assign<D: Domain>(&self, a: &mut Poly<D>, c: i64) {
        let residues: Vec<u64> = self.moduli().map(|q| q.from_i64(c)).collect();
        self.mul_residues_assign(a, &residues);
    }

    /// `a *= c` for an integer given by its residue in `[0, q_i)` modulo each prime.
    pub fn mul_residues_assign<D: Domain>(&self, a: &mut Poly<D>, residues: &[u64]) {
        assert_eq!(residues.len(), self.limbs(), "need one residue per prime");
        self.each(a, CHEAP, |table, i, limb| backend::mul_constant(table, limb, residues[i]));
    }

    /// `a X^k`, with `k` modulo `2N`.
    pub fn mul_monomial(&self, a: &Poly<Coeff>, k: usize) -> Poly<Coeff> {
        self.check(a);
        // X^N = -1: the coefficients that wrap around are negated, or the others if k >= N.
        let (shift, negative) = (k % self.degree, k / self.degree % 2 == 1);
        let mut product = self.uninit();
        self.each(&mut product, CHEAP, |table, i, limb| {
            // The first N - shift coefficients move up; the others wrap around.
            let (kept, wrapped) = a.limb(i).split_at(self.degree - shift);
            let (low, high) = limb.split_at_mut(shift);
            low.copy_from_slice(wrapped);
            high.copy_from_slice(kept);
            backend::neg_assign(table, if negative { high } else { low });
        });
        product
    }

    /// The coefficients as integers in `(-Q/2, Q/2]`, by the Chinese remainder theorem.
    pub fn centered(&self, a: &Poly<Coeff>) -> Vec<BigInt> {
        self.check(a);
        let big = self.big_modulus();
        // (Q / q) [(Q / q)^-1]_q for each prime, the inverse by Fermat's little theorem.
        let factors: Vec<BigUint> = self
            .moduli()
            .map(|q| {
                let hat = &big / q.value();
                let residue = (&hat % q.value()).iter_u64_digits().next().unwrap_or(0);
                hat * q.pow(residue, q.value() - 2)
            })
            .collect();
        let half = &big >> 1;
        (0..self.degree)
            .map(|j| {
                // x = sum_i factor_i x_i modulo Q, then its centred representative.
                let sum: BigUint = factors.iter().enumerate().map(|(i, f)| f * a.limb(i)[j]).sum();
                let value = sum % &big;
                if value > half {
                    BigInt::from(value) - BigInt::from(big.clone())
                } else {
                    value.into()
                }
            })
            .collect()
    }

    /// Calls `f(table, i, limb)` for each limb of `a`.
    pub(crate) fn each<D: Domain>(
        &self,
        a: &mut Poly<D>,
        threshold: usize,
        f: impl Fn(&NttTable, usize, &mut [u64]) + Sync + Send,
    ) {
        self.check(a);
        let degree = self.degree;
        par::each_limb(a.data_mut(), degree, threshold, |i, limb| f(self.table(i), i, limb));
    }

    pub(crate) fn check<D: Domain>(&self, a: &Poly<D>) {
        // Panics instead of returning an error: the crates above check their inputs.
        assert!(
            a.degree() == self.degree && a.limbs() == self.limbs(),
            "a polynomial of {} limbs x {} in a ring of {} limbs x {}",
            a.limbs(),
            a.degree(),
            self.limbs(),
            self.degree
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::{ErrorKind, refusal};
    use crate::{ntt::naive, prime};

    fn ring(degree: usize, limbs: usize) -> Ring {
        Ring::new(degree, &prime::ntt_primes_around(degree, 45, limbs, &[]).unwrap()).unwrap()
    }

    fn signed(degree: usize) -> impl Strategy<Value = Vec<i64>> {
        prop::collection::vec(prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>()], degree)
    }

    #[test]
    fn refuses_bases_that_are_none() {
        let q = prime::ntt_primes_around(8, 30, 1, &[]).unwrap()[0];
        assert!(matches!(refusal(&Ring::new(8, &[])).kind(), ErrorKind::Shape));
        assert!(matches!(refusal(&Ring::new(8, &[q, q])).kind(), ErrorKind::Shape));
        assert!(matches!(refusal(&ring(8, 2).join(&ring(16, 1))).kind(), ErrorKind::Shape));
        assert!(
            refusal(&ring(8, 1).automorphism(4))
                .is(&ErrorKind::Argument, "automorphism X -> X^4 does not exist: the")
        );
    }

    #[test]
    fn views_share_tables() {
        let r = ring(16, 4);
        let view = r.slice(1..4).at_limbs(2);
        assert_eq!(view.modulus(0), r.modulus(1));
        assert_eq!(view.limbs(), 2);
        assert_eq!(r.at_limbs(1).join(&r.slice(2..3)).unwrap().modulus(1), r.modulus(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn arithmetic_follows_the_integers(a in signed(16), b in signed(16), c: i64) {
            let r = ring(16, 3);
            let (x, y) = (r.from_signed(&a), r.from_signed(&b));
            let q = BigInt::from(r.big_modulus());
            let expect = |f: &dyn Fn(usize) -> BigInt| -> Vec<BigInt> {
                (0..16).map(|j| {
                    let v = ((f(j) % &q) + &q) % &q;
                    if v > (&q >> 1) { v - &q } else { v }
                }).collect()
            };
            prop_assert_eq!(r.centered(&x), expect(&|j| a[j].into()));
            let mut s = x.clone();
            r.add_assign(&mut s, &y);
            prop_assert_eq!(r.centered(&s), expect(&|j| BigInt::from(a[j]) + b[j]));
            let mut s = x.clone();
            r.sub_assign(&mut s, &y);
            prop_assert_eq!(r.centered(&s), expect(&|j| BigInt::from(a[j]) - b[j]));
            let mut s = x.clone();
            r.neg_assign(&mut s);
            r.mul_signed_assign(&mut s, c);
            prop_assert_eq!(r.centered(&s), expect(&|j| -BigInt::from(a[j]) * c));
            let wide: Vec<i128> = a.iter().zip(&b).map(|(&a, &b)| a as i128 * b as i128).collect();
            prop_assert_eq!(r.centered(&r.from_signed_wide(&wide)), expect(&|j| wide[j].into()));
        }

        #[test]
        fn signed_coefficients_transform_as_their_residues(
            a in signed(16),
            shift in 1u32..64,
        ) {
            let small: Vec<i64> = a.iter().map(|&x| x >> shift).collect();
            let two = |bits| prime::ntt_primes_below(16, bits, 2, &[]).unwrap();
            let (wide, narrow) = (two(60), two(45));
            for order in [[wide[0], narrow[0], narrow[1]], [narrow[0], wide[1], wide[0]]] {
                let r = Ring::new(16, &order).unwrap();
                prop_assert_eq!(r.forward_signed(&small), r.forward(r.from_signed(&small)));
            }
        }

        #[test]
        fn products_are_negacyclic(a in signed(16), b in signed(16)) {
            let r = ring(16, 2);
            let (x, y) = (r.from_signed(&a), r.from_signed(&b));
            let (u, v) = (r.forward(x.clone()), r.forward(y.clone()));
            let mut product = u.clone();
            r.mul_assign(&mut product, &v);
            // u v + u v + v v, the first two as accumulated products, the last added.
            let mut many = r.sum_of_products(&[(&u, &v), (&v, &u)]);
            r.mul_add_assign(&mut many, &v, &v);
            let sums = r.sums_of_products(&[&[(&u, &v)], &[(&u, &v), (&v, &u), (&v, &v)]]);
            prop_assert_eq!(&sums, &[product.clone(), many.clone()]);
            let (product, many) = (r.inverse(product), r.inverse(many));
            for i in 0..2 {
                let q = r.modulus(i);
                let expected = naive::negacyclic_product(q, x.limb(i), y.limb(i));
                prop_assert_eq!(product.limb(i), &expected[..]);
                let square = naive::negacyclic_product(q, y.limb(i), y.limb(i));
                let sum: Vec<u64> = expected.iter().zip(&square)
                    .map(|(&e, &s)| q.add(q.add(e, e), s)).collect();
                prop_assert_eq!(many.limb(i), &sum[..]);
            }
        }

        #[test]
        fn automorphisms_agree_in_both_domains(
            a in signed(32),
            half in 0usize..32,
            k in 0usize..64,
        ) {
            let r = ring(32, 2);
            let x = r.from_signed(&a);
            let map = r.automorphism(2 * half + 1).unwrap();
            let by_coefficients = r.apply_coeff(&x, &map);
            let by_values = r.inverse(r.apply_ntt(&r.forward(x.clone()), &map));
            prop_assert_eq!(&by_coefficients, &by_values);
            // X^k times X^(64 - k) is 1.
            let there = r.mul_monomial(&x, k);
            prop_assert_eq!(&r.mul_monomial(&there, 64 - k), &x);
            let mut one = vec![0; 32];
            one[0] = 1;
            let monomial = r.forward(r.mul_monomial(&r.from_signed(&one), k));
            let mut product = r.forward(x);
            r.mul_assign(&mut product, &monomial);
            prop_assert_eq!(r.inverse(product), there);
        }
    }
}
