//! AVX-512 (F and DQ): eight 64-bit words in one register, for every modulus.

use std::{
    arch::{asm, x86_64::*},
    ops::Range,
};

use super::{
    Blocks, Column, Part, Permutation, Piece, QuotientTerms, RowKind, Target, Term, WeightedRows,
    avx2_floats::four_packed,
    cmux,
    floats::Floats,
    integers::Integers,
    ntt, ntt_first_pass, ntt_sources,
    permutation::BACKWARDS,
    pointwise, pointwise_words, scalar,
    shoup64::{self, Word, with_headroom, with_headroom_of_rows},
    shoup64_kernels::shoup64_kernels,
    simd::{Line, Wide},
};
use crate::gadget::DigitGadget;
use crate::modulus::Modulus;
use crate::monomial::MonomialTable;
use crate::ntt::NttTable;
use crate::ntt::roots::RECORD;

/// Proof that the CPU has AVX-512 F and DQ.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    /// # Safety
    /// The CPU must have AVX-512 F and DQ.
    #[inline(always)]
    pub(super) unsafe fn assume() -> Self {
        Self(())
    }
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX-512 F and DQ; loads and stores stay within the line or slice that is borrowed.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Wide for Avx512 {
    type V = __m512i;

    #[inline(always)]
    fn load(self, line: &Line) -> __m512i {
        unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store(self, x: __m512i, line: &mut Line) {
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), x) }
    }

    #[inline(always)]
    fn fetch(self, line: &Line) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> __m512i {
        unsafe { _mm512_set1_epi64(x as i64) }
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_add_epi64(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi64(a, b) }
    }

    #[inline(always)]
    fn exchange<const BIT: u32>(self, x: &mut __m512i, y: &mut __m512i) {
        unsafe {
            (*x, *y) = match BIT {
                2 => (_mm512_shuffle_i64x2::<0x44>(*x, *y), _mm512_shuffle_i64x2::<0xee>(*x, *y)),
                1 => (merge_swapped::<0xcc>(*x, *y), merge_swapped::<0x33>(*y, *x)),
                _ => (_mm512_unpacklo_epi64(*x, *y), _mm512_unpackhi_epi64(*x, *y)),
            };
        }
    }
}

// In every block of this implementation: SAFETY: as above.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Integers for Avx512 {
    #[inline(always)]
    fn load_bytes(self, bytes: &[u8; 8]) -> __m512i {
        unsafe { _mm512_cvtepu8_epi64(_mm_loadl_epi64(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(a, b) }
    }

    #[inline(always)]
    fn shift_left(self, x: __m512i, bits: __m512i) -> __m512i {
        unsafe { _mm512_sllv_epi64(x, bits) }
    }

    #[inline(always)]
    fn shift_left_32(self, x: __m512i) -> __m512i {
        unsafe { _mm512_slli_epi64::<32>(x) }
    }

    #[inline(always)]
    fn shift_right_32(self, x: __m512i) -> __m512i {
        unsafe { _mm512_srli_epi64::<32>(x) }
    }

    #[inline(always)]
    fn shift_right_31(self, x: __m512i) -> __m512i {
        unsafe { _mm512_srli_epi64::<31>(x) }
    }

    #[inline(always)]
    fn shift_right(self, x: __m512i, bits: __m512i) -> __m512i {
        unsafe { _mm512_srlv_epi64(x, bits) }
    }

    #[inline(always)]
    fn subtract_if_large(self, x: __m512i, bound: __m512i) -> __m512i {
        unsafe { _mm512_min_epu64(x, _mm512_sub_epi64(x, bound)) }
    }

    #[inline(always)]
    fn keep_if_greater(self, x: __m512i, threshold: __m512i, value: __m512i) -> __m512i {
        unsafe { _mm512_maskz_mov_epi64(_mm512_cmpgt_epu64_mask(x, threshold), value) }
    }

    #[inline(always)]
    fn mul_32(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_mul_epu32(a, b) }
    }

    #[inline(always)]
    fn mul_low(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_mullo_epi64(a, b) }
    }

    #[inline(always)]
    fn mul_sub_low(self, a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> __m512i {
        self.sub(self.mul_low(a, b), self.mul_low(c, d))
    }

    #[inline(always)]
    fn gather(self, a: &[u64], index: &[u32; 8]) -> __m512i {
        assert!(a.len().is_power_of_two() && a.len() <= 1 << 31);
        unsafe {
            let index = _mm256_loadu_si256(index.as_ptr().cast());
            let index = _mm256_and_si256(index, _mm256_set1_epi32((a.len() - 1) as i32));
            _mm512_i32gather_epi64::<8>(index, a.as_ptr().cast())
        }
    }
}

/// `x`, but where the mask is set, `y` with the pairs of lanes of each half exchanged.
///
/// Written in assembly. From intrinsics the compiler generates a permutation of two sources,
/// `vpermt2q`, which blocks the multipliers of Zen 4.
#[inline]
#[target_feature(enable = "avx512f")]
fn merge_swapped<const MASK: u16>(mut x: __m512i, y: __m512i) -> __m512i {
    // SAFETY: the instruction only computes, and this function has the target feature for it.
    unsafe {
        asm!(
            "vpermq {x}{{{mask}}}, {y}, 0x4e",
            x = inout(zmm_reg) x,
            y = in(zmm_reg) y,
            mask = in(kreg) MASK,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    x
}

// In every block of this implementation: SAFETY: as above.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Floats for Avx512 {
    type Part = Self;
    const PARTS: usize = 1;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn parts_of(x: &mut __m512i) -> &mut [__m512i] {
        std::slice::from_mut(x)
    }

    #[inline(always)]
    fn converted(self, x: __m512i) -> __m512i {
        unsafe { word(_mm512_cvtepu64_pd(x)) }
    }

    #[inline(always)]
    fn integer(self, x: __m512i) -> __m512i {
        unsafe { _mm512_cvtpd_epi64(number(x)) }
    }

    #[inline(always)]
    fn plus(self, x: __m512i, y: __m512i) -> __m512i {
        unsafe { word(_mm512_add_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn minus(self, x: __m512i, y: __m512i) -> __m512i {
        unsafe { word(_mm512_sub_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn times(self, x: __m512i, y: __m512i) -> __m512i {
        unsafe { word(_mm512_mul_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn times_plus(self, x: __m512i, y: __m512i, z: __m512i) -> __m512i {
        unsafe { word(_mm512_fmadd_pd(number(x), number(y), number(z))) }
    }

    #[inline(always)]
    fn minus_times(self, z: __m512i, x: __m512i, y: __m512i) -> __m512i {
        unsafe { word(_mm512_fnmadd_pd(number(x), number(y), number(z))) }
    }

    #[inline(always)]
    fn round(self, x: __m512i) -> __m512i {
        unsafe { word(_mm512_roundscale_pd::<_MM_FROUND_TO_NEAREST_INT>(number(x))) }
    }

    #[inline(always)]
    fn add_if_negative(self, x: __m512i, bound: __m512i) -> __m512i {
        // A negative word is a large one.
        unsafe { _mm512_min_epu64(x, _mm512_add_epi64(x, bound)) }
    }

    #[inline(always)]
    unsafe fn load_packed(self, from: *const u8, bytes: usize) -> __m512i {
        unsafe {
            let low = _mm512_castsi256_si512(four_packed(from, bytes));
            _mm512_inserti64x4::<1>(low, four_packed(from.add(4 * bytes), bytes))
        }
    }
}

/// The number that a lane holds the bits of.
#[inline]
#[target_feature(enable = "avx512f")]
fn number(x: __m512i) -> __m512d {
    _mm512_castsi512_pd(x)
}

/// The bits of a number.
#[inline]
#[target_feature(enable = "avx512f")]
fn word(x: __m512d) -> __m512i {
    _mm512_castpd_si512(x)
}

shoup64_kernels!(features: "avx512f,avx512dq", simd: Avx512, rows: 4);

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn permute(_table: &NttTable, out: &mut [u64], a: &[u64], places: &Permutation) {
    if let Some(stride) = places.stride() {
        return permute_tiles(out, a, places.map(), stride);
    }
    // SAFETY: this function has the target features.
    pointwise_words::permute(unsafe { Avx512::assume() }, out, a, places.map());
}

/// As [`permute`], tile by tile, see [`Permutation`]: a permutation of lanes within lines, then a
/// rotation of the lines in each lane by its own offset, bit by bit.
#[target_feature(enable = "avx512f,avx512dq")]
fn permute_tiles(out: &mut [u64], a: &[u64], map: &[u32], stride: usize) {
    // SAFETY: this function has the target features.
    let w = unsafe { Avx512::assume() };
    let tiles = a.as_chunks::<8>().0.as_chunks::<8>().0;
    let images = out.as_chunks_mut::<8>().0.as_chunks_mut::<8>().0;
    for (image, map) in images.iter_mut().zip(map.as_chunks::<64>().0) {
        let places = w.load(&std::array::from_fn(|lane| u64::from(map[lane])));
        let tile = &tiles[map[0] as usize / 64];
        let mut x = [w.splat(0); 8];
        for (x, row) in x.iter_mut().zip(BACKWARDS) {
            *x = _mm512_permutexvar_epi64(places, w.load(&tile[row]));
        }
        for bit in 0..3 {
            let turned = _mm512_test_epi64_mask(places, w.splat(32 >> bit));
            let y = x;
            for (i, x) in x.iter_mut().enumerate() {
                *x = _mm512_mask_mov_epi64(*x, turned, y[(i + (1 << bit)) % 8]);
            }
        }
        for (i, x) in x.into_iter().enumerate() {
            // An odd stride is its own inverse modulo 8.
            w.store(x, &mut image[BACKWARDS[i * stride % 8]]);
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn residues(q: &Modulus, words: &[u64], out: &mut [u64]) -> usize {
    if q.bits() <= 50 {
        return scalar::residues(q, words, out);
    }
    // SAFETY: this function has the target features.
    let w = unsafe { Avx512::assume() };
    let (mask, bound) = (w.splat(u64::MAX >> (64 - q.bits())), w.splat(q.value()));
    keep(q, words, out, |word| {
        let residue = w.and(word, mask);
        (residue, _mm512_cmplt_epu64_mask(residue, bound))
    })
}

/// Collects the accepted residues until `out` is full.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn keep(
    q: &Modulus,
    words: &[u64],
    out: &mut [u64],
    residues: impl Fn(__m512i) -> (__m512i, __mmask8),
) -> usize {
    // SAFETY: this function has the target features.
    let w = unsafe { Avx512::assume() };
    let (lines, rest) = words.as_chunks::<8>();
    let mut count = 0;
    for (i, line) in lines.iter().enumerate() {
        // All eight lanes are written; the next write overwrites those behind the last residue.
        let Some(space) = out[count..].first_chunk_mut::<8>() else {
            return count + scalar::residues(q, &words[8 * i..], &mut out[count..]);
        };
        let (x, kept) = residues(w.load(line));
        w.store(_mm512_maskz_compress_epi64(kept, x), space);
        count += kept.count_ones() as usize;
    }
    count + scalar::residues(q, rest, &mut out[count..])
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn ranks(thresholds: &[[u64; 2]], draws: [&[u64]; 2], out: &mut [i64]) {
    // SAFETY: this function has the target features.
    pointwise_words::ranks(unsafe { Avx512::assume() }, thresholds, draws, out);
}
