//! The scheduler of a cluster for SQL over encrypted columns.

use std::process::ExitCode;

use bellerophon_ballista::{SchedulerOptions, run};
use clap::Parser;

/// Gives the tasks of queries over encrypted columns to executors
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    scheduler: SchedulerOptions,
}

fn main() -> ExitCode {
    run(Arguments::parse().scheduler.serve())
}
