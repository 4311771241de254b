//! The refusals of this crate.

use bellerophon_ring::{Error, ErrorKind};

/// No inputs.
pub fn no_rows() -> Error {
    ErrorKind::Length.error("no rows: at least one is needed")
}

/// Sizes that do not fit each other.
pub fn shape(what: &'static str, found: usize, needed: String) -> Error {
    ErrorKind::Shape.error(format!("{what} is {found}, {needed} is needed"))
}

/// A number of the caller's that is out of range.
pub fn value(what: &'static str, found: String, needed: &'static str) -> Error {
    ErrorKind::Argument.error(format!("{what} = {found} is not supported: need {needed}"))
}
