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
