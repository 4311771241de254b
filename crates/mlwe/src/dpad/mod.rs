//! DPad-HE: products and rotations of rank `r` through other ranks and rings. Relinearization
//! itself is in [`RelinKeys`](crate::RelinKeys).
//!
//! | module | contents | section of the paper |
//! | --- | --- | --- |
//! | `strategy` | relinearization strategies and the parameter sets they need | 3.2 |
//! | `schedule` | the levels at which a circuit can reduce the rank | 2.2, RQ4 |
//! | `ring_switching` | conversion between ranks and RLWE, ring switching | 4.2, 4.3, Algorithm 5 |
//! | `cost` | the cost of each strategy, and the cheapest one | 3.3 |
//! | `rotate` | rotations hoisted to a temporary rank | 3.5, Algorithm 2 |

mod cost;
#[cfg(test)]
mod rank_one;
mod ring_switching;
mod rotate;
mod schedule;
pub(crate) mod strategy;

pub use cost::temporary_security_bits;
pub use ring_switching::{RingConversion, RingSwitchKeys, trace_exponents};
pub use rotate::{RankHoistedKeys, non_adjacent_form};
pub use schedule::{RankStep, rank_at, rank_schedule};
pub use strategy::{RelinKind, RelinStrategy};
