//! The refusals of this crate.

use bellerophon_ring::wire::Fingerprint;
use bellerophon_ring::{Error, ErrorKind};

#[cfg(test)]
pub(crate) use bellerophon_ring::refusal;

/// A field of a parameter set is outside its range.
pub fn parameter(field: &'static str, found: String, needed: String) -> Error {
    Error::new(
        ErrorKind::Parameters,
        format!("parameter {field} = {found} is not supported: need {needed}"),
    )
}

/// The modulus is too large for the required security.
pub fn insecure(
    dimension: usize,
    secret: String,
    log2_modulus: f64,
    sigma: f64,
    security: &'static str,
    bound: f64,
) -> Error {
    Error::new(
        ErrorKind::Insecure,
        format!(
            "a secret of dimension {dimension} ({secret}) with log2(QP) = {log2_modulus:.2} and \
             sigma = {sigma} is below {security}: the largest modulus has {bound:.1} bits; take \
             fewer or smaller primes, a larger degree, or Security::Insecure for tests"
        ),
    )
}

/// No estimate is known for this dimension, secret or error width.
pub fn no_estimate(
    dimension: usize,
    secret: String,
    sigma: f64,
    security: &'static str,
    needed: &'static str,
) -> Error {
    Error::new(
        ErrorKind::Insecure,
        format!(
            "no security estimate is known for a secret of dimension {dimension} ({secret}) with \
             sigma = {sigma} under {security}: {needed}; Security::Insecure skips the check in \
             tests"
        ),
    )
}

/// An operand belongs to another parameter set.
pub fn params_mismatch(found: Fingerprint, needed: Fingerprint) -> Error {
    Error::new(
        ErrorKind::ParamsMismatch,
        format!(
            "parameters {found} do not match {needed}; use operands and keys of one parameter set"
        ),
    )
}

/// An operand belongs to another secret key.
pub fn key_mismatch(found: crate::key_id::KeyId, needed: crate::key_id::KeyId) -> Error {
    Error::new(
        ErrorKind::KeyMismatch,
        format!(
            "key {found} does not match {needed}; use operands and keys of one secret key, or \
             switch one of them first"
        ),
    )
}

/// A number of limbs is outside the range of a key or a parameter set.
pub fn limbs(found: usize, needed: String) -> Error {
    Error::new(ErrorKind::Level, format!("{found} limbs where {needed} are needed"))
}

/// A polynomial vector or ciphertext has the wrong rank.
pub fn rank(found: usize, needed: usize) -> Error {
    Error::new(ErrorKind::Shape, format!("rank {found} where rank {needed} is needed"))
}

/// A polynomial has the wrong degree.
pub fn degree(found: usize, needed: usize) -> Error {
    Error::new(
        ErrorKind::Shape,
        format!("a polynomial of degree bound {found} where {needed} is needed"),
    )
}

/// A stored polynomial holds a word that is not a residue.
pub fn residue(found: u64, limb: usize, modulus: u64) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!("{found} in limb {limb} is not below the prime {modulus}; the bytes are damaged"),
    )
}

/// Two parameter sets that must share primes have different ones.
pub fn moduli(limb: usize, found: u64, needed: u64) -> Error {
    Error::new(
        ErrorKind::ParamsMismatch,
        format!(
            "the moduli differ at limb {limb} ({found} and {needed}); both sets must start with \
             the same primes"
        ),
    )
}

/// There is no key for an automorphism.
pub fn missing_galois_key(exponent: usize, available: usize) -> Error {
    Error::new(
        ErrorKind::MissingKey { need: "" },
        format!(
            "no key for the automorphism X -> X^{exponent}; generate it with the others (there \
             are {available} keys)"
        ),
    )
}

/// A stored key cannot be loaded.
pub fn stored(exponent: usize, reason: String) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("the stored key of the automorphism X -> X^{exponent} cannot be loaded: {reason}"),
    )
}

/// There is no rank-down key from a temporary rank.
pub fn missing_rank_down_key(found: usize, needed: usize) -> Error {
    Error::new(
        ErrorKind::MissingKey { need: "" },
        format!(
            "no rank-down key from rank {found} to rank {needed}; generate it with the others, \
             from the secret at rank {found} to the one at rank {needed}"
        ),
    )
}

/// The coefficients of a secret do not fit its parameters.
pub fn secret(found: String, needed: String) -> Error {
    Error::new(ErrorKind::Shape, format!("secret key: {found}, need {needed}"))
}

/// A sum of rotations refers to a rotation that was not given.
pub fn no_rotation(found: usize, given: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "a factor for rotation {found}, counted from 0, of {given}; give that rotation too"
        ),
    )
}

/// An operation was called without operands.
pub fn empty() -> Error {
    Error::new(ErrorKind::Length, "no operands; give at least one")
}
