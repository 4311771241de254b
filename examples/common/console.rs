//! What a person sees while a program runs and when it ends.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::ser::{Serialize, SerializeMap, Serializer};

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

/// Seconds of each stage of a program, in order; serialises as a map of name to seconds.
#[derive(Debug, Default)]
pub struct Stages {
    rows: Vec<(&'static str, f64)>,
}

impl Stages {
    /// Runs `work` under a name and keeps its time; shows that it runs on standard error.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let progress = Progress::start(name);
        let begin = Instant::now();
        let result = work();
        let seconds = begin.elapsed().as_secs_f64();
        progress.finish(seconds);
        self.rows.push((name, seconds));
        result
    }

    /// The stages so far.
    pub fn rows(&self) -> &[(&'static str, f64)] {
        &self.rows
    }

    /// Seconds of the stages called `names`, together.
    pub fn seconds(&self, names: &[&str]) -> f64 {
        self.rows.iter().filter(|(name, _)| names.contains(name)).map(|(_, s)| s).sum()
    }
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.rows.len()))?;
        for (name, seconds) in &self.rows {
            map.serialize_entry(name, seconds)?;
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
