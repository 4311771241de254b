//! The owner of the data: generates keys, encrypts, and decrypts the results of a server, on files
//! in a folder or, with `--server`, over HTTP. The secret key stays in a file that only its owner
//! can read, and is never sent. The server is `exchange_server`; `docs/EXCHANGE.md` shows a session
//! with both.
//!
//! ```text
//! cargo run --release --example exchange_client -- keygen --dir FOLDER --server http://127.0.0.1:8750
//! cargo run --release --example exchange_client -- encrypt --dir FOLDER --program mean \
//!     --values 0.5,-0.25,1 --server http://127.0.0.1:8750
//! cargo run --release --example exchange_client -- decrypt --dir FOLDER --server http://127.0.0.1:8750
//! ```

#[path = "../common/mod.rs"]
mod common;
mod decrypt;
mod encrypt;
mod home;
mod keygen;
mod programs;
mod protocol;
mod remote;
mod send;
mod shared;
mod tell;
mod transfer;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use common::program;

/// Makes keys, encrypts, and decrypts results of a server
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Number of threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = common::args::parse_threads)]
    threads: Option<usize>,

    #[command(flatten)]
    place: Place,
}

/// The folder of the client, and its server.
#[derive(Debug, clap::Args)]
struct Place {
    /// Folder of the client; its subfolder `shared` is for the server
    #[arg(
        long,
        global = true,
        visible_alias = "out",
        value_name = "FOLDER",
        default_value = "exchange-client"
    )]
    dir: PathBuf,

    /// Server to send to and fetch from, such as http://127.0.0.1:8750
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,

    /// Seconds of retries while the server does not answer
    #[arg(long, global = true, value_name = "S", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    patience: u64,

    /// Print exactly one JSON object on standard output, everything else on standard error
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a secret key and the public keys for some programs
    Keygen(keygen::Arguments),
    /// Encrypt vectors, each as a job of its own
    Encrypt(encrypt::Arguments),
    /// Send keys and jobs that the server does not have
    Send(send::Arguments),
    /// Decrypt the results of the jobs that are ready
    Decrypt(decrypt::Arguments),
}

fn main() -> ExitCode {
    program::run_plain(|Arguments { command, threads, place }: &Arguments| {
        program::use_threads(*threads)?;
        match command {
            Command::Keygen(arguments) => keygen::run(place, arguments),
            Command::Encrypt(arguments) => encrypt::run(place, arguments),
            Command::Send(arguments) => send::run(place, arguments),
            Command::Decrypt(arguments) => decrypt::run(place, arguments),
        }
    })
}
