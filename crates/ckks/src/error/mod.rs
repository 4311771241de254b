//! The refusals of this crate. No message repeats an encrypted value; bounds are rounded where
//! exact ones would reveal data.

mod argument;
mod level_scale;
mod remedies;

use bellerophon_ring::{Error, ErrorKind, decimal};

pub use argument::{
    count_out_of_range, declared_noise, deviation, disc, not_a_number, position, slot_range,
};
pub use level_scale::LevelScale;
pub use remedies::rounded_up;

use level_scale::against;
use remedies::{
    beyond, drowned, fault, lost, outside, overflow, reaching, request, slots_needed, steps,
};

/// Invalid parameters.
pub fn params(reason: String) -> Error {
    Error::new(ErrorKind::Parameters, format!("parameters: {reason}"))
}

/// An invalid noise variance.
pub fn variance(found: f64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "the noise variance is {found}: need a finite number of at least 0; state the noise \
             of the operands (`assume_noise`)"
        ),
    )
}

/// An empty input.
pub fn no_values() -> Error {
    Error::new(ErrorKind::Length, "no operands or values: need at least one")
}

/// More values than the ring has slots.
pub fn too_many_values(found: usize, slots: usize) -> Error {
    Error::new(
        ErrorKind::TooManyValues { found, most: slots },
        format!(
            "{found} values, but there are {slots} slots: split the values over several vectors, \
             or take parameters of a larger ring degree"
        ),
    )
}

/// An invalid slot count.
pub fn slot_count(found: usize, least: usize, most: usize) -> Error {
    Error::new(
        ErrorKind::Shape,
        format!("{found} slots: need {}", slots_needed(found, least, most)),
    )
}

/// A value that is NaN or infinite. The error does not repeat it.
pub fn non_finite(what: &'static str, index: usize, count: usize) -> Error {
    Error::new(
        ErrorKind::NotFinite,
        format!(
            "the {what} at position {index} of {count} is NaN or infinite: need finite numbers; \
             replace it before the call"
        ),
    )
}

/// An invalid interval.
pub fn interval(lo: f64, hi: f64) -> Error {
    Error::new(ErrorKind::Domain, format!("interval [{lo:?}, {hi:?}]: {}", fault(lo, hi)))
}

/// A scale that is not a positive finite number.
pub fn scale(scale: f64) -> Error {
    Error::new(
        ErrorKind::Scale,
        format!("scale {scale:?}: need a finite number above zero; the default is `Params::scale`"),
    )
}

/// The message could wrap around the modulus.
pub fn range_overflow(
    what: &'static str,
    bound: f64,
    log2_scale: f64,
    log2_modulus: f64,
    level: usize,
) -> Error {
    Error::new(
        ErrorKind::Range,
        format!(
            "the {what} may reach at most {}, and level {level} holds {}",
            decimal(bound),
            overflow(what, log2_modulus, log2_scale)
        ),
    )
}

/// A constant that is too large for one product or sum. The error does not repeat it.
pub fn constant(log2_scale: f64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "the constant is too large: at scale 2^{log2_scale:.1} it must be below {}: multiply \
             in several steps, or scale the values when they are encrypted",
            decimal((126.0 - log2_scale).exp2())
        ),
    )
}

/// Constants that rounding to integers would destroy. The error does not repeat them.
pub fn small_constant(log2_scale: f64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "the constants are below {}, and are rounded to multiples of {}: multiply by fewer \
             and larger constants (by their product at once), or declare the values in larger \
             units when they are encrypted",
            decimal((8.0 - log2_scale).exp2()),
            decimal((-log2_scale).exp2())
        ),
    )
}

/// Values that are lost in the noise.
pub fn lost_in_noise(what: &'static str, noise: f64, width: f64) -> Error {
    Error::new(ErrorKind::Noise, lost(noise, what, width))
}

/// Complex values where reals are wanted.
pub fn complex_values() -> Error {
    Error::new(
        ErrorKind::Complex,
        "the values may be complex: decrypt them as complex numbers (`decrypt_complex`), or take \
         the real parts before (`real_part`)",
    )
}

/// Too few levels are left.
pub fn out_of_levels(needed: usize, left: usize) -> Error {
    Error::new(
        ErrorKind::OutOfLevels { needed, left },
        format!(
            "needs {needed} level(s), {left} left: encrypt at a higher level, take parameters \
             with more levels, or bootstrap while the vector has the levels for it \
             (`with_auto_bootstrap`)"
        ),
    )
}

/// Too few levels are left, and automatic bootstrapping does not provide them.
pub fn beyond_bootstrap(needed: usize, left: usize, least: usize, fresh: usize) -> Error {
    Error::new(
        ErrorKind::OutOfLevels { needed, left },
        format!("needs {needed} level(s), {left} left, {}", beyond(least, fresh)),
    )
}

/// A level above that of the operand, key or parameter set.
pub fn level_too_high(wanted: usize, highest: usize) -> Error {
    Error::new(
        ErrorKind::Level,
        format!(
            "level {wanted} was requested, and the highest one here is {highest}: choose a lower \
             level, or take parameters, keys or operands of more levels"
        ),
    )
}

/// A value outside its declared range. The error does not repeat it: others may read the error.
pub fn outside_range(index: usize, count: usize, lo: f64, hi: f64) -> Error {
    Error::new(
        ErrorKind::Range,
        format!(
            "the value at position {index} of {count} lies outside the declared range [{lo:?}, \
             {hi:?}]: declare a range that contains every value (complex values: a disc) and does \
             not depend on the values"
        ),
    )
}

/// A result or an input that may exceed its declaration. The error does not say by how much: the
/// excess would reveal constants of the server.
pub fn declaration(what: &'static str, needed: &'static str) -> Error {
    Error::new(
        ErrorKind::Declaration,
        format!("the declared {what} does not cover the vector: declare {needed}"),
    )
}

/// A number of limbs that is not that of a level of these parameters.
pub fn level_limbs(limbs: usize, level: usize, needed: usize) -> Error {
    Error::new(
        ErrorKind::Level,
        format!(
            "the polynomial has {limbs} limbs, and level {level} needs {needed}: take one at a \
             level of these parameters (chains that group the same primes into other levels do \
             not mix)"
        ),
    )
}

/// Two operands of different scales, neither with a level left to adjust its scale.
pub fn scale_mismatch(left: LevelScale, right: LevelScale) -> Error {
    Error::new(
        ErrorKind::Scale,
        format!(
            "scales cannot be aligned: {}, and neither has a level left for the adjustment: \
             compute at least one operand at a level higher by one",
            against(&left, &right)
        ),
    )
}

/// A vector or product of another scale than the one needed, where nothing is aligned.
pub fn other_scale(
    what: &'static str,
    found: LevelScale,
    needed: LevelScale,
    remedy: &'static str,
) -> Error {
    Error::new(
        ErrorKind::Scale,
        format!(
            "{what} has another scale than the one needed ({}): {remedy}",
            against(&found, &needed)
        ),
    )
}

/// A vector below the level for which a linear transform was prepared.
pub fn prepared_level(prepared: usize, level: usize) -> Error {
    Error::new(
        ErrorKind::Level,
        format!(
            "the transform was prepared for level {prepared}, and the vector is at level {level}: \
             prepare it for a level up to {level}, or take a vector of a higher level"
        ),
    )
}

/// An operation whose key is missing from the evaluation keys.
pub fn missing_key(key: &'static str, level: Option<usize>) -> Error {
    let need = match key {
        "relinearization key" => "multiply",
        "conjugation key" => "conjugate",
        "bootstrapping key" | "key of the sparse secret" => "bootstrap",
        "complete set of power-of-two rotation keys" => "rotate_any",
        "functional bootstrapping key" => "functional",
        _ => "",
    };
    let asking = match need {
        "" => "the simulator's report lists the keys of a program".into(),
        need => request(need),
    };
    Error::new(
        ErrorKind::MissingKey { need },
        format!("the evaluation keys contain no {key}{}: {asking}", reaching(level)),
    )
}

/// Evaluation keys without those of a method of the facade's needs.
pub fn missing_keys(need: &'static str) -> Error {
    Error::new(
        ErrorKind::MissingKey { need },
        format!("the evaluation keys do not include the keys for it: {}", request(need)),
    )
}

/// A bootstrap without the keys for it.
pub fn no_bootstrapping() -> Error {
    missing_key("bootstrapping key", None)
}

/// A rotation that no key, and no sequence of keys, performs.
pub fn missing_rotation_key(step: usize, slots: usize, have: Vec<usize>) -> Error {
    Error::new(
        ErrorKind::MissingKey { need: "rotate" },
        format!("rotation of {slots} slots by {step}: {}", steps(&have)),
    )
}

/// Relinearization keys, or a bootstrapper, of another relinearization strategy than that of the
/// parameters.
pub fn route_mismatch(found: String, needed: String) -> Error {
    Error::new(
        ErrorKind::ParamsMismatch,
        format!(
            "the relinearization strategy is \"{found}\", and the parameters have \"{needed}\": \
             make the keys or the bootstrapper from these parameters, or give the parameters the \
             same strategy (`Params::relinearizing`)"
        ),
    )
}

/// A key request or several keys that do not list what they should.
pub fn key_list(found: String, needed: String) -> Error {
    Error::new(
        ErrorKind::Bytes,
        format!(
            "the list has {found}: need {needed}: take the keys or the bytes that this library \
             made for these parameters"
        ),
    )
}

/// A vector with an average noise estimate where a worst-case bound is needed, or the reverse.
pub fn no_worst_case() -> Error {
    Error::new(
        ErrorKind::Request,
        "averages and worst-case bounds of noise do not mix, and a bound needs the worst case: \
         run the whole program, inputs included, on one `Simulator::worst_case`",
    )
}

/// A ciphertext that the program of a noise bound cannot have produced.
pub fn not_of_program(what: &'static str, found: f64, expected: f64) -> Error {
    Error::new(
        ErrorKind::Request,
        format!(
            "the {what} is {found:?}, and the noise bound expects {expected:?}: simulate the \
             program that the evaluator ran, with a rotation key for each step, or do not trust \
             the ciphertext"
        ),
    )
}

/// Invalid terms of noise flooding.
pub fn flooding(queries: u64, statistical_bits: f64) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!(
            "{queries} queries at {statistical_bits:?} bits: need at least 1 query, and 1 to 64 \
             bits"
        ),
    )
}

/// A decryption budget with too few results left.
pub fn budget_spent(wanted: u64, left: u64, queries: u64) -> Error {
    Error::new(
        ErrorKind::Budget,
        format!(
            "{wanted} results requested, {left} left of {queries}: more results would leak \
             information about the key: generate another key with a larger budget"
        ),
    )
}

/// A result to be shared without a reservation.
pub fn not_reserved() -> Error {
    Error::new(
        ErrorKind::Budget,
        "no result of the budget is reserved: call `DecryptionBudget::reserve`, and store the \
         number that it returns before any result is released",
    )
}

/// Flooding noise as large as the values.
pub fn nothing_left(noise: f64, largest: f64) -> Error {
    Error::new(ErrorKind::Noise, drowned(noise, largest))
}

/// A range that leaves the domain of a polynomial.
pub fn outside_domain(
    what: &'static str,
    found_lo: f64,
    found_hi: f64,
    complex: bool,
    lo: f64,
    hi: f64,
) -> Error {
    Error::new(
        ErrorKind::Domain,
        format!(
            "the {what} may lie in [{found_lo:?}, {found_hi:?}]{}, outside the domain [{lo:?}, \
             {hi:?}]: {}",
            if complex { " (complex)" } else { "" },
            outside(what)
        ),
    )
}

/// A slot index out of range.
pub fn slot_out_of_range(found: usize, slots: usize) -> Error {
    Error::new(
        ErrorKind::Argument,
        format!("slot {found} of a vector of {slots} slots: need an index below {slots}"),
    )
}

/// Operands with different numbers of values: two vectors, or a vector and plain values.
pub fn length_mismatch(left: usize, right: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        format!(
            "{left} values against {right}: need equally many; repeat the shorter vector \
             (`broadcast`), use one value for all slots (`mul_scalar`, `add_scalar`), or state \
             the number of values (`with_len`)"
        ),
    )
}

/// A reduction of a vector whose padding may be nonzero, without a level to clear it.
pub fn padding(len: usize, slots: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        format!(
            "the padding behind the {len} values in {slots} slots may be nonzero, clearing it \
             takes one level, and none is left: clear the padding earlier, while a level is left \
             (`clear_padding`)"
        ),
    )
}

/// Two lists of different lengths.
pub fn lengths(left: usize, right: usize) -> Error {
    Error::new(
        ErrorKind::Length,
        format!("{left} operands against {right}: need two lists of one length"),
    )
}

/// A table, matrix or specification of the wrong shape.
pub fn shape(reason: String) -> Error {
    Error::new(ErrorKind::Shape, reason)
}
