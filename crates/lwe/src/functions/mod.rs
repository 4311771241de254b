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
//! values brought. Where many values are equal the selection prefers errors of one sign, up to
//! 0.4 standard deviations of one error for each comparator; it stays below six standard deviations of what is
//! predicted for networks of any depth in use.

mod arg;
mod choose;
mod compare;
mod network;
mod pool;
mod sort;

pub use network::Network;
pub use sort::Order;
