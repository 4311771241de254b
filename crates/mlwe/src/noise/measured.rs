//! Measured noise, for comparison with [`noise`](crate::noise) in tests and demonstrations. Needs
//! the secret.

use bellerophon_ring::{Coeff, Ntt, Poly, Result, Ring};
use num_traits::ToPrimitive;
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::error;
use crate::secret::SecretKey;

/// Statistics of the coefficients of a noise polynomial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseStats {
    /// Mean of the coefficients.
    pub mean: f64,
    /// Mean square of the coefficients.
    pub variance: f64,
    /// Largest magnitude.
    pub max: f64,
}

impl NoiseStats {
    /// The statistics of the given values. All zero for none.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut squares, mut max) = (0u64, 0.0, 0.0, 0.0f64);
        for x in values {
            count += 1;
            sum += x;
            squares += x * x;
            max = max.max(x.abs());
        }
        let count = count.max(1) as f64;
        Self { mean: sum / count, variance: squares / count, max }
    }
}

/// The noise of a ciphertext whose exact phase is `expected` (with the same number of limbs): the
/// coefficients of the difference between the phase and `expected`, centred modulo `Q_l`.
pub fn noise(secret: &SecretKey, ct: &Ciphertext, expected: &Poly<Ntt>) -> Result<NoiseStats> {
    secret.params().check_poly(expected)?;
    if expected.limbs() != ct.limbs() {
        let needed = ct.limbs().to_string();
        return Err(error::limbs(expected.limbs(), needed));
    }
    let ring = ct.ring(secret.params());
    let mut phase = ct.phase(secret)?;
    ring.sub_assign(&mut phase, expected);
    let phase = Zeroizing::new(ring.inverse((*phase).clone()));
    Ok(NoiseStats::of(centered_f64(&ring, &phase)))
}

/// The centred coefficients of a polynomial, rounded to `f64`.
pub fn centered_f64(ring: &Ring, poly: &Poly<Coeff>) -> Vec<f64> {
    ring.centered(poly).iter().map(|x| x.to_f64().unwrap_or(f64::INFINITY)).collect()
}
