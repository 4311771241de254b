//! Padding: moved by a plaintext, at no level, or cleared by a mask.

use bellerophon_ring::Result;

use crate::ciphertext::CiphertextMeta;
use crate::encode::check_number;
use crate::error;
use crate::eval::mask::cleared;
use crate::interval::{Bounds, Interval, check_domain};
use crate::metadata::Metadata;
use crate::ops::CkksOps;
use crate::refresh::is_short;
use crate::vectors::Operand;

/// The middle of a range.
fn middle(range: &Interval) -> f64 {
    0.5 * range.lo() + 0.5 * range.hi()
}

/// Adds a constant to the padding that brings the middle of its range to `to`; see
/// [`ComposedOps::move_padding`](crate::ComposedOps::move_padding).
pub fn moved<A: CkksOps>(a: &A, x: &A::Ciphertext, to: f64) -> Result<A::Ciphertext> {
    let CiphertextMeta { slots, len, bounds: Bounds { values, padding }, .. } = a.metadata(x).meta;
    check_number("the middle of the moved padding", to)?;
    let step = to - middle(&padding);
    if len == slots || step == 0.0 {
        return Ok(x.clone());
    }
    // The constant joins all slots as values; the bounds of either part are known.
    let steps: Vec<f64> = (0..slots).map(|i| if i < len { 0.0 } else { step }).collect();
    let sum = a.add_values(&a.with_len(x.clone(), slots)?, &steps)?;
    let bounds = Bounds { values, padding: padding.shift(step) };
    let meta = CiphertextMeta { len, bounds, ..a.metadata(&sum).meta };
    Ok(a.with_metadata(sum, meta))
}

/// `x` with its padding in a domain, for an operation of `needed` levels: as it is if it lies
/// there, moved if its range is no wider than the domain, and otherwise cleared, at one level or by
/// an automatic bootstrap.
pub fn inside<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    domain: &Interval,
    needed: usize,
) -> Result<Operand<'c, A::Ciphertext>> {
    let Metadata { level, meta } = a.metadata(x);
    let CiphertextMeta { len, slots, bounds: Bounds { padding, .. }, .. } = meta;
    if len == slots || check_domain(&Bounds::all(padding), domain.lo(), domain.hi()).is_ok() {
        return Ok(Operand::Given(x));
    }
    let narrow = padding.is_real() && padding.hi() - padding.lo() <= domain.hi() - domain.lo();
    let x = match narrow {
        true => Operand::Given(x),
        // A bootstrap clears the padding at no level.
        false if is_short(a, level, needed + 1) => {
            Operand::made(a.refreshed(x, a.params().scale())?)
        }
        false if level <= needed => return Err(error::padding(len, slots)),
        false => cleared(a, x)?,
    };
    match domain.contains(&Interval::ZERO) && !narrow {
        true => Ok(x),
        false => moved(a, &x, middle(domain)).map(Operand::made),
    }
}
