//! Ternary secrets of LWE and of the ring of the tables.

use bellerophon_mlwe::security::SecretKind;
use bellerophon_ring::sample;
use rand::CryptoRng;
use zeroize::Zeroizing;

use crate::{Error, Params, Result};

/// Coefficients in `{-1, 0, 1}`, overwritten on drop and left out of `Debug`.
///
/// The same type holds an LWE secret (a vector) and a ring secret (the coefficients of a
/// polynomial): extraction turns the second into the first.
#[derive(Clone)]
pub struct SecretKey {
    coefficients: Zeroizing<Vec<i64>>,
}

impl SecretKey {
    /// A fresh secret of the given dimension and distribution.
    pub fn generate<R: CryptoRng + ?Sized>(
        dimension: usize,
        kind: SecretKind,
        rng: &mut R,
    ) -> Result<Self> {
        let coefficients = match kind {
            SecretKind::Ternary => sample::ternary(dimension, rng),
            SecretKind::Sparse(weight) => sample::ternary_fixed_weight(dimension, weight, rng)?,
        };
        Ok(Self { coefficients })
    }

    /// A fresh LWE secret of a parameter set.
    pub fn generate_lwe<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        Self::generate(params.dimension(), params.spec().secret, rng)
    }

    /// A fresh secret for the ring of the tables of a parameter set.
    pub fn generate_ring<R: CryptoRng + ?Sized>(params: &Params, rng: &mut R) -> Result<Self> {
        Self::generate(params.ring_degree(), params.spec().ring_secret, rng)
    }

    /// A secret from given coefficients.
    ///
    /// # Errors
    /// If there are none, or one is not -1, 0 or 1.
    pub fn from_coefficients(coefficients: Zeroizing<Vec<i64>>) -> Result<Self> {
        let needed = "coefficients -1, 0 and 1, at least one";
        let bad = coefficients.iter().fold(0, |bad, &c| bad | (!(-1..=1).contains(&c)) as usize);
        if coefficients.is_empty() || bad != 0 {
            let found = if coefficients.is_empty() { "no coefficients" } else { "others" };
            return Err(Error::Secret { found: found.into(), needed: needed.into() });
        }
        Ok(Self { coefficients })
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[i64] {
        &self.coefficients
    }

    /// Number of coefficients.
    pub fn dimension(&self) -> usize {
        self.coefficients.len()
    }

    /// `|s|^2`: the number of coefficients that are not zero.
    pub fn norm2(&self) -> f64 {
        self.coefficients.iter().map(|&c| (c * c) as f64).sum()
    }

    /// Fails with the operation's name unless the dimension is the one needed.
    pub(crate) fn check(&self, op: &'static str, needed: usize) -> Result<()> {
        if self.dimension() != needed {
            let remedy = "give the secret of these parameters";
            return Err(Error::Dimension { op, found: self.dimension(), needed, remedy });
        }
        Ok(())
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey of dimension {} (redacted)", self.dimension())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    #[test]
    fn weights_and_ranges() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let sparse = SecretKey::generate(1024, SecretKind::Sparse(192), &mut rng).unwrap();
        assert_eq!((sparse.dimension(), sparse.norm2()), (1024, 192.0));
        let dense = SecretKey::generate(4096, SecretKind::Ternary, &mut rng).unwrap();
        assert!((dense.norm2() - 4096.0 * 2.0 / 3.0).abs() < 6.0 * 30.2, "{}", dense.norm2());
        assert!(SecretKey::generate(4, SecretKind::Sparse(5), &mut rng).is_err());
        for bad in [vec![], vec![0, 2], vec![i64::MIN]] {
            let error = SecretKey::from_coefficients(Zeroizing::new(bad)).unwrap_err();
            assert!(matches!(error, Error::Secret { .. }));
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let key = SecretKey::from_coefficients(Zeroizing::new(vec![1, -1, 0])).unwrap();
        assert_eq!(format!("{key:?}"), "SecretKey of dimension 3 (redacted)");
    }
}
