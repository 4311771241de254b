//! Any function of every value: fronts of the planner and of the look-ups.

use std::sync::Arc;

use bellerophon_circuits::{bootstrap::Bootstrapper, fbt::FunctionalBootstrapper};
use bellerophon_ckks as ckks;
use bellerophon_ckks::{Ciphertext, noise_flooding::DecryptionBudget};
use bellerophon_lookup::{
    Bridge, Engine, Flood, LookupServer, LutParams,
    planner::{MapPlan, MapRequest, MapServer, PlanSubject, Planner},
};
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::{Result, error::operation};
use rand::CryptoRng;

use crate::client::system_rng;
use crate::evaluator::Evaluator;
use crate::needs::Needs;
use crate::params::Params;

impl Params {
    /// Predicts cost and error of a request before any key exists: seconds, a bound on the error,
    /// levels, and bytes of keys of every engine, and the engine that serves it fastest. The vector
    /// is a fresh one with values anywhere in the domain, which the request must state
    /// ([`MapRequest::over`]); [`MapRequest::count`] and [`MapRequest::level`] describe it.
    ///
    /// Where only tables can serve the request, the plan has one row, with the distribution of its
    /// error ([`accuracy`](crate::Prediction::accuracy)) for values uniform in the domain.
    ///
    /// ```
    /// use bellerophon::{Engine, Known, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    /// let sigmoid = MapRequest::of(Known::Sigmoid).over(-8.0..=8.0);
    /// let request = sigmoid.error(Accuracy::bits(10.0)).count(64);
    /// let plan = params.map_plan(&request)?;
    /// println!("{plan}"); // a table of the engines: time, error, levels, keys, or the refusal
    /// assert_eq!(plan.chosen, Some(Engine::Poly));
    /// let needs = Needs::new().map_with(plan.chosen); // its keys
    /// # assert!(params.evaluation_key_bytes(&needs)? > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Request`] without a domain. An engine that does not qualify is not an error:
    /// its row gives the reason. Only where tables alone can serve the request, or where nothing is
    /// stated and no engine qualifies, the error of the tables is returned.
    pub fn map_plan(&self, request: &MapRequest<'_>) -> Result<MapPlan> {
        operation("map_plan", || Planner::for_params(self, request)?.plan())
    }
}

impl PlanSubject for Params {
    fn slots(&self) -> &ckks::Params {
        self.ckks()
    }

    fn levels(&self) -> usize {
        self.levels()
    }

    fn lookups(&self) -> Result<&LutParams> {
        self.lookups()
    }

    fn bootstrapper(&self) -> Result<&Arc<Bootstrapper>> {
        self.bootstrapper()
    }

    fn functional(&self) -> Result<&Arc<FunctionalBootstrapper>> {
        self.functional()
    }

    fn key_bytes(&self, engine: Engine, bridge: Option<Bridge>) -> Result<usize> {
        let needs = Needs::new().map_with([engine]);
        self.evaluation_key_bytes(&bridge.into_iter().fold(needs, Needs::bridge))
    }
}

impl Evaluator {
    /// Applies any function to every value, over the range that `x` carries. The planner picks the
    /// fastest engine for which keys exist: a look-up table (PEGASUS, Fig. 6), or a polynomial or
    /// functional bootstrapping whose error is at most that of the table, and at most `2^-8` of the
    /// spread of `f`. [`map_with`](Self::map_with) takes domain, accuracy, engine and more.
    ///
    /// ```
    /// use bellerophon::prelude::*;
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.5, 2.0], -2.0..=2.0)?;
    /// let y = server.map(&server.square(&x)?, f64::sqrt)?; // squares lie in [0, 4]
    /// # let found = client.decrypt(&y)?;
    /// # assert!((found[1] - 1.5).abs() < 0.2, "{found:?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] where the carried range is too wide or too narrow:
    /// [`assume_range`](ckks::ComposedOps::assume_range) or a multiplication by a constant changes
    /// it.
    pub fn map(&self, x: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext> {
        self.map_with(x, &MapRequest::new(f))
    }

    /// Applies the function of a request to every value.
    ///
    /// ```
    /// use bellerophon::{Engine, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let needs = Needs::new().map_with([Engine::Corrected, Engine::Poly]);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -4.0..=4.0)?;
    ///
    /// // The fastest engine with at most the error of a table, over a wider domain.
    /// let y = server.map_with(&x, &MapRequest::new(f64::tanh).over(-8.0..=8.0))?;
    /// # assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 0.3);
    /// // Several tables, which correct the error of one.
    /// let slope = |x: f64| 1.0 - x.tanh().powi(2);
    /// let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    /// let tanh = MapRequest::new(f64::tanh).derivatives(&[&slope, &bend]);
    /// let tanh = tanh.typical(Accuracy::bits(8.0));
    /// let y = server.map_with(&x, &tanh)?;
    /// assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 2f64.powi(-8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `docs/guide.md` has the rules of domain and noise, `docs/map.md` those of engines.
    ///
    /// # Errors
    /// [`ErrorKind::Accuracy`] if no engine reaches the request, with the reason of each;
    /// [`ErrorKind::Domain`] for a domain that no table takes.
    pub fn map_with(&self, x: &Ciphertext, request: &MapRequest<'_>) -> Result<Ciphertext> {
        operation("map", || self.planner(x, request).and_then(|planner| planner.run()))
    }

    /// Predicts cost and error of a request for this vector with the keys of this evaluator, on the
    /// threads of the active pool: [`Params::map_plan`] with the carried range, the level and the
    /// number of values of `x`. [`MapRequest::planned`] runs it.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] for values that may lie outside the domain.
    pub fn map_plan(&self, x: &Ciphertext, request: &MapRequest<'_>) -> Result<MapPlan> {
        operation("map_plan", || self.planner(x, request).and_then(|planner| planner.plan()))
    }

    /// Applies several functions ([`MapRequest::many`]) to every value of one or several vectors,
    /// each by a table. The values of a vector leave the slots once. With keys of
    /// [`Engine::Corrected`], one blind rotation of a value serves all functions; with those of
    /// other tables, each function takes a rotation.
    ///
    /// All functions of a value are read at the same index, so they share the error of the
    /// argument. The results are ordered by function, then by vector. Padding is zero.
    ///
    /// ```
    /// use bellerophon::{Engine, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let needs = Needs::new().map_with([Engine::Corrected]);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let both = server.map_many(&[&x], &MapRequest::many(&[&f64::sin, &f64::cos]))?;
    /// # let (sin, cos) = (client.decrypt(&both[0])?, client.decrypt(&both[1])?);
    /// # assert!((sin[1] - (-1f64).sin()).abs() < 0.1 && (cos[0] - 0.5f64.cos()).abs() < 0.1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`MapRequest::packed`] returns a single vector, whose noise is relative to the widest range
    /// of the functions.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for what several functions do not take: accuracy, derivatives,
    /// engines, the linear bridge and flooding.
    pub fn map_many(
        &self,
        operands: &[&Ciphertext],
        request: &MapRequest<'_>,
    ) -> Result<Vec<Ciphertext>> {
        operation("map_many", || self.lookup()?.map_many(operands, request))
    }

    /// As [`map_with`](Self::map_with), with noise flooding before the switch from slots to LWE
    /// values, on the terms of a budget. The request states the worst-case noise of the program
    /// that made the vector ([`MapRequest::flooded`]).
    ///
    /// `docs/security/sharing.md` says what this promises: a flooded look-up is not safe to share.
    ///
    /// ```
    /// use bellerophon::{DecryptionBudget, ckks::{Interval, simulator::Simulator}, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// let client = ClientKey::generate(&Params::preset(Preset::Insecure(Toy::Functions))?)?;
    /// let server = Evaluator::new(client.evaluation_keys(&Needs::new().map())?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -2.0..=2.0)?;
    ///
    /// // The program does nothing: a fresh vector.
    /// let simulator = Simulator::new(server.params().ckks()).worst_case();
    /// let any = simulator.encrypt(&[0.0; 2], Interval::real(-2.0, 2.0)?, x.level())?;
    /// let bound = simulator.noise_bound(&any)?;
    /// let mut budget = DecryptionBudget::new(client.id(), 4, 30.0)?;
    /// budget.reserve(1)?;
    /// let request = MapRequest::new(f64::exp).flooded(&bound, budget.flooding());
    /// let y = server.map_flooded(&x, &request, &mut budget)?;
    /// # assert!((client.decrypt(&y)?[0] - 0.5f64.exp()).abs() < 0.5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Request`] without a bound, on other terms than the budget's, and for more than
    /// a plain table; [`ErrorKind::Domain`] for domains more than some 16 wide.
    pub fn map_flooded(
        &self,
        x: &Ciphertext,
        request: &MapRequest<'_>,
        budget: &mut DecryptionBudget,
    ) -> Result<Ciphertext> {
        self.map_flooded_with(x, request, budget, &mut system_rng())
    }

    /// As [`map_flooded`](Self::map_flooded), from a generator of [`rand`](crate::rand) that is
    /// secret and serves no other vector.
    pub fn map_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        request: &MapRequest<'_>,
        budget: &mut DecryptionBudget,
        mut rng: &mut R,
    ) -> Result<Ciphertext> {
        operation("map_flooded", || {
            let bound = request.noise_bound(budget.flooding())?;
            let planner = self.planner(x, request)?;
            planner.run_flooded(&mut Flood::new(bound, budget, &mut rng))
        })
    }

    /// A request for a vector, with the keys and settings of this evaluator.
    fn planner<'a>(
        &'a self,
        x: &'a Ciphertext,
        request: &'a MapRequest<'a>,
    ) -> Result<Planner<'a, Params>> {
        let lookups = self.lookup().ok();
        let functional = self.keys.functional.is_some();
        let server = MapServer { arithmetic: &self.arithmetic, lookups, functional };
        Planner::for_vector(self.params(), server, x, request)
    }
}

#[cfg(test)]
mod tests {
    use bellerophon_circuits::fbt::IntTable;

    use bellerophon_lookup::planner::CostModel;

    use super::*;
    use crate::preset::Preset;

    #[test]
    fn every_engine_has_keys() {
        for engine in Engine::ALL {
            assert!(Needs::new().map_with([engine]) != Needs::new(), "{}", engine.name());
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
        let tables = functions.lookups().unwrap().on(Engine::Rgsw).unwrap();
        near(model.rotations(tables, tables.spec().ring_degree, 1, 1), 11e-3);
        let entries = Params::preset(Preset::Tables(8)).unwrap();
        let table = IntTable::real(256, |k| (k * 77 % 256) as f64).unwrap();
        let bootstrapper = entries.functional().unwrap();
        let work = bootstrapper.work(&[table.function()], true);
        near(model.vectors(&work, 1), 3.1);
    }
}
