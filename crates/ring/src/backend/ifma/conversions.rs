//! Conversions from other primes, and the first half of their transforms.

use std::ops::Range;

use super::{Ifma, LAZY_BITS, MAX_BITS, weighted_sum};
use crate::{
    Modulus,
    backend::{Blocks, Target, WeightedRows, outer, transform},
};

/// Two primes at a time where they have the same arithmetic.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::backend) fn forward_outer_sum(
    targets: &mut [Target],
    blocks: (Blocks, &Range<usize>),
    bits: &[u32],
) {
    for targets in targets.chunk_by_mut(|a, b| is_lazy(a) == is_lazy(b)) {
        let lazy = is_lazy(&targets[0]);
        let (pairs, rest) = targets.as_chunks_mut::<2>();
        // SAFETY: this function has the target features.
        unsafe {
            for pair in pairs {
                match lazy {
                    true => outer_sum::<true, 2>(pair, blocks, bits),
                    false => outer_sum::<false, 2>(pair, blocks, bits),
                }
            }
            for target in rest {
                let target = std::array::from_mut(target);
                match lazy {
                    true => outer_sum::<true, 1>(target, blocks, bits),
                    false => outer_sum::<false, 1>(target, blocks, bits),
                }
            }
        }
    }
}

fn is_lazy(target: &Target) -> bool {
    target.table.modulus().bits() <= LAZY_BITS
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
unsafe fn outer_sum<const LAZY: bool, const T: usize>(
    targets: &mut [Target; T],
    blocks: (Blocks, &Range<usize>),
    bits: &[u32],
) {
    // SAFETY: demanded of the caller.
    unsafe {
        let f = arithmetics::<LAZY, T>(targets);
        if !targets.iter().all(|target| fits::<LAZY>(target.table.modulus(), bits)) {
            let (blocks, steps) = blocks;
            for (f, target) in f.into_iter().zip(targets) {
                let kernel =
                    |table: &_, out: &mut _, sum: WeightedRows| weighted_sum(table, out, sum);
                blocks.weighted_sums(steps, target, bits, kernel);
                if steps.end == blocks.layout.steps() {
                    transform::forward_outer(f, target.table, target.out);
                }
            }
        } else if bits.iter().any(|&bits| bits > MAX_BITS) {
            let source = outer::Sum::<_, true, T, 4>::new(f, targets, bits);
            outer::forward_outer_from(f, targets, blocks, source);
        } else {
            let source = outer::Sum::<_, false, T, 4>::new(f, targets, bits);
            outer::forward_outer_from(f, targets, blocks, source);
        }
    }
}

/// As [`forward_outer_sum`].
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(in crate::backend) fn forward_outer_centered(
    targets: &mut [Target],
    blocks: (Blocks, &Range<usize>),
    p: &Modulus,
) {
    for targets in targets.chunk_by_mut(|a, b| is_lazy(a) == is_lazy(b)) {
        let lazy = is_lazy(&targets[0]);
        let (pairs, rest) = targets.as_chunks_mut::<2>();
        // SAFETY: this function has the target features.
        unsafe {
            for pair in pairs {
                match lazy {
                    true => outer_centered::<true, 2>(pair, blocks, p),
                    false => outer_centered::<false, 2>(pair, blocks, p),
                }
            }
            for target in rest {
                let target = std::array::from_mut(target);
                match lazy {
                    true => outer_centered::<true, 1>(target, blocks, p),
                    false => outer_centered::<false, 1>(target, blocks, p),
                }
            }
        }
    }
}

/// # Safety
/// The CPU must have AVX-512 F, DQ and IFMA.
#[inline(always)]
unsafe fn outer_centered<const LAZY: bool, const T: usize>(
    targets: &mut [Target; T],
    blocks: (Blocks, &Range<usize>),
    p: &Modulus,
) {
    // SAFETY: demanded of the caller.
    unsafe {
        let f = arithmetics::<LAZY, T>(targets);
        if p.bits() > MAX_BITS {
            let source = outer::Centered::<_, true, T>::new(f, targets, p);
            outer::forward_outer_from(f, targets, blocks, source);
        } else {
            let source = outer::Centered::<_, false, T>::new(f, targets, p);
            outer::forward_outer_from(f, targets, blocks, source);
        }
    }
}

/// Whether a sum of rows of so many bits times weights can be reduced at once: Montgomery's reduction
/// adds less than `q` to its high part, the carry from the low part and the quotients less than `2^8`,
/// and `q` is larger than that where transforms are not scalar. Without `LAZY` the first
/// stage takes every lane below `2^52`; with it the high part stays below `24 q`, which leaves room for
/// `2q` in each of at most 17 stages.
fn fits<const LAZY: bool>(q: &Modulus, bits: &[u32]) -> bool {
    let high: u64 = bits.iter().map(|&bits| high_part(bits, q)).sum();
    high < (1 << 52) - (1 << 48) - (1 << q.bits()) && (!LAZY || high < 12 << q.bits())
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
