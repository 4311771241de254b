//! What a person sees while a program runs and when it ends.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::ser::{SerializeMap, Serializer};

/// Where the report for people goes: standard output, or standard error under `--json`.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    json: bool,
}

impl Console {
    /// A console that keeps standard output free for the JSON object if `json`.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Prints one line of the report. A reader that has gone away is no error.
    pub fn say(&self, line: impl Display) {
        let _ = if self.json {
            writeln!(std::io::stderr(), "{line}")
        } else {
            writeln!(std::io::stdout(), "{line}")
        };
    }
}

/// Seconds of each stage of a program, in order, and the size of what it made.
#[derive(Debug, Default)]
pub struct Stages {
    rows: Vec<Stage>,
}

/// One stage of a program.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// What is done.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// The size of its result, where that is worth telling.
    pub bytes: Option<u64>,
}

impl Stages {
    /// Runs `work` under a name and keeps its time; shows that it runs on standard error.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let progress = Progress::start(name);
        let begin = Instant::now();
        let result = work();
        let seconds = begin.elapsed().as_secs_f64();
        progress.finish(seconds);
        self.rows.push(Stage { name, seconds, bytes: None });
        result
    }

    /// Notes the size of what the latest stage made.
    pub fn made(&mut self, bytes: u64) {
        if let Some(stage) = self.rows.last_mut() {
            stage.bytes = Some(bytes);
        }
    }

    /// The stages so far.
    pub fn rows(&self) -> &[Stage] {
        &self.rows
    }

    /// Seconds of the stages called `names`, together.
    pub fn seconds(&self, names: &[&str]) -> f64 {
        self.rows.iter().filter(|stage| names.contains(&stage.name)).map(|s| s.seconds).sum()
    }

    /// Serialises as a map of name to seconds.
    pub fn as_seconds<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.rows.len()))?;
        for stage in &self.rows {
            map.serialize_entry(stage.name, &stage.seconds)?;
        }
        map.end()
    }

    /// Serialises as a map of name to bytes, of the stages that have them.
    pub fn as_sizes<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for stage in &self.rows {
            if let Some(bytes) = stage.bytes {
                map.serialize_entry(stage.name, &bytes)?;
            }
        }
        map.end()
    }
}

/// A running clock on a terminal; one line at the start and one at the end elsewhere.
struct Progress {
    name: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn start(name: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr(), "{name} ...");
            return Self { name, bar: None };
        }
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        let bar = ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
            .with_message(name);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { name, bar: Some(bar) }
    }

    fn finish(self, seconds: f64) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let _ = writeln!(std::io::stderr(), "{}: {seconds:.2} s", self.name);
    }
}
