//! AVX2: eight 64-bit words in two registers, for every modulus.

use std::{arch::x86_64::*, ops::Range};

use super::{
    Blocks, Column, Part, Permutation, Piece, QuotientTerms, RowKind, Target, Term, WeightedRows,
    cmux,
    integers::Integers,
    ntt, ntt_first_pass, ntt_sources, pointwise, pointwise_words, scalar,
    shoup64::{self, Word, with_headroom, with_headroom_of_rows},
    shoup64_kernels::shoup64_kernels,
    simd::{Line, Wide},
};
use crate::gadget::DigitGadget;
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

/// Proof that the CPU has AVX2, and FMA if asked for.
#[derive(Clone, Copy)]
pub(super) struct Registers<const FMA: bool>(());

/// Proof that the CPU has AVX2.
pub(super) type Avx2 = Registers<false>;

impl<const FMA: bool> Registers<FMA> {
    /// # Safety
    /// The CPU must have AVX2, and FMA if asked for.
    #[inline(always)]
    pub(super) unsafe fn assume() -> Self {
        Self(())
    }
}

/// A line.
pub(super) type Pair = [__m256i; 2];

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX2; loads and stores stay within the line or slice that is borrowed.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl<const FMA: bool> Wide for Registers<FMA> {
    type V = Pair;

    #[inline(always)]
    fn load(self, line: &Line) -> Pair {
        let (halves, _) = line.as_chunks::<4>();
        let [low, high] = [halves[0].as_ptr().cast(), halves[1].as_ptr().cast()];
        unsafe { [_mm256_loadu_si256(low), _mm256_loadu_si256(high)] }
    }

    #[inline(always)]
    fn store(self, x: Pair, line: &mut Line) {
        let (halves, _) = line.as_chunks_mut::<4>();
        unsafe {
            _mm256_storeu_si256(halves[0].as_mut_ptr().cast(), x[0]);
            _mm256_storeu_si256(halves[1].as_mut_ptr().cast(), x[1]);
        }
    }

    #[inline(always)]
    fn fetch(self, line: &Line) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> Pair {
        unsafe { [_mm256_set1_epi64x(x as i64); 2] }
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        unsafe { [_mm256_add_epi64(a[0], b[0]), _mm256_add_epi64(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        unsafe { [_mm256_sub_epi64(a[0], b[0]), _mm256_sub_epi64(a[1], b[1])] }
    }

    #[inline(always)]
    fn exchange<const BIT: u32>(self, x: &mut Pair, y: &mut Pair) {
        let (a, b) = (*x, *y);
        (*x, *y) = match BIT {
            2 => ([a[0], b[0]], [a[1], b[1]]),
            1 => (
                unsafe {
                    [
                        _mm256_permute2x128_si256::<0x20>(a[0], b[0]),
                        _mm256_permute2x128_si256::<0x20>(a[1], b[1]),
                    ]
                },
                unsafe {
                    [
                        _mm256_permute2x128_si256::<0x31>(a[0], b[0]),
                        _mm256_permute2x128_si256::<0x31>(a[1], b[1]),
                    ]
                },
            ),
            _ => (
                unsafe { [_mm256_unpacklo_epi64(a[0], b[0]), _mm256_unpacklo_epi64(a[1], b[1])] },
                unsafe { [_mm256_unpackhi_epi64(a[0], b[0]), _mm256_unpackhi_epi64(a[1], b[1])] },
            ),
        };
    }
}

// In every block of this implementation: SAFETY: as above.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl<const FMA: bool> Integers for Registers<FMA> {
    #[inline(always)]
    fn load_bytes(self, bytes: &[u8; 8]) -> Pair {
        let (halves, _) = bytes.as_chunks::<4>();
        let words = |half: [u8; 4]| unsafe {
            _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes(half)))
        };
        [words(halves[0]), words(halves[1])]
    }

    #[inline(always)]
    fn and(self, a: Pair, b: Pair) -> Pair {
        unsafe { [_mm256_and_si256(a[0], b[0]), _mm256_and_si256(a[1], b[1])] }
    }

    #[inline(always)]
    fn shift_left(self, x: Pair, bits: Pair) -> Pair {
        unsafe { [_mm256_sllv_epi64(x[0], bits[0]), _mm256_sllv_epi64(x[1], bits[1])] }
    }

    #[inline(always)]
    fn shift_left_32(self, x: Pair) -> Pair {
        unsafe { [_mm256_slli_epi64::<32>(x[0]), _mm256_slli_epi64::<32>(x[1])] }
    }

    #[inline(always)]
    fn shift_right_32(self, x: Pair) -> Pair {
        unsafe { [_mm256_srli_epi64::<32>(x[0]), _mm256_srli_epi64::<32>(x[1])] }
    }

    #[inline(always)]
    fn shift_right_31(self, x: Pair) -> Pair {
        unsafe { [_mm256_srli_epi64::<31>(x[0]), _mm256_srli_epi64::<31>(x[1])] }
    }

    #[inline(always)]
    fn shift_right(self, x: Pair, bits: Pair) -> Pair {
        unsafe { [_mm256_srlv_epi64(x[0], bits[0]), _mm256_srlv_epi64(x[1], bits[1])] }
    }

    #[inline(always)]
    fn subtract_if_large(self, x: Pair, bound: Pair) -> Pair {
        [subtract_if_large(self, x[0], bound[0]), subtract_if_large(self, x[1], bound[1])]
    }

    #[inline(always)]
    fn keep_if_greater(self, x: Pair, threshold: Pair, value: Pair) -> Pair {
        unsafe {
            [
                _mm256_and_si256(_mm256_cmpgt_epi64(x[0], threshold[0]), value[0]),
                _mm256_and_si256(_mm256_cmpgt_epi64(x[1], threshold[1]), value[1]),
            ]
        }
    }

    #[inline(always)]
    fn mul_32(self, a: Pair, b: Pair) -> Pair {
        unsafe { [_mm256_mul_epu32(a[0], b[0]), _mm256_mul_epu32(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_low(self, a: Pair, b: Pair) -> Pair {
        self.add(self.mul_32(a, b), self.shift_left_32(cross_product(self, a, b)))
    }

    #[inline(always)]
    fn mul_sub_low(self, a: Pair, b: Pair, c: Pair, d: Pair) -> Pair {
        // The cross products of 32-bit halves share one shift.
        let low = self.sub(self.mul_32(a, b), self.mul_32(c, d));
        let cross = self.sub(cross_product(self, a, b), cross_product(self, c, d));
        self.add(low, self.shift_left_32(cross))
    }

    #[inline(always)]
    fn gather(self, a: &[u64], index: &[u32; 8]) -> Pair {
        let mask = a.len() - 1;
        assert!(a.len().is_power_of_two());
        let words = index.map(|i| a[i as usize & mask]);
        self.load(&words)
    }
}

/// Selects by the sign of `x - bound`, which is in `[-2^63, 2^63)`.
#[inline(always)]
fn subtract_if_large<const FMA: bool>(
    _proof: Registers<FMA>,
    x: __m256i,
    bound: __m256i,
) -> __m256i {
    // SAFETY: the CPU has AVX2, says the first argument.
    unsafe {
        let reduced = _mm256_sub_epi64(x, bound);
        let sign = _mm256_castsi256_pd(reduced);
        _mm256_castpd_si256(_mm256_blendv_pd(sign, _mm256_castsi256_pd(x), sign))
    }
}

/// `a_1 b_0 + a_0 b_1` for 32-bit halves.
#[inline(always)]
fn cross_product<const FMA: bool>(w: Registers<FMA>, a: Pair, b: Pair) -> Pair {
    w.add(w.mul_32(w.shift_right_32(a), b), w.mul_32(a, w.shift_right_32(b)))
}

shoup64_kernels!(features: "avx2", simd: Avx2, rows: 2);

#[target_feature(enable = "avx2")]
pub(super) fn permute(_table: &NttTable, out: &mut [u64], a: &[u64], places: &Permutation) {
    // SAFETY: this function has the target features.
    pointwise_words::permute(unsafe { Avx2::assume() }, out, a, places.map());
}

#[target_feature(enable = "avx2")]
pub(super) fn ranks(thresholds: &[[u64; 2]], draws: [&[u64]; 2], out: &mut [i64]) {
    // SAFETY: this function has the target features.
    pointwise_words::ranks(unsafe { Avx2::assume() }, thresholds, draws, out);
}
