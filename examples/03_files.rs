//! Parameters, keys, input and answer as files between a client and a server.
//!
//! A damaged file is refused with a message that says what is wrong. Toy parameters protect
//! nothing; a comment names the preset of real programs.

use std::fs::{self, File};
use std::path::Path;

use bellerophon::{ckks::SeededCiphertext, format, mlwe::Security, prelude::*};

/// Programs read with `Security::Bits128`, which refuses weaker sets. This set is a toy.
const SECURITY: Security = Security::Insecure;

fn ask(dir: &Path) -> Result<ClientKey, Box<dyn std::error::Error>> {
    let params = Params::preset(Preset::Insecure(Toy::Functions))?; // programs: `Preset::Functions`
    let client = ClientKey::generate(&params)?;
    fs::write(dir.join("params"), params.to_bytes()?)?;
    let keys = client.evaluation_keys(&Needs::new().multiply())?;
    keys.write_to(&mut File::create(dir.join("keys"))?)?;
    let x = client.encrypt_seeded(&[-1.5, 0.25, 3.0], -4.0..=4.0)?;
    fs::write(dir.join("input"), format::to_bytes(&params, &x)?)?;
    Ok(client) // the secret stays here; `to_secret_bytes` keeps it between runs
}

fn serve(dir: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let params = Params::from_bytes(&fs::read(dir.join("params"))?, SECURITY)?;
    let keys = EvaluationKeys::read_from(&params, &mut File::open(dir.join("keys"))?, 1 << 32)?;
    let x: SeededCiphertext = format::from_bytes(&params, &fs::read(dir.join("input"))?)?;
    let server = Evaluator::new(keys)?;
    let y = server.square(&x.expand(params.ckks())?)?;
    let answer = server.publish(&y, 0.0..=16.0)?; // the range is that of the program
    fs::write(dir.join("answer"), format::to_bytes(&params, &answer)?)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("recipe-{}", std::process::id()));
    fs::create_dir_all(&dir)?;
    let client = ask(&dir)?;
    serve(&dir)?;
    let mut bytes = fs::read(dir.join("answer"))?;
    let y: Published = format::from_bytes(client.params(), &bytes)?;
    let found = client.decrypt(&y)?;
    assert!(found.iter().zip([2.25, 0.0625, 9.0]).all(|(a, b)| (a - b).abs() < 1e-3));

    bytes[100] ^= 1; // one bit
    let refusal = format::from_bytes::<Published>(client.params(), &bytes).err().unwrap();
    assert!(refusal.to_string().contains("damaged"), "{refusal}");
    fs::remove_dir_all(&dir)?;
    Ok(())
}
