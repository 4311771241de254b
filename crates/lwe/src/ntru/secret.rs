//! The NTRU secret: a ternary polynomial with its inverse.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Modulus, Ntt, Poly, Result, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use super::NtruContext;
use crate::error;

/// Maximum number of candidates for an invertible secret. A uniform ternary polynomial is not
/// invertible with probability about `N / Q`, at most `2^-9` for the sets of this crate.
const TRIES: usize = 64;

/// The secret `f`, uniform ternary and invertible modulo `Q`, with `f^-1`. It is erased on drop,
/// and `Debug` omits it.
pub(crate) struct NtruSecret {
    modulus: Modulus,
    coefficients: Zeroizing<Vec<i64>>,
    values: Zeroizing<Poly<Ntt>>,
    inverse: Zeroizing<Poly<Ntt>>,
}

impl NtruSecret {
    /// Generates a secret. Apart from the number of candidates the running time does not depend on
    /// secret data.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if none of 64 polynomials is invertible, because `Q` is far too small.
    pub(crate) fn generate<R: CryptoRng + ?Sized>(
        context: &NtruContext,
        rng: &mut R,
    ) -> Result<Self> {
        for _ in 0..TRIES {
            let coefficients = sample::ternary(context.degree(), rng);
            if let Some(secret) = Self::new(context, coefficients) {
                return Ok(secret);
            }
        }
        let found = format!("{TRIES} polynomials that are not invertible");
        Err(error::secret(found, "a modulus far above the degree".into()))
    }

    /// The secret with these coefficients, or `None` if it is not invertible: a value in NTT form
    /// is zero.
    fn new(context: &NtruContext, coefficients: Zeroizing<Vec<i64>>) -> Option<Self> {
        let q = context.ring().modulus(0);
        let values = Zeroizing::new(context.forward(&coefficients));
        let mut inverse = values.clone();
        // The inverse of each value by Fermat's little theorem, without a branch on a zero.
        let mut zeros = 0;
        for x in inverse.limb_mut(0) {
            zeros |= is_zero(*x);
            *x = q.pow(*x, q.value() - 2);
        }
        (zeros == 0).then_some(Self { modulus: *q, coefficients, values, inverse })
    }

    /// Fails with the operation's name unless the secret has the degree and modulus of the context.
    pub(crate) fn check(&self, context: &NtruContext) -> Result<()> {
        context.check(self.coefficients.len(), &self.modulus)
    }

    /// The coefficients of `f`.
    pub(crate) fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// The values of `1 / f` in NTT form.
    pub(crate) fn inverse(&self) -> &Poly<Ntt> {
        &self.inverse
    }

    /// The values of `f` in NTT form.
    pub(crate) fn values(&self) -> &Poly<Ntt> {
        &self.values
    }
}

/// 1 for zero and 0 for the rest of `[0, 2^63)`.
fn is_zero(x: u64) -> u64 {
    x.wrapping_sub(1) >> 63
}

impl std::fmt::Debug for NtruSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NtruSecret of degree {} (redacted)", self.coefficients.len())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::prime;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::engine::{NtruRotation, NtruSpec};
    use crate::params::Params;
    use crate::params::tests::insecure_ntru;

    #[test]
    fn the_inverse_is_one() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let params = Params::new(insecure_ntru(8, 64, NtruRotation::Ternary)).unwrap();
        let context = params.ntru().unwrap();
        let secret = NtruSecret::generate(context, &mut rng).unwrap();
        let mut product = secret.values().clone();
        context.ring().mul_assign(&mut product, secret.inverse());
        assert!(product.limb(0).iter().all(|&x| x == 1));
        assert!(secret.coefficients().iter().all(|c| (-1..=1).contains(c)));
        assert_eq!(format!("{secret:?}"), "NtruSecret of degree 64 (redacted)");
    }

    /// Six of ten polynomials of degree 8 are invertible modulo 17. Generation continues until it
    /// finds one, and polynomials that are not invertible are rejected.
    #[test]
    fn secrets_that_are_not_invertible_are_drawn_again() {
        let q0 = prime::ntt_primes_below(8, 45, 1, &[]).unwrap()[0];
        let Some(spec) = insecure_ntru(8, 64, NtruRotation::Ternary).engine.ntru().copied() else {
            panic!("an NTRU set")
        };
        let spec = NtruSpec { modulus: 17, base_log: 5, count: 1, ..spec };
        let context = NtruContext::new(8, q0, spec).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let refused = (0..400)
            .filter(|_| NtruSecret::new(&context, sample::ternary(8, &mut rng)).is_none())
            .count();
        let expected = 400.0 * (1.0 - (16.0f64 / 17.0).powi(8));
        assert!((refused as f64 - expected).abs() < 60.0, "{refused} of {expected}");
        for _ in 0..100 {
            let secret = NtruSecret::generate(&context, &mut rng).unwrap();
            let mut product = secret.values().clone();
            context.ring().mul_assign(&mut product, secret.inverse());
            assert!(product.limb(0).iter().all(|&x| x == 1));
        }
        assert!(NtruSecret::new(&context, Zeroizing::new(vec![0; 8])).is_none());
        assert_eq!([0, 1, 16].map(is_zero), [1, 0, 0]);
    }
}
