//! Bounds on the modulus: the rules for reading the tables of the lattice estimator
//! (`security_table`).
//!
//! The values were computed with the lattice estimator of Albrecht et al., commit 27a581bb
//! (2026-06-06). "Default" is its default cost model (MATZOV): the minimum over usvp, bdd and dual
//! hybrid, and for sparse secrets also over the hybrid attacks with and without meet-in-the-middle.
//! "Classical" is the sieve model BDGL16, in which most published "128-bit" sets are measured. The
//! values are estimates, not proofs.
//!
//! The keys of this library are ring encryptions, and the rotations of a sparse ring secret give a
//! hybrid attack more targets: eprint 2026/279 and 2026/366, of which the estimator knows nothing.
//! The bounds for sparse secrets are the smaller ones of the estimator and of the published tables
//! for that attack (docs/security/parameters.md has both).
//!
//! Rules:
//! - The dimension is `rank * N`. The modulus is the largest one under which anything encrypted
//!   with the secret is published, including special primes and gadget factors.
//! - Between rows the bound is linear in the dimension and rounded down. For sparse secrets it is
//!   the smaller of the neighbouring entries, less one bit of margin.
//! - An error wider than `sigma = 3.2` allows `log2(sigma / 3.2) - 1` more bits of modulus.
//! - Nothing is extrapolated: there is no bound outside the tables, and such a set is refused.
//! - NTRU keys have their own table ([`ntru_max_log2_modulus`]) and two bits of margin.

mod ntru;
mod security_table;

use std::fmt;

#[cfg(doc)]
use bellerophon_ring::ErrorKind;
use bellerophon_ring::Result;

pub use ntru::{NTRU_MARGIN, NTRU_TERNARY_SIGMA, ntru_estimate_bits, ntru_max_log2_modulus};
pub use security_table::TABLE_SIGMA;

use crate::error;
use security_table::{LWE_TERNARY, SPARSE, SPARSE_WEIGHTS, TERNARY, interpolate};

/// The distribution of a secret key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// Every coefficient uniform in `{-1, 0, 1}`.
    Ternary,
    /// Exactly this many nonzero coefficients, each `1` or `-1`, over all `rank * N` coefficients
    /// of the secret together.
    Sparse(usize),
    /// Every coefficient uniform in `{-w, .., w}`. For LWE secrets only: module parameters refuse
    /// it.
    ///
    /// All estimates treat it as uniform ternary. For `w = 1 mod 3` it is provably no weaker at the
    /// same noise: adding `3 r` to a ternary secret, with `r` uniform in
    /// `{-(w - 1) / 3, .., (w - 1) / 3}`, gives a secret of this kind, and maps samples of one to
    /// samples of the other. For other `w` the estimated attacks gain nothing from a secret with
    /// larger coefficients.
    Bounded(u32),
}

impl SecretKind {
    /// The expected `|s|^2` of a secret with `dimension` coefficients.
    pub fn expected_norm2(self, dimension: usize) -> f64 {
        match self {
            Self::Ternary => dimension as f64 * 2.0 / 3.0,
            Self::Sparse(weight) => weight as f64,
            Self::Bounded(w) => dimension as f64 * f64::from(w) * (f64::from(w) + 1.0) / 3.0,
        }
    }

    /// Whether a stored secret may be of this kind. Its coefficients must be within the bound. Its
    /// number of nonzero coefficients must equal the weight of a sparse secret, or be within eight
    /// standard deviations of the mean for the other kinds. Constant-time: every coefficient is
    /// read, and only the answer depends on them.
    pub fn may_be(self, secret: &[i64]) -> bool {
        // The largest magnitude of a coefficient of this kind.
        let bound = match self {
            Self::Ternary | Self::Sparse(_) => 1,
            Self::Bounded(w) => w,
        };
        // Range and weight in one pass over all coefficients.
        let (beyond, weight) = secret.iter().fold((false, 0), |(beyond, weight), &c| {
            (beyond | (c.unsigned_abs() > u64::from(bound)), weight + u64::from(c != 0))
        });
        let (n, weight) = (secret.len() as f64, weight as f64);
        // The weight of n uniform coefficients is binomial with probability 1 - zero.
        let zero = 1.0 / (2.0 * f64::from(bound) + 1.0);
        let light = match self {
            Self::Sparse(needed) => weight != needed as f64,
            _ => (weight - n * (1.0 - zero)).abs() > 8.0 * (n * zero * (1.0 - zero)).sqrt(),
        };
        !beyond && !light
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ternary => f.write_str("uniform ternary"),
            Self::Sparse(weight) => write!(f, "ternary of weight {weight}"),
            Self::Bounded(w) => write!(f, "uniform from -{w} to {w}"),
        }
    }
}

/// The security level that a parameter set must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Security {
    /// At least 128 bits under the estimator's default cost model: the default of this library.
    #[default]
    Bits128,
    /// At least 128 bits under BDGL16, the model of the homomorphic encryption standard: for
    /// comparison with other libraries, whose "128-bit" sets use it. Uniform ternary secrets only.
    Bits128Classical,
    /// No check. For tests, and for comparison with published sets.
    Insecure,
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Security {
    /// The name in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bits128 => "128 bits (default model)",
            Self::Bits128Classical => "128 bits (classical model BDGL16)",
            Self::Insecure => "no security",
        }
    }
}

/// A column of the table for uniform ternary secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// 110 bits, default model: for reports on sets below 128 bits.
    Bits110,
    /// 128 bits, default model.
    Bits128,
    /// 192 bits, default model.
    Bits192,
    /// 256 bits, default model.
    Bits256,
    /// 128 bits, BDGL16.
    Bits128Classical,
}

/// Bits of modulus that an error wider than [`TABLE_SIGMA`] allows in addition: `log2(sigma / 3.2)`
/// less one bit of margin, never negative. `None` below 3.2, where no table applies.
pub fn sigma_allowance(sigma: f64) -> Option<f64> {
    // NaN compares false and gives `None`.
    (sigma >= TABLE_SIGMA).then(|| ((sigma / TABLE_SIGMA).log2() - 1.0).max(0.0))
}

/// The largest `log2(QP)` at `sigma = 3.2` for a secret of `dimension = rank * N` coefficients.
///
/// `None` outside the tables: dimensions outside 1024..=131072 (65536 for sparse secrets), weights
/// below 32 or above two thirds of the dimension, and sparse secrets under a model other than
/// [`Model::Bits128`].
pub fn max_log2_modulus(dimension: usize, secret: SecretKind, model: Model) -> Option<f64> {
    match secret {
        SecretKind::Bounded(0) => None,
        SecretKind::Ternary | SecretKind::Bounded(_) => {
            let column = match model {
                Model::Bits110 => 0,
                Model::Bits128 => 1,
                Model::Bits192 => 2,
                Model::Bits256 => 3,
                Model::Bits128Classical => 4,
            };
            // One column of the table, interpolated and rounded down.
            let rows = TERNARY.map(|(dimension, bounds)| (dimension, f64::from(bounds[column])));
            interpolate(&rows, dimension).map(f64::floor)
        }
        SecretKind::Sparse(weight) => {
            if model != Model::Bits128 || 3 * weight > 2 * dimension {
                return None;
            }
            // The bounds grow with dimension and weight, so the smaller neighbour is the one below.
            let column = SPARSE_WEIGHTS.iter().rposition(|&w| w <= weight)?;
            if dimension > SPARSE[SPARSE.len() - 1].0 {
                return None;
            }
            let (_, bounds) = SPARSE.iter().rfind(|(row, _)| *row <= dimension)?;
            (bounds[column] > 0).then(|| f64::from(bounds[column]) - 1.0)
        }
    }
}

/// The largest `log2(q / sigma)` of an LWE secret with `n` coefficients for 128 bits (default
/// model). Only the quotient matters.
///
/// Uniform ternary secrets, and wider ones, which are no easier to attack: `512 <= n <= 1536`,
/// linear between the rows and rounded down to a tenth of a bit. Sparse secrets: the ring table
/// less `log2(3.2)`, `n >= 1024`, with the margin of one bit of [`max_log2_modulus`]. `None`
/// outside the tables.
pub fn lwe_max_log2_q_over_sigma(n: usize, secret: SecretKind) -> Option<f64> {
    match secret {
        SecretKind::Bounded(0) => None,
        SecretKind::Ternary | SecretKind::Bounded(_) => {
            interpolate(&LWE_TERNARY, n).map(|x| (x * 10.0 + 1e-9).floor() / 10.0)
        }
        SecretKind::Sparse(_) => {
            max_log2_modulus(n, secret, Model::Bits128).map(|x| x - TABLE_SIGMA.log2())
        }
    }
}

/// Estimated bits of security under the default model, for reports. The estimate is conservative
/// between the columns of the tables and never exceeds them (256, or 128 for sparse secrets).
///
/// Cost times `log2 q` falls slowly as `q` grows. From a known point `(m, bits)` the estimate for a
/// larger modulus is therefore `bits * m / log2 q`, capped by the chord to the next known point.
/// Beyond the 110-bit column the exponent 1.2 keeps it conservative. Zero means that no estimate is
/// known.
pub fn estimate_bits(dimension: usize, secret: SecretKind, log2_modulus: f64, sigma: f64) -> f64 {
    // A narrower error than the table's loses its bits; a wider one gains `sigma_allowance`.
    let shift = sigma_allowance(sigma).unwrap_or((sigma / TABLE_SIGMA).log2());
    let log2_modulus = log2_modulus - shift;
    if !log2_modulus.is_finite() || log2_modulus <= 0.0 {
        return 0.0;
    }
    let bound = |model| max_log2_modulus(dimension, secret, model);
    // The table for sparse secrets has 128 bits only.
    if let SecretKind::Sparse(_) = secret {
        return bound(Model::Bits128).map_or(0.0, |m| (128.0 * m / log2_modulus).min(128.0));
    }
    // From the strongest column on, find the first bound that the modulus fits.
    let columns = [
        (256.0, Model::Bits256),
        (192.0, Model::Bits192),
        (128.0, Model::Bits128),
        (110.0, Model::Bits110),
    ];
    // (bits, m) of the next stronger column, for the chord.
    let mut stronger: Option<(f64, f64)> = None;
    for (bits, model) in columns {
        let Some(m) = bound(model) else { return 0.0 };
        if log2_modulus <= m {
            let Some((strong_bits, strong_m)) = stronger else { return bits };
            let chord = bits + (strong_bits - bits) * (m - log2_modulus) / (m - strong_m);
            return chord.min(bits * m / log2_modulus);
        }
        stronger = Some((bits, m));
    }
    stronger.map_or(0.0, |(bits, m)| bits * (m / log2_modulus).powf(1.2))
}

/// As [`estimate_bits`] for LWE: only `log2(q / sigma)` counts.
///
/// Below dimension 1024 only the 128-bit bound is known: 128 within it, zero (unknown) above it.
pub fn lwe_estimate_bits(n: usize, secret: SecretKind, log2_q_over_sigma: f64) -> f64 {
    let ring = estimate_bits(n, secret, log2_q_over_sigma + TABLE_SIGMA.log2(), TABLE_SIGMA);
    match lwe_max_log2_q_over_sigma(n, secret) {
        Some(bound) if log2_q_over_sigma <= bound => ring.max(128.0),
        _ => ring.min(128.0),
    }
}

/// The security check: `Err` unless encryptions and keys modulo `2^log2_modulus` under a secret of
/// `dimension = rank * N` coefficients have the required security.
///
/// # Errors
/// [`ErrorKind::Insecure`] for a modulus that is too large, and outside the tables.
pub fn check(
    security: Security,
    dimension: usize,
    secret: SecretKind,
    log2_modulus: f64,
    sigma: f64,
) -> Result<()> {
    let model = match security {
        Security::Insecure => return Ok(()),
        Security::Bits128 => Model::Bits128,
        Security::Bits128Classical => Model::Bits128Classical,
    };
    let (named, name) = (secret.to_string(), security.name());
    let no_estimate = |needed| error::no_estimate(dimension, named.clone(), sigma, name, needed);
    let allowance =
        sigma_allowance(sigma).ok_or_else(|| no_estimate("the tables start at sigma = 3.2"))?;
    let bound = max_log2_modulus(dimension, secret, model).ok_or_else(|| {
        no_estimate(
            "the tables cover dimensions 1024 to 131072 for uniform ternary secrets, 1024 to 65536 \
             and weights from 32 (64 below 4096) to two thirds of the dimension for sparse ones, \
             those under the default model only",
        )
    })? + allowance;
    if log2_modulus <= bound {
        return Ok(());
    }
    Err(error::insecure(dimension, named, log2_modulus, sigma, name, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_secrets_have_range_and_weight_of_their_kind() {
        let kinds = [SecretKind::Ternary, SecretKind::Sparse(40), SecretKind::Bounded(4)];
        let drawn = |w: i64| (0..999).map(|i| i % (2 * w + 1) - w).collect::<Vec<_>>();
        let light: Vec<i64> = (0..999).map(|i| i64::from(i < 40)).collect();
        let mut beyond = drawn(4);
        beyond[500] = 5;
        let secrets = [drawn(1), light, drawn(4), vec![0; 999], vec![1; 999], beyond, drawn(2)];
        let allowed = kinds.map(|kind| secrets.each_ref().map(|secret| kind.may_be(secret)));
        let no = [false; 7];
        let only = |i: usize| std::array::from_fn(|j| no[j] || i == j);
        assert_eq!(allowed, [only(0), only(1), only(2)]);
        assert!(!SecretKind::Bounded(4).may_be(&[i64::MIN; 9]));
    }

    #[test]
    fn rows_are_read_as_they_stand() {
        for (dimension, bounds) in TERNARY {
            let max = |model| max_log2_modulus(dimension, SecretKind::Ternary, model).unwrap();
            assert_eq!(max(Model::Bits110), f64::from(bounds[0]));
            assert_eq!(max(Model::Bits128), f64::from(bounds[1]));
            assert_eq!(max(Model::Bits192), f64::from(bounds[2]));
            assert_eq!(max(Model::Bits256), f64::from(bounds[3]));
            assert_eq!(max(Model::Bits128Classical), f64::from(bounds[4]));
            assert!(bounds[0] > bounds[1] && bounds[1] > bounds[2] && bounds[2] > bounds[3]);
        }
        let sparse = |n, h| max_log2_modulus(n, SecretKind::Sparse(h), Model::Bits128);
        assert_eq!(sparse(4096, 64), Some(57.0), "one bit of margin");
        assert_eq!(sparse(32768, 192), Some(738.0));
        assert_eq!(sparse(1024, 32), None);
    }

    #[test]
    fn between_rows_the_bound_is_the_safe_one() {
        let ternary = |n| max_log2_modulus(n, SecretKind::Ternary, Model::Bits128);
        assert_eq!(ternary(1536), Some(39.0)); // 39.5 rounded down
        assert_eq!(ternary(6144), Some(160.0));
        assert_eq!(ternary(49152), Some(1307.0));
        let sparse = |n, h| max_log2_modulus(n, SecretKind::Sparse(h), Model::Bits128);
        assert_eq!(sparse(6000, 100), sparse(4096, 64));
        assert_eq!(sparse(8192, 1000), sparse(8192, 512));
        assert_eq!(sparse(65536, 40_000), sparse(65536, 1024));
        for n in [0, 512, 1023, 131073, 1 << 20] {
            assert_eq!(ternary(n), None, "{n} lies outside the table");
        }
        assert_eq!(sparse(1 << 17, 128), None);
        assert_eq!(sparse(4096, 31), None);
        assert_eq!(sparse(4096, 4000), None);
        let classical = max_log2_modulus(4096, SecretKind::Sparse(64), Model::Bits128Classical);
        assert_eq!(classical, None);
    }

    #[test]
    fn lwe_bounds_follow_section_two() {
        let ternary = |n| lwe_max_log2_q_over_sigma(n, SecretKind::Ternary);
        assert_eq!(ternary(512), Some(11.7));
        assert_eq!(ternary(1024), Some(25.0));
        assert_eq!(ternary(1152), Some(28.3));
        assert_eq!(ternary(511), None);
        assert_eq!(ternary(2048), None);
        // The section states 22.3 and 23.3; a bit of margin stays.
        let sparse = |h| lwe_max_log2_q_over_sigma(1024, SecretKind::Sparse(h)).unwrap();
        assert!((sparse(128) - 21.3).abs() < 0.03);
        assert!((sparse(192) - 22.3).abs() < 0.03);
    }

    /// No figure for a wider secret is better than that of a ternary one, and none is made up.
    #[test]
    fn wider_secrets_count_as_ternary() {
        assert_eq!(
            SecretKind::Bounded(1).expected_norm2(96),
            SecretKind::Ternary.expected_norm2(96)
        );
        assert_eq!(SecretKind::Bounded(4).expected_norm2(60), 400.0);
        for w in [1, 4, 100] {
            let wide = SecretKind::Bounded(w);
            for n in [511, 512, 1000, 1024, 2048] {
                let bound = |kind| lwe_max_log2_q_over_sigma(n, kind);
                assert_eq!(bound(wide), bound(SecretKind::Ternary));
                let bits = |kind| lwe_estimate_bits(n, kind, 24.0);
                assert_eq!(bits(wide), bits(SecretKind::Ternary));
            }
        }
        assert_eq!(lwe_max_log2_q_over_sigma(1024, SecretKind::Bounded(0)), None);
        assert_eq!(lwe_estimate_bits(1024, SecretKind::Bounded(0), 20.0), 0.0);
    }

    #[test]
    fn wider_errors_buy_modulus_less_a_bit() {
        assert_eq!(sigma_allowance(3.2), Some(0.0));
        assert_eq!(sigma_allowance(5.0), Some(0.0));
        assert_eq!(sigma_allowance(3.2 * 1024.0), Some(9.0));
        assert_eq!(sigma_allowance(3.0), None);
        assert_eq!(sigma_allowance(f64::NAN), None);
    }

    /// The published tables of the hybrid attack with rotations (eprint 2026/279), by weight: no
    /// set with a sparse secret is accepted above them, nor reported with 128 bits.
    #[test]
    fn sparse_secrets_stay_below_the_rotation_attack() {
        let weights = [32, 64, 128, 192, 256, 512];
        let published = [
            (4096, [19, 58, 86, 96, 101, 104]),
            (8192, [37, 113, 167, 187, 197, 209]),
            (16384, [77, 229, 333, 370, 388, 416]),
            (32768, [162, 468, 669, 739, 774, 829]),
            (65536, [345, 961, 1351, 1481, 1553, 1659]),
        ];
        for (dimension, bounds) in published {
            for (weight, bound) in weights.into_iter().zip(bounds) {
                for more in [0, 31] {
                    let (secret, above) = (SecretKind::Sparse(weight + more), f64::from(bound));
                    let accepted = |log| check(Security::Bits128, dimension, secret, log, 3.2);
                    assert!(accepted(above + 0.01).is_err(), "{dimension} {secret}");
                    assert!(accepted(above - 1.0).is_ok(), "{dimension} {secret}");
                    assert!(estimate_bits(dimension, secret, above + 0.01, 3.2) < 128.0);
                }
            }
        }
    }

    #[test]
    fn estimates_are_monotone_and_meet_the_columns() {
        for n in [1024, 3000, 4096, 32768, 100_000] {
            let bits = |log| estimate_bits(n, SecretKind::Ternary, log, 3.2);
            let bound = |model| max_log2_modulus(n, SecretKind::Ternary, model).unwrap();
            assert_eq!(bits(bound(Model::Bits128)), 128.0);
            assert_eq!(bits(bound(Model::Bits110)), 110.0);
            assert_eq!(bits(bound(Model::Bits256)), 256.0);
            assert_eq!(bits(2.0), 256.0);
            let mut last = f64::INFINITY;
            for step in 1..400 {
                let now = bits(bound(Model::Bits110) * f64::from(step) / 200.0);
                assert!(now <= last, "dimension {n}, step {step}: {now} after {last}");
                last = now;
            }
        }
    }

    #[test]
    fn published_sets_are_not_flattered() {
        // (dimension, secret, log2 q, sigma, the estimator's own figure)
        let known = [
            (1024, SecretKind::Sparse(64), 45.0, 8192.0, 88.6),
            (4096, SecretKind::Sparse(64), 105.0, 1024.0, 102.9),
            (32768, SecretKind::Ternary, 880.0, 3.2, 126.1),
            (65536, SecretKind::Ternary, 1760.0, 3.2, 127.1),
            (49152, SecretKind::Ternary, 1210.0, 3.2, 138.9),
            (81920, SecretKind::Ternary, 2255.0, 3.2, 124.4),
            (2048, SecretKind::Ternary, 54.0, 3.2, 126.3),
        ];
        for (n, secret, log, sigma, figure) in known {
            let bits = estimate_bits(n, secret, log, sigma);
            assert!(bits < figure + 0.6 && bits > figure - 30.0, "{n} {log}: {bits} of {figure}");
        }
    }
}
