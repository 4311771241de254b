//! [`CkksOps`] for the evaluator: every operation is the inherent method of the same name.

use std::sync::Arc;

use crate::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Error, Evaluator, Metadata, Params, Result,
    SlotValue,
    bootstrap::Bootstrapper,
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis, Powers},
};

/// On ciphertexts.
impl CkksOps for Evaluator {
    type Ciphertext = Ciphertext;
    type Powers = Powers;

    fn params(&self) -> &Params {
        self.params()
    }

    fn metadata(&self, x: &Ciphertext) -> Metadata {
        x.metadata()
    }

    fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.add(x, y)
    }

    fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.sub(x, y)
    }

    fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.neg(x)
    }

    fn add_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.add_values(x, values)
    }

    fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.add_scalar(x, c)
    }

    fn mul_no_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.mul_no_rescale(x, y)
    }

    fn square_no_rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.square_no_rescale(x)
    }

    fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.mul(x, y)
    }

    fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.square(x)
    }

    fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.rescale(x)
    }

    fn mul_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.mul_values(x, values)
    }

    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Ciphertext> {
        self.mul_values_to(x, values, scale)
    }

    fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.mul_scalar(x, c)
    }

    fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        self.mul_complex(x, c)
    }

    fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        self.mul_integer(x, k)
    }

    fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.mul_i(x)
    }

    fn mul_add_many(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.mul_add_many(products, terms, constant, scale)
    }

    fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        self.rotate(x, step)
    }

    fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        self.rotate_many(x, steps)
    }

    fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.conjugate(x)
    }

    fn polynomial(&self, x: &Ciphertext, p: &Polynomial, scale: Option<f64>) -> Result<Ciphertext> {
        self.polynomial(x, p, scale)
    }

    fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        self.transform(x, m)
    }

    fn drop_to_level(&self, x: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.drop_to_level(x, level)
    }

    fn match_scale(&self, x: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        self.match_scale(x, scale, level)
    }

    fn reinterpret_scale(&self, x: Ciphertext, factor: f64) -> Result<Ciphertext> {
        x.reinterpret_scale(factor)
    }

    fn repeated(&self, x: Ciphertext, slots: usize) -> Result<Ciphertext> {
        x.repeated(slots)
    }

    fn broadcast(&self, x: Ciphertext, len: usize) -> Result<Ciphertext> {
        x.broadcast(len)
    }

    fn with_metadata(&self, mut x: Ciphertext, meta: CiphertextMeta) -> Ciphertext {
        x.meta = meta;
        x
    }

    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        work().map_err(|error| error.named(op))
    }

    fn sum_of_rotations(&self, terms: &[(&Ciphertext, &[i64])]) -> Result<Ciphertext> {
        self.sum_of_rotations(terms)
    }

    fn rotates_by(&self, x: &Ciphertext, step: i64) -> bool {
        self.rotates_by(x, step)
    }

    fn dot_values<T: SlotValue>(&self, x: &[&Ciphertext], values: &[Vec<T>]) -> Result<Ciphertext> {
        self.dot_values(x, values)
    }

    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.bootstrapper()
    }

    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        self.functional_bootstrapper()
    }

    fn functional_bootstrap(
        &self,
        x: &Ciphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Ciphertext>> {
        self.functional_bootstrap(x, input, functions)
    }

    fn auto_bootstraps(&self) -> bool {
        self.auto_bootstraps()
    }

    fn bootstrap_to(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        self.bootstrap_to(x, scale)
    }

    fn power_basis(&self, x: &Ciphertext, polynomials: &[&Monomial]) -> Result<PowerBasis<Powers>> {
        self.power_basis(x, polynomials)
    }

    fn chebyshev_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Powers>> {
        self.chebyshev_basis(x, polynomials)
    }

    fn monomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.monomial_in(powers, p, scale)
    }

    fn polynomial_in(
        &self,
        powers: &PowerBasis<Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.polynomial_in(powers, p, scale)
    }

    /// In place, which saves a copy for every term.
    fn add_many(&self, terms: &[&Ciphertext]) -> Result<Ciphertext> {
        let (first, rest) = terms.split_first().ok_or(Error::NoValues { op: "add many" })?;
        let mut sum = (*first).clone();
        rest.iter().try_for_each(|term| self.add_assign(&mut sum, term))?;
        Ok(sum)
    }
}
