//! Evaluation of a plan (Paterson and Stockmeyer): the powers, then the nodes, quotients first.
//! Phases only; the callers have the metadata.

use std::borrow::Cow;

use bellerophon_ckks::{Ciphertext, Evaluator, Result};
use bellerophon_mlwe as mlwe;

pub(crate) use super::sums::add_constant;
use super::sums::{LinearSums, Powers, SumShape, weighted_sums};
use super::{Basis, Node, Plan, power_depth};

/// Steps 2 and 3: the phase of a plan of at least one level on `u`, whose slots are in `[-1, 1]`
/// and whose scale is near the divisor of its level.
pub(crate) fn evaluate_plan(
    e: &Evaluator,
    u: &Ciphertext,
    plan: &Plan,
    scale: f64,
) -> Result<mlwe::Ciphertext> {
    e.rules().check_levels(plan.depth(), u.level())?;
    let mut powers = Powers::from([(1, (u.lattice().clone(), u.scale()))]);
    extend_powers(e, u.level(), &mut powers, plan)?;
    sum_of_powers(e, u.level(), &powers, plan, scale)
}

/// Step 2: adds the missing powers of a plan to the basis polynomials of an argument at
/// `level`: `u^(a+b) = u^a u^b`, or `T_{a+b} = 2 T_a T_b - T_{|a-b|}`.
pub(crate) fn extend_powers(
    e: &Evaluator,
    level: usize,
    powers: &mut Powers,
    plan: &Plan,
) -> Result<()> {
    let params = e.params();
    for p in &plan.powers {
        if powers.contains_key(&p.index()) {
            continue;
        }
        // The product, at the level above that of the power.
        let here = level + 1 - power_depth(p.index());
        let limbs = params.limbs_at(here);
        let (a, a_scale) = &powers[&p.a];
        let (b, b_scale) = &powers[&p.b];
        let (a, b) = (at(a, limbs), at(b, limbs));
        let lattice = params.lattice();
        let mut product = match p.a == p.b {
            true => mlwe::Tensor::square(lattice, &a)?,
            false => mlwe::Tensor::product(lattice, &a, &b)?,
        };
        let scale = a_scale * b_scale;
        // T_{|a-b|} joins before the rescale, at the scale of the product; T_0 = 1 is a
        // constant.
        let mut constant = 0.0;
        if plan.basis == Basis::Chebyshev {
            product.double_assign(lattice)?;
            match powers.get(&p.difference()) {
                Some((c, c_scale)) => {
                    let c = weighted(e, limbs, c, -scale / c_scale)?;
                    product.add_ciphertext_assign(lattice, &c)?;
                }
                None => constant = -scale / params.divisor(here),
            }
        }
        // Relinearization and rescale in one mod-down.
        let mut next = e.relinearized_divided(product)?;
        if constant != 0.0 {
            add_constant(e, &mut next, constant)?;
        }
        // The rescale divides the scale by the prime of this level.
        powers.insert(p.index(), (next, scale / params.divisor(here)));
    }
    Ok(())
}

/// Step 3: the value of a plan from its powers, for an argument at `level`.
pub(crate) fn sum_of_powers(
    e: &Evaluator,
    level: usize,
    powers: &Powers,
    plan: &Plan,
    scale: f64,
) -> Result<mlwe::Ciphertext> {
    if plan.depth() == 0 {
        let (argument, _) = &powers[&1];
        let mut constant = weighted(e, argument.limbs(), argument, 0.0)?;
        add_constant(e, &mut constant, plan.root.constant * scale)?;
        return Ok(constant);
    }
    let mut sums = LinearSums::new(e.params(), level, powers, &plan.root, scale);
    node(e, level, powers, &mut sums, &plan.root, scale)
}

/// Step 3: the value of a node at the given scale, for an argument at `level`:
/// `sum_j q_j T_j + sum_i c_i T_i + constant`.
fn node(
    e: &Evaluator,
    level: usize,
    powers: &Powers,
    sums: &mut LinearSums<'_>,
    node: &Node,
    scale: f64,
) -> Result<mlwe::Ciphertext> {
    let SumShape { limbs, target } = SumShape::of(e.params(), level, node, scale);
    let lattice = e.params().lattice();
    // Products of quotients and powers, with one relinearization for all.
    let mut products: Option<mlwe::Tensor> = None;
    for (quotient, m) in &node.products {
        let (power, power_scale) = &powers[m];
        let quotient = self::node(e, level, powers, sums, quotient, target / power_scale)?;
        let product = mlwe::Tensor::product(lattice, &at(&quotient, limbs), &at(power, limbs))?;
        match &mut products {
            Some(sum) => sum.add_assign(lattice, &product)?,
            None => products = Some(product),
        }
    }
    // The linear terms join before the rescale.
    let linear = match node.terms.is_empty() {
        true => None,
        false => Some(sums.next(e, limbs, powers)?),
    };
    // Relinearize and rescale; then the constant.
    let mut sum = match (products, linear) {
        (Some(mut products), linear) => {
            if let Some(linear) = linear {
                products.add_ciphertext_assign(lattice, &linear)?;
            }
            e.relinearized_divided(products)?
        }
        (None, Some(linear)) => e.divided(linear)?,
        (None, None) => unreachable!("a node of a plan has products or terms"),
    };
    add_constant(e, &mut sum, node.constant * scale)?;
    Ok(sum)
}

/// `round(factor) x` modulo the first `limbs` primes.
pub(super) fn weighted(
    e: &Evaluator,
    limbs: usize,
    x: &mlwe::Ciphertext,
    factor: f64,
) -> Result<mlwe::Ciphertext> {
    let sums = weighted_sums(e, limbs, &[x], &[vec![(0, factor.into())]])?;
    Ok(sums.into_iter().next().expect("one sum"))
}

fn at(x: &mlwe::Ciphertext, limbs: usize) -> Cow<'_, mlwe::Ciphertext> {
    if x.limbs() == limbs {
        return Cow::Borrowed(x);
    }
    let mut low = x.clone();
    low.truncate(limbs).expect("operands have at least the limbs of their sum");
    Cow::Owned(low)
}
