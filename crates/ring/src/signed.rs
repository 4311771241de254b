//! Polynomials with small signed coefficients: secrets and errors, and what is made of them limb by
//! limb.

use zeroize::Zeroizing;

use crate::{
    Modulus, Ntt, Poly, Ring,
    aligned::AlignedVec,
    backend::{self, Blocks, Layout, Piece, RowKind, Target},
    par::{self, HEAVY},
};

/// Small coefficients, ready to be transformed modulo any prime of a ring.
struct Signed<'a> {
    coefficients: &'a [i64],
    /// [Blocks](Layout) of residues modulo a prime of the ring that stand for the integers, and its
    /// place; none if the integers are too large for all of them.
    blocks: Option<(usize, Zeroizing<AlignedVec>)>,
}

/// A sum of products of small polynomials with others, and a small polynomial.
#[derive(Clone)]
pub struct SmallSum<'a> {
    /// The coefficients of the polynomial that is added.
    pub addend: &'a [i64],
    /// By what each of the small factors is multiplied.
    pub multiples: Vec<&'a Poly<Ntt>>,
}

/// Shape only: what is added is secret.
impl std::fmt::Debug for SmallSum<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SmallSum of {} products", self.multiples.len())
    }
}

impl Ring {
    /// The values of the polynomial with the given small signed coefficients, `N` of them: as
    /// [`from_signed`](Self::from_signed) and [`forward`](Self::forward), without a pass of its own
    /// for the residues. Constant time for coefficients below a power of two that is
    /// at most half of the smallest prime of the ring.
    pub fn forward_signed(&self, coefficients: &[i64]) -> Poly<Ntt> {
        let signed = self.signed(coefficients);
        let mut poly = self.unset();
        self.each(&mut poly, HEAVY, |_, i, limb| self.write_signed(&signed, i, limb));
        poly
    }

    /// `addend + sum_j factors_j multiples_j` for every sum, limb by limb: the factors, which are
    /// given by their signed coefficients, are nowhere stored as a whole. Limb `i` of the results is
    /// made of limb `select(i)` of the multiples, whose residues belong to the same prime. Constant
    /// time as [`forward_signed`](Self::forward_signed).
    ///
    /// # Panics
    /// Unless every sum has one multiple for each factor, of this degree and with the limbs that
    /// `select` asks for, and all have `N` coefficients.
    pub fn sums_of_small_products(
        &self,
        factors: &[&[i64]],
        sums: &[SmallSum],
        select: impl Fn(usize) -> usize + Sync + Send,
    ) -> Vec<Poly<Ntt>> {
        let one_for_each = |sum: &SmallSum| sum.multiples.len() == factors.len();
        assert!(sums.iter().all(one_for_each), "a multiple for each factor");
        let n = self.degree();
        // Before anything secret is written where a panic would leave it.
        let most = (0..self.limbs()).map(&select).max().unwrap_or(0);
        let fits = |multiple: &Poly<Ntt>| multiple.degree() == n && most < multiple.limbs();
        let multiples = sums.iter().flat_map(|sum| &sum.multiples);
        assert!(multiples.copied().all(fits), "multiples of the ring's degree and limbs");
        let factors: Vec<_> = factors.iter().map(|factor| self.signed(factor)).collect();
        let addends: Vec<_> = sums.iter().map(|sum| self.signed(sum.addend)).collect();
        let mut results: Vec<Poly<Ntt>> = sums.iter().map(|_| self.unset()).collect();
        par::each_with(
            par::by_limb(&mut results),
            n * sums.len(),
            HEAVY,
            || Zeroizing::new(self.scratch(factors.len() * n)),
            |values, i, limbs| {
                for (factor, values) in factors.iter().zip(values.chunks_mut(n)) {
                    self.write_signed(factor, i, values);
                }
                for ((limb, sum), addend) in limbs.into_iter().zip(sums).zip(&addends) {
                    self.write_signed(addend, i, limb);
                    for (values, multiple) in values.chunks(n).zip(&sum.multiples) {
                        let multiple = multiple.limb(select(i));
                        backend::mul_add_assign(self.table(i), limb, values, multiple);
                    }
                }
            },
        );
        results
    }

    fn signed<'a>(&self, coefficients: &'a [i64]) -> Signed<'a> {
        assert_eq!(coefficients.len(), self.degree(), "one coefficient per power of X");
        let largest = coefficients.iter().fold(0, |m, &x| m | x.unsigned_abs());
        // Residues modulo one prime stand for the integers; the smallest is the cheapest to read.
        let fits = |&i: &usize| largest < self.modulus(i).value() / 2;
        let base = (0..self.limbs()).filter(fits).min_by_key(|&i| self.modulus(i).value());
        let blocks = base.map(|base| {
            let layout = Layout::new(self.degree(), 1);
            let mut row = Zeroizing::new(self.scratch(self.degree()));
            write_residues(self.modulus(base), coefficients, &mut row);
            let mut blocks = Zeroizing::new(self.scratch(layout.len()));
            backend::copy_to_parts(&row, &mut layout.parts_of_rows(&mut blocks)[0]);
            (base, blocks)
        });
        Signed { coefficients, blocks }
    }

    /// Limb `i` in NTT form.
    fn write_signed(&self, signed: &Signed, i: usize, limb: &mut [u64]) {
        let table = self.table(i);
        let Some((base, blocks)) = &signed.blocks else {
            for (x, &c) in limb.iter_mut().zip(signed.coefficients) {
                *x = table.modulus().from_i64(c);
            }
            return table.forward(limb);
        };
        if i == *base {
            write_residues(table.modulus(), signed.coefficients, limb);
            return table.forward(limb);
        }
        let blocks = Blocks { data: blocks, layout: Layout::new(self.degree(), 1) };
        let target = Target { table, weights: &[], out: &mut *limb };
        backend::forward_outer(&mut [target], blocks, RowKind::One(self.modulus(*base)));
        for (i, piece) in limb.chunks_mut(backend::piece_words(table)).enumerate() {
            backend::forward_piece(table, piece, Piece::reduced(i));
        }
    }
}

/// Residues of integers that are smaller than the modulus.
fn write_residues(p: &Modulus, coefficients: &[i64], out: &mut [u64]) {
    for (x, &c) in out.iter_mut().zip(coefficients) {
        *x = (c as u64).wrapping_add(p.value() & (c >> 63) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;

    #[test]
    fn sums_of_small_products_are_those_of_whole_polynomials() {
        for (degree, size) in [(16, 4), (256, 1 << 29), (256, 1 << 61), (1 << 13, 4)] {
            let moduli =
                [30, 45, 60].map(|b| prime::ntt_primes_below(degree, b, 1, &[]).unwrap()[0]);
            let ring = Ring::new(degree, &moduli).unwrap();
            let signed = |seed: i64| -> Vec<i64> {
                (0..degree as i64).map(|i| (seed * i * i % 7 - 3) * (size / 4)).collect()
            };
            // The multiples have the primes in reverse.
            let reversed = Ring::new(degree, &[moduli[2], moduli[1], moduli[0]]).unwrap();
            let values =
                |seed| (ring.forward_signed(&signed(seed)), reversed.forward_signed(&signed(seed)));
            let mut factors = vec![];
            for count in 0..3 {
                let sums: Vec<_> = (10..12).map(|seed| (signed(seed), values(seed + 9))).collect();
                let small: Vec<_> = sums
                    .iter()
                    .map(|(addend, (_, multiple))| SmallSum {
                        addend,
                        multiples: vec![multiple; count],
                    })
                    .collect();
                let given: Vec<&[i64]> = factors.iter().map(|f: &Vec<i64>| &f[..]).collect();
                let found = ring.sums_of_small_products(&given, &small, |i| 2 - i);
                for ((addend, (multiple, _)), found) in sums.iter().zip(found) {
                    let mut expected = ring.forward(ring.from_signed(addend));
                    for factor in &factors {
                        let factor = ring.forward(ring.from_signed(factor));
                        ring.mul_add_assign(&mut expected, &factor, multiple);
                    }
                    assert!(found == expected, "degree {degree}, {count} factors");
                }
                factors.push(signed(count as i64 + 1));
            }
        }
    }
}
