//! Base conversions, fused with the first pass of the forward transform.

use std::ops::Range;

use super::{
    Ifma, MAX_BITS, NEVER, arithmetic, every, is_lazy, lazy_headroom, weighted_sum, with_every,
};
use crate::backend::{Blocks, RowKind, Target, WeightedRows, ntt_first_pass, ntt_sources};
use crate::modulus::Modulus;
use crate::ntt::NttTable;

/// Processes two primes at a time.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn first_pass(
    targets: &mut [Target],
    blocks: Blocks,
    steps: &Range<usize>,
    rows: RowKind,
) {
    let (pairs, rest) = targets.as_chunks_mut::<2>();
    for pair in pairs {
        first_pass_of(pair, blocks, steps, rows);
    }
    for target in rest.as_chunks_mut::<1>().0 {
        first_pass_of(target, blocks, steps, rows);
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn first_pass_of<const T: usize>(
    targets: &mut [Target; T],
    blocks: Blocks,
    steps: &Range<usize>,
    rows: RowKind,
) {
    // Step 1: the arithmetic of every target.
    // SAFETY: this function has the target features.
    let mut f = [unsafe { arithmetic(targets[0].table) }; T];
    for t in 1..T {
        // SAFETY: as above.
        f[t] = unsafe { arithmetic(targets[t].table) };
    }
    let stages =
        |table: &_, residues: &_, out: &mut _, step| first_stages(table, residues, out, step);
    // Step 2: the cheapest source that fits the rows: sums reduced apart, sums with words, sums of
    // residues, or one centred row of words or of residues.
    match rows {
        RowKind::Several(bits) if !targets.iter().all(|target| fits(target.table, bits)) => {
            let kernel = |table: &_, out: &mut _, sum: WeightedRows| weighted_sum(table, out, sum);
            let source = ntt_sources::Reduced::new(targets, bits, kernel);
            ntt_first_pass::first_pass(targets, blocks, steps, source, stages);
        }
        RowKind::Several(bits) if bits.iter().any(|&bits| bits > MAX_BITS) => {
            let source = ntt_sources::Sum::<_, true, T, 4>::new(f, targets, bits);
            ntt_first_pass::first_pass(targets, blocks, steps, source, stages);
        }
        RowKind::Several(bits) => {
            let source = ntt_sources::Sum::<_, false, T, 4>::new(f, targets, bits);
            ntt_first_pass::first_pass(targets, blocks, steps, source, stages);
        }
        RowKind::One(p) if p > 1 << 52 => {
            let source = ntt_sources::Centered::<_, true, T>::new(f, targets, p);
            ntt_first_pass::first_pass(targets, blocks, steps, source, stages);
        }
        RowKind::One(p) => {
            let source = ntt_sources::Centered::<_, false, T>::new(f, targets, p);
            ntt_first_pass::first_pass(targets, blocks, steps, source, stages);
        }
    }
}

/// [`ntt_first_pass::first_stages`], compiled once for all sources of residues.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
fn first_stages(
    table: &NttTable,
    residues: &ntt_first_pass::Residues,
    out: &mut [u64],
    step: usize,
) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt_first_pass::first_stages(f, table, residues, out, step);
    });
}

/// Whether a sum of rows with these bits times weights fits one reduction. Montgomery reduction
/// adds less than `q` to its high part. The carry from the low part and the quotients add less than
/// `2^8`, which is below `q` for all degrees that are not scalar. Otherwise the first stage accepts
/// every lane below `2^52`.
fn fits(table: &NttTable, bits: &[u32]) -> bool {
    let q = table.modulus();
    let high: u64 = bits.iter().map(|&bits| high_part(bits, q)).sum();
    let most = if is_lazy(table) { lazy_headroom(table) } else { 1 << 52 };
    high < (1 << 52) - (1 << 48) - (1 << q.bits()) && high + 2 * q.value() <= most
}

/// Upper bound on what the product of a residue with these bits and a weight below `q` adds to the
/// high part of a sum. Residues above [`MAX_BITS`] enter as words.
fn high_part(bits: u32, q: &Modulus) -> u64 {
    if bits > MAX_BITS {
        (1 << q.bits()) + (1 << 10)
    } else {
        1 << (bits + q.bits()).saturating_sub(52)
    }
}
