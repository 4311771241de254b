//! Uniform residues.

use rand::Rng;

use crate::backend::chacha20::GROUP;
use crate::backend::{self, Backend};
use crate::modulus::Modulus;
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// Fills `out` with independent uniform residues modulo `q`.
///
/// Each random word of 64 bits gives one residue or is rejected:
/// - For `q < 2^50`, its lowest 52 bits `c` give `floor(c q / 2^52)`, unless
///   `c q mod 2^52 < 2^52 mod q`. Every residue then has exactly `floor(2^52 / q)` words (Lemire,
///   "Fast random integer generation in an interval", ACM TOMACS 29 (2019), section 4), and at most
///   one word in five is rejected.
/// - For larger `q < 2^b`, `b` minimal, the lowest `b` bits are the residue if they are below `q`.
///   Almost no word is rejected if `q` is just below `2^b`, and half of them if it is just above
///   `2^(b-1)`.
///
/// The rejections depend on the random words. Use this function only for values that will be
/// published.
pub fn fill_uniform<R: Rng + ?Sized>(q: &Modulus, out: &mut [u64], rng: &mut R) {
    let backend = Backend::fastest(q);
    let mut words = [0; GROUP];
    let mut rest = out;
    while !rest.is_empty() {
        // At most as many words as residues are missing, so that no word is wasted.
        let words = &mut words[..GROUP.min(rest.len())];
        words.iter_mut().for_each(|word| *word = rng.next_u64());
        let count = backend::residues(backend, q, words, rest);
        rest = &mut rest[count..];
    }
}

/// A uniform polynomial of the ring. Uniform coefficients and uniform values are the same
/// distribution; the result is in NTT form, the form in which masks are used.
pub fn uniform<R: Rng + ?Sized>(ring: &Ring, rng: &mut R) -> Poly<Ntt> {
    let mut poly = ring.zero();
    for (i, q) in ring.moduli().enumerate() {
        fill_uniform(q, poly.limb_mut(i), rng);
    }
    poly
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::test_statistics::chi_square_excess;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn every_residue_is_as_likely() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for q in [3, 17, 257] {
            let modulus = Modulus::new(q).unwrap();
            let mut draws = vec![0; 100_000];
            fill_uniform(&modulus, &mut draws, &mut rng);
            let mut counts = vec![0; q as usize];
            draws.iter().for_each(|&x| counts[x as usize] += 1);
            let excess = chi_square_excess(&counts, &vec![1.0 / q as f64; q as usize]);
            assert!(excess.abs() < 5.0, "{q}: {excess}");
        }
    }

    /// With a modulus of 61 bits, reduction of every word would make small residues more likely.
    #[test]
    fn halves_of_a_large_modulus_are_as_likely() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let modulus = Modulus::new((1 << 61) - 1).unwrap();
        let mut draws = vec![0; 100_000];
        fill_uniform(&modulus, &mut draws, &mut rng);
        let mut counts = vec![0; 64];
        draws.iter().for_each(|&x| counts[(x >> 55) as usize] += 1);
        let excess = chi_square_excess(&counts, &[1.0 / 64.0; 64]);
        assert!(excess.abs() < 5.0, "{excess}");
    }

    /// A generator that returns given words.
    struct Words(std::vec::IntoIter<u64>);

    impl rand::TryRng for Words {
        type Error = std::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            Ok(self.0.next().unwrap() as u32)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            Ok(self.0.next().unwrap())
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            unreachable!("only whole words are drawn")
        }
    }

    /// Exactly these words are drawn, and all but the first `lost` give `x`.
    fn assert_drawn(q: u64, words: Vec<u64>, lost: usize, x: u64) {
        let mut out = vec![7; words.len() - lost];
        let mut generator = Words(words.into_iter());
        fill_uniform(&Modulus::new(q).unwrap(), &mut out, &mut generator);
        assert!(out.iter().all(|&found| found == x), "{q} {x} {lost}: {out:?}");
        assert_eq!(generator.0.len(), 0, "{q} {x} {lost}");
    }

    /// The words at the borders of the first and of the last residues: all that remain for a
    /// residue are as many as for any other.
    #[test]
    fn keeps_as_many_words_for_every_residue() {
        for q in [3u64, 5, 193, (1 << 49) + 69, (1 << 50) - 27] {
            let share = (1 << 52) / q;
            for x in (0..q.min(8)).chain(q.saturating_sub(8)..q) {
                // The words c with floor(c q / 2^52) = x.
                let border = |x: u64| ((u128::from(x) << 52).div_ceil(u128::from(q))) as u64;
                let (first, end) = (border(x), border(x + 1));
                let lost = end - first - share;
                assert!(lost <= 1);
                let high = x << 52;
                assert_drawn(q, vec![high | first, first + lost, end - 1], lost as usize, x);
            }
        }
    }

    #[test]
    fn large_residues_are_words_below_the_modulus() {
        for q in [(1u64 << 51) - 129, (1 << 60) + 33, (1 << 61) - 1] {
            let size = u64::MAX.checked_shr(q.leading_zeros()).unwrap() + 1;
            for x in [0, 1, q - 2, q - 1] {
                assert_drawn(q, vec![q, size - 1, x, x | size, x | size << 1], 2, x);
            }
        }
    }

    #[test]
    fn back_ends_make_the_same_residues() {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        // Hardly a word is lost, one in eight, half of them.
        for q in [97, (1 << 49) + 69, (1 << 60) + 33] {
            let q = Modulus::new(q).unwrap();
            for len in [0, 1, 7, 8, 9, 127, 128] {
                for space in [0, 1, 7, 8, 50, 120, 128, 200] {
                    let words: Vec<u64> = (0..len).map(|_| rng.next_u64()).collect();
                    let take = |backend| {
                        let mut out = vec![0; space];
                        let count = backend::residues(backend, &q, &words, &mut out);
                        out.truncate(count);
                        out
                    };
                    let expected = take(Backend::Scalar);
                    assert!(expected.len() <= len && expected.iter().all(|&x| x < q.value()));
                    for backend in Backend::ALL.into_iter().filter(|b| b.check(&q).is_ok()) {
                        assert_eq!(take(backend), expected, "{backend:?} {}", q.value());
                    }
                }
            }
        }
    }
}
