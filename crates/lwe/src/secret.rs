//! Secret keys: LWE secrets and ring secrets.

use bellerophon_mlwe::security::SecretKind;
use bellerophon_ring::{Result, sample};
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::error;

/// The largest magnitude of a coefficient: that of a signed 16-bit number of either sign.
pub(crate) const LARGEST: u32 = (1 << 15) - 1;

/// The allowed bounds of [`SecretKind::Bounded`].
pub(crate) const BOUNDS: &str = "a bound from 1 to 2^15 - 1";

/// A secret key: small coefficients, which are erased on drop and omitted from `Debug`. They are in
/// `{-1, 0, 1}`, except for LWE secrets of [`NtruRotation::Any`](crate::NtruRotation::Any), where
/// magnitudes up to `2^15 - 1` are allowed.
///
/// The same type represents an LWE secret (a vector) and a ring secret (the coefficients of a
/// polynomial). Sample extraction gives ciphertexts under the ring secret as a vector.
#[derive(Clone)]
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i64>>,
}

impl SecretKey {
    /// Generates a secret of the given dimension and distribution.
    pub fn generate<R: CryptoRng + ?Sized>(
        dimension: usize,
        kind: SecretKind,
        rng: &mut R,
    ) -> Result<Self> {
        let coefficients = match kind {
            SecretKind::Ternary => sample::ternary(dimension, rng),
            SecretKind::Sparse(weight) => sample::ternary_fixed_weight(dimension, weight, rng)?,
            SecretKind::Bounded(w) if (1..=LARGEST).contains(&w) => {
                sample::bounded(dimension, w, rng)
            }
            SecretKind::Bounded(_) => {
                let (found, needed) = (kind.to_string(), BOUNDS.into());
                return Err(error::secret(found, needed));
            }
        };
        Ok(Self { coefficients })
    }

    /// A secret from given coefficients.
    ///
    /// # Errors
    /// If a coefficient exceeds `2^15 - 1` in magnitude.
    pub fn from_coefficients(coefficients: Zeroizing<Vec<i64>>) -> Result<Self> {
        let needed = "at least one coefficient, all at most 2^15 - 1 in magnitude";
        if coefficients.is_empty() || exceeds(&coefficients, LARGEST) {
            let found =
                if coefficients.is_empty() { "no coefficients" } else { "larger coefficients" };
            return Err(error::secret(found.into(), needed.into()));
        }
        Ok(Self { coefficients })
    }

    /// A stored secret of the given dimension and distribution.
    pub(crate) fn restore(
        dimension: usize,
        kind: SecretKind,
        coefficients: Zeroizing<Vec<i64>>,
    ) -> Result<Self> {
        // Magnitude, dimension, then the distribution.
        let secret = Self::from_coefficients(coefficients)?;
        secret.check(dimension)?;
        if !kind.may_be(&secret.coefficients) {
            let (found, needed) = ("other coefficients".into(), format!("coefficients {kind}"));
            return Err(error::secret(found, needed));
        }
        Ok(secret)
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Number of coefficients.
    pub(crate) fn dimension(&self) -> usize {
        self.coefficients.len()
    }

    /// `|s|^2`. For a ternary secret it is the number of nonzero coefficients.
    pub fn norm2(&self) -> f64 {
        self.coefficients.iter().map(|&c| (c * c) as f64).sum()
    }

    /// Fails unless all coefficients are -1, 0 or 1.
    pub(crate) fn check_ternary(&self, needed: &str) -> Result<()> {
        if exceeds(&self.coefficients, 1) {
            let found = "coefficients other than -1, 0 and 1".into();
            return Err(error::secret(found, needed.into()));
        }
        Ok(())
    }

    /// Fails with the operation's name unless the dimension is `needed`.
    pub(crate) fn check(&self, needed: usize) -> Result<()> {
        if self.dimension() != needed {
            let remedy = "give the secret of these parameters";
            return Err(error::dimension(self.dimension(), needed, remedy));
        }
        Ok(())
    }
}

/// Whether a coefficient exceeds the bound in magnitude. All coefficients are read, so that the
/// time does not depend on them.
fn exceeds(coefficients: &[i64], bound: u32) -> bool {
    coefficients.iter().fold(false, |bad, &c| bad | (c.unsigned_abs() > u64::from(bound)))
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey of dimension {} (redacted)", self.dimension())
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ring::ErrorKind;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn weights_and_ranges() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let sparse = SecretKey::generate(1024, SecretKind::Sparse(192), &mut rng).unwrap();
        assert_eq!((sparse.dimension(), sparse.norm2()), (1024, 192.0));
        let dense = SecretKey::generate(4096, SecretKind::Ternary, &mut rng).unwrap();
        assert!((dense.norm2() - 4096.0 * 2.0 / 3.0).abs() < 6.0 * 30.2, "{}", dense.norm2());
        assert!(SecretKey::generate(4, SecretKind::Sparse(5), &mut rng).is_err());
        let wide = SecretKey::generate(4096, SecretKind::Bounded(4), &mut rng).unwrap();
        assert!(wide.coefficients().iter().all(|c| (-4..=4).contains(c)));
        // Fourth moments: a standard deviation of 6 of |s|^2 is 64 sqrt(708 / 9 - 400 / 9).
        assert!((wide.norm2() / 4096.0 - 20.0 / 3.0).abs() < 6.0 * 5.9 / 64.0, "{}", wide.norm2());
        assert!(wide.check_ternary("a ternary one").is_err());
        dense.check_ternary("a ternary one").unwrap();
        for w in [0, 1 << 15] {
            let error = SecretKey::generate(8, SecretKind::Bounded(w), &mut rng).unwrap_err();
            assert!(error.is(&ErrorKind::Shape, "secret key"), "{error}");
        }
        for bad in [vec![], vec![0, 1 << 15], vec![-1 << 15], vec![i64::MIN]] {
            let error = SecretKey::from_coefficients(Zeroizing::new(bad)).unwrap_err();
            assert!(error.is(&ErrorKind::Shape, "secret key"));
        }
    }

    #[test]
    fn stored_secrets_are_of_their_set() {
        use crate::engine::NtruRotation;
        use crate::params::tests::insecure_ntru;
        use crate::params::{Params, ParamsSpec};
        let base = insecure_ntru(8, 64, NtruRotation::Any { window: 2 });
        let kinds = [SecretKind::Ternary, SecretKind::Sparse(3), SecretKind::Bounded(4)];
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for (i, secret) in kinds.into_iter().enumerate() {
            let params = Params::new(ParamsSpec { secret, ..base.clone() }).unwrap();
            let restore = |coefficients: &[i64]| {
                SecretKey::restore_lwe(&params, Zeroizing::new(coefficients.to_vec()))
            };
            let key = SecretKey::generate_lwe(&params, &mut rng).unwrap();
            assert_eq!(restore(key.coefficients()).unwrap().coefficients(), key.coefficients());
            assert!(restore(&key.coefficients()[1..]).is_err() && restore(&[]).is_err());
            // Ternary of weight 3, ternary of weight 4, wide, too wide: the possible kinds of each.
            let cases = [[1, -1, 1, 0, 0, 0, 0, 0], [1; 8], [4, -4, 0, 0, 0, 0, 0, 1], [5; 8]];
            let allowed = [[true, true, false, false], [true, false, false, false]];
            let allowed = [allowed[0], allowed[1], [true, true, true, false]][i];
            assert_eq!(cases.map(|case| restore(&case).is_ok()), allowed, "{secret}");
        }
        let params = Params::new(base).unwrap();
        let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
        let stored = || Zeroizing::new(ring.coefficients().to_vec());
        SecretKey::restore_ring(&params, stored()).unwrap();
        let error = SecretKey::restore_lwe(&params, stored()).unwrap_err();
        assert!(error.is(&ErrorKind::Shape, "dimension 64 where 8 is needed"), "{error}");
    }

    #[test]
    fn debug_shows_nothing() {
        let key = SecretKey::from_coefficients(Zeroizing::new(vec![1, -1, 0])).unwrap();
        assert_eq!(format!("{key:?}"), "SecretKey of dimension 3 (redacted)");
    }
}
