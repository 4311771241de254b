//! Times: of one run, and medians of repeated runs.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use bellerophon::Result;
use common::cpu::cpu_seconds;
use common::facts::Facts;
use common::output::Report;
use common::program::Failure;

/// Operations longer than this are timed once, in their warm-up; those longer than a tenth of it
/// three times.
const LONG: f64 = 20.0;

/// Operations longer than this also get CPU time, which the system counts in milliseconds.
const COUNTED: f64 = 0.2;

/// The minimum length of a sample, so that the resolution of the clock does not matter.
const SAMPLE: f64 = 500e-6;

/// Seconds by the wall clock, and of CPU, which other programs do not affect.
#[derive(Debug, Clone, Copy)]
pub struct Seconds {
    pub wall: f64,
    pub cpu: Option<f64>,
}

impl Seconds {
    /// The share of each of `count` equal parts.
    pub fn each(self, count: usize) -> Self {
        let share = |seconds: f64| seconds / count as f64;
        Self { wall: share(self.wall), cpu: self.cpu.map(share) }
    }

    /// The smaller time by either clock.
    pub fn min(self, other: Self) -> Self {
        let cpu = self.cpu.zip(other.cpu).map(|(one, other)| one.min(other));
        Self { wall: self.wall.min(other.wall), cpu }
    }
}

/// Runs some work once, and takes its time.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Seconds) {
    let (cpu, begin) = (cpu_seconds(), Instant::now());
    let result = work();
    let wall = begin.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
    (result, Seconds { wall, cpu })
}

/// The median, NaN of nothing.
pub fn median(samples: impl IntoIterator<Item = f64>) -> f64 {
    let mut samples: Vec<f64> = samples.into_iter().collect();
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() % 2 {
        1 => samples[middle],
        _ if samples.is_empty() => f64::NAN,
        _ => (samples[middle - 1] + samples[middle]) / 2.0,
    }
}

/// Measured rows, with a time budget for each.
#[derive(Debug)]
pub struct Bench {
    /// Rows in the order in which they were measured: `name`, which is `group/what/size...`,
    /// `median_ms` of one operation, `reps`, the operations timed, and further facts.
    pub rows: Vec<Facts>,
    /// Whether the run is a short one: a tenth of the time, and long operations only once.
    pub small: bool,
}

/// A timed operation.
pub struct Timed<T> {
    /// Median milliseconds of one operation.
    pub ms: f64,
    /// Its row so far.
    pub row: Facts,
    /// The result of the last run.
    pub last: T,
}

impl Bench {
    /// No rows yet.
    pub fn new(small: bool) -> Self {
        Self { rows: Vec::new(), small }
    }

    /// Times `operation`, which does `units` of the named work per call, after a warm-up: at least
    /// five samples. Rows of long operations also have `cpu_ms`, the CPU time of the threads.
    pub fn time<T>(
        &self,
        name: impl Into<String>,
        units: usize,
        mut operation: impl FnMut() -> Result<T>,
    ) -> std::result::Result<Timed<T>, Failure> {
        let budget = if self.small { 0.06 } else { 0.6 };
        let mut last = None;
        let mut run = |calls: usize| -> Result<Seconds> {
            let (done, seconds) = timed(|| {
                (0..calls).try_for_each(|_| {
                    // Freed first, so that the next result takes the same memory.
                    last = None;
                    last = Some(black_box(operation()?));
                    Ok(())
                })
            });
            done.map(|()| seconds.each(calls))
        };
        let begin = Instant::now();
        let mut once = run(1)?;
        while begin.elapsed() < Duration::from_secs_f64(budget / 10.0) {
            once = once.min(run(1)?);
        }
        let calls = (SAMPLE / once.wall.max(1e-9)).max(1.0) as usize;
        let (mut samples, mut calls_each) = (vec![once], 1);
        if once.wall <= LONG && !(self.small && once.wall > budget) {
            let least = match self.small {
                true => 1,
                false if once.wall > LONG / 10.0 => 3,
                false => 5,
            };
            (samples, calls_each) = (vec![], calls);
            let begin = Instant::now();
            while samples.len() < least || begin.elapsed() < Duration::from_secs_f64(budget) {
                samples.push(run(calls)?);
            }
        }
        let each = 1e3 / units as f64;
        let ms = each * median(samples.iter().map(|sample| sample.wall));
        let mut row = row(name, ms, samples.len() * calls_each * units);
        let cpu: Option<Vec<f64>> = samples.iter().map(|sample| sample.cpu).collect();
        if let (true, Some(cpu)) = (once.wall > COUNTED, cpu) {
            row = row.with("cpu_ms", each * median(cpu));
        }
        Ok(Timed { ms, row, last: last.expect("it ran") })
    }
}

/// The row of an operation.
pub fn row(name: impl Into<String>, median_ms: f64, reps: usize) -> Facts {
    let name = name.into();
    let _ = writeln!(std::io::stderr(), "{name}: {median_ms:.6} ms");
    Facts::default().with("name", name).with("median_ms", median_ms).with("reps", reps)
}

/// Rows of programs that measure several sets, each with its keys.
pub struct Rows(pub Vec<Facts>);

impl Rows {
    fn all(&self, name: &str) -> impl Iterator<Item = f64> {
        self.0.iter().filter_map(move |row| row.number(name))
    }

    /// The sum over the rows.
    pub fn sum(&self, name: &str) -> f64 {
        self.all(name).sum()
    }

    /// The largest number of a row.
    pub fn largest(&self, name: &str) -> f64 {
        self.all(name).fold(0.0, f64::max)
    }

    /// The report of all rows: the least security, the largest keys and ciphertexts, all seconds of
    /// key generation.
    pub fn report(self, report: Report) -> Facts {
        let report = Report {
            security_bits: self.all("security_bits").fold(f64::INFINITY, f64::min),
            keygen_s: self.sum("keygen_s"),
            eval_key_bytes: self.largest("key_bytes") as u64,
            ciphertext_bytes: self.largest("ciphertext_bytes") as u64,
            ..report
        };
        Facts::of(report).rows("rows", self.0)
    }
}
