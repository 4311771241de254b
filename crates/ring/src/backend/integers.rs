//! What an instruction set with fast integer products adds to `simd.rs`: integer instructions, sums
//! of products, and the products of a blind rotation.

use super::{
    pointwise::lines,
    simd::{Arithmetic, Line, V, Wide},
};

/// Integer instructions on eight words.
pub(super) trait Integers: Wide {
    /// A word from each byte.
    fn load_bytes(self, bytes: &[u8; 8]) -> Self::V;
    fn and(self, a: Self::V, b: Self::V) -> Self::V;
    /// `x << bits`, `bits < 64` in every lane.
    fn shift_left(self, x: Self::V, bits: Self::V) -> Self::V;
    fn shift_left_32(self, x: Self::V) -> Self::V;
    fn shift_right_32(self, x: Self::V) -> Self::V;
    fn shift_right_31(self, x: Self::V) -> Self::V;
    /// `x >> bits`, `bits < 64` in every lane.
    fn shift_right(self, x: Self::V, bits: Self::V) -> Self::V;
    /// `[0, 2 bound) -> [0, bound)` for `bound <= 2^63`: subtracts the bound if possible.
    fn subtract_if_large(self, x: Self::V, bound: Self::V) -> Self::V;
    /// `value` if `x > threshold`, else zero. Both are below `2^63`.
    fn keep_if_greater(self, x: Self::V, threshold: Self::V, value: Self::V) -> Self::V;
    /// The product of the low 32 bits.
    fn mul_32(self, a: Self::V, b: Self::V) -> Self::V;
    /// The low 64 bits of `a b`.
    fn mul_low(self, a: Self::V, b: Self::V) -> Self::V;
    /// The low 64 bits of `a b - c d`.
    fn mul_sub_low(self, a: Self::V, b: Self::V, c: Self::V, d: Self::V) -> Self::V;
    /// The words of `a` at `index[0], index[1], ..`, each modulo the length of `a`, a power of two.
    fn gather(self, a: &[u64], index: &[u32; 8]) -> Self::V;
}

/// `B` lines of a row that is as long as the output.
#[inline(always)]
pub(super) fn block_at<const B: usize>(row: &[u64], first: usize) -> &[Line; B] {
    lines(row)[first..].first_chunk().expect("rows as long as the output")
}

/// As [`block_at`], in registers, as [terms](Sums::term).
#[inline(always)]
pub(super) fn load_terms<A: Sums, const B: usize>(f: A, row: &[u64], first: usize) -> [V<A>; B] {
    let mut x = [f.wide().splat(0); B];
    for (x, line) in x.iter_mut().zip(block_at::<B>(row, first)) {
        *x = f.term(f.wide().load(line));
    }
    x
}

/// Sums of products modulo one prime, and reductions of words that are not its residues.
pub(super) trait Sums: Arithmetic<W: Integers> {
    /// A sum of products of residues, wider than a word.
    type Sum: Copy;

    /// A residue in the form in which [`accumulate`](Self::accumulate) takes it.
    #[inline(always)]
    fn term(self, x: V<Self>) -> V<Self> {
        x
    }
    /// Lines of a limb of a [`PackedPoly`](crate::PackedPoly), starting at the given one, as
    /// [terms](Self::term).
    #[inline(always)]
    fn packed<const B: usize>(self, row: &[u64], first: usize) -> [V<Self>; B] {
        load_terms(self, row, first)
    }
    /// The empty sum.
    fn no_products(self) -> Self::Sum;
    /// The sum of one residue in `[0, q)`, or of a result of [`pause`](Self::pause).
    fn sum_of(self, x: V<Self>) -> Self::Sum;
    /// Resumes a sum from the result of [`pause`](Self::pause), or from zero. `last` means that it
    /// will not be paused again.
    #[inline(always)]
    fn resume(self, x: V<Self>, _last: bool) -> Self::Sum {
        self.sum_of(x)
    }
    /// Stores a partial sum in one word; same limits as [`reduce_sum`](Self::reduce_sum).
    #[inline(always)]
    fn pause(self, sum: Self::Sum) -> V<Self> {
        self.reduce_sum(sum)
    }
    /// `sum += a b`, for two [terms](Self::term).
    fn accumulate(self, sum: Self::Sum, a: V<Self>, b: V<Self>) -> Self::Sum;
    /// A sum of at most [`products`](Self::products) and one residue, to `[0, q)`.
    fn reduce_sum(self, sum: Self::Sum) -> V<Self>;
    /// A weight in `[0, q)` as a term, in the form for [`reduce_weighted`](Self::reduce_weighted).
    #[inline(always)]
    fn weight(self, w: u64) -> u64 {
        w
    }
    /// The empty sum of rows times [weights](Self::weight).
    #[inline(always)]
    fn no_rows(self) -> Self::Sum {
        self.no_products()
    }
    /// `sum += a b` for a product below `2^52`.
    #[inline(always)]
    fn accumulate_small(self, sum: Self::Sum, a: V<Self>, b: V<Self>) -> Self::Sum {
        self.accumulate(sum, a, b)
    }
    /// A sum of rows times weights that began with [`no_rows`](Self::no_rows), to an input of
    /// [`start_forward`](Arithmetic::start_forward).
    #[inline(always)]
    fn reduce_weighted(self, sum: Self::Sum) -> V<Self> {
        self.reduce_sum(sum)
    }
    /// The number of products that a sum can hold.
    fn products(self) -> usize;
    /// The number of products that a sum of rows can hold, unless its caller limits them.
    #[inline(always)]
    fn rows(self) -> usize {
        usize::MAX
    }
    /// The bits of residues of other primes that [`accumulate`](Self::accumulate) takes.
    const RESIDUE_BITS: u32 = 61;
    /// A word that the implementation accepts as a residue of another prime, to `[0, q)`.
    fn reduce(self, x: V<Self>) -> V<Self>;
    /// As [`reduce`](Self::reduce) to `[0, 2q)`, possibly for smaller words only.
    #[inline(always)]
    fn reduce_lazy(self, x: V<Self>) -> V<Self> {
        self.reduce(x)
    }
    /// Any word to `[0, 3q)`: for primes that [`reduce`](Self::reduce) does not take.
    #[inline(always)]
    fn reduce_word(self, x: V<Self>) -> V<Self> {
        self.reduce(x)
    }
    /// `sum += a b` for any word `a`. `high` is `2^52 b` modulo `q`, for implementations with
    /// 52-bit words.
    #[inline(always)]
    fn accumulate_word(self, sum: Self::Sum, a: V<Self>, b: V<Self>, _high: V<Self>) -> Self::Sum {
        self.accumulate(sum, a, b)
    }
}

/// The products of a blind rotation, reduced as little as the arithmetic allows: digits in `[0, q)`
/// times key rows, at most four per sum, times monomials less 1, two per sum.
///
/// Each of the two reductions may leave a factor `2^-b`, where `b` is the
/// [`radix`](super::Backend::radix) of the back end. The monomials compensate for it.
pub(super) trait Rotation: Arithmetic<W: Integers> {
    /// A digit, or a monomial less 1, as a factor.
    type Factor: Copy;
    /// A sum of products.
    type Partial: Copy;

    /// One factor per lane, from values and companions.
    fn lane_root(self, root: &[Line; 2]) -> Self::Root;
    fn digit(self, x: V<Self>) -> Self::Factor;
    /// `power lanes - one`, all with the same scale.
    fn monomial(self, power: u64, lanes: Self::Root, one: V<Self>) -> Self::Factor;
    /// The empty sum.
    fn nothing(self) -> Self::Partial;
    /// `sum += digit y`, `y` in `[0, q)`.
    fn add_digit(self, sum: Self::Partial, digit: Self::Factor, y: V<Self>) -> Self::Partial;
    /// A sum over digits, reduced as far as [`add_monomial`](Self::add_monomial) needs it.
    fn reduce_digits(self, sum: Self::Partial) -> V<Self>;
    /// `sum += monomial y`, `y` from [`reduce_digits`](Self::reduce_digits).
    fn add_monomial(self, sum: Self::Partial, monomial: Self::Factor, y: V<Self>) -> Self::Partial;
    /// A sum over two monomials, to `[0, q)`.
    fn reduce_monomials(self, sum: Self::Partial) -> V<Self>;
}
