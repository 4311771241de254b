//! Stages of long operations, and what is reported about them.

use bellerophon_circuits::bootstrap::BootstrapStage;

/// A stage of a look-up (`Evaluator::map`), of an extraction or a packing (`Evaluator::extract`,
/// `Evaluator::pack`), of a bootstrap
/// ([`bellerophon_circuits::bootstrap`], [`bellerophon_circuits::fbt`]), or the generation of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// The values move from the slots to the coefficients.
    SlotsToCoefficients,
    /// Extraction, the switch to the LWE secret, and blind rotation.
    LookUps,
    /// Ring packing: the entries return to the slots.
    Repacking,
    /// The mod raise of a bootstrap.
    Raise,
    /// The values move back to the slots, at the highest levels.
    CoefficientsToSlots,
    /// The reduction modulo `q0` of a part of the slots, in plain bootstraps.
    EvalMod,
    /// The complex exponential of a part of the slots, in functional bootstraps.
    Exponential,
    /// The trigonometric series of the functions, in functional bootstraps.
    Functions,
    /// The generation of evaluation keys.
    Keys,
}

impl Stage {
    /// The name for tables and progress bars.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlotsToCoefficients => "slots to coefficients",
            Self::LookUps => "look-ups",
            Self::Repacking => "repacking",
            Self::Raise => BootstrapStage::Raise.name(),
            Self::CoefficientsToSlots => BootstrapStage::CoefficientsToSlots.name(),
            Self::EvalMod => BootstrapStage::EvalMod.name(),
            Self::Exponential => BootstrapStage::Exponential.name(),
            Self::Functions => BootstrapStage::Functions.name(),
            Self::Keys => "keys",
        }
    }
}

/// A stage of a bootstrap.
impl From<BootstrapStage> for Stage {
    fn from(stage: BootstrapStage) -> Self {
        match stage {
            BootstrapStage::SlotsToCoefficients => Self::SlotsToCoefficients,
            BootstrapStage::Raise => Self::Raise,
            BootstrapStage::CoefficientsToSlots => Self::CoefficientsToSlots,
            BootstrapStage::EvalMod => Self::EvalMod,
            BootstrapStage::Exponential => Self::Exponential,
            _ => Self::Functions,
        }
    }
}

/// What a long operation reports to the callback of `Evaluator::with_progress`.
///
/// A look-up reports values: at the beginning of each stage, after every group of at most 16 values
/// and at the end of each stage (`done == total`). A bootstrap reports steps at their end: one each
/// for the moves between slots and coefficients and for the raise, one for EvalMod or the
/// exponential of each part of the slots that holds values, and one for each function of each part.
/// The generation of keys reports the beginning and every key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current stage.
    pub stage: Stage,
    /// Values, steps or keys finished in this stage.
    pub done: usize,
    /// Values, steps or keys of this stage.
    pub total: usize,
}
