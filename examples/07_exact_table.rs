//! An exact table of 256 entries on 5000 encrypted integers.
//!
//! Functional bootstrapping applies the table to all integers of a vector at once, exactly. The toy
//! parameters protect nothing; a vector of theirs holds 1024 integers, so 5000 are five vectors.

use bellerophon::prelude::*;

/// Gamma correction of a grey value, as an example of a table that is no polynomial.
fn gamma(k: usize) -> usize {
    (255.0 * (k as f64 / 255.0).powf(0.45)).round() as usize
}

fn main() -> bellerophon::Result<()> {
    // Programs use `Preset::Tables(8)`: one vector holds up to 65536 integers, two for each slot.
    // The toy set holds 1024, so that 5000 integers are five vectors.
    let params = Params::preset(Preset::Insecure(Toy::Tables))?;
    let client = ClientKey::generate(&params)?;
    let server = Evaluator::new(client.evaluation_keys(&Needs::new().functional())?)?;

    let integers: Vec<usize> = (0..5000).map(|i| i * i % 256).collect();
    let mut found = Vec::new();
    for part in integers.chunks(2 * params.slots()) {
        let x = client.encrypt(part, Modulo(256))?;
        let y = server.integers().table(&x, gamma)?;
        found.extend(client.decrypt_integers(&y)?);
    }

    let exact: Vec<usize> = integers.iter().map(|&k| gamma(k)).collect();
    assert_eq!(found, exact);
    Ok(())
}
