//! Polynomials modulo `t` as factors of ciphertexts.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Ntt, Poly, Result, wire::Fingerprint};
use zeroize::{Zeroize, Zeroizing};

use super::Params;
use crate::error;

/// Bounds on the coefficients, of least magnitude, of a polynomial modulo `t`. The noise of a
/// product with the polynomial follows from them. They are declared and public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norms {
    /// An upper bound on the sum of the magnitudes of its coefficients.
    pub sum: f64,
    /// An upper bound on the sum of their squares.
    pub squares: f64,
}

impl Norms {
    /// The norms that hold for any polynomial modulo `t`: `N t / 2` and `N (t / 2)^2`.
    pub(crate) fn any(params: &Params) -> Self {
        let (n, half) = (params.degree() as f64, params.plain() as f64 / 2.0);
        Self { sum: n * half, squares: n * half * half }
    }

    /// The norms of the given coefficients.
    fn of(coefficients: &[i64]) -> Self {
        let sum = |f: fn(f64) -> f64| coefficients.iter().map(|&c| f(c as f64)).sum();
        Self { sum: sum(f64::abs), squares: sum(|c| c * c) }
    }

    /// Whether `other` is no larger, up to floating-point rounding.
    fn hold(&self, other: &Self) -> bool {
        // Norms are sums of floating-point terms, whose order may differ at the peer.
        let slack = 1.0 + 1e-12;
        other.sum <= self.sum * slack && other.squares <= self.squares * slack
    }
}

/// A polynomial modulo `t` as a factor of ciphertexts: its coefficients of least magnitude, in NTT
/// form. It may be its owner's secret: it is wiped on drop, and `Debug` prints only its degree.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    pub(crate) poly: Poly<Ntt>,
    pub(crate) norms: Norms,
    pub(crate) fingerprint: Fingerprint,
}

impl Plaintext {
    /// The polynomial with `N` coefficients in `[0, t)`. A product with it is stated to have the
    /// noise of the worst polynomial, so the noise reveals nothing about this one.
    ///
    /// # Errors
    /// [`ErrorKind::Range`] for a coefficient that is not below `t`.
    pub fn new(params: &Params, coefficients: &[u64]) -> Result<Self> {
        Self::declared(params, coefficients, Norms::any(params))
    }

    /// As [`new`](Self::new) for a polynomial whose norms are known to be small. Products state the
    /// noise that follows from the declared norms: whoever sees a product learns these norms.
    ///
    /// # Errors
    /// [`ErrorKind::Argument`] for coefficients of larger norms.
    pub(crate) fn declared(params: &Params, coefficients: &[u64], norms: Norms) -> Result<Self> {
        // Step 1: coefficients of least magnitude, whose norms the declared ones must bound.
        check_plain(params, coefficients)?;
        let signed: Zeroizing<Vec<i64>> =
            Zeroizing::new(coefficients.iter().map(|&m| params.center(m)).collect());
        if !norms.hold(&Norms::of(&signed)) {
            let (what, found) = ("norms", "larger ones".into());
            return Err(error::value(what, found, "at most the declared ones"));
        }
        // Step 2: NTT form, with the declared norms in place of the actual ones, which may be
        // secret.
        let mut plain = Self::from_signed(params, &signed);
        plain.norms = norms;
        Ok(plain)
    }

    /// The polynomial with the given small coefficients.
    pub(crate) fn from_signed(params: &Params, coefficients: &[i64]) -> Self {
        let poly = params.ring().forward_signed(coefficients);
        Self { poly, norms: Norms::of(coefficients), fingerprint: params.fingerprint() }
    }
}

impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext of degree {} (redacted)", self.poly.degree())
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.poly.zeroize();
    }
}

/// Checks that there are `N` coefficients below `t`.
pub(crate) fn check_plain(params: &Params, coefficients: &[u64]) -> Result<()> {
    if coefficients.len() != params.degree() {
        let (found, needed) = (coefficients.len(), format!("the degree {}", params.degree()));
        return Err(error::shape("number of coefficients", found, needed));
    }
    let plain = params.plain();
    match coefficients.iter().position(|&m| m >= plain) {
        None => Ok(()),
        Some(index) => Err(error::plain(index, coefficients.len(), plain)),
    }
}
