//! The order of a sorted vector, of slots and of LWE values alike.

/// The order of a sorted vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOrder {
    /// The smallest value first.
    Ascending,
    /// The largest value first.
    Descending,
}
