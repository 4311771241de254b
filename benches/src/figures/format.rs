//! Group `format`: writing and reading objects at the set W1 (N = 2^15, 14 primes), with hashes and
//! all checks. Reading expands masks and prepares the objects for use.
//!
//! `bytes` is the size of the envelope, `mb_per_s` that size divided by the time.

use bellerophon::format;
use bellerophon_ckks::{
    Ciphertext, Encoder, Interval, Params, ParamsSpec, SeededCiphertext, encrypt, encrypt_seeded,
};
use bellerophon_mlwe::{GaloisKey, RelinKeys, SecretKey};
use bellerophon_ring::wire::Wire;

use super::measure::Bench;
use common::{program::Failure, random};

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    let spec = ParamsSpec::w1()?;
    let params = Params::new(spec)?;
    let rng = &mut random::seeded(1);
    let secret = SecretKey::generate(params.lattice(), rng)?;
    let values: Vec<f64> = (0..params.max_slots()).map(|i| (i % 17) as f64 / 16.0).collect();
    let encoder = Encoder::new(&params);
    let range = Interval::real(0.0, 1.0)?;
    let plaintext = encoder.encode(&values, range, params.scale(), params.limbs())?;

    let fresh = encrypt_seeded(&params, &plaintext, &secret, rng)?;
    both::<SeededCiphertext>(bench, "fresh_ciphertext", &params, &fresh, |read| {
        read.expand(&params).map(|_| ()).map_err(Failure::run)
    })?;
    let ct = encrypt(&params, &plaintext, &secret, rng)?;
    both::<Ciphertext>(bench, "ciphertext", &params, &ct, |_| Ok(()))?;
    let (route, limbs) = (params.relin_strategy(), params.limbs());
    let relin = RelinKeys::generate(route, &secret, limbs, rng)?;
    both::<RelinKeys>(bench, "relinearisation_key", route, &relin, |_| Ok(()))?;
    let galois = GaloisKey::generate(&secret, 5, limbs, rng)?;
    both::<GaloisKey>(bench, "galois_key", params.lattice(), &galois, |_| Ok(()))
}

/// Rows for writing an object, and for reading and preparing it.
fn both<T: Wire>(
    bench: &mut Bench,
    name: &str,
    params: &T::Params,
    object: &T,
    ready: impl Fn(&T) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let bytes = format::to_bytes(params, object)?;
    let mut outcome = Ok(());
    for direction in ["write", "read"] {
        let row = bench.time(format!("format/{direction}/{name}"), 1, || {
            let done = match direction {
                "write" => format::to_bytes(params, object).map(|_| ()).map_err(Failure::run),
                _ => match format::from_bytes::<T>(params, &bytes) {
                    Ok(read) => ready(&read),
                    Err(error) => Err(Failure::run(error)),
                },
            };
            if done.is_err() {
                outcome = done;
            }
        });
        row.extra.insert("bytes", bytes.len().into());
        let speed = bytes.len() as f64 / 1e3 / row.median_ms;
        row.extra.insert("mb_per_s", speed.round().into());
    }
    outcome
}
