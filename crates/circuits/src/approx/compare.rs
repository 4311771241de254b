//! Evaluation of sign, comparison, maximum, minimum and magnitude ([`CircuitOps::sign`] and those
//! after it).

use std::sync::Arc;

use bellerophon_ckks::eval::padding::inside;
use bellerophon_ckks::eval::statements::within;
use bellerophon_ckks::interval::check_domain;
use bellerophon_ckks::lengths::pair;
use bellerophon_ckks::noise::Noise;
use bellerophon_ckks::vectors::Operand;
use bellerophon_ckks::{Bounds, CiphertextMeta, CkksOps, Interval, Metadata, Result, refresh};
use bellerophon_mlwe as mlwe;

use super::apply::at_default_scale;
use super::sign::{Kind, Sign};
use crate::bootstrap::Bootstrapper;
use crate::polynomial::Sensitivity;
use crate::polynomial::eval::{polynomial, polynomial_levels};

/// The largest share of the modulus at the level of a result for its values.
const SHARE: f64 = 0.25;

fn larger(x: &Interval, y: &Interval) -> Interval {
    Interval::between(x.lo().max(y.lo()), x.hi().max(y.hi()))
}

fn magnitude(x: &Interval) -> Interval {
    let inside = x.lo() <= 0.0 && x.hi() >= 0.0;
    Interval::between(if inside { 0.0 } else { x.lo().abs().min(x.hi().abs()) }, x.bound())
}

pub(crate) fn sign<A: CkksOps>(a: &A, x: &A::Ciphertext, sign: &Sign) -> Result<A::Ciphertext> {
    signed(a, x, sign, Kind::Sign, a.params().scale())
}

/// 1 for positive slots and 0 for negative ones, at the default scale; see [`CircuitOps::step`].
pub(crate) fn step<A: CkksOps>(a: &A, x: &A::Ciphertext, sign: &Sign) -> Result<A::Ciphertext> {
    signed(a, x, sign, Kind::Step, a.params().scale())
}

/// `x sign(x)`; see [`CircuitOps::abs`].
pub(crate) fn abs<A: CkksOps>(a: &A, x: &A::Ciphertext, sign: &Sign) -> Result<A::Ciphertext> {
    let x = &*within_radius(a, x, sign)?;
    let of_x = a.metadata(x).meta;
    let mut range = of_x.bounds.map(magnitude);
    if of_x.len < of_x.slots {
        // A bootstrap clears the padding.
        range.padding = range.padding.hull(&Interval::ZERO);
    }
    let bounds = widened(range, sign);
    let product = match ready(a, x, sign, &bounds)? {
        Ready::Whole { x, scale, level, .. } => {
            let s = signed(a, &x, sign, Kind::Sign, scale)?;
            a.mul(&a.drop_to_level(&x, level)?, &s)?
        }
        Ready::InParts => {
            let s = signed(a, x, sign, Kind::Sign, a.params().scale())?;
            a.mul(x, &s)?
        }
    };
    let product = at_default_scale(a, product);
    let meta = CiphertextMeta { bounds, ..a.metadata(&product).meta };
    Ok(a.with_metadata(product, meta))
}

/// `max(x, y) = y + (x - y) step(x - y)`; see [`CircuitOps::max`].
pub(crate) fn max<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    y: &A::Ciphertext,
    sign: &Sign,
) -> Result<A::Ciphertext> {
    // The range of the maximum, which interval arithmetic on the product would lose.
    let (of_x, of_y) = (a.metadata(x).meta, a.metadata(y).meta);
    let range = pair(&of_x, &of_y, larger)?.bounds;
    stepped(a, &a.sub(x, y)?, Some(y), sign, range)
}

/// `max(x, 0) = x step(x)`; see [`CircuitOps::relu`].
pub(crate) fn relu<A: CkksOps>(a: &A, x: &A::Ciphertext, sign: &Sign) -> Result<A::Ciphertext> {
    let range = a.metadata(x).meta.bounds.map(|r| larger(r, &Interval::ZERO));
    stepped(a, x, None, sign, range)
}

/// `base + d step(d)` at the default scale, or near it. `range` leaves out the error.
fn stepped<A: CkksOps>(
    a: &A,
    d: &A::Ciphertext,
    base: Option<&A::Ciphertext>,
    sign: &Sign,
    mut range: Bounds,
) -> Result<A::Ciphertext> {
    let scale = a.params().scale();
    let d = &*within_radius(a, d, sign)?;
    let of_d = a.metadata(d).meta;
    if of_d.len < of_d.slots {
        // Padding may have moved, and bootstraps clear it: any part of it on either side.
        let part = |x: &A::Ciphertext| a.metadata(x).meta.bounds.padding.hull(&Interval::ZERO);
        range.padding = base.map_or(Interval::ZERO, part).add(&part(d));
    }
    let bounds = widened(range, sign);
    let sum = match ready(a, d, sign, &bounds)? {
        Ready::Whole { x: d, scale: factor, level, product } => {
            let step = signed(a, &d, sign, Kind::Step, factor)?;
            let d = a.drop_to_level(&d, level)?;
            // The base must not bring the product below its planned level.
            let base = base.map(|base| refresh::raised(a, base, level)).transpose()?;
            let terms: Vec<_> = base.as_deref().into_iter().map(|base| (base, 1.0)).collect();
            a.mul_add_many(&[(&d, &step)], &terms, 0.0, Some(product))?
        }
        Ready::InParts => {
            let step = signed(a, d, sign, Kind::Step, scale)?;
            let terms: Vec<_> = base.into_iter().map(|base| (base, 1.0)).collect();
            a.mul_add_many(&[(d, &step)], &terms, 0.0, None)?
        }
    };
    let meta = CiphertextMeta { bounds, ..a.metadata(&sum).meta };
    Ok(a.with_metadata(sum, meta))
}

/// The plan of a product of `x` with its sign.
enum Ready<'c, A: CkksOps> {
    /// From `x`, possibly bootstrapped, without another bootstrap. The sign has the scale `scale`,
    /// so that the product, at `level`, has the scale `product`: the default one, or less if the
    /// modulus of the result is too small.
    Whole { x: Operand<'c, A::Ciphertext>, scale: f64, level: usize, product: f64 },
    /// With bootstraps in between.
    InParts,
}

fn ready<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    sign: &Sign,
    bounds: &Bounds,
) -> Result<Ready<'c, A>> {
    let params = a.params();
    let first = sign.polynomials(Kind::Sign).next().expect("at least one polynomial");
    let levels =
        |x: &Metadata| sign.levels() - first.levels() + polynomial_levels(params.rules(), x, first);
    let needed = levels(&a.metadata(x));
    let Some(x) = refresh::ready(a, x, needed + 1)? else { return Ok(Ready::InParts) };
    let metadata = a.metadata(&x);
    let level = metadata.level - levels(&metadata);
    let modulus: f64 = (0..level).map(|level| params.divisor(level)).product();
    let product = params.scale().min(SHARE * modulus / bounds.slots().bound());
    let scale = product * params.divisor(level) / metadata.meta.scale;
    Ok(Ready::Whole { x, scale, level, product })
}

/// The composition of the polynomials of a sign or step, the last one at the given scale.
pub(crate) fn signed<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    sign: &Sign,
    kind: Kind,
    scale: f64,
) -> Result<A::Ciphertext> {
    signed_where(a, x, sign, kind, scale, None)
}

/// As [`signed`], for arguments whose errors it takes with at most the sensitivity `steepest`: the
/// bound on the noise counts that. Without one it counts the slopes inside the margin.
pub(crate) fn signed_where<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    sign: &Sign,
    kind: Kind,
    scale: f64,
    steepest: Option<Sensitivity>,
) -> Result<A::Ciphertext> {
    // Step 1: an operand within the domain, bootstrapped if its levels do not suffice.
    let values = Bounds::all(a.metadata(x).meta.bounds.values);
    check_domain(&values, -sign.radius, sign.radius)?;
    let bootstrapped = refresh::ready(a, x, sign.levels())?;

    // Step 2: every polynomial but the last maps into [-1, 1].
    let meta = a.metadata(bootstrapped.as_deref().unwrap_or(x)).meta;
    let unit = Interval::real(-1.0, 1.0)?;
    let mut y = bootstrapped.as_deref().unwrap_or(x).clone();
    let count = sign.degrees().len();
    for (i, p) in sign.polynomials(kind).enumerate() {
        let last = i + 1 == count;
        y = polynomial(a, &y, p, last.then_some(scale))?;
        if !last {
            y = within(a, y, unit);
        }
    }

    // Step 3: the range of the result.
    let largest = 1.0 + sign.error();
    let range = match kind {
        Kind::Sign => Interval::real(-largest, largest)?,
        Kind::Step => Interval::real(0.5 - 0.5 * largest, 0.5 + 0.5 * largest)?,
    };

    // Step 4: the noise: its mean over the arguments outside the margin, and the largest there. The
    // polynomials one by one average over their whole domains, where most arguments do not occur.
    let step = match bootstrapped {
        Some(_) => rounding(a),
        None => step_variance(a, &meta)?,
    };
    let of = |s: Sensitivity, v: f64| s.variance(v / meta.scale.powi(2), step) * scale.powi(2);
    let of_y = a.metadata(&y).meta;
    let mut total = of(sign.sensitivity(kind), meta.noise.total);
    if bootstrapped.is_none() {
        // A bootstrap in between has added its noise.
        total = total.max(of_y.noise.total);
    }
    let peak = of(sign.peak(kind), meta.noise.peak).max(total);
    let there = steepest.map_or(f64::INFINITY, |s| of(s, meta.noise.bound));
    let bound = of_y.noise.bound.min(there).max(peak);
    let noise = Noise { peak, bound, ..of_y.noise.with_mean(total) };
    let meta = CiphertextMeta { bounds: Bounds::all(range), noise, ..of_y };
    Ok(a.with_metadata(y, meta))
}

/// The variance of a rescale, in squares of the message at the default scale.
fn rounding<A: CkksOps>(a: &A) -> f64 {
    mlwe::noise::rounding(a.params().lattice()) / a.params().scale().powi(2)
}

/// The variance of a step of polynomials: of a rescale or an automatic bootstrap.
pub(crate) fn step_variance<A: CkksOps>(a: &A, x: &CiphertextMeta) -> Result<f64> {
    let Some(bootstrapper) = a.attached::<Arc<Bootstrapper>>().filter(|_| a.refreshes().is_some())
    else {
        return Ok(rounding(a));
    };
    let range = Bounds::all(Interval::real(-1.0, 1.0)?);
    let scale = a.params().scale();
    let exact = CiphertextMeta { scale, bounds: range, noise: Noise::NONE, ..*x };
    let level = bootstrapper.input_level();
    let bootstrapped = bootstrapper.bootstrapped(&Metadata { level, meta: exact })?.meta;
    Ok(rounding(a).max(bootstrapped.noise.excess / bootstrapped.scale.powi(2)))
}

/// `x` with its padding within the radius of a sign.
fn within_radius<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    sign: &Sign,
) -> Result<Operand<'c, A::Ciphertext>> {
    inside(a, x, &Interval::between(-sign.radius, sign.radius), sign.levels())
}

/// A range, widened by the error of an approximate magnitude.
fn widened(bounds: Bounds, sign: &Sign) -> Bounds {
    let error = sign.magnitude_error();
    bounds.map(|range| Interval::between(range.lo() - error, range.hi() + error))
}
