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
//! // Answers modulo 65537, 128 bits of security.
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
//! # Map
//! | item | contents |
//! | --- | --- |
//! | [`Client`], [`Pending`] | the secret; queries, and what is kept until the response arrives |
//! | [`Query`], [`QueryLayout`], [`Shape`] | encrypted points, in one of two layouts; sizes |
//! | [`Function`] | the server's table, or a sum of tables of several variables |
//! | [`Server`], [`ServerKeys`], [`Response`] | evaluation, with and without circuit privacy |
//! | [`circuit_privacy`], [`PrivacyBudget`] | statistical distance of answers, alone and together |
//! | [`Shard`] | a part of a table; responses of shards add up |
//! | [`EncryptedFunction`] | the reverse: the table is encrypted and the points are plain |
//! | [`batch`] | the batch code of compact queries |
//! | [`SplitDomainKeys`] | the split-domain method, a slow reference |
//! | [`bfv`] | the scheme: exact plaintexts modulo `t`, noise bounds, packing |
//! | [`wire`] | plain forms of all objects, secrets included |
//!
//! # Conventions
//! Points are numbers `0 .. D` of a domain of `D` points. Values are numbers modulo `t`
//! ([`bfv::ParamsSpec::plain`]). `N` is the degree of the ring and `q_0` the first prime.
//! Probabilities and statistical distances are `log2`, noise is a variance. Randomness is a
//! cryptographic generator that the caller passes.
//!
//! # How it works
//! The client encrypts `X^i` for a point `i < N`. The product with
//! `u_f = f(0) - f(N - 1) X - .. - f(1) X^(N - 1)` has `f(i)` as its constant coefficient, and
//! Algorithm 1 ([`bfv::pack`]) packs the constant coefficients of many products into one
//! ciphertext. A domain of more than `N` points is cut into blocks of `N` points. A query has one
//! ciphertext for each block: one of them encrypts `X^(i mod N)`, the others encrypt zero. Sums
//! `a_1 f_1(x_1) + a_2 f_2(x_2) + ..` of functions of several variables are added before they are
//! packed; the `a_v` are any numbers.
//!
//! # The two layouts of a query
//! | | [`QueryLayout::Paper`] | [`QueryLayout::Compact`] |
//! | --- | --- | --- |
//! | ciphertexts for `p` points of a domain of `D` | `p ceil(D / N)` | about `3 D / N`, or `1.5 p / N` if that is more |
//! | values in the response | `p` | at least `1.5 p` |
//! | variables | any number | one |
//!
//! [`QueryLayout::Compact`] goes beyond the paper. A batch code ([`batch`]) cuts the table into
//! `3 B` small buckets, with every entry in three of them, and assigns a bucket of its own to every
//! point. The selector of one bucket is as short as the bucket, so one ciphertext holds the
//! selectors of many buckets: `X^(o + i)` selects position `i` of the bucket that begins at `o`.
//! The product with `sum_i f_i X^-(o + i)` has the selected entry of that bucket alone as its
//! constant coefficient, whatever else the ciphertext selects. A query therefore has three
//! coefficients for each point of the domain, for any number of points.
//!
//! # Who learns what
//! The server sees ciphertexts, the numbers of points and variables, the domains and the seed of
//! the batch code ([`batch`] says what a retry reveals). The client learns the values at its
//! points.
//!
//! What else the client learns depends on the server's method. [`Server::evaluate`] promises
//! nothing: a response is computed from table and query without randomness, and whoever has guessed
//! a table can check the guess. [`Server::evaluate_values`] re-randomises masks, but the noise of
//! every value reveals one sum of entries. [`Server::evaluate_private`] and
//! [`Server::evaluate_shuffled`] re-randomise and flood, and state a distance: statistical in the
//! noise, computational (RLWE) in the masks. The distance depends on `t`, the domain and the number
//! of values ([`circuit_privacy`]). Distances of several answers add up, which a [`PrivacyBudget`]
//! counts.
//!
//! **All of this is about clients that follow the protocol.** A client that does not can select
//! sums of entries. It can also send masks and keys that hide nothing and receive whole blocks of
//! the table in the response, from `evaluate_private` too, since the public key is the client's
//! own. The length of the response bounds such a leak: `2 N log2 q_0` bits a ciphertext. A server
//! that must resist a dishonest client needs a proof that queries and keys are well formed, which
//! this library does not have.
#![forbid(unsafe_code)]

mod baseline;
pub mod batch;
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
pub(crate) use bellerophon_ring::During;
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
