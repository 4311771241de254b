//! The automorphisms `X -> X^g`, `g` odd, of `Z[X] / (X^N + 1)`.

use crate::{Error, Result, Ring};

/// `X -> X^g` with its index map in the order of the transform.
#[derive(Debug, Clone)]
pub struct Automorphism {
    exponent: usize,
    /// `g^-1` modulo `2N`.
    pub(crate) inverse: u32,
    /// Position `i` of the image in NTT form comes from position `ntt_map[i]`.
    pub(crate) ntt_map: Vec<u32>,
}

impl Automorphism {
    /// Prepares `X -> X^exponent` for polynomials of the ring; the exponent counts modulo `2N`.
    pub(crate) fn new(ring: &Ring, exponent: usize) -> Result<Self> {
        let order = 2 * ring.degree();
        let exponent = exponent % order;
        if exponent.is_multiple_of(2) {
            return Err(Error::EvenExponent { exponent: exponent as u64 });
        }
        let exponents = ring.table(0).exponents();
        let mut position = vec![0u32; order];
        for (i, &e) in exponents.iter().enumerate() {
            position[e as usize] = i as u32;
        }
        // a(X^g) at psi^e is a at psi^(g e).
        let ntt_map = exponents.iter().map(|&e| position[e as usize * exponent % order]).collect();
        // Newton's iteration modulo 2^32: g itself inverts three bits.
        let g = exponent as u32;
        let step = |x: u32| x.wrapping_mul(2u32.wrapping_sub(g.wrapping_mul(x)));
        let inverse = step(step(step(step(g)))) & (order - 1) as u32;
        Ok(Self { exponent, inverse, ntt_map })
    }

    /// The exponent `g` in `[1, 2N)`.
    pub fn exponent(&self) -> usize {
        self.exponent
    }
}
