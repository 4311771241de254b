//! The frame around the programs: arguments in, an exit status, at most one error line and one JSON
//! object out.

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{Write, stderr, stdout};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::words::{is_plain, line};

/// The reason why a program stops early.
#[derive(Debug)]
pub enum Failure {
    /// Bad arguments, bad files, refusals: exit status 2.
    Input(String),
    /// Any other failure: exit status 1.
    Run(String),
}

impl Failure {
    /// A failure that the input explains.
    pub fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// A failure of the computation itself.
    pub fn run(why: impl ToString) -> Self {
        Self::Run(why.to_string())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Input(why) | Self::Run(why)) = self;
        f.write_str(why)
    }
}

/// Parses the arguments and runs `body`. Bad arguments and [`Failure::Input`] give one line on
/// standard error and exit status 2.
pub fn run<A: Parser>(body: impl FnOnce(&A) -> Result<(), Failure>) -> ExitCode {
    run_with(std::env::args_os(), body)
}

/// As [`run`], with other arguments, of which the first is the name of the program.
pub fn run_with<A: Parser>(
    words: impl Iterator<Item = OsString>,
    body: impl FnOnce(&A) -> Result<(), Failure>,
) -> ExitCode {
    let failure = match A::try_parse_from(words) {
        Ok(arguments) => match survive_limits().and_then(|()| body(&arguments)) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(failure) => failure,
        },
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            let message = first.strip_prefix("error: ").unwrap_or(first);
            Failure::Input(format!("{message} (see --help)"))
        }
        Err(help) => return help.print().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
    };
    tell(format_args!("error: {failure}"));
    ExitCode::from(if matches!(failure, Failure::Input(_)) { 2 } else { 1 })
}

/// Makes a file beyond the limit of the system (`ulimit -f`) a fault of the disk, as on a full one:
/// unhandled, its signal ends the process.
#[cfg(unix)]
fn survive_limits() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let runtime = runtime.map_err(Failure::run)?;
    let _entered = runtime.enter();
    // The handler stays as long as the process lives.
    signal(SignalKind::from_raw(libc::SIGXFSZ)).map(drop).map_err(Failure::run)
}

/// Other systems have no such signal.
#[cfg(not(unix))]
fn survive_limits() -> Result<(), Failure> {
    Ok(())
}

/// Prints one [`line()`] on standard error. A closed one is no error.
pub fn tell(what: impl Display) {
    let _ = writeln!(stderr(), "{}", line(&what.to_string()));
}

/// Prints a report: one JSON object on standard output if `json`.
///
/// # Errors
/// If standard output cannot be written.
pub fn report(json: bool, report: &impl Serialize) -> Result<(), Failure> {
    if !json {
        return Ok(());
    }
    print(json_text(report)?)
}

/// Prints a line in full and flushes it: whoever calls it may then forget what it says. Text from
/// outside is escaped by the caller.
///
/// # Errors
/// If standard output does not take it: it is closed, or a disk is full.
pub fn print(what: impl Display) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let written = writeln!(out, "{what}").and_then(|()| out.flush());
    written.map_err(|e| Failure::run(format!("standard output: {e}")))
}

/// A report as JSON, in which no character misleads a terminal: JSON has escapes of its own for
/// them.
fn json_text(report: &impl Serialize) -> Result<String, Failure> {
    let plain = serde_json::to_string(report).map_err(Failure::run)?;
    let mut text = String::with_capacity(plain.len());
    for c in plain.chars() {
        match is_plain(c) {
            true => text.push(c),
            false => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    Ok(text)
}

/// Prints one [`line()`] for people: on standard error if standard output is for JSON. A closed one
/// is no error: what must arrive goes through [`print()`].
pub fn say(json: bool, what: impl Display) {
    match json {
        true => tell(what),
        false => drop(writeln!(stdout(), "{}", line(&what.to_string()))),
    }
}

/// Seconds of each stage of a program, in order.
#[derive(Debug, Default)]
pub struct Stages(Vec<(&'static str, f64)>);

impl Stages {
    /// Runs `work` as a stage.
    pub fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        tell(format_args!("{name} ..."));
        let begin = Instant::now();
        let result = work();
        let seconds = begin.elapsed().as_secs_f64();
        tell(format_args!("{name}: {seconds:.2} s"));
        self.0.push((name, seconds));
        result
    }
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, seconds)| map.serialize_entry(name, seconds))?;
        map.end()
    }
}

/// Sets the number of threads of the whole process; `None` is one per core.
///
/// # Errors
/// If the threads cannot be started.
pub fn use_threads(threads: Option<usize>) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    pool.build_global().map_err(|e| Failure::input(format!("--threads: {e}")))
}

/// A number of threads from 1 to 256.
///
/// # Errors
/// A sentence about anything else.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    let threads = text.parse().ok().filter(|n| (1..=256).contains(n));
    threads.ok_or_else(|| "expected a whole number from 1 to 256".to_string())
}

/// A number of bytes, optionally followed by K, M or G for powers of 1024.
///
/// # Errors
/// A sentence about anything else.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let shift = text.chars().last().and_then(|unit| "KMG".find(unit)).map(|i| 10 * (i + 1));
    let digits = if shift.is_some() { &text[..text.len() - 1] } else { text };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift.unwrap_or(0)));
    number.ok_or_else(|| "expected a whole number of bytes, optionally with K, M or G".to_string())
}

/// Seconds up to a century, which can be added to any time.
pub fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(..=100 * 366 * 24 * 3600)
}

/// A field of `/proc/PID/status` in bytes, such as `VmRSS` and `VmHWM`; `None` outside Linux.
pub fn memory(process: u32, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
