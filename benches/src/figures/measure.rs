//! Medians of repeated runs.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use common::cpu::cpu_seconds;

/// One measured operation.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// `group/what/size...`.
    pub name: String,
    /// Median time of one operation in milliseconds.
    pub median_ms: f64,
    /// Operations timed.
    pub reps: usize,
    /// Additional fields of the row.
    #[serde(flatten)]
    pub extra: BTreeMap<&'static str, Value>,
}

/// Operations longer than this are timed once, in their warm-up; those longer than a tenth of it
/// three times.
const LONG: Duration = Duration::from_secs(20);

/// Operations longer than this also get CPU time, which the system counts in milliseconds.
const COUNTED: Duration = Duration::from_millis(200);

/// Collects rows with a time budget per row.
#[derive(Debug)]
pub struct Bench {
    rows: Vec<Row>,
    budget: Duration,
    small: bool,
}

/// The minimum length of a sample, so that the resolution of the clock does not matter.
const SAMPLE: Duration = Duration::from_micros(500);

impl Bench {
    /// A collection of rows of at least five samples each. With `small` it spends a tenth of the
    /// time, and runs long operations only once.
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

    /// Times `operation`, which does `units` of the named work per call, after a warm-up, and
    /// appends the row. Returns the row for additional fields. Rows of long operations also have
    /// `cpu_ms`, the CPU time of the threads, which other programs do not affect.
    pub fn time(&mut self, name: String, units: usize, mut operation: impl FnMut()) -> &mut Row {
        let (begin, cpu) = (Instant::now(), cpu_seconds());
        operation();
        let mut calls = 1;
        while begin.elapsed() < self.budget / 10 {
            operation();
            calls += 1;
        }
        let once = begin.elapsed() / calls;
        let since = |cpu: Option<f64>| cpu_seconds().zip(cpu).map(|(now, then)| now - then);
        let inner = (SAMPLE.as_nanos() / once.as_nanos().max(1)).max(1) as usize;

        let (mut samples, mut of_threads) = (Vec::new(), Vec::new());
        if (self.small && once > self.budget) || once > LONG {
            // The warm-up is the only sample.
            samples.push(once.as_secs_f64());
            of_threads.extend(since(cpu).map(|s| s / f64::from(calls)));
        } else {
            let least = match (self.small, once > LONG / 10) {
                (true, _) => 1,
                (false, true) => 3,
                (false, false) => 5,
            };
            let begin = Instant::now();
            while samples.len() < least || begin.elapsed() < self.budget {
                let (start, cpu) = (Instant::now(), cpu_seconds());
                for _ in 0..inner {
                    operation();
                }
                samples.push(start.elapsed().as_secs_f64());
                of_threads.extend(since(cpu));
            }
        }
        let each = 1e3 / (inner * units) as f64;
        let reps = samples.len() * inner * units;
        let row = self.record(name, median(&mut samples) * each, reps);
        if once > COUNTED && !of_threads.is_empty() {
            row.extra.insert("cpu_ms", (median(&mut of_threads) * each).into());
        }
        row
    }

    /// Appends a row that was measured otherwise.
    pub fn record(&mut self, name: String, median_ms: f64, reps: usize) -> &mut Row {
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
