//! Many polynomials in few buffers.
//!
//! A query in the paper's layout has gigabytes of polynomials, which are written once, in place.

use bellerophon_ring::{Ntt, Poly, Ring};

use super::Params;

/// Limit on the bytes of a buffer, unless one polynomial is larger. It is below the size of a huge
/// page: fresh memory arrives sooner in small pages.
const BUFFER: usize = 1 << 20;

/// Polynomials of ciphertexts, stored one after the other with all their limbs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Each holds the limbs of up to `each` polynomials.
    buffers: Vec<Poly<Ntt>>,
    count: usize,
    limbs: usize,
    /// Polynomials per buffer.
    each: usize,
}

impl Block {
    /// `count` zero polynomials.
    pub(crate) fn zero(params: &Params, count: usize) -> Self {
        let (degree, limbs) = (params.degree(), params.limbs());
        let each = (BUFFER / (degree * limbs * size_of::<u64>())).max(1);
        // The last buffer may hold fewer.
        let here = |first: usize| (count - first).min(each);
        let buffers = (0..count).step_by(each);
        let buffers = buffers.map(|first| Poly::zero(degree, here(first) * limbs)).collect();
        Self { buffers, count, limbs, each }
    }

    /// The number of polynomials.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The limbs of polynomial `i`.
    pub(crate) fn row(&self, i: usize) -> &[u64] {
        let buffer = &self.buffers[i / self.each];
        let width = buffer.degree() * self.limbs;
        &buffer.data()[i % self.each * width..][..width]
    }

    /// A copy of polynomial `i`.
    pub(crate) fn poly(&self, i: usize) -> Poly<Ntt> {
        let first = i % self.each * self.limbs;
        self.buffers[i / self.each].limb_range(first..first + self.limbs)
    }

    /// The limbs of each polynomial, mutable.
    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let limbs = self.limbs;
        self.buffers.iter_mut().flat_map(move |buffer| {
            let width = buffer.degree() * limbs;
            buffer.data_mut().chunks_exact_mut(width)
        })
    }
}

/// `sum_i a_i b_i` of polynomials given by their limbs.
pub(crate) fn sum_of_products(ring: &Ring, pairs: &[(&[u64], &[u64])]) -> Poly<Ntt> {
    let (n, mut sum) = (ring.degree(), ring.zero());
    // Prime by prime: one call of the kernel sums all products, with few reductions.
    for limb in 0..ring.limbs() {
        let here = limb * n..(limb + 1) * n;
        let pairs: Vec<_> =
            pairs.iter().map(|(a, b)| (&a[here.clone()], &b[here.clone()])).collect();
        ring.table(limb).sum_of_products(sum.limb_mut(limb), &pairs);
    }
    sum
}
