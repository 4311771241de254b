//! AVX-512 (F and DQ) without 52-bit products: eight words in one register, for moduli below
//! `2^50`. Products are computed in floating point.

use std::ops::Range;

use super::{
    Blocks, Column, Part, Piece, QuotientTerms, RowKind, Target, Term, WeightedRows,
    avx512::Avx512,
    cmux,
    double::{Double, MAX_BITS},
    double_kernels::{double_kernels, double_sums, with_lazy},
    ntt, ntt_first_pass, ntt_sources, pointwise, pointwise_words,
};
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

double_kernels!(features: "avx512f,avx512dq", simd: Avx512);
double_sums!(features: "avx512f,avx512dq", words: avx512, rows: 4);
