//! Any function of every value: fronts of the planner and of the look-ups.

use std::sync::Arc;

use bellerophon_ckks::{
    self as ckks, Ciphertext, bootstrap::Bootstrapper, fbt::FunctionalBootstrapper,
};
use bellerophon_repack::{
    lookup::{Flood, LookupServer},
    planner::{MapServer, PlanSubject, Planner},
};
use rand::CryptoRng;

#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Bridge, DecryptionBudget, During, Engine, Evaluator, LutParams, MapPlan, MapRequest, Needs,
    Params, Result, client::system_rng,
};

impl Params {
    /// Predicts cost and error of a request before any key exists: seconds, a bound on the error,
    /// levels, and bytes of keys of every engine, and the engine that serves it fastest. The vector
    /// is a fresh one with values anywhere in the domain, which the request must state
    /// ([`MapRequest::over`]); [`MapRequest::count`] and [`MapRequest::level`] describe it.
    ///
    /// Where only tables can serve the request (it [names](MapRequest::engines) them alone, or
    /// requests a [`typical`](MapRequest::typical) accuracy), the plan has one row. The
    /// [`accuracy`](crate::Prediction::accuracy) of a table is the distribution of the error for
    /// values uniform in the domain, its [`order`](crate::Prediction::order) the degree of the
    /// correction that reaches the typical accuracy. An operand below
    /// [`LutParams::level_to_correct`] is packed beside its tables, with some five times the noise.
    ///
    /// ```
    /// use bellerophon::{Engine, ckks::approx::Known, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let params = Params::preset(Preset::ToyInsecure)?;
    /// let sigmoid = MapRequest::of(Known::Sigmoid).over(-8.0..=8.0);
    /// let request = sigmoid.error(Accuracy::bits(10.0)).count(64);
    /// let plan = params.map_plan(&request)?;
    /// println!("{plan}"); // a table of the engines: time, error, levels, keys, or the refusal
    /// assert_eq!(plan.chosen, Some(Engine::Poly));
    /// let needs = Needs::new().map_with(plan.chosen); // its keys
    /// # assert!(params.evaluation_key_bytes(&needs)? > 0);
    ///
    /// // One table for each value: what error is to be expected?
    /// let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0).engines([Engine::Rgsw]);
    /// let plan = params.map_plan(&tanh)?;
    /// let law = plan.prediction().and_then(|table| table.accuracy.as_ref());
    /// assert!(law.is_some_and(|law| law.mean_abs < 0.1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Request`] without a domain; [`ErrorKind::Domain`] for an invalid one;
    /// [`ErrorKind::Argument`] for the cost model; and errors of the arithmetic for too many
    /// values or a level that the parameters do not have. An engine that does not qualify is
    /// not an error: its row gives the reason. For tables alone, and where neither accuracy nor
    /// engines are stated and no engine qualifies:
    /// [`ErrorKind::Domain`] for domains that no look-up takes, [`ErrorKind::Accuracy`] with the
    /// best accuracy within reach, [`ErrorKind::Unsupported`] for what the parameters lack, too few
    /// levels, or an error that names the argument at which the function is not finite.
    pub fn map_plan(&self, request: &MapRequest<'_>) -> Result<MapPlan> {
        let op = "map_plan";
        Planner::for_params(self, request).during(op)?.plan().during(op)
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

    fn key_bytes(&self, engine: Engine, bridge: Bridge) -> Result<usize> {
        let needs = Needs::new().map_with([engine]);
        self.evaluation_key_bytes(&match bridge {
            Bridge::Auto => needs,
            asked => needs.bridge(asked),
        })
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
    /// // Toy dimensions, insecure.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
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
    /// As [`map_with`](Self::map_with): [`Domain`](crate::repack::ErrorKind::Domain)
    /// where the carried range is too wide or too narrow; [`assume_range`](Self::assume_range) or a
    /// multiplication by a constant changes it.
    pub fn map(&self, x: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext> {
        self.map_with(x, &MapRequest::new(f))
    }

    /// Applies the function of a request to every value.
    ///
    /// ```
    /// use bellerophon::{Engine, ckks::approx::Known, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let needs = Needs::new().map_with([Engine::Corrected, Engine::Poly]);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.5, -1.25], -4.0..=4.0)?;
    ///
    /// // The fastest engine with at most the error of a table, over a wider domain.
    /// let y = server.map_with(&x, &MapRequest::new(f64::tanh).over(-8.0..=8.0))?;
    /// # assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 0.3);
    /// // Several tables, which correct the error of one; from derivatives, or fitted without.
    /// let slope = |x: f64| 1.0 - x.tanh().powi(2);
    /// let bend = |x: f64| -2.0 * x.tanh() * slope(x);
    /// let tanh = MapRequest::new(f64::tanh).derivatives(&[&slope, &bend]);
    /// let tanh = tanh.typical(Accuracy::bits(8.0));
    /// let y = server.map_with(&x, &tanh)?;
    /// assert!((client.decrypt(&y)?[0] - 0.5f64.tanh()).abs() < 2f64.powi(-8));
    /// // The fastest engine that reaches an error of 2^-8, planned once.
    /// let sigmoid = MapRequest::of(Known::Sigmoid).error(Accuracy::bits(8.0));
    /// let plan = server.map_plan(&x, &sigmoid)?;
    /// let y = server.map_with(&x, &sigmoid.planned(&plan))?;
    /// # assert!((client.decrypt(&y)?[0] - 1.0 / (1.0 + (-0.5f64).exp())).abs() < 2f64.powi(-8));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Domain
    /// The domain is [`MapRequest::over`], or the range that `x` carries. A range that is a single
    /// point (to one part in `1e9`) is widened, so that constants map to constants. `f` is called
    /// only on the carried range; outside it a table continues `f` by its value at the nearer end.
    ///
    /// # Engine
    /// The fastest engine that qualifies, among those for which keys exist:
    /// - With an [`error`](MapRequest::error): all engines that reach it.
    /// - With a [`typical`](MapRequest::typical) accuracy, and look-ups: tables.
    /// - Otherwise: plain tables whatever their error, and other engines with at most the error of
    ///   the table, and at most `2^-8` of the spread of `f`.
    ///
    /// Polynomials take levels of `x`, the range of their result includes their error, and its
    /// padding is arbitrary: reductions clear it. Tables return a level of their own, the range of
    /// `f` and zeros as padding.
    /// [`leaving`](MapRequest::leaving) asks for a level, [`engines`](MapRequest::engines) names
    /// the tables. A closure is sampled in each call; [`planned`](MapRequest::planned) takes a plan
    /// for many.
    ///
    /// # Accuracy of tables
    /// The values move from the slots to LWE ciphertexts. Each selects an entry of a table of `f`,
    /// and ring packing returns the entries to the slots. The result is not exact: the index of a
    /// value is off by a few cells, so the error is about `f'(x)` times a few cells. A cell is the
    /// width of the domain over the degree of the table, so a narrow domain is more precise.
    /// [`map_plan`](Self::map_plan) predicts the distribution of the error.
    ///
    /// With [`typical`](MapRequest::typical), tables of the identity and of the coefficients of
    /// local polynomials of `f` are read at one index where one table is not accurate enough, and
    /// [`order`](crate::Prediction::order) products remove the error of that index: smooth
    /// functions gain several bits. At a kink (ReLU, the absolute value) the error of a plain table
    /// remains, and the prediction includes it. Each of the `order + 2` tables (or one more) can
    /// fail as one table does: a value fails with a probability of at most
    /// `2^`[`log2_failure`](crate::Params::log2_failure) `(order + 4) / 2`.
    ///
    /// The [noise](ckks::Metadata::noise) of the result is an upper estimate for any values of the
    /// range: the standard deviation of the error against `f` of the exact value at the worst
    /// argument, `sqrt(max E[(f(x + e) - f(x))^2] + s^2)`. Here `e` is the error of the index with
    /// the noise of `x`, and `s` the noise of blind rotation and ring packing. At the jump of a
    /// discontinuous function the first term is about half the square of the jump, although values
    /// far from the jump are right. The noise of other engines includes their approximation error.
    ///
    /// The range of the result is that of `f` over the carried range. Guard bands at both ends of
    /// the table absorb the noise of `x`, up to a fifth of the domain's width. The index error of
    /// an earlier look-up does not move values out of their range: it counts in the prediction
    /// only.
    ///
    /// # Levels and time of tables
    /// A look-up takes [`LutParams::levels`] levels of the operand; the level of the result is
    /// [`LutParams::level_after`], less the levels of a correction. The time is that of one blind
    /// rotation per value, plus a bridge that hardly depends on the number of values.
    /// [`with_progress`](Self::with_progress) sets a callback for progress.
    ///
    /// # Errors
    /// - [`ErrorKind::Domain`] for a domain that is empty, infinite, too wide or too narrow for a
    ///   table, or that does not contain the carried range; [`ErrorKind::Complex`].
    /// - [`ErrorKind::Accuracy`] if no engine or correction reaches the request, with the reason of
    ///   each; without stated accuracy and engines, and for tables alone, the error of the table:
    ///   [`ErrorKind::Unsupported`] for parameters without, [`ErrorKind::MissingKey`] without
    ///   [`Needs::map`] for the bridge, or without the engine.
    /// - An error that names the argument if `f` is not finite on the carried range, or a
    ///   derivative where values can lie.
    /// - [`ErrorKind::Request`] for requirements that do not fit together;
    ///   [`ErrorKind::Cancelled`]; and errors of the arithmetic, among them too few levels.
    pub fn map_with(&self, x: &Ciphertext, request: &MapRequest<'_>) -> Result<Ciphertext> {
        self.planner(x, request).and_then(|planner| planner.run()).during("map")
    }

    /// Predicts cost and error of a request for this vector with the keys of this evaluator, on the
    /// threads of the active pool: [`Params::map_plan`] with the carried range, the level and the
    /// number of values of `x`. [`MapRequest::planned`] runs it.
    ///
    /// # Errors
    /// As [`Params::map_plan`]; [`Domain`](crate::repack::ErrorKind::Domain) for
    /// values that may lie outside the domain; [`Complex`](crate::repack::ErrorKind::Complex).
    pub fn map_plan(&self, x: &Ciphertext, request: &MapRequest<'_>) -> Result<MapPlan> {
        self.planner(x, request).and_then(|planner| planner.plan()).during("map_plan")
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
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
    /// let needs = Needs::new().map_with([Engine::Corrected]);
    /// let server = Evaluator::new(client.evaluation_keys(&needs)?)?;
    /// let x = client.encrypt(&[0.5, -1.0], -2.0..=2.0)?;
    /// let both = server.map_many(&[&x], &MapRequest::many(&[&f64::sin, &f64::cos]))?;
    /// # let (sin, cos) = (client.decrypt(&both[0])?, client.decrypt(&both[1])?);
    /// # assert!((sin[1] - (-1f64).sin()).abs() < 0.1 && (cos[0] - 0.5f64.cos()).abs() < 0.1);
    ///
    /// // All results in one vector: exp 0.5, exp -1, exp 1.5, 0.5, 1, 1.5.
    /// let y = client.encrypt(&[1.5], -2.0..=2.0)?;
    /// let request = MapRequest::many(&[&f64::exp, &f64::abs]).packed();
    /// let all = server.map_many(&[&x, &y], &request)?.remove(0);
    /// # let found = client.decrypt(&all)?;
    /// # for (found, expected) in found.iter().zip([1.65, 0.37, 4.48, 0.5, 1.0, 1.5]) {
    /// #     assert!((found - expected).abs() < 0.3, "{found} {expected}");
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`MapRequest::packed`] returns a single vector. For few values the time of ring packing
    /// dominates and hardly depends on their number. All results are then packed at one amplitude:
    /// the noise of table and packing is relative to the widest range of the functions, constants
    /// aside. A function whose values span 1 beside one whose values span `1e4` is `1e4` times
    /// noisier than alone, so such functions should take separate calls. The noise of the result is
    /// that of its noisiest function.
    ///
    /// # Errors
    /// As [`map_with`](Self::map_with) with the ring bridge; if there are no functions; for more
    /// packed results than a vector has slots; and [`Request`](crate::repack::ErrorKind::Request)
    /// for requirements that several functions do not take: accuracy, derivatives, engines, the
    /// linear bridge and flooding.
    pub fn map_many(
        &self,
        operands: &[&Ciphertext],
        request: &MapRequest<'_>,
    ) -> Result<Vec<Ciphertext>> {
        let op = "map_many";
        self.lookup().during(op)?.map_many(operands, request).during(op)
    }

    /// As [`map_with`](Self::map_with), with noise flooding before the switch from slots to LWE
    /// values, on the terms of a budget. The request states the worst-case noise of the program
    /// that made the vector ([`MapRequest::flooded`]).
    ///
    /// LWE values keep the noise of the slots, which depends on the secret key, and a look-up near
    /// the border of a cell depends on that noise. In the model of Li and Micciancio, in which an
    /// attacker sees decrypted results, published attacks on such switches recover keys ("How not
    /// to switch FHE schemes", 2026). Flooding adds a discrete Gaussian to every coefficient after
    /// SlotsToCoeffs, of standard deviation `sqrt(12 q) 2^(s/2)` times the length of the noise of
    /// the values, for the `q` vectors and `s` bits of the budget, which counts this vector. The
    /// flooding blurs the index of the table: [`Params::map_plan`] of the same request predicts the
    /// remaining accuracy.
    ///
    /// The bound is that of
    /// [`Simulator::noise_bound`](ckks::simulator::Simulator::noise_bound), as for
    /// [`ClientKey::decrypt_flooded`](crate::ClientKey::decrypt_flooded). The noise in the metadata
    /// of the vector is an average, and its sender may have written anything. There is no bound for
    /// results of look-ups: the error of their index depends on the key, and flooding does not hide
    /// it.
    ///
    /// ```
    /// use bellerophon::{DecryptionBudget, ckks::{Interval, simulator::Simulator}, prelude::*};
    /// # fn main() -> bellerophon::Result<()> {
    /// // Toy dimensions, which protect nothing.
    /// let client = ClientKey::generate(&Params::preset(Preset::ToyInsecure)?)?;
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
    /// What this promises: for anyone who does not know the flooding noise, the phases of the LWE
    /// values of `q` flooded vectors, before the key switch, are within statistical distance
    /// `2^(-s/2) / sqrt(48)` of phases that do not depend on the noise of the slots.
    ///
    /// What it does not promise: the server draws the noise and must keep it secret. The noise of
    /// SlotsToCoeffs is hidden only as far as its errors are independent, except for a tail of
    /// `2^-64`. The key switch, the rounding to an index and failures of the table come after the
    /// flooding and depend on the LWE secret. So flooding here does not make a result safe to
    /// share. For results that never left the slots,
    /// [`ClientKey::decrypt_flooded`](crate::ClientKey::decrypt_flooded) has a bound that covers
    /// everything.
    ///
    /// # Errors
    /// As [`map_with`](Self::map_with), and those of [`NoiseBound::check`]; operands are never
    /// bootstrapped. [`Request`](crate::repack::ErrorKind::Request) without a bound, on other terms
    /// than the budget's, and for more than a plain table. For a budget of another key;
    /// [`Budget`](ckks::ErrorKind::Budget); an error of the tables if the noise would
    /// fill them; and [`Domain`](crate::repack::ErrorKind::Domain) for domains more than
    /// some 16 wide, because flooded values have a larger scale, so that the noise to be hidden is
    /// smaller.
    ///
    /// [`NoiseBound::check`]: ckks::noise_flooding::NoiseBound::check
    pub fn map_flooded(
        &self,
        x: &Ciphertext,
        request: &MapRequest<'_>,
        budget: &mut DecryptionBudget,
    ) -> Result<Ciphertext> {
        self.map_flooded_with(x, request, budget, &mut system_rng())
    }

    /// As [`map_flooded`](Self::map_flooded), from a given generator of `rand` 0.10
    /// ([`bellerophon::rand`](crate::rand)). The generator must be secret and serve no other
    /// vector.
    ///
    /// # Errors
    /// As [`map_flooded`](Self::map_flooded).
    pub fn map_flooded_with<R: CryptoRng + ?Sized>(
        &self,
        x: &Ciphertext,
        request: &MapRequest<'_>,
        budget: &mut DecryptionBudget,
        mut rng: &mut R,
    ) -> Result<Ciphertext> {
        let op = "map_flooded";
        let bound = request.noise_bound(budget.flooding()).during(op)?;
        let planner = self.planner(x, request).during(op)?;
        planner.run_flooded(&mut Flood::new(bound, budget, &mut rng)).during(op)
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
    use bellerophon_ckks::{cost::Work, fbt::IntTable};

    use super::*;
    use crate::{CostModel, LutEngine, Preset};

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
        let tables = functions.lookups().unwrap().on(LutEngine::Rgsw).unwrap();
        near(model.rotations(tables, tables.spec().ring_degree, 1, 1), 11e-3);
        let entries = Params::preset(Preset::Tables8).unwrap();
        let table = IntTable::real(256, |k| (k * 77 % 256) as f64).unwrap();
        let bootstrapper = entries.functional().unwrap();
        let work = Work::of_functional(bootstrapper, &[table.function()], true);
        near(model.vectors(&work, 1), 3.1);
    }
}
