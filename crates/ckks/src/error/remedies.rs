//! Parts of messages that depend on what was found.

use std::cmp::Ordering;

use bellerophon_ring::decimal;

/// What is wrong with the ends of an interval, and what is needed.
pub(super) fn fault(lo: f64, hi: f64) -> &'static str {
    match (lo.is_finite() && hi.is_finite(), lo.partial_cmp(&hi)) {
        (false, _) => "need two finite ends",
        (true, Some(Ordering::Greater)) => "need the lower end first",
        (true, Some(Ordering::Equal)) => "a function needs an interval of positive width",
        (true, _) => "need ends of magnitude at most 1e100",
    }
}

/// Why values are lost in the noise, and a remedy.
pub(super) fn lost(noise: f64, what: &str, width: f64) -> String {
    format!(
        "the predicted error of a value is {}, and {what} {}: encrypt the values in larger units \
         (and divide after decryption), keep results of products from getting small, or take \
         parameters with a larger scale; `decrypt_noisy` returns such values all the same",
        decimal(noise),
        decimal(width)
    )
}

/// What automatic bootstraps provide, and a remedy for steps that need more.
pub(super) fn beyond(least: usize, fresh: usize) -> String {
    format!(
        "which no automatic bootstrap provides: it takes vectors from level {least} on and returns \
         them at level {fresh}: encrypt at a higher level, split steps of more than {} level(s), \
         or take parameters with more levels between two bootstraps",
        fresh - least
    )
}

/// The level that a missing key must reach, where keys reach different ones.
pub(super) fn reaching(level: Option<usize>) -> &'static str {
    if level.is_some() { " that serves this vector" } else { "" }
}

/// How the facade asks for keys, and which parameters serve the request if not all do.
pub(super) fn request(need: &str) -> String {
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

/// What the keys of rotations can do, in words, and a remedy.
pub(super) fn steps(have: &[usize]) -> String {
    let found = match have {
        [] => "the evaluation keys have no rotations for it".into(),
        have => format!("no key has this step, and the steps {have:?} do not compose to it"),
    };
    format!(
        "{found}: call `Needs::rotate` with this step where the client makes the keys \
         (`ClientKey::evaluation_keys`), `Needs::rotate_any` for every step, `Needs::sums` for \
         sums, or `Needs::statistics`"
    )
}

/// The numbers of slots that an operation takes, and a remedy.
pub(super) fn slots_needed(found: usize, least: usize, most: usize) -> String {
    if least == most {
        return format!(
            "exactly {least}; prepare the operation for {found} slots, or encrypt vectors for \
             {least}"
        );
    }
    format!(
        "a power of two from {least} to {most}; choose another number of slots, or parameters of \
         a larger ring degree"
    )
}

/// What a level holds, and a remedy for values or padding beyond its modulus.
pub(super) fn overflow(what: &str, log2_modulus: f64, log2_scale: f64) -> String {
    let remedy = match what {
        "padding" => "clear the padding behind the values before (`clear_padding`, or a bootstrap)",
        _ => {
            "stay at a higher level, scale the values down, or state a tighter range \
             (`assume_range`)"
        }
    };
    format!(
        "values below {} (modulus 2^{log2_modulus:.1}, scale 2^{log2_scale:.1}): {remedy}",
        decimal((log2_modulus - 1.0 - log2_scale).exp2())
    )
}

/// A remedy for values or padding outside the domain of a polynomial.
pub(super) fn outside(what: &str) -> &'static str {
    match what {
        "padding" => "clear the padding (`clear_padding`), or move it (`move_padding`)",
        _ => {
            "approximate over a wider domain, scale the values, or state a tighter range \
             (`assume_range`)"
        }
    }
}

/// A magnitude rounded up to three digits, as messages report it.
pub fn rounded_up(magnitude: f64) -> f64 {
    // The error reveals one of few values and not the exact bound, which may be that of a secret
    // constant.
    let unit = 10f64.powf(magnitude.log10().floor() - 2.0);
    (magnitude / unit * (1.0 - 1e-12)).ceil() * unit
}

/// Why flooding noise would drown the values, and a remedy.
pub(super) fn drowned(noise: f64, largest: f64) -> String {
    format!(
        "flooding noise up to {noise:.1e} is needed to hide the noise of the computation, but the \
         values reach only {largest:.1e}: share fewer results, or vectors of fewer slots, ask for \
         fewer statistical bits, or take parameters with a larger scale"
    )
}
