//! The output of a program: one JSON object, or a table in a file.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::Serialize;

use super::console::Stages;
use super::memory::peak_rss_bytes;
use super::program::Failure;
use super::stats::Errors;

/// The fields of every report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Values processed.
    pub n: usize,
    /// Name of the parameter set.
    pub preset: String,
    /// The smallest security over all published keys (default model).
    pub security_bits: f64,
    /// The look-up engine.
    pub engine: String,
    /// Seconds of key generation.
    pub keygen_s: f64,
    /// Seconds of the server's work: no key generation, encryption or decryption.
    pub eval_s: f64,
    /// Largest absolute error against the exact function of the exact input.
    pub max_abs_err: f64,
    /// Mean absolute error.
    pub mean_abs_err: f64,
    /// Size of the evaluation keys.
    pub eval_key_bytes: u64,
    /// Size of the encrypted input.
    pub ciphertext_bytes: u64,
    /// Peak resident memory, where the system provides it.
    pub peak_rss_bytes: Option<u64>,
    /// Threads used.
    pub threads: usize,
}

/// The name of the stage of key generation in every program.
pub const KEY_GENERATION: &str = "key generation";

impl Report {
    /// The report of `n` values with these errors: threads and memory of this process, the seconds
    /// of the key generation, and no bytes yet.
    pub fn of(n: usize, preset: &str, stages: &Stages, errors: &Errors) -> Self {
        Self {
            n,
            preset: preset.to_string(),
            security_bits: 0.0,
            engine: "none".to_string(),
            keygen_s: stages.seconds(&[KEY_GENERATION]),
            eval_s: 0.0,
            max_abs_err: errors.max,
            mean_abs_err: errors.mean,
            eval_key_bytes: 0,
            ciphertext_bytes: 0,
            peak_rss_bytes: peak_rss_bytes(),
            threads: rayon::current_num_threads(),
        }
    }
}

/// Prints `report` as one JSON object on one line of standard output.
pub fn print_json(report: &impl Serialize) -> Result<(), Failure> {
    let mut line = serde_json::to_string(report).map_err(Failure::run)?;
    line.push('\n');
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::run(e)),
        _ => Ok(()),
    }
}

/// Refuses an `--out` that cannot be written, or that is the input file, before any work. Writes
/// nothing.
pub fn check_out(out: Option<&Path>, csv: Option<&Path>) -> Result<(), Failure> {
    let Some(out) = out else { return Ok(()) };
    let fail = |why: String| Failure::input(format!("--out {}: {why}", out.display()));
    if let Some(csv) = csv
        && let (Ok(a), Ok(b)) = (csv.canonicalize(), out.canonicalize())
        && a == b
    {
        return Err(fail("this is the file to be read".to_string()));
    }
    if out.exists() {
        let opened = std::fs::OpenOptions::new().write(true).open(out);
        return opened.map(|_| ()).map_err(|e| fail(e.to_string()));
    }
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    match folder.metadata() {
        Ok(found) if !found.is_dir() => Err(fail(format!("{} is no folder", folder.display()))),
        Ok(found) if found.permissions().readonly() => {
            Err(fail(format!("the folder {} is read-only", folder.display())))
        }
        Ok(_) => Ok(()),
        Err(e) => Err(fail(format!("the folder {}: {e}", folder.display()))),
    }
}

/// Writes `input,expected,got`, one line per value, in order, if a file is requested.
///
/// # Panics
/// If the three lengths differ.
pub fn write_out<I: Display, R: Display>(
    path: Option<&Path>,
    input: &[I],
    expected: &[R],
    got: &[R],
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    assert!(input.len() == expected.len() && input.len() == got.len(), "three equal columns");
    let mut text = String::from("input,expected,got\n");
    for ((i, e), g) in input.iter().zip(expected).zip(got) {
        text.push_str(&format!("{i},{e},{g}\n"));
    }
    std::fs::write(path, text).map_err(|e| Failure::input(format!("--out {}: {e}", path.display())))
}
