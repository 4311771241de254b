//! An executor of a cluster for SQL over encrypted columns.

use std::process::ExitCode;

use bellerophon_ballista::{ExecutorOptions, run};
use clap::Parser;

/// Computes tasks of queries over encrypted columns; it has public keys only
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    executor: ExecutorOptions,
}

fn main() -> ExitCode {
    let options = Arguments::parse().executor;
    run(async {
        let node = options.node()?;
        options.serve(node).await
    })
}
