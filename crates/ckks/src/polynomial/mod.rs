//! Polynomials of ciphertexts, in the Chebyshev basis, at optimal depth.

mod plan;

pub use plan::{Node, Plan, Power, Sensitivity, power_depth};
