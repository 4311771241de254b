//! The error type of the crate.

use bellerophon_repack as repack;

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Error(ErrorKind) from [
        bellerophon_ring, bellerophon_mlwe, bellerophon_lwe, bellerophon_repack,
    ];
}

/// Why an operation of private look-up or of the exact scheme was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An error of the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// An error of the lattice layer.
    #[error(transparent)]
    Mlwe(bellerophon_mlwe::ErrorKind),
    /// An error of the LWE layer.
    #[error(transparent)]
    Lwe(bellerophon_lwe::ErrorKind),
    /// An error of ring packing that has no variant here.
    #[error(transparent)]
    Repack(bellerophon_repack::ErrorKind),
    /// No inputs.
    #[error("no rows: at least one is needed")]
    NoRows,
    /// A table, a query and parameters whose sizes do not fit each other.
    #[error("{what} is {found}, {needed} is needed")]
    Shape {
        /// What was measured.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number or range needed, printed.
        needed: String,
    },
    /// A number of the caller's that is out of range.
    #[error("{what} = {found} is not supported: need {needed}")]
    Value {
        /// The name of the number.
        what: &'static str,
        /// The number found, printed.
        found: String,
        /// The range needed.
        needed: &'static str,
    },
    /// A coefficient or table entry that is not below `t`. The error does not contain it.
    #[error(
        "the entry at position {index} of {count} is not below t = {plain}: reduce it, or use \
         parameters with a larger t"
    )]
    Plain {
        /// Its position, from 0.
        index: usize,
        /// The number of coefficients or entries.
        count: usize,
        /// The modulus of plaintexts.
        plain: u64,
    },
    /// A function modulo another number than the parameters.
    #[error(
        "the function is modulo t = {found}, the parameters have t = {needed}: build both \
         with the same t"
    )]
    PlainModulus {
        /// The function's modulus.
        found: u64,
        /// The modulus of the parameters.
        needed: u64,
    },
    /// A point that is not in the domain. The error does not contain it.
    #[error("the point at position {index} of {count} lies outside the domain 0..{domain}")]
    PointOutside {
        /// The position of the point, from 0.
        index: usize,
        /// The number of points.
        count: usize,
        /// The size of the domain.
        domain: usize,
    },
    /// More points than one query takes, or none.
    #[error("{found} points, but one query takes 1 to {most}: split it into several")]
    TooManyPoints {
        /// The number of points.
        found: usize,
        /// The largest number.
        most: usize,
    },
    /// Points that cannot be assigned to distinct buckets.
    #[error(
        "{points} points have no assignment to {buckets} buckets under {tries} seeds: split \
         them into two queries"
    )]
    Placement {
        /// Distinct points.
        points: usize,
        /// Buckets.
        buckets: usize,
        /// Seeds tried.
        tries: usize,
    },
    /// Noise that would make values wrong too often.
    #[error(
        "a value would be wrong with a probability of 2^{log2_failure:.0}, above \
         2^{needed:.0}: use a smaller t or domain, or parameters with a larger modulus"
    )]
    Noise {
        /// `log2` of the probability.
        log2_failure: f64,
        /// `log2` of the largest allowed probability.
        needed: f64,
    },
    /// A query in a layout that the operation does not support.
    #[error("the query has the {found} layout, the {needed} layout is needed")]
    QueryLayout {
        /// The layout found.
        found: crate::QueryLayout,
        /// The layout needed.
        needed: crate::QueryLayout,
    },
    /// A response that does not answer the query.
    #[error("{reason}")]
    WrongResponse {
        /// What is wrong.
        reason: &'static str,
    },
    /// A statistical distance that the parameters cannot achieve.
    #[error(
        "the parameters achieve a statistical distance of 2^{found:.1}, \
         2^{needed:.1} is required: use `ParamsSpec::flooding`, a smaller domain or a smaller t"
    )]
    CircuitPrivacy {
        /// `log2` of the distance.
        found: f64,
        /// `log2` of the required one.
        needed: f64,
    },
    /// An answer that the rest of the privacy budget does not cover.
    #[error(
        "this answer has a statistical distance of 2^{found:.1}, the answers \
         so far have 2^{spent:.1} together, and the budget is 2^{total:.1}: use a new table, or state a larger \
         distance"
    )]
    PrivacySpent {
        /// `log2` of the distance of this answer.
        found: f64,
        /// `log2` of the distance of the answers so far.
        spent: f64,
        /// `log2` of the distance of the budget.
        total: f64,
    },
}

bellerophon_ring::lower_kinds! {
    Mlwe(bellerophon_mlwe::ErrorKind) via [Ring];
    Lwe(bellerophon_lwe::ErrorKind) via [Ring, Mlwe];
    // Kinds that ring packing shares with this crate become its own.
    Repack(repack::ErrorKind) via [Ring, Mlwe, Lwe] {
        repack::ErrorKind::NoRows => Self::NoRows,
        repack::ErrorKind::Shape { what, found, needed } => Self::Shape { what, found, needed },
        repack::ErrorKind::Value { what, found, needed } => Self::Value { what, found, needed },
    };
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
