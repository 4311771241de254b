//! The effect of the roundings of a polynomial evaluation, each at its own scale: at one argument,
//! and a bound for all of them.

use std::{collections::BTreeMap, f64::consts::PI};

use super::plan::Intermediate;
use super::scales::power_scales;
use super::sums::SumShape;
use super::worst::formal_degree;
use super::{Basis, Node, Plan};
use bellerophon_ckks::{Complex64, Params};

/// Points per degree: a largest sum of squares between them is at most 8.3% larger.
const POINTS: usize = 8;

/// The scales of all intermediate results of one evaluation.
#[derive(Clone, PartialEq)]
pub(crate) struct Steps {
    powers: BTreeMap<usize, f64>,
    /// Of the nodes; a node comes before its quotients.
    pub(crate) nodes: Vec<f64>,
}

impl Steps {
    pub(crate) fn new(params: &Params, plan: &Plan, level: usize, scale: f64, result: f64) -> Self {
        let powers = power_scales(params, plan, level, scale);
        let mut nodes = vec![];
        if plan.depth() > 0 {
            collect(params, level, &powers, &plan.root, result, &mut nodes);
        }
        Self { powers, nodes }
    }

    /// Scales given for the powers, and 1 for the nodes.
    pub(crate) fn given(plan: &Plan, of_power: impl Fn(usize) -> f64) -> Self {
        let powers = plan.powers.iter().map(|p| (p.index(), of_power(p.index()))).collect();
        let mut nodes = vec![];
        plan.backward(0.0.into(), |intermediate, _| {
            nodes.extend((intermediate == Intermediate::Node).then_some(1.0));
        });
        Self { powers, nodes }
    }

    /// The scale of a power; none of a plan without levels.
    pub(crate) fn of_power(&self, index: usize) -> Option<f64> {
        self.powers.get(&index).copied()
    }
}

/// Appends the scale of a node and of all nodes below it.
fn collect(
    params: &Params,
    level: usize,
    powers: &BTreeMap<usize, f64>,
    node: &Node,
    scale: f64,
    scales: &mut Vec<f64>,
) {
    scales.push(scale);
    let SumShape { target, .. } = SumShape::of(params, level, node, scale);
    for (quotient, m) in &node.products {
        collect(params, level, powers, quotient, target / powers[m], scales);
    }
}

impl Plan {
    /// The derivative of the value by the argument at `u`, and the sum over all intermediate
    /// results of `|derivative by it|^2 / scale^2`. That sum times the variance of a rounding in a
    /// slot is the variance of the value.
    pub(crate) fn derivatives_by(
        &self,
        u: impl Into<Complex64>,
        steps: &Steps,
    ) -> (Complex64, f64) {
        let (mut sum, mut nodes) = (0.0, steps.nodes.iter());
        let derivative = self.backward(u.into(), |intermediate, square| {
            let scale = match intermediate {
                Intermediate::Node => nodes.next(),
                Intermediate::Power(index) => steps.powers.get(&index),
            };
            // A plan without levels rounds nothing.
            sum += scale.map_or(0.0, |scale| square / (scale * scale));
        });
        (derivative, sum)
    }

    /// A bound on the sum of [`derivatives_by`](Self::derivatives_by) over the interval `[-1, 1]`
    /// of the Chebyshev basis, or the unit circle of the monomial basis.
    pub(crate) fn largest_steps(&self, steps: &Steps) -> f64 {
        let sum = |u: Complex64| self.derivatives_by(u, steps).1;
        match self.basis {
            Basis::Chebyshev => self.largest_over(|a| a.cos().into(), sum),
            Basis::Monomial => self.largest_over(|a| Complex64::cis(2.0 * a), sum),
        }
    }

    /// A bound on a sum of squared moduli of derivatives by intermediate results over the arguments
    /// `place(a)`, `0 <= a <= pi`: an interval in the form `middle + radius cos(a)`, or a circle
    /// about zero with the angle `2 a`.
    ///
    /// For a plan of degree `d`, the sum is a trigonometric polynomial of `a` of degree `2 d`, or
    /// of `2 a` of degree `d`. One of degree `D` stays above `cos(D e)` times its maximum within a
    /// distance `e` of it (M. Riesz). Samples at the distance `pi / n` miss it by a factor of at
    /// most `cos(pi d / n)`.
    pub(super) fn largest_over(
        &self,
        place: impl Fn(f64) -> Complex64,
        sum: impl Fn(Complex64) -> f64,
    ) -> f64 {
        let degree = formal_degree(&self.root);
        let count = POINTS * (degree + 1);
        let samples = (0..=count).map(|i| sum(place(PI * i as f64 / count as f64)));
        samples.fold(0.0, f64::max) / (PI * degree as f64 / count as f64).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chebyshev::Chebyshev,
        polynomial::{Monomial, Polynomial},
    };
    use bellerophon_ckks::Interval;

    fn params() -> Params {
        use bellerophon_ckks::{LevelGroup, ModulusChain, ParamsSpec, Security};
        let levels = vec![LevelGroup::single(45, 6)];
        let chain = ModulusChain { degree: 1 << 9, first_bits: 55, levels, special: (50, 2) };
        Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap()
    }

    fn dense(degree: usize) -> Vec<f64> {
        (0..=degree).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect()
    }

    /// The largest of 10^5 sums over an interval.
    fn seen(lo: f64, hi: f64, sum: impl Fn(f64) -> f64) -> f64 {
        (0..=100_000).map(|i| sum(lo + (hi - lo) * f64::from(i) / 1e5)).fold(0.0, f64::max)
    }

    #[track_caller]
    fn check(seen: f64, bound: f64) {
        assert!(seen <= bound && bound <= 1.1 * seen, "{seen:e} {bound:e}");
    }

    /// No argument exceeds the largest effect of the roundings, which is near.
    #[test]
    fn largest_steps_are_bounds() {
        let params = params();
        let (level, scale) = (6, params.scale());
        for degree in [1, 4, 7, 18, 31, 45] {
            let plan = Plan::new(&Chebyshev::new(-1.0, 1.0, dense(degree)));
            let steps = Steps::new(&params, &plan, level, scale, scale);
            let found = seen(-1.0, 1.0, |u| plan.derivatives_by(u, &steps).1);
            check(found, plan.largest_steps(&steps));
            let c: Vec<_> = dense(degree).iter().map(|&c| Complex64::cis(7.0 * c) * c).collect();
            let plan = Plan::monomial(&c);
            let steps = Steps::new(&params, &plan, level, scale, scale);
            let sum = |a: f64| plan.derivatives_by(Complex64::cis(a), &steps).1;
            let found = seen(0.0, 2.0 * PI, sum);
            check(found, plan.largest_steps(&steps));
        }
    }

    /// The same for polynomials, whose largest sensitivities are prepared or taken from the range.
    #[test]
    fn largest_sensitivities_are_bounds() {
        let unit = Interval::between(-1.0, 1.0);
        let meta = bellerophon_ckks::CiphertextMeta {
            scale: 1.0,
            slots: 2,
            len: 2,
            bounds: bellerophon_ckks::Bounds::all(unit),
            noise: bellerophon_ckks::noise::Noise::NONE,
        };
        for degree in [7, 45, 127] {
            let p = Polynomial::new(Chebyshev::new(-1.0, 1.0, dense(degree)));
            let found = seen(-1.0, 1.0, |u| p.plan.sensitivity(u).steps);
            check(found, p.response(&meta).peak.steps);
        }
        for degree in [3, 18] {
            let p = Monomial::new(&dense(degree)).unwrap();
            let peak = p.response(&meta).peak;
            check(seen(-1.0, 1.0, |x| p.plan.sensitivity(x).steps), peak.steps);
            check(seen(-1.0, 1.0, |x| p.plan.sensitivity(x).input.abs()), peak.input);
        }
        // The steepest argument, 0, is none of the points of a mean over this range.
        let p = Monomial::new(&[0.0, 1.0, 0.0, -1.0 / 3.0]).unwrap();
        let meta = bellerophon_ckks::CiphertextMeta {
            bounds: bellerophon_ckks::Bounds::all(Interval::between(-1.0, 0.9)),
            ..meta
        };
        check(1.0, p.response(&meta).peak.input);
    }
}
