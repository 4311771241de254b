//! The report for people, while a program runs and when it ends.

use std::fmt::Display;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
/// to its first row. Clones record the same program.
#[derive(Debug, Clone, Default)]
pub struct Stages(Arc<Mutex<Rows>>);

#[derive(Debug, Default)]
struct Rows {
    stages: Vec<Stage>,
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

/// The time between two lines about a stage.
const PATIENCE: Duration = Duration::from_secs(5);

impl Stages {
    /// Runs `work` as a stage: records its time, and shows its begin and its end on standard error.
    pub fn run<T>(&self, name: &'static str, work: impl FnOnce() -> T) -> T {
        progress(format_args!("{name} ..."));
        let begin = Instant::now();
        let result = work();
        self.end(name, begin);
        result
    }

    /// Runs an operation that reports stages of its own to the given callback: records their times,
    /// and shows progress on standard error.
    pub fn follow<T>(&self, work: impl FnOnce(Callback) -> T) -> T {
        let stages = self.clone();
        // The time between two stages counts for the second, so that no time is lost.
        let times = Mutex::new([Instant::now(); 2]);
        work(Box::new(move |Progress { stage, done, total }| {
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            let [begin, told] = *times;
            if done >= total {
                stages.end(stage.name(), begin);
                *times = [Instant::now(); 2];
            } else if done > 0 && told.elapsed() >= PATIENCE {
                progress(format_args!("{}: {done} of {total}", stage.name()));
                times[1] = Instant::now();
            }
            ControlFlow::Continue(())
        }))
    }

    fn locked(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, name: &'static str, begin: Instant) {
        let seconds = begin.elapsed().as_secs_f64();
        progress(format_args!("{name}: {seconds:.2} s"));
        let Rows { stages, latest } = &mut *self.locked();
        *latest = stages.iter().position(|stage| stage.name == name).unwrap_or(stages.len());
        match stages.get_mut(*latest) {
            Some(stage) => stage.seconds += seconds,
            None => stages.push(Stage { name, seconds, bytes: None }),
        }
    }

    /// Adds the size of the output of the latest stage.
    pub fn made(&self, bytes: u64) {
        let Rows { stages, latest } = &mut *self.locked();
        if let Some(stage) = stages.get_mut(*latest) {
            stage.bytes = Some(stage.bytes.unwrap_or(0) + bytes);
        }
    }

    pub fn rows(&self) -> Vec<Stage> {
        self.locked().stages.clone()
    }

    /// The total seconds of the stages called `names`.
    pub fn seconds(&self, names: &[&str]) -> f64 {
        self.locked().stages.iter().filter(|s| names.contains(&s.name)).map(|s| s.seconds).sum()
    }

    /// The total seconds of all stages except those called `names`.
    pub fn seconds_except(&self, names: &[&str]) -> f64 {
        self.locked().stages.iter().filter(|s| !names.contains(&s.name)).map(|s| s.seconds).sum()
    }
}

/// A line about the progress. A closed output is no error.
fn progress(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
