//! Keys and ciphertexts over a network: the protocol of `docs/EXCHANGE.md`, a service that computes
//! for several clients, and its client.
//!
//! The programs are `exchange_server`, `exchange_client`, `exchange_admin` and `exchange_soak`.

pub mod cli;
pub mod client;
pub mod cost;
pub mod files;
pub mod programs;
pub mod protocol;
pub mod scanner;
pub mod server;
pub mod wire;
pub mod words;
