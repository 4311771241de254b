//! Maps by the engine that the planner chooses.

use std::sync::Arc;

use bellerophon_ckks::{
    self as ckks, Ciphertext, bootstrap::Bootstrapper, fbt::FunctionalBootstrapper,
};
use bellerophon_lwe as lwe;
use bellerophon_repack::{
    lookup::{carried_domain, range_within},
    planner::{MapServer, PlanSubject, Planner},
};

#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    CostModel, During, Engine, EnginePlan, Error, Evaluator, LutEngine, LutParams, MapReport,
    MapRequest, Needs, Params, Result,
};

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
    /// [`ErrorKind::Domain`], [`ErrorKind::WantedError`], [`ErrorKind::CostModel`], and errors of
    /// the arithmetic for too many values or a level that the parameters do not have. An engine
    /// that does not qualify is not an error: its row gives the reason.
    pub fn map_plan(
        &self,
        request: &MapRequest,
        model: &CostModel,
        threads: usize,
    ) -> Result<EnginePlan> {
        Ok(Planner::for_params(self, request, model, threads)?.plan())
    }

    /// Predicts the bytes of the keys of each engine in their wire form, before any is made
    /// ([`Needs::map_with`]). An engine that the parameters do not have gives an error in its
    /// place.
    pub fn map_key_bytes(
        &self,
        engines: impl IntoIterator<Item = Engine>,
    ) -> Vec<(Engine, Result<usize>)> {
        engines.into_iter().map(|engine| (engine, self.key_bytes(engine))).collect()
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
        engines.into_iter().fold(self, Self::with_engine)
    }
}

impl Needs {
    /// Adds the keys of an engine.
    fn with_engine(self, engine: Engine) -> Self {
        match engine {
            Engine::Poly => self.multiply(),
            Engine::Fbt => self.functional(),
            Engine::Rgsw => self.map().engine(LutEngine::Rgsw),
            Engine::Corrected => self.map_to(),
            Engine::Ntru => self.map().engine(LutEngine::Ntru),
            // There are no other engines.
            _ => self,
        }
    }
}

impl PlanSubject for Params {
    type Error = Error;

    fn slots(&self) -> &ckks::Params {
        self.ckks()
    }

    fn levels(&self) -> usize {
        self.levels()
    }

    fn lookups(&self) -> Result<&LutParams> {
        self.lookups_for()
    }

    fn tables_on(&self, engine: LutEngine) -> Result<&lwe::Params> {
        self.tables_on(engine)
    }

    fn corrected_on(&self, engine: LutEngine) -> Result<&lwe::Params> {
        self.corrected_on(engine)
    }

    fn bootstrapper(&self) -> Result<&Arc<Bootstrapper>> {
        self.bootstrapper()
    }

    fn functional(&self) -> Result<&Arc<FunctionalBootstrapper>> {
        self.functional()
    }

    fn key_bytes(&self, engine: Engine) -> Result<usize> {
        self.evaluation_key_bytes(&Needs::new().with_engine(engine))
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
    /// As [`Params::map_plan`]; [`ErrorKind::OutsideDomain`] for values that may lie outside the
    /// domain; [`ErrorKind::Complex`].
    pub fn map_plan(&self, x: &Ciphertext, request: &MapRequest) -> Result<EnginePlan> {
        Ok(self.planner(x, request)?.plan())
    }

    fn planner<'a>(
        &'a self,
        x: &'a Ciphertext,
        request: &'a MapRequest,
    ) -> Result<Planner<'a, Params>> {
        let threads = bellerophon_ring::threads();
        let (params, server) = (self.params(), self.map_server());
        Ok(Planner::for_vector(params, server, x, request, &self.costs, threads)?)
    }

    /// The keys and settings of this evaluator, for the planner.
    fn map_server(&self) -> MapServer<'_> {
        let lookups = self.params().optional_lookups();
        MapServer {
            arithmetic: &self.arithmetic,
            lookups: lookups.map(|lookups| self.lookup_of(lookups)),
            functional: self.keys.functional.is_some(),
        }
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
    /// assert!((found[0] - 1.0 / (1.0 + (-0.5f64).exp())).abs() <
    /// report.predicted.log2_error.exp2());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`map_plan`](Self::map_plan); [`ErrorKind::NoPlan`] if no engine qualifies, with the
    /// reason of each; errors of the engine.
    pub fn map_planned(
        &self,
        x: &Ciphertext,
        request: &MapRequest,
    ) -> Result<(Ciphertext, MapReport)> {
        Ok(self.planner(x, request)?.run()?)
    }

    /// [`map`](Self::map) for parameters without look-ups: by the planner, to `2^-8` of the spread
    /// of the function.
    pub(crate) fn map_closure(&self, x: &Ciphertext, f: &dyn Fn(f64) -> f64) -> Result<Ciphertext> {
        let domain = carried_domain(x.range());
        range_within(x.range(), &domain).during("map")?;
        Ok(self.map_planned(x, &MapRequest::of_closure(f, domain)?)?.0)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_ckks::{cost::Work, fbt::IntTable};

    use super::*;
    use crate::Preset;

    #[test]
    fn every_engine_has_keys() {
        for engine in Engine::ALL {
            assert!(Needs::new().with_engine(engine) != Needs::new(), "{}", engine.name());
        }
    }

    /// The prices of [`CostModel::SERVER`] reproduce the times in its documentation.
    #[test]
    fn the_server_takes_what_was_measured() {
        let model = CostModel::SERVER;
        let near = |seconds: f64, measured: f64| {
            assert!((0.8..1.25).contains(&(seconds / measured)), "{seconds} {measured}");
        };
        let functions = Params::preset(Preset::Functions).unwrap();
        let tables = functions.lookups().unwrap().on(LutEngine::Rgsw).unwrap();
        near(model.rotations(tables, tables.ring_degree(), 1, 1), 11e-3);
        let entries = Params::preset(Preset::Tables8).unwrap();
        let table = IntTable::real(256, |k| (k * 77 % 256) as f64).unwrap();
        let bootstrapper = entries.functional().unwrap();
        let work = Work::of_functional(bootstrapper, &[table.function()], true);
        near(model.vectors(&work, 1), 3.1);
    }
}
