//! The owner of the data: generates keys, encrypts, and decrypts the answers of a server, on files
//! in a folder or over a network. The secret key stays in a file that only its owner can read, and
//! is never sent.

mod decrypt;
mod encrypt;
mod home;
mod keygen;
mod provide;
mod remote;

use std::path::PathBuf;

use bellerophon::format::SecretBytes;
use clap::Parser;
use serde_json::json;

use crate::cli::{self, Failure, Stages};
use crate::files;
use home::Home;
use remote::Remote;

/// Makes keys, encrypts, and decrypts results of a server
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Number of threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = cli::parse_threads)]
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

    /// Server to send to and fetch from, such as https://exchange.example
    #[arg(long, global = true, value_name = "URL")]
    server: Option<String>,

    /// Certificates (PEM) to trust instead of those of public authorities
    #[arg(long, global = true, value_name = "FILE")]
    ca: Option<PathBuf>,

    /// Speak plain HTTP to another machine, where everybody on the way reads the token
    #[arg(long, global = true)]
    allow_http: bool,

    /// Seconds of retries while the server does not answer; of `decrypt` altogether
    #[arg(long, global = true, value_name = "S", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(..=1 << 32))]
    patience: u64,

    /// Print exactly one JSON object on standard output, everything else on standard error
    #[arg(long, global = true)]
    json: bool,
}

/// The largest size of the file with the passphrase in bytes.
const LONGEST_PASSPHRASE: u64 = 1024;

/// The passphrase of the secret key.
#[derive(Debug, clap::Args)]
struct Passphrase {
    /// File with the passphrase of the secret key: `keygen` encrypts the key with it; line ends and
    /// other white space at its end do not count
    #[arg(long = "passphrase", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Passphrase {
    /// The passphrase, if one is named.
    fn read(&self) -> Result<Option<SecretBytes>, Failure> {
        let Some(path) = &self.file else { return Ok(None) };
        let read = SecretBytes::new(files::read(path, LONGEST_PASSPHRASE)?);
        match read.expose().trim_ascii_end() {
            [] => Err(files::about(path, "no passphrase")),
            passphrase => Ok(Some(SecretBytes::new(passphrase.to_vec()))),
        }
    }
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a secret key and the public keys for some programs
    Keygen(keygen::Arguments),
    /// Encrypt vectors, each as a job of its own
    Encrypt(encrypt::Arguments),
    /// Encrypt a vector for the owner of a public key, without a secret key
    Provide(provide::Arguments),
    /// Send keys and jobs that the server does not have
    Send,
    /// Decrypt the results of the jobs that are ready
    Decrypt(decrypt::Arguments),
}

/// Runs the program.
///
/// # Errors
/// Those of its command.
pub fn run(Arguments { command, threads, place }: &Arguments) -> Result<(), Failure> {
    cli::use_threads(*threads)?;
    match command {
        Command::Keygen(arguments) => keygen::run(place, arguments),
        Command::Encrypt(arguments) => encrypt::run(place, arguments),
        Command::Provide(arguments) => provide::run(place, arguments),
        Command::Send => send(place),
        Command::Decrypt(arguments) => decrypt::run(place, arguments),
    }
}

/// Sends whatever the server lacks.
fn send(place: &Place) -> Result<(), Failure> {
    let home = Home::at(&place.dir);
    let remote = Remote::open(place, &home, false)?;
    let mut stages = Stages::default();
    let sent_again = stages.run("sending", || remote.send_open(&home, &[]))?;
    cli::say(place.json, format_args!("{sent_again} jobs sent again"));
    cli::report(place.json, &json!({"sent_again": sent_again, "stages": stages}))
}
