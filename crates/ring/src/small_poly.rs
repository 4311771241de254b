//! Polynomials with small signed coefficients (secrets and errors), and sums of their products,
//! computed limb by limb.

use zeroize::Zeroizing;

use crate::aligned::AlignedVec;
use crate::backend::{self, Blocks, Layout, Piece, QuotientTerms, RowKind, Target};
use crate::basis_extension::BaseConverter;
use crate::modulus::Modulus;
use crate::ntt::NttTable;
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::rescaling::rescale;
use crate::ring::Ring;

/// Signed coefficients, prepared for the transform modulo any prime of a ring.
struct Signed<'a> {
    coefficients: &'a [i64],
    /// The period, and the [blocks](Layout) of residues modulo the period that represent the
    /// integers. `None` if the integers are too large.
    blocks: Option<(u64, Zeroizing<AlignedVec>)>,
}

/// Periods of the residues that represent signed integers. Words of 52 bits are the cheapest to
/// read.
const PERIODS: [u64; 2] = [(1 << 52) - 1, (1 << 63) - 1];

/// A sum of products of small polynomials with others, plus a small polynomial.
#[derive(Clone)]
pub struct SmallProductSum<'a> {
    /// The coefficients of the polynomial to add.
    pub addend: &'a [i64],
    /// The multiplier of each small factor.
    pub multiples: Vec<&'a Poly<Ntt>>,
}

impl SmallProductSum<'_> {
    /// The products modulo one prime, from the NTT of the factors. `limb` is that of the multiples.
    fn products(&self, table: &NttTable, limb: usize, factors: &[u64], out: &mut [u64]) {
        let multiples = self.multiples.iter().map(|multiple| multiple.limb(limb));
        let pairs: Vec<_> = factors.chunks(table.degree()).zip(multiples).collect();
        let (first, rest) = pairs.split_at(pairs.len().min(backend::MAX_PRODUCTS));
        backend::sum_of_products(table, out, first);
        for (factor, multiple) in rest {
            backend::mul_add_assign(table, out, factor, multiple);
        }
    }

    /// The centred remainder modulo `p` of products and addend together, less the addend. Constant
    /// time.
    fn remainder_less_addend(&self, p: &Modulus, products: &[u64]) -> Zeroizing<Vec<i64>> {
        let half = (p.value() / 2) as i64;
        let taken = products.iter().zip(self.addend).map(|(&x, &e)| {
            let x = p.center(x);
            // Centre x + e once more, without a branch.
            let wraps = i64::from(x + e > half) - i64::from(x + e < -half);
            x - wraps * p.value() as i64
        });
        taken.collect::<Vec<_>>().into()
    }
}

/// Prints the shape only, since the addend is secret.
impl std::fmt::Debug for SmallProductSum<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SmallSum of {} products", self.multiples.len())
    }
}

impl Ring {
    /// The NTT of the polynomial with the `N` given signed coefficients:
    /// [`from_signed`](Self::from_signed) and [`forward`](Self::forward) in one pass. Constant time
    /// for coefficients below `2^51`.
    pub fn forward_signed(&self, coefficients: &[i64]) -> Poly<Ntt> {
        let signed = self.signed(coefficients);
        let mut poly = self.uninit();
        self.each(&mut poly, HEAVY, |_, i, limb| self.write_signed(&signed, i, limb));
        poly
    }

    /// `round((addend + sum_j factors_j multiples_j) / D)` for every sum, where `D` is the product
    /// of the last `count` primes of the ring. The results have the limbs of the other primes. The
    /// rounding error of each coefficient is in `[-1/2, 1/2]`.
    ///
    /// The factors are given by their signed coefficients; their NTT is never stored for all
    /// primes. Limb `i` of the sums uses limb `select(i)` of the multiples, which belongs to the
    /// same prime.
    ///
    /// For one prime, the usual case, an addend needs no transform of its own: the value subtracted
    /// before the division is the remainder of the sum less the addend.
    ///
    /// Constant time for factors and addends below `2^51`, and addends below a power of two that is
    /// at most half of the last prime. If that prime is above `2^51`, timing may show whether a
    /// remainder less its addend reaches `2^51`.
    ///
    /// # Panics
    /// Unless every sum has one multiple per factor, of this degree and with the limbs that
    /// `select` returns; unless all coefficient vectors have `N` entries; and unless `count` is at
    /// least one, below the number of primes of the ring, and at most the limit of [`rescale`].
    pub fn rescaled_sums_of_small_products(
        &self,
        factors: &[&[i64]],
        sums: &[SmallProductSum],
        count: usize,
        select: impl Fn(usize) -> usize + Sync + Send,
    ) -> Vec<Poly<Ntt>> {
        // Step 1: large addends, or several primes: compute the sums, then rescale.
        let dropped = 1..self.limbs().min(BaseConverter::MAX_SOURCES + 1);
        assert!(dropped.contains(&count), "need primes to divide by and primes to keep");
        let (n, last) = (self.degree(), self.limbs() - 1);
        let half = self.modulus(last).value() / 2;
        let fits = |sum: &SmallProductSum| magnitude(sum.addend) <= half;
        if count != 1 || !sums.iter().all(fits) {
            let sums = self.sums_of_small_products(factors, sums, select);
            return sums.into_iter().map(|sum| rescale(self, sum, count)).collect();
        }
        let kept = self.at_limbs(last);
        let factors = self.small_factors(factors, sums, &select);
        let p = self.modulus(last);
        // Step 2: the products modulo the last prime p, in coefficient form. The value to subtract
        // is the centred remainder of products + addend, less the addend.
        let mut values = Zeroizing::new(self.scratch(factors.len() * n));
        self.write_factors(&factors, last, &mut values);
        let mut row = Zeroizing::new(self.scratch(n));
        let taken: Vec<Zeroizing<Vec<i64>>> = sums
            .iter()
            .map(|sum| {
                sum.products(self.table(last), select(last), &values, &mut row);
                self.table(last).inverse(&mut row);
                sum.remainder_less_addend(p, &row)
            })
            .collect();
        // Step 3: for every other prime, (products - subtracted value) / p.
        let taken: Vec<Signed> = taken.iter().map(|taken| self.signed(taken)).collect();
        let mut results: Vec<Poly<Ntt>> = sums.iter().map(|_| kept.uninit()).collect();
        par::each_with(
            par::by_limb(&mut results),
            n * sums.len(),
            HEAVY,
            || Zeroizing::new(self.scratch((factors.len() + 2) * n)),
            |scratch, i, limbs| {
                let (values, rows) = scratch.split_at_mut(factors.len() * n);
                let (products_row, taken_row) = rows.split_at_mut(n);
                self.write_factors(&factors, i, values);
                // The primes are distinct, so the inverse exists.
                let inverse = self.modulus(i).inv(self.modulus(i).reduce(p.value()));
                let inverse = inverse.expect("distinct primes");
                for ((limb, sum), taken) in limbs.into_iter().zip(sums).zip(&taken) {
                    sum.products(self.table(i), select(i), values, products_row);
                    self.write_signed(taken, i, taken_row);
                    let (dividend, remainder) = (&*products_row, &*taken_row);
                    let terms = QuotientTerms { dividend, remainder, addend: None };
                    backend::quotient(self.table(i), limb, terms, [inverse, 0]);
                }
            },
        );
        results
    }

    /// [`rescaled_sums_of_small_products`](Self::rescaled_sums_of_small_products) without the
    /// division.
    fn sums_of_small_products(
        &self,
        factors: &[&[i64]],
        sums: &[SmallProductSum],
        select: impl Fn(usize) -> usize + Sync + Send,
    ) -> Vec<Poly<Ntt>> {
        let n = self.degree();
        let factors = self.small_factors(factors, sums, &select);
        let addends: Vec<_> = sums.iter().map(|sum| self.signed(sum.addend)).collect();
        let mut results: Vec<Poly<Ntt>> = sums.iter().map(|_| self.uninit()).collect();
        par::each_with(
            par::by_limb(&mut results),
            n * sums.len(),
            HEAVY,
            || Zeroizing::new(self.scratch(factors.len() * n)),
            |values, i, limbs| {
                self.write_factors(&factors, i, values);
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

    /// Checks the shapes before anything secret is written: a panic later would leave it in memory.
    fn small_factors<'a>(
        &self,
        factors: &[&'a [i64]],
        sums: &[SmallProductSum],
        select: impl Fn(usize) -> usize,
    ) -> Vec<Signed<'a>> {
        let one_for_each = |sum: &SmallProductSum| sum.multiples.len() == factors.len();
        assert!(sums.iter().all(one_for_each), "need one multiple per factor");
        let n = self.degree();
        assert!(
            sums.iter().all(|sum| sum.addend.len() == n),
            "need one coefficient per power of X"
        );
        let most = (0..self.limbs()).map(select).max().unwrap_or(0);
        let fits = |multiple: &Poly<Ntt>| multiple.degree() == n && most < multiple.limbs();
        let multiples = sums.iter().flat_map(|sum| &sum.multiples);
        assert!(
            multiples.copied().all(fits),
            "the multiples must have the degree and the limbs of the ring"
        );
        factors.iter().map(|factor| self.signed(factor)).collect()
    }

    /// Writes limb `i` of the factors, one after the other.
    fn write_factors(&self, factors: &[Signed], i: usize, values: &mut [u64]) {
        for (factor, values) in factors.iter().zip(values.chunks_mut(self.degree())) {
            self.write_signed(factor, i, values);
        }
    }

    /// Prepares signed coefficients as residues modulo the smallest period that holds them.
    fn signed<'a>(&self, coefficients: &'a [i64]) -> Signed<'a> {
        assert_eq!(coefficients.len(), self.degree(), "need one coefficient per power of X");
        let largest = magnitude(coefficients);
        let blocks = PERIODS.into_iter().find(|period| largest <= period / 2).map(|period| {
            let layout = Layout::new(self.degree(), 1);
            let mut row = Zeroizing::new(self.scratch(self.degree()));
            for (x, &c) in row.iter_mut().zip(coefficients) {
                // Adds the period to negative coefficients, without a branch.
                *x = (c as u64).wrapping_add(period & (c >> 63) as u64);
            }
            let mut blocks = Zeroizing::new(self.scratch(layout.len()));
            backend::copy_to_bursts(&row, &mut layout.bursts_of_rows(&mut blocks)[0]);
            (period, blocks)
        });
        Signed { coefficients, blocks }
    }

    /// Writes limb `i` in NTT form.
    fn write_signed(&self, signed: &Signed, i: usize, limb: &mut [u64]) {
        let table = self.table(i);
        let Some((period, blocks)) = &signed.blocks else {
            for (x, &c) in limb.iter_mut().zip(signed.coefficients) {
                *x = table.modulus().from_i64(c);
            }
            return table.forward(limb);
        };
        let blocks = Blocks { data: blocks, layout: Layout::new(self.degree(), 1) };
        let target = Target { table, weights: &[], out: &mut *limb };
        backend::forward_outer(&mut [target], blocks, RowKind::One(*period));
        for (i, piece) in limb.chunks_mut(backend::piece_words(table)).enumerate() {
            backend::forward_piece(table, piece, Piece::reduced(i));
        }
    }
}

/// At least the largest magnitude, and less than twice that. Constant time.
fn magnitude(coefficients: &[i64]) -> u64 {
    coefficients.iter().fold(0, |m, &x| m | x.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;

    #[test]
    fn small_products_sum_as_those_of_whole_polynomials() {
        // With the second largest size some sums exceed half of the last prime, with the largest
        // size the addends do.
        for (degree, size) in
            [(16, 4), (256, 1 << 29), (256, 1 << 59), (256, 1 << 61), (1 << 13, 4)]
        {
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
                    .map(|(addend, (_, multiple))| SmallProductSum {
                        addend,
                        multiples: vec![multiple; count],
                    })
                    .collect();
                let given: Vec<&[i64]> = factors.iter().map(|f: &Vec<i64>| &f[..]).collect();
                let found = ring.sums_of_small_products(&given, &small, |i| 2 - i);
                for dropped in [1, 2] {
                    let quotients =
                        ring.rescaled_sums_of_small_products(&given, &small, dropped, |i| 2 - i);
                    let rescaled = found.iter().map(|sum| rescale(&ring, sum.clone(), dropped));
                    assert!(quotients.into_iter().eq(rescaled), "degree {degree}, by {dropped}");
                }
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

    /// Sums at which the remainder by the last prime changes its sign, and more factors than a sum
    /// of products has terms.
    #[test]
    fn quotients_are_rounded_at_half_of_the_prime() {
        let degree = 16;
        let moduli = [45, 30].map(|b| prime::ntt_primes_below(degree, b, 1, &[]).unwrap()[0]);
        let ring = Ring::new(degree, &moduli).unwrap();
        let half = moduli[1].value() as i64 / 2;
        let addend: Vec<i64> = (0..16).map(|i| [half, -half, 1, 0][i % 4]).collect();
        let sums = [half, half + 1, -half, -half - 1].repeat(4);
        let product: Vec<i64> = sums.iter().zip(&addend).map(|(sum, e)| sum - e).collect();
        let multiple = ring.forward_signed(&product);
        let mut one = vec![0; degree];
        one[0] = 1;
        for count in [1, backend::MAX_PRODUCTS + 2] {
            let mut zero = vec![&[0; 16][..]; count];
            zero[count - 1] = &one;
            let sum = SmallProductSum { addend: &addend, multiples: vec![&multiple; count] };
            let found = ring.rescaled_sums_of_small_products(&zero, &[sum], 1, |i| i);
            let quotients = sums.iter().map(|&x| i64::from(x > half) - i64::from(x < -half));
            let expected = ring.at_limbs(1).forward_signed(&quotients.collect::<Vec<_>>());
            assert!(found == [expected], "{count} factors");
        }
    }
}
