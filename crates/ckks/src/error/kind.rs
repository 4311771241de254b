//! The reasons why operations are refused.

use bellerophon_ring::decimal;

use super::{
    ArgumentError, LevelScale,
    level_scale::against,
    remedies::{
        beyond, drifting, drowned, fault, inaccurate, lost, nearest, outside, overflow, reaching,
        slots_needed, steps, table_noise, too_large_to_bootstrap, too_noisy,
    },
};

/// Errors of encoding, encryption and computation.
///
/// Each message names the operation, what it found, what it needs, and a remedy. No message repeats
/// an encrypted value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An error of the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// An error of the lattice layer.
    #[error(transparent)]
    Mlwe(bellerophon_mlwe::ErrorKind),
    /// An argument that no vector makes right.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// Invalid parameters.
    #[error("parameters: {reason}")]
    Params {
        /// What is wrong and what is needed.
        reason: String,
    },
    // Noise, tables and functional bootstrapping.
    /// An invalid noise variance.
    #[error(
        "the noise variance is {found}: need a finite number of at least 0; state the noise \
         of the operands (`assume_noise`)"
    )]
    Variance {
        /// The variance found.
        found: f64,
    },
    /// Noise above what a table tolerates.
    #[error("{}", table_noise(*entries, *log2_noise, *log2_tolerance, *log2_failure))]
    TableNoise {
        /// Entries of the table.
        entries: usize,
        /// `log2` of the bound on the noise, in units of the distance between two integers.
        log2_noise: f64,
        /// `log2` of the noise that the table tolerates, in the same units.
        log2_tolerance: f64,
        /// `log2` of the failure probability of the bound.
        log2_failure: f64,
    },
    /// Integers that must be reduced before they are published. The error does not say by how much
    /// they exceed the limit: the excess would reveal constants of the server.
    #[error(
        "{what} of these integers is not that of reduced integers: need {needed}; apply an \
         identity table first (`Integers::table`)"
    )]
    Unreduced {
        /// Range, noise or scale.
        what: &'static str,
        /// The requirement that reduced integers meet.
        needed: &'static str,
    },
    /// The caller's callback asked to stop ([`Evaluator::watching`](crate::Evaluator::watching)).
    #[error(
        "the progress callback cancelled it during {}, with {done} of {total} parts done: \
         call it again, and let the callback continue",
        stage.name()
    )]
    Cancelled {
        /// The stage at which it was cancelled.
        stage: crate::bootstrap::BootstrapStage,
        /// Finished parts of that stage.
        done: usize,
        /// All parts of that stage.
        total: usize,
    },
    // Inputs of encoding. Messages name positions, never values.
    /// An empty input.
    #[error("no operands or values: need at least one")]
    NoValues,
    /// More values than the ring has slots.
    #[error(
        "{found} values, but there are {slots} slots: split the values over several vectors, \
         or take parameters of a larger ring degree"
    )]
    TooManyValues {
        /// Number of values found.
        found: usize,
        /// Number of slots available.
        slots: usize,
    },
    /// An invalid slot count.
    #[error("{found} slots: need {}", slots_needed(*found, *least, *most))]
    SlotCount {
        /// The count found.
        found: usize,
        /// The smallest valid count.
        least: usize,
        /// The largest valid count.
        most: usize,
    },
    /// A value that is NaN or infinite. The error does not repeat it.
    #[error(
        "the {what} at position {index} of {count} is NaN or infinite: need finite numbers; \
         replace it before the call"
    )]
    NonFinite {
        /// Value, entry, edge or coefficient.
        what: &'static str,
        /// Position of the value, from 0.
        index: usize,
        /// Number of values.
        count: usize,
    },
    /// An invalid interval.
    #[error("interval [{lo:?}, {hi:?}]: {}", fault(*lo, *hi))]
    Interval {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// A scale that is not a positive finite number.
    #[error("scale {scale:?}: need a finite number above zero; the default is `Params::scale`")]
    Scale {
        /// The scale found.
        scale: f64,
    },
    // Ranges and levels. Bounds are rounded where exact ones would reveal data.
    /// The message could wrap around the modulus.
    #[error(
        "the {what} may reach at most {}, and level {level} holds {}",
        decimal(*bound),
        overflow(what, *log2_modulus, *log2_scale)
    )]
    RangeOverflow {
        /// Values or padding.
        what: &'static str,
        /// Bound on the magnitude, rounded up to three digits: an exact one would reveal constants.
        bound: f64,
        /// `log2` of its scale.
        log2_scale: f64,
        /// `log2` of the modulus that it must fit.
        log2_modulus: f64,
        /// The level of that modulus.
        level: usize,
    },
    /// Values that a bootstrap does not take.
    #[error("{}", too_large_to_bootstrap(*most, *bound))]
    BootstrapRange {
        /// Bound on the magnitude of the values with their error, rounded up to three digits.
        bound: f64,
        /// The largest magnitude that the bootstrap takes.
        most: f64,
    },
    /// A constant that is too large for one product or sum. The error does not repeat it.
    #[error(
        "the constant is too large: at scale 2^{log2_scale:.1} it must be below {}: multiply in \
         several steps, or scale the values when they are encrypted",
        decimal((126.0 - log2_scale).exp2())
    )]
    Constant {
        /// `log2` of the scale at which the constant is encoded.
        log2_scale: f64,
    },
    /// Constants that rounding to integers would destroy. The error does not repeat them.
    #[error(
        "the constants are below {}, and are rounded to multiples of {}: multiply by fewer and \
         larger constants (by their product at once), or declare the values in larger units when \
         they are encrypted",
        decimal((8.0 - log2_scale).exp2()),
        decimal((-log2_scale).exp2())
    )]
    SmallConstant {
        /// `log2` of the scale at which the constants are encoded.
        log2_scale: f64,
    },
    /// Values that are lost in the noise.
    #[error("{}", lost(*noise, what, *width))]
    LostInNoise {
        /// The quantity that the error exceeds.
        what: &'static str,
        /// Predicted standard deviation of a slot's error.
        noise: f64,
        /// The width of the declared range, or the largest magnitude of the values.
        width: f64,
    },
    /// Complex values where reals are wanted.
    #[error(
        "the values may be complex: decrypt them as complex numbers (`decrypt_complex`), or take \
         the real parts before (`real_part`)"
    )]
    ComplexValues,
    /// Too few levels are left.
    #[error(
        "needs {needed} level(s), {left} left: encrypt at a higher level, take parameters with more \
         levels, or bootstrap while the vector has the levels for it (`with_auto_bootstrap`)"
    )]
    OutOfLevels {
        /// Levels that the operation takes.
        needed: usize,
        /// Levels that the operand has.
        left: usize,
    },
    /// Too few levels are left, and automatic bootstrapping does not provide them.
    #[error("needs {needed} level(s), {left} left, {}", beyond(*least, *fresh))]
    BeyondBootstrap {
        /// Levels that the operation takes.
        needed: usize,
        /// Levels that the operand has.
        left: usize,
        /// The lowest level at which a vector can be bootstrapped.
        least: usize,
        /// The level of a bootstrapped vector.
        fresh: usize,
    },
    /// A vector below the level at which it can be bootstrapped.
    #[error(
        "a bootstrap takes vectors from level {least} on, and this one is at level {left}, which \
         nothing raises: bootstrap it earlier (`with_auto_bootstrap` does), or encrypt it at a \
         higher level"
    )]
    TooLowToBootstrap {
        /// The lowest level at which a vector can be bootstrapped.
        least: usize,
        /// The level of the vector.
        left: usize,
    },
    /// Functions that take more levels than a functional bootstrap leaves them.
    #[error(
        "these tables take {needed} levels, the parameters have {left}: take fewer entries (or a \
         larger error of a function), or parameters for more"
    )]
    TableLevels {
        /// Levels that the functions take.
        needed: usize,
        /// Levels that the parameters have for them.
        left: usize,
    },
    /// A level above that of the operand, key or parameter set.
    #[error(
        "level {wanted} was requested, and the highest one here is {highest}: choose a lower \
         level, or take parameters, keys or operands of more levels"
    )]
    LevelTooHigh {
        /// The requested level.
        wanted: usize,
        /// The highest level available.
        highest: usize,
    },
    /// A value outside its declared range. The error does not repeat it: others may read the error.
    #[error(
        "the value at position {index} of {count} lies outside the declared range [{lo:?}, {hi:?}]: \
         declare a range that contains every value (complex values: a disc) and does not depend on \
         the values"
    )]
    OutsideRange {
        /// Position of the value, from 0.
        index: usize,
        /// Number of values.
        count: usize,
        /// Lower end of the range.
        lo: f64,
        /// Upper end of the range.
        hi: f64,
    },
    /// A result or an input that may exceed its declaration. The error does not say by how much:
    /// the excess would reveal constants of the server.
    #[error("the declared {what} does not cover the vector: declare {needed}")]
    Declaration {
        /// Range, noise, level, scale, modulus, or a number of values or slots.
        what: &'static str,
        /// A declaration that would cover it.
        needed: &'static str,
    },
    /// Noise too large for comparisons.
    #[error("{}", too_noisy(*log2_error, *log2_most))]
    TooNoisy {
        /// `log2` of the error of the worst value, relative to the width of the declared range.
        log2_error: f64,
        /// `log2` of the largest error allowed.
        log2_most: f64,
    },
    /// [`ProgramBounds`](crate::param_search::ProgramBounds) that no parameter set meets.
    #[error(
        "no set gives {bits} bits in the worst of {slots} slots after {depth} \
         product(s){}",
        nearest(*bootstraps, *nearest_bits, *nearest_depth, *modulus)
    )]
    Unreachable {
        /// The requested slots.
        slots: usize,
        /// The requested depth.
        depth: usize,
        /// The requested bits of precision.
        bits: f64,
        /// Whether bootstrapping was requested.
        bootstraps: bool,
        /// The largest whole number of bits with these slots at this depth.
        nearest_bits: Option<u32>,
        /// The largest depth with these slots and bits.
        nearest_depth: Option<usize>,
        /// `log2` of the largest modulus that the security allows in any ring.
        modulus: Option<f64>,
    },
    // Levels and scales that do not match.
    /// A number of limbs that is not that of a level of these parameters.
    #[error(
        "the polynomial has {limbs} limbs, and level {level} needs {needed}: take one at a \
         level of these parameters (chains that group the same primes into other levels do not mix)"
    )]
    LevelLimbs {
        /// Limbs found.
        limbs: usize,
        /// The level that the operand claims, or the nearest one below.
        level: usize,
        /// Limbs of that level.
        needed: usize,
    },
    /// Two operands of different scales, neither with a level left to adjust its scale.
    #[error(
        "scales cannot be aligned: {}, and neither has a level left for the adjustment: \
         compute at least one operand at a level higher by one",
        against(left, right)
    )]
    ScaleMismatch {
        /// First operand.
        left: LevelScale,
        /// Second operand.
        right: LevelScale,
    },
    /// A vector or product of another scale than the one needed, where nothing is aligned.
    #[error("{what} has another scale than the one needed ({}): {remedy}", against(found, needed))]
    OtherScale {
        /// The operand or product.
        what: &'static str,
        /// Its level and scale.
        found: LevelScale,
        /// The level and scale needed.
        needed: LevelScale,
        /// What helps.
        remedy: &'static str,
    },
    /// A vector below the level for which a linear transform was prepared.
    #[error(
        "the transform was prepared for level {prepared}, and the vector is at level {level}: \
         prepare it for a level up to {level}, or take a vector of a higher level"
    )]
    PreparedLevel {
        /// The level of the prepared transform.
        prepared: usize,
        /// The level of the vector.
        level: usize,
    },
    /// An EvalMod whose scales drift: its levels divide by different amounts, or the scale of its
    /// operand differs from what its level divides by.
    #[error("from level {level} {}", drifting(*log2_scale, *log2_divisor, *drift, *most))]
    Drift {
        /// The level of the operand.
        level: usize,
        /// `log2` of its scale.
        log2_scale: f64,
        /// `log2` of what a rescaling at its level divides by.
        log2_divisor: f64,
        /// The drift of the scales, in bits.
        drift: f64,
        /// The largest drift allowed, in bits.
        most: f64,
    },
    // Keys and parameters that are missing or do not belong together.
    /// An operation whose key is missing from the evaluation keys.
    #[error(
        "the evaluation keys contain no {key}{}: ask for it where they are made; the simulator's \
         report lists the keys of a program",
        reaching(*level)
    )]
    MissingKey {
        /// The key.
        key: &'static str,
        /// The level that the key must reach, if keys reach different levels.
        level: Option<usize>,
    },
    /// A rotation that no key, and no sequence of keys, performs.
    #[error("rotation of {slots} slots by {step} at level {level}: {}", steps(have))]
    MissingRotationKey {
        /// The step, in `[0, slots)`.
        step: usize,
        /// Number of slots of the operand.
        slots: usize,
        /// The level of the operand.
        level: usize,
        /// Steps whose keys reach this level, modulo `slots`.
        have: Vec<usize>,
    },
    /// Relinearization keys, or a bootstrapper, of another relinearization strategy than that of
    /// the parameters.
    #[error(
        "the relinearization strategy is \"{found}\", and the parameters have \"{needed}\": \
         make the keys or the bootstrapper from these parameters, or give the parameters the same \
         strategy (`Params::relinearizing`)"
    )]
    RouteMismatch {
        /// The strategy of the keys or of the bootstrapper, printed.
        found: String,
        /// The strategy of the parameters, printed.
        needed: String,
    },
    /// A key request or several keys that do not list what they should.
    #[error(
        "the list has {found}: need {needed}: take the keys or the bytes that this library made for \
         these parameters"
    )]
    KeyList {
        /// What the list holds.
        found: String,
        /// What the parameters need.
        needed: String,
    },
    // Worst-case noise bounds and noise flooding.
    /// A vector with an average noise estimate where a worst-case bound is needed, or the reverse.
    #[error(
        "averages and worst-case bounds of noise do not mix, and a bound needs the worst \
         case: run the whole program, inputs included, on one `Simulator::worst_case`"
    )]
    NoWorstCase,
    /// A ciphertext that the program of a noise bound cannot have produced.
    #[error(
        "the {what} is {found:?}, and the noise bound expects {expected:?}: simulate the \
         program that the evaluator ran, with a rotation key for each step, or do not trust the \
         ciphertext"
    )]
    NotOfProgram {
        /// The property that differs.
        what: &'static str,
        /// Its value in the ciphertext.
        found: f64,
        /// Its value in the bound.
        expected: f64,
    },
    /// Invalid terms of noise flooding.
    #[error(
        "{queries} queries at {statistical_bits:?} bits: need at least 1 query, and 1 to 64 bits"
    )]
    Flooding {
        /// Number of results to share.
        queries: u64,
        /// Bits of statistical security.
        statistical_bits: f64,
    },
    /// A decryption budget with too few results left.
    #[error(
        "{wanted} results requested, {left} left of {queries}: more results \
         would leak information about the key: generate another key with a larger budget"
    )]
    BudgetSpent {
        /// The requested results, or the results said to be left.
        wanted: u64,
        /// The results left.
        left: u64,
        /// The initial number of results.
        queries: u64,
    },
    /// A result to be shared without a reservation.
    #[error(
        "no result of the budget is reserved: call `DecryptionBudget::reserve`, and store \
         the number that it returns before any result is released"
    )]
    NotReserved,
    /// Flooding noise as large as the values.
    #[error("{}", drowned(*noise, *largest))]
    NothingLeft {
        /// The largest flooding noise.
        noise: f64,
        /// The largest magnitude of the values.
        largest: f64,
    },
    // Approximation of functions.
    /// A range that leaves the domain of a polynomial.
    #[error(
        "the {what} may lie in [{found_lo:?}, {found_hi:?}]{}, outside the domain \
         [{lo:?}, {hi:?}]: {}",
        if *complex { " (complex)" } else { "" },
        outside(what)
    )]
    OutsideDomain {
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
    /// A function that no supported polynomial approximates to the requested error.
    #[error("approximation of {what}: {reason}")]
    Approximation {
        /// The function.
        what: String,
        /// The request and what is possible.
        reason: String,
    },
    /// A function that no supported power series approximates to the requested error.
    #[error(
        "series of {what} on [{lo:?}, {hi:?}]: the requested error is 2^{log2_wanted:?}, and \
         degree {degree} reaches 2^{log2_reached:.1}: {}",
        inaccurate(*breaks)
    )]
    SeriesAccuracy {
        /// The function.
        what: String,
        /// Lower end of the domain.
        lo: f64,
        /// Upper end of the domain.
        hi: f64,
        /// `log2` of the requested error.
        log2_wanted: f64,
        /// The largest degree.
        degree: usize,
        /// `log2` of the error at that degree.
        log2_reached: f64,
        /// Number of kinks and jumps detected.
        breaks: usize,
    },
    // Lengths, padding and shapes.
    /// A slot index out of range.
    #[error("slot {found} of a vector of {slots} slots: need an index below {slots}")]
    SlotOutOfRange {
        /// The slot, or the end of the slot range, found.
        found: usize,
        /// Number of slots available.
        slots: usize,
    },
    /// Operands with different numbers of values: two vectors, or a vector and plain values.
    #[error(
        "{left} values against {right}: need equally many; repeat the shorter vector \
         (`broadcast`), use one value for all slots (`mul_scalar`, `add_scalar`), or state the \
         number of values (`with_len`)"
    )]
    LengthMismatch {
        /// Values of the first operand.
        left: usize,
        /// Values of the second operand.
        right: usize,
    },
    /// A reduction of a vector whose padding may be nonzero, without a level to clear it.
    #[error(
        "the padding behind the {len} values in {slots} slots may be nonzero, clearing it takes \
         one level, and none is left: clear the padding earlier, while a level is left \
         (`clear_padding`)"
    )]
    Padding {
        /// Number of values.
        len: usize,
        /// Slots of the vector.
        slots: usize,
    },
    /// Two lists of different lengths.
    #[error("{left} operands against {right}: need two lists of one length")]
    Lengths {
        /// Length of the first list.
        left: usize,
        /// Length of the second list.
        right: usize,
    },
    /// A table, matrix or specification of the wrong shape.
    #[error("{reason}")]
    Shape {
        /// What is wrong and what is needed.
        reason: String,
    },
    /// A polynomial that does not fit its power basis.
    #[error("{reason}")]
    Powers {
        /// What does not fit and what is needed.
        reason: String,
    },
    /// A linear transform that does not fit its operand.
    #[error("{reason}")]
    Linear {
        /// What does not fit and what is needed.
        reason: String,
    },
}
