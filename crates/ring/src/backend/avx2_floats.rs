//! Numbers in double precision in registers of AVX2 with FMA.
//!
//! A line takes two of sixteen registers. The stages of an inverse transform run on one half of
//! each line and then on the other, so that eight rows stay in registers.

use std::arch::x86_64::*;

use super::{
    avx2::{Pair, Registers},
    floats::Floats,
    simd::{Line, Wide},
};

/// One half of a line: words `4 index ..`. A value proves that the CPU has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Half {
    index: usize,
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX2; loads and stores stay within a half of the line that is borrowed, of which there are two.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Wide for Half {
    type V = __m256i;

    #[inline(always)]
    fn load(self, line: &Line) -> __m256i {
        unsafe { _mm256_loadu_si256(line.as_chunks::<4>().0.as_ptr().add(self.index).cast()) }
    }

    #[inline(always)]
    fn store(self, x: __m256i, line: &mut Line) {
        let halves = line.as_chunks_mut::<4>().0.as_mut_ptr();
        unsafe { _mm256_storeu_si256(halves.add(self.index).cast(), x) }
    }

    #[inline(always)]
    fn fetch(self, line: &Line) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> __m256i {
        unsafe { _mm256_set1_epi64x(x as i64) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_add_epi64(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi64(a, b) }
    }

    /// Bits 0 and 1: bit 2 tells the halves apart.
    #[inline(always)]
    fn exchange<const BIT: u32>(self, x: &mut __m256i, y: &mut __m256i) {
        const { assert!(BIT < 2) };
        let (a, b) = (*x, *y);
        (*x, *y) = unsafe {
            match BIT {
                1 => (
                    _mm256_permute2x128_si256::<0x20>(a, b),
                    _mm256_permute2x128_si256::<0x31>(a, b),
                ),
                _ => (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)),
            }
        };
    }
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX2 and FMA.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Floats for Half {
    type Part = Self;
    const PARTS: usize = 1;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn parts_of(x: &mut __m256i) -> &mut [__m256i] {
        std::slice::from_mut(x)
    }

    #[inline(always)]
    fn converted(self, x: __m256i) -> __m256i {
        // The word becomes the last bits of a number in [2^52, 2^53).
        let power = unsafe { _mm256_set1_pd(POWER) };
        unsafe { word(_mm256_sub_pd(_mm256_or_pd(number(x), power), power)) }
    }

    #[inline(always)]
    fn integer(self, x: __m256i) -> __m256i {
        // The sum is in [2^52, 2^53), where the last bit of a number counts units.
        let middle = unsafe { _mm256_set1_pd(1.5 * POWER) };
        unsafe { _mm256_sub_epi64(word(_mm256_add_pd(number(x), middle)), word(middle)) }
    }

    #[inline(always)]
    fn plus(self, x: __m256i, y: __m256i) -> __m256i {
        unsafe { word(_mm256_add_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn minus(self, x: __m256i, y: __m256i) -> __m256i {
        unsafe { word(_mm256_sub_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn times(self, x: __m256i, y: __m256i) -> __m256i {
        unsafe { word(_mm256_mul_pd(number(x), number(y))) }
    }

    #[inline(always)]
    fn times_plus(self, x: __m256i, y: __m256i, z: __m256i) -> __m256i {
        unsafe { word(_mm256_fmadd_pd(number(x), number(y), number(z))) }
    }

    #[inline(always)]
    fn minus_times(self, z: __m256i, x: __m256i, y: __m256i) -> __m256i {
        unsafe { word(_mm256_fnmadd_pd(number(x), number(y), number(z))) }
    }

    #[inline(always)]
    fn round(self, x: __m256i) -> __m256i {
        unsafe { word(_mm256_round_pd::<_MM_FROUND_TO_NEAREST_INT>(number(x))) }
    }

    #[inline(always)]
    fn add_if_negative(self, x: __m256i, bound: __m256i) -> __m256i {
        unsafe {
            let sum = number(_mm256_add_epi64(x, bound));
            word(_mm256_blendv_pd(number(x), sum, number(x)))
        }
    }

    #[inline(always)]
    unsafe fn load_packed(self, from: *const u8, bytes: usize) -> __m256i {
        unsafe { four_packed(from.add(4 * bytes * self.index), bytes) }
    }
}

impl Floats for Registers<true> {
    type Part = Half;
    const PARTS: usize = 2;

    #[inline(always)]
    fn part(self, index: usize) -> Half {
        assert!(index < Self::PARTS);
        Half { index }
    }

    #[inline(always)]
    fn parts_of(x: &mut Pair) -> &mut [__m256i] {
        x
    }

    #[inline(always)]
    fn converted(self, x: Pair) -> Pair {
        pair(|half, i| half.converted(x[i]))
    }

    #[inline(always)]
    fn integer(self, x: Pair) -> Pair {
        pair(|half, i| half.integer(x[i]))
    }

    #[inline(always)]
    fn plus(self, x: Pair, y: Pair) -> Pair {
        pair(|half, i| half.plus(x[i], y[i]))
    }

    #[inline(always)]
    fn minus(self, x: Pair, y: Pair) -> Pair {
        pair(|half, i| half.minus(x[i], y[i]))
    }

    #[inline(always)]
    fn times(self, x: Pair, y: Pair) -> Pair {
        pair(|half, i| half.times(x[i], y[i]))
    }

    #[inline(always)]
    fn times_plus(self, x: Pair, y: Pair, z: Pair) -> Pair {
        pair(|half, i| half.times_plus(x[i], y[i], z[i]))
    }

    #[inline(always)]
    fn minus_times(self, z: Pair, x: Pair, y: Pair) -> Pair {
        pair(|half, i| half.minus_times(z[i], x[i], y[i]))
    }

    #[inline(always)]
    fn round(self, x: Pair) -> Pair {
        pair(|half, i| half.round(x[i]))
    }

    #[inline(always)]
    fn add_if_negative(self, x: Pair, bound: Pair) -> Pair {
        pair(|half, i| half.add_if_negative(x[i], bound[i]))
    }

    #[inline(always)]
    unsafe fn load_packed(self, from: *const u8, bytes: usize) -> Pair {
        // SAFETY: demanded of the caller.
        pair(|half, _| unsafe { half.load_packed(from, bytes) })
    }
}

/// Both halves of a line, for [`Registers<true>`].
#[inline(always)]
fn pair(of: impl Fn(Half, usize) -> __m256i) -> Pair {
    [of(Half { index: 0 }, 0), of(Half { index: 1 }, 1)]
}

/// For each number of bytes per word: where the bytes of two words stand in each half of
/// [`four_packed`]. A place of 128 gives zero.
static PLACES: [[u8; 32]; 8] = {
    let mut places = [[128; 32]; 8];
    let mut bytes = 4;
    while bytes < 8 {
        let mut i = 0;
        while i < 4 * bytes {
            let (word, byte) = (i / bytes, i % bytes);
            // The second half is loaded so that it ends with the last word.
            let start = if word < 2 { word * bytes } else { 16 - (4 - word) * bytes };
            places[bytes][8 * word + byte] = (start + byte) as u8;
            i += 1;
        }
        bytes += 1;
    }
    places
};

/// Four words of `bytes` bytes each, four to seven.
///
/// # Safety
/// There are `4 * bytes` bytes at `from`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn four_packed(from: *const u8, bytes: usize) -> __m256i {
    // SAFETY: sixteen bytes from the first on, and sixteen up to the last, of at least sixteen.
    unsafe {
        let first = _mm_loadu_si128(from.cast());
        let last = _mm_loadu_si128(from.add(4 * bytes - 16).cast());
        let places = _mm256_loadu_si256(PLACES[bytes].as_ptr().cast());
        _mm256_shuffle_epi8(_mm256_set_m128i(last, first), places)
    }
}

/// `2^52`.
const POWER: f64 = (1u64 << 52) as f64;

/// The number that a lane holds the bits of.
#[inline]
#[target_feature(enable = "avx2")]
fn number(x: __m256i) -> __m256d {
    _mm256_castsi256_pd(x)
}

/// The bits of a number.
#[inline]
#[target_feature(enable = "avx2")]
fn word(x: __m256d) -> __m256i {
    _mm256_castpd_si256(x)
}
