//! Masks: some slots stay, the others become zero.

use std::{borrow::Cow, iter::once, ops::Range};

use crate::{Account, Arithmetic, Bounds, Error, Interval, Meta, Result};

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
    let (of_values, of_padding) = mask.split_at(len);
    let clears = of_padding.iter().all(|&m| m == 0.0);
    let kept = match clears {
        true => a.mul_values(x, of_values)?,
        // Padding that stays is taken for values.
        false => a.mul_values(&a.with_len(x.clone(), slots)?, &mask)?,
    };
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
    let meta = Meta { len, bounds: Bounds { values, padding }, ..a.account(&kept).meta };
    Ok(a.restated(kept, meta))
}

/// `x` for a reduction over its values: its padding is cleared, which takes a level, unless it is known
/// to be zero.
pub(crate) fn cleared<'c, A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &'c A::Ciphertext,
) -> Result<Cow<'c, A::Ciphertext>> {
    let Account { level, meta } = a.account(x);
    let Meta { len, slots, .. } = meta;
    if meta.is_clear() {
        return Ok(Cow::Borrowed(x));
    }
    if level == 0 {
        return Err(Error::Padding { op, len, slots });
    }
    masked(a, op, x, once(0..len)).map(Cow::Owned)
}

/// All slots of `x` as values, for layouts of slots: what was padding is zero.
pub(crate) fn whole<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
) -> Result<A::Ciphertext> {
    let x = cleared(a, op, x)?.into_owned();
    let slots = a.account(&x).meta.slots;
    a.with_len(x, slots)
}
