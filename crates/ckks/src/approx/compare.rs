//! Sign, comparison, maximum, minimum, magnitude: what
//! [`Arithmetic::sign`] and those after it are made of.

use std::borrow::Cow;

use bellerophon_mlwe as mlwe;

use super::apply::at_default_scale;
use super::sign::{Kind, Sign};
use crate::arithmetic::within;
use crate::bootstrap::automatic;
use crate::noise::Noise;
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
    let bounds = widened(a.account(x).meta.bounds.map(magnitude), sign);
    let product = match ready(a, op, x, sign)? {
        Ready::Whole { x, scale, level } => {
            let s = signed(a, op, &x, sign, Kind::Sign, scale)?;
            a.mul(&a.drop_to_level(&x, level)?, &s)?
        }
        Ready::InParts => {
            let s = signed(a, op, x, sign, Kind::Sign, a.params().scale())?;
            a.mul(x, &s)?
        }
    };
    let product = at_default_scale(a, product);
    let meta = Meta { bounds, ..a.account(&product).meta };
    Ok(a.restated(product, meta))
}

/// `base + d step(d)` at the default scale (near it where it was refreshed on the way), of which the
/// caller knows the range but for the error.
pub(crate) fn stepped<A: Arithmetic>(
    a: &A,
    op: &'static str,
    d: &A::Ciphertext,
    base: Option<&A::Ciphertext>,
    sign: &Sign,
    range: Bounds,
) -> Result<A::Ciphertext> {
    let scale = a.params().scale();
    let sum = match ready(a, op, d, sign)? {
        Ready::Whole { x: d, scale: factor, level } => {
            let step = signed(a, op, &d, sign, Kind::Step, factor)?;
            let d = a.drop_to_level(&d, level)?;
            // The product is planned for that level, and the base must not bring it below.
            let base = base.map(|base| automatic::raised(a, base, level)).transpose()?;
            let terms: Vec<_> = base.as_deref().into_iter().map(|base| (base, 1.0)).collect();
            a.combination(&[(&d, &step)], &terms, 0.0, Some(scale))?
        }
        Ready::InParts => {
            let step = signed(a, op, d, sign, Kind::Step, scale)?;
            let terms: Vec<_> = base.into_iter().map(|base| (base, 1.0)).collect();
            a.combination(&[(d, &step)], &terms, 0.0, None)?
        }
    };
    let meta = Meta { bounds: widened(range, sign), ..a.account(&sum).meta };
    Ok(a.restated(sum, meta))
}

/// How a product of `x` with its sign is had.
enum Ready<'c, A: Arithmetic> {
    /// From `x`, perhaps refreshed, without another refresh: the sign is wanted at a scale that makes
    /// the product, at this level, come out at the default scale.
    Whole { x: Cow<'c, A::Ciphertext>, scale: f64, level: usize },
    /// Refreshing on the way, wherever that will be.
    InParts,
}

fn ready<'c, A: Arithmetic>(
    a: &A,
    op: &'static str,
    x: &'c A::Ciphertext,
    sign: &Sign,
) -> Result<Ready<'c, A>> {
    let params = a.params();
    let first = sign.polynomials(Kind::Sign).next().expect("at least one polynomial");
    let levels =
        |x: &Account| sign.levels() - first.levels() + params.books().polynomial_levels(x, first);
    let needed = levels(&a.account(x));
    let Some(x) = automatic::ready(a, op, x, needed + 1)? else { return Ok(Ready::InParts) };
    let account = a.account(&x);
    let level = account.level - levels(&account);
    let scale = params.scale() * params.divisor(level) / account.meta.scale;
    Ok(Ready::Whole { x, scale, level })
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
    let params = a.params();
    check_domain(op, &a.account(x).meta.bounds, -sign.radius(), sign.radius())?;
    let refreshed = automatic::ready(a, op, x, sign.levels())?;
    let meta = a.account(refreshed.as_deref().unwrap_or(x)).meta;
    let unit = Interval::real(-1.0, 1.0)?;
    let mut y = refreshed.as_deref().unwrap_or(x).clone();
    let count = sign.degrees().len();
    for (i, p) in sign.polynomials(kind).enumerate() {
        let last = i + 1 == count;
        y = within(a, a.polynomial(&y, p, last.then_some(scale))?, unit);
    }
    let largest = 1.0 + sign.error();
    let range = match kind {
        Kind::Sign => Interval::real(-largest, largest)?,
        Kind::Step => Interval::real(0.5 - 0.5 * largest, 0.5 + 0.5 * largest)?,
    };
    // What the polynomials predict one by one averages over arguments that do not occur.
    let input = meta.noise.total / meta.scale.powi(2);
    let rounding = mlwe::noise::rounding(params.lattice()) / params.scale().powi(2);
    let mut total = sign.sensitivity(kind).variance(input, rounding) * scale.powi(2);
    let of_y = a.account(&y).meta;
    if refreshed.is_none() {
        // What was refreshed on the way brought noise of its own.
        total = total.max(of_y.noise.total);
    }
    let noise = Noise { total, ..of_y.noise };
    let meta = Meta { bounds: Bounds::all(range), noise, ..of_y };
    Ok(a.restated(y, meta))
}

/// A range, and the error that an approximate magnitude adds to it.
fn widened(bounds: Bounds, sign: &Sign) -> Bounds {
    let error = sign.magnitude_error();
    bounds.map(|range| Interval::between(range.lo() - error, range.hi() + error))
}
