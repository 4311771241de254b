//! The prediction of every engine for a request.

use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::SimulatorExt;
use bellerophon_ckks::vectors::Vectors;
#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use std::{ops::RangeInclusive, sync::Arc};

use bellerophon_ckks::{
    self as ckks, Ciphertext, CkksOps, Interval, KeyLevels, Metadata,
    simulator::{SimCiphertext, Simulator},
};
use bellerophon_ring::Result;

use super::{
    cost_model::CostModel,
    goal::Goal,
    look_up::Tables,
    plan::{MapPlan, Prediction, PriceOrigin},
    prepared::{Prepared, Ready, ReadyEngine},
    request::{MapRequest, refused},
    subject::{MapServer, PlanSubject},
    vector::VectorProgram,
};
use crate::{
    bridge_choice::Bridge,
    corrected::{
        plan::{CorrectionPlan, Corrections},
        to_accuracy::KEYS as KEYS_OF_CORRECTIONS,
    },
    domain::{carried_domain, center, check_domain, range_within},
    engine::Engine,
    error,
    evaluator::LookupEvaluator,
    local_poly::Smooth,
};

/// The smallest error that is predicted: the precision of f64 around 1.
const LEAST_ERROR: f64 = 1.0 / (1u64 << 52) as f64;

/// A request with the operand and the keys for which it is planned.
pub struct Planner<'a, P> {
    pub(super) params: &'a P,
    /// The server with its keys; without one, any keys that the parameters allow.
    pub(super) server: Option<MapServer<'a>>,
    /// The vector to evaluate, beside a server.
    vector: Option<&'a Ciphertext>,
    pub(super) request: &'a MapRequest<'a>,
    pub(super) operand: Metadata,
    pub(super) domain: RangeInclusive<f64>,
    /// The part of the domain in which values can lie.
    pub(super) values: RangeInclusive<f64>,
    pub(super) interval: Interval,
    pub(super) threads: usize,
    /// The prices, if they are not the default ones.
    model: Option<CostModel>,
}

impl<'a, P: PlanSubject> Planner<'a, P> {
    /// For a fresh vector and any keys that the parameters allow.
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for a request without a domain.
    pub fn for_params(params: &'a P, request: &'a MapRequest<'a>) -> Result<Self> {
        let Some(domain) = request.domain.clone() else {
            return refused("a plan without a vector needs a domain: call `MapRequest::over`");
        };
        check_domain(&domain)?;
        // The defaults: full slots at the highest level for programs.
        let slots = params.slots().max_slots();
        let (count, level) =
            (request.count.unwrap_or(slots), request.level.unwrap_or(params.levels()));
        if count > slots {
            return Err(ckks::error::too_many_values(count, slots));
        }
        let interval = Interval::real(*domain.start(), *domain.end())?;
        let middle = 0.5 * (interval.lo() + interval.hi());
        let fresh =
            Simulator::new(params.slots()).encrypt(&vec![middle; count], interval, level)?;
        let values = domain.clone();
        Self::new(params, request, *fresh.metadata(), domain, values)
    }

    /// For a given vector and the keys of a server. [`run`](Self::run) evaluates them.
    ///
    /// # Errors
    /// [`ErrorKind::Domain`] for values that may lie outside the domain.
    pub fn for_vector(
        params: &'a P,
        server: MapServer<'a>,
        x: &'a Ciphertext,
        request: &'a MapRequest<'a>,
    ) -> Result<Self> {
        let domain = request.domain.clone().unwrap_or_else(|| carried_domain(x.range()));
        check_domain(&domain)?;
        let values = range_within(x.range(), &domain)?;
        let planner = Self::new(params, request, x.metadata(), domain, values)?;
        // The bridge of the request.
        let bridge = request.bridge;
        let lookups = server.lookups.map(|lookups| LookupEvaluator { bridge, ..lookups });
        let server = Some(MapServer { lookups, ..server });
        let threads = request.threads.unwrap_or_else(bellerophon_ring::threads).max(1);
        Ok(Self { server, vector: Some(x), threads, ..planner })
    }

    fn new(
        params: &'a P,
        request: &'a MapRequest<'a>,
        operand: Metadata,
        domain: RangeInclusive<f64>,
        values: RangeInclusive<f64>,
    ) -> Result<Self> {
        request.check_single()?;
        request.check_function(&domain)?;
        request.check_accuracy(&domain, &values)?;
        request.model.unwrap_or_default().check()?;
        let interval = Interval::real(*domain.start(), *domain.end())?;
        let threads = request.threads.unwrap_or(1).max(1);
        let (server, vector, model) = (None, None, request.model);
        Ok(Self {
            params,
            server,
            vector,
            request,
            operand,
            domain,
            values,
            interval,
            threads,
            model,
        })
    }

    /// The server and the vector that were planned for, if they are known.
    pub(super) fn bound(&self) -> Option<(MapServer<'a>, &'a Ciphertext)> {
        self.server.zip(self.vector)
    }

    /// An engine for later runs of the same request.
    pub(super) fn ready(&self, prepared: Option<Prepared>) -> Ready {
        let (slots, function) = (self.params.slots().clone(), self.request.name().to_string());
        let domain = self.domain.clone();
        let ready = |prepared| Arc::new(ReadyEngine { prepared, slots, function, domain });
        Ready(prepared.map(ready))
    }

    /// A plan without rows.
    pub(super) fn empty_plan(&self, log2_error: Option<f64>) -> MapPlan {
        MapPlan {
            function: self.request.name().into(),
            domain: [self.interval.lo(), self.interval.hi()],
            log2_error,
            count: self.operand.meta.len,
            level: self.operand.level,
            threads: self.threads,
            prices: match (self.request.model, self.server) {
                (Some(_), _) => PriceOrigin::Given,
                (None, Some(_)) => PriceOrigin::Machine,
                (None, None) => PriceOrigin::Server,
            },
            rows: vec![],
            chosen: None,
            faster: None,
            ready: Ready::default(),
        }
    }

    /// The prices of the request; by default those of this machine where its keys are planned for.
    fn model(&self) -> CostModel {
        self.model.unwrap_or_else(|| match self.server {
            Some(_) => CostModel::this_machine(),
            None => CostModel::SERVER,
        })
    }

    /// The same request for any keys that the parameters allow.
    pub(super) fn with_any_keys(&self) -> Self {
        let (domain, values) = (self.domain.clone(), self.values.clone());
        Self { server: None, model: Some(self.model()), domain, values, ..*self }
    }

    /// Prepares an engine and predicts its cost and error.
    pub(super) fn predict(&self, goal: &Goal, engine: Engine) -> Result<(Prediction, Prepared)> {
        match engine {
            Engine::Poly => {
                if !self.multiplies() {
                    return Err(error::missing_keys("multiply"));
                }
                // Automatic bootstrapping allows polynomials of any number of levels.
                let simulator = Simulator::new(self.params.slots());
                let bootstraps =
                    self.server.is_some_and(|server| server.arithmetic.refreshes().is_some());
                let most = if bootstraps { usize::MAX } else { self.operand.level };
                let program = VectorProgram::polynomial(goal, most)?;
                let simulator = match bootstraps {
                    true => {
                        let bootstrapper = self.params.bootstrapper()?.clone();
                        simulator.with_bootstrapping(bootstrapper)?.with_auto_bootstrap()?
                    }
                    false => simulator,
                };
                // Error, levels and cost come from a run on the simulator.
                self.vector(goal, engine, program, simulator)
            }
            Engine::Fbt => {
                // The series is prepared for the bootstrapper of the parameters.
                let bootstrapper = self.params.functional()?.clone();
                if self.server.is_some_and(|server| !server.functional) {
                    return Err(error::missing_keys("functional"));
                }
                let program = VectorProgram::series(&bootstrapper, goal)?;
                let simulator =
                    Simulator::new(self.params.slots()).with_functional(bootstrapper)?;
                self.vector(goal, engine, program, simulator)
            }
            Engine::Rgsw | Engine::Ntru => Ok((self.table(engine)?.1, Prepared::Table)),
            Engine::Corrected => self.corrected(goal),
        }
    }

    /// Whether the server has a key for products. Where a table would serve, it must serve the
    /// level of the operand: nothing is prepared in vain for the keys of tables alone, which
    /// include one for low levels.
    fn multiplies(&self) -> bool {
        self.server.is_none_or(|MapServer { arithmetic, .. }| {
            let products = KeyLevels::default().multiply(self.operand.level);
            let table = self.request.takes_any_table() && self.params.lookups().is_ok();
            let any_level = arithmetic.refreshes().is_some() || !table;
            let keys = arithmetic.keys();
            keys.relinearization_keys().is_some() && (any_level || keys.serves(&products))
        })
    }

    /// The operand on a simulator: its metadata, with values in the middle of the domain.
    fn operand(&self, simulator: &Simulator) -> Result<SimCiphertext> {
        let Metadata { level, meta } = self.operand;
        let middle = 0.5 * (self.interval.lo() + self.interval.hi());
        let x = simulator.encrypt(&vec![middle; meta.len], self.interval, level)?;
        let repeats = meta.slots > x.metadata().meta.slots;
        let x = if repeats { simulator.repeated(x, meta.slots)? } else { x };
        Ok(simulator.with_metadata(x, meta))
    }

    /// The prediction of a program on whole vectors, from a run on the simulator.
    fn vector(
        &self,
        goal: &Goal,
        engine: Engine,
        program: VectorProgram,
        simulator: Simulator,
    ) -> Result<(Prediction, Prepared)> {
        // Step 1: the metadata of the result, and the noise of its worst value.
        let y = program.apply(&simulator, &self.operand(&simulator)?, &self.interval)?;
        let (result, before) = (*y.metadata(), self.operand.level);
        let noise = program.noise(&result);
        // Step 2: the counted work, and the levels that the operand must have. A relinearization
        // key of look-ups may lie below the levels of a polynomial.
        let report = simulator.report();
        if let Some(server) = self.server
            && !server.arithmetic.keys().serves(&report.keys)
        {
            let need = if engine == Engine::Fbt { "functional" } else { "multiply" };
            return Err(error::missing_keys(need));
        }
        let bootstrapped = report.bootstraps + report.functional > 0;
        let levels = match (report.functional, report.bootstraps) {
            (0, 0) => before - result.level,
            (0, _) => self.params.bootstrapper()?.input_level(),
            _ => self.params.functional()?.input_level(),
        };
        let prediction = Prediction {
            seconds: self.model().vectors(&report.work, self.threads),
            log2_error: log2(program.error() + noise),
            certified: goal.function.is_certified(),
            levels,
            output_level: result.level,
            key_bytes: self.params.key_bytes(engine, self.request.bridge)?,
            bootstrapped,
            detail: program.detail(),
            order: None,
            accuracy: None,
        };
        Ok((prediction, Prepared::Vector(Box::new(program))))
    }

    /// A simulator with the operand of tables on it: bootstrapped if its levels do not suffice and
    /// the server bootstraps automatically, as it does for operands that are not flooded.
    fn entering(&self) -> Result<(Simulator, SimCiphertext)> {
        let simulator = Simulator::new(self.params.slots());
        let needed = self.params.lookups()?.levels();
        let bootstraps = self.server.is_some_and(|server| server.arithmetic.refreshes().is_some());
        if self.operand.level >= needed || !bootstraps || self.request.flooding.is_some() {
            let x = self.operand(&simulator)?;
            return Ok((simulator, x));
        }
        let simulator = simulator.with_bootstrapping(self.params.bootstrapper()?.clone())?;
        let x = simulator.bootstrap(&self.operand(&simulator)?)?;
        Ok((simulator, x))
    }

    /// The metadata of the operand of tables after the middle of the domain was subtracted.
    pub(super) fn shifted(&self) -> Result<Metadata> {
        let (simulator, x) = self.entering()?;
        Ok(*simulator.add_scalar(&x, -center(&self.domain))?.metadata())
    }

    /// The tables on an engine, from the keys of the server or from the parameters.
    pub(super) fn tables(&self, engine: Engine) -> Result<Tables<'a>> {
        let lookups = self.params.lookups()?;
        // With a server, the engine and the bridge of its keys.
        let (lwe_params, bridge) = match self.server {
            None => (lookups.on(engine)?, lookups.bridge(self.request.bridge)?),
            Some(server) => {
                let server = server.with_lookups()?;
                let tables = server.table_keys()?;
                if Engine::of(&tables.lwe_params) != engine {
                    return Err(error::missing_keys("map_with"));
                }
                (&tables.lwe_params, server.crossing(self.operand.meta.len)?.0)
            }
        };
        Ok(Tables { lookups, lwe_params, bridge })
    }

    /// Refuses an operand at a level that programs do not have, or too low for tables.
    pub(super) fn levels_for_tables(&self) -> Result<()> {
        let (wanted, highest) = (self.operand.level, self.params.levels());
        if self.server.is_none() && wanted > highest {
            return Err(ckks::error::level_too_high(wanted, highest));
        }
        let (needed, left) = (self.params.lookups()?.levels(), self.entering()?.1.metadata().level);
        match left >= needed {
            true => Ok(()),
            false => Err(ckks::error::out_of_levels(needed, left)),
        }
    }

    /// The prediction of a plain table, or of a corrected one.
    pub(super) fn prediction(
        &self,
        tables: &Tables<'_>,
        engine: Engine,
        error: f64,
        correction: Option<&CorrectionPlan>,
    ) -> Result<Prediction> {
        let Tables { lookups, lwe_params, .. } = tables;
        let (count, degree) = (self.operand.meta.len, lwe_params.spec().ring_degree);
        let (order, levels) = correction.map_or((0, 0), |plan| (plan.order(), plan.levels()));
        // A bootstrap of the operand comes first where levels are missing.
        let entering = self.entering()?.0.report();
        let (before, needed) = match entering.bootstraps {
            0 => (0.0, lookups.levels()),
            _ => {
                let input = self.params.bootstrapper()?.input_level();
                (self.model().vectors(&entering.work, self.threads), input)
            }
        };
        // A correction takes levels of the result, not of the operand.
        Ok(Prediction {
            seconds: before + tables.seconds(&self.model(), count, order, self.threads)?,
            log2_error: log2(error),
            certified: correction.is_none() && self.request.is_certified_by_cells(),
            levels: needed,
            output_level: lookups.level_after().saturating_sub(levels),
            key_bytes: self.params.key_bytes(engine, self.request.bridge)?,
            bootstrapped: true,
            detail: match correction {
                None => format!("table of degree {degree}"),
                Some(_) => format!("tables of degree {degree}, correction of order {order}"),
            },
            order: Some(order),
            accuracy: correction.map(|plan| plan.accuracy().clone()),
        })
    }

    /// The tables of corrected look-ups, from the keys of the server or from the parameters, with
    /// the blind rotation of an engine.
    pub(super) fn corrected_tables(&self, engine: Engine) -> Result<Tables<'a>> {
        let lookups = self.params.lookups()?;
        self.request.check_corrected()?;
        self.levels_for_tables()?;
        let lwe_params = match self.server {
            None => lookups.corrected(engine)?,
            Some(server) => &server.with_lookups()?.table_keys()?.lwe_params,
        };
        if !lookups.corrects(lwe_params) {
            return Err(error::missing_keys(KEYS_OF_CORRECTIONS));
        }
        Ok(Tables { lookups, lwe_params, bridge: lookups.bridge(Some(Bridge::Ring))? })
    }

    /// The corrections of the operand by given tables.
    pub(super) fn corrections(&self, tables: &Tables<'a>) -> Result<Corrections<'a>> {
        let Metadata { level, meta } = &self.operand;
        let Tables { lookups, lwe_params, .. } = tables;
        Corrections::new(lookups, lwe_params, &self.domain, &meta.bounds.values, *level)
    }

    /// The error that the noise of the operand causes in its worst value.
    pub(super) fn own_error(
        &self,
        corrections: &Corrections<'_>,
        f: impl Fn(f64) -> f64,
    ) -> Result<f64> {
        let shifted = self.shifted()?;
        let grid = corrections.map().grid(&shifted)?.with_error_of(&shifted);
        let own = grid.operand_error(corrections.range(), f);
        Ok(own.worst(shifted.meta.slots, MapPlan::LOG2_FAILURE))
    }

    /// The prediction of a corrected look-up of the smallest order that meets the request, or else
    /// of the best order.
    fn corrected(&self, goal: &Goal) -> Result<(Prediction, Prepared)> {
        // Step 1: the tables, and the keys that they need.
        let tables = self.corrected_tables(Engine::Rgsw)?;
        let engine = Engine::of(tables.lwe_params);
        if engine == Engine::Ntru && !goal.engines.contains(&Engine::Ntru) {
            return Err(error::missing_keys("map_with"));
        }
        let function = &goal.function;
        if let Some(place) = function.jump(self.interval.lo(), self.interval.hi()) {
            let what = function.name().to_string();
            let reason = format!("the function jumps at {place}, and no correction helps there");
            return Err(bellerophon_circuits::error::approximation(what, reason));
        }
        // Step 2: the error that the noise of the operand causes, beside that of exact values.
        let corrections = self.corrections(&tables)?;
        let value = corrections.inside(|x| self.request.value(x));
        let wanted = goal.log2_error.exp2();
        let own = self.own_error(&corrections, &value)?;
        // Step 3: rising orders, until one meets the request.
        let smooth = Smooth::new(&value, &self.request.derivatives);
        let mut best: Option<(CorrectionPlan, f64)> = None;
        for order in 0..=smooth.highest_order() {
            let plan = match corrections.of_order(&smooth, order) {
                Ok((plan, _)) => plan,
                // Keep the best plan so far: its error goes into the refusal.
                Err(error) if best.is_none() => return Err(error),
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
        let prediction = self.prediction(&tables, Engine::Corrected, error, Some(&plan))?;
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
