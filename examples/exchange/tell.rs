//! What the operator hears, on standard error.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Says one line. Whether somebody can hear it or not (a full disk behind a log), the server goes on.
pub fn tell(what: impl Display) {
    let _ = writeln!(stderr(), "{what}");
}
