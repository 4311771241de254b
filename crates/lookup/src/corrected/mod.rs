//! Look-ups to a requested accuracy: tables of local polynomials correct the error of the index.
//!
//! The error of a look-up is dominated by that of its index: a few cells, mostly from rounding. It
//! depends on the rounded ciphertext alone, so several tables that are read at the same index share
//! it. One of them, the identity, returns the cell `c` that was read. The slots then hold
//! `d = x - c`, and
//!
//! ```text
//! f(x) = p_c(d) = T_0 + d (T_1 + d (T_2 + ..)),      T_j: table of coefficient j of p_c,
//! ```
//!
//! removes the error up to the degree of `p_c` ([`local_poly`](super::local_poly)). All tables come
//! from one blind rotation ([`lwe::Evaluator::maps`]), on NTRU from one per table at the same
//! index, and return to the slots in one ring packing ([`table_packing`](super::table_packing)).
//! Packing leaves them at one amplitude; the differences between the tables go into the scales. A
//! correction takes a level for each power of `d`. The mask that separates the tables multiplies
//! the last factor and `T_0`; it takes a level of its own only if there is a single power.
//!
//! If `x` has too few levels left, it is packed beside the tables, in an encoding that spans a
//! thirty-second of the phases. Packing then returns `g(x)`, a sine so flat that it is monotonic,
//! and the table of the identity becomes a table of `g`.

#[cfg(doc)]
use bellerophon_lwe as lwe;

mod correction;
mod eval;
mod known;
mod noise;
pub(crate) mod plan;
pub(crate) mod to_accuracy;
