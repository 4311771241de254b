//! Work over limbs on the active rayon pool, where it is large enough to pay.

use crate::{Domain, Poly};

/// Words from which a cheap pass (additions, products) is spread over threads.
pub(crate) const CHEAP: usize = 1 << 17;
/// Words from which a transform or a base conversion is spread over threads.
pub(crate) const HEAVY: usize = 1 << 14;

/// Rows from which reading them costs more than that what is written leaves the second-level cache.
pub(crate) const WIDE: usize = 6;

/// Limbs that are worked on together where they read the same rows, so many of them: two, eight if
/// they are [`WIDE`], or one where there are threads for all.
pub(crate) fn together(limbs: usize, rows: usize) -> usize {
    limbs.div_ceil(threads()).clamp(1, if rows < WIDE { 2 } else { 8 })
}

/// Threads that there are.
#[cfg(feature = "parallel")]
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

#[cfg(not(feature = "parallel"))]
pub(crate) fn threads() -> usize {
    1
}

/// Calls `f(i, limb)` for every limb of `degree` words of `data`, on several threads if `data`
/// has at least `threshold` words.
pub(crate) fn each_limb(
    data: &mut [u64],
    degree: usize,
    threshold: usize,
    f: impl Fn(usize, &mut [u64]) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    if data.len() >= threshold && data.len() > degree && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        data.par_chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
        return;
    }
    let _ = threshold;
    data.chunks_mut(degree).enumerate().for_each(|(i, limb)| f(i, limb));
}

/// Calls `f(scratch, i, item)` for every item, on several threads if `items` of `words` words each
/// make at least `threshold`; each thread makes its own scratch.
pub(crate) fn each_with<T: Send, S>(
    items: Vec<T>,
    words: usize,
    threshold: usize,
    scratch: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize, T) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    if items.len() * words >= threshold && items.len() > 1 && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        items
            .into_par_iter()
            .enumerate()
            .for_each_init(&scratch, |scratch, (i, item)| f(scratch, i, item));
        return;
    }
    let _ = (words, threshold);
    let mut scratch = scratch();
    items.into_iter().enumerate().for_each(|(i, item)| f(&mut scratch, i, item));
}

/// The limbs of some polynomials of one ring: for each prime, one limb of each polynomial.
pub(crate) fn by_limb<D: Domain>(columns: &mut [Poly<D>]) -> Vec<Vec<&mut [u64]>> {
    let limbs = columns.iter_mut().map(|column| {
        let degree = column.degree();
        column.data_mut().chunks_mut(degree)
    });
    transposed(limbs.collect())
}

/// The first chunks of all columns, the second ones, and so on.
pub(crate) fn transposed<'a>(
    mut columns: Vec<std::slice::ChunksMut<'a, u64>>,
) -> Vec<Vec<&'a mut [u64]>> {
    let count = columns.first().map_or(0, |column| column.len());
    (0..count).map(|_| columns.iter_mut().filter_map(Iterator::next).collect()).collect()
}

/// The items in order, `size` of them in each group and the rest in the last one.
pub(crate) fn grouped<T>(items: Vec<T>, size: usize) -> Vec<Vec<T>> {
    let mut items = items.into_iter().peekable();
    let mut groups = Vec::new();
    while items.peek().is_some() {
        groups.push(items.by_ref().take(size).collect());
    }
    groups
}
