//! Polynomials of vectors, in the Chebyshev or the monomial basis, at optimal depth.
//!
//! [`Chebyshev`] approximates a function, [`Polynomial`] adds the [`Plan`] of its evaluation, and
//! [`CircuitOps::polynomial`](crate::CircuitOps::polynomial) evaluates it. [`Monomial`] is a
//! polynomial in the monomial basis, real or complex. Several polynomials of one vector share its
//! powers ([`CircuitOps::polynomials`](crate::CircuitOps::polynomials),
//! [`CircuitOps::monomials`](crate::CircuitOps::monomials)).
//!
//! | module | contents |
//! | --- | --- |
//! | `plan` | [`Plan`]: the products and sums of an evaluation |
//! | `paterson_stockmeyer` | the evaluation of a plan |
//! | `eval`, `shared_powers` | one polynomial of a vector; several with the same powers |
//! | `sums` | sums of multiples of powers, several at a time |
//! | `planned`, `monomial` | [`Polynomial`], [`Monomial`] |
//! | `scales` | the scales of powers |
//! | `plan_cost` | the work of an evaluation |
//! | `steps`, `worst` | noise of the roundings of an evaluation: variance, worst case |
//! | `cells` | largest values over an interval, by branch and bound |

mod cells;
pub(crate) mod eval;
mod monomial;
pub(crate) mod paterson_stockmeyer;
mod plan;
mod plan_cost;
mod planned;
pub(crate) mod scales;
pub(crate) mod shared_powers;
mod steps;
pub(crate) mod sums;
pub(crate) mod worst;

pub(crate) use cells::{Cell, largest};
pub use monomial::Monomial;
pub use plan::{Basis, Node, Plan, Power, Sensitivity};
pub(crate) use plan::{Response, power_depth};
pub use planned::Polynomial;
pub(crate) use scales::drift;
pub(crate) use steps::Steps;

#[cfg(doc)]
use crate::chebyshev::Chebyshev;
