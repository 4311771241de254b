//! The error type of the crate.

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Error(ErrorKind) from [bellerophon_ring, bellerophon_mlwe];
}

/// Errors of operations on LWE values, keys, tables and parameters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operation of the ring crate failed.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// An operation of the lattice crate failed.
    #[error(transparent)]
    Mlwe(bellerophon_mlwe::ErrorKind),
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
    /// A published key would have less than the required security.
    #[error(
        "{what} ({secret}, dimension {dimension}, log2 of modulus over error {log2_ratio:.2}) is \
         below {security}: need at most {bound}; take a wider error, a smaller modulus, a larger \
         dimension, or Security::Insecure for tests"
    )]
    Insecure {
        /// Which key.
        what: &'static str,
        /// The kind of the secret.
        secret: bellerophon_mlwe::SecretKind,
        /// Number of coefficients of the secret.
        dimension: usize,
        /// `log2(q / sigma)`, where `q` is the largest modulus of a published key.
        log2_ratio: f64,
        /// The required security, printed.
        security: &'static str,
        /// The largest allowed ratio in bits, printed, or a note that none is known.
        bound: String,
    },
    /// The coefficients do not form a valid secret key.
    #[error("secret key: {found}; need {needed}")]
    Secret {
        /// What was found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A vector has the wrong number of coefficients.
    #[error("dimension {found} where {needed} is needed; {remedy}")]
    Dimension {
        /// Dimension found.
        found: usize,
        /// Dimension needed.
        needed: usize,
        /// The remedy.
        remedy: &'static str,
    },
    /// A value has another modulus.
    #[error("modulus {found} where {needed} is needed; switch the modulus first")]
    Modulus {
        /// Modulus found.
        found: u64,
        /// Modulus needed.
        needed: u64,
    },
    /// A coefficient to extract lies outside the polynomial.
    #[error(
        "extraction of coefficient {index} from a polynomial of degree {degree}: give an index \
         below the degree"
    )]
    Coefficient {
        /// The coefficient.
        index: usize,
        /// The ring degree.
        degree: usize,
    },
    /// The number of tables is neither 1 nor the number of values.
    #[error("{tables} look-up tables for {values} values: give one, or one for each value")]
    TableCount {
        /// Number of tables.
        tables: usize,
        /// Number of values.
        values: usize,
    },
    /// The domain of a table is empty or not finite.
    #[error("look-up table on [{lo:?}, {hi:?}]: need finite ends, the lower end first")]
    Domain {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// The domain does not fit the table.
    #[error(
        "look-up table on [{lo:?}, {hi:?}]: its ends are {reach:.1} steps from the centre, but a \
         guard band of {guard} steps leaves {available:.1} at degree {degree}; use a larger \
         degree, a smaller domain or a coarser step"
    )]
    TableTooSmall {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// Steps from the centre to the farther end.
        reach: f64,
        /// Steps of the guard band at either end.
        guard: usize,
        /// Remaining steps from the centre to either guard band.
        available: f64,
        /// The ring degree.
        degree: usize,
    },
    /// Labels are too close together for the noise of their sum.
    #[error(
        "the error of a label may reach {reach:?}, which is at least half the smallest \
         distance between two of the {count} labels; use fewer values, labels farther apart, or \
         tables with less noise"
    )]
    LabelsTooNear {
        /// The number of labels.
        count: usize,
        /// The largest error of a label, except with the failure probability.
        reach: f64,
    },
    /// The function is not finite somewhere in its domain. The error contains the argument, which
    /// is a point of the table, but not the value.
    #[error(
        "the function is not finite at {argument:?}, which is in the range of the values: define \
         it there, or declare a tighter range or domain"
    )]
    NotFinite {
        /// The argument.
        argument: f64,
    },
    /// An encoded value does not fit the modulus.
    #[error(
        "the value at {argument:?} does not fit the modulus: its encoding must be at most {limit} \
         in magnitude; use a smaller output scale"
    )]
    OutputRange {
        /// The argument.
        argument: f64,
        /// Half of the modulus.
        limit: u64,
    },
    /// The numbers of an encoding are invalid.
    #[error("encoding {center:?} + {width:?} per period: need finite numbers and a width above 0")]
    Encoding {
        /// The value at phase 0.
        center: f64,
        /// The width of a period.
        width: f64,
    },
    /// The range or the variance of values is invalid.
    #[error(
        "values in [{lo:?}, {hi:?}] with noise of variance {variance:?}: need finite ends, the \
         lower end first, and a variance of at least 0"
    )]
    ValueRange {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// The variance.
        variance: f64,
    },
    /// A value to encrypt is outside the declared range. The error does not contain the value.
    #[error(
        "the value at position {index} of {count} is outside [{lo:?}, {hi:?}]: declare a wider range"
    )]
    OutsideRange {
        /// Position of the value, from 0.
        index: usize,
        /// The number of values.
        count: usize,
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Values may exceed the declared range or noise. The error does not contain by how much,
    /// because that would reveal constants of the program.
    #[error("the declared {what} does not cover the values: declare {needed}")]
    Declaration {
        /// Range or noise.
        what: &'static str,
        /// What would cover it.
        needed: &'static str,
    },
    /// Values may not fit one period of their encoding.
    #[error(
        "values in [{lo:.6}, {hi:.6}] with noise of standard deviation {deviation:.2e} do \
         not fit a period of {width:.6}: encode the inputs with headroom for more terms, or \
         declare a tighter range"
    )]
    Wraps {
        /// Lower end of the result.
        lo: f64,
        /// Upper end of the result.
        hi: f64,
        /// Standard deviation of its noise.
        deviation: f64,
        /// The width of a period.
        width: f64,
    },
    /// Values do not fit a table with its guard band.
    #[error(
        "values in [{lo:.6}, {hi:.6}] and a guard band of {guard} steps need a period of at \
         least {needed:.6}, but it is {width:.6}: encode the inputs with headroom for more terms \
         or more comparators, or declare a tighter range"
    )]
    TooWideForTable {
        /// Lower end of the argument.
        lo: f64,
        /// Upper end of the argument.
        hi: f64,
        /// Steps of the guard band at either end.
        guard: usize,
        /// The smallest sufficient width.
        needed: f64,
        /// The width of a period.
        width: f64,
    },
    /// Values that are lost in the noise.
    #[error(
        "the deviation of a value is {noise:.1e}, and the values reach or differ only by \
         {width:.1e}: compute them in larger units, by tables with a larger range, and divide \
         after decryption"
    )]
    LostInNoise {
        /// The standard deviation of the noise of the phase.
        noise: f64,
        /// The width of the range, or the largest magnitude if it is smaller.
        width: f64,
    },
    /// Neither width of the operands is an integer multiple of the other.
    #[error(
        "encodings {left} and {right} cannot be aligned: use the same width for both when \
         they are created"
    )]
    Encodings {
        /// The encoding of the left operand, printed.
        left: String,
        /// The encoding of the right operand, printed.
        right: String,
    },
    /// Fewer or more results than there are values.
    #[error("{found} results were requested of {most} value(s): request from 1 to {most}")]
    Count {
        /// The requested number of results.
        found: usize,
        /// The number of values.
        most: usize,
    },
    /// Operands have different numbers of values.
    #[error("one operand has {left} value(s) and another one {right}: take operands of one length")]
    Lengths {
        /// Number on the left.
        left: usize,
        /// Number on the right.
        right: usize,
    },
    /// A number is outside the allowed range.
    #[error("{what} {found:?}: need {needed}")]
    Number {
        /// What it is.
        what: &'static str,
        /// The number.
        found: f64,
        /// What is needed.
        needed: &'static str,
    },
    /// A constant of a program is outside the allowed range. The error does not contain the
    /// constant, which may be secret.
    #[error("the {what}{}: need {needed}", among(*index, *count))]
    Constant {
        /// What it is.
        what: &'static str,
        /// Its position, from 0, if it is one of several.
        index: Option<usize>,
        /// The number of constants.
        count: usize,
        /// What is needed.
        needed: &'static str,
    },
    /// The range of values is too narrow for its distance from 0.
    #[error(
        "values in [{lo:?}, {hi:?}] at {center:?} + {width:?} per period are too far from 0 \
         for floating-point numbers to distinguish them: add large constants after decryption"
    )]
    Distant {
        /// Lower end of the result.
        lo: f64,
        /// Upper end of the result.
        hi: f64,
        /// The value at phase 0.
        center: f64,
        /// The width of a period.
        width: f64,
    },
    /// There are no values.
    #[error("no values; need at least one")]
    NoValues,
    /// A position to select does not exist.
    #[error(
        "selection of the value at position {place} of {len} (from 0): give a position below {len}"
    )]
    Place {
        /// The position, from 0.
        place: usize,
        /// The number of values.
        len: usize,
    },
    /// The observer cancelled the operation.
    #[error("cancelled by the observer after {done} of {total} look-ups")]
    Cancelled {
        /// Look-ups done.
        done: usize,
        /// All look-ups of the operation.
        total: usize,
    },
    /// The patches of max-pooling do not tile the image.
    #[error(
        "max-pooling of {len} values in rows of {columns} by windows of {window}: the numbers of \
         rows and columns must be multiples of the window"
    )]
    Image {
        /// The number of values.
        len: usize,
        /// Columns of the image.
        columns: usize,
        /// Rows and columns of a patch.
        window: usize,
    },
    /// A part of a key is out of order, or parts are missing.
    #[error(
        "a part of a blind-rotation key has coordinates {}..{}, but {}..{} are missing: give all \
         parts of one key in order", found.start, found.end, needed.start, needed.end
    )]
    Part {
        /// The coordinates found.
        found: std::ops::Range<usize>,
        /// The coordinates that are still needed.
        needed: std::ops::Range<usize>,
    },
    /// A part belongs to another key than the first part.
    #[error(
        "a part of another blind-rotation key, with coordinates {}..{}: give all parts of one key",
        found.start, found.end
    )]
    ForeignPart {
        /// Its coordinates.
        found: std::ops::Range<usize>,
    },
    /// The choices do not separate the values.
    #[error(
        "choices in [{lo}, {hi}] of width {found:.6}: need choices in [0, 1] of width at most \
         {needed:.6}; compute them in the encoding of `choice_encoding`"
    )]
    Choice {
        /// The smallest possible choice.
        lo: f64,
        /// The largest possible choice.
        hi: f64,
        /// The width of their encoding.
        found: f64,
        /// The largest sufficient width.
        needed: f64,
    },
}

/// The position of a constant among several; nothing for a single one.
fn among(index: Option<usize>, count: usize) -> String {
    index.map_or(String::new(), |index| format!(" at position {index} of {count}"))
}

bellerophon_ring::lower_kinds! {
    Mlwe(bellerophon_mlwe::ErrorKind) via [Ring];
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;
