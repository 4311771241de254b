//! The facade's error type: what a program of a user can get wrong.

use std::ops::RangeInclusive;

use bellerophon_lwe as lwe;

/// Why an operation was refused. Nothing is ever computed wrongly instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// From the ring layer.
    #[error(transparent)]
    Ring(#[from] bellerophon_ring::Error),
    /// From the lattice layer: security, foreign keys, malformed ciphertexts.
    #[error(transparent)]
    Mlwe(#[from] bellerophon_mlwe::Error),
    /// From the arithmetic on slots: levels, scales, ranges, missing rotation keys.
    #[error(transparent)]
    Ckks(#[from] bellerophon_ckks::Error),
    /// From the look-up layer.
    #[error(transparent)]
    Lwe(#[from] bellerophon_lwe::Error),
    /// From the way back into slots.
    #[error(transparent)]
    Repack(#[from] bellerophon_repack::Error),
    /// Bytes that are not what is read.
    #[error(transparent)]
    Format(#[from] crate::format::FormatError),
    /// The parts of a parameter set do not fit together, or it cannot keep what it promises.
    #[error("parameters: {reason}")]
    Bridge {
        /// What is wrong, what is needed.
        reason: String,
    },
    /// A domain without an inside.
    #[error("domain {lo:e}..={hi:e}: need two finite ends, the lower first and below the upper")]
    Domain {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
    },
    /// A domain so wide or so narrow that the values cannot be brought to the table's scale.
    #[error(
        "map: domain {lo:?}..={hi:?}: values at scale 2^{log2_scale:.1} do not fit a table of that \
         width: scale the values so that the domain is between 2^{:.0} and 2^{:.0} wide",
        22.0 - log2_scale,
        40.0 - log2_scale
    )]
    DomainScale {
        /// Lower end.
        lo: f64,
        /// Upper end.
        hi: f64,
        /// `log2` of the scale of the lowered values.
        log2_scale: f64,
    },
    /// The carried range does not lie within the domain of a look-up.
    #[error(
        "{op}: the values are known to lie in {range:?}, the table covers {domain:?} only, and \
         beyond its ends a table wraps around: widen the domain, declare a tighter range where \
         the values are encrypted, or state what you know of the values (`assume_range`)"
    )]
    OutsideDomain {
        /// The operation.
        op: &'static str,
        /// The carried range of the values.
        range: RangeInclusive<f64>,
        /// The domain of the table.
        domain: RangeInclusive<f64>,
    },
    /// A statement about a range that contradicts what is known.
    #[error(
        "assume_range: the values are known to lie in {known:?}, which has nothing in common with \
         {stated:?}"
    )]
    Contradiction {
        /// The carried range.
        known: RangeInclusive<f64>,
        /// The range that the caller stated.
        stated: RangeInclusive<f64>,
    },
    /// The evaluation keys lack what an operation takes.
    #[error(
        "{op}: the evaluation keys were made without it: ask for `Needs::{need}` at the client"
    )]
    MissingKeys {
        /// The operation.
        op: &'static str,
        /// The method of [`crate::Needs`] that would have asked for it.
        need: &'static str,
    },
    /// A look-up that no correction brings to the accuracy asked for.
    #[error(
        "{op}: asked for an error below 2^-{wanted:.1}, the best that tables of this domain give is \
         2^-{best:.1}: narrow the domain, take parameters with larger tables, or ask for less"
    )]
    Accuracy {
        /// The operation.
        op: &'static str,
        /// Bits asked for.
        wanted: f64,
        /// Bits to be had.
        best: f64,
    },
    /// Corrected look-ups with parameters whose tables leave no room for them.
    #[error(
        "{op}: the parameters '{params}' have no corrected look-ups: these take the ring bridge, and \
         tables over a ring that is secure with a special modulus (`Preset::Functions`)"
    )]
    NoCorrection {
        /// The operation.
        op: &'static str,
        /// Name of the parameters.
        params: String,
    },
    /// Look-ups on an engine that the parameters do not have.
    #[error(
        "{op}: the parameters '{params}' have no engine {engine}: NTRU takes tables of degree 2048 to \
         8192 (`Preset::Functions`)"
    )]
    NoEngine {
        /// The operation.
        op: &'static str,
        /// The engine asked for.
        engine: &'static str,
        /// The name of the parameters.
        params: String,
    },
    /// Look-ups with parameters that have none.
    #[error(
        "{op}: the parameters '{params}' have no look-ups: take `Preset::Functions`, or give \
         `ParamsSpec::lookup`"
    )]
    NoLookUps {
        /// The operation.
        op: &'static str,
        /// The name of the parameters.
        params: String,
    },
    /// The ring bridge with parameters that have none.
    #[error(
        "{op}: these parameters have no ring bridge, whose sparse secret they do without: take \
         `Preset::Functions` or another set with `ParamsSpec::ring_bridge`, or go over \
         `Bridge::Linear`"
    )]
    NoRingBridge {
        /// The operation.
        op: &'static str,
    },
    /// The linear bridge with parameters whose LWE secret does not fit the slots.
    #[error(
        "{op}: these parameters have no linear bridge, which takes the {dimension} coordinates of the LWE \
         secret in the slots: go over `Bridge::Ring`"
    )]
    NoLinearBridge {
        /// The operation.
        op: &'static str,
        /// Coordinates of the LWE secret.
        dimension: usize,
    },
    /// Needs that the parameters do not serve.
    #[error("the parameters '{params}' do not serve `Needs::{need}`: {reason}")]
    Unserved {
        /// The method of [`crate::Needs`].
        need: &'static str,
        /// Name of the parameters.
        params: String,
        /// Why, and what serves it.
        reason: String,
    },
    /// LWE values that fill too much of the turn to be packed by themselves.
    #[error(
        "{op}: values between {lo:?} and {hi:?} (noise {deviation:.1e}) reach {reach:.3} of a turn \
         of {width:?} from its middle; the way up undoes the sine up to {most:.3}: let the table \
         before leave room (`lwe::Room` of two terms, or an encoding twice as wide)"
    )]
    TooWideToPack {
        /// The operation.
        op: &'static str,
        /// The smallest value possible.
        lo: f64,
        /// The largest.
        hi: f64,
        /// Standard deviation of the noise.
        deviation: f64,
        /// The width of a turn, in units of the values.
        width: f64,
        /// What they reach, in turns.
        reach: f64,
        /// What they may reach.
        most: f64,
    },
    /// Places among so many values that their noise could make one the next.
    #[error(
        "{op}: among {found} values the number of a place would come with an error that may reach one \
         half; with these keys {most} values are the most: make keys by `Needs::map_to`, which take \
         more, take places within groups of these, then among their best, or `mark_largest`"
    )]
    TooManyPlaces {
        /// The operation.
        op: &'static str,
        /// Values among which a place was asked for.
        found: usize,
        /// The most for which a place can be rounded.
        most: usize,
    },
    /// Vectors whose values cannot be brought to one encoding.
    #[error(
        "{op}: vector {vector} stands at {ratio:.6} times the scale of vector 0, and integer factors \
         leave its values {drift:.1e} off, relatively: multiply it by a constant at the cost of a level, \
         or narrow the domain"
    )]
    Scales {
        /// The operation.
        op: &'static str,
        /// The place of the vector among the operands.
        vector: usize,
        /// Its scale over that of the first.
        ratio: f64,
        /// What is left of the difference, relatively.
        drift: f64,
    },
    /// Refreshing with parameters that have none.
    #[error(
        "refresh: the parameters '{params}' have no refreshing: take `Preset::Bootstrapping`, or \
         give `ParamsSpec::refresh`"
    )]
    NoRefresh {
        /// The name of the parameters.
        params: String,
    },
    /// More results of a key than are left of those that were to be shared.
    #[error(
        "share results: {wanted} wanted, {left} left of the {queries} of this budget: more would tell of \
         the key; make another key, with a larger budget"
    )]
    SharingSpent {
        /// The results asked for, or said to be left.
        wanted: u64,
        /// The results left.
        left: u64,
        /// The results that there were.
        queries: u64,
    },
    /// A result to be shared of which nothing was reserved.
    #[error(
        "{op}: no result of the budget is reserved: `SharingBudget::reserve` some, and store what is left \
         before any of them is released"
    )]
    NotReserved {
        /// The operation.
        op: &'static str,
    },
    /// Flooding noise as large as the values that are to be shared.
    #[error(
        "share a result: noise up to {noise:.1e} has to hide that of the computation, of values up to \
         {largest:.1e} nothing would be left: share fewer results, or vectors of fewer slots, ask for \
         fewer statistical bits, or take parameters of a larger scale"
    )]
    NothingLeft {
        /// What the flooding may reach.
        noise: f64,
        /// The largest magnitude of the values.
        largest: f64,
    },
    /// The caller's progress callback asked to stop.
    #[error("{op}: cancelled during {}, {done} of {total} values done", stage.name())]
    Cancelled {
        /// The operation.
        op: &'static str,
        /// The stage that it was in.
        stage: crate::Stage,
        /// Values finished in that stage.
        done: usize,
        /// Values of that stage.
        total: usize,
    },
    /// A look-up on complex values.
    #[error("{op}: the slots hold complex values; tables are for real ones")]
    Complex {
        /// The operation.
        op: &'static str,
    },
}

impl Error {
    /// The same error under the name of the operation that the caller called, where it arose in what that
    /// is made of.
    pub(crate) fn named(self, op: &'static str) -> Self {
        match self {
            Self::Ckks(error) => Self::Ckks(error.named(op)),
            Self::Cancelled { stage, done, total, .. } => {
                Self::Cancelled { op, stage, done, total }
            }
            Self::Lwe(lwe::Error::Cancelled { done, total, .. }) => {
                Self::Cancelled { op, stage: crate::Stage::LookUps, done, total }
            }
            other => other,
        }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
