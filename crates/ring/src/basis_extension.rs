//! RNS basis extension: Conv, ModUp and mod-down, and the division of [`rescale`](crate::rescale).
//!
//! Full-RNS HEAAN (Cheon, Han, Kim, Kim, Song, SAC 2018), section 2.3 and Algorithms 1 and 2. Each
//! operation also has an exact variant: the multiple of `Q` that remains after fast conversion is
//! the rounded sum of `y_i / q_i`, computed in floating point (Halevi, Polyakov, Shoup, 2018/117).

use zeroize::Zeroizing;

use crate::aligned::AlignedVec;
use crate::backend::{
    self, Blocks, Layout, Permutation, Piece, QuotientTerms, RowKind, Target, WeightedRows,
};
use crate::error::{self, Result};
use crate::gadget::AddendLimb;
use crate::modulus::Modulus;
use crate::par::{self, CHEAP, HEAVY};
use crate::poly::{Coeff, Ntt, Poly};
use crate::ring::Ring;

/// Maximum number of rows fetched for a piece of a quotient: two, and the operands of two products.
const AHEAD: usize = 6;

/// Conversion of coefficients modulo `Q = q_0 .. q_{l-1}` to residues modulo other primes.
#[derive(Debug, Clone)]
pub struct BaseConverter {
    from: Ring,
    to: Ring,
    /// `[(Q / q_i)^-1]_{q_i}`.
    hat_inverses: Vec<u64>,
    /// The bits of the source primes.
    bits: Vec<u32>,
    /// For each target prime `p`: `[Q / q_i]_p` for every `i`, then `[-Q]_p`.
    weights: Vec<Vec<u64>>,
}

/// `y_i = [a_i (Q / q_i)^-1]_{q_i}`, and the multiple of `Q` to subtract.
struct Prepared {
    rows: Poly<Coeff>,
    /// One per coefficient. Empty for the approximate conversion, or from one prime.
    quotients: Vec<u8>,
    centered: bool,
}

impl BaseConverter {
    /// Maximum number of source primes: their products and the multiple of `Q` share one
    /// accumulator.
    pub const MAX_SOURCES: usize = backend::MAX_PRODUCTS - 1;

    /// Precomputes the constants for at most [`MAX_SOURCES`](Self::MAX_SOURCES) source primes. The
    /// two bases must be disjoint.
    pub fn new(from: &Ring, to: &Ring) -> Result<Self> {
        from.join(to)?;
        Self::overlapping(from, to)
    }

    /// As [`new`](Self::new), but the target may contain source primes. The caller copies their
    /// limbs instead of converting them.
    pub(crate) fn overlapping(from: &Ring, to: &Ring) -> Result<Self> {
        let l = from.limbs();
        if l > Self::MAX_SOURCES {
            let reason = format!("{l} source primes; at most {}", Self::MAX_SOURCES);
            return Err(error::basis(reason));
        }
        // [(Q / q_i)^-1]_{q_i}.
        let hat_inverses: Result<Vec<u64>> = (0..l)
            .map(|i| {
                let q = from.modulus(i);
                let others = from.moduli().enumerate().filter(|&(j, _)| j != i);
                q.inv(others.fold(1, |hat, (_, p)| q.mul(hat, q.reduce(p.value()))))
            })
            .collect();
        // [Q / q_i]_p for every i, then [-Q]_p.
        let weights = to
            .moduli()
            .map(|p| {
                let residues: Vec<u64> = from.moduli().map(|q| p.reduce(q.value())).collect();
                let product = |skip: usize| {
                    let factors = residues.iter().enumerate().filter(|&(j, _)| j != skip);
                    factors.fold(p.reduce(1), |hat, (_, &r)| p.mul(hat, r))
                };
                (0..l).map(product).chain([p.neg(product(l))]).collect()
            })
            .collect();
        let bits = from.moduli().map(Modulus::bits).collect();
        Ok(Self { from: from.clone(), to: to.clone(), hat_inverses: hat_inverses?, bits, weights })
    }

    /// `Conv` of section 2.3. For an input `a` in `[0, Q)`, the residues of `a + e Q`, where the
    /// integer `e` in `[0, l)` varies by coefficient.
    pub fn convert(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        self.finish(&self.prepare(a.clone(), false))
    }

    /// The residues of the representative of `a` in `[-Q/2, Q/2)`.
    ///
    /// If `a` is within about `l^2 2^-53 Q` of `Q/2`, the floating-point quotient may select the
    /// other representative. Either one is valid for every use in this library.
    pub fn convert_centered(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        self.finish(&self.prepare(a.clone(), true))
    }

    /// Algorithm 1, approximate modulus raising: the limbs of `a`, then those of
    /// [`convert`](Self::convert).
    pub fn mod_up(&self, a: &Poly<Coeff>) -> Poly<Coeff> {
        concat(a, &self.convert(a))
    }

    fn prepare(&self, mut rows: Poly<Coeff>, centered: bool) -> Prepared {
        self.from.each(&mut rows, CHEAP, |_, i, limb| self.prepare_row(i, limb));
        let mut quotients = Vec::new();
        if centered && self.from.limbs() > 1 {
            quotients.resize(rows.degree(), 0);
            let table = self.from.table(0);
            backend::quotients(table, &mut quotients, rows.data(), &self.reciprocals());
        }
        Prepared { rows, quotients, centered }
    }

    /// `y_i = [a_i (Q / q_i)^-1]_{q_i}` of one limb, in place. With one source prime,
    /// `Q / q_0 = 1`.
    fn prepare_row(&self, i: usize, limb: &mut [u64]) {
        if self.from.limbs() > 1 {
            backend::mul_constant(self.from.table(i), limb, self.hat_inverses[i]);
        }
    }

    fn reciprocals(&self) -> Vec<f64> {
        self.from.moduli().map(|q| 1.0 / q.value() as f64).collect()
    }

    /// Writes the centred representative modulo the `target`-th prime of the target basis, from
    /// prepared rows and their quotients.
    fn write_centered(&self, rows: &[&[u64]], quotients: &[u8], target: usize, out: &mut [u64]) {
        let table = self.to.table(target);
        if let [row] = rows {
            return backend::reduce_centered(table, out, row, self.from.modulus(0).value());
        }
        backend::weighted_sum(table, out, self.weighted(rows, Some(quotients), target));
    }

    /// The layout of the rows of this conversion in blocks.
    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self.from.degree(), self.from.limbs())
    }

    /// Writes the blocks that [`write_outer`](Self::write_outer) reads: the prepared rows of limbs
    /// in NTT form, and their quotients.
    pub(crate) fn write_blocks(&self, limbs: &[u64], out: &mut [u64]) {
        // Step 1: inverse NTT of each limb, multiplied by [(Q / q_i)^-1]_{q_i}.
        let (degree, layout) = (self.from.degree(), self.layout());
        par::each_with(
            layout.bursts_of_rows(out),
            degree,
            HEAVY,
            || self.from.scratch(degree),
            |buffer, i, mut bursts| {
                self.write_row(i, &limbs[i * degree..(i + 1) * degree], buffer, &mut bursts);
            },
        );
        // Step 2: the quotients.
        self.write_quotients(out);
    }

    /// One row of the blocks: the inverse NTT of limb `i`, times `[(Q / q_i)^-1]_{q_i}`. `bursts`
    /// are those of the row, and `buffer` holds one limb.
    pub(crate) fn write_row(
        &self,
        i: usize,
        limb: &[u64],
        buffer: &mut [u64],
        bursts: &mut [&mut [u64]],
    ) {
        let factor = self.hat_inverses[i];
        backend::inverse_to_bursts(self.from.table(i), limb, factor, buffer, bursts);
    }

    /// The quotients of the blocks, after all rows: `round(sum_i y_i / q_i)` for each coefficient.
    pub(crate) fn write_quotients(&self, out: &mut [u64]) {
        if self.from.limbs() > 1 {
            let reciprocals = self.reciprocals();
            let table = self.from.table(0);
            let kernel = |rows: &[u64], bytes: &mut [u8]| {
                backend::quotients(table, bytes, rows, &reciprocals);
            };
            self.layout().write_quotients(kernel, out);
        }
    }

    /// As [`write_centered`](Self::write_centered) for several target primes, fused with the first
    /// half of the forward NTT.
    pub(crate) fn write_outer(&self, blocks: &[u64], targets: Vec<(usize, &mut [u64])>) {
        let targets = targets.into_iter().map(|(target, out)| Target {
            table: self.to.table(target),
            weights: &self.weights[target],
            out,
        });
        let mut targets: Vec<Target> = targets.collect();
        let blocks = Blocks { data: blocks, layout: self.layout() };
        let rows = match self.from.limbs() {
            1 => RowKind::One(self.from.modulus(0).value()),
            _ => RowKind::Several(&self.bits),
        };
        backend::forward_outer(&mut targets, blocks, rows);
    }

    fn weighted<'a>(
        &'a self,
        rows: &'a [&[u64]],
        quotients: Option<&'a [u8]>,
        target: usize,
    ) -> WeightedRows<'a> {
        let (weights, product) = self.weights[target].split_at(rows.len());
        let multiples = quotients.map(|quotients| (quotients, product[0]));
        WeightedRows { rows, bits: &self.bits, weights, multiples }
    }

    /// Writes the residues modulo the `target`-th prime of the target basis.
    fn write_limb(&self, prepared: &Prepared, target: usize, out: &mut [u64]) {
        let rows: Vec<&[u64]> = (0..prepared.rows.limbs()).map(|i| prepared.rows.limb(i)).collect();
        if prepared.centered {
            self.write_centered(&rows, &prepared.quotients, target, out);
        } else {
            backend::weighted_sum(self.to.table(target), out, self.weighted(&rows, None, target));
        }
    }

    fn finish(&self, prepared: &Prepared) -> Poly<Coeff> {
        let mut out = self.to.uninit();
        self.to.each(&mut out, HEAVY, |_, i, limb| self.write_limb(prepared, i, limb));
        out
    }
}

fn concat(a: &Poly<Coeff>, b: &Poly<Coeff>) -> Poly<Coeff> {
    let mut out = Poly::zero(a.degree(), a.limbs() + b.limbs());
    out.data_mut()[..a.data().len()].copy_from_slice(a.data());
    out.data_mut()[a.data().len()..].copy_from_slice(b.data());
    out
}

/// Mod-down: division by the product `P` of special primes, from `R_{QP}` to `R_Q`.
#[derive(Debug, Clone)]
pub struct ModDown {
    q: Ring,
    p: Ring,
    converter: BaseConverter,
    /// `[P^-1]_{q_j}`.
    inverses: Vec<u64>,
}

impl ModDown {
    /// Precomputes the constants for the bases `q` and `p`, which must be disjoint.
    pub fn new(q: &Ring, p: &Ring) -> Result<Self> {
        let converter = BaseConverter::new(p, q)?;
        let inverses: Result<Vec<u64>> = q.moduli().map(|m| m.inv(residue(p, m))).collect();
        Ok(Self { q: q.clone(), p: p.clone(), converter, inverses: inverses? })
    }

    /// `round(a / P)` with exact rounding. The input has the limbs of `q`, then those of `p`; the
    /// result has those of `q`. The rounding error of each coefficient is in `[-1/2, 1/2]`.
    pub fn apply(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        self.divide(a, true)
    }

    /// Algorithm 2, approximate modulus reduction: `(a - Conv([a]_P)) / P`. The error against
    /// `a / P` is at most `k`, the number of primes of `P`.
    pub fn apply_approximate(&self, a: Poly<Ntt>) -> Poly<Ntt> {
        self.divide(a, false)
    }

    fn divide(&self, mut a: Poly<Ntt>, centered: bool) -> Poly<Ntt> {
        let limbs = self.q.limbs();
        // Step 1: [a]_P in coefficient form.
        let special = a.limb_range(limbs..limbs + self.p.limbs());
        a.truncate(limbs);
        let prepared = self.converter.prepare(self.p.inverse(special), centered);
        let degree = a.degree();
        // Step 2: for each prime q_j, convert, transform, subtract and divide.
        par::each_limb(a.data_mut(), degree, HEAVY, |j, limb| {
            let table = self.q.table(j);
            let mut remainder = vec![0; degree];
            self.converter.write_limb(&prepared, j, &mut remainder);
            table.forward(&mut remainder);
            backend::sub_mul_constant(table, limb, &remainder, self.inverses[j]);
        });
        a
    }
}

/// Rounded division by the product `D` of the last primes of a ring: mod-down and rescale.
pub(crate) struct Division {
    /// From the dropped primes to the kept primes.
    converter: BaseConverter,
    kept: usize,
    /// `[D^-1]_{q_j}` for the kept primes.
    inverses: Vec<u64>,
}

impl Division {
    /// Division by all but the first `kept` primes of `ring`.
    pub(crate) fn new(ring: &Ring, kept: usize) -> Result<Self> {
        let (rest, dropped) = (ring.at_limbs(kept), ring.slice(kept..ring.limbs()));
        let inverse = |q: &Modulus| q.inv(residue(&dropped, q));
        let inverses: Result<Vec<u64>> = rest.moduli().map(inverse).collect();
        let converter = BaseConverter::overlapping(&dropped, &rest)?;
        Ok(Self { converter, kept, inverses: inverses? })
    }

    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// `[D^-1]_{q_j}`.
    pub(crate) fn inverse(&self, j: usize) -> u64 {
        self.inverses[j]
    }

    /// Prepares the dropped limbs, given in NTT form, for [`remainders`](Self::remainders).
    pub(crate) fn prepare(&self, limbs: &[u64]) -> AlignedVec {
        let mut blocks = self.converter.to.scratch(self.converter.layout().len());
        self.converter.write_blocks(limbs, &mut blocks);
        blocks
    }

    /// The remainders by `D` modulo some primes `q_j`, up to the last stages of the forward NTT.
    pub(crate) fn remainders(&self, blocks: &[u64], targets: Vec<(usize, &mut [u64])>) {
        self.converter.write_outer(blocks, targets);
    }

    /// `out = (a - r) / D + addend f` modulo `q_j`. `remainder` holds `r` before the last stages of
    /// its NTT. With `image`, `out` is the automorphism of that result, and the second part of
    /// `image` is a buffer.
    pub(crate) fn quotient(
        &self,
        j: usize,
        a: &[u64],
        mut addend: Option<(AddendLimb, u64)>,
        remainder: &mut [u64],
        out: &mut [u64],
        mut image: Option<(&Permutation, &mut [u64])>,
    ) {
        let table = self.converter.to.table(j);
        let words = backend::piece_words(table);
        let factors = [self.inverses[j], addend.as_ref().map_or(0, |(_, f)| *f)];
        // Piece by piece, so that remainder, addend and quotient stay in the first-level cache.
        for (i, remainder) in remainder.chunks_mut(words).enumerate() {
            let at = i * words..(i + 1) * words;
            // Step 1: finish the NTT of the remainder and prefetch the other operands.
            let mut ahead = [&[][..]; AHEAD];
            let mut count = 0;
            let added = addend.iter().flat_map(|(d, _)| d.rows());
            for (ahead, row) in ahead.iter_mut().zip([a, out].into_iter().chain(added)) {
                *ahead = &row[at.clone()];
                count += 1;
            }
            let piece = Piece { index: i, ahead: &ahead[..count], reduced: true };
            backend::forward_piece(table, remainder, piece);
            // Step 2: the quotient, with the addend.
            let addend = addend.as_mut().map(|(d, _)| d.piece(table, at.clone()));
            let target = match &mut image {
                Some((_, buffer)) => &mut buffer[at.clone()],
                None => &mut out[at.clone()],
            };
            let terms = QuotientTerms { dividend: &a[at], remainder, addend };
            backend::quotient(table, target, terms, factors);
        }
        // Step 3: the automorphism needs the whole limb.
        if let Some((places, buffer)) = image {
            backend::permute(table, out, buffer, places);
        }
    }

    /// `round(a / D)` of a polynomial over all primes of the ring. The rounding error of each
    /// coefficient is in `[-1/2, 1/2]`.
    pub(crate) fn apply(&self, mut a: Poly<Ntt>) -> Poly<Ntt> {
        let degree = a.degree();
        let to = &self.converter.to;
        let dropped = a.limbs() - self.kept;
        let blocks = self.prepare(&a.data()[self.kept * degree..]);
        a.truncate(self.kept);
        let together = par::together(self.kept, dropped);
        par::each_with(
            a.data_mut().chunks_mut(together * degree).collect(),
            together * degree,
            HEAVY,
            // The scratch holds the quotient of an encryption before the message is added: wipe it.
            || Zeroizing::new(to.scratch((together + 1) * degree)),
            |scratch, i, limbs| {
                let (out, remainders) = scratch.split_at_mut(degree);
                let limbs = limbs.chunks_mut(degree);
                let first = i * together;
                let remainders = &mut remainders[..limbs.len() * degree];
                self.remainders(&blocks, (first..).zip(remainders.chunks_mut(degree)).collect());
                let remainders = remainders.chunks_mut(degree);
                for ((j, limb), remainder) in (first..).zip(limbs).zip(remainders) {
                    self.quotient(j, limb, None, remainder, out, None);
                    limb.copy_from_slice(out);
                }
            },
        );
        a
    }
}

/// The product of the primes of `ring` modulo `q`.
pub(crate) fn residue(ring: &Ring, q: &Modulus) -> u64 {
    ring.moduli().fold(1, |product, p| q.mul(product, q.reduce(p.value())))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{prime, testing::values};
    use num_bigint::BigInt;
    use proptest::prelude::*;

    const N: usize = 16;

    pub(crate) fn bases() -> (Ring, Ring) {
        let q = prime::ntt_primes_around(N, 45, 4, &[]).unwrap();
        let p = prime::ntt_primes_below(N, 50, 3, &q).unwrap();
        (Ring::new(N, &q).unwrap(), Ring::new(N, &p).unwrap())
    }

    pub(crate) fn residue(x: &BigInt, m: &BigInt) -> BigInt {
        ((x % m) + m) % m
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn conversion_against_big_integers(seed: u64) {
            let (q, p) = bases();
            let big = BigInt::from(q.big_modulus());
            let a = values(&q, seed);
            let converter = BaseConverter::new(&q, &p).unwrap();
            let values = q.centered(&a);
            let (fast, exact) = (converter.convert(&a), converter.convert_centered(&a));
            for (j, value) in values.iter().enumerate() {
                let stands_for = |poly: &Poly<Coeff>, value: &BigInt| (0..p.limbs()).all(|i| {
                    let m = p.modulus(i).value();
                    BigInt::from(poly.limb(i)[j]) == residue(value, &m.into())
                });
                // At Q/2 itself either representative may come out.
                let near_half = (&big - BigInt::from(value.magnitude() * 2u32)) << 45 < big;
                let other = if value > &BigInt::ZERO { value - &big } else { value + &big };
                let either = near_half && stands_for(&exact, &other);
                prop_assert!(stands_for(&exact, value) || either);
                // Fast conversion may add e Q with e in [0, l), counted from [0, Q).
                let least = residue(value, &big);
                prop_assert!((0..q.limbs()).any(|e| stands_for(&fast, &(&least + &big * e))));
            }
            let up = converter.mod_up(&a);
            prop_assert_eq!(up.limb_range(0..4), a);
            prop_assert_eq!(up.limb_range(4..7), fast);
        }

        #[test]
        fn division_against_big_integers(seed: u64) {
            let (q, p) = bases();
            let qp = q.join(&p).unwrap();
            let down = ModDown::new(&q, &p).unwrap();
            let special = BigInt::from(p.big_modulus());
            let a = values(&qp, seed);
            let values = qp.centered(&a);
            let exact = q.centered(&q.inverse(down.apply(qp.forward(a.clone()))));
            let fast = q.centered(&q.inverse(down.apply_approximate(qp.forward(a))));
            let q_big = BigInt::from(q.big_modulus());
            for j in 0..N {
                // |P b - a| <= P/2 modulo P Q; the quotient may wrap at the very end of the range.
                let modulus = &special * &q_big;
                let distance = |b: &BigInt| {
                    let d = residue(&(b * &special - &values[j]), &modulus);
                    let other = &modulus - &d;
                    if d < other { d } else { other }
                };
                prop_assert!(distance(&exact[j]) * 2 <= special.clone() + 2);
                prop_assert!(distance(&fast[j]) <= &special * p.limbs());
            }
        }
    }

    #[test]
    fn refuses_bases_that_meet() {
        let (q, p) = bases();
        assert!(BaseConverter::new(&q, &q.at_limbs(1)).is_err());
        assert!(ModDown::new(&p, &p).is_err());
    }
}
