//! Modulus switch: between primes, and to the exponents `Z_2N` of a blind rotation.

use bellerophon_ring::{Modulus, Result};

use crate::ciphertext::Ciphertext;
use crate::error;

/// `round(x to / from)` for `x` in `[0, from)`. Ties round up; odd moduli have none.
fn scale(x: u64, from: u64, to: u64) -> u64 {
    let (product, from) = (x as u128 * to as u128, from as u128);
    ((2 * product + from) / (2 * from)) as u64
}

/// Switches a ciphertext to another prime modulus: every coordinate is scaled by `to / from` and
/// rounded. The rounding adds noise of variance `(|s|^2 + 1) / 12`
/// ([`noise::modulus_switch`](crate::noise::modulus_switch)).
pub fn switch_modulus(ciphertext: &Ciphertext, to: &Modulus) -> Ciphertext {
    let from = ciphertext.modulus().value();
    // A residue just below `from` can round up to `to`, which is 0 modulo `to`.
    let convert = |x: u64| to.reduce(scale(x, from, to.value()));
    let a = ciphertext.a().iter().map(|&x| convert(x)).collect();
    Ciphertext::new(*to, convert(ciphertext.b()), a).expect("residues are reduced")
}

/// An LWE ciphertext modulo `2N`: the exponents of a blind rotation (PEGASUS, Fig. 2, line 2). The
/// paper prints exponents modulo `N`; they are modulo `2N`.
#[derive(Clone, PartialEq, Eq)]
pub struct Mod2NCiphertext {
    order: usize,
    b: u32,
    a: Vec<u32>,
}

/// Shape only, as for [`Ciphertext`].
impl std::fmt::Debug for Mod2NCiphertext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mod2NCiphertext")
            .field("order", &self.order)
            .field("dimension", &self.a.len())
            .finish_non_exhaustive()
    }
}

impl Mod2NCiphertext {
    /// Switches an LWE ciphertext to `Z_2N`, where `N` is the ring degree of the test polynomials,
    /// with the mask rounded to multiples of `grid`, a power of two.
    pub(crate) fn on_grid(ciphertext: &Ciphertext, ring_degree: usize, grid: u32) -> Result<Self> {
        if !ring_degree.is_power_of_two() || ring_degree > 1 << 30 {
            return Err(error::parameter(
                "ring_degree",
                ring_degree.to_string(),
                "a power of two up to 2^30".into(),
            ));
        }
        // The mask is rounded to 2N / grid and multiplied by the grid. Rounding can reach the
        // modulus, which the bit mask reduces to 0.
        let order = 2 * ring_degree;
        let from = ciphertext.modulus().value();
        let convert = |x: u64, order: u64| (scale(x, from, order) & (order - 1)) as u32;
        let coarse = (order as u64) / grid as u64;
        let a = ciphertext.a().iter().map(|&x| convert(x, coarse) * grid).collect();
        Ok(Self { order, b: convert(ciphertext.b(), order as u64), a })
    }

    /// The modulus `2N` of the exponents.
    pub(crate) fn order(&self) -> usize {
        self.order
    }

    /// The rounded body in `[0, 2N)`.
    pub(crate) fn b(&self) -> u32 {
        self.b
    }

    /// The rounded mask, in `[0, 2N)`.
    pub(crate) fn a(&self) -> &[u32] {
        &self.a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounds_to_nearest_at_every_border() {
        let q = Modulus::new(10007).unwrap();
        for phase in 0..10007u64 {
            let value = Ciphertext::new(q, phase, vec![phase]).unwrap();
            let exponents = Mod2NCiphertext::on_grid(&value, 64, 1).unwrap();
            let exact = phase as f64 * 128.0 / 10007.0;
            let nearest = exact.round() as u32 % 128;
            assert_eq!((exponents.b(), exponents.a()[0]), (nearest, nearest), "{phase}");
            let coarse = Mod2NCiphertext::on_grid(&value, 64, 2).unwrap();
            let even = 2 * ((exact / 2.0).round() as u32 % 64);
            assert_eq!((coarse.b(), coarse.a()[0]), (nearest, even), "{phase}");
        }
        let value = Ciphertext::trivial(q, 1, 0);
        assert!(Mod2NCiphertext::on_grid(&value, 48, 1).is_err());
    }

    proptest! {
        #[test]
        fn prime_to_prime_keeps_the_fraction(x in 0u64..(1 << 45) - 229, i in 0usize..3) {
            let from = Modulus::new((1 << 45) - 229).unwrap();
            let to = Modulus::new([(1 << 28) - 57, (1 << 50) - 27, 17][i]).unwrap();
            let value = Ciphertext::new(from, x, vec![0, x]).unwrap();
            let switched = switch_modulus(&value, &to);
            let exact = x as f64 / from.value() as f64 * to.value() as f64;
            let error = (exact - switched.b() as f64).abs();
            let error = error.min(to.value() as f64 - error);
            prop_assert!(error <= 0.5 + 1e-15 * to.value() as f64, "{error}");
            prop_assert_eq!(switched.a()[0], 0);
            prop_assert_eq!(switched.a()[1], switched.b());
        }
    }
}
