//! `sum_j x_j y_j + sum_i c_i z_i + constant` with one relinearization and one rescale.

use bellerophon_mlwe as mlwe;
use bellerophon_ring::Result;
use num_complex::Complex64;

use crate::ciphertext::Ciphertext;
use crate::cost::Trace;
use crate::eval::Evaluator;
use crate::metadata::Metadata;
use crate::metadata::route::Route;
use crate::metadata::rules::Combination;
use crate::origins::Relations;
use crate::vectors::{Fused, Operands, Phases, Planned, Scope, State, Vectors, map, zip};
use crate::{error, refresh};

/// A sum of products and multiples. Its operands are the factors of the products, pair by pair, and
/// then the vectors of the multiples.
#[derive(Debug, Clone, Copy)]
pub struct MulAddMany<'c> {
    /// The constants of the multiples.
    pub factors: &'c [f64],
    pub constant: f64,
    /// The scale of the result.
    pub scale: Option<f64>,
}

impl MulAddMany<'_> {
    /// The factors of the products, and the vectors of the multiples.
    fn parts<'x, T>(&self, x: &'x [T]) -> (Vec<(&'x T, &'x T)>, &'x [T]) {
        let (factors, terms) = x.split_at(x.len() - self.factors.len());
        (factors.chunks(2).map(|pair| (&pair[0], &pair[1])).collect(), terms)
    }

    /// The products, relinearized once, if there are any.
    fn products(
        e: &Evaluator,
        products: &[(&&Ciphertext, &&Ciphertext)],
        routes: &[(Route, Route)],
    ) -> Result<Option<mlwe::Ciphertext>> {
        let lattice = e.params().lattice();
        let mut sum: Option<mlwe::Tensor> = None;
        for (&(x, y), (to_x, to_y)) in products.iter().zip(routes) {
            let product =
                mlwe::Tensor::product(lattice, &*e.routed(x, to_x)?, &*e.routed(y, to_y)?)?;
            // Tensors add up before the key switch, so the sum pays for one.
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &product)?,
                None => sum = Some(product),
            }
        }
        sum.map(|tensor| e.relinearize(tensor)).transpose()
    }
}

impl Fused for MulAddMany<'_> {
    type Plan = Combination;

    fn name(&self) -> &'static str {
        "mul_add_many"
    }

    fn operands<'c, A: Vectors>(&self, a: &A, x: &[&'c A::Ciphertext]) -> Result<Operands<'c, A>> {
        let (products, terms) = self.parts(x);
        let products: Vec<_> = products.into_iter().map(|(x, y)| (*x, *y)).collect();
        refresh::mul_add_many(a, &products, terms, self.scale)
    }

    fn plan(&self, scope: &Scope<'_>, x: &[State]) -> Result<Planned<Combination>> {
        let (products, terms) = self.parts(x);
        let pairs: Vec<_> = products.iter().map(|(x, y)| (x.metadata, y.metadata)).collect();
        let multiples: Vec<(Metadata, f64)> =
            terms.iter().zip(self.factors).map(|(x, &c)| (x.metadata, c)).collect();
        let factors: Vec<_> = products.iter().map(|(x, y)| [x.periodic(), y.periodic()]).collect();
        let summands: Vec<_> = terms.iter().map(State::periodic).collect();
        let relations = Relations::new(&factors, &summands);
        let combination = scope.rules().mul_add_many(
            &pairs,
            &multiples,
            &relations,
            self.constant,
            self.scale,
        )?;
        let result = combination.result;
        Ok(Planned::one(combination, result, relations.sum))
    }

    fn run(&self, e: &Evaluator, x: &[&Ciphertext], plan: &Combination) -> Result<Phases> {
        let lattice = e.params().lattice();
        let (products, terms) = self.parts(x);
        // Step 1: the products.
        let mut sum = Self::products(e, &products, &plan.routes)?;
        // Step 2: the multiples, by integers that bring them to the scale of the products.
        for (x, &factor) in terms.iter().zip(&plan.factors) {
            let mut term = e.routed(x, &Route::drop_to(plan.level))?.into_owned();
            e.mul_integer_assign(&mut term, factor);
            match &mut sum {
                Some(sum) => sum.add_assign(lattice, &term)?,
                None => sum = Some(term),
            }
        }
        // Step 3: the constant; rescale.
        let mut sum = sum.ok_or_else(error::no_values)?;
        e.add_integer(&mut sum, plan.constant);
        Ok(vec![e.divided(sum)?])
    }

    fn exact(&self, x: &[&[Complex64]], results: &[State]) -> Result<Vec<Vec<Complex64>>> {
        let (products, terms) = self.parts(x);
        let slots = results[0].metadata.meta.slots;
        let mut sum = vec![Complex64::from(self.constant); slots];
        let mut accumulate = |values: &[Complex64]| {
            for (i, sum) in sum.iter_mut().enumerate() {
                *sum += values[i & (values.len() - 1)];
            }
        };
        products.iter().for_each(|(x, y)| accumulate(&zip(x, y, |a, b| a * b)));
        terms.iter().zip(self.factors).for_each(|(x, &c)| accumulate(&map(x, |a| a * c)));
        Ok(vec![sum])
    }

    fn trace(&self, x: &[State], plan: &Combination, trace: &mut Trace<'_>) {
        let (products, terms) = self.parts(x);
        trace.count.terms(plan.level, terms.len() as f64);
        match products.len() {
            0 => trace.count.rescaling(plan.level),
            products => {
                // All products share one relinearization and one rescaling.
                trace.needs(1, |keys| keys.multiply(plan.level));
                trace.count.product(plan.level, products as f64);
            }
        }
    }
}
