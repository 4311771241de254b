//! The report for people, while a program runs and when it ends.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellerophon::Progress;
use indicatif::{ProgressBar, ProgressStyle};

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
        let _ = if self.json {
            writeln!(std::io::stderr(), "{line}")
        } else {
            writeln!(std::io::stdout(), "{line}")
        };
    }
}

/// The number of rows of values in the report.
const SHOWN: usize = 8;

impl Console {
    /// Prints some of the values with their results, spread over the whole vector.
    ///
    /// # Panics
    /// If the three lengths differ.
    pub fn values(&self, input: &[f64], expected: &[f64], got: &[f64]) {
        assert!(input.len() == expected.len() && input.len() == got.len(), "three equal columns");
        self.say(format_args!(
            "{:>5} {:>12} {:>12} {:>12} {:>10}",
            "row", "input", "expected", "got", "error"
        ));
        let step = got.len().div_ceil(SHOWN).max(1);
        for i in (0..got.len()).step_by(step) {
            self.say(format_args!(
                "{:>5} {:>12.6} {:>12.6} {:>12.6} {:>10.6}",
                i + 1,
                input[i],
                expected[i],
                got[i],
                got[i] - expected[i]
            ));
        }
    }
}

impl Console {
    /// Prints a square image, whose pixels range from 0 (paper) to 1 (ink), and the scores of its
    /// classes.
    pub fn image<S: Display>(&self, pixels: &[f64], clear: &[S], encrypted: &[S]) {
        let side = pixels.len().isqrt().max(1);
        for line in pixels.chunks(side) {
            let shade = |p: &f64| [' ', '.', '-', '+', '#'][(p * 4.0).round() as usize];
            self.say(line.iter().map(shade).collect::<String>());
        }
        self.say(format_args!("{:>5} {:>10} {:>10}", "class", "clear", "encrypted"));
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

/// A running clock on a terminal; elsewhere a line at the start, at the end, and every few seconds
/// in between.
struct Clock {
    name: &'static str,
    bar: Option<ProgressBar>,
    told: Instant,
}

/// The time between two lines about a stage without a terminal.
const PATIENCE: Duration = Duration::from_secs(5);

impl Clock {
    fn start(name: &'static str) -> Self {
        let told = Instant::now();
        if !std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr(), "{name} ...");
            return Self { name, bar: None, told };
        }
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        let bar = ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
            .with_message(name);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { name, bar: Some(bar), told }
    }

    fn reach(&mut self, done: usize, total: usize) {
        if done == 0 {
            return;
        }
        let text = format!("{}: {done} of {total}", self.name);
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        } else if self.told.elapsed() >= PATIENCE {
            self.told = Instant::now();
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    fn finish(self, seconds: f64) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let _ = writeln!(std::io::stderr(), "{}: {seconds:.2} s", self.name);
    }
}
