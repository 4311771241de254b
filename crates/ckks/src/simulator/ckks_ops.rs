//! The operations of [`CkksOps`] on plain vectors.

use std::{ptr, sync::Arc};

use super::steps::{map, zip};
use super::{Failure, SimCiphertext, Simulator, one_key};
use crate::{
    CiphertextMeta, CkksOps, Complex64, During, Interval, Metadata, Params, Result, SlotValue,
    bootstrap::{
        Bootstrapper,
        auto_bootstrap::{self, Operands},
        iterated,
    },
    encode::check_values,
    error,
    eval::{
        padding::inside,
        sum::{check_lengths, rotated_origins},
    },
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    lengths::check_len,
    lintrans::LinearTransform,
    metadata::alignment::Route,
    noise_model::NoiseModel,
    origins::{Origins, Relations},
    polynomial::{Monomial, Polynomial, PowerBasis},
    rotation_plan::RotationCost,
};

/// Operations on plain vectors, with the metadata of ciphertexts.
impl CkksOps for Simulator {
    type Ciphertext = SimCiphertext;
    type Powers = SimCiphertext;

    fn params(&self) -> &Params {
        &self.params
    }

    fn metadata(&self, x: &SimCiphertext) -> Metadata {
        x.metadata
    }

    fn add(&self, x: &SimCiphertext, y: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("add", [x, y], |_| self.sum(x, y, Interval::add, |a, b| a + b))
    }

    fn sub(&self, x: &SimCiphertext, y: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("sub", [x, y], |_| self.sum(x, y, Interval::sub, |a, b| a - b))
    }

    fn neg(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("neg", [x], |rules| {
            Ok(self.vector(map(x, |a| -a), rules.negative(&x.metadata), x.origins.clone()))
        })
    }

    fn add_values<T: SlotValue>(&self, x: &SimCiphertext, values: &[T]) -> Result<SimCiphertext> {
        self.perform("add_values", [x], |_| {
            // Encoded at level and scale of `x`, so nothing has to be aligned.
            check_values(values, self.params.max_slots())?;
            check_len(x.metadata.meta.len, values.len())?;
            let Metadata { level, meta } = x.metadata;
            let plain = self.constants(values, meta.slots, meta.scale, level)?;
            self.sum(x, &plain, Interval::add, |a, b| a + b)
        })
    }

    fn add_scalar(&self, x: &SimCiphertext, c: f64) -> Result<SimCiphertext> {
        self.perform("add_scalar", [x], |rules| {
            let (metadata, _) = rules.add_scalar(&x.metadata, c)?;
            Ok(self.vector(map(x, |a| a + c), metadata, x.origins.clone()))
        })
    }

    fn mul_no_rescale(&self, x: &SimCiphertext, y: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("mul_no_rescale", [x, y], |_| self.product(x, y))
    }

    fn square_no_rescale(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("square_no_rescale", [x], |_| self.squared(x))
    }

    fn mul(&self, x: &SimCiphertext, y: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("mul", [x, y], |rules| {
            // Refuse a missing level before the product: a failed operation records no key.
            let (x, y) = match ptr::eq(x, y) {
                true => return self.rescaled_square(x),
                false => auto_bootstrap::factors(self, x, y)?,
            };
            rules.check_levels(1, x.metadata.level.min(y.metadata.level))?;
            self.rescaled(&self.product(&x, &y)?)
        })
    }

    fn square(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("square", [x], |_| self.rescaled_square(x))
    }

    fn rescale(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("rescale", [x], |_| self.rescaled(x))
    }

    fn mul_values<T: SlotValue>(&self, x: &SimCiphertext, values: &[T]) -> Result<SimCiphertext> {
        self.perform("mul_values", [x], |_| self.times_values(x, values, None))
    }

    fn mul_values_to<T: SlotValue>(
        &self,
        x: &SimCiphertext,
        values: &[T],
        scale: f64,
    ) -> Result<SimCiphertext> {
        self.perform("mul_values_to", [x], |_| self.times_values(x, values, Some(scale)))
    }

    fn mul_scalar(&self, x: &SimCiphertext, c: f64) -> Result<SimCiphertext> {
        self.perform("mul_scalar", [x], |rules| {
            let x = &*auto_bootstrap::replenished(self, x, 1)?;
            let level = x.metadata.level;
            rules.check_levels(1, level)?;
            // The constant has the scale that the rescaling divides by: the scale of `x` stays.
            let (product, _) = rules.mul_scalar(&x.metadata, c, self.params.divisor(level))?;
            let metadata = rules.rescaled(&product)?;
            self.works(|count| {
                count.terms(level, 1.0);
                count.rescaling(level);
            });
            Ok(self.vector(map(x, |a| a * c), metadata, x.origins.clone()))
        })
    }

    fn mul_complex(&self, x: &SimCiphertext, c: Complex64) -> Result<SimCiphertext> {
        self.perform("mul_complex", [x], |rules| {
            let x = &*auto_bootstrap::replenished(self, x, 1)?;
            let Metadata { level, meta } = x.metadata;
            rules.check_levels(1, level)?;
            // One encoded slot is the constant in every slot: the same polynomial.
            let mut factor = self.constants(&[c], 1, self.params.divisor(level), level)?;
            (factor.metadata.meta.slots, factor.metadata.meta.len) = (meta.slots, meta.len);
            self.times_plain(x, &factor)
        })
    }

    fn mul_integer(&self, x: &SimCiphertext, k: i64) -> Result<SimCiphertext> {
        self.perform("mul_integer", [x], |rules| {
            // No scale and no level: the integer multiplies the residues.
            let metadata = rules.mul_integer(&x.metadata, k)?;
            Ok(self.vector(map(x, |a| a * k as f64), metadata, x.origins.clone()))
        })
    }

    fn mul_i(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("mul_i", [x], |rules| {
            let product = map(x, |a| a * Complex64::I);
            Ok(self.vector(product, rules.mul_i(&x.metadata), x.origins.clone()))
        })
    }

    fn mul_add_many(
        &self,
        products: &[(&SimCiphertext, &SimCiphertext)],
        terms: &[(&SimCiphertext, f64)],
        constant: f64,
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        let factors = products.iter().flat_map(|&(x, y)| [x, y]);
        let operands = factors.chain(terms.iter().map(|&(x, _)| x));
        self.perform("mul_add_many", operands, |rules| {
            // Step 1: bootstrap operands if needed, and derive the metadata of the result.
            let Operands { products, terms } =
                auto_bootstrap::mul_add_many(self, products, terms, scale)?;
            let pairs: Vec<_> = products.iter().map(|(x, y)| (x.metadata, y.metadata)).collect();
            let multiples: Vec<_> = terms.iter().map(|(x, c)| (x.metadata, *c)).collect();
            let factors: Vec<_> =
                products.iter().map(|(x, y)| [x.periodic(), y.periodic()]).collect();
            let summands: Vec<_> = terms.iter().map(|(x, _)| x.periodic()).collect();
            let relations = Relations::new(&factors, &summands);
            let plan = rules.mul_add_many(&pairs, &multiples, &relations, constant, scale)?;

            // Step 2: keys and work. All products share one relinearization and one rescaling.
            if !products.is_empty() {
                self.needs(1, |keys| keys.multiply(plan.level));
            }
            self.works(|count| {
                count.terms(plan.level, terms.len() as f64);
                match products.len() {
                    0 => count.rescaling(plan.level),
                    products => count.product(plan.level, products as f64),
                }
            });

            // Step 3: the exact values.
            let mut sum = vec![Complex64::from(constant); plan.result.meta.slots];
            let mut accumulate = |values: &[Complex64]| {
                for (i, sum) in sum.iter_mut().enumerate() {
                    *sum += values[i & (values.len() - 1)];
                }
            };
            products.iter().for_each(|(x, y)| accumulate(&zip(x, y, |a, b| a * b)));
            terms.iter().for_each(|(x, c)| accumulate(&map(x, |a| a * *c)));
            Ok(self.vector(sum, plan.result, relations.sum))
        })
    }

    fn rotate(&self, x: &SimCiphertext, step: i64) -> Result<SimCiphertext> {
        self.perform("rotate", [x], |_| Ok(self.rotated(x, step)))
    }

    fn rotate_many(&self, x: &SimCiphertext, steps: &[i64]) -> Result<Vec<SimCiphertext>> {
        // The evaluator shares one decomposition (hoisting). Keys and noise are those of single
        // rotations.
        let rotations = || steps.iter().map(|&step| self.rotate(x, step)).collect();
        self.composed("rotate_many", rotations)
    }

    fn conjugate(&self, x: &SimCiphertext) -> Result<SimCiphertext> {
        self.perform("conjugate", [x], |rules| {
            self.needs(1, |keys| keys.conjugate(x.metadata.level));
            self.works(|count| count.switch(x.metadata.level));
            let conjugates = map(x, |a| a.conj());
            Ok(self.vector(conjugates, rules.conjugated(&x.metadata), x.origins.clone()))
        })
    }

    fn polynomial(
        &self,
        x: &SimCiphertext,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        self.perform("polynomial", [x], |rules| {
            // Step 1: bootstrap if the levels do not suffice, and derive the metadata of the
            // result.
            let needed = rules.polynomial_levels(&x.metadata, p);
            let x = &*auto_bootstrap::replenished(self, x, needed)?;
            let x = &*inside(self, x, p.domain(), needed)?;
            let result = rules.polynomial(&x.metadata, p, scale)?.result;
            // Step 2: keys and work, from the level at which the powers start.
            if p.plan().relinearizations() > 0 {
                let level = result.level + p.plan().depth();
                self.needs(p.plan().relinearizations(), |keys| keys.multiply(level));
            }
            self.works(|count| {
                let level = result.level + p.plan().depth();
                count.plan(p.plan(), level);
                // The affine map of the domain onto [-1, 1] takes a level of its own.
                if x.metadata.level > level {
                    count.terms(level + 1, 1.0);
                    count.rescaling(level + 1);
                }
            });
            Ok(self.vector(map(x, |a| p.eval(a.re).into()), result, x.origins.clone()))
        })
    }

    fn transform(&self, x: &SimCiphertext, m: &LinearTransform) -> Result<SimCiphertext> {
        self.perform("transform", [x], |rules| {
            // Step 1: the transform must fit, and the vector must reach its level.
            self.params.check_chain(m.params())?;
            m.check_slots(&x.metadata)?;
            let x = &*auto_bootstrap::raised(self, x, m.level())?;
            // Step 2: metadata, one key per rotation step, and work.
            let metadata = match self.noise_model {
                NoiseModel::Average => m.meta(&x.metadata, m.mixing(&x.origins), &one_key)?,
                NoiseModel::Worst => m.bounded(rules, &x.metadata)?,
            };
            let steps = m.rotation_steps().into_iter().map(|step| step as i64);
            self.needs(m.rotations(), |keys| keys.rotate(steps, m.level()));
            self.works(|count| count.transform(m, 1.0));
            Ok(self.vector(m.apply(&x.values)?, metadata, m.origins(&x.origins)))
        })
    }

    fn drop_to_level(&self, x: &SimCiphertext, level: usize) -> Result<SimCiphertext> {
        self.perform("drop_to_level", [x], |rules| {
            let metadata = rules.drop_to_level(&x.metadata, level)?;
            Ok(SimCiphertext { metadata, ..x.clone() })
        })
    }

    fn match_scale(&self, x: &SimCiphertext, scale: f64, level: usize) -> Result<SimCiphertext> {
        self.perform("match_scale", [x], |rules| {
            crate::encode::check_scale(scale)?;
            // Where no alignment exists for lack of levels, a bootstrap reaches the scale.
            let route = rules.match_scale(&x.metadata, scale, level);
            if auto_bootstrap::is_stuck(self, x.metadata.level, level, &route) {
                let x = self.bootstrap_automatically(x, scale)?;
                return self.followed(&x, &Route::drop_to(level));
            }
            self.followed(x, &route?)
        })
    }

    fn reinterpret_scale(&self, x: SimCiphertext, factor: f64) -> Result<SimCiphertext> {
        self.perform("reinterpret_scale", [&x], |_| {
            // The phase is unchanged, so the message grows by the factor.
            let meta = x.metadata.meta.reinterpret_scale(factor)?;
            Ok(SimCiphertext { values: map(&x, |a| a * factor), ..x.with(meta) })
        })
    }

    fn repeated(&self, x: SimCiphertext, slots: usize) -> Result<SimCiphertext> {
        self.perform("repeated", [&x], |_| {
            let meta = x.metadata.meta.repeated(slots, self.params.max_slots())?;
            // The polynomial is the same: its slots repeat anyway.
            let values = x.values.iter().copied().cycle().take(slots).collect();
            let origins = x.origins.repeated(x.values.len(), slots);
            Ok(self.vector(values, Metadata { meta, ..x.metadata }, origins))
        })
    }

    fn broadcast(&self, x: SimCiphertext, len: usize) -> Result<SimCiphertext> {
        self.perform("broadcast", [&x], |_| {
            let meta = x.metadata.meta.broadcast(len, self.params.max_slots())?;
            let values = x.values.iter().copied().cycle().take(meta.slots).collect();
            let origins = x.origins.repeated(x.values.len(), meta.slots);
            Ok(self.vector(values, Metadata { meta, ..x.metadata }, origins))
        })
    }

    fn with_metadata(&self, x: SimCiphertext, meta: CiphertextMeta) -> SimCiphertext {
        match self.noise_model {
            // An average may be overridden, a bound only raised.
            NoiseModel::Average => x.with(meta),
            NoiseModel::Worst => self.with_metadata_bound(x, meta),
        }
    }

    fn origins(&self, x: &SimCiphertext) -> Origins {
        x.origins.clone()
    }

    fn with_origins(&self, x: SimCiphertext, origins: Origins) -> SimCiphertext {
        SimCiphertext { origins, ..x }
    }

    fn composed<T>(&self, op: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        // The report keeps the first failure under the name of the composed operation.
        let failed_before = self.lock().failure.is_some();
        work().map_err(|error| {
            let error = error.during(op);
            let mut report = self.lock();
            if !failed_before {
                // An error outside any operation counts as one operation more.
                let found = report.failure.as_ref().map(|failure| failure.operation);
                let operation = found.unwrap_or(report.operations + 1);
                report.operations = report.operations.max(operation);
                report.failure = Some(Failure { operation, error: error.clone() });
            }
            error
        })
    }

    fn sum_of_rotations(&self, terms: &[(&SimCiphertext, &[i64])]) -> Result<SimCiphertext> {
        self.perform("sum_of_rotations", terms.iter().map(|(x, _)| *x), |rules| {
            let given: Vec<_> = terms.iter().map(|&(x, _)| x).collect();
            let given = auto_bootstrap::all_aligned(self, &given)?;
            let metadata: Vec<_> = given.iter().map(|x| x.metadata).collect();
            let routes = rules.align_all(&metadata)?;
            let aligned = metadata.iter().zip(&routes).map(|(x, to)| rules.follow(x, to));
            let terms: Vec<_> =
                given.iter().zip(terms).map(|(x, &(_, steps))| (&**x, steps)).collect();
            let operands = aligned.zip(&terms).map(|(x, &(_, steps))| Ok((x?, steps)));
            let operands = operands.collect::<Result<Vec<_>>>()?;
            let slots = terms.first().map_or(1, |(x, _)| x.metadata.meta.slots);
            let relations =
                rotated_origins(terms.iter().map(|&(x, steps)| (&x.origins, steps)), slots);
            let metadata = rules.sum_of_rotations(&operands, &relations.summands, |step| {
                Ok(RotationCost::one_key(step))
            })?;
            // The evaluator fuses the rotations of one sum; each step still has its own key.
            let mut sum = vec![Complex64::ZERO; slots];
            for (x, steps) in terms {
                for step in steps.iter().map(|step| step.rem_euclid(slots as i64) as usize) {
                    if step != 0 {
                        self.needs(1, |keys| keys.rotate([step as i64], metadata.level));
                        self.works(|count| count.switch(metadata.level));
                    }
                    let (wrapped, first) = x.values.split_at(step);
                    let rotated = first.iter().chain(wrapped);
                    sum.iter_mut().zip(rotated).for_each(|(sum, a)| *sum += a);
                }
            }
            Ok(self.vector(sum, metadata, relations.sum))
        })
    }

    fn rotates_by(&self, _: &SimCiphertext, _: i64) -> bool {
        // The report requests a key for every step that the program uses.
        true
    }

    fn dot_values<T: SlotValue>(
        &self,
        x: &[&SimCiphertext],
        values: &[Vec<T>],
    ) -> Result<SimCiphertext> {
        self.perform("dot_values", x.iter().copied(), |rules| {
            // Step 1: equally many operands, each with as many values as the plain vector.
            check_lengths(x.len(), values.len())?;
            for (x, values) in x.iter().zip(values) {
                check_len(x.metadata.meta.len, values.len())?;
            }

            // Step 2: bootstrap operands if needed, and encode the plain vectors at one level, at
            // the scales for which all products agree in scale.
            let x = auto_bootstrap::alike(self, x)?;
            let x: Vec<&SimCiphertext> = x.iter().map(|x| &**x).collect();
            let operands: Vec<_> = x.iter().map(|x| x.metadata).collect();
            let (level, scales) = rules.dot_factors(&operands)?;
            let plain = |((x, values), &scale): ((&Metadata, &Vec<T>), &f64)| {
                self.constants(values, x.meta.slots, scale, level)
            };
            let plain = operands.iter().zip(values).zip(&scales).map(plain);
            let plain = plain.collect::<Result<Vec<_>>>()?;

            // Step 3: metadata and work of one rescaling, then the exact values.
            let terms: Vec<_> =
                x.iter().zip(&plain).map(|(x, p)| (x.metadata, p.metadata)).collect();
            let pairs = x.iter().zip(&plain).map(|(x, p)| [x.periodic(), p.periodic()]);
            let relations = Relations::new(&pairs.collect::<Vec<_>>(), &[]);
            let metadata = rules.dot_plain(&terms, &relations)?.1;
            self.works(|count| {
                count.terms(metadata.level + 1, terms.len() as f64);
                count.rescaling(metadata.level + 1);
            });
            let mut sum = vec![Complex64::ZERO; metadata.meta.slots];
            for (x, p) in x.iter().zip(&plain) {
                let product = zip(x, p, |a, b| a * b);
                sum.iter_mut().zip(product.iter().cycle()).for_each(|(sum, a)| *sum += a);
            }
            Ok(self.vector(sum, metadata, relations.sum))
        })
    }

    fn bootstrapper(&self) -> Option<&Arc<Bootstrapper>> {
        self.bootstrapper.as_ref()
    }

    fn auto_bootstraps(&self) -> bool {
        self.auto_bootstrap
    }

    fn functional_bootstrapper(&self) -> Option<&Arc<FunctionalBootstrapper>> {
        self.functional.as_ref()
    }

    fn functional_bootstrap(
        &self,
        x: &SimCiphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<SimCiphertext>> {
        self.perform_all("functional_bootstrap", [x], |_| self.functions(x, input, functions))
    }

    fn bootstrap_to(&self, x: &SimCiphertext, scale: f64) -> Result<SimCiphertext> {
        self.perform("bootstrap_to", [x], |_| self.bootstrapped(x, scale))
    }

    fn bootstrap_automatically(&self, x: &SimCiphertext, scale: f64) -> Result<SimCiphertext> {
        let bootstrapped = self.composed("bootstrap", || self.bootstrap_to(x, scale))?;
        self.automatic.add(&bootstrapped);
        Ok(bootstrapped)
    }

    fn bootstrap_iterated(&self, x: &SimCiphertext, rounds: usize) -> Result<SimCiphertext> {
        self.composed("bootstrap_iterated", || match self.noise_model {
            NoiseModel::Average => iterated::bootstrapped(self, x, rounds),
            NoiseModel::Worst => self.bootstrapped_iterated(x, rounds),
        })
    }

    fn power_basis(
        &self,
        x: &SimCiphertext,
        polynomials: &[&Monomial],
    ) -> Result<PowerBasis<SimCiphertext>> {
        let op = "power_basis";
        // Bootstrap first if the deepest of the polynomials lacks levels.
        let needed = self.rules().power_levels(&x.metadata, polynomials);
        let x = &*auto_bootstrap::replenished(self, x, needed).during(op)?;
        let metadata = self.rules().power_basis(&x.metadata, polynomials);
        let plans = polynomials.iter().map(|p| p.plan());
        self.powers(op, x, metadata.map(|powers| powers.known), plans)
    }

    fn chebyshev_basis(
        &self,
        x: &SimCiphertext,
        polynomials: &[&Polynomial],
    ) -> Result<PowerBasis<SimCiphertext>> {
        let op = "chebyshev_basis";
        // Bootstrap first if the deepest of the polynomials lacks levels.
        let needed = self.rules().chebyshev_levels(&x.metadata, polynomials);
        let domain = polynomials.first().map(|p| p.domain()).ok_or_else(error::no_values);
        let x = &*auto_bootstrap::replenished(self, x, needed).during(op)?;
        let x = &*inside(self, x, domain.during(op)?, needed).during(op)?;
        let metadata = self.rules().chebyshev_basis(&x.metadata, polynomials);
        let plans = polynomials.iter().map(|p| p.plan());
        self.powers(op, x, metadata.map(|powers| powers.known), plans)
    }

    fn monomial_in(
        &self,
        powers: &PowerBasis<SimCiphertext>,
        p: &Monomial,
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        self.perform("monomial_in", [&powers.powers], |rules| {
            // The powers exist: only the products and sums of this polynomial are recorded.
            let metadata = rules.monomial_in(&powers.known, p, scale)?;
            self.sums(powers, p.plan());
            let values = map(&powers.powers, |a| p.eval(a));
            Ok(self.vector(values, metadata, powers.powers.origins.clone()))
        })
    }

    fn polynomial_in(
        &self,
        powers: &PowerBasis<SimCiphertext>,
        p: &Polynomial,
        scale: Option<f64>,
    ) -> Result<SimCiphertext> {
        self.perform("polynomial_in", [&powers.powers], |rules| {
            let metadata = rules.polynomial_in(&powers.known, p, scale)?;
            self.sums(powers, p.plan());
            let values = map(&powers.powers, |a| p.eval(a.re).into());
            Ok(self.vector(values, metadata, powers.powers.origins.clone()))
        })
    }
}
