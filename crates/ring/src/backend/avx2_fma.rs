//! AVX2 with FMA: eight 64-bit words in two registers, for moduli below `2^50`.
//! Products are computed in floating point.

use std::ops::Range;

use super::{
    Blocks, Column, Part, Piece, QuotientTerms, RowKind, Target, Term, WeightedRows,
    avx2::Registers,
    cmux,
    double::{Double, MAX_BITS},
    double_kernels::{double_kernels, double_sums, with_lazy},
    ntt, ntt_first_pass, ntt_sources, pointwise, pointwise_words,
};
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

double_kernels!(features: "avx2,fma", simd: Registers<true>);
double_sums!(features: "avx2,fma", words: avx2, rows: 2);
