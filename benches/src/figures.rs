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
mod mlwe;
mod packing;
mod ring;

use clap::ValueEnum;
use common::prelude::*;

use crate::measure::Bench;

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
    Pack,
    Lookup,
    Fbt,
    Format,
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &WITH_LOOKUPS, threads: Some(1) };

/// Measures the groups.
pub fn run(arguments: &Arguments, _: &Console) -> Result<Facts, Failure> {
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
                Group::Pack => packing::pack(&mut bench)?,
                Group::Lookup => packing::private_lookup(&mut bench)?,
                Group::Fbt => fbt::measure(&mut bench)?,
                Group::Format => format::measure(&mut bench)?,
            }
        }
    }
    Ok(Facts::default().rows("rows", bench.rows))
}
