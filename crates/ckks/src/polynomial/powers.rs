//! Powers of a ciphertext, computed once for several polynomials.

use std::collections::BTreeSet;

use bellerophon_mlwe as mlwe;

use super::eval::{MAX_DRIFT, Mapping, Powers, at, drift, power_scales};
use super::{Basis, Monomial, Plan, Polynomial, Response, check_domain, power_depth};
use crate::{
    Account, Bounds, Ciphertext, Error, Evaluator, Meta, Result, books::Books, bootstrap::automatic,
};

/// Powers `x^i`, or Chebyshev polynomials `T_i(u(x))`, of one vector: what several polynomials of
/// it share. Made by [`Arithmetic::power_basis`](crate::Arithmetic::power_basis) or
/// [`Arithmetic::chebyshev_basis`](crate::Arithmetic::chebyshev_basis).
#[derive(Clone, Debug)]
pub struct PowerBasis<P> {
    pub(crate) known: Known,
    pub(crate) powers: P,
}

impl<P> PowerBasis<P> {
    /// The indices that are there, 1 for the argument.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.known.indices.iter().copied()
    }

    /// The level of the argument: a polynomial ends as many levels below as its plan is deep.
    pub fn level(&self) -> usize {
        self.known.argument.level
    }
}

/// What is known of powers without their phases.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    indices: BTreeSet<usize>,
    basis: Basis,
    /// Ends of the domain of Chebyshev polynomials.
    domain: (f64, f64),
    /// What the powers are of.
    pub argument: Account,
    /// The vector as it was handed in.
    original: Meta,
}

impl Known {
    /// How many of the powers are products.
    pub fn computed(&self) -> usize {
        self.indices.len() - 1
    }

    /// Refuses plans that need what is not there.
    fn check<'p>(
        &self,
        op: &'static str,
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
        Err(Error::Powers {
            op,
            reason: format!(
                "the powers {:?} in the {:?} basis over [{lo:?}, {hi:?}] do not serve this \
                 polynomial: make them with it among the polynomials",
                self.indices, self.basis
            ),
        })
    }
}

/// How powers come from a vector.
#[derive(Clone, Debug)]
pub(crate) struct PowerCourse {
    /// How the vector is brought onto `[-1, 1]`.
    pub mapping: Mapping,
    /// The scale that its image is then matched to, one level down, if it is.
    pub matched: Option<f64>,
    /// What is known of the powers.
    pub known: Known,
}

impl Books<'_> {
    /// Levels that the powers of `x` and the sums of them take.
    pub(crate) fn power_levels(self, x: &Account, polynomials: &[&Monomial]) -> usize {
        let plans: Vec<&Plan> = polynomials.iter().flat_map(|p| p.parts()).flatten().collect();
        let far = |plan: &&Plan| drift(self.params(), plan, x.level, x.meta.scale) > MAX_DRIFT;
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        deepest + usize::from(plans.iter().any(far))
    }

    /// As [`power_levels`](Self::power_levels) in the Chebyshev basis.
    pub(crate) fn chebyshev_levels(self, x: &Account, polynomials: &[&Polynomial]) -> usize {
        polynomials.iter().map(|p| self.polynomial_levels(x, p)).max().unwrap_or(0)
    }

    /// The powers of `x` that polynomials need.
    pub(crate) fn power_basis(
        self,
        op: &'static str,
        x: &Account,
        polynomials: &[&Monomial],
    ) -> Result<PowerCourse> {
        let plans: Vec<&Plan> = polynomials.iter().flat_map(|p| p.parts()).flatten().collect();
        self.powers_of(op, x, &x.meta, Basis::Monomial, (0.0, 0.0), &plans)
    }

    /// The Chebyshev polynomials of `x` that polynomials over one domain need.
    pub(crate) fn chebyshev_basis(
        self,
        op: &'static str,
        x: &Account,
        polynomials: &[&Polynomial],
    ) -> Result<PowerCourse> {
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
        check_domain(op, &x.meta.bounds, lo, hi)?;
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let (mapping, u) = self.onto_unit(op, x, first, &plans)?;
        let course = self.powers_of(op, &u, &x.meta, Basis::Chebyshev, (lo, hi), &plans)?;
        Ok(PowerCourse { mapping, ..course })
    }

    fn powers_of(
        self,
        op: &'static str,
        u: &Account,
        original: &Meta,
        basis: Basis,
        domain: (f64, f64),
        plans: &[&Plan],
    ) -> Result<PowerCourse> {
        self.errors().check_bounded(op)?;
        let params = self.params();
        let deepest = plans.iter().map(|plan| plan.depth()).max().unwrap_or(0);
        self.check_levels(op, deepest, u.level)?;
        let near = plans.iter().all(|p| drift(params, p, u.level, u.meta.scale) <= MAX_DRIFT);
        let mut argument = *u;
        let mut matched = None;
        if !near {
            self.check_levels(op, deepest + 1, u.level)?;
            let scale = params.divisor(u.level - 1);
            let route = self.match_scale("match a scale", u, scale, u.level - 1)?;
            argument = self.follow("match a scale", u, &route)?;
            matched = Some(scale);
        }
        let bound = if basis == Basis::Chebyshev { 1.0 } else { u.meta.bounds.slots().bound() };
        let mut indices = BTreeSet::from([1]);
        for plan in plans {
            for (i, scale) in power_scales(params, plan, argument.level, argument.meta.scale) {
                let limbs = params.limbs_at(argument.level - power_depth(i));
                params.check_range(op, bound.powi(i as i32), scale, limbs)?;
                indices.insert(i);
            }
        }
        let known = Known { indices, basis, domain, argument, original: *original };
        Ok(PowerCourse { mapping: Mapping::Identity, matched, known })
    }

    /// `p(x)` from powers, at the given scale or the default one.
    pub(crate) fn monomial_in(
        self,
        known: &Known,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Account> {
        let op = "evaluate a polynomial";
        known.check(op, known.domain, p.parts().into_iter().flatten())?;
        let scale = scale.unwrap_or(self.params().scale());
        let Meta { bounds, .. } = known.original;
        let (range, response) = (bounds.map(|range| p.range(range)), p.response(&known.original));
        let part = |plan: &Plan| -> Result<Account> {
            let mut fits = Ok(());
            plan.root().magnitude(bounds.slots().bound(), &mut |node, most| {
                let level = known.argument.level - node.depth.min(known.argument.level);
                let limbs = self.params().limbs_at(level);
                if let Err(error) = self.params().check_range(op, most, scale, limbs) {
                    fits = Err(error);
                }
            });
            fits?;
            self.in_powers(op, known, plan, scale, range, response)
        };
        match p.parts() {
            [Some(real), None] => part(real),
            [None, Some(imaginary)] => Ok(self.mul_i(&part(imaginary)?)),
            [Some(real), Some(imaginary)] => {
                // Either is given the noise and the range of the whole.
                let (real, imaginary) = (part(real)?, part(imaginary)?);
                let level = real.level.min(imaginary.level);
                self.drop_to_level(op, &real, level)
            }
            [None, None] => unreachable!("a polynomial has a part"),
        }
    }

    /// `p(x)` from Chebyshev polynomials, at the given scale or the default one.
    pub(crate) fn polynomial_in(
        self,
        known: &Known,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Account> {
        let op = "evaluate a polynomial";
        known.check(op, (p.chebyshev().lo(), p.chebyshev().hi()), [p.plan()])?;
        let scale = scale.unwrap_or(self.params().scale());
        let bounds = known.original.bounds.map(|range| p.range(range));
        self.in_powers(op, known, p.plan(), scale, bounds, p.response(&known.original))
    }

    fn in_powers(
        self,
        op: &'static str,
        known: &Known,
        plan: &Plan,
        scale: f64,
        bounds: Bounds,
        response: Response,
    ) -> Result<Account> {
        self.errors().check_bounded(op)?;
        crate::encode::check_scale(op, scale)?;
        let Account { level, meta: argument } = known.argument;
        self.check_levels(op, plan.depth(), level)?;
        // Steps round at a scale between those of the argument and of the result.
        let rounding = mlwe::noise::rounding(self.params().lattice());
        let rounding = rounding * (argument.scale / scale).max(1.0).powi(2);
        let noise = response.noise(argument.noise, rounding);
        let noise = noise * (scale / argument.scale).powi(2);
        let meta = Meta { scale, bounds, noise, ..known.original };
        let result = Account { level: level - plan.depth(), meta };
        self.check_range(op, &result)?;
        Ok(result)
    }
}

impl Evaluator {
    /// The powers of `x` that the given polynomials need, each at its optimal depth.
    ///
    /// ```no_run
    /// # use bellerophon_ckks::{Arithmetic, Ciphertext, Evaluator, Result, polynomial::Monomial};
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
    /// [`Error::OutOfLevels`], [`Error::MissingKey`] without a relinearisation key,
    /// [`Error::RangeOverflow`] when a power could wrap, and mismatches.
    pub fn power_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<Powers>> {
        let op = "powers of a ciphertext";
        self.check(op, x)?;
        let plans: Vec<&Plan> = polynomials.iter().flat_map(|p| p.parts()).flatten().collect();
        let needed = self.books().power_levels(&x.account(), polynomials);
        let x = &*automatic::replenished(self, x, needed)?;
        let course = self.books().power_basis(op, &x.account(), polynomials)?;
        self.powers_by(op, x, course, &plans)
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
    ) -> Result<PowerBasis<Powers>> {
        let op = "Chebyshev polynomials of a ciphertext";
        self.check(op, x)?;
        let plans: Vec<&Plan> = polynomials.iter().map(|p| p.plan()).collect();
        let needed = self.books().chebyshev_levels(&x.account(), polynomials);
        let x = &*automatic::replenished(self, x, needed)?;
        let course = self.books().chebyshev_basis(op, &x.account(), polynomials)?;
        let u = self.mapped(x, course.mapping, polynomials[0])?;
        self.powers_by(op, u.as_ref().unwrap_or(x), course, &plans)
    }

    fn powers_by(
        &self,
        op: &'static str,
        u: &Ciphertext,
        course: PowerCourse,
        plans: &[&Plan],
    ) -> Result<PowerBasis<Powers>> {
        let PowerCourse { matched, known, .. } = course;
        let matched =
            matched.map(|scale| self.match_scale(u, scale, known.argument.level)).transpose()?;
        let u = matched.as_ref().unwrap_or(u);
        let mut powers = Powers::from([(1, (u.inner.clone(), u.scale()))]);
        for plan in plans {
            self.extend_powers(op, u.level(), &mut powers, plan)?;
        }
        Ok(PowerBasis { known, powers })
    }

    /// As [`monomial`](crate::Arithmetic::monomial) on powers that are there already.
    ///
    /// # Errors
    /// [`Error::Powers`] when the powers are not those that `p` needs, and as for
    /// [`monomial`](crate::Arithmetic::monomial).
    pub fn monomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "evaluate a polynomial";
        self.check_powers(op, powers)?;
        let result = self.books().monomial_in(&powers.known, p, scale)?;
        let limbs = self.params().limbs_at(result.level);
        let [real, imaginary] = p.parts().map(|plan| {
            plan.map(|plan| self.phase_in(op, powers, plan, result.meta.scale)).transpose()
        });
        let imaginary = imaginary?.map(|mut phase| {
            self.mul_i_assign(&mut phase);
            phase
        });
        let inner = match (real?, imaginary) {
            (Some(real), Some(imaginary)) => {
                let mut sum = at(&real, limbs).into_owned();
                sum.add_assign(self.params().lattice(), &at(&imaginary, limbs))?;
                sum
            }
            (real, imaginary) => real.or(imaginary).expect("a polynomial has a part"),
        };
        Ok(Ciphertext::at_level(self.params(), inner, result.meta))
    }

    /// As [`polynomial`](Self::polynomial) on Chebyshev polynomials that are there already.
    ///
    /// # Errors
    /// [`Error::Powers`] when the domain or the indices are not those that `p` needs, and as for
    /// [`polynomial`](Self::polynomial).
    pub fn polynomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "evaluate a polynomial";
        self.check_powers(op, powers)?;
        let result = self.books().polynomial_in(&powers.known, p, scale)?;
        let inner = self.phase_in(op, powers, p.plan(), result.meta.scale)?;
        Ok(Ciphertext::at_level(self.params(), inner, result.meta))
    }

    /// Refuses powers of ciphertexts of other parameters or another key.
    fn check_powers(&self, op: &'static str, powers: &PowerBasis<Powers>) -> Result<()> {
        let argument = &powers.powers[&1].0;
        self.params().check(op, argument.fingerprint())?;
        if argument.key() != self.keys().secret_id() {
            let (left, right) = (self.keys().secret_id(), argument.key());
            return Err(Error::KeyMismatch { op, left, right });
        }
        Ok(())
    }

    /// The sum of a plan over powers that are there.
    fn phase_in(
        &self,
        op: &'static str,
        powers: &PowerBasis<Powers>,
        plan: &Plan,
        scale: f64,
    ) -> Result<mlwe::Ciphertext> {
        if plan.depth() == 0 {
            let argument = &powers.powers[&1].0;
            let mut constant = self.weighted(op, argument.limbs(), &[(argument, 0.0)])?;
            self.add_constant(op, &mut constant, plan.root().constant * scale)?;
            return Ok(constant);
        }
        self.node(op, powers.level(), &powers.powers, plan.root(), scale)
    }
}
