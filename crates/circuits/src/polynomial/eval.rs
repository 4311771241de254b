//! A polynomial of a vector: [`OfPolynomial`].
//!
//! ```text
//! Step 1:  u = the argument mapped from the domain onto [-1, 1]
//! Step 2:  T_i(u), or u^i, for every power of the plan
//! Step 3:  the nodes of the plan, quotients first (Paterson and Stockmeyer)
//! ```
//!
//! Scales are exact: the result is computed at a given scale, and every constant and every quotient
//! at the scale at which its product meets the other terms of the sum. For a node at the scale `s`
//! after the rescale by `q`, the sum has the scale `s q`: a term `c T_i` multiplies by the integer
//! `round(c s q / scale(T_i))`, and a product `q_j T_j` takes the quotient at `s q / scale(T_j)`.

use bellerophon_ckks::cost::Trace;
use bellerophon_ckks::encode::check_scale;
use bellerophon_ckks::eval::padding::inside;
use bellerophon_ckks::interval::check_domain;
use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::noise::{ENCODING, Noise};
use bellerophon_ckks::noise_model::NoiseModel;
use bellerophon_ckks::origins::{Relation, Relations};
use bellerophon_ckks::vectors::{Fused, Operand, Planned, Scope, State, Vectors, map};
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Evaluator, Interval, Metadata, Result, refresh,
};
use bellerophon_mlwe as mlwe;

use super::paterson_stockmeyer::{add_constant, evaluate_plan};
use super::scales::{MAX_DRIFT, drift};
use super::worst::bounded_plan;
use super::{Plan, Polynomial, Response};

/// The map of the domain of a polynomial onto `[-1, 1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mapping {
    /// The domain is `[-1, 1]`.
    Identity,
    /// An integer slope and a shift: no level.
    Integer(i64),
    /// Any slope, rescaled to this scale: one level.
    Rescaled(f64),
}

/// Levels that a polynomial takes: one more if the scale of `x` is far from the primes.
pub(crate) fn polynomial_levels(rules: MetadataRules<'_>, x: &Metadata, p: &Polynomial) -> usize {
    let depth = p.plan.depth();
    if depth == 0 || near_primes(rules, x, p) { p.levels() } else { depth + 1 }
}

/// Whether the scales of the basis polynomials stay near that of `x`.
fn near_primes(rules: MetadataRules<'_>, x: &Metadata, p: &Polynomial) -> bool {
    drift(rules.params(), &p.plan, x.level, x.meta.scale) <= MAX_DRIFT
}

/// Step 1: the map of `x` onto `[-1, 1]` for some plans, and the image.
pub(super) fn onto_unit(
    rules: MetadataRules<'_>,
    x: &Metadata,
    p: &Polynomial,
    plans: &[&Plan],
) -> Result<(Mapping, Metadata)> {
    let (slope, shift) = p.chebyshev.unit_map();
    let near = |plan: &&Plan| drift(rules.params(), plan, x.level, x.meta.scale) <= MAX_DRIFT;
    // Without a level only where the scale suits the primes: a rescale corrects it otherwise.
    match p.integer_slope().filter(|_| plans.iter().all(near)) {
        Some(1) if shift == 0.0 => Ok((Mapping::Identity, *x)),
        Some(k) => {
            let (u, _) = rules.add_scalar(&rules.mul_integer(x, k)?, shift)?;
            Ok((Mapping::Integer(k), u))
        }
        None => {
            let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
            rules.check_levels(deepest + 1, x.level)?;
            let near = rules.params().divisor(x.level - 1);
            let summands = vec![Relation::Independent];
            let alone = Relations { summands, ..Relations::default() };
            let u = rules.mul_add_many(&[], &[(*x, slope)], &alone, shift, Some(near))?.result;
            Ok((Mapping::Rescaled(near), u))
        }
    }
}

/// The noise of the result of a plan at a scale, for an argument in the domain of the plan:
/// from its response to independent errors, or the worst-case bound.
pub(crate) fn plan_noise(
    rules: MetadataRules<'_>,
    plan: &Plan,
    u: &Metadata,
    scale: f64,
    response: impl FnOnce() -> Response,
) -> Result<Noise> {
    if plan.depth() == 0 {
        // A constant, whose parts are off by one half at most.
        return Ok(Noise::constant(0.25 / u.meta.slots as f64));
    }
    if rules.errors() == NoiseModel::Worst {
        return bounded_plan(rules, plan, u, scale);
    }
    // The roundings of the plan happen at scales between those of the argument and of the
    // result.
    let factor = (u.meta.scale / scale).max(1.0).powi(2);
    let rounding = factor * mlwe::noise::rounding(rules.params().lattice());
    let response = response();
    let noise = response.noise(u.meta.noise, rounding);
    // So do those of its coefficients, of which every step adds up some.
    let mut most = 0;
    plan.root.magnitude(1.0, &mut |node, _| most = most.max(node.terms.len()));
    let of_step = factor * ENCODING * most as f64 / u.meta.slots as f64;
    let noise = noise + Noise::constant(response.total.steps.powi(2) * of_step);
    Ok(noise * (scale / u.meta.scale).powi(2))
}

/// `p(x)` in every slot at a scale, by default that of the parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OfPolynomial<'p> {
    pub p: &'p Polynomial,
    pub scale: Option<f64>,
}

/// How a polynomial is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolynomialPlan {
    /// The map of the argument onto `[-1, 1]`.
    mapping: Mapping,
    scale: f64,
    /// The level at which the powers start.
    level: usize,
}

impl Fused for OfPolynomial<'_> {
    type Plan = PolynomialPlan;

    fn name(&self) -> &'static str {
        "polynomial"
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        let needed = polynomial_levels(a.params().rules(), &a.metadata(x[0]), self.p);
        Ok(vec![prepared(a, x[0], self.p, needed)?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<PolynomialPlan>> {
        let (rules, State { metadata: x, origins }) = (scope.rules(), &x[0]);
        let (plan, chebyshev) = (&self.p.plan, &self.p.chebyshev);
        check_domain(&x.meta.bounds, chebyshev.lo, chebyshev.hi)?;
        let scale = self.scale.unwrap_or(rules.params().scale());
        check_scale(scale)?;
        // A constant: zero plus a number, at the scale of the result.
        if plan.depth() == 0 {
            let mut zero = rules.mul_integer(x, 0)?;
            (zero.meta.scale, zero.meta.noise) = (scale, Noise::NONE);
            let (result, _) = rules.add_scalar(&zero, chebyshev.constant())?;
            let steps = PolynomialPlan { mapping: Mapping::Identity, scale, level: x.level };
            return Ok(Planned::one(steps, result, origins.clone()));
        }

        // Step 1: the argument on [-1, 1].
        let (mapping, u) = onto_unit(rules, x, self.p, &[plan])?;

        // Steps 2 and 3: the plan.
        rules.check_levels(plan.depth(), u.level)?;
        let noise = plan_noise(rules, plan, &u, scale, || self.p.response(&x.meta))?;
        let bounds = x.meta.bounds.map(|range| self.p.range(range));
        let meta = CiphertextMeta { scale, bounds, noise, ..x.meta };
        let result = Metadata { level: u.level - plan.depth(), meta };
        rules.check_range(&result)?;
        let steps = PolynomialPlan { mapping, scale, level: u.level };
        Ok(Planned::one(steps, result, origins.clone()))
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &PolynomialPlan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        let PolynomialPlan { mapping, scale, .. } = *plan;
        // A constant takes no level; steps 1 to 3 otherwise.
        if self.p.plan.depth() == 0 {
            let (mut constant, _) = e.mul_integer(x[0], 0)?.into_parts();
            add_constant(e, &mut constant, self.p.chebyshev.constant() * scale)?;
            return Ok(vec![constant]);
        }
        let mapped = mapped(e, x[0], mapping, self.p)?;
        Ok(vec![evaluate_plan(e, mapped.as_ref().unwrap_or(x[0]), &self.p.plan, scale)?])
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(vec![map(x[0], |a| self.p.eval(a.re).into())])
    }

    fn trace(
        &self,
        x: &[State],
        &PolynomialPlan { level, .. }: &PolynomialPlan,
        trace: &mut Trace<'_>,
    ) {
        let plan = &self.p.plan;
        if plan.relinearizations > 0 {
            trace.needs(plan.relinearizations, |keys| keys.multiply(level));
        }
        plan.count(level, &mut trace.count);
        // The affine map of the domain onto [-1, 1] takes a level of its own.
        if x[0].metadata.level > level {
            trace.count.terms(level + 1, 1.0);
            trace.count.rescaling(level + 1);
        }
    }
}

/// `p(x)` in every slot, at a scale.
pub(crate) fn polynomial<A: CkksOps>(
    a: &A,
    x: &A::Ciphertext,
    p: &Polynomial,
    scale: Option<f64>,
) -> Result<A::Ciphertext> {
    a.single(&OfPolynomial { p, scale }, &[x])
}

/// A vector with `needed` levels, if bootstrapping can give them, and padding in the domain.
pub(super) fn prepared<'c, A: CkksOps>(
    a: &A,
    x: &'c A::Ciphertext,
    p: &Polynomial,
    needed: usize,
) -> Result<Operand<'c, A::Ciphertext>> {
    let (lo, hi) = p.domain();
    let domain = &Interval::between(lo, hi);
    match refresh::replenished(a, x, needed)? {
        Operand::Given(x) => inside(a, x, domain, needed),
        Operand::Made(x) => Ok(match inside(a, &x, domain, needed)? {
            Operand::Given(_) => Operand::Made(x.clone()),
            Operand::Made(moved) => Operand::Made(moved),
        }),
    }
}

/// Step 1: `x` mapped from the domain of `p` onto `[-1, 1]`; `None` if that is its domain.
pub(super) fn mapped(
    e: &Evaluator,
    x: &Ciphertext,
    mapping: Mapping,
    p: &Polynomial,
) -> Result<Option<Ciphertext>> {
    let (slope, shift) = p.chebyshev.unit_map();
    match mapping {
        Mapping::Identity => Ok(None),
        Mapping::Integer(k) => e.add_scalar(&e.mul_integer(x, k)?, shift).map(Some),
        Mapping::Rescaled(near) => e.linear_combination(&[(x, slope)], shift, Some(near)).map(Some),
    }
}
