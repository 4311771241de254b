//! Several sums of products of the same polynomials with other factors: the sums of a linear
//! transform, whose factors are its diagonals.
//!
//! The sums of a limb are computed a few cache lines at a time, all of them from lines in the
//! first-level cache: each polynomial is read from memory once for all sums. Factors of few
//! coefficients repeat their values, and a factor that is not stored is written when it is needed.

use std::ops::Range;

use crate::backend::{self, Term};
use crate::ntt::NttTable;
use crate::par::{self, HEAVY};
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// Words of a piece of the sums: the pieces of sixteen polynomials stay in the first-level cache
/// until all sums have read them.
pub(crate) const PIECE: usize = 1 << 8;

/// Maximum number of factor words of one limb that are written before use. A single sum may exceed
/// it.
const WRITTEN: usize = 1 << 19;

/// Least number of words of a limb that one task computes.
const SHARE: usize = 1 << 12;

/// One product of a sum.
#[derive(Debug, Clone)]
pub struct Weighted<'a, T> {
    /// Index of the polynomial that several sums share.
    pub row: usize,
    /// The other factor.
    pub factor: Factor<'a, T>,
}

/// A polynomial in NTT form.
#[derive(Debug, Clone)]
pub enum Factor<'a, T> {
    /// A stored polynomial.
    Stored(&'a Poly<Ntt>),
    /// Written limb by limb when it is needed.
    Written(T),
    /// As `Written`, for a polynomial with [few enough](Factor::is_by_tile) coefficients: one line
    /// of eight words for each tile of 64, since all eight lines of the tile are equal.
    ByTile(T),
}

impl<T> Factor<'_, T> {
    /// Whether a polynomial of this degree in the power `X^(degree / coefficients)` has equal
    /// values in all eight lines of each tile of 64 words.
    pub fn is_by_tile(degree: usize, coefficients: usize) -> bool {
        degree >= backend::MIN_WIDE_DEGREE && 8 * coefficients <= degree
    }

    /// The number of words that are written for so many words of a limb.
    fn written(&self, words: usize) -> usize {
        match self {
            Self::Stored(_) => 0,
            Self::Written(_) => words,
            Self::ByTile(_) => words / 8,
        }
    }
}

/// Positions of one limb, whose bounds are multiples of 64.
pub(crate) struct LimbRange {
    pub(crate) limb: usize,
    pub(crate) range: Range<usize>,
}

/// Sums in batches whose written factors fit the buffer.
pub(crate) struct Batches<'s, 'a, T> {
    sums: &'s [Vec<Weighted<'a, T>>],
    batches: Vec<Range<usize>>,
    /// The number of columns of each row and each sum.
    columns: usize,
}

impl<'s, 'a, T> Batches<'s, 'a, T> {
    /// Batches for `words` words of each limb at a time.
    pub(crate) fn new(sums: &'s [Vec<Weighted<'a, T>>], columns: usize, words: usize) -> Self {
        let mut batches: Vec<Range<usize>> = Vec::new();
        for k in 0..sums.len() {
            match batches.last_mut() {
                // A sum joins the batch while its written factors fit.
                Some(last) if written(&sums[last.start..=k], words) <= WRITTEN => last.end = k + 1,
                _ => batches.push(k..k + 1),
            }
        }
        Self { sums, batches, columns }
    }

    /// Words of the buffer for `words` words of a limb.
    pub(crate) fn buffer(&self, words: usize) -> usize {
        let sizes = self.batches.iter().map(|batch| written(&self.sums[batch.clone()], words));
        sizes.max().unwrap_or(0)
    }

    /// All sums at the positions `at`. `rows` and `targets` are by row or sum, then column.
    /// `write(x, first, words)` writes a factor from position `first` on.
    pub(crate) fn sum(
        &self,
        table: &NttTable,
        at: LimbRange,
        rows: &[&[u64]],
        targets: &mut [&mut [u64]],
        buffer: &mut [u64],
        write: impl Fn(&T, usize, &mut [u64]),
    ) {
        let (columns, LimbRange { limb, range: at }) = (self.columns, at);
        for batch in &self.batches {
            let sums = &self.sums[batch.clone()];
            // Step 1: the factors of the batch.
            let mut free = &mut *buffer;
            let mut factor = |term: &'s Weighted<'a, T>| -> &[u64] {
                let (words, rest) =
                    std::mem::take(&mut free).split_at_mut(term.factor.written(at.len()));
                free = rest;
                match &term.factor {
                    Factor::Stored(poly) => return &poly.limb(limb)[at.clone()],
                    Factor::Written(x) | Factor::ByTile(x) => write(x, at.start, words),
                }
                words
            };
            let factors: Vec<Vec<&[u64]>> =
                sums.iter().map(|sum| sum.iter().map(&mut factor).collect()).collect();
            // Step 2: the products of every sum and column.
            let places =
                sums.iter().zip(&factors).flat_map(|sum| (0..columns).map(move |c| (sum, c)));
            let terms: Vec<Vec<Term>> = places
                .map(|((sum, factors), column)| {
                    let rows = sum.iter().map(|term| rows[term.row * columns + column]);
                    rows.zip(factors).map(|(row, &factor)| Term { factor, row }).collect()
                })
                .collect();
            // Step 3: piece by piece, so that the rows stay in the first-level cache.
            let targets = &mut targets[batch.start * columns..batch.end * columns];
            for first in (0..at.len()).step_by(PIECE) {
                let piece = first..at.len().min(first + PIECE);
                for (target, terms) in targets.iter_mut().zip(&terms) {
                    backend::sum_of_terms(table, &mut target[piece.clone()], first, terms);
                }
            }
        }
    }
}

/// The number of factor words that some sums write for so many words of a limb.
fn written<T>(sums: &[Vec<Weighted<T>>], words: usize) -> usize {
    sums.iter().flatten().map(|term| term.factor.written(words)).sum()
}

impl Ring {
    /// `sum_t factor_t row_t` for every one of `sums`: the columns of each sum. All rows have the
    /// same number of columns. `write(x, i, first, words)` writes limb `i` of a factor that is not
    /// stored from position `first` on, or one line for each of its tiles.
    ///
    /// # Panics
    /// If rows differ in their number of columns, if a term names a row that is not given, or if a
    /// polynomial does not belong to the ring.
    pub fn weighted_sums<T: Sync>(
        &self,
        rows: &[Vec<&Poly<Ntt>>],
        sums: &[Vec<Weighted<T>>],
        write: impl Fn(&T, usize, usize, &mut [u64]) + Sync + Send,
    ) -> Vec<Vec<Poly<Ntt>>> {
        // Step 1: check all shapes.
        let columns = rows.first().map_or(0, Vec::len);
        for row in rows {
            assert_eq!(row.len(), columns, "all rows must have the same number of columns");
            row.iter().for_each(|poly| self.check(poly));
        }
        for term in sums.iter().flatten() {
            assert!(term.row < rows.len(), "every term must refer to a given row");
            if let Factor::Stored(poly) = term.factor {
                self.check(poly);
            }
        }
        // Step 2: equal shares of a limb, if there are more threads than limbs. A factor that is
        // transformed is written as a whole.
        let n = self.degree();
        let whole = sums.iter().flatten().any(|term| matches!(term.factor, Factor::Written(_)));
        let shares = match whole {
            true => 1,
            false => (4 * par::threads() / self.limbs()).next_power_of_two().min(n.div_ceil(SHARE)),
        };
        let shares = if par::threads() == 1 { 1 } else { shares };
        let words = n / shares;
        let batches = Batches::new(sums, columns, words);
        // Step 3: the sums, by limb and share.
        let mut results: Vec<Poly<Ntt>> =
            (0..sums.len() * columns).map(|_| self.uninit()).collect();
        let chunks = results.iter_mut().map(|poly| poly.data_mut().chunks_mut(words)).collect();
        par::each_with(
            par::transposed(chunks),
            words * sums.len() * columns,
            HEAVY,
            || self.scratch(batches.buffer(words)),
            |buffer, task, mut targets| {
                let (i, first) = (task / shares, task % shares * words);
                let at = LimbRange { limb: i, range: first..first + words };
                let rows = rows.iter().flatten().map(|poly| &poly.limb(i)[at.range.clone()]);
                let rows: Vec<&[u64]> = rows.collect();
                let write = |x: &T, first, words: &mut [u64]| write(x, i, first, words);
                batches.sum(self.table(i), at, &rows, &mut targets, buffer, write);
            },
        );
        let mut results = results.into_iter();
        sums.iter().map(|_| results.by_ref().take(columns).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gadget, values};

    /// Against products and sums made one after the other.
    #[test]
    fn sums_are_those_of_products_made_one_by_one() {
        for (degree, limbs, terms) in [(16, 1, 150), (64, 3, 7), (256, 2, 40), (1 << 13, 2, 5)] {
            let ring = gadget(degree, &[(45, 3)], (50, 1)).q().at_limbs(limbs);
            let rows: Vec<Vec<Poly<Ntt>>> = (0..3)
                .map(|k| (0..2).map(|c| values(&ring, (10 * k + c) as u64)).collect())
                .collect();
            // Every third factor is in a power of X: its tiles hold each value eight times.
            let by_tile = |t: usize| t % 3 == 2 && Factor::<()>::is_by_tile(degree, degree / 8);
            let plain = |t: usize| match by_tile(t) {
                true => {
                    let word = |i: usize| if i.is_multiple_of(8) { (t * i) as i64 - 77 } else { 0 };
                    ring.forward(ring.from_signed(&(0..degree).map(word).collect::<Vec<_>>()))
                }
                false => values(&ring, 1000 + t as u64),
            };
            let plain: Vec<_> = (0..terms).map(plain).collect();
            // With and without factors that are written as a whole.
            for written in [false, true] {
                let sum = |t: usize| Weighted {
                    row: t % 3,
                    factor: match () {
                        () if by_tile(t) => Factor::ByTile(t),
                        () if written && t.is_multiple_of(2) => Factor::Written(t),
                        () => Factor::Stored(&plain[t]),
                    },
                };
                let sums = [(0..terms).map(sum).collect(), vec![], vec![sum(0), sum(2)]];
                let write = |t: &usize, i: usize, first: usize, out: &mut [u64]| {
                    let values = &plain[*t].limb(i)[first..];
                    if !by_tile(*t) {
                        return out.copy_from_slice(&values[..out.len()]);
                    }
                    for (line, tile) in out.chunks_mut(8).zip(values.chunks(64)) {
                        line.copy_from_slice(&tile[..8]);
                    }
                };
                let given: Vec<Vec<&Poly<Ntt>>> =
                    rows.iter().map(|row| row.iter().collect()).collect();
                let found = ring.weighted_sums(&given, &sums, write);
                assert_eq!(found.len(), sums.len());
                for (terms, found) in sums.iter().zip(&found) {
                    for (column, found) in found.iter().enumerate() {
                        let mut expected = ring.zero();
                        for term in terms {
                            let plain = match term.factor {
                                Factor::Stored(plain) => plain,
                                Factor::Written(t) | Factor::ByTile(t) => &plain[t],
                            };
                            ring.mul_add_assign(&mut expected, plain, &rows[term.row][column]);
                        }
                        assert!(*found == expected, "column {column}");
                    }
                }
            }
        }
    }
}
