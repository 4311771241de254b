//! The refusals of this crate.

pub use bellerophon_repack::error::{no_rows, shape, value};
use bellerophon_ring::{Error, ErrorKind};

#[cfg(test)]
pub(crate) use bellerophon_ring::refusal;

/// A coefficient or table entry that is not below `t`. The error does not contain it.
pub fn plain(index: usize, count: usize, plain: u64) -> Error {
    ErrorKind::Range.error(format!(
        "the entry at position {index} of {count} is not below t = {plain}: reduce it, or use \
         parameters with a larger t"
    ))
}

/// A function modulo another number than the parameters.
pub fn plain_modulus(found: u64, needed: u64) -> Error {
    ErrorKind::ParamsMismatch.error(format!(
        "the function is modulo t = {found}, the parameters have t = {needed}: build both \
         with the same t"
    ))
}

/// A point that is not in the domain. The error does not contain it.
pub fn point_outside(index: usize, count: usize, domain: usize) -> Error {
    ErrorKind::Domain.error(format!(
        "the point at position {index} of {count} lies outside the domain 0..{domain}"
    ))
}

/// More points than one query takes, or none.
pub fn too_many_points(found: usize, most: usize) -> Error {
    ErrorKind::TooManyValues { found, most }
        .error(format!("{found} points, but one query takes 1 to {most}: split it into several"))
}

/// Points that cannot be assigned to distinct buckets.
pub fn placement(points: usize, buckets: usize, tries: usize) -> Error {
    ErrorKind::Request.error(format!(
        "{points} points have no assignment to {buckets} buckets under {tries} seeds: split \
         them into two queries"
    ))
}

/// Noise that would make values wrong too often.
pub fn noise(log2_failure: f64, needed: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "a value would be wrong with a probability of 2^{log2_failure:.0}, above \
         2^{needed:.0}: use a smaller t or domain, or parameters with a larger modulus"
    ))
}

/// A query in a layout that the operation does not support.
pub fn query_layout(
    found: crate::query_layout::QueryLayout,
    needed: crate::query_layout::QueryLayout,
) -> Error {
    ErrorKind::Shape
        .error(format!("the query has the {found} layout, the {needed} layout is needed"))
}

/// A response that does not answer the query.
pub fn wrong_response(reason: &'static str) -> Error {
    ErrorKind::Bytes.error(reason)
}

/// A statistical distance that the parameters cannot achieve.
pub fn circuit_privacy(found: f64, needed: f64) -> Error {
    ErrorKind::Noise.error(format!(
        "the parameters achieve a statistical distance of 2^{found:.1}, 2^{needed:.1} is \
         required: use `ParamsSpec::flooding`, a smaller domain or a smaller t"
    ))
}

/// An answer that the rest of the privacy budget does not cover.
pub fn privacy_spent(found: f64, spent: f64, total: f64) -> Error {
    ErrorKind::Budget.error(format!(
        "this answer has a statistical distance of 2^{found:.1}, the answers so far have \
         2^{spent:.1} together, and the budget is 2^{total:.1}: use a new table, or state a \
         larger distance"
    ))
}
