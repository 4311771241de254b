//! Signed base-`2^w` digits of one prime: a polynomial as a short sum of small digits times
//! constants.

use crate::error::{self, Result};
use crate::modulus::Modulus;

/// The signed base-`2^w` gadget of one prime: `a = sum_j digit_j g_j + e` with
/// `g_j = 2^(drop + w j)` and `|e| <= 2^drop / 2`.
///
/// With `w * digits >= bits(q)` the decomposition is exact. With fewer digits the lowest
/// `drop = bits(q) - w * digits` bits are rounded away. Digits are in `[-2^(w-1), 2^(w-1))`, the
/// last one in `[-2^(w-1), 2^(w-1)]`. Uniform input gives digits of mean square
/// `2^(2w) / 12 + 1/6`: signed digits cause a quarter of the noise of unsigned ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigitGadget {
    modulus: Modulus,
    base_log: u32,
    digits: usize,
    drop: u32,
}

impl DigitGadget {
    /// A gadget of `digits >= 1` digits of `base_log` bits each, `1 <= base_log <= 32`.
    pub fn new(modulus: Modulus, base_log: u32, digits: usize) -> Result<Self> {
        let refuse = |what, value: String, need| error::distribution(what, value, need);
        if !(1..=32).contains(&base_log) {
            return Err(refuse("gadget base_log", base_log.to_string(), "1 to 32 bits"));
        }
        if digits == 0 || digits > 64 {
            return Err(refuse("gadget digits", digits.to_string(), "1 to 64"));
        }
        let drop = modulus.bits().saturating_sub(base_log * digits as u32);
        Ok(Self { modulus, base_log, digits, drop })
    }

    /// The number of digits.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// `w`: the digits are signed and in base `2^w`.
    pub fn base_log(&self) -> u32 {
        self.base_log
    }

    /// The prime.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// The number of low bits that are rounded away.
    pub fn dropped_bits(&self) -> u32 {
        self.drop
    }

    /// `g_j` modulo `q`.
    pub fn factors(&self) -> Vec<u64> {
        (0..self.digits)
            .map(|j| self.modulus.pow(2, (self.drop + self.base_log * j as u32) as u64))
            .collect()
    }

    /// Writes the digits of `coefficients` as residues modulo `q`: `N` words for each digit in
    /// order. Constant time.
    ///
    /// # Panics
    /// If `out` does not hold `digits * coefficients.len()` words.
    pub(crate) fn decompose(&self, coefficients: &[u64], out: &mut [u64]) {
        let n = coefficients.len();
        assert_eq!(out.len(), n * self.digits, "the output must hold one row of words per digit");
        let half = 1i64 << (self.base_log - 1);
        let mask = (1i64 << self.base_log) - 1;
        let round = (1i64 << self.drop) >> 1;
        let q = self.modulus.value() as i64;
        // Lifts a signed digit to [0, q): digits are below q in magnitude.
        let lift = |d: i64| (d + (q & (d >> 63))) as u64;
        for (i, &x) in coefficients.iter().enumerate() {
            // Round the dropped bits of the centred coefficient.
            let mut rest = (self.modulus.center(x) + round) >> self.drop;
            // Take the low w bits as a signed digit and carry the difference.
            for j in 0..self.digits - 1 {
                let digit = ((rest + half) & mask) - half;
                out[j * n + i] = lift(digit);
                rest = (rest - digit) >> self.base_log;
            }
            // The last digit takes the rest, the final carry included.
            out[(self.digits - 1) * n + i] = lift(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;
    use proptest::prelude::*;

    const N: usize = 16;

    /// `sum_j digit_j g_j` modulo `q`: the inverse of the decomposition up to rounding.
    fn recompose(gadget: &DigitGadget, digits: &[u64]) -> Vec<u64> {
        let (q, factors) = (gadget.modulus(), gadget.factors());
        let n = digits.len() / gadget.digits();
        let digit = |i: usize, j: usize| digits[j * n + i];
        (0..n)
            .map(|i| {
                factors.iter().enumerate().fold(0, |sum, (j, &g)| q.mul_add(digit(i, j), g, sum))
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn signed_digits_recompose(seed: u64, base_log in 1u32..24, digits in 1usize..12) {
            let q = prime::ntt_primes_below(N, 45, 1, &[]).unwrap()[0];
            let edges = [0, 1, q.value() / 2, q.value() / 2 + 1, q.value() - 1];
            let others = (0..11).map(|i| q.reduce(seed.rotate_left(i * 5)));
            let a: Vec<u64> = edges.into_iter().chain(others).collect();
            let g = DigitGadget::new(q, base_log, digits).unwrap();
            let mut out = vec![0; N * digits];
            g.decompose(&a, &mut out);
            let back = recompose(&g, &out);
            for (&x, &y) in a.iter().zip(&back) {
                let error = q.center(q.sub(x, y)).unsigned_abs();
                prop_assert!(error <= (1u64 << g.dropped_bits()) >> 1);
            }
            let half = 1i64 << (base_log - 1);
            for (j, row) in out.chunks(N).enumerate() {
                let inside = |d: i64| -half <= d && (d < half || j == digits - 1 && d <= half);
                prop_assert!(row.iter().all(|&d| inside(q.center(d))));
            }
        }
    }

    #[test]
    fn digits_of_uniform_values_have_the_stated_variance() {
        let q = prime::ntt_primes_below(N, 45, 1, &[]).unwrap()[0];
        let g = DigitGadget::new(q, 5, 9).unwrap();
        let a: Vec<u64> =
            (0..1u64 << 16).map(|i| q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut out = vec![0; a.len() * g.digits()];
        g.decompose(&a, &mut out);
        let row = &out[a.len()..2 * a.len()];
        let mean_square =
            row.iter().map(|&d| (q.center(d) as f64).powi(2)).sum::<f64>() / a.len() as f64;
        let expected = 1024.0 / 12.0 + 1.0 / 6.0;
        assert!((mean_square / expected - 1.0).abs() < 0.02, "{mean_square} against {expected}");
    }

    #[test]
    fn refuses_gadgets_without_digits() {
        let q = Modulus::new(97).unwrap();
        assert!(DigitGadget::new(q, 0, 3).is_err());
        assert!(DigitGadget::new(q, 33, 3).is_err());
        assert!(DigitGadget::new(q, 4, 0).is_err());
    }
}
