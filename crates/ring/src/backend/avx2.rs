//! AVX2: eight 64-bit words in two registers, for every modulus.

use std::arch::x86_64::*;

use super::{
    pointwise, rotation, transform,
    wide::{Line, Wide},
    word::{self, Word},
};
use crate::{DigitGadget, Modulus, MonomialTable, NttTable, ntt::roots::RECORD};

/// Proof that the CPU has AVX2.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    /// # Safety
    /// The CPU must have AVX2.
    #[inline(always)]
    unsafe fn assume() -> Self {
        Self(())
    }
}

type Pair = [__m256i; 2];

#[inline(always)]
fn each(f: impl Fn(usize) -> __m256i) -> Pair {
    [f(0), f(1)]
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// AVX2; loads and stores stay within the line or slice that is borrowed.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Wide for Avx2 {
    type V = Pair;

    #[inline(always)]
    fn load(self, line: &Line) -> Pair {
        let (halves, _) = line.as_chunks::<4>();
        each(|i| unsafe { _mm256_loadu_si256(halves[i].as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self, x: Pair, line: &mut Line) {
        let (halves, _) = line.as_chunks_mut::<4>();
        for (x, half) in x.into_iter().zip(halves) {
            unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), x) }
        }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> Pair {
        each(|_| unsafe { _mm256_set1_epi64x(x as i64) })
    }

    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_add_epi64(a[i], b[i]) })
    }

    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_sub_epi64(a[i], b[i]) })
    }

    #[inline(always)]
    fn and(self, a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_and_si256(a[i], b[i]) })
    }

    #[inline(always)]
    fn shift_left(self, x: Pair, bits: Pair) -> Pair {
        each(|i| unsafe { _mm256_sllv_epi64(x[i], bits[i]) })
    }

    #[inline(always)]
    fn shift_left_32(self, x: Pair) -> Pair {
        each(|i| unsafe { _mm256_slli_epi64::<32>(x[i]) })
    }

    #[inline(always)]
    fn shift_right_32(self, x: Pair) -> Pair {
        each(|i| unsafe { _mm256_srli_epi64::<32>(x[i]) })
    }

    #[inline(always)]
    fn shift_right_31(self, x: Pair) -> Pair {
        each(|i| unsafe { _mm256_srli_epi64::<31>(x[i]) })
    }

    #[inline(always)]
    fn shift_right(self, x: Pair, bits: Pair) -> Pair {
        each(|i| unsafe { _mm256_srlv_epi64(x[i], bits[i]) })
    }

    /// The sign of `x - bound`, which lies in `[-2^63, 2^63)`, selects.
    #[inline(always)]
    fn subtract_if_large(self, x: Pair, bound: Pair) -> Pair {
        each(|i| unsafe {
            let reduced = _mm256_sub_epi64(x[i], bound[i]);
            let [x, reduced] = [x[i], reduced].map(|x| _mm256_castsi256_pd(x));
            _mm256_castpd_si256(_mm256_blendv_pd(reduced, x, reduced))
        })
    }

    #[inline(always)]
    fn keep_if_greater(self, x: Pair, threshold: Pair, value: Pair) -> Pair {
        each(|i| unsafe { _mm256_and_si256(_mm256_cmpgt_epi64(x[i], threshold[i]), value[i]) })
    }

    #[inline(always)]
    fn mul_32(self, a: Pair, b: Pair) -> Pair {
        each(|i| unsafe { _mm256_mul_epu32(a[i], b[i]) })
    }

    #[inline(always)]
    fn mul_low(self, a: Pair, b: Pair) -> Pair {
        let high = |x| self.shift_right_32(x);
        let cross = self.add(self.mul_32(high(a), b), self.mul_32(a, high(b)));
        self.add(self.mul_32(a, b), self.shift_left_32(cross))
    }

    #[inline(always)]
    fn exchange<const BIT: u32>(self, x: &mut Pair, y: &mut Pair) {
        let (a, b) = (*x, *y);
        (*x, *y) = match BIT {
            2 => ([a[0], b[0]], [a[1], b[1]]),
            1 => (
                each(|i| unsafe { _mm256_permute2x128_si256::<0x20>(a[i], b[i]) }),
                each(|i| unsafe { _mm256_permute2x128_si256::<0x31>(a[i], b[i]) }),
            ),
            _ => (
                each(|i| unsafe { _mm256_unpacklo_epi64(a[i], b[i]) }),
                each(|i| unsafe { _mm256_unpackhi_epi64(a[i], b[i]) }),
            ),
        };
    }

    #[inline(always)]
    fn gather(self, a: &[u64], index: &[u32; 8]) -> Pair {
        let mask = a.len() - 1;
        assert!(a.len().is_power_of_two());
        let words = index.map(|i| a[i as usize & mask]);
        self.load(&words)
    }
}

/// The arithmetic of a table on this back end.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn arithmetic<const NARROW: bool>(table: &NttTable) -> Word<Avx2, NARROW> {
    // SAFETY: demanded of the caller.
    Word::new(unsafe { Avx2::assume() }, table.modulus())
}

#[target_feature(enable = "avx2")]
pub(super) fn forward_ntt(table: &NttTable, a: &mut [u64]) {
    // SAFETY: this function has the target features.
    unsafe {
        if word::is_narrow(table.modulus()) {
            transform::forward::<_, { 2 * RECORD }>(arithmetic::<true>(table), table, a);
        } else {
            transform::forward::<_, { 2 * RECORD }>(arithmetic::<false>(table), table, a);
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn inverse_ntt(table: &NttTable, a: &mut [u64]) {
    // SAFETY: this function has the target features.
    unsafe {
        if word::is_narrow(table.modulus()) {
            transform::inverse::<_, { 2 * RECORD }>(arithmetic::<true>(table), table, a);
        } else {
            transform::inverse::<_, { 2 * RECORD }>(arithmetic::<false>(table), table, a);
        }
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn add_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::add_assign(unsafe { arithmetic::<false>(table) }, a, b);
}

#[target_feature(enable = "avx2")]
pub(super) fn sub_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::sub_assign(unsafe { arithmetic::<false>(table) }, a, b);
}

#[target_feature(enable = "avx2")]
pub(super) fn mul_assign(table: &NttTable, a: &mut [u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_assign(unsafe { arithmetic::<false>(table) }, a, b);
}

#[target_feature(enable = "avx2")]
pub(super) fn mul_add_assign(table: &NttTable, acc: &mut [u64], a: &[u64], b: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::mul_add_assign(unsafe { arithmetic::<false>(table) }, acc, a, b);
}

#[target_feature(enable = "avx2")]
pub(super) fn sum_of_products(table: &NttTable, out: &mut [u64], pairs: &[(&[u64], &[u64])]) {
    // SAFETY: this function has the target features.
    pointwise::sum_of_products(unsafe { arithmetic::<false>(table) }, out, pairs);
}

#[target_feature(enable = "avx2")]
pub(super) fn mul_constant(table: &NttTable, a: &mut [u64], w: u64) {
    // SAFETY: this function has the target features.
    pointwise::mul_constant(unsafe { arithmetic::<false>(table) }, a, w);
}

#[target_feature(enable = "avx2")]
pub(super) fn sub_mul_constant(table: &NttTable, a: &mut [u64], b: &[u64], w: u64) {
    // SAFETY: this function has the target features.
    pointwise::sub_mul_constant(unsafe { arithmetic::<false>(table) }, a, b, w);
}

#[target_feature(enable = "avx2")]
pub(super) fn weighted_sum(
    table: &NttTable,
    out: &mut [u64],
    rows: &[&[u64]],
    _row_bits: u32,
    weights: &[u64],
) {
    // SAFETY: this function has the target features.
    pointwise::weighted_sum(unsafe { arithmetic::<false>(table) }, out, rows, weights);
}

#[target_feature(enable = "avx2")]
pub(super) fn reduce_centered(table: &NttTable, out: &mut [u64], a: &[u64], p: &Modulus) {
    // SAFETY: this function has the target features.
    pointwise::reduce_centered(unsafe { arithmetic::<false>(table) }, table.modulus(), out, a, p);
}

#[target_feature(enable = "avx2")]
pub(super) fn add_scaled_difference(
    table: &NttTable,
    acc: &mut [u64],
    rows: (&[u64], &[u64]),
    p: &Modulus,
    w: u64,
) {
    // SAFETY: this function has the target features.
    let arithmetic = unsafe { arithmetic::<false>(table) };
    pointwise::add_scaled_difference(arithmetic, table.modulus(), acc, rows, p, w);
}

#[target_feature(enable = "avx2")]
pub(super) fn ternary_product(
    table: &NttTable,
    monomials: &MonomialTable,
    k: usize,
    digits: &[u64],
    key: &[u64],
    out: (&mut [u64], &mut [u64]),
) {
    // SAFETY: this function has the target features.
    let arithmetic = unsafe { arithmetic::<false>(table) };
    rotation::ternary_product(arithmetic, table, monomials, k, digits, key, out);
}

#[target_feature(enable = "avx2")]
pub(super) fn signed_digits(table: &NttTable, gadget: &DigitGadget, out: &mut [u64], a: &[u64]) {
    // SAFETY: this function has the target features.
    pointwise::signed_digits(
        unsafe { arithmetic::<false>(table) },
        table.modulus(),
        gadget,
        out,
        a,
    );
}

#[target_feature(enable = "avx2")]
pub(super) fn permute(_table: &NttTable, out: &mut [u64], a: &[u64], map: &[u32]) {
    // SAFETY: this function has the target features.
    pointwise::permute(unsafe { Avx2::assume() }, out, a, map);
}
