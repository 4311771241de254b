//! Eight words in four registers of NEON.

use std::arch::{aarch64::*, asm};

use crate::backend::simd::{Line, Wide};

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
