//! The limits of the server, as flags.

use std::time::Duration;

use crate::cli::{parse_bytes, seconds};
use crate::protocol::Bounds;

/// Limits on requests of clients, and on the resources of the server.
#[derive(Debug, Clone, clap::Args)]
pub struct Limits {
    /// Those that clients are told.
    #[command(flatten)]
    pub bounds: Bounds,

    /// Memory for the keys of clients, by the estimate of docs/EXCHANGE.md
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = parse_bytes)]
    pub key_memory: u64,

    /// Jobs of one client that run at the same time [default: all workers but one, at least one]
    #[arg(long, value_name = "N")]
    pub running_jobs: Option<usize>,

    /// Bytes that are kept for all clients
    #[arg(long, value_name = "BYTES", default_value = "64G", value_parser = parse_bytes)]
    pub storage: u64,

    /// Clients without an invitation for whom something is kept; 0 admits invited clients alone
    /// [default: 1000 on a loopback address, 0 elsewhere]
    #[arg(long, value_name = "N")]
    pub clients: Option<usize>,

    /// Clients without an invitation from one address [default: half of all]
    #[arg(long, value_name = "N")]
    pub address_clients: Option<usize>,

    /// Bytes that are kept for all clients without an invitation; an address has its share of them
    /// as of the clients [default: half of --storage]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub guest_storage: Option<u64>,

    /// Seconds from the end of its last job for which a client without an invitation is kept from
    /// others that need its place
    #[arg(long, value_name = "S", default_value_t = 900, value_parser = seconds())]
    pub guest_seconds: u64,

    /// Seconds after which a client without an invitation and without jobs is forgotten
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = seconds())]
    pub unused_seconds: u64,

    /// Seconds after which a client without an invitation is forgotten with answers that it did not
    /// fetch
    #[arg(long, value_name = "S", default_value_t = 86_400, value_parser = seconds())]
    pub answer_seconds: u64,

    /// Connections at the same time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = parse_connections)]
    pub connections: usize,

    /// Connections of one address at the same time [default: half of all]
    #[arg(long, value_name = "N", value_parser = parse_connections)]
    pub address_connections: Option<usize>,

    /// Seconds that the head of a request may take, and an idle connection is kept
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = seconds())]
    pub head_seconds: u64,

    /// Seconds for each 64 KiB of the body of a request, or of an answer that the client takes
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = seconds())]
    pub body_seconds: u64,

    /// Seconds that a connection may last
    #[arg(long, value_name = "S", default_value_t = 3600, value_parser = seconds())]
    pub connection_seconds: u64,

    /// Seconds that running jobs have to end when the server is told to stop
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = seconds())]
    pub stop_seconds: u64,
}

impl Limits {
    /// What clients without an invitation may store, of a server for this many of them: together,
    /// and those of one address.
    pub fn guest_bytes(&self, guests: usize) -> [u64; 2] {
        let all = self.guest_storage.unwrap_or(self.storage / 2);
        let share = self.address_guests(guests) as f64 / guests.max(1) as f64;
        [all, (all as f64 * share) as u64]
    }

    /// Clients without an invitation from one address, of a server for this many of them.
    pub fn address_guests(&self, guests: usize) -> usize {
        self.address_clients.unwrap_or(guests.div_ceil(2)).min(guests)
    }

    /// [`head_seconds`](Self::head_seconds) as a time.
    pub fn head(&self) -> Duration {
        Duration::from_secs(self.head_seconds)
    }

    /// [`body_seconds`](Self::body_seconds) as a time.
    pub fn body(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }
}

fn parse_connections(text: &str) -> Result<usize, String> {
    let number = text.parse::<usize>().ok().filter(|n| (1..=1 << 16).contains(n));
    number.ok_or_else(|| "expected a whole number from 1 to 65536".to_string())
}
