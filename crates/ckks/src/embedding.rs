//! The canonical embedding as a special FFT over the powers of 5.
//!
//! A vector of `n` slots (`n` a power of two) belongs to the real polynomial
//! `m(Y) = sum_{i < 2n} m_i Y^i` modulo `Y^{2n} + 1`; slot `j` is `m(zeta^{5^j})` with
//! `zeta = exp(2 pi i / 4n)`. Since `zeta^{n 5^j} = i` for every `j`, the complex numbers
//! `t_i = m_i + i m_{i+n}` determine everything:
//!
//! ```text
//! z_j = sum_{i < n} t_i zeta^{5^j i},          z = U t,     U^{-1} = U^* / n.
//! ```
//!
//! In a ring of degree `N > 2n` the polynomial is one in `Y = X^{N / 2n}`, and its slots repeat
//! with period `n`.
//!
//! `U` is a bit reversal followed by `log2 n` butterfly stages (Full-RNS HEAAN builds on the same
//! transform, section 2.2; the stages are those of Cheon, Han and Hhan, "Faster homomorphic
//! discrete Fourier transforms", 2018). The stage of block length `len` maps each block
//! `(u, v)` of two halves to `(u + w v, u - w v)` with `w_j = exp(2 pi i 5^j / 4 len)`; it does
//! not depend on `n`, so one table of roots serves every slot count. The S2C transform reads the
//! same table to apply the stages to ciphertexts.

use num_complex::Complex64;

/// Largest number of slots of an [`Embedding`]: `2^16`, for rings of degree `2^17`.
pub const MAX_SLOTS: usize = 1 << 16;

/// Roots of unity for the canonical embedding of every slot count up to a maximum.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// Roots of the stage of block length `len` at `[len / 2 - 1, len - 1)`.
    roots: Vec<Complex64>,
}

impl Embedding {
    /// Prepares the roots for vectors of `1, 2, 4, .. max_slots` slots; `16 max_slots` bytes.
    ///
    /// # Panics
    /// When `max_slots` is not a power of two or exceeds [`MAX_SLOTS`].
    pub fn new(max_slots: usize) -> Self {
        assert!(
            max_slots.is_power_of_two() && max_slots <= MAX_SLOTS,
            "slots: found {max_slots}, need a power of two up to {MAX_SLOTS}"
        );
        let mut roots = Vec::with_capacity(max_slots - 1);
        let mut half = 1;
        while half < max_slots {
            // The stage of block length len = 2 half: w_j = exp(2 pi i 5^j / 4 len).
            let order = 8 * half;
            let mut exponent = 1;
            for _ in 0..half {
                roots.push(unit_root(exponent, order));
                exponent = exponent * 5 % order;
            }
            half *= 2;
        }
        Self { roots }
    }

    /// Largest number of slots served.
    pub fn max_slots(&self) -> usize {
        self.roots.len() + 1
    }

    /// The `len / 2` roots of the butterfly stage of block length `len = 2, 4, .. max_slots`.
    pub fn stage_roots(&self, len: usize) -> &[Complex64] {
        assert!(
            len.is_power_of_two() && len >= 2 && len <= self.max_slots(),
            "block length: found {len}, need a power of two in 2..={}",
            self.max_slots()
        );
        &self.roots[len / 2 - 1..len - 1]
    }

    /// Coefficients to slots, in place: `t -> U t`, both in natural order.
    pub fn to_slots(&self, values: &mut [Complex64]) {
        self.check(values.len());
        bit_reverse(values);
        self.stages(values);
    }

    /// Slots to coefficients, in place: `z -> U^{-1} z`, both in natural order.
    pub fn to_coefficients(&self, values: &mut [Complex64]) {
        self.check(values.len());
        self.inverse_stages(values);
        bit_reverse(values);
        let scale = 1.0 / values.len() as f64;
        for v in values {
            *v = v.scale(scale);
        }
    }

    /// The butterfly stages of `U` without the bit reversal, shortest blocks first (radix 4: two
    /// stages per pass over memory).
    fn stages(&self, values: &mut [Complex64]) {
        let n = values.len();
        // Step 1: if the number of stages is odd, the stage of block length 2 alone.
        let mut half = 1;
        if n.trailing_zeros() % 2 == 1 {
            for pair in values.chunks_exact_mut(2) {
                let (u, v) = (pair[0], pair[1] * self.roots[0]);
                pair[0] = u + v;
                pair[1] = u - v;
            }
            half = 2;
        }
        // Step 2: the other stages in pairs, of block lengths 2 half and 4 half.
        while half < n {
            let first = self.stage_roots(2 * half);
            let (second_low, second_high) = self.stage_roots(4 * half).split_at(half);
            for block in values.chunks_exact_mut(4 * half) {
                let [a, b, c, d] = quarters(block);
                for j in 0..half {
                    // First stage on (a, b) and (c, d), second stage on (a, c) and (b, d).
                    let (p, q) = (b[j] * first[j], d[j] * first[j]);
                    let (s, t) = ((c[j] + q) * second_low[j], (c[j] - q) * second_high[j]);
                    let (u, v) = (a[j] + p, a[j] - p);
                    a[j] = u + s;
                    b[j] = v + t;
                    c[j] = u - s;
                    d[j] = v - t;
                }
            }
            half *= 4;
        }
    }

    /// The inverse of [`Self::stages`] times `n` (every stage is its own adjoint up to 2).
    fn inverse_stages(&self, values: &mut [Complex64]) {
        let n = values.len();
        // Step 1: the stages in pairs, longest blocks first, with conjugate roots.
        let mut half = n / 4;
        while half > 0 {
            let first = self.stage_roots(2 * half);
            let (second_low, second_high) = self.stage_roots(4 * half).split_at(half);
            for block in values.chunks_exact_mut(4 * half) {
                let [a, b, c, d] = quarters(block);
                for j in 0..half {
                    let s = (a[j] - c[j]) * second_low[j].conj();
                    let t = (b[j] - d[j]) * second_high[j].conj();
                    let (u, v) = (a[j] + c[j], b[j] + d[j]);
                    let w = first[j].conj();
                    a[j] = u + v;
                    b[j] = (u - v) * w;
                    c[j] = s + t;
                    d[j] = (s - t) * w;
                }
            }
            half /= 4;
        }
        // Step 2: if the number of stages is odd, the stage of block length 2 is left.
        if n.trailing_zeros() % 2 == 1 {
            let w = self.roots[0].conj();
            for pair in values.chunks_exact_mut(2) {
                let (u, v) = (pair[0], pair[1]);
                pair[0] = u + v;
                pair[1] = (u - v) * w;
            }
        }
    }

    fn check(&self, length: usize) {
        assert!(
            length.is_power_of_two() && length <= self.max_slots(),
            "slots: found {length}, need a power of two up to {}",
            self.max_slots()
        );
    }
}

/// Reverses the low `log2 n` bits of `index`; `n` is a power of two.
pub fn reversed(index: usize, n: usize) -> usize {
    debug_assert!(n.is_power_of_two() && index < n);
    if n == 1 { 0 } else { index.reverse_bits() >> (usize::BITS - n.trailing_zeros()) }
}

/// Permutes `values` (a power of two of them) by [`reversed`].
pub fn bit_reverse<T>(values: &mut [T]) {
    let n = values.len();
    for i in 0..n {
        let j = reversed(i, n);
        if i < j {
            values.swap(i, j);
        }
    }
}

fn quarters(block: &mut [Complex64]) -> [&mut [Complex64]; 4] {
    let quarter = block.len() / 4;
    let (low, high) = block.split_at_mut(2 * quarter);
    let (a, b) = low.split_at_mut(quarter);
    let (c, d) = high.split_at_mut(quarter);
    [a, b, c, d]
}

/// `exp(2 pi i k / order)` for `k < order`, `order` a multiple of 8, correct to about the last bit:
/// the angle is first reduced to one octant exactly.
pub fn unit_root(k: usize, order: usize) -> Complex64 {
    let octant = order / 8;
    let angle = |k: usize| std::f64::consts::TAU * k as f64 / order as f64;
    let (index, rest) = (k / octant, k % octant);
    // In odd octants the angle counts down from the next axis.
    let (sin, cos) =
        if index % 2 == 0 { angle(rest).sin_cos() } else { angle(octant - rest).sin_cos() };
    match index {
        0 => Complex64::new(cos, sin),
        1 => Complex64::new(sin, cos),
        2 => Complex64::new(-sin, cos),
        3 => Complex64::new(-cos, sin),
        4 => Complex64::new(-cos, -sin),
        5 => Complex64::new(-sin, -cos),
        6 => Complex64::new(sin, -cos),
        _ => Complex64::new(cos, -sin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    fn random(n: usize, seed: u64) -> Vec<Complex64> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..n)
            .map(|_| Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)))
            .collect()
    }

    /// The definition: evaluates the real polynomial at `zeta^{5^j}`.
    fn direct(t: &[Complex64]) -> Vec<Complex64> {
        let n = t.len();
        let order = 4 * n;
        let root =
            |k: usize| Complex64::cis(std::f64::consts::TAU * (k % order) as f64 / order as f64);
        let mut power = 1;
        (0..n)
            .map(|_| {
                let sum = (0..n)
                    .map(|i| root(power * i) * t[i].re + root(power * (i + n)) * t[i].im)
                    .sum();
                power = power * 5 % order;
                sum
            })
            .collect()
    }

    fn distance(a: &[Complex64], b: &[Complex64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn agrees_with_the_direct_sum() {
        let embedding = Embedding::new(1 << 9);
        for log in 0..=9 {
            let t = random(1 << log, log);
            let expected = direct(&t);
            let mut z = t.clone();
            embedding.to_slots(&mut z);
            assert!(distance(&z, &expected) < 1e-12 * t.len() as f64, "log slots {log}");
            embedding.to_coefficients(&mut z);
            assert!(distance(&z, &t) < 1e-14, "log slots {log}");
        }
    }

    #[test]
    fn largest_count_returns_to_itself_precisely() {
        let t = random(MAX_SLOTS, 1);
        let embedding = Embedding::new(MAX_SLOTS);
        let mut z = t.clone();
        embedding.to_slots(&mut z);
        // One slot against its own sum.
        let angle = |k: usize| {
            std::f64::consts::TAU * (k % (4 * MAX_SLOTS)) as f64 / (4 * MAX_SLOTS) as f64
        };
        let power = (0..1234).fold(1, |p, _| p * 5 % (4 * MAX_SLOTS));
        let slot: Complex64 =
            t.iter().enumerate().map(|(i, &c)| c * Complex64::cis(angle(power * i))).sum();
        assert!((z[1234] - slot).norm() < 1e-10);
        embedding.to_coefficients(&mut z);
        assert!(distance(&z, &t) < 4e-15);
    }

    #[test]
    fn constants_fill_every_slot() {
        let embedding = Embedding::new(64);
        let mut z = vec![Complex64::ZERO; 64];
        z[0] = Complex64::new(2.5, -1.0);
        embedding.to_slots(&mut z);
        assert!(z.iter().all(|&x| (x - Complex64::new(2.5, -1.0)).norm() < 1e-15));
    }

    #[test]
    fn unit_roots_are_exact_on_the_axes() {
        assert_eq!(unit_root(0, 8), Complex64::new(1.0, 0.0));
        assert_eq!(unit_root(2, 8).im, 1.0);
        assert_eq!(unit_root(4, 8), Complex64::new(-1.0, 0.0));
        for k in 0..64 {
            let reference = Complex64::cis(std::f64::consts::TAU * k as f64 / 64.0);
            assert!((unit_root(k, 64) - reference).norm() < 1e-15);
        }
    }

    proptest! {
        #[test]
        fn multiplication_of_polynomials_is_slotwise(log in 0u32..6, seed in any::<u64>()) {
            let n = 1usize << log;
            let embedding = Embedding::new(n);
            let (mut a, mut b) = (random(n, seed), random(n, seed ^ 1));
            let coefficients = |t: &[Complex64]| -> Vec<f64> {
                t.iter().map(|c| c.re).chain(t.iter().map(|c| c.im)).collect()
            };
            let (x, y) = (coefficients(&a), coefficients(&b));
            let mut product = vec![0.0; 2 * n];
            for i in 0..2 * n {
                for j in 0..2 * n {
                    let sign = if i + j >= 2 * n { -1.0 } else { 1.0 };
                    product[(i + j) % (2 * n)] += sign * x[i] * y[j];
                }
            }
            let mut c: Vec<Complex64> =
                (0..n).map(|i| Complex64::new(product[i], product[i + n])).collect();
            embedding.to_slots(&mut a);
            embedding.to_slots(&mut b);
            embedding.to_slots(&mut c);
            let expected: Vec<Complex64> = a.iter().zip(&b).map(|(x, y)| x * y).collect();
            prop_assert!(distance(&c, &expected) < 1e-10);
        }
    }
}
