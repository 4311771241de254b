//! Inner products of the digits of a [`HybridGadget`] with rows of polynomials, limb by limb: the
//! work of a key switch.
//!
//! For each prime of the result in turn, every digit is converted to it, transformed and multiplied
//! into the sums while it stands in cache; neither digits nor sums are ever stored as a whole. The
//! primes that are divided out come first, so that each limb of the result is divided as soon as
//! it is there.

use crate::{
    Automorphism, HybridGadget, Ntt, Poly, Ring,
    aligned::AlignedVec,
    backend,
    convert::{BaseConverter, Division, residue},
    par::{self, HEAVY},
};

/// Digits that stand in the second-level cache at a time, in words.
const DIGIT_WORDS: usize = 5 << 15;

/// Columns of rows that are fetched while a digit is transformed.
const AHEAD: usize = 4;

/// The rows that digits are multiplied with: polynomials over `q_0 .. q_{limbs - 1}`, then the
/// special primes.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// By column of the result, then digit, then component: row `j` of component `i` of `n` at
    /// `j n + i`. Rows of digits that the operand does not have are not read.
    pub columns: Vec<Vec<&'a Poly<Ntt>>>,
    /// How many primes of the chain the rows have.
    pub limbs: usize,
}

/// What is done with an inner product apart from dividing it.
#[derive(Debug, Clone, Default)]
pub struct Finish<'a> {
    /// For each column a polynomial modulo `Q` that is added to the quotient by `P`.
    pub addends: Vec<Option<&'a Poly<Ntt>>>,
    /// How many primes at the end of the chain are divided out together with `P`.
    pub primes: usize,
    /// An automorphism applied to the result.
    pub map: Option<&'a Automorphism>,
}

/// The digits of some polynomials, ready to be converted to any prime.
#[derive(Debug)]
pub struct Digits<'a> {
    gadget: &'a HybridGadget,
    inputs: Vec<&'a Poly<Ntt>>,
    limbs: usize,
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    /// By component: the rows that conversion reads, then the quotients of each digit.
    Prepared(Vec<AlignedVec>),
    /// By component, then digit.
    Stored(&'a [Vec<Poly<Ntt>>]),
}

/// Room for one limb of everything.
struct Scratch {
    words: AlignedVec,
    /// How many of the words digits and sums have.
    split: [usize; 2],
}

/// The parts of a [`Scratch`].
struct Parts<'a> {
    digits: &'a mut [u64],
    /// By column.
    sums: &'a mut [u64],
    other: &'a mut [u64],
    image: &'a mut [u64],
}

impl Scratch {
    fn parts(&mut self) -> Parts<'_> {
        let (digits, rest) = self.words.split_at_mut(self.split[0]);
        let (sums, rest) = rest.split_at_mut(self.split[1]);
        let (other, image) = rest.split_at_mut(rest.len() / 2);
        Parts { digits, sums, other, image }
    }
}

impl HybridGadget {
    /// Prepares the digits of polynomials of one level.
    ///
    /// # Panics
    /// Unless there are inputs and all have the same number of limbs, at most that of the chain.
    pub fn digits_of<'a>(&'a self, inputs: &[&'a Poly<Ntt>]) -> Digits<'a> {
        let limbs = inputs[0].limbs();
        assert!(inputs.iter().all(|a| a.limbs() == limbs), "polynomials of one level");
        let ring = self.q().prefix(limbs);
        let rows = inputs.iter().map(|a| {
            ring.check(a);
            self.prepare(a)
        });
        Digits {
            gadget: self,
            inputs: inputs.to_vec(),
            limbs,
            source: Source::Prepared(rows.collect()),
        }
    }

    /// Digits from [`Digits::store`], by component.
    ///
    /// # Panics
    /// Unless each component has all digits of one level.
    pub fn stored_digits<'a>(&'a self, digits: &'a [Vec<Poly<Ntt>>]) -> Digits<'a> {
        let limbs = digits[0][0].limbs() - self.p().limbs();
        for component in digits {
            assert_eq!(component.len(), self.digits(limbs), "all digits of a level");
            component.iter().for_each(|digit| self.ring(limbs).check(digit));
        }
        Digits { gadget: self, inputs: vec![], limbs, source: Source::Stored(digits) }
    }

    /// The rows that conversion reads, one after the other, and the quotients of each digit.
    fn prepare(&self, a: &Poly<Ntt>) -> AlignedVec {
        let (n, limbs) = (a.degree(), a.limbs());
        let mut rows = self.q().scratch(limbs + self.digits(limbs));
        let (coefficients, quotients) = rows.split_at_mut(limbs * n);
        par::each_limb(coefficients, n, HEAVY, |i, row| {
            row.copy_from_slice(a.limb(i));
            self.q().table(i).inverse(row);
            let digit = self.digits(i + 1) - 1;
            let own = self.primes(digit, limbs);
            self.converter(digit, limbs).prepare_row(i - own.start, row);
        });
        par::each_limb(quotients, n, HEAVY, |digit, quotients| {
            let own = self.primes(digit, limbs);
            if own.len() > 1 {
                let rows: Vec<&[u64]> = own.map(|i| &coefficients[i * n..(i + 1) * n]).collect();
                self.converter(digit, limbs).quotients(&rows, quotients);
            }
        });
        rows
    }

    /// Division of polynomials over [`ring`](Self::ring)`(limbs)` by `P` and the last `primes`
    /// primes of the chain at once.
    ///
    /// # Panics
    /// Unless the polynomial has more primes of the chain than are divided out.
    pub fn divide(&self, a: Poly<Ntt>, primes: usize) -> Poly<Ntt> {
        let limbs = a.limbs() - self.p().limbs();
        self.ring(limbs).check(&a);
        self.division(limbs, primes).apply(a)
    }

    fn division(&self, limbs: usize, primes: usize) -> Division {
        assert!(primes < limbs, "primes to divide by, and primes to stay");
        // Distinct primes: the inverses exist.
        Division::new(self.ring(limbs), limbs - primes).expect("distinct primes")
    }
}

impl Digits<'_> {
    /// The number of polynomials whose digits these are.
    pub fn components(&self) -> usize {
        match &self.source {
            Source::Prepared(rows) => rows.len(),
            Source::Stored(digits) => digits.len(),
        }
    }

    /// The limbs of those polynomials.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// The digits as polynomials, by component; each over
    /// [`HybridGadget::ring`]`(limbs)`.
    pub fn store(&self) -> Vec<Vec<Poly<Ntt>>> {
        if let Source::Stored(digits) = self.source {
            return digits.to_vec();
        }
        let ring = self.ring();
        (0..self.components())
            .map(|component| {
                (0..self.count())
                    .map(|digit| {
                        let mut poly = ring.unset();
                        let row = digit * self.components() + component;
                        ring.each(&mut poly, HEAVY, |_, i, limb| match self.ready(row, i) {
                            Some(ready) => limb.copy_from_slice(ready),
                            None => self.write_limb(row, i, limb),
                        });
                        poly
                    })
                    .collect()
            })
            .collect()
    }

    /// The inner product: one polynomial for each column of the rows.
    ///
    /// # Panics
    /// If the rows are too few or have too few limbs.
    pub fn product(&self, rows: &Rows) -> Vec<Poly<Ntt>> {
        self.check_rows(rows);
        let n = self.ring().degree();
        let mut columns: Vec<Poly<Ntt>> =
            rows.columns.iter().map(|_| self.ring().unset()).collect();
        let targets = par::by_limb(&mut columns);
        let words = n * rows.columns.len();
        par::each_with(
            targets,
            words,
            HEAVY,
            || self.scratch(rows),
            |scratch, i, targets| {
                self.sum(rows, i, scratch);
                for (target, sum) in targets.into_iter().zip(scratch.parts().sums.chunks(n)) {
                    target.copy_from_slice(sum);
                }
            },
        );
        columns
    }

    /// The inner product divided by `P`, rounded, and finished as asked for: with addends `d` and
    /// the product `D` of the primes that go, `round((x + P d) / (P D))`, up to an automorphism.
    ///
    /// # Panics
    /// If the rows are too few or have too few limbs, or no prime of the chain would stay.
    pub fn divided_product(&self, rows: &Rows, finish: &Finish) -> Vec<Poly<Ntt>> {
        self.check_rows(rows);
        let (gadget, ring) = (self.gadget, self.ring());
        let (n, limbs, count) = (ring.degree(), self.limbs, rows.columns.len());
        let division = gadget.division(limbs, finish.primes);
        let kept = division.kept();
        let addend = |column: usize| finish.addends.get(column).copied().flatten();
        let words = n * count;

        // The limbs that go, column by column.
        let gone = ring.limbs() - kept;
        let mut rest = ring.scratch(gone * count);
        let by_column = rest.chunks_mut(gone * n);
        let targets = par::transposed(by_column.map(|column| column.chunks_mut(n)).collect());
        par::each_with(
            targets,
            words,
            HEAVY,
            || self.scratch(rows),
            |scratch, i, targets| {
                let limb = kept + i;
                self.sum(rows, limb, scratch);
                let columns = targets.into_iter().zip(scratch.parts().sums.chunks(n)).enumerate();
                for (column, (target, sum)) in columns {
                    target.copy_from_slice(sum);
                    if let Some(d) = addend(column).filter(|_| limb < limbs) {
                        let table = ring.table(limb);
                        let p = residue(gadget.p(), table.modulus());
                        backend::add_multiple(table, target, d.limb(limb), p);
                    }
                }
            },
        );
        let mut quotients = ring.scratch(count);
        for (rest, quotients) in rest.chunks_mut(gone * n).zip(quotients.chunks_mut(n)) {
            division.prepare(rest, quotients);
        }

        let result = ring.prefix(kept);
        let mut columns: Vec<Poly<Ntt>> = rows.columns.iter().map(|_| result.unset()).collect();
        let targets = par::by_limb(&mut columns);
        par::each_with(
            targets,
            words,
            HEAVY,
            || self.scratch(rows),
            |scratch, j, targets| {
                self.sum(rows, j, scratch);
                let q = ring.modulus(j);
                let factor = match finish.primes {
                    0 => 1,
                    _ => q.mul(division.inverse(j), residue(gadget.p(), q)),
                };
                let Parts { sums, other, image, .. } = scratch.parts();
                let rest = rest.chunks(gone * n).zip(quotients.chunks(n));
                let columns = targets.into_iter().zip(sums.chunks(n)).zip(rest).enumerate();
                for (column, ((target, sum), gone)) in columns {
                    let addend = addend(column).map(|d| (d.limb(j), factor));
                    match finish.map {
                        None => division.quotient(gone, j, sum, addend, (other, target)),
                        Some(map) => {
                            division.quotient(gone, j, sum, addend, (other, image));
                            backend::permute(ring.table(j), target, image, &map.ntt_map);
                        }
                    }
                }
            },
        );
        columns
    }

    pub(crate) fn ring(&self) -> &Ring {
        self.gadget.ring(self.limbs)
    }

    pub(crate) fn gadget(&self) -> &HybridGadget {
        self.gadget
    }

    /// The number of digits of each component.
    pub(crate) fn count(&self) -> usize {
        self.gadget.digits(self.limbs)
    }

    pub(crate) fn check_rows(&self, rows: &Rows) {
        let needed = self.count() * self.components();
        assert!(self.limbs <= rows.limbs, "rows of at least as many limbs as the digits");
        let limbs = rows.limbs + self.gadget.p().limbs();
        for column in &rows.columns {
            assert!(column.len() >= needed, "a row for every digit");
            assert!(column.iter().all(|row| row.limbs() == limbs), "rows over Q and P");
        }
    }

    /// Digits that are converted before they are multiplied.
    fn group(&self) -> usize {
        let most = match self.source {
            Source::Prepared(_) => (DIGIT_WORDS / self.ring().degree()).max(1),
            Source::Stored(_) => backend::MAX_PRODUCTS,
        };
        most.min(backend::MAX_PRODUCTS).min(self.count() * self.components())
    }

    fn scratch(&self, rows: &Rows) -> Scratch {
        let n = self.ring().degree();
        let digits = match self.source {
            Source::Prepared(_) => self.group() * n,
            Source::Stored(_) => 0,
        };
        let sums = rows.columns.len() * n;
        let words = self.ring().scratch((digits + sums) / n + 2);
        Scratch { words, split: [digits, sums] }
    }

    /// Limb `i` of the inner product, column after column, in `scratch.sums`.
    fn sum(&self, rows: &Rows, i: usize, scratch: &mut Scratch) {
        let (n, group) = (self.ring().degree(), self.group());
        let table = self.ring().table(i);
        let stored = self.stored_limb(rows, i);
        let words = backend::piece_words(table);
        let Parts { digits: buffer, sums, other, .. } = scratch.parts();
        let all = self.count() * self.components();
        for first in (0..all).step_by(group) {
            let range = first..all.min(first + group);
            for (row, limb) in range.clone().zip(buffer.chunks_mut(n)) {
                if self.ready(row, i).is_none() {
                    self.write_outer(row, i, limb);
                }
            }
            for at in (0..n).step_by(words).map(|start| start..start + words) {
                for (row, limb) in range.clone().zip(buffer.chunks_mut(n)) {
                    if self.ready(row, i).is_none() {
                        let mut ahead = [&[][..]; AHEAD];
                        for (ahead, column) in ahead.iter_mut().zip(&rows.columns) {
                            *ahead = &column[row].limb(stored)[at.clone()];
                        }
                        let ahead = &ahead[..AHEAD.min(rows.columns.len())];
                        let piece = &mut limb[at.clone()];
                        backend::forward_piece(table, piece, at.start / words, ahead);
                    }
                }
                for (column, sum) in rows.columns.iter().zip(sums.chunks_mut(n)) {
                    let mut pairs = [(&[][..], &[][..]); backend::MAX_PRODUCTS];
                    for (k, row) in range.clone().enumerate() {
                        let digit = match self.ready(row, i) {
                            Some(digit) => digit,
                            None => &buffer[k * n..(k + 1) * n],
                        };
                        pairs[k] = (&digit[at.clone()], &column[row].limb(stored)[at.clone()]);
                    }
                    let (pairs, sum) = (&pairs[..range.len()], &mut sum[at.clone()]);
                    if first == 0 {
                        backend::sum_of_products(table, sum, pairs);
                    } else {
                        let other = &mut other[..words];
                        backend::sum_of_products(table, other, pairs);
                        backend::add_assign(table, sum, other);
                    }
                }
            }
        }
    }

    /// Which limb of the rows has the prime of limb `i` of the digits.
    pub(crate) fn stored_limb(&self, rows: &Rows, i: usize) -> usize {
        if i < self.limbs { i } else { rows.limbs + i - self.limbs }
    }

    /// The most digits that are not [`ready`](Self::ready) at a prime.
    pub(crate) fn converted(&self) -> usize {
        match self.source {
            Source::Prepared(_) => self.count() * self.components(),
            Source::Stored(_) => 0,
        }
    }

    /// Limb `i` of a digit that is not [`ready`](Self::ready), in NTT form.
    pub(crate) fn write_limb(&self, row: usize, i: usize, out: &mut [u64]) {
        self.write_outer(row, i, out);
        let table = self.ring().table(i);
        for (i, piece) in out.chunks_mut(backend::piece_words(table)).enumerate() {
            backend::forward_piece(table, piece, i, &[]);
        }
    }

    /// Limb `i` of a digit, counted as the rows are, where it stands somewhere in NTT form.
    pub(crate) fn ready(&self, row: usize, i: usize) -> Option<&[u64]> {
        let (component, digit) = (row % self.components(), row / self.components());
        match &self.source {
            Source::Stored(digits) => Some(digits[component][digit].limb(i)),
            // A digit is congruent to its polynomial modulo its own primes.
            Source::Prepared(_) if self.gadget.primes(digit, self.limbs).contains(&i) => {
                Some(self.inputs[component].limb(i))
            }
            Source::Prepared(_) => None,
        }
    }

    /// Limb `i` of a digit that is not [`ready`](Self::ready), to be finished piece by piece.
    fn write_outer(&self, row: usize, i: usize, out: &mut [u64]) {
        let Source::Prepared(rows) = &self.source else { return };
        let (component, digit) = (row % self.components(), row / self.components());
        let (gadget, n, limbs) = (self.gadget, out.len(), self.limbs);
        let (rows, quotients) = rows[component].split_at(limbs * n);
        let own = gadget.primes(digit, limbs);
        let rows: Vec<&[u64]> = own.map(|i| &rows[i * n..(i + 1) * n]).collect();
        let quotients = &quotients[digit * n..(digit + 1) * n];
        let target = if i < limbs { i } else { gadget.q().limbs() + i - limbs };
        let converter: &BaseConverter = gadget.converter(digit, limbs);
        converter.write_outer(&rows, quotients, target, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;
    use proptest::prelude::*;

    fn gadget(degree: usize, sizes: &[(u32, usize)], special: (u32, usize)) -> HybridGadget {
        let mut q = vec![];
        for &(bits, count) in sizes {
            q.extend(prime::ntt_primes_around(degree, bits, count, &q).unwrap());
        }
        let p = prime::ntt_primes_below(degree, special.0, special.1, &q).unwrap();
        HybridGadget::new(&Ring::new(degree, &q).unwrap(), &Ring::new(degree, &p).unwrap()).unwrap()
    }

    fn values(ring: &Ring, seed: u64) -> Poly<Ntt> {
        let mut state = seed;
        let mut a = ring.zero();
        for i in 0..ring.limbs() {
            for x in a.limb_mut(i) {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *x = (state >> 2) % ring.modulus(i).value();
            }
        }
        a
    }

    /// The residues of a polynomial at the places where a lower level has them.
    fn restricted(g: &HybridGadget, a: &Poly<Ntt>, from: usize, to: usize) -> Poly<Ntt> {
        let mut out = g.ring(to).zero();
        for i in 0..out.limbs() {
            let place = if i < to { i } else { from + i - to };
            out.limb_mut(i).copy_from_slice(a.limb(place));
        }
        out
    }

    /// Digits as polynomials, multiplied, added, divided, added to and permuted one step after the
    /// other.
    fn check(g: &HybridGadget, components: usize, (limbs, stored): (usize, usize), seed: u64) {
        let q = g.q().prefix(limbs);
        let inputs: Vec<_> = (0..components as u64).map(|i| values(&q, seed ^ i)).collect();
        let inputs: Vec<&Poly<Ntt>> = inputs.iter().collect();
        let keys: Vec<Vec<Poly<Ntt>>> = (0..3)
            .map(|c| {
                let row = |r: usize| values(g.ring(stored), seed + (100 * c + r) as u64);
                (0..g.digits(stored) * components).map(row).collect()
            })
            .collect();
        let columns = keys.iter().map(|column| column.iter().collect()).collect();
        let rows = Rows { columns, limbs: stored };
        let digits = g.digits_of(&inputs);
        let ring = g.ring(limbs);
        let kept = digits.store();
        let expected: Vec<Poly<Ntt>> = keys
            .iter()
            .map(|column| {
                let mut sum = ring.zero();
                for (i, component) in kept.iter().enumerate() {
                    for (j, digit) in component.iter().enumerate() {
                        let row = restricted(g, &column[j * components + i], stored, limbs);
                        ring.mul_add_assign(&mut sum, digit, &row);
                    }
                }
                sum
            })
            .collect();
        let again = g.stored_digits(&kept);
        assert_eq!((again.components(), again.limbs()), (components, limbs));
        assert_eq!(again.store(), kept);
        assert!(digits.product(&rows) == expected && again.product(&rows) == expected);

        let map = g.q().automorphism(5).unwrap();
        let extra = values(&q, seed ^ 99);
        for (primes, map) in [(0, None), (0, Some(&map)), (1, None), (limbs.min(3) - 1, None)] {
            if primes >= limbs {
                continue;
            }
            let finish = Finish { addends: vec![None, Some(&extra)], primes, map };
            let result = digits.divided_product(&rows, &finish);
            assert!(result == again.divided_product(&rows, &finish));
            for (c, (sum, found)) in expected.iter().zip(result).enumerate() {
                let mut sum = sum.clone();
                if c == 1 {
                    let mut lifted = ring.zero();
                    lifted.data_mut()[..extra.data().len()].copy_from_slice(extra.data());
                    let p: Vec<u64> = ring.moduli().map(|m| residue(g.p(), m)).collect();
                    ring.mul_residues_assign(&mut lifted, &p);
                    ring.add_assign(&mut sum, &lifted);
                }
                let mut quotient = g.divide(sum, primes);
                if let Some(map) = map {
                    quotient = g.q().prefix(limbs - primes).apply_ntt(&quotient, map);
                }
                assert!(found == quotient, "column {c}, {primes} primes");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn streamed_products_are_those_of_whole_digits(
            seed: u64, components in 1usize..3, special in 1usize..4, limbs in 1usize..8, more in 0usize..3,
        ) {
            let g = gadget(16, &[(45, 3), (29, 3), (45, 2)], (50, special));
            check(&g, components, (limbs, (limbs + more).min(8)), seed);
        }
    }

    #[test]
    fn streamed_products_at_larger_degrees() {
        // Digits in several groups, polynomials in several pieces, primes of every arithmetic.
        check(&gadget(1 << 13, &[(60, 1), (40, 3), (55, 2)], (60, 1)), 1, (6, 6), 1);
        check(&gadget(1 << 14, &[(50, 1), (45, 4)], (50, 2)), 1, (4, 5), 2);
        check(&gadget(1 << 15, &[(50, 1), (45, 5)], (50, 1)), 1, (6, 6), 3);
        check(&gadget(1 << 16, &[(50, 1), (45, 2)], (50, 2)), 1, (3, 3), 4);
    }
}
