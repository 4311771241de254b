//! The error type of the crate.

use std::{cmp::Ordering, ops::RangeInclusive};

use bellerophon_ring::decimal;

use crate::lookup::Stage;

bellerophon_ring::op_error! {
    /// An operation that was refused, and why.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Error(ErrorKind) from [
        bellerophon_ring, bellerophon_mlwe, bellerophon_ckks, bellerophon_lwe,
    ];
}

/// Why an operation of ring packing or of a bridge was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An error of the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::ErrorKind),
    /// An error of the lattice layer.
    #[error(transparent)]
    Mlwe(bellerophon_mlwe::ErrorKind),
    /// An error of the CKKS layer.
    #[error(transparent)]
    Ckks(bellerophon_ckks::ErrorKind),
    /// An error of the LWE layer.
    #[error(transparent)]
    Lwe(bellerophon_lwe::ErrorKind),
    /// A level that the modulus chain cannot reach.
    #[error(
        "a result at level {wanted} is not possible, {}: ask for a lower level or use a \
         longer chain",
        highest.map_or("the chain is too short for any".into(), |h| format!("the highest is {h}"))
    )]
    Level {
        /// Level asked for.
        wanted: usize,
        /// The highest level, if there is one.
        highest: Option<usize>,
    },
    /// No inputs.
    #[error("no rows: at least one is needed")]
    NoRows,
    /// Rows that cannot be placed in the slots.
    #[error("{reason}")]
    Layout {
        /// What does not fit, what is needed.
        reason: String,
    },
    /// A matrix, a layout and inputs whose sizes do not fit each other.
    #[error("{what} is {found}, {needed} is needed")]
    Shape {
        /// What was measured.
        what: &'static str,
        /// The number found.
        found: usize,
        /// The number or range needed, printed.
        needed: String,
    },
    /// A number of the caller's that is out of range.
    #[error("{what} = {found} is not supported: need {needed}")]
    Value {
        /// The name of the number.
        what: &'static str,
        /// The number found, printed.
        found: String,
        /// The range needed.
        needed: &'static str,
    },
    /// The key's ciphertexts have too few limbs for the level asked for.
    #[error(
        "a result at level {wanted} needs a repacking key of {needed} limbs, this one has \
         {found}: ask for a lower level or generate the key with more limbs"
    )]
    KeyLevel {
        /// Level asked for.
        wanted: usize,
        /// Limbs that the key would need.
        needed: usize,
        /// Limbs that it has.
        found: usize,
    },
    /// The parts of a parameter set do not fit together, or the set cannot do what it promises.
    #[error("parameters: {reason}")]
    Bridge {
        /// What is wrong, and what is needed.
        reason: String,
    },
    /// A domain that is empty, a single point, infinite or reversed.
    #[error("domain {lo:?}..={hi:?}: {}", domain_fault(*lo, *hi))]
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
         a table wraps around beyond its ends: widen the domain, or declare a tighter range of the \
         values"
    )]
    OutsideDomain {
        /// The carried range of the values.
        range: RangeInclusive<f64>,
        /// The domain of the table.
        domain: RangeInclusive<f64>,
    },
    /// The evaluation keys lack the keys of an operation.
    #[error("the evaluation keys do not include those of `{need}`: generate them with the others")]
    MissingKeys {
        /// The method of the facade's needs that asks for the keys: `map`, `map_with` for another
        /// engine, `bridge` for another bridge, `multiply`, `functional`.
        need: &'static str,
    },
    /// A look-up that no correction brings to the requested accuracy.
    #[error(
        "an error below 2^{:.1} was requested, but tables of this domain reach 2^{:.1} at \
         best: narrow the domain, take parameters with larger tables, or request fewer bits",
        -wanted,
        -best
    )]
    Accuracy {
        /// Requested bits.
        wanted: f64,
        /// Bits within reach.
        best: f64,
    },
    /// The ring bridge with parameters that have none.
    #[error(
        "these parameters have no ring bridge: take a set with one; plain look-ups also work \
         with `Bridge::Linear`"
    )]
    NoRingBridge,
    /// Look-ups with an engine that the parameters do not have.
    #[error("the parameters have no engine {engine}: NTRU needs tables of degree 2048 to 8192")]
    NoEngine {
        /// The requested engine.
        engine: &'static str,
    },
    /// Corrected look-ups with parameters that do not support them.
    #[error(
        "the parameters do not support corrected look-ups, which need a ring bridge and a table \
         ring that is secure with a special modulus"
    )]
    NoCorrection,
    /// The linear bridge with parameters whose LWE secret does not fit the slots.
    #[error(
        "these parameters have no linear bridge, because the {dimension} coordinates of the \
         LWE secret do not fit the slots: take `Bridge::Ring`"
    )]
    NoLinearBridge {
        /// Coordinates of the LWE secret.
        dimension: usize,
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
    /// Vectors whose values cannot be brought to one encoding.
    #[error(
        "the scale of the vector at position {vector} of {count} is {ratio:.6} times that of the \
         first vector, and integer factors leave a relative error of {drift:.1e}: multiply it by a \
         constant at the cost of a level, or narrow the domain"
    )]
    Scales {
        /// The position of the vector among the operands, from 0.
        vector: usize,
        /// The number of operands.
        count: usize,
        /// Its scale over that of the first.
        ratio: f64,
        /// The remaining relative difference.
        drift: f64,
    },
    /// The progress callback stopped the operation.
    #[error("cancelled by the callback during {}, {done} of {total} done", stage.name())]
    Cancelled {
        /// The stage in which it stopped.
        stage: Stage,
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
    /// A request whose requirements do not fit the call.
    #[error("{reason}")]
    Request {
        /// What does not fit, and a remedy.
        reason: &'static str,
    },
    /// A map that no engine evaluates to the requested error.
    #[error(
        "no engine evaluates {function} to an error of 2^{log2_error:.1} (`Params::map_plan` \
         compares all){refusals}"
    )]
    NoPlan {
        /// The function.
        function: String,
        /// `log2` of the requested error.
        log2_error: f64,
        /// What every allowed engine lacks, or the error that it reaches, each on a line.
        refusals: String,
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
    /// An argmax or argmin index among too many values: its noise could round to a neighbour.
    #[error(
        "the index of one among {found} values could be off by one half or more; with these \
         keys at most {most} values are allowed: take the keys of corrected look-ups, which allow \
         more, or take the index within groups and then among their winners"
    )]
    TooManyPlaces {
        /// The number of values.
        found: usize,
        /// The largest number whose index can be rounded.
        most: usize,
    },
}

/// What is wrong with a domain, and what is needed.
fn domain_fault(lo: f64, hi: f64) -> &'static str {
    match lo.partial_cmp(&hi) {
        _ if !(lo.is_finite() && hi.is_finite()) => "need two finite ends",
        Some(Ordering::Greater) => "need the lower end first",
        Some(Ordering::Equal) => "a function needs an interval of positive width",
        _ => "its width is no finite number: need a narrower domain",
    }
}

bellerophon_ring::lower_kinds! {
    Mlwe(bellerophon_mlwe::ErrorKind) via [Ring];
    Ckks(bellerophon_ckks::ErrorKind) via [Ring, Mlwe];
    Lwe(bellerophon_lwe::ErrorKind) via [Ring, Mlwe] {
        bellerophon_lwe::ErrorKind::Cancelled { done, total } => {
            Self::Cancelled { stage: Stage::LookUps, done, total }
        },
    };
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
