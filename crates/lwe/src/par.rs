//! Work over values on the active rayon pool, or in order without the feature `parallel`.

use crate::Result;

/// `f` of every item, in order; the first error ends it.
pub(crate) fn try_map<T: Sync, U: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<U> + Sync + Send,
) -> Result<Vec<U>> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    items.iter().map(f).collect()
}

/// Calls `f(i, chunk)` for the chunks of `size` words of `data`.
pub(crate) fn each_chunk(
    data: &mut [u64],
    size: usize,
    f: impl Fn(usize, &mut [u64]) + Sync + Send,
) {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
    }
    #[cfg(not(feature = "parallel"))]
    data.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
}

/// Number of threads of the active pool.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}
