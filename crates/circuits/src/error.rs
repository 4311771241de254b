//! Refusals of circuits. Those of the scheme are `bellerophon_ckks::error`.

pub(crate) use bellerophon_ckks::error::*;
use bellerophon_ckks::{CiphertextMeta, Error, ErrorKind, Params, Result};
use bellerophon_ring::decimal;

/// Refuses another number of slots than the needed one.
pub(crate) fn check_slots(x: &CiphertextMeta, needed: usize) -> Result<()> {
    match x.slots == needed {
        true => Ok(()),
        false => Err(slot_count(x.slots, needed, needed)),
    }
}

/// Refuses numbers of slots that no vector of the parameters has.
pub(crate) fn check_slot_count(params: &Params, slots: usize) -> Result<()> {
    let most = params.max_slots();
    match slots.is_power_of_two() && slots <= most {
        true => Ok(()),
        false => Err(slot_count(slots, 1, most)),
    }
}

/// A function that no supported polynomial approximates to the requested error.
pub fn approximation(what: String, reason: String) -> Error {
    ErrorKind::Accuracy { log2_reached: None }.error(format!("approximation of {what}: {reason}"))
}

/// Values that a bootstrap does not take.
pub fn bootstrap_range(bound: f64, most: f64) -> Error {
    ErrorKind::Range.error(format!(
        "a bootstrap takes values up to {}, and these may reach at most {}: scale the values \
         down before, or state the range that they keep (`assume_range`, and in a loop \
         `keep_within`)",
        decimal(most),
        decimal(bound)
    ))
}

/// The caller's callback asked to stop (`watching`).
pub fn cancelled(stage: &'static str, done: usize, total: usize) -> Error {
    ErrorKind::Cancelled { stage, done, total }.error(format!(
        "the progress callback cancelled it during {stage}, with {done} of {total} parts done: \
         call it again, and let the callback continue"
    ))
}

/// An EvalMod whose scales drift: its levels divide by different amounts, or the scale of its
/// operand differs from what its level divides by.
pub fn drift(level: usize, log2_scale: f64, log2_divisor: f64, drift: f64, most: f64) -> Error {
    ErrorKind::Scale.error(format!(
        "from level {level} at scale 2^{log2_scale:.3} the scales of intermediate results \
         drift by {drift:.1} bits, at most {most:.1} are allowed: start at the top of levels \
         of one size (`Mod1::highest_level`), at the scale that this level divides by, \
         2^{log2_divisor:.3}"
    ))
}

/// A function that no supported power series approximates to the requested error.
pub fn series_accuracy(
    what: String,
    lo: f64,
    hi: f64,
    wanted: f64,
    degree: usize,
    reached: f64,
    breaks: usize,
) -> Error {
    ErrorKind::Accuracy { log2_reached: Some(reached.log2()) }.error(format!(
        "series of {what} on [{lo:?}, {hi:?}]: the requested error is {}, and degree {degree} \
         reaches {}: {}",
        decimal(wanted),
        decimal(reached),
        inaccurate(breaks)
    ))
}

/// Functions that take more levels than a functional bootstrap leaves them.
pub fn table_levels(needed: usize, left: usize) -> Error {
    ErrorKind::OutOfLevels { needed, left }.error(format!(
        "these tables take {needed} levels, the parameters have {left}: take fewer entries \
         (or a larger error of a function), or parameters for more"
    ))
}

/// Noise above what a table tolerates.
pub fn table_noise(entries: usize, noise: f64, tolerance: f64, log2_failure: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "the noise may reach {} of the distance between integers (failure probability \
         2^{log2_failure:.0}), and a table of {entries} entries tolerates {}: apply an \
         identity table or one of fewer entries earlier, add fewer vectors before the table, \
         or state a larger failure probability",
        decimal(noise),
        decimal(tolerance)
    ))
}

/// A vector below the level at which it can be bootstrapped.
pub fn too_low_to_bootstrap(least: usize, left: usize) -> Error {
    ErrorKind::OutOfLevels { needed: least, left }.error(format!(
        "a bootstrap takes vectors from level {least} on, and this one is at level {left}, \
         which nothing raises: bootstrap it earlier (`with_auto_bootstrap` does), or encrypt \
         it at a higher level"
    ))
}

/// Noise too large for comparisons.
pub fn too_noisy(log2_error: f64, log2_most: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "the error of a value may reach {} of the declared range, and comparisons allow {}: \
         take a larger scale or a narrower range, or state a smaller error (`assume_noise`)",
        decimal(log2_error.exp2()),
        decimal(log2_most.exp2())
    ))
}

/// [`ProgramBounds`](crate::param_search::ProgramBounds) that no parameter set meets.
pub fn unreachable(
    slots: usize,
    depth: usize,
    bits: f64,
    bootstraps: bool,
    nearest_bits: Option<u32>,
    nearest_depth: Option<usize>,
    modulus: Option<f64>,
) -> Error {
    ErrorKind::Accuracy { log2_reached: nearest_bits.map(|bits| -f64::from(bits)) }.error(format!(
        "no set gives {bits} bits in the worst of {slots} slots after {depth} product(s){}",
        nearest(bootstraps, nearest_bits, nearest_depth, modulus)
    ))
}

/// Integers that must be reduced before they are published. The error does not say by how much they
/// exceed the limit: the excess would reveal constants of the server.
pub fn unreduced(what: &'static str, needed: &'static str) -> Error {
    ErrorKind::Noise.error(format!(
        "{what} of these integers is not that of reduced integers: need {needed}; apply an \
         identity table first (`Integers::table`)"
    ))
}

/// A range of complex values where reals are packed into both parts of the slots.
pub fn complex_range(radius: f64) -> Error {
    ErrorKind::Complex.error(format!(
        "a disc of radius {radius:?} for values in both parts of the slots: need a real \
         range, which holds for each part"
    ))
}

/// The width of a domain that no factor brings to the circle of a functional bootstrap.
pub fn domain_width(width: f64, least: f64, most: f64) -> Error {
    ErrorKind::Domain.error(format!(
        "a domain of width {width:?}: a functional bootstrap with these parameters takes \
         widths from {least:.1e} to {most:.1e}: scale the values, or take parameters of \
         another scale"
    ))
}

/// An integer that is not below its modulus. The error does not repeat the integer.
pub fn not_below_modulus(index: usize, count: usize, modulus: usize) -> Error {
    ErrorKind::Range.error(format!(
        "the integer at position {index} of {count} is not below the modulus {modulus}: take \
         a larger modulus"
    ))
}

/// A remedy for a power series that misses the requested error, by the number of kinks and jumps.
fn inaccurate(breaks: usize) -> String {
    match breaks {
        0 => "allow a larger error, or take a smaller domain or another share of the circle".into(),
        n => format!(
            "the function seems to have {n} kink(s) or jump(s) (`detect_breaks` locates them): \
             approximate the smooth pieces separately and join them by a step"
        ),
    }
}

/// What parameter sets reach instead of a request, and a remedy.
fn nearest(
    bootstraps: bool,
    bits: Option<u32>,
    depth: Option<usize>,
    modulus: Option<f64>,
) -> String {
    let bits = match bits {
        Some(bits) => format!("this depth allows {bits} bits"),
        None => "no set reaches this depth at any precision".into(),
    };
    let depth = match depth {
        Some(depth) => format!("this precision allows {depth} product(s)"),
        None => "no set reaches this precision at any depth".into(),
    };
    let modulus = match modulus {
        Some(bits) => format!(" (the largest ring allows a modulus of {bits} bits)"),
        None => String::new(),
    };
    let (after, remedy) = match bootstraps {
        true => (" that follow a bootstrap", "bootstrap more often for more depth"),
        false => ("", "bootstrap between products (`bootstraps`) for more depth"),
    };
    format!("{after}: {bits}, {depth}{modulus}: ask for less, or {remedy}")
}
