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
    choice::double_companion,
    neon::registers::{Neon, pairs_of},
    simd::{Arithmetic, Line, V, Wide},
};
use crate::modulus::Modulus;

/// Bits of the primes whose forward transforms reduce nothing.
const LAZY_BITS: u32 = 48;

/// Whether transforms modulo this prime are `LAZY`.
pub(super) fn is_lazy(modulus: &Modulus) -> bool {
    modulus.bits() <= LAZY_BITS
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
        [w, double_companion(&self.modulus, w)]
    }

    #[inline(always)]
    fn enter(self, x: V<Self>) -> V<Self> {
        pairs_of(|i| self.stored(self.converted(x[i])))
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
        for i in 0..4 {
            let (u, v) = (self.number(x[i]), self.product(self.number(y[i]), self.number(w[i])));
            x[i] = self.stored(self.sum(u, v));
            y[i] = self.stored(self.difference(u, v));
        }
    }

    #[inline(always)]
    fn finish_forward(self, x: V<Self>) -> V<Self> {
        pairs_of(|i| self.residue(self.centered(self.number(x[i]))))
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: V<Self>) {
        for i in 0..4 {
            let (u, v) = (self.number(x[i]), self.number(y[i]));
            x[i] = self.stored(self.sum(u, v));
            y[i] = self.stored(self.product(self.difference(u, v), self.number(w[i])));
        }
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: V<Self>, w: V<Self>) {
        for i in 0..4 {
            let (u, v) = (self.number(x[i]), self.number(y[i]));
            let sum = self.product(self.sum(u, v), self.number(scale[i]));
            let difference = self.product(self.difference(u, v), self.number(w[i]));
            x[i] = self.residue(self.centered(sum));
            y[i] = self.residue(self.centered(difference));
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
        if LAZY { last && row == 0 } else { last || half == 2 && row & 3 == 0 }
    }

    #[inline(always)]
    fn settle(self, x: V<Self>) -> V<Self> {
        pairs_of(|i| self.stored(self.centered(self.number(x[i]))))
    }

    #[inline(always)]
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self> {
        pairs_of(|i| self.add_if_negative(self.sub_words(self.add_words(a[i], b[i]), self.word)))
    }

    #[inline(always)]
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self> {
        pairs_of(|i| self.add_if_negative(self.sub_words(a[i], b[i])))
    }

    /// The product is at most `(1/2 + 3/8) q`: below `q`.
    #[inline(always)]
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self> {
        pairs_of(|i| self.residue(self.product(self.converted(a[i]), self.converted(b[i]))))
    }

    /// The product is at most `(1/2 + 4 e) q`: below `q` if `LAZY`, otherwise below `2q`.
    #[inline(always)]
    fn mul_root(self, x: V<Self>, w: V<Self>) -> V<Self> {
        pairs_of(|i| {
            let product = self.product(self.converted(x[i]), self.number(w[i]));
            self.residue(if LAZY { product } else { self.centered(product) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{prime_up_to, words};

    /// Primes at both ends of each class, and a small one.
    fn primes() -> [Modulus; 5] {
        [1 << 50, (1 << 49) + (1 << 40), 1 << 48, 1 << 47, 1 << 20].map(prime_up_to)
    }

    fn arithmetic(q: &Modulus) -> Double<false> {
        assert!(crate::backend::Backend::Neon.check(q).is_ok(), "every aarch64 CPU has NEON");
        // SAFETY: checked above.
        Double::new(unsafe { Neon::assume() }, q)
    }

    impl<const LAZY: bool> Double<LAZY> {
        /// [`Double::product`] in all lanes.
        fn products(self, y: V<Self>, w: V<Self>) -> V<Self> {
            pairs_of(|i| self.stored(self.product(self.number(y[i]), self.number(w[i]))))
        }
    }

    /// The number in each lane.
    fn number<const LAZY: bool>(f: Double<LAZY>, x: V<Double<LAZY>>) -> f64 {
        let mut line = [0; 8];
        f.wide().store(x, &mut line);
        assert_eq!(line, [line[0]; 8]);
        f64::from_bits(line[0])
    }

    fn splat<const LAZY: bool>(f: Double<LAZY>, x: i64) -> V<Double<LAZY>> {
        f.wide().splat((x as f64).to_bits())
    }

    /// Products are congruent to the exact ones and within the stated bound, for numbers of either
    /// sign up to the largest that enter a product. Some exceed `q / 2`.
    #[test]
    fn products_are_exact_and_bounded() {
        for q in primes() {
            let (f, value) = (arithmetic(&q), q.value());
            let multiples = if is_lazy(&q) { [1, 4, 8, 22, 25] } else { [1, 2, 4, 5, 8] };
            let mut largest: f64 = 0.0;
            for multiple in multiples {
                let most = (multiple * value).min(1 << 53);
                let ys = words(1000, most + 1, multiple).into_iter().chain([0, 1, most - 1, most]);
                let edges = [0, 1, value / 2, value / 2 + 1, value - 1];
                let ws = edges.into_iter().cycle().take(500).chain(words(504, value, 7));
                for (y, w) in ys.zip(ws) {
                    for y in [y as i64, -(y as i64)] {
                        let w_number = q.center(w);
                        let product = f.products(splat(f, y), f.root(f.companion(w)));
                        let found = number(f, product);
                        let exact = i128::from(y) * i128::from(w_number);
                        assert_eq!((exact - found as i128) % i128::from(value), 0, "{y} {w}");
                        let share = exact.unsigned_abs() as f64 / value as f64;
                        let bound = 0.5 + 3.0 * f64::EPSILON / 2.0 * share;
                        assert!(found.abs() <= bound * value as f64 + 1.0, "{y} {w} mod {value}");
                        largest = largest.max(found.abs() / value as f64);
                    }
                }
            }
            // Otherwise the test says nothing about the second term.
            assert!(value < 1 << 47 || largest > 0.55, "{largest} modulo {value}");
        }
    }

    /// Reduction and residues at the ends of their range.
    #[test]
    fn numbers_up_to_2_53_are_reduced() {
        for q in primes() {
            let (f, value) = (arithmetic(&q), q.value() as i64);
            let last = (1i64 << 53) / value;
            for multiple in [0, 1, 2, last / 2, last - 1, last] {
                for offset in [0, 1, value / 2, value / 2 + 1, value - 1] {
                    let x = (multiple * value + offset).min(1 << 53);
                    for x in [x, -x] {
                        let mut line = [0; 8];
                        f.wide().store(f.finish_forward(splat(f, x)), &mut line);
                        assert_eq!(line, [q.from_i64(x); 8], "{x} modulo {value}");
                        let settled = number(f, f.settle(splat(f, x))).abs();
                        assert!(settled <= 0.51 * value as f64 + 1.0);
                    }
                }
            }
        }
    }

    /// The rows of three inverse stages up to the bound `B q` that [`Double::settles`] states, in
    /// all combinations of signs: the results are within the bound and congruent to the exact ones.
    fn compare_inverse<const LAZY: bool>(f: Double<LAZY>, q: &Modulus, top: f64) {
        let value = q.value();
        let start = (top * value as f64) as i64;
        let mut largest: f64 = 0.0;
        for combination in 0..256u64 {
            // Not multiples of the prime, which products would map to zero.
            let below = words(8, value / 4, combination + 1);
            let rows: [i64; 8] = std::array::from_fn(|row| {
                (start - below[row] as i64) * (1 - 2 * (combination >> row & 1) as i64)
            });
            let factors = words(8, value, combination);
            let pairs: [[u64; 2]; 8] = std::array::from_fn(|i| f.companion(factors[i]));
            let mut x = rows.map(|row| splat(f, row));
            let mut exact = rows.map(|row| q.from_i64(row));
            super::super::ntt::inverse_stages(f, &mut x, 1, &pairs);
            for half in [1, 2, 4] {
                for low in (0..8).filter(|row| row & half == 0) {
                    let (a, b) = (exact[low], exact[low + half]);
                    exact[low] = q.add(a, b);
                    let node = 4 / half + low / (2 * half);
                    exact[low + half] = q.mul(q.sub(a, b), factors[node]);
                }
            }
            for (x, exact) in x.into_iter().zip(exact) {
                let found = number(f, x);
                assert_eq!(q.from_i64(found as i64), exact, "modulo {value}");
                assert!(found.abs() <= start as f64, "{found} of {start} modulo {value}");
                largest = largest.max(found.abs());
            }
        }
        assert!(largest > 0.45 * value as f64, "otherwise the test shows nothing");
    }

    #[test]
    fn inverse_stages_stay_within_their_bounds() {
        // SAFETY: every aarch64 CPU has NEON, see `arithmetic`.
        let wide = || unsafe { Neon::assume() };
        for most in [1 << 50, (1 << 48) + (1 << 40)] {
            let q = prime_up_to(most);
            compare_inverse(Double::<false>::new(wide(), &q), &q, 2.0);
        }
        for most in [1 << 48, 1 << 40] {
            let q = prime_up_to(most);
            compare_inverse(Double::<true>::new(wide(), &q), &q, 3.2);
        }
    }

    /// As many stages as the longest transform has, each with the largest product found among many
    /// factors, in the largest lazy prime: the numbers stay exact.
    #[test]
    fn lazy_numbers_stay_exact() {
        let q = prime_up_to(1 << LAZY_BITS);
        assert!(is_lazy(&q) && !is_lazy(&prime_up_to((1 << LAZY_BITS) + (1 << 20))));
        // SAFETY: every aarch64 CPU has NEON, see `arithmetic`.
        let f = Double::<true>::new(unsafe { Neon::assume() }, &q);
        let (mut x, mut exact) = (4 * q.value() as i64 - 1, q.value() - 1);
        for stage in 0..17 {
            // The other row is as large as this one.
            let candidates = words(1 << 10, q.value(), stage);
            let product = |w: u64| number(f, f.products(splat(f, x), f.root(f.companion(w))));
            let w = candidates.into_iter().max_by(|&a, &b| product(a).total_cmp(&product(b)));
            let w = w.expect("some candidates");
            let (mut low, mut high) = (splat(f, x), splat(f, x));
            f.forward_butterfly(&mut low, &mut high, f.root(f.companion(w)));
            (x, exact) = (number(f, low) as i64, q.add(exact, q.mul(exact, w)));
            assert_eq!(q.from_i64(x), exact);
            assert!(x.unsigned_abs() < 22 * q.value() && x < 1 << 53);
        }
        assert!(x.unsigned_abs() > 11 * q.value(), "otherwise the test shows nothing");
    }
}
