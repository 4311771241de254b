//! Arithmetic modulo a prime `q < 2^50` in floating point with fused products, on any registers
//! with [`Floats`].
//!
//! Stages hold integers of either sign as numbers in floating point. Sums are exact up to `2^53`.
//! A product `y w` is the rounded number `h` plus an error, which one fused product computes
//! exactly. With the quotient `k = round(y t)` for `t = w / q`, `h - k q` is an integer below
//! `2^53` too, and another fused product computes it exactly. Three roundings, those of `1 / q`,
//! of `t` and of `y t`, move the quotient by at most `3 * 2^-53 |y w| / q`, so the result
//! `y w - k q` is at most `(1/2 + 3 * 2^-53 |y w| / q) q`.
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

#[cfg(target_arch = "x86_64")]
use super::MAX_PRODUCTS;
use super::{
    choice::double_companion,
    floats::Floats,
    simd::{Arithmetic, Line, V},
};
use crate::modulus::Modulus;

/// Bits of the primes whose forward transforms reduce nothing.
pub(super) const LAZY_BITS: u32 = 48;

/// Most bits of a factor.
#[cfg(target_arch = "x86_64")]
pub(super) const MAX_BITS: u32 = 50;

/// The limits of a sum of products, see `double_sums.rs`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// `c`, and at most `log2` of [`MAX_PRODUCTS`] rounded up.
    pub(super) log_products: u32,
    /// `2^b`.
    pub(super) start: f64,
}

#[cfg(target_arch = "x86_64")]
impl Limits {
    /// For factors whose products have `2 n` bits.
    #[inline(always)]
    pub(super) fn of(bits: u32) -> Self {
        debug_assert!(bits <= 2 * MAX_BITS);
        let log_products = ((106 - bits) / 2).min(MAX_PRODUCTS.ilog2() + 1);
        Self { log_products, start: (1u128 << (bits + log_products)) as f64 }
    }

    /// The start of the high part for up to four products of either sign, for `c >= 3`.
    #[inline(always)]
    pub(super) fn signed_start(self) -> f64 {
        1.5 * self.start
    }
}

/// Whether transforms modulo this prime are `LAZY`.
pub(super) fn is_lazy(modulus: &Modulus) -> bool {
    modulus.bits() <= LAZY_BITS
}

/// Residues modulo one prime as numbers in floating point.
#[derive(Clone, Copy)]
pub(super) struct Double<W: Floats, const LAZY: bool> {
    pub(super) wide: W,
    pub(super) modulus: Modulus,
    pub(super) q: W::V,
    /// `1 / q`, rounded.
    pub(super) inverse: W::V,
    /// `q` as an integer.
    pub(super) word: W::V,
    /// The limits of a sum of products.
    #[cfg(target_arch = "x86_64")]
    pub(super) limits: Limits,
}

/// A factor `w` and `t = w / q`.
#[derive(Clone, Copy)]
pub(super) struct Factor<W: Floats> {
    value: W::V,
    share: W::V,
}

impl<W: Floats, const LAZY: bool> Double<W, LAZY> {
    #[inline(always)]
    pub(super) fn new(wide: W, modulus: &Modulus) -> Self {
        let q = modulus.value();
        let [number, inverse] = [q as f64, 1.0 / q as f64].map(|x| wide.splat(x.to_bits()));
        Self {
            wide,
            modulus: *modulus,
            q: number,
            inverse,
            word: wide.splat(q),
            #[cfg(target_arch = "x86_64")]
            limits: Limits::of(2 * modulus.bits()),
        }
    }

    /// The factor of a number.
    #[inline(always)]
    pub(super) fn factor(self, value: W::V) -> Factor<W> {
        Factor { value, share: self.wide.times(value, self.inverse) }
    }

    /// `y w - k q`, see above.
    #[inline(always)]
    pub(super) fn product(self, y: W::V, w: Factor<W>) -> W::V {
        let f = self.wide;
        let high = f.times(y, w.value);
        let quotient = f.round(f.times(y, w.share));
        // Both differences are exact.
        let minus_low = f.minus_times(high, y, w.value);
        f.minus(f.minus_times(high, quotient, self.q), minus_low)
    }

    /// A number up to `2^53` to at most `q / 2`, up to the rounding of the quotient.
    #[inline(always)]
    pub(super) fn centered(self, x: W::V) -> W::V {
        let f = self.wide;
        f.minus_times(x, f.round(f.times(x, self.inverse)), self.q)
    }

    /// A number in `(-q, q)` to a residue in `[0, q)`.
    #[inline(always)]
    pub(super) fn residue(self, x: W::V) -> W::V {
        self.wide.add_if_negative(self.wide.integer(x), self.word)
    }
}

impl<W: Floats, const LAZY: bool> Arithmetic for Double<W, LAZY> {
    type W = W;
    type Root = Factor<W>;
    type Part = Double<W::Part, LAZY>;
    const PARTS: usize = W::PARTS;

    #[inline(always)]
    fn part(self, index: usize) -> Self::Part {
        Double::new(self.wide.part(index), &self.modulus)
    }

    #[inline(always)]
    fn parts_of(x: &mut V<Self>) -> &mut [V<Self::Part>] {
        W::parts_of(x)
    }

    #[inline(always)]
    fn wide(self) -> W {
        self.wide
    }

    #[inline(always)]
    fn root(self, [_, companion]: [u64; 2]) -> Factor<W> {
        self.factor(self.wide.splat(companion))
    }

    #[inline(always)]
    fn roots<const LINES: usize>(self, tile: &[Line; LINES], line: usize) -> Factor<W> {
        self.factor(self.wide.load(&tile[line]))
    }

    #[inline(always)]
    fn companion(self, w: u64) -> [u64; 2] {
        [w, double_companion(&self.modulus, w)]
    }

    #[inline(always)]
    fn enter(self, x: V<Self>) -> V<Self> {
        self.wide.converted(x)
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
    fn forward_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: Factor<W>) {
        let (u, v) = (*x, self.product(*y, w));
        *x = self.wide.plus(u, v);
        *y = self.wide.minus(u, v);
    }

    #[inline(always)]
    fn finish_forward(self, x: V<Self>) -> V<Self> {
        self.residue(self.centered(x))
    }

    #[inline(always)]
    fn inverse_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, w: Factor<W>) {
        let (u, v) = (*x, *y);
        *x = self.wide.plus(u, v);
        *y = self.product(self.wide.minus(u, v), w);
    }

    #[inline(always)]
    fn last_butterfly(self, x: &mut V<Self>, y: &mut V<Self>, scale: Factor<W>, w: Factor<W>) {
        let (u, v) = (*x, *y);
        *x = self.finish_inverse(self.wide.plus(u, v), scale);
        *y = self.finish_inverse(self.wide.minus(u, v), w);
    }

    #[inline(always)]
    fn finish_inverse(self, x: V<Self>, w: Factor<W>) -> V<Self> {
        self.residue(self.centered(self.product(x, w)))
    }

    /// Let all rows be at most `B q` before three stages. Row 0 sums eight of them, row 1 four
    /// products of the first stage, and rows 2 and 3 two products of the second.
    /// - `LAZY`: row 0 is settled at the end. From `B = 3.2`, row 1 ends at
    ///   `(2 + 8 e B) q <= 3.2 q`, all other rows below, and row 0 at `8 B q < 2^53`. The products
    ///   of the third stage, of differences up to `8 B q`, are at most `(1/2 + 8 e B) q`.
    /// - Otherwise sums of four rows are settled, and rows 1 and 2 at the end. From `B = 2`, sums
    ///   of four rows are at most `8q <= 2^53`. Row 1 ends at `(2 + 8 e B) q = 5q`, row 2 at
    ///   `(1 + 8 e B) q = 4q`, row 3 at `(1 + 2 e + 8 e^2 B) q < 2q`, and row 0 at `1.1 q`.
    ///   Products are at most `(1/2 + 4 e B) q = 2q`, that of a difference of four rows. Passes of
    ///   one or two stages settle all their last sums.
    ///
    /// Products of the last stage, with the factor `1 / N`, are at most `(1/2 + 8 e B) q < 2 q`.
    #[inline(always)]
    fn settles(half: usize, row: usize, last: bool) -> bool {
        if LAZY {
            return last && row == 0;
        }
        half == 2 && row & 3 == 0 || last && (half < 4 || row == 1 || row == 2)
    }

    #[inline(always)]
    fn settle(self, x: V<Self>) -> V<Self> {
        self.centered(x)
    }

    #[inline(always)]
    fn add(self, a: V<Self>, b: V<Self>) -> V<Self> {
        let f = self.wide;
        f.add_if_negative(f.sub(f.add(a, b), self.word), self.word)
    }

    #[inline(always)]
    fn sub(self, a: V<Self>, b: V<Self>) -> V<Self> {
        self.wide.add_if_negative(self.wide.sub(a, b), self.word)
    }

    /// The product is at most `(1/2 + 3/8) q`: below `q`.
    #[inline(always)]
    fn mul(self, a: V<Self>, b: V<Self>) -> V<Self> {
        let (a, b) = (self.wide.converted(a), self.wide.converted(b));
        self.residue(self.product(a, self.factor(b)))
    }

    /// The product is at most `(1/2 + 4 e) q`: below `q` if `LAZY`, otherwise below `2q`.
    #[inline(always)]
    fn mul_root(self, x: V<Self>, w: Factor<W>) -> V<Self> {
        let product = self.product(self.wide.converted(x), w);
        self.residue(if LAZY { product } else { self.centered(product) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::testing::{prime_up_to, words};

    /// Primes at both ends of each class, and a small one.
    fn primes() -> [Modulus; 5] {
        [1 << 50, (1 << 49) + (1 << 40), 1 << 48, 1 << 47, 1 << 20].map(prime_up_to)
    }

    /// Calls a check with the registers of each back end in floating point that runs here.
    macro_rules! on_each {
        ($check:ident) => {{
            #[cfg(target_arch = "x86_64")]
            if Backend::Avx2Fma.is_detected() {
                // SAFETY: the CPU has the instructions.
                $check(unsafe { crate::backend::avx2::Registers::<true>::assume() });
            }
            #[cfg(target_arch = "x86_64")]
            if Backend::Avx512Fma.is_detected() {
                // SAFETY: as above.
                $check(unsafe { crate::backend::avx512::Avx512::assume() });
            }
            #[cfg(target_arch = "aarch64")]
            if Backend::Neon.is_detected() {
                // SAFETY: as above.
                $check(unsafe { crate::backend::neon::registers::Neon::assume() });
            }
        }};
    }

    /// The number in each lane.
    fn number<W: Floats, const LAZY: bool>(f: Double<W, LAZY>, x: W::V) -> f64 {
        let mut line = [0; 8];
        f.wide().store(x, &mut line);
        assert_eq!(line, [line[0]; 8]);
        f64::from_bits(line[0])
    }

    fn splat<W: Floats, const LAZY: bool>(f: Double<W, LAZY>, x: i64) -> W::V {
        f.wide().splat((x as f64).to_bits())
    }

    /// Products are congruent to the exact ones and within the stated bound, for numbers of either
    /// sign up to the largest that enter a product. Some exceed `q / 2`.
    #[test]
    fn products_are_exact_and_bounded() {
        on_each!(compare_products);
    }

    fn compare_products<W: Floats>(wide: W) {
        for q in primes() {
            let (f, value) = (Double::<W, false>::new(wide, &q), q.value());
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
                        let product = f.product(splat(f, y), f.root(f.companion(w)));
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
        on_each!(compare_reductions);
    }

    fn compare_reductions<W: Floats>(wide: W) {
        for q in primes() {
            let (f, value) = (Double::<W, false>::new(wide, &q), q.value() as i64);
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
    fn compare_inverse<W: Floats, const LAZY: bool>(f: Double<W, LAZY>, q: &Modulus, top: f64) {
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
        on_each!(compare_all_inverse);
    }

    fn compare_all_inverse<W: Floats>(wide: W) {
        for q in [1 << 50, (1 << 48) + (1 << 40)].map(prime_up_to) {
            compare_inverse(Double::<W, false>::new(wide, &q), &q, 2.0);
        }
        for q in [1 << 48, 1 << 40].map(prime_up_to) {
            compare_inverse(Double::<W, true>::new(wide, &q), &q, 3.2);
        }
    }

    /// As many stages as the longest transform has, each with the largest product found among many
    /// factors, in the largest lazy prime: the numbers stay exact.
    #[test]
    fn lazy_numbers_stay_exact() {
        on_each!(compare_lazy_stages);
    }

    fn compare_lazy_stages<W: Floats>(wide: W) {
        let q = prime_up_to(1 << LAZY_BITS);
        assert!(is_lazy(&q) && !is_lazy(&prime_up_to((1 << LAZY_BITS) + (1 << 20))));
        let f = Double::<W, true>::new(wide, &q);
        let (mut x, mut exact) = (4 * q.value() as i64 - 1, q.value() - 1);
        for stage in 0..17 {
            // The other row is as large as this one.
            let candidates = words(1 << 10, q.value(), stage);
            let product = |w: u64| number(f, f.product(splat(f, x), f.root(f.companion(w))));
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
