//! Arithmetic modulo a prime `q < 2^50` in floating point with fused products, on NEON.
//!
//! Stages hold integers of either sign as numbers in floating point. Sums are exact up to `2^53`.
//! A product `y w` is the rounded number `h` plus an error, which one fused product computes
//! exactly. With the quotient `k = round(h / q)`, `h - k q` is an integer below `2^53` too, and
//! another fused product computes it exactly. Three roundings move the quotient by at most
//! `3 * 2^-53 |y w| / q`, so the result `y w - k q` is at most `(1/2 + 3 * 2^-53 |y w| / q) q`.
//!
//! Factors of transforms are centred, `|w| <= q / 2`. Let `B` bound the numbers of a stage in units
//! of `q`, and let `e = 3/2 * 2^-53 q`. Products then are at most `(1/2 + e B) q`.
//! - `LAZY`, primes below `2^48` (`e <= 3/64`): a forward transform starts with numbers up to `4q`
//!   and reduces nothing before its end. After 17 stages that each map `B` to `B (1 + e) + 1/2`,
//!   `B < 22`, below `2^53`.
//! - Otherwise (`e <= 3/16`), the first numbers of the butterflies of every third stage are reduced
//!   to `q / 2`. From `B <= 4`, three stages return to `B <= 4`, at most `2^52`.
//!
//! [`Double::settles`] has the bounds of inverse transforms.

use std::arch::aarch64::*;

use super::{
    neon::Neon,
    simd::{Arithmetic, Line, V, Wide},
};
use crate::Modulus;

/// Bits of the primes whose forward transforms reduce nothing.
const LAZY_BITS: u32 = 48;

/// Whether transforms modulo this prime are `LAZY`.
pub(super) fn is_lazy(modulus: &Modulus) -> bool {
    modulus.bits() <= LAZY_BITS
}

/// The bits of the factor `w` in `[0, q)`, centred, as a number in floating point.
pub(super) fn companion(modulus: &Modulus, w: u64) -> u64 {
    (modulus.center(w) as f64).to_bits()
}

/// Residues modulo one prime as numbers in floating point. A value proves that the CPU has NEON.
#[derive(Clone, Copy)]
pub(super) struct Double<const LAZY: bool> {
    wide: Neon,
    modulus: Modulus,
    q: float64x2_t,
    /// `1 / q`, rounded.
    inverse: float64x2_t,
    /// `q` as an integer.
    word: uint64x2_t,
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// NEON.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl<const LAZY: bool> Double<LAZY> {
    #[inline(always)]
    pub(super) fn new(wide: Neon, modulus: &Modulus) -> Self {
        let q = modulus.value();
        let [number, inverse] = [q as f64, 1.0 / q as f64];
        let [number, inverse] = [number, inverse].map(|x| unsafe { vdupq_n_f64(x) });
        Self { wide, modulus: *modulus, q: number, inverse, word: unsafe { vdupq_n_u64(q) } }
    }

    /// `y w - k q`, see above.
    #[inline(always)]
    fn product(self, y: float64x2_t, w: float64x2_t) -> float64x2_t {
        unsafe {
            let high = vmulq_f64(y, w);
            let quotient = vrndnq_f64(vmulq_f64(high, self.inverse));
            // Both differences are exact.
            let minus_low = vfmsq_f64(high, y, w);
            vsubq_f64(vfmsq_f64(high, quotient, self.q), minus_low)
        }
    }

    /// A number up to `2^53` to at most `q / 2`, up to the rounding of the quotient.
    #[inline(always)]
    fn centered(self, x: float64x2_t) -> float64x2_t {
        unsafe { vfmsq_f64(x, vrndnq_f64(vmulq_f64(x, self.inverse)), self.q) }
    }

    /// A number in `(-q, q)` to a residue in `[0, q)`.
    #[inline(always)]
    fn residue(self, x: float64x2_t) -> uint64x2_t {
        unsafe {
            let x = vcvtq_s64_f64(x);
            let negative = vreinterpretq_u64_s64(vshrq_n_s64::<63>(x));
            vaddq_u64(vreinterpretq_u64_s64(x), vandq_u64(negative, self.word))
        }
    }

    /// `[-q, q)` to `[0, q)`, integers.
    #[inline(always)]
    fn add_if_negative(self, x: uint64x2_t) -> uint64x2_t {
        unsafe {
            let negative = vshrq_n_s64::<63>(vreinterpretq_s64_u64(x));
            vaddq_u64(x, vandq_u64(vreinterpretq_u64_s64(negative), self.word))
        }
    }

    /// The number that is stored in a word.
    #[inline(always)]
    fn number(self, x: uint64x2_t) -> float64x2_t {
        unsafe { vreinterpretq_f64_u64(x) }
    }

    #[inline(always)]
    fn stored(self, x: float64x2_t) -> uint64x2_t {
        unsafe { vreinterpretq_u64_f64(x) }
    }

    /// The number of an integer below `2^53`.
    #[inline(always)]
    fn converted(self, x: uint64x2_t) -> float64x2_t {
        unsafe { vcvtq_f64_u64(x) }
    }

    #[inline(always)]
    fn sum(self, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        unsafe { vaddq_f64(x, y) }
    }

    #[inline(always)]
    fn difference(self, x: float64x2_t, y: float64x2_t) -> float64x2_t {
        unsafe { vsubq_f64(x, y) }
    }

    #[inline(always)]
    fn add_words(self, x: uint64x2_t, y: uint64x2_t) -> uint64x2_t {
        unsafe { vaddq_u64(x, y) }
    }

    #[inline(always)]
    fn sub_words(self, x: uint64x2_t, y: uint64x2_t) -> uint64x2_t {
        unsafe { vsubq_u64(x, y) }
    }
}

impl<const LAZY: bool> Arithmetic for Double<LAZY> {
    type W = Neon;
    /// Numbers.
    type Root = V<Self>;

    #[inline(always)]
    fn wide(self) -> Neon {
        self.wide
    }

    #[inline(always)]
    fn root(self, [_, companion]: [u64; 2]) -> V<Self> {
        self.wide.splat(companion)
    }

    #[inline(always)]
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> V<Self> {
        self.wide.load(&tile[line])
    }

    #[inline(always)]
    fn companion(self, w: u64) -> [u64; 2] {
        [w, companion(&self.modulus, w)]
    }

    #[inline(always)]
    fn enter(self, x: V<Self>) -> V<Self> {
        x.map(|x| self.stored(self.converted(x)))
    }

    #[inline(always)]
    fn start_forward(self, x: V<Self>) -> V<Self> {
        self.continue_forward(x)
    }

    #[inline(always)]
    fn continue_forward(self, x: V<Self>) -> V<Self> {
        if LAZY { x } else { self.settle(x) }
    }

    #[inline(always)]
    fn forward_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: V<Self>) {
        for ((x, y), w) in x.iter_mut().zip(y).zip(w) {
            let (u, v) = (self.number(*x), self.product(self.number(*y), self.number(w)));
            *x = self.stored(self.sum(u, v));
            *y = self.stored(self.difference(u, v));
        }
    }

    #[inline(always)]
    fn finish_forward(self, x: V<Self>) -> V<Self> {
        x.map(|x| self.residue(self.centered(self.number(x))))
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: V<Self>) {
        for ((x, y), w) in x.iter_mut().zip(y).zip(w) {
            let (u, v) = (self.number(*x), self.number(*y));
            *x = self.stored(self.sum(u, v));
            *y = self.stored(self.product(self.difference(u, v), self.number(w)));
        }
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: V<Self>, w: V<Self>) {
        for (((x, y), scale), w) in x.iter_mut().zip(y).zip(scale).zip(w) {
            let (u, v) = (self.number(*x), self.number(*y));
            let sum = self.product(self.sum(u, v), self.number(scale));
            let difference = self.product(self.difference(u, v), self.number(w));
            *x = self.residue(self.centered(sum));
            *y = self.residue(self.centered(difference));
        }
    }

    /// Let all rows be at most `B q` before three stages. Row 0 sums eight of them, row 1 four
    /// products of the first stage, and rows 2 and 3 two products of the second.
    /// - `LAZY`: row 0 is settled at the end. From `B = 3.2`, row 1 ends at
    ///   `(2 + 8 e B) q <= 3.2 q`, all other rows below, and row 0 at `8 B q < 2^53`. The products
    ///   of the third stage, of differences up to `8 B q`, are at most `(1/2 + 8 e B) q`.
    /// - Otherwise all sums are settled at the end, and those of four rows before. From `B = 2`,
    ///   sums of four rows are at most `8q <= 2^53`, products of the second stage at most
    ///   `(1/2 + 4 e B) q = 2q`, and those of the third, of sums of two, below that. Passes of one
    ///   or two stages end with such products too.
    ///
    /// Products of the last stage, with the factor `1 / N`, are at most `(1/2 + 8 e B) q < 2 q`.
    #[inline(always)]
    fn settles(half: usize, row: usize, last: bool) -> bool {
        if LAZY { last && row == 0 } else { last || half == 2 && row % 4 == 0 }
    }

    #[inline(always)]
    fn settle(self, x: V<Self>) -> V<Self> {
        x.map(|x| self.stored(self.centered(self.number(x))))
    }

    #[inline(always)]
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self> {
        std::array::from_fn(|i| {
            self.add_if_negative(self.sub_words(self.add_words(a[i], b[i]), self.word))
        })
    }

    #[inline(always)]
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self> {
        std::array::from_fn(|i| self.add_if_negative(self.sub_words(a[i], b[i])))
    }

    /// The product is at most `(1/2 + 3/8) q`.
    #[inline(always)]
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self> {
        std::array::from_fn(|i| {
            self.residue(self.product(self.converted(a[i]), self.converted(b[i])))
        })
    }

    /// The product is at most `(1/2 + 4 e) q`, below `2q`.
    #[inline(always)]
    fn mul_root(self, x: V<Self>, w: V<Self>) -> V<Self> {
        std::array::from_fn(|i| {
            let product = self.product(self.converted(x[i]), self.number(w[i]));
            self.residue(self.centered(product))
        })
    }
}
