//! The refusals of this crate.

use std::{cmp::Ordering, ops::RangeInclusive};

pub use bellerophon_ckks::error::missing_keys;
pub use bellerophon_repack::error::{no_rows, shape, value};
use bellerophon_ring::{Error, ErrorKind, decimal};

use crate::stage::Stage;

/// A level that the modulus chain cannot reach.
pub fn level(wanted: usize, highest: Option<usize>) -> Error {
    ErrorKind::Level.error(format!(
        "a result at level {wanted} is not possible, {}: ask for a lower level or use a \
         longer chain",
        highest.map_or("the chain is too short for any".into(), |h| format!("the highest is {h}"))
    ))
}

/// Rows that cannot be placed in the slots.
pub fn layout(reason: String) -> Error {
    ErrorKind::Shape.error(reason)
}

/// The key's ciphertexts have too few limbs for the level asked for.
pub fn key_level(wanted: usize, needed: usize, found: usize) -> Error {
    ErrorKind::Level.error(format!(
        "a result at level {wanted} needs a repacking key of {needed} limbs, this one has \
         {found}: ask for a lower level or generate the key with more limbs"
    ))
}

/// The parts of a parameter set do not fit together, or the set cannot do what it promises.
pub fn bridge(reason: String) -> Error {
    ErrorKind::Parameters.error(format!("parameters: {reason}"))
}

/// A domain that is empty, a single point, infinite or reversed.
pub fn domain(lo: f64, hi: f64) -> Error {
    ErrorKind::Domain.error(format!("domain {lo:?}..={hi:?}: {}", domain_fault(lo, hi)))
}

/// A domain so wide or so narrow that the values cannot be brought to the scale of the table.
pub fn domain_scale(lo: f64, hi: f64, log2_scale: f64) -> Error {
    ErrorKind::Domain.error(format!(
        "the domain {lo:?}..={hi:?} is too {}: at scale 2^{log2_scale:.1} a table takes \
         domains from {} to {} wide: multiply the values by a constant first, or declare a \
         range of such a width",
        if hi - lo > (31.0 - log2_scale).exp2() { "wide" } else { "narrow" },
        decimal((22.0 - log2_scale).exp2()),
        decimal((40.0 - log2_scale).exp2())
    ))
}

/// The carried range does not lie within the domain of a look-up.
pub fn outside_domain(range: RangeInclusive<f64>, domain: RangeInclusive<f64>) -> Error {
    ErrorKind::Domain.error(format!(
        "the values may lie anywhere in {range:?}, but the table covers only {domain:?}, and \
         a table wraps around beyond its ends: widen the domain, or declare a tighter range \
         of the values when they are encrypted (`ClientKey::encrypt`) or where you know it \
         (`assume_range`)"
    ))
}

/// A look-up that no correction brings to the requested accuracy.
pub fn accuracy(wanted: f64, best: f64) -> Error {
    ErrorKind::Accuracy { log2_reached: Some(best.log2()) }.error(format!(
        "an error below {} was requested, but tables of this domain reach {} at \
         best: narrow the domain, take parameters with larger tables \
         (`Preset::FunctionsFine`, `Preset::FunctionsPrecise`), or request fewer bits",
        decimal(wanted),
        decimal(best)
    ))
}

/// The ring bridge with parameters that have none.
pub fn no_ring_bridge() -> Error {
    ErrorKind::Unsupported.error(
        "these parameters have no ring bridge: take a set with one, such as `Preset::Functions` \
         (`ParamsSpec::ring_bridge`); plain look-ups also work with `Bridge::Linear`",
    )
}

/// Look-ups with an engine that the parameters do not have.
pub fn no_engine(engine: &'static str) -> Error {
    ErrorKind::Unsupported.error(format!(
        "the parameters have no engine {engine}: NTRU needs tables of degree 2048 to 8192: \
         take `Preset::Functions`"
    ))
}

/// Corrected look-ups with parameters that do not support them.
pub fn no_correction() -> Error {
    ErrorKind::Unsupported.error(
        "the parameters do not support corrected look-ups, which need a ring bridge and a table \
         ring that is secure with a special modulus: take `Preset::Functions`",
    )
}

/// The linear bridge with parameters whose LWE secret does not fit the slots.
pub fn no_linear_bridge(dimension: usize) -> Error {
    ErrorKind::Unsupported.error(format!(
        "these parameters have no linear bridge, because the {dimension} coordinates of the \
         LWE secret do not fit the slots: take `Bridge::Ring`"
    ))
}

/// LWE values that fill too much of their encoding to be packed without a table.
pub fn too_wide_to_pack(
    lo: f64,
    hi: f64,
    deviation: f64,
    width: f64,
    reach: f64,
    most: f64,
) -> Error {
    ErrorKind::Range.error(format!(
        "the values lie between {lo:?} and {hi:?} (noise {deviation:.1e}) and reach \
         {reach:.3} of the encoding width {width:?} from its center, but packing inverts the \
         sine only up to {most:.3}: let the preceding table leave headroom (`lwe::Headroom` \
         of two terms, or an encoding twice as wide)"
    ))
}

/// Vectors whose values cannot be brought to one encoding.
pub fn scales(vector: usize, count: usize, ratio: f64, drift: f64) -> Error {
    ErrorKind::Scale.error(format!(
        "the scale of the vector at position {vector} of {count} is {ratio:.6} times that of \
         the first vector, and integer factors leave a relative error of {drift:.1e}: \
         multiply it by a constant at the cost of a level, or narrow the domain"
    ))
}

/// The progress callback stopped the operation.
pub fn cancelled(stage: Stage, done: usize, total: usize) -> Error {
    ErrorKind::Cancelled { stage: stage.name(), done, total }
        .error(format!("cancelled by the callback during {}, {done} of {total} done", stage.name()))
}

/// A look-up on complex values.
pub fn complex() -> Error {
    ErrorKind::Complex.error(
        "the slots hold complex values, but tables need real ones: add the conjugate and halve",
    )
}

/// A request whose requirements do not fit the call.
pub fn request(reason: &'static str) -> Error {
    ErrorKind::Request.error(reason)
}

/// A map that no engine evaluates to the requested error.
pub fn no_plan(function: String, error: f64, refusals: String) -> Error {
    ErrorKind::Accuracy { log2_reached: None }.error(format!(
        "no engine evaluates {function} to an error of {} (`Params::map_plan` \
         compares all){refusals}",
        decimal(error)
    ))
}

/// A cost model of another version, or with invalid prices.
pub fn cost_model(found: u32, needed: u32) -> Error {
    ErrorKind::Argument.error(format!(
        "a cost model of version {found}: need version {needed}, positive prices and shares \
         from 0 to 1: take `CostModel::default` or call `CostModel::calibrate`"
    ))
}

/// An argmax or argmin index among too many values: its noise could round to a neighbour.
pub fn too_many_places(found: usize, most: usize) -> Error {
    ErrorKind::Noise.error(format!(
        "the index of one among {found} values could be off by one half or more; with these \
         keys at most {most} values are allowed: take the keys of corrected look-ups, which \
         allow more (`Needs::map_with([Engine::Corrected])`), one-hot indices \
         (`argmax_one_hot`), or take the index within groups and then among their winners"
    ))
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
