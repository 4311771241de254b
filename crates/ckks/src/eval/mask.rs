//! Masks: some slots stay, the others become zero.

use std::ops::Range;

use crate::{Arithmetic, Error, Interval, Meta, Result};

/// Keeps the slots of the ranges, by a product with ones and zeros; see [`Arithmetic::keep`].
pub(crate) fn masked<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    ranges: impl IntoIterator<Item = Range<usize>>,
) -> Result<A::Ciphertext> {
    let Meta { slots, len, bounds, .. } = a.account(x).meta;
    let mut mask = vec![0.0; slots];
    for range in ranges {
        let found = range.end.max(range.start);
        let kept = mask.get_mut(range).ok_or(Error::SlotOutOfRange { op, found, slots })?;
        kept.fill(1.0);
    }
    let kept = a.mul_values(x, &mask)?;
    let bounds = bounds.map(|range| range.hull(&Interval::ZERO));
    let meta = Meta { len, bounds, ..a.account(&kept).meta };
    Ok(a.restated(kept, meta))
}
