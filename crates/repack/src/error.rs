//! The refusals of this crate.

use bellerophon_ring::{Error, ErrorKind};

/// No inputs.
pub fn no_rows() -> Error {
    Error::new(ErrorKind::Length, "no rows: at least one is needed")
}

/// Sizes that do not fit each other.
pub fn shape(what: &'static str, found: usize, needed: String) -> Error {
    Error::new(ErrorKind::Shape, format!("{what} is {found}, {needed} is needed"))
}

/// A number of the caller's that is out of range.
pub fn value(what: &'static str, found: String, needed: &'static str) -> Error {
    Error::new(ErrorKind::Argument, format!("{what} = {found} is not supported: need {needed}"))
}
