//! A server that computes on ciphertexts of clients: on files in a folder, or for several clients
//! at once over HTTP, with limits for each and without losing anything in a crash.
//! `docs/EXCHANGE.md` describes the protocol; the client is `exchange_client`.
//!
//! ```text
//! cargo run --release --example exchange_server -- --listen 127.0.0.1:8750 --data /var/lib/exchange
//! cargo run --release --example exchange_server -- evaluate --dir FOLDER
//! ```

mod answers;
mod board;
mod cache;
#[path = "../common/mod.rs"]
mod common;
mod cost;
mod evaluate;
mod exchange;
mod job;
mod limits;
mod listen;
mod programs;
mod protocol;
mod routes;
mod shared;
mod store;
mod stream;
mod tell;
mod uploads;
mod wire;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use bellerophon::mlwe::Security;
use clap::Parser;
use common::program::{self, Failure};
use exchange::Exchange;
use limits::Limits;

/// Computes on the ciphertexts of clients, from files or over the network
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    listen: Listen,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run the jobs in a folder, and write the results there
    Evaluate(evaluate::Arguments),
}

#[derive(Debug, clap::Args)]
struct Listen {
    /// Address to listen on; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8750")]
    listen: SocketAddr,

    /// Folder for keys, jobs and results
    #[arg(long, value_name = "FOLDER", default_value = "exchange-data")]
    data: PathBuf,

    /// Jobs that run at the same time
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: usize,

    /// Number of threads for arithmetic [default: one per core]
    #[arg(long, value_name = "N", value_parser = common::args::parse_threads)]
    threads: Option<usize>,

    /// Print one JSON object when listening
    #[arg(long)]
    json: bool,

    /// Accept insecure parameters, for tests
    #[arg(long)]
    accept_insecure: bool,

    #[command(flatten)]
    limits: Limits,
}

fn main() -> ExitCode {
    program::run_plain(|arguments: &Arguments| match &arguments.command {
        Some(Command::Evaluate(arguments)) => evaluate::run(arguments),
        None => listen(&arguments.listen),
    })
}

fn listen(arguments: &Listen) -> Result<(), Failure> {
    if arguments.workers == 0 {
        return Err(Failure::input("--workers: expected at least 1"));
    }
    program::use_threads(arguments.threads)?;
    let security = match arguments.accept_insecure {
        true => Security::Insecure,
        false => Security::Bits128,
    };
    let about = |e| Failure::input(format!("--data {}: {e}", arguments.data.display()));
    let exchange = Exchange::open(&arguments.data, arguments.limits.clone(), security);
    let exchange = Arc::new(exchange.map_err(about)?);
    let recovered = exchange.board.open_jobs();
    let served = listen::serve(exchange.clone(), arguments.listen, |address| {
        let mut stdout = std::io::stdout().lock();
        match arguments.json {
            true => {
                let line = serde_json::json!({"listening": address, "recovered": recovered});
                writeln!(stdout, "{line}")?;
            }
            false => writeln!(stdout, "listening on http://{address}, {recovered} jobs recovered")?,
        }
        stdout.flush()?;
        // Only now: a server that cannot listen must not begin a job.
        (0..arguments.workers).try_for_each(|_| {
            let worker = std::thread::Builder::new().name("worker".to_string());
            let exchange = exchange.clone();
            worker.spawn(move || exchange.work()).map(drop)
        })
    });
    served.map_err(|e| Failure::input(format!("--listen {}: {e}", arguments.listen)))
}
