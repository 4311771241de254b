//! Predicted sizes and times of a parameter set.

use crate::bootstrap::Bootstrapper;
use bellerophon_ckks::cost::{FAST_BITS, Work};
use bellerophon_ckks::{KeySizes, Params};

/// Predicted sizes and work of bootstrapping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedBootstrap {
    /// Bytes of all keys of a bootstrap.
    pub keys: KeySizes,
    /// Work of a bootstrap of a real vector.
    pub real: Work,
    /// Work of a bootstrap of a complex vector.
    pub complex: Work,
}

/// Predicted sizes and work at the top level of a set, where they are largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Bytes of a ciphertext in memory: two polynomials of 8-byte words.
    pub ciphertext_bytes: usize,
    /// Bytes of one switching key in memory: the relinearization key, or the key of one rotation.
    pub key_bytes: usize,
    /// Bytes of the same key in serialized form: masks as seeds, residues packed to their bits.
    pub key_bytes_seeded: usize,
    /// Digits of a key switch.
    pub digits: usize,
    /// Work of a product, relinearized and rescaled.
    pub product: Work,
    /// Work of a rotation.
    pub rotation: Work,
    /// Bootstrapping, for sets that have it.
    pub bootstrap: Option<PredictedBootstrap>,
}

impl Predicted {
    pub(super) fn of(params: &Params, bootstrapper: Option<&Bootstrapper>) -> Self {
        let (lattice, limbs) = (params.lattice(), params.limbs());
        let (degree, special) = (params.lattice().spec().degree, lattice.p().limbs());
        let digits = lattice.gadget().digits(limbs);
        let moduli = || lattice.q().moduli().chain(lattice.p().moduli());
        let wide = moduli().filter(|q| q.bits() > FAST_BITS).count();
        // A product is a key switch with a tensor product before it and a rescaling after it.
        let rotation = Work::of_switch(degree, limbs, special, digits as f64, wide);
        let top = params.max_level();
        let primes = if top == 0 { 1 } else { limbs - params.limbs_at(top - 1) };
        // One key has a row of a body and a mask for each digit.
        let key = KeySizes::of_rows(digits, 1, lattice.gadget().ring(limbs));
        Self {
            ciphertext_bytes: 2 * limbs * degree * 8,
            key_bytes: key.memory,
            key_bytes_seeded: key.transit,
            digits,
            product: rotation.with_product(limbs, primes),
            rotation,
            bootstrap: bootstrapper.map(|bootstrapper| PredictedBootstrap {
                keys: bootstrapper.key_sizes(),
                real: bootstrapper.work(1),
                complex: bootstrapper.work(2),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bellerophon_ckks::{ModulusChain, ParamsSpec};

    #[test]
    fn the_transforms_of_w1_are_counted() {
        let predicted = Predicted::of(&Params::new(ParamsSpec::w1().unwrap()).unwrap(), None);
        assert_eq!((predicted.product.transforms, predicted.rotation.transforms), (147.0, 119.0));
        assert_eq!((predicted.digits, predicted.product.width), (5, 1.0));
        assert!(predicted.rotation.multiplications < predicted.product.multiplications);
        // Nominal prime sizes give the same.
        let chain = ModulusChain {
            degree: 1 << 15,
            first_bits: 50,
            levels: vec![bellerophon_ckks::LevelGroup::single(45, 13)],
            special: (49, 3),
        };
        assert_eq!(Work::of_product(&chain), predicted.product);
    }
}
