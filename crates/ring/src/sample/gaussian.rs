//! Discrete Gaussians over the integers, in constant time.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::backend::{self, Backend};
use crate::error::{self, Result};

/// Width of the widest tabulated distribution. Wider distributions are sums of tabulated draws.
const MAX_TABULATED: f64 = 32.0;

/// `sqrt(2)` times the smoothing parameter of the integers for an error of `2^-128`, as a
/// standard deviation: `sqrt(2) * sqrt(ln(2 + 2^129) / (2 pi^2))`.
const SMOOTHING: f64 = 3.02;

/// Bits of the thresholds, in two words of 63 bits.
const PRECISION: u32 = 126;

/// The widest distribution. A draw is at most `13.2 b sum_j |c_j|`, where `b` is the tabulated
/// width, and this bound is below `23 sigma`: each step of the sum widens by `sqrt(1 + k^2)` and
/// extends the range by `1 + k`. These factors differ notably only for the last `k`. Sums thus stay
/// below `2^61`.
const MAX_SIGMA: f64 = (1u64 << 56) as f64;

/// Number of samples drawn at a time.
const CHUNK: usize = 64;

/// The discrete Gaussian: `x` has probability proportional to `exp(-x^2 / (2 sigma^2))`.
///
/// Up to `sigma = 32`, one draw compares 126 random bits with every entry of the cumulative table
/// of `|x|` and counts, without branches, the entries that are not larger. The tail is cut where it
/// falls below `2^-126`.
///
/// A wider distribution is a sum `sum_j c_j x_j` of independent tabulated draws. By Micciancio and
/// Walter, "Gaussian sampling over the integers: efficient, generic, constant-time" (CRYPTO 2017),
/// section 4, `x + k y` of two draws of width `s` is within about `2^-126` of width
/// `s sqrt(1 + k^2)` if `s >= sqrt(2) k eta`. The step is repeated.
///
/// For `sigma >= 1` the variance is `sigma^2` within `10^-6`. Below, the discrete distribution is
/// narrower than its parameter.
#[derive(Debug, Clone)]
pub struct Gaussian {
    /// `floor(2^126 P(|x| <= k))` for `k = 0, 1, ..`, high and low 63 bits.
    thresholds: Vec<[u64; 2]>,
    /// The factors `c_j` of the sum.
    coefficients: Vec<i64>,
    /// The back end that compares draws with thresholds.
    backend: Backend,
}

impl Gaussian {
    /// The distribution of width `sigma`.
    ///
    /// # Errors
    /// If `sigma` is outside `[0.5, 2^56]`.
    pub fn new(sigma: f64) -> Result<Self> {
        if !(0.5..=MAX_SIGMA).contains(&sigma) {
            return Err(error::distribution(
                "standard deviation",
                sigma.to_string(),
                "0.5 <= sigma <= 2^56",
            ));
        }
        // Halve the problem until the base distribution fits a table: width base is x + k y of two
        // draws of width base / sqrt(1 + k^2).
        let mut coefficients = vec![1];
        let mut base = sigma;
        while base > MAX_TABULATED {
            // The largest k for which the narrower distribution exceeds the smoothing bound.
            let norm = |k: f64| (1.0 + k * k).sqrt();
            let mut k = (base / SMOOTHING).sqrt().floor();
            while SMOOTHING * k * norm(k) > base {
                k -= 1.0;
            }
            base /= norm(k);
            let scaled: Vec<i64> = coefficients.iter().map(|c| c * k as i64).collect();
            coefficients.extend(scaled);
        }
        let backend = Backend::detected();
        Ok(Self { thresholds: thresholds(base), coefficients, backend })
    }

    /// `n` independent draws, in time that depends only on `n` and `sigma`.
    pub fn sample<R: CryptoRng + ?Sized>(&self, n: usize, rng: &mut R) -> Zeroizing<Vec<i64>> {
        let mut out = Zeroizing::new(vec![0; n]);
        self.fill(&mut out, rng);
        out
    }

    /// Overwrites `out` with independent draws, without allocation.
    pub fn fill<R: CryptoRng + ?Sized>(&self, out: &mut [i64], rng: &mut R) {
        let mut draws = Zeroizing::new([0; CHUNK]);
        for chunk in out.chunks_mut(CHUNK) {
            chunk.fill(0);
            for c in &self.coefficients {
                self.draw(&mut draws, rng);
                for (x, draw) in chunk.iter_mut().zip(draws.iter()) {
                    *x += c * draw;
                }
            }
        }
    }

    /// A chunk of draws from the tabulated distribution.
    fn draw<R: CryptoRng + ?Sized>(&self, out: &mut [i64; CHUNK], rng: &mut R) {
        // Step 1: 126 bits and a sign for each draw.
        let mut words = Zeroizing::new([[0u64; CHUNK]; 2]);
        rng.fill_bytes(bytemuck::cast_slice_mut(words.as_flattened_mut()));
        let mut signs = Zeroizing::new([0; CHUNK]);
        for (sign, high) in signs.iter_mut().zip(&words[0]) {
            *sign = -((high & 1) as i64);
        }
        words.as_flattened_mut().iter_mut().for_each(|x| *x >>= 1);
        // Step 2: |x| is the number of thresholds that are not larger.
        let [high, low] = &*words;
        backend::ranks(self.backend, &self.thresholds, [high, low], out);
        // Step 3: apply the signs.
        for (x, sign) in out.iter_mut().zip(signs.iter()) {
            *x = (*x ^ sign) - sign;
        }
    }
}

/// `floor(2^126 P(|x| <= k))` while it is below `2^126`, computed in fixed point with 320
/// fractional bits.
fn thresholds(sigma: f64) -> Vec<[u64; 2]> {
    const POINT: u64 = 320;
    let mul = |a: &BigUint, b: &BigUint| (a * b) >> POINT;
    let one = BigUint::one() << POINT;

    // Step 1: x = 1 / (2 sigma^2). sigma = mantissa / 2^53 exactly, since 0.5 <= sigma needs at
    // most 53 fractional bits.
    let mantissa = BigUint::from((sigma * 2f64.powi(53)) as u64);
    let x = (BigUint::one() << (POINT + 105)) / (&mantissa * &mantissa);

    // Step 2: e^-x = 1 / sum_i x^i / i!.
    let (mut exponential, mut term) = (BigUint::zero(), one.clone());
    let mut i = 0u32;
    while !term.is_zero() {
        exponential += &term;
        i += 1;
        term = mul(&term, &x) / i;
    }
    let ratio = (&one << POINT) / exponential;

    // Step 3: weight_k = e^(-k^2 x) = weight_(k-1) e^(-(2k-1) x), and their sums.
    let ratio_squared = mul(&ratio, &ratio);
    let (mut weight, mut step) = (one.clone(), ratio);
    let mut cumulative = vec![one];
    loop {
        weight = mul(&weight, &step);
        step = mul(&step, &ratio_squared);
        if (&weight >> (POINT - u64::from(PRECISION) - 8)).is_zero() {
            break;
        }
        let last = &cumulative[cumulative.len() - 1];
        cumulative.push(last + (&weight << 1u32));
    }
    // Step 4: normalize and split into two words of 63 bits.
    let total = cumulative[cumulative.len() - 1].clone();
    let low_mask = (1u128 << 63) - 1;
    cumulative
        .into_iter()
        .map(|sum| ((sum << PRECISION) / &total).to_u128().expect("a probability is at most one"))
        .take_while(|&threshold| threshold < 1 << PRECISION)
        .map(|threshold| [(threshold >> 63) as u64, (threshold & low_mask) as u64])
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::error::{ErrorKind, refusal};
    use crate::modulus::Modulus;
    use crate::sample::test_statistics::chi_square_excess;

    fn weights(sigma: f64, reach: i64) -> Vec<f64> {
        let weights: Vec<f64> =
            (-reach..=reach).map(|k| (-((k * k) as f64) / (2.0 * sigma * sigma)).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    #[test]
    fn thresholds_are_the_cumulative_distribution() {
        for sigma in [0.5, 1.0, 3.2, 3.19, 20.25, 32.0] {
            let table = thresholds(sigma);
            let reach = table.len() as i64 + 2;
            let exact = weights(sigma, reach);
            let mut cumulative = 0.0;
            for (k, &[high, low]) in table.iter().enumerate() {
                cumulative += exact[reach as usize + k] * if k == 0 { 1.0 } else { 2.0 };
                let tabulated = high as f64 / 2f64.powi(63) + low as f64 / 2f64.powi(126);
                assert!((tabulated - cumulative).abs() < 1e-12, "{sigma} {k}");
            }
            // The last entries are exact too, where an f64 would have rounded to 1.
            let [high, low] = table[table.len() - 1];
            let missing = (1u128 << 126) - ((high as u128) << 63 | low as u128);
            assert!(missing < 1 << 26, "{sigma}: {missing}");
            let tail = 13.0 * sigma;
            assert!((table.len() as f64 - tail).abs() < 0.15 * tail + 2.0, "{}", table.len());
        }
    }

    #[test]
    fn narrow_ones_follow_the_exact_law() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for sigma in [0.5, 1.0, 3.2, 10.0] {
            let gaussian = Gaussian::new(sigma).unwrap();
            let reach = (14.0 * sigma).ceil() as i64 + 1;
            let mut counts = vec![0; 2 * reach as usize + 1];
            for x in gaussian.sample(100_000, &mut rng).iter() {
                counts[(x + reach) as usize] += 1;
            }
            let excess = chi_square_excess(&counts, &weights(sigma, reach));
            assert!(excess.abs() < 5.0, "{sigma}: {excess}");
        }
    }

    /// Fine cells at 50, where a sum of two draws with gaps would show.
    #[test]
    fn sums_follow_the_exact_law() {
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let sigma = 50.0;
        let gaussian = Gaussian::new(sigma).unwrap();
        assert!(gaussian.coefficients.len() > 1);
        let mut counts = vec![0; 1501];
        for x in gaussian.sample(400_000, &mut rng).iter() {
            counts[(x + 750) as usize] += 1;
        }
        let excess = chi_square_excess(&counts, &weights(sigma, 750));
        assert!(excess.abs() < 5.0, "{excess}");
    }

    #[test]
    fn moments_at_every_width() {
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        for sigma in [1.0, 3.2, 31.9, 32.1, 1024.0, 8192.0, 1e6, 4294967296.0, 1e15, MAX_SIGMA] {
            let gaussian = Gaussian::new(sigma).unwrap();
            let squares: f64 = gaussian.coefficients.iter().map(|&c| (c as f64).powi(2)).sum();
            let n = 40_000;
            let sample = gaussian.sample(n, &mut rng);
            let moment =
                |p: i32| sample.iter().map(|&x| (x as f64 / sigma).powi(p)).sum::<f64>() / n as f64;
            // Standard deviations of the estimates: sqrt(1, 2, 15, 96) / sqrt(n).
            let root = (n as f64).sqrt();
            assert!(moment(1).abs() < 5.0 / root, "{sigma}: {}", moment(1));
            assert!((moment(2) - 1.0).abs() < 7.0 / root, "{sigma}: {}", moment(2));
            assert!(moment(3).abs() < 20.0 / root, "{sigma}: {}", moment(3));
            assert!((moment(4) - 3.0).abs() < 50.0 / root, "{sigma}: {}", moment(4));
            assert!(sigma / squares.sqrt() <= MAX_TABULATED * 1.0000001);
        }
    }

    /// The wide distributions of noise flooding: cells of an eighth of a deviation against the
    /// normal law, and the lowest bits, where a sum of scaled draws with gaps would show.
    #[test]
    fn wide_ones_are_normal_and_without_gaps() {
        let mut rng = ChaCha20Rng::seed_from_u64(12);
        // The law of a cell, by Simpson's rule.
        let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
        let cell = |k: i64| {
            let (lo, hi) = (k as f64 / 8.0, (k + 1) as f64 / 8.0);
            (density(lo) + 4.0 * density((lo + hi) / 2.0) + density(hi)) / 48.0
        };
        for log_sigma in [20, 35, 50, 56] {
            let sigma = 2f64.powi(log_sigma);
            let gaussian = Gaussian::new(sigma).unwrap();
            let sample = gaussian.sample(200_000, &mut rng);
            let (mut cells, mut low) = ([0; 128], [0; 64]);
            for &x in sample.iter() {
                let k = (8.0 * x as f64 / sigma).floor().clamp(-64.0, 63.0);
                cells[(k + 64.0) as usize] += 1;
                low[x.rem_euclid(64) as usize] += 1;
            }
            let law: Vec<f64> = (-64..64).map(cell).collect();
            let excess = chi_square_excess(&cells, &law);
            assert!(excess.abs() < 5.0, "2^{log_sigma}: {excess}");
            let excess = chi_square_excess(&low, &[1.0 / 64.0; 64]);
            assert!(excess.abs() < 5.0, "2^{log_sigma}, lowest bits: {excess}");
            let reach = gaussian.thresholds.len() as f64;
            let most: f64 = gaussian.coefficients.iter().map(|&c| reach * c as f64).sum();
            assert!(most < 23.0 * sigma, "2^{log_sigma}: {most}");
        }
    }

    #[test]
    fn refuses_widths_outside_its_range() {
        for sigma in [0.0, -1.0, 0.49, f64::NAN, f64::INFINITY, 1.0001 * MAX_SIGMA] {
            assert!(
                refusal(&Gaussian::new(sigma)).is(&ErrorKind::Parameters, "is not supported: need")
            );
        }
    }

    #[test]
    fn back_ends_draw_the_same() {
        for sigma in [0.5, 3.2, 1000.0] {
            let draw = |backend| {
                let gaussian = Gaussian { backend, ..Gaussian::new(sigma).unwrap() };
                gaussian.sample(10_000, &mut ChaCha20Rng::seed_from_u64(11))
            };
            let expected = draw(Backend::Scalar);
            let q = Modulus::new(97).unwrap();
            for backend in Backend::ALL.into_iter().filter(|b| b.check(&q).is_ok()) {
                assert!(draw(backend) == expected, "{backend:?}");
            }
        }
    }

    /// Numbers equal to a threshold in one or both words, and next to it.
    #[test]
    fn ranks_at_the_thresholds() {
        let top = (1 << 63) - 1;
        let thresholds = [[0, 0], [0, 5], [7, 0], [7, top], [8, 3], [top, top]];
        let mut numbers = vec![[0, 0], [top, top], [top, top - 1]];
        for [high, low] in thresholds {
            let neighbours = [[high, low], [high, low ^ 1], [high ^ 1, low], [high, top]];
            numbers.extend(neighbours);
        }
        numbers.resize(numbers.len().next_multiple_of(16), [3, 3]);
        let [high, low] = [0, 1].map(|half| numbers.iter().map(|x| x[half]).collect::<Vec<_>>());
        let rank = |x: &[u64; 2]| thresholds.iter().filter(|&t| t <= x).count() as i64;
        let expected: Vec<i64> = numbers.iter().map(rank).collect();
        let q = Modulus::new(97).unwrap();
        for backend in Backend::ALL.into_iter().filter(|b| b.check(&q).is_ok()) {
            let mut found = vec![0; numbers.len()];
            backend::ranks(backend, &thresholds, [&high, &low], &mut found);
            assert_eq!(found, expected, "{backend:?}");
        }
    }

    #[test]
    fn overwrites_what_it_fills_and_repeats() {
        let gaussian = Gaussian::new(100.0).unwrap();
        let mut dirty = vec![i64::MAX; 130];
        gaussian.fill(&mut dirty, &mut ChaCha20Rng::seed_from_u64(10));
        assert_eq!(dirty, *gaussian.sample(130, &mut ChaCha20Rng::seed_from_u64(10)));
    }
}
