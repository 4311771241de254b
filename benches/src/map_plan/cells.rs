//! Measured cells in a file: one JSON line for every combination of preset, engine, function,
//! number of values and number of bits.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use bellerophon::Engine;
use serde::{Deserialize, Serialize};

use common::program::Failure;
use common::text;

use super::subject::Subject;

/// The key of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    pub preset: String,
    pub engine: Engine,
    pub function: Subject,
    pub bits: i32,
    pub count: usize,
    pub threads: usize,
}

/// The outcome of a cell.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    #[serde(flatten)]
    pub key: Key,
    /// The reason if the engine does not qualify.
    pub refusal: Option<String>,
    /// Wall-clock seconds, scaled if fewer values were measured.
    pub seconds: Option<f64>,
    /// CPU seconds, scaled likewise.
    pub cpu_seconds: Option<f64>,
    pub measured_count: usize,
    /// `log2` of the largest error, if this number of values was measured.
    pub log2_error: Option<f64>,
}

impl Cell {
    /// A cell whose engine does not qualify.
    pub fn refused(key: Key, refusal: String) -> Self {
        let refusal = Some(refusal);
        let (seconds, cpu_seconds, log2_error) = (None, None, None);
        Self { key, refusal, seconds, cpu_seconds, measured_count: 0, log2_error }
    }

    /// The seconds that count: on one thread CPU time, which other programs do not affect.
    pub fn time(&self) -> Option<f64> {
        match (self.key.threads, self.cpu_seconds) {
            (1, Some(seconds)) => Some(seconds),
            _ => self.seconds,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { preset, engine, function, bits, count, .. } = self;
        write!(f, "{function} to {bits} bits, {count} values, {engine} of {preset}")
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.key)?;
        match (self.time(), self.log2_error) {
            (Some(time), Some(error)) => write!(f, "{time:.2} s, error 2^{error:.1}"),
            (Some(time), None) => write!(f, "{time:.2} s"),
            (None, _) => f.write_str(self.refusal.as_deref().unwrap_or_default()),
        }
    }
}

/// The cells of a file, which is created if it is missing. Of two lines for one cell the later one
/// counts.
pub fn read(file: &Path) -> Result<BTreeMap<Key, Cell>, Failure> {
    let name = file.display();
    let opened = OpenOptions::new().create(true).append(true).open(file);
    opened.map_err(|e| Failure::input(format!("--measure {name}: {e}")))?;
    let text = text::read(file)?;
    let cell = |(i, line): (usize, &str)| -> Result<(Key, Cell), Failure> {
        let cell: Cell = serde_json::from_str(line)
            .map_err(|e| Failure::input(format!("--measure {name}, line {}: {e}", i + 1)))?;
        Ok((cell.key.clone(), cell))
    };
    text.lines().enumerate().map(cell).collect()
}

/// Adds a cell to a file.
pub fn append(file: &Path, cell: &Cell) -> Result<(), Failure> {
    let mut line = serde_json::to_string(cell).map_err(Failure::run)?;
    line.push('\n');
    let opened = OpenOptions::new().append(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(|e| Failure::run(format!("--measure {}: {e}", file.display())))
}
