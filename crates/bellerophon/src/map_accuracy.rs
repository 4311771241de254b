//! Predictions for look-ups, before any key exists.

use std::ops::RangeInclusive;

use bellerophon_ckks::{
    self as ckks,
    noise_flooding::{Flooding, NoiseBound},
};
use bellerophon_lwe as lwe;
use bellerophon_repack::lookup::Smooth;

use crate::{Bridge, During, ErrorDistribution, ErrorKind, LutEngine, MapPlan, Params, Result};
#[cfg(doc)]
use crate::{Evaluator, LutParams};

impl Params {
    /// The predicted distribution of the error of [`Evaluator::map`](crate::Evaluator::map) for
    /// values uniform in the domain, with the bridge and the engine of
    /// [`Needs::map`](crate::Needs::map).
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] and [`ErrorKind::DomainScale`] for domains that no look-up takes,
    /// [`ErrorKind::NoLookUps`] for parameters without look-ups, or an error that names the
    /// argument at which `f` is not finite.
    pub fn map_accuracy(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<ErrorDistribution> {
        self.map_accuracy_over(Bridge::Auto, LutEngine::Auto, domain, f)
    }

    /// As [`map_accuracy`](Self::map_accuracy), with a given bridge and a given engine.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy), [`ErrorKind::NoRingBridge`] and
    /// [`ErrorKind::NoEngine`].
    pub fn map_accuracy_over(
        &self,
        bridge: Bridge,
        engine: LutEngine,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
    ) -> Result<ErrorDistribution> {
        let op = "map_accuracy";
        let lookups = self.lookups_for().during(op)?;
        let lattice = self.tables_on(engine).during(op)?;
        Ok(lookups.accuracy(lattice, lookups.path(bridge).during(op)?, &domain, f)?)
    }

    /// As [`map_accuracy`](Self::map_accuracy), for [`Evaluator::map_flooded`] of vectors with a
    /// given noise bound.
    ///
    /// # Errors
    /// As [`map_accuracy`](Self::map_accuracy) and [`Evaluator::map_flooded`].
    pub fn map_accuracy_flooded(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        terms: &Flooding,
        bound: &NoiseBound,
    ) -> Result<ErrorDistribution> {
        let op = "map_accuracy";
        let lookups = self.lookups_for().during(op)?;
        let (lattice, path) =
            (self.tables_on(LutEngine::Auto).during(op)?, lookups.path(Bridge::Auto).during(op)?);
        Ok(lookups.accuracy_flooded(lattice, path, &domain, f, (terms, bound))?)
    }

    /// The plan by which [`Evaluator::map_to`](crate::Evaluator::map_to) reaches `bits` with the
    /// keys of [`Needs::map_to`](crate::Needs::map_to), and the error to expect, for an operand at
    /// a level with values uniform in the domain.
    /// [`Evaluator::map_to_plan`](crate::Evaluator::map_to_plan) takes the carried range and the
    /// keys into account. An operand below [`LutParams::level_to_correct`] is packed beside its
    /// tables, with some five times the noise.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] if `bits` is out of reach, with the best accuracy; too few levels
    /// before or after the tables, or more than the parameters have; [`ErrorKind::NoCorrection`]
    /// and [`ErrorKind::NoRingBridge`] for parameters without corrected look-ups, and errors of
    /// [`map_accuracy`](Self::map_accuracy).
    pub fn map_to_plan(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_with(domain, f, &[], bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan), for
    /// [`Evaluator::map_to_with`](crate::Evaluator::map_to_with).
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_with(
        &self,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        derivatives: &[&dyn Fn(f64) -> f64],
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(LutEngine::Auto, domain, &Smooth::new(&f, derivatives), bits, level)
    }

    /// As [`map_to_plan`](Self::map_to_plan), with a given engine.
    ///
    /// # Errors
    /// As [`map_to_plan`](Self::map_to_plan).
    pub fn map_to_plan_on(
        &self,
        engine: LutEngine,
        domain: RangeInclusive<f64>,
        f: impl Fn(f64) -> f64,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        self.map_to_plan_by(engine, domain, &Smooth::new(&f, &[]), bits, level)
    }

    fn map_to_plan_by(
        &self,
        engine: LutEngine,
        domain: RangeInclusive<f64>,
        f: &Smooth<'_>,
        bits: f64,
        level: usize,
    ) -> Result<MapPlan> {
        let op = "map_to_plan";
        let lookups = self.lookups_for().during(op)?;
        // Step 1: the level of the operand.
        let (needed, highest) = (lookups.levels(), self.levels());
        if level < needed {
            return Err(ckks::ErrorKind::OutOfLevels { needed, left: level }.during(op).into());
        }
        if level > highest {
            return Err(ckks::ErrorKind::LevelTooHigh { wanted: level, highest }.during(op).into());
        }
        // Step 2: the smallest order that reaches the bits, for values anywhere in the domain.
        let lattice = self.corrected_on(engine).during(op)?;
        Ok(lookups.map_to_plan(lattice, &domain, f, (bits, level)).during(op)?)
    }

    /// The parameters of corrected tables on an engine.
    pub(crate) fn corrected_on(&self, engine: LutEngine) -> Result<&lwe::Params> {
        match self.lookups_for()?.corrected_on(engine) {
            Some(lattice) => Ok(lattice),
            // If the engine itself is missing, that is the error.
            None => {
                self.tables_on(engine)?;
                Err(ErrorKind::NoCorrection { params: self.name().into() }.into())
            }
        }
    }

    /// The parameters of plain tables on an engine.
    pub(crate) fn tables_on(&self, engine: LutEngine) -> Result<&lwe::Params> {
        let params = || self.name().into();
        let lattice = self.lookups_for()?.on(engine);
        lattice
            .ok_or_else(|| ErrorKind::NoEngine { engine: engine.name(), params: params() }.into())
    }
}
