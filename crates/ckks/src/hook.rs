//! [`Refresh`]: what bootstraps operands whose levels run out.

use std::fmt::Debug;

use bellerophon_ring::Result;

/// The bootstrap of operands of type `X` on an evaluator or a simulator `A`.
pub trait Refresh<A, X>: Debug + Send + Sync {
    /// The levels before and after.
    fn span(&self) -> Span;

    /// `x` at the level after it, at a scale.
    fn refreshed(&self, a: &A, x: &X, scale: f64) -> Result<X>;
}

/// The levels of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The lowest level of an operand.
    pub least: usize,
    /// The level of the result.
    pub fresh: usize,
}
