//! The limits of the server, as flags.

use super::protocol::Bounds;

/// Limits on requests of clients, and on the resources of the server.
#[derive(Debug, Clone, clap::Args)]
pub struct Limits {
    /// Largest ciphertext of a job, in bytes (K, M, G for powers of 1024)
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_bytes)]
    pub job_bytes: u64,

    /// Largest upload of parameters and keys
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = parse_bytes)]
    pub key_bytes: u64,

    /// Memory for the keys of clients, by the estimate of docs/EXCHANGE.md
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = parse_bytes)]
    pub key_memory: u64,

    /// Jobs of one client that wait or run
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub queued_jobs: usize,

    /// Jobs that are kept for one client, ended ones too
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub kept_jobs: usize,

    /// Key sets that are kept for one client
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub kept_keys: usize,

    /// Seconds that a job may run, the loading of its keys included
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = parse_seconds())]
    pub job_seconds: u64,

    /// Bytes that are kept for one client
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = parse_bytes)]
    pub client_storage: u64,

    /// Bytes that are kept for all clients
    #[arg(long, value_name = "BYTES", default_value = "64G", value_parser = parse_bytes)]
    pub storage: u64,

    /// Clients for whom something is kept
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub clients: usize,

    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = parse_connections)]
    pub connections: usize,

    /// Requests of one client at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub client_requests: usize,

    /// Seconds that the head of a request may take, and an idle connection is kept
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = parse_seconds())]
    pub head_seconds: u64,

    /// Seconds for each 64 KiB of the body of a request, or of an answer that the client takes
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = parse_seconds())]
    pub body_seconds: u64,

    /// Seconds that a connection may last
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = parse_seconds())]
    pub connection_seconds: u64,
}

impl Limits {
    /// The limits that concern clients.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            job_bytes: self.job_bytes,
            key_bytes: self.key_bytes,
            queued_jobs: self.queued_jobs,
            kept_jobs: self.kept_jobs,
            kept_keys: self.kept_keys,
            job_seconds: self.job_seconds,
            stored_bytes: self.client_storage,
            requests: self.client_requests,
        }
    }
}

/// Seconds that can be added to any time.
pub fn parse_seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(..=LONGEST_SECONDS)
}

/// A century.
const LONGEST_SECONDS: u64 = 100 * 366 * 24 * 3600;

fn parse_connections(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|n| (1..=1 << 16).contains(n));
    number.ok_or_else(|| "expected a whole number from 1 to 65536".to_string())
}

/// A number of bytes, optionally followed by K, M or G.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.chars().last() {
        Some('K') => (&text[..text.len() - 1], 10),
        Some('M') => (&text[..text.len() - 1], 20),
        Some('G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    number.ok_or_else(|| "expected a whole number of bytes, optionally with K, M or G".to_string())
}
