//! What an instruction set with fused products in floating point adds to `simd.rs`. A lane of a
//! line holds an integer, or the bits of a number in double precision.

use super::simd::Wide;

/// Instructions on eight numbers in double precision, and their conversions. Roundings are to the
/// nearest number.
pub(super) trait Floats: Wide {
    /// The registers of a part of a line, see [`Arithmetic::Part`](super::simd::Arithmetic::Part).
    type Part: Floats;
    /// The number of parts.
    const PARTS: usize;
    fn part(self, index: usize) -> Self::Part;
    /// All parts of a line in registers.
    fn parts_of(x: &mut Self::V) -> &mut [<Self::Part as Wide>::V];
    /// The number of an integer below `2^52`.
    fn converted(self, x: Self::V) -> Self::V;
    /// The integer of a number in `[-2^51, 2^51)` without a fraction, modulo `2^64`.
    fn integer(self, x: Self::V) -> Self::V;
    /// `x + y`, rounded.
    fn plus(self, x: Self::V, y: Self::V) -> Self::V;
    /// `x - y`, rounded.
    fn minus(self, x: Self::V, y: Self::V) -> Self::V;
    /// `x y`, rounded.
    fn times(self, x: Self::V, y: Self::V) -> Self::V;
    /// `x y + z`, rounded once.
    #[cfg(target_arch = "x86_64")]
    fn times_plus(self, x: Self::V, y: Self::V, z: Self::V) -> Self::V;
    /// `z - x y`, rounded once.
    fn minus_times(self, z: Self::V, x: Self::V, y: Self::V) -> Self::V;
    /// The nearest integer.
    fn round(self, x: Self::V) -> Self::V;
    /// `[-bound, bound) -> [0, bound)` for integers: adds the bound to a negative one.
    fn add_if_negative(self, x: Self::V, bound: Self::V) -> Self::V;
    /// Eight words of `bytes` bytes each, four to seven, one after the other.
    ///
    /// # Safety
    /// There are `8 * bytes` bytes at `from`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load_packed(self, from: *const u8, bytes: usize) -> Self::V;
}
