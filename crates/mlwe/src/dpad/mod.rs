//! DPad-HE: products and rotations of rank `r` by way of other ranks and rings.
//!
//! | file | section of the paper |
//! | --- | --- |
//! | `route` | 3.2: ways to relinearise, and the sets of parameters that each passes through |
//! | `relin` | Algorithm 1: the keys of such a way, products |
//! | `schedule` | 2.2 and RQ4: the levels at which a circuit may go down in rank |
//! | `convert` | 4.2, 4.3, Algorithm 5: to and from RLWE, ring switching |
//! | `cost` | 3.3: the work of each way, and the cheapest |
//! | `rotate` | 3.5, Algorithm 2: rotations hoisted to a temporary rank |

mod convert;
mod cost;
#[cfg(test)]
mod rank_one;
mod relin;
mod rotate;
mod route;
mod schedule;

pub use convert::{RingConversion, RingSwitchKeys, trace_exponents};
pub use cost::{RelinCost, temporary_security_bits};
pub use relin::{RelinKeys, SeededRelinKeys};
pub use rotate::{RankHoistedKeys, non_adjacent_form};
pub use route::{RelinRoute, Strategy};
pub use schedule::{RankStep, rank_at, rank_schedule};
