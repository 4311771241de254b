//! Powers of a ciphertext, computed once for several polynomials.

use bellerophon_mlwe as mlwe;

use super::eval::{MAX_DRIFT, Powers, drift};
use super::{Basis, Monomial, Plan, Polynomial, check_domain};
use crate::{Bounds, Ciphertext, Error, Evaluator, Meta, Result};

/// Powers `x^i`, or Chebyshev polynomials `T_i(u(x))`, of one ciphertext: what several polynomials
/// of it share. Made by [`Evaluator::power_basis`] or [`Evaluator::chebyshev_basis`].
#[derive(Clone, Debug)]
pub struct PowerBasis {
    basis: Basis,
    /// Ends of the domain of Chebyshev polynomials.
    domain: (f64, f64),
    /// The argument that the powers are of, and what is known of it.
    level: usize,
    scale: f64,
    variance: f64,
    /// The ciphertext as it was handed in.
    original: Meta,
    powers: Powers,
}

impl PowerBasis {
    /// The indices that are there, 1 for the argument.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.powers.keys().copied()
    }

    /// The level of the argument: a polynomial ends as many levels below as its plan is deep.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Whether everything that a plan needs is there.
    fn serves(&self, plan: &Plan) -> bool {
        plan.basis() == self.basis
            && plan.powers().iter().all(|p| self.powers.contains_key(&p.index()))
    }

    fn refuse(&self, op: &'static str) -> Error {
        let have: Vec<usize> = self.indices().collect();
        let (lo, hi) = self.domain;
        Error::Powers {
            op,
            reason: format!(
                "the powers {have:?} in the {:?} basis over [{lo:?}, {hi:?}] do not serve this \
                 polynomial: make them with it among the polynomials",
                self.basis
            ),
        }
    }
}

impl Evaluator {
    /// The powers of `x` that the given polynomials need, each at its optimal depth.
    ///
    /// ```no_run
    /// # use bellerophon_ckks::{Ciphertext, Evaluator, Result, polynomial::Monomial};
    /// # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
    /// let p = Monomial::new(&[1.0, 1.0, 0.5, 1.0 / 6.0])?;
    /// let q = Monomial::new(&[0.0, 1.0, 0.0, -1.0 / 6.0])?;
    /// let powers = evaluator.power_basis(&x, &[&p, &q])?;
    /// let exp = evaluator.monomial_in(&powers, &p, None)?;
    /// let sin = evaluator.monomial_in(&powers, &q, None)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key, and mismatches.
    pub fn power_basis(&self, x: &Ciphertext, polynomials: &[&Monomial]) -> Result<PowerBasis> {
        let op = "powers of a ciphertext";
        self.check(op, x)?;
        let plans: Vec<&Plan> = polynomials.iter().flat_map(|p| p.parts()).flatten().collect();
        self.basis_of(op, x, (x.range().lo(), x.range().hi()), Basis::Monomial, &plans)
    }

    /// The Chebyshev polynomials of `x`, mapped from the common domain onto `[-1, 1]`, that the given
    /// polynomials need.
    ///
    /// # Errors
    /// [`Error::NoValues`] without polynomials, [`Error::OutsideDomain`] when the carried range of
    /// `x` leaves the domain of any of them, [`Error::Powers`] when their domains differ, and as for
    /// [`power_basis`](Self::power_basis).
    pub fn chebyshev_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis> {
        let op = "Chebyshev polynomials of a ciphertext";
        self.check(op, x)?;
        let first = polynomials.first().ok_or(Error::NoValues { op })?;
        let domain = |p: &Polynomial| (p.chebyshev().lo(), p.chebyshev().hi());
        let (lo, hi) = domain(first);
        if let Some(other) = polynomials.iter().find(|p| domain(p) != (lo, hi)) {
            let reason = format!(
                "domains [{lo:?}, {hi:?}] and {:?}: polynomials that share powers need one domain",
                domain(other)
            );
            return Err(Error::Powers { op, reason });
        }
        check_domain(op, &x.meta().bounds, lo, hi)?;
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let near =
            plans.iter().all(|plan| drift(self.params(), plan, x.level(), x.scale()) <= MAX_DRIFT);
        let (slope, shift) = first.chebyshev().unit_map();
        let mut basis = match first.integer_slope().filter(|_| near) {
            Some(k) => {
                let u = self.add_scalar(&self.mul_integer(x, k)?, shift)?;
                self.basis_of(op, &u, (lo, hi), Basis::Chebyshev, &plans)?
            }
            None => {
                self.check_levels(op, 1, x.level())?;
                let near = self.params().divisor(x.level() - 1);
                let u = self.linear_combination(&[(x, slope)], shift, Some(near))?;
                self.basis_of(op, &u, (lo, hi), Basis::Chebyshev, &plans)?
            }
        };
        basis.original = *x.meta();
        Ok(basis)
    }

    fn basis_of(
        &self,
        op: &'static str,
        x: &Ciphertext,
        domain: (f64, f64),
        basis: Basis,
        plans: &[&Plan],
    ) -> Result<PowerBasis> {
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        self.check_levels(op, deepest, x.level())?;
        let near = plans.iter().all(|p| drift(self.params(), p, x.level(), x.scale()) <= MAX_DRIFT);
        let matched = if near {
            None
        } else {
            self.check_levels(op, deepest + 1, x.level())?;
            let near = self.params().divisor(x.level() - 1);
            Some(self.match_scale(x, near, x.level() - 1)?)
        };
        let u = matched.as_ref().unwrap_or(x);
        let mut powers = Powers::from([(1, (u.inner.clone(), u.scale()))]);
        for plan in plans {
            self.extend_powers(op, u.level(), &mut powers, plan)?;
        }
        let bound = if basis == Basis::Chebyshev { 1.0 } else { x.meta().bounds.slots.bound() };
        for (&i, (power, scale)) in &powers {
            self.params().check_range(op, bound.powi(i as i32), *scale, power.limbs())?;
        }
        Ok(PowerBasis {
            basis,
            domain,
            level: u.level(),
            scale: u.scale(),
            variance: u.meta().variance,
            original: *x.meta(),
            powers,
        })
    }

    /// `p(x)` in every slot, real or complex, at the given scale (the default scale if none is
    /// given). Takes [`Monomial::levels`] levels, and one more when the scale of `x` is far from what
    /// its level divides by.
    ///
    /// # Errors
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key,
    /// [`Error::RangeOverflow`] when a term could wrap (state a tighter range, or use the
    /// [Chebyshev basis](Monomial::to_chebyshev)), and mismatches.
    pub fn monomial(&self, x: &Ciphertext, p: &Monomial, scale: Option<f64>) -> Result<Ciphertext> {
        self.monomial_in(&self.power_basis(x, &[p])?, p, scale)
    }

    /// As [`monomial`](Self::monomial) on powers that are there already.
    ///
    /// # Errors
    /// [`Error::Powers`] when the powers are not those that `p` needs, and as for
    /// [`monomial`](Self::monomial).
    pub fn monomial_in(
        &self,
        powers: &PowerBasis,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "evaluate a polynomial";
        if !p.parts().iter().flatten().all(|plan| powers.serves(plan)) {
            return Err(powers.refuse(op));
        }
        let scale = scale.unwrap_or(self.params().scale());
        let bounds = powers.original.bounds.map(|range| p.range(range));
        let sensitivity = p.sensitivity(&powers.original.bounds.slots);
        let largest = powers.original.bounds.slots.bound();
        let part = |plan: &Plan| {
            let mut fits = Ok(());
            plan.root().magnitude(largest, &mut |node, most| {
                let level = powers.level - node.depth.min(powers.level);
                let limbs = self.params().limbs_at(level);
                if let Err(error) = self.params().check_range(op, most, scale, limbs) {
                    fits = Err(error);
                }
            });
            fits?;
            self.sum_of(op, powers, plan, scale, bounds, sensitivity)
        };
        match p.parts() {
            [Some(real), None] => part(real),
            [None, Some(imaginary)] => self.mul_i(&part(imaginary)?),
            [Some(real), Some(imaginary)] => {
                let (real, imaginary) = (part(real)?, self.mul_i(&part(imaginary)?)?);
                let mut sum = self.add(&real, &imaginary)?;
                // Either was given the noise and the range of the whole.
                sum.meta.variance = real.meta.variance;
                sum.meta.bounds = bounds;
                Ok(sum)
            }
            [None, None] => unreachable!("a polynomial has a part"),
        }
    }

    /// As [`polynomial`](Self::polynomial) on Chebyshev polynomials that are there already.
    ///
    /// # Errors
    /// [`Error::Powers`] when the domain or the indices are not those that `p` needs, and as for
    /// [`polynomial`](Self::polynomial).
    pub fn polynomial_in(
        &self,
        powers: &PowerBasis,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "evaluate a polynomial";
        if powers.domain != (p.chebyshev().lo(), p.chebyshev().hi()) || !powers.serves(p.plan()) {
            return Err(powers.refuse(op));
        }
        let scale = scale.unwrap_or(self.params().scale());
        let bounds = powers.original.bounds.map(|range| p.range(range));
        self.sum_of(op, powers, p.plan(), scale, bounds, p.sensitivity())
    }

    /// Several polynomials of one ciphertext, over one domain, that share their powers.
    ///
    /// # Errors
    /// As for [`chebyshev_basis`](Self::chebyshev_basis) and [`polynomial`](Self::polynomial).
    pub fn polynomials(
        &self,
        x: &Ciphertext,
        polynomials: &[&Polynomial],
        scale: Option<f64>,
    ) -> Result<Vec<Ciphertext>> {
        let powers = self.chebyshev_basis(x, polynomials)?;
        polynomials.iter().map(|p| self.polynomial_in(&powers, p, scale)).collect()
    }

    /// The sum of a plan over powers that are there.
    fn sum_of(
        &self,
        op: &'static str,
        powers: &PowerBasis,
        plan: &Plan,
        scale: f64,
        bounds: Bounds,
        sensitivity: super::Sensitivity,
    ) -> Result<Ciphertext> {
        crate::encode::check_scale(op, scale)?;
        self.check_levels(op, plan.depth(), powers.level)?;
        let (argument, argument_scale) = &powers.powers[&1];
        let inner = if plan.depth() == 0 {
            let mut constant = self.weighted(op, argument.limbs(), &[(argument, 0.0)])?;
            self.add_constant(op, &mut constant, plan.root().constant * scale)?;
            constant
        } else {
            self.node(op, powers.level, &powers.powers, plan.root(), scale)?
        };
        // Steps round at a scale between those of the argument and of the result.
        let rounding = mlwe::noise::rounding(self.params().lattice());
        let rounding = rounding * (argument_scale / scale).max(1.0).powi(2);
        let variance = sensitivity.variance(powers.variance, rounding);
        let variance = variance * (scale / powers.scale).powi(2);
        self.check_range(op, &bounds, scale, inner.limbs())?;
        let meta = Meta { scale, bounds, variance, ..powers.original };
        Ok(Ciphertext::at_level(self.params(), inner, meta))
    }
}
