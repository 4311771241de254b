//! Gadget digits of ciphertext masks, shared by several key switches (hoisting).

use bellerophon_ring::error::ensure;
use bellerophon_ring::{Ntt, Poly, Result, wire::Fingerprint};

use crate::error;
use crate::params::Params;

/// The digits of a vector of polynomials. They are computed once and serve any number of switching
/// keys (hoisting).
#[derive(Debug, Clone)]
pub struct HoistedDigits {
    /// By component, then digit; each over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    digits: Vec<Vec<Poly<Ntt>>>,
    limbs: usize,
    fingerprint: Fingerprint,
}

impl HoistedDigits {
    /// Decomposes polynomials of the same level.
    pub fn new(params: &Params, polys: &[Poly<Ntt>]) -> Result<Self> {
        let limbs = polys.first().ok_or_else(error::empty)?.limbs();
        for poly in polys {
            params.check_poly(poly)?;
            ensure(poly.limbs() == limbs, || error::limbs(poly.limbs(), limbs.to_string()))?;
        }
        let digits = polys.iter().map(|poly| params.gadget().decompose(poly)).collect();
        Ok(Self { digits, limbs, fingerprint: params.fingerprint() })
    }

    /// The number of decomposed polynomials.
    pub(crate) fn rank(&self) -> usize {
        self.digits.len()
    }

    /// The digits, by component.
    pub(crate) fn components(&self) -> &[Vec<Poly<Ntt>>] {
        &self.digits
    }

    /// Fingerprint of the parameters whose gadget computed the digits.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Number of limbs of the decomposed polynomials.
    pub(crate) fn limbs(&self) -> usize {
        self.limbs
    }
}
