//! Flags that the programs share, and parsers of lists of numbers.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use bellerophon::{Dense, Needs, Params, Preset, Toy, lwe};

use bellerophon::Engine;

use super::program::Failure;

#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// Print exactly one JSON object on standard output, everything else on standard error
    #[arg(long)]
    pub json: bool,

    /// Number of threads
    #[arg(long, value_name = "N", value_parser = parse_threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,

    /// Parameter preset
    #[arg(long, value_name = "NAME", default_value = Preset::Functions.name())]
    pub preset: String,

    /// Fewer values, the same parameters: ends within seconds
    #[arg(long)]
    pub small: bool,
}

/// The presets of the library with look-ups, the default first.
pub const WITH_LOOKUPS: [&str; 9] = [
    Preset::Functions.name(),
    Preset::FunctionsFine.name(),
    Preset::FunctionsPrecise.name(),
    Preset::Dense(Dense::Functions).name(),
    Preset::Dense(Dense::FunctionsFine).name(),
    Preset::Dense(Dense::FunctionsPrecise).name(),
    Preset::Full.name(),
    Preset::Insecure(Toy::Functions).name(),
    Preset::Insecure(Toy::Full).name(),
];

/// Those with a ring bridge, whose values can stay LWE values between tables.
pub const WITH_VALUES: [&str; 6] = [
    Preset::Functions.name(),
    Preset::FunctionsFine.name(),
    Preset::FunctionsPrecise.name(),
    Preset::Full.name(),
    Preset::Insecure(Toy::Functions).name(),
    Preset::Insecure(Toy::Full).name(),
];

impl Common {
    /// The requested size, or else that of the program with `--small` or without.
    pub fn size<T>(&self, asked: Option<T>, small: T, usual: T) -> T {
        asked.unwrap_or(if self.small { small } else { usual })
    }

    /// The requested preset of the library.
    pub fn preset(&self) -> Result<Preset, Failure> {
        self.preset.parse().map_err(Failure::input)
    }
}

/// Flags of programs with look-up tables.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Tables {
    /// The engine of look-ups: RGSW (also for auto), or NTRU, which is faster and rests on more
    /// than LWE
    #[arg(long, value_name = "auto|rgsw|ntru", default_value = "auto", value_parser = parse_engine)]
    pub engine: Engine,
}

impl Tables {
    /// The parameters of the tables and the keys of plain look-ups.
    pub fn of<'p>(&self, params: &'p Params) -> Result<(&'p lwe::Params, Needs), Failure> {
        let lookups = params.lookups().map_err(Failure::input)?;
        let lattice = lookups.on(self.engine).map_err(|_| {
            let (engine, preset) = (self.engine, params.name());
            Failure::input(format!("--engine {engine}: the preset {preset} does not have it"))
        })?;
        Ok((lattice, Needs::new().map_with([self.engine])))
    }
}

fn parse_engine(text: &str) -> Result<Engine, String> {
    match text {
        "auto" | "rgsw" => Ok(Engine::Rgsw),
        "ntru" => Ok(Engine::Ntru),
        _ => Err("expected auto, rgsw or ntru".to_string()),
    }
}

/// Flags of programs that read a column of numbers.
#[derive(Debug, Clone, clap::Args)]
pub struct Data {
    /// Table to read (comma separated, first line = column names) instead of the iris table
    #[arg(long, value_name = "FILE", requires = "column")]
    pub csv: Option<PathBuf>,

    /// Column to read
    #[arg(long, value_name = "NAME")]
    pub column: Option<String>,

    /// Write a table of input, expected and got, one line per row of the data, in order
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Parses a number of a range.
pub fn parse_within<T: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<T>,
) -> Result<T, String> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {} to {}", range.start(), range.end())),
    }
}

/// More threads than this, or than the machine has, only cost time.
const MOST_THREADS: usize = 256;

/// A number of threads.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    let most = std::thread::available_parallelism().map_or(1, usize::from).max(MOST_THREADS);
    parse_within(text, 1..=most)
}

/// Parses exactly `K` finite numbers separated by commas.
pub fn parse_numbers<const K: usize>(text: &str) -> Result<[f64; K], String> {
    let numbers = text
        .split(',')
        .map(|part| match part.trim().parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(format!("'{}' is not a finite number", part.trim())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let found = numbers.len();
    numbers.try_into().map_err(|_| format!("expected {K} numbers with commas, found {found}"))
}

/// Parses `LO,HI` with `LO < HI`.
pub fn parse_range(text: &str) -> Result<[f64; 2], String> {
    let [lo, hi] = parse_numbers::<2>(text)?;
    if lo < hi { Ok([lo, hi]) } else { Err(format!("expected LO < HI, found {lo:?} and {hi:?}")) }
}
