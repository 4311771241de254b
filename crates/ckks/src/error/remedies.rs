//! Parts of messages that depend on what was found.

/// What the keys of rotations can do, in words.
pub(super) fn steps(have: &[usize]) -> String {
    match have {
        [] => "there are no keys of rotations for this level".into(),
        have => format!("no key has this step, and the steps {have:?} do not compose to it"),
    }
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

/// A remedy for values or padding beyond a modulus.
pub(super) fn overflow(what: &str) -> &'static str {
    match what {
        "padding" => "clear the padding behind the values before (`clear_padding`, or a bootstrap)",
        _ => {
            "stay at a higher level, scale the values down, or state a tighter range \
             (`assume_range`)"
        }
    }
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

/// A magnitude rounded up to three digits, as [`RangeOverflow`](super::ErrorKind::RangeOverflow) reports it.
pub(crate) fn rounded_up(magnitude: f64) -> f64 {
    // The error reveals one of few values and not the exact bound, which may be that of a secret
    // constant.
    let unit = 10f64.powf(magnitude.log10().floor() - 2.0);
    (magnitude / unit * (1.0 - 1e-12)).ceil() * unit
}
