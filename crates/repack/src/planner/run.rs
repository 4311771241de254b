//! The evaluation of plans.

use std::time::Instant;

use bellerophon_ckks::Ciphertext;
use serde::{Deserialize, Serialize};

use super::{
    engine::Engine,
    predict::{Planner, Prepared, log2},
    request::MapRequest,
    subject::{MapServer, PlanSubject},
    table::Prediction,
};
use crate::{During, ErrorKind, Result};

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

impl<P: PlanSubject> Planner<'_, P> {
    /// Applies the function of the request to every value of the vector that was planned for
    /// ([`for_vector`](Self::for_vector)), by the fastest engine that qualifies. Reports the
    /// prediction and the measured outcome.
    ///
    /// # Errors
    /// [`ErrorKind::MissingKeys`] for a plan without a server; [`ErrorKind::NoPlan`] if no engine
    /// qualifies, with the reason of each; errors of the engine.
    pub fn run(&self) -> Result<(Ciphertext, MapReport)> {
        let (op, need) = ("map", "map");
        let (server, x) = self.bound().ok_or(ErrorKind::MissingKeys { need }).during(op)?;
        // Step 1: the plan, and the chosen engine with its prepared polynomial, series or table.
        let request = self.request();
        let (plan, candidates) = self.candidates();
        let chosen = candidates
            .into_iter()
            .filter(|candidate| Some(candidate.row.engine) == plan.chosen)
            .find_map(|candidate| Some((candidate.row.prediction?, candidate.prepared?)));
        let (Some(engine), Some((predicted, prepared))) = (plan.chosen, chosen) else {
            let (function, refusals) = (plan.function.clone(), plan.refusals());
            return Err(ErrorKind::NoPlan { function, log2_error: request.log2_error, refusals }
                .during("map"));
        };
        // Step 2: the evaluation. The time goes into the report and decides nothing.
        let begin = Instant::now();
        let result = prepared.run(&server, x, request)?;
        let seconds = begin.elapsed().as_secs_f64();
        let (log2_noise, output_level) = (log2(result.noise()), result.level());
        Ok((result, MapReport { engine, predicted, seconds, log2_noise, output_level }))
    }
}

impl Prepared {
    /// Evaluates a prepared engine.
    fn run(
        &self,
        server: &MapServer<'_>,
        x: &Ciphertext,
        request: &MapRequest,
    ) -> Result<Ciphertext> {
        let (domain, function) = (request.domain.clone(), &request.function);
        let (lo, hi) = (*domain.start(), *domain.end());
        let value = |x: f64| function.value(x);
        match self {
            Self::Vector(program) => {
                let domain = bellerophon_ckks::Interval::real(lo, hi)?;
                Ok(program.apply(server.arithmetic, x, &domain)?)
            }
            Self::Table => {
                server.with_lookups().during("map")?.map(x, domain, &value, None).during("map")
            }
            Self::Corrected { order } => server
                .with_lookups()
                .during("map")?
                .map_of_order(x, &domain, &value, *order)
                .during("map_to"),
        }
    }
}
