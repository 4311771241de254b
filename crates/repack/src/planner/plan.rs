//! The plan: a table of the engines.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{engine::Engine, prepared::Ready};
use crate::lookup::ErrorDistribution;

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
    /// thousands of points.
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
    /// The distribution of the error of a look-up for values uniform in the domain. Computed for
    /// corrected look-ups, and wherever the planner does not compare engines. Not part of the
    /// serialised form.
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
    /// The reason if it does not qualify: what is missing, or the error that it reaches.
    pub refusal: Option<String>,
}

/// The predicted cost and error of every engine for one request, and the fastest engine that
/// qualifies. Where only tables can serve the request, it has the row of these tables only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MapPlan {
    /// The function.
    pub function: String,
    /// The domain.
    pub domain: [f64; 2],
    /// `log2` of the requested error; none if the accuracy of a plain table was requested.
    pub log2_error: Option<f64>,
    /// Number of values.
    pub count: usize,
    /// The level of the operand.
    pub level: usize,
    /// The number of threads assumed.
    pub threads: usize,
    /// All engines, allowed or not; one row where only tables can serve the request.
    pub rows: Vec<EngineRow>,
    /// The fastest engine that qualifies.
    pub chosen: Option<Engine>,
    /// The chosen engine, ready to run.
    #[serde(skip)]
    pub(crate) ready: Ready,
}

impl MapPlan {
    /// `log2` of the probability, for each cause of errors, that some value of the vector exceeds
    /// its predicted bound.
    pub const LOG2_FAILURE: f64 = -20.0;

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

    /// The refusals of all engines in one line.
    pub(crate) fn refusals(&self) -> String {
        self.refused().map(|(_, reason)| reason).collect::<Vec<_>>().join("; ")
    }

    /// The refusals of two engines: of the one with the smallest error, or of the first one without
    /// a prediction, and of the last one that lacks keys, levels or parameters. Look-ups come last
    /// and lack the least. Engines that the request excludes do not count.
    pub(crate) fn nearest(&self) -> [Option<String>; 2] {
        let error = |row: &EngineRow| row.prediction.as_ref().map(|p| p.log2_error);
        let predicted = self.refused().filter_map(|(row, reason)| Some((error(row)?, reason)));
        let best = predicted.min_by(|(one, _), (other, _)| one.total_cmp(other));
        let lacks = |row: &EngineRow| {
            let excluded = row.refusal.as_deref().is_some_and(|why| EXCLUDED.contains(&why));
            row.prediction.is_none() && !excluded
        };
        let mut lacking = self.refused().filter(|(row, _)| lacks(row)).map(|(_, reason)| reason);
        let first = best.map(|(_, reason)| reason).or_else(|| lacking.next());
        [first, lacking.last()]
    }

    /// The refused engines, each with its name and its refusal.
    fn refused(&self) -> impl Iterator<Item = (&EngineRow, String)> {
        let rows = self.rows.iter();
        rows.filter_map(|row| Some((row, format!("{}: {}", row.engine, row.refusal.as_ref()?))))
    }
}

impl fmt::Display for MapPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, domain: [lo, hi], log2_error, count, level, threads, .. } = self;
        // Step 1: the request.
        let accuracy = log2_error.map_or(String::new(), |error| format!(" to 2^{error}"));
        writeln!(
            f,
            "{function} on [{lo}, {hi}]{accuracy}: {count} values at level {level}, {threads} \
             thread(s)"
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
        Ok(())
    }
}
