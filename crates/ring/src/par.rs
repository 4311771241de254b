//! Parallel work over limbs on the active rayon pool, if it is large enough to pay off.
//!
//! Work reaches the pool as a trait object: a call costs nothing beside a limb, and the code of
//! rayon is compiled once and not for each loop.

use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Mutex, PoisonError};

#[cfg(feature = "parallel")]
use rayon::prelude::*;

use crate::poly::{Domain, Poly};

/// Number of words from which a cheap pass (addition, product) is parallel.
pub(crate) const CHEAP: usize = 1 << 17;
/// Number of words from which a transform or a base conversion is parallel.
pub(crate) const HEAVY: usize = 1 << 14;

/// Number of rows from which their reads cost more than the eviction of the results from the
/// second-level cache.
pub(crate) const WIDE: usize = 6;

/// The number of limbs to compute together because they read the same rows: two, or eight for at
/// least [`WIDE`] rows, or fewer if there are enough threads.
pub(crate) fn together(limbs: usize, rows: usize) -> usize {
    // Every thread gets work first; only then limbs share the reads of their rows.
    limbs.div_ceil(threads()).clamp(1, if rows < WIDE { 2 } else { 8 })
}

/// The number of threads of the active pool; one without the feature `parallel`.
#[cfg(feature = "parallel")]
pub fn threads() -> usize {
    rayon::current_num_threads()
}

/// The number of threads of the active pool; one without the feature `parallel`.
#[cfg(not(feature = "parallel"))]
pub fn threads() -> usize {
    1
}

/// Calls `f(i, limb)` for every limb of `degree` words of `data`. Parallel if `data` has at least
/// `threshold` words.
pub(crate) fn each_limb(
    data: &mut [u64],
    degree: usize,
    threshold: usize,
    f: impl Fn(usize, &mut [u64]) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    if data.len() >= threshold && data.len() > degree && threads() > 1 {
        chunks_on_pool(data, degree, &f);
        return;
    }
    let _ = threshold;
    data.chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
}

/// Calls `f(scratch, i, item)` for every item. Parallel if the items, of `words` words each, have
/// at least `threshold` words in total. Each thread creates its own scratch.
pub(crate) fn each_with<T: Send, S>(
    items: Vec<T>,
    words: usize,
    threshold: usize,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize, T) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    if items.len() * words >= threshold && items.len() > 1 && threads() > 1 {
        let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        indices_on_pool(items.len(), &|| {
            let mut scratch = scratch();
            let (items, f) = (&items, &f);
            Box::new(move |i| {
                // A panic on another thread reaches the caller by itself.
                let item = items[i].lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(item) = item {
                    f(&mut scratch, i, item);
                }
            })
        });
        return;
    }
    let _ = (words, threshold);
    // Sequential: one scratch for all items.
    let mut scratch = scratch();
    items.into_iter().enumerate().for_each(|(i, item)| f(&mut scratch, i, item));
}

/// Calls `f(i, chunk)` for every chunk of `size` words of `data`.
#[cfg(feature = "parallel")]
fn chunks_on_pool(data: &mut [u64], size: usize, f: &(dyn Fn(usize, &mut [u64]) + Sync)) {
    data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
}

/// Work on the item of an index.
#[cfg(feature = "parallel")]
type Work<'a> = Box<dyn FnMut(usize) + 'a>;

/// Calls work with every index below `count`. Each thread creates its own.
#[cfg(feature = "parallel")]
fn indices_on_pool<'a>(count: usize, work: &(dyn Fn() -> Work<'a> + Sync)) {
    (0..count).into_par_iter().for_each_init(work, |work, i| work(i));
}

/// The limbs of some polynomials of one ring: for each prime, one limb per polynomial.
pub(crate) fn by_limb<D: Domain>(columns: &mut [Poly<D>]) -> Vec<Vec<&mut [u64]>> {
    let limbs = columns.iter_mut().map(|column| {
        let degree = column.degree();
        column.data_mut().chunks_mut(degree)
    });
    transposed(limbs.collect())
}

/// The first chunks of all columns, then the second ones, and so on.
pub(crate) fn transposed<'a>(
    mut columns: Vec<std::slice::ChunksMut<'a, u64>>,
) -> Vec<Vec<&'a mut [u64]>> {
    // One chunk of every column per step.
    let count = columns.first().map_or(0, |column| column.len());
    (0..count).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// The items in order, in groups of `size`. The last group may be smaller.
pub(crate) fn grouped<T>(items: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut items = items.into_iter().peekable();
    let mut groups = Vec::new();
    while items.peek().is_some() {
        groups.push(items.by_ref().take(size).collect());
    }
    groups
}

/// Calls `f(i, chunk)` for every chunk of `size` words of `data`, on the active rayon pool.
pub fn each_chunk(data: &mut [u64], size: usize, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
    each_limb(data, size, 0, f);
}

/// Calls `f` with the index of every item and the item, on the active rayon pool.
pub fn each_item<T: Send>(items: Vec<T>, f: impl Fn(usize, T) + Sync + Send) {
    each_with(items, 1, 0, || (), |(), i, item| f(i, item));
}

/// `f` of the index of every item and the item, in order, on the active rayon pool.
pub fn map_items<T: Send, U: Send>(
    items: Vec<T>,
    f: impl Fn(usize, T) -> U + Sync + Send,
) -> Vec<U> {
    let mut results: Vec<Option<U>> = items.iter().map(|_| None).collect();
    let places = items.into_iter().zip(&mut results).collect();
    each_item(places, |i, (item, result)| *result = Some(f(i, item)));
    results.into_iter().flatten().collect()
}

/// `f` of every item, in order, on the active rayon pool.
pub fn try_map<T: Sync, U: Send, E: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<U, E> + Sync + Send,
) -> Result<Vec<U>, E> {
    let mut results: Vec<Option<Result<U, E>>> = items.iter().map(|_| None).collect();
    let places = items.iter().zip(&mut results).collect();
    let failed = AtomicBool::new(false);
    each_item(places, |_, (item, result)| {
        if !failed.load(Ordering::Relaxed) {
            let found = f(item);
            failed.fetch_or(found.is_err(), Ordering::Relaxed);
            *result = Some(found);
        }
    });
    // Only after an error are there items without a result.
    results.into_iter().flatten().collect()
}

/// Runs both, in parallel if there are threads.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut x, mut y) = (None, None);
    both(&mut || x = a.take().map(|a| a()), &mut || y = b.take().map(|b| b()));
    x.zip(y).expect("both have run")
}

/// One of two tasks.
type Task<'a> = dyn FnMut() + Send + 'a;

#[cfg(feature = "parallel")]
fn both(a: &mut Task<'_>, b: &mut Task<'_>) {
    rayon::join(a, b);
}

#[cfg(not(feature = "parallel"))]
fn both(a: &mut Task<'_>, b: &mut Task<'_>) {
    a();
    b();
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::Mutex,
    };

    use super::*;

    #[test]
    fn items_are_taken_once_and_results_keep_their_order() {
        let items: Vec<Box<usize>> = (0..1000).map(Box::new).collect();
        let found = map_items(items, |i, item| (i, *item));
        assert_eq!(found, (0..1000).map(|i| (i, i)).collect::<Vec<_>>());
        let mut scratches = Mutex::new(0);
        let mut taken = vec![0; 1000];
        let scratch = || *scratches.lock().unwrap() += 1;
        each_with(taken.iter_mut().collect(), 1, 0, scratch, |(), i, x| *x += i);
        assert_eq!(taken, (0..1000).collect::<Vec<_>>());
        assert!((1..=1000).contains(scratches.get_mut().unwrap()));
        assert_eq!(join(|| 1, || "two"), (1, "two"));
    }

    #[test]
    fn errors_and_panics_reach_the_caller() {
        let f = |&i: &usize| if i % 10 == 7 { Err(i) } else { Ok(2 * i) };
        let items: Vec<usize> = (0..1000).collect();
        assert!(try_map(&items, f).is_err_and(|i| i % 10 == 7));
        assert_eq!(try_map(&items[..7], f), Ok(vec![0, 2, 4, 6, 8, 10, 12]));
        assert_eq!(try_map(&[], f), Ok(vec![]));
        let panics = || each_item(items.clone(), |_, i| assert!(i < 900));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        let panics = || join(|| (), || assert!(items.is_empty()));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    }
}
