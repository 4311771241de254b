//! Uniform residues expanded from a seed.

use rand::{CryptoRng, Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::uniform::fill_uniform;
use crate::{Modulus, Ntt, Poly, Ring};

/// 32 bytes that stand for the uniform part of a ciphertext or key.
///
/// A seed is public: it travels in place of the polynomials that it expands to. Never take one
/// from a generator state that also produced secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A fresh seed.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The generator of one limb: ChaCha20 with nonce `q` under the key that ChaCha20 with nonce
    /// `stream` makes from the seed. Two steps, since a nonce has 64 bits.
    fn generator(&self, q: &Modulus, stream: u64) -> ChaCha20Rng {
        let mut outer = ChaCha20Rng::from_seed(self.0);
        outer.set_stream(stream);
        let mut key = [0; 32];
        outer.fill_bytes(&mut key);
        let mut inner = ChaCha20Rng::from_seed(key);
        inner.set_stream(q.value());
        inner
    }
}

/// Fills `out` with the uniform residues modulo `q` that (`seed`, `stream`, `q`) determine.
///
/// Nothing else enters, in particular not the position of `q` in a basis nor the degree: a
/// longer expansion begins with the shorter one, and a basis of fewer primes gives the same limbs.
pub fn fill_uniform_from_seed(q: &Modulus, out: &mut [u64], seed: &Seed, stream: u64) {
    fill_uniform(q, out, &mut seed.generator(q, stream));
}

/// The uniform polynomial, in NTT form, that (`seed`, `stream`) and the primes of `ring`
/// determine. In a ring of fewer primes it has the same limbs.
pub fn uniform_from_seed(ring: &Ring, seed: &Seed, stream: u64) -> Poly<Ntt> {
    let mut poly = ring.zero();
    for (i, q) in ring.moduli().enumerate() {
        fill_uniform_from_seed(q, poly.limb_mut(i), seed, stream);
    }
    poly
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prime;

    fn expand(q: &Modulus, len: usize, seed: u8, stream: u64) -> Vec<u64> {
        let mut out = vec![0; len];
        fill_uniform_from_seed(q, &mut out, &Seed([seed; 32]), stream);
        out
    }

    #[test]
    fn depends_on_seed_stream_and_prime_alone() {
        let primes = prime::ntt_primes_below(64, 50, 2, &[]).unwrap();
        let reference = expand(&primes[0], 64, 1, 7);
        assert_eq!(reference, expand(&primes[0], 64, 1, 7));
        assert_eq!(reference[..16], expand(&primes[0], 16, 1, 7));
        let others = [
            expand(&primes[1], 64, 1, 7),
            expand(&primes[0], 64, 2, 7),
            expand(&primes[0], 64, 1, 8),
        ];
        for other in others {
            assert!(reference.iter().zip(&other).all(|(a, b)| a != b));
        }
    }

    #[test]
    fn limbs_of_a_prefix_are_a_prefix() {
        let primes = prime::ntt_primes_below(64, 50, 3, &[]).unwrap();
        let ring = Ring::new(64, &primes).unwrap();
        let mut long = uniform_from_seed(&ring, &Seed([3; 32]), 11);
        for limbs in [2, 1] {
            long.truncate(limbs);
            assert_eq!(long, uniform_from_seed(&ring.prefix(limbs), &Seed([3; 32]), 11));
        }
        let last = uniform_from_seed(&ring.slice(2..3), &Seed([3; 32]), 11);
        let whole = uniform_from_seed(&ring, &Seed([3; 32]), 11);
        assert_eq!(last.limb(0), whole.limb(2));
    }

    /// Frozen: keys and ciphertexts on disk hold seeds, so the expansion must never change. The
    /// numbers were made with an independent ChaCha20 (20 rounds, 64-bit counter and nonce).
    #[test]
    fn known_answer() {
        let q = Modulus::new((1 << 61) - 1).unwrap();
        let known = [1210698144632992325, 1141696293208643206, 1035639718896915264];
        assert_eq!(expand(&q, 3, 42, 5), known);
    }
}
