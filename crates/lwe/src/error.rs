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
    /// Labels that the noise of their sum would mix up.
    #[error(
        "{op}: the error of a label may reach {reach:?}, which is half the least distance between \
         two of the {count} labels or more; take fewer values, labels farther apart, or tables with \
         less noise"
    )]
    LabelsTooNear {
        /// The operation.
        op: &'static str,
        /// The number of labels.
        count: usize,
        /// By how much one may be off, but for the probability of failure.
        reach: f64,
    },
    /// The function has no finite value somewhere in its domain. The error names the argument, a point
    /// of the table, and not the value.
    #[error(
        "the function is not finite at {argument:?}: it must be finite where values can \
         lie: define it there, or state a tighter range or domain"
    )]
    NotFinite {
        /// The argument.
        argument: f64,
    },
    /// An encoded value does not fit the modulus.
    #[error(
        "the value at {argument:?} does not fit the modulus: need an encoding of at most {limit} in \
         magnitude; take a smaller output scale"
    )]
    OutputRange {
        /// The argument.
        argument: f64,
        /// Half of the modulus.
        limit: u64,
    },
    /// An encoding of values is none.
    #[error("encoding {center:?} + {width:?} per turn: need finite numbers, the width above 0")]
    Encoding {
        /// The value at phase 0.
        center: f64,
        /// The width of a turn.
        width: f64,
    },
    /// The bounds of values are none.
    #[error(
        "values in [{lo:?}, {hi:?}] with noise of variance {variance:?}: need finite ends, the \
         lower one first, and a variance from 0 on"
    )]
    ValueRange {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// The variance.
        variance: f64,
    },
    /// A value to encrypt lies outside the range stated for it. The error does not repeat the value.
    #[error("value {index} lies outside [{lo:?}, {hi:?}]: state a wider range")]
    OutsideRange {
        /// Position of the value.
        index: usize,
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// Values that may exceed what their program declares of them. By how much is not said: that would tell
    /// of constants of whoever computes.
    #[error("publish: the declared {what} does not cover the values: declare {needed}")]
    Declaration {
        /// Range or noise.
        what: &'static str,
        /// What would cover it.
        needed: &'static str,
    },
    /// Values could be more than a turn apart.
    #[error(
        "{op}: values in [{lo:.6}, {hi:.6}] with noise of deviation {deviation:.2e} do not fit in \
         a turn of {width:.6}: take an encoding with room for more terms where they come from, or \
         state a tighter range"
    )]
    Wraps {
        /// The operation.
        op: &'static str,
        /// Lower end of the result.
        lo: f64,
        /// Upper end of the result.
        hi: f64,
        /// Standard deviation of its noise.
        deviation: f64,
        /// The width of a turn.
        width: f64,
    },
    /// Values do not fit in a table with its guard band.
    #[error(
        "{op}: values in [{lo:.6}, {hi:.6}] and {guard} steps of guard take a turn of at least \
         {needed:.6}, theirs is {width:.6}: take an encoding with room for more terms or more \
         comparators where they come from, or state a tighter range"
    )]
    TooWideForTable {
        /// The operation.
        op: &'static str,
        /// Lower end of the argument.
        lo: f64,
        /// Upper end of the argument.
        hi: f64,
        /// Steps of the table that stay free at either end.
        guard: usize,
        /// The smallest width that would do.
        needed: f64,
        /// The width of a turn.
        width: f64,
    },
    /// Operands stand at widths of which neither is a multiple of the other.
    #[error(
        "{op}: encodings {left} and {right} cannot be aligned: take one width for both where they \
         come from"
    )]
    Encodings {
        /// The operation.
        op: &'static str,
        /// That of the left operand.
        left: crate::Encoding,
        /// That of the right operand.
        right: crate::Encoding,
    },
    /// Operands hold different numbers of values.
    #[error("{op}: {left} values and {right}; need as many on either side")]
    Lengths {
        /// The operation.
        op: &'static str,
        /// Number on the left.
        left: usize,
        /// Number on the right.
        right: usize,
    },
    /// Operands are of different clients.
    #[error("{op}: values under key {left} and values under key {right}; need one key")]
    Keys {
        /// The operation.
        op: &'static str,
        /// The key on the left.
        left: bellerophon_mlwe::KeyId,
        /// The key on the right.
        right: bellerophon_mlwe::KeyId,
    },
    /// Values and tables are of different clients.
    #[error(
        "{op}: values under key {found} and tables under key {needed}: use the tables of the client \
         whose values they are"
    )]
    ForeignValues {
        /// The operation.
        op: &'static str,
        /// The key of the values.
        found: bellerophon_mlwe::KeyId,
        /// The key of the tables.
        needed: bellerophon_mlwe::KeyId,
    },
    /// A number lies outside what is taken.
    #[error("{what} {found:?}: need {needed}")]
    Number {
        /// What it is.
        what: &'static str,
        /// The number.
        found: f64,
        /// What is needed.
        needed: &'static str,
    },
    /// A constant of a program lies outside what is taken. The error does not repeat it: constants may be
    /// secret.
    #[error("{op}: the {what}{}: need {needed}", index.map_or(String::new(), |i| format!(" {i}")))]
    Constant {
        /// The operation.
        op: &'static str,
        /// What it is.
        what: &'static str,
        /// Its position, if it is one of several.
        index: Option<usize>,
        /// What is needed.
        needed: &'static str,
    },
    /// The range of values is too narrow for its distance from 0.
    #[error(
        "{op}: values in [{lo:?}, {hi:?}] at {center:?} + {width:?} per turn lie too far from 0 for \
         floating-point numbers to tell them apart: add large constants after decryption"
    )]
    Distant {
        /// The operation.
        op: &'static str,
        /// Lower end of the result.
        lo: f64,
        /// Upper end of the result.
        hi: f64,
        /// The value at phase 0.
        center: f64,
        /// The width of a turn.
        width: f64,
    },
    /// There is nothing to work on.
    #[error("{op}: no values; need at least one")]
    NoValues {
        /// The operation.
        op: &'static str,
    },
    /// A place to select does not exist.
    #[error("selection of value {place} of {len}")]
    Place {
        /// The place, from 0.
        place: usize,
        /// The number of values.
        len: usize,
    },
    /// The caller asked for a stop.
    #[error("{op}: stopped after {done} of {total} look-ups, as the observer asked")]
    Cancelled {
        /// The operation.
        op: &'static str,
        /// Look-ups done.
        done: usize,
        /// All look-ups of the operation.
        total: usize,
    },
    /// Patches do not cover an image.
    #[error(
        "max-pooling of {len} values in rows of {columns} by windows of {window}: need rows and \
         columns that are multiples of the window"
    )]
    Image {
        /// The number of values.
        len: usize,
        /// Columns of the image.
        columns: usize,
        /// Rows and columns of a patch.
        window: usize,
    },
    /// A part of a key is not the one that comes next, or parts are missing.
    #[error(
        "a part of a blind-rotation key with coordinates {}..{} where {}..{} are missing: give all \
         parts of one key in order", found.start, found.end, needed.start, needed.end
    )]
    Part {
        /// The coordinates found.
        found: std::ops::Range<usize>,
        /// The coordinates that are still needed.
        needed: std::ops::Range<usize>,
    },
    /// A part belongs to another key than the first.
    #[error(
        "a part of another blind-rotation key, with coordinates {}..{}: give all parts of one key",
        found.start, found.end
    )]
    ForeignPart {
        /// Its coordinates.
        found: std::ops::Range<usize>,
    },
    /// Choices do not keep the values apart.
    #[error(
        "choices in [{lo}, {hi}] and of width {found:.6}: need them in [0, 1] and of width at most \
         {needed:.6}, as choice_encoding gives it"
    )]
    Choice {
        /// The smallest choice possible.
        lo: f64,
        /// The largest choice possible.
        hi: f64,
        /// The width of a turn of theirs.
        found: f64,
        /// The largest width that would do.
        needed: f64,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
