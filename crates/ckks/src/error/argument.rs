//! Refusals of arguments that are wrong whatever the vector holds. No message repeats a value or a
//! constant of a program.

use bellerophon_ring::{Error, ErrorKind};

/// A single number that is NaN or infinite. The error does not repeat it.
pub fn not_a_number(what: &'static str) -> Error {
    Error::new(ErrorKind::NotFinite, format!("{what} is NaN or infinite: need a finite number"))
}

/// A standard deviation that is negative, too large or not a number.
pub fn deviation(found: f64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "a standard deviation of {found:?}: need a finite number of at least 0, in units of \
             the values"
        ),
    )
}

/// The declared noise of a result is no standard deviation that can be declared.
pub fn declared_noise() -> Error {
    Error::new(
        ErrorKind::Argument,
        "the declared noise: need a standard deviation from 2^-300 to 2^300, in units of the \
         values (`Declaration::with_noise`)",
    )
}

/// A range of slots that is reversed or that the vector does not have.
pub fn slot_range(start: usize, end: usize, slots: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "slots {start}..{end}: need a range that does not end before it starts, within \
             0..{slots}"
        ),
    )
}

/// A position at which the vector has no value.
pub fn position(found: usize, len: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("position {found} of {len} values: need a position below {len}"),
    )
}

/// A number of terms or values out of range.
pub fn count_out_of_range(what: &'static str, found: usize, least: usize, most: usize) -> Error {
    Error::new(ErrorKind::Argument, format!("{found} {what}: need {least} to {most}"))
}

/// A disc of a negative, infinite or undefined radius.
pub fn disc(radius: f64) -> Error {
    Error::new(
        ErrorKind::Domain,
        format!("a disc of radius {radius:?}: need a finite radius of at least 0"),
    )
}
