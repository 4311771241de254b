//! The arguments of the server, and its start.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bellerophon::mlwe::Security;
use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

use super::limits::Limits;
use super::listen::{self, Door};
use super::store::Store;
use super::{Exchange, evaluate, tls};
use crate::cli::{self, Failure};

/// Computes on the ciphertexts of clients, from files or over the network
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
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

    /// Certificates (PEM), the server's own first: the server speaks HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the first certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Address for `/metrics` and `/healthz` alone, in plain HTTP: whoever reaches it reads them
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,

    /// Name by which clients call the server, beside addresses and `localhost`; repeat the flag for
    /// more
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Jobs that run at the same time
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: usize,

    /// Number of threads for arithmetic [default: one per core]
    #[arg(long, value_name = "N", value_parser = cli::parse_threads)]
    threads: Option<usize>,

    /// Print one JSON object when listening
    #[arg(long)]
    json: bool,

    /// Messages on standard error, as lines of JSON: off, error, warn, info or debug
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    log: LevelFilter,

    /// Accept insecure parameters, for tests
    #[arg(long)]
    accept_insecure: bool,

    #[command(flatten)]
    limits: Limits,
}

/// Runs the program.
///
/// # Errors
/// Bad arguments, an unusable folder or address.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Some(Command::Evaluate(arguments)) => evaluate::run(arguments),
        None => listen(&arguments.listen),
    }
}

/// Guests of a server that only its own machine reaches.
const GUESTS: usize = 1000;

fn listen(arguments: &Listen) -> Result<(), Failure> {
    if arguments.workers == 0 {
        return Err(Failure::input("--workers: expected at least 1"));
    }
    cli::use_threads(arguments.threads)?;
    let log = tracing_subscriber::fmt().json().with_max_level(arguments.log);
    log.with_writer(std::io::stderr).init();
    let security = if arguments.accept_insecure { Security::Insecure } else { Security::Bits128 };
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificates), Some(key)) => Some(tls(certificates, key)?),
        _ => None,
    };
    let local = arguments.listen.ip().to_canonical().is_loopback();
    let guests = arguments.limits.clients.unwrap_or(if local { GUESTS } else { 0 });
    let about = |e| Failure::input(format!("--data {}: {e}", arguments.data.display()));
    let (data, limits) = (&arguments.data, arguments.limits.clone());
    let exchange = Exchange::open(data, limits, arguments.workers, guests, security);
    let exchange = Arc::new(exchange.map_err(about)?);
    if exchange.board.unpromised().is_none() {
        return Err(Failure::input(format!(
            "--storage {}: more is promised to clients: raise it, or lower their quotas \
             (exchange_admin quota)",
            arguments.limits.storage
        )));
    }
    let recovered = exchange.board.counts().jobs[0];
    let scheme = if tls.is_some() { "https" } else { "http" };
    let hosts = arguments.host.iter().map(|host| host.to_ascii_lowercase()).collect();
    let (address, metrics, socket) = (arguments.listen, arguments.metrics, Store::socket(data));
    let door = Door { address, metrics, hosts, tls, socket };
    let served = listen::serve(exchange, door, arguments.workers, |address, metrics| {
        let mut stdout = std::io::stdout().lock();
        match arguments.json {
            true => {
                let line = serde_json::json!({"listening": address, "metrics": metrics,
                    "recovered": recovered});
                writeln!(stdout, "{line}")?;
            }
            false => {
                writeln!(stdout, "listening on {scheme}://{address}, {recovered} jobs recovered")?
            }
        }
        stdout.flush()
    });
    served.map_err(|e| Failure::input(format!("--listen {}: {e}", arguments.listen)))
}
