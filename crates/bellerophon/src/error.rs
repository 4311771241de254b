//! The error type of the facade.

use std::{fmt, ops::RangeInclusive};

use bellerophon_ckks as ckks;
use bellerophon_repack as repack;
use bellerophon_ring::decimal;

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
    /// An error of the repacking crate: LWE to slots.
    #[error(transparent)]
    Repack(bellerophon_repack::ErrorKind),
    /// An error of private look-up and its exact scheme.
    #[error(transparent)]
    Pir(bellerophon_pir::ErrorKind),
    /// Bytes that are not the expected object.
    #[error(transparent)]
    Format(#[from] crate::format::FormatError),
    /// The parts of a parameter set do not fit together, or the set cannot do what it promises.
    #[error("parameters: {reason}")]
    Bridge {
        /// What is wrong, and what is needed.
        reason: String,
    },
    /// A domain that is empty or infinite.
    #[error("domain {lo:?}..={hi:?}: need two finite ends, the lower one first")]
    Domain {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// A domain so wide or so narrow that the values cannot be brought to the scale of the table.
    #[error(
        "the domain {lo:?}..={hi:?} is too {}: at scale 2^{log2_scale:.1} a table takes domains \
         from {} to {} wide: multiply the values by a constant first, or declare a range of such a \
         width",
        if hi - lo > (31.0 - log2_scale).exp2() { "wide" } else { "narrow" },
        decimal((22.0 - log2_scale).exp2()),
        decimal((40.0 - log2_scale).exp2())
    )]
    DomainScale {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// `log2` of the scale of the values after SlotsToCoeffs.
        log2_scale: f64,
    },
    /// The carried range does not lie within the domain of a look-up.
    #[error(
        "the values may lie anywhere in {range:?}, but the table covers only {domain:?}, and \
         a table wraps around beyond its ends: widen the domain, declare a tighter range in \
         `ClientKey::encrypt`, or declare what you know of the values with \
         `Evaluator::assume_range`"
    )]
    OutsideDomain {
        /// The carried range of the values.
        range: RangeInclusive<f64>,
        /// The domain of the table.
        domain: RangeInclusive<f64>,
    },
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
    /// A look-up that no correction brings to the requested accuracy.
    #[error(
        "an error below 2^{:.1} was requested, but tables of this domain reach 2^{:.1} at \
         best: narrow the domain, take parameters with larger tables (`Preset::FunctionsFine`, \
         `Preset::FunctionsPrecise`), or request fewer bits",
        -wanted,
        -best
    )]
    Accuracy {
        /// Requested bits.
        wanted: f64,
        /// Bits within reach.
        best: f64,
    },
    /// Corrected look-ups with parameters that do not support them.
    #[error(
        "the parameters '{params}' do not support corrected look-ups, which need a ring \
         bridge and a table ring that is secure with a special modulus: take `Preset::Functions`"
    )]
    NoCorrection {
        /// Name of the parameters.
        params: String,
    },
    /// Look-ups with an engine that the parameters do not have.
    #[error(
        "the parameters '{params}' have no engine {engine}: NTRU needs tables of degree 2048 \
         to 8192 (`Preset::Functions`)"
    )]
    NoEngine {
        /// The requested engine.
        engine: &'static str,
        /// The name of the parameters.
        params: String,
    },
    /// A request whose requirements do not fit the call.
    #[error("{reason}")]
    Request {
        /// What does not fit, and a remedy.
        reason: &'static str,
    },
    /// A map that no engine evaluates to the requested error.
    #[error(
        "no engine evaluates {function} to an error of 2^{log2_error:.1}: {refusals}; \
         `Params::map_plan` lists the error and the keys of each engine"
    )]
    NoPlan {
        /// The function.
        function: String,
        /// `log2` of the requested error.
        log2_error: f64,
        /// What every engine lacks, or the error that it reaches.
        refusals: String,
    },
    /// A requested error that is not finite.
    #[error("requested error 2^{log2_error:?}: need a finite exponent")]
    WantedError {
        /// The requested exponent.
        log2_error: f64,
    },
    /// A cost model of another version, or with invalid prices.
    #[error(
        "a cost model of version {found}: need version {needed}, positive prices and \
         shares from 0 to 1: take `CostModel::default` or call `CostModel::calibrate`"
    )]
    CostModel {
        /// Its version.
        found: u32,
        /// The version of this library.
        needed: u32,
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
    /// The ring bridge with parameters that have none.
    #[error(
        "these parameters have no ring bridge: take `Preset::Functions` or another set with \
         `ParamsSpec::ring_bridge`; `Evaluator::map` alone also works with `Bridge::Linear`"
    )]
    NoRingBridge,
    /// The linear bridge with parameters whose LWE secret does not fit the slots.
    #[error(
        "these parameters have no linear bridge, because the {dimension} coordinates of the \
         LWE secret do not fit the slots: take `Bridge::Ring`"
    )]
    NoLinearBridge {
        /// Coordinates of the LWE secret.
        dimension: usize,
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
    /// LWE values that fill too much of their encoding to be packed without a table.
    #[error(
        "the values lie between {lo:?} and {hi:?} (noise {deviation:.1e}) and reach \
         {reach:.3} of the encoding width {width:?} from its center, but packing inverts the sine \
         only up to {most:.3}: let the preceding table leave headroom (`lwe::Headroom` of two \
         terms, or an encoding twice as wide)"
    )]
    TooWideToPack {
        /// The smallest value possible.
        lo: f64,
        /// The largest.
        hi: f64,
        /// Standard deviation of the noise.
        deviation: f64,
        /// The width of the encoding, in units of the values.
        width: f64,
        /// The farthest value from the center, as a part of the width.
        reach: f64,
        /// The largest reach that packing allows.
        most: f64,
    },
    /// An argmax or argmin index among too many values: its noise could round to a neighbour.
    #[error(
        "the index of one among {found} values could be off by one half or more; with these \
         keys at most {most} values are allowed: make keys with `Needs::map_with([Engine::Corrected])`, which \
         allow more, take the index within groups and then among their winners, or call `argmax_one_hot`"
    )]
    TooManyPlaces {
        /// The number of values.
        found: usize,
        /// The largest number whose index can be rounded.
        most: usize,
    },
    /// Vectors whose values cannot be brought to one encoding.
    #[error(
        "the scale of vector {vector} is {ratio:.6} times that of vector 0, and integer \
         factors leave a relative error of {drift:.1e}: multiply it by a constant at the cost of a \
         level, or narrow the domain"
    )]
    Scales {
        /// The index of the vector among the operands.
        vector: usize,
        /// Its scale over that of the first.
        ratio: f64,
        /// The remaining relative difference.
        drift: f64,
    },
    /// Functional bootstrapping with parameters that have none.
    #[error(
        "the parameters '{params}' have none: take a preset for tables \
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
    /// A decryption budget with too few results left.
    #[error(
        "{wanted} results requested, {left} left of {queries}: more results \
         would leak information about the key: generate another key with a larger budget"
    )]
    SharingSpent {
        /// The requested results, or the results said to be left.
        wanted: u64,
        /// The results left.
        left: u64,
        /// The initial number of results.
        queries: u64,
    },
    /// A result to be shared without a reservation.
    #[error(
        "no result of the budget is reserved: call `DecryptionBudget::reserve`, and store \
         the number that it returns before any result is released"
    )]
    NotReserved,
    /// Flooding noise as large as the values.
    #[error(
        "flooding noise up to {noise:.1e} is needed to hide the noise of the \
         computation, but the values reach only {largest:.1e}: share fewer results, or vectors of \
         fewer slots, ask for fewer statistical bits, or take parameters with a larger scale"
    )]
    NothingLeft {
        /// The largest flooding noise.
        noise: f64,
        /// The largest magnitude of the values.
        largest: f64,
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
    /// A look-up on complex values.
    #[error(
        "the slots hold complex values, but tables need real ones: add the conjugate and \
         halve"
    )]
    Complex,
}

// Each reason has one spelling: a layer in between does not wrap that of a layer below.

impl From<bellerophon_mlwe::ErrorKind> for ErrorKind {
    fn from(kind: bellerophon_mlwe::ErrorKind) -> Self {
        use bellerophon_mlwe::ErrorKind as Below;
        match kind {
            Below::Ring(kind) => Self::Ring(kind),
            other => Self::Mlwe(other),
        }
    }
}

impl From<bellerophon_lwe::ErrorKind> for ErrorKind {
    fn from(kind: bellerophon_lwe::ErrorKind) -> Self {
        use bellerophon_lwe::ErrorKind as Below;
        match kind {
            Below::Ring(kind) => Self::Ring(kind),
            Below::Mlwe(kind) => kind.into(),
            other => Self::Lwe(other),
        }
    }
}

impl From<bellerophon_pir::ErrorKind> for ErrorKind {
    fn from(kind: bellerophon_pir::ErrorKind) -> Self {
        use bellerophon_pir::ErrorKind as Below;
        match kind {
            Below::Ring(kind) => Self::Ring(kind),
            Below::Mlwe(kind) => kind.into(),
            Below::Lwe(kind) => kind.into(),
            other => Self::Pir(other),
        }
    }
}

/// The method of [`crate::Needs`] that asks for a key of the CKKS crate.
fn need(key: &str) -> Option<&'static str> {
    Some(match key {
        "relinearization key" => "multiply",
        "conjugation key" => "conjugate",
        "bootstrapping key" => "bootstrap",
        "functional bootstrapping key" => "functional",
        _ => return None,
    })
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

// A cancelled operation of the CKKS crate becomes [`ErrorKind::Cancelled`], and keys that are
// missing are named by the request for them.
impl From<ckks::ErrorKind> for ErrorKind {
    fn from(kind: ckks::ErrorKind) -> Self {
        use ckks::ErrorKind as Below;
        match kind {
            Below::Ring(kind) => Self::Ring(kind),
            Below::Mlwe(kind) => kind.into(),
            Below::Cancelled { stage, done, total } => {
                Self::Cancelled { stage: stage.into(), done, total }
            }
            Below::MissingRotationKey { step, slots, .. } => Self::MissingRotation { step, slots },
            Below::MissingKey { key, level } => match need(key) {
                Some(need) => Self::MissingKeys { need },
                None => Self::Ckks(Below::MissingKey { key, level }),
            },
            other => Self::Ckks(other),
        }
    }
}

// Errors of look-ups and of the planner become variants of this type, whose remedies name the
// facade's methods. Errors of the crates below stay what they are.
impl From<repack::ErrorKind> for ErrorKind {
    fn from(kind: repack::ErrorKind) -> Self {
        use repack::ErrorKind as Below;
        match kind {
            // Kinds of the crates below have a conversion of their own.
            Below::Ring(kind) => Self::Ring(kind),
            Below::Mlwe(kind) => kind.into(),
            Below::Ckks(kind) => kind.into(),
            Below::Lwe(kind) => kind.into(),
            // Kinds of look-ups and of the planner: here their remedies name methods of the facade.
            Below::Bridge { reason } => Self::Bridge { reason },
            Below::Domain { lo, hi } => Self::Domain { lo, hi },
            Below::DomainScale { lo, hi, log2_scale } => Self::DomainScale { lo, hi, log2_scale },
            Below::OutsideDomain { range, domain } => Self::OutsideDomain { range, domain },
            Below::MissingKeys { need } => Self::MissingKeys { need },
            Below::Accuracy { wanted, best } => Self::Accuracy { wanted, best },
            Below::NoRingBridge => Self::NoRingBridge,
            Below::NoLinearBridge { dimension } => Self::NoLinearBridge { dimension },
            Below::TooWideToPack { lo, hi, deviation, width, reach, most } => {
                Self::TooWideToPack { lo, hi, deviation, width, reach, most }
            }
            Below::TooManyPlaces { found, most } => Self::TooManyPlaces { found, most },
            Below::Scales { vector, ratio, drift } => Self::Scales { vector, ratio, drift },
            Below::Request { reason } => Self::Request { reason },
            Below::NoPlan { function, log2_error, refusals } => {
                Self::NoPlan { function, log2_error, refusals }
            }
            Below::WantedError { log2_error } => Self::WantedError { log2_error },
            Below::CostModel { found, needed } => Self::CostModel { found, needed },
            Below::Cancelled { stage, done, total } => Self::Cancelled { stage, done, total },
            Below::Complex => Self::Complex,
            // Faults of layouts, packings and repacking keys.
            other => Self::Repack(other),
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
