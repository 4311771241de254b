//! The error type of the crate.

/// Why an operation of ring packing or of a bridge was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// An error of the lattice layer.
    #[error(transparent)]
    Mlwe(#[from] bellerophon_mlwe::Error),
    /// An error of the CKKS layer.
    #[error(transparent)]
    Ckks(#[from] bellerophon_ckks::Error),
    /// An error of the LWE layer.
    #[error(transparent)]
    Lwe(#[from] bellerophon_lwe::Error),
    /// A level that the modulus chain cannot reach.
    #[error(
        "{op}: a result at level {wanted} is not possible, {}: ask for a lower level or use a \
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
    /// No inputs.
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
    /// A matrix, a layout and inputs whose sizes do not fit each other.
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
pub type Result<T, E = Error> = std::result::Result<T, E>;
