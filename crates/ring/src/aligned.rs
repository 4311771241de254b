//! Buffers of `u64` aligned to 64 bytes. Large ones use huge pages and are reused.
//!
//! For large buffers, fresh pages cost as much as the work on them. Pages of 2 MiB are touched and
//! read faster than pages of 4 KiB. Linux provides huge pages on request, so large buffers are
//! mapped and request them. A page that is already mapped is the cheapest: a `Pool` keeps dropped
//! large buffers for reuse.
//!
//! Mapped buffers begin at different offsets of their first page. Kernels read the same position of
//! many polynomials at a time (the rows of a key). If all buffers began at a page boundary, these
//! lines would compete for the same few cache sets.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use bytemuck::{Pod, Zeroable};
#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapMut, MmapOptions};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A buffer of `u64` aligned to cache lines; dereferences to a slice.
///
/// Truncated words stay in memory until the buffer is dropped; `zeroize` overwrites them too. A
/// buffer from a `Pool` returns to it without being cleared: wipe secrets first.
#[derive(Default)]
pub struct AlignedVec {
    /// At least `len` words.
    memory: Memory,
    len: usize,
    pool: Option<Pool>,
}

enum Memory {
    Heap(Vec<Line>),
    /// With the number of bytes skipped at the beginning.
    #[cfg(target_os = "linux")]
    Mapped(MmapMut, usize),
}

impl Default for Memory {
    fn default() -> Self {
        Memory::Heap(Vec::new())
    }
}

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

/// Bytes of a cache line.
const LINE: usize = 64;

/// The difference in bytes between the offsets of successive mapped buffers, modulo [`SKEWED`]: a
/// small page, plus five lines so that buffers differ in the first-level cache too.
const SKEW: usize = PAGE + 5 * LINE;

/// The range of these offsets in bytes: the distance between lines of the same set of a
/// second-level cache of 1 MiB with 16 ways.
const SKEWED: usize = 64 << 10;

/// Bytes of a small page.
const PAGE: usize = 4 << 10;

/// Size in bytes of the smallest buffer that a pool keeps. Allocators return buffers of this size
/// to the system on drop, so their pages would have to be touched anew.
const SMALLEST: usize = 256 << 10;

/// Maximum number of bytes that a pool keeps.
const KEPT: usize = 1 << 30;

/// Large unused buffers for reuse. Clones share them.
///
/// A pool holds at most 1 GiB, until its last clone and the last buffer from it are dropped.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Memory>>>);

impl Pool {
    /// `len` zero words.
    pub(crate) fn zeroed(&self, len: usize) -> AlignedVec {
        match self.find(len) {
            Some(memory) => {
                let mut words = AlignedVec { memory, len, pool: Some(self.clone()) };
                words.fill(0);
                words
            }
            None => AlignedVec { memory: Memory::zeroed(len), len, pool: Some(self.clone()) },
        }
    }

    /// `len` uninitialized words, for a caller that writes all of them before reading any.
    pub(crate) fn uninit(&self, len: usize) -> AlignedVec {
        let memory = self.find(len).unwrap_or_else(|| Memory::zeroed(len));
        let mut words = AlignedVec { memory, len, pool: Some(self.clone()) };
        // In debug builds, fill the buffer so that a read before a write shows.
        if cfg!(debug_assertions) {
            words.fill(u64::MAX);
        }
        words
    }

    /// Provides memory for `count` buffers of `len` words at once, all touched, up to the limit of
    /// the pool.
    pub(crate) fn reserve(&self, len: usize, count: usize) {
        let bytes = size_of::<u64>() * len;
        // Small buffers are not kept.
        if bytes < SMALLEST {
            return;
        }
        let count = count.min(KEPT / bytes.next_multiple_of(HUGE));
        let touched = || {
            let mut words = self.uninit(len);
            words.fill(0);
            words
        };
        // Dropped together, the buffers go to the pool as separate ones.
        drop((0..count).map(|_| touched()).collect::<Vec<_>>());
    }

    /// The smallest kept buffer of at least `len` words, unless it exceeds twice the needed size
    /// rounded up to pages. Polynomials of one computation differ by some limbs.
    fn find(&self, len: usize) -> Option<Memory> {
        let bytes = size_of::<u64>().saturating_mul(len);
        if bytes < SMALLEST {
            return None;
        }
        let page = if bytes < HUGE { PAGE } else { HUGE };
        // A poisoned lock is harmless: the list is valid between operations.
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |memory: &Memory| memory.words().len() >= len;
        let best = free.iter().enumerate().rev().filter(|(_, memory)| fits(memory));
        let (place, memory) = best.min_by_key(|(_, memory)| memory.words().len())?;
        // At most twice the needed size, rounded up to pages.
        let most = len.next_multiple_of(page / size_of::<u64>()) * 2;
        (memory.words().len() <= most).then(|| free.remove(place))
    }

    /// Keeps a buffer for reuse, or frees it.
    fn keep(&self, memory: Memory) {
        let bytes = |memory: &Memory| size_of_val(memory.words());
        if !(SMALLEST..=KEPT).contains(&bytes(&memory)) {
            return;
        }
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(memory);
        let mut total: usize = free.iter().map(bytes).sum();
        // Free the oldest buffers after the lock is released. Those on huge pages first: small
        // pages take longer to touch anew.
        let mut gone = Vec::new();
        while total > KEPT {
            let oldest = free.iter().position(|memory| bytes(memory) >= HUGE).unwrap_or(0);
            total -= bytes(&free[oldest]);
            gone.push(free.remove(oldest));
        }
        drop(free);
        drop(gone);
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Memory {
    fn zeroed(len: usize) -> Self {
        #[cfg(target_os = "linux")]
        // Mappings are zeroed by the system. Their offsets differ, within the spare bytes.
        if let Some(map) = Self::map(size_of::<u64>().saturating_mul(len)) {
            static MAPS: AtomicUsize = AtomicUsize::new(0);
            let spare = map.len() - size_of::<u64>() * len;
            let skew = MAPS.fetch_add(1, Ordering::Relaxed).wrapping_mul(SKEW) % SKEWED;
            return Memory::Mapped(map, skew.min(spare / LINE * LINE));
        }
        Memory::Heap(bytemuck::zeroed_vec(len.div_ceil(8)))
    }

    /// Maps at least `bytes` bytes. `None` for less than a huge page, or if the system has no
    /// memory. The last, partial page is a huge page if more than half of it is used.
    #[cfg(target_os = "linux")]
    fn map(bytes: usize) -> Option<MmapMut> {
        let (huge, rest) = (bytes / HUGE, bytes % HUGE);
        if huge == 0 {
            return None;
        }
        // The kernel aligns mappings of whole huge pages to huge pages.
        let map = MmapOptions::new().len(bytes.checked_next_multiple_of(HUGE)?).map_anon().ok()?;
        // The advice fails if huge pages are disabled; small pages work too. Miri has no `madvise`.
        let huge = (huge + usize::from(rest > HUGE / 2)) * HUGE;
        if !cfg!(miri) {
            map.advise_range(Advice::HugePage, 0, huge).ok();
        }
        Some(map)
    }

    fn words(&self) -> &[u64] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice(lines),
            #[cfg(target_os = "linux")]
            Memory::Mapped(map, skew) => bytemuck::cast_slice(&map[*skew..]),
        }
    }

    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Memory::Heap(lines) => bytemuck::cast_slice_mut(lines),
            #[cfg(target_os = "linux")]
            Memory::Mapped(map, skew) => bytemuck::cast_slice_mut(&mut map[*skew..]),
        }
    }
}

impl AlignedVec {
    /// `len` zero words.
    pub fn zeroed(len: usize) -> Self {
        Self { memory: Memory::zeroed(len), len, pool: None }
    }

    /// `len` uninitialized words, from the pool of this buffer.
    pub(crate) fn uninit_like(&self, len: usize) -> Self {
        self.pool.as_ref().map_or_else(|| Self::zeroed(len), |pool| pool.uninit(len))
    }

    /// Keeps the first `len` words. Does nothing if there are fewer.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Drop for AlignedVec {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            // The pool decides whether to keep the memory.
            pool.keep(std::mem::take(&mut self.memory));
        }
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
        let mut copy = self.uninit_like(self.len);
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
        // `zeroize` on slices writes word by word, which takes several times as long.
        self.memory.words_mut().fill(0);
        zeroize::optimization_barrier(self.memory.words());
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

    /// Heap, mapped with a small and with a large part of the last huge page. Fewer under Miri,
    /// which takes a microsecond a step.
    const LENGTHS: &[usize] = if cfg!(miri) {
        &[0, 9, 1 << 18]
    } else {
        &[0, 1, 7, 8, 9, 1000, 1 << 18, (1 << 18) + 1, 400_000]
    };

    #[test]
    fn is_aligned_zero_and_of_the_length_asked_for() {
        for &len in LENGTHS {
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
    fn large_buffers_of_a_pool_are_used_again() {
        let (pool, n) = (Pool::default(), 1 << 18);
        let mut first = pool.zeroed(3 * n);
        assert!(first.iter().all(|&x| x == 0));
        first.fill(5);
        let place = first.as_ptr();
        drop(first.clone());
        drop(first);
        let kept = || pool.0.lock().unwrap().len();
        assert_eq!(kept(), 2);
        // The last kept buffer is reused first, but not for small or much smaller requests.
        let again = pool.zeroed(3 * n - 8);
        assert!(again.as_ptr() == place && again.iter().all(|&x| x == 0));
        assert_eq!(again.len(), 3 * n - 8);
        drop((pool.zeroed(n), pool.zeroed(8)));
        assert_eq!(kept(), 2);
        // Buffers below a huge page too, on small pages.
        let (small, words) = (Pool::default(), SMALLEST / 8);
        drop((small.uninit(words), small.uninit(words - 8)));
        assert_eq!(small.0.lock().unwrap().len(), 1);
        drop(small.uninit(words / 8 * 7));
        assert_eq!(small.0.lock().unwrap().len(), 1);
        drop(small.uninit(3 * words));
        assert_eq!(small.0.lock().unwrap().len(), 2);
        assert_eq!(small.uninit(words).len(), words);
        assert_eq!(small.find(words + 8).map(|memory| memory.words().len()), None);
        // From the same pool, without any of the previous content.
        let copy = again.clone();
        assert!(copy == again && kept() == 1);
        drop((copy, again, pool.zeroed(KEPT / 8)));
        // The oldest buffers are freed.
        assert_eq!(kept(), 1);
        let sum: usize = pool.0.lock().unwrap().iter().map(|memory| memory.words().len()).sum();
        assert!(8 * sum <= KEPT);
    }

    #[test]
    fn reserved_buffers_are_there_at_once() {
        let (pool, len) = (Pool::default(), 1 << 18);
        let kept = || pool.0.lock().unwrap().len();
        pool.reserve(len, 3);
        assert_eq!(kept(), 3);
        // Existing buffers count, including slightly larger ones.
        pool.reserve(len / 2 + 8, 2);
        pool.reserve(len, 4);
        assert_eq!(kept(), 4);
        let buffers: Vec<_> = (0..4).map(|_| pool.uninit(len)).collect();
        assert_eq!(kept(), 0);
        drop(buffers);
        assert_eq!(kept(), 4);
        // At most as much as a pool keeps, and no buffers that it does not keep.
        let small = Pool::default();
        small.reserve(SMALLEST / 8 - 8, 1);
        small.reserve(KEPT / 4, usize::MAX);
        assert_eq!(small.0.lock().unwrap().len(), 0);
    }

    #[test]
    fn wipes_what_was_cut_off() {
        for &len in LENGTHS {
            let mut v = AlignedVec::zeroed(len);
            v.fill(5);
            v.truncate(3);
            v.zeroize();
            assert!(v.memory.words().len() >= len && v.memory.words().iter().all(|&x| x == 0));
        }
    }
}
