//! Private look-up: a server evaluates its table at points that it never sees.
//!
//! The client encrypts 4 points of a domain of 4096. The server multiplies them with its table and
//! packs the answers into one response. The parameters have 128 bits of security.

use bellerophon::bfv::{Params, ParamsSpec};
use bellerophon::pir::{Client, Function, QueryLayout, Server};
use bellerophon::rand::{SeedableRng, rngs::StdRng, rngs::SysRng};

/// Answers are numbers modulo this prime.
const PLAIN: u64 = 65537;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let params = Params::new(ParamsSpec::lookup(PLAIN)?)?;
    let mut rng = StdRng::try_from_rng(&mut SysRng)?;
    let client = Client::generate(&params, &mut rng)?; // holds the secret
    let server = Server::new(&params, &client.server_keys(&mut rng)?)?;

    let table: Vec<u64> = (0..4096).map(|x| x * x % PLAIN).collect(); // the server's
    let function = Function::new(&params, &table)?;

    let points = [3, 4095, 3, 0];
    let (query, pending) = client.query(table.len(), &points, QueryLayout::Compact, &mut rng)?;
    let response = server.evaluate(&function, &query)?.truncated(&params)?;

    let expected: Vec<u64> = points.iter().map(|&x| table[x]).collect();
    assert_eq!(*client.read(&pending, &response)?, expected);
    Ok(())
}
