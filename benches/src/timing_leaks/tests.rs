//! The statistic of the program `timing_leaks`, and measurements of what leaks and what does not.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::measure::{Case, Measurements, Wanted};
use super::rank_test::{THRESHOLD, log2_false_alarm, signed_ranks, smallest_shift};
use crate::measure::median;

#[test]
fn signed_ranks_are_those_of_wilcoxon() {
    // Ranks 1, 2.5, 2.5, 4, with the signs +, -, +, +; a zero has none.
    let z = signed_ranks(&[1.0, -2.0, 2.0, 0.0, 7.0]);
    let expected = (1.0 - 2.5 + 2.5 + 4.0) / f64::sqrt(1.0 + 2.0 * 6.25 + 16.0);
    assert!((z - expected).abs() < 1e-12, "{z}");
    assert_eq!(signed_ranks(&[]), 0.0);
    assert_eq!(signed_ranks(&[0.0; 9]), 0.0);
}

/// Fair signs on magnitudes of a heavy tail, whose mean does not exist: the share beyond each
/// threshold is below Hoeffding's bound, and about that of a normal law.
#[test]
fn false_alarms_are_as_rare_as_stated() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let statistics: Vec<f64> = (0..4000)
        .map(|_| {
            let one = |rng: &mut ChaCha20Rng| {
                let size = 1.0 / rng.random_range(1e-9..1.0f64);
                if rng.random::<bool>() { size } else { -size }
            };
            signed_ranks(&(0..60).map(|_| one(&mut rng)).collect::<Vec<_>>())
        })
        .collect();
    for (threshold, normal) in [(1.0, 0.317), (2.0, 0.0455), (3.0, 0.0027)] {
        let beyond = statistics.iter().filter(|z| z.abs() > threshold).count() as f64 / 4000.0;
        assert!(beyond < 2.0 * f64::exp(-0.5 * threshold * threshold), "{threshold}: {beyond}");
        assert!((beyond - normal).abs() < 0.02, "{threshold}: {beyond}");
    }
    assert!(statistics.iter().all(|z| z.abs() < THRESHOLD));
    assert!(log2_false_alarm(11) < -24.0);
}

/// Nine tenths of it are not detected.
#[test]
fn smallest_shift_is_the_least_detected() {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let noise: Vec<f64> = (0..500).map(|_| rng.random_range(-100.0..100.0)).collect();
    let least = smallest_shift(&noise);
    let middle = median(noise.iter().copied());
    let shifted = |by: f64| -> Vec<f64> { noise.iter().map(|d| d - middle + by).collect() };
    assert!(signed_ranks(&shifted(least)) > THRESHOLD);
    assert!(signed_ranks(&shifted(0.9 * least)) < THRESHOLD);
    assert_eq!(smallest_shift(&noise[..9]), f64::INFINITY);
    // A coarse clock makes most differences equal: then any shift shows, and the search ends.
    let coarse: Vec<f64> = (0..500).map(|i| [0.0, 0.0, 0.0, 10.0, -10.0][i % 5]).collect();
    assert!(smallest_shift(&coarse) <= 0.01);
}

/// Work that takes longer for one class is found, in both measurements; with one class for both it
/// is not.
#[test]
fn a_loop_over_a_secret_differs() {
    for (equal, wanted) in [(false, Wanted::Different), (true, Wanted::Same)] {
        let (count, time) = (200, Duration::from_secs(20));
        let rng = ChaCha20Rng::seed_from_u64(7);
        let mut test = Measurements { count, time, equal, rng, rows: vec![] };
        let case = Case { name: "loop", classes: ["short", "long"], wanted };
        let turns = |class: usize, _: &mut ChaCha20Rng| [1_000, 100_000][class];
        test.case(case, turns, |turns| {
            (0..*turns).fold(1u64, |x, i| std::hint::black_box(x.wrapping_mul(i | 1)))
        });
        assert_eq!(test.rows[0].complaint(), None);
        assert_eq!(test.rows[0].differs(), !equal);
    }
}
