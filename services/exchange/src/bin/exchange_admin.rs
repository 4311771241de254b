//! The operator of an exchange: invites clients, lists, limits and removes them, whether the server
//! runs or not. `docs/EXCHANGE.md` shows it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::mlwe::Security;
use bellerophon_exchange::cli::{self, Failure, parse_bytes};
use bellerophon_exchange::server::{Exchange, admin, limits::Limits, store::Store};
use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

/// Invites, lists, limits and removes the clients of a server
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: admin::Command,

    /// Folder of the server
    #[arg(long, global = true, value_name = "FOLDER", default_value = "exchange-data")]
    data: PathBuf,

    /// Bytes that the server keeps for all clients (its own --storage), while it does not run
    #[arg(long, global = true, value_name = "BYTES", value_parser = parse_bytes)]
    storage: Option<u64>,
}

/// The limits of a server that does not run.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    limits: Limits,
}

fn main() -> ExitCode {
    cli::run(|Arguments { command, data, storage }: &Arguments| {
        let done = match admin::send(&Store::socket(data), command) {
            Some(done) => done,
            None => {
                let about = |e| Failure::input(format!("--data {}: {e}", data.display()));
                if !Store::database_file(data).exists() {
                    return Err(about(io::Error::other(
                        "no exchange.redb: not the folder of a server, or its database is lost",
                    )));
                }
                let log = tracing_subscriber::fmt().json().with_max_level(LevelFilter::WARN);
                log.with_writer(io::stderr).init();
                let defaults = Defaults::parse_from(["exchange_admin"]).limits;
                let storage = storage.unwrap_or(defaults.storage);
                let limits = Limits { storage, ..defaults };
                let exchange = Exchange::open(data, limits, 1, 0, Security::Bits128);
                exchange.map_err(about)?.command(command.clone())
            }
        };
        cli::report(true, &done.map_err(Failure::input)?)
    })
}
