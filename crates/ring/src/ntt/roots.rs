//! Roots of unity and their powers, in the order of use in the transforms.

use std::{ops::Range, sync::Arc};

use crate::aligned::AlignedVec;
use crate::backend::Backend;
use crate::error::{self, Result};
use crate::modulus::Modulus;

/// A primitive `order`-th root of unity modulo `q`, for `order` a power of two: `x^((q-1) / order)`
/// for the smallest quadratic non-residue `x`.
///
/// Roots of different orders are consistent: the root of `order / 2` is the square of the root of
/// `order`.
pub(crate) fn primitive_root(q: &Modulus, order: u64, degree: usize) -> Result<u64> {
    let no_root = error::no_root(q.value(), order, degree);
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

/// Eight words: a cache line.
pub(crate) type Line = [u64; 8];

/// Lines of companions in the record of one tile.
pub(crate) const RECORD: usize = 9;

/// The factors of one direction of the transform.
///
/// They form a binary tree. Node 1 is the first stage, the nodes `2^s .. 2^(s+1)` are the blocks of
/// stage `s`, and the children of node `i` are `2i` and `2i + 1`. The factor of node `2^s + b` is
/// `psi^(N / 2^(s+1) (2 rev_s(b) + 1))`, or its inverse for the inverse transform. Its companion
/// is the one of the back end, see [`Backend::transform_companion`].
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// `[value, companion]` by node. With tiles, the last five stages are left out.
    pub(crate) head: Vec<[u64; 2]>,
    /// One record per 64 residues, see [`Self::records`]. `range` is their place in the memory.
    memory: Arc<AlignedVec>,
    range: Range<usize>,
    /// Lines per record.
    lines: usize,
}

impl Roots {
    /// All factors for the primitive `2N`-th root `psi` (or its inverse), for transforms on this
    /// back end.
    pub(crate) fn new(q: &Modulus, psi: u64, degree: usize, backend: Backend, tiled: bool) -> Self {
        // Step 1: the tree, in bit-reversed order of the exponents.
        let tree = bit_reversed_powers(q, psi, degree);
        let companion = |w| backend.transform_companion(q, w);
        // Step 2: small degrees have no tiles and keep the whole tree.
        if !tiled {
            let head = tree.iter().map(|&w| [w, companion(w)]).collect();
            return Self { head, memory: Arc::default(), range: 0..0, lines: 0 };
        }
        // Step 3: the factors of the last five stages, one record per tile.
        let lines = if backend.companions_suffice() { RECORD } else { 2 * RECORD };
        let tiles = degree / 64;
        let mut records = AlignedVec::zeroed(tiles * lines * 8);
        for (tile, record) in records.chunks_exact_mut(8 * lines).enumerate() {
            let (companions, values) = record.split_at_mut(8 * RECORD);
            for (i, word) in companions.iter_mut().enumerate() {
                // The node of the whole tree for this line and lane, see `records`.
                let (line, lane) = (i / 8, i % 8);
                let node = match line {
                    0 => 2 * (tiles + tile) + lane / 4,
                    1 => 4 * (tiles + tile) + lane / 2,
                    _ => {
                        let (root, below) = (8 * (tiles + tile) + lane, line - 1);
                        let level = below.ilog2();
                        (root << level) + below - (1 << level)
                    }
                };
                *word = companion(tree[node]);
                if let Some(value) = values.get_mut(i) {
                    *value = tree[node];
                }
            }
        }
        // Step 4: the factors of the stages above the tiles.
        let head = tree[..2 * tiles].iter().map(|&w| [w, companion(w)]).collect();
        Self { head, range: 0..records.len(), memory: Arc::new(records), lines }
    }

    /// Moves the records of several transforms into one allocation, which uses huge pages if it is
    /// large enough. The records of a key switch span more small pages than the TLB holds.
    pub(crate) fn gather<'a>(all: impl Iterator<Item = &'a mut Self>) {
        let mut all: Vec<&mut Self> = all.collect();
        let mut memory = AlignedVec::zeroed(all.iter().map(|roots| roots.range.len()).sum());
        let mut ranges = Vec::with_capacity(all.len());
        let mut start = 0;
        for roots in &mut all {
            let range = start..start + roots.range.len();
            memory[range.clone()].copy_from_slice(&roots.memory[roots.range.clone()]);
            roots.memory = Arc::default();
            start = range.end;
            ranges.push(range);
        }
        let memory = Arc::new(memory);
        for (roots, range) in all.into_iter().zip(ranges) {
            (roots.memory, roots.range) = (memory.clone(), range);
        }
    }

    /// The factors of the last five stages for the 64 residues of each tile: [`RECORD`] lines of
    /// companions, then as many lines of values, unless
    /// [the companions suffice](Backend::companions_suffice).
    ///
    /// Line 0 holds the two factors of the first of these stages, each in four lanes. Line 1 holds
    /// the four factors of the second, each in two lanes. Line `1 + n` for `n = 1..8` holds node
    /// `n` of the eight trees of the last three stages, one lane per tree.
    #[inline(always)]
    pub(crate) fn records<const LINES: usize>(&self) -> &[[Line; LINES]] {
        debug_assert_eq!(LINES, self.lines);
        self.memory[self.range.clone()].as_chunks().0.as_chunks().0
    }

    /// Whether the last six stages are stored, and computed, by tiles.
    pub(crate) fn is_tiled(&self) -> bool {
        self.lines > 0
    }
}

/// The exponent of `psi` at each position of a transformed polynomial.
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
