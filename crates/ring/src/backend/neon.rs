//! NEON: eight 64-bit words in four registers, for moduli below `2^50`.
//!
//! NEON has no product of 64-bit words, but it has fused products in floating point. Transforms and
//! pointwise products use them. All other kernels run in portable Rust, where the compiler uses
//! NEON for sums and differences, and `mul` and `umulh` of the integer unit for products.
//! `docs/kernels.md` counts instructions.

pub(super) mod registers;

use std::ops::Range;

use super::{
    Blocks, Piece, QuotientTerms, RowKind, Target,
    double::Double,
    double_kernels::{double_kernels, with_lazy},
    ntt,
    ntt_first_pass::{self, Residues, Source},
    pointwise, scalar,
};
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;
use registers::Neon;

double_kernels!(features: "neon", simd: Neon);

/// Residues of a block, by the scalar kernels.
struct Converted<'a> {
    table: &'a NttTable,
    weights: &'a [u64],
    rows: RowKind<'a>,
}

impl Source<1> for Converted<'_> {
    #[inline(always)]
    fn write(&self, block: &[u64], _: &[u64], r: usize, out: &mut [Residues; 1]) {
        let out = out[0][r].as_flattened_mut();
        scalar::convert(self.table, self.weights, self.rows, block, out);
    }
}

#[target_feature(enable = "neon")]
pub(super) fn first_pass(
    targets: &mut [Target],
    blocks: Blocks,
    steps: &Range<usize>,
    rows: RowKind,
) {
    for target in targets.as_chunks_mut().0 {
        let source = Converted { table: target[0].table, weights: target[0].weights, rows };
        ntt_first_pass::first_pass(target, blocks, steps, source, |table, residues, out, step| {
            with_lazy!(table, LAZY => {
                // SAFETY: this function has the target features.
                let f = unsafe { arithmetic::<LAZY>(table) };
                ntt_first_pass::first_stages(f, table, residues, out, step)
            });
        });
    }
}
