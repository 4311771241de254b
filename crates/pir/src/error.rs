//! The error type of the crate.

/// Why an operation of private look-up or of the exact scheme was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// An error of the lattice layer.
    #[error(transparent)]
    Mlwe(#[from] bellerophon_mlwe::Error),
    /// An error of the LWE layer.
    #[error(transparent)]
    Lwe(#[from] bellerophon_lwe::Error),
    /// An error of ring packing that has no variant here.
    #[error(transparent)]
    Repack(Box<bellerophon_repack::Error>),
    /// No inputs.
    #[error("{op}: no rows: at least one is needed")]
    NoRows {
        /// The operation.
        op: &'static str,
    },
    /// A table, a query and parameters whose sizes do not fit each other.
    #[error("{op}: {what} is {found}, {needed} is needed")]
    Shape {
        /// The operation.
        op: &'static str,
        /// What was measured.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number or range needed, printed.
        needed: String,
    },
    /// A number of the caller's that is out of range.
    #[error("{op}: {what} = {found} is not supported: need {needed}")]
    Value {
        /// The operation.
        op: &'static str,
        /// The name of the number.
        what: &'static str,
        /// The number found, printed.
        found: String,
        /// The range needed.
        needed: &'static str,
    },
    /// A coefficient or table entry that is not below `t`. The error does not contain it.
    #[error(
        "{op}: entry {index} is not below t = {plain}: reduce it, or use parameters with a larger t"
    )]
    Plain {
        /// The operation.
        op: &'static str,
        /// Its index.
        index: usize,
        /// The modulus of plaintexts.
        plain: u64,
    },
    /// A function modulo another number than the parameters.
    #[error(
        "{op}: the function is modulo t = {found}, the parameters have t = {needed}: build both \
         with the same t"
    )]
    PlainModulus {
        /// The operation.
        op: &'static str,
        /// The function's modulus.
        found: u64,
        /// The modulus of the parameters.
        needed: u64,
    },
    /// A point that is not in the domain. The error does not contain it.
    #[error("query: point {index} lies outside the domain 0..{domain}")]
    PointOutside {
        /// Which of the points.
        index: usize,
        /// The size of the domain.
        domain: usize,
    },
    /// More points than one query takes, or none.
    #[error("query: {found} points, but one query takes 1 to {most}: split it into several")]
    TooManyPoints {
        /// The number of points.
        found: usize,
        /// The largest number.
        most: usize,
    },
    /// Points that cannot be assigned to distinct buckets.
    #[error(
        "query: {points} points have no assignment to {buckets} buckets under {tries} seeds: split \
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
        "{op}: a value would be wrong with a probability of 2^{log2_failure:.0}, above \
         2^{needed:.0}: use a smaller t or domain, or parameters with a larger modulus"
    )]
    Noise {
        /// The operation.
        op: &'static str,
        /// `log2` of the probability.
        log2_failure: f64,
        /// `log2` of the largest allowed probability.
        needed: f64,
    },
    /// A query in a layout that the operation does not support.
    #[error("{op}: the query has the {found} layout, the {needed} layout is needed")]
    QueryLayout {
        /// The operation.
        op: &'static str,
        /// The layout found.
        found: crate::QueryLayout,
        /// The layout needed.
        needed: crate::QueryLayout,
    },
    /// A response that does not answer the query.
    #[error("read a response: {reason}")]
    WrongResponse {
        /// What is wrong.
        reason: &'static str,
    },
    /// A statistical distance that the parameters cannot achieve.
    #[error(
        "circuit privacy: the parameters achieve a statistical distance of 2^{found:.1}, \
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
        "circuit privacy: this answer has a statistical distance of 2^{found:.1}, the answers \
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

/// One spelling for each failure: errors that ring packing shares with this crate become the
/// variants of this crate.
impl From<bellerophon_repack::Error> for Error {
    fn from(error: bellerophon_repack::Error) -> Self {
        use bellerophon_repack::Error as Packing;
        match error {
            Packing::Ring(error) => Self::Ring(error),
            Packing::Mlwe(error) => Self::Mlwe(error),
            Packing::Lwe(error) => Self::Lwe(error),
            Packing::NoRows { op } => Self::NoRows { op },
            Packing::Shape { op, what, found, needed } => Self::Shape { op, what, found, needed },
            Packing::Value { op, what, found, needed } => Self::Value { op, what, found, needed },
            other => Self::Repack(Box::new(other)),
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
