//! Vectors over `{-1, 0, 1}`, and over `{-w, .., w}`.

use rand::CryptoRng;
use zeroize::Zeroizing;

use super::below;
use crate::error::{self, Result};

/// `n` independent uniform elements of `{-1, 0, 1}` (bias below `2^-126`), in constant time.
pub fn ternary<R: CryptoRng + ?Sized>(n: usize, rng: &mut R) -> Zeroizing<Vec<i64>> {
    Zeroizing::new((0..n).map(|_| below(3, rng) as i64 - 1).collect())
}

/// `n` independent uniform elements of `{-w, .., w}` (bias below `2^-94`), in constant time.
pub fn bounded<R: CryptoRng + ?Sized>(n: usize, w: u32, rng: &mut R) -> Zeroizing<Vec<i64>> {
    let w = i64::from(w);
    Zeroizing::new((0..n).map(|_| below(2 * w as u64 + 1, rng) as i64 - w).collect())
}

/// A uniform vector of `{-1, 0, 1}^n` with exactly `weight` nonzero coordinates, in time that
/// depends only on `n`.
///
/// Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, Algorithm S): if `r` of the
/// `n - i` coordinates from `i` on remain to be chosen, coordinate `i` is chosen with probability
/// `r / (n - i)`. Every coordinate takes the same operations, chosen or not.
pub fn ternary_fixed_weight<R: CryptoRng + ?Sized>(
    n: usize,
    weight: usize,
    rng: &mut R,
) -> Result<Zeroizing<Vec<i64>>> {
    if weight > n {
        return Err(error::distribution(
            "Hamming weight",
            format!("{weight} of {n}"),
            "at most the dimension",
        ));
    }
    let mut remaining = weight as u64;
    let sample = (0..n).map(|i| {
        let random = below((n - i) as u64, rng);
        // 1 if random < remaining: the sign bit of the difference.
        let chosen = random.wrapping_sub(remaining) >> 63;
        remaining -= chosen;
        let sign = (rng.next_u64() >> 63) as i64;
        chosen as i64 * (1 - 2 * sign)
    });
    Ok(Zeroizing::new(sample.collect()))
}

/// `n` independent elements: 0 with probability 1/2, -1 and 1 with probability 1/4 each. Constant
/// time.
pub fn zo<R: CryptoRng + ?Sized>(n: usize, rng: &mut R) -> Zeroizing<Vec<i64>> {
    let mut out = Zeroizing::new(vec![0; n]);
    for chunk in out.chunks_mut(32) {
        // Two bits per element: their difference is 0 with probability 1/2.
        let word = rng.next_u64();
        for (i, x) in chunk.iter_mut().enumerate() {
            *x = (word >> (2 * i) & 1) as i64 - (word >> (2 * i + 1) & 1) as i64;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::test_statistics::chi_square_excess;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    fn counts(sample: &[i64]) -> [u64; 3] {
        let mut counts = [0; 3];
        sample.iter().for_each(|&x| counts[(x + 1) as usize] += 1);
        counts
    }

    #[test]
    fn uniform_and_zo_have_their_laws() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for round in 0..4 {
            let uniform = counts(&ternary(100_000, &mut rng));
            let zo = counts(&zo(100_001, &mut rng));
            let excess = chi_square_excess(&uniform, &[1.0 / 3.0; 3]);
            assert!(excess < 6.0, "{round}: {uniform:?}");
            let excess = chi_square_excess(&zo, &[0.25, 0.5, 0.25]);
            assert!(excess < 6.0, "{round}: {zo:?}");
        }
    }

    #[test]
    fn bounded_elements_are_uniform() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        for w in [0u32, 1, 2, 4, 9] {
            let mut counts = vec![0; 2 * w as usize + 1];
            bounded(50_000, w, &mut rng)
                .iter()
                .for_each(|x| counts[(x + i64::from(w)) as usize] += 1);
            let law = vec![1.0 / counts.len() as f64; counts.len()];
            assert!(w == 0 || chi_square_excess(&counts, &law) < 6.0, "{w}: {counts:?}");
        }
        let wide = bounded(1000, u32::MAX, &mut rng);
        assert!(wide.iter().all(|x| x.unsigned_abs() <= u64::from(u32::MAX)));
        assert!(wide.iter().any(|x| x.unsigned_abs() > 1 << 31));
    }

    #[test]
    fn weight_is_exact_at_every_size() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for (n, weight) in [(0, 0), (1, 0), (1, 1), (64, 64), (1000, 1), (1024, 192), (4096, 64)] {
            let sample = ternary_fixed_weight(n, weight, &mut rng).unwrap();
            assert_eq!(sample.len(), n);
            assert!(sample.iter().all(|x| (-1..=1).contains(x)));
            assert_eq!(sample.iter().filter(|&&x| x != 0).count(), weight);
        }
        let error = ternary_fixed_weight(10, 11, &mut rng).unwrap_err();
        assert!(error.to_string().contains("11 of 10"), "{error}");
    }

    /// Parts of the format of master seeds: these vectors never change. Another program computed
    /// them, one after the other from one generator.
    #[test]
    fn samplers_have_known_answers() {
        let mut rng = crate::sample::SecretRng::new(&[7; 32]);
        let known = [-2, -3, -1, -3, 0, 2, 1, 0, -1, 3, -2, -1, -4, -4, -4, 4];
        assert_eq!(*bounded(16, 4, &mut rng), known);
        let known = [1, 0, 0, 0, 1, 1, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -1, 0, 0, -1, 1, 0, 0];
        assert_eq!(*ternary_fixed_weight(24, 9, &mut rng).unwrap(), known);
        assert_eq!(rand::Rng::next_u64(&mut rng), 0xa548_712b_51ff_163f);
    }

    /// All 4 * C(5, 2) = 40 vectors of dimension 5 and weight 2 are equally likely.
    #[test]
    fn fixed_weight_is_uniform() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..40_000 {
            let sample = ternary_fixed_weight(5, 2, &mut rng).unwrap();
            *seen.entry(sample.to_vec()).or_insert(0u64) += 1;
        }
        assert_eq!(seen.len(), 40);
        let counts: Vec<u64> = seen.into_values().collect();
        let excess = chi_square_excess(&counts, &[1.0 / 40.0; 40]);
        assert!(excess.abs() < 5.0, "{excess}");
    }

    #[test]
    fn seeded_generators_repeat() {
        let mut one = ChaCha20Rng::seed_from_u64(6);
        let mut two = ChaCha20Rng::seed_from_u64(6);
        assert_eq!(*ternary(100, &mut one), *ternary(100, &mut two));
        assert_eq!(*zo(100, &mut one), *zo(100, &mut two));
    }
}
