//! The products of a blind rotation in 52-bit words.

use std::arch::x86_64::*;

use super::{Ifma, Root};
use crate::backend::{
    integers::{Integers, Rotation, Sums},
    simd::{Arithmetic, Line, Wide},
};

/// A factor of a rotation: `x`, and `x` shifted so that the high half of a product with it is
/// already divided by about `q`. The latter is used with `LAZY` only.
#[derive(Clone, Copy)]
pub(in crate::backend) struct Factor {
    value: __m512i,
    shifted: __m512i,
}

/// With `LAZY`, let `b = bits(q)`. Sums are stored as their low words and as quotients
/// `e = sum floor(x y / 2^b)`. The quotient of the sum by `q` is then `e (2^b / q)`, too small by
/// less than `1.25` plus `2^b / q < 2` per product.
///
/// Without `LAZY` there is not enough headroom, and sums are reduced by Montgomery's method.
impl<const EVERY: u32> Rotation for Ifma<EVERY> {
    type Factor = Factor;
    type Partial = [__m512i; 2];

    #[inline(always)]
    fn lane_root(self, [value, companion]: &[Line; 2]) -> Root {
        Root { value: self.wide.load(value), companion: self.wide.load(companion) }
    }

    #[inline(always)]
    fn digit(self, x: __m512i) -> Factor {
        Factor { value: x, shifted: self.wide.shift_left(x, self.shift) }
    }

    /// `LAZY`: in `[0, 3q)`.
    #[inline(always)]
    fn monomial(self, power: u64, lanes: Root, one: __m512i) -> Factor {
        let power = self.wide.splat(power);
        if Self::LAZY {
            let x = self.wide.add(self.mul_lazy(power, lanes), self.wide.sub(self.q, one));
            Factor { value: x, shifted: self.wide.shift_left(x, self.monomial_shift) }
        } else {
            let x = self.sub(self.mul_root(power, lanes), one);
            Factor { value: x, shifted: x }
        }
    }

    #[inline(always)]
    fn nothing(self) -> [__m512i; 2] {
        self.no_products()
    }

    #[inline(always)]
    fn add_digit(self, [low, high]: [__m512i; 2], digit: Factor, y: __m512i) -> [__m512i; 2] {
        let factor = if Self::LAZY { digit.shifted } else { digit.value };
        [self.madd_low(low, digit.value, y), self.madd_high(high, factor, y)]
    }

    /// `LAZY`: four products leave `[0, (4 * 2 + 1.25) q)`. Otherwise they leave `[0, 2q)`.
    #[inline(always)]
    fn reduce_digits(self, sum: [__m512i; 2]) -> __m512i {
        if Self::LAZY { self.divide(sum, self.minus_q) } else { self.montgomery(sum) }
    }

    /// `LAZY`: the quotient counts units of `2^(b + 2)`, for monomials below `2^(b + 2)`.
    #[inline(always)]
    fn add_monomial(self, [low, high]: [__m512i; 2], monomial: Factor, y: __m512i) -> [__m512i; 2] {
        [self.madd_low(low, monomial.value, y), self.madd_high(high, monomial.shifted, y)]
    }

    /// `LAZY`: `e < 2 * 3q * 10q / 2^(b + 2) < 2^52`, and the remainder of the sum is below
    /// `4 (2 * 2 + 1.25) q = 21 q < 2^52`.
    #[inline(always)]
    fn reduce_monomials(self, sum: [__m512i; 2]) -> __m512i {
        if Self::LAZY {
            self.finish_forward(self.divide(sum, self.minus_four_q))
        } else {
            self.wide.subtract_if_large(self.montgomery(sum), self.q)
        }
    }
}

impl<const EVERY: u32> Ifma<EVERY> {
    /// `low - floor(high 2^b / q) q`, for `q` or a multiple of it, given by its negative.
    #[inline(always)]
    fn divide(self, [low, high]: [__m512i; 2], minus: __m512i) -> __m512i {
        let quotient = self.madd_high(high, high, self.reciprocal);
        self.madd_low(low, quotient, minus)
    }

    /// `sum / 2^52`: `m q` with `m = -low / q` cancels the low 52 bits. Products with a sum of at
    /// most `4 q^2` leave `(4 q^2 + 2^52 q) / 2^52 <= 2q`.
    #[inline(always)]
    fn montgomery(self, [low, high]: [__m512i; 2]) -> __m512i {
        let m = self.madd_low(self.zero, low, self.montgomery);
        let cancelled = self.madd_low(low, m, self.q);
        self.wide.add(self.madd_high(high, m, self.q), self.shift_right_52(cancelled))
    }
}
