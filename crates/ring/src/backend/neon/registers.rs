//! Eight words in four registers of NEON.

use std::arch::{aarch64::*, asm};

use crate::backend::{
    floats::Floats,
    simd::{Line, Wide},
};

/// Proof that the CPU has NEON.
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    /// # Safety
    /// The CPU must have NEON.
    #[inline(always)]
    pub(crate) unsafe fn assume() -> Self {
        Self(())
    }
}

/// Four pairs of lanes. (The compiler keeps `std::array::from_fn` in memory.)
#[inline(always)]
pub(crate) fn pairs_of(pair: impl Fn(usize) -> uint64x2_t) -> [uint64x2_t; 4] {
    [pair(0), pair(1), pair(2), pair(3)]
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// NEON; loads and stores stay within the line that is borrowed, and a prefetch reads nothing.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Wide for Neon {
    type V = [uint64x2_t; 4];

    #[inline(always)]
    fn load(self, line: &Line) -> Self::V {
        let (pairs, _) = line.as_chunks::<2>();
        pairs_of(|i| unsafe { vld1q_u64(pairs[i].as_ptr()) })
    }

    #[inline(always)]
    fn store(self, x: Self::V, line: &mut Line) {
        let (pairs, _) = line.as_chunks_mut::<2>();
        for i in 0..4 {
            unsafe { vst1q_u64(pairs[i].as_mut_ptr(), x[i]) }
        }
    }

    #[inline(always)]
    fn splat(self, x: u64) -> Self::V {
        unsafe { [vdupq_n_u64(x); 4] }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        pairs_of(|i| unsafe { vaddq_u64(a[i], b[i]) })
    }

    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        pairs_of(|i| unsafe { vsubq_u64(a[i], b[i]) })
    }

    #[inline(always)]
    fn fetch(self, line: &Line) {
        unsafe {
            asm!(
                "prfm pldl2keep, [{line}]",
                line = in(reg) line.as_ptr(),
                options(readonly, nostack, preserves_flags),
            );
        }
    }

    #[inline(always)]
    fn exchange<const BIT: u32>(self, x: &mut Self::V, y: &mut Self::V) {
        let (a, b) = (*x, *y);
        (*x, *y) = match BIT {
            2 => ([a[0], a[1], b[0], b[1]], [a[2], a[3], b[2], b[3]]),
            1 => ([a[0], b[0], a[2], b[2]], [a[1], b[1], a[3], b[3]]),
            _ => (
                pairs_of(|i| unsafe { vzip1q_u64(a[i], b[i]) }),
                pairs_of(|i| unsafe { vzip2q_u64(a[i], b[i]) }),
            ),
        };
    }
}

// In every block of this implementation: SAFETY: a value of this type exists only on CPUs with
// NEON.
#[expect(clippy::undocumented_unsafe_blocks, reason = "one reason for all, stated above")]
impl Floats for Neon {
    type Part = Self;
    const PARTS: usize = 1;

    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn parts_of(x: &mut Self::V) -> &mut [Self::V] {
        std::slice::from_mut(x)
    }

    #[inline(always)]
    fn converted(self, x: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vcvtq_f64_u64(x[i])) })
    }

    #[inline(always)]
    fn integer(self, x: Self::V) -> Self::V {
        pairs_of(|i| unsafe { vreinterpretq_u64_s64(vcvtq_s64_f64(number(x[i]))) })
    }

    #[inline(always)]
    fn plus(self, x: Self::V, y: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vaddq_f64(number(x[i]), number(y[i]))) })
    }

    #[inline(always)]
    fn minus(self, x: Self::V, y: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vsubq_f64(number(x[i]), number(y[i]))) })
    }

    #[inline(always)]
    fn times(self, x: Self::V, y: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vmulq_f64(number(x[i]), number(y[i]))) })
    }

    #[inline(always)]
    fn minus_times(self, z: Self::V, x: Self::V, y: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vfmsq_f64(number(z[i]), number(x[i]), number(y[i]))) })
    }

    #[inline(always)]
    fn round(self, x: Self::V) -> Self::V {
        pairs_of(|i| unsafe { word(vrndnq_f64(number(x[i]))) })
    }

    #[inline(always)]
    fn add_if_negative(self, x: Self::V, bound: Self::V) -> Self::V {
        pairs_of(|i| unsafe {
            let negative = vshrq_n_s64::<63>(vreinterpretq_s64_u64(x[i]));
            vaddq_u64(x[i], vandq_u64(vreinterpretq_u64_s64(negative), bound[i]))
        })
    }
}

/// The number that a lane holds the bits of.
#[inline]
#[target_feature(enable = "neon")]
fn number(x: uint64x2_t) -> float64x2_t {
    vreinterpretq_f64_u64(x)
}

/// The bits of a number.
#[inline]
#[target_feature(enable = "neon")]
fn word(x: float64x2_t) -> uint64x2_t {
    vreinterpretq_u64_f64(x)
}
