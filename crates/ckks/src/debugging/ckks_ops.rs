//! [`CkksOps`] for the debugger: every operation runs on the ciphertext and on its exact values.

use std::sync::Arc;

use super::{AUTOMATIC, Debugger, Watched};
use crate::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Evaluator, Interval, Metadata, Origins, Params,
    Result, SlotValue,
    bootstrap::Bootstrapper,
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis, Powers},
    simulator::SimCiphertext,
};

/// The powers of a ciphertext and of its exact values.
type BothPowers = (PowerBasis<Powers>, PowerBasis<SimCiphertext>);

/// The ciphertexts of vectors, and their exact values.
fn apart<'x>(x: &[&'x Watched]) -> (Vec<&'x Ciphertext>, Vec<&'x SimCiphertext>) {
    x.iter().map(|x| (&x.real, &x.exact)).unzip()
}

/// Both powers, with the metadata of those of the ciphertext.
fn powers(real: PowerBasis<Powers>, exact: PowerBasis<SimCiphertext>) -> PowerBasis<BothPowers> {
    let (known, origins) = (real.known.clone(), real.origins.clone());
    let powers = exact.powers.with_state(known.argument, origins.clone());
    let exact = PowerBasis { known: known.clone(), origins: origins.clone(), powers };
    PowerBasis { known, origins, powers: (real, exact) }
}

/// On ciphertexts and their exact values. Every automatic bootstrap is a step of its own.
impl CkksOps for Debugger<'_> {
    type Ciphertext = Watched;
    type Powers = BothPowers;

    fn params(&self) -> &Params {
        self.evaluator.params()
    }

    fn metadata(&self, x: &Watched) -> Metadata {
        x.real.metadata()
    }

    fn add(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.step("add", |e| e.add(&x.real, &y.real), |s| s.add(&x.exact, &y.exact))
    }

    fn sub(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.step("sub", |e| e.sub(&x.real, &y.real), |s| s.sub(&x.exact, &y.exact))
    }

    fn neg(&self, x: &Watched) -> Result<Watched> {
        self.step("neg", |e| e.neg(&x.real), |s| s.neg(&x.exact))
    }

    fn add_values<T: SlotValue>(&self, x: &Watched, values: &[T]) -> Result<Watched> {
        self.step(
            "add_values",
            |e| e.add_values(&x.real, values),
            |s| s.add_values(&x.exact, values),
        )
    }

    fn add_scalar(&self, x: &Watched, c: f64) -> Result<Watched> {
        self.step("add_scalar", |e| e.add_scalar(&x.real, c), |s| s.add_scalar(&x.exact, c))
    }

    fn add_many(&self, terms: &[&Watched]) -> Result<Watched> {
        let (real, exact) = apart(terms);
        self.step("add_many", |e| e.add_many(&real), |s| s.add_many(&exact))
    }

    fn mul_no_rescale(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.step(
            "mul_no_rescale",
            |e| e.mul_no_rescale(&x.real, &y.real),
            |s| s.mul_no_rescale(&x.exact, &y.exact),
        )
    }

    fn square_no_rescale(&self, x: &Watched) -> Result<Watched> {
        self.step(
            "square_no_rescale",
            |e| e.square_no_rescale(&x.real),
            |s| s.square_no_rescale(&x.exact),
        )
    }

    fn mul(&self, x: &Watched, y: &Watched) -> Result<Watched> {
        self.step("mul", |e| e.mul(&x.real, &y.real), |s| s.mul(&x.exact, &y.exact))
    }

    fn square(&self, x: &Watched) -> Result<Watched> {
        self.step("square", |e| e.square(&x.real), |s| s.square(&x.exact))
    }

    fn rescale(&self, x: &Watched) -> Result<Watched> {
        self.step("rescale", |e| e.rescale(&x.real), |s| s.rescale(&x.exact))
    }

    fn mul_values<T: SlotValue>(&self, x: &Watched, values: &[T]) -> Result<Watched> {
        self.step(
            "mul_values",
            |e| e.mul_values(&x.real, values),
            |s| s.mul_values(&x.exact, values),
        )
    }

    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Watched,
        values: &[T],
        scale: f64,
    ) -> Result<Watched> {
        self.step(
            "mul_values_to",
            |e| e.mul_values_to(&x.real, values, scale),
            |s| s.mul_values_to(&x.exact, values, scale),
        )
    }

    fn mul_scalar(&self, x: &Watched, c: f64) -> Result<Watched> {
        self.step("mul_scalar", |e| e.mul_scalar(&x.real, c), |s| s.mul_scalar(&x.exact, c))
    }

    fn mul_complex(&self, x: &Watched, c: Complex64) -> Result<Watched> {
        self.step("mul_complex", |e| e.mul_complex(&x.real, c), |s| s.mul_complex(&x.exact, c))
    }

    fn mul_integer(&self, x: &Watched, k: i64) -> Result<Watched> {
        self.step("mul_integer", |e| e.mul_integer(&x.real, k), |s| s.mul_integer(&x.exact, k))
    }

    fn mul_i(&self, x: &Watched) -> Result<Watched> {
        self.step("mul_i", |e| e.mul_i(&x.real), |s| s.mul_i(&x.exact))
    }

    fn mul_add_many(
        &self,
        products: &[(&Watched, &Watched)],
        terms: &[(&Watched, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Watched> {
        let real: Vec<_> = products.iter().map(|(x, y)| (&x.real, &y.real)).collect();
        let real_terms: Vec<_> = terms.iter().map(|(x, c)| (&x.real, *c)).collect();
        let exact: Vec<_> = products.iter().map(|(x, y)| (&x.exact, &y.exact)).collect();
        let terms: Vec<_> = terms.iter().map(|(x, c)| (&x.exact, *c)).collect();
        let run = |e: &Evaluator| e.mul_add_many(&real, &real_terms, constant, scale);
        self.step("mul_add_many", run, |s| s.mul_add_many(&exact, &terms, constant, scale))
    }

    fn rotate(&self, x: &Watched, step: i64) -> Result<Watched> {
        self.step("rotate", |e| e.rotate(&x.real, step), |s| s.rotate(&x.exact, step))
    }

    fn rotate_many(&self, x: &Watched, steps: &[i64]) -> Result<Vec<Watched>> {
        self.steps(
            "rotate_many",
            |e| e.rotate_many(&x.real, steps),
            |s| s.rotate_many(&x.exact, steps),
        )
    }

    fn conjugate(&self, x: &Watched) -> Result<Watched> {
        self.step("conjugate", |e| e.conjugate(&x.real), |s| s.conjugate(&x.exact))
    }

    fn polynomial(&self, x: &Watched, p: &Polynomial, scale: Option<f64>) -> Result<Watched> {
        self.step(
            "polynomial",
            |e| e.polynomial(&x.real, p, scale),
            |s| s.polynomial(&x.exact, p, scale),
        )
    }

    fn transform(&self, x: &Watched, m: &LinearTransform) -> Result<Watched> {
        self.step("transform", |e| e.transform(&x.real, m), |s| s.transform(&x.exact, m))
    }

    fn drop_to_level(&self, x: &Watched, level: usize) -> Result<Watched> {
        self.step(
            "drop_to_level",
            |e| e.drop_to_level(&x.real, level),
            |s| s.drop_to_level(&x.exact, level),
        )
    }

    fn match_scale(&self, x: &Watched, scale: f64, level: usize) -> Result<Watched> {
        self.step(
            "match_scale",
            |e| e.match_scale(&x.real, scale, level),
            |s| s.match_scale(&x.exact, scale, level),
        )
    }

    fn reinterpret_scale(&self, x: Watched, factor: f64) -> Result<Watched> {
        let Watched { real, exact } = x;
        let real = real.reinterpret_scale(factor);
        self.step("reinterpret_scale", |_| real, |s| s.reinterpret_scale(exact, factor))
    }

    fn repeated(&self, x: Watched, slots: usize) -> Result<Watched> {
        let Watched { real, exact } = x;
        self.step("repeated", |_| real.repeated(slots), |s| s.repeated(exact, slots))
    }

    fn broadcast(&self, x: Watched, len: usize) -> Result<Watched> {
        let Watched { real, exact } = x;
        self.step("broadcast", |_| real.broadcast(len), |s| s.broadcast(exact, len))
    }

    fn with_metadata(&self, x: Watched, meta: CiphertextMeta) -> Watched {
        self.stated("with_metadata", x, meta)
    }

    fn with_len(&self, x: Watched, len: usize) -> Result<Watched> {
        let meta = x.real.meta.with_len(len)?;
        Ok(self.stated("with_len", x, meta))
    }

    fn assume_range(&self, x: Watched, range: Interval) -> Watched {
        let meta = x.real.meta.assume_range(range);
        self.stated("assume_range", x, meta)
    }

    fn assume_range_with_padding(&self, x: Watched, range: Interval) -> Watched {
        let meta = x.real.meta.assume_range_with_padding(range);
        self.stated("assume_range_with_padding", x, meta)
    }

    fn assume_real(&self, x: Watched) -> Watched {
        let meta = x.real.meta.assume_real();
        self.stated("assume_real", x, meta)
    }

    /// False if the root mean square of the errors exceeds six times the deviation.
    fn assume_noise(&self, x: Watched, deviation: f64) -> Result<Watched> {
        let decrypted = self.opened(&x.real)?;
        let x = Watched::new(x.real.assume_noise(deviation)?, x.exact);
        self.record("assume_noise", &x, &decrypted, |seen| seen.noisy());
        Ok(x)
    }

    fn origins(&self, x: &Watched) -> Origins {
        x.real.origins().clone()
    }

    fn with_origins(&self, x: Watched, origins: Origins) -> Watched {
        Watched::new(x.real.of(origins), x.exact)
    }

    fn sum_of_rotations(&self, terms: &[(&Watched, &[i64])]) -> Result<Watched> {
        let real: Vec<_> = terms.iter().map(|&(x, steps)| (&x.real, steps)).collect();
        let exact: Vec<_> = terms.iter().map(|&(x, steps)| (&x.exact, steps)).collect();
        self.step("sum_of_rotations", |e| e.sum_of_rotations(&real), |s| s.sum_of_rotations(&exact))
    }

    fn rotates_by(&self, x: &Watched, step: i64) -> bool {
        self.evaluator.rotates_by(&x.real, step)
    }

    fn dot_values<T: SlotValue>(&self, x: &[&Watched], values: &[Vec<T>]) -> Result<Watched> {
        let (real, exact) = apart(x);
        self.step("dot_values", |e| e.dot_values(&real, values), |s| s.dot_values(&exact, values))
    }

    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.evaluator.bootstrapper()
    }

    fn auto_bootstraps(&self) -> bool {
        self.evaluator.auto_bootstraps()
    }

    fn bootstrap_to(&self, x: &Watched, scale: f64) -> Result<Watched> {
        self.step(
            "bootstrap_to",
            |e| e.bootstrap_to(&x.real, scale),
            |s| s.bootstrap_to(&x.exact, scale),
        )
    }

    fn bootstrap_automatically(&self, x: &Watched, scale: f64) -> Result<Watched> {
        self.step(
            AUTOMATIC,
            |e| e.bootstrap_to(&x.real, scale),
            |s| s.bootstrap_to(&x.exact, scale),
        )
    }

    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        self.evaluator.functional_bootstrapper()
    }

    fn functional_bootstrap(
        &self,
        x: &Watched,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Watched>> {
        self.steps(
            "functional_bootstrap",
            |e| e.functional_bootstrap(&x.real, input, functions),
            |s| s.functional_bootstrap(&x.exact, input, functions),
        )
    }

    fn power_basis(
        &self,
        x: &Watched,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<BothPowers>> {
        let (real, exact) = self.run(
            "power_basis",
            |e| e.power_basis(&x.real, polynomials),
            |s| s.power_basis(&x.exact, polynomials),
        )?;
        Ok(powers(real, exact))
    }

    fn chebyshev_basis(
        &self,
        x: &Watched,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<BothPowers>> {
        let (real, exact) = self.run(
            "chebyshev_basis",
            |e| e.chebyshev_basis(&x.real, polynomials),
            |s| s.chebyshev_basis(&x.exact, polynomials),
        )?;
        Ok(powers(real, exact))
    }

    fn monomial_in(
        &self,
        powers: &PowerBasis<BothPowers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Watched> {
        let (real, exact) = &powers.powers;
        self.step(
            "monomial_in",
            |e| e.monomial_in(real, p, scale),
            |s| s.monomial_in(exact, p, scale),
        )
    }

    fn polynomial_in(
        &self,
        powers: &PowerBasis<BothPowers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Watched> {
        let (real, exact) = &powers.powers;
        self.step(
            "polynomial_in",
            |e| e.polynomial_in(real, p, scale),
            |s| s.polynomial_in(exact, p, scale),
        )
    }
}
