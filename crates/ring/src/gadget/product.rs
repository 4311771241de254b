//! Inner products of the digits of a [`HybridGadget`] with key rows, limb by limb: the main work of
//! a key switch.
//!
//! For each prime of the result in order, every digit is converted to the prime, transformed and
//! multiplied into the sums while it is in cache. Neither digits nor sums are stored for all primes
//! at once. The primes to divide by come first, so that each limb of the result is divided as soon
//! as it is complete.

use std::ops::Range;

use crate::{
    Automorphism, Epilogue, HybridGadget, Ntt, PackedPoly, Poly, Ring,
    aligned::AlignedVec,
    backend::{self, Column, Part, Piece},
    basis_extension::Division,
    packed_poly::Shape,
    par::{self, HEAVY},
};

/// Digits converted before the multiplication, in words of one limb. More digits mean fewer writes
/// of the sums; fewer digits stay in the second-level cache until they are read.
const DIGIT_WORDS: usize = 4 << 15;

/// As [`DIGIT_WORDS`], for digits of at least [`par::WIDE`] primes, of which there are few.
const WIDE_WORDS: usize = 6 << 15;

/// Residues of key rows fetched into the second-level cache for a piece of the digits.
const ROW_WORDS: usize = 1 << 17;

/// Maximum number of row pieces fetched while a piece of a digit is transformed.
const AHEAD: usize = 16;

/// The key rows that digits are multiplied with, each over [`HybridGadget::ring`]`(limbs)`: the
/// primes `q_0 .. q_{limbs - 1}`, then the special primes.
#[derive(Debug, Clone)]
pub struct KeyRows<'a> {
    /// By column of the result, then digit, then component: row `j` of component `i` of `n` is at
    /// `j n + i`. Rows of digits that the operand does not have are not read.
    pub columns: Vec<Vec<&'a PackedPoly>>,
    /// The number of primes of the chain in the rows.
    pub limbs: usize,
}

/// The digits of some polynomials, prepared for conversion to any prime.
#[derive(Debug)]
pub struct Digits<'a> {
    gadget: &'a HybridGadget,
    inputs: Vec<&'a Poly<Ntt>>,
    limbs: usize,
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    /// By component: the blocks of each digit, as conversion reads them.
    Prepared(Vec<AlignedVec>),
    /// Stored digits by component, then digit.
    Stored(&'a [Vec<Poly<Ntt>>]),
}

/// The buffers for the limbs that are computed together.
struct Scratch {
    words: AlignedVec,
    /// Words of one limb of one digit.
    degree: usize,
    /// Digits converted for each limb before they are multiplied.
    group: usize,
    columns: usize,
    together: usize,
}

/// The buffers of a [`Scratch`].
struct Parts<'a> {
    /// By limb, then digit of a group.
    digits: &'a mut [u64],
    /// By limb, then column.
    sums: &'a mut [u64],
    /// By limb.
    remainders: &'a mut [u64],
    /// One limb.
    other: &'a mut [u64],
    /// One piece of a limb.
    piece: &'a mut [u64],
}

impl Scratch {
    fn parts(&mut self) -> Parts<'_> {
        let limbs = self.together * self.degree;
        let (digits, rest) = self.words.split_at_mut(self.group * limbs);
        let (sums, rest) = rest.split_at_mut(self.columns * limbs);
        let (remainders, rest) = rest.split_at_mut(limbs);
        let (other, piece) = rest.split_at_mut(self.degree);
        Parts { digits, sums, remainders, other, piece }
    }
}

impl HybridGadget {
    /// Prepares the digits of polynomials of the same level.
    ///
    /// # Panics
    /// Without inputs, or if the inputs differ in their number of limbs or have more limbs than the
    /// chain.
    pub fn digits_of<'a>(&'a self, inputs: &[&'a Poly<Ntt>]) -> Digits<'a> {
        let limbs = inputs[0].limbs();
        assert!(
            inputs.iter().all(|a| a.limbs() == limbs),
            "all polynomials must have the same level"
        );
        let ring = self.q().at_limbs(limbs);
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

    /// Stored digits of every component, over the primes of the key.
    ///
    /// # Panics
    /// Unless each component has all digits of the level.
    pub fn stored_digits<'a>(&'a self, digits: &'a [Vec<Poly<Ntt>>]) -> Digits<'a> {
        let limbs = digits[0][0].limbs() - self.p().limbs();
        for component in digits {
            assert_eq!(
                component.len(),
                self.digits(limbs),
                "each component needs all digits of the level"
            );
            component.iter().for_each(|digit| self.ring(limbs).check(digit));
        }
        Digits { gadget: self, inputs: vec![], limbs, source: Source::Stored(digits) }
    }

    /// The blocks that conversion reads, digit by digit.
    fn prepare(&self, a: &Poly<Ntt>) -> AlignedVec {
        let (n, limbs) = (a.degree(), a.limbs());
        let count = self.digits(limbs);
        let size = |digit: usize| self.converter(digit, limbs).layout().len();
        let mut blocks = self.q().scratch((0..count).map(size).sum());
        let mut rest = &mut blocks[..];
        // Split the buffer into one part per digit, then fill the parts in parallel.
        let mut digits = Vec::with_capacity(count);
        for digit in 0..count {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(size(digit));
            digits.push(own);
            rest = others;
        }
        let most = self.primes(0, limbs).len();
        par::each_with(
            digits,
            n * most,
            HEAVY,
            || (),
            |_, digit, out| {
                let primes = self.primes(digit, limbs);
                let own = &a.data()[primes.start * n..primes.end * n];
                self.converter(digit, limbs).write_blocks(own, out);
            },
        );
        blocks
    }

    /// Mod-down and rescale in one: divides a polynomial over [`ring`](Self::ring)`(limbs)` by `P`
    /// and by the last `primes` primes of the chain.
    ///
    /// # Panics
    /// Unless the polynomial has more than `primes` primes of the chain.
    pub(crate) fn divide(&self, a: Poly<Ntt>, primes: usize) -> Poly<Ntt> {
        let limbs = a.limbs() - self.p().limbs();
        self.ring(limbs).check(&a);
        self.division(limbs, primes).apply(a)
    }

    fn division(&self, limbs: usize, primes: usize) -> Division {
        assert!(primes < limbs, "need primes to divide by and primes to keep");
        // The primes are distinct, so the inverses exist.
        Division::new(self.ring(limbs), limbs - primes).expect("distinct primes")
    }
}

impl Digits<'_> {
    /// The number of decomposed polynomials.
    pub(crate) fn components(&self) -> usize {
        match &self.source {
            Source::Prepared(rows) => rows.len(),
            Source::Stored(digits) => digits.len(),
        }
    }

    /// The limbs of the decomposed polynomials.
    pub fn limbs(&self) -> usize {
        self.limbs
    }

    /// The digits as polynomials, by component; each over
    /// [`HybridGadget::ring`]`(limbs)`.
    pub(crate) fn store(&self) -> Vec<Vec<Poly<Ntt>>> {
        if let Source::Stored(digits) = self.source {
            return digits.to_vec();
        }
        let ring = self.ring();
        (0..self.components())
            .map(|component| {
                (0..self.count())
                    .map(|digit| {
                        let mut poly = ring.uninit();
                        let row = digit * self.components() + component;
                        ring.each(&mut poly, HEAVY, |_, i, limb| match self.ready(row, i) {
                            Some(ready) => limb.copy_from_slice(ready),
                            None => self.write_limbs(row, &mut [(i, limb)]),
                        });
                        poly
                    })
                    .collect()
            })
            .collect()
    }

    /// The inner product: one polynomial per column of the rows.
    ///
    /// # Panics
    /// If there are too few rows, or if they have too few limbs or belong to another ring.
    pub fn product(&self, rows: &KeyRows) -> Vec<Poly<Ntt>> {
        self.each_sum(rows, None, |_, sum, target, _| target.copy_from_slice(sum))
    }

    /// The inner product, plus `body` in column 0, under an automorphism, plus `onto` if given: one
    /// polynomial per column.
    ///
    /// # Panics
    /// If there are too few rows, or if they have too few limbs or belong to another ring, or if a
    /// polynomial is not over [`HybridGadget::ring`]`(limbs)`.
    pub fn rotated_product(
        &self,
        rows: &KeyRows,
        body: &Poly<Ntt>,
        map: &Automorphism,
        onto: Option<Vec<Poly<Ntt>>>,
    ) -> Vec<Poly<Ntt>> {
        self.ring().check(body);
        let add = onto.is_some();
        self.each_sum(rows, onto, |(i, column), sum, target, other| {
            let table = self.ring().table(i);
            if column == 0 {
                backend::add_assign(table, sum, body.limb(i));
            }
            if add {
                backend::permute(table, other, sum, &map.ntt_map);
                backend::add_assign(table, target, other);
            } else {
                backend::permute(table, target, sum, &map.ntt_map);
            }
        })
    }

    /// Calls `finish((limb, column), sum, target, other)` for each limb of the inner product. The
    /// target is a limb of `columns` if given, and uninitialized otherwise. `other` is a buffer of
    /// one limb.
    fn each_sum(
        &self,
        rows: &KeyRows,
        columns: Option<Vec<Poly<Ntt>>>,
        finish: impl Fn((usize, usize), &mut [u64], &mut [u64], &mut [u64]) + Sync + Send,
    ) -> Vec<Poly<Ntt>> {
        self.check_rows(rows);
        let (n, count) = (self.ring().degree(), rows.columns.len());
        let uninit = || (0..count).map(|_| self.ring().uninit()).collect();
        let mut columns = columns.unwrap_or_else(uninit);
        assert_eq!(columns.len(), count, "need one polynomial per column");
        columns.iter().for_each(|column| self.ring().check(column));
        let together = self.together(self.ring().limbs());
        par::each_with(
            par::grouped(par::by_limb(&mut columns), together),
            n * count * together,
            HEAVY,
            || self.scratch(rows, together),
            |scratch, i, limbs| {
                let first = i * together;
                self.sum(rows, first..first + limbs.len(), scratch);
                let Parts { sums, other, .. } = scratch.parts();
                let places = (first..).flat_map(|i| (0..count).map(move |column| (i, column)));
                let sums = sums.chunks_mut(n).zip(places);
                for (target, (sum, place)) in limbs.into_iter().flatten().zip(sums) {
                    finish(place, sum, target, other);
                }
            },
        );
        columns
    }

    /// The inner product with mod-down and epilogue. With addends `d` and the product `D` of the
    /// primes of the epilogue, the result is `round((x + P d) / (P D))`, up to the automorphism.
    ///
    /// # Panics
    /// If there are too few rows, or if they have too few limbs or belong to another ring. If there
    /// are more addends than columns, or an addend has more than 63 products or another level than
    /// the digits. If the automorphism has another degree. If no prime of the chain remains.
    pub fn divided_product(&self, rows: &KeyRows, epilogue: &Epilogue) -> Vec<Poly<Ntt>> {
        self.check_rows(rows);
        let (gadget, ring) = (self.gadget, self.ring());
        let (n, count) = (ring.degree(), rows.columns.len());
        let division = gadget.division(self.limbs, epilogue.primes);
        let kept = division.kept();
        assert!(epilogue.addends.len() <= count, "at most one addend per column");
        let level = gadget.q().at_limbs(self.limbs);
        for addend in epilogue.addends.iter().flatten() {
            addend.check(&level);
        }
        assert!(
            epilogue.map.is_none_or(|map| map.ntt_map.len() == n),
            "the automorphism must have the degree of the ring"
        );
        let addend = |column: usize| epilogue.addends.get(column).and_then(Option::as_ref);

        // Step 1: the limbs to divide by, column by column. An addend enters as P d; it is zero
        // modulo the special primes.
        let dropped = ring.limbs() - kept;
        let mut rest = ring.scratch(count * dropped * n);
        let by_column = rest.chunks_mut(dropped * n).map(|column| column.chunks_mut(n)).collect();
        let together = self.together(dropped);
        par::each_with(
            par::grouped(par::transposed(by_column), together),
            n * count * together,
            HEAVY,
            || self.scratch(rows, together),
            |scratch, i, limbs| {
                let first = kept + i * together;
                self.sum(rows, first..first + limbs.len(), scratch);
                let Parts { sums, piece, .. } = scratch.parts();
                let sums = sums.chunks(count * n);
                for ((limb, targets), sums) in (first..).zip(limbs).zip(sums) {
                    for (column, (target, sum)) in
                        targets.into_iter().zip(sums.chunks(n)).enumerate()
                    {
                        target.copy_from_slice(sum);
                        if let Some(d) = addend(column).filter(|_| limb < self.limbs) {
                            let table = ring.table(limb);
                            let p = gadget.p_residue(limb);
                            let words = piece.len();
                            let mut d = d.limb(limb, piece);
                            for (i, target) in target.chunks_mut(words).enumerate() {
                                let d = d.piece(table, i * words..(i + 1) * words);
                                backend::add_multiple(table, target, d, p);
                            }
                        }
                    }
                }
            },
        );
        // Step 2: prepare these limbs for the conversion to the remaining primes.
        let rest: Vec<_> = rest.chunks(dropped * n).map(|limbs| division.prepare(limbs)).collect();

        // Step 3: each remaining limb of the inner product.
        let result = ring.at_limbs(kept);
        let mut columns: Vec<Poly<Ntt>> = rows.columns.iter().map(|_| result.uninit()).collect();
        let together = self.together(kept);
        par::each_with(
            par::grouped(par::by_limb(&mut columns), together),
            n * count * together,
            HEAVY,
            || self.scratch(rows, together),
            |scratch, i, mut limbs| {
                let first = i * together;
                self.sum(rows, first..first + limbs.len(), scratch);
                let Parts { sums, remainders, other, piece, .. } = scratch.parts();
                let remainders = &mut remainders[..limbs.len() * n];
                for (column, blocks) in rest.iter().enumerate() {
                    // Step 4: subtract the remainder, divide by P D, add d and apply the
                    // automorphism. The factor of the addend is P / (P D) = 1 / D modulo q, or 1
                    // without further primes.
                    division.remainders(blocks, (first..).zip(remainders.chunks_mut(n)).collect());
                    let sums = sums.chunks(n).skip(column).step_by(count);
                    let remainders = (first..).zip(remainders.chunks_mut(n));
                    for ((targets, sum), (j, remainder)) in
                        limbs.iter_mut().zip(sums).zip(remainders)
                    {
                        let q = ring.modulus(j);
                        let factor = match epilogue.primes {
                            0 => 1,
                            _ => q.mul(division.inverse(j), gadget.p_residue(j)),
                        };
                        let addend = addend(column).map(|d| (d.limb(j, &mut *piece), factor));
                        let image = epilogue.map.map(|map| (&map.ntt_map, &mut *other));
                        let rows = (remainder, &mut *targets[column]);
                        division.quotient(j, sum, addend, rows, image);
                    }
                }
            },
        );
        columns
    }

    pub(crate) fn ring(&self) -> &Ring {
        self.gadget.ring(self.limbs)
    }

    /// The largest number of primes in a digit: the number of rows that its conversion reads.
    fn rows(&self) -> usize {
        let rows = (0..self.count()).map(|digit| self.gadget.primes(digit, self.limbs).len());
        rows.max().unwrap_or(0)
    }

    /// The number of limbs that are computed together, out of `limbs`.
    pub(crate) fn together(&self, limbs: usize) -> usize {
        par::together(limbs, self.rows())
    }

    pub(crate) fn gadget(&self) -> &HybridGadget {
        self.gadget
    }

    /// The number of digits of each component.
    pub(crate) fn count(&self) -> usize {
        self.gadget.digits(self.limbs)
    }

    pub(crate) fn check_rows(&self, rows: &KeyRows) {
        let needed = self.count() * self.components();
        assert!(
            self.limbs <= rows.limbs,
            "the rows must have at least as many limbs as the digits"
        );
        let shape = Shape::of(self.gadget.ring(rows.limbs));
        for column in &rows.columns {
            assert!(column.len() >= needed, "need a row for every digit");
            assert!(
                column.iter().all(|row| *row.shape() == shape),
                "the rows must be over Q and P"
            );
        }
    }

    /// The number of digits that are converted before they are multiplied.
    fn group(&self, columns: usize) -> usize {
        let all = self.count() * self.components();
        let most = match self.source {
            Source::Prepared(_) => {
                let words = if self.rows() < par::WIDE { DIGIT_WORDS } else { WIDE_WORDS };
                let piece = backend::piece_words(self.ring().table(0));
                (words / self.ring().degree()).min(ROW_WORDS / (piece * columns.max(1)))
            }
            Source::Stored(_) => all,
        };
        // Groups of about equal size.
        all.div_ceil(all.div_ceil(most.clamp(1, backend::MAX_PRODUCTS - 1)))
    }

    fn scratch(&self, rows: &KeyRows, together: usize) -> Scratch {
        let (degree, columns) = (self.ring().degree(), rows.columns.len());
        let group = match self.source {
            Source::Prepared(_) => self.group(columns),
            Source::Stored(_) => 0,
        };
        let piece = backend::piece_words(self.ring().table(0));
        // Digits, sums and remainders of the limbs of a group, one more limb, and one piece.
        let limbs = (group + columns + 1) * together + 1;
        let words = self.ring().scratch(limbs * degree + piece);
        Scratch { words, degree, group, columns, together }
    }

    /// Writes some limbs of the inner product to `scratch.sums`.
    fn sum(&self, rows: &KeyRows, limbs: Range<usize>, scratch: &mut Scratch) {
        let (n, group) = (self.ring().degree(), self.group(rows.columns.len()));
        let Parts { digits: buffer, sums, .. } = scratch.parts();
        let count = rows.columns.len();
        let all = self.count() * self.components();
        for first in (0..all).step_by(group) {
            // Step 1: convert a group of digits to all limbs, up to the last stages of the NTT.
            let range = first..all.min(first + group);
            let part = Part { before: first, all };
            for (k, row) in range.clone().enumerate() {
                let places = limbs.clone().zip(buffer.chunks_mut(group * n));
                let targets: Vec<_> = places
                    .filter(|&(i, _)| self.ready(row, i).is_none())
                    .map(|(i, digits)| (i, &mut digits[k * n..(k + 1) * n]))
                    .collect();
                self.write_outer(row, targets);
            }
            // Step 2: for each limb, finish the transforms and multiply.
            let mut buffer = buffer.chunks_mut((group * n).max(1));
            for (i, sums) in limbs.clone().zip(sums.chunks_mut(count * n)) {
                let buffer = buffer.next().unwrap_or_default();
                self.add_products(rows, i, (range.clone(), part), buffer, sums);
            }
        }
    }

    /// Finishes the transforms of a group of digits and multiplies the digits with the key rows,
    /// piece by piece.
    fn add_products<'a>(
        &self,
        rows: &KeyRows<'a>,
        i: usize,
        (range, part): (Range<usize>, Part),
        buffer: &mut [u64],
        sums: &mut [u64],
    ) {
        let n = self.ring().degree();
        let table = self.ring().table(i);
        let stored = self.stored_limb(rows, i);
        let words = backend::piece_words(table);
        let converted = range.clone().filter(|&row| self.ready(row, i).is_none()).count();
        let share = (range.len() * rows.columns.len()).div_ceil(converted.max(1)).min(AHEAD);
        let bytes = table.packed_bytes();
        for at in (0..n).step_by(words).map(|start| start..start + words) {
            let packed = at.start / 8 * bytes..at.end / 8 * bytes;
            let factor = |row: &'a PackedPoly| &row.limb(stored)[packed.clone()];
            // Step 1: finish the transforms of this piece. Each prefetches an equal share of the
            // row pieces.
            let mut pieces = range
                .clone()
                .flat_map(|row| rows.columns.iter().map(move |column| column[row]))
                .map(&factor);
            for (row, limb) in range.clone().zip(buffer.chunks_mut(n)) {
                if self.ready(row, i).is_none() {
                    let mut ahead = [&[][..]; AHEAD];
                    let mut count = 0;
                    for (ahead, piece) in ahead.iter_mut().zip(pieces.by_ref().take(share)) {
                        *ahead = piece;
                        count += 1;
                    }
                    let index = at.start / words;
                    let piece = Piece { index, ahead: &ahead[..count], reduced: false };
                    backend::forward_piece(table, &mut limb[at.clone()], piece);
                }
            }
            // Step 2: the products of this piece, all columns in one pass over the digits.
            let digit = |(k, row): (usize, usize)| {
                let limb = self.ready(row, i).unwrap_or_else(|| &buffer[k * n..(k + 1) * n]);
                &limb[at.clone()]
            };
            let digits: Vec<&[u64]> = range.clone().enumerate().map(digit).collect();
            let factors = rows
                .columns
                .iter()
                .map(|column| column[range.clone()].iter().copied().map(&factor).collect());
            let factors: Vec<Vec<&[u64]>> = factors.collect();
            let columns = sums.chunks_mut(n).zip(&factors);
            let mut columns: Vec<Column> = columns
                .map(|(sum, factors)| Column { out: &mut sum[at.clone()], factors })
                .collect();
            backend::columns_of_products(table, &digits, &mut columns, part);
        }
    }

    /// The limb of the rows that has the prime of limb `i` of the digits.
    pub(crate) fn stored_limb(&self, rows: &KeyRows, i: usize) -> usize {
        if i < self.limbs { i } else { rows.limbs + i - self.limbs }
    }

    /// The largest number of digits that are not [`ready`](Self::ready) at a prime.
    pub(crate) fn converted(&self) -> usize {
        match self.source {
            Source::Prepared(_) => self.count() * self.components(),
            Source::Stored(_) => 0,
        }
    }

    /// Writes limbs of a digit that are not [`ready`](Self::ready), in NTT form.
    pub(crate) fn write_limbs(&self, row: usize, targets: &mut [(usize, &mut [u64])]) {
        self.write_outer(row, targets.iter_mut().map(|(i, out)| (*i, &mut **out)).collect());
        for (i, out) in targets {
            let table = self.ring().table(*i);
            for (i, piece) in out.chunks_mut(backend::piece_words(table)).enumerate() {
                backend::forward_piece(table, piece, Piece::reduced(i));
            }
        }
    }

    /// Limb `i` of a digit, counted as the rows are, if it is in memory in NTT form.
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

    /// Writes limbs of a digit that are not [`ready`](Self::ready), up to the last stages of the
    /// NTT.
    fn write_outer(&self, row: usize, mut targets: Vec<(usize, &mut [u64])>) {
        let Source::Prepared(blocks) = &self.source else { return };
        let (component, digit) = (row % self.components(), row / self.components());
        let (gadget, limbs) = (self.gadget, self.limbs);
        let size = |digit: usize| gadget.converter(digit, limbs).layout().len();
        let start: usize = (0..digit).map(size).sum();
        // The converter counts the primes of the full chain before the special primes.
        for (i, _) in &mut targets {
            *i = if *i < limbs { *i } else { gadget.q().limbs() + *i - limbs };
        }
        let blocks = &blocks[component][start..start + size(digit)];
        gadget.converter(digit, limbs).write_outer(blocks, targets);
    }
}

#[cfg(test)]
mod tests;
