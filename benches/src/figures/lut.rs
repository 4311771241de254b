//! Group `lut`: look-ups at the sizes of a preset on each engine that it has, from an LWE value to
//! an LWE value of the same secret (blind rotation, extraction, key switch): a single one, and each
//! of a batch of 64.
//!
//! `key_bytes` counts all its keys in transit: masks as seeds (which NTRU does not have), residues
//! packed; `key_memory_bytes` is the blind-rotation key in use. `error_bits_mean` is the predicted
//! mean error of a whole `map` of the sigmoid on [-8, 8], as `-log2`.

use bellerophon::ckks::KeyId;
use bellerophon::lwe::{
    self, Ciphertext, Evaluator as LookUp, SecretKey, SeededLookupKeys, TableDomain,
    TestPolynomial, encrypt,
};
use bellerophon::{Engine, prelude::*};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::measure::Bench;
use common::program::Failure;

/// Values of the batch.
const BATCH: usize = 64;

/// Measures the group.
pub fn measure(bench: &mut Bench, preset: Preset) -> Result<(), Failure> {
    let params = Params::preset(preset)?;
    let lookups = params.lookups()?;
    for engine in [Engine::Rgsw, Engine::Ntru] {
        if let Ok(sizes) = lookups.on(engine) {
            measure_on(bench, &params, engine, sizes)?;
        }
    }
    Ok(())
}

fn measure_on(
    bench: &mut Bench,
    params: &Params,
    engine: Engine,
    sizes: &lwe::Params,
) -> Result<(), Failure> {
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let (q, q0) = (sizes.modulus(), *sizes.ring_modulus());
    let lwe = SecretKey::generate_lwe(sizes, rng)?;
    let ring = SecretKey::generate_ring(sizes, rng)?;
    let key = KeyId(1);
    let seeded = SeededLookupKeys::generate(sizes, &lwe, &ring, key, rng)?;
    let key_bytes = seeded.byte_len(sizes);
    let keys = seeded.expand(sizes)?;
    drop(seeded);
    let look_up = LookUp::new(sizes, &keys);

    // The time depends neither on the function nor on the guard band.
    let degree = sizes.spec().ring_degree;
    let domain = TableDomain::fit(-8.0, 8.0, degree, degree / 64)?;
    let encode = |y: f64| (y * q0.value() as f64 / 8.0).round() as i64;
    let table = TestPolynomial::new(q0, domain, sigmoid, encode)?;
    let values = (0..BATCH)
        .map(|i| {
            let phase = domain.encode(i as f64 / 4.0 - 7.5, q);
            encrypt(q, &lwe, phase, sizes.spec().sigma, rng)
        })
        .collect::<Result<Vec<Ciphertext>, _>>()?;
    let request = MapRequest::new(sigmoid).over(-8.0..=8.0).engines([engine.into()]);
    let plan = params.map_plan(&request)?;
    let error_bits_mean = plan.accuracy().expect("a plan of tables").mean_bits();

    // An operation that works once here works in the loop.
    look_up.look_up_and_switch(&values[..1], &[&table])?;
    for (name, count) in [("single", 1), ("batch64", BATCH)] {
        let name = format!("lut/{}/{name}", engine.name());
        let row = bench.time(name, count, || {
            let _ = std::hint::black_box(look_up.look_up_and_switch(&values[..count], &[&table]));
        });
        row.extra.insert("preset", params.name().into());
        row.extra.insert("key_bytes", key_bytes.into());
        row.extra.insert("key_memory_bytes", keys.rotation.memory_bytes().into());
        row.extra.insert("error_bits_mean", error_bits_mean.into());
    }
    Ok(())
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
