//! What nearly every program takes from this library.

pub use clap::Parser;

pub use super::args::{Common, Data, Tables, WITH_LOOKUPS, WITH_VALUES};
pub use super::console::{Console, Stages};
pub use super::facts::Facts;
pub use super::output::{self, KEY_GENERATION, Report};
pub use super::program::{self, Defaults, Failure};
pub use super::random;
pub use super::session::{self, CLOSE, Session};
pub use super::stats::Errors;
