//! From coefficients modulo `q0` to LWE values under the secret of the small ring.

use std::collections::{BTreeMap, btree_map::Entry};

use bellerophon_ckks::dft::Coefficients;
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, noise};
use bellerophon_ring::{Ntt, Poly};

use super::{RingBridge, RingBridgeKeys};
use crate::{Error, Result, par};

impl RingBridge {
    /// The values of a vector that the homomorphic decoding left in the coefficients at level 0,
    /// times an integer: value `i` as an LWE value modulo `q0` of dimension `n'`, under the
    /// coefficients of `z`.
    ///
    /// Coefficients that differ by multiples of `N / n'` are in one ciphertext over the small ring:
    /// one key switch for vectors of up to `n' / 2` slots, two for twice as many, and so on.
    ///
    /// # Errors
    /// [`Error::Shape`] above level 0; those of the lattice layer for foreign keys.
    pub fn lower(
        &self,
        keys: &RingBridgeKeys,
        values: &Coefficients,
        factor: i64,
    ) -> Result<Vec<lwe::Ciphertext>> {
        let op = "lower a vector";
        let (lattice, stride) = (self.params.lattice(), self.module.factor());
        let mut large = values.lattice().clone();
        if large.limbs() != 1 {
            let (found, needed) = (large.limbs(), "1: decode down to level 0".into());
            return Err(Error::Shape { op, what: "number of limbs", found, needed });
        }
        large.mul_signed_assign(lattice, factor)?;
        let places: Vec<usize> = (0..values.len()).map(|i| values.place(i)).collect();
        let mut small = BTreeMap::new();
        for rest in places.iter().map(|place| place % stride) {
            if let Entry::Vacant(entry) = small.entry(rest) {
                entry.insert(self.component(keys, &large, rest)?);
            }
        }
        let q0 = self.dense.q().modulus(0);
        par::map(&places, |place| {
            let [b, a] = &small[&(place % stride)];
            Ok(lwe::extract(q0, b, a, place / stride)?)
        })
    }

    /// Variance that the way down adds to a phase modulo `q0`.
    pub fn lowering_noise(&self) -> f64 {
        noise::key_switch(&self.dense, self.module.factor(), 1)
    }

    /// The coefficients `rest + k N / n'` under `z`: body and mask, residues of coefficients.
    fn component(
        &self,
        keys: &RingBridgeKeys,
        large: &mlwe::Ciphertext,
        rest: usize,
    ) -> Result<[Vec<u64>; 2]> {
        let lattice = self.params.lattice();
        let mut turned = large.clone();
        if rest > 0 {
            // X^-rest = -X^(N - rest).
            let (ring, degree) = (lattice.q().prefix(1), self.params.degree());
            let mut monomial = vec![0; degree];
            monomial[degree - rest] = -1;
            turned.mul_plain_assign(lattice, &ring.forward(ring.from_signed(&monomial)))?;
        }
        let module = self.module.extract(&turned)?;
        let small = keys.down.switch(&self.dense, &module)?;
        let ring = self.dense.q();
        let coefficients = |poly: &Poly<Ntt>| ring.inverse(poly.clone()).limb(0).to_vec();
        Ok([coefficients(small.b()), coefficients(small.a(0))])
    }
}
