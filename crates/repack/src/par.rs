//! Independent pieces of work on the active rayon pool.

use crate::Result;

/// `f` of every item, in order; the first error if there is one.
pub(crate) fn map<T: Sync, U: Send>(
    items: &[T],
    f: impl Fn(&T) -> Result<U> + Sync + Send,
) -> Result<Vec<U>> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        items.par_iter().map(f).collect()
    }
    #[cfg(not(feature = "parallel"))]
    {
        items.iter().map(f).collect()
    }
}

/// `f` of every item and its index, for its effect.
pub(crate) fn for_each<T: Send>(items: Vec<T>, f: impl Fn(usize, T) + Sync + Send) {
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

/// Both, side by side where there are threads.
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
