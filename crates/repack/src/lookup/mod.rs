//! Private look-up in large domains: a server evaluates any function, given as a table, at points that
//! it never sees (Bossuat and Izabachene, section 4).
//!
//! ```
//! use bellerophon_repack::exact::{Params, ParamsSpec};
//! use bellerophon_repack::lookup::{Client, Form, Function, Server};
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = Params::new(ParamsSpec::lookup(65537)?)?; // answers modulo 65537, 128 bits of security
//! let mut rng = StdRng::try_from_rng(&mut SysRng)?;
//! let client = Client::generate(&params, &mut rng)?; // holds the secret
//! let server = Server::new(&params, &client.server_keys(&mut rng)?)?;
//!
//! let table: Vec<u64> = (0..1 << 14).map(|x| x * x % 65537).collect(); // the server's
//! let function = Function::new(&params, &table)?;
//!
//! let points = [3, 16000, 3, 0];
//! let (query, pending) = client.query(1 << 14, &points, Form::Compact, &mut rng)?;
//! let response = server.evaluate(&function, &query)?.truncated(&params)?;
//! let expected: Vec<u64> = points.iter().map(|&x| table[x]).collect();
//! assert_eq!(*client.read(&pending, &response)?, expected);
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! The client encrypts `X^i` for a point `i < N`. The product with
//! `u_f = f(0) - f(N - 1) X - .. - f(1) X^(N - 1)` has `f(i)` as its constant coefficient, and Algorithm 1
//! ([`crate::exact::pack`]) brings the constant coefficients of many products side by side into one
//! ciphertext. A domain of more than `N` points is cut into blocks, one ciphertext each, of which one
//! encrypts `X^(i mod N)` and the others zero. Sums `a_1 f_1(x_1) + a_2 f_2(x_2) + ..` of functions of
//! several variables are added before they are packed; the `a_v` are any numbers.
//!
//! # The two forms of a query
//! | | [`Form::Paper`] | [`Form::Compact`] |
//! | --- | --- | --- |
//! | ciphertexts for `p` points of a domain of `D` | `p ceil(D / N)` | about `3 D / N`, or `1.5 p / N` if that is more |
//! | values that come back | `p` | at least `1.5 p` |
//! | variables | any number | one |
//!
//! [`Form::Compact`] goes beyond the paper. A batch code ([`batch`]) cuts the table into `3 B` small buckets,
//! every entry standing in three of them, and gives every point a bucket of its own. What selects the
//! entry of one bucket is as short as the bucket, and a ciphertext has room for the selections of many
//! buckets: `X^(o + i)` for place `i` of the bucket that begins at `o`. The product with
//! `sum_i f_i X^-(o + i)` has the chosen entry of that bucket alone as its constant coefficient, whatever
//! else the ciphertext selects. So a query has three numbers for each point of the domain, however many
//! points are asked for.
//!
//! # Who learns what
//! The server sees ciphertexts, the numbers of points and variables, the domains and the seed of the batch
//! code ([`batch`] says what a retry tells). The client learns the values at its points.
//!
//! What else it learns depends on what the server calls. [`Server::evaluate`] promises nothing about that: a
//! response is computed from table and query without randomness, and whoever has guessed a table can
//! check the guess. [`Server::evaluate_values`] re-randomises masks, but every value also tells one
//! sum of entries by its noise. [`Server::evaluate_private`] and [`Server::evaluate_shuffled`] re-randomise and
//! flood, and state a distance: statistical in the noise, computational (RLWE) in the masks. The distance
//! depends on `t`, the domain and the number of values ([`circuit_privacy`]); over several answers distances
//! add up, which a [`PrivacyBudget`] counts.
//!
//! **All of this is about clients that follow the protocol.** One that does not can select sums of
//! entries, or send masks and keys in which nothing is hidden and have whole blocks of the table written
//! into the response, from `evaluate_private` too, since the public key is the client's own. What bounds
//! it is the length of the response: `2 N log2 q_0` bits a ciphertext. A server that must not be read out by
//! a dishonest client needs a proof that queries and keys are well made, which this library does not have.

pub mod batch;
mod budget;
mod client;
mod dual;
mod function;
mod privacy;
mod query;
mod response;
mod server;
mod split;

pub use budget::PrivacyBudget;
pub use client::{Client, Pending};
pub use dual::EncryptedFunction;
pub use function::Function;
pub use privacy::{CircuitPrivacy, circuit_privacy};
pub use query::{Form, Query, Shape};
pub(crate) use query::{MAX_DOMAIN, MAX_POINTS, Masks};
pub use response::Response;
pub(crate) use response::most_cut;
pub use server::{Server, ServerKeys};
pub use split::SplitDomainKeys;

#[cfg(test)]
mod tests;
