//! The scales of the powers of a plan.

use std::collections::BTreeMap;

use bellerophon_ckks::Params;

use super::plan::{Plan, power_depth};

/// Largest drift of the scale of a basis polynomial from the scale of the input, in bits: precision
/// is lost or gained by as much.
pub(super) const MAX_DRIFT: f64 = 8.0;

/// The scale of every basis polynomial of a plan for an argument at this level and scale.
pub(super) fn power_scales(
    params: &Params,
    plan: &Plan,
    level: usize,
    scale: f64,
) -> BTreeMap<usize, f64> {
    let mut scales = BTreeMap::from([(1, scale)]);
    for p in &plan.powers {
        let divisor = params.divisor(level + 1 - power_depth(p.index()));
        scales.insert(p.index(), scales[&p.a] * scales[&p.b] / divisor);
    }
    scales
}

/// The largest drift of a scale from that of the argument, in bits; infinite without the levels.
pub(crate) fn drift(params: &Params, plan: &Plan, level: usize, scale: f64) -> f64 {
    if plan.depth() > level || level > params.max_level() {
        return f64::INFINITY;
    }
    let scales = power_scales(params, plan, level, scale);
    scales.values().map(|s| (s / scale).log2().abs()).fold(0.0, f64::max)
}
