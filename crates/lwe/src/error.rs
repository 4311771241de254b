//! The refusals of this crate.

use bellerophon_mlwe::SecretKind;
use bellerophon_ring::{Error, ErrorKind};

#[cfg(test)]
pub(crate) use bellerophon_ring::refusal;

/// A field of a parameter set lies outside its range.
pub fn parameter(field: &'static str, found: String, needed: String) -> Error {
    ErrorKind::Parameters
        .error(format!("parameter {field} = {found} is not supported: need {needed}"))
}

/// A published key would have less than the required security.
pub fn insecure(
    what: &'static str,
    secret: SecretKind,
    dimension: usize,
    log2_ratio: f64,
    security: &'static str,
    bound: String,
) -> Error {
    ErrorKind::Insecure.error(format!(
        "{what} ({secret}, dimension {dimension}, log2 of modulus over error {log2_ratio:.2}) \
         is below {security}: need at most {bound}; take a wider error, a smaller modulus, a \
         larger dimension, or Security::Insecure for tests"
    ))
}

/// The coefficients do not form a valid secret key.
pub fn secret(found: String, needed: String) -> Error {
    ErrorKind::Shape.error(format!("secret key: {found}; need {needed}"))
}

/// A vector has the wrong number of coefficients.
pub fn dimension(found: usize, needed: usize, remedy: &'static str) -> Error {
    ErrorKind::Shape.error(format!("dimension {found} where {needed} is needed; {remedy}"))
}

/// A value has another modulus.
pub fn modulus(found: u64, needed: u64) -> Error {
    ErrorKind::ParamsMismatch
        .error(format!("modulus {found} where {needed} is needed; switch the modulus first"))
}

/// A coefficient to extract lies outside the polynomial.
pub fn coefficient(index: usize, degree: usize) -> Error {
    ErrorKind::Argument.error(format!(
        "extraction of coefficient {index} from a polynomial of degree {degree}: give an \
         index below the degree"
    ))
}

/// The number of tables is neither 1 nor the number of values.
pub fn table_count(tables: usize, values: usize) -> Error {
    ErrorKind::Length.error(format!(
        "{tables} look-up tables for {values} values: give one, or one for each value"
    ))
}

/// The domain of a table is empty or not finite.
pub fn domain(lo: f64, hi: f64) -> Error {
    ErrorKind::Domain
        .error(format!("look-up table on [{lo:?}, {hi:?}]: need finite ends, the lower end first"))
}

/// The domain does not fit the table.
pub fn table_too_small(
    lo: f64,
    hi: f64,
    reach: f64,
    guard: usize,
    available: f64,
    degree: usize,
) -> Error {
    ErrorKind::Domain.error(format!(
        "look-up table on [{lo:?}, {hi:?}]: its ends are {reach:.1} steps from the centre, \
         but a guard band of {guard} steps leaves {available:.1} at degree {degree}; use a \
         larger degree, a smaller domain or a coarser step"
    ))
}

/// Labels are too close together for the noise of their sum.
pub fn labels_too_near(count: usize, reach: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "the error of a label may reach {reach:?}, which is at least half the smallest \
         distance between two of the {count} labels; use fewer values, labels farther apart, \
         or tables with less noise"
    ))
}

/// The function is not finite somewhere in its domain. The error contains the argument, which is a
/// point of the table, but not the value.
pub fn not_finite(argument: f64) -> Error {
    ErrorKind::NotFinite.error(format!(
        "the function is not finite at {argument:?}, which is in the range of the values: \
         define it there, or declare a tighter range or domain"
    ))
}

/// An encoded value does not fit the modulus.
pub fn output_range(argument: f64, limit: u64) -> Error {
    ErrorKind::Range.error(format!(
        "the value at {argument:?} does not fit the modulus: its encoding must be at most \
         {limit} in magnitude; use a smaller output scale"
    ))
}

/// The numbers of an encoding are invalid.
pub fn encoding(center: f64, width: f64) -> Error {
    ErrorKind::Scale.error(format!(
        "encoding {center:?} + {width:?} per period: need finite numbers and a width above 0"
    ))
}

/// The range or the variance of values is invalid.
pub fn value_range(lo: f64, hi: f64, variance: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "values in [{lo:?}, {hi:?}] with noise of variance {variance:?}: need finite ends, \
         the lower end first, and a variance of at least 0"
    ))
}

/// A value to encrypt is outside the declared range. The error does not contain the value.
pub fn outside_range(index: usize, count: usize, lo: f64, hi: f64) -> Error {
    ErrorKind::Range.error(format!(
        "the value at position {index} of {count} is outside [{lo:?}, {hi:?}]: declare a \
         wider range"
    ))
}

/// Values may exceed the declared range or noise. The error does not contain by how much, because
/// that would reveal constants of the program.
pub fn declaration(what: &'static str, needed: &'static str) -> Error {
    ErrorKind::Declaration
        .error(format!("the declared {what} does not cover the values: declare {needed}"))
}

/// Values may not fit one period of their encoding.
pub fn wraps(lo: f64, hi: f64, deviation: f64, width: f64) -> Error {
    ErrorKind::Range.error(format!(
        "values in [{lo:.6}, {hi:.6}] with noise of standard deviation {deviation:.2e} do not \
         fit a period of {width:.6}: encode the inputs with headroom for more terms, or \
         declare a tighter range"
    ))
}

/// Values do not fit a table with its guard band.
pub fn too_wide_for_table(lo: f64, hi: f64, guard: usize, needed: f64, width: f64) -> Error {
    ErrorKind::Range.error(format!(
        "values in [{lo:.6}, {hi:.6}] and a guard band of {guard} steps need a period of at \
         least {needed:.6}, but it is {width:.6}: encode the inputs with headroom for more \
         terms or more comparators, or declare a tighter range"
    ))
}

/// Values that are lost in the noise.
pub fn lost_in_noise(noise: f64, width: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "the deviation of a value is {noise:.1e}, and the values reach or differ only by \
         {width:.1e}: compute them in larger units, by tables with a larger range, and divide \
         after decryption"
    ))
}

/// Neither width of the operands is an integer multiple of the other.
pub fn encodings(left: String, right: String) -> Error {
    ErrorKind::Scale.error(format!(
        "encodings {left} and {right} cannot be aligned: use the same width for both when \
         they are created"
    ))
}

/// Fewer or more results than there are values.
pub fn count(found: usize, most: usize) -> Error {
    ErrorKind::Argument.error(format!(
        "{found} results were requested of {most} value(s): request from 1 to {most}"
    ))
}

/// Operands have different numbers of values.
pub fn lengths(left: usize, right: usize) -> Error {
    ErrorKind::Length.error(format!(
        "one operand has {left} value(s) and another one {right}: take operands of one length"
    ))
}

/// A number is outside the allowed range.
pub fn number(what: &'static str, found: f64, needed: &'static str) -> Error {
    ErrorKind::Argument.error(format!("{what} {found:?}: need {needed}"))
}

/// A constant of a program is outside the allowed range. The error does not contain the constant,
/// which may be secret.
pub fn constant(
    what: &'static str,
    index: Option<usize>,
    count: usize,
    needed: &'static str,
) -> Error {
    ErrorKind::Argument.error(format!("the {what}{}: need {needed}", among(index, count)))
}

/// The range of values is too narrow for its distance from 0.
pub fn distant(lo: f64, hi: f64, center: f64, width: f64) -> Error {
    ErrorKind::Range.error(format!(
        "values in [{lo:?}, {hi:?}] at {center:?} + {width:?} per period are too far from 0 \
         for floating-point numbers to distinguish them: add large constants after decryption"
    ))
}

/// There are no values.
pub fn no_values() -> Error {
    ErrorKind::Length.error("no values; need at least one")
}

/// A position to select does not exist.
pub fn place(place: usize, len: usize) -> Error {
    ErrorKind::Argument.error(format!(
        "selection of the value at position {place} of {len} (from 0): give a position below \
         {len}"
    ))
}

/// The observer cancelled the operation.
pub fn cancelled(done: usize, total: usize) -> Error {
    ErrorKind::Cancelled { stage: "look-ups", done, total }
        .error(format!("cancelled by the observer after {done} of {total} look-ups"))
}

/// The patches of max-pooling do not tile the image.
pub fn image(len: usize, columns: usize, window: usize) -> Error {
    ErrorKind::Shape.error(format!(
        "max-pooling of {len} values in rows of {columns} by windows of {window}: the numbers \
         of rows and columns must be multiples of the window"
    ))
}

/// A part of a key is out of order, or parts are missing.
pub fn part(found: std::ops::Range<usize>, needed: std::ops::Range<usize>) -> Error {
    ErrorKind::Bytes.error(format!(
        "a part of a blind-rotation key has coordinates {}..{}, but {}..{} are missing: give \
         all parts of one key in order",
        found.start, found.end, needed.start, needed.end
    ))
}

/// A part belongs to another key than the first part.
pub fn foreign_part(found: std::ops::Range<usize>) -> Error {
    ErrorKind::Bytes.error(format!(
        "a part of another blind-rotation key, with coordinates {}..{}: give all parts of one \
         key",
        found.start, found.end
    ))
}

/// The choices do not separate the values.
pub fn choice(lo: f64, hi: f64, found: f64, needed: f64) -> Error {
    ErrorKind::Range.error(format!(
        "choices in [{lo}, {hi}] of width {found:.6}: need choices in [0, 1] of width at most \
         {needed:.6}; compute them in the encoding of `choice_encoding`"
    ))
}

/// The position of a constant among several; nothing for a single one.
fn among(index: Option<usize>, count: usize) -> String {
    index.map_or(String::new(), |index| format!(" at position {index} of {count}"))
}
