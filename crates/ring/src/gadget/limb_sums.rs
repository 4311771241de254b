//! The limbs of an inner product, by either form of the key.
//!
//! With rows modulo `P Q`, every digit is converted to the prime of a limb, transformed and
//! multiplied into the sums while it is in cache. Neither digits nor sums are stored for all primes
//! at once. With rows that are cut into digits, sums modulo the auxiliary primes come first, in the
//! same way; they are stored, and the limbs are conversions of them.

use std::ops::Range;

use super::digits::Source;
use crate::aligned::AlignedVec;
use crate::backend::{self, Column, Part, Piece};
use crate::gadget::{Digits, GadgetKey, KeyDecomposition, KeyRows};
use crate::ntt::NttTable;
use crate::packed_poly::PackedPoly;
use crate::par::{self, HEAVY};

/// Digits converted before the multiplication, in words of one limb. More digits mean fewer writes
/// of the sums; fewer digits stay in the second-level cache until they are read.
const DIGIT_WORDS: usize = 4 << 15;

/// As [`DIGIT_WORDS`], for digits of at least [`par::WIDE`] primes, of which there are few.
const WIDE_WORDS: usize = 6 << 15;

/// As [`DIGIT_WORDS`], for digits modulo the auxiliary primes of a key decomposition. There are
/// many columns, so that writing their sums again for every few digits would cost more than reading
/// the digits from the third-level cache.
const AUXILIARY_WORDS: usize = 1 << 20;

/// Residues of key rows fetched into the second-level cache for a piece of the digits.
const ROW_WORDS: usize = 1 << 17;

/// Maximum number of row pieces fetched while a piece of a digit is transformed.
const AHEAD: usize = 16;

/// The buffers for the limbs that are computed together.
pub(super) struct Scratch {
    words: AlignedVec,
    /// Words of one limb of one digit.
    degree: usize,
    /// Digits converted for each limb before they are multiplied.
    group: usize,
    columns: usize,
    together: usize,
}

/// The buffers of a [`Scratch`].
pub(super) struct Buffers<'a> {
    /// By limb, then digit of a group.
    pub(super) digits: &'a mut [u64],
    /// By limb, then column.
    pub(super) sums: &'a mut [u64],
    /// By limb.
    pub(super) remainders: &'a mut [u64],
    /// One limb.
    pub(super) other: &'a mut [u64],
    /// One piece of a limb.
    pub(super) piece: &'a mut [u64],
}

impl Scratch {
    pub(super) fn buffers(&mut self) -> Buffers<'_> {
        let limbs = self.together * self.degree;
        let (digits, rest) = self.words.split_at_mut(self.group * limbs);
        let (sums, rest) = rest.split_at_mut(self.columns * limbs);
        let (remainders, rest) = rest.split_at_mut(limbs);
        let (other, piece) = rest.split_at_mut(self.degree);
        Buffers { digits, sums, remainders, other, piece }
    }
}

/// The limbs of an inner product, computed when they are asked for.
pub(super) struct LimbSums<'a> {
    digits: &'a Digits<'a>,
    from: LimbSource<'a>,
}

enum LimbSource<'a> {
    /// Products of digits with these rows.
    Products(&'a KeyRows<'a>),
    /// Conversions of sums modulo the auxiliary primes.
    Sums {
        decomposition: &'a KeyDecomposition,
        /// By digit of the key, then column: the blocks that conversions read.
        blocks: Vec<AlignedVec>,
        columns: usize,
    },
}

impl<'a> LimbSums<'a> {
    /// Panics if there are too few rows, or if they have too few limbs or belong to another ring,
    /// and for stored digits with a decomposed key.
    pub(super) fn new(digits: &'a Digits<'a>, key: GadgetKey<'a>) -> Self {
        let from = match key {
            GadgetKey::Rows(rows) => {
                digits.check_rows(rows);
                LimbSource::Products(rows)
            }
            GadgetKey::Decomposed(decomposition, rows) => {
                assert!(
                    digits.limbs() <= decomposition.limbs(),
                    "the rows must have at least as many limbs as the digits"
                );
                let key_digits = decomposition.key_digits(digits.limbs());
                let columns = rows.key_rows(key_digits, decomposition.ring().limbs());
                let modulo_t = digits.modulo(decomposition);
                let modulo_t = modulo_t.expect("digits are not stored modulo the primes of a key");
                let blocks = LimbSums::new(&modulo_t, (&columns).into()).blocks(decomposition);
                LimbSource::Sums { decomposition, blocks, columns: rows.count }
            }
        };
        Self { digits, from }
    }

    /// All sums modulo the auxiliary primes, as conversions read them.
    fn blocks(&self, decomposition: &KeyDecomposition) -> Vec<AlignedVec> {
        let (ring, layout) = (decomposition.ring(), decomposition.layout());
        let mut blocks: Vec<_> = (0..self.columns()).map(|_| ring.scratch(layout.len())).collect();
        // Step 1: by prime, then column: the inner product, and its inverse transform.
        let mut bursts: Vec<Vec<_>> = (0..ring.limbs()).map(|_| vec![]).collect();
        for block in &mut blocks {
            let rows = layout.bursts_of_rows(block).into_iter();
            bursts.iter_mut().zip(rows).for_each(|(bursts, row)| bursts.push(row));
        }
        par::each_with(
            bursts,
            ring.degree() * self.columns(),
            HEAVY,
            || self.scratch(1),
            |scratch, i, columns| {
                self.write(i..i + 1, scratch);
                let Buffers { sums, other, .. } = scratch.buffers();
                for (sum, mut bursts) in sums.chunks(ring.degree()).zip(columns) {
                    // The first conversion writes the rows of all: they depend on T alone.
                    decomposition.back(0).write_row(i, sum, other, &mut bursts);
                }
            },
        );
        // Step 2: the multiples of T that conversions subtract.
        for block in &mut blocks {
            decomposition.back(0).write_quotients(block);
        }
        blocks
    }

    /// The number of columns of the result.
    pub(super) fn columns(&self) -> usize {
        match &self.from {
            LimbSource::Products(rows) => rows.columns.len(),
            LimbSource::Sums { columns, .. } => *columns,
        }
    }

    /// The number of limbs that are computed together, out of `limbs`.
    pub(super) fn together(&self, limbs: usize) -> usize {
        match &self.from {
            LimbSource::Products(_) => self.digits.together(limbs),
            LimbSource::Sums { decomposition, .. } => {
                par::together(limbs, decomposition.ring().limbs())
            }
        }
    }

    /// Writes some limbs of the inner product to `scratch.sums`.
    pub(super) fn write(&self, limbs: Range<usize>, scratch: &mut Scratch) {
        match &self.from {
            LimbSource::Products(rows) => self.multiply(rows, limbs, scratch),
            LimbSource::Sums { decomposition, blocks, columns } => {
                let sums = scratch.buffers().sums;
                for column in 0..*columns {
                    let sums = sums.chunks_mut(self.digits.ring().degree());
                    let sums = sums.skip(column).step_by(*columns);
                    let place = |i| decomposition.place(i, self.digits.limbs());
                    let mut targets: Vec<_> =
                        limbs.clone().map(|i| (place(i), i)).zip(sums).collect();
                    // Limbs of the same digit of the key read the same blocks.
                    for targets in targets.chunk_by_mut(|((a, _), _), ((b, _), _)| a.0 == b.0) {
                        let digit = targets[0].0.0.0;
                        let places =
                            targets.iter_mut().map(|(((_, at), _), sum)| (*at, &mut **sum));
                        let blocks = &blocks[digit * columns + column];
                        decomposition.back(digit).write_outer(blocks, places.collect());
                        for ((_, i), sum) in targets {
                            backend::finish_forward(self.digits.ring().table(*i), sum);
                        }
                    }
                }
            }
        }
    }

    pub(super) fn scratch(&self, together: usize) -> Scratch {
        let (ring, columns) = (self.digits.ring(), self.columns());
        let group = match (&self.from, self.digits.source()) {
            (LimbSource::Products(_), Source::Prepared(_)) => self.groups(columns).0,
            _ => 0,
        };
        let piece = backend::piece_words(ring.table(0));
        // Digits, sums and remainders of the limbs of a group, one more limb, and one piece.
        let limbs = (group + columns + 1) * together + 1;
        let words = ring.scratch(limbs * ring.degree() + piece);
        Scratch { words, degree: ring.degree(), group, columns, together }
    }

    /// The number of digits that are converted before they are multiplied, and the number of them
    /// that are multiplied together.
    fn groups(&self, columns: usize) -> (usize, usize) {
        let digits = self.digits;
        let (degree, all) = (digits.ring().degree(), digits.count() * digits.components());
        // Groups of about equal size.
        let equal = |most: usize| all.div_ceil(all.div_ceil(most.max(1)));
        let most = backend::MAX_PRODUCTS - 1;
        if let Source::Stored(_) = digits.source() {
            return (equal(most), most);
        }
        let piece = backend::piece_words(digits.ring().table(0));
        let fetched = (ROW_WORDS / (piece * columns.max(1))).clamp(1, most);
        if digits.is_auxiliary() {
            return (equal(AUXILIARY_WORDS / degree), fetched);
        }
        let words = if digits.rows() < par::WIDE { DIGIT_WORDS } else { WIDE_WORDS };
        (equal((words / degree).min(fetched)), fetched)
    }

    /// Writes some limbs of the inner product with rows to `scratch.sums`.
    fn multiply(&self, rows: &KeyRows, limbs: Range<usize>, scratch: &mut Scratch) {
        let digits = self.digits;
        let (n, count) = (digits.ring().degree(), rows.columns.len());
        let (group, together) = self.groups(count);
        let Buffers { digits: buffer, sums, .. } = scratch.buffers();
        let all = digits.count() * digits.components();
        for first in (0..all).step_by(group) {
            // Step 1: convert a group of digits to all limbs, up to the last stages of the NTT.
            let range = first..all.min(first + group);
            for (k, row) in range.clone().enumerate() {
                let places = limbs.clone().zip(buffer.chunks_mut(group * n));
                let targets: Vec<_> = places
                    .filter(|&(i, _)| digits.ready(row, i).is_none())
                    .map(|(i, buffer)| (i, &mut buffer[k * n..(k + 1) * n]))
                    .collect();
                digits.write_outer(row, targets);
            }
            // Step 2: for each limb, finish the transforms and multiply.
            let mut buffer = buffer.chunks_mut((group * n).max(1));
            for (i, sums) in limbs.clone().zip(sums.chunks_mut(count * n)) {
                let buffer = buffer.next().unwrap_or_default();
                // The digits of a group whose rows are fetched together, piece by piece.
                for at in pieces(digits.ring().table(i)) {
                    for start in range.clone().step_by(together) {
                        let rows_of = start..range.end.min(start + together);
                        let buffer = buffer.get_mut((start - first) * n..).unwrap_or_default();
                        self.add_products(rows, i, &at, rows_of, buffer, sums);
                    }
                }
            }
        }
    }

    /// Finishes the transforms of one piece of some digits and multiplies it with the key rows.
    fn add_products<'k>(
        &self,
        rows: &KeyRows<'k>,
        i: usize,
        at: &Range<usize>,
        range: Range<usize>,
        buffer: &mut [u64],
        sums: &mut [u64],
    ) {
        let digits = self.digits;
        let n = digits.ring().degree();
        let table = digits.ring().table(i);
        let stored = digits.stored_limb(rows, i);
        let converted = range.clone().filter(|&row| digits.ready(row, i).is_none()).count();
        let share = (range.len() * rows.columns.len()).div_ceil(converted.max(1)).min(AHEAD);
        let bytes = table.packed_bytes();
        let packed = at.start / 8 * bytes..at.end / 8 * bytes;
        let factor = |row: &'k PackedPoly| &row.limb(stored)[packed.clone()];
        // Step 1: finish the transforms of this piece. Each prefetches an equal share of the row
        // pieces.
        let mut pieces = range
            .clone()
            .flat_map(|row| rows.columns.iter().map(move |column| column[row]))
            .map(&factor);
        for (row, limb) in range.clone().zip(buffer.chunks_mut(n)) {
            if digits.ready(row, i).is_none() {
                let mut ahead = [&[][..]; AHEAD];
                let mut count = 0;
                for (ahead, piece) in ahead.iter_mut().zip(pieces.by_ref().take(share)) {
                    *ahead = piece;
                    count += 1;
                }
                let index = at.start / at.len();
                let piece = Piece { index, ahead: &ahead[..count], reduced: false };
                backend::forward_piece(table, &mut limb[at.clone()], piece);
            }
        }
        // Step 2: the products of this piece, all columns in one pass over the digits.
        let digit = |(k, row): (usize, usize)| {
            let limb = digits.ready(row, i).unwrap_or_else(|| &buffer[k * n..(k + 1) * n]);
            &limb[at.clone()]
        };
        let digits: Vec<&[u64]> = range.clone().enumerate().map(digit).collect();
        let factors = rows
            .columns
            .iter()
            .map(|column| column[range.clone()].iter().copied().map(&factor).collect());
        let factors: Vec<Vec<&[u64]>> = factors.collect();
        let columns = sums.chunks_mut(n).zip(&factors);
        let mut columns: Vec<Column> =
            columns.map(|(sum, factors)| Column { out: &mut sum[at.clone()], factors }).collect();
        let all = self.digits.count() * self.digits.components();
        let part = Part { before: range.start, all };
        backend::columns_of_products(table, &digits, &mut columns, part);
    }
}

/// The pieces in which the transforms of a table are finished.
fn pieces(table: &NttTable) -> impl Iterator<Item = Range<usize>> {
    let words = backend::piece_words(table);
    (0..table.degree()).step_by(words).map(move |start| start..start + words)
}
