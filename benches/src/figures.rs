//! Benchmarks of the library: times of the important operations, measured in this process on one
//! warm thread.
//!
//! `figures --json [--only GROUP]` prints `{"rows": [{"name", "median_ms", "reps", ...}]}`; a group
//! is the first part of a row's name.

mod bridge;
mod ckks;
mod fbt;
mod format;
mod lut;
pub mod measure;
mod mlwe;
mod ring;

use clap::{Parser, ValueEnum};
use common::args::{Common, WITH_LOOKUPS};
use common::console::Console;
use common::output;
use common::program::{Defaults, Failure};
use measure::Bench;
use serde::Serialize;

/// Measures the library's operations in this process, on one thread, warm
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Measure one group: the first part of the row names
    #[arg(long, value_name = "GROUP")]
    only: Option<Group>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    Ring,
    Ckks,
    Mlwe,
    Lut,
    Bridge,
    Fbt,
    Format,
}

#[derive(Debug, Serialize)]
struct Figures {
    rows: Vec<measure::Row>,
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &WITH_LOOKUPS, threads: Some(1) };

/// Measures the groups.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let preset = arguments.common.preset()?;
    let mut bench = Bench::new(arguments.common.small);
    for group in Group::value_variants() {
        if arguments.only.is_none_or(|only| only == *group) {
            match group {
                Group::Ring => ring::measure(&mut bench)?,
                Group::Ckks => ckks::measure(&mut bench)?,
                Group::Mlwe => mlwe::measure(&mut bench)?,
                Group::Lut => lut::measure(&mut bench, preset)?,
                Group::Bridge => bridge::measure(&mut bench, preset)?,
                Group::Fbt => fbt::measure(&mut bench)?,
                Group::Format => format::measure(&mut bench)?,
            }
        }
    }
    report(bench.into_rows(), &Console::new(arguments.common.json), arguments.common.json)
}

fn report(rows: Vec<measure::Row>, console: &Console, json: bool) -> Result<(), Failure> {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    console.say(format_args!("{:width$}  {:>12}  {:>8}", "name", "median", "reps"));
    for row in &rows {
        console.say(format_args!(
            "{:width$}  {:>9.3} {}  {:>8}",
            row.name,
            if row.median_ms < 1.0 { row.median_ms * 1e3 } else { row.median_ms },
            if row.median_ms < 1.0 { "us" } else { "ms" },
            row.reps
        ));
    }
    if json { output::print_json(&Figures { rows }) } else { Ok(()) }
}
