//! Steps on phases that operations share. Metadata are theirs.

use std::borrow::Cow;

use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Ntt, Poly, Result};

use super::Evaluator;
use crate::ciphertext::Ciphertext;
use crate::metadata::route::Route;
use crate::sparse_slots::Coefficients;

/// A vector and an encoded factor over the same limbs.
pub type PlainProduct<'x> = (Cow<'x, mlwe::Ciphertext>, Poly<Ntt>);

impl Evaluator {
    /// The phase at the end of a route.
    ///
    /// # Errors
    /// A route that does not start below the vector.
    pub fn routed<'c>(
        &self,
        x: &'c Ciphertext,
        route: &Route,
    ) -> Result<Cow<'c, mlwe::Ciphertext>> {
        // The common case of aligned operands copies nothing.
        if *route == Route::drop_to(x.level()) {
            return Ok(Cow::Borrowed(&x.inner));
        }
        // Step 1: drop to the first level of the route.
        let (lattice, limbs) = (self.params().lattice(), self.params().limbs_at(route.from));
        let b = x.inner.b().limb_range(0..limbs);
        let a = x.inner.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
        let mut inner = mlwe::Ciphertext::new(lattice, b, a, x.inner.ident().key)?;
        // Step 2: multiply by the constant and rescale to the last level.
        if let Some(factor) = route.factor {
            self.mul_integer_assign(&mut inner, factor);
        }
        for _ in route.to..route.from {
            inner = self.divided(inner)?;
        }
        Ok(Cow::Owned(inner))
    }

    /// The vector at the end of a route.
    pub fn follow<'c>(&self, x: &'c Ciphertext, route: &Route) -> Result<Cow<'c, Ciphertext>> {
        let metadata = self.rules().follow(&x.metadata(), route)?;
        Ok(match self.routed(x, route)? {
            Cow::Borrowed(_) => Cow::Borrowed(x),
            Cow::Owned(inner) => {
                let origins = x.origins.clone();
                Cow::Owned(Ciphertext::at_level(self.params(), inner, metadata.meta, origins))
            }
        })
    }

    /// The rescale of a lattice ciphertext above level 0.
    pub fn divided(&self, inner: mlwe::Ciphertext) -> Result<mlwe::Ciphertext> {
        let params = self.params();
        let below = params.limbs_at(params.level_at(inner.limbs()) - 1);
        let primes = inner.limbs() - below;
        inner.rescale(params.lattice(), primes)
    }

    /// A sum with products, relinearized and not rescaled.
    pub fn relinearize(&self, tensor: mlwe::Tensor) -> Result<mlwe::Ciphertext> {
        let key = self.keys().relinearization(tensor.limbs())?;
        key.relinearize(tensor, 0)
    }

    /// A sum with products, relinearized and rescaled by one level, in one mod-down.
    pub fn relinearized_divided(&self, tensor: mlwe::Tensor) -> Result<mlwe::Ciphertext> {
        let (params, limbs) = (self.params(), tensor.limbs());
        let key = self.keys().relinearization(limbs)?;
        let below = params.limbs_at(params.level_at(limbs) - 1);
        key.relinearize(tensor, limbs - below)
    }

    /// Adds an integer to the phase in every slot.
    pub fn add_integer(&self, x: &mut mlwe::Ciphertext, integer: i128) {
        let ring = self.params().ring(x.limbs());
        // A constant polynomial has the same value everywhere.
        let body = x.polys_mut().next().expect("a ciphertext has a body");
        for i in 0..ring.limbs() {
            let q = ring.modulus(i);
            let residue = q.from_i128(integer);
            body.limb_mut(i).iter_mut().for_each(|v| *v = q.add(*v, residue));
        }
    }

    /// Multiplies the phase by an integer.
    pub fn mul_integer_assign(&self, x: &mut mlwe::Ciphertext, k: i128) {
        let ring = self.params().ring(x.limbs());
        // An integer is the same residue in every NTT slot of a limb: no polynomial is needed.
        let residues: Vec<u64> = ring.moduli().map(|q| q.from_i128(k)).collect();
        for poly in x.polys_mut() {
            ring.mul_residues_assign(poly, &residues);
        }
    }

    /// Multiplies the phase by `i`.
    pub fn mul_i_assign(&self, x: &mut mlwe::Ciphertext) {
        let ring = self.params().ring(x.limbs());
        // i is the polynomial X^{N/2}, the second of two coefficients at distance N/2.
        let monomial = Coefficients::Narrow(vec![0, 1].into());
        let i = self.params().sparse().forward(&monomial, x.limbs());
        for poly in x.polys_mut() {
            ring.mul_assign(poly, &i);
        }
    }

    /// `sum_i x_i p_i` of vectors and encoded factors at a level, one pass for each polynomial,
    /// rescaled.
    pub fn sum_of_plain_products(
        &self,
        level: usize,
        terms: &[PlainProduct<'_>],
    ) -> Result<mlwe::Ciphertext> {
        let ring = self.params().ring(self.params().limbs_at(level));
        let body: Vec<_> = terms.iter().map(|(x, p)| (p, x.b())).collect();
        let masks = (0..terms[0].0.rank())
            .map(|i| {
                let pairs: Vec<_> = terms.iter().map(|(x, p)| (p, &x.masks()[i])).collect();
                ring.sum_of_products(&pairs)
            })
            .collect();
        let (body, key) = (ring.sum_of_products(&body), terms[0].0.ident().key);
        self.divided(mlwe::Ciphertext::new(self.params().lattice(), body, masks, key)?)
    }
}
