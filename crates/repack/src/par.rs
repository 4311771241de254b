//! Independent pieces of work on the active rayon pool.

/// Calls `f` with the index of every item and the item.
pub fn for_each<T: Send>(items: Vec<T>, f: impl Fn(usize, T) + Sync + Send) {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.into_par_iter().enumerate().for_each(|(i, item)| f(i, item));
    }
    #[cfg(not(feature = "parallel"))]
    {
        items.into_iter().enumerate().for_each(|(i, item)| f(i, item));
    }
}

/// Runs both, in parallel if there are threads.
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "parallel")]
    {
        rayon::join(a, b)
    }
    #[cfg(not(feature = "parallel"))]
    {
        (a(), b())
    }
}
