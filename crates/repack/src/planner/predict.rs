//! The prediction of every engine for a request.

use bellerophon_ckks::{
    self as ckks, Ciphertext, CkksOps, Interval, Metadata,
    noise::worst_factor,
    simulator::{SimCiphertext, Simulator},
};

use super::{
    cost_model::CostModel,
    engine::Engine,
    look_up::Tables,
    request::MapRequest,
    subject::{MapServer, PlanSubject},
    table::{EnginePlan, EngineRow, Prediction},
    vector::VectorProgram,
};
use crate::{
    During, Error, ErrorKind, Result,
    lookup::{
        Bridge, Corrections, LutEngine, LutParams, Map, MapPlan, Smooth, center, check_domain,
        range_within,
    },
};

/// The smallest error that is predicted: the precision of f64 around 1.
const LEAST_ERROR: f64 = 1.0 / (1u64 << 52) as f64;

/// An engine that is ready to run.
pub(crate) enum Prepared {
    Vector(Box<VectorProgram>),
    Table,
    Corrected { order: usize },
}

/// An engine of a plan, ready to run if it qualifies.
pub(crate) struct Candidate {
    pub(crate) row: EngineRow,
    pub(crate) prepared: Option<Prepared>,
}

/// A request with the operand and the keys for which it is planned.
pub struct Planner<'a, P> {
    params: &'a P,
    /// The server with its keys; without one, any keys that the parameters allow.
    server: Option<MapServer<'a>>,
    /// The vector to evaluate, beside a server.
    vector: Option<&'a Ciphertext>,
    request: &'a MapRequest,
    operand: Metadata,
    domain: Interval,
    model: &'a CostModel,
    threads: usize,
}

/// The operation in errors of plans.
pub(super) const OP: &str = "map_plan";

impl<'a, P: PlanSubject> Planner<'a, P> {
    /// For a fresh vector and any keys that the parameters allow.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`], [`ErrorKind::WantedError`], [`ErrorKind::CostModel`], and errors of
    /// the arithmetic for too many values or a level that the parameters do not have.
    pub fn for_params(
        params: &'a P,
        request: &'a MapRequest,
        model: &'a CostModel,
        threads: usize,
    ) -> Result<Self> {
        check_domain(&request.domain)?;
        // The defaults: full slots at the highest level for programs.
        let slots = params.slots().max_slots();
        let (count, level) =
            (request.count.unwrap_or(slots), request.level.unwrap_or(params.levels()));
        if count > slots {
            return Err(ckks::ErrorKind::TooManyValues { found: count, slots }.during(OP).into());
        }
        let domain = Interval::real(*request.domain.start(), *request.domain.end())?;
        request.function.check(&request.domain)?;
        let middle = 0.5 * (domain.lo() + domain.hi());
        let fresh = Simulator::new(params.slots()).encrypt(&vec![middle; count], domain, level)?;
        Self::new(params, request, *fresh.metadata(), (model, threads))
    }

    /// For a given vector and the keys of a server. [`run`](Self::run) evaluates them.
    ///
    /// # Errors
    /// As [`for_params`](Self::for_params); [`ErrorKind::OutsideDomain`] for values that may lie
    /// outside the domain; [`ErrorKind::Complex`].
    pub fn for_vector(
        params: &'a P,
        server: MapServer<'a>,
        x: &'a Ciphertext,
        request: &'a MapRequest,
        model: &'a CostModel,
        threads: usize,
    ) -> Result<Self> {
        range_within(x.range(), &request.domain).during("map")?;
        let planner = Self::new(params, request, x.metadata(), (model, threads))?;
        Ok(Self { server: Some(server), vector: Some(x), ..planner })
    }

    fn new(
        params: &'a P,
        request: &'a MapRequest,
        operand: Metadata,
        (model, threads): (&'a CostModel, usize),
    ) -> Result<Self> {
        model.check()?;
        check_domain(&request.domain)?;
        if !request.log2_error.is_finite() {
            return Err(ErrorKind::WantedError { log2_error: request.log2_error }.during(OP));
        }
        let domain = Interval::real(*request.domain.start(), *request.domain.end())?;
        let threads = threads.max(1);
        let (server, vector) = (None, None);
        Ok(Self { params, server, vector, request, operand, domain, model, threads })
    }

    /// Predicts cost and error of every engine. An engine that does not qualify is not an error:
    /// its row gives the reason.
    pub fn plan(&self) -> EnginePlan {
        self.candidates().0
    }

    pub(super) fn request(&self) -> &'a MapRequest {
        self.request
    }

    /// The server and the vector that were planned for, if they are known.
    pub(super) fn bound(&self) -> Option<(MapServer<'a>, &'a Ciphertext)> {
        self.server.zip(self.vector)
    }

    /// Predicts all engines. Returns the plan and the engines that are ready to run.
    pub(super) fn candidates(&self) -> (EnginePlan, Vec<Candidate>) {
        // Every engine gets a row; the fastest of those that qualify is chosen.
        let candidates: Vec<Candidate> = Engine::ALL.map(|engine| self.candidate(engine)).into();
        let qualified = candidates.iter().filter(|candidate| candidate.prepared.is_some());
        let seconds = |candidate: &&Candidate| {
            candidate.row.prediction.as_ref().map_or(f64::INFINITY, |p| p.seconds)
        };
        let fastest = qualified.min_by(|x, y| seconds(x).total_cmp(&seconds(y)));
        let plan = EnginePlan {
            function: self.request.function.name().into(),
            domain: [self.domain.lo(), self.domain.hi()],
            log2_error: self.request.log2_error,
            count: self.operand.meta.len,
            level: self.operand.level,
            threads: self.threads,
            rows: candidates.iter().map(|candidate| candidate.row.clone()).collect(),
            chosen: fastest.map(|candidate| candidate.row.engine),
        };
        (plan, candidates)
    }

    /// Predicts one engine, and checks that it is allowed and meets the request.
    fn candidate(&self, engine: Engine) -> Candidate {
        let refused = |prediction, reason: String| Candidate {
            row: EngineRow { engine, prediction, refusal: Some(reason) },
            prepared: None,
        };
        if !self.request.engines.contains(&engine) {
            let reason = match engine {
                Engine::Ntru => "allowed only if it is named (`MapRequest::allow`)",
                _ => "not among the allowed engines",
            };
            return refused(None, reason.into());
        }
        // An error of the engine is the reason of its refusal.
        let (prediction, prepared) = match self.predict(engine) {
            Ok(found) => found,
            Err(error) => return refused(None, error.during_if_unnamed(OP).to_string()),
        };
        // A prediction that misses the request still goes into the plan, with its refusal.
        let (wanted, leaving) = (self.request.log2_error, self.request.leaving);
        if prediction.log2_error > wanted {
            let reason = format!(
                "reaches 2^{:.1}, requested is 2^{wanted}: request less, or narrow the domain",
                prediction.log2_error
            );
            return refused(Some(prediction), reason);
        }
        if prediction.output_level < leaving {
            let reason = format!(
                "leaves the result at level {}, requested is {leaving}: take a longer modulus \
                 chain, or an operand at a higher level",
                prediction.output_level
            );
            return refused(Some(prediction), reason);
        }
        let row = EngineRow { engine, prediction: Some(prediction), refusal: None };
        Candidate { row, prepared: Some(prepared) }
    }

    /// Prepares an engine and predicts its cost and error.
    fn predict(&self, engine: Engine) -> Result<(Prediction, Prepared), P::Error> {
        match engine {
            Engine::Poly => {
                if let Some(server) = self.server
                    && server.arithmetic.keys().relinearization_keys().is_none()
                {
                    return Err(Error::from(ErrorKind::MissingKeys { need: "multiply" }).into());
                }
                // Automatic bootstrapping allows polynomials of any number of levels.
                let simulator = Simulator::new(self.params.slots());
                let bootstraps =
                    self.server.is_some_and(|server| server.arithmetic.auto_bootstraps());
                let most = if bootstraps { usize::MAX } else { self.operand.level };
                let program = VectorProgram::polynomial(self.request, most)?;
                let simulator = match bootstraps {
                    true => {
                        let bootstrapper = self.params.bootstrapper()?.clone();
                        simulator.with_bootstrapping(bootstrapper)?.with_auto_bootstrap()?
                    }
                    false => simulator,
                };
                self.vector(engine, program, simulator)
            }
            Engine::Fbt => {
                // The series is prepared for the bootstrapper of the parameters.
                let bootstrapper = self.params.functional()?.clone();
                if self.server.is_some_and(|server| !server.functional) {
                    return Err(Error::from(ErrorKind::MissingKeys { need: "functional" }).into());
                }
                let program = VectorProgram::series(&bootstrapper, self.request)?;
                let simulator =
                    Simulator::new(self.params.slots()).with_functional(bootstrapper)?;
                self.vector(engine, program, simulator)
            }
            Engine::Rgsw => self.table(engine, LutEngine::Rgsw),
            Engine::Ntru => self.table(engine, LutEngine::Ntru),
            Engine::Corrected => self.corrected(),
        }
    }

    /// The operand on a simulator: its metadata, with values in the middle of the domain.
    fn operand(&self, simulator: &Simulator) -> Result<SimCiphertext> {
        let Metadata { level, meta } = self.operand;
        let middle = 0.5 * (self.domain.lo() + self.domain.hi());
        let x = simulator.encrypt(&vec![middle; meta.len], self.domain, level)?;
        let repeats = meta.slots > x.metadata().meta.slots;
        let x = if repeats { simulator.repeated(x, meta.slots)? } else { x };
        Ok(simulator.with_metadata(x, meta))
    }

    /// The prediction of a program on whole vectors, from a run on the simulator.
    fn vector(
        &self,
        engine: Engine,
        program: VectorProgram,
        simulator: Simulator,
    ) -> Result<(Prediction, Prepared), P::Error> {
        // Step 1: the metadata of the result, and the noise of its worst value.
        let y = program.apply(&simulator, &self.operand(&simulator)?, &self.domain)?;
        let (result, before) = (*y.metadata(), self.operand.level);
        let noise = program.noise(&result, &self.operand, self.request);
        let worst = worst_factor(self.operand.meta.len, EnginePlan::LOG2_FAILURE);
        // Step 2: the counted work, and the levels that the operand must have.
        let report = simulator.report();
        let refreshed = report.bootstraps + report.functional > 0;
        let levels = match (report.functional, report.bootstraps) {
            (0, 0) => before - result.level,
            (0, _) => self.params.bootstrapper()?.input_level(),
            _ => self.params.functional()?.input_level(),
        };
        let prediction = Prediction {
            seconds: self.model.vectors(&report.work, self.threads),
            log2_error: log2(program.error() + worst * noise),
            certified: self.request.function.is_certified(),
            levels,
            output_level: result.level,
            key_bytes: self.params.key_bytes(engine)?,
            refreshed,
            detail: program.detail(),
        };
        Ok((prediction, Prepared::Vector(Box::new(program))))
    }

    /// The metadata of the operand after the middle of the domain was subtracted, as look-ups do.
    fn shifted(&self) -> Result<Metadata> {
        let simulator = Simulator::new(self.params.slots());
        let middle = center(&self.request.domain);
        Ok(*simulator.add_scalar(&self.operand(&simulator)?, -middle)?.metadata())
    }

    /// The tables on an engine, from the keys of the server or from the parameters.
    fn tables(&self, engine: LutEngine) -> Result<Tables<'a>, P::Error> {
        let lookups = self.params.lookups()?;
        // With a server, the engine and the bridge of its keys.
        let (lattice, path) = match self.server {
            None => (self.params.tables_on(engine)?, lookups.path(Bridge::Auto)?),
            Some(server) => {
                let server = server.with_lookups()?;
                let tables = server.table_keys()?;
                if LutEngine::of(&tables.lattice) != engine {
                    return Err(Error::from(ErrorKind::MissingKeys { need: "engine" }).into());
                }
                (&tables.lattice, server.crossing(self.operand.meta.len)?.0)
            }
        };
        Ok(Tables { lookups, lattice, path })
    }

    fn levels_for_tables(&self, lookups: &LutParams) -> Result<()> {
        let (needed, left) = (lookups.levels(), self.operand.level);
        match left >= needed {
            true => Ok(()),
            false => Err(ckks::Error::from(ckks::ErrorKind::OutOfLevels { needed, left }).into()),
        }
    }

    /// The prediction of a plain table on an engine.
    fn table(&self, engine: Engine, on: LutEngine) -> Result<(Prediction, Prepared), P::Error> {
        let tables = self.tables(on)?;
        let lookups = tables.lookups;
        self.levels_for_tables(lookups)?;
        let Tables { lattice, path, .. } = tables;
        let map = Map::new(lookups, lattice, path, &self.request.domain)?;
        let count = self.operand.meta.len;
        // The error of a single table: the change of the function within the index error.
        let error = tables.error(&map, &self.request.function, &self.shifted()?)?;
        let prediction = Prediction {
            seconds: tables.seconds(self.model, (count, 0), self.threads)?,
            log2_error: log2(error),
            certified: self.request.function.is_certified_by_cells(),
            levels: lookups.levels(),
            output_level: lookups.level_after(),
            key_bytes: self.params.key_bytes(engine)?,
            refreshed: true,
            detail: format!("table of degree {}", lattice.ring_degree()),
        };
        Ok((prediction, Prepared::Table))
    }

    /// The prediction of a corrected look-up of the smallest order that meets the request, or else
    /// of the best order.
    fn corrected(&self) -> Result<(Prediction, Prepared), P::Error> {
        // Step 1: the tables, and the keys that they need.
        let lookups = self.params.lookups()?;
        self.levels_for_tables(lookups)?;
        let lattice = match self.server {
            None => self.params.corrected_on(LutEngine::Rgsw)?,
            Some(server) => &server.with_lookups()?.table_keys()?.lattice,
        };
        let engine = LutEngine::of(lattice);
        if engine == LutEngine::Ntru && !self.request.engines.contains(&Engine::Ntru) {
            return Err(Error::from(ErrorKind::MissingKeys { need: "engine" }).into());
        }
        let path = lookups.path(Bridge::Ring)?;
        let tables = Tables { lookups, lattice, path };
        if !lookups.corrects(lattice) {
            return Err(Error::from(ErrorKind::MissingKeys { need: "map_to" }).into());
        }
        let function = &self.request.function;
        let (lo, hi) = (self.domain.lo(), self.domain.hi());
        if let Some(place) = function.jump(lo, hi) {
            let what = function.name().to_string();
            let reason = format!("the function jumps at {place}, and no correction helps there");
            return Err(ckks::Error::from(ckks::ErrorKind::Approximation { what, reason }).into());
        }
        // Step 2: the error that the noise of the operand causes, beside that of exact values.
        let Metadata { level, meta } = &self.operand;
        let (domain, carried) = (&self.request.domain, &meta.bounds.values);
        let corrections = Corrections::new(lookups, lattice, domain, carried, *level)?;
        let value = corrections.inside(|x| function.value(x));
        let (count, wanted) = (meta.len, self.request.log2_error.exp2());
        let grid = corrections.map().grid(&self.shifted()?)?;
        let own = grid.operand_error(corrections.range(), &value).sqrt();
        let own = worst_factor(count, EnginePlan::LOG2_FAILURE) * own;
        // Step 3: rising orders, until one meets the request.
        let smooth = Smooth::new(&value, &[]);
        let mut best: Option<(MapPlan, f64)> = None;
        for order in 0..=smooth.highest_order() {
            let plan = match corrections.of_order(&smooth, order) {
                Ok((plan, _)) => plan,
                // Keep the best plan so far: its error goes into the refusal.
                Err(error) if best.is_none() => return Err(error.into()),
                Err(_) => break,
            };
            let error = plan.accuracy().worst_abs() + own;
            if best.as_ref().is_none_or(|(_, least)| error < *least) {
                best = Some((plan, error));
            }
            if error <= wanted {
                break;
            }
        }
        let (plan, error) = best.expect("a plan was found or its error returned");
        let prediction = Prediction {
            seconds: tables.seconds(self.model, (count, plan.order()), self.threads)?,
            log2_error: log2(error),
            certified: false,
            levels: lookups.levels(),
            output_level: lookups.level_after().saturating_sub(plan.levels()),
            key_bytes: self.params.key_bytes(Engine::Corrected)?,
            refreshed: true,
            detail: format!(
                "tables of degree {}, correction of order {}",
                lattice.ring_degree(),
                plan.order()
            ),
        };
        Ok((prediction, Prepared::Corrected { order: plan.order() }))
    }
}

/// `log2` of an error, always finite because JSON has no infinity. NaN counts as the largest error.
pub(super) fn log2(error: f64) -> f64 {
    let error = if error.is_nan() { f64::MAX } else { error };
    error.clamp(LEAST_ERROR, f64::MAX).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_finite() {
        for error in [0.0, 1e-300, f64::INFINITY, f64::NAN] {
            assert!(log2(error).is_finite(), "{error}");
        }
        assert_eq!((log2(0.25), log2(0.0)), (-2.0, -52.0));
    }
}
