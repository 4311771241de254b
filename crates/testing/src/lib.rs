//! What the unit tests of several crates share. Not published.
//!
//! | module | contents |
//! | --- | --- |
//! | [`bytes`] | objects as bytes, and the changes that hostile peers could make |
//! | [`silence`] | errors and `Debug` output that must not repeat secret values |
#![forbid(unsafe_code)]

pub mod bytes;
pub mod silence;
