//! Sample extraction, `Extract^k`: one coefficient of a ring ciphertext as an LWE ciphertext
//! (PEGASUS, section II).

use bellerophon_ring::{Modulus, Result};

use crate::ciphertext::Ciphertext;
use crate::error;

/// The LWE ciphertext whose phase under the coefficients of `s` is coefficient `k` of `b + a s`.
///
/// `b` and `a` are the `N` residues of the two polynomials in coefficient form. Because
/// `X^N = -1`, the mask is `(a_k, a_(k-1), .., a_0, -a_(N-1), .., -a_(k+1))`. The extraction is
/// exact and adds no noise.
pub fn sample_extract(modulus: &Modulus, b: &[u64], a: &[u64], k: usize) -> Result<Ciphertext> {
    if b.len() != a.len() {
        return Err(error::dimension(a.len(), b.len(), "give two polynomials of the same ring"));
    }
    if k >= a.len() {
        return Err(error::coefficient(k, a.len()));
    }
    Ciphertext::new(*modulus, b[k], coefficient_mask(modulus, a, k).collect())
}

/// The mask of the LWE ciphertext of coefficient `k`.
pub(crate) fn coefficient_mask(
    modulus: &Modulus,
    a: &[u64],
    k: usize,
) -> impl Iterator<Item = u64> {
    // a_k to a_0, then the wrapped coefficients with the sign of X^N = -1.
    let low = a[..=k].iter().rev().copied();
    low.chain(a[k + 1..].iter().rev().map(|&x| modulus.neg(x)))
}

#[cfg(test)]
mod tests {
    use bellerophon_mlwe::security::SecretKind;
    use bellerophon_ring::{ErrorKind, Ring, prime, sample};
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::encrypt::phase;
    use crate::error::refusal;
    use crate::secret::SecretKey;

    #[test]
    fn every_coefficient_has_the_phase_of_the_ring() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let ring = Ring::new(16, &prime::ntt_primes_below(16, 45, 1, &[]).unwrap()).unwrap();
        let secret = SecretKey::generate(16, SecretKind::Ternary, &mut rng).unwrap();
        let s = ring.forward(ring.from_signed(secret.coefficients()));
        let (b, a) = (sample::uniform(&ring, &mut rng), sample::uniform(&ring, &mut rng));
        let mut expected = b.clone();
        ring.mul_add_assign(&mut expected, &a, &s);
        let expected = ring.inverse(expected);
        let (b, a) = (ring.inverse(b), ring.inverse(a));
        let q = ring.modulus(0);
        for k in 0..16 {
            let value = sample_extract(q, b.limb(0), a.limb(0), k).unwrap();
            assert_eq!(phase(&value, &secret).unwrap(), q.center(expected.limb(0)[k]));
        }
        let error = sample_extract(q, b.limb(0), a.limb(0), 16).unwrap_err();
        assert_eq!(error, error::coefficient(16, 16));
        assert!(
            refusal(&sample_extract(q, b.limb(0), &[0; 8], 0)).is(&ErrorKind::Shape, "is needed")
        );
    }
}
