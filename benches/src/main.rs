//! The programs that measure the library, as subcommands of one binary:
//! `cargo run --release -p bellerophon-benches -- NAME OPTIONS`.

mod bootstrapping;
mod chart;
mod engines;
mod figures;
mod map_plan;
mod measure;
mod module_rank;
mod operations;
mod papers;
mod timing_leaks;
mod world;

use std::process::ExitCode;

use clap::Command;
use common::program::{self, Program};

fn main() -> ExitCode {
    let command = Command::new(env!("CARGO_PKG_NAME"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Measures the library");
    program::run_one(
        command,
        &[
            Program::reporting("figures", figures::DEFAULTS, figures::run),
            Program::reporting("bootstrapping", bootstrapping::DEFAULTS, bootstrapping::run),
            Program::reporting("engines", engines::DEFAULTS, engines::run),
            Program::reporting("module_rank", module_rank::DEFAULTS, module_rank::run),
            Program::new("map_plan", map_plan::DEFAULTS, map_plan::run),
            Program::new("timing_leaks", timing_leaks::DEFAULTS, timing_leaks::run),
            Program::new("papers", papers::DEFAULTS, papers::run),
        ],
    )
}
