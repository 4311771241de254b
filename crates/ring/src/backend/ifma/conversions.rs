//! Conversions from other primes, and the first half of their transforms.

use std::ops::Range;

use super::{Ifma, MAX_BITS, NEVER, every, lazy_room, weighted_sum};
use crate::{
    Modulus, NttTable,
    backend::{Blocks, RowKind, Target, WeightedRows, outer, transform},
};

/// Two primes at a time where they have the same arithmetic.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn forward_outer(
    targets: &mut [Target],
    blocks: (Blocks, &Range<usize>),
    rows: RowKind,
) {
    let of = |target: &Target| every(target.table);
    for targets in targets.chunk_by_mut(|a, b| of(a) == of(b)) {
        // SAFETY: this function has the target features.
        unsafe {
            match of(&targets[0]) {
                NEVER => in_pairs::<NEVER>(targets, blocks, rows),
                3 => in_pairs::<3>(targets, blocks, rows),
                _ => in_pairs::<1>(targets, blocks, rows),
            }
        }
    }
}

/// # Safety
/// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
#[inline(always)]
unsafe fn in_pairs<const EVERY: u32>(
    targets: &mut [Target],
    blocks: (Blocks, &Range<usize>),
    rows: RowKind,
) {
    let (pairs, rest) = targets.as_chunks_mut::<2>();
    // SAFETY: demanded of the caller.
    unsafe {
        for pair in pairs {
            forward_outer_of::<EVERY, 2>(pair, blocks, rows);
        }
        for target in rest.as_chunks_mut().0 {
            forward_outer_of::<EVERY, 1>(target, blocks, rows);
        }
    }
}

/// # Safety
/// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
#[inline(always)]
unsafe fn arithmetics<const EVERY: u32, const T: usize>(targets: &[Target; T]) -> [Ifma<EVERY>; T] {
    // SAFETY: demanded of the caller.
    unsafe {
        let mut all = [Ifma::new(targets[0].table.modulus()); T];
        for t in 1..T {
            all[t] = Ifma::new(targets[t].table.modulus());
        }
        all
    }
}

/// # Safety
/// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
#[inline(always)]
unsafe fn forward_outer_of<const EVERY: u32, const T: usize>(
    targets: &mut [Target; T],
    blocks: (Blocks, &Range<usize>),
    rows: RowKind,
) {
    // SAFETY: demanded of the caller.
    unsafe {
        let f = arithmetics::<EVERY, T>(targets);
        match rows {
            RowKind::Several(bits) => {
                let words = bits.iter().any(|&bits| bits > MAX_BITS);
                if !targets.iter().all(|target| fits::<EVERY>(target.table, bits)) {
                    one_after_the_other(f, targets, blocks, bits);
                } else if words {
                    let source = outer::Sum::<_, true, T, 4>::new(f, targets, bits);
                    outer::forward_outer_from(f, targets, blocks, source);
                } else {
                    let source = outer::Sum::<_, false, T, 4>::new(f, targets, bits);
                    outer::forward_outer_from(f, targets, blocks, source);
                }
            }
            RowKind::One(p) if p > 1 << 52 => {
                let source = outer::Centered::<_, true, T>::new(f, targets, p);
                outer::forward_outer_from(f, targets, blocks, source);
            }
            RowKind::One(p) => {
                let source = outer::Centered::<_, false, T>::new(f, targets, p);
                outer::forward_outer_from(f, targets, blocks, source);
            }
        }
    }
}

/// Sums that cannot be reduced at once, then their transforms.
///
/// # Safety
/// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
#[inline(always)]
unsafe fn one_after_the_other<const EVERY: u32, const T: usize>(
    f: [Ifma<EVERY>; T],
    targets: &mut [Target; T],
    (blocks, steps): (Blocks, &Range<usize>),
    bits: &[u32],
) {
    // SAFETY: demanded of the caller.
    let kernel =
        |table: &_, out: &mut _, sum: WeightedRows| unsafe { weighted_sum(table, out, sum) };
    for (f, target) in f.into_iter().zip(targets) {
        blocks.weighted_sums(steps, target, bits, kernel);
        if steps.end == blocks.layout.steps() {
            transform::forward_outer(f, target.table, target.out);
        }
    }
}

/// Whether a sum of rows of so many bits times weights can be reduced at once: Montgomery's reduction
/// adds less than `q` to its high part, the carry from the low part and the quotients less than `2^8`,
/// and `q` is larger than that where transforms are not scalar. Otherwise the first stage takes
/// every lane below `2^52`.
fn fits<const EVERY: u32>(table: &NttTable, bits: &[u32]) -> bool {
    let q = table.modulus();
    let high: u64 = bits.iter().map(|&bits| high_part(bits, q)).sum();
    let most = if EVERY == NEVER { lazy_room(table) } else { 1 << 52 };
    high < (1 << 52) - (1 << 48) - (1 << q.bits()) && high + 2 * q.value() <= most
}

/// What the product of a residue of so many bits and a weight below `q` adds to the high part of a
/// sum at most; residues beyond [`MAX_BITS`] enter as words.
fn high_part(bits: u32, q: &Modulus) -> u64 {
    if bits > MAX_BITS {
        (1 << q.bits()) + (1 << 10)
    } else {
        1 << (bits + q.bits()).saturating_sub(52)
    }
}
