//! A generator for secrets and errors that runs on vector instructions.

use std::convert::Infallible;

use rand::rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

use crate::backend::Backend;
use crate::backend::chacha20::{GROUP, Keystream};

/// ChaCha20 (20 rounds) on the fastest back end of the CPU. It generates random words at two to
/// four times the rate of the usual generators, for megabytes of noise.
///
/// The same key gives the same words on every back end. Key and words are overwritten on drop.
pub struct SecretRng {
    keystream: Keystream,
    /// The words of the last group, in the order of their bytes.
    words: Zeroizing<[u64; GROUP]>,
    /// The number of bytes of the last group that are used up.
    spent: usize,
}

impl SecretRng {
    /// A generator from a key. Draw a fresh key for each generator and use it for nothing else.
    pub fn new(key: &[u8; 32]) -> Self {
        Self::with_backend(key, Backend::detected())
    }

    fn with_backend(key: &[u8; 32], backend: Backend) -> Self {
        let keystream = Keystream::new(*key, 0, backend);
        Self { keystream, words: Zeroizing::new([0; GROUP]), spent: size_of::<[u64; GROUP]>() }
    }

    fn fill(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            // A new group of blocks once the last one is used up.
            if self.spent == size_of_val(&*self.words) {
                self.keystream.next(&mut self.words);
                self.words.iter_mut().for_each(|word| *word = word.to_le());
                self.spent = 0;
            }
            let fresh = &bytemuck::cast_slice(&*self.words)[self.spent..];
            let (now, later) = out.split_at_mut(fresh.len().min(out.len()));
            now.copy_from_slice(&fresh[..now.len()]);
            self.spent += now.len();
            out = later;
        }
    }
}

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.fill(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.fill(out);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}

impl std::fmt::Debug for SecretRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretRng (redacted)")
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;
    use crate::prime;

    /// For any sequence of requests, and on every back end, the bytes are those of one stream.
    #[test]
    fn bytes_are_those_of_one_stream() {
        let q = prime::ntt_primes_below(64, 50, 1, &[]).unwrap()[0];
        let mut expected = vec![0; 5000];
        SecretRng::with_backend(&[7; 32], Backend::Scalar).fill_bytes(&mut expected);
        for backend in Backend::ALL.into_iter().filter(|b| b.check(&q).is_ok()) {
            let mut rng = SecretRng::with_backend(&[7; 32], backend);
            let mut found = vec![];
            for len in [1, 0, 7, 1016, 1024, 1025, 3, 8].into_iter().cycle() {
                if found.len() >= 4000 {
                    break;
                }
                let mut bytes = vec![0; len];
                rng.fill_bytes(&mut bytes);
                found.extend(bytes);
                found.extend(rng.next_u64().to_le_bytes());
                found.extend(rng.next_u32().to_le_bytes());
            }
            assert_eq!(found, expected[..found.len()], "{backend:?}");
        }
        let mut other = vec![0; 64];
        SecretRng::new(&[8; 32]).fill_bytes(&mut other);
        assert!(other.iter().zip(&expected).filter(|(a, b)| a == b).count() < 8);
        assert_eq!(format!("{:?}", SecretRng::new(&[8; 32])), "SecretRng (redacted)");
    }
}
