//! Under construction.
#![forbid(unsafe_code)]

pub mod chebyshev;
pub mod dft;
pub mod diagonals;
pub mod embedding;
pub mod polynomial;

pub use num_complex::Complex64;
