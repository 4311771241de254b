//! Sums of products in floating point, as pairs `[high, low]` whose sum is exact.
//!
//! `high` starts at a power of two `2^b`, so that it is a multiple of `u = 2^(b - 52)` as long as
//! it stays in `[2^b, 2^(b + 1)]`. For each product `x y`
//! 1. `high' = high + x y`, rounded to a multiple of `u`,
//! 2. `h = high' - high`, exact,
//! 3. `low' = low - (h - x y)`, with `|h - x y| <= u / 2`, exact as long as `low` stays within
//!    `2^53`.
//!
//! Let the product of two factors be below `2^(2 n)`, and let `m = 2^c` products be summed. The
//! first condition holds for `b = 2 n + c`, and the second for `m u / 2 <= 2^53`, that is
//! `2 n + 2 c <= 106`: 8 products for `n = 50`, and 32 for `n = 48`. A residue below `2^n` takes
//! the place of one product in `low`.

use super::{
    Backend,
    double::{Double, Factor, Limits, MAX_BITS},
    floats::Floats,
    integers::{Integers, Rotation, Sums},
    simd::{Line, V, Wide},
};

/// `[high, low]`, see above.
type Pair<W> = [<W as Wide>::V; 2];

impl<W: Floats, const LAZY: bool> Double<W, LAZY> {
    /// For sums of rows with residues of these bits.
    #[inline(always)]
    pub(super) fn for_rows(self, bits: u32) -> Self {
        Self { limits: Limits::of(bits + self.modulus.bits()), ..self }
    }

    #[inline(always)]
    fn empty(self, start: f64) -> Pair<W> {
        [self.wide.splat(start.to_bits()), self.wide.splat(0)]
    }

    /// `sum += x y`.
    #[inline(always)]
    fn add_product(self, [high, low]: Pair<W>, x: W::V, y: W::V) -> Pair<W> {
        let f = self.wide;
        let sum = f.times_plus(x, y, high);
        let h = f.minus(sum, high);
        [sum, f.minus(low, f.minus_times(h, x, y))]
    }

    /// A sum to a number up to `q / 2`, up to the rounding of the quotient.
    ///
    /// The high part is at most `m q p` if the other factors are below `p`. Its quotient has two
    /// roundings, and is off by at most `2^-52 m p`. What remains of both parts is thus at most
    /// `2^-52 m p q + 3/2 q`, below `2^(2 n + c - 52) + 2^51 < 2^52`, since `2 n + c <= 103`.
    #[inline(always)]
    fn reduce_pair(self, [high, low]: Pair<W>, start: f64) -> W::V {
        let f = self.wide;
        let high = f.minus(high, f.splat(start.to_bits()));
        self.centered(f.plus(self.centered(high), self.centered(low)))
    }
}

impl<W: Floats + Integers, const LAZY: bool> Sums for Double<W, LAZY> {
    type Sum = Pair<W>;

    #[inline(always)]
    fn term(self, x: V<Self>) -> V<Self> {
        self.wide.converted(x)
    }

    #[inline(always)]
    fn packed<const B: usize>(self, row: &[u64], first: usize) -> [V<Self>; B] {
        let bytes = Backend::Avx2Fma.packed_bytes(&self.modulus);
        let lines = &row[first * bytes..(first + B) * bytes];
        let mut x = [self.wide.splat(0); B];
        for (i, x) in x.iter_mut().enumerate() {
            // SAFETY: line `i` of `B`, each of as many words as a residue has bytes.
            let words =
                unsafe { self.wide.load_packed(lines.as_ptr().add(i * bytes).cast(), bytes) };
            *x = self.wide.converted(words);
        }
        x
    }

    #[inline(always)]
    fn weight(self, w: u64) -> u64 {
        (w as f64).to_bits()
    }

    #[inline(always)]
    fn no_products(self) -> Pair<W> {
        self.empty(self.limits.start)
    }

    #[inline(always)]
    fn sum_of(self, x: V<Self>) -> Pair<W> {
        [self.wide.splat(self.limits.start.to_bits()), self.wide.converted(x)]
    }

    #[inline(always)]
    fn resume(self, x: V<Self>, _last: bool) -> Pair<W> {
        [self.wide.splat(self.limits.start.to_bits()), x]
    }

    /// A number up to `q / 2`.
    #[inline(always)]
    fn pause(self, sum: Pair<W>) -> V<Self> {
        self.reduce_pair(sum, self.limits.start)
    }

    #[inline(always)]
    fn accumulate(self, sum: Pair<W>, a: V<Self>, b: V<Self>) -> Pair<W> {
        self.add_product(sum, a, b)
    }

    #[inline(always)]
    fn reduce_sum(self, sum: Pair<W>) -> V<Self> {
        self.residue(self.reduce_pair(sum, self.limits.start))
    }

    #[inline(always)]
    fn products(self) -> usize {
        (1 << self.limits.log_products) - 1
    }

    #[inline(always)]
    fn rows(self) -> usize {
        self.products()
    }

    const RESIDUE_BITS: u32 = MAX_BITS;

    #[inline(always)]
    fn reduce(self, x: V<Self>) -> V<Self> {
        self.residue(self.centered(self.wide.converted(x)))
    }
}

/// Factors and partial results are numbers. Digits and keys are not negative, and there are at most
/// four products of them; monomials less 1, and sums of digits, have either sign.
impl<W: Floats + Integers, const LAZY: bool> Rotation for Double<W, LAZY> {
    type Factor = V<Self>;
    type Partial = Pair<W>;

    #[inline(always)]
    fn lane_root(self, [value, _]: &[Line; 2]) -> Factor<W> {
        self.factor(self.wide.converted(self.wide.load(value)))
    }

    #[inline(always)]
    fn digit(self, x: V<Self>) -> V<Self> {
        self.wide.converted(x)
    }

    /// In `(-2q, q)`: the product is below `q`, as in [`Arithmetic::mul`].
    #[inline(always)]
    fn monomial(self, power: u64, lanes: Factor<W>, one: V<Self>) -> V<Self> {
        let f = self.wide;
        f.minus(self.product(f.converted(f.splat(power)), lanes), f.converted(one))
    }

    #[inline(always)]
    fn nothing(self) -> Pair<W> {
        self.empty(self.limits.signed_start())
    }

    #[inline(always)]
    fn add_digit(self, sum: Pair<W>, digit: V<Self>, y: V<Self>) -> Pair<W> {
        self.add_product(sum, digit, self.wide.converted(y))
    }

    #[inline(always)]
    fn reduce_digits(self, sum: Pair<W>) -> V<Self> {
        self.reduce_pair(sum, self.limits.signed_start())
    }

    /// Less than `2q` times `0.51 q`, twice.
    #[inline(always)]
    fn add_monomial(self, sum: Pair<W>, monomial: V<Self>, y: V<Self>) -> Pair<W> {
        self.add_product(sum, monomial, y)
    }

    #[inline(always)]
    fn reduce_monomials(self, sum: Pair<W>) -> V<Self> {
        self.residue(self.reduce_pair(sum, self.limits.signed_start()))
    }
}
