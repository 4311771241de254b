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
pub use refusal::{During, Error, Result, ensure, operation, refusal};

pub fn modulus_range(value: u64) -> Error {
    ErrorKind::Parameters
        .error(format!("modulus {value} is not supported: need an odd number with 3 <= q < 2^61"))
}

pub fn not_prime(value: u64) -> Error {
    ErrorKind::Parameters
        .error(format!("modulus {value} is not prime: residue rings here are fields"))
}

pub fn degree(degree: usize) -> Error {
    ErrorKind::Parameters.error(format!(
        "ring degree {degree} is not supported: need a power of two from 2^3 to 2^17"
    ))
}

pub fn no_root(modulus: u64, order: u64, degree: usize) -> Error {
    ErrorKind::Parameters.error(format!(
        "modulus {modulus} is not 1 modulo {order}: no NTT of degree {degree} exists"
    ))
}

pub fn not_invertible(value: u64, modulus: u64) -> Error {
    ErrorKind::Argument.error(format!("{value} has no inverse modulo {modulus}"))
}

pub fn primes_exhausted(found: usize, wanted: usize, order: u64, bits: u32) -> Error {
    ErrorKind::Parameters.error(format!(
        "found {found} of {wanted} primes q = 1 mod {order} near 2^{bits}: ask for fewer, or for \
         another size"
    ))
}

/// Two rings with incompatible bases: different degrees, or a shared prime where they must be
/// disjoint.
pub fn basis(reason: String) -> Error {
    ErrorKind::Shape.error(reason)
}

pub fn even_exponent(exponent: u64) -> Error {
    ErrorKind::Argument
        .error(format!("automorphism X -> X^{exponent} does not exist: the exponent must be odd"))
}

pub fn backend(backend: &'static str, reason: &'static str) -> Error {
    ErrorKind::Unsupported.error(format!("back end {backend} cannot run here: {reason}"))
}

pub fn distribution(what: &'static str, value: String, need: &'static str) -> Error {
    ErrorKind::Parameters.error(format!("{what} = {value} is not supported: need {need}"))
}

pub fn packed_length(found: usize, needed: usize) -> Error {
    ErrorKind::Bytes.error(format!(
        "{found} bytes of packed residues where the shape takes {needed}: the bytes are damaged"
    ))
}

pub fn secret_number(bytes: usize) -> Error {
    ErrorKind::Bytes.error(format!("a secret with a number that takes more than {bytes} bytes"))
}

pub fn residue(found: u64, modulus: u64) -> Error {
    ErrorKind::Bytes.error(format!(
        "the stored word {found} is not below the modulus {modulus}: the bytes are damaged"
    ))
}

pub fn padding(last: u8) -> Error {
    ErrorKind::Bytes.error(format!(
        "bits are set behind the last residue, in a byte of {last:#04x}: the bytes are damaged"
    ))
}

pub fn io(error: io::Error) -> Error {
    let (kind, ended) = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            (ErrorKind::Bytes, ": the bytes end within an object: truncated")
        }
        _ => (ErrorKind::Io, ""),
    };
    kind.error(format!("reading or writing failed: {error}{ended}"))
}
