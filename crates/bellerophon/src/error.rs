//! The error type of the facade.

use std::{fmt, ops::RangeInclusive};

use bellerophon_ckks as ckks;
use bellerophon_repack as repack;

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    pub struct Error(ErrorKind) from [
        bellerophon_ring, bellerophon_mlwe, bellerophon_ckks, bellerophon_lwe, bellerophon_repack,
        bellerophon_pir,
    ];
}

/// The message, so that a program whose `main` returns an error prints it. The alternate form
/// `{:#?}` shows the structure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            false => fmt::Display::fmt(self, f),
            true => {
                f.debug_struct("Error").field("op", &self.op()).field("kind", self.kind()).finish()
            }
        }
    }
}

/// The reason why an operation was refused. An operation that cannot be right is refused, not
/// computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An error of the ring crate.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// An error of the module-LWE crate: security, keys of another client, malformed ciphertexts.
    #[error(transparent)]
    Mlwe(bellerophon_mlwe::ErrorKind),
    /// An error of the CKKS crate: levels, scales, ranges, missing rotation keys.
    #[error(transparent)]
    Ckks(bellerophon_ckks::ErrorKind),
    /// An error of the LWE crate.
    #[error(transparent)]
    Lwe(bellerophon_lwe::ErrorKind),
    /// An error of the repacking crate: look-ups, the planner, both bridges.
    #[error("{}{}", .0, remedy(.0))]
    Repack(bellerophon_repack::ErrorKind),
    /// An error of private look-up and its exact scheme.
    #[error(transparent)]
    Pir(bellerophon_pir::ErrorKind),
    /// Bytes that are not the expected object.
    #[error(transparent)]
    Format(#[from] crate::format::FormatError),
    /// A declared range that contradicts the carried one.
    #[error(
        "the values are known to lie in {known:?}, which has no value in common with \
         {stated:?}: declare a range that overlaps the known one"
    )]
    Contradiction {
        /// The carried range.
        known: RangeInclusive<f64>,
        /// The range that the caller declared.
        stated: RangeInclusive<f64>,
    },
    /// The evaluation keys lack the keys of an operation.
    #[error(
        "the evaluation keys do not include the keys for it: call `Needs::{need}` where the \
         client makes them (`ClientKey::evaluation_keys`){}",
        condition(need)
    )]
    MissingKeys {
        /// The method of [`crate::Needs`] that would have asked for it.
        need: &'static str,
    },
    /// A rotation for which the evaluation keys have neither a key nor several keys that compose
    /// it.
    #[error(
        "the evaluation keys do not include a rotation of {slots} slots by {step}: call \
         `Needs::rotate` with this step where the client makes them \
         (`ClientKey::evaluation_keys`), `Needs::rotate_any` for every step, `Needs::sums` for \
         sums, or `Needs::statistics`"
    )]
    MissingRotation {
        /// The step, in `[0, slots)`: to the left.
        step: usize,
        /// The number of slots of the operand.
        slots: usize,
    },
    /// Look-ups with parameters that have none.
    #[error(
        "the parameters '{params}' have no look-ups: take `Preset::Functions`, or set \
         `ParamsSpec::lookup`"
    )]
    NoLookUps {
        /// The name of the parameters.
        params: String,
    },
    /// Needs with an assumption that the client did not name.
    #[error(
        "the needs ask for {what}: whoever owns the secret key decides on that, not the sender of \
         the needs; call `Needs::{allow}` to accept it"
    )]
    NotAllowed {
        /// What is asked for.
        what: &'static str,
        /// The method of [`crate::Needs`] that accepts it.
        allow: &'static str,
    },
    /// A budget file that does not count down from what was left.
    #[error("the budget file {path}: {reason}")]
    BudgetFile {
        /// The path.
        path: String,
        /// The reason.
        reason: &'static str,
    },
    /// Needs that the parameters cannot serve.
    #[error("the parameters '{params}' cannot serve `Needs::{need}`: {reason}")]
    Unserved {
        /// The method of [`crate::Needs`].
        need: &'static str,
        /// Name of the parameters.
        params: String,
        /// The reason, and a remedy.
        reason: String,
    },
    /// Functional bootstrapping with parameters that have none.
    #[error(
        "the parameters '{params}' have no functional bootstrapping: take a preset for tables \
         such as `Preset::Tables8`, or `Preset::Smooth`, or set `ParamsSpec::functional`"
    )]
    NoFunctional {
        /// The name of the parameters.
        params: String,
    },
    /// Bootstrapping with parameters that have none.
    #[error(
        "the parameters '{params}' have no bootstrapping: take `Preset::Bootstrapping`, \
         or set `ParamsSpec::bootstrap`"
    )]
    NoBootstrap {
        /// The name of the parameters.
        params: String,
    },
    /// The progress callback stopped the operation.
    #[error("cancelled by the callback during {}, {done} of {total} done", stage.name())]
    Cancelled {
        /// The stage in which it stopped.
        stage: crate::Stage,
        /// Values or steps finished in that stage.
        done: usize,
        /// Values or steps of that stage.
        total: usize,
    },
}

/// Programs read and write files beside bytes of this library, under one error type.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        crate::format::FormatError::Io(error).into()
    }
}

bellerophon_ring::lower_kinds! {
    Mlwe(bellerophon_mlwe::ErrorKind) via [Ring];
    Lwe(bellerophon_lwe::ErrorKind) via [Ring, Mlwe];
    Pir(bellerophon_pir::ErrorKind) via [Ring, Mlwe, Lwe];
    // Keys that are missing are named by the request for them.
    Ckks(ckks::ErrorKind) via [Ring, Mlwe] {
        ckks::ErrorKind::Cancelled { stage, done, total } => {
            Self::Cancelled { stage: stage.into(), done, total }
        },
        ckks::ErrorKind::MissingRotationKey { step, slots, .. } => {
            Self::MissingRotation { step, slots }
        },
        ckks::ErrorKind::MissingKey { key, level } => match need(key) {
            Some(need) => Self::MissingKeys { need },
            None => Self::Ckks(ckks::ErrorKind::MissingKey { key, level }),
        },
    };
    // Missing keys and cancelled operations have one spelling for all crates.
    Repack(repack::ErrorKind) via [Ring, Mlwe, Ckks, Lwe] {
        repack::ErrorKind::MissingKeys { need } => Self::MissingKeys { need },
        repack::ErrorKind::Cancelled { stage, done, total } => {
            Self::Cancelled { stage, done, total }
        },
    };
}

/// The method of [`crate::Needs`] that asks for a key of the CKKS crate.
fn need(key: &str) -> Option<&'static str> {
    Some(match key {
        "relinearization key" => "multiply",
        "conjugation key" => "conjugate",
        "bootstrapping key" | "key of the sparse secret" => "bootstrap",
        "complete set of power-of-two rotation keys" => "rotate_any",
        "functional bootstrapping key" => "functional",
        _ => return None,
    })
}

/// What the facade offers where the repacking crate refuses: names that it does not know.
fn remedy(kind: &repack::ErrorKind) -> &'static str {
    use repack::ErrorKind as Below;
    match kind {
        Below::OutsideDomain { .. } => {
            " when they are encrypted (`ClientKey::encrypt`) or where you know it \
             (`Evaluator::assume_range`)"
        }
        Below::Accuracy { .. } => {
            "; larger tables have `Preset::FunctionsFine` and `Preset::FunctionsPrecise`"
        }
        Below::NoRingBridge => "; `Preset::Functions` has one (`ParamsSpec::ring_bridge`)",
        Below::NoEngine { .. } | Below::NoCorrection => ": take `Preset::Functions`",
        Below::TooManyPlaces { .. } => {
            "; the keys are those of `Needs::map_with([Engine::Corrected])`, and `argmax_one_hot` \
             takes any number of values"
        }
        _ => "",
    }
}

/// The parameters that serve a need, if not all do.
fn condition(need: &str) -> &'static str {
    match need {
        "bootstrap" => ", with parameters that have bootstrapping, such as `Preset::Bootstrapping`",
        "functional" => {
            ", with parameters that have functional bootstrapping, such as `Preset::Tables8`"
        }
        _ => "",
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
