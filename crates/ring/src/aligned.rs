//! A zero-initialised buffer of `u64` that starts at a multiple of 64 bytes.

use bytemuck::{Pod, Zeroable};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A buffer of `u64` aligned to cache lines; dereferences to a slice.
///
/// What truncation cuts off stays in memory until the buffer is dropped; `zeroize` overwrites it
/// with the rest.
#[derive(Default)]
pub struct AlignedVec {
    /// At least the lines of `len` words.
    lines: Vec<Line>,
    len: usize,
}

impl AlignedVec {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        Self { lines: bytemuck::zeroed_vec(len.div_ceil(8)), len }
    }

    /// Keeps the first `len` elements; does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl std::ops::Deref for AlignedVec {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl std::ops::DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl Clone for AlignedVec {
    fn clone(&self) -> Self {
        Self { lines: self.lines[..self.len.div_ceil(8)].to_vec(), len: self.len }
    }
}

impl PartialEq for AlignedVec {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for AlignedVec {}

impl zeroize::Zeroize for AlignedVec {
    fn zeroize(&mut self) {
        bytemuck::cast_slice_mut::<Line, u64>(&mut self.lines).zeroize();
    }
}

impl std::fmt::Debug for AlignedVec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedVec of {} words", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeroize::Zeroize;

    #[test]
    fn is_aligned_zero_and_of_the_length_asked_for() {
        for len in [0, 1, 7, 8, 9, 1000] {
            let mut v = AlignedVec::zeroed(len);
            assert_eq!(v.len(), len);
            assert!(v.iter().all(|&x| x == 0));
            assert_eq!(v.as_ptr() as usize % 64, 0);
            v.fill(5);
            v.truncate(len / 2);
            assert_eq!(*v, vec![5; len / 2]);
            assert!(v.clone() == v && v.clone().lines.len() == (len / 2).div_ceil(8));
        }
    }

    #[test]
    fn wipes_what_was_cut_off() {
        let mut v = AlignedVec::zeroed(100);
        v.fill(5);
        v.truncate(3);
        v.zeroize();
        assert_eq!(*v, [0; 3]);
        assert!(v.lines.len() == 13 && v.lines.iter().all(|line| line.0 == [0; 8]));
    }
}
