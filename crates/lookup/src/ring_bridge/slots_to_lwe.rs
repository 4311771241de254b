//! From coefficients modulo `q0` to LWE values under the secret of the small ring.

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::collections::{BTreeMap, btree_map::Entry};

use bellerophon_circuits::dft::Coefficients;
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, noise};
use bellerophon_ring::{Ntt, Poly, Result, try_map};

use super::{bridge::RingBridge, keys::RingBridgeKeys};
use crate::error;

impl RingBridge {
    /// Extracts the values of a vector after SlotsToCoeffs to level 0, times an integer: value `i`
    /// becomes an LWE value modulo `q0` of dimension `n'`, under the coefficients of `z`.
    ///
    /// Coefficients whose positions differ by multiples of `N / n'` are in one ciphertext over the
    /// small ring. Vectors of up to `n' / 2` slots take one key switch, vectors of twice as many
    /// take two, and so on.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] above level 0.
    pub fn slots_to_lwe(
        &self,
        keys: &RingBridgeKeys,
        values: &Coefficients,
        factor: i64,
    ) -> Result<Vec<lwe::Ciphertext>> {
        // Step 1: one limb, times the factor.
        let (lattice, stride) = (self.params.lattice(), self.module.factor());
        let mut large = values.lattice().clone();
        if large.limbs() != 1 {
            let (found, needed) = (large.limbs(), "1: decode down to level 0".into());
            return Err(error::shape("number of limbs", found, needed));
        }
        large.mul_signed_assign(lattice, factor)?;
        // Step 2: one ciphertext over the small ring for each position modulo N / n'.
        let positions: Vec<usize> = (0..values.meta().len).map(|i| values.place(i)).collect();
        let mut small = BTreeMap::new();
        for rest in positions.iter().map(|position| position % stride) {
            if let Entry::Vacant(entry) = small.entry(rest) {
                entry.insert(self.component(keys, &large, rest)?);
            }
        }
        // Step 3: extraction.
        let q0 = self.dense.q().modulus(0);
        try_map(&positions, |position| {
            let [b, a] = &small[&(position % stride)];
            lwe::sample_extract(q0, b, a, position / stride)
        })
    }

    /// Variance that [`slots_to_lwe`](Self::slots_to_lwe) adds to a phase modulo `q0`.
    pub(crate) fn lowering_noise(&self) -> f64 {
        noise::key_switch(&self.dense, self.module.factor(), 1)
    }

    /// The coefficients `rest + k N / n'` as a ciphertext under `z`: body and mask, in coefficient
    /// form.
    fn component(
        &self,
        keys: &RingBridgeKeys,
        large: &mlwe::Ciphertext,
        rest: usize,
    ) -> Result<[Vec<u64>; 2]> {
        let lattice = self.params.lattice();
        // Step 1: shift the coefficients by `rest`.
        let mut shifted = large.clone();
        if rest > 0 {
            // X^-rest = -X^(N - rest).
            let (ring, degree) = (lattice.q().at_limbs(1), self.params.lattice().spec().degree);
            let mut monomial = vec![0; degree];
            monomial[degree - rest] = -1;
            shifted.mul_plain_assign(lattice, &ring.forward(ring.from_signed(&monomial)))?;
        }
        // Step 2: the component over the small ring, of rank N / n', switched to rank 1.
        let module = self.module.extract(&shifted)?;
        let small = keys.down.switch(&self.dense, &module)?;
        let ring = self.dense.q();
        let coefficients = |poly: &Poly<Ntt>| ring.inverse(poly.clone()).limb(0).to_vec();
        Ok([coefficients(small.b()), coefficients(&small.masks()[0])])
    }
}
