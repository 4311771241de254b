//! Plans of requests that only tables can serve, and the prediction of a plain table.

use bellerophon_ring::Result;

use super::{
    look_up::Tables,
    plan::{EngineRow, MapPlan, Prediction},
    predict::Planner,
    prepared::Prepared,
    request::Wanted,
    subject::PlanSubject,
};
use crate::{
    domain::center, engine::Engine, error, flooding::deviation as flooding_deviation,
    local_poly::Smooth, map::Map,
};

impl<P: PlanSubject> Planner<'_, P> {
    /// The plan of tables: one table for each value, corrected as far as the requested accuracy
    /// needs it.
    pub(super) fn plan_of_tables(&self) -> Result<MapPlan> {
        self.levels_for_tables()?;
        let engine = self.table_engine()?;
        // A plain table, whatever its error.
        let Wanted::Typical(accuracy) = self.request.accuracy else {
            let (of, prediction) = self.table(engine)?;
            let row = EngineRow { engine: of, prediction: Some(prediction), refusal: None };
            return Ok(self.plan_of(row, None, Prepared::Table));
        };
        // Step 1: the smallest correction that reaches the accuracy.
        let tables = self.corrected_tables(engine)?;
        let corrections = self.corrections(&tables)?;
        let inside = |x: f64| self.inside(x);
        let smooth = Smooth::new(&inside, &self.request.derivatives);
        let (plan, _) = corrections.to_accuracy(&smooth, accuracy)?;
        // Step 2: its error, and that of the operand.
        let error = plan.accuracy().worst_abs() + self.own_error(&corrections, inside)?;
        let of = match Engine::of(tables.lwe_params) {
            Engine::Rgsw => Engine::Corrected,
            ntru => ntru,
        };
        let prediction = self.prediction(&tables, of, error, Some(&plan))?;
        let log2_error = accuracy.error()?.log2();
        let prepared = Prepared::Corrected { order: plan.order() };
        let row = EngineRow { engine: of, prediction: Some(prediction), refusal: None };
        Ok(self.plan_of(row, Some(log2_error), prepared))
    }

    /// The value of the function within the part of the domain in which values can lie.
    fn inside(&self, x: f64) -> f64 {
        self.request.value(x.clamp(*self.values.start(), *self.values.end()))
    }

    /// The prediction of a plain table, whose index is off by more if its values are flooded, with
    /// the distribution of its error.
    pub(super) fn table(&self, on: Engine) -> Result<(Engine, Prediction)> {
        // Step 1: the layout of the domain in the table.
        let tables = self.tables(on)?;
        self.levels_for_tables()?;
        let Tables { lookups, lwe_params, bridge } = tables;
        let deviation = match &self.request.flooding {
            None => None,
            Some((bound, terms)) => {
                let s2c = lookups.flooded_to_coefficients()?;
                Some(flooding_deviation(terms, bound, s2c, center(&self.domain))?)
            }
        };
        let map = Map::planned(lookups, lwe_params, bridge, &self.domain, deviation)?;
        // Step 2: the error: the change of the function within the index error.
        let accuracy = map.accuracy(&self.values, |x| self.inside(x))?;
        let error = tables.error(&map, self.request, &self.values, &self.shifted()?)?;
        let of = Engine::of(lwe_params);
        let prediction = self.prediction(&tables, of, error, None)?;
        Ok((of, Prediction { accuracy: Some(accuracy), ..prediction }))
    }

    /// A plan of one engine.
    fn plan_of(&self, row: EngineRow, log2_error: Option<f64>, prepared: Prepared) -> MapPlan {
        let (chosen, ready) = (Some(row.engine), self.ready(Some(prepared)));
        MapPlan { rows: vec![row], chosen, ready, ..self.empty_plan(log2_error) }
    }

    /// The engine of the tables: that of the keys of a server, if the request allows it, or else
    /// the one that the request names.
    pub(super) fn table_engine(&self) -> Result<Engine> {
        let rgsw = self.request.allows(Engine::Rgsw) || self.request.allows(Engine::Corrected);
        let Some(server) = self.server else {
            return Ok(if rgsw { Engine::Rgsw } else { Engine::Ntru });
        };
        self.params.lookups()?;
        let found = Engine::of(&server.with_lookups()?.table_keys()?.lwe_params);
        let allowed = match found {
            Engine::Ntru => self.request.allows(Engine::Ntru),
            _ => rgsw,
        };
        // Who made keys of NTRU has named it, unless the request names others.
        match allowed || self.request.engines.is_none() {
            true => Ok(found),
            false => Err(error::missing_keys("map_with")),
        }
    }
}
