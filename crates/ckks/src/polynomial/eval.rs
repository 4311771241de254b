//! Plans carried out on ciphertexts.
//!
//! Scales are exact: an evaluation is asked for a result at a given scale, and every constant and
//! every quotient is computed at the scale at which its product meets the other terms of the sum.
//! For a node whose result shall have the scale `s` after the rescaling by `q`, that is `s q`; a
//! term `c T_i` multiplies by the integer `round(c s q / scale(T_i))`, a product `q_j T_j` asks for
//! the quotient at `s q / scale(T_j)`.

use std::{borrow::Cow, collections::BTreeMap};

use bellerophon_mlwe as mlwe;
use bellerophon_ring::{Ntt, Poly};

use super::{Basis, Node, Plan, Polynomial, power_depth};
use crate::{
    Account, Arithmetic, Bounds, Ciphertext, Error, Evaluator, Interval, Meta, Params, Result,
    books::{Books, scaled_integer},
    bootstrap::automatic,
    noise::Noise,
};

/// Scales of basis polynomials may drift from that of the input by this many bits: what they drift
/// is lost or gained in precision.
pub(super) const MAX_DRIFT: f64 = 8.0;

/// By how much a range may exceed the domain, in units of the domain's width: rounding of the
/// bookkeeping.
const SLACK: f64 = 1e-9;

impl Evaluator {
    /// `p(x)` in every slot, at the given scale (the default scale if none is given).
    ///
    /// Takes [`p.levels()`](Polynomial::levels) levels, provided that the scale of `x` is near what
    /// its level divides by (one more otherwise).
    ///
    /// # Errors
    /// [`Error::OutsideDomain`] when the carried range of `x`, padding included, is not in the
    /// domain of `p`; [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key,
    /// [`Error::RangeOverflow`] and mismatches.
    pub fn polynomial(
        &self,
        x: &Ciphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "evaluate a polynomial";
        self.check(op, x)?;
        let needed = self.books().polynomial_levels(&x.account(), p);
        let x = &*automatic::replenished(self, x, needed)?;
        let Course { mapping, result } = self.books().polynomial(op, &x.account(), p, scale)?;
        let scale = result.meta.scale;
        let inner = if p.plan().depth() == 0 {
            let mut constant = self.mul_integer(x, 0)?.inner;
            self.add_constant(op, &mut constant, p.chebyshev().constant() * scale)?;
            constant
        } else {
            let mapped = self.mapped(x, mapping, p)?;
            self.carry_out(op, mapped.as_ref().unwrap_or(x), p.plan(), scale)?
        };
        Ok(Ciphertext::at_level(self.params(), inner, result.meta))
    }

    /// `x` brought onto `[-1, 1]` from the domain of `p`, unless it is there.
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

    /// Carries out a plan of at least one level on `u`, whose slots are in `[-1, 1]` and whose scale
    /// is near what its level divides by. Only the phase is computed: range and noise are the caller's.
    pub(crate) fn carry_out(
        &self,
        op: &'static str,
        u: &Ciphertext,
        plan: &Plan,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        self.check_levels(op, plan.depth(), u.level())?;
        let powers = self.powers(op, u, plan)?;
        self.node(op, u.level(), &powers, plan.root(), scale)
    }

    /// All basis polynomials of a plan, each with its scale.
    fn powers(&self, op: &'static str, u: &Ciphertext, plan: &Plan) -> Result<Powers> {
        let mut powers = Powers::from([(1, (u.inner.clone(), u.scale()))]);
        self.extend_powers(op, u.level(), &mut powers, plan)?;
        Ok(powers)
    }

    /// Adds what a plan needs to the basis polynomials of an argument at `level`.
    pub(super) fn extend_powers(
        &self,
        op: &'static str,
        level: usize,
        powers: &mut Powers,
        plan: &Plan,
    ) -> Result<()> {
        let params = self.params();
        for p in plan.powers() {
            if powers.contains_key(&p.index()) {
                continue;
            }
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
            let mut constant = 0.0;
            if plan.basis() == Basis::Chebyshev {
                product.double_assign(lattice)?;
                match powers.get(&p.difference()) {
                    Some((c, c_scale)) => {
                        let c = self.weighted(op, limbs, &[(c, -scale / c_scale)])?;
                        product.add_ciphertext_assign(lattice, &c)?;
                    }
                    None => constant = -scale / params.divisor(here),
                }
            }
            let mut next = self.relinearised_divided(op, product)?;
            if constant != 0.0 {
                self.add_constant(op, &mut next, constant)?;
            }
            powers.insert(p.index(), (next, scale / params.divisor(here)));
        }
        Ok(())
    }

    /// The value of a node at the given scale, for an argument at `level`.
    pub(super) fn node(
        &self,
        op: &'static str,
        level: usize,
        powers: &Powers,
        node: &Node,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        // Where the products are, before the rescaling.
        let level_here = level + 1 - node.depth;
        let limbs = self.params().limbs_at(level_here);
        let target = scale * self.params().divisor(level_here);
        let lattice = self.params().lattice();
        let mut products: Option<mlwe::Tensor> = None;
        for (quotient, m) in &node.products {
            let (power, power_scale) = &powers[m];
            let quotient = self.node(op, level, powers, quotient, target / power_scale)?;
            let product = mlwe::Tensor::product(lattice, &at(&quotient, limbs), &at(power, limbs))?;
            match &mut products {
                Some(sum) => sum.add_assign(lattice, &product)?,
                None => products = Some(product),
            }
        }
        let terms: Vec<_> = node
            .terms
            .iter()
            .map(|(i, c)| {
                let (power, power_scale) = &powers[i];
                (power, c * target / power_scale)
            })
            .collect();
        let linear = match terms.is_empty() {
            true => None,
            false => Some(self.weighted(op, limbs, &terms)?),
        };
        let mut sum = match (products, linear) {
            (Some(mut products), linear) => {
                if let Some(linear) = linear {
                    products.add_ciphertext_assign(lattice, &linear)?;
                }
                self.relinearised_divided(op, products)?
            }
            (None, Some(linear)) => self.divided(linear)?,
            (None, None) => unreachable!("a node of a plan has products or terms"),
        };
        self.add_constant(op, &mut sum, node.constant * scale)?;
        Ok(sum)
    }

    /// A sum with products, relinearised and one level down, in one division.
    pub(crate) fn relinearised_divided(
        &self,
        op: &'static str,
        tensor: mlwe::Tensor,
    ) -> Result<mlwe::Ciphertext> {
        let (params, limbs) = (self.params(), tensor.limbs());
        let key = self.keys().relinearisation(op, limbs)?;
        let below = params.limbs_at(params.level_at(limbs) - 1);
        Ok(key.relinearise_rescale(tensor, limbs - below)?)
    }

    pub(crate) fn relinearise(
        &self,
        op: &'static str,
        tensor: mlwe::Tensor,
    ) -> Result<mlwe::Ciphertext> {
        let key = self.keys().relinearisation(op, tensor.limbs())?;
        Ok(key.relinearise(tensor)?)
    }

    /// `sum_i round(factor_i) x_i` modulo the first `limbs` primes; at least one term.
    pub(crate) fn weighted(
        &self,
        op: &'static str,
        limbs: usize,
        terms: &[(&mlwe::Ciphertext, f64)],
    ) -> Result<mlwe::Ciphertext> {
        let ring = self.params().ring(limbs);
        let residues = terms
            .iter()
            .map(|(_, factor)| {
                let integer = scaled_integer(op, *factor, 1.0)?;
                Ok(ring.moduli().map(|q| q.from_i128(integer)).collect())
            })
            .collect::<Result<Vec<Vec<u64>>>>()?;
        let sum = |poly: fn(&mlwe::Ciphertext, usize) -> &Poly<Ntt>, i: usize| {
            let terms: Vec<_> =
                terms.iter().zip(&residues).map(|((x, _), c)| (poly(x, i), c.as_slice())).collect();
            ring.weighted_sum(&terms)
        };
        let first = terms[0].0;
        let masks = (0..first.rank()).map(|i| sum(mlwe::Ciphertext::a, i)).collect();
        let body = sum(|x, _| x.b(), 0);
        Ok(mlwe::Ciphertext::new(self.params().lattice(), body, masks, first.key())?)
    }

    /// `sum += round(value)` in every slot.
    pub(crate) fn add_constant(
        &self,
        op: &'static str,
        sum: &mut mlwe::Ciphertext,
        value: f64,
    ) -> Result<()> {
        self.add_integer(sum, scaled_integer(op, value, 1.0)?);
        Ok(())
    }
}

/// How the domain of a polynomial is mapped onto `[-1, 1]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mapping {
    /// Not at all: it is that interval.
    Identity,
    /// By an integer slope and a shift, without a level.
    Integer(i64),
    /// By any slope, rescaled to this scale.
    Rescaled(f64),
}

/// The evaluation of a polynomial, worked out for one operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Course {
    /// How the argument is brought onto `[-1, 1]`.
    pub mapping: Mapping,
    /// The result.
    pub result: Account,
}

impl Books<'_> {
    /// Levels that a polynomial takes on `x`: a scale far from the primes costs one to be matched.
    pub(crate) fn polynomial_levels(self, x: &Account, p: &Polynomial) -> usize {
        let depth = p.plan().depth();
        if depth == 0 || self.near_primes(x, p) { p.levels() } else { depth + 1 }
    }

    /// Whether the scales of the basis polynomials stay near that of `x`.
    fn near_primes(self, x: &Account, p: &Polynomial) -> bool {
        drift(self.params(), p.plan(), x.level, x.meta.scale) <= MAX_DRIFT
    }

    /// How `x` is brought onto `[-1, 1]` from the domain of `p`, for plans on it, and what then is
    /// known of it.
    pub(super) fn onto_unit(
        self,
        op: &'static str,
        x: &Account,
        p: &Polynomial,
        plans: &[&Plan],
    ) -> Result<(Mapping, Account)> {
        let (slope, shift) = p.chebyshev().unit_map();
        let near = |plan: &&Plan| drift(self.params(), plan, x.level, x.meta.scale) <= MAX_DRIFT;
        match p.integer_slope().filter(|_| plans.iter().all(near)) {
            Some(1) if shift == 0.0 => Ok((Mapping::Identity, *x)),
            Some(k) => {
                let (u, _) = self.add_scalar(op, &self.mul_integer(op, x, k)?, shift)?;
                Ok((Mapping::Integer(k), u))
            }
            None => {
                let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
                self.check_levels(op, deepest + 1, x.level)?;
                let near = self.params().divisor(x.level - 1);
                let u = self.combination(op, &[], &[(*x, slope)], shift, Some(near))?.result;
                Ok((Mapping::Rescaled(near), u))
            }
        }
    }

    /// `p(x)` at the given scale, or the default one.
    pub(crate) fn polynomial(
        self,
        op: &'static str,
        x: &Account,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Course> {
        self.errors().check_bounded(op)?;
        let (params, plan, chebyshev) = (self.params(), p.plan(), p.chebyshev());
        check_domain(op, &x.meta.bounds, chebyshev.lo(), chebyshev.hi())?;
        let scale = scale.unwrap_or(params.scale());
        crate::encode::check_scale(op, scale)?;
        if plan.depth() == 0 {
            let mut zero = self.mul_integer(op, x, 0)?;
            (zero.meta.scale, zero.meta.noise) = (scale, Noise::NONE);
            let (result, _) = self.add_scalar(op, &zero, chebyshev.constant())?;
            return Ok(Course { mapping: Mapping::Identity, result });
        }
        let (mapping, u) = self.onto_unit(op, x, p, &[plan])?;
        self.check_levels(op, plan.depth(), u.level)?;
        // Steps round at a scale between those of the argument and of the result.
        let rounding = mlwe::noise::rounding(params.lattice());
        let rounding = rounding * (u.meta.scale / scale).max(1.0).powi(2);
        let noise = p.response(&x.meta).noise(u.meta.noise, rounding);
        let noise = noise * (scale / u.meta.scale).powi(2);
        let bounds = x.meta.bounds.map(|range| p.range(range));
        let meta = Meta { scale, bounds, noise, ..x.meta };
        let result = Account { level: u.level - plan.depth(), meta };
        self.check_range(op, &result)?;
        Ok(Course { mapping, result })
    }
}

/// Basis polynomials by index, each with its scale.
pub type Powers = BTreeMap<usize, (mlwe::Ciphertext, f64)>;

/// The first `limbs` limbs of a ciphertext.
pub(super) fn at(x: &mlwe::Ciphertext, limbs: usize) -> Cow<'_, mlwe::Ciphertext> {
    if x.limbs() == limbs {
        return Cow::Borrowed(x);
    }
    let mut low = x.clone();
    low.truncate(limbs).expect("operands stand above the sums that they enter");
    Cow::Owned(low)
}

/// The scale of every basis polynomial of a plan for an input at this level and scale.
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

/// The largest drift of a scale of a basis polynomial from that of the input, in bits; infinite when
/// there are too few levels anyway, and for levels that the chain does not have.
pub(crate) fn drift(params: &Params, plan: &Plan, level: usize, scale: f64) -> f64 {
    if plan.depth() > level || level > params.max_level() {
        return f64::INFINITY;
    }
    let scales = power_scales(params, plan, level, scale);
    scales.values().map(|s| (s / scale).log2().abs()).fold(0.0, f64::max)
}

/// Refuses ranges, of values or of padding, that leave the domain.
pub(crate) fn check_domain(op: &'static str, bounds: &Bounds, lo: f64, hi: f64) -> Result<()> {
    let slack = SLACK * (hi - lo);
    let domain = Interval::real(lo - slack, hi + slack)?;
    for (what, range) in [("values", &bounds.values), ("padding", &bounds.padding)] {
        if !domain.contains(range) {
            let complex = !range.is_real();
            let (found_lo, found_hi) = (range.lo(), range.hi());
            return Err(Error::OutsideDomain { op, what, found_lo, found_hi, complex, lo, hi });
        }
    }
    Ok(())
}
