//! Small insecure parameters and comparisons for the tests of this crate.

use bellerophon_ring::{Ntt, Poly, prime};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::params::{Params, ParamsSpec};
use crate::security::{SecretKind, Security};

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Primes of 45 bits for `q` and of 50 bits for `p`.
pub(crate) fn spec(degree: usize, rank: usize, limbs: usize, special: usize) -> ParamsSpec {
    let q = prime::ntt_primes_around(degree, 45, limbs, &[]).unwrap();
    let p = prime::ntt_primes_below(degree, 50, special, &q).unwrap();
    ParamsSpec {
        degree,
        rank,
        q: q.iter().map(|m| m.value()).collect(),
        p: p.iter().map(|m| m.value()).collect(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        security: Security::Insecure,
    }
}

pub(crate) fn params(degree: usize, rank: usize, limbs: usize, special: usize) -> Params {
    Params::new(spec(degree, rank, limbs, special)).unwrap()
}

/// A message with coefficients up to `2^30` that depend only on the seed.
pub(crate) fn message(params: &Params, limbs: usize, seed: u64) -> Poly<Ntt> {
    let mut state = seed.wrapping_add(99);
    let coefficients: Vec<i64> = (0..params.degree())
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state as i64) >> 33
        })
        .collect();
    let ring = params.q().at_limbs(limbs);
    ring.forward(ring.from_signed(&coefficients))
}

/// Asserts that a measured variance is within a factor of the predicted one, in both directions.
#[track_caller]
pub(crate) fn assert_close(measured: f64, predicted: f64, factor: f64) {
    assert!(
        measured < predicted * factor && measured > predicted / factor,
        "measured variance {measured}, predicted {predicted}"
    );
}

/// The largest magnitude at the primitive `2N`-th roots of unity, by direct summation.
pub(crate) fn canonical_norm(coefficients: &[f64]) -> f64 {
    let n = coefficients.len();
    let roots: Vec<(f64, f64)> =
        (0..2 * n).map(|i| (std::f64::consts::PI * i as f64 / n as f64).sin_cos()).collect();
    let value = |odd: usize| {
        let (mut re, mut im) = (0.0, 0.0);
        for (j, c) in coefficients.iter().enumerate() {
            let (sin, cos) = roots[j * odd % (2 * n)];
            re += c * cos;
            im += c * sin;
        }
        f64::hypot(re, im)
    };
    (1..n).step_by(2).map(value).fold(0.0, f64::max)
}
