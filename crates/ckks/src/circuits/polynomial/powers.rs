//! Power bases: the powers of a ciphertext, computed once for several polynomials. Metadata
//! ([`MetadataRules`]) beside computation ([`Evaluator`]), in the same steps.
//!
//! ```text
//! Step 1:  map the argument onto [-1, 1] (Chebyshev basis)
//! Step 2:  match its scale to the primes, one level down, if it is far from them
//! Step 3:  compute the powers of all plans, each once
//! Step 4:  for each polynomial, sum its plan over the powers
//! ```

use std::collections::BTreeSet;

use super::eval::{MAX_DRIFT, Mapping, drift, power_scales};
use super::sums::Powers;
use super::{Basis, Monomial, Plan, Polynomial, Response, check_domain, power_depth};
use crate::Origins;
use crate::eval::padding::inside;
use crate::{
    Bounds, Ciphertext, CiphertextMeta, During, Evaluator, Metadata, Result,
    bootstrap::auto_bootstrap, error, metadata::rules::MetadataRules,
};

/// Powers `x^i`, or Chebyshev polynomials `T_i(u(x))`, of one vector, shared by several
/// polynomials. Computed by [`CkksOps::power_basis`](crate::CkksOps::power_basis) or
/// [`CkksOps::chebyshev_basis`](crate::CkksOps::chebyshev_basis).
#[derive(Clone, Debug)]
pub struct PowerBasis<P> {
    pub(crate) known: Known,
    /// The encryptions whose errors the powers carry.
    pub(crate) origins: Origins,
    pub(crate) powers: P,
}

impl<P> PowerBasis<P> {
    /// The level of the argument. A polynomial takes the depth of its plan from it.
    pub(crate) fn level(&self) -> usize {
        self.known.argument.level
    }
}

/// The metadata of powers.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    indices: BTreeSet<usize>,
    basis: Basis,
    /// Ends of the domain of Chebyshev polynomials.
    domain: (f64, f64),
    /// The argument of the powers, after steps 1 and 2.
    pub argument: Metadata,
    /// The operand, before step 1.
    original: CiphertextMeta,
}

impl Known {
    /// The number of powers that are products.
    pub(crate) fn computed(&self) -> usize {
        self.indices.len() - 1
    }

    /// Refuses plans that need another basis, domain or power.
    fn check<'p>(
        &self,
        domain: (f64, f64),
        plans: impl IntoIterator<Item = &'p Plan>,
    ) -> Result<()> {
        let serves = |plan: &Plan| {
            plan.basis() == self.basis
                && plan.powers().iter().all(|p| self.indices.contains(&p.index()))
        };
        if domain == self.domain && plans.into_iter().all(serves) {
            return Ok(());
        }
        let (lo, hi) = self.domain;
        Err(error::powers(format!(
            "the powers {:?} in the {:?} basis over [{lo:?}, {hi:?}] do not serve this \
                 polynomial: make them with it among the polynomials",
            self.indices, self.basis
        )))
    }
}

/// The metadata of a power basis of one operand.
#[derive(Clone, Debug)]
pub(crate) struct PowerBasisMeta {
    /// Step 1: the map of the operand onto `[-1, 1]`.
    pub mapping: Mapping,
    /// Step 2: the scale that the image is matched to, one level down, if it is.
    pub matched: Option<f64>,
    /// Step 3: the powers.
    pub known: Known,
}

impl MetadataRules<'_> {
    /// Levels that the powers of `x` and their sums take.
    pub(crate) fn power_levels(self, x: &Metadata, polynomials: &[&Monomial]) -> usize {
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        // A scale far from the primes is matched first, which takes one level.
        let far = |plan: &&Plan| drift(self.params(), plan, x.level, x.meta.scale) > MAX_DRIFT;
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        deepest + usize::from(plans.iter().any(far))
    }

    /// As [`power_levels`](Self::power_levels) in the Chebyshev basis.
    pub(crate) fn chebyshev_levels(self, x: &Metadata, polynomials: &[&Polynomial]) -> usize {
        polynomials.iter().map(|p| self.polynomial_levels(x, p)).max().unwrap_or(0)
    }

    /// The metadata of [`Evaluator::power_basis`].
    pub(crate) fn power_basis(
        self,
        x: &Metadata,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasisMeta> {
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        self.powers_of(x, &x.meta, Basis::Monomial, (0.0, 0.0), &plans)
    }

    /// The metadata of [`Evaluator::chebyshev_basis`].
    pub(crate) fn chebyshev_basis(
        self,
        x: &Metadata,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasisMeta> {
        let first = polynomials.first().ok_or_else(error::no_values)?;
        // The powers are those of the mapped argument, so they serve one domain only.
        let domain = |p: &Polynomial| (p.chebyshev().lo(), p.chebyshev().hi());
        let (lo, hi) = domain(first);
        if let Some(other) = polynomials.iter().find(|p| domain(p) != (lo, hi)) {
            let reason = format!(
                "domains [{lo:?}, {hi:?}] and {:?}: polynomials that share powers need one domain",
                domain(other)
            );
            return Err(error::powers(reason));
        }
        check_domain(&x.meta.bounds, lo, hi)?;

        // Step 1: the argument on [-1, 1].
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let (mapping, u) = self.onto_unit(x, first, &plans)?;

        // Steps 2 and 3: the scale, and the powers.
        let meta = self.powers_of(&u, &x.meta, Basis::Chebyshev, (lo, hi), &plans)?;
        Ok(PowerBasisMeta { mapping, ..meta })
    }

    /// Steps 2 and 3.
    fn powers_of(
        self,
        u: &Metadata,
        original: &CiphertextMeta,
        basis: Basis,
        domain: (f64, f64),
        plans: &[&Plan],
    ) -> Result<PowerBasisMeta> {
        let params = self.params();
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        self.check_levels(deepest, u.level)?;

        // Step 2: match the scale to the primes, one level down, where it is far from them.
        let near = plans.iter().all(|p| drift(params, p, u.level, u.meta.scale) <= MAX_DRIFT);
        let mut argument = *u;
        let mut matched = None;
        if !near {
            self.check_levels(deepest + 1, u.level)?;
            let scale = params.divisor(u.level - 1);
            let route = self.match_scale(u, scale, u.level - 1).during("match_scale")?;
            argument = self.follow(u, &route).during("match_scale")?;
            matched = Some(scale);
        }

        // Step 3: every power must fit the modulus of its level.
        // Chebyshev polynomials stay within [-1, 1]; powers of x grow with its bound.
        let bound = if basis == Basis::Chebyshev { 1.0 } else { u.meta.bounds.slots().bound() };
        let mut indices = BTreeSet::from([1]);
        for plan in plans {
            for (i, scale) in power_scales(params, plan, argument.level, argument.meta.scale) {
                let limbs = params.limbs_at(argument.level - power_depth(i));
                params.check_range(bound.powi(i as i32), scale, limbs)?;
                indices.insert(i);
            }
        }
        let known = Known { indices, basis, domain, argument, original: *original };
        Ok(PowerBasisMeta { mapping: Mapping::Identity, matched, known })
    }
}

impl Evaluator {
    /// Computes [`CkksOps::power_basis`](crate::CkksOps::power_basis).
    pub(crate) fn power_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<Powers>> {
        let op = "power_basis";
        self.check(x).during(op)?;
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let needed = self.rules().power_levels(&x.metadata(), polynomials);
        let x = &*auto_bootstrap::replenished(self, x, needed)?;
        let meta = self.rules().power_basis(&x.metadata(), polynomials).during(op)?;
        self.powers_by(x, meta, &plans).during(op)
    }

    /// Computes [`CkksOps::chebyshev_basis`](crate::CkksOps::chebyshev_basis).
    pub(crate) fn chebyshev_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Powers>> {
        let op = "chebyshev_basis";
        self.check(x).during(op)?;
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let needed = self.rules().chebyshev_levels(&x.metadata(), polynomials);
        let domain = polynomials.first().map(|p| p.domain()).ok_or_else(error::no_values);
        let x = &*auto_bootstrap::replenished(self, x, needed)?;
        let x = &*inside(self, x, domain.during(op)?, needed).during(op)?;
        let meta = self.rules().chebyshev_basis(&x.metadata(), polynomials).during(op)?;
        // Step 1: the argument on [-1, 1].
        let u = self.mapped(x, meta.mapping, polynomials[0])?;
        self.powers_by(u.as_ref().unwrap_or(x), meta, &plans).during(op)
    }

    /// Steps 2 and 3.
    fn powers_by(
        &self,
        u: &Ciphertext,
        meta: PowerBasisMeta,
        plans: &[&Plan],
    ) -> Result<PowerBasis<Powers>> {
        let PowerBasisMeta { matched, known, .. } = meta;
        // Step 2: the scale.
        let matched =
            matched.map(|scale| self.match_scale(u, scale, known.argument.level)).transpose()?;
        let u = matched.as_ref().unwrap_or(u);
        // Step 3: the powers of all plans; `extend_powers` skips those that exist.
        let mut powers = Powers::from([(1, (u.inner.clone(), u.scale()))]);
        for plan in plans {
            self.extend_powers(u.level(), &mut powers, plan)?;
        }
        Ok(PowerBasis { known, origins: u.origins.clone(), powers })
    }
}

impl MetadataRules<'_> {
    /// The metadata of [`Evaluator::monomial_in`].
    pub(crate) fn monomial_in(
        self,
        known: &Known,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Metadata> {
        let op = "polynomial";
        known.check(known.domain, [p.plan()]).during(op)?;
        let scale = scale.unwrap_or(self.params().scale());
        let CiphertextMeta { bounds, .. } = known.original;
        // The range of the result, and not the sum of the ranges of all terms.
        let range = bounds.map(|range| p.range(range));
        // Every node of the plan must fit the modulus of its level.
        let mut fits = Ok(());
        p.plan().root().magnitude(bounds.slots().bound(), &mut |node, most| {
            let level = known.argument.level - node.depth.min(known.argument.level);
            let limbs = self.params().limbs_at(level);
            if let Err(error) = self.params().check_range(most, scale, limbs).during(op) {
                fits = Err(error);
            }
        });
        fits?;
        self.in_powers(known, p.plan(), scale, range, || p.response(&known.original)).during(op)
    }

    /// The metadata of [`Evaluator::polynomial_in`].
    pub(crate) fn polynomial_in(
        self,
        known: &Known,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Metadata> {
        let op = "polynomial";
        known.check((p.chebyshev().lo(), p.chebyshev().hi()), [p.plan()]).during(op)?;
        let scale = scale.unwrap_or(self.params().scale());
        let bounds = known.original.bounds.map(|range| p.range(range));
        self.in_powers(known, p.plan(), scale, bounds, || p.response(&known.original)).during(op)
    }

    /// Step 4.
    fn in_powers(
        self,
        known: &Known,
        plan: &Plan,
        scale: f64,
        bounds: Bounds,
        response: impl FnOnce() -> Response,
    ) -> Result<Metadata> {
        crate::encode::check_scale(scale)?;
        let level = known.argument.level;
        self.check_levels(plan.depth(), level)?;
        let noise = self.plan_noise(plan, &known.argument, scale, response)?;
        let meta = CiphertextMeta { scale, bounds, noise, ..known.original };
        let result = Metadata { level: level - plan.depth(), meta };
        self.check_range(&result)?;
        Ok(result)
    }
}

impl Evaluator {
    /// Computes [`CkksOps::monomial_in`](crate::CkksOps::monomial_in).
    pub(crate) fn monomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "polynomial";
        self.check_powers(powers).during(op)?;
        let result = self.rules().monomial_in(&powers.known, p, scale)?;
        let inner = self
            .sum_of_powers(powers.level(), &powers.powers, p.plan(), result.meta.scale)
            .during(op)?;
        Ok(Ciphertext::at_level(self.params(), inner, result.meta, powers.origins.clone()))
    }

    /// Computes [`CkksOps::polynomial_in`](crate::CkksOps::polynomial_in).
    pub(crate) fn polynomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "polynomial";
        self.check_powers(powers).during(op)?;
        let result = self.rules().polynomial_in(&powers.known, p, scale)?;
        let inner = self
            .sum_of_powers(powers.level(), &powers.powers, p.plan(), result.meta.scale)
            .during(op)?;
        Ok(Ciphertext::at_level(self.params(), inner, result.meta, powers.origins.clone()))
    }

    /// Refuses powers under other parameters or another key.
    fn check_powers(&self, powers: &PowerBasis<Powers>) -> Result<()> {
        let argument = &powers.powers[&1].0;
        self.params().check(argument.ident().fingerprint)?;
        if argument.ident().key != self.keys().secret_id() {
            let (needed, found) = (self.keys().secret_id(), argument.ident().key);
            return Err(bellerophon_mlwe::error::key_mismatch(found, needed));
        }
        Ok(())
    }
}
