//! The refusals of this crate.

use bellerophon_ring::wire::Fingerprint;
use bellerophon_ring::{Error, ErrorKind};

#[cfg(test)]
pub(crate) use bellerophon_ring::refusal;

pub fn parameter(field: &'static str, found: String, needed: String) -> Error {
    ErrorKind::Parameters
        .error(format!("parameter {field} = {found} is not supported: need {needed}"))
}

pub fn insecure(
    dimension: usize,
    secret: String,
    log2_modulus: f64,
    sigma: f64,
    security: &'static str,
    bound: f64,
) -> Error {
    ErrorKind::Insecure.error(format!(
        "a secret of dimension {dimension} ({secret}) with log2(QP) = {log2_modulus:.2} and sigma \
         = {sigma} is below {security}: the largest modulus has {bound:.1} bits; take fewer or \
         smaller primes, a larger degree, or Security::Insecure for tests"
    ))
}

pub fn no_estimate(
    dimension: usize,
    secret: String,
    sigma: f64,
    security: &'static str,
    needed: &'static str,
) -> Error {
    ErrorKind::Insecure.error(format!(
        "no security estimate is known for a secret of dimension {dimension} ({secret}) with sigma \
         = {sigma} under {security}: {needed}; Security::Insecure skips the check in tests"
    ))
}

pub fn params_mismatch(found: Fingerprint, needed: Fingerprint) -> Error {
    ErrorKind::ParamsMismatch.error(format!(
        "parameters {found} do not match {needed}; use operands and keys of one parameter set"
    ))
}

pub fn key_mismatch(found: crate::key_id::KeyId, needed: crate::key_id::KeyId) -> Error {
    ErrorKind::KeyMismatch.error(format!(
        "key {found} does not match {needed}; use operands and keys of one secret key, or switch \
         one of them first"
    ))
}

pub fn limbs(found: usize, needed: String) -> Error {
    ErrorKind::Level.error(format!("{found} limbs where {needed} are needed"))
}

pub fn rank(found: usize, needed: usize) -> Error {
    ErrorKind::Shape.error(format!("rank {found} where rank {needed} is needed"))
}

pub fn degree(found: usize, needed: usize) -> Error {
    ErrorKind::Shape.error(format!("a polynomial of degree bound {found} where {needed} is needed"))
}

pub fn residue(found: u64, limb: usize, modulus: u64) -> Error {
    ErrorKind::Bytes.error(format!(
        "{found} in limb {limb} is not below the prime {modulus}; the bytes are damaged"
    ))
}

pub fn moduli(limb: usize, found: u64, needed: u64) -> Error {
    ErrorKind::ParamsMismatch.error(format!(
        "the moduli differ at limb {limb} ({found} and {needed}); both sets must start with the \
         same primes"
    ))
}

pub fn missing_galois_key(exponent: usize, available: usize) -> Error {
    ErrorKind::MissingKey { need: "" }.error(format!(
        "no key for the automorphism X -> X^{exponent}; generate it with the others (there are \
         {available} keys)"
    ))
}

pub fn stored(exponent: usize, reason: String) -> Error {
    ErrorKind::Io.error(format!(
        "the stored key of the automorphism X -> X^{exponent} cannot be loaded: {reason}"
    ))
}

pub fn missing_rank_down_key(found: usize, needed: usize) -> Error {
    ErrorKind::MissingKey { need: "" }.error(format!(
        "no rank-down key from rank {found} to rank {needed}; generate it with the others, from \
         the secret at rank {found} to the one at rank {needed}"
    ))
}

pub fn secret(found: String, needed: String) -> Error {
    ErrorKind::Shape.error(format!("secret key: {found}, need {needed}"))
}

pub fn no_rotation(found: usize, given: usize) -> Error {
    ErrorKind::Argument.error(format!(
        "a factor for rotation {found}, counted from 0, of {given}; give that rotation too"
    ))
}

pub fn empty() -> Error {
    ErrorKind::Length.error("no operands; give at least one")
}
