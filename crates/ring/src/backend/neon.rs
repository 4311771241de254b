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
    double::{Double, is_lazy},
    ntt,
    ntt_first_pass::{self, Residues, Source},
    pointwise, scalar,
};
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;
use registers::Neon;

/// The arithmetic of a table.
///
/// # Safety
/// The CPU must have NEON.
#[inline(always)]
unsafe fn arithmetic<const LAZY: bool>(table: &NttTable) -> Double<LAZY> {
    // SAFETY: demanded of the caller.
    Double::new(unsafe { Neon::assume() }, table.modulus())
}

/// Runs an expression with [`is_lazy`] of a table as a constant.
macro_rules! with_lazy {
    ($table:expr, $lazy:ident => $run:expr) => {
        if is_lazy($table.modulus()) {
            const $lazy: bool = true;
            $run
        } else {
            const $lazy: bool = false;
            $run
        }
    };
}

#[target_feature(enable = "neon")]
pub(super) fn forward_over_pieces(table: &NttTable, a: &mut [u64], done: u32) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        ntt::forward_over_pieces(unsafe { arithmetic::<LAZY>(table) }, table, a, done)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn inverse_piece(
    table: &NttTable,
    last: [[u64; 2]; 2],
    from: Option<&[u64]>,
    index: usize,
    a: &mut [u64],
) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        let f = unsafe { arithmetic::<LAZY>(table) };
        ntt::inverse_piece::<_, RECORD>(f, table, last, from, index, a)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn inverse_over_pieces(table: &NttTable, last: [[u64; 2]; 2], a: &mut [u64]) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        ntt::inverse_over_pieces(unsafe { arithmetic::<LAZY>(table) }, table, last, a)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn inverse_to_blocks(
    table: &NttTable,
    last: [[u64; 2]; 2],
    a: &mut [u64],
    bursts: &mut [&mut [u64]],
) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        ntt::inverse_to_blocks(unsafe { arithmetic::<LAZY>(table) }, table, last, a, bursts)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_assign(unsafe { arithmetic::<false>(table) }, a, b);
}

#[target_feature(enable = "neon")]
pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_add_assign(unsafe { arithmetic::<false>(table) }, acc, a, b);
}

#[target_feature(enable = "neon")]
pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        pointwise::mul_constant(unsafe { arithmetic::<LAZY>(table) }, a, w)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        pointwise::sub_mul_constant(unsafe { arithmetic::<LAZY>(table) }, a, b, w)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        pointwise::add_multiple(unsafe { arithmetic::<LAZY>(table) }, acc, a, w)
    });
}

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

#[target_feature(enable = "neon")]
pub(super) fn forward_piece(table: &NttTable, a: &mut [u64], piece: Piece) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        let f = unsafe { arithmetic::<LAZY>(table) };
        ntt::forward_piece::<_, RECORD>(f, table, a, piece)
    });
}

#[target_feature(enable = "neon")]
pub(super) fn quotient(table: &NttTable, out: &mut [u64], terms: QuotientTerms, factors: [u64; 2]) {
    with_lazy!(table, LAZY => {
        // SAFETY: this function has the target features.
        pointwise::quotient(unsafe { arithmetic::<LAZY>(table) }, out, terms, factors)
    });
}
