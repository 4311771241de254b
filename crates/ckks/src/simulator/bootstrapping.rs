//! Simulated bootstrapping: ordinary, automatic and functional.

#[cfg(doc)]
use crate::ErrorKind;
use std::sync::Arc;

use super::{SimCiphertext, Simulator, one_key};
use crate::{
    CiphertextMeta, Complex64, During, Result,
    bootstrap::Bootstrapper,
    cost::Work,
    error,
    fbt::{FbtInput, FunctionalBootstrapper, PeriodicFunction},
    noise_model::NoiseModel,
};

impl Simulator {
    /// The same simulator with bootstrapping, as
    /// [`Evaluator::with_bootstrapping`](crate::Evaluator::with_bootstrapping).
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch` for another chain, [`ErrorKind::ParamsMismatch`] for
    /// another relinearization strategy.
    pub fn with_bootstrapping(
        mut self,
        bootstrapper: impl Into<Arc<Bootstrapper>>,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        let op = "add bootstrapping to a simulator";
        self.params.check_chain(bootstrapper.params()).during(op)?;
        self.params.check_relin_strategy(bootstrapper.params().relin_strategy()).during(op)?;
        self.bootstrapper = Some(bootstrapper);
        Ok(self)
    }

    /// The same simulator with automatic bootstrapping, as
    /// [`Evaluator::with_auto_bootstrap`](crate::Evaluator::with_auto_bootstrap).
    ///
    /// # Errors
    /// [`ErrorKind::MissingKey`] without [`with_bootstrapping`](Self::with_bootstrapping).
    pub fn with_auto_bootstrap(mut self) -> Result<Self> {
        self.prepared().during("bootstrap automatically")?;
        self.auto_bootstrap = true;
        Ok(self)
    }

    /// The bootstrapper; an error if there is none.
    pub(super) fn prepared(&self) -> Result<&Arc<Bootstrapper>> {
        self.bootstrapper.as_ref().ok_or_else(|| error::missing_key("bootstrapping key", None))
    }

    /// `x` after a bootstrap to `scale`.
    pub(super) fn bootstrapped(&self, x: &SimCiphertext, scale: f64) -> Result<SimCiphertext> {
        // Step 1: the metadata of the result.
        let bootstrapper = self.prepared()?;
        let metadata = match self.noise_model {
            NoiseModel::Average => bootstrapper.meta(&x.metadata, scale, &one_key)?.result,
            NoiseModel::Worst => bootstrapper.bounded(self.rules(), &x.metadata, scale)?.result,
        };
        // Step 2: keys, work and failure probability. Complex slots take EvalMod twice.
        let CiphertextMeta { bounds, len, .. } = x.metadata.meta;
        let real = bounds.values.is_real();
        self.needs(bootstrapper.key_switches(real), |keys| keys.and(&bootstrapper.keys()));
        let parts = if real { 1 } else { 2 };
        let work = Work::of_bootstrap(bootstrapper, parts);
        let mut report = self.lock();
        report.work += work;
        report.bootstraps += 1;
        report.failures = report.failures.and(bootstrapper.spec().log2_failure, 1);
        drop(report);
        // Step 3: the exact values, with the padding cleared.
        let mut values = x.values.clone();
        values[len..].fill(Complex64::ZERO);
        Ok(self.vector(values, metadata, x.origins.clone()))
    }

    /// The same simulator with functional bootstrapping, as
    /// [`Evaluator::with_functional`](crate::Evaluator::with_functional).
    ///
    /// # Errors
    /// `mlwe::ErrorKind::ParamsMismatch` for another chain, [`ErrorKind::ParamsMismatch`] for
    /// another relinearization strategy.
    pub fn with_functional(
        mut self,
        bootstrapper: impl Into<Arc<FunctionalBootstrapper>>,
    ) -> Result<Self> {
        let bootstrapper = bootstrapper.into();
        self.params
            .check_same(bootstrapper.params())
            .during("add functional bootstrapping to a simulator")?;
        self.functional = Some(bootstrapper);
        Ok(self)
    }

    /// Functions of the values by functional bootstrapping.
    pub(super) fn functions(
        &self,
        x: &SimCiphertext,
        input: FbtInput,
        functions: &[(&PeriodicFunction, f64)],
    ) -> Result<Vec<SimCiphertext>> {
        let missing = error::missing_key("functional bootstrapping key", None);
        let bootstrapper = self.functional.as_ref().ok_or(missing)?;
        // Step 1: the metadata of every result.
        let metadata = match self.noise_model {
            NoiseModel::Average => {
                bootstrapper.meta(&x.metadata, input, functions, &one_key)?.results
            }
            NoiseModel::Worst => {
                bootstrapper.bounded(self.rules(), &x.metadata, input, functions)?
            }
        };

        // Step 2: keys, work and failure probability.
        let prepared: Vec<&PeriodicFunction> = functions.iter().map(|&(f, _)| f).collect();
        let count = bootstrapper.key_switches(&prepared, input.both);
        self.needs(count, |keys| keys.and(&bootstrapper.keys()));
        let work = Work::of_functional(bootstrapper, &prepared, input.both);
        let mut report = self.lock();
        report.work += work;
        report.functional += 1;
        let each = bootstrapper.spec().log2_failure;
        report.failures = report.failures.and(each, functions.len() as u64);
        drop(report);

        // Step 3: the exact values.
        let results = functions.iter().zip(metadata).map(|(&(f, _), metadata)| {
            let part = |v: f64| f.eval(v);
            let value = |z: &Complex64| match input.both {
                true => Complex64::new(part(z.re), part(z.im)),
                false => part(z.re).into(),
            };
            self.vector(x.values.iter().map(value).collect(), metadata, x.origins.clone())
        });
        Ok(results.collect())
    }
}
