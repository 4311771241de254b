//! Sign, comparison, maximum, minimum, magnitude: what
//! [`Arithmetic::sign`] and those after it are made of.

use bellerophon_mlwe as mlwe;

use super::apply::at_default_scale;
use super::sign::{Kind, Sign};
use crate::polynomial::check_domain;
use crate::{Account, Arithmetic, Bounds, Interval, Meta, Result};

/// The larger of two ranges, end by end.
pub(crate) fn larger(x: &Interval, y: &Interval) -> Interval {
    Interval::between(x.lo().max(y.lo()), x.hi().max(y.hi()))
}

/// The magnitudes of a range.
fn magnitude(x: &Interval) -> Interval {
    let inside = x.lo() <= 0.0 && x.hi() >= 0.0;
    Interval::between(if inside { 0.0 } else { x.lo().abs().min(x.hi().abs()) }, x.bound())
}

/// `x sign(x)`; see [`Arithmetic::abs`].
pub(crate) fn abs<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    sign: &Sign,
) -> Result<A::Ciphertext> {
    let Account { meta, .. } = a.account(x);
    let (scale, level) = factor_scale(a, op, x, sign)?;
    let s = signed(a, op, x, sign, Kind::Sign, scale)?;
    let product = at_default_scale(a, a.mul(&a.drop_to_level(x, level)?, &s)?);
    let bounds = widened(meta.bounds.map(magnitude), sign);
    let meta = Meta { bounds, ..a.account(&product).meta };
    Ok(a.restated(product, meta))
}

/// `base + d step(d)` at the default scale, of which the caller knows the range but for the error.
pub(crate) fn stepped<A: Arithmetic>(
    a: &A,
    op: &'static str,
    d: &A::Ciphertext,
    base: Option<&A::Ciphertext>,
    sign: &Sign,
    range: Bounds,
) -> Result<A::Ciphertext> {
    let (scale, level) = factor_scale(a, op, d, sign)?;
    let step = signed(a, op, d, sign, Kind::Step, scale)?;
    let d = a.drop_to_level(d, level)?;
    let terms: Vec<_> = base.into_iter().map(|base| (base, 1.0)).collect();
    let sum = a.combination(&[(&d, &step)], &terms, 0.0, Some(a.params().scale()))?;
    let meta = Meta { bounds: widened(range, sign), ..a.account(&sum).meta };
    Ok(a.restated(sum, meta))
}

/// The scale at which the sign of `x` makes its product with `x` come out at the default scale,
/// and the level of that product.
fn factor_scale<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    sign: &Sign,
) -> Result<(f64, usize)> {
    let (params, account) = (a.params(), a.account(x));
    let first = sign.polynomials(Kind::Sign).next().expect("at least one polynomial");
    let levels = sign.levels() - first.levels() + params.books().polynomial_levels(&account, first);
    params.books().check_levels(op, levels + 1, account.level)?;
    let level = account.level - levels;
    Ok((params.scale() * params.divisor(level) / account.meta.scale, level))
}

/// The polynomials one after the other, the last one to the given scale.
pub(crate) fn signed<A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &A::Ciphertext,
    sign: &Sign,
    kind: Kind,
    scale: f64,
) -> Result<A::Ciphertext> {
    let (params, Account { level, meta }) = (a.params(), a.account(x));
    check_domain(op, &meta.bounds, -sign.radius(), sign.radius())?;
    params.books().check_levels(op, sign.levels(), level)?;
    let unit = Interval::real(-1.0, 1.0)?;
    let mut y = x.clone();
    let count = sign.degrees().len();
    for (i, p) in sign.polynomials(kind).enumerate() {
        let last = i + 1 == count;
        y = a.assume_range(a.polynomial(&y, p, last.then_some(scale))?, unit);
    }
    let largest = 1.0 + sign.error();
    let (half, range) = match kind {
        Kind::Sign => (1.0, Interval::real(-largest, largest)?),
        Kind::Step => (0.5, Interval::real(0.5 - 0.5 * largest, 0.5 + 0.5 * largest)?),
    };
    // What the polynomials predict one by one averages over arguments that do not occur.
    let noise = meta.variance / meta.scale.powi(2);
    let rounding = mlwe::noise::rounding(params.lattice()) / params.scale().powi(2);
    let variance = sign.sensitivity().variance(noise, rounding) * (half * scale).powi(2);
    let meta = Meta { bounds: Bounds::all(range), variance, ..a.account(&y).meta };
    Ok(a.restated(y, meta))
}

/// A range, and the error that an approximate magnitude adds to it.
fn widened(bounds: Bounds, sign: &Sign) -> Bounds {
    let error = sign.magnitude_error();
    bounds.map(|range| Interval::between(range.lo() - error, range.hi() + error))
}
