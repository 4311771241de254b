//! Group `format`: writing and reading objects at the set W1 (N = 2^15, 14 primes), with hashes and
//! all checks. Reading expands masks and prepares the objects for use.
//!
//! `bytes` is the size of the envelope, `mb_per_s` that size divided by the time.

use bellerophon::ckks::{
    Ciphertext, KeyLevels, Params, ParamsSpec, SeededCiphertext, encrypt, encrypt_seeded,
};
use bellerophon::format;
use bellerophon::mlwe::{GaloisKey, RelinKeys};
use bellerophon::ring::wire::Wire;
use common::program::Failure;

use crate::measure::{Bench, Timed};
use crate::world::World;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    let params = Params::new(ParamsSpec::w1()?)?;
    let mut world = World::new(&params, &KeyLevels::default())?;
    let values = world.values(0.0, 1.0);
    let plain = world.encode(&values, [0.0, 1.0])?;
    let World { secret, rng, .. } = &mut world;

    let fresh = encrypt_seeded(&params, &plain, secret, rng)?;
    let expand = |read: SeededCiphertext| read.expand(&params).map(drop);
    both(bench, "fresh_ciphertext", &params, &fresh, expand)?;
    let ct = encrypt(&params, &plain, secret, rng)?;
    both(bench, "ciphertext", &params, &ct, |_: Ciphertext| Ok(()))?;
    let (route, limbs) = (params.relin_strategy(), params.limbs());
    let relin = RelinKeys::generate(route, secret, limbs, rng)?;
    both(bench, "relinearisation_key", route, &relin, |_: RelinKeys| Ok(()))?;
    let galois = GaloisKey::generate(secret, 5, limbs, rng)?;
    both(bench, "galois_key", params.lattice(), &galois, |_: GaloisKey| Ok(()))
}

/// Rows for writing an object, and for reading and preparing it.
fn both<T: Wire>(
    bench: &mut Bench,
    name: &str,
    params: &T::Params,
    object: &T,
    ready: impl Fn(T) -> bellerophon::Result<()>,
) -> Result<(), Failure> {
    let bytes = format::to_bytes(params, object)?;
    let write = bench
        .time(format!("format/write/{name}"), 1, || format::to_bytes(params, object).map(drop))?;
    let read = bench
        .time(format!("format/read/{name}"), 1, || ready(format::from_bytes(params, &bytes)?))?;
    bench.rows.extend([write, read].map(|Timed { row, ms, .. }| {
        let speed = bytes.len() as f64 / 1e3 / ms;
        row.with("bytes", bytes.len()).with("mb_per_s", speed.round())
    }));
    Ok(())
}
