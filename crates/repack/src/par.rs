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
