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
    pub(crate) components: Vec<Vec<Poly<Ntt>>>,
    pub(crate) limbs: usize,
    /// Of the parameters whose gadget computed them.
    pub(crate) fingerprint: Fingerprint,
}

impl HoistedDigits {
    /// Decomposes polynomials of the same level.
    pub fn new(params: &Params, polys: &[Poly<Ntt>]) -> Result<Self> {
        let limbs = polys.first().ok_or_else(error::empty)?.limbs();
        for poly in polys {
            params.check_poly(poly)?;
            ensure(poly.limbs() == limbs, || error::limbs(poly.limbs(), limbs.to_string()))?;
        }
        let components = polys.iter().map(|poly| params.gadget().decompose(poly)).collect();
        Ok(Self { components, limbs, fingerprint: params.fingerprint() })
    }
}
