//! Masks: some slots stay, the others become zero.

use std::{iter::once, ops::Range};

use bellerophon_ring::Result;
use bellerophon_ring::error::ensure;

use crate::ciphertext::CiphertextMeta;
use crate::error;
use crate::interval::{Bounds, Interval};
use crate::metadata::Metadata;
use crate::ops::CkksOps;
use crate::vectors::Operand;

/// Keeps the slots of the ranges, by a product with ones and zeros; see
/// [`ComposedOps::mask`](crate::ComposedOps::mask).
pub fn masked<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    ranges: impl IntoIterator<Item = Range<usize>>,
) -> Result<A::Ciphertext> {
    let CiphertextMeta { slots, len, bounds, .. } = a.metadata(x).meta;
    // Ranges may overlap: the mask is the union.
    let mut mask = vec![0.0; slots];
    for range in ranges {
        let Range { start, end } = range;
        let kept = mask.get_mut(range).ok_or_else(|| error::slot_range(start, end, slots))?;
        kept.fill(1.0);
    }
    // A mask that clears the padding has as many values as `x`; any other treats padding as values.
    let (of_values, of_padding) = mask.split_at(len);
    let clears = of_padding.iter().all(|&m| m == 0.0);
    let kept = match clears {
        true => a.mul_values(x, of_values)?,
        false => a.mul_values(&a.with_len(x.clone(), slots)?, &mask)?,
    };
    // The range of values and of padding: zero joins unless all of them stay.
    let with_zero = bounds.map(|range| range.hull(&Interval::ZERO));
    let values = match of_values.iter().all(|&m| m == 1.0) {
        true => bounds.values,
        false => with_zero.values,
    };
    let padding = match (len == slots, clears) {
        (true, _) => values,
        (false, true) => Interval::ZERO,
        (false, false) => with_zero.padding,
    };
    let meta = CiphertextMeta { len, bounds: Bounds { values, padding }, ..a.metadata(&kept).meta };
    Ok(a.with_metadata(kept, meta))
}

/// `x` for a sum over its slots: clears the padding, which takes a level, unless it is known to be
/// zero.
pub fn cleared<'c, A: CkksOps>(a: &A, x: &'c A::Ciphertext) -> Result<Operand<'c, A::Ciphertext>> {
    let Metadata { level, meta } = a.metadata(x);
    let CiphertextMeta { len, slots, .. } = meta;
    if meta.is_clear() {
        return Ok(Operand::Given(x));
    }
    ensure(level != 0, || error::padding(len, slots))?;
    masked(a, x, once(0..len)).map(Operand::made)
}

/// All slots of `x` as values, with zeros for the padding.
pub fn whole<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let x = (*cleared(a, x)?).clone();
    let slots = a.metadata(&x).meta.slots;
    a.with_len(x, slots)
}
