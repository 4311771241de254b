//! What a composed operation knows better than the rules: ranges, and which errors are independent.

use crate::interval::Interval;
use crate::ops::CkksOps;

/// `x` with a tighter range of its exact slots; their error stays beside it, unchanged.
pub fn within<A: CkksOps>(a: &A, x: A::Ciphertext, range: Interval) -> A::Ciphertext {
    let meta = a.metadata(&x).meta.within(range);
    a.with_metadata(x, meta)
}

/// `x` whose slots have independent errors, for a sum of them.
pub fn separate<A: CkksOps>(a: &A, x: A::Ciphertext) -> A::Ciphertext {
    let origins = a.origins(&x).separate();
    a.with_origins(x, origins)
}

/// [`separate`], unless the errors of several slots of the caller's operands may be `related`.
pub fn separate_unless<A: CkksOps>(a: &A, x: A::Ciphertext, related: bool) -> A::Ciphertext {
    if related { x } else { separate(a, x) }
}

/// `x` whose slots may depend on all slots of what it was computed from.
pub fn mixed<A: CkksOps>(a: &A, x: A::Ciphertext) -> A::Ciphertext {
    let origins = a.origins(&x).mixed();
    a.with_origins(x, origins)
}
