//! Ranks, quantiles and histograms.

use super::*;

/// Whether a quantile is as near as stated to a value of a rank as near as stated.
#[track_caller]
fn check_quantile(comparator: &Comparator, values: &[f64], q: f64, found: f64) -> f64 {
    let (ascending, n) = (sorted(values, SortOrder::Ascending), values.len() as f64);
    let rank = comparator.quantile_rank_error();
    // The quantile q' is the value with q' n values below it. For a whole q' n, any number between
    // two adjacent sorted values is a quantile.
    let place = |x: f64| ascending[(x.max(0.0) as usize).min(values.len() - 1)];
    let lo = if q <= rank { RANGE[0] } else { place(((q - rank) * n).ceil() - 1.0) };
    let hi = if q >= 1.0 - rank { RANGE[1] } else { place(((q + rank) * n).floor()) };
    let off = (lo - found).max(found - hi);
    let bound = WIDTH * comparator.error(OrderTask::Quantile { slots: SLOTS }) + 1e-6;
    assert!(off <= bound, "{q} of {ascending:?}: {found}, not in [{lo}, {hi}] +- {bound}");
    off / bound
}

#[test]
fn quantiles_of_all_data() {
    let world = World::new(9, 1, KeyLevels::default());
    for comparator in [&*COARSE, &FINE] {
        let mut nearest = f64::NEG_INFINITY;
        for n in SIZES {
            for values in data(&world, n) {
                for q in [0.0, 0.1, 0.5, 0.77, 1.0] {
                    let simulator = simulator();
                    let x = on_simulator(&simulator, &values);
                    let found = comparator.quantile(&simulator, &x, q).unwrap().reals();
                    assert!(common::max_error(&found, &vec![found[0]; n]) < 1e-9);
                    nearest = nearest.max(check_quantile(comparator, &values, q, found[0]));
                }
            }
        }
        assert!(nearest > 0.3, "the bound is loose: {nearest}");
    }
}

#[test]
fn counts_as_its_simulator() {
    let (world, eval) = world(OrderTask::Count { slots: SLOTS }.keys(BOOTSTRAPPER.output_level()));
    let values = [0.25, -0.5, 0.75, 0.75, 0.0, 0.3, 1.0, 0.1, -0.1, 0.5, -0.2];
    let (simulator, x) = (simulator(), encrypt(&world, &values));
    let v = on_simulator(&simulator, &values);
    let median = COARSE.median(&eval, &x).unwrap();
    let expected = COARSE.median(&simulator, &v).unwrap();
    let found = agree(&world, &median, &expected, &simulator);
    check_quantile(&COARSE, &values, 0.5, found[0]);
    // Of the median, as it is.
    let rank = FINE.rank(&eval, &x, &median).unwrap();
    let found = agree(&world, &rank, &FINE.rank(&simulator, &v, &expected).unwrap(), &simulator);
    assert!((found[0] - 5.0).abs() < 1.0, "{found:?}");
    // No value is within the margin, and one is equal.
    for (threshold, expected) in [(-0.3, 1.0), (0.05, 4.0), (0.25, 5.5), (-0.5, 0.5)] {
        let found = FINE.count_below(&eval, &x, threshold).unwrap();
        let simulated = FINE.count_below(&simulator, &v, threshold).unwrap();
        let found = agree(&world, &found, &simulated, &simulator);
        let bound = 11.0 * FINE.error(OrderTask::Count { slots: SLOTS }) + 1e-4;
        assert!(found.len() == 11 && (found[3] - expected).abs() <= bound, "{found:?}");
    }
    let edges = [-0.5, -0.3, 0.05, 0.4, 1.0];
    let found = FINE.histogram(&eval, &x, &edges).unwrap();
    let simulated = FINE.histogram(&simulator, &v, &edges).unwrap();
    let found = agree(&world, &found, &simulated, &simulator);
    let bound = 22.0 * FINE.error(OrderTask::Count { slots: SLOTS }) + 1e-4;
    assert!(common::max_error(&found, &[1.0, 3.0, 3.0, 4.0]) <= bound, "{found:?}");
}

/// Draws of a single number whose error is compared with its prediction.
#[cfg(feature = "long-tests")]
const DRAWS: usize = 6;

#[cfg(feature = "long-tests")]
#[test]
fn undecided_medians_have_the_predicted_noise() {
    let (world, eval) = world(OrderTask::Count { slots: SLOTS }.keys(BOOTSTRAPPER.output_level()));
    let simulator = simulator();
    // Values in equal distances on either side of the middle: the noise of the counts is all that
    // decides.
    let halves = [-0.25, 0.75, 0.0, 0.5];
    let expected_half = FINE.median(&simulator, &on_simulator(&simulator, &halves)).unwrap();
    // The result is a single number, in all slots with one error: the root mean square of
    // independent draws is near the prediction, where a single draw may be near zero.
    let (mut squares, mut deviation) = (0.0, 0.0);
    for _ in 0..DRAWS {
        let undecided = FINE.median(&eval, &encrypt(&world, &halves)).unwrap();
        // The prediction is larger than what `agree` takes.
        assert_eq!(undecided.metadata(), *expected_half.metadata());
        let found_half: Vec<f64> = world.decrypt(&undecided);
        let error = common::max_error(&found_half, &expected_half.reals());
        squares += error * error;
        deviation = undecided.metadata().noise();
        check_quantile(&FINE, &halves, 0.5, found_half[0]);
    }
    let ratio = (squares / DRAWS as f64).sqrt() / deviation;
    println!("median without a decision: {ratio} of the deviation {deviation:e}");
    // The prediction is an upper estimate, far above the error of these draws.
    assert!((1.0 / 2048.0..2.0).contains(&ratio), "{ratio} of {deviation:e}");
}

/// Bins of any number, beyond the range and inside it; values on an edge are halved, and nothing is
/// lost.
#[test]
fn histograms_count_every_value_once() {
    let world = World::new(9, 1, KeyLevels::default());
    for n in SIZES {
        for values in data(&world, n) {
            let cases: [&[f64]; 5] = [
                &[-1.0, 2.0],
                &[-0.5, 1.0],
                &[-0.5, 0.3, 0.31, 1.0],
                &[-0.25, 0.0, 0.25, 0.5],
                &[
                    -1.0, -0.75, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0,
                    3.0,
                ],
            ];
            for edges in cases {
                let simulator = simulator();
                let x = on_simulator(&simulator, &values);
                let found = FINE.histogram(&simulator, &x, edges).unwrap().reals();
                let bins = edges.len() - 1;
                assert_eq!(found.len(), bins);
                for (i, found) in found.iter().enumerate() {
                    let (lo, hi) = (edges[i], edges[i + 1]);
                    let closed = i + 1 == bins && hi >= RANGE[1];
                    let inside = |v: &&f64| **v >= lo && (**v < hi || (closed && **v == hi));
                    let near = |v: &&f64| {
                        let near = |edge: f64| {
                            edge > RANGE[0] && (**v - edge).abs() < FINE.margin() * WIDTH * 1.02
                        };
                        near(lo) || (near(hi) && !closed)
                    };
                    let exact = values.iter().filter(inside).count() as f64;
                    let close = values.iter().filter(near).count() as f64;
                    let bound = close / 2.0
                        + 2.0 * n as f64 * FINE.error(OrderTask::Count { slots: SLOTS })
                        + 1e-9;
                    assert!(
                        (found - exact).abs() <= bound,
                        "{found} {exact} of {values:?} {edges:?}"
                    );
                }
                if edges[0] <= RANGE[0] && edges[bins] >= RANGE[1] {
                    assert!((found.iter().sum::<f64>() - n as f64).abs() < 1e-9, "{found:?}");
                }
            }
        }
    }
    // A value on an edge: half in either bin, which is the bound.
    let simulator = simulator();
    let found =
        FINE.histogram(&simulator, &on_simulator(&simulator, &[0.25]), &[-0.5, 0.25, 1.0]).unwrap();
    assert!(common::max_error(&found.reals(), &[0.5, 0.5]) < 1e-9);
}

/// Counts of declared integers round to those of the plain ones, wherever edges and thresholds lie,
/// and an edge belongs to the bin above it.
#[test]
fn counts_of_integers_are_exact() {
    let fine = FINE.clone().of_integers();
    let data = [31.0, 44.0, 52.0, 40.0, 61.0, 47.0, 95.0, 56.0, 60.0, 0.0, 128.0];
    let cases: [(&[f64], &[f64]); 5] = [
        (&[0.0, 40.0, 60.0, 128.0], &[2.0, 5.0, 4.0]),
        (&[-1.0, 31.0, 31.5, 32.0, 200.0], &[1.0, 1.0, 0.0, 9.0]),
        (&[0.0, 128.0], &[11.0]),
        (&[0.5, 1.0, 127.9], &[0.0, 9.0]),
        (&[60.0, 61.0, 127.0, 128.0, 129.0], &[1.0, 2.0, 0.0, 1.0]),
    ];
    let rounded = |values: Vec<f64>| {
        values.iter().for_each(|v| assert!((v - v.round()).abs() < 0.25, "{values:?}"));
        values.iter().map(|v| v.round()).collect::<Vec<_>>()
    };
    let simulator = simulator();
    let whole = Interval::real(0.0, 128.0).unwrap();
    let level = BOOTSTRAPPER.output_level();
    let x = simulator.encrypt(&data, whole, level).unwrap();
    for (edges, expected) in cases {
        let found = fine.histogram(&simulator, &x, edges).unwrap();
        assert_eq!(rounded(found.reals()), expected, "{edges:?}");
    }
    for threshold in [0.5, 1.0, 40.0, 40.5, 41.0, 60.0, 128.0] {
        let expected = data.iter().filter(|v| **v < threshold).count() as f64;
        let found = fine.count_below(&simulator, &x, threshold).unwrap();
        assert_eq!(rounded(found.reals()), [expected; 11], "{threshold}");
    }
    for value in data {
        let expected = data.iter().filter(|v| **v < value).count() as f64;
        let alone = simulator.encrypt(&[value], whole, level).unwrap();
        let found = fine.rank(&simulator, &x, &alone).unwrap();
        assert_eq!(rounded(found.reals()), [expected; 11], "{value}");
    }

    // On ciphertexts.
    let (world, eval) = world(OrderTask::Count { slots: SLOTS }.keys(level));
    let encoder = bellerophon_ckks::Encoder::new(&world.params);
    let plain = encoder.encode(&data, whole, PARAMS.scale(), PARAMS.limbs_at(level)).unwrap();
    let rng = &mut *world.rng.borrow_mut();
    let x = bellerophon_ckks::encrypt(&world.params, &plain, &world.secret, rng).unwrap();
    let (edges, expected) = cases[0];
    let found: Vec<f64> = world.decrypt(&fine.histogram(&eval, &x, edges).unwrap());
    assert_eq!(rounded(found), expected);
    // Without the statement, those at an edge count one half in both bins.
    let halves = simulator.encrypt(&data, whole, level).unwrap();
    let found = FINE.histogram(&simulator, &halves, edges).unwrap().reals();
    assert!(common::max_error(&found, &[2.5, 5.0, 3.5]) < 0.1, "{found:?}");
}

#[test]
fn integers_that_are_not_told_apart_are_refused() {
    let simulator = simulator();
    let within = |hi: f64, len: usize| {
        let range = Interval::real(0.0, hi).unwrap();
        simulator.encrypt(&vec![1.0; len], range, BOOTSTRAPPER.output_level()).unwrap()
    };
    let coarse = COARSE.clone().of_integers();
    // The margin of 1/16 tells integers up to 7 apart.
    let found = coarse.histogram(&simulator, &within(7.0, 4), &[0.0, 2.0, 7.0]).unwrap();
    assert!(common::max_error(&found.reals(), &[4.0, 0.0]) < 0.25);
    let (x, value) = (within(8.0, 4), within(8.0, 1));
    for error in [
        coarse.histogram(&simulator, &x, &[0.0, 2.0, 8.0]).unwrap_err(),
        coarse.count_below(&simulator, &x, 2.0).unwrap_err(),
        coarse.rank(&simulator, &x, &value).unwrap_err(),
    ] {
        assert!(
            error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("4 integers of [0.0, 8.0]") && text.contains("Sign::new(1.0, 0.03125,")
        );
    }
    // The errors of 16 integers add up to more than 1/4.
    let sign = Sign::of_degrees(1.0, 0.25, &[3, 3]).unwrap();
    assert!(sign.error() > 1.0 / 64.0, "{sign}");
    let rough = Comparator::of(sign).unwrap().of_integers();
    let error = rough.count_below(&simulator, &within(1.0, 16), 1.0).unwrap_err();
    assert!(error.to_string().contains("an error up to 1.56"), "{error}");
}
