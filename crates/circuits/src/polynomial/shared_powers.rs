//! Several polynomials of one vector, which share its powers: [`Polynomials`], [`Monomials`].
//!
//! ```text
//! Step 1:  map the argument onto [-1, 1] (Chebyshev basis)
//! Step 2:  match its scale to the primes, one level down, if it is far from them
//! Step 3:  compute the powers of all plans, each once
//! Step 4:  for each polynomial, sum its plan over the powers
//! ```

use std::collections::BTreeMap;

use bellerophon_ckks::cost::Trace;
use bellerophon_ckks::encode::check_scale;
use bellerophon_ckks::interval::check_domain;
use bellerophon_ckks::metadata::rules::MetadataRules;
use bellerophon_ckks::vectors::{Fused, Operand, Planned, Scope, State, Vectors, map};
use bellerophon_ckks::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, Complex64, Evaluator, Metadata, Result, refresh,
};
use bellerophon_mlwe as mlwe;

use super::eval::{Mapping, mapped, onto_unit, plan_noise, polynomial_levels, prepared};
use super::paterson_stockmeyer::{extend_powers, sum_of_powers};
use super::scales::{MAX_DRIFT, drift, power_scales};
use super::sums::Powers;
use super::{Basis, Monomial, Plan, Polynomial, Power, Response, power_depth};
use crate::error;

/// Polynomials over one domain, each at a scale, by default that of the parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polynomials<'p>(pub &'p [(&'p Polynomial, Option<f64>)]);

/// Polynomials in the monomial basis, each at a scale, by default that of the parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monomials<'p> {
    pub name: &'static str,
    pub list: &'p [(&'p Monomial, Option<f64>)],
}

/// How polynomials with shared powers are computed.
#[derive(Debug, Clone)]
pub(crate) struct SharedPlan {
    /// Step 1: the map of the operand onto `[-1, 1]`.
    mapping: Mapping,
    /// Step 2: the scale that the image is matched to, one level down, if it is.
    matched: Option<f64>,
    /// The level at which the powers start.
    level: usize,
    /// Step 4: the scales of the results.
    scales: Vec<f64>,
}

/// The argument of the powers.
struct Argument {
    /// Step 2: the scale that it is matched to.
    matched: Option<f64>,
    /// After steps 1 and 2.
    metadata: Metadata,
}

impl Argument {
    /// Steps 2 and 3: `u` at a scale near the primes, at which every power fits its modulus.
    fn new(rules: MetadataRules<'_>, u: &Metadata, basis: Basis, plans: &[&Plan]) -> Result<Self> {
        let params = rules.params();
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        rules.check_levels(deepest, u.level)?;

        // Step 2: match the scale to the primes, one level down, where it is far from them.
        let near = plans.iter().all(|p| drift(params, p, u.level, u.meta.scale) <= MAX_DRIFT);
        let (mut metadata, mut matched) = (*u, None);
        if !near {
            rules.check_levels(deepest + 1, u.level)?;
            let scale = params.divisor(u.level - 1);
            metadata = rules.follow(u, &rules.match_scale(u, scale, u.level - 1)?)?;
            matched = Some(scale);
        }

        // Step 3: Chebyshev polynomials stay within [-1, 1]; powers of x grow with its bound.
        let bound = if basis == Basis::Chebyshev { 1.0 } else { u.meta.bounds.slots().bound() };
        for plan in plans {
            for (i, scale) in power_scales(params, plan, metadata.level, metadata.meta.scale) {
                let limbs = params.limbs_at(metadata.level - power_depth(i));
                params.check_range(bound.powi(i as i32), scale, limbs)?;
            }
        }
        Ok(Self { matched, metadata })
    }

    /// Step 4: the metadata of one polynomial of `x` at a scale.
    fn result(
        &self,
        rules: MetadataRules<'_>,
        x: &State,
        plan: &Plan,
        scale: f64,
        bounds: Bounds,
        response: impl FnOnce() -> Response,
    ) -> Result<State> {
        check_scale(scale)?;
        let level = self.metadata.level;
        rules.check_levels(plan.depth(), level)?;
        let noise = plan_noise(rules, plan, &self.metadata, scale, response)?;
        let meta = CiphertextMeta { scale, bounds, noise, ..x.metadata.meta };
        let metadata = Metadata { level: level - plan.depth(), meta };
        rules.check_range(&metadata)?;
        Ok(State { metadata, origins: x.origins.clone() })
    }
}

impl SharedPlan {
    /// Steps 2 to 4 of an argument that is mapped already.
    fn run<'p>(
        &self,
        e: &Evaluator,
        u: &Ciphertext,
        plans: impl Iterator<Item = &'p Plan> + Clone,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        // Step 2: the scale.
        let matched = self.matched.map(|scale| e.match_scale(u, scale, self.level)).transpose()?;
        let u = matched.as_ref().unwrap_or(u);
        // Step 3: the powers of all plans; `extend_powers` skips those that exist.
        let mut powers = Powers::from([(1, (u.lattice().clone(), u.meta().scale))]);
        for plan in plans.clone() {
            extend_powers(e, self.level, &mut powers, plan)?;
        }
        // Step 4: the sums.
        let sums = plans.zip(&self.scales);
        sums.map(|(plan, &scale)| sum_of_powers(e, self.level, &powers, plan, scale)).collect()
    }

    /// Powers, each once, and the sums over them.
    fn trace<'p>(&self, plans: impl Iterator<Item = &'p Plan> + Clone, trace: &mut Trace<'_>) {
        let powers: BTreeMap<usize, (&Power, Basis)> = plans
            .clone()
            .flat_map(|plan| plan.powers.iter().map(|p| (p.index(), (p, plan.basis))))
            .collect();
        let sums: usize = plans.clone().map(|plan| plan.relinearizations - plan.powers.len()).sum();
        if powers.len() + sums > 0 {
            trace.needs(powers.len() + sums, |keys| keys.multiply(self.level));
        }
        for (power, basis) in powers.into_values() {
            power.count(basis, self.level, &mut trace.count);
        }
        plans.for_each(|plan| plan.root.count(self.level, &mut trace.count));
    }
}

impl<'p> Polynomials<'p> {
    fn plans(&self) -> impl Iterator<Item = &'p Plan> + Clone {
        self.0.iter().map(|(p, _)| &p.plan)
    }

    /// Levels that the powers of `x` and their sums take.
    fn levels(&self, rules: MetadataRules<'_>, x: &Metadata) -> usize {
        self.0.iter().map(|(p, _)| polynomial_levels(rules, x, p)).max().unwrap_or(0)
    }

    /// The operand as the powers need it.
    pub(crate) fn operand<'c, A: CkksOps>(
        &self,
        a: &A,
        x: &'c A::Ciphertext,
    ) -> Result<Operand<'c, A::Ciphertext>> {
        let (first, _) = self.0.first().ok_or_else(error::no_values)?;
        let needed = self.levels(a.params().rules(), &a.metadata(x));
        prepared(a, x, first, needed)
    }

    /// Steps 1 and 2: the map of the operand and the argument of the powers.
    fn argument(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<(Mapping, Argument)> {
        let (first, _) = self.0.first().ok_or_else(error::no_values)?;
        // The powers are those of the mapped argument, so they serve one domain only.
        let (lo, hi) = first.domain();
        if let Some((other, _)) = self.0.iter().find(|(p, _)| p.domain() != (lo, hi)) {
            return Err(error::shape(format!(
                "domains [{lo:?}, {hi:?}] and {:?}: polynomials that share powers need one domain",
                other.domain()
            )));
        }
        check_domain(&x.meta.bounds, lo, hi)?;
        let plans: Vec<&Plan> = self.plans().collect();
        let (mapping, u) = onto_unit(rules, x, first, &plans)?;
        Ok((mapping, Argument::new(rules, &u, Basis::Chebyshev, &plans)?))
    }

    /// The level at which the powers of an operand start.
    pub(crate) fn level(&self, rules: MetadataRules<'_>, x: &Metadata) -> Result<usize> {
        Ok(self.argument(rules, x)?.1.metadata.level)
    }
}

impl Fused for Polynomials<'_> {
    type Plan = SharedPlan;

    fn name(&self) -> &'static str {
        "polynomials"
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        Ok(vec![self.operand(a, x[0])?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<SharedPlan>> {
        let (rules, x) = (scope.rules(), &x[0]);
        let (mapping, argument) = self.argument(rules, &x.metadata)?;
        let meta = &x.metadata.meta;
        let scales: Vec<f64> =
            self.0.iter().map(|(_, scale)| scale.unwrap_or(rules.params().scale())).collect();
        let results = self.0.iter().zip(&scales).map(|(&(p, _), &scale)| {
            let bounds = meta.bounds.map(|range| p.range(range));
            argument.result(rules, x, &p.plan, scale, bounds, || p.response(meta))
        });
        let results = results.collect::<Result<_>>()?;
        let Argument { matched, metadata } = argument;
        Ok(Planned {
            plan: SharedPlan { mapping, matched, level: metadata.level, scales },
            results,
        })
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &SharedPlan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        // Step 1: the argument on [-1, 1].
        let u = mapped(e, x[0], plan.mapping, self.0[0].0)?;
        plan.run(e, u.as_ref().unwrap_or(x[0]), self.plans())
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(self.0.iter().map(|(p, _)| map(x[0], |a| p.eval(a.re).into())).collect())
    }

    fn trace(&self, _: &[State], plan: &SharedPlan, trace: &mut Trace<'_>) {
        plan.trace(self.plans(), trace);
    }
}

impl<'p> Monomials<'p> {
    fn plans(&self) -> impl Iterator<Item = &'p Plan> + Clone {
        self.list.iter().map(|(p, _)| &p.plan)
    }
}

impl Fused for Monomials<'_> {
    type Plan = SharedPlan;

    fn name(&self) -> &'static str {
        self.name
    }

    fn operands<'c, A: Vectors>(
        &self,
        a: &A,
        x: &[&'c A::Ciphertext],
    ) -> Result<Vec<Operand<'c, A::Ciphertext>>> {
        // A scale far from the primes is matched first, which takes one level.
        let Metadata { level, meta } = a.metadata(x[0]);
        let far = |plan: &Plan| drift(a.params(), plan, level, meta.scale) > MAX_DRIFT;
        let deepest = self.plans().map(|plan| plan.depth()).max().unwrap_or(0);
        let needed = deepest + usize::from(self.plans().any(far));
        Ok(vec![refresh::replenished(a, x[0], needed)?])
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<SharedPlan>> {
        let (rules, x) = (scope.rules(), &x[0]);
        let (params, bounds) = (rules.params(), x.metadata.meta.bounds);
        let plans: Vec<&Plan> = self.plans().collect();
        if plans.is_empty() {
            return Err(error::no_values());
        }
        let argument = Argument::new(rules, &x.metadata, Basis::Monomial, &plans)?;
        let level = argument.metadata.level;
        let scales: Vec<f64> =
            self.list.iter().map(|(_, scale)| scale.unwrap_or(params.scale())).collect();
        let results = self.list.iter().zip(&scales).map(|(&(p, _), &scale)| {
            // The range of the result, and not the sum of the ranges of all terms.
            let range = bounds.map(|range| p.range(range));
            // Every node of the plan must fit the modulus of its level.
            let mut fits = Ok(());
            p.plan.root.magnitude(bounds.slots().bound(), &mut |node, most| {
                let limbs = params.limbs_at(level - node.depth.min(level));
                if let Err(error) = params.check_range(most, scale, limbs) {
                    fits = Err(error);
                }
            });
            fits?;
            let response = || p.response(&x.metadata.meta);
            argument.result(rules, x, &p.plan, scale, range, response)
        });
        let results = results.collect::<Result<_>>()?;
        let (mapping, matched) = (Mapping::Identity, argument.matched);
        Ok(Planned { plan: SharedPlan { mapping, matched, level, scales }, results })
    }

    fn run(
        &self,
        e: &Evaluator,
        x: &[&Ciphertext],
        plan: &SharedPlan,
    ) -> Result<Vec<mlwe::Ciphertext>> {
        plan.run(e, x[0], self.plans())
    }

    fn exact(&self, x: &[&[Complex64]], _: &[State]) -> Result<Vec<Vec<Complex64>>> {
        Ok(self.list.iter().map(|(p, _)| map(x[0], |a| p.eval(a))).collect())
    }

    fn trace(&self, _: &[State], plan: &SharedPlan, trace: &mut Trace<'_>) {
        plan.trace(self.plans(), trace);
    }
}
