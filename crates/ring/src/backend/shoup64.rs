//! 64-bit Shoup arithmetic on any registers with [`Integers`], for every modulus `q < 2^61`.
//!
//! High halves of products are approximated from three 32-bit products. A Shoup product is then
//! `y w - h q` with a quotient `h` that is too small by less than 4, so it is in `[0, 4q)`.
//!
//! The code uses the unused bits of a word, see [`headroom`]:
//! - `WHOLE`: every word `y` may be multiplied. Forward residues are in `[0, 8q)`, inverse residues
//!   in `[0, 4q)`.
//! - `NARROW`, primes below `2^60`: the same residues. Companions are `floor(w 2^63 / q)`. Since
//!   all words are below `2^63`, the two middle products can be added before the shift.
//! - `LAZY`, primes up to slightly above `2^55`: a forward transform reduces nothing, see
//!   [`Arithmetic::start_forward`]. An inverse transform reduces only the sums of three stages.
//!   Sums of products are those of 28-bit halves.

use super::integers::{Integers, Rotation, Sums};
use super::prime_sizes::NARROW_BITS;
use super::simd::{Arithmetic, Line, V};
use crate::modulus::Modulus;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

/// The classes of [`headroom`]: primes from `2^60` on, primes below, and `LAZY` ones.
pub(super) const WHOLE: u32 = 0;
pub(super) const NARROW: u32 = 1;
pub(super) const LAZY: u32 = 2;

/// The number of stages of the longest transform. Each moves a `LAZY` residue by at most `4q`.
const STAGES: u64 = *NttTable::LOG_DEGREES.end() as u64;
/// The largest `LAZY` prime: residues below `8q` stay in `[0, 2^63)` while all stages move them
/// down and up.
const LAZY_MOST: u64 = (1 << 63) / (8 * STAGES + 8);
/// Bits of the residues that sums of products modulo a `LAZY` prime accept.
pub(super) const LAZY_BITS: u32 = 56;
/// Bits of a half of such a residue.
const HALF: u64 = LAZY_BITS as u64 / 2;

/// The class of a prime by its unused bits: `WHOLE`, `NARROW` or `LAZY`.
pub(super) fn headroom(modulus: &Modulus) -> u32 {
    // The class with the most unused bits that the prime fits.
    match modulus.value() {
        ..=LAZY_MOST => LAZY,
        _ if modulus.bits() <= NARROW_BITS => NARROW,
        _ => WHOLE,
    }
}

/// Runs an expression with the headroom of a table's prime as a constant.
macro_rules! with_headroom {
    ($table:expr, $headroom:ident => $run:expr) => {
        match shoup64::headroom($table.modulus()) {
            shoup64::LAZY => {
                const $headroom: u32 = shoup64::LAZY;
                $run
            }
            shoup64::NARROW => {
                const $headroom: u32 = shoup64::NARROW;
                $run
            }
            _ => {
                const $headroom: u32 = shoup64::WHOLE;
                $run
            }
        }
    };
}
/// As `with_headroom`, for kernels on rows. `NARROW` primes use the code of larger ones; so do
/// `LAZY` primes if the rows do not fit.
macro_rules! with_headroom_of_rows {
    ($table:expr, $fit:expr, $headroom:ident => $run:expr) => {
        if shoup64::headroom($table.modulus()) == shoup64::LAZY && $fit {
            const $headroom: u32 = shoup64::LAZY;
            $run
        } else {
            const $headroom: u32 = shoup64::WHOLE;
            $run
        }
    };
}
pub(super) use {with_headroom, with_headroom_of_rows};

/// Residues modulo one prime in 64-bit words.
#[derive(Clone, Copy)]
pub(super) struct Word<W: Integers, const HEADROOM: u32> {
    wide: W,
    modulus: Modulus,
    q: W::V,
    two_q: W::V,
    four_q: W::V,
    /// Added to keep differences positive: `4q`, or `4q` per stage of a `LAZY` transform.
    offset: W::V,
    /// Mask of the low half of a factor.
    low_mask: W::V,
    /// The shift by half a word, `28`.
    half: W::V,
    /// `s` and `t`, with `floor(2^(s + t) / q)`: see [`Word::reduce_small`].
    shifts: [W::V; 2],
    inverse: W::V,
    /// `63 - bits(q)`.
    shift: W::V,
    /// `floor(2^(64 + bits(q)) / q) - 2^64`.
    reciprocal: Constant<W>,
    one: Root<W>,
    radix: Root<W>,
}

/// A factor with separate halves.
#[derive(Clone, Copy)]
pub(super) struct Constant<W: Integers> {
    /// The whole word, of which the multiplications read the low half.
    low: W::V,
    high: W::V,
    /// Twice the high half.
    twice_high: W::V,
}

/// A factor and `floor(w 2^64 / q)`, or `floor(w 2^63 / q)` unless `WHOLE`.
#[derive(Clone, Copy)]
pub(super) struct Root<W: Integers> {
    value: W::V,
    companion: Constant<W>,
}

/// `words[0] + words[1] 2^32 + words[2] 2^64`, or `words[0] + words[1] 2^28 + words[2] 2^56` if
/// `LAZY`. The words are unreduced.
#[derive(Clone, Copy)]
pub(super) struct Sum<W: Integers> {
    words: [W::V; 3],
}

impl<W: Integers, const HEADROOM: u32> Word<W, HEADROOM> {
    const LAZY: bool = HEADROOM == LAZY;

    #[inline(always)]
    pub(super) fn new(wide: W, modulus: &Modulus) -> Self {
        let q = modulus.value();
        let splat = |x| wide.splat(x);
        let constant =
            |x| Constant { low: splat(x), high: splat(x >> 32), twice_high: splat(x >> 32 << 1) };
        let root =
            |w| Root { value: splat(w), companion: constant(companion(modulus, w, HEADROOM)) };
        let bits = modulus.bits();
        let dropped = bits.saturating_sub(23);
        // 2^(64 + bits) / q is 2^64 plus a fraction, since q <= 2^bits < 2q.
        let reciprocal = ((((1u128 << bits) - q as u128) << 64) / q as u128) as u64;
        // Every constant is broadcast to all lanes once.
        Self {
            wide,
            modulus: *modulus,
            q: splat(q),
            two_q: splat(2 * q),
            four_q: splat(4 * q),
            offset: splat(if Self::LAZY { 4 * STAGES * q } else { 4 * q }),
            low_mask: splat(if Self::LAZY { (1 << HALF) - 1 } else { u32::MAX as u64 }),
            half: splat(HALF),
            shifts: [splat(dropped as u64), splat((31 + bits - dropped) as u64)],
            inverse: splat(((1u128 << (31 + bits)) / q as u128) as u64),
            shift: splat(63 - bits as u64),
            reciprocal: constant(reciprocal),
            one: root(1),
            radix: root(modulus.reduce_u128(if Self::LAZY { 1 << LAZY_BITS } else { 1 << 64 })),
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

    /// `x c / 2^64`, rounded down or up to 3 too small.
    #[inline(always)]
    fn mul_high_approximate(self, x: W::V, c: Constant<W>) -> W::V {
        let w = self.wide;
        // The carries out of the low halves are dropped: at most 3 in the quotient.
        let x_high = w.shift_right_32(x);
        let middle = w.shift_right_32(w.mul_32(x_high, c.low));
        let other = w.shift_right_32(w.mul_32(x, c.high));
        w.add(w.add(w.mul_32(x_high, c.high), middle), other)
    }

    /// `x c / 2^63`, rounded down or up to 2 too small, for words below `2^63`.
    #[inline(always)]
    fn mul_high_narrow(self, x: W::V, c: Constant<W>) -> W::V {
        let w = self.wide;
        let x_high = w.shift_right_32(x);
        // Both products are below (2^32 - 1) 2^31.
        let middle = w.add(w.mul_32(x_high, c.low), w.mul_32(x, c.high));
        w.add(w.mul_32(x_high, c.twice_high), w.shift_right_31(middle))
    }

    /// `x w / q`, rounded down or up to 3 too small, for any word `x` (below `2^63` unless
    /// `WHOLE`).
    #[inline(always)]
    fn quotient(self, x: W::V, companion: Constant<W>) -> W::V {
        if HEADROOM == WHOLE {
            self.mul_high_approximate(x, companion)
        } else {
            self.mul_high_narrow(x, companion)
        }
    }

    /// `x w` for any word `x` (below `2^63` unless `WHOLE`), to `[0, 4q)`.
    #[inline(always)]
    fn mul_lazy(self, x: W::V, root: Root<W>) -> W::V {
        // The quotient is too small by less than 4, so the difference modulo 2^64 is in [0, 4q).
        let quotient = self.quotient(x, root.companion);
        self.wide.mul_sub_low(x, root.value, quotient, self.q)
    }

    /// `[0, 2^9 q) -> [0, 2q)`. The quotient is below `2^9`, and the highest 32 bits of a word
    /// determine it up to its last unit. Both factors are below `2^32`.
    #[inline(always)]
    fn reduce_small(self, x: W::V) -> W::V {
        let w = self.wide;
        let [dropped, shift] = self.shifts;
        // floor(x / 2^dropped) fits 32 bits, as does the inverse of q at that scale.
        let quotient = w.shift_right(w.mul_32(w.shift_right(x, dropped), self.inverse), shift);
        w.sub(x, w.mul_low(quotient, self.q))
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

/// The companion of a factor: `floor(w 2^64 / q)`, or half of it unless `WHOLE`.
fn companion(modulus: &Modulus, w: u64, headroom: u32) -> u64 {
    modulus.shoup(w) >> u32::from(headroom != WHOLE)
}

impl<W: Integers, const HEADROOM: u32> Arithmetic for Word<W, HEADROOM> {
    type W = W;
    type Root = Root<W>;
    type Part = Self;
    const PARTS: usize = 1;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn parts_of(x: &mut V<Self>) -> &mut [V<Self>] {
        std::slice::from_mut(x)
    }

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
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> Root<W> {
        let value = self.wide.load(&tile[RECORD + line]);
        Root { value, companion: self.constant(self.wide.load(&tile[line])) }
    }

    #[inline(always)]
    fn companion(self, w: u64) -> [u64; 2] {
        [w, companion(&self.modulus, w, HEADROOM)]
    }

    #[inline(always)]
    fn start_forward(self, x: V<Self>) -> V<Self> {
        if Self::LAZY { self.wide.add(x, self.offset) } else { x }
    }

    #[inline(always)]
    fn forward_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, root: Root<W>) {
        // Only y is multiplied; the product is in [0, 4q).
        let w = self.wide;
        let v = self.mul_lazy(*y, root);
        (*x, *y) = if Self::LAZY {
            (w.add(*x, v), w.sub(*x, v))
        } else {
            // x is reduced to [0, 4q), and the offset keeps the difference positive.
            let u = w.subtract_if_large(*x, self.four_q);
            (w.add(u, v), w.sub(w.add(u, self.offset), v))
        };
    }

    #[inline(always)]
    fn finish_forward(self, x: V<Self>) -> V<Self> {
        if Self::LAZY {
            self.wide.subtract_if_large(self.reduce_small(x), self.q)
        } else {
            self.reduce_8(x)
        }
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, root: Root<W>) {
        let w = self.wide;
        let (u, v) = (*x, *y);
        // The offset keeps the difference positive.
        let sum = w.add(u, v);
        *x = if Self::LAZY { sum } else { w.subtract_if_large(sum, self.four_q) };
        *y = self.mul_lazy(w.sub(w.add(u, self.offset), v), root);
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: Root<W>, root: Root<W>) {
        let w = self.wide;
        let (u, v) = (*x, *y);
        // Both outputs carry the factor 1 / N.
        *x = self.reduce_4(self.mul_lazy(w.add(u, v), scale));
        *y = self.reduce_4(self.mul_lazy(w.sub(w.add(u, self.offset), v), root));
    }

    /// In three `LAZY` stages, row 0 sums eight residues, row 1 four products of the first stage,
    /// and the others less. Values that are not settled are thus below `16q`, sums are below
    /// `128q`, and differences are below `64q` plus the offset.
    #[inline(always)]
    fn settles(_half: usize, row: usize, last: bool) -> bool {
        Self::LAZY && last && row == 0
    }

    #[inline(always)]
    fn settle(self, x: V<Self>) -> V<Self> {
        self.reduce_small(x)
    }

    #[inline(always)]
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.wide.subtract_if_large(self.wide.add(a, b), self.q)
    }

    #[inline(always)]
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.add(a, self.wide.sub(self.q, b))
    }

    /// With `e = floor(a b / 2^bits)`, the quotient `floor(e (2^bits / q))` is too small by less
    /// than `2^bits / q + 3 + 1 < 6`.
    #[inline(always)]
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self> {
        let w = self.wide;
        // e approximates a b / 2^bits; the quotient adds its share of 2^bits / q - 1.
        let e = self.mul_high(w.shift_left(a, self.shift), w.add(b, b));
        let quotient = w.add(e, self.mul_high_approximate(e, self.reciprocal));
        self.reduce_8(w.mul_sub_low(a, b, quotient, self.q))
    }

    #[inline(always)]
    fn mul_root(self, x: V<Self>, root: Root<W>) -> V<Self> {
        self.reduce_4(self.mul_lazy(x, root))
    }
}

impl<W: Integers, const HEADROOM: u32> Sums for Word<W, HEADROOM> {
    type Sum = Sum<W>;

    #[inline(always)]
    fn no_products(self) -> Sum<W> {
        Sum { words: [self.wide.splat(0); 3] }
    }

    #[inline(always)]
    fn sum_of(self, x: V<Self>) -> Sum<W> {
        // One residue in the halves of the accumulator.
        let w = self.wide;
        let high = if Self::LAZY { w.shift_right(x, self.half) } else { w.shift_right_32(x) };
        Sum { words: [w.and(x, self.low_mask), high, w.splat(0)] }
    }

    /// With factors below `2^61` the top word grows by less than `2^58 + 2^31` per product. If
    /// `LAZY`, with factors below `2^56`, the middle word grows by less than `2^57`.
    #[inline(always)]
    fn accumulate(self, sum: Sum<W>, a: V<Self>, b: V<Self>) -> Sum<W> {
        let w = self.wide;
        let [s0, s1, s2] = sum.words;
        // 28-bit halves: every partial product has 56 bits and needs no carry yet.
        if Self::LAZY {
            let ([a0, a1, _], [b0, b1, _]) = (self.sum_of(a).words, self.sum_of(b).words);
            let s1 = w.add(w.add(s1, w.mul_32(a1, b0)), w.mul_32(a0, b1));
            return Sum { words: [w.add(s0, w.mul_32(a0, b0)), s1, w.add(s2, w.mul_32(a1, b1))] };
        }
        // 32-bit halves: carries are propagated into the next word at once.
        let (a, b) = (self.constant(a), self.constant(b));
        let low = w.mul_32(a.low, b.low);
        let cross = w.add(w.mul_32(a.high, b.low), w.mul_32(a.low, b.high));
        let middle = w.add(cross, w.shift_right_32(low));
        let high = w.add(w.mul_32(a.high, b.high), w.shift_right_32(middle));
        let s0 = w.add(s0, w.and(low, self.low_mask));
        let s1 = w.add(s1, w.and(middle, self.low_mask));
        Sum { words: [s0, s1, w.add(s2, high)] }
    }

    #[inline(always)]
    fn reduce_sum(self, sum: Sum<W>) -> V<Self> {
        self.reduce_8(self.reduce_weighted(sum))
    }

    /// To `[0, 8q)`.
    #[inline(always)]
    fn reduce_weighted(self, sum: Sum<W>) -> V<Self> {
        let w = self.wide;
        let [s0, s1, s2] = sum.words;
        // Carry the 28-bit words, then reduce low and high words with one quotient.
        if Self::LAZY {
            let s1 = w.add(s1, w.shift_right(s0, self.half));
            let low = w.shift_left(w.and(s1, self.low_mask), self.half);
            let low = w.add(low, w.and(s0, self.low_mask));
            let high = w.add(s2, w.shift_right(s1, self.half));
            let of_low = self.quotient(low, self.one.companion);
            let quotient = w.add(of_low, self.quotient(high, self.radix.companion));
            return w.add(low, w.mul_sub_low(high, self.radix.value, quotient, self.q));
        }
        // Carry the 32-bit words, then reduce low and high words apart.
        let s1 = w.add(s1, w.shift_right_32(s0));
        let low = w.add(w.and(s0, self.low_mask), w.shift_left_32(s1));
        let high = w.add(s2, w.shift_right_32(s1));
        debug_assert!(HEADROOM == WHOLE, "the low part is a whole word");
        w.add(self.mul_lazy(high, self.radix), self.mul_lazy(low, self.one))
    }

    #[inline(always)]
    fn products(self) -> usize {
        63
    }

    const RESIDUE_BITS: u32 = if Self::LAZY { LAZY_BITS } else { 61 };

    #[inline(always)]
    fn reduce(self, x: V<Self>) -> V<Self> {
        self.mul_root(x, self.one)
    }

    /// `LAZY`: for words below `2^9 q`.
    #[inline(always)]
    fn reduce_lazy(self, x: V<Self>) -> V<Self> {
        if Self::LAZY { self.reduce_small(x) } else { self.reduce(x) }
    }
}

impl<W: Integers, const HEADROOM: u32> Rotation for Word<W, HEADROOM> {
    type Factor = V<Self>;
    type Partial = Sum<W>;

    #[inline(always)]
    fn lane_root(self, [value, companion]: &[Line; 2]) -> Root<W> {
        let companion = self.constant(self.wide.load(companion));
        Root { value: self.wide.load(value), companion }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::backend::avx2::Avx2;
    use crate::backend::avx512::Avx512;
    use crate::backend::simd::Wide;
    use crate::backend::tests::{compare_forward_stages, compare_inverse_stages};
    use crate::testing::{prime_up_to, words};

    /// The largest rows that inverse stages may meet, in the largest primes of each kind.
    #[test]
    fn inverse_stages_stay_nonnegative_and_bounded() {
        let lazy = [LAZY_MOST, 1 << 40, 1 << 20].map(prime_up_to);
        // SAFETY: the CPU has the instructions of a back end that is not refused.
        unsafe {
            if Backend::Avx2.check(&lazy[0]).is_ok() {
                lazy.iter().for_each(|q| compare::<_, LAZY>(Avx2::assume(), q, 16));
                compare::<_, NARROW>(Avx2::assume(), &prime_up_to(1 << 60), 4);
                compare::<_, WHOLE>(Avx2::assume(), &prime_up_to(1 << 61), 4);
            }
            if Backend::Avx512.check(&lazy[0]).is_ok() {
                lazy.iter().for_each(|q| compare::<_, LAZY>(Avx512::assume(), q, 16));
                compare::<_, NARROW>(Avx512::assume(), &prime_up_to(1 << 60), 4);
                compare::<_, WHOLE>(Avx512::assume(), &prime_up_to(1 << 61), 4);
            }
        }
    }

    fn compare<W: Integers, const HEADROOM: u32>(wide: W, q: &Modulus, times: u64) {
        let f = Word::<W, HEADROOM>::new(wide, q);
        compare_inverse_stages(f, q, times * q.value() - 1, u64::MAX, |x| f.finish_forward(x));
    }

    /// Where the quotient is just about to change.
    #[test]
    fn small_quotients_are_at_most_one_too_small() {
        for q in [LAZY_MOST, 1 << 45, 1 << 23, 1 << 22, 1 << 12].map(prime_up_to) {
            if Backend::Avx2.check(&q).is_err() {
                return;
            }
            // SAFETY: the CPU has AVX2.
            let f = Word::<_, LAZY>::new(unsafe { Avx2::assume() }, &q);
            let end = q.value().saturating_mul(512);
            for start in (0..512).map_while(|multiple| q.value().checked_mul(multiple)) {
                for x in [start, start.saturating_sub(1), end - 1] {
                    let (w, mut line) = (f.wide, [0; 8]);
                    w.store(f.reduce_small(w.splat(x)), &mut line);
                    assert!(line[0] < 2 * q.value() && q.reduce(line[0]) == q.reduce(x));
                    w.store(f.finish_forward(w.splat(x)), &mut line);
                    assert_eq!(line, [q.reduce(x); 8]);
                }
            }
        }
    }

    /// As many stages as the longest transform has. Each moves a residue down and up by the largest
    /// step found among many factors, in the largest prime with headroom for it.
    #[test]
    fn lazy_residues_stay_nonnegative_and_bounded() {
        let q = prime_up_to(LAZY_MOST);
        assert!(headroom(&q) == LAZY && STAGES == 17 && q.value() > (1 << 55));
        let above = (1..).find_map(|k| Modulus::new(LAZY_MOST + k).ok()).unwrap();
        assert_eq!(headroom(&above), NARROW);
        if Backend::Avx2.check(&q).is_err() {
            return;
        }
        // SAFETY: the CPU has AVX2.
        let f = Word::<_, LAZY>::new(unsafe { Avx2::assume() }, &q);
        let (w, value) = (f.wide, q.value());
        let largest_product = |stage| {
            let lanes = words(1 << 12, 1 << 63, stage);
            let roots = words(1 << 12, value, stage + 99);
            let product = |(y, root): (u64, u64)| {
                let mut line = [0; 8];
                w.store(f.mul_lazy(w.splat(y), f.root(f.companion(root))), &mut line);
                (y, root, line[0])
            };
            lanes.into_iter().zip(roots).map(product).max_by_key(|&(.., product)| product).unwrap()
        };
        let products: Vec<_> = (0..STAGES).map(largest_product).collect();
        // More than `3q` per stage; otherwise the test shows nothing.
        let total: u128 = products.iter().map(|&(.., product)| u128::from(product)).sum();
        assert!(total > u128::from(3 * STAGES * value));
        let rows = [0, 8 * value - 1].map(|x| f.start_forward(w.splat(x)));
        let left = compare_forward_stages(f, &q, rows, [0, value - 1], &products);
        assert!(left.iter().all(|&x| x < 1 << 63));
    }
}
