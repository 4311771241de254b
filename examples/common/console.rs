//! The report for people, while a program runs and when it ends.

use std::fmt::Display;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellerophon::Progress;

/// The destination of the report for people: standard output, or standard error under `--json`.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    json: bool,
}

impl Console {
    /// A console that keeps standard output free for the JSON object if `json`.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints one line of the report. A closed output is no error.
    pub fn say(&self, line: impl Display) {
        if self.json {
            progress(line);
        } else {
            let _ = writeln!(std::io::stdout(), "{line}");
        }
    }

    /// Prints up to eight of the values with their results, spread over the whole vector.
    ///
    /// # Panics
    /// If the three lengths differ.
    pub fn values(&self, input: &[f64], expected: &[f64], got: &[f64]) {
        assert!(input.len() == expected.len() && input.len() == got.len(), "three equal columns");
        self.say("  row        input     expected          got      error");
        let step = got.len().div_ceil(8).max(1);
        for i in (0..got.len()).step_by(step) {
            let (row, input, expected, got) = (i + 1, input[i], expected[i], got[i]);
            let error = got - expected;
            self.say(format_args!(
                "{row:>5} {input:>12.6} {expected:>12.6} {got:>12.6} {error:>10.6}"
            ));
        }
    }

    /// Prints the scores of the classes of an image.
    pub fn scores<S: Display>(&self, clear: &[S], encrypted: &[S]) {
        self.say("class      clear  encrypted");
        for (class, (clear, encrypted)) in clear.iter().zip(encrypted).enumerate() {
            self.say(format_args!("{class:>5} {clear:>10.4} {encrypted:>10.4}"));
        }
    }
}

/// A progress callback for an evaluator.
pub type Callback = Box<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

/// Seconds of each stage of a program, in order, and the size of its output. A repeated stage adds
/// to its first row.
#[derive(Debug, Default)]
pub struct Stages {
    rows: Vec<Stage>,
    /// The index of the stage that ended last.
    latest: usize,
}

/// One stage of a program.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// The name of the stage.
    pub name: &'static str,
    /// Its seconds.
    pub seconds: f64,
    /// The size of its output, if that is of interest.
    pub bytes: Option<u64>,
}

impl Stages {
    /// Runs `work` as a stage: records its time, and shows progress on standard error.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let clock = Clock::start(name);
        let result = work();
        let seconds = begin.elapsed().as_secs_f64();
        clock.finish(seconds);
        self.add(name, seconds);
        result
    }

    /// Runs an operation that reports stages of its own to the given callback: records their times,
    /// and shows progress on standard error.
    pub fn follow<T>(&mut self, work: impl FnOnce(Callback) -> T) -> T {
        let ended: Arc<Mutex<Vec<(&'static str, f64)>>> = Arc::default();
        let to = ended.clone();
        // The time between two stages counts for the second, so that no time is lost.
        let running: Mutex<(Option<Clock>, Instant)> = Mutex::new((None, Instant::now()));
        let result = work(Box::new(move |Progress { stage, done, total }| {
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            let mut clock = running.0.take().unwrap_or_else(|| Clock::start(stage.name()));
            if done < total {
                clock.reach(done, total);
                running.0 = Some(clock);
            } else {
                let seconds = running.1.elapsed().as_secs_f64();
                to.lock().unwrap_or_else(PoisonError::into_inner).push((stage.name(), seconds));
                clock.finish(seconds);
                running.1 = Instant::now();
            }
            ControlFlow::Continue(())
        }));
        for (name, seconds) in ended.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            self.add(name, seconds);
        }
        result
    }

    fn add(&mut self, name: &'static str, seconds: f64) {
        self.latest = match self.rows.iter().position(|stage| stage.name == name) {
            Some(place) => {
                self.rows[place].seconds += seconds;
                place
            }
            None => {
                self.rows.push(Stage { name, seconds, bytes: None });
                self.rows.len() - 1
            }
        };
    }

    /// Adds the size of the output of the latest stage.
    pub fn made(&mut self, bytes: u64) {
        if let Some(stage) = self.rows.get_mut(self.latest) {
            stage.bytes = Some(stage.bytes.unwrap_or(0) + bytes);
        }
    }

    /// The stages so far.
    pub fn rows(&self) -> &[Stage] {
        &self.rows
    }

    /// The total seconds of the stages called `names`.
    pub fn seconds(&self, names: &[&str]) -> f64 {
        self.rows.iter().filter(|stage| names.contains(&stage.name)).map(|s| s.seconds).sum()
    }

    /// The total seconds of all stages except those called `names`.
    pub fn seconds_except(&self, names: &[&str]) -> f64 {
        self.rows.iter().filter(|stage| !names.contains(&stage.name)).map(|s| s.seconds).sum()
    }
}

/// A stage that runs: a line at the start, at the end, and every few seconds in between.
struct Clock {
    name: &'static str,
    told: Instant,
}

/// The time between two lines about a stage.
const PATIENCE: Duration = Duration::from_secs(5);

impl Clock {
    fn start(name: &'static str) -> Self {
        progress(format_args!("{name} ..."));
        Self { name, told: Instant::now() }
    }

    fn reach(&mut self, done: usize, total: usize) {
        if done > 0 && self.told.elapsed() >= PATIENCE {
            self.told = Instant::now();
            progress(format_args!("{}: {done} of {total}", self.name));
        }
    }

    fn finish(self, seconds: f64) {
        progress(format_args!("{}: {seconds:.2} s", self.name));
    }
}

/// A line about the progress. A closed output is no error.
fn progress(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
