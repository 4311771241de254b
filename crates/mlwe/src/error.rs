//! The error type of this crate.

use bellerophon_ring::wire::Fingerprint;

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Error(ErrorKind) from [bellerophon_ring];
}

/// Errors in the use of module-LWE parameters, keys and ciphertexts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An error of the ring crate.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// A field of a parameter set is outside its range.
    #[error("parameter {field} = {found} is not supported: need {needed}")]
    Parameter {
        /// The field of [`ParamsSpec`](crate::ParamsSpec).
        field: &'static str,
        /// The value found, printed.
        found: String,
        /// The range needed.
        needed: String,
    },
    /// The modulus is too large for the required security.
    #[error(
        "a secret of dimension {dimension} ({secret}) with log2(QP) = {log2_modulus:.2} and \
         sigma = {sigma} is below {security}: the largest modulus has {bound:.1} bits; take fewer \
         or smaller primes, a larger degree, or Security::Insecure for tests"
    )]
    Insecure {
        /// Rank times degree.
        dimension: usize,
        /// The kind of the secret, printed.
        secret: String,
        /// `log2` of the product of all primes, including special primes.
        log2_modulus: f64,
        /// Standard deviation of the error.
        sigma: f64,
        /// The required security, printed.
        security: &'static str,
        /// The largest allowed `log2(QP)`.
        bound: f64,
    },
    /// No estimate is known for this dimension, secret or error width.
    #[error(
        "no security estimate is known for a secret of dimension {dimension} ({secret}) with sigma \
         = {sigma} under {security}: {needed}; Security::Insecure skips the check in tests"
    )]
    NoEstimate {
        /// Rank times degree.
        dimension: usize,
        /// The kind of the secret, printed.
        secret: String,
        /// Standard deviation of the error.
        sigma: f64,
        /// The required security, printed.
        security: &'static str,
        /// What the tables cover.
        needed: &'static str,
    },
    /// An operand belongs to another parameter set.
    #[error(
        "parameters {found} do not match {needed}; use operands and keys of one \
         parameter set"
    )]
    ParamsMismatch {
        /// Fingerprint of the parameters of the operand.
        found: Fingerprint,
        /// The fingerprint needed.
        needed: Fingerprint,
    },
    /// An operand belongs to another secret key.
    #[error(
        "key {found} does not match {needed}; use operands and keys of one secret key, or \
         switch one of them first"
    )]
    KeyMismatch {
        /// Identity of the secret key of the operand.
        found: crate::KeyId,
        /// The identity needed.
        needed: crate::KeyId,
    },
    /// A number of limbs is outside the range of a key or a parameter set.
    #[error("{found} limbs where {needed} are needed")]
    Limbs {
        /// Limbs found.
        found: usize,
        /// The number or range needed, printed.
        needed: String,
    },
    /// A polynomial vector or ciphertext has the wrong rank.
    #[error("rank {found} where rank {needed} is needed")]
    Rank {
        /// Rank found.
        found: usize,
        /// Rank needed.
        needed: usize,
    },
    /// A polynomial has the wrong degree.
    #[error("a polynomial of degree bound {found} where {needed} is needed")]
    Degree {
        /// Degree bound found.
        found: usize,
        /// Degree bound needed.
        needed: usize,
    },
    /// A stored polynomial holds a word that is not a residue.
    #[error("{found} in limb {limb} is not below the prime {modulus}; the bytes are damaged")]
    Residue {
        /// The word found.
        found: u64,
        /// The limb that holds the word.
        limb: usize,
        /// The prime of that limb.
        modulus: u64,
    },
    /// Two parameter sets that must share primes have different ones.
    #[error(
        "the moduli differ at limb {limb} ({found} and {needed}); both sets must start \
         with the same primes"
    )]
    Moduli {
        /// The first limb that differs.
        limb: usize,
        /// The prime found.
        found: u64,
        /// The prime needed.
        needed: u64,
    },
    /// There is no key for an automorphism.
    #[error(
        "no key for the automorphism X -> X^{exponent}; generate it with the others (there \
         are {available} keys)"
    )]
    MissingGaloisKey {
        /// The exponent g.
        exponent: usize,
        /// The number of keys in the set.
        available: usize,
    },
    /// A stored key cannot be loaded.
    #[error("the stored key of the automorphism X -> X^{exponent} cannot be loaded: {reason}")]
    Stored {
        /// The exponent g.
        exponent: usize,
        /// The reason given by the source.
        reason: String,
    },
    /// There is no rank-down key from a temporary rank.
    #[error(
        "no rank-down key from rank {found} to rank {needed}; generate it with the \
         others, from the secret at rank {found} to the one at rank {needed}"
    )]
    MissingRankDownKey {
        /// The temporary rank.
        found: usize,
        /// The rank needed.
        needed: usize,
    },
    /// The coefficients of a secret do not fit its parameters.
    #[error("secret key: {found}, need {needed}")]
    Secret {
        /// What was found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A sum of rotations refers to a rotation that was not given.
    #[error("a factor for rotation {found}, counted from 0, of {given}; give that rotation too")]
    NoRotation {
        /// The index of the rotation.
        found: usize,
        /// The number of rotations given.
        given: usize,
    },
    /// An operation was called without operands.
    #[error("no operands; give at least one")]
    Empty,
}

/// `Result` with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;
