//! Tests of the scheme on ciphertexts that need more than its public interface. The others are in
//! `tests/ckks`.

mod bootstrap;
#[path = "../../../../tests/ckks/common/mod.rs"]
pub(crate) mod common;
mod encoding;
mod estimate;
mod eval_mod;
mod evaluator;
mod failures;
mod lengths;
mod levels;
mod linear;
mod monomial;
mod noise;
mod polynomial;
mod reducing;
mod rings;
mod statistics;
mod sums;
mod worst;
