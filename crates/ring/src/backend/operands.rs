//! What the kernels take: rows, columns and terms of sums, the primes of a base conversion, the
//! pieces of a transform, and tasks of subrings.

use crate::ntt::NttTable;

/// The number of products of residues below `2^61` that fit a 128-bit accumulator.
pub(crate) const MAX_PRODUCTS: usize = 63;

/// A sum of products of some rows, each row with its own factor, in `[0, q)`.
pub(crate) struct Column<'a> {
    pub(crate) out: &'a mut [u64],
    /// Packed for the table, as in a [`PackedPoly`](crate::PackedPoly).
    pub(crate) factors: &'a [&'a [u64]],
}

/// A part of a sum of products. Between parts, a sum is stored in words that only the same sum on
/// the same back end can resume.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// The number of products in earlier parts. If zero, the output is overwritten.
    pub(crate) before: usize,
    /// The number of products in all parts. The last part reduces the sum to `[0, q)`.
    pub(crate) all: usize,
}

/// One product of a sum, pointwise.
#[derive(Clone, Copy)]
pub(crate) struct Term<'a> {
    /// As long as the row; or one line for each tile of 64 words, as the factor of all eight lines.
    pub factor: &'a [u64],
    pub row: &'a [u64],
}

impl Term<'_> {
    pub(super) fn is_by_tile(&self) -> bool {
        debug_assert!([1, 8].contains(&(self.row.len() / self.factor.len())));
        self.factor.len() < self.row.len()
    }
}

/// A sum of rows, each times its weight, plus small multiples of one more weight: the inner loop of
/// base conversion. Weights are in `[0, q)`.
#[derive(Clone, Copy)]
pub(crate) struct WeightedRows<'a> {
    /// Fewer than [`MAX_PRODUCTS`] rows of residues of any primes.
    pub rows: &'a [&'a [u64]],
    /// The bits of the residues of each row, at most 61.
    pub bits: &'a [u32],
    /// One weight per row.
    pub weights: &'a [u64],
    /// The multiples and their weight.
    pub multiples: Option<(&'a [u8], u64)>,
}

impl WeightedRows<'_> {
    /// The bits of the largest residues.
    pub(crate) fn row_bits(&self) -> u32 {
        debug_assert!(self.bits.len() == self.rows.len() && self.weights.len() == self.rows.len());
        self.bits.iter().copied().max().unwrap_or(0)
    }
}

/// One of several primes that the same rows are converted to.
pub(crate) struct Target<'a> {
    pub(crate) table: &'a NttTable,
    /// One weight per row in `[0, q)`, then the weight of the quotients. Empty for a single row.
    pub(crate) weights: &'a [u64],
    pub(crate) out: &'a mut [u64],
}

/// The kind of the rows in blocks.
#[derive(Clone, Copy)]
pub(crate) enum RowKind<'a> {
    /// Several rows of residues with these bits. They enter sums times the weights of a target, and
    /// the quotients enter times one more weight.
    Several(&'a [u32]),
    /// One row of residues modulo this number, processed as in
    /// [`reduce_centered`](super::reduce_centered).
    One(u64),
}

/// One of the pieces of [`piece_words`](super::piece_words) words in which a transform is finished.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) index: usize,
    /// Slices to prefetch meanwhile for the next step. None is longer than the piece.
    pub(crate) ahead: &'a [&'a [u64]],
    /// Whether the result has to be in `[0, q)`. Otherwise it is a factor for
    /// [`columns_of_products`](super::columns_of_products).
    #[cfg_attr(
        not(any(target_arch = "x86_64", target_arch = "aarch64")),
        expect(dead_code, reason = "always reduced there")
    )]
    pub(crate) reduced: bool,
}

impl Piece<'_> {
    /// A piece that is reduced to `[0, q)`, without prefetching.
    pub(crate) fn reduced(index: usize) -> Self {
        Self { index, ahead: &[], reduced: true }
    }
}

/// Maps between a polynomial of degree `N` and its `f` components of degree `N / f`, see
/// [`crate::SubringMap`]. Words in `[0, q)`, in NTT form.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no kernel reads them"))]
pub(crate) enum SubringTask<'a, 'b> {
    /// From the polynomial to its components, each times `f` and the given factor `f^-1`.
    Split(&'a [u64], &'a mut [&'b mut [u64]], u64),
    /// From the polynomial to component 0 alone, times the same.
    Constant(&'a [u64], &'a mut [u64], u64),
    /// From components to the polynomial.
    Join(&'a [&'b [u64]], &'a mut [u64]),
    /// From component 0 to the polynomial with no other components.
    Lift(&'a [u64], &'a mut [u64]),
}

/// The rows of a quotient.
#[derive(Clone, Copy)]
pub(crate) struct QuotientTerms<'a> {
    pub(crate) dividend: &'a [u64],
    pub(crate) remainder: &'a [u64],
    pub(crate) addend: Option<&'a [u64]>,
}
