//! 64-bit Shoup arithmetic on any [`Wide`] registers, for every modulus `q < 2^61`.
//!
//! High halves of products are approximated from three 32-bit products; a Shoup product is then
//! `y w - h q` with a quotient `h` that is too small by less than 4, so it lies in `[0, 4q)` for
//! every word `y`. Forward residues are in `[0, 8q)`, inverse residues in `[0, 4q)`.
//!
//! The transforms of `NARROW` primes, below `2^60`, use companions `floor(w 2^63 / q)`: with all
//! words below `2^63` the two middle products can be added before the shift.

use super::NARROW_BITS;
use super::wide::{Arithmetic, Line, Rotation, V, Wide};
use crate::{Modulus, ntt::roots::RECORD};

/// Residues modulo one prime in 64-bit words.
#[derive(Clone, Copy)]
pub(super) struct Word<W: Wide, const NARROW: bool> {
    wide: W,
    modulus: Modulus,
    q: W::V,
    two_q: W::V,
    four_q: W::V,
    low_mask: W::V,
    /// `63 - bits(q)`.
    shift: W::V,
    /// `floor(2^(64 + bits(q)) / q) - 2^64`.
    reciprocal: Constant<W>,
    one: Root<W>,
    radix: Root<W>,
}

/// A factor whose halves are wanted apart.
#[derive(Clone, Copy)]
pub(super) struct Constant<W: Wide> {
    /// The whole word, of which the multiplications read the low half.
    low: W::V,
    high: W::V,
    /// Twice the high half.
    twice_high: W::V,
}

/// A factor and `floor(w 2^64 / q)`, or `floor(w 2^63 / q)` if `NARROW`.
#[derive(Clone, Copy)]
pub(super) struct Root<W: Wide> {
    value: W::V,
    companion: Constant<W>,
}

/// `words[0] + words[1] 2^32 + words[2] 2^64`, the words unreduced.
#[derive(Clone, Copy)]
pub(super) struct Sum<W: Wide> {
    words: [W::V; 3],
}

impl<W: Wide, const NARROW: bool> Word<W, NARROW> {
    #[inline(always)]
    pub(super) fn new(wide: W, modulus: &Modulus) -> Self {
        let q = modulus.value();
        let splat = |x| wide.splat(x);
        let constant =
            |x| Constant { low: splat(x), high: splat(x >> 32), twice_high: splat(x >> 32 << 1) };
        let root = |w| Root { value: splat(w), companion: constant(companion(modulus, w, NARROW)) };
        let bits = modulus.bits();
        // 2^(64 + bits) / q is 2^64 and a fraction: bits(q) is such that q <= 2^bits < 2q.
        let reciprocal = ((((1u128 << bits) - q as u128) << 64) / q as u128) as u64;
        Self {
            wide,
            modulus: *modulus,
            q: splat(q),
            two_q: splat(2 * q),
            four_q: splat(4 * q),
            low_mask: splat(u32::MAX as u64),
            shift: splat(63 - bits as u64),
            reciprocal: constant(reciprocal),
            one: root(1),
            radix: root(modulus.reduce_u128(1 << 64)),
        }
    }

    #[inline(always)]
    fn constant(self, low: W::V) -> Constant<W> {
        let high = self.wide.shift_right_32(low);
        Constant { low, high, twice_high: self.wide.add(high, high) }
    }

    /// `floor(x c / 2^64)` for `x < 2^63` and `c < 2^62`.
    #[inline(always)]
    fn mul_high(self, x: W::V, c: W::V) -> W::V {
        let w = self.wide;
        let (x_high, c_high) = (w.shift_right_32(x), w.shift_right_32(c));
        let low = w.shift_right_32(w.mul_32(x, c));
        // Below 2^63 + 2^62 + 2^32.
        let middle = w.add(w.add(w.mul_32(x_high, c), w.mul_32(x, c_high)), low);
        w.add(w.mul_32(x_high, c_high), w.shift_right_32(middle))
    }

    /// `x c / 2^64` rounded down or up to 3 too small.
    #[inline(always)]
    fn mul_high_approximate(self, x: W::V, c: Constant<W>) -> W::V {
        let w = self.wide;
        let x_high = w.shift_right_32(x);
        let middle = w.shift_right_32(w.mul_32(x_high, c.low));
        let other = w.shift_right_32(w.mul_32(x, c.high));
        w.add(w.add(w.mul_32(x_high, c.high), middle), other)
    }

    /// `x c / 2^63` rounded down or up to 2 too small, for words below `2^63`.
    #[inline(always)]
    fn mul_high_narrow(self, x: W::V, c: Constant<W>) -> W::V {
        let w = self.wide;
        let x_high = w.shift_right_32(x);
        // Both products are below (2^32 - 1) 2^31.
        let middle = w.add(w.mul_32(x_high, c.low), w.mul_32(x, c.high));
        w.add(w.mul_32(x_high, c.twice_high), w.shift_right_31(middle))
    }

    /// `x w` for any word `x` (below `2^63` if `NARROW`), to `[0, 4q)`.
    #[inline(always)]
    fn mul_lazy(self, x: W::V, root: Root<W>) -> W::V {
        let w = self.wide;
        let quotient = if NARROW {
            self.mul_high_narrow(x, root.companion)
        } else {
            self.mul_high_approximate(x, root.companion)
        };
        w.mul_sub_low(x, root.value, quotient, self.q)
    }

    /// `[0, 4q) -> [0, q)`.
    #[inline(always)]
    fn reduce_4(self, x: W::V) -> W::V {
        let x = self.wide.subtract_if_large(x, self.two_q);
        self.wide.subtract_if_large(x, self.q)
    }

    /// `[0, 8q) -> [0, q)`.
    #[inline(always)]
    fn reduce_8(self, x: W::V) -> W::V {
        self.reduce_4(self.wide.subtract_if_large(x, self.four_q))
    }
}

/// Whether the transforms modulo this prime are `NARROW`.
pub(super) fn is_narrow(modulus: &Modulus) -> bool {
    modulus.bits() <= NARROW_BITS
}

fn companion(modulus: &Modulus, w: u64, narrow: bool) -> u64 {
    modulus.shoup(w) >> narrow as u32
}

impl<W: Wide, const NARROW: bool> Arithmetic for Word<W, NARROW> {
    type W = W;
    type Root = Root<W>;
    type Sum = Sum<W>;

    #[inline(always)]
    fn wide(self) -> W {
        self.wide
    }

    #[inline(always)]
    fn root(self, [value, companion]: [u64; 2]) -> Root<W> {
        let companion = Constant {
            low: self.wide.splat(companion),
            high: self.wide.splat(companion >> 32),
            twice_high: self.wide.splat(companion >> 32 << 1),
        };
        Root { value: self.wide.splat(value), companion }
    }

    #[inline(always)]
    fn lane_root(self, [value, companion]: &[Line; 2]) -> Root<W> {
        let companion = self.constant(self.wide.load(companion));
        Root { value: self.wide.load(value), companion }
    }

    #[inline(always)]
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> Root<W> {
        let value = self.wide.load(&tile[RECORD + line]);
        Root { value, companion: self.constant(self.wide.load(&tile[line])) }
    }

    #[inline(always)]
    fn companion(self, w: u64) -> [u64; 2] {
        [w, companion(&self.modulus, w, NARROW)]
    }

    #[inline(always)]
    fn forward_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, root: Root<W>) {
        let w = self.wide;
        let u = w.subtract_if_large(*x, self.four_q);
        let v = self.mul_lazy(*y, root);
        *x = w.add(u, v);
        *y = w.sub(w.add(u, self.four_q), v);
    }

    #[inline(always)]
    fn finish_forward(self, x: V<Self>) -> V<Self> {
        self.reduce_8(x)
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, root: Root<W>) {
        let w = self.wide;
        let (u, v) = (*x, *y);
        *x = w.subtract_if_large(w.add(u, v), self.four_q);
        *y = self.mul_lazy(w.sub(w.add(u, self.four_q), v), root);
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: Root<W>, root: Root<W>) {
        let w = self.wide;
        let (u, v) = (*x, *y);
        *x = self.reduce_4(self.mul_lazy(w.add(u, v), scale));
        *y = self.reduce_4(self.mul_lazy(w.sub(w.add(u, self.four_q), v), root));
    }

    #[inline(always)]
    fn settle(self, x: V<Self>) -> V<Self> {
        x
    }

    #[inline(always)]
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.wide.subtract_if_large(self.wide.add(a, b), self.q)
    }

    #[inline(always)]
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.add(a, self.wide.sub(self.q, b))
    }

    /// With `e = floor(a b / 2^bits)` the quotient `floor(e (2^bits / q))` is too small by less
    /// than `2^bits / q + 3 + 1 < 6`.
    #[inline(always)]
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self> {
        let w = self.wide;
        let e = self.mul_high(w.shift_left(a, self.shift), w.add(b, b));
        let quotient = w.add(e, self.mul_high_approximate(e, self.reciprocal));
        self.reduce_8(w.mul_sub_low(a, b, quotient, self.q))
    }

    #[inline(always)]
    fn mul_root(self, x: V<Self>, root: Root<W>) -> V<Self> {
        self.reduce_4(self.mul_lazy(x, root))
    }

    #[inline(always)]
    fn no_products(self) -> Sum<W> {
        Sum { words: [self.wide.splat(0); 3] }
    }

    #[inline(always)]
    fn sum_of(self, x: V<Self>) -> Sum<W> {
        let w = self.wide;
        Sum { words: [w.and(x, self.low_mask), w.shift_right_32(x), w.splat(0)] }
    }

    /// With factors below `2^61` the top word grows by less than `2^58 + 2^31` each time.
    #[inline(always)]
    fn accumulate(self, sum: Sum<W>, a: V<Self>, b: V<Self>) -> Sum<W> {
        let w = self.wide;
        let (a, b) = (self.constant(a), self.constant(b));
        let low = w.mul_32(a.low, b.low);
        let cross = w.add(w.mul_32(a.high, b.low), w.mul_32(a.low, b.high));
        let middle = w.add(cross, w.shift_right_32(low));
        let high = w.add(w.mul_32(a.high, b.high), w.shift_right_32(middle));
        let [s0, s1, s2] = sum.words;
        let s0 = w.add(s0, w.and(low, self.low_mask));
        let s1 = w.add(s1, w.and(middle, self.low_mask));
        Sum { words: [s0, s1, w.add(s2, high)] }
    }

    #[inline(always)]
    fn reduce_sum(self, sum: Sum<W>) -> V<Self> {
        let w = self.wide;
        let [s0, s1, s2] = sum.words;
        let s1 = w.add(s1, w.shift_right_32(s0));
        let low = w.add(w.and(s0, self.low_mask), w.shift_left_32(s1));
        let high = w.add(s2, w.shift_right_32(s1));
        debug_assert!(!NARROW, "the low part is a whole word");
        self.reduce_8(w.add(self.mul_lazy(high, self.radix), self.mul_lazy(low, self.one)))
    }

    const PRODUCTS: usize = 63;

    #[inline(always)]
    fn reduce(self, x: V<Self>) -> V<Self> {
        self.mul_root(x, self.one)
    }
}

impl<W: Wide, const NARROW: bool> Rotation for Word<W, NARROW> {
    type Factor = V<Self>;
    type Partial = Sum<W>;

    #[inline(always)]
    fn digit(self, x: V<Self>) -> V<Self> {
        x
    }

    #[inline(always)]
    fn monomial(self, power: u64, lanes: Root<W>, one: V<Self>) -> V<Self> {
        self.sub(self.mul_root(self.wide.splat(power), lanes), one)
    }

    #[inline(always)]
    fn nothing(self) -> Sum<W> {
        self.no_products()
    }

    #[inline(always)]
    fn add_digit(self, sum: Sum<W>, digit: V<Self>, y: V<Self>) -> Sum<W> {
        self.accumulate(sum, digit, y)
    }

    #[inline(always)]
    fn reduce_digits(self, sum: Sum<W>) -> V<Self> {
        self.reduce_sum(sum)
    }

    #[inline(always)]
    fn add_monomial(self, sum: Sum<W>, monomial: V<Self>, y: V<Self>) -> Sum<W> {
        self.accumulate(sum, monomial, y)
    }

    #[inline(always)]
    fn reduce_monomials(self, sum: Sum<W>) -> V<Self> {
        self.reduce_sum(sum)
    }
}
