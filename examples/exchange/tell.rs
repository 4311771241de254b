//! Messages for the operator, on standard error.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Prints one line. If that fails (a full disk behind a log), the server continues.
pub fn tell(what: impl Display) {
    let _ = writeln!(stderr(), "{what}");
}
