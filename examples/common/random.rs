//! Random data of the programs from a seeded generator, and the generator of secrets.

use rand::{CryptoRng, RngExt, SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;

use super::program::Failure;

pub fn seeded(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A generator for secrets, seeded by the system.
pub fn fresh() -> Result<ChaCha20Rng, Failure> {
    ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)
}

/// The numbers below `count` in random order.
pub fn shuffled(count: usize, rng: &mut ChaCha20Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        order.swap(i, rng.random_range(0..=i));
    }
    order
}

/// A normal variable of mean 0 and deviation 1, by the polar form of Box and Muller.
pub fn normal(rng: &mut impl CryptoRng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random_range(0.0..1.0f64)).ln()).sqrt();
    radius * rng.random_range(0.0..std::f64::consts::TAU).cos()
}
