//! Arithmetic of single limbs for loops that own their scratch and must not allocate.
//!
//! Slices have `N` words, residues lie in `[0, q)`. [`crate::Ring`] is the same for whole
//! polynomials.

use crate::{Modulus, NttTable, backend};

impl NttTable {
    /// `a += b`.
    pub fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        self.check_limbs(a, b);
        backend::add_assign(self, a, b);
    }

    /// `a = (a - b) * w` for a constant `w` in `[0, q)`.
    pub fn sub_mul_constant(&self, a: &mut [u64], b: &[u64], w: u64) {
        self.check_limbs(a, b);
        assert!(w < self.modulus().value(), "a reduced constant");
        backend::sub_mul_constant(self, a, b, w);
    }

    /// `out = a mod q` for residues of another prime, centred there first: `a` in `[0, p)` stands
    /// for the integer in `[-(p - 1) / 2, (p - 1) / 2]`.
    pub fn reduce_centered(&self, out: &mut [u64], a: &[u64], p: &Modulus) {
        self.check_limbs(out, a);
        backend::reduce_centered(self, out, a, p);
    }

    fn check_limbs(&self, a: &[u64], b: &[u64]) {
        assert!(
            a.len() == self.degree() && b.len() == self.degree(),
            "limbs of {} and {} words for a table of degree {}",
            a.len(),
            b.len(),
            self.degree()
        );
    }
}
