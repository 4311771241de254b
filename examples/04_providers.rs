//! Many providers encrypt under one public key.
//!
//! Each provider encrypts its answers under the public key of the owner. The server adds up all
//! vectors and publishes the means, which the owner decrypts. Toy parameters protect nothing.

use bellerophon::{format, prelude::*};

/// A provider has the parameters and the owner's public key.
fn provide(params: &Params, key: &[u8], answers: &[f64]) -> bellerophon::Result<Vec<u8>> {
    let key = PublicKey::from_bytes(params, key)?;
    format::to_bytes(params, &key.encrypt(answers, 0.0..=10.0)?)
}

fn main() -> bellerophon::Result<()> {
    // Means need no look-ups: programs use `Params::choose`, or any preset.
    let params = Params::preset(Preset::Insecure(Toy::Functions))?;
    let owner = ClientKey::generate(&params)?;
    let key = owner.public_key()?.to_bytes()?;
    let server = Evaluator::new(owner.evaluation_keys(&Needs::new())?)?; // sums need no keys

    // Eight providers, three questions.
    let answers = |i: usize| [i as f64, (i * 3 % 8) as f64, 10.0 - i as f64];
    let sent: Vec<Vec<u8>> =
        (0..8).map(|i| provide(&params, &key, &answers(i))).collect::<bellerophon::Result<_>>()?;

    let read = |bytes: &Vec<u8>| format::from_bytes::<Provided>(&params, bytes);
    let vectors: Vec<Provided> = sent.iter().map(read).collect::<bellerophon::Result<_>>()?;
    let means = server.mul_scalar(&server.add_many(&vectors)?, 1.0 / 8.0)?;
    let means = owner.decrypt(&server.publish(&means, 0.0..=10.0)?)?;

    assert!(means.iter().zip([3.5, 3.5, 6.5]).all(|(a, b)| (a - b).abs() < 1e-3));
    Ok(())
}
