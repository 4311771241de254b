//! The crate's one error type.

/// What a caller can get wrong with LWE values, keys, tables and their parameters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ring below refused its arguments.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// A field of a parameter set lies outside its range.
    #[error("parameter {field} = {found} is not supported: need {needed}")]
    Parameter {
        /// The field of [`ParamsSpec`](crate::ParamsSpec).
        field: &'static str,
        /// The value found, printed.
        found: String,
        /// The range needed.
        needed: String,
    },
    /// A key would be published at less than the security asked for.
    #[error(
        "{what} ({secret}, dimension {dimension}, log2 of modulus over error {log2_ratio:.2}) is \
         below {security}: need at most {bound}; take a wider error, a smaller modulus, a larger \
         dimension, or Security::Insecure for tests"
    )]
    Insecure {
        /// Which key.
        what: &'static str,
        /// The kind of the secret, printed.
        secret: String,
        /// Number of coefficients of the secret.
        dimension: usize,
        /// `log2(q / sigma)` with `q` the largest modulus under which something is published.
        log2_ratio: f64,
        /// The security asked for, printed.
        security: &'static str,
        /// The largest allowed ratio in bits, printed; or that none is known.
        bound: String,
    },
    /// Secret coefficients are not what a secret key needs.
    #[error("secret key: {found}; need {needed}")]
    Secret {
        /// What was found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A vector has the wrong number of coefficients.
    #[error("{op}: dimension {found} where {needed} is needed; {remedy}")]
    Dimension {
        /// The operation.
        op: &'static str,
        /// Dimension found.
        found: usize,
        /// Dimension needed.
        needed: usize,
        /// What to do about it.
        remedy: &'static str,
    },
    /// A value is given modulo another modulus.
    #[error("{op}: modulus {found} where {needed} is needed; switch the modulus first")]
    Modulus {
        /// The operation.
        op: &'static str,
        /// Modulus found.
        found: u64,
        /// Modulus needed.
        needed: u64,
    },
    /// A coefficient to extract lies outside the polynomial.
    #[error("extraction of coefficient {index} from a polynomial of degree {degree}")]
    Coefficient {
        /// The coefficient.
        index: usize,
        /// The ring degree.
        degree: usize,
    },
    /// A batch has neither one table nor one for each value.
    #[error("{tables} look-up tables for {values} values: give one, or one for each")]
    TableCount {
        /// Number of tables.
        tables: usize,
        /// Number of values.
        values: usize,
    },
    /// The interval on which a table is wanted is empty or not finite.
    #[error("look-up table on [{lo:?}, {hi:?}]: need finite ends, the lower one first")]
    Domain {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// The domain does not fit the table.
    #[error(
        "look-up table on [{lo:?}, {hi:?}]: its ends lie {reach:.1} steps from the centre, and \
         {guard} steps of guard leave {available:.1} of degree {degree}; take a larger degree, a \
         smaller domain or a coarser step"
    )]
    TableTooSmall {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// Steps from the centre to the farther end.
        reach: f64,
        /// Steps kept free at either end.
        guard: usize,
        /// Steps that remain.
        available: f64,
        /// The ring degree.
        degree: usize,
    },
    /// The function has no finite value somewhere in its domain.
    #[error(
        "the function is {value:?} at {argument:?}: it must be finite where values can \
         lie: define it there, or state a tighter range or domain"
    )]
    NotFinite {
        /// The argument.
        argument: f64,
        /// The value.
        value: f64,
    },
    /// An encoded value does not fit the modulus.
    #[error(
        "the value at {argument} is encoded as {encoded}: need less than {limit} in magnitude; \
         take a smaller output scale"
    )]
    OutputRange {
        /// The argument.
        argument: f64,
        /// Its encoding.
        encoded: i64,
        /// Half of the modulus.
        limit: u64,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
