//! What a composed operation knows better than the rules: ranges, and which errors are independent.

use crate::{CkksOps, Interval};

/// `x` with a tighter range of its exact slots; their error stays beside it, unchanged.
pub(crate) fn within<A: CkksOps>(a: &A, x: A::Ciphertext, range: Interval) -> A::Ciphertext {
    let meta = a.metadata(&x).meta.within(range);
    a.with_metadata(x, meta)
}

/// `x` whose slots have independent errors, for a sum of them.
pub(crate) fn separate<A: CkksOps>(a: &A, x: A::Ciphertext) -> A::Ciphertext {
    let origins = a.origins(&x).separate();
    a.with_origins(x, origins)
}

/// `x` whose slots may depend on all slots of what it was computed from.
pub(crate) fn mixed<A: CkksOps>(a: &A, x: A::Ciphertext) -> A::Ciphertext {
    let origins = a.origins(&x).mixed();
    a.with_origins(x, origins)
}
