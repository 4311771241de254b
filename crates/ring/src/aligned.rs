//! A zero-initialised buffer of `u64` that starts at a multiple of 64 bytes.

use bytemuck::{Pod, Zeroable};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A buffer of `u64` aligned to cache lines; dereferences to a slice.
#[derive(Clone, Default)]
pub struct AlignedVec {
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
        if len < self.len {
            self.len = len;
            self.lines.truncate(len.div_ceil(8));
        }
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

impl PartialEq for AlignedVec {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for AlignedVec {}

impl zeroize::Zeroize for AlignedVec {
    fn zeroize(&mut self) {
        (**self).zeroize();
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
        }
    }
}
