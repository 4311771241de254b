//! Stages of long operations, and what is reported about them.

use bellerophon_ckks::fbt::FbtStage;

/// A stage of a look-up (`Evaluator::map`), of an extraction or a packing (`Evaluator::extract`,
/// `Evaluator::pack`), or of a functional bootstrap ([`bellerophon_ckks::fbt`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// Extraction, the switch to the LWE secret, and blind rotation.
    LookUps,
    /// Ring packing: the entries return to the slots.
    Repacking,
    /// The mod raise of a functional bootstrap.
    Raise,
    /// The values move back to the slots, at the highest levels.
    CoefficientsToSlots,
    /// The complex exponential of a part of the slots.
    Exponential,
    /// The trigonometric series of the functions.
    Functions,
}

impl Stage {
    /// The name for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::LookUps => "look-ups",
            Self::Repacking => "repacking",
            Self::Raise => FbtStage::Raise.name(),
            Self::CoefficientsToSlots => FbtStage::CoefficientsToSlots.name(),
            Self::Exponential => FbtStage::Exponential.name(),
            Self::Functions => FbtStage::Functions.name(),
        }
    }
}

/// A stage of a functional bootstrap.
impl From<FbtStage> for Stage {
    fn from(stage: FbtStage) -> Self {
        match stage {
            FbtStage::SlotsToCoefficients => Self::SlotsToCoefficients,
            FbtStage::Raise => Self::Raise,
            FbtStage::CoefficientsToSlots => Self::CoefficientsToSlots,
            FbtStage::Exponential => Self::Exponential,
            _ => Self::Functions,
        }
    }
}

/// What a long operation reports to the callback of `Evaluator::with_progress`.
///
/// A look-up reports values, at the beginning of each stage, after each batch of values, and at the
/// end of each stage (`done == total`). A functional bootstrap reports steps at their end: one each
/// for the moves between slots and coefficients and for the raise, an exponential for each part of
/// the slots that holds values, and each function of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Values or steps finished in this stage.
    pub done: usize,
    /// Values or steps of this stage.
    pub total: usize,
}
