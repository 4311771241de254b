//! The error type of this crate.

crate::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Error(ErrorKind) from [];
}

/// Errors in the construction and use of rings, bases and tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The modulus is outside the supported range.
    #[error("modulus {value} is not supported: need an odd number with 3 <= q < 2^61")]
    ModulusRange {
        /// The offending value.
        value: u64,
    },
    /// The modulus is not prime.
    #[error("modulus {value} is not prime: residue rings here are fields")]
    NotPrime {
        /// The offending value.
        value: u64,
    },
    /// The ring degree is not a supported power of two.
    #[error("ring degree {degree} is not supported: need a power of two from 2^3 to 2^17")]
    Degree {
        /// The offending degree.
        degree: usize,
    },
    /// The modulus has no primitive 2N-th root of unity.
    #[error("modulus {modulus} is not 1 modulo {order}: no NTT of degree {degree} exists")]
    NoRoot {
        /// The modulus.
        modulus: u64,
        /// The order 2N that must divide `modulus - 1`.
        order: u64,
        /// The ring degree N.
        degree: usize,
    },
    /// An element has no inverse.
    #[error("{value} has no inverse modulo {modulus}")]
    NotInvertible {
        /// The element.
        value: u64,
        /// The modulus.
        modulus: u64,
    },
    /// There are too few primes of the required shape.
    #[error(
        "found {found} of {wanted} primes q = 1 mod {order} near 2^{bits}: \
         ask for fewer, or for another size"
    )]
    PrimesExhausted {
        /// The number of primes found.
        found: usize,
        /// The number of primes required.
        wanted: usize,
        /// The order 2N.
        order: u64,
        /// The required size in bits.
        bits: u32,
    },
    /// Two rings with incompatible bases: different degrees, or a shared prime where they must be
    /// disjoint.
    #[error("{reason}")]
    Basis {
        /// What is wrong with the bases.
        reason: String,
    },
    /// The exponent of an automorphism `X -> X^g` is even.
    #[error("automorphism X -> X^{exponent} does not exist: the exponent must be odd")]
    EvenExponent {
        /// The exponent.
        exponent: u64,
    },
    /// The requested back end does not support this CPU or this modulus.
    #[error("back end {backend} cannot run here: {reason}")]
    Backend {
        /// The name of the back end.
        backend: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// A distribution parameter is outside its range.
    #[error("{what} = {value} is not supported: need {need}")]
    Distribution {
        /// The name of the parameter.
        what: &'static str,
        /// The value found, printed.
        value: String,
        /// The range needed.
        need: &'static str,
    },
    /// The length of packed residues does not match their shape.
    #[error(
        "{found} bytes of packed residues where the shape takes {needed}: the bytes are damaged"
    )]
    PackedLength {
        /// Bytes found.
        found: usize,
        /// Bytes needed.
        needed: usize,
    },
    /// A number of a secret does not fit its stored form.
    #[error("a secret with a number that takes more than {bytes} bytes")]
    SecretNumber {
        /// Bytes per number of this kind.
        bytes: usize,
    },
    /// A stored word is not a residue.
    #[error("the stored word {found} is not below the modulus {modulus}: the bytes are damaged")]
    Residue {
        /// The word.
        found: u64,
        /// The modulus.
        modulus: u64,
    },
    /// Unused bits of packed residues are not zero.
    #[error(
        "bits are set behind the last residue, in a byte of {last:#04x}: the bytes are damaged"
    )]
    Padding {
        /// The last byte.
        last: u8,
    },
}

/// `Result` with the error of this crate.
pub type Result<T> = std::result::Result<T, Error>;
