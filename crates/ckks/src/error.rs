//! The crate's one error type.

use bellerophon_ring::wire::Fingerprint;

use std::fmt;

use bellerophon_mlwe::KeyId;

/// Where a ciphertext or plaintext stands: what an error about two operands prints of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Rescalings left.
    pub level: usize,
    /// `log2` of the scale.
    pub log2_scale: f64,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {} at scale 2^{:.9}", self.level, self.log2_scale)
    }
}

/// Two scales: their quotient too where both are printed alike.
fn against(left: &Standing, right: &Standing) -> String {
    let off = ((left.log2_scale - right.log2_scale) * std::f64::consts::LN_2).exp_m1();
    match left.to_string() == right.to_string() {
        true => format!("{left} against {right} (their quotient is 1 {off:+.1e})"),
        false => format!("{left} against {right}"),
    }
}

/// What a caller can get wrong when encoding, encrypting and computing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the ring below.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// An error of the lattice layer below.
    #[error(transparent)]
    Mlwe(#[from] bellerophon_mlwe::Error),
    /// A parameter set that cannot work.
    #[error("parameters: {reason}")]
    Params {
        /// What is wrong, what is needed.
        reason: String,
    },
    /// A noise variance that is none.
    #[error("{op}: a noise variance of {found}: need a finite number that is not negative")]
    Variance {
        /// The operation.
        op: &'static str,
        /// The variance found.
        found: f64,
    },
    /// An empty input.
    #[error("{op}: no values: at least one is needed")]
    NoValues {
        /// The operation.
        op: &'static str,
    },
    /// More values than the ring has slots.
    #[error("{op}: {found} values, but the ring of these parameters has {slots} slots: split them")]
    TooManyValues {
        /// The operation.
        op: &'static str,
        /// Values handed in.
        found: usize,
        /// Slots there are.
        slots: usize,
    },
    /// A slot count that is not a power of two within the ring.
    #[error("{op}: {found} slots: need a power of two from {least} to {most}")]
    SlotCount {
        /// The operation.
        op: &'static str,
        /// The count found.
        found: usize,
        /// The least that would do.
        least: usize,
        /// The most that the ring has.
        most: usize,
    },
    /// A value that is not a number, or infinite. The error does not repeat it.
    #[error("{op}: value {index} is not finite: only finite numbers can be encoded")]
    NonFinite {
        /// The operation.
        op: &'static str,
        /// Position of the value.
        index: usize,
    },
    /// An interval whose ends are no numbers or in the wrong order.
    #[error("interval [{lo:?}, {hi:?}]: need two finite ends, the lower first")]
    Interval {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// A scale that is not a positive number.
    #[error("{op}: scale {scale:?}: need a finite number above zero")]
    Scale {
        /// The operation.
        op: &'static str,
        /// The scale found.
        scale: f64,
    },
    /// The message could wrap around the modulus.
    #[error(
        "{op}: values up to 2^{:.0} at scale 2^{log2_scale:.3} reach half of the modulus \
         2^{log2_modulus:.3} of level {level}: stay at a higher level, scale the values down, or \
         state a tighter range",
        bound.log2()
    )]
    RangeOverflow {
        /// The operation.
        op: &'static str,
        /// Bound on the magnitude of the result, rounded up to a power of two: an exact one tells the
        /// largest value of a plaintext.
        bound: f64,
        /// `log2` of its scale.
        log2_scale: f64,
        /// `log2` of the modulus it would have to fit.
        log2_modulus: f64,
        /// The level of that modulus.
        level: usize,
    },
    /// No level is left for a rescaling.
    #[error(
        "{op}: needs {needed} level(s), {left} left: encrypt at a higher level, take parameters \
         with more primes, or refresh"
    )]
    OutOfLevels {
        /// The operation.
        op: &'static str,
        /// Levels that it takes.
        needed: usize,
        /// Levels that the operand has.
        left: usize,
    },
    /// A level that the operand, key or parameter set does not reach.
    #[error("{op}: level {wanted} was asked for, the highest here is {highest}")]
    LevelTooHigh {
        /// The operation.
        op: &'static str,
        /// Level asked for.
        wanted: usize,
        /// Highest level there is.
        highest: usize,
    },
    /// A value outside the range that is declared for it, which is not repeated: errors are read by
    /// others than the owner of the data.
    #[error(
        "{op}: value {index} lies outside the declared range [{lo:?}, {hi:?}]: declare one that holds \
         every value and does not depend on them (`Interval::complex` for complex values)"
    )]
    OutsideRange {
        /// The operation.
        op: &'static str,
        /// Its place among the values.
        index: usize,
        /// Lower end of the range.
        lo: f64,
        /// Upper end of the range.
        hi: f64,
    },
    /// A result that may exceed what its program declares of it. By how much is not said: that would tell
    /// of constants of whoever computes.
    #[error(
        "{op}: the declared {what} does not cover the result: declare {needed}, or state what the program \
         is known to keep (`assume_range`) before it is published"
    )]
    Declaration {
        /// The operation.
        op: &'static str,
        /// Range or noise.
        what: &'static str,
        /// What would cover it.
        needed: &'static str,
    },
    /// Requirements that no parameter set meets.
    #[error(
        "choose parameters: {bits} bits in the worst of {slots} slots after {depth} product(s) \
         {}cannot be had: {}{}{}: {}",
        if *bootstraps { "and a refresh before them " } else { "" },
        match nearest_bits {
            Some(bits) => format!("{bits} bits can at this depth"),
            None => "this depth cannot at any precision".into(),
        },
        match nearest_depth {
            Some(depth) => format!(", {depth} product(s) can at this precision"),
            None => ", nor can this precision at any depth".into(),
        },
        match modulus {
            Some(bits) => format!(" (the largest ring allows a modulus of {bits} bits)"),
            None => String::new(),
        },
        if *bootstraps { "refresh more often for more depth" } else { "refresh on the way (`bootstraps`) for more depth" },
    )]
    Unreachable {
        /// Slots asked for.
        slots: usize,
        /// Depth asked for.
        depth: usize,
        /// Bits asked for.
        bits: f64,
        /// Whether refreshing was asked for.
        bootstraps: bool,
        /// The most whole bits that can be had with these slots at this depth.
        nearest_bits: Option<u32>,
        /// The most products that can be had with these slots and bits.
        nearest_depth: Option<usize>,
        /// `log2` of the largest modulus that the security allows in any ring.
        modulus: Option<f64>,
    },
    /// A number of limbs that no level has, or not the one of these parameters.
    #[error(
        "{op}: {limbs} limbs where level {level} has {needed}: polynomials stand at the levels of \
         their parameters, and chains with the same primes in other levels do not mix"
    )]
    LevelLimbs {
        /// The operation.
        op: &'static str,
        /// Limbs found.
        limbs: usize,
        /// The level that the operand claims, or the nearest one below.
        level: usize,
        /// Limbs of that level.
        needed: usize,
    },
    /// Two operands whose scales differ and neither of which has a level to spare.
    #[error(
        "{op}: scales cannot be aligned: {}, and neither has a level to spare for the adjustment: \
         perform it one level higher",
        against(left, right)
    )]
    ScaleMismatch {
        /// The operation.
        op: &'static str,
        /// First operand.
        left: Standing,
        /// Second operand.
        right: Standing,
    },
    /// A reduction modulo 1 whose scales drift, since the levels that it takes divide by different
    /// amounts, or since its operand stands at another scale than its level divides by.
    #[error(
        "{op}: from level {level} at scale 2^{log2_scale:.3} the scales of intermediate results drift \
         by {drift:.1} bits, at most {most:.1} are allowed: start at a level above levels of one size \
         (Mod1::highest_level), at the scale that it divides by, 2^{log2_divisor:.3}"
    )]
    Drift {
        /// The operation.
        op: &'static str,
        /// The level of the operand.
        level: usize,
        /// `log2` of its scale.
        log2_scale: f64,
        /// `log2` of what its level divides by.
        log2_divisor: f64,
        /// By how many bits scales drift.
        drift: f64,
        /// The most that is allowed, in bits.
        most: f64,
    },
    /// A key that the operation needs is not among the evaluation keys.
    #[error(
        "{op}: the evaluation keys hold no {key} usable at level {level}: ask for it when the keys \
         are made"
    )]
    MissingKey {
        /// The operation.
        op: &'static str,
        /// The key.
        key: &'static str,
        /// The level at which it must live.
        level: usize,
    },
    /// A rotation that no key, and no sequence of keys, performs.
    #[error(
        "{op}: rotation of {slots} slots by {step} at level {level}: no key for this step, and \
         the steps there are, {have:?}, do not compose to it: ask for it, \
         for the powers of two, or for KeySpec::rotate_hoisted up to this level, when the keys are made"
    )]
    MissingRotationKey {
        /// The operation.
        op: &'static str,
        /// The step, in `[0, slots)`.
        step: usize,
        /// Number of slots of the operand.
        slots: usize,
        /// The level of the operand.
        level: usize,
        /// Steps whose keys reach this level, modulo `slots`.
        have: Vec<usize>,
    },
    /// Operands under different secret keys, or evaluation keys of another secret key.
    #[error("{op}: the operands belong to different secret keys ({left} and {right})")]
    KeyMismatch {
        /// The operation.
        op: &'static str,
        /// Public id of the first key.
        left: KeyId,
        /// Public id of the second key.
        right: KeyId,
    },
    /// Relinearisation keys, or a bootstrapper, that go another way than the parameters say.
    #[error(
        "{op}: made to relinearise {found}, where the parameters relinearise {needed}; make it from \
         these parameters, or choose the same route by Params::relinearising"
    )]
    RouteMismatch {
        /// The operation.
        op: &'static str,
        /// The route of the keys or of the bootstrapper, printed.
        found: String,
        /// The route of the parameters, printed.
        needed: String,
    },
    /// Operands of different parameter sets.
    #[error("{op}: the operands belong to different parameters ({left} and {right})")]
    ParamsMismatch {
        /// The operation.
        op: &'static str,
        /// Fingerprint of the first set.
        left: Fingerprint,
        /// Fingerprint of the second set.
        right: Fingerprint,
    },
    /// An operation whose error is known on average, where a bound was asked for.
    #[error(
        "{op}: the noise is known on average alone: a bound takes `Shadow::worst_case` from the \
         beginning, and sums, products and rotations one by one"
    )]
    NoWorstCase {
        /// The operation.
        op: &'static str,
    },
    /// A ciphertext that does not stand where the program of a noise bound leaves it.
    #[error(
        "{op}: the {what} is {found:?}, where the bound was made for {expected:?}: run on the shadow what the \
         evaluator ran, with its keys (a rotation key for each step), or do not trust the ciphertext"
    )]
    NotOfProgram {
        /// The operation.
        op: &'static str,
        /// What differs.
        what: &'static str,
        /// That of the ciphertext.
        found: f64,
        /// That of the bound.
        expected: f64,
    },
    /// Results that are to be shared on terms that say nothing.
    #[error(
        "share results: {queries} queries at {statistical_bits:?} bits: need at least one query, and \
         1 to 64 bits"
    )]
    Flooding {
        /// Results to be shared.
        queries: u64,
        /// Statistical bits.
        statistical_bits: f64,
    },
    /// A range that leaves the domain of a polynomial.
    #[error(
        "{op}: the {what} may lie in [{found_lo:?}, {found_hi:?}]{}, outside the domain \
         [{lo:?}, {hi:?}]: approximate over a wider domain, scale the values, state a tighter \
         range (`assume_range`, or `assume_all` with the padding), or give the padding values inside the \
         domain",
        if *complex { " (complex)" } else { "" }
    )]
    OutsideDomain {
        /// The operation.
        op: &'static str,
        /// Values or padding.
        what: &'static str,
        /// Lower end of the carried range.
        found_lo: f64,
        /// Upper end of the carried range.
        found_hi: f64,
        /// Whether the slots may be complex.
        complex: bool,
        /// Lower end of the domain.
        lo: f64,
        /// Upper end of the domain.
        hi: f64,
    },
    /// A function that no polynomial within reach approximates as wanted.
    #[error("approximation of {what}: {reason}")]
    Approximation {
        /// The function.
        what: String,
        /// What was asked for, what is possible.
        reason: String,
    },
    /// A slot that the vector does not have.
    #[error("{op}: slot {found} of a vector of {slots} slots: count from 0 to {}", slots - 1)]
    SlotOutOfRange {
        /// The operation.
        op: &'static str,
        /// The slot, or the end of the range, found.
        found: usize,
        /// Slots there are.
        slots: usize,
    },
    /// Vectors of unequal numbers of values, or values for a vector that has another number of them.
    #[error(
        "{op}: {left} values against {right}: need as many of both; repeat the shorter vector \
         (`broadcast`), take one value for all slots (`mul_scalar`, `add_scalar`), or state the number of \
         values (`with_len`)"
    )]
    LengthMismatch {
        /// The operation.
        op: &'static str,
        /// Values of the first operand.
        left: usize,
        /// Values of the second operand.
        right: usize,
    },
    /// A reduction of a vector whose padding may not be zero, without a level to clear it.
    #[error(
        "{op}: the {} slots of padding behind the {len} values may not be zero, and clearing them takes \
         one level, of which none is left: clear the padding earlier (`clear_padding`), or refresh",
        slots - len
    )]
    Padding {
        /// The operation.
        op: &'static str,
        /// Number of values.
        len: usize,
        /// Slots of the vector.
        slots: usize,
    },
    /// Two lists that must be equally long.
    #[error("{op}: {left} and {right} operands: need as many of both")]
    Lengths {
        /// The operation.
        op: &'static str,
        /// Length of the first list.
        left: usize,
        /// Length of the second list.
        right: usize,
    },
    /// A table, matrix or specification of the wrong shape.
    #[error("{op}: {reason}")]
    Shape {
        /// The operation.
        op: &'static str,
        /// What is wrong, what is needed.
        reason: String,
    },
    /// Polynomials and powers that do not go together.
    #[error("{op}: {reason}")]
    Powers {
        /// The operation.
        op: &'static str,
        /// What does not fit, what is needed.
        reason: String,
    },
    /// A linear transform and its operand do not fit.
    #[error("{op}: {reason}")]
    Linear {
        /// The operation.
        op: &'static str,
        /// What does not fit, what is needed.
        reason: String,
    },
}

impl Error {
    /// The same error under the name of the operation that the caller called, where it arose in one
    /// that this called in turn.
    #[must_use]
    pub fn named(mut self, name: &'static str) -> Self {
        match &mut self {
            Self::Ring(_)
            | Self::Mlwe(_)
            | Self::Params { .. }
            | Self::Interval { .. }
            | Self::Approximation { .. }
            | Self::Flooding { .. }
            | Self::Unreachable { .. } => {}
            Self::NoValues { op }
            | Self::Variance { op, .. }
            | Self::NoWorstCase { op }
            | Self::NotOfProgram { op, .. }
            | Self::TooManyValues { op, .. }
            | Self::SlotCount { op, .. }
            | Self::NonFinite { op, .. }
            | Self::OutsideRange { op, .. }
            | Self::Declaration { op, .. }
            | Self::Scale { op, .. }
            | Self::RangeOverflow { op, .. }
            | Self::OutOfLevels { op, .. }
            | Self::LevelTooHigh { op, .. }
            | Self::LevelLimbs { op, .. }
            | Self::ScaleMismatch { op, .. }
            | Self::Drift { op, .. }
            | Self::MissingKey { op, .. }
            | Self::MissingRotationKey { op, .. }
            | Self::KeyMismatch { op, .. }
            | Self::ParamsMismatch { op, .. }
            | Self::RouteMismatch { op, .. }
            | Self::OutsideDomain { op, .. }
            | Self::SlotOutOfRange { op, .. }
            | Self::LengthMismatch { op, .. }
            | Self::Padding { op, .. }
            | Self::Lengths { op, .. }
            | Self::Shape { op, .. }
            | Self::Powers { op, .. }
            | Self::Linear { op, .. } => *op = name,
        }
        self
    }
}

/// The least power of two that is not below a magnitude: what [`Error::RangeOverflow`] tells of it.
pub(crate) fn power_of_two_above(magnitude: f64) -> f64 {
    magnitude.log2().ceil().exp2()
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
