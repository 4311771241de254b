//! Roots of unity and their powers in the order in which the transforms use them.

use std::{ops::Range, sync::Arc};

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

/// Eight words: a cache line.
pub(crate) type Line = [u64; 8];

/// Lines of companions in the record of a tile.
pub(crate) const RECORD: usize = 9;

/// The factors of one direction of the transform.
///
/// They form a binary tree: node 1 is the first stage, the nodes `2^s .. 2^(s+1)` are the blocks
/// of stage `s`, and the children of node `i` are `2i` and `2i + 1`. The factor of node
/// `2^s + b` is `psi^(N / 2^(s+1) (2 rev_s(b) + 1))`, or its inverse for the inverse transform.
/// Its companion for Shoup products is `floor(w 2^bits / q)`.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// `[value, companion]` by nodes; without the last five stages if there are tiles.
    pub(crate) head: Vec<[u64; 2]>,
    /// A record for every 64 residues, see [`Self::records`], and where they stand.
    memory: Arc<AlignedVec>,
    range: Range<usize>,
    /// Lines of a record.
    lines: usize,
}

impl Roots {
    /// All factors for the primitive `2N`-th root `psi` (or its inverse). With 52 bits the
    /// records hold companions only.
    pub(crate) fn new(q: &Modulus, psi: u64, degree: usize, bits: u32, tiled: bool) -> Self {
        let tree = bit_reversed_powers(q, psi, degree);
        let companion = |w: u64| (((w as u128) << bits) / q.value() as u128) as u64;
        if !tiled {
            let head = tree.iter().map(|&w| [w, companion(w)]).collect();
            return Self { head, memory: Arc::default(), range: 0..0, lines: 0 };
        }
        let lines = if bits == 52 { RECORD } else { 2 * RECORD };
        let tiles = degree / 64;
        let mut records = AlignedVec::zeroed(tiles * lines * 8);
        for (tile, record) in records.chunks_exact_mut(8 * lines).enumerate() {
            let (companions, values) = record.split_at_mut(8 * RECORD);
            for (i, word) in companions.iter_mut().enumerate() {
                // The node of the whole tree for this line and lane.
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
        let head = tree[..2 * tiles].iter().map(|&w| [w, companion(w)]).collect();
        Self { head, range: 0..records.len(), memory: Arc::new(records), lines }
    }

    /// Brings the records of some transforms to one memory, which stands on huge pages if it is large
    /// enough: those of a key switch are more than the translations of small pages that processors
    /// keep.
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
    /// companions, then as many lines of values unless the companions have 52 bits, from which
    /// the values follow.
    ///
    /// Line 0 holds the two factors of the first of these stages, each in four lanes, line 1 the
    /// four of the second, each in two lanes. Line `1 + n` for `n = 1..8` holds node `n` in the
    /// eight trees of the last three stages, one lane for each tree.
    #[inline(always)]
    pub(crate) fn records<const LINES: usize>(&self) -> &[[Line; LINES]] {
        debug_assert_eq!(LINES, self.lines);
        self.memory[self.range.clone()].as_chunks().0.as_chunks().0
    }

    /// Whether the last six stages are stored, and run, by tiles.
    pub(crate) fn is_tiled(&self) -> bool {
        self.lines > 0
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
