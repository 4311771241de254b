//! Circuits on the scheme: each one composes operations of [`CkksOps`](crate::CkksOps) or has a
//! fused kernel of its own, and states level, scale, range and noise of its results
//! ([`Metadata`](crate::Metadata)).
//!
//! Dependencies point from later rows to earlier ones.
//!
//! | module | circuit |
//! | --- | --- |
//! | [`diagonals`], [`lintrans`] | slot matrices by their diagonals, in the clear and on ciphertexts |
//! | [`chebyshev`], [`polynomial`] | polynomials: fits of certified error, Paterson-Stockmeyer plans |
//! | [`approx`] | functions by polynomials: minimax signs and comparisons, iterations, series |
//! | [`dft`] | SlotsToCoeffs and CoeffsToSlots |
//! | [`eval_mod`] | reduction modulo 1 |
//! | [`bootstrap`] | CKKS bootstrapping |
//! | [`fbt`] | functional bootstrapping |
//! | [`matrix`], [`statistics`], [`learning`], [`ordering`] | applications |

pub mod approx;
pub mod bootstrap;
pub mod chebyshev;
pub mod dft;
pub mod diagonals;
pub mod eval_mod;
pub mod fbt;
pub mod learning;
pub mod lintrans;
pub mod matrix;
pub mod ordering;
pub mod polynomial;
pub mod statistics;

#[cfg(test)]
mod tests;
