//! Arithmetic and an arbitrary function of encrypted measurements, end to end.
//!
//! This file is a whole program. Copied into a project of its own, it depends on `bellerophon`
//! alone. With `--json` it prints one JSON object. `examples/apps/quadratic` is the same
//! computation with options.

use std::{error::Error, time::Instant};

use bellerophon::prelude::*;

/// Lengths of iris sepals in cm (Fisher, 1936), which only the client knows.
const LENGTHS: [f64; 20] = [
    5.1, 4.9, 4.7, 4.6, 5.0, 5.4, 4.6, 5.0, 4.4, 4.9, 7.0, 6.4, 6.9, 5.5, 6.5, 6.3, 5.8, 7.1, 6.3,
    6.5,
];

fn sigmoid(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// The computation of the server: `1 - sigmoid(x^2 / 4 + x - 1 / 2)` of every value.
fn evaluate(server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
    let square = server.mul_scalar(&server.square(x)?, 0.25)?;
    let v = server.add_scalar(&server.add(&square, x)?, -0.5)?;
    // Any function: a table look-up of every value. Its domain is the tracked range of `v`.
    let y = server.map(&v, sigmoid)?;
    server.add_scalar(&server.neg(&y)?, 1.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let json = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--json") => true,
        Some(other) => return Err(format!("{other}: only --json is known").into()),
    };

    // The client: parameters, a secret key, and the public keys for what the server will do.
    let begin = Instant::now();
    let params = Params::preset(Preset::Functions)?; // 128 bits of security
    let client = ClientKey::generate(&params)?; // secret; never leaves the client
    let keys = client.evaluation_keys(&Needs::new().multiply().map())?; // public
    let (key_bytes, keygen_s) = (keys.byte_len(), begin.elapsed().as_secs_f64());

    // The client: centimetres as numbers of [-4, 4]. The declared range is public.
    let values = LENGTHS.map(|length| length - 6.0);
    let x = client.encrypt(&values, -4.0..=4.0)?;

    // The server: with public keys and ciphertexts alone. The result leaves it with the range and
    // the noise that the program declares.
    let server = Evaluator::new(keys)?;
    let begin = Instant::now();
    let z = evaluate(&server, &x)?;
    let published = server.publish(&z, Declaration::from(-0.25..=1.25).with_noise(0.25))?;
    let eval_s = begin.elapsed().as_secs_f64();

    // The client: decryption, and the comparison with the exact results.
    let found = client.decrypt(&published)?;
    let exact = values.map(|x| 1.0 - sigmoid(0.25 * x * x + x - 0.5));
    let errors = found.iter().zip(exact).map(|(found, exact)| (found - exact).abs());
    let (largest, sum) = errors.fold((0.0, 0.0), |(most, sum), e| (e.max(most), sum + e));
    let (n, mean) = (values.len(), sum / values.len() as f64);
    if json {
        println!(
            "{{\"n\":{n},\"preset\":\"{}\",\"security_bits\":{},\"keygen_s\":{keygen_s},\
             \"eval_s\":{eval_s},\"max_abs_err\":{largest},\"mean_abs_err\":{mean},\
             \"eval_key_bytes\":{key_bytes}}}",
            params.name(),
            params.security_bits()
        );
        return Ok(());
    }
    println!("  length      exact      found");
    for ((length, exact), found) in LENGTHS.iter().zip(exact).zip(&found) {
        println!("{length:>8} {exact:>10.6} {found:>10.6}");
    }
    println!("largest error {largest:.1e}, mean error {mean:.1e}");
    println!("keys {keygen_s:.1} s and {} MB, server {eval_s:.1} s", key_bytes / 1_000_000);
    Ok(())
}
