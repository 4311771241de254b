//! Sizes, seeds and names that the benches share.

use std::time::Duration;

use bellerophon_ring::Ring;
use criterion::Criterion;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// The generator of every bench: the same data in every run.
pub fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(0x0062_656c_6c65_726f)
}

/// `operation/N=.../limbs=.../back end`: what a time depends on.
pub fn id(operation: &str, ring: &Ring, limbs: usize) -> String {
    let backend = ring.table(0).backend().name();
    format!("{operation}/N={}/limbs={limbs}/{backend}", ring.degree())
}

/// Few samples, for operations of milliseconds to seconds.
pub fn slow() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5))
}

/// Short measurements, for operations of microseconds.
pub fn quick() -> Criterion {
    Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
}
