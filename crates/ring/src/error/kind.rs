//! The kinds of refusals.

/// The kind of a refusal, for programs that act on it. The message of an [`Error`](crate::Error)
/// says what was found, what is needed and what helps.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Parameters that are invalid, or do not fit together.
    Parameters,
    /// Parameters below the required security, or without an estimate.
    Insecure,
    /// The parameters, or this machine, do not have what the operation needs.
    Unsupported,
    /// An operand, key or object of other parameters.
    ParamsMismatch,
    /// An operand or key of another secret key.
    KeyMismatch,
    /// The evaluation keys lack a key.
    MissingKey {
        /// The method of the facade's `Needs` that asks for it; empty if none does.
        need: &'static str,
    },
    /// Too few levels are left: bootstrap, or encrypt at a higher level.
    OutOfLevels {
        /// Levels that the operation takes.
        needed: usize,
        /// Levels that the operand has.
        left: usize,
    },
    /// A level that operand, key or parameters do not have.
    Level,
    /// Scales or encodings that cannot be aligned.
    Scale,
    /// Values that may exceed their range, modulus or encoding.
    Range,
    /// A declared range, noise, level or scale that does not cover the vector.
    Declaration,
    /// Noise that is too large for the operation or for the values.
    Noise,
    /// An interval that is invalid, or values that may leave the domain of a function.
    Domain,
    /// An approximation, table or plan that does not reach the requested accuracy.
    Accuracy {
        /// `log2` of the error within reach, if it is known.
        log2_reached: Option<f64>,
    },
    /// A value, argument or result of a function that is NaN or infinite.
    NotFinite,
    /// Complex values where reals are needed.
    Complex,
    /// An argument outside its range.
    Argument,
    /// Requirements of a request that contradict each other or the call.
    Request,
    /// Operands whose shapes do not fit each other.
    Shape,
    /// No operands, or operands of different numbers of values.
    Length,
    /// More values than one vector or query takes: split them.
    TooManyValues {
        /// The number of values found.
        found: usize,
        /// The largest number.
        most: usize,
    },
    /// A budget of decryptions or of privacy that is spent, or that does not count down.
    Budget,
    /// The caller's callback stopped the operation.
    Cancelled {
        /// The stage in which it stopped.
        stage: &'static str,
        /// Parts finished in that stage.
        done: usize,
        /// Parts of that stage.
        total: usize,
    },
    /// Bytes that are not the expected object.
    Bytes,
    /// Reading or writing failed.
    Io,
}
