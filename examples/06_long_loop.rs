//! Sixty products in a row, then a function.
//!
//! An evaluator with automatic bootstrapping runs a loop of any length. The loop states the range
//! of its values, since the range that interval arithmetic derives grows by the error of every
//! step. Toy parameters protect nothing; a comment names the preset of real programs.

use bellerophon::prelude::*;

fn main() -> bellerophon::Result<()> {
    // Programs use `Preset::Bootstrapping`.
    let params = Params::preset(Preset::Insecure(Toy::Bootstrapping))?;
    let client = ClientKey::generate(&params)?;
    let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    let server = Evaluator::new(keys)?.with_auto_bootstrap()?;

    let x = client.encrypt(&[0.99, -1.0, 0.5], -1.0..=1.0)?;
    let mut y = x.clone();
    for _ in 0..60 {
        let product = server.mul(&y, &x)?; // bootstraps first if the levels are used up
        y = server.keep_within(&product, -1.0..=1.0)?; // products of such values
    }
    let z = server.map(&y, f64::exp)?;

    for (found, x) in client.decrypt(&z)?.iter().zip([0.99f64, -1.0, 0.5]) {
        assert!((found - x.powi(61).exp()).abs() < 0.02);
    }
    Ok(())
}
