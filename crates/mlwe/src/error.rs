//! The crate's one error type.

use bellerophon_ring::wire::Fingerprint;

/// What a caller can get wrong with parameters, keys and ciphertexts of module-LWE.
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
    /// The modulus is too large for the security asked for.
    #[error(
        "a secret of dimension {dimension} ({secret}) with log2(QP) = {log2_modulus:.2} and sigma = \
         {sigma} is below {security}: the largest modulus has {bound:.1} bits; take fewer or \
         smaller primes, a larger degree, or Security::Insecure for tests"
    )]
    Insecure {
        /// Rank times degree.
        dimension: usize,
        /// The kind of the secret, printed.
        secret: String,
        /// `log2` of the product of all primes, special ones included.
        log2_modulus: f64,
        /// Standard deviation of the error.
        sigma: f64,
        /// The security asked for, printed.
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
        /// The security asked for, printed.
        security: &'static str,
        /// What the tables cover.
        needed: &'static str,
    },
    /// Two operands belong to different parameter sets.
    #[error(
        "{op}: parameters {found} do not match {needed}; use operands and keys of one \
         parameter set"
    )]
    ParamsMismatch {
        /// The operation.
        op: &'static str,
        /// Fingerprint of the operand's parameters.
        found: Fingerprint,
        /// Fingerprint needed.
        needed: Fingerprint,
    },
    /// Two operands belong to different secret keys.
    #[error(
        "{op}: key {found} does not match {needed}; use operands and keys of one secret key, or \
         switch one of them first"
    )]
    KeyMismatch {
        /// The operation.
        op: &'static str,
        /// Identity of the operand's secret key.
        found: crate::KeyId,
        /// Identity needed.
        needed: crate::KeyId,
    },
    /// A number of limbs lies outside the range of a key or a parameter set.
    #[error("{op}: {found} limbs (level {}) where {needed} are needed", found.wrapping_sub(1) as isize)]
    Limbs {
        /// The operation.
        op: &'static str,
        /// Limbs found.
        found: usize,
        /// The number or range needed, printed.
        needed: String,
    },
    /// A polynomial vector or ciphertext has the wrong rank.
    #[error("{op}: rank {found} where rank {needed} is needed")]
    Rank {
        /// The operation.
        op: &'static str,
        /// Rank found.
        found: usize,
        /// Rank needed.
        needed: usize,
    },
    /// A polynomial has the wrong degree.
    #[error("{op}: a polynomial of degree bound {found} where {needed} is needed")]
    Degree {
        /// The operation.
        op: &'static str,
        /// Degree bound found.
        found: usize,
        /// Degree bound needed.
        needed: usize,
    },
    /// A stored polynomial holds a word that is no residue.
    #[error("{op}: {found} in limb {limb} is not below the prime {modulus}; the bytes are damaged")]
    Residue {
        /// The operation.
        op: &'static str,
        /// The word found.
        found: u64,
        /// The limb that it stands in.
        limb: usize,
        /// The prime of that limb.
        modulus: u64,
    },
    /// Two parameter sets that must share their primes do not.
    #[error(
        "{op}: the moduli differ at limb {limb} ({found} and {needed}); both sets must start with the same primes"
    )]
    Moduli {
        /// The operation.
        op: &'static str,
        /// The first limb that differs.
        limb: usize,
        /// The prime found.
        found: u64,
        /// The prime needed.
        needed: u64,
    },
    /// No key for an automorphism.
    #[error(
        "{op}: no key for the automorphism X -> X^{exponent}; generate it with the others (there \
         are {available} keys)"
    )]
    MissingGaloisKey {
        /// The operation.
        op: &'static str,
        /// The exponent g.
        exponent: usize,
        /// How many keys there are.
        available: usize,
    },
    /// A key that waits elsewhere cannot be had.
    #[error("the stored key of the automorphism X -> X^{exponent} cannot be loaded: {reason}")]
    Stored {
        /// The exponent g.
        exponent: usize,
        /// What happened.
        reason: String,
    },
    /// No key to come down from a temporary rank.
    #[error(
        "{op}: no rank-down key from rank {found} to rank {needed}; generate it with the others, from \
         the secret at rank {found} to the one at rank {needed}"
    )]
    MissingRankDownKey {
        /// The operation.
        op: &'static str,
        /// The temporary rank.
        found: usize,
        /// The rank needed.
        needed: usize,
    },
    /// Secret coefficients are not what a secret key needs.
    #[error("secret key: {found}, need {needed}")]
    Secret {
        /// What was found.
        found: String,
        /// What is needed.
        needed: String,
    },
    /// A sum of rotations names one that it was not given.
    #[error(
        "{op}: a factor for rotation {found}, counted from 0, of {given}; give that rotation too"
    )]
    NoRotation {
        /// The operation.
        op: &'static str,
        /// The rotation named.
        found: usize,
        /// How many were given.
        given: usize,
    },
    /// An operation was given nothing to work on.
    #[error("{op}: no operands; give at least one")]
    Empty {
        /// The operation.
        op: &'static str,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
