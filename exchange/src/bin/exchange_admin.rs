//! The operator of an exchange: invites clients, lists, limits and removes them, whether the server
//! runs or not. `docs/EXCHANGE.md` shows it.

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::mlwe::Security;
use bellerophon_exchange::cli::{self, Failure};
use bellerophon_exchange::server::{Exchange, admin, limits::Limits, store::Store};
use clap::Parser;

/// Invites, lists, limits and removes the clients of a server
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: admin::Command,

    /// Folder of the server
    #[arg(long, global = true, value_name = "FOLDER", default_value = "exchange-data")]
    data: PathBuf,
}

/// The limits of a server that does not run.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    limits: Limits,
}

fn main() -> ExitCode {
    cli::run(|Arguments { command, data }: &Arguments| {
        let done = match admin::send(&Store::socket(data), command) {
            Some(done) => done,
            None => {
                let limits = Defaults::parse_from(["exchange_admin"]).limits;
                let exchange = Exchange::open(data, limits, 1, 0, Security::Bits128);
                let about = |e| Failure::input(format!("--data {}: {e}", data.display()));
                exchange.map_err(about)?.command(command.clone())
            }
        };
        cli::report(true, &done.map_err(Failure::input)?)
    })
}
