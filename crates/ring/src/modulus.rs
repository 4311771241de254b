//! One odd prime `q < 2^61` with the constants that reduce modulo it.

use crate::error::ensure;
use crate::error::{self, Result};
use crate::primality;

/// An odd prime modulus `3 <= q < 2^61`.
///
/// Residues are `u64` in `[0, q)` unless stated otherwise. All methods that take residues expect
/// them reduced (debug-asserted) and return them reduced. No method branches on residue values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Modulus {
    value: u64,
    /// `floor(2^128 / q)`, high and low word.
    ratio: (u64, u64),
}

impl Modulus {
    /// Checks that `value` is an odd prime below `2^61` and precomputes its Barrett constant.
    pub fn new(value: u64) -> Result<Self> {
        // Range and parity before the primality test.
        if !(3..1 << 61).contains(&value) || value.is_multiple_of(2) {
            return Err(error::modulus_range(value));
        }
        ensure(primality::is_prime(value), || error::not_prime(value))?;
        // q is odd, so it does not divide 2^128 and floor((2^128 - 1) / q) = floor(2^128 / q).
        let ratio = u128::MAX / value as u128;
        Ok(Self { value, ratio: ((ratio >> 64) as u64, ratio as u64) })
    }

    /// The prime.
    #[inline(always)]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// Number of bits of `q`: the smallest `b` with `q < 2^b`.
    pub const fn bits(&self) -> u32 {
        64 - self.value.leading_zeros()
    }

    /// `log2(q)`.
    pub fn log2(&self) -> f64 {
        (self.value as f64).log2()
    }

    /// Any `u64` modulo `q`.
    #[inline(always)]
    pub const fn reduce(&self, x: u64) -> u64 {
        // floor(x * ratio_hi / 2^64) underestimates x / q by less than 2.
        let quotient = ((x as u128 * self.ratio.0 as u128) >> 64) as u64;
        let r = x.wrapping_sub(quotient.wrapping_mul(self.value));
        self.sub_if_large(self.sub_if_large(r))
    }

    /// Any `u128` modulo `q`.
    #[inline(always)]
    pub const fn reduce_u128(&self, x: u128) -> u64 {
        let (hi, lo) = ((x >> 64) as u64, x as u64);
        // The words of floor(x * ratio / 2^128); carries out of the lowest word are kept.
        let low = ((lo as u128 * self.ratio.1 as u128) >> 64) as u64;
        let mid1 = lo as u128 * self.ratio.0 as u128;
        let mid2 = hi as u128 * self.ratio.1 as u128;
        let carry = ((mid1 as u64 as u128 + mid2 as u64 as u128 + low as u128) >> 64) as u64;
        let quotient = hi
            .wrapping_mul(self.ratio.0)
            .wrapping_add((mid1 >> 64) as u64)
            .wrapping_add((mid2 >> 64) as u64)
            .wrapping_add(carry);
        let r = lo.wrapping_sub(quotient.wrapping_mul(self.value));
        self.sub_if_large(r)
    }

    /// A signed integer modulo `q`.
    #[inline(always)]
    pub const fn from_i64(&self, x: i64) -> u64 {
        // Reduce the magnitude, then negate it by a mask.
        let magnitude = self.reduce(x.unsigned_abs());
        let mask = (x >> 63) as u64;
        let negated = self.neg(magnitude);
        (magnitude & !mask) | (negated & mask)
    }

    /// A signed 128-bit integer modulo `q`.
    #[inline(always)]
    pub const fn from_i128(&self, x: i128) -> u64 {
        // Reduce the magnitude, then negate it by a mask.
        let magnitude = self.reduce_u128(x.unsigned_abs());
        let mask = (x >> 127) as u64;
        let negated = self.neg(magnitude);
        (magnitude & !mask) | (negated & mask)
    }

    /// The representative of `x` in `(-q/2, q/2]` (`q` is odd: `[-(q-1)/2, (q-1)/2]`).
    #[inline(always)]
    pub const fn center(&self, x: u64) -> i64 {
        center(self.value, x)
    }

    /// `a + b`.
    #[inline(always)]
    pub const fn add(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        self.sub_if_large(a + b)
    }

    /// `a - b`.
    #[inline(always)]
    pub const fn sub(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        // The sign of the difference selects q or 0.
        let d = a.wrapping_sub(b);
        d.wrapping_add(self.value & ((d as i64 >> 63) as u64))
    }

    /// `-a`.
    #[inline(always)]
    pub const fn neg(&self, a: u64) -> u64 {
        self.sub(0, a)
    }

    /// `a * b`.
    #[inline(always)]
    pub const fn mul(&self, a: u64, b: u64) -> u64 {
        debug_assert!(a < self.value && b < self.value);
        self.reduce_u128(a as u128 * b as u128)
    }

    /// `a * b + c`.
    #[inline(always)]
    pub const fn mul_add(&self, a: u64, b: u64, c: u64) -> u64 {
        self.reduce_u128(a as u128 * b as u128 + c as u128)
    }

    /// `a^e`, in time that depends only on `e`.
    pub const fn pow(&self, mut a: u64, mut e: u64) -> u64 {
        // Square and multiply; the branch is on the public exponent.
        let mut result = self.reduce(1);
        while e > 0 {
            if e & 1 == 1 {
                result = self.mul(result, a);
            }
            a = self.mul(a, a);
            e >>= 1;
        }
        result
    }

    /// `a^-1` by Fermat's little theorem.
    pub fn inv(&self, a: u64) -> Result<u64> {
        // q is prime, so only 0 has no inverse.
        ensure(self.reduce(a) != 0, || error::not_invertible(a, self.value))?;
        Ok(self.pow(self.reduce(a), self.value - 2))
    }

    /// Shoup's companion `floor(w * 2^64 / q)` of a constant factor `w`.
    #[inline(always)]
    pub(crate) const fn shoup(&self, w: u64) -> u64 {
        debug_assert!(w < self.value);
        (((w as u128) << 64) / self.value as u128) as u64
    }

    /// `x * w` for any `u64` `x`, with `w` in `[0, q)` and its Shoup companion.
    #[inline(always)]
    pub(crate) const fn mul_shoup(&self, x: u64, w: u64, w_shoup: u64) -> u64 {
        self.sub_if_large(self.mul_shoup_lazy(x, w, w_shoup))
    }

    /// As [`mul_shoup`](Self::mul_shoup), with a result in `[0, 2q)`.
    #[inline(always)]
    pub(crate) const fn mul_shoup_lazy(&self, x: u64, w: u64, w_shoup: u64) -> u64 {
        // The quotient is exact or one too small: the difference modulo 2^64 is in [0, 2q).
        let quotient = ((x as u128 * w_shoup as u128) >> 64) as u64;
        x.wrapping_mul(w).wrapping_sub(quotient.wrapping_mul(self.value))
    }

    /// `[0, 2q) -> [0, q)` without a branch.
    #[inline(always)]
    pub(crate) const fn sub_if_large(&self, x: u64) -> u64 {
        let d = x.wrapping_sub(self.value);
        d.wrapping_add(self.value & ((d as i64 >> 63) as u64))
    }
}

/// The representative of `x` in `[0, p)` in `[-(p-1)/2, (p-1)/2]` for an odd `p < 2^63`.
#[inline(always)]
pub(crate) const fn center(p: u64, x: u64) -> i64 {
    debug_assert!(x < p);
    // All ones if x exceeds (p - 1) / 2.
    let above = ((p >> 1).wrapping_sub(x) as i64 >> 63) as u64;
    x.wrapping_sub(p & above) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    const PRIMES: [u64; 6] = [3, 17, 65537, (1 << 50) - 27, 0x0fff_ffff_fffc_0001, (1 << 61) - 1];

    fn naive(x: u128, q: u64) -> u64 {
        (x % q as u128) as u64
    }

    #[test]
    fn refuses_what_is_not_an_odd_prime_below_2_61() {
        for value in [0, 1, 2, 4, 1 << 61, (1 << 61) + 15, u64::MAX] {
            assert_eq!(Modulus::new(value), Err(error::modulus_range(value)));
        }
        assert_eq!(Modulus::new(15), Err(error::not_prime(15)));
    }

    #[test]
    fn reductions_at_the_edges() {
        for q in PRIMES.map(|q| Modulus::new(q).unwrap()) {
            let v = q.value();
            for x in [0, 1, v - 1, v, v + 1, 2 * v - 1, 2 * v, u64::MAX - 1, u64::MAX] {
                assert_eq!(q.reduce(x), x % v);
            }
            for x in [0, v as u128 * v as u128 - 1, v as u128 * v as u128, u128::MAX, 1 << 64] {
                assert_eq!(q.reduce_u128(x), naive(x, v));
            }
            assert_eq!(q.from_i64(i64::MIN), naive(v as u128 * (1 << 63) - (1 << 63), v));
            assert_eq!(q.from_i64(-1), v - 1);
            assert_eq!(q.center(v / 2), (v / 2) as i64);
            assert_eq!(q.center(v / 2 + 1), -((v / 2) as i64));
            assert!(q.inv(0).is_err());
        }
    }

    proptest! {
        #[test]
        fn agrees_with_definitions(
            i in 0..PRIMES.len(),
            a: u64,
            b: u64,
            wide: u128,
            e in 0u64..1000,
        ) {
            let q = Modulus::new(PRIMES[i]).unwrap();
            let v = q.value();
            let (x, y) = (a % v, b % v);
            prop_assert_eq!(q.reduce(a), x);
            prop_assert_eq!(q.reduce_u128(wide), naive(wide, v));
            prop_assert_eq!(q.add(x, y), naive(x as u128 + y as u128, v));
            prop_assert_eq!(q.sub(x, y), naive(x as u128 + v as u128 - y as u128, v));
            prop_assert_eq!(q.mul(x, y), naive(x as u128 * y as u128, v));
            prop_assert_eq!(q.mul_shoup(a, y, q.shoup(y)), naive(a as u128 * y as u128, v));
            prop_assert_eq!(q.from_i64(a as i64), (a as i64 as i128).rem_euclid(v as i128) as u64);
            prop_assert_eq!(q.from_i64(q.center(x)), x);
            prop_assert!(q.center(x).unsigned_abs() <= v / 2);
            let power = BigUint::from(x).modpow(&BigUint::from(e), &BigUint::from(v));
            prop_assert_eq!(BigUint::from(q.pow(x, e)), power);
            if x != 0 {
                prop_assert_eq!(q.mul(x, q.inv(x).unwrap()), 1 % v);
            }
        }
    }
}
