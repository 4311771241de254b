//! The public interface of the planner: plans, and their execution.

use std::time::Instant;

use bellerophon_ckks::Ciphertext;
use serde::{Deserialize, Serialize};

use super::{
    CostModel, Engine, EnginePlan, MapFunction, MapRequest, Prediction,
    predict::{Planner, Prepared, log2},
};
use crate::{Error, Evaluator, Needs, Params, Result, evaluator::range_within};

/// The chosen engine of a map, its prediction, and the measured outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapReport {
    /// The chosen engine.
    pub engine: Engine,
    /// The prediction for it.
    pub predicted: Prediction,
    /// Measured wall-clock seconds.
    pub seconds: f64,
    /// `log2` of the tracked standard deviation of the error of the result, an upper estimate for
    /// any values of the range ([`Ciphertext::noise`]). An approximation error comes on top.
    pub log2_noise: f64,
    /// The level of the result.
    pub output_level: usize,
}

/// Bits, relative to the spread of the closure, that [`Evaluator::map`] requests for parameters
/// without look-ups.
const DEFAULT_BITS: f64 = 8.0;

impl Params {
    /// Predicts cost and error of every engine for a request on `threads` threads, before any key
    /// exists.
    ///
    /// ```
    /// use bellerophon::{CostModel, Engine, MapRequest, ckks::approx::Function, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let request = MapRequest::new(Function::sigmoid(), -8.0..=8.0, -10.0).count(64);
    /// let plan = params.map_plan(&request, &CostModel::default(), 1)?;
    /// println!("{plan}"); // a table of the engines: time, error, levels, keys, or the refusal
    /// assert_eq!(plan.chosen, Some(Engine::Poly));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Domain`], [`Error::WantedError`], [`Error::CostModel`], and errors of the
    /// arithmetic for too many values or a level that the parameters do not have. An engine that
    /// does not qualify is not an error: its row gives the reason.
    pub fn map_plan(
        &self,
        request: &MapRequest,
        model: &CostModel,
        threads: usize,
    ) -> Result<EnginePlan> {
        Ok(Planner::for_params(self, request, model, threads)?.plan().0)
    }

    /// Predicts the bytes of the keys of each engine in their wire form, before any is made
    /// ([`Needs::map_with`]). An engine that the parameters do not have gives an error in its
    /// place.
    pub fn map_key_bytes(
        &self,
        engines: impl IntoIterator<Item = Engine>,
    ) -> Vec<(Engine, Result<usize>)> {
        let bytes = |engine: Engine| self.evaluation_key_bytes(&engine.needs(Needs::new()));
        engines.into_iter().map(|engine| (engine, bytes(engine))).collect()
    }
}

impl Needs {
    /// The keys of engines for [`Evaluator::map_planned`]; [`Params::map_key_bytes`] predicts their
    /// sizes. There is one blind-rotation key: that of NTRU if it is named, else that of corrected
    /// tables, which serves plain tables, too.
    ///
    /// ```
    /// use bellerophon::{Engine, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::ToyInsecure)?; // toy dimensions, insecure
    /// let needs = Needs::new().map_with([Engine::Poly, Engine::Rgsw]);
    /// println!("{} bytes of keys", params.evaluation_key_bytes(&needs)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_with(self, engines: impl IntoIterator<Item = Engine>) -> Self {
        engines.into_iter().fold(self, |needs, engine| engine.needs(needs))
    }
}

impl Evaluator {
    /// Returns this evaluator with another cost model than [`CostModel::SERVER`] for
    /// [`map`](Self::map) and [`map_planned`](Self::map_planned).
    pub fn with_cost_model(mut self, model: CostModel) -> Self {
        self.costs = model;
        self
    }

    /// Predicts cost and error of every engine for this vector with the keys of this evaluator, on
    /// the threads of the active pool. The number of values and the level are those of `x`, not
    /// those of the request.
    ///
    /// # Errors
    /// As [`Params::map_plan`]; [`Error::OutsideDomain`] for values that may lie outside the
    /// domain; [`Error::Complex`].
    pub fn map_plan(&self, x: &Ciphertext, request: &MapRequest) -> Result<EnginePlan> {
        Ok(self.planner(x, request)?.plan().0)
    }

    fn planner<'a>(&'a self, x: &Ciphertext, request: &'a MapRequest) -> Result<Planner<'a>> {
        range_within("map", x.range(), &request.domain)?;
        let threads = bellerophon_ring::threads();
        Planner::for_vector(self, x.metadata(), request, &self.costs, threads)
    }

    /// Applies a function to every value by the fastest engine that reaches the requested error
    /// with the keys of this evaluator. Reports the prediction and the measured outcome.
    ///
    /// The padding of the result is arbitrary: reductions clear it.
    ///
    /// ```
    /// use bellerophon::{Engine, MapRequest, ckks::approx::Function, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToySmooth)?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -7.5], -8.0..=8.0)?;
    /// let request = MapRequest::new(Function::sigmoid(), -8.0..=8.0, -12.0);
    /// let (y, report) = server.map_planned(&x, &request)?;
    /// assert_eq!(report.engine, Engine::Fbt); // too few levels for a polynomial
    /// let found = client.decrypt(&y)?;
    /// assert!((found[0] - 1.0 / (1.0 + (-0.5f64).exp())).abs() < report.predicted.log2_error.exp2());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_plan`](Self::map_plan); [`Error::NoPlan`] if no engine qualifies, with the reason
    /// of each; errors of the engine.
    pub fn map_planned(
        &self,
        x: &Ciphertext,
        request: &MapRequest,
    ) -> Result<(Ciphertext, MapReport)> {
        // Step 1: the plan, and the chosen engine with its prepared polynomial, series or table.
        let planner = self.planner(x, request)?;
        let (plan, candidates) = planner.plan();
        let chosen = candidates
            .into_iter()
            .filter(|candidate| Some(candidate.row.engine) == plan.chosen)
            .find_map(|candidate| Some((candidate.row.prediction?, candidate.prepared?)));
        let (Some(engine), Some((predicted, prepared))) = (plan.chosen, chosen) else {
            let (function, refusals) = (plan.function.clone(), plan.refusals());
            return Err(Error::NoPlan { function, log2_error: request.log2_error, refusals });
        };
        // Step 2: the evaluation. The time goes into the report and decides nothing.
        let begin = Instant::now();
        let result = self.run(x, request, &prepared)?;
        let seconds = begin.elapsed().as_secs_f64();
        let (log2_noise, output_level) = (log2(result.noise()), result.level());
        Ok((result, MapReport { engine, predicted, seconds, log2_noise, output_level }))
    }

    /// Evaluates a prepared engine.
    fn run(&self, x: &Ciphertext, request: &MapRequest, prepared: &Prepared) -> Result<Ciphertext> {
        let (domain, function) = (request.domain.clone(), &request.function);
        let (lo, hi) = (*domain.start(), *domain.end());
        let value = |x: f64| function.value(x);
        match prepared {
            Prepared::Vector(program) => {
                let domain = bellerophon_ckks::Interval::real(lo, hi)?;
                Ok(program.apply(&self.arithmetic, x, &domain)?)
            }
            Prepared::Table => self.map_over(x, domain, value),
            Prepared::Corrected { order } => self.map_of_order(x, &domain, value, *order),
        }
    }

    /// [`map`](Self::map) for parameters without look-ups: by the planner, to `2^-8` of the spread
    /// of the function.
    pub(crate) fn map_closure(&self, x: &Ciphertext, f: &dyn Fn(f64) -> f64) -> Result<Ciphertext> {
        let domain = crate::evaluator::carried_domain(x.range());
        range_within("map", x.range(), &domain)?;
        // Sampling the closure once makes it `Send` and `'static`, as the planner requires.
        let function = MapFunction::read(f, *domain.start(), *domain.end())?;
        let request = MapRequest::new(function, domain, 0.0);
        let spread = request.spread();
        let log2_error = spread.log2() - DEFAULT_BITS;
        Ok(self.map_planned(x, &MapRequest { log2_error, ..request })?.0)
    }
}

impl MapRequest {
    /// The largest difference of two values of the function at 1025 points of the domain, or 1 for
    /// a constant.
    fn spread(&self) -> f64 {
        let (lo, hi) = (*self.domain.start(), *self.domain.end());
        let values =
            (0..=1024).map(|i| self.function.value(lo + (hi - lo) * f64::from(i) / 1024.0));
        let ends =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| (a.min(y), b.max(y)));
        if ends.1 > ends.0 { ends.1 - ends.0 } else { 1.0 }
    }
}
