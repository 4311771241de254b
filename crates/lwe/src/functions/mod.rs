//! Functions of several values, by look-ups of sums and differences.
//!
//! A comparator of two values takes one look-up: with `r = max(a - b, 0)`, the maximum is `b + r`
//! and the minimum `a - r`. Differences take twice the range of the values, so values that are
//! compared fill an eighth of a turn on either side and not a quarter
//! ([`Room::comparators`](crate::Room::comparators)).
//!
//! # How exact
//! The look-up of a difference sees it off by an index error `e`, so that `b + r` is `max(a + e, b)`,
//! off by at most `|e|`, and by nothing where the decision falls to `b`. The errors of comparators
//! that a value goes through one after the other are independent and add in variance; that is what
//! results carry ([`Values::variance`](crate::Values::variance)), together with the noise that the
//! values brought: `r` times the variance of one error after `r` comparators.
//!
//! That is right where values differ by more than the errors. Where `k = 2^r` are equal, their
//! maximum is the largest of `k` sums of errors: it is shifted by up to 0.93 standard deviations of
//! one error for each comparator, and its mean square error, 6 variances of one error for 16 equal
//! values, 15 for 64, 50 for 1024, stays below `r^2` of them and not below `r`. Guard bands hold for all
//! `2^r` sums of errors together that the result may be: the deviation that values carry
//! ([`Values::deviation`](crate::Values::deviation)) grows by so much more with every comparator
//! ([`noise::contested`](crate::noise::contested)), and encodings with room for comparators allow for
//! it.
//!
//! The minimum and the maximum of one pair err by opposite amounts, so that their difference is off
//! by twice the error of each; sums and differences carry a deviation that holds in any such case.

mod arg;
mod choose;
mod compare;
mod contest;
mod network;
mod pool;
mod sort;

pub use network::Network;
pub use pool::check_pooling;
pub use sort::Order;
