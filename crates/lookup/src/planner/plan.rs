//! The plan: a table of the engines.

use std::fmt;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::{cost_model::CostModel, request::MapRequest};
use super::{goal, prepared::Ready};
use crate::{engine::Engine, error_distribution::ErrorDistribution};

/// Why an engine that the request does not allow is refused: another one, and NTRU.
pub(super) const EXCLUDED: [&str; 2] =
    ["not among the allowed engines", "allowed only if it is named (`MapRequest::allow`)"];

/// The predicted cost and error of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Time of one application by the cost model, without one-time preparation (matrices, tables of
    /// a first call).
    pub seconds: f64,
    /// `log2` of a bound on the absolute error of the worst value at any point of its range,
    /// against the function of the exact value. Up to three causes can break it,
    /// each with probability `2^LOG2_FAILURE` ([`MapPlan::LOG2_FAILURE`]): the noise of the result,
    /// the error of the operand, and the index error of a table. It is finite, and at least -52.
    pub log2_error: f64,
    /// Whether the approximation error of the function is certified; otherwise it is measured at
    /// thousands of points, and `log2_error` holds for those.
    pub certified: bool,
    /// Levels that the operand must have.
    pub levels: usize,
    /// The level of the result.
    pub output_level: usize,
    /// Bytes of its keys in wire form.
    pub key_bytes: usize,
    /// Whether the engine restores levels, so that `output_level` may exceed the level of the
    /// operand.
    #[serde(rename = "refreshed")]
    pub bootstrapped: bool,
    /// A description of what will be evaluated.
    pub detail: String,
    /// The degree of the correction of a look-up; 0 is a plain table. None for other engines. Not
    /// part of the serialised form.
    #[serde(skip)]
    pub order: Option<usize>,
    /// The distribution of the error of a look-up for values uniform in the domain. None for other
    /// engines. Not part of the serialised form.
    #[serde(skip)]
    pub accuracy: Option<ErrorDistribution>,
}

/// One engine of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineRow {
    /// The engine.
    pub engine: Engine,
    /// Its predicted cost and error, if they can be predicted.
    pub prediction: Option<Prediction>,
    /// The reason if it does not qualify: what is missing, or the error that it reaches. Where keys
    /// are missing, the prediction is that with the keys.
    pub refusal: Option<String>,
}

/// Whose prices compare the engines of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PriceOrigin {
    /// [`CostModel::SERVER`], also in plans that name none.
    #[default]
    Server,
    /// [`CostModel::this_machine`].
    Machine,
    /// [`MapRequest::prices`].
    Given,
}

impl fmt::Display for PriceOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "the server model (`CostModel::SERVER`)",
            Self::Machine => "this machine",
            Self::Given => "the given model",
        })
    }
}

/// An engine that would be much faster than the chosen one, and whose keys are missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FasterEngine {
    /// The engine; `Needs::map_with` asks for its keys.
    pub engine: Engine,
    /// The time of the chosen engine, in that of this one.
    pub factor: f64,
}

impl FasterEngine {
    /// The smallest factor that a plan states.
    pub const LEAST: f64 = 10.0;

    /// The fastest of some engines that qualify, if the plan chose a much slower one.
    pub(crate) fn of(plan: &MapPlan, rows: &[EngineRow]) -> Option<Self> {
        let chosen = plan.prediction()?.seconds;
        let qualified = rows.iter().filter(|row| row.refusal.is_none());
        let factors = qualified.filter_map(|row| {
            Some(Self { engine: row.engine, factor: chosen / row.prediction.as_ref()?.seconds })
        });
        let most = factors.max_by(|x, y| x.factor.total_cmp(&y.factor));
        most.filter(|found| found.factor >= Self::LEAST)
    }
}

/// The predicted cost and error of every engine for one request, and the fastest engine that
/// qualifies. Where only tables can serve the request, it has the row of these tables only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapPlan {
    /// The function.
    pub function: String,
    /// The domain.
    pub domain: [f64; 2],
    /// `log2` of the requested error. If none is requested, that of the error that engines other
    /// than plain tables must reach; none in a plan of tables alone.
    pub log2_error: Option<f64>,
    /// Number of values.
    pub count: usize,
    /// The level of the operand.
    pub level: usize,
    /// The number of threads assumed.
    pub threads: usize,
    /// Whose prices compare the engines.
    #[serde(default)]
    pub prices: PriceOrigin,
    /// All engines, allowed or not; one row where only tables can serve the request.
    pub rows: Vec<EngineRow>,
    /// The fastest engine that qualifies.
    pub chosen: Option<Engine>,
    /// An engine that would be faster, if the chosen one takes [`FasterEngine::LEAST`] times as
    /// long. Only in plans for the vector of a server.
    pub faster: Option<FasterEngine>,
    /// The chosen engine, ready to run.
    #[serde(skip)]
    pub(crate) ready: Ready,
}

impl MapPlan {
    /// `log2` of the probability, for each cause of errors, that some value of the vector exceeds
    /// its predicted bound.
    pub const LOG2_FAILURE: f64 = goal::LOG2_FAILURE;

    /// The row of an engine.
    pub fn row(&self, engine: Engine) -> Option<&EngineRow> {
        self.rows.iter().find(|row| row.engine == engine)
    }

    /// The prediction of the chosen engine.
    pub fn prediction(&self) -> Option<&Prediction> {
        self.row(self.chosen?)?.prediction.as_ref()
    }

    /// The predicted distribution of the error of the chosen look-up
    /// ([`Prediction::accuracy`]).
    pub fn accuracy(&self) -> Option<&ErrorDistribution> {
        self.prediction()?.accuracy.as_ref()
    }

    /// The refusals of the allowed engines, or of all if none is allowed, each after a line break.
    pub(crate) fn refusals(&self) -> String {
        let excluded =
            |row: &EngineRow| row.refusal.as_deref().is_some_and(|why| EXCLUDED.contains(&why));
        let none = self.rows.iter().all(excluded);
        let rows = self.rows.iter().filter(|row| none || !excluded(row));
        let told = rows.filter_map(|row| Some((row.engine, row.refusal.as_ref()?)));
        told.map(|(engine, reason)| format!("\n{engine}: {reason}")).collect()
    }
}

impl fmt::Display for MapPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, domain: [lo, hi], log2_error, count, level, threads, prices, .. } =
            self;
        // Step 1: the request.
        let accuracy = log2_error.map_or(String::new(), |error| format!(" to 2^{error:.1}"));
        writeln!(
            f,
            "{function} on [{lo}, {hi}]{accuracy}: {count} values at level {level}, {threads} \
             thread(s), prices of {prices}"
        )?;
        // Step 2: the header of the table, with the widths of its rows.
        writeln!(
            f,
            "  {:10} {:>10} {:>10} {:>9} {:>7} {:>6} {:>10}",
            "engine", "seconds", "error", "proof", "levels", "after", "keys, MB"
        )?;
        // Step 3: the chosen engine is marked; a row without a prediction shows only its refusal.
        for row in &self.rows {
            let mark = if self.chosen == Some(row.engine) { '>' } else { ' ' };
            write!(f, "{mark} {:10}", row.engine)?;
            if let Some(p) = &row.prediction {
                write!(
                    f,
                    " {:>10.3} {:>10} {:>9} {:>7} {:>6} {:>10.1}  {}",
                    p.seconds,
                    format!("2^{:.1}", p.log2_error),
                    if p.certified { "certified" } else { "measured" },
                    p.levels,
                    p.output_level,
                    p.key_bytes as f64 / 1e6,
                    p.detail
                )?;
            }
            match &row.refusal {
                Some(reason) => writeln!(f, "  ({reason})")?,
                None => writeln!(f)?,
            }
        }
        // Step 4: what another engine would save.
        if let Some(FasterEngine { engine, factor }) = self.faster {
            writeln!(
                f,
                "  {engine} would take 1/{factor:.0} of the time, with the keys of \
                 `Needs::map_with([Engine::{engine:?}])`"
            )?;
        }
        Ok(())
    }
}
