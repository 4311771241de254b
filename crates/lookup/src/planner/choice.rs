//! The choice among the engines for which keys exist.

use bellerophon_ring::{Result, decimal};

use super::{
    goal::Goal,
    plan::{EXCLUDED, EngineRow, FasterEngine, MapPlan, Prediction},
    predict::Planner,
    prepared::Prepared,
    subject::PlanSubject,
};
use crate::engine::Engine;

/// Why a corrected table is refused where a plain one serves whatever its error.
const SLOWER: &str = "no accuracy is requested, and a plain table is faster";

/// An engine of a plan, ready to run if it qualifies.
pub(super) struct Candidate {
    row: EngineRow,
    prepared: Option<Prepared>,
}

/// The engines that were compared.
pub(super) struct Choice {
    pub(super) plan: MapPlan,
    /// The chosen engine, ready to run.
    pub(super) prepared: Option<Prepared>,
    /// What engines other than plain tables must reach; none if the function is not finite.
    pub(super) goal: Option<Goal>,
}

impl Candidate {
    fn refused(engine: Engine, prediction: Option<Prediction>, reason: String) -> Self {
        Self { row: EngineRow { engine, prediction, refusal: Some(reason) }, prepared: None }
    }

    fn seconds(&self) -> f64 {
        self.row.prediction.as_ref().map_or(f64::INFINITY, |prediction| prediction.seconds)
    }
}

impl<P: PlanSubject> Planner<'_, P> {
    /// Predicts all engines, and takes the fastest one that qualifies. Where no accuracy is stated,
    /// a plain table qualifies whatever its error, and other engines qualify if their error is at
    /// most that of the table and at most `2^-8` of the spread of the function.
    ///
    /// # Errors
    /// Where neither accuracy nor engines are stated and no engine qualifies, the error of the
    /// table.
    pub(super) fn choice(&self) -> Result<Choice> {
        // Step 1: plain tables, and the error that the other engines must reach.
        let tables = match self.request.takes_any_table() && !self.replaces_tables() {
            true => self.plain_tables(),
            false => Ok(vec![]),
        };
        let (mut tables, missing) = match tables {
            Ok(tables) => (tables, None),
            Err(error) => (vec![], Some(error)),
        };
        let reached = tables.iter().filter_map(|table| table.row.prediction.as_ref());
        let reached = reached.map(|prediction| prediction.log2_error);
        let goal = self.request.goal(&self.domain, &self.values).map(|goal| {
            let log2_error = reached.fold(goal.log2_error, f64::min);
            Goal { log2_error, ..goal }
        });
        // Step 2: every engine gets a row. A correction adds work to a plain table.
        let plain = tables.iter().any(|table| table.prepared.is_some());
        let corrects =
            |goal: &Goal, engine| engine == Engine::Corrected && goal.engines.contains(&engine);
        let candidate = |engine| {
            let place = tables.iter().position(|table| table.row.engine == engine);
            match (place, &goal) {
                (Some(place), _) => tables.swap_remove(place),
                (None, Ok(goal)) if plain && corrects(goal, engine) => {
                    Candidate::refused(engine, None, SLOWER.into())
                }
                (None, Ok(goal)) => self.candidate(goal, engine),
                (None, Err(error)) => Candidate::refused(engine, None, error.to_string()),
            }
        };
        let candidates = Engine::ALL.map(candidate);
        let rows = candidates.iter().map(|candidate| candidate.row.clone()).collect();
        // Step 3: the fastest one. An engine that does not qualify has nothing prepared.
        let qualified = candidates.into_iter().filter(|candidate| candidate.prepared.is_some());
        let fastest = qualified.min_by(|x, y| x.seconds().total_cmp(&y.seconds()));
        let goal = match (goal, missing) {
            (_, Some(error)) if fastest.is_none() && self.request.engines.is_none() => {
                return Err(error);
            }
            (Err(error), _) if fastest.is_none() => return Err(error),
            (goal, _) => goal.ok(),
        };
        let chosen = fastest.as_ref().map(|candidate| candidate.row.engine);
        let log2_error = goal.as_ref().map(|goal| goal.log2_error);
        let plan = MapPlan { rows, chosen, ..self.empty_plan(log2_error) };
        let prepared = fastest.and_then(|candidate| candidate.prepared);
        Ok(Choice { plan, prepared, goal })
    }

    /// The plain tables of the keys, or, for any keys, those that the request allows.
    fn plain_tables(&self) -> Result<Vec<Candidate>> {
        let mut engines = vec![self.table_engine()?];
        if self.server.is_none() && self.request.allows(Engine::Ntru) {
            engines.push(Engine::Ntru);
        }
        let (mut tables, mut missing) = (vec![], None);
        let any = self.request.engines.is_none();
        for table in engines.into_iter().map(|engine| self.table(engine)) {
            match table {
                Ok((engine, prediction)) if any || self.request.allows(engine) => {
                    let any_error = f64::INFINITY;
                    tables.push(self.judged(engine, prediction, Prepared::Table, any_error));
                }
                Ok(_) => {}
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        // The first error, if there is no table.
        match missing.filter(|_| tables.is_empty()) {
            Some(error) => Err(error),
            None => Ok(tables),
        }
    }

    /// Adds the predictions of engines whose keys are missing, and the fastest of them.
    pub(super) fn with_missing(&self, goal: &Goal, plan: MapPlan) -> MapPlan {
        let any = self.with_any_keys();
        let (mut rows, mut qualified) = (plan.rows.clone(), vec![]);
        for row in rows.iter_mut().filter(|row| row.prediction.is_none()) {
            // The keys are all that a plan without a server does without.
            let with_keys = any.candidate(goal, row.engine).row;
            row.prediction = with_keys.prediction.clone();
            qualified.extend(Some(with_keys).filter(|row| row.refusal.is_none()));
        }
        let faster = FasterEngine::of(&plan, &qualified);
        MapPlan { rows, faster, ..plan }
    }

    /// Predicts one engine, and checks that it is allowed and meets the request.
    fn candidate(&self, goal: &Goal, engine: Engine) -> Candidate {
        if !goal.engines.contains(&engine) {
            let [other, ntru] = EXCLUDED;
            let reason = if engine == Engine::Ntru { ntru } else { other };
            return Candidate::refused(engine, None, reason.into());
        }
        // An error of the engine is the reason of its refusal.
        match self.predict(goal, engine) {
            Ok((prediction, prepared)) => {
                self.judged(engine, prediction, prepared, goal.log2_error)
            }
            Err(error) => Candidate::refused(engine, None, error.message().into()),
        }
    }

    /// Checks that a prediction has an error of at most `2^wanted` and leaves the requested level.
    /// One that does not still goes into the plan, with its refusal.
    fn judged(
        &self,
        engine: Engine,
        prediction: Prediction,
        prepared: Prepared,
        wanted: f64,
    ) -> Candidate {
        let (reached, level, leaving) =
            (prediction.log2_error, prediction.output_level, self.request.leaving);
        if reached > wanted {
            let reason = format!(
                "reaches {}, needed is {}: request less, or narrow the domain",
                decimal(reached.exp2()),
                decimal(wanted.exp2())
            );
            return Candidate::refused(engine, Some(prediction), reason);
        }
        if level < leaving {
            let reason = format!(
                "leaves the result at level {level}, needed is {leaving}: take a longer modulus \
                 chain, or an operand at a higher level"
            );
            return Candidate::refused(engine, Some(prediction), reason);
        }
        let row = EngineRow { engine, prediction: Some(prediction), refusal: None };
        Candidate { row, prepared: Some(prepared) }
    }
}
