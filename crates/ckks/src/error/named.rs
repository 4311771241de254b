//! Errors of inner operations under the name of the operation that the caller called.

use super::Error;

impl Error {
    /// The same error under another operation name: that of the operation that the caller called.
    /// An inner operation may have raised the error under its own name.
    #[must_use]
    pub fn named(mut self, name: &'static str) -> Self {
        match &mut self {
            // These errors name no operation of their own, or exactly one.
            Self::Ring(_)
            | Self::Mlwe(_)
            | Self::Params { .. }
            | Self::Interval { .. }
            | Self::Approximation { .. }
            | Self::SeriesAccuracy { .. }
            | Self::Flooding { .. }
            | Self::Unreachable { .. } => {}
            Self::NoValues { op }
            | Self::Variance { op, .. }
            | Self::NoWorstCase { op }
            | Self::NotOfProgram { op, .. }
            | Self::TooManyValues { op, .. }
            | Self::SlotCount { op, .. }
            | Self::TableNoise { op, .. }
            | Self::NonFinite { op, .. }
            | Self::OutsideRange { op, .. }
            | Self::Declaration { op, .. }
            | Self::Unreduced { op, .. }
            | Self::Cancelled { op, .. }
            | Self::Scale { op, .. }
            | Self::RangeOverflow { op, .. }
            | Self::OutOfLevels { op, .. }
            | Self::LevelTooHigh { op, .. }
            | Self::LevelLimbs { op, .. }
            | Self::ScaleMismatch { op, .. }
            | Self::Drift { op, .. }
            | Self::MissingKey { op, .. }
            | Self::MissingRotationKey { op, .. }
            | Self::KeyMismatch { op, .. }
            | Self::ParamsMismatch { op, .. }
            | Self::RouteMismatch { op, .. }
            | Self::OutsideDomain { op, .. }
            | Self::SlotOutOfRange { op, .. }
            | Self::LengthMismatch { op, .. }
            | Self::Padding { op, .. }
            | Self::TooNoisy { op, .. }
            | Self::Lengths { op, .. }
            | Self::Shape { op, .. }
            | Self::Powers { op, .. }
            | Self::Linear { op, .. } => *op = name,
        }
        self
    }
}
