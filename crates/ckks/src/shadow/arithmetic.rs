//! The operations on plain vectors.

use std::{ptr, sync::Arc};

use super::{Failure, Shadow, Vector, map, one_key, zip};
use crate::{
    Account, Arithmetic, Complex64, Interval, Meta, Params, Result, SlotValue,
    books::Route,
    bootstrap::{
        Bootstrapper,
        automatic::{self, Operands},
    },
    encode::check_values,
    eval::sum::check_lengths,
    lengths::check_len,
    linear::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis},
    turn::Turn,
};

/// On plain vectors, with the books of ciphertexts.
impl Arithmetic for Shadow {
    type Ciphertext = Vector;
    type Powers = Vector;

    fn params(&self) -> &Params {
        &self.params
    }

    fn account(&self, x: &Vector) -> Account {
        x.account
    }

    fn add(&self, x: &Vector, y: &Vector) -> Result<Vector> {
        self.perform("add", [x, y], |_| self.sum("add", x, y, Interval::add, |a, b| a + b))
    }

    fn sub(&self, x: &Vector, y: &Vector) -> Result<Vector> {
        self.perform("subtract", [x, y], |_| {
            self.sum("subtract", x, y, Interval::sub, |a, b| a - b)
        })
    }

    fn neg(&self, x: &Vector) -> Result<Vector> {
        self.perform("negate", [x], |books| {
            Ok(self.vector(map(x, |a| -a), books.negative(&x.account)))
        })
    }

    fn add_values<T: SlotValue>(&self, x: &Vector, values: &[T]) -> Result<Vector> {
        self.perform("add values", [x], |_| {
            check_values("add values", values, self.params.max_slots())?;
            check_len("add values", x.account.meta.len, values.len())?;
            let Account { level, meta } = x.account;
            let plain = self.constants("encode", values, meta.slots, meta.scale, level)?;
            self.sum("add a plaintext", x, &plain, Interval::add, |a, b| a + b)
        })
    }

    fn add_scalar(&self, x: &Vector, c: f64) -> Result<Vector> {
        self.perform("add a constant", [x], |books| {
            let (account, _) = books.add_scalar("add a constant", &x.account, c)?;
            Ok(self.vector(map(x, |a| a + c), account))
        })
    }

    fn mul_unscaled(&self, x: &Vector, y: &Vector) -> Result<Vector> {
        self.perform("multiply", [x, y], |_| self.product("multiply", x, y))
    }

    fn square_unscaled(&self, x: &Vector) -> Result<Vector> {
        self.perform("square", [x], |_| self.squared("square", x))
    }

    fn mul(&self, x: &Vector, y: &Vector) -> Result<Vector> {
        let op = "multiply";
        self.perform(op, [x, y], |books| {
            let (x, y) = match ptr::eq(x, y) {
                true => return self.rescaled_square(op, x),
                false => automatic::factors(self, x, y)?,
            };
            books.check_levels(op, 1, x.account.level.min(y.account.level))?;
            self.rescaled(op, &self.product(op, &x, &y)?)
        })
    }

    fn square(&self, x: &Vector) -> Result<Vector> {
        let op = "square";
        self.perform(op, [x], |_| self.rescaled_square(op, x))
    }

    fn rescale(&self, x: &Vector) -> Result<Vector> {
        self.perform("rescale", [x], |_| self.rescaled("rescale", x))
    }

    fn mul_values<T: SlotValue>(&self, x: &Vector, values: &[T]) -> Result<Vector> {
        let op = "multiply by values";
        self.perform(op, [x], |_| self.times_values(op, x, values, None))
    }

    fn mul_values_to<T: SlotValue>(&self, x: &Vector, values: &[T], scale: f64) -> Result<Vector> {
        let op = "multiply by values";
        self.perform(op, [x], |_| self.times_values(op, x, values, Some(scale)))
    }

    fn mul_scalar(&self, x: &Vector, c: f64) -> Result<Vector> {
        let op = "multiply by a constant";
        self.perform(op, [x], |books| {
            let x = &*automatic::replenished(self, x, 1)?;
            let level = x.account.level;
            books.check_levels(op, 1, level)?;
            let (product, _) = books.mul_scalar(op, &x.account, c, self.params.divisor(level))?;
            let account = books.rescaled(op, &product)?;
            Ok(self.vector(map(x, |a| a * c), account))
        })
    }

    fn mul_complex(&self, x: &Vector, c: Complex64) -> Result<Vector> {
        let op = "multiply by a constant";
        self.perform(op, [x], |books| {
            let x = &*automatic::replenished(self, x, 1)?;
            let Account { level, meta } = x.account;
            books.check_levels(op, 1, level)?;
            let mut factor =
                self.constants("encode", &[c], 1, self.params.divisor(level), level)?;
            (factor.account.meta.slots, factor.account.meta.len) = (meta.slots, meta.len);
            self.times_plain(x, &factor)
        })
    }

    fn mul_integer(&self, x: &Vector, k: i64) -> Result<Vector> {
        self.perform("multiply by an integer", [x], |books| {
            let account = books.mul_integer("multiply by an integer", &x.account, k)?;
            Ok(self.vector(map(x, |a| a * k as f64), account))
        })
    }

    fn mul_i(&self, x: &Vector) -> Result<Vector> {
        self.perform("multiply by i", [x], |books| {
            Ok(self.vector(map(x, |a| a * Complex64::I), books.mul_i(&x.account)))
        })
    }

    fn combination(
        &self,
        products: &[(&Vector, &Vector)],
        terms: &[(&Vector, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Vector> {
        let op = "linear combination";
        let factors = products.iter().flat_map(|&(x, y)| [x, y]);
        let operands = factors.chain(terms.iter().map(|&(x, _)| x));
        self.perform(op, operands, |books| {
            let Operands { products, terms } =
                automatic::combination(self, products, terms, scale)?;
            let pairs: Vec<_> = products.iter().map(|(x, y)| (x.account, y.account)).collect();
            let multiples: Vec<_> = terms.iter().map(|(x, c)| (x.account, *c)).collect();
            let plan = books.combination(op, &pairs, &multiples, constant, scale)?;
            if !products.is_empty() {
                self.needs(1, |keys| keys.multiply(plan.level));
            }
            let mut sum = vec![Complex64::from(constant); plan.result.meta.slots];
            let mut accumulate = |values: &[Complex64]| {
                for (i, sum) in sum.iter_mut().enumerate() {
                    *sum += values[i & (values.len() - 1)];
                }
            };
            products.iter().for_each(|(x, y)| accumulate(&zip(x, y, |a, b| a * b)));
            terms.iter().for_each(|(x, c)| accumulate(&map(x, |a| a * *c)));
            Ok(self.vector(sum, plan.result))
        })
    }

    fn rotate(&self, x: &Vector, step: i64) -> Result<Vector> {
        self.perform("rotate", [x], |_| Ok(self.rotated(x, step)))
    }

    fn rotate_many(&self, x: &Vector, steps: &[i64]) -> Result<Vec<Vector>> {
        steps.iter().map(|&step| self.rotate(x, step)).collect()
    }

    fn conjugate(&self, x: &Vector) -> Result<Vector> {
        self.perform("conjugate", [x], |books| {
            self.needs(1, |keys| keys.conjugate(x.account.level));
            Ok(self.vector(map(x, |a| a.conj()), books.conjugated(&x.account)))
        })
    }

    fn polynomial(&self, x: &Vector, p: &Polynomial, scale: Option<f64>) -> Result<Vector> {
        let op = "evaluate a polynomial";
        self.perform(op, [x], |books| {
            let needed = books.polynomial_levels(&x.account, p);
            let x = &*automatic::replenished(self, x, needed)?;
            let result = books.polynomial(op, &x.account, p, scale)?.result;
            if p.plan().relinearisations() > 0 {
                let level = result.level + p.plan().depth();
                self.needs(p.plan().relinearisations(), |keys| keys.multiply(level));
            }
            Ok(self.vector(map(x, |a| p.eval(a.re).into()), result))
        })
    }

    fn transform(&self, x: &Vector, m: &LinearTransform) -> Result<Vector> {
        let op = "linear transform";
        self.perform(op, [x], |_| {
            self.errors.check_bounded(op)?;
            self.params.check_chain(op, m.params())?;
            m.check_slots(op, &x.account)?;
            let x = &*automatic::raised(self, x, m.level())?;
            let account = m.account(op, &x.account, &one_key)?;
            let steps = m.rotation_steps().into_iter().map(|step| step as i64);
            self.needs(m.rotations(), |keys| keys.rotate(steps, m.level()));
            Ok(self.vector(m.apply(&x.values)?, account))
        })
    }

    fn drop_to_level(&self, x: &Vector, level: usize) -> Result<Vector> {
        let op = "drop levels";
        self.perform(op, [x], |books| {
            let account = books.drop_to_level(op, &x.account, level)?;
            Ok(Vector { account, ..x.clone() })
        })
    }

    fn match_scale(&self, x: &Vector, scale: f64, level: usize) -> Result<Vector> {
        let op = "match a scale";
        self.perform(op, [x], |books| {
            let route = books.match_scale(op, &x.account, scale, level);
            if automatic::is_stuck(self, x.account.level, level, &route) {
                let x = self.refresh_to(x, scale)?;
                return self.followed(op, &x, &Route::drop_to(level));
            }
            self.followed(op, x, &route?)
        })
    }

    fn times_free(&self, x: Vector, factor: f64) -> Result<Vector> {
        self.perform("multiply through the scale", [&x], |_| {
            let meta = x.account.meta.times_free(factor)?;
            Ok(Vector { values: map(&x, |a| a * factor), ..x.with(meta) })
        })
    }

    fn repeated(&self, x: Vector, slots: usize) -> Result<Vector> {
        self.perform("repeat", [&x], |_| {
            let meta = x.account.meta.repeated(slots, self.params.max_slots())?;
            let values = x.values.iter().copied().cycle().take(slots).collect();
            Ok(self.vector(values, Account { meta, ..x.account }))
        })
    }

    fn broadcast(&self, x: Vector, len: usize) -> Result<Vector> {
        self.perform("broadcast", [&x], |_| {
            let meta = x.account.meta.broadcast(len, self.params.max_slots())?;
            let values = x.values.iter().copied().cycle().take(meta.slots).collect();
            Ok(self.vector(values, Account { meta, ..x.account }))
        })
    }

    fn restated(&self, x: Vector, meta: Meta) -> Vector {
        x.with(meta)
    }

    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let failed_before = self.lock().failure.is_some();
        work().map_err(|error| {
            let error = error.named(op);
            let mut report = self.lock();
            if !failed_before {
                // A failure between two operations is one of its own.
                let found = report.failure.as_ref().map(|failure| failure.operation);
                let operation = found.unwrap_or(report.operations + 1);
                report.operations = report.operations.max(operation);
                report.failure = Some(Failure { operation, error: error.clone() });
            }
            error
        })
    }

    fn sum_of_rotations(&self, terms: &[(&Vector, &[i64])]) -> Result<Vector> {
        self.perform("sum of rotations", terms.iter().map(|(x, _)| *x), |books| {
            let accounts: Vec<_> = terms.iter().map(|&(x, steps)| (x.account, steps)).collect();
            let account = books.sum_of_rotations(&accounts, |step| Ok(Turn::one_key(step)))?;
            let slots = account.meta.slots;
            let mut sum = vec![Complex64::ZERO; slots];
            for (x, steps) in terms {
                for step in steps.iter().map(|step| step.rem_euclid(slots as i64) as usize) {
                    if step != 0 {
                        self.needs(1, |keys| keys.rotate([step as i64], account.level));
                    }
                    let (wrapped, first) = x.values.split_at(step);
                    let rotated = first.iter().chain(wrapped);
                    sum.iter_mut().zip(rotated).for_each(|(sum, a)| *sum += a);
                }
            }
            Ok(self.vector(sum, account))
        })
    }

    fn rotates_by(&self, _: &Vector, _: i64) -> bool {
        true
    }

    fn dot_values<T: SlotValue>(&self, x: &[&Vector], values: &[Vec<T>]) -> Result<Vector> {
        let op = "dot product with values";
        self.perform(op, x.iter().copied(), |books| {
            check_lengths(op, x.len(), values.len())?;
            for (x, values) in x.iter().zip(values) {
                check_len(op, x.account.meta.len, values.len())?;
            }
            let x = automatic::alike(self, x)?;
            let x: Vec<&Vector> = x.iter().map(|x| &**x).collect();
            let plain = |(x, values): (&&Vector, &Vec<T>)| {
                let Account { level, meta } = x.account;
                books.check_levels(op, 1, level)?;
                self.constants("encode", values, meta.slots, self.params.divisor(level), level)
            };
            let plain = x.iter().zip(values).map(plain).collect::<Result<Vec<_>>>()?;
            let terms: Vec<_> = x.iter().zip(&plain).map(|(x, p)| (x.account, p.account)).collect();
            let account = books.dot_plain(op, &terms)?.1;
            let mut sum = vec![Complex64::ZERO; account.meta.slots];
            for (x, p) in x.iter().zip(&plain) {
                let product = zip(x, p, |a, b| a * b);
                sum.iter_mut().zip(product.iter().cycle()).for_each(|(sum, a)| *sum += a);
            }
            Ok(self.vector(sum, account))
        })
    }

    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.bootstrapper.as_ref()
    }

    fn refreshes_by_itself(&self) -> bool {
        self.automatic
    }

    fn refresh_to(&self, x: &Vector, scale: f64) -> Result<Vector> {
        self.perform("refresh", [x], |_| self.refreshed(x, scale))
    }

    fn power_basis(&self, x: &Vector, polynomials: &[&Monomial]) -> Result<PowerBasis<Vector>> {
        let op = "powers of a ciphertext";
        let needed = self.books().power_levels(&x.account, polynomials);
        let x = &*automatic::replenished(self, x, needed)?;
        let course = self.books().power_basis(op, &x.account, polynomials);
        self.powers(op, x, course.map(|course| course.known))
    }

    fn chebyshev_basis(
        &self,
        x: &Vector,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Vector>> {
        let op = "Chebyshev polynomials of a ciphertext";
        let needed = self.books().chebyshev_levels(&x.account, polynomials);
        let x = &*automatic::replenished(self, x, needed)?;
        let course = self.books().chebyshev_basis(op, &x.account, polynomials);
        self.powers(op, x, course.map(|course| course.known))
    }

    fn monomial_in(
        &self,
        powers: &PowerBasis<Vector>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Vector> {
        self.perform("evaluate a polynomial", [&powers.powers], |books| {
            let account = books.monomial_in(&powers.known, p, scale)?;
            p.parts().into_iter().flatten().for_each(|plan| self.sums(powers, plan));
            Ok(self.vector(map(&powers.powers, |a| p.eval(a)), account))
        })
    }

    fn polynomial_in(
        &self,
        powers: &PowerBasis<Vector>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Vector> {
        self.perform("evaluate a polynomial", [&powers.powers], |books| {
            let account = books.polynomial_in(&powers.known, p, scale)?;
            self.sums(powers, p.plan());
            Ok(self.vector(map(&powers.powers, |a| p.eval(a.re).into()), account))
        })
    }
}
