//! Conversions from other primes, and the first half of their transforms.

use std::ops::Range;

use super::{Ifma, MAX_BITS, is_lazy, lazy_room, weighted_sum};
use crate::{
    Modulus, NttTable,
    backend::{Blocks, RowKind, Target, WeightedRows, outer, transform},
};

/// Two primes at a time where they have the same arithmetic.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::backend) fn forward_outer(
    targets: &mut [Target],
    blocks: (Blocks, &Range<usize>),
    rows: RowKind,
) {
    let lazy = |target: &Target| is_lazy(target.table);
    for targets in targets.chunk_by_mut(|a, b| lazy(a) == lazy(b)) {
        let lazy = lazy(&targets[0]);
        let (pairs, rest) = targets.as_chunks_mut::<2>();
        // SAFETY: this function has the target features.
        unsafe {
            for pair in pairs {
                match lazy {
                    true => forward_outer_of::<true, 2>(pair, blocks, rows),
                    false => forward_outer_of::<false, 2>(pair, blocks, rows),
                }
            }
            for target in rest.as_chunks_mut().0 {
                match lazy {
                    true => forward_outer_of::<true, 1>(target, blocks, rows),
                    false => forward_outer_of::<false, 1>(target, blocks, rows),
                }
            }
        }
    }
}

/// # Safety
/// The CPU must have AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn arithmetics<const LAZY: bool, const T: usize>(targets: &[Target; T]) -> [Ifma<LAZY>; T] {
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
/// The CPU must have AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn forward_outer_of<const LAZY: bool, const T: usize>(
    targets: &mut [Target; T],
    blocks: (Blocks, &Range<usize>),
    rows: RowKind,
) {
    // SAFETY: demanded of the caller.
    unsafe {
        let f = arithmetics::<LAZY, T>(targets);
        match rows {
            RowKind::Several(bits) => {
                let words = bits.iter().any(|&bits| bits > MAX_BITS);
                if !targets.iter().all(|target| fits::<LAZY>(target.table, bits)) {
                    one_after_the_other(f, targets, blocks, bits);
                } else if words {
                    let source = outer::Sum::<_, true, T, 4>::new(f, targets, bits);
                    outer::forward_outer_from(f, targets, blocks, source);
                } else {
                    let source = outer::Sum::<_, false, T, 4>::new(f, targets, bits);
                    outer::forward_outer_from(f, targets, blocks, source);
                }
            }
            RowKind::One(p) if p.bits() > MAX_BITS => {
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
/// The CPU must have AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn one_after_the_other<const LAZY: bool, const T: usize>(
    f: [Ifma<LAZY>; T],
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
/// and `q` is larger than that where transforms are not scalar. Without `LAZY` the first stage takes
/// every lane below `2^52`.
fn fits<const LAZY: bool>(table: &NttTable, bits: &[u32]) -> bool {
    let q = table.modulus();
    let high: u64 = bits.iter().map(|&bits| high_part(bits, q)).sum();
    let most = if LAZY { lazy_room(table) } else { 1 << 52 };
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
