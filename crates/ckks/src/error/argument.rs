//! Refusals of arguments that are wrong whatever the vector holds. No message repeats a value or a
//! constant of a program.

use crate::{Error, ErrorKind};

/// A single number that is NaN or infinite. The error does not repeat it.
pub fn not_a_number(what: &'static str) -> Error {
    Error::new(ErrorKind::NotFinite, format!("{what} is NaN or infinite: need a finite number"))
}

/// An integer that is not below its modulus. The error does not repeat the integer.
pub fn not_below_modulus(index: usize, count: usize, modulus: usize) -> Error {
    Error::new(
        ErrorKind::Range,
        format!(
            "the integer at position {index} of {count} is not below the modulus {modulus}: take \
             a larger modulus"
        ),
    )
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

/// A range of complex values where reals are packed into both parts of the slots.
pub fn complex_range(radius: f64) -> Error {
    Error::new(
        ErrorKind::Complex,
        format!(
            "a disc of radius {radius:?} for values in both parts of the slots: need a real \
             range, which holds for each part"
        ),
    )
}

/// The width of a domain that no factor brings to the circle of a functional bootstrap.
pub fn domain_width(width: f64, least: f64, most: f64) -> Error {
    Error::new(
        ErrorKind::Domain,
        format!(
            "a domain of width {width:?}: a functional bootstrap with these parameters takes \
             widths from {least:.1e} to {most:.1e}: scale the values, or take parameters of \
             another scale"
        ),
    )
}
