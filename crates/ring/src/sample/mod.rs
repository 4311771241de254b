//! Samplers: uniform residues, from a generator or from a seed, secrets and errors.
//!
//! Each sampler takes a generator. The amount of randomness that it draws depends on its public
//! arguments only. The samplers of secrets and errors ([`ternary()`], [`bounded`],
//! [`ternary_fixed_weight`], [`zo`], [`Gaussian`]) neither branch on drawn values nor use them as
//! addresses, and return vectors that are overwritten on drop. The samplers of uniform residues use
//! rejection, which reveals nothing: their results are published.
//!
//! | distribution | sampler |
//! | --- | --- |
//! | uniform modulo `q` | [`fill_uniform`], [`uniform`] |
//! | the same, expanded from 32 bytes | [`fill_uniform_from_seed`], [`uniform_from_seed`] |
//! | uniform on `{-1, 0, 1}^n` | [`ternary()`] |
//! | uniform on `{-w, .., w}^n` | [`bounded`] |
//! | uniform on `{-1, 0, 1}^n` with `h` nonzero coordinates | [`ternary_fixed_weight`] |
//! | 0 with probability 1/2, -1 and 1 with 1/4 each | [`zo`] |
//! | discrete Gaussian on the integers | [`Gaussian`] |
//!
//! [`SecretRng`] is a fast generator for large amounts of randomness.

mod gaussian;
mod seeded;
mod stream;
mod ternary;
mod uniform;

pub use gaussian::Gaussian;
pub use seeded::{Seed, fill_uniform_from_seed, uniform_from_seed};
pub use stream::SecretRng;
pub use ternary::{bounded, ternary, ternary_fixed_weight, zo};
pub use uniform::{fill_uniform, uniform};

use rand::Rng;

/// 128 random bits.
fn next_u128<R: Rng + ?Sized>(rng: &mut R) -> u128 {
    (rng.next_u64() as u128) << 64 | rng.next_u64() as u128
}

/// A number in `[0, bound)`, uniform up to a bias of `bound / 2^128`, in constant time.
fn below<R: Rng + ?Sized>(bound: u64, rng: &mut R) -> u64 {
    // The top 64 bits of the 192-bit product of 128 random bits with the bound.
    let random = next_u128(rng);
    let (high, low) = ((random >> 64) as u64, random as u64);
    let carry = (low as u128 * bound as u128) >> 64;
    ((high as u128 * bound as u128 + carry) >> 64) as u64
}

#[cfg(test)]
pub(crate) mod test_statistics {
    /// Pearson's statistic of `counts` against the probabilities, as a number of standard
    /// deviations above its mean (the chi-square law has mean `k - 1`, variance `2 (k - 1)`).
    /// Cells with fewer than ten expected hits are merged into their neighbour.
    pub(crate) fn chi_square_excess(counts: &[u64], probabilities: &[f64]) -> f64 {
        let total: u64 = counts.iter().sum();
        let (mut statistic, mut cells) = (0.0, 0u32);
        let (mut seen, mut expected) = (0.0, 0.0);
        let mut rest: f64 = probabilities.iter().sum::<f64>() * total as f64;
        for (&count, &p) in counts.iter().zip(probabilities) {
            seen += count as f64;
            expected += p * total as f64;
            rest -= p * total as f64;
            if expected >= 10.0 && rest >= 10.0 {
                statistic += (seen - expected).powi(2) / expected;
                cells += 1;
                (seen, expected) = (0.0, 0.0);
            }
        }
        statistic += (seen - expected).powi(2) / expected;
        let freedom = cells as f64;
        (statistic - freedom) / (2.0 * freedom).sqrt()
    }
}
