//! Gadget digits of ciphertext masks, shared by several key switches.

use bellerophon_ring::{Ntt, Poly, wire::Fingerprint};

use crate::{Error, Params, Result};

/// The digits of a vector of polynomials: computed once, used by any number of switching keys
/// (hoisting).
#[derive(Debug, Clone)]
pub struct Decomposed {
    /// By component, then digit; each over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    digits: Vec<Vec<Poly<Ntt>>>,
    limbs: usize,
    fingerprint: Fingerprint,
}

impl Decomposed {
    /// Decomposes polynomials of one level.
    ///
    /// # Errors
    /// [`Error::Empty`] for none, [`Error::Degree`] or [`Error::Limbs`] for bad shapes.
    pub fn new(params: &Params, polys: &[Poly<Ntt>]) -> Result<Self> {
        let op = "decompose";
        let limbs = polys.first().ok_or(Error::Empty { op })?.limbs();
        for poly in polys {
            params.check_poly(op, poly)?;
            if poly.limbs() != limbs {
                return Err(Error::Limbs { op, found: poly.limbs(), needed: limbs.to_string() });
            }
        }
        let digits = polys.iter().map(|poly| params.gadget().decompose(poly)).collect();
        Ok(Self { digits, limbs, fingerprint: params.fingerprint() })
    }

    /// How many polynomials were decomposed.
    pub fn rank(&self) -> usize {
        self.digits.len()
    }

    /// The digits, by component.
    pub(crate) fn components(&self) -> &[Vec<Poly<Ntt>>] {
        &self.digits
    }

    /// Fingerprint of the parameters whose gadget was used.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Their limbs.
    pub fn limbs(&self) -> usize {
        self.limbs
    }
}
