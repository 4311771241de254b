//! Circuits on RNS-CKKS ([`bellerophon_ckks`]): polynomials and functions of certified error,
//! linear transforms, bootstrapping, functional bootstrapping, and applications on top of them.
//!
//! A circuit is a [`Fused`](bellerophon_ckks::vectors::Fused) operation with a kernel of its own,
//! or a short program of [`CkksOps`](bellerophon_ckks::CkksOps). Each states level, scale, range
//! and noise of its results ([`Metadata`](bellerophon_ckks::Metadata)), and runs on evaluators, on
//! the simulator and on the debugger alike. [`CircuitOps`] has polynomials,
//! functions, transforms and bootstraps as methods; the others take the evaluator.
//!
//! Dependencies point from later rows to earlier ones.
//!
//! | module | circuit |
//! | --- | --- |
//! | [`diagonals`], [`lintrans`] | slot matrices by their diagonals, in the clear and on vectors |
//! | [`chebyshev`], [`polynomial`] | polynomials: fits of certified error, Paterson-Stockmeyer plans |
//! | [`approx`] | functions by polynomials: minimax signs and comparisons, iterations, series |
//! | [`dft`] | SlotsToCoeffs and CoeffsToSlots |
//! | [`eval_mod`] | EvalMod, the reduction modulo 1 |
//! | [`bootstrap`] | bootstrapping, Meta-BTS, automatic bootstrapping |
//! | [`rank_bootstrap`] | bootstrapping of rank `r` through RLWE |
//! | [`fbt`] | functional bootstrapping: tables and real functions as power series of `exp(2 pi i t)` |
//! | [`param_search`] | a parameter set from a program's slots, depth and precision, with the reasons |
//! | [`matrix`], [`learning`] | products with plain and encrypted matrices; logistic regression |
//! | [`statistics`], [`ordering`] | moments of columns; sorting, largest values, quantiles, histograms |
//! | [`wire`] | byte forms of prepared bootstraps, their keys, and vectors of integers |
#![forbid(unsafe_code)]

pub mod approx;
pub mod bootstrap;
pub mod chebyshev;
mod circuit_ops;
pub mod dft;
pub mod diagonals;
#[doc(hidden)]
pub mod error;
pub mod eval_mod;
pub mod fbt;
pub mod learning;
pub mod lintrans;
pub mod matrix;
pub mod ordering;
pub mod param_search;
pub mod polynomial;
pub mod rank_bootstrap;
pub mod statistics;
pub mod wire;

// The name of this crate in what its unit tests share with `tests/ckks`.
#[cfg(test)]
extern crate self as bellerophon_circuits;
#[cfg(test)]
mod tests;

pub use circuit_ops::CircuitOps;
