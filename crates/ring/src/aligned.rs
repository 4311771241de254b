//! A zero-initialised buffer of `u64` that starts at a multiple of 64 bytes, on huge pages where
//! it is large.
//!
//! The pages of a fresh buffer cost as much as the work on them if there are many: 64 MiB take
//! 31 ms to touch in pages of 4 KiB in a virtual machine, 11 ms in pages of 2 MiB, and are then
//! read at twice the speed (measured on the machine of `docs/performance.md`). Linux hands out
//! huge pages to those who ask, so large buffers are mapped and ask.

use bytemuck::{Pod, Zeroable};
#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapMut, MmapOptions};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A buffer of `u64` aligned to cache lines; dereferences to a slice.
///
/// What truncation cuts off stays in memory until the buffer is dropped; `zeroize` overwrites it
/// with the rest.
#[derive(Default)]
pub struct AlignedVec {
    /// At least `len` words.
    memory: Memory,
    len: usize,
}

enum Memory {
    Heap(Vec<Line>),
    #[cfg(target_os = "linux")]
    Mapped(MmapMut),
}

impl Default for Memory {
    fn default() -> Self {
        Memory::Heap(Vec::new())
    }
}

/// Bytes of a huge page.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

impl Memory {
    fn zeroed(len: usize) -> Self {
        #[cfg(target_os = "linux")]
        if let Some(map) = Self::map(size_of::<u64>().saturating_mul(len)) {
            return Memory::Mapped(map);
        }
        Memory::Heap(bytemuck::zeroed_vec(len.div_ceil(8)))
    }

    /// Memory for at least `bytes` bytes; none if that is less than a huge page, or if there is
    /// none to be had. The last, partial page is a huge one if more than half of it is used.
    #[cfg(target_os = "linux")]
    fn map(bytes: usize) -> Option<MmapMut> {
        let (huge, rest) = (bytes / HUGE, bytes % HUGE);
        if huge == 0 {
            return None;
        }
        // The kernel aligns maps of whole huge pages to them.
        let map = MmapOptions::new().len(bytes.checked_next_multiple_of(HUGE)?).map_anon().ok()?;
        // Refused where huge pages are switched off: small ones do as well.
        let huge = (huge + usize::from(rest > HUGE / 2)) * HUGE;
        map.advise_range(Advice::HugePage, 0, huge).ok();
        Some(map)
    }

    fn words(&self) -> &[u64] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice(lines),
            #[cfg(target_os = "linux")]
            Memory::Mapped(map) => bytemuck::cast_slice(map),
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice_mut(lines),
            #[cfg(target_os = "linux")]
            Memory::Mapped(map) => bytemuck::cast_slice_mut(map),
        }
    }
}

impl AlignedVec {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        Self { memory: Memory::zeroed(len), len }
    }

    /// Keeps the first `len` elements; does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl std::ops::Deref for AlignedVec {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.memory.words()[..self.len]
    }
}

impl std::ops::DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.memory.words_mut()[..self.len]
    }
}

impl Clone for AlignedVec {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
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
        self.memory.words_mut().zeroize();
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

    /// Heap, mapped with a small and with a large part of the last huge page.
    const LENGTHS: [usize; 9] = [0, 1, 7, 8, 9, 1000, 1 << 18, (1 << 18) + 1, 400_000];

    #[test]
    fn is_aligned_zero_and_of_the_length_asked_for() {
        for len in LENGTHS {
            let mut v = AlignedVec::zeroed(len);
            assert_eq!(v.len(), len);
            assert!(v.iter().all(|&x| x == 0));
            assert_eq!(v.as_ptr() as usize % 64, 0);
            v.fill(5);
            v.truncate(len / 2);
            assert_eq!(*v, vec![5; len / 2]);
            let copy = v.clone();
            assert!(copy == v && copy.memory.words().len() < len / 2 + (1 << 18));
        }
    }

    #[test]
    fn wipes_what_was_cut_off() {
        for len in LENGTHS {
            let mut v = AlignedVec::zeroed(len);
            v.fill(5);
            v.truncate(3);
            v.zeroize();
            assert!(v.memory.words().len() >= len && v.memory.words().iter().all(|&x| x == 0));
        }
    }
}
