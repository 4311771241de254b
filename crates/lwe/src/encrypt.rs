//! Symmetric LWE encryption, and the phase, which is the decryption of an approximate scheme.

use bellerophon_ring::{Modulus, Result, sample};
use rand::CryptoRng;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::secret::SecretKey;

/// Encrypts the integer `message` modulo `q` with noise of standard deviation `sigma`: a uniform
/// mask `a` and the body `b = message + e - <a, s>`.
pub fn encrypt<R: CryptoRng + ?Sized>(
    modulus: &Modulus,
    secret: &SecretKey,
    message: i64,
    sigma: f64,
    rng: &mut R,
) -> Result<Ciphertext> {
    // Step 1: noise and a uniform mask.
    let noise = sample::Gaussian::new(sigma)?.sample(1, rng)[0];
    let mut a = vec![0; secret.dimension()];
    sample::fill_uniform(modulus, &mut a, rng);
    // Step 2: b = message + e - <a, s>.
    let shifted = modulus.add(modulus.from_i64(message), modulus.from_i64(noise));
    let b = modulus.sub(shifted, inner_product(modulus, &a, secret.coefficients()));
    Ciphertext::new(*modulus, b, a)
}

/// The phase `b + <a, s>` as an integer in `(-q/2, q/2]`: message plus noise.
pub fn phase(ciphertext: &Ciphertext, secret: &SecretKey) -> Result<i64> {
    if ciphertext.dimension() != secret.dimension() {
        return Err(error::dimension(
            ciphertext.dimension(),
            secret.dimension(),
            "use the secret that the value is encrypted under",
        ));
    }
    let q = ciphertext.modulus();
    let product = inner_product(q, ciphertext.a(), secret.coefficients());
    Ok(q.center(q.add(ciphertext.b(), product)))
}

/// `<a, s>` modulo `q`, without branches on the secret.
fn inner_product(q: &Modulus, a: &[u64], secret: &[i64]) -> u64 {
    a.iter().zip(secret).fold(0, |sum, (&x, &s)| q.mul_add(x, q.from_i64(s), sum))
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::security::SecretKind;
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::error::refusal;

    #[test]
    fn phases_come_back_with_noise_of_the_stated_width() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let q = Modulus::new((1 << 61) - 1).unwrap();
        let secret = SecretKey::generate(100, SecretKind::Ternary, &mut rng).unwrap();
        let mut sum = 0.0;
        for i in 0..2000 {
            let message = (i - 1000) << 49;
            let value = encrypt(&q, &secret, message, 100.0, &mut rng).unwrap();
            sum += ((phase(&value, &secret).unwrap() - message) as f64).powi(2);
        }
        let ratio = sum / 2000.0 / 10_000.0;
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        let short = SecretKey::generate(99, SecretKind::Ternary, &mut rng).unwrap();
        let value = Ciphertext::trivial(q, 100, 5);
        assert!(refusal(&phase(&value, &short)).is(&ErrorKind::Shape, "is needed"));
        assert_eq!(phase(&value, &secret).unwrap(), 5);
    }
}
