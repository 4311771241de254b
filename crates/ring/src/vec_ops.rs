//! Operations on single limbs, for loops that own their buffers and must not allocate.
//!
//! Slices have `N` words unless stated otherwise, with residues in `[0, q)`. [`crate::Ring`] has
//! the same operations on whole polynomials.

use crate::backend;
use crate::gadget::DigitGadget;
use crate::modulus::Modulus;
use crate::ntt::NttTable;

impl NttTable {
    /// `a += b`.
    pub fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        self.check_limbs(a, b);
        backend::add_assign(self, a, b);
    }

    /// `out = sum_i a_i b_i`, pointwise.
    pub fn sum_of_products(&self, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
        pairs.iter().for_each(|(a, b)| self.check_limbs(a, b));
        self.check_limbs(out, out);
        let (first, rest) = pairs.split_at(pairs.len().min(backend::MAX_PRODUCTS));
        backend::sum_of_products(self, out, first);
        if !rest.is_empty() {
            let mut partial = vec![0; out.len()];
            for chunk in rest.chunks(backend::MAX_PRODUCTS) {
                backend::sum_of_products(self, &mut partial, chunk);
                backend::add_assign(self, out, &partial);
            }
        }
    }

    /// As [`sum_of_products`](Self::sum_of_products), on the same part of every vector, so that
    /// loops can stay in cache. At most 63 pairs.
    ///
    /// # Panics
    /// If the slices differ in length, or are not a multiple of eight words.
    pub fn sum_of_partial_products(&self, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
        let fits = |a: &[u64]| a.len() == out.len() && a.len().is_multiple_of(8);
        assert!(
            fits(out) && pairs.iter().all(|(a, b)| fits(a) && fits(b)),
            "the slices must have one length, a multiple of eight words"
        );
        assert!(pairs.len() <= backend::MAX_PRODUCTS, "at most 63 pairs");
        backend::sum_of_products(self, out, pairs);
    }

    /// `acc += (a - [b]) w`, where `b` holds residues of another prime `p`, centred (`[b]` in
    /// `[-(p - 1) / 2, (p - 1) / 2]`), and `w` is a constant in `[0, q)`.
    ///
    /// With `w = p^-1` this adds the quotient by `p`, rounded, of the integer that is `a` modulo
    /// `q` and `b` modulo `p`.
    pub fn add_scaled_difference(
        &self,
        acc: &mut [u64],
        a: &[u64],
        b: &[u64],
        p: &Modulus,
        w: u64,
    ) {
        self.check_limbs(acc, a);
        self.check_limbs(a, b);
        assert!(w < self.modulus().value(), "the constant must be below q");
        backend::add_scaled_difference(self, acc, a, b, p, w);
    }

    /// `out = a mod q` for residues of another prime, centred first: `a` in `[0, p)` represents the
    /// integer in `[-(p - 1) / 2, (p - 1) / 2]`.
    pub fn reduce_centered(&self, out: &mut [u64], a: &[u64], p: &Modulus) {
        self.check_limbs(out, a);
        backend::reduce_centered(self, out, a, p.value());
    }

    /// The digits of `gadget` of each coefficient, on the back end of the table.
    ///
    /// # Panics
    /// Unless the gadget belongs to the prime of the table, `a` has `N` words, and `out` has `N`
    /// words per digit.
    pub fn signed_digits(&self, gadget: &DigitGadget, a: &[u64], out: &mut [u64]) {
        self.check_limbs(a, a);
        assert!(
            gadget.modulus() == self.modulus(),
            "the gadget must belong to the prime of the table"
        );
        assert_eq!(
            out.len(),
            a.len() * gadget.digits(),
            "the output must hold one row of words per digit"
        );
        backend::signed_digits(self, gadget, out, a);
    }

    fn check_limbs(&self, a: &[u64], b: &[u64]) {
        assert!(
            a.len() == self.degree() && b.len() == self.degree(),
            "limbs of {} and {} words for a table of degree {}",
            a.len(),
            b.len(),
            self.degree()
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::ntt::NttTable;
    use crate::prime;

    #[test]
    fn parts_of_product_sums_are_parts_of_the_whole() {
        for bits in [30, 49, 60] {
            let q = prime::ntt_primes_below(128, bits, 1, &[]).unwrap()[0];
            let table = NttTable::new(128, q).unwrap();
            let row = |seed: u64| -> Vec<u64> {
                (0..128).map(|i| q.reduce((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
            };
            let rows: Vec<(Vec<u64>, Vec<u64>)> = (0..63).map(|j| (row(j), row(99 * j))).collect();
            let mut whole = vec![0; 128];
            let pairs: Vec<_> = rows.iter().map(|(a, b)| (&a[..], &b[..])).collect();
            table.sum_of_products(&mut whole, &pairs);
            for range in [0..8, 8..48, 40..128] {
                let pairs: Vec<_> =
                    rows.iter().map(|(a, b)| (&a[range.clone()], &b[range.clone()])).collect();
                let mut part = vec![7; range.len()];
                table.sum_of_partial_products(&mut part, &pairs);
                assert_eq!(part, whole[range]);
            }
            let sum = |i: usize| rows.iter().fold(0, |sum, (a, b)| q.mul_add(a[i], b[i], sum));
            assert!((0..128).all(|i| whole[i] == sum(i)));
        }
    }
}
