//! A server that computes on ciphertexts of clients: on files in a folder, or for several clients
//! at once over HTTP, encrypted or not, with limits for each and without losing anything in a
//! crash. `docs/EXCHANGE.md` describes the protocol.

use std::process::ExitCode;

fn main() -> ExitCode {
    bellerophon_exchange::cli::run(bellerophon_exchange::server::program::run)
}
