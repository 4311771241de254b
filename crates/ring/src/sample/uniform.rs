//! Uniform residues.

use rand::Rng;

use crate::{Modulus, Ntt, Poly, Ring};

/// Fills `out` with independent uniform residues modulo `q`.
///
/// A 64-bit word above the largest multiple of `q` is thrown away, any other is reduced. The
/// rejections depend on the random words, so this is for values that will be published.
pub fn fill_uniform<R: Rng + ?Sized>(q: &Modulus, out: &mut [u64], rng: &mut R) {
    let largest = u64::MAX - (u64::MAX % q.value() + 1) % q.value();
    for x in out {
        let mut word = rng.next_u64();
        while word > largest {
            word = rng.next_u64();
        }
        *x = q.reduce(word);
    }
}

/// A uniform polynomial of the ring. Uniform values and uniform coefficients are the same thing;
/// it is given in NTT form, where masks are used.
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

    /// A generator that returns given words, to test the border of the rejection.
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

    #[test]
    fn rejects_exactly_above_the_largest_multiple() {
        for q in [3u64, 5, (1 << 61) - 1] {
            let bound = (u64::MAX as u128 + 1) / q as u128 * q as u128;
            let rejected = (bound..=u64::MAX as u128).map(|x| x as u64).take(3);
            let words: Vec<u64> = rejected.chain([(bound - 1) as u64, 0]).collect();
            let mut out = [7, 7];
            let q = Modulus::new(q).unwrap();
            fill_uniform(&q, &mut out, &mut Words(words.into_iter()));
            assert_eq!(out, [q.value() - 1, 0]);
        }
    }
}
