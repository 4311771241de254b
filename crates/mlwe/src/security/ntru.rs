//! Bounds on the modulus of NTRU keys, which are far below those of module LWE.
//!
//! An NTRU lattice has a dense sublattice: `N` short vectors, the multiples of `(f, g)`. If the
//! modulus is large for the degree ("overstretched"), lattice reduction finds this sublattice long
//! before it finds a key. The dense sublattice attack is therefore the best one at all sizes here.
//! The values were computed with the lattice estimator as in [`security`](super), default model.

use super::{SecretKind, estimate_bits};

/// Standard deviation of a uniform ternary coefficient: `f`, and the narrowest `g` of the table.
pub const NTRU_TERNARY_SIGMA: f64 = 0.816_496_580_927_726;

/// Margin in bits of [`ntru_max_log2_modulus`] below the table: the attack is newer than those on
/// module LWE, and its estimates are less stable.
pub const NTRU_MARGIN: f64 = 2.0;

/// The widths of `g` for which the columns of [`NTRU`] were computed.
const SIGMAS: [f64; 4] = [NTRU_TERNARY_SIGMA, 3.2, 16.0, 256.0];

/// `N`, then the largest `log2 Q` for 128 bits (default model, dense sublattice attack) by the
/// width of `g`; `f` uniform ternary.
const NTRU: [(usize, [f64; 4]); 4] = [
    (1024, [20.1, 22.1, 24.4, 28.4]),
    (2048, [30.6, 32.5, 34.9, 38.9]),
    (4096, [46.1, 48.0, 50.4, 54.4]),
    (8192, [68.6, 70.5, 72.9, 76.9]),
];

/// The largest `log2 Q` of an NTRU key of degree `N` in the table at 128 bits. `f` is uniform
/// ternary, and the coefficients of `g` have standard deviation `g_sigma`. Between two columns the
/// column of the narrower `g` applies.
fn table(degree: usize, g_sigma: f64) -> Option<f64> {
    let (_, bounds) = NTRU.iter().find(|(row, _)| *row == degree)?;
    // NaN compares false and gives `None`; so does a g narrower than ternary.
    let column = SIGMAS.iter().rposition(|&sigma| sigma <= g_sigma * (1.0 + 1e-12))?;
    Some(bounds[column])
}

/// The largest `log2 Q` of an NTRU key for 128 bits (default model): `f` uniform ternary, `g` of
/// standard deviation `g_sigma`, [`NTRU_MARGIN`] bits below the table.
///
/// `None` outside the table: degrees other than 1024, 2048, 4096 and 8192, and `g` narrower than
/// uniform ternary.
pub fn ntru_max_log2_modulus(degree: usize, g_sigma: f64) -> Option<f64> {
    table(degree, g_sigma).map(|bound| bound - NTRU_MARGIN)
}

/// Estimated bits of security of an NTRU key (default model), for reports. Zero means unknown.
///
/// The table without its margin is the known point `(m, 128)`. In the overstretched regime the bits
/// fall about as `(log2 Q)^-2`, so `128 m / log2 Q` is conservative below `m` and
/// `128 (m / log2 Q)^2` above it. Below the fatigue point, `0.004 N^2.484`, the estimate stays at
/// its value there. It never exceeds the estimate for module LWE of the same size and `sigma`.
pub fn ntru_estimate_bits(degree: usize, log2_modulus: f64, g_sigma: f64) -> f64 {
    let Some(known) = table(degree, g_sigma) else { return 0.0 };
    if !log2_modulus.is_finite() || log2_modulus <= 0.0 {
        return 0.0;
    }
    let fatigue = (0.004 * (degree as f64).powf(2.484)).log2();
    let ratio = known / log2_modulus.max(fatigue);
    let dense = 128.0 * if ratio >= 1.0 { ratio } else { ratio * ratio };
    // Key recovery: f and g are narrower than the noise of the LWE table, which loses bits.
    dense.min(estimate_bits(degree, SecretKind::Ternary, log2_modulus, NTRU_TERNARY_SIGMA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_less_two_bits() {
        for (degree, bounds) in NTRU {
            for (&sigma, bound) in SIGMAS.iter().zip(bounds) {
                assert_eq!(ntru_max_log2_modulus(degree, sigma), Some(bound - 2.0));
                assert_eq!(ntru_max_log2_modulus(degree, sigma * 1.1), Some(bound - 2.0));
                // A wider g buys its bits of modulus: the quotient is what counts.
                let gained = bound - bounds[0] - (sigma / SIGMAS[0]).log2();
                assert!(gained.abs() < 0.11, "{degree} {sigma}: {gained}");
            }
        }
        assert_eq!(ntru_max_log2_modulus(4096, SIGMAS[0]), Some(44.1));
        for degree in [0, 512, 1536, 3000, 16384] {
            assert_eq!(ntru_max_log2_modulus(degree, 3.2), None, "{degree} is not in the table");
        }
        for sigma in [0.0, 0.5, f64::NAN] {
            assert_eq!(ntru_max_log2_modulus(4096, sigma), None);
        }
    }

    #[test]
    fn estimates_meet_tables_and_never_rise_with_modulus() {
        for (degree, bounds) in NTRU {
            for (&sigma, bound) in SIGMAS.iter().zip(bounds) {
                let bits = |log| ntru_estimate_bits(degree, log, sigma);
                let at_table = bits(bound);
                // A wide g does not help against key recovery, estimated as for a narrow g.
                assert!(at_table == 128.0 || sigma > 3.2 && at_table < 128.0, "{at_table}");
                let mut last = f64::INFINITY;
                for step in 1..200 {
                    let now = bits(f64::from(step) * 0.5);
                    assert!(now <= last, "{degree} {sigma} {step}: {now} after {last}");
                    last = now;
                }
            }
        }
        assert_eq!(ntru_estimate_bits(4096, f64::NAN, 3.2), 0.0);
        assert_eq!(ntru_estimate_bits(512, 10.0, 3.2), 0.0);
    }

    #[test]
    fn the_estimators_own_figures_are_not_flattered() {
        // Degree, log2 Q, the estimator's figure for ternary f and g.
        for (degree, log, figure) in [(1024, 19.9, 131.0), (2048, 54.0, 51.0), (4096, 105.0, 52.0)]
        {
            let bits = ntru_estimate_bits(degree, log, NTRU_TERNARY_SIGMA);
            assert!(bits <= figure && bits > figure - 30.0, "{degree} {log}: {bits} of {figure}");
        }
        // Moduli that module LWE allows at 128 bits are overstretched for NTRU.
        for (degree, log) in [(2048, 53.0), (4096, 106.0), (8192, 214.0)] {
            assert!(ntru_max_log2_modulus(degree, NTRU_TERNARY_SIGMA).unwrap() < log / 1.5);
            assert!(ntru_estimate_bits(degree, log, NTRU_TERNARY_SIGMA) < 60.0);
        }
    }
}
