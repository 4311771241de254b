//! Order statistics of whole encrypted vectors: sorting, largest values, quantiles, counts.
//!
//! A [`Comparator`] compares the slots of one vector with those of a rotated copy: one composite
//! sign ([`Sign`](crate::approx::Sign)) of the whole vector decides all pairs at once. The vector
//! has a declared real range, which is mapped onto an interval of width 1 first.
//!
//! | function | comparisons of the whole vector | result |
//! | --- | --- | --- |
//! | [`sort`](Comparator::sort) | `r (r + 1) / 2` for up to `2^r` values | all values in order |
//! | [`top_k`](Comparator::top_k) | `s (s + 1) / 2 + (r - s) (s + 1)` for `k` up to `2^s` | the `k` largest |
//! | [`max`](Comparator::max), [`min`](Comparator::min) | `r` | one value, in every slot |
//! | [`arg_max`](Comparator::arg_max) | `r` | the index of the largest value (argmax) |
//! | [`quantile`](Comparator::quantile), [`median`](Comparator::median) | 2 for each step, see [`stages`](Comparator::stages) | one value, in every slot |
//! | [`count_below`](Comparator::count_below), [`rank`](Comparator::rank) | 1 | a count, in every slot |
//! | [`histogram`](Comparator::histogram) | 1 for each inner edge | a count in a slot for each bin |
//!
//! Networks on slots follow Hong, Kim, Choi, Lee and Cheon, "Efficient sorting of homomorphic
//! encrypted data with k-way sorting network" (2021); order statistics by counts follow Mazzone,
//! Everts, Hahn and Peter, "Efficient ranking, order statistics, and sorting under CKKS" (2025).
//! The result of a comparison is used as `max(a, b) = (a + b) / 2 + d s(d) / 2` with `d = a - b`:
//! where the sign `s` is soft, `d` is small.
//!
//! # Errors
//! Of all functions: [`ErrorKind::Shape`](bellerophon_ckks::ErrorKind::Shape) for a complex range,
//! [`ErrorKind::Noise`](bellerophon_ckks::ErrorKind::Noise) for noise beyond `2^-9` of it,
//! [`ErrorKind::OutOfLevels`](bellerophon_ckks::ErrorKind::OutOfLevels) without bootstrapping,
//! [`ErrorKind::MissingKey`](bellerophon_ckks::ErrorKind::MissingKey) without the keys of
//! [`OrderTask::keys`], and those of bootstrapping.

mod comparator;
mod count;
mod histogram;
mod network;
mod sort;
mod task;
mod tournament;
mod unit;

pub use bellerophon_ring::SortOrder;
pub use comparator::Comparator;
pub use task::OrderTask;
