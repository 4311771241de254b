//! The one error of all crates, and the refusals of this one.
//!
//! | module | contents |
//! | --- | --- |
//! | `kind` | [`ErrorKind`], the kinds of refusals |
//! | `refusal` | [`Error`]: operation, kind and message; [`During`], which names the operation |

mod kind;
mod refusal;

use std::io;

pub use kind::ErrorKind;
pub use refusal::{During, Error, Result, operation, refusal};

/// The modulus is outside the supported range.
pub fn modulus_range(value: u64) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!("modulus {value} is not supported: need an odd number with 3 <= q < 2^61"),
    )
}

/// The modulus is not prime.
pub fn not_prime(value: u64) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!("modulus {value} is not prime: residue rings here are fields"),
    )
}

/// The ring degree is not a supported power of two.
pub fn degree(degree: usize) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!("ring degree {degree} is not supported: need a power of two from 2^3 to 2^17"),
    )
}

/// The modulus has no primitive 2N-th root of unity.
pub fn no_root(modulus: u64, order: u64, degree: usize) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!("modulus {modulus} is not 1 modulo {order}: no NTT of degree {degree} exists"),
    )
}

/// An element has no inverse.
pub fn not_invertible(value: u64, modulus: u64) -> Error {
    Error::new(ErrorKind::Argument, format!("{value} has no inverse modulo {modulus}"))
}

/// There are too few primes of the required shape.
pub fn primes_exhausted(found: usize, wanted: usize, order: u64, bits: u32) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!(
            "found {found} of {wanted} primes q = 1 mod {order} near 2^{bits}: ask for fewer, or \
             for another size"
        ),
    )
}

/// Two rings with incompatible bases: different degrees, or a shared prime where they must be
/// disjoint.
pub fn basis(reason: String) -> Error {
    Error::new(ErrorKind::Shape, reason)
}

/// The exponent of an automorphism `X -> X^g` is even.
pub fn even_exponent(exponent: u64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("automorphism X -> X^{exponent} does not exist: the exponent must be odd"),
    )
}

/// The requested back end does not support this CPU or this modulus.
pub fn backend(backend: &'static str, reason: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("back end {backend} cannot run here: {reason}"))
}

/// A distribution parameter is outside its range.
pub fn distribution(what: &'static str, value: String, need: &'static str) -> Error {
    Error::new(ErrorKind::Parameters, format!("{what} = {value} is not supported: need {need}"))
}

/// The length of packed residues does not match their shape.
pub fn packed_length(found: usize, needed: usize) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!(
            "{found} bytes of packed residues where the shape takes {needed}: the bytes are \
             damaged"
        ),
    )
}

/// A number of a secret does not fit its stored form.
pub fn secret_number(bytes: usize) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!("a secret with a number that takes more than {bytes} bytes"),
    )
}

/// A stored word is not a residue.
pub fn residue(found: u64, modulus: u64) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!(
            "the stored word {found} is not below the modulus {modulus}: the bytes are damaged"
        ),
    )
}

/// Unused bits of packed residues are not zero.
pub fn padding(last: u8) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!(
            "bits are set behind the last residue, in a byte of {last:#04x}: the bytes are \
             damaged"
        ),
    )
}

/// Reading or writing failed, or the bytes end within an object.
pub fn io(error: io::Error) -> Error {
    let (kind, ended) = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            (ErrorKind::Bytes, ": the bytes end within an object: truncated")
        }
        _ => (ErrorKind::Io, ""),
    };
    Error::new(kind, format!("reading or writing failed: {error}{ended}"))
}
