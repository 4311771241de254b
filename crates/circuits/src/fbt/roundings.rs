//! The effect of the roundings of a series at all entries of its table.
//!
//! In the monomial basis every intermediate result is a product of powers or a node. On the circle
//! the derivative of the value by a node is a power of `E`, of modulus 1. That by a power `E^i` is
//! a polynomial `D_i(E)`: constants times the powers that they are multiplied by, and for a factor
//! of a later power the derivative by that one times the other factor. A Fourier transform gives it
//! at all entries at once. A table of `p` entries has about `sqrt(p)` powers.

use std::sync::{Arc, Mutex, PoisonError};

use num_complex::Complex64;

use super::fourier::transform;
use crate::polynomial::{Node, Plan, Steps};

/// A polynomial in `E`: exponents with constants, in any order.
type Terms = Vec<(usize, Complex64)>;

/// The effects of roundings that are known, by the scales of the evaluation: all bootstraps of a
/// program have a few of them.
#[derive(Clone, Default)]
pub(super) struct Effects(Arc<Mutex<Vec<(Steps, Effect)>>>);

/// The effect of the roundings of a series on the variance of its value.
#[derive(Clone, Copy)]
pub(super) struct Effect {
    /// Averaged over the entries.
    pub mean: f64,
    /// At the entry where it is largest.
    pub largest: f64,
}

impl Effects {
    /// The effect for these scales, computed once.
    pub(super) fn of(&self, plan: &Plan, steps: &Steps, count: usize) -> Effect {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, effect)) = known.iter().find(|(of, _)| of == steps) {
            return *effect;
        }
        let sums = at_entries(plan, steps, count);
        let mean = sums.iter().sum::<f64>() / count as f64;
        let effect = Effect { mean, largest: sums.into_iter().fold(0.0, f64::max) };
        known.push((steps.clone(), effect));
        effect
    }
}

/// The sums of [`Plan::derivatives_by`] at `exp(2 pi i k / count)`, in the monomial basis.
fn at_entries(plan: &Plan, steps: &Steps, count: usize) -> Vec<f64> {
    // Nodes: modulus 1.
    let nodes: f64 = steps.nodes.iter().map(|scale| scale.powi(-2)).sum();
    let mut sums = vec![nodes; count];
    // The direct uses of the powers, then the recurrence of the powers, the last one first.
    let last = plan.powers.last().map_or(1, |p| p.index());
    let mut derivatives: Vec<Terms> = vec![vec![]; last + 1];
    direct(&plan.root, 0, &mut derivatives);
    for p in plan.powers.iter().rev() {
        let Some(scale) = steps.of_power(p.index()) else { continue };
        // At these points E^j depends on j modulo `count`.
        let mut folded = vec![Complex64::ZERO; count];
        let terms = std::mem::take(&mut derivatives[p.index()]);
        terms.into_iter().for_each(|(j, c)| folded[j % count] += c);
        for (to, other) in [(p.a, p.b), (p.b, p.a)] {
            let terms = folded.iter().enumerate().filter(|(_, c)| **c != Complex64::ZERO);
            derivatives[to].extend(terms.map(|(j, &c)| (j + other, c)));
        }
        transform(&mut folded);
        sums.iter_mut().zip(&folded).for_each(|(sum, d)| *sum += d.norm_sqr() / (scale * scale));
    }
    sums
}

/// Adds the uses of powers in a node, whose value is multiplied by `E^factor`, and below it.
fn direct(node: &Node, factor: usize, derivatives: &mut [Terms]) {
    for &(i, c) in &node.terms {
        derivatives[i].push((factor, c));
    }
    for (quotient, m) in &node.products {
        value(quotient, factor, &mut derivatives[*m]);
        direct(quotient, factor + m, derivatives);
    }
}

/// Adds the value of a node times `E^factor`.
fn value(node: &Node, factor: usize, sum: &mut Terms) {
    sum.push((factor, node.constant));
    sum.extend(node.terms.iter().map(|&(i, c)| (factor + i, c)));
    for (quotient, m) in &node.products {
        value(quotient, factor + m, sum);
    }
}
