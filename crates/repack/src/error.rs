//! The crate's one error type.

/// What a caller can get wrong when repacking.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ring below.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// An error of the lattice layer below.
    #[error(transparent)]
    Mlwe(#[from] bellerophon_mlwe::Error),
    /// An error of the CKKS layer below.
    #[error(transparent)]
    Ckks(#[from] bellerophon_ckks::Error),
    /// An error of the LWE layer below.
    #[error(transparent)]
    Lwe(#[from] bellerophon_lwe::Error),
    /// A level that the chain does not leave room for.
    #[error(
        "{op}: a result at level {wanted} is not to be had, {}: ask for a lower level or take a \
         longer chain",
        highest.map_or("the chain is too short for any".into(), |h| format!("the highest is {h}"))
    )]
    Level {
        /// The operation.
        op: &'static str,
        /// Level asked for.
        wanted: usize,
        /// The highest level, if there is one.
        highest: Option<usize>,
    },
    /// Nothing to repack.
    #[error("{op}: no rows: at least one is needed")]
    NoRows {
        /// The operation.
        op: &'static str,
    },
    /// Rows that cannot be placed in the slots.
    #[error("output layout: {reason}")]
    Layout {
        /// What does not fit, what is needed.
        reason: String,
    },
    /// A matrix, a layout and the inputs of a transform that do not fit each other.
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
    /// A coefficient or table entry that is no number modulo `t`. The error does not repeat it.
    #[error(
        "{op}: entry {index} is not below t = {plain}: reduce it, or take parameters of a larger t"
    )]
    Plain {
        /// The operation.
        op: &'static str,
        /// Its place.
        index: usize,
        /// The modulus of plaintexts.
        plain: u64,
    },
    /// A function modulo another number than the parameters.
    #[error(
        "{op}: a function modulo t = {found} under parameters with t = {needed}: make one of the two for the other"
    )]
    PlainModulus {
        /// The operation.
        op: &'static str,
        /// The function's modulus.
        found: u64,
        /// That of the parameters.
        needed: u64,
    },
    /// A point that is not in the domain. The error does not repeat it.
    #[error("query: point {index} lies outside the domain 0..{domain}")]
    PointOutside {
        /// Which of the points.
        index: usize,
        /// The size of the domain.
        domain: usize,
    },
    /// More points than one query takes, or none.
    #[error("query: {found} points, 1 to {most} are possible in one query: ask in several")]
    TooManyPoints {
        /// Points asked for.
        found: usize,
        /// The most.
        most: usize,
    },
    /// Points that found no buckets.
    #[error(
        "query: {points} points found no places in {buckets} buckets under {tries} seeds: ask for them \
         in two queries"
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
        "{op}: a value would be wrong with a probability of 2^{log2_failure:.0}, above 2^{needed:.0}: take a \
         smaller t or domain, or parameters with a larger modulus"
    )]
    Noise {
        /// The operation.
        op: &'static str,
        /// `log2` of the probability.
        log2_failure: f64,
        /// `log2` of what is allowed.
        needed: f64,
    },
    /// A form of query that an operation does not take.
    #[error("{op}: a query in the {found} form where the {needed} form is needed")]
    Form {
        /// The operation.
        op: &'static str,
        /// The form found.
        found: crate::lookup::Form,
        /// The form needed.
        needed: crate::lookup::Form,
    },
    /// A response that is not the one waited for.
    #[error("read a response: {reason}")]
    WrongResponse {
        /// What is wrong.
        reason: &'static str,
    },
    /// A statistical distance that the parameters cannot give.
    #[error(
        "circuit privacy: the parameters give a statistical distance of 2^{found:.1}, 2^{needed:.1} is asked \
         for: take `ParamsSpec::flooding`, a smaller domain or a smaller t"
    )]
    CircuitPrivacy {
        /// `log2` of the distance.
        found: f64,
        /// `log2` of that asked for.
        needed: f64,
    },
    /// A budget of private answers that is spent.
    #[error(
        "circuit privacy: this answer has a statistical distance of 2^{found:.1}, those so far have 2^{spent:.1}          together, and the budget is 2^{total:.1} for all: take a new table, or state a larger distance"
    )]
    PrivacySpent {
        /// `log2` of the distance of this answer.
        found: f64,
        /// `log2` of that of the answers so far.
        spent: f64,
        /// `log2` of that of the budget.
        total: f64,
    },
    /// The key's ciphertexts have too few limbs for the level asked for.
    #[error(
        "{op}: a result at level {wanted} needs a repacking key of {needed} limbs, this one has \
         {found}: ask for a lower level or generate the key with more limbs"
    )]
    KeyLevel {
        /// The operation.
        op: &'static str,
        /// Level asked for.
        wanted: usize,
        /// Limbs that the key would need.
        needed: usize,
        /// Limbs that it has.
        found: usize,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
