//! One step of a debugged program.

use crate::interval::Interval;

/// One operation of a program, and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The operation.
    pub operation: &'static str,
    /// The remaining rescales.
    pub level: usize,
    /// The range of the values, as the metadata state it.
    pub range: Interval,
    /// The range of the padding, if there is any.
    pub padding: Option<Interval>,
    /// The predicted error ([`Metadata::noise`](crate::Metadata::noise)).
    pub predicted_noise: f64,
    /// Root mean square of the errors of the decrypted values against the exact ones.
    pub measured_noise: f64,
    /// The largest magnitude of an exact value.
    pub largest_value: f64,
    /// The largest magnitude of decrypted padding; zero if there is none.
    pub largest_padding: f64,
}
