//! The first half of forward transforms, fused with base conversion: residues are computed from
//! [`Blocks`] when they are needed, for `T` primes at a time.

use std::ops::Range;

use super::{
    Blocks, Target,
    ntt::{below, forward_stages, split_rows, start},
    ntt_layout::{BURST, strands},
    pointwise::lines_mut,
    simd::{Arithmetic, Line, Wide},
};
use crate::ntt::NttTable;

/// Residues of one prime: at least as many bursts as the first pass has rows.
pub(super) type Residues = [[Line; BURST]; 8];

/// Computes residues of `T` primes from a block.
pub(super) trait Source<const T: usize> {
    /// Writes burst `r` of each prime, as inputs of [`Arithmetic::start_forward`]. Prefetches
    /// `ahead`, a later block or nothing.
    fn write(&self, block: &[u64], ahead: &[u64], r: usize, out: &mut [Residues; T]);
}

/// Number of blocks by which they are prefetched.
const AHEAD: usize = 16;

/// The residues of one step of the first pass, aligned to a cache line.
#[repr(align(64))]
struct StepBuffer<const T: usize>([Residues; T]);

/// Some steps of the first pass over the whole polynomials, each on residues in cache. `stages` is
/// [`first_stages`].
#[inline(always)]
pub(super) fn first_pass<const T: usize>(
    targets: &mut [Target; T],
    blocks: Blocks,
    steps: &Range<usize>,
    source: impl Source<T>,
    stages: impl Fn(&NttTable, &Residues, &mut [u64], usize),
) {
    // All targets have the layout of the blocks.
    let (stride, strands) = (blocks.layout.stride(), strands(targets[0].table.degree()));
    let mut residues = StepBuffer([[[[0; 8]; BURST]; 8]; T]);
    let data = &blocks.data[strands * stride * steps.start..];
    let mut ahead = data.get(AHEAD * stride..).unwrap_or_default().chunks_exact(stride);
    for (i, blocks) in steps.clone().zip(data.chunks_exact(strands * stride)) {
        // Convert one block per strand, then run the stages of each prime on the result.
        for (r, block) in blocks.chunks_exact(stride).enumerate() {
            source.write(block, ahead.next().unwrap_or_default(), r, &mut residues.0);
        }
        for (target, residues) in targets.iter_mut().zip(&residues.0) {
            stages(target.table, residues, target.out, i);
        }
    }
    // Wipe the residues, which may depend on a secret.
    residues = StepBuffer([[[[0; 8]; BURST]; 8]; T]);
    zeroize::optimization_barrier(&residues);
}

/// The stages of one step of the first pass.
#[inline(always)]
pub(super) fn first_stages<A: Arithmetic>(
    f: A,
    table: &NttTable,
    residues: &Residues,
    out: &mut [u64],
    step: usize,
) {
    match strands(table.degree()) {
        1 => stages_of_rows::<A, 1>(f, table, residues, out, step),
        2 => stages_of_rows::<A, 2>(f, table, residues, out, step),
        4 => stages_of_rows::<A, 4>(f, table, residues, out, step),
        _ => stages_of_rows::<A, 8>(f, table, residues, out, step),
    }
}

/// `log2(R)` stages on rows that are `1 / R` of the polynomial apart.
#[inline(always)]
fn stages_of_rows<A: Arithmetic, const R: usize>(
    f: A,
    table: &NttTable,
    residues: &Residues,
    out: &mut [u64],
    step: usize,
) {
    let factors = below::<R>(&table.forward_roots, 1);
    let rows = split_rows::<R>(lines_mut(out));
    for k in 0..BURST {
        let mut x = [f.wide().splat(0); R];
        for (x, residues) in x.iter_mut().zip(residues) {
            *x = f.wide().load(&residues[k]);
        }
        // A single row is copied: all stages are those of a piece.
        if R > 1 {
            start(f, &mut x);
            forward_stages(f, &mut x, 1, &factors);
        }
        for r in 0..R {
            f.wide().store(x[r], &mut rows[r][BURST * step + k]);
        }
    }
}
