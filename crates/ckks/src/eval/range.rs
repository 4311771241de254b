//! Ranges that a program promises, checked against those that the rules derive.

use std::ops::RangeInclusive;

use bellerophon_ring::Result;

use crate::ciphertext::CiphertextMeta;
#[cfg(doc)]
use crate::composed_ops::ComposedOps;
use crate::error;
use crate::eval::padding;
use crate::interval::{Bounds, Interval};
use crate::metadata::Metadata;
use crate::ops::CkksOps;
use crate::vectors::Statement;

/// `x` with a promised range; see [`ComposedOps::assume_range`].
pub fn assumed<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    range: &RangeInclusive<f64>,
) -> Result<A::Ciphertext> {
    let range = Interval::real(*range.start(), *range.end())?;
    check_common(&a.metadata(x).meta.bounds.values, &range)?;
    promised(a, x, Statement::Range, range)
}

/// `x` with the part of its range that lies in a promised one; see [`ComposedOps::keep_within`].
pub fn kept<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    range: &RangeInclusive<f64>,
) -> Result<A::Ciphertext> {
    let range = Interval::real(*range.start(), *range.end())?;
    let known = a.metadata(x).meta.bounds.values;
    check_common(&known, &range)?;
    if !known.is_real() {
        // A promise of reals would be false of complex slots.
        return Ok(x.clone());
    }
    let (lo, hi) = (known.lo().max(range.lo()), known.hi().min(range.hi()));
    promised(a, x, Statement::Within, Interval::real(lo, hi)?)
}

/// `x` with a range of its values, its padding moved into it where that takes no level.
fn promised<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    statement: Statement,
    range: Interval,
) -> Result<A::Ciphertext> {
    // Only the metadata change. They must fit the modulus.
    let Metadata { level, meta } = a.metadata(x);
    let meta = meta.assume_range(range);
    let params = a.params();
    meta.check(params, params.limbs_of(level)?)?;
    let x = a.stated(statement, x.clone(), meta);
    let CiphertextMeta { len, slots, bounds: Bounds { values, padding }, .. } = meta;
    let narrow = padding.is_real() && padding.hi() - padding.lo() <= values.hi() - values.lo();
    if len == slots || !narrow || padding.bound() <= values.bound() {
        return Ok(x);
    }
    // Without room for the constant at this level the padding stays.
    let zero = values.lo() <= 0.0 && 0.0 <= values.hi();
    let to = if zero { 0.0 } else { 0.5 * values.lo() + 0.5 * values.hi() };
    Ok(padding::moved(a, &x, to).unwrap_or(x))
}

/// Refuses a promise that contradicts the carried range.
fn check_common(known: &Interval, promised: &Interval) -> Result<()> {
    if promised.hi() < known.lo() || promised.lo() > known.hi() {
        let (known, promised) = (known.lo()..=known.hi(), promised.lo()..=promised.hi());
        return Err(error::contradiction(known, promised));
    }
    Ok(())
}
