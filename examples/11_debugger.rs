//! A false promise is found under the secret key, on test data.
//!
//! The range that a program states for its values is a promise, which no server can check. The
//! debugger decrypts after every step and names the first promise that is false, with the step and
//! the position of the value. Toy parameters protect nothing.

use bellerophon::prelude::*;

fn main() -> bellerophon::Result<()> {
    // Programs use `Preset::Bootstrapping`.
    let params = Params::preset(Preset::Insecure(Toy::Bootstrapping))?;
    let client = ClientKey::generate(&params)?;
    let keys = client.evaluation_keys(&Needs::new().multiply().bootstrap())?;
    let server = Evaluator::new(keys)?.with_auto_bootstrap()?;
    let values = [0.3, 0.25, 0.5];

    // Three steps of the logistic map 3.2 x (1 - x). The promise is that values stay below 0.75.
    let debugger = client.debugger(&server)?;
    let mut x = debugger.watch(client.encrypt(&values, 0.0..=0.5)?, &values)?;
    for _ in 0..3 {
        let rest = debugger.sub(&x, &debugger.square(&x)?)?;
        x = debugger.keep_within(&debugger.mul_scalar(&rest, 3.2)?, 0.0..=0.75)?;
    }

    let report = debugger.report();
    println!("{report}"); // a table of the steps
    let promise = report.false_promise.expect("0.5 becomes 0.8").to_string();
    let expected = "keep_within: the value at position 2 of 3 is outside [0, 0.75]";
    assert!(promise.contains(expected), "{promise}");
    Ok(())
}
