//! Ciphertexts modulo `P Q_l`: results of key switches before mod-down.
//!
//! A [`CiphertextQP`] is `P` times a ciphertext of level `l`, over
//! `q_0..q_{limbs-1}, p_0..p_{k-1}`. Sums of many rotations (matrix products) are added in this
//! form and divided by `P` once.

use bellerophon_ring::error::ensure;
use bellerophon_ring::{Automorphism, Ntt, Poly, Result};

use crate::ciphertext::{Ciphertext, Operand};
#[cfg(test)]
use crate::encrypt::check_extended;
use crate::error;
use crate::key_id::KeyIdent;
use crate::params::Params;

/// `P` times a ciphertext, modulo `P Q_l`, in NTT form.
#[derive(Debug, Clone, PartialEq)]
pub struct CiphertextQP {
    pub(crate) b: Poly<Ntt>,
    pub(crate) a: Vec<Poly<Ntt>>,
    pub(crate) limbs: usize,
    pub(crate) ident: KeyIdent,
}

impl CiphertextQP {
    /// The ciphertext at `limbs` limbs whose polynomials are these columns, the body first.
    pub(crate) fn of_columns(columns: Vec<Poly<Ntt>>, limbs: usize, ident: KeyIdent) -> Self {
        let Ciphertext { b, a, ident } = Ciphertext::of_columns(columns, ident);
        Self { b, a, limbs, ident }
    }

    /// `P ct`, without added noise.
    pub fn lift(params: &Params, ct: &Ciphertext) -> Result<Self> {
        params.check(ct.ident.fingerprint)?;
        // Modulo the special primes, P ct is zero.
        let limbs = ct.limbs();
        let factor = special_product(params, limbs);
        // Only the limbs of Q_l are nonzero.
        let lift = |poly: &Poly<Ntt>| {
            let mut scaled = poly.clone();
            params.q().at_limbs(limbs).mul_residues_assign(&mut scaled, &factor);
            let mut out = params.gadget().ring(limbs).zero();
            out.data_mut()[..scaled.data().len()].copy_from_slice(scaled.data());
            out
        };
        Ok(Self { b: lift(&ct.b), a: ct.a.iter().map(lift).collect(), limbs, ident: ct.ident })
    }

    /// Adds `P poly` to the body for `poly` modulo `Q_l`: the part of a rotated ciphertext that
    /// needs no key switch.
    pub(crate) fn add_body_assign(&mut self, params: &Params, poly: &Poly<Ntt>) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        params.check_poly(poly)?;
        ensure(poly.limbs() == self.limbs, || error::limbs(poly.limbs(), self.limbs.to_string()))?;
        // P poly is zero modulo the special primes, so only the limbs of Q_l change.
        for (i, factor) in special_product(params, self.limbs).into_iter().enumerate() {
            let q = params.q().modulus(i);
            for (x, &y) in self.b.limb_mut(i).iter_mut().zip(poly.limb(i)) {
                *x = q.mul_add(y, factor, *x);
            }
        }
        Ok(())
    }

    /// `self += other`.
    pub fn add_assign(&mut self, params: &Params, other: &Self) -> Result<()> {
        self.operand().check(params, other.operand())?;
        let ring = params.gadget().ring(self.limbs);
        ring.add_assign(&mut self.b, &other.b);
        self.a.iter_mut().zip(&other.a).for_each(|(x, y)| ring.add_assign(x, y));
        Ok(())
    }

    /// Applies `X -> X^g` to every polynomial. The result is under the image of the secret.
    pub(crate) fn apply(&mut self, params: &Params, map: &Automorphism) {
        // In NTT form an automorphism is a permutation of the values.
        let ring = params.gadget().ring(self.limbs);
        self.b = ring.apply_ntt(&self.b, map);
        self.a.iter_mut().for_each(|mask| *mask = ring.apply_ntt(mask, map));
    }

    /// Mod-down: divides by `P` with rounding.
    pub fn mod_down(self, params: &Params) -> Result<Ciphertext> {
        params.check(self.ident.fingerprint)?;
        // Each polynomial is divided on its own: the rounding errors are independent.
        let gadget = params.gadget();
        Ok(Ciphertext {
            b: gadget.mod_down(self.b),
            a: self.a.into_iter().map(|mask| gadget.mod_down(mask)).collect(),
            ident: self.ident,
        })
    }

    pub(crate) fn operand(&self) -> Operand {
        Operand { ident: self.ident, limbs: self.limbs }
    }
}

/// `P` modulo each of the first `limbs` primes.
fn special_product(params: &Params, limbs: usize) -> Vec<u64> {
    // P is reduced factor by factor, since it exceeds a word.
    let product = |q: &bellerophon_ring::Modulus| {
        params.p().moduli().fold(q.reduce(1), |product, p| q.mul(product, q.reduce(p.value())))
    };
    params.q().moduli().take(limbs).map(product).collect()
}

/// Single products: the definition that tests compare the fused sums with.
#[cfg(test)]
impl CiphertextQP {
    /// `self += other * plain`, for a plaintext over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub(crate) fn mul_plain_add_assign(
        &mut self,
        params: &Params,
        other: &Self,
        plain: &Poly<Ntt>,
    ) -> Result<()> {
        self.operand().check(params, other.operand())?;
        check_extended(params, self.limbs, plain)?;
        let ring = params.gadget().ring(self.limbs);
        ring.mul_add_assign(&mut self.b, &other.b, plain);
        self.a.iter_mut().zip(&other.a).for_each(|(x, y)| ring.mul_add_assign(x, y, plain));
        Ok(())
    }

    /// `self *= plain`, for a plaintext over `q_0..q_{limbs-1}, p_0..p_{k-1}`.
    pub(crate) fn mul_plain_assign(&mut self, params: &Params, plain: &Poly<Ntt>) -> Result<()> {
        params.check(self.ident.fingerprint)?;
        check_extended(params, self.limbs, plain)?;
        let ring = params.gadget().ring(self.limbs);
        ring.mul_assign(&mut self.b, plain);
        self.a.iter_mut().for_each(|mask| ring.mul_assign(mask, plain));
        Ok(())
    }
}
