//! Prepared functions carried out on ciphertexts.

use super::function::Function;
use super::iterate::{Goldschmidt, Newton, Squarings};
use super::prepare::{Approximation, Program};
use crate::polynomial::check_domain;
use crate::{Ciphertext, Evaluator, Result};

impl Evaluator {
    /// `f(x)` in every slot for a prepared function. Takes [`Approximation::levels`] levels (one
    /// more when the scale of `x` is far from the primes of its level).
    ///
    /// The result is at the default scale, or, for roots by Newton's iteration, near it.
    ///
    /// # Errors
    /// [`OutsideDomain`](crate::Error::OutsideDomain) when the carried range of `x`, padding included, is not within the
    /// domain: prepare over a wider one, or, where more is known than the range says, state it by
    /// [`Ciphertext::assume_range`]. [`OutOfLevels`](crate::Error::OutOfLevels), [`MissingKey`](crate::Error::MissingKey) without a
    /// relinearisation key, [`RangeOverflow`](crate::Error::RangeOverflow) and mismatches.
    pub fn apply(&self, x: &Ciphertext, f: &Approximation) -> Result<Ciphertext> {
        let op = "apply a function";
        self.check(op, x)?;
        check_domain(op, &x.meta().bounds, f.lo(), f.hi())?;
        self.check_levels(op, f.levels(), x.level())?;
        let mut y = match f.program() {
            Program::Polynomial(p) => return self.polynomial(x, p, None),
            Program::Inverse(g) => self.goldschmidt(x, g)?,
            Program::Root(n) => self.newton(x, n)?,
            Program::Exponential(s) => self.squarings(x, s)?,
        };
        y.meta.bounds = x.meta.bounds.map(|range| f.range(range));
        self.check_range(op, &y.meta.bounds, y.scale(), y.limbs())?;
        Ok(y)
    }

    /// `f(x)` in every slot, to an error of `2^log2_error` over the range that `x` carries, padding
    /// included: [`Approximation::new`] and [`apply`](Self::apply) at once. Where many ciphertexts
    /// share a domain, prepare once.
    ///
    /// ```no_run
    /// # use bellerophon_ckks::{Ciphertext, Evaluator, Interval, Result, approx::Function};
    /// # fn f(evaluator: &Evaluator, x: Ciphertext) -> Result<()> {
    /// let x = x.assume_range(Interval::real(0.5, 2.0)?); // what is known of the slots
    /// let y = evaluator.function(&x, &Function::ln(), -20.0)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of both; [`OutsideDomain`](crate::Error::OutsideDomain) for complex slots, and where it is the padding that
    /// makes the range too wide.
    pub fn function(&self, x: &Ciphertext, f: &Function, log2_error: f64) -> Result<Ciphertext> {
        let bounds = &x.meta().bounds;
        let around = |lo: f64, hi: f64| {
            // A range of one point, or nearly one, is no domain.
            let room = (1e-3 * (lo.abs() + hi.abs())).max(1e-6);
            if hi - lo < room { (lo - room, hi + room) } else { (lo, hi) }
        };
        let (lo, hi) = around(bounds.slots.lo(), bounds.slots.hi());
        let prepared = Approximation::new(f, lo, hi, log2_error).or_else(|error| {
            let (lo, hi) = around(bounds.values.lo(), bounds.values.hi());
            Approximation::new(f, lo, hi, log2_error).map_err(|_| error)
        })?;
        self.apply(x, &prepared)
    }

    /// `y_k`, the last one at the default scale.
    fn goldschmidt(&self, x: &Ciphertext, g: &Goldschmidt) -> Result<Ciphertext> {
        let params = self.params();
        let powers = self.chebyshev_basis(x, &[&g.residue, &g.start])?;
        let mut e = self.polynomial_in(&powers, &g.residue, None)?;
        let top = e.level();
        let mut residue_scales = vec![e.scale()];
        for step in 1..g.steps {
            let last = residue_scales[step - 1];
            residue_scales.push(last * last / params.divisor(top + 1 - step));
        }
        // From the scale of the last product back to that of the first factor.
        let scale = (0..g.steps).rev().fold(params.scale(), |scale, step| {
            scale * params.divisor(top - step) / residue_scales[step]
        });
        let start = self.polynomial_in(&powers, &g.start, Some(scale))?;
        let mut y = self.drop_to_level(&start, top)?;
        for step in 0..g.steps {
            y = self.mul(&y, &self.add_scalar(&e, 1.0)?)?;
            if step + 1 < g.steps {
                e = self.square(&e)?;
            }
        }
        y.meta.scale = params.scale();
        Ok(y)
    }

    /// `3/2 y - 1/2 (x y) y^2`, as often as asked.
    fn newton(&self, x: &Ciphertext, n: &Newton) -> Result<Ciphertext> {
        let mut y = self.polynomial(x, &n.start, None)?;
        for step in 0..n.steps {
            // -1/2 y^2: the half goes into the scale.
            let half = self.neg(&self.square(&y)?)?.times_free(0.5)?;
            let product = self.mul(x, &y)?;
            let root = n.root && step + 1 == n.steps;
            y = if root {
                let cube = self.mul(&self.square(x)?, &y)?;
                self.combination(&[(&cube, &half)], &[(&product, 1.5)], 0.0, None)?
            } else {
                self.combination(&[(&product, &half)], &[(&y, 1.5)], 0.0, None)?
            };
        }
        Ok(y)
    }

    /// The last square at the default scale.
    fn squarings(&self, x: &Ciphertext, s: &Squarings) -> Result<Ciphertext> {
        let params = self.params();
        let levels = self.books().polynomial_levels(&x.account(), &s.root) + s.steps;
        self.check_levels("apply a function", levels, x.level())?;
        let last = x.level() - levels;
        let scale = (1..=s.steps)
            .fold(params.scale(), |scale, step| (scale * params.divisor(last + step)).sqrt());
        let mut y = self.polynomial(x, &s.root, Some(scale))?;
        for _ in 0..s.steps {
            y = self.square(&y)?;
        }
        y.meta.scale = params.scale();
        Ok(y)
    }
}
