//! Private look-up in large domains: a server evaluates any function, given as a table, at points
//! that it never sees (Bossuat and Izabachene, "Large Domain Homomorphic Evaluation for BFV-like
//! schemes via Ring Repacking", section 4).
//!
//! ```
//! use bellerophon_pir::bfv::{Params, ParamsSpec};
//! use bellerophon_pir::{Client, Function, QueryLayout, Server};
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Answers modulo 65537.
//! let params = Params::new(ParamsSpec::lookup(65537)?)?;
//! let mut rng = StdRng::try_from_rng(&mut SysRng)?;
//! let client = Client::generate(&params, &mut rng)?; // holds the secret
//! let server = Server::new(&params, &client.server_keys(&mut rng)?)?;
//!
//! let table: Vec<u64> = (0..1 << 14).map(|x| x * x % 65537).collect(); // the server's
//! let function = Function::new(&params, &table)?;
//!
//! let points = [3, 16000, 3, 0];
//! let (query, pending) = client.query(1 << 14, &points, QueryLayout::Compact, &mut rng)?;
//! let response = server.evaluate(&function, &query)?.truncated(&params)?;
//! let expected: Vec<u64> = points.iter().map(|&x| table[x]).collect();
//! assert_eq!(*client.read(&pending, &response)?, expected);
//! # Ok(())
//! # }
//! ```
//!
//! Points are numbers `0 .. D` of a domain, values numbers modulo `t`, `N` the degree of the ring.
//! [`Function`] and [`QueryLayout`] say how it works, [`Server`] who learns what.
#![forbid(unsafe_code)]

mod baseline;
pub mod batch_code;
pub mod bfv;
mod budget;
mod client;
mod encrypted_table;
#[doc(hidden)]
pub mod error;
mod function;
mod privacy;
mod query;
mod query_layout;
mod response;
mod server;
mod shard;
pub mod wire;

pub use baseline::SplitDomainKeys;
pub use bellerophon_ring::{Error, ErrorKind, Result};
pub use budget::PrivacyBudget;
pub use client::{Client, Pending};
pub use encrypted_table::EncryptedFunction;
pub use function::Function;
pub use privacy::{CircuitPrivacy, circuit_privacy};
pub use query::{Query, Shape};
pub use query_layout::QueryLayout;
pub use response::Response;
pub use server::{Server, ServerKeys};
pub use shard::Shard;

#[cfg(test)]
mod tests;
