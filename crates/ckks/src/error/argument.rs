//! Arguments that are wrong whatever the vector holds.

/// An argument that no vector makes right. No message repeats a value or a constant of a program.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// A single number that is NaN or infinite. The error does not repeat it.
    #[error("{what} is NaN or infinite: need a finite number")]
    NotANumber {
        /// The argument, in words.
        what: &'static str,
    },
    /// An integer that is not below its modulus. The error does not repeat the integer.
    #[error(
        "the integer at position {index} of {count} is not below the modulus {modulus}: take a \
         larger modulus"
    )]
    NotBelowModulus {
        /// Position of the integer, from 0.
        index: usize,
        /// Number of integers.
        count: usize,
        /// The modulus.
        modulus: usize,
    },
    /// A standard deviation that is negative, too large or not a number.
    #[error(
        "a standard deviation of {found:?}: need a finite number of at least 0, in units of the \
         values"
    )]
    Deviation {
        /// The deviation found.
        found: f64,
    },
    /// The declared noise of a result is no standard deviation that can be declared.
    #[error(
        "the declared noise: need a standard deviation from 2^-300 to 2^300, in units of the \
         values (`Declaration::with_noise`)"
    )]
    DeclaredNoise,
    /// A range of slots that is reversed or that the vector does not have.
    #[error(
        "slots {start}..{end}: need a range that does not end before it starts, within 0..{slots}"
    )]
    SlotRange {
        /// First slot of the range.
        start: usize,
        /// End of the range, exclusive.
        end: usize,
        /// Slots of the vector.
        slots: usize,
    },
    /// A position at which the vector has no value.
    #[error("position {found} of {len} values: need a position below {len}")]
    Position {
        /// The position found.
        found: usize,
        /// Values of the vector.
        len: usize,
    },
    /// A number of terms or values out of range.
    #[error("{found} {what}: need {least} to {most}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The smallest valid number.
        least: usize,
        /// The largest valid number.
        most: usize,
    },
    /// A disc of a negative, infinite or undefined radius.
    #[error("a disc of radius {radius:?}: need a finite radius of at least 0")]
    Disc {
        /// The radius found.
        radius: f64,
    },
    /// A range of complex values where reals are packed into both parts of the slots.
    #[error(
        "a disc of radius {radius:?} for values in both parts of the slots: need a real range, \
         which holds for each part"
    )]
    ComplexRange {
        /// The radius of the disc.
        radius: f64,
    },
    /// The width of a domain that no factor brings to the circle of a functional bootstrap.
    #[error(
        "a domain of width {width:?}: a functional bootstrap with these parameters takes widths \
         from {least:.1e} to {most:.1e}: scale the values, or take parameters of another scale"
    )]
    Width {
        /// The width found.
        width: f64,
        /// The smallest width.
        least: f64,
        /// The largest width.
        most: f64,
    },
}
