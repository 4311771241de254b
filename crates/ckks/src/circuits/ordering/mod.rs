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
//! # Margins
//! A sign has its stated error where two values differ by at least the *margin*, a part of the
//! width of the declared range ([`Comparator::MARGIN`]: `2^-10`). Closer values are mixed, and
//! the maximum loses at most its [`error`](Comparator::error), less than a sixth of
//! the margin with the signs of [`Comparator::new`]; ties lose nothing. Each function states its
//! bound. Half the margin takes about one level more. Counts of values that are declared integers
//! ([`Comparator::of_integers`]) have no such values, and are exact.
//!
//! # Levels and bootstrapping
//! A comparison and the product after it take [`Comparator::levels`]. Programs of more levels than
//! a vector has need automatic bootstrapping
//! ([`Evaluator::with_auto_bootstrap`](crate::Evaluator::with_auto_bootstrap)); signs of more
//! levels than there are between two bootstraps bootstrap in between. A vector of fewer slots than
//! the ring is bootstrapped repeated. Values must be in the range of a bootstrap, usually
//! `[-1, 1]`, unless the vector has a level for the map to the unit interval.
//!
//! A [`Simulator`](crate::simulator::Simulator) with the same bootstrapping predicts the number of
//! bootstraps, the keys and the result.
//!
//! # Noise
//! Values in the unit interval are convex combinations of the operand's values: their range holds
//! throughout, with a margin of `2^-9` of it for noise. The predicted noise is the sum of the noise
//! of the stages. A stage does not amplify the noise of its operands in the mean square over its
//! domain; the noise of two values closer than the margin may grow by a factor below 1.6.
//!
//! # Errors
//! Of all functions: [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a complex range,
//! [`ErrorKind::Noise`](crate::ErrorKind::Noise) for noise beyond that margin,
//! [`ErrorKind::OutOfLevels`](crate::ErrorKind::OutOfLevels) without bootstrapping,
//! [`ErrorKind::MissingKey`](crate::ErrorKind::MissingKey) and
//! [`ErrorKind::MissingKey`](crate::ErrorKind::MissingKey) without the keys of
//! [`OrderTask::keys`], and those of bootstrapping.
//!
//! # Example
//! ```
//! use bellerophon_ckks::ordering::{Comparator, Order, OrderTask};
//! use bellerophon_ckks::{Interval, Result, bootstrap::Bootstrapper, simulator::Simulator};
//! # use bellerophon_ckks::{Params, ParamsSpec, Security, bootstrap::BootstrapSpec};
//! # use std::sync::Arc;
//!
//! # fn main() -> Result<()> {
//! # // A toy ring.
//! # let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(1 << 4) };
//! # let chain = spec.chain(1 << 10, 42, 9, (49, 9))?;
//! # let params = Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure)?)?;
//! # let bootstrapper = Arc::new(Bootstrapper::new(&params, spec)?);
//! let shadow = Simulator::new(&params).with_bootstrapping(bootstrapper)?.with_auto_bootstrap()?;
//! let range = Interval::real(-1.0, 1.0)?; // declared: it is public
//! let x = shadow.encrypt(&[0.5, -0.25, 0.125, -1.0, 0.75], range, 11)?;
//!
//! let comparator = Comparator::new(1.0 / 64.0)?;
//! let sorted = comparator.sort(&shadow, &x, Order::Ascending)?;
//!
//! let bound = 2.0 * comparator.error(OrderTask::Sort { len: 5 }); // the range has width 2
//! for (found, expected) in sorted.reals().iter().zip([-1.0, -0.25, 0.125, 0.5, 0.75]) {
//!     assert!((found - expected).abs() < bound);
//! }
//! let report = shadow.report();
//! assert_eq!(comparator.stages(OrderTask::Sort { len: 5 }), 6);
//! println!("{} bootstraps, {}", report.bootstraps, report);
//! # Ok(())
//! # }
//! ```

mod comparator;
mod count;
mod histogram;
mod network;
mod sort;
mod task;
mod tournament;
mod unit;

pub use comparator::Comparator;
pub use network::Order;
pub use task::OrderTask;
