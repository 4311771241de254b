//! Buffers of `u64` that start at a multiple of 64 bytes; large ones stand on huge pages and are
//! used again.
//!
//! The pages of a fresh buffer cost as much as the work on them if there are many: 64 MiB take
//! 31 ms to touch in pages of 4 KiB in a virtual machine, 11 ms in pages of 2 MiB, and are then
//! read at twice the speed (measured on the machine of `docs/performance.md`). Linux hands out
//! huge pages to those who ask, so large buffers are mapped and ask. The cheapest page is one that
//! is there already: a `Pool` keeps the large buffers that are dropped for those that come next.
//!
//! Mapped buffers begin at different places of their first page. Kernels read the same place of many
//! polynomials at a time (the rows of a key), and if all began with a page these lines would compete
//! for the same few places of the caches.

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
/// What truncation cuts off stays in memory until the buffer is dropped; `zeroize` overwrites it
/// with the rest. A buffer from a `Pool` goes back to it as it is: secrets are wiped before.
#[derive(Default)]
pub struct AlignedVec {
    /// At least `len` words.
    memory: Memory,
    len: usize,
    pool: Option<Pool>,
}

enum Memory {
    Heap(Vec<Line>),
    /// With the bytes that are left out at the beginning.
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

/// Bytes of a line of a cache.
const LINE: usize = 64;

/// By how many bytes a mapped buffer begins later in its page than the one before, up to
/// [`SKEWED`]: a small page, and five lines so that they differ in the first-level cache too.
const SKEW: usize = PAGE + 5 * LINE;

/// Bytes over which the beginnings are spread: those between lines for the same place of a
/// second-level cache of 1 MiB in 16 ways.
const SKEWED: usize = 64 << 10;

/// Bytes of a small page.
const PAGE: usize = 4 << 10;

/// Bytes of the smallest buffer that a pool keeps: allocators give such buffers back to the system
/// when they are dropped, and their pages have to be touched anew.
const SMALLEST: usize = 256 << 10;

/// Bytes that a pool keeps at most.
const KEPT: usize = 1 << 30;

/// Large buffers that nobody uses at the moment, to be handed out again. Clones share them.
///
/// It holds at most 1 GiB, until the last clone and the last buffer from it are gone.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Memory>>>);

impl Pool {
    /// `len` zeros.
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

    /// `len` words of any content, for a caller that writes them all before reading any.
    pub(crate) fn unset(&self, len: usize) -> AlignedVec {
        let memory = self.find(len).unwrap_or_else(|| Memory::zeroed(len));
        let mut words = AlignedVec { memory, len, pool: Some(self.clone()) };
        if cfg!(debug_assertions) {
            words.fill(u64::MAX);
        }
        words
    }

    /// Has memory for `count` buffers of `len` words at once, all of it touched, or for as many as are
    /// kept.
    pub(crate) fn reserve(&self, len: usize, count: usize) {
        let bytes = size_of::<u64>() * len;
        if bytes < SMALLEST {
            return;
        }
        let count = count.min(KEPT / bytes.next_multiple_of(HUGE));
        let touched = || {
            let mut words = self.unset(len);
            words.fill(0);
            words
        };
        drop((0..count).map(|_| touched()).collect::<Vec<_>>());
    }

    /// The smallest buffer of at least `len` words, unless it is more than twice as large as needed with
    /// the rest of a page: polynomials of one computation differ by some limbs.
    fn find(&self, len: usize) -> Option<Memory> {
        let bytes = size_of::<u64>().saturating_mul(len);
        if bytes < SMALLEST {
            return None;
        }
        let page = if bytes < HUGE { PAGE } else { HUGE };
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |memory: &Memory| memory.words().len() >= len;
        let best = free.iter().enumerate().rev().filter(|(_, memory)| fits(memory));
        let (place, memory) = best.min_by_key(|(_, memory)| memory.words().len())?;
        let most = len.next_multiple_of(page / size_of::<u64>()) * 2;
        (memory.words().len() <= most).then(|| free.remove(place))
    }

    fn keep(&self, memory: Memory) {
        let bytes = |memory: &Memory| size_of_val(memory.words());
        if !(SMALLEST..=KEPT).contains(&bytes(&memory)) {
            return;
        }
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(memory);
        let mut total: usize = free.iter().map(bytes).sum();
        // The oldest go, once the lock is released; before those on small pages, which take longer to
        // touch anew, those on huge ones.
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
        if let Some(map) = Self::map(size_of::<u64>().saturating_mul(len)) {
            static MAPS: AtomicUsize = AtomicUsize::new(0);
            let spare = map.len() - size_of::<u64>() * len;
            let skew = MAPS.fetch_add(1, Ordering::Relaxed).wrapping_mul(SKEW) % SKEWED;
            return Memory::Mapped(map, skew.min(spare / LINE * LINE));
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
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        Self { memory: Memory::zeroed(len), len, pool: None }
    }

    /// `len` words of any content, from the pool that this buffer comes from.
    pub(crate) fn unset_like(&self, len: usize) -> Self {
        self.pool.as_ref().map_or_else(|| Self::zeroed(len), |pool| pool.unset(len))
    }

    /// Keeps the first `len` elements; does nothing if there are fewer.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Drop for AlignedVec {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
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
        let mut copy = self.unset_like(self.len);
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
        // Word by word, as `zeroize` wipes slices, takes several times as long.
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
        // The last that came is the first to go; neither small nor much smaller buffers take it.
        let again = pool.zeroed(3 * n - 8);
        assert!(again.as_ptr() == place && again.iter().all(|&x| x == 0));
        assert_eq!(again.len(), 3 * n - 8);
        drop((pool.zeroed(n), pool.zeroed(8)));
        assert_eq!(kept(), 2);
        // Those below a huge page too, on pages of their own size.
        let (small, words) = (Pool::default(), SMALLEST / 8);
        drop((small.unset(words), small.unset(words - 8)));
        assert_eq!(small.0.lock().unwrap().len(), 1);
        drop(small.unset(words / 8 * 7));
        assert_eq!(small.0.lock().unwrap().len(), 1);
        drop(small.unset(3 * words));
        assert_eq!(small.0.lock().unwrap().len(), 2);
        assert_eq!(small.unset(words).len(), words);
        assert_eq!(small.find(words + 8).map(|memory| memory.words().len()), None);
        // From the same pool, with nothing of what was there before.
        let copy = again.clone();
        assert!(copy == again && kept() == 1);
        drop((copy, again, pool.zeroed(KEPT / 8)));
        // The oldest make room.
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
        // What is there counts, buffers that are a little larger too.
        pool.reserve(len / 2 + 8, 2);
        pool.reserve(len, 4);
        assert_eq!(kept(), 4);
        let buffers: Vec<_> = (0..4).map(|_| pool.unset(len)).collect();
        assert_eq!(kept(), 0);
        drop(buffers);
        assert_eq!(kept(), 4);
        // No more than is kept, and nothing that is not.
        let small = Pool::default();
        small.reserve(SMALLEST / 8 - 8, 1);
        small.reserve(KEPT / 4, usize::MAX);
        assert_eq!(small.0.lock().unwrap().len(), 0);
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
