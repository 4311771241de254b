//! The crate's one error type.

mod argument;
mod kind;
mod level_scale;
mod remedies;

pub use argument::ArgumentError;
pub use kind::ErrorKind;
pub use level_scale::LevelScale;
pub(crate) use remedies::rounded_up;

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Error(ErrorKind) from [bellerophon_ring, bellerophon_mlwe];
}

bellerophon_ring::lower_kinds! {
    Mlwe(bellerophon_mlwe::ErrorKind) via [Ring];
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
