//! Roots of unity and their powers in the order in which the transforms use them.

use crate::{Error, Modulus, Result, aligned::AlignedVec};

/// `x^((q-1) / order)` for the smallest quadratic non-residue `x`: a primitive `order`-th root of
/// unity modulo `q`; `order` is a power of two.
///
/// Roots of different orders fit together: that of `order / 2` is the square of that of `order`.
pub(crate) fn primitive_root(q: &Modulus, order: u64, degree: usize) -> Result<u64> {
    let no_root = Error::NoRoot { modulus: q.value(), order, degree };
    if q.value() % order != 1 {
        return Err(no_root);
    }
    // x^((q-1)/order) has order dividing `order`; it is primitive if its half power is -1.
    (2..q.value())
        .map(|x| q.pow(x, (q.value() - 1) / order))
        .find(|&r| q.pow(r, order / 2) == q.value() - 1)
        .ok_or(no_root)
}

/// Reverses the lowest `bits` bits of `i`.
pub(crate) fn bit_reverse(i: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) }
}

/// The factors of one direction of the transform.
///
/// They form a binary tree: node 1 is the first stage, the nodes `2^s .. 2^(s+1)` are the blocks
/// of stage `s`, and the children of node `i` are `2i` and `2i + 1`. The factor of node
/// `2^s + b` is `psi^(N / 2^(s+1) (2 rev_s(b) + 1))`, or its inverse for the inverse transform.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// `[value, companion]` by nodes; all of them, or without the last three stages if there is
    /// a tail.
    pub(crate) head: Vec<[u64; 2]>,
    /// The last three stages, 56 words for every 64 residues: lines of eight factors for the
    /// eight blocks of 8 in a tile, of which the first line holds the roots of the blocks, the
    /// next two their children, the last four their grandchildren.
    tail: AlignedVec,
    /// The companions, in the same order.
    tail_companions: AlignedVec,
}

/// Words of the tail for one tile of 64 residues.
const TAIL: usize = 56;

impl Roots {
    /// All factors for the primitive `2N`-th root `psi` (or its inverse), with companions
    /// `floor(w 2^bits / q)`. If the bits are fewer than 64 the tail holds companions only.
    pub(crate) fn new(q: &Modulus, psi: u64, degree: usize, bits: u32, tiled: bool) -> Self {
        let tree = bit_reversed_powers(q, psi, degree);
        let companion = |w: u64| (((w as u128) << bits) / q.value() as u128) as u64;
        let split = if tiled { degree / 8 } else { degree };
        let mut tail = AlignedVec::zeroed(if tiled { degree / 64 * TAIL } else { 0 });
        for (tile, words) in tail.chunks_exact_mut(TAIL).enumerate() {
            for (i, word) in words.iter_mut().enumerate() {
                let (line, lane) = (i / 8 + 1, i % 8);
                let level = line.ilog2();
                *word = tree[((split + 8 * tile + lane) << level) + line - (1 << level)];
            }
        }
        let mut tail_companions = tail.clone();
        tail_companions.iter_mut().for_each(|w| *w = companion(*w));
        if bits < 64 {
            tail = AlignedVec::default();
        }
        let head = tree[..split].iter().map(|&w| [w, companion(w)]).collect();
        Self { head, tail, tail_companions }
    }

    /// The tree of `R - 1` nodes under `node`, numbered from 1 in the same way.
    #[inline(always)]
    pub(crate) fn below<const R: usize>(&self, node: usize) -> [[u64; 2]; R] {
        let mut factors = [[0; 2]; R];
        for (i, factor) in factors.iter_mut().enumerate().skip(1) {
            let level = i.ilog2();
            *factor = self.head[(node << level) + i - (1 << level)];
        }
        factors
    }

    /// The node of the first tile of 64 residues; the others follow.
    #[inline(always)]
    pub(crate) fn first_tile(&self) -> usize {
        self.head.len() / 8
    }

    /// The tail of a tile: factors (none if only companions are kept) and companions.
    #[inline(always)]
    pub(crate) fn tail(&self, tile: usize) -> (&[u64], &[u64]) {
        let words = tile * TAIL..(tile + 1) * TAIL;
        (self.tail.get(words.clone()).unwrap_or_default(), &self.tail_companions[words])
    }
}

/// The exponent of `psi` at every position of a transformed polynomial.
pub(crate) fn exponents(degree: usize, tiled: bool) -> impl Iterator<Item = u32> {
    let bits = degree.trailing_zeros();
    (0..degree).map(move |i| {
        let transposed = if tiled { i & !63 | (i & 7) << 3 | i >> 3 & 7 } else { i };
        2 * bit_reverse(transposed, bits) as u32 + 1
    })
}

/// `[root^bit_reverse(0), root^bit_reverse(1), ...]`, `degree` powers.
fn bit_reversed_powers(q: &Modulus, root: u64, degree: usize) -> Vec<u64> {
    let bits = degree.trailing_zeros();
    let mut powers = vec![0; degree];
    let mut power = 1;
    for i in 0..degree {
        powers[bit_reverse(i, bits)] = power;
        power = q.mul(power, root);
    }
    powers
}
