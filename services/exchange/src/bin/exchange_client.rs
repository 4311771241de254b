//! The client of an exchange: `docs/EXCHANGE.md` shows a session.

use std::process::ExitCode;

fn main() -> ExitCode {
    bellerophon_exchange::cli::run(bellerophon_exchange::client::run)
}
