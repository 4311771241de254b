//! The largest effect of errors on the result of EvalMod, over all expected `x`.
//!
//! **The operand.** With the angle `A u`, `A = 2 pi width`, and `n = 2^r`, the sine is `T_n(c)` for
//! `c = p(u)`, `|p(u) - cos(A u / n)| <= e`, and a derivative of `p` within `e'` of that of the
//! cosine. From `T_n' = n U_{n-1}`, and `|U_{n-1}'| <= n^3 / 3`,
//!
//! ```text
//! |dT_n(c) / du| <= A |cos(2 pi x)| + n^2 e' + n^4 / 3 e (A / n + e').
//! ```
//!
//! With an arcsine the product of `|cos(2 pi x)|` and its slope at `sin(2 pi x)` is bounded on
//! small parts of the distances from an integer.
//!
//! **The roundings.** Their sum of squares `sum_i D_i(x)^2 / S_i^2` is bounded by branch and
//! bound over the intervals about the integers. A cell has a bound by that of the cosine's
//! polynomial, times the largest factor `16 c^2` of each double angle, with the interval of `c`.

use std::f64::consts::TAU;

use super::Mod1;
use super::apply::Scales;
use crate::approx::certify::range_within;
use crate::chebyshev::Chebyshev;
use crate::polynomial::{Cell, Sensitivity, largest};

/// Parts of the distances from an integer, for the slope of the arcsine.
const PARTS: usize = 32;

/// The excess of the bound on the slope of the arcsine, which is near 1.
const SLOPE_EXCESS: f64 = 1e-3;

/// Room for a cosine that slightly exceeds 1.
const BEYOND: f64 = 1.01;

impl Mod1 {
    /// A bound on the sensitivity over all expected `x`, also those between the points of which
    /// [`mean_sensitivity`](Self::mean_sensitivity) is the mean.
    pub fn largest_sensitivity(&self) -> Sensitivity {
        let squares = self.largest_squares.get_or_init(|| self.largest_steps(&self.plain_scales()));
        Sensitivity { input: self.largest_slope, steps: squares.sqrt() }
    }

    /// A bound on the derivative of the result by the operand over all expected `x`.
    pub(super) fn steepest(&self) -> f64 {
        let (angle, n) = (TAU * self.width(), 2f64.powi(self.doublings as i32));
        let (e, inner) = (self.cosine_error, angle / n);
        let slope = Chebyshev::cosine_slope_error(inner, self.degree());
        let slack = n * n * slope + BEYOND * n.powi(4) / 3.0 * e * (inner + slope);
        let Some(arcsine) = self.arcsine_polynomial() else { return angle + slack };
        let derivative = arcsine.derivative();
        let beyond = BEYOND * self.sine_error();
        let part = |i: usize| {
            let [near, far] = [i, i + 1].map(|i| TAU * self.message() * i as f64 / PARTS as f64);
            let (lo, hi) = ((near.sin() - beyond).max(-1.0), (far.sin() + beyond).min(1.0));
            let (least, most) = range_within(&derivative, lo, hi, SLOPE_EXCESS);
            (angle * near.cos() + slack) * most.max(-least)
        };
        (0..PARTS).map(part).fold(0.0, f64::max)
    }

    /// A bound on the sum `sum_i D_i(x)^2 / S_i^2` over all expected `x`.
    pub(super) fn largest_steps(&self, scales: &Scales) -> f64 {
        let of_cosine = self.cosine.largest_steps(&scales.cosine);
        let of_arcsine = self.arcsine().zip(scales.arcsine.as_ref()).map(|(plan, steps)| {
            let p = self.arcsine_polynomial().expect("it has a plan");
            (plan, steps, p.largest_slope(), plan.largest_steps(steps))
        });
        let over = |ends: [f64; 2]| {
            // Step 2: the cosine of the divided angle.
            let plan = &self.cosine;
            let [lo, hi] = ends.map(|x| x / self.width() - self.shift());
            let cell = Cell::new(lo, hi);
            let squares = cell.ends.map(|u| plan.derivatives_by(u, &scales.cosine).1);
            let mut sum = cell.most_squares(plan, of_cosine, squares);
            let values = cell.ends.map(|u| plan.eval(u).re);
            let mut c = cell.range(self.degree(), 1.0 + self.cosine_error, values);
            // Step 3: double angles.
            for rounding in &scales.doubled {
                let [least, most] = squared(c);
                sum = 16.0 * most * sum + rounding;
                c = [2.0 * least - 1.0, 2.0 * most - 1.0];
            }
            // Step 4: the arcsine.
            if let Some((plan, steps, steepest, largest)) = of_arcsine {
                let cell = Cell::new(c[0], c[1]);
                let [x, y] = cell.ends.map(|c| plan.derivatives_by(c, steps));
                let degree = plan_degree(self);
                let slope = cell.most(degree, steepest, [x.0.norm(), y.0.norm()]);
                sum = slope * slope * sum + cell.most_squares(plan, largest, [x.1, y.1]);
            }
            Sensitivity { input: 0.0, steps: sum.sqrt() }
        };
        let at = |x| Sensitivity { input: 0.0, ..self.sensitivity_with(scales, x) };
        largest(self.cells(), at, over).steps.powi(2)
    }

    /// The expected `x`: both sides of every integer.
    fn cells(&self) -> impl Iterator<Item = [f64; 2]> {
        let (bound, message) = (self.bound(), self.message());
        let last = bound.ceil() as i64;
        let about = move |integer: i64| {
            let x = integer as f64;
            [[x - message, x], [x, x + message]].map(|ends| ends.map(|x| x.clamp(-bound, bound)))
        };
        (-last..=last).flat_map(about).filter(|[lo, hi]| lo < hi)
    }
}

fn squared([lo, hi]: [f64; 2]) -> [f64; 2] {
    let (x, y) = (lo * lo, hi * hi);
    [if lo < 0.0 && hi > 0.0 { 0.0 } else { x.min(y) }, x.max(y)]
}

fn plan_degree(mod1: &Mod1) -> usize {
    mod1.arcsine_polynomial().map_or(0, Chebyshev::degree)
}

#[cfg(test)]
mod tests {
    use super::super::{Arcsine, Mod1Spec};
    use super::*;
    use crate::tests::common::mod1_spec;

    fn plans() -> Vec<Mod1> {
        let arcsine = |degree, message| Some(Arcsine { degree, message });
        let spec = |weight, arcsine, early_bits| {
            let spare = weight as usize % 3;
            Mod1Spec { log2_error: -30.0, arcsine, spare, early_bits, ..mod1_spec(weight as usize) }
        };
        let specs = [
            spec(8, None, [0, 0]),
            spec(32, None, [0, 0]),
            spec(192, None, [9, 3]),
            spec(32, arcsine(3, 0.02), [0, 0]),
            spec(64, arcsine(7, 0.033), [12, 6]),
            spec(32, arcsine(15, 0.1), [6, 2]),
            spec(34, arcsine(31, 0.2), [0, 0]),
        ];
        specs.iter().map(|spec| Mod1::new(spec).unwrap()).collect()
    }

    /// No `x` about any integer exceeds the bounds, which are near.
    #[test]
    fn largest_sensitivities_are_bounds() {
        for plan in plans() {
            let bound = plan.largest_sensitivity();
            let mut found = Sensitivity { input: 0.0, steps: 0.0 };
            for [lo, hi] in plan.cells() {
                let at = |i: i32| plan.sensitivity(lo + (hi - lo) * f64::from(i) / 200.0);
                found = (0..=200).map(at).fold(found, Sensitivity::max);
            }
            assert!(found.input <= bound.input && bound.input <= 1.15 * found.input);
            assert!(found.steps <= bound.steps && bound.steps <= 1.15 * found.steps);
            // The mean over integers is far below the rare ones.
            assert!(plan.mean_sensitivity().steps <= bound.steps);
        }
    }
}
