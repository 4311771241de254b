//! Negacyclic rings `R_Q = Z_Q[X] / (X^N + 1)` in residue number systems: the arithmetic under
//! lattice cryptography. This crate knows nothing of keys.
//!
#![forbid(clippy::print_stdout)]
#![deny(unsafe_code)]

pub mod aligned;
#[allow(unsafe_code)]
pub mod backend;
mod error;
mod modulus;
pub mod ntt;
pub mod prime;
pub mod sample;

pub use backend::Backend;
pub use error::{Error, Result};
pub use modulus::Modulus;
pub use ntt::NttTable;
