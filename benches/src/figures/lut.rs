//! Group `lut`: look-ups at the sizes of a preset on each engine that it has, from an LWE value to
//! an LWE value of the same secret (blind rotation, extraction, key switch): a single one, and each
//! of a batch of 64; and the key switch alone.
//!
//! `key_bytes` counts all its keys in transit: masks as seeds (which NTRU does not have), residues
//! packed; `key_memory_bytes` is the blind-rotation key in use. `error_bits_mean` is the predicted
//! mean error of a whole `map` of the sigmoid on [-8, 8], as `-log2`. `engines` compares gadgets
//! and sizes.

use bellerophon::lwe::{
    Ciphertext, Evaluator as LookUp, SecretKey, SeededLookupKeys, TableDomain, TestPolynomial,
    encrypt, switch_modulus,
};
use bellerophon::mlwe::KeyId;
use bellerophon::{Engine, prelude::*};
use common::program::Failure;
use common::random::seeded;

use crate::engines::sigmoid;
use crate::measure::Bench;

/// Values of the batch.
const BATCH: usize = 64;

/// Measures the group.
pub fn measure(bench: &mut Bench, preset: Preset) -> Result<(), Failure> {
    let params = Params::preset(preset)?;
    for engine in [Engine::Rgsw, Engine::Ntru] {
        if params.lookups()?.on(engine).is_ok() {
            measure_on(bench, &params, engine)?;
        }
    }
    Ok(())
}

fn measure_on(bench: &mut Bench, params: &Params, engine: Engine) -> Result<(), Failure> {
    let sizes = params.lookups()?.on(engine)?;
    let rng = &mut seeded(1);
    let (q, q0) = (sizes.modulus(), *sizes.ring_modulus());
    let lwe = SecretKey::generate_lwe(sizes, rng)?;
    let ring = SecretKey::generate_ring(sizes, rng)?;
    let seeded = SeededLookupKeys::generate(sizes, &lwe, &ring, KeyId(1), rng)?;
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
    let request = MapRequest::new(sigmoid).over(-8.0..=8.0).engines([engine]);
    let plan = params.map_plan(&request)?;
    let error_bits_mean = plan.accuracy().expect("a plan of tables").mean_bits();

    let name = |what: &str| format!("lut/{}/{what}", engine.name());
    for (what, count) in [("single", 1), ("batch64", BATCH)] {
        let some = &values[..count];
        let timed =
            bench.time(name(what), count, || look_up.look_up_and_switch(some, &[&table]))?;
        bench.rows.push(
            timed
                .row
                .with("preset", params.name())
                .with("key_bytes", key_bytes)
                .with("key_memory_bytes", keys.rotation.memory_bytes())
                .with("error_bits_mean", error_bits_mean),
        );
    }
    let value = switch_modulus(&look_up.look_up(&values[..1], &[&table])?[0], q);
    let timed = bench.time(name("key_switch"), 1, || keys.switch.apply(sizes, &value))?;
    bench.rows.push(timed.row.with("preset", params.name()));
    Ok(())
}
