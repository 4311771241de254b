//! What remains of a phase in a slot.

/// The function of a phase `p` that the reduction modulo `q0` evaluates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reduction {
    /// `sin(2 pi p / q0)`: for small values, or values from a table that holds the inverse sine.
    Sine,
    /// `2 pi p / q0` for `|p / q0|` up to 0.127, to about 14 bits of that. A
    /// polynomial inverts the sine, which takes three more levels.
    Identity,
}
