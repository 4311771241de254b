//! Ranges that a composed operation knows better than interval arithmetic.

use crate::{CkksOps, Interval};

/// `x` with a tighter range of its exact slots; their error stays beside it, unchanged.
pub(crate) fn within<A: CkksOps>(a: &A, x: A::Ciphertext, range: Interval) -> A::Ciphertext {
    let meta = a.metadata(&x).meta.within(range);
    a.with_metadata(x, meta)
}
