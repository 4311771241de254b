//! [`CkksOps`] for the evaluator that reduces ranks. Each operation brings its operands to one
//! rank, runs on the evaluator of that rank, and reduces the rank of the result.

use std::{borrow::Cow, sync::Arc};

use super::ReducingEvaluator;
use crate::eval::metadata_operations;
use crate::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, During, Evaluator, Metadata, Origins, Params,
    Result, SlotValue,
    bootstrap::Bootstrapper,
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    lintrans::LinearTransform,
    polynomial::{Monomial, Polynomial, PowerBasis, Powers},
};

impl ReducingEvaluator {
    /// An operation on one vector.
    fn one(
        &self,
        x: &Ciphertext,
        work: impl FnOnce(&Evaluator, &Ciphertext) -> Result<Ciphertext>,
    ) -> Result<Ciphertext> {
        let rank = self.meeting([x]);
        self.settled(work(&self.evaluators()[rank], &*self.at(x, rank)?)?)
    }

    /// An operation on two vectors. If both operands are the same vector, the operation gets it
    /// twice.
    fn two(
        &self,
        (x, y): (&Ciphertext, &Ciphertext),
        work: impl FnOnce(&Evaluator, &Ciphertext, &Ciphertext) -> Result<Ciphertext>,
    ) -> Result<Ciphertext> {
        let rank = self.meeting([x, y]);
        let left = self.at(x, rank)?;
        let right = if std::ptr::eq(x, y) { None } else { Some(self.at(y, rank)?) };
        let right = right.as_deref().unwrap_or(&left);
        self.settled(work(&self.evaluators()[rank], &left, right)?)
    }

    /// Several vectors at their common rank.
    fn all<'x>(&self, x: &[&'x Ciphertext]) -> Result<(&Evaluator, Vec<Cow<'x, Ciphertext>>)> {
        let rank = self.meeting(x.iter().copied());
        let met = x.iter().map(|x| self.at(x, rank)).collect::<Result<_>>()?;
        Ok((&self.evaluators()[rank], met))
    }
}

/// On ciphertexts, each at the smallest rank that its level allows.
impl CkksOps for ReducingEvaluator {
    type Ciphertext = Ciphertext;
    /// The index of the rank, and the powers at that rank.
    type Powers = (usize, PowerBasis<Powers>);

    metadata_operations!();

    /// The parameters of the largest rank.
    fn params(&self) -> &Params {
        self.evaluators()[0].params()
    }

    fn add(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.two((x, y), Evaluator::add).during("add")
    }

    fn sub(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.two((x, y), Evaluator::sub).during("sub")
    }

    fn neg(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::neg).during("neg")
    }

    fn add_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.one(x, |e, x| e.add_values(x, values)).during("add_values")
    }

    fn add_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.add_scalar(x, c)).during("add_scalar")
    }

    fn mul_no_rescale(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.two((x, y), Evaluator::mul_no_rescale).during("mul_no_rescale")
    }

    fn square_no_rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::square_no_rescale).during("square_no_rescale")
    }

    fn mul(&self, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext> {
        self.two((x, y), Evaluator::mul).during("mul")
    }

    fn square(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::square).during("square")
    }

    fn rescale(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::rescale).during("rescale")
    }

    fn mul_values<T: SlotValue>(&self, x: &Ciphertext, values: &[T]) -> Result<Ciphertext> {
        self.one(x, |e, x| e.mul_values(x, values)).during("mul_values")
    }

    fn mul_values_to<T: SlotValue>(
        &self,
        x: &Ciphertext,
        values: &[T],
        scale: f64,
    ) -> Result<Ciphertext> {
        self.one(x, |e, x| e.mul_values_to(x, values, scale)).during("mul_values_to")
    }

    fn mul_scalar(&self, x: &Ciphertext, c: f64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.mul_scalar(x, c)).during("mul_scalar")
    }

    fn mul_complex(&self, x: &Ciphertext, c: Complex64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.mul_complex(x, c)).during("mul_complex")
    }

    fn mul_integer(&self, x: &Ciphertext, k: i64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.mul_integer(x, k)).during("mul_integer")
    }

    fn mul_i(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::mul_i).during("mul_i")
    }

    fn mul_add_many(
        &self,
        products: &[(&Ciphertext, &Ciphertext)],
        terms: &[(&Ciphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let op = "mul_add_many";
        let operands: Vec<&Ciphertext> = products
            .iter()
            .flat_map(|&(x, y)| [x, y])
            .chain(terms.iter().map(|&(x, _)| x))
            .collect();
        let (evaluator, met) = self.all(&operands).during(op)?;
        let (factors, rest) = met.split_at(2 * products.len());
        let products: Vec<_> = factors.chunks(2).map(|pair| (&*pair[0], &*pair[1])).collect();
        let terms: Vec<_> = rest.iter().zip(terms).map(|(x, (_, c))| (&**x, *c)).collect();
        self.settled(evaluator.mul_add_many(&products, &terms, constant, scale)?).during(op)
    }

    fn rotate(&self, x: &Ciphertext, step: i64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.rotate(x, step)).during("rotate")
    }

    fn rotate_many(&self, x: &Ciphertext, steps: &[i64]) -> Result<Vec<Ciphertext>> {
        let rank = self.meeting([x]);
        self.evaluators()[rank].rotate_many(&*self.at(x, rank).during("rotate")?, steps)
    }

    fn conjugate(&self, x: &Ciphertext) -> Result<Ciphertext> {
        self.one(x, Evaluator::conjugate).during("conjugate")
    }

    fn polynomial(&self, x: &Ciphertext, p: &Polynomial, scale: Option<f64>) -> Result<Ciphertext> {
        self.one(x, |e, x| e.polynomial(x, p, scale)).during("polynomial")
    }

    /// At the rank of the prepared transform.
    fn transform(&self, x: &Ciphertext, m: &LinearTransform) -> Result<Ciphertext> {
        let op = "transform";
        let rank = self.rank_with(m.params()).during(op)?;
        self.settled(self.evaluators()[rank].transform(&*self.at(x, rank).during(op)?, m)?)
            .during(op)
    }

    fn drop_to_level(&self, x: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.one(x, |e, x| e.drop_to_level(x, level)).during("drop_to_level")
    }

    fn match_scale(&self, x: &Ciphertext, scale: f64, level: usize) -> Result<Ciphertext> {
        self.one(x, |e, x| e.match_scale(x, scale, level)).during("match_scale")
    }

    fn sum_of_rotations(&self, terms: &[(&Ciphertext, &[i64])]) -> Result<Ciphertext> {
        let op = "sum_of_rotations";
        let operands: Vec<&Ciphertext> = terms.iter().map(|&(x, _)| x).collect();
        let (evaluator, met) = self.all(&operands).during(op)?;
        let terms: Vec<_> = met.iter().zip(terms).map(|(x, (_, steps))| (&**x, *steps)).collect();
        self.settled(evaluator.sum_of_rotations(&terms)?).during(op)
    }

    fn rotates_by(&self, x: &Ciphertext, step: i64) -> bool {
        self.evaluators()[self.meeting([x])].rotates_by(x, step)
    }

    fn dot_values<T: SlotValue>(&self, x: &[&Ciphertext], values: &[Vec<T>]) -> Result<Ciphertext> {
        let op = "dot_values";
        let (evaluator, met) = self.all(x).during(op)?;
        let met: Vec<&Ciphertext> = met.iter().map(|x| &**x).collect();
        self.settled(evaluator.dot_values(&met, values)?).during(op)
    }

    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        None
    }

    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        None
    }

    /// Refused for want of keys.
    fn functional_bootstrap(
        &self,
        x: &Ciphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<Ciphertext>> {
        let (evaluator, met) = self.all(&[x]).during("functional_bootstrap")?;
        evaluator.functional_bootstrap(&met[0], input, functions)
    }

    fn auto_bootstraps(&self) -> bool {
        false
    }

    /// Refused for want of keys.
    fn bootstrap_to(&self, x: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        self.one(x, |e, x| e.bootstrap_to(x, scale)).during("bootstrap_to")
    }

    fn power_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<Self::Powers>> {
        let rank = self.meeting([x]);
        let x = self.at(x, rank).during("power_basis")?;
        let powers = self.evaluators()[rank].power_basis(&x, polynomials)?;
        let (known, origins) = (powers.known.clone(), powers.origins.clone());
        Ok(PowerBasis { known, origins, powers: (rank, powers) })
    }

    fn chebyshev_basis(
        &self,
        x: &Ciphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<Self::Powers>> {
        let rank = self.meeting([x]);
        let x = self.at(x, rank).during("chebyshev_basis")?;
        let powers = self.evaluators()[rank].chebyshev_basis(&x, polynomials)?;
        let (known, origins) = (powers.known.clone(), powers.origins.clone());
        Ok(PowerBasis { known, origins, powers: (rank, powers) })
    }

    fn monomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let (rank, powers) = &powers.powers;
        let value = self.evaluator_at(*rank).monomial_in(powers, p, scale)?;
        self.settled(value).during("monomial_in")
    }

    fn polynomial_in(
        &self,
        powers: &PowerBasis<Self::Powers>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        let (rank, powers) = &powers.powers;
        let value = self.evaluator_at(*rank).polynomial_in(powers, p, scale)?;
        self.settled(value).during("polynomial_in")
    }
}
