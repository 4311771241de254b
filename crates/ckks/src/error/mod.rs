//! The refusals of this crate. No message repeats an encrypted value; bounds are rounded where
//! exact ones would reveal data.

mod level_scale;

use std::{cmp::Ordering, ops::RangeInclusive};

use bellerophon_ring::{Error, ErrorKind, decimal};

pub use level_scale::LevelScale;

use level_scale::against;

pub fn contradiction(known: RangeInclusive<f64>, stated: RangeInclusive<f64>) -> Error {
    ErrorKind::Declaration.error(format!(
        "the values are known to lie in {known:?}, which has no value in common with {stated:?}: \
         declare a range that overlaps the known one"
    ))
}

pub fn params(reason: String) -> Error {
    ErrorKind::Parameters.error(format!("parameters: {reason}"))
}

pub fn variance(found: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "the noise variance is {found}: need a finite number of at least 0; state the noise of the \
         operands (`assume_noise`)"
    ))
}

pub fn no_values() -> Error {
    ErrorKind::Length.error("no operands or values: need at least one")
}

pub fn too_many_values(found: usize, slots: usize) -> Error {
    ErrorKind::TooManyValues { found, most: slots }.error(format!(
        "{found} values, but there are {slots} slots: split the values over several vectors, or \
         take parameters of a larger ring degree"
    ))
}

pub fn slot_count(found: usize, least: usize, most: usize) -> Error {
    let needed = if least == most {
        format!(
            "exactly {least}; prepare the operation for {found} slots, or encrypt vectors for \
             {least}"
        )
    } else {
        format!(
            "a power of two from {least} to {most}; choose another number of slots, or parameters \
             of a larger ring degree"
        )
    };
    ErrorKind::Shape.error(format!("{found} slots: need {needed}"))
}

pub fn non_finite(what: &'static str, index: usize, count: usize) -> Error {
    ErrorKind::NotFinite.error(format!(
        "the {what} at position {index} of {count} is NaN or infinite: need finite numbers; \
         replace it before the call"
    ))
}

pub fn interval(lo: f64, hi: f64) -> Error {
    let needed = match (lo.is_finite() && hi.is_finite(), lo.partial_cmp(&hi)) {
        (false, _) => "need two finite ends",
        (true, Some(Ordering::Greater)) => "need the lower end first",
        (true, Some(Ordering::Equal)) => "a function needs an interval of positive width",
        (true, _) => "need ends of magnitude at most 1e100",
    };
    ErrorKind::Domain.error(format!("interval [{lo:?}, {hi:?}]: {needed}"))
}

pub fn scale(scale: f64) -> Error {
    ErrorKind::Scale.error(format!(
        "scale {scale:?}: need a finite number above zero; the default is `Params::scale`"
    ))
}

pub fn range_overflow(
    what: &'static str,
    bound: f64,
    log2_scale: f64,
    log2_modulus: f64,
    level: usize,
) -> Error {
    let (bound, most) = (decimal(bound), decimal((log2_modulus - 1.0 - log2_scale).exp2()));
    let remedy = match what {
        "padding" => "clear the padding behind the values before (`clear_padding`, or a bootstrap)",
        _ => {
            "stay at a higher level, scale the values down, or state a tighter range \
             (`assume_range`)"
        }
    };
    ErrorKind::Range.error(format!(
        "the {what} may reach at most {bound}, and level {level} holds values below {most} \
         (modulus 2^{log2_modulus:.1}, scale 2^{log2_scale:.1}): {remedy}"
    ))
}

pub fn constant(log2_scale: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "the constant is too large: at scale 2^{log2_scale:.1} it must be below {}: multiply in \
         several steps, or scale the values when they are encrypted",
        decimal((126.0 - log2_scale).exp2())
    ))
}

pub fn small_constant(log2_scale: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "the constants are below {}, and are rounded to multiples of {}: multiply by fewer and \
         larger constants (by their product at once), or declare the values in larger units when \
         they are encrypted",
        decimal((8.0 - log2_scale).exp2()),
        decimal((-log2_scale).exp2())
    ))
}

pub fn lost_in_noise(what: &'static str, noise: f64, width: f64) -> Error {
    let (noise, width) = (decimal(noise), decimal(width));
    ErrorKind::Noise.error(format!(
        "the predicted error of a value is {noise}, and {what} {width}: encrypt the values in \
         larger units (and divide after decryption), keep results of products from getting small, \
         or take parameters with a larger scale; `decrypt_noisy` returns such values all the same"
    ))
}

pub fn complex_values() -> Error {
    ErrorKind::Complex.error(
        "the values may be complex: decrypt them as complex numbers (`decrypt_complex`), or take \
         the real parts before (`real_part`)",
    )
}

pub fn out_of_levels(needed: usize, left: usize) -> Error {
    ErrorKind::OutOfLevels { needed, left }.error(format!(
        "needs {needed} level(s), {left} left: encrypt at a higher level, take parameters with \
         more levels, or bootstrap while the vector has the levels for it (`with_auto_bootstrap`)"
    ))
}

pub fn beyond_bootstrap(needed: usize, left: usize, least: usize, fresh: usize) -> Error {
    let most = fresh - least;
    ErrorKind::OutOfLevels { needed, left }.error(format!(
        "needs {needed} level(s), {left} left, which no automatic bootstrap provides: it takes \
         vectors from level {least} on and returns them at level {fresh}: encrypt at a higher \
         level, split steps of more than {most} level(s), or take parameters with more levels \
         between two bootstraps"
    ))
}

pub fn level_too_high(wanted: usize, highest: usize) -> Error {
    ErrorKind::Level.error(format!(
        "level {wanted} was requested, and the highest one here is {highest}: choose a lower \
         level, or take parameters, keys or operands of more levels"
    ))
}

pub fn outside_range(index: usize, count: usize, lo: f64, hi: f64) -> Error {
    ErrorKind::Range.error(format!(
        "the value at position {index} of {count} lies outside the declared range [{lo:?}, \
         {hi:?}]: declare a range that contains every value (complex values: a disc) and does not \
         depend on the values"
    ))
}

/// A result or an input that may exceed its declaration. The error does not say by how much: the
/// excess would reveal constants of the server.
pub fn declaration(what: &'static str, needed: &'static str) -> Error {
    ErrorKind::Declaration
        .error(format!("the declared {what} does not cover the vector: declare {needed}"))
}

pub fn level_limbs(limbs: usize, level: usize, needed: usize) -> Error {
    ErrorKind::Level.error(format!(
        "the polynomial has {limbs} limbs, and level {level} needs {needed}: take one at a level \
         of these parameters (chains that group the same primes into other levels do not mix)"
    ))
}

pub fn scale_mismatch(left: LevelScale, right: LevelScale) -> Error {
    ErrorKind::Scale.error(format!(
        "scales cannot be aligned: {}, and neither has a level left for the adjustment: compute at \
         least one operand at a level higher by one",
        against(&left, &right)
    ))
}

pub fn other_scale(
    what: &'static str,
    found: LevelScale,
    needed: LevelScale,
    remedy: &'static str,
) -> Error {
    ErrorKind::Scale.error(format!(
        "{what} has another scale than the one needed ({}): {remedy}",
        against(&found, &needed)
    ))
}

pub fn prepared_level(prepared: usize, level: usize) -> Error {
    ErrorKind::Level.error(format!(
        "the transform was prepared for level {prepared}, and the vector is at level {level}: \
         prepare it for a level up to {level}, or take a vector of a higher level"
    ))
}

/// A key that is missing, or does not reach the level of the vector that it must serve.
pub fn missing_key(key: &'static str, serving: bool) -> Error {
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
    let reaching = if serving { " that serves this vector" } else { "" };
    ErrorKind::MissingKey { need }
        .error(format!("the evaluation keys contain no {key}{reaching}: {asking}"))
}

/// Evaluation keys without those of a method of the facade's needs.
pub fn missing_keys(need: &'static str) -> Error {
    ErrorKind::MissingKey { need }
        .error(format!("the evaluation keys do not include the keys for it: {}", request(need)))
}

pub fn no_bootstrapping() -> Error {
    missing_key("bootstrapping key", false)
}

pub fn missing_rotation_key(step: usize, slots: usize, have: Vec<usize>) -> Error {
    let found = match have[..] {
        [] => "the evaluation keys have no rotations for it".into(),
        _ => format!("no key has this step, and the steps {have:?} do not compose to it"),
    };
    ErrorKind::MissingKey { need: "rotate" }.error(format!(
        "rotation of {slots} slots by {step}: {found}: call `Needs::rotate` with this step where \
         the client makes the keys (`ClientKey::evaluation_keys`), `Needs::rotate_any` for every \
         step, `Needs::sums` for sums, or `Needs::statistics`"
    ))
}

/// Relinearization keys, or a bootstrapper, of another relinearization strategy than that of the
/// parameters.
pub fn route_mismatch(found: String, needed: String) -> Error {
    ErrorKind::ParamsMismatch.error(format!(
        "the relinearization strategy is \"{found}\", and the parameters have \"{needed}\": make \
         the keys or the bootstrapper from these parameters, or give the parameters the same \
         strategy (`Params::relinearizing`)"
    ))
}

pub fn key_list(found: String, needed: String) -> Error {
    ErrorKind::Bytes.error(format!(
        "the list has {found}: need {needed}: take the keys or the bytes that this library made \
         for these parameters"
    ))
}

/// A vector with an average noise estimate where a worst-case bound is needed, or the reverse.
pub fn no_worst_case() -> Error {
    ErrorKind::Request.error(
        "averages and worst-case bounds of noise do not mix, and a bound needs the worst case: run \
         the whole program, inputs included, on one `Simulator::worst_case`",
    )
}

pub fn not_of_program(what: &'static str, found: f64, expected: f64) -> Error {
    ErrorKind::Request.error(format!(
        "the {what} is {found:?}, and the noise bound expects {expected:?}: simulate the program \
         that the evaluator ran, with a rotation key for each step, or do not trust the ciphertext"
    ))
}

pub fn flooding(queries: u64, statistical_bits: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "{queries} queries at {statistical_bits:?} bits: need at least 1 query, and 1 to 64 bits"
    ))
}

pub fn budget_spent(wanted: u64, left: u64, queries: u64) -> Error {
    ErrorKind::Budget.error(format!(
        "{wanted} results requested, {left} left of {queries}: more results would leak information \
         about the key: generate another key with a larger budget"
    ))
}

/// A result to be shared without a reservation.
pub fn not_reserved() -> Error {
    ErrorKind::Budget.error(
        "no result of the budget is reserved: call `DecryptionBudget::reserve`, and store the \
         number that it returns before any result is released",
    )
}

pub fn nothing_left(noise: f64, largest: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "flooding noise up to {noise:.1e} is needed to hide the noise of the computation, but the \
         values reach only {largest:.1e}: share fewer results, or vectors of fewer slots, ask for \
         fewer statistical bits, or take parameters with a larger scale"
    ))
}

/// The range `found` is in words.
pub fn outside_domain(what: &'static str, found: String, lo: f64, hi: f64) -> Error {
    let remedy = match what {
        "padding" => "clear the padding (`clear_padding`), or move it (`move_padding`)",
        _ => {
            "approximate over a wider domain, scale the values, or state a tighter range \
             (`assume_range`)"
        }
    };
    ErrorKind::Domain.error(format!(
        "the {what} may lie in {found}, outside the domain [{lo:?}, {hi:?}]: {remedy}"
    ))
}

pub fn length_mismatch(left: usize, right: usize) -> Error {
    ErrorKind::Length.error(format!(
        "{left} values against {right}: need equally many; repeat the shorter vector \
         (`broadcast`), use one value for all slots (`mul_scalar`, `add_scalar`), or state the \
         number of values (`with_len`)"
    ))
}

pub fn padding(len: usize, slots: usize) -> Error {
    ErrorKind::Length.error(format!(
        "the padding behind the {len} values in {slots} slots may be nonzero, clearing it takes \
         one level, and none is left: clear the padding earlier, while a level is left \
         (`clear_padding`)"
    ))
}

pub fn lengths(left: usize, right: usize) -> Error {
    ErrorKind::Length
        .error(format!("{left} operands against {right}: need two lists of one length"))
}

pub fn shape(reason: String) -> Error {
    ErrorKind::Shape.error(reason)
}

pub fn not_a_number(what: &'static str) -> Error {
    ErrorKind::NotFinite.error(format!("{what} is NaN or infinite: need a finite number"))
}

pub fn deviation(found: f64) -> Error {
    ErrorKind::Argument.error(format!(
        "a standard deviation of {found:?}: need a finite number of at least 0, in units of the \
         values"
    ))
}

pub fn declared_noise() -> Error {
    ErrorKind::Argument.error(
        "the declared noise: need a standard deviation from 2^-300 to 2^300, in units of the \
         values (`Declaration::with_noise`)",
    )
}

pub fn slot_range(start: usize, end: usize, slots: usize) -> Error {
    ErrorKind::Argument.error(format!(
        "slots {start}..{end}: need a range that does not end before it starts, within 0..{slots}"
    ))
}

pub fn position(what: &'static str, found: usize, len: usize) -> Error {
    ErrorKind::Argument
        .error(format!("position {found} of {len} {what}: need a position below {len}"))
}

pub fn count_out_of_range(what: &'static str, found: usize, least: usize, most: usize) -> Error {
    ErrorKind::Argument.error(format!("{found} {what}: need {least} to {most}"))
}

pub fn disc(radius: f64) -> Error {
    ErrorKind::Domain
        .error(format!("a disc of radius {radius:?}: need a finite radius of at least 0"))
}

/// How the facade asks for keys, and which parameters serve the request if not all do.
fn request(need: &str) -> String {
    let condition = match need {
        "bootstrap" => ", with parameters that have bootstrapping, such as `Preset::Bootstrapping`",
        "functional" => {
            ", with parameters that have functional bootstrapping, such as `Preset::Tables(8)`"
        }
        _ => "",
    };
    format!(
        "call `Needs::{need}` where the client makes them (`ClientKey::evaluation_keys`){condition}"
    )
}

/// A magnitude rounded up to three digits, as messages report it.
pub fn rounded_up(magnitude: f64) -> f64 {
    // The error reveals one of few values and not the exact bound, which may be that of a secret
    // constant.
    let unit = 10f64.powf(magnitude.log10().floor() - 2.0);
    (magnitude / unit * (1.0 - 1e-12)).ceil() * unit
}
