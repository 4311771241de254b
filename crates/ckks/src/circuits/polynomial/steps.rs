//! The average effect of the roundings of a polynomial evaluation, each at its own scale.

use std::collections::BTreeMap;

use super::eval::power_scales;
use super::plan::Intermediate;
use super::sums::SumShape;
use super::{Node, Plan};
use crate::{Complex64, Params};

/// The scales of all intermediate results of one evaluation.
pub(crate) struct Steps {
    powers: BTreeMap<usize, f64>,
    /// Of the nodes; a node comes before its quotients.
    nodes: Vec<f64>,
}

impl Steps {
    /// The scales of an evaluation on an argument at a level and scale, for a result at a scale.
    pub(crate) fn new(
        params: &Params,
        plan: &Plan,
        (level, scale): (usize, f64),
        result: f64,
    ) -> Self {
        let powers = power_scales(params, plan, level, scale);
        let mut nodes = vec![];
        if plan.depth() > 0 {
            collect(params, level, &powers, plan.root(), result, &mut nodes);
        }
        Self { powers, nodes }
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
}
