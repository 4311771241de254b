//! Questions and answers: for every function, number of values and number of bits, the chosen pair
//! of preset and engine, and the fastest one.

use std::collections::BTreeMap;
use std::fmt;

use bellerophon::Engine;
use serde::Serialize;

use super::cells::{Cell, Key};
use super::measure::Planned;
use super::subject::Subject;

/// A choice is right if it takes at most this many times as long as the fastest measured pair.
const NEAR: f64 = 1.3;

/// Predicted times with a larger error factor are defects.
const MOST_OFF: f64 = 2.0;

/// A preset and an engine that answer a question.
#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    pub preset: String,
    pub engine: Engine,
    pub predicted_seconds: f64,
    pub seconds: f64,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.engine, self.preset)
    }
}

/// A question that some pair serves.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    pub function: Subject,
    pub bits: i32,
    pub count: usize,
    /// Among all pairs that serve it: the one with the least predicted seconds, and with the least
    /// measured.
    pub picked: Pair,
    pub best: Pair,
    /// Measured seconds of the former relative to the latter.
    pub ratio: f64,
}

/// The report of all cells.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    op: &'static str,
    /// Cells that are planned, that some engine serves, and that are measured.
    cells: usize,
    served: usize,
    measured: usize,
    /// Questions whose serving pairs are all measured; that lack a measurement; that no pair
    /// serves.
    questions: usize,
    open: usize,
    unserved: usize,
    /// The share of the questions whose chosen pair takes at most 1.3 times as long as the fastest.
    near: f64,
    /// The largest error factor of predicted times.
    farthest: f64,
    answers: Vec<Answer>,
    /// Questions whose chosen pair takes longer than that.
    missed: Vec<String>,
    /// Measured cells whose time is wrong by more than a factor of 2, whose error exceeds its
    /// bound, and that failed.
    times_off: Vec<String>,
    errors_above: Vec<String>,
    failed: Vec<String>,
    /// Cells that are served and not measured yet.
    waiting: Vec<String>,
}

impl Summary {
    /// From planned and measured cells.
    pub fn new(planned: &[Planned], known: &BTreeMap<Key, Cell>) -> Self {
        let mut summary = Self {
            op: "map_plan_measured",
            cells: planned.len(),
            farthest: 1.0,
            ..Self::default()
        };
        // The pairs that serve a question; some may lack a measurement.
        let mut questions: BTreeMap<_, Vec<Option<Pair>>> = BTreeMap::new();
        for Planned { key, prediction } in planned {
            let pairs = questions.entry((key.function, key.bits, key.count)).or_default();
            let Ok(prediction) = prediction else { continue };
            summary.served += 1;
            let cell = known.get(key);
            let seconds = cell.and_then(Cell::time);
            let pair = seconds.map(|seconds| Pair {
                preset: key.preset.clone(),
                engine: key.engine,
                predicted_seconds: prediction.seconds,
                seconds,
            });
            match cell {
                Some(cell) => summary.check(cell, prediction),
                None => {
                    let (seconds, bound) = (prediction.seconds, prediction.log2_error);
                    let detail = &prediction.detail;
                    let line = format!("{key}: {seconds:.2} s, bound 2^{bound:.1}, {detail}");
                    summary.waiting.push(line);
                }
            }
            // The planner takes NTRU only if it is named.
            if key.engine != Engine::Ntru {
                pairs.push(pair);
            }
        }
        for ((function, bits, count), pairs) in questions {
            let answer = pairs.iter().cloned().collect::<Option<Vec<Pair>>>();
            match answer {
                Some(pairs) if pairs.is_empty() => summary.unserved += 1,
                Some(pairs) => summary.answers.push(Answer::new(function, bits, count, &pairs)),
                None => summary.open += 1,
            }
        }
        let missed = summary.answers.iter().filter(|answer| answer.ratio > NEAR);
        summary.missed = missed.map(ToString::to_string).collect();
        summary.questions = summary.answers.len();
        let right = summary.questions - summary.missed.len();
        summary.near = right as f64 / summary.questions.max(1) as f64;
        summary
    }

    /// Records faults of a prediction.
    fn check(&mut self, cell: &Cell, prediction: &bellerophon::Prediction) {
        let (predicted, bound) = (prediction.seconds, prediction.log2_error);
        let Some(time) = cell.time() else { return self.failed.push(cell.to_string()) };
        self.measured += 1;
        let off = (predicted / time).max(time / predicted);
        self.farthest = self.farthest.max(off);
        if off > MOST_OFF {
            self.times_off.push(format!("{cell}, predicted {predicted:.2} s"));
        }
        if cell.log2_error.is_some_and(|error| error > bound) {
            self.errors_above.push(format!("{cell}, bound 2^{bound:.1}"));
        }
    }
}

impl Answer {
    fn new(function: Subject, bits: i32, count: usize, pairs: &[Pair]) -> Self {
        let least = |of: fn(&Pair) -> f64| {
            let least = pairs.iter().min_by(|x, y| of(x).total_cmp(&of(y)));
            least.expect("some pair serves").clone()
        };
        let (picked, best) = (least(|pair| pair.predicted_seconds), least(|pair| pair.seconds));
        let ratio = picked.seconds / best.seconds;
        Self { function, bits, count, picked, best, ratio }
    }
}

/// A row of a table in Markdown.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, bits, count, picked, best, ratio } = self;
        let Pair { seconds, predicted_seconds, .. } = picked;
        write!(
            f,
            "| {function} | {bits} | {count} | {picked} | {predicted_seconds:.2} | {seconds:.2} | \
             {best} | {:.2} | {ratio:.2} |",
            best.seconds
        )
    }
}

/// The answers as a table in Markdown, with the faults.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| function | bits | values | picked | predicted, s | measured, s | fastest | \
             measured, s | ratio |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        )?;
        self.answers.iter().try_for_each(|answer| writeln!(f, "{answer}"))?;
        let lists = [
            ("picked pairs beyond 1.3 times the fastest", &self.missed),
            ("times more than 2 times off", &self.times_off),
            ("errors above their bound", &self.errors_above),
            ("planned runs that failed", &self.failed),
        ];
        for (name, lines) in lists {
            writeln!(f, "\n{name}: {}", lines.len())?;
            lines.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        write!(
            f,
            "\n{} of {} served cells measured ({} planned); {} questions answered, {:.0} % by a \
             pair within {NEAR} times the fastest; {} with pairs yet to be measured; {} that no \
             pair serves; the largest error of a predicted time is a factor of {:.2}",
            self.measured,
            self.served,
            self.cells,
            self.questions,
            100.0 * self.near,
            self.open,
            self.unserved,
            self.farthest
        )
    }
}
