//! Five mistakes and their messages.
//!
//! A mistake is an error before any work. Its message says what was found, what is needed and a
//! remedy, and repeats no value that was encrypted. Toy parameters protect nothing.

use std::fmt::{Debug, Display};

use bellerophon::prelude::*;

/// Prints the message of a mistake, and checks that it says `what`.
fn refused<T: Debug, E: Display + Debug>(what: &str, result: Result<T, E>) {
    let message = result.map(|_| "no refusal").unwrap_err().to_string();
    println!("{message}");
    assert!(message.contains(what), "{message}");
}

fn main() -> bellerophon::Result<()> {
    let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    let client = ClientKey::generate(&params)?;
    let server = Evaluator::new(client.evaluation_keys(&Needs::new())?)?;
    let x = client.encrypt(&[0.5, -1.0, 1.0], -1.0..=1.0)?;

    // 1. An operation whose keys nobody asked for: `Needs::new().map()` makes them.
    refused("`Needs::map`", server.map(&x, f64::sin));
    // 2. A value outside the range that is declared for it.
    refused("value at position 1 of 2 lies outside", client.encrypt(&[0.5, 2.0], -1.0..=1.0));
    // 3. Vectors of different lengths: nothing is padded or repeated unless asked for.
    let short = client.encrypt(&[0.5, 0.25], -1.0..=1.0)?;
    refused("3 values against 2", server.add(&x, &short));
    // 4. The ciphertext of another client.
    let other = ClientKey::generate(&params)?.encrypt(&[0.5, -1.0, 1.0], -1.0..=1.0)?;
    refused("secret key", server.add(&x, &other));
    refused("secret key", client.decrypt(&other));
    // 5. More products in a row than there are levels.
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().multiply())?)?;
    let mut power = x;
    for _ in 0..params.levels() {
        power = server.square(&power)?;
    }
    refused("0 left", server.square(&power));
    Ok(())
}
