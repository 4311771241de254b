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
            ", with parameters that have functional bootstrapping, such as `Preset::Tables8`"
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

/// Why a bootstrap does not take values, and a remedy.
pub(super) fn too_large_to_bootstrap(most: f64, bound: f64) -> String {
    format!(
        "a bootstrap takes values up to {}, and these may reach at most {}: scale the values down \
         before, or state the range that they keep (`assume_range`, and for the results of a whole \
         loop `keep_within`)",
        decimal(most),
        decimal(bound)
    )
}

/// Why noise is too large for comparisons, and a remedy.
pub(super) fn too_noisy(log2_error: f64, log2_most: f64) -> String {
    format!(
        "the error of a value may reach {} of the declared range, and comparisons allow {}: take a \
         larger scale or a narrower range, or state a smaller error (`assume_noise`)",
        decimal(log2_error.exp2()),
        decimal(log2_most.exp2())
    )
}

/// Why noise is too large for a table, and a remedy.
pub(super) fn table_noise(entries: usize, noise: f64, tolerance: f64, log2_failure: f64) -> String {
    format!(
        "the noise may reach {} of the distance between integers (failure probability \
         2^{log2_failure:.0}), and a table of {entries} entries tolerates {}: apply an identity \
         table or one of fewer entries earlier, add fewer vectors before the table, or state a \
         larger failure probability",
        decimal(noise),
        decimal(tolerance)
    )
}

/// How scales drift, and where they do not.
pub(super) fn drifting(log2_scale: f64, log2_divisor: f64, drift: f64, most: f64) -> String {
    format!(
        "at scale 2^{log2_scale:.3} the scales of intermediate results drift by {drift:.1} bits, \
         at most {most:.1} are allowed: start at the top of levels of one size \
         (`Mod1::highest_level`), at the scale that this level divides by, 2^{log2_divisor:.3}"
    )
}

/// Why flooding noise would drown the values, and a remedy.
pub(super) fn drowned(noise: f64, largest: f64) -> String {
    format!(
        "flooding noise up to {noise:.1e} is needed to hide the noise of the computation, but the \
         values reach only {largest:.1e}: share fewer results, or vectors of fewer slots, ask for \
         fewer statistical bits, or take parameters with a larger scale"
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

/// A remedy for a power series that misses the requested error, by the number of kinks and jumps.
pub(super) fn inaccurate(breaks: usize) -> String {
    match breaks {
        0 => "allow a larger error, or take a smaller domain or another share of the circle".into(),
        n => format!(
            "the function seems to have {n} kink(s) or jump(s) (`detect_breaks` locates them): \
             approximate the smooth pieces separately and join them by a step"
        ),
    }
}

/// What parameter sets reach instead of a request, and a remedy.
pub(super) fn nearest(
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

/// A magnitude rounded up to three digits, as messages report it.
pub(crate) fn rounded_up(magnitude: f64) -> f64 {
    // The error reveals one of few values and not the exact bound, which may be that of a secret
    // constant.
    let unit = 10f64.powf(magnitude.log10().floor() - 2.0);
    (magnitude / unit * (1.0 - 1e-12)).ceil() * unit
}
