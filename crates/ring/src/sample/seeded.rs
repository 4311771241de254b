//! Uniform residues expanded from a seed.

use chacha20::ChaCha20Rng;
use rand::{CryptoRng, Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::backend::chacha20::{GROUP, Keystream};
use crate::backend::{self, Backend};
use crate::modulus::Modulus;
use crate::poly::{Ntt, Poly};
use crate::ring::Ring;

/// 32 bytes that represent the uniform part of a ciphertext or key.
///
/// A seed is public: it is sent in place of the polynomials that it expands to. Never take a seed
/// from a generator state that also produced secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// A fresh seed.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The words of one limb: ChaCha20 with nonce `q`. Its key is the output of ChaCha20 with nonce
    /// `stream` under the seed. Two steps are needed because a nonce has 64 bits.
    fn keystream(&self, q: &Modulus, stream: u64, backend: Backend) -> Keystream {
        // The seed and the stream determine the key; the prime is the nonce under that key.
        let mut outer = ChaCha20Rng::from_seed(self.0);
        outer.set_stream(stream);
        let mut key = [0; 32];
        outer.fill_bytes(&mut key);
        Keystream::new(key, q.value(), backend)
    }
}

/// Fills `out` with the uniform residues modulo `q` that are determined by (`seed`, `stream`, `q`).
///
/// They depend on nothing else, in particular neither on the position of `q` in a basis nor on the
/// degree. A longer expansion therefore begins with the shorter one, and a basis of fewer primes
/// gives the same limbs.
///
/// The key is the first 32 bytes of the ChaCha20 keystream (20 rounds, 64-bit counter from 0,
/// 64-bit nonce, both little-endian) of `seed` with nonce `stream`. The 64-byte blocks of the
/// keystream of that key with nonce `q` are taken sixteen at a time: word `p` (little-endian, 64
/// bits, `0 <= p < 8`) of block `16 g + l` has number `128 g + 16 p + l`. In this order the words
/// are mapped to residues as described at [`fill_uniform`](super::fill_uniform).
pub fn fill_uniform_from_seed(q: &Modulus, out: &mut [u64], seed: &Seed, stream: u64) {
    expand(Backend::fastest(q), q, out, seed, stream);
}

fn expand(backend: Backend, q: &Modulus, out: &mut [u64], seed: &Seed, stream: u64) {
    let mut keystream = seed.keystream(q, stream, backend);
    let mut words = [0; GROUP];
    let mut rest = out;
    while !rest.is_empty() {
        keystream.next(&mut words);
        let count = backend::residues(backend, q, &words, rest);
        rest = &mut rest[count..];
    }
}

/// The uniform polynomial in NTT form that is determined by (`seed`, `stream`) and the primes of
/// `ring`. A ring of fewer primes gives the same limbs.
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
            assert_eq!(long, uniform_from_seed(&ring.at_limbs(limbs), &Seed([3; 32]), 11));
        }
        let last = uniform_from_seed(&ring.slice(2..3), &Seed([3; 32]), 11);
        let whole = uniform_from_seed(&ring, &Seed([3; 32]), 11);
        assert_eq!(last.limb(0), whole.limb(2));
    }

    /// Frozen: keys and ciphertexts on disk hold seeds, so the expansion must never change. The
    /// numbers were made with an independent ChaCha20, straight from the definition. Half of the
    /// words are lost modulo the first prime, a seventh modulo the second.
    #[test]
    fn known_answers() {
        let positions = [0, 1, 2, 16, 17, 130, 131, 199];
        let known: [(u64, [u64; 8]); 2] = [
            (
                (1 << 60) + 33,
                [
                    931905446980554136,
                    790398136237088777,
                    1033788793310055082,
                    890447347050767061,
                    152648964436875206,
                    1116847751011949662,
                    1032818259358978341,
                    120711497188227260,
                ],
            ),
            (
                (1 << 49) + 69,
                [
                    553901341523506,
                    380052324660006,
                    157861840773515,
                    19526110726670,
                    116251632162874,
                    408562193534434,
                    107219281032773,
                    113078278466337,
                ],
            ),
        ];
        for (q, known) in known {
            let q = Modulus::new(q).unwrap();
            for backend in Backend::ALL.into_iter().filter(|b| b.check(&q).is_ok()) {
                let mut found = vec![0; 200];
                super::expand(backend, &q, &mut found, &Seed([42; 32]), 5);
                assert_eq!(positions.map(|i| found[i]), known, "{backend:?}");
            }
        }
    }
}
