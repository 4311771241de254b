//! Functions of several values, by table look-up on sums and differences.
//!
//! A comparator of two values takes one look-up of `r = max(a - b, 0)`. The maximum is `b + r`, and
//! the minimum is `a - r`. A difference has twice the range of the values, so values that are
//! compared fill an eighth of a period on either side instead of a quarter
//! ([`Headroom::comparators`](crate::Headroom::comparators)).
//!
//! | module | contents |
//! | --- | --- |
//! | `compare` | maximum, minimum, magnitude, comparison; the tournament of comparators |
//! | `argmax`, `argmax_tournament` | argmax and argmin: one-hot, as labels, as indicators of ties |
//! | `network`, `sort` | sorting networks; sorting, the largest or smallest few (top-k) |
//! | `pool` | max-pooling |
//! | `select` | selection by an encrypted choice |
//!
//! # Accuracy
//! The look-up of a difference has an index error `e`, so `b + r` is `max(a + e, b)`. It deviates
//! from the maximum by at most `|e|`, and not at all if `b` wins. The errors of consecutive
//! comparators of a value are independent and add in variance. Results have this variance
//! ([`LweVec::variance`](crate::LweVec::variance)) in addition to the noise of the inputs: `r`
//! times the variance of one error after `r` comparators.
//!
//! This holds if values differ by more than the errors. The maximum of `2^r` equal values is the
//! largest of as many sums of errors: its mean square error is below `r^2` variances, but not below
//! `r`. Guard bands hold for all these sums, so the bound on the noise
//! ([`LweMeta::noise`](crate::LweMeta::noise)) grows by an additional factor with every comparator
//! ([`noise::comparator_variance_factor`](crate::noise::comparator_variance_factor)), which
//! encodings with headroom for comparators include.
//!
//! Minimum and maximum of a pair have opposite errors: their difference has twice the error.

mod argmax;
mod argmax_tournament;
mod compare;
mod network;
mod pool;
mod select;
mod sort;

pub use network::Network;
pub use pool::check_pooling;
