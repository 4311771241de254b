//! AVX-512 with 52-bit multiply-add and byte permutations, for primes below `2^50`.
//!
//! The instructions multiply the low 52 bits of each lane and add the low or the high 52 bits of
//! the product. Bits above bit 51 of a lane are therefore ignored: a lazy residue is a lane modulo
//! `2^52`, and all bounds below are bounds on its low 52 bits. A Shoup product
//! `y w - floor(y w' / 2^52) q`, `w' = floor(w 2^52 / q)`, is in `[0, 2q)` for every `y` in
//! `[0, 2^52)`, and `2^52 >= 4q`.
//!
//! The prime determines how often forward residues are reduced, see [`every`]:
//! - `NEVER` (primes of 46 bits and most of 47, `LAZY`): a stage moves residues by at most `q` up
//!   or down. They start in `[0, 4q)`, or slightly higher after a conversion. A multiple of `q` is
//!   added once, large enough to keep all of them nonnegative.
//! - Every three stages (primes up to slightly above `2^49`): a stage moves residues by at most `q`
//!   too. Before three stages, the residues that the first stage does not multiply are reduced, and
//!   `3q` is added. Any lane may enter.
//! - Every stage: any lane may enter a stage, which leaves `[0, 4q)`.
//!
//! The same classes determine which sums of the inverse transform are reduced: see
//! [`Arithmetic::settles`].

mod conversions;
mod kernels;
mod products;
#[cfg(test)]
mod tests;

use std::arch::x86_64::*;

pub(super) use conversions::first_pass;
pub(super) use kernels::*;

use super::{
    avx512::Avx512,
    integers::{Integers, Sums},
    simd::{Arithmetic, Line, Wide},
};
use crate::backend::Backend;
use crate::modulus::Modulus;
use crate::ntt::NttTable;

/// The multiple of `q` that is added to the input of a lazy forward transform: `q` per stage of the
/// longest transform.
const OFFSET: u64 = *NttTable::LOG_DEGREES.end() as u64;
/// The value of [`every`] if nothing is reduced.
pub(super) const NEVER: u32 = u32::MAX;
/// Primes up to this bound have the headroom of three stages; see [`Arithmetic::continue_forward`]
/// for primes around `2^49`.
const THREE_STAGES: u64 = (1 << 49) + (1 << 40);
/// Maximum bits of residues of other primes.
const MAX_BITS: u32 = 50;

/// For each number of bytes per residue: the position of each byte of eight words in a packed line.
/// Bytes that a residue does not have come from the last byte of the line, which is zero.
static PLACES: [Line; 8] = {
    let mut places = [[0; 8]; 8];
    let mut bytes = 0;
    while bytes < 8 {
        let mut i = 0;
        while i < 64 {
            let place = if i % 8 < bytes { i / 8 * bytes + i % 8 } else { 63 };
            places[bytes][i / 8] |= (place as u64) << (8 * (i % 8));
            i += 1;
        }
        bytes += 1;
    }
    places
};

/// Residues modulo one prime in 52-bit words. A value proves that the CPU has AVX-512 F, DQ, IFMA
/// and VBMI.
#[derive(Clone, Copy)]
pub(super) struct Ifma<const EVERY: u32> {
    wide: Avx512,
    modulus: Modulus,
    q: __m512i,
    /// `-q` modulo `2^64`.
    minus_q: __m512i,
    two_q: __m512i,
    /// A multiple of `q` that is at least what inverse butterflies subtract, and with `LAZY` also
    /// what the stages of a forward transform subtract.
    offset: __m512i,
    zero: __m512i,
    one: __m512i,
    mask: __m512i,
    /// `floor(2^52 / q)`.
    barrett: __m512i,
    /// `52 - bits(q)`.
    shift: __m512i,
    /// `floor(2^(52 + bits(q)) / q) - 2^52`.
    reciprocal: __m512i,
    /// `52 - bits(q) - j` and `floor(2^(2 bits(q) + j) / q)`, see [`Arithmetic::mul`].
    product_shift: __m512i,
    product_reciprocal: __m512i,
    radix: Root,
    /// `-1 / q` modulo `2^52`.
    montgomery: __m512i,
    /// `50 - bits(q)`.
    monomial_shift: __m512i,
    /// `-4q` modulo `2^64`.
    minus_four_q: __m512i,
    /// `-3` modulo `2^64`.
    minus_three: __m512i,
    /// Bytes per residue in a packed row.
    bytes: usize,
    /// The positions of the bytes of eight words in a packed line.
    places: __m512i,
}

/// A factor and `floor(w 2^52 / q)`.
#[derive(Clone, Copy)]
pub(super) struct Root {
    value: __m512i,
    companion: __m512i,
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX-512 F, DQ, IFMA and VBMI.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl<const EVERY: u32> Ifma<EVERY> {
    const LAZY: bool = EVERY == NEVER;

    /// # Safety
    /// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
    #[inline(always)]
    pub(super) unsafe fn new(modulus: &Modulus) -> Self {
        let wide = unsafe { Avx512::assume() };
        let (q, bits) = (modulus.value(), modulus.bits());
        let radix = modulus.reduce(1 << 52);
        // See `mul` for the choice of j.
        let j = (bits < 50 || 10 * q > 7 << 50) as u32;
        Self {
            wide,
            modulus: *modulus,
            q: wide.splat(q),
            minus_q: wide.splat(q.wrapping_neg()),
            two_q: wide.splat(2 * q),
            offset: wide.splat(match EVERY {
                NEVER => OFFSET * q,
                3 => 4 * q,
                _ => 2 * q,
            }),
            // Hidden from the optimizer.
            zero: std::hint::black_box(wide.splat(0)),
            one: wide.splat(1),
            mask: wide.splat((1 << 52) - 1),
            barrett: wide.splat((1 << 52) / q),
            shift: wide.splat(52 - bits as u64),
            reciprocal: wide.splat(((((1u128 << bits) - q as u128) << 52) / q as u128) as u64),
            product_shift: wide.splat((52 - bits - j) as u64),
            product_reciprocal: wide.splat(((1u128 << (2 * bits + j)) / q as u128) as u64),
            radix: Root {
                value: wide.splat(radix),
                companion: wide.splat(companion(modulus, radix)),
            },
            montgomery: wide.splat(negative_inverse(q)),
            monomial_shift: wide.splat(50 - bits as u64),
            minus_four_q: wide.splat((4 * q).wrapping_neg()),
            minus_three: wide.splat(3u64.wrapping_neg()),
            bytes: Backend::Ifma.packed_bytes(modulus),
            places: wide.load(&PLACES[Backend::Ifma.packed_bytes(modulus)]),
        }
    }

    /// `acc +` the low 52 bits of `a b`.
    #[inline(always)]
    fn madd_low(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_madd52lo_epu64(acc, a, b) }
    }

    /// `acc + floor(a b / 2^52)`.
    #[inline(always)]
    fn madd_high(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_madd52hi_epu64(acc, a, b) }
    }

    #[inline(always)]
    fn shift_right_52(self, x: __m512i) -> __m512i {
        unsafe { _mm512_srli_epi64::<52>(x) }
    }

    /// `x w` for any lane `x`, to `[0, 2q)`.
    #[inline(always)]
    fn mul_lazy(self, x: __m512i, w: Root) -> __m512i {
        let quotient = self.madd_high(self.zero, x, w.companion);
        let product = self.madd_low(self.zero, x, w.value);
        self.madd_low(product, quotient, self.minus_q)
    }

    /// Any lane to `[0, 2q)`.
    #[inline(always)]
    fn barrett(self, x: __m512i) -> __m512i {
        let quotient = self.madd_high(self.zero, x, self.barrett);
        self.madd_low(x, quotient, self.minus_q)
    }

    /// `low + high 2^52`, less the quotients of both, each of which leaves `[0, 2q)`: a word in
    /// `[0, 4q)`.
    #[inline(always)]
    fn reduce_sum_lazy(self, [low, high]: [__m512i; 2]) -> __m512i {
        let high = self.wide.add(high, self.shift_right_52(low));
        let quotient = self.madd_high(self.zero, low, self.barrett);
        let quotient = self.madd_high(quotient, high, self.radix.companion);
        let product = self.madd_low(low, high, self.radix.value);
        self.wide.and(self.madd_low(product, quotient, self.minus_q), self.mask)
    }

    /// A word in `[0, 4q)` to a word in `[0, q)`.
    #[inline(always)]
    fn reduce_4(self, x: __m512i) -> __m512i {
        let x = self.wide.subtract_if_large(x, self.two_q);
        self.wide.subtract_if_large(x, self.q)
    }

    /// A lane in `[0, 2q)` to a word in `[0, q)`.
    #[inline(always)]
    fn reduce_2(self, x: __m512i) -> __m512i {
        self.wide.subtract_if_large(self.wide.and(x, self.mask), self.q)
    }
}

/// The number of stages of a forward transform between reductions: one, three or `NEVER`.
pub(super) fn every(table: &NttTable) -> u32 {
    match table.modulus().value() {
        _ if is_lazy(table) => NEVER,
        ..=THREE_STAGES => 3,
        _ => 1,
    }
}

/// Runs an expression with the value of [`every`] for a table as a constant.
macro_rules! with_every {
    ($table:expr, $every:ident => $run:expr) => {
        match every($table) {
            NEVER => {
                const $every: u32 = NEVER;
                $run
            }
            3 => {
                const $every: u32 = 3;
                $run
            }
            _ => {
                const $every: u32 = 1;
                $run
            }
        }
    };
}
use with_every;

/// Whether transforms are `LAZY`: residues below `4q` may enter.
pub(super) fn is_lazy(table: &NttTable) -> bool {
    lazy_headroom(table) >= 4 * table.modulus().value()
}

/// The largest residue that may enter a lazy forward transform, which adds at most
/// [`OFFSET`]` + log2(N)` times `q` to it. Inverse transforms need a headroom of `33q`. This is the
/// same bound plus the `4q` that enter for `log2(N) = 12`, so shorter transforms use the bound of
/// `log2(N) = 12`.
fn lazy_headroom(table: &NttTable) -> u64 {
    let most = OFFSET + u64::from(table.degree().trailing_zeros()).max(12);
    (1u64 << 52).saturating_sub(most * table.modulus().value())
}

/// `floor(w 2^52 / q)`.
pub(super) fn companion(modulus: &Modulus, w: u64) -> u64 {
    (((w as u128) << 52) / modulus.value() as u128) as u64
}

/// `-1 / q` modulo `2^52` for odd `q`, by Newton's iteration. `q` itself is correct to three bits.
fn negative_inverse(q: u64) -> u64 {
    let step = |x: u64| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x)));
    step(step(step(step(step(q))))).wrapping_neg() & ((1 << 52) - 1)
}

impl<const EVERY: u32> Arithmetic for Ifma<EVERY> {
    type W = Avx512;
    type Root = Root;
    type Part = Self;
    const PARTS: usize = 1;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn parts_of(x: &mut __m512i) -> &mut [__m512i] {
        std::slice::from_mut(x)
    }

    #[inline(always)]
    fn wide(self) -> Avx512 {
        self.wide
    }

    #[inline(always)]
    fn root(self, [value, companion]: [u64; 2]) -> Root {
        Root { value: self.wide.splat(value), companion: self.wide.splat(companion) }
    }

    /// Reads the companions only: `w' q = w 2^52 - r` with `r` in `(0, q)`, hence
    /// `w = floor(w' q / 2^52) + 1`.
    #[inline(always)]
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> Root {
        let companion = self.wide.load(&tile[line]);
        Root { value: self.madd_high(self.one, companion, self.q), companion }
    }

    #[inline(always)]
    fn companion(self, w: u64) -> [u64; 2] {
        [w, companion(&self.modulus, w)]
    }

    #[inline(always)]
    fn start_forward(self, x: __m512i) -> __m512i {
        if Self::LAZY { self.wide.add(x, self.offset) } else { self.continue_forward(x) }
    }

    /// If `EVERY` is three: Barrett reduction with a quotient that is three too small, so that
    /// three stages stay in `[0, 2^52)`.
    ///
    /// For `q <= 2^49` lanes are reduced to `[0, 2q)`, and three stages leave `[0, 8q)`. For
    /// slightly larger primes the quotient is `k = floor(7 x / 2^52)`. If `k` is 6, the stages add
    /// no more than was subtracted. If `k` is less, then `x < (k + 1) 8/7 q`, less than `13/7 q`
    /// remains, and `55/7 q` is less than `2^52`.
    #[inline(always)]
    fn continue_forward(self, x: __m512i) -> __m512i {
        if EVERY == 3 {
            let quotient = self.madd_high(self.minus_three, x, self.barrett);
            self.madd_low(x, quotient, self.minus_q)
        } else {
            x
        }
    }

    /// If `x` needs no reduction, the product is accumulated into it, and the difference is twice
    /// `x` less the sum. The quotient of that product is one too large, so the product is in
    /// `[-q, q)`.
    #[inline(always)]
    fn forward_butterfly(self, x: &mut __m512i, y: &mut __m512i, w: Root) {
        if EVERY == 1 {
            let u = self.barrett(*x);
            let v = self.mul_lazy(*y, w);
            *x = self.wide.add(u, v);
            *y = self.wide.sub(self.wide.add(u, self.two_q), v);
        } else {
            let double = self.wide.add(*x, *x);
            let quotient = self.madd_high(self.one, *y, w.companion);
            let sum = self.madd_low(*x, *y, w.value);
            *x = self.madd_low(sum, quotient, self.minus_q);
            *y = self.wide.sub(double, *x);
        }
    }

    #[inline(always)]
    fn finish_forward(self, x: __m512i) -> __m512i {
        self.reduce_2(self.barrett(x))
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut __m512i, y: &mut __m512i, w: Root) {
        let sum = self.wide.add(*x, *y);
        let difference = self.wide.sub(self.wide.add(*x, self.offset), *y);
        *x = if EVERY == 1 { self.barrett(sum) } else { sum };
        *y = self.mul_lazy(difference, w);
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut __m512i, y: &mut __m512i, scale: Root, w: Root) {
        let sum = self.wide.add(*x, *y);
        let difference = self.wide.sub(self.wide.add(*x, self.offset), *y);
        *x = self.reduce_2(self.mul_lazy(sum, scale));
        *y = self.reduce_2(self.mul_lazy(difference, w));
    }

    /// In three stages, row 0 sums eight residues, row 1 four products of the first stage, and the
    /// others less. Settled values and products are below `2q`.
    /// - `LAZY`: rows 0 and 1 are settled at the end, so that all rows are below `4q`. No sum
    ///   reaches `32q`, no difference reaches `16q` plus the offset, and there is
    ///   [headroom](lazy_headroom) for `33q`.
    /// - `EVERY` three stages: all sums are settled at the end, and those of four residues before.
    ///   For `q <= 2^49` no sum and no difference, with an offset of `4q`, reaches `8q`, which is
    ///   at most `2^52`. For slightly larger primes, `2^52 > 7.984 q`. A settled value is a sum
    ///   below `7.96q`, of which less than `1.96q` remains (see `continue_forward`). A product of a
    ///   lane `y` is below `(1 + y / 2^52) q`. If no row is above `1.99q`, then sums of four stay
    ///   below `7.96q`, differences of sums of two below `7.98q`, and sums of four products of the
    ///   first stage below `7.01q`. The products at the end, of differences below `7.51q`, are
    ///   again below `1.99q`. Only the last pass of a transform may have fewer than three stages.
    /// - Otherwise there is headroom for `4q` only, and butterflies reduce every sum themselves.
    #[inline(always)]
    fn settles(half: usize, row: usize, last: bool) -> bool {
        match EVERY {
            NEVER => last && row < 2,
            3 => last || half == 2 && row & 3 == 0,
            _ => false,
        }
    }

    #[inline(always)]
    fn settle(self, x: __m512i) -> __m512i {
        self.barrett(x)
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide.subtract_if_large(self.wide.add(a, b), self.q)
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide.subtract_if_large(self.sub_lazy(a, b), self.q)
    }

    /// Both factors are shifted up, so that the high half of their product keeps as many bits as 52
    /// can hold: `e = floor(a b 2^(52 - 2 bits - j))`. The quotient is `floor(e r / 2^52)` with
    /// `r = floor(2^(2 bits + j) / q) < 2^52`.
    ///
    /// With `t = q / 2^bits` in `(1/2, 1)`, the rounding of `e` reduces the quotient by less than
    /// `r / 2^52 <= 2^(bits + j - 52) / t`, and that of `r` by less than `t^2 / 2^j`. Both together
    /// are less than 1 with `j = 1` for `bits < 50`, and for 50 bits with `j = 1` if `t > 0.7`,
    /// otherwise with `j = 0`. The quotient is therefore too small by less than 2.
    #[inline(always)]
    fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        let (high_a, high_b) =
            (self.wide.shift_left(a, self.shift), self.wide.shift_left(b, self.product_shift));
        let e = self.madd_high(self.zero, high_a, high_b);
        let quotient = self.madd_high(self.zero, e, self.product_reciprocal);
        let product = self.madd_low(self.zero, a, b);
        self.reduce_2(self.madd_low(product, quotient, self.minus_q))
    }

    #[inline(always)]
    fn mul_root(self, x: __m512i, w: Root) -> __m512i {
        self.reduce_2(self.mul_lazy(x, w))
    }

    #[inline(always)]
    fn sub_lazy(self, a: __m512i, b: __m512i) -> __m512i {
        self.wide.add(a, self.wide.sub(self.q, b))
    }

    /// Sums both quotients before it subtracts them: `[0, 4q)` first.
    #[inline(always)]
    fn mul_two_roots(self, x: __m512i, w: Root, y: __m512i, v: Root) -> __m512i {
        let quotient = self.madd_high(self.madd_high(self.zero, x, w.companion), y, v.companion);
        let product = self.madd_low(self.madd_low(self.zero, x, w.value), y, v.value);
        let difference = self.madd_low(product, quotient, self.minus_q);
        self.reduce_4(self.wide.and(difference, self.mask))
    }

    const MULTIPLIES_FORWARD: bool = Self::LAZY;
}

impl<const EVERY: u32> Sums for Ifma<EVERY> {
    type Sum = [__m512i; 2];

    /// A line has as many words as a residue has bytes, fewer than eight. The rest is not read.
    #[inline(always)]
    fn packed<const B: usize>(self, row: &[u64], first: usize) -> [__m512i; B] {
        let lines = &row[first * self.bytes..(first + B) * self.bytes];
        let mask = ((1u32 << self.bytes) - 1) as u8;
        let mut x = [self.zero; B];
        for (i, x) in x.iter_mut().enumerate() {
            // SAFETY: of the `B` lines in the slice this is line `i`, and only the words of that
            // line are read; a value of this type exists only on CPUs with AVX-512 F and VBMI.
            *x = unsafe {
                let line = lines.as_ptr().add(i * self.bytes).cast();
                _mm512_permutexvar_epi8(self.places, _mm512_maskz_loadu_epi64(mask, line))
            };
        }
        x
    }

    #[inline(always)]
    fn no_products(self) -> [__m512i; 2] {
        [self.zero; 2]
    }

    #[inline(always)]
    fn sum_of(self, x: __m512i) -> [__m512i; 2] {
        [x, self.zero]
    }

    /// `LAZY`: the word is a multiple of `2^52`, next to the start value of
    /// [`no_rows`](Self::no_rows).
    #[inline(always)]
    fn resume(self, x: __m512i, last: bool) -> [__m512i; 2] {
        match (Self::LAZY, last) {
            (true, true) => [self.zero, x],
            (true, false) => [self.mask, x],
            (false, _) => self.sum_of(x),
        }
    }

    /// `LAZY`: the sum divided by `2^52`, as for a sum of rows. Otherwise a word in `[0, 4q)`.
    #[inline(always)]
    fn pause(self, sum: [__m512i; 2]) -> __m512i {
        if Self::LAZY { self.reduce_weighted(sum) } else { self.reduce_sum_lazy(sum) }
    }

    #[inline(always)]
    fn accumulate(self, [low, high]: [__m512i; 2], a: __m512i, b: __m512i) -> [__m512i; 2] {
        [self.madd_low(low, a, b), self.madd_high(high, a, b)]
    }

    #[inline(always)]
    fn reduce_sum(self, sum: [__m512i; 2]) -> __m512i {
        self.reduce_4(self.reduce_sum_lazy(sum))
    }

    /// Times `2^52`, which Montgomery reduction divides out.
    #[inline(always)]
    fn weight(self, w: u64) -> u64 {
        self.modulus.mul(w, self.modulus.reduce(1 << 52))
    }

    /// The low part begins one below a carry, see [`reduce_weighted`](Self::reduce_weighted).
    #[inline(always)]
    fn no_rows(self) -> [__m512i; 2] {
        [self.mask, self.zero]
    }

    #[inline(always)]
    fn accumulate_small(self, [low, high]: [__m512i; 2], a: __m512i, b: __m512i) -> [__m512i; 2] {
        [self.madd_low(low, a, b), high]
    }

    /// Montgomery reduction, to less than `2q` above the high part of the sum. `m q` with
    /// `m = -low / q` cancels the low 52 bits, with a carry unless they are zero. Since `low` began
    /// one below a carry, its own bits from bit 52 on contain that carry, and `m = -(low + 1) / q`.
    #[inline(always)]
    fn reduce_weighted(self, [low, high]: [__m512i; 2]) -> __m512i {
        let m = self.madd_low(self.montgomery, low, self.montgomery);
        self.wide.add(self.madd_high(high, m, self.q), self.shift_right_52(low))
    }

    /// With factors below `2^50` the high part stays below `15 * 2^48 + 15 < 2^52`. With any lane
    /// as a factor, see [`Arithmetic::MULTIPLIES_FORWARD`], it stays below `15 q + 15`, and lazy
    /// primes are below `2^48`.
    #[inline(always)]
    fn products(self) -> usize {
        15
    }

    const RESIDUE_BITS: u32 = MAX_BITS;

    #[inline(always)]
    fn reduce(self, x: __m512i) -> __m512i {
        self.finish_forward(x)
    }

    #[inline(always)]
    fn reduce_lazy(self, x: __m512i) -> __m512i {
        self.barrett(x)
    }

    /// Both parts of the word are reduced to `[0, 2q)`, then their sum.
    #[inline(always)]
    fn reduce_word(self, x: __m512i) -> __m512i {
        let high = self.mul_lazy(self.shift_right_52(x), self.radix);
        let sum = self.wide.and(self.wide.add(self.barrett(x), high), self.mask);
        self.wide.subtract_if_large(sum, self.two_q)
    }

    /// The product of a word adds less than `q` to the high part, and `2^10` for the bits from bit
    /// 52 on.
    #[inline(always)]
    fn accumulate_word(
        self,
        sum: [__m512i; 2],
        a: __m512i,
        b: __m512i,
        high: __m512i,
    ) -> [__m512i; 2] {
        self.accumulate(self.accumulate(sum, a, b), self.shift_right_52(a), high)
    }
}
