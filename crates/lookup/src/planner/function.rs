//! The functions of requests, with their known properties.

use std::{fmt, ops::RangeInclusive, sync::Arc};

use bellerophon_circuits::approx::{Function, Known};
use bellerophon_ckks as ckks;
use bellerophon_lwe as lwe;
use bellerophon_ring::Result;

use crate::error;

/// Intervals between the points at which a slope is estimated.
const SLOPE_POINTS: usize = 1 << 14;

/// The factor by which an estimated slope is enlarged.
const SLOPE_ROOM: f64 = 1.25;

/// Intervals in which jumps are searched: a change by more than a quarter of the spread within one
/// interval counts as a jump.
const JUMP_POINTS: usize = 1 << 14;

/// Bisections that locate a jump within its interval.
const HALVINGS: usize = 24;

/// Intervals between the points at which a closure is sampled.
const SAMPLES: usize = 1 << 16;

/// A function to be applied to every value, with the properties that certify or measure its error.
///
/// | constructor | error of a polynomial or series |
/// | --- | --- |
/// | [`from`](Self::from) a [`Function`] of the library or with a bound on ellipses | certified |
/// | [`lipschitz`](Self::lipschitz): a closure and a bound on its slope | certified |
/// | [`closure`](Self::closure): a closure only | measured |
/// | [`relu`](Self::relu), [`abs`](Self::abs), [`sign`](Self::sign) | certified, also composed |
/// | [`table`](Self::table): entries for the integers below `p` | noise only |
#[derive(Clone)]
pub struct MapFunction {
    pub(crate) shape: Shape,
    jumps: Vec<f64>,
    gap: f64,
}

/// The kind of a function.
#[derive(Clone)]
pub(crate) enum Shape {
    General(Function),
    /// Known only by its values.
    Sampled(Function),
    Relu,
    Abs,
    Sign,
    /// Entries for the integers below their number.
    Table(Arc<[f64]>),
}

impl MapFunction {
    /// The name of a closure without one.
    pub(crate) const CLOSURE: &'static str = "closure";

    /// A closure with a bound on its slope.
    pub fn lipschitz(
        name: &str,
        slope: f64,
        f: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self::of(Shape::General(Function::lipschitz(name, f, slope)))
    }

    /// A closure without known properties. Errors of polynomials and series are measured at
    /// thousands of points, and predictions are marked accordingly.
    pub fn closure(name: &str, f: impl Fn(f64) -> f64 + Send + Sync + 'static) -> Self {
        Self::of(Shape::Sampled(Function::sampled(name, f)))
    }

    /// `max(x, 0)`.
    pub fn relu() -> Self {
        Self::of(Shape::Relu)
    }

    /// `|x|`.
    pub fn abs() -> Self {
        Self::of(Shape::Abs)
    }

    /// The sign, -1 or 1, for values at least `gap` away from zero. The error for values nearer to
    /// zero is not bounded.
    pub fn sign(gap: f64) -> Self {
        Self { jumps: vec![0.0], gap: gap.abs(), ..Self::of(Shape::Sign) }
    }

    /// `entries[k]` for integers `k` from 0 to `p - 1`, where `p` is the number of entries.
    pub fn table(entries: impl Into<Arc<[f64]>>) -> Self {
        Self::of(Shape::Table(entries.into()))
    }

    fn of(shape: Shape) -> Self {
        Self { shape, jumps: vec![], gap: 0.0 }
    }

    /// Samples a closure at 65537 points of a range, with cubic interpolation in between.
    pub(crate) fn read(f: &dyn Fn(f64) -> f64, lo: f64, hi: f64) -> Result<Self> {
        let step = (hi - lo) / SAMPLES as f64;
        let at = |i: usize| (lo + i as f64 * step).min(hi);
        let values: Vec<f64> = (0..=SAMPLES).map(|i| f(at(i))).collect();
        if let Some(i) = values.iter().position(|y| !y.is_finite()) {
            return Err(lwe::error::not_finite(at(i)));
        }
        Ok(Self::closure(Self::CLOSURE, move |x| cubic(&values, (x - lo) / step)))
    }

    /// The name.
    pub(crate) fn name(&self) -> &str {
        match &self.shape {
            Shape::General(f) | Shape::Sampled(f) => f.name(),
            Shape::Relu => "ReLU",
            Shape::Abs => "|x|",
            Shape::Sign => "sign(x)",
            Shape::Table(_) => "table",
        }
    }

    /// The value at `x`.
    pub fn value(&self, x: f64) -> f64 {
        match &self.shape {
            Shape::General(f) | Shape::Sampled(f) => f.value(x),
            Shape::Relu => x.max(0.0),
            Shape::Abs => x.abs(),
            Shape::Sign if x == 0.0 => 0.0,
            Shape::Sign => x.signum(),
            Shape::Table(entries) => {
                let last = entries.len().saturating_sub(1);
                entries.get((x.round().max(0.0) as usize).min(last)).copied().unwrap_or(f64::NAN)
            }
        }
    }

    /// The function for polynomials and series, where it is continuous.
    pub(crate) fn continuous(&self) -> Option<Function> {
        match &self.shape {
            Shape::General(f) | Shape::Sampled(f) => Some(f.clone()),
            Shape::Relu => Some(Function::lipschitz("ReLU", |x| x.max(0.0), 1.0)),
            Shape::Abs => Some(Function::lipschitz("|x|", f64::abs, 1.0)),
            Shape::Sign | Shape::Table(_) => None,
        }
    }

    /// As [`continuous`](Self::continuous), with a bound on the slope. For a function known only by
    /// its values, the bound is estimated on the domain.
    pub(crate) fn bounded(&self, lo: f64, hi: f64) -> Option<Function> {
        let Shape::Sampled(f) = &self.shape else { return self.continuous() };
        let step = (hi - lo) / SLOPE_POINTS as f64;
        let values: Vec<f64> =
            (0..=SLOPE_POINTS).map(|i| f.value((lo + i as f64 * step).min(hi))).collect();
        let slopes = values.windows(2).map(|pair| (pair[1] - pair[0]).abs() / step);
        // A constant needs a positive slope.
        let slope = slopes.fold(f64::MIN_POSITIVE, f64::max);
        let g = f.clone();
        Some(Function::lipschitz(f.name(), move |x| g.value(x), SLOPE_ROOM * slope))
    }

    /// Whether errors are certified, not measured.
    pub(crate) fn is_certified(&self) -> bool {
        !matches!(self.shape, Shape::Sampled(_))
    }

    /// Whether the values at the cells of a table bound the function between them.
    pub(crate) fn is_certified_by_cells(&self) -> bool {
        matches!(self.shape, Shape::Relu | Shape::Abs | Shape::Sign | Shape::Table(_))
    }

    /// The first declared jump inside a domain; for a function known only by its values, otherwise
    /// a jump found by sampling.
    pub(crate) fn jump(&self, lo: f64, hi: f64) -> Option<f64> {
        let declared = self.jumps.iter().copied().find(|&place| lo < place && place < hi);
        declared.or_else(|| {
            let Shape::Sampled(f) = &self.shape else { return None };
            steepest_jump(|x| f.value(x), lo, hi)
        })
    }

    /// Refuses jumps and gaps that are not finite, and domains beyond the entries of a table.
    pub(crate) fn check(&self, domain: &RangeInclusive<f64>) -> Result<()> {
        // Jumps and the gap around them.
        if !self.gap.is_finite() || self.jumps.iter().any(|place| !place.is_finite()) {
            let what = "a jump, or the gap around jumps,";
            return Err(ckks::error::not_a_number(what));
        }
        // A table covers the integers of its entries only.
        if let Shape::Table(entries) = &self.shape {
            let most = entries.len() as f64 - 1.0;
            if *domain.start() < 0.0 || *domain.end() > most {
                let (range, domain) = (domain.clone(), 0.0..=most);
                return Err(error::outside_domain(range, domain));
            }
        }
        Ok(())
    }

    /// Whether a value may lie at `x`, on a grid with cells of width `step`.
    pub(crate) fn admits(&self, x: f64, step: f64) -> bool {
        match &self.shape {
            Shape::Table(_) => (x - x.round()).abs() <= step,
            _ => self.jumps.iter().all(|place| (x - place).abs() >= self.gap),
        }
    }

    /// The distance that values keep from a jump.
    pub(crate) fn gap(&self) -> f64 {
        self.gap
    }
}

/// The jump of a function: it changes by more than a quarter of its spread between two neighbours
/// of [`JUMP_POINTS`].
fn steepest_jump(f: impl Fn(f64) -> f64, lo: f64, hi: f64) -> Option<f64> {
    let at = |i: usize| lo + (hi - lo) * (i as f64 / JUMP_POINTS as f64);
    // Step 1: the interval with the largest change.
    let values: Vec<f64> = (0..=JUMP_POINTS).map(|i| f(at(i))).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let change = |i: &usize| (values[i + 1] - values[*i]).abs();
    let steepest = (0..JUMP_POINTS).max_by(|i, j| change(i).total_cmp(&change(j)))?;
    if change(&steepest) <= 0.25 * (most - least) {
        return None;
    }
    // Step 2: bisection: the half that changes more holds the jump.
    let (mut left, mut right) = (at(steepest), at(steepest + 1));
    for _ in 0..HALVINGS {
        let middle = 0.5 * (left + right);
        match (f(middle) - f(left)).abs() > (f(right) - f(middle)).abs() {
            true => right = middle,
            false => left = middle,
        }
    }
    Some(0.5 * (left + right))
}

/// The Catmull-Rom spline through values at `0, 1, 2, ..`.
fn cubic(values: &[f64], place: f64) -> f64 {
    let last = values.len() - 1;
    let place = place.clamp(0.0, last as f64);
    let i = (place as usize).min(last - 1);
    let t = place - i as f64;
    let at = |k: usize| values[k.min(last)];
    let (b, c) = (at(i), at(i + 1));
    // Linear continuation past the ends.
    let a = if i == 0 { 2.0 * b - c } else { at(i - 1) };
    let d = if i + 2 > last { 2.0 * c - b } else { at(i + 2) };
    let (linear, square, cube) =
        (0.5 * (c - a), a - 2.5 * b + 2.0 * c - 0.5 * d, 1.5 * (b - c) + 0.5 * (d - a));
    b + t * (linear + t * (square + t * cube))
}

impl From<Function> for MapFunction {
    fn from(f: Function) -> Self {
        match f.is_sampled() {
            true => Self::of(Shape::Sampled(f)),
            false => Self::of(Shape::General(f)),
        }
    }
}

impl From<Known> for MapFunction {
    fn from(known: Known) -> Self {
        Function::from(known).into()
    }
}

impl fmt::Debug for MapFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapFunction").field("name", &self.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closure_that_is_read_is_the_closure() {
        let read = MapFunction::read(&|x: f64| x.sin(), -4.0, 4.0).unwrap();
        for i in 0..1000 {
            let x = -4.0 + 8.0 * f64::from(i) / 999.0;
            assert!((read.value(x) - x.sin()).abs() < 1e-9, "{x}");
        }
        let refused = MapFunction::read(&|x: f64| 1.0 / x, -1.0, 1.0);
        assert!(refused.is_err_and(|error| error.to_string().contains('0')));
    }

    #[test]
    fn jumps_are_declared_or_seen() {
        assert_eq!(MapFunction::sign(0.1).jump(-1.0, 1.0), Some(0.0));
        assert_eq!(MapFunction::sign(0.1).jump(0.5, 1.0), None);
        let seen = MapFunction::closure("step", |x| if x < 0.3 { 0.0 } else { 1.0 });
        assert!((seen.jump(-1.0, 1.0).unwrap() - 0.3).abs() < 1e-6);
        assert_eq!(MapFunction::closure("relu", |x: f64| x.max(0.0)).jump(-1.0, 1.0), None);
        assert_eq!(MapFunction::closure("tanh", f64::tanh).jump(-8.0, 8.0), None);
        let table = MapFunction::table([3.0, 1.0, 2.0]);
        assert_eq!([-0.4, 0.2, 1.4, 9.0].map(|x| table.value(x)), [3.0, 3.0, 1.0, 2.0]);
    }
}
