//! Medians of repeated runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

/// One measured operation.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// `group/what/size...`.
    pub name: String,
    /// Median time of one operation in milliseconds.
    pub median_ms: f64,
    /// Operations timed.
    pub reps: usize,
    /// What else the row says.
    #[serde(flatten)]
    pub extra: BTreeMap<&'static str, Value>,
}

/// Collects rows under one time budget a row.
#[derive(Debug)]
pub struct Bench {
    rows: Vec<Row>,
    budget: Duration,
    small: bool,
}

/// Samples are at least this long, so that the clock's own resolution does not show.
const SAMPLE: Duration = Duration::from_micros(500);

impl Bench {
    /// A collection of rows of at least five samples each; `small` spends a tenth of the time, and
    /// runs what takes longer only once.
    pub fn new(small: bool) -> Self {
        Self {
            rows: Vec::new(),
            budget: Duration::from_millis(if small { 60 } else { 600 }),
            small,
        }
    }

    /// Whether the run is a short one.
    pub fn is_small(&self) -> bool {
        self.small
    }

    /// Times `operation`, which does `units` of the named work each time it is called, after a
    /// warm-up, and appends the row; the row is returned for what else it should say.
    pub fn time(&mut self, name: String, units: usize, mut operation: impl FnMut()) -> &mut Row {
        let begin = Instant::now();
        operation();
        let mut calls = 1;
        while begin.elapsed() < self.budget / 10 {
            operation();
            calls += 1;
        }
        let once = begin.elapsed() / calls;
        let inner = (SAMPLE.as_nanos() / once.as_nanos().max(1)).max(1) as usize;

        let mut samples = Vec::new();
        if self.small && once > self.budget {
            // The warm-up has to do.
            samples.push(once.as_secs_f64());
        } else {
            let least = if self.small { 1 } else { 5 };
            let begin = Instant::now();
            while samples.len() < least || begin.elapsed() < self.budget {
                let start = Instant::now();
                for _ in 0..inner {
                    operation();
                }
                samples.push(start.elapsed().as_secs_f64());
            }
        }
        let median_ms = median(&mut samples) * 1e3 / (inner * units) as f64;
        let reps = samples.len() * inner * units;
        let _ = writeln!(std::io::stderr(), "{name}: {median_ms:.6} ms");
        self.rows.push(Row { name, median_ms, reps, extra: BTreeMap::new() });
        let last = self.rows.len() - 1;
        &mut self.rows[last]
    }

    /// The rows in the order in which they were measured.
    pub fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    if samples.len() % 2 == 1 {
        samples[middle]
    } else {
        (samples[middle - 1] + samples[middle]) / 2.0
    }
}
