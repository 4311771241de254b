//! Many polynomials in one buffer.
//!
//! A query of the paper's form has gigabytes of them. One by one they would stand on small pages, whose
//! first touch takes a third of the time of encryption; large buffers stand on huge ones.

use bellerophon_ring::{Ntt, Poly, Ring};

use super::Params;

/// Polynomials of ciphertexts, all limbs of one after those of the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// The limbs of all.
    data: Poly<Ntt>,
    /// Words of one.
    width: usize,
}

impl Block {
    /// So many zeros.
    pub(crate) fn zero(params: &Params, count: usize) -> Self {
        let (degree, limbs) = (params.degree(), params.limbs());
        Self { data: Poly::zero(degree, count * limbs), width: degree * limbs }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.data.data().len() / self.width
    }

    /// The limbs of polynomial `i`.
    pub(crate) fn row(&self, i: usize) -> &[u64] {
        &self.data.data()[i * self.width..][..self.width]
    }

    /// A copy of polynomial `i`.
    pub(crate) fn poly(&self, i: usize) -> Poly<Ntt> {
        let limbs = self.width / self.data.degree();
        self.data.limb_range(i * limbs..(i + 1) * limbs)
    }

    /// The limbs of each, to be written.
    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        self.data.data_mut().chunks_exact_mut(self.width)
    }
}

/// `sum_i a_i b_i` of polynomials given by their limbs.
pub(crate) fn sum_of_products(ring: &Ring, pairs: &[(&[u64], &[u64])]) -> Poly<Ntt> {
    let (n, mut sum) = (ring.degree(), ring.zero());
    for limb in 0..ring.limbs() {
        let here = limb * n..(limb + 1) * n;
        let pairs: Vec<_> =
            pairs.iter().map(|(a, b)| (&a[here.clone()], &b[here.clone()])).collect();
        ring.table(limb).sum_of_products(sum.limb_mut(limb), &pairs);
    }
    sum
}
