//! The kernels of this back end, each an instance of the generic code for the arithmetic of its
//! table.

use std::arch::x86_64::*;

pub(in crate::backend) use crate::backend::avx512::{
    add_assign, neg_assign, permute, permute_signed, quotients, sub_assign,
};

use super::{Ifma, MAX_BITS, NEVER, every, is_lazy, with_every};
use crate::backend::prime_sizes::IFMA_LAZY_BITS;
use crate::backend::simd::Wide;
use crate::backend::{
    Column, Part, Piece, QuotientTerms, Term, WeightedRows, avx512, cmux, ntt, pointwise,
    pointwise_words,
};
use crate::gadget::DigitGadget;
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn forward_over_pieces(table: &NttTable, a: &mut [u64], done: u32) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt::forward_over_pieces(f, table, a, done);
    });
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn forward_piece(table: &NttTable, a: &mut [u64], piece: Piece) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt::forward_piece::<_, RECORD>(f, table, a, piece);
    });
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn inverse_piece(
    table: &NttTable,
    last: [[u64; 2]; 2],
    from: Option<&[u64]>,
    index: usize,
    a: &mut [u64],
) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt::inverse_piece::<_, RECORD>(f, table, last, from, index, a);
    });
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn inverse_over_pieces(
    table: &NttTable,
    last: [[u64; 2]; 2],
    a: &mut [u64],
) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt::inverse_over_pieces(f, table, last, a);
    });
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn inverse_to_blocks(
    table: &NttTable,
    last: [[u64; 2]; 2],
    a: &mut [u64],
    bursts: &mut [&mut [u64]],
) {
    with_every!(table, EVERY => {
        // SAFETY: this function has the target features.
        let f = unsafe { Ifma::<EVERY>::new(table.modulus()) };
        ntt::inverse_to_blocks(f, table, last, a, bursts);
    });
}

/// The arithmetic of a table for all kernels except the transforms.
///
/// # Safety
/// The CPU must have AVX-512 F, DQ, IFMA and VBMI.
#[inline(always)]
pub(super) unsafe fn arithmetic(table: &NttTable) -> Ifma<1> {
    // SAFETY: demanded of the caller.
    unsafe { Ifma::new(table.modulus()) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_assign(unsafe { arithmetic(table) }, a, b);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_add_assign(unsafe { arithmetic(table) }, acc, a, b);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn sum_of_products(
    table: &NttTable,
    out: &mut [u64],
    pairs: &[(&[u64], &[u64])],
) {
    // SAFETY: this function has the target features.
    pointwise_words::sum_of_products(unsafe { arithmetic(table) }, out, pairs);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn columns_of_products(
    table: &NttTable,
    rows: &[&[u64]],
    columns: &mut [Column],
    part: Part,
) {
    let q = table.modulus();
    // The largest term that a product adds to the high part: with a digit that is not reduced, or
    // with a reduced one. A pause adds less than `q + 16`.
    let product = if is_lazy(table) { q.value() } else { q.value() / 4 };
    let pauses = part.all as u64 <= (1 << 52) / (product + q.value() + 16);
    // SAFETY: this function has the target features.
    unsafe {
        if pauses {
            // The arithmetic with pauses, regardless of the class of the transforms.
            pointwise_words::columns_of_products(Ifma::<NEVER>::new(q), rows, columns, part);
        } else {
            pointwise_words::columns_of_products(Ifma::<1>::new(q), rows, columns, part);
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn sum_of_terms(
    table: &NttTable,
    out: &mut [u64],
    first: usize,
    terms: &[Term],
) {
    // SAFETY: this function has the target features.
    pointwise_words::sum_of_terms(unsafe { arithmetic(table) }, out, first, terms);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    // SAFETY: this function has the target features.
    pointwise::mul_constant(unsafe { arithmetic(table) }, a, w);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    // SAFETY: this function has the target features.
    pointwise::sub_mul_constant(unsafe { arithmetic(table) }, a, b, w);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn add_multiple(table: &NttTable, acc: &mut [u64], a: &[u64], w: u64) {
    // SAFETY: this function has the target features.
    pointwise::add_multiple(unsafe { arithmetic(table) }, acc, a, w);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn weighted_sum(table: &NttTable, out: &mut [u64], sum: WeightedRows) {
    if sum.row_bits() > MAX_BITS {
        return avx512::weighted_sum(table, out, sum);
    }
    // SAFETY: this function has the target features.
    pointwise_words::weighted_sum(unsafe { arithmetic(table) }, out, sum);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn quotient(
    table: &NttTable,
    out: &mut [u64],
    terms: QuotientTerms,
    factors: [u64; 2],
) {
    // SAFETY: this function has the target features.
    pointwise::quotient(unsafe { arithmetic(table) }, out, terms, factors);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: u64) {
    if p > 1 << 52 {
        return avx512::reduce_centered(table, out, a, p);
    }
    // SAFETY: this function has the target features.
    pointwise_words::reduce_centered(unsafe { arithmetic(table) }, table.modulus(), out, a, p);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn add_scaled_difference(
    table: &NttTable,
    acc: &mut [u64],
    a: &[u64],
    b: &[u64],
    p: &Modulus,
    w: u64,
) {
    if p.bits() > MAX_BITS {
        return avx512::add_scaled_difference(table, acc, a, b, p, w);
    }
    // SAFETY: this function has the target features.
    let arithmetic = unsafe { arithmetic(table) };
    pointwise_words::add_scaled_difference(arithmetic, table.modulus(), acc, a, b, p, w);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn ternary_product(
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: &mut [u64],
) {
    let q = table.modulus();
    // SAFETY: this function has the target features.
    unsafe {
        if q.bits() <= IFMA_LAZY_BITS {
            cmux::ternary_product(Ifma::<NEVER>::new(q), table, monomials, k, digits, key, out);
        } else {
            cmux::ternary_product(Ifma::<1>::new(q), table, monomials, k, digits, key, out);
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn signed_digits(
    table: &NttTable,
    gadget: &DigitGadget,
    out: &mut [u64],
    a: &[u64],
) {
    // SAFETY: this function has the target features.
    pointwise_words::signed_digits(unsafe { arithmetic(table) }, table.modulus(), gadget, out, a);
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma,avx512vbmi")]
pub(in crate::backend) fn residues(q: &Modulus, words: &[u64], out: &mut [u64]) -> usize {
    // SAFETY: this function has the target features.
    let f = unsafe { Ifma::<1>::new(q) };
    let lost = f.wide.splat((1 << 52) % q.value());
    avx512::keep(q, words, out, |word| {
        let kept = _mm512_cmpge_epu64_mask(f.madd_low(f.zero, word, f.q), lost);
        (f.madd_high(f.zero, word, f.q), kept)
    })
}
