//! Polynomials of ciphertexts: metadata ([`MetadataRules::polynomial`]) beside computation
//! ([`CkksOps::polynomial`]), in the same steps.
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

use std::{borrow::Cow, collections::BTreeMap};

use bellerophon_mlwe as mlwe;

use super::sums::{LinearSums, Powers, SumShape};
use super::{Basis, Node, Plan, Polynomial, Response, power_depth};
use crate::eval::padding::inside;
use crate::{
    Bounds, Ciphertext, CiphertextMeta, CkksOps, During, Evaluator, Interval, Metadata, Params,
    Result,
    bootstrap::auto_bootstrap,
    error,
    metadata::rules::MetadataRules,
    noise::{ENCODING, Noise},
    noise_model::NoiseModel,
    origins::Relations,
};

/// Largest drift of the scale of a basis polynomial from the scale of the input, in bits: precision
/// is lost or gained by as much.
pub(super) const MAX_DRIFT: f64 = 8.0;

/// The excess of a range over the domain that passes for rounding, in units of the domain's width.
const SLACK: f64 = 1e-9;

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

/// The metadata of a polynomial of one operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PolynomialMeta {
    /// The map of the argument onto `[-1, 1]`.
    pub mapping: Mapping,
    /// The result.
    pub result: Metadata,
}

impl MetadataRules<'_> {
    /// Levels that a polynomial of `x` takes: one more when the scale of `x` is far from the
    /// primes.
    pub(crate) fn polynomial_levels(self, x: &Metadata, p: &Polynomial) -> usize {
        let depth = p.plan().depth();
        if depth == 0 || self.near_primes(x, p) { p.levels() } else { depth + 1 }
    }

    /// Whether the scales of the basis polynomials stay near that of `x`.
    fn near_primes(self, x: &Metadata, p: &Polynomial) -> bool {
        drift(self.params(), p.plan(), x.level, x.meta.scale) <= MAX_DRIFT
    }

    /// Step 1: the map of `x` from the domain of `p` onto `[-1, 1]` for some plans, and the
    /// metadata of the image.
    pub(super) fn onto_unit(
        self,
        x: &Metadata,
        p: &Polynomial,
        plans: &[&Plan],
    ) -> Result<(Mapping, Metadata)> {
        let (slope, shift) = p.chebyshev().unit_map();
        let near = |plan: &&Plan| drift(self.params(), plan, x.level, x.meta.scale) <= MAX_DRIFT;
        // Without a level only where the scale suits the primes: a rescale corrects it otherwise.
        match p.integer_slope().filter(|_| plans.iter().all(near)) {
            Some(1) if shift == 0.0 => Ok((Mapping::Identity, *x)),
            Some(k) => {
                let (u, _) = self.add_scalar(&self.mul_integer(x, k)?, shift)?;
                Ok((Mapping::Integer(k), u))
            }
            None => {
                let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
                self.check_levels(deepest + 1, x.level)?;
                let near = self.params().divisor(x.level - 1);
                let alone = Relations::default();
                let u = self.mul_add_many(&[], &[(*x, slope)], &alone, shift, Some(near))?.result;
                Ok((Mapping::Rescaled(near), u))
            }
        }
    }

    /// The metadata of [`Evaluator::polynomial`].
    pub(crate) fn polynomial(
        self,
        x: &Metadata,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<PolynomialMeta> {
        let (params, plan, chebyshev) = (self.params(), p.plan(), p.chebyshev());
        check_domain(&x.meta.bounds, chebyshev.lo(), chebyshev.hi())?;
        let scale = scale.unwrap_or(params.scale());
        crate::encode::check_scale(scale)?;
        // A constant: zero plus a number, at the scale of the result.
        if plan.depth() == 0 {
            let mut zero = self.mul_integer(x, 0)?;
            (zero.meta.scale, zero.meta.noise) = (scale, Noise::NONE);
            let (result, _) = self.add_scalar(&zero, chebyshev.constant())?;
            return Ok(PolynomialMeta { mapping: Mapping::Identity, result });
        }

        // Step 1: the argument on [-1, 1].
        let (mapping, u) = self.onto_unit(x, p, &[plan])?;

        // Steps 2 and 3: the plan.
        self.check_levels(plan.depth(), u.level)?;
        let noise = self.plan_noise(plan, &u, scale, || p.response(&x.meta))?;
        let bounds = x.meta.bounds.map(|range| p.range(range));
        let meta = CiphertextMeta { scale, bounds, noise, ..x.meta };
        let result = Metadata { level: u.level - plan.depth(), meta };
        self.check_range(&result)?;
        Ok(PolynomialMeta { mapping, result })
    }

    /// The noise of the result of a plan at a scale, for an argument in the domain of the plan:
    /// from its response to independent errors, or the worst-case bound.
    pub(crate) fn plan_noise(
        self,
        plan: &Plan,
        u: &Metadata,
        scale: f64,
        response: impl FnOnce() -> Response,
    ) -> Result<Noise> {
        if plan.depth() == 0 {
            // A constant, whose parts are off by one half at most.
            return Ok(Noise::constant(0.25 / u.meta.slots as f64));
        }
        if self.errors() == NoiseModel::Worst {
            return self.bounded_plan(plan, u, scale);
        }
        // The roundings of the plan happen at scales between those of the argument and of the
        // result.
        let factor = (u.meta.scale / scale).max(1.0).powi(2);
        let rounding = factor * mlwe::noise::rounding(self.params().lattice());
        let response = response();
        let noise = response.noise(u.meta.noise, rounding);
        // So do those of its coefficients, of which every step adds up some.
        let mut most = 0;
        plan.root().magnitude(1.0, &mut |node, _| most = most.max(node.terms.len()));
        let of_step = factor * ENCODING * most as f64 / u.meta.slots as f64;
        let noise = noise + Noise::constant(response.total.steps.powi(2) * of_step);
        Ok(noise * (scale / u.meta.scale).powi(2))
    }
}

impl Evaluator {
    /// Computes [`CkksOps::polynomial`](crate::CkksOps::polynomial).
    pub(crate) fn polynomial(
        &self,
        x: &Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "polynomial";
        self.check(x).during(op)?;
        let needed = self.rules().polynomial_levels(&x.metadata(), p);
        let x = &*auto_bootstrap::replenished(self, x, needed)?;
        let x = &*inside(self, x, p.domain(), needed).during(op)?;
        let PolynomialMeta { mapping, result } =
            self.rules().polynomial(&x.metadata(), p, scale).during(op)?;
        let scale = result.meta.scale;
        // A constant takes no level; steps 1 to 3 otherwise.
        let inner = if p.plan().depth() == 0 {
            let mut constant = self.mul_integer(x, 0)?.inner;
            self.add_constant(&mut constant, p.chebyshev().constant() * scale).during(op)?;
            constant
        } else {
            let mapped = self.mapped(x, mapping, p)?;
            self.evaluate_plan(mapped.as_ref().unwrap_or(x), p.plan(), scale).during(op)?
        };
        Ok(Ciphertext::at_level(self.params(), inner, result.meta, x.origins.clone()))
    }

    /// Step 1: `x` mapped from the domain of `p` onto `[-1, 1]`; `None` if that is its domain.
    pub(super) fn mapped(
        &self,
        x: &Ciphertext,
        mapping: Mapping,
        p: &Polynomial,
    ) -> Result<Option<Ciphertext>> {
        let (slope, shift) = p.chebyshev().unit_map();
        match mapping {
            Mapping::Identity => Ok(None),
            Mapping::Integer(k) => self.add_scalar(&self.mul_integer(x, k)?, shift).map(Some),
            Mapping::Rescaled(near) => {
                self.linear_combination(&[(x, slope)], shift, Some(near)).map(Some)
            }
        }
    }

    /// Steps 2 and 3: evaluates a plan of at least one level on `u`, whose slots are in `[-1, 1]`
    /// and whose scale is near the divisor of its level. Computes the phase only; the caller has
    /// the metadata.
    pub(crate) fn evaluate_plan(
        &self,
        u: &Ciphertext,
        plan: &Plan,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        self.check_levels(plan.depth(), u.level())?;
        let powers = self.powers(u, plan)?;
        self.sum_of_powers(u.level(), &powers, plan, scale)
    }

    /// Step 2: all basis polynomials of a plan, each with its scale.
    fn powers(&self, u: &Ciphertext, plan: &Plan) -> Result<Powers> {
        let mut powers = Powers::from([(1, (u.inner.clone(), u.scale()))]);
        self.extend_powers(u.level(), &mut powers, plan)?;
        Ok(powers)
    }

    /// Step 2: adds the missing powers of a plan to the basis polynomials of an argument at
    /// `level`: `u^(a+b) = u^a u^b`, or `T_{a+b} = 2 T_a T_b - T_{|a-b|}`.
    pub(crate) fn extend_powers(
        &self,
        level: usize,
        powers: &mut Powers,
        plan: &Plan,
    ) -> Result<()> {
        let params = self.params();
        for p in plan.powers() {
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
            if plan.basis() == Basis::Chebyshev {
                product.double_assign(lattice)?;
                match powers.get(&p.difference()) {
                    Some((c, c_scale)) => {
                        let c = self.weighted(limbs, c, -scale / c_scale)?;
                        product.add_ciphertext_assign(lattice, &c)?;
                    }
                    None => constant = -scale / params.divisor(here),
                }
            }
            // Relinearization and rescale in one mod-down.
            let mut next = self.relinearized_divided(product)?;
            if constant != 0.0 {
                self.add_constant(&mut next, constant)?;
            }
            // The rescale divides the scale by the prime of this level.
            powers.insert(p.index(), (next, scale / params.divisor(here)));
        }
        Ok(())
    }

    /// Step 3: the value of a plan from its powers, for an argument at `level`.
    pub(crate) fn sum_of_powers(
        &self,
        level: usize,
        powers: &Powers,
        plan: &Plan,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        if plan.depth() == 0 {
            let (argument, _) = &powers[&1];
            let mut constant = self.weighted(argument.limbs(), argument, 0.0)?;
            self.add_constant(&mut constant, plan.root().constant * scale)?;
            return Ok(constant);
        }
        let mut sums = LinearSums::new(self.params(), level, powers, plan.root(), scale);
        self.node(level, (powers, &mut sums), plan.root(), scale)
    }

    /// Step 3: the value of a node at the given scale, for an argument at `level`:
    /// `sum_j q_j T_j + sum_i c_i T_i + constant`.
    fn node(
        &self,
        level: usize,
        (powers, sums): (&Powers, &mut LinearSums<'_>),
        node: &Node,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        let SumShape { limbs, target } = SumShape::of(self.params(), level, node, scale);
        let lattice = self.params().lattice();
        // Products of quotients and powers, with one relinearization for all.
        let mut products: Option<mlwe::Tensor> = None;
        for (quotient, m) in &node.products {
            let (power, power_scale) = &powers[m];
            let quotient = self.node(level, (powers, sums), quotient, target / power_scale)?;
            let product = mlwe::Tensor::product(lattice, &at(&quotient, limbs), &at(power, limbs))?;
            match &mut products {
                Some(sum) => sum.add_assign(lattice, &product)?,
                None => products = Some(product),
            }
        }
        // The linear terms join before the rescale.
        let linear = match node.terms.is_empty() {
            true => None,
            false => Some(sums.next(self, limbs, powers)?),
        };
        // Relinearize and rescale; then the constant.
        let mut sum = match (products, linear) {
            (Some(mut products), linear) => {
                if let Some(linear) = linear {
                    products.add_ciphertext_assign(lattice, &linear)?;
                }
                self.relinearized_divided(products)?
            }
            (None, Some(linear)) => self.divided(linear)?,
            (None, None) => unreachable!("a node of a plan has products or terms"),
        };
        self.add_constant(&mut sum, node.constant * scale)?;
        Ok(sum)
    }

    /// A sum with products, relinearized and rescaled by one level, in one mod-down.
    pub(crate) fn relinearized_divided(&self, tensor: mlwe::Tensor) -> Result<mlwe::Ciphertext> {
        let (params, limbs) = (self.params(), tensor.limbs());
        let key = self.keys().relinearization(limbs)?;
        let below = params.limbs_at(params.level_at(limbs) - 1);
        key.relinearize(tensor, limbs - below)
    }

    /// `round(factor) x` modulo the first `limbs` primes.
    pub(super) fn weighted(
        &self,
        limbs: usize,
        x: &mlwe::Ciphertext,
        factor: f64,
    ) -> Result<mlwe::Ciphertext> {
        let sums = self.weighted_sums(limbs, &[x], &[vec![(0, factor.into())]])?;
        Ok(sums.into_iter().next().expect("one sum"))
    }

    /// A sum with products, relinearized and not rescaled.
    pub(crate) fn relinearize(&self, tensor: mlwe::Tensor) -> Result<mlwe::Ciphertext> {
        let key = self.keys().relinearization(tensor.limbs())?;
        key.relinearize(tensor, 0)
    }
}

/// The first `limbs` limbs of a ciphertext.
pub(super) fn at(x: &mlwe::Ciphertext, limbs: usize) -> Cow<'_, mlwe::Ciphertext> {
    if x.limbs() == limbs {
        return Cow::Borrowed(x);
    }
    let mut low = x.clone();
    low.truncate(limbs).expect("operands have at least the limbs of their sum");
    Cow::Owned(low)
}

/// The scale of every basis polynomial of a plan for an argument at this level and scale.
pub(super) fn power_scales(
    params: &Params,
    plan: &Plan,
    level: usize,
    scale: f64,
) -> BTreeMap<usize, f64> {
    let mut scales = BTreeMap::from([(1, scale)]);
    for p in plan.powers() {
        let divisor = params.divisor(level + 1 - power_depth(p.index()));
        scales.insert(p.index(), scales[&p.a] * scales[&p.b] / divisor);
    }
    scales
}

/// The largest drift of a scale of a basis polynomial from that of the argument, in bits; infinite
/// when the plan needs more levels, and for levels that the chain does not have.
pub(crate) fn drift(params: &Params, plan: &Plan, level: usize, scale: f64) -> f64 {
    if plan.depth() > level || level > params.max_level() {
        return f64::INFINITY;
    }
    let scales = power_scales(params, plan, level, scale);
    scales.values().map(|s| (s / scale).log2().abs()).fold(0.0, f64::max)
}

/// Refuses ranges of values or of padding that leave the domain.
pub(crate) fn check_domain(bounds: &Bounds, lo: f64, hi: f64) -> Result<()> {
    let slack = SLACK * (hi - lo);
    let domain = Interval::real(lo - slack, hi + slack)?;
    for (what, range) in [("values", &bounds.values), ("padding", &bounds.padding)] {
        if !domain.contains(range) {
            let complex = !range.is_real();
            let (found_lo, found_hi) = (range.lo(), range.hi());
            return Err(error::outside_domain(what, found_lo, found_hi, complex, lo, hi));
        }
    }
    Ok(())
}
