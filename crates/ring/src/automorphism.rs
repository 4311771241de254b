//! The automorphisms `X -> X^g` of `Z[X] / (X^N + 1)`, `g` odd.

use crate::backend::{self, Permutation};
use crate::error::ensure;
use crate::error::{self, Result};
use crate::par::CHEAP;
use crate::poly::{Coeff, Ntt, Poly};
use crate::ring::Ring;

/// `X -> X^g`, with its index map in the order of the transform.
#[derive(Debug, Clone)]
pub struct Automorphism {
    exponent: usize,
    /// `g^-1` modulo `2N`.
    inverse: u32,
    /// The source of each position of the image in NTT form.
    pub(crate) ntt_map: Permutation,
}

impl Automorphism {
    /// Prepares `X -> X^exponent` for polynomials of the ring. The exponent is taken modulo `2N`.
    fn new(ring: &Ring, exponent: usize) -> Result<Self> {
        let order = 2 * ring.degree();
        // X has order 2N, and only odd exponents give automorphisms.
        let exponent = exponent % order;
        ensure(!exponent.is_multiple_of(2), || error::even_exponent(exponent as u64))?;
        let exponents = ring.table(0).exponents();
        let mut position = vec![0u32; order];
        for (i, &e) in exponents.iter().enumerate() {
            position[e as usize] = i as u32;
        }
        // a(X^g) at psi^e is a at psi^(g e).
        let places = exponents.iter().map(|&e| position[e as usize * exponent % order]).collect();
        let ntt_map = Permutation::new(places);
        // Newton's iteration modulo 2^32. g itself is correct to three bits.
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

impl Ring {
    /// Prepares `X -> X^exponent`. The exponent is odd and taken modulo `2N`.
    pub fn automorphism(&self, exponent: usize) -> Result<Automorphism> {
        Automorphism::new(self, exponent)
    }

    /// `a(X^g)` of a polynomial in NTT form: a permutation of its values.
    pub fn apply_ntt(&self, a: &Poly<Ntt>, map: &Automorphism) -> Poly<Ntt> {
        let mut image = self.uninit();
        self.apply_ntt_into(&mut image, a, map);
        image
    }

    /// As [`apply_ntt`](Self::apply_ntt), into an existing polynomial.
    pub fn apply_ntt_into(&self, image: &mut Poly<Ntt>, a: &Poly<Ntt>, map: &Automorphism) {
        self.check(a);
        self.each(image, CHEAP, |table, i, limb| {
            backend::permute(table, limb, a.limb(i), &map.ntt_map);
        });
    }

    /// `a(X^g)` of a polynomial in coefficient form: a signed permutation of its coefficients.
    pub fn apply_coeff(&self, a: &Poly<Coeff>, map: &Automorphism) -> Poly<Coeff> {
        self.check(a);
        let mut image = self.uninit();
        self.each(&mut image, CHEAP, |table, i, limb| {
            backend::permute_signed(table, limb, a.limb(i), map.inverse);
        });
        image
    }
}
