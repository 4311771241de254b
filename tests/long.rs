//! Full-size runs that take minutes: `cargo test --release -p bellerophon --features long-tests`.
#![cfg(feature = "long-tests")]

mod common;

use bellerophon_circuits::bootstrap::SimulatorExt;
use std::sync::Arc;

use bellerophon::{
    Bridge, Dense, Engine, Flooding,
    circuits::bootstrap::{BootstrapSpec, Bootstrapper},
    ckks::{self, Interval, noise_flooding::Predicted, simulator::Simulator},
    lwe,
    prelude::*,
};
use common::{Party, check_map, encrypt, errors, party, relu, sigmoid, spread};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

#[test]
fn a_thousand_values_keep_the_promise_of_a_hundred() {
    let party = party(Preset::Functions, &Needs::new().map(), 2);
    check_map(&party, 1024, f64::tanh, 6.0, 2.75);
}

#[test]
fn the_linear_bridge_keeps_its_promises() {
    let party = party(Preset::Functions, &Needs::new().map().bridge(Bridge::Linear), 2);
    let law = |bridge| {
        let tanh = MapRequest::new(f64::tanh).over(-8.0..=8.0).bridge(bridge);
        common::law(party.client.params(), &tanh).mean_abs
    };
    // What the second key switch of the values adds shows in the prediction, and little of it.
    assert!(
        law(Bridge::Linear) > law(Bridge::Ring) && law(Bridge::Linear) < 1.3 * law(Bridge::Ring)
    );
    let values = spread(150, -8.0, 8.0);
    let x = encrypt(&party.client, &values, -8.0..=8.0);
    let y = party.server.map_with(&x, &MapRequest::new(f64::tanh).over(-8.0..=8.0)).unwrap();
    let (mean, _) = errors(&party.client.decrypt(&y).unwrap(), values.iter().map(|v| v.tanh()));
    let ratio = mean / law(Bridge::Linear);
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
}

#[test]
fn larger_tables_keep_their_promises() {
    for (preset, f, [mean_bits, max_bits]) in [
        (Preset::FunctionsFine, f64::tanh as fn(f64) -> f64, [9.0, 4.5]),
        (Preset::FunctionsPrecise, relu, [8.0, 5.5]),
        (Preset::Dense(Dense::FunctionsFine), f64::tanh, [7.0, 3.75]),
        (Preset::Dense(Dense::FunctionsPrecise), f64::tanh, [8.0, 4.75]),
    ] {
        check_map(&party(preset, &Needs::new().map(), 3), 100, f, mean_bits, max_bits);
    }
}

/// The figures in the documentation of both presets with bootstrapping, one after the other: each
/// takes more than 6 GiB.
#[test]
fn full_vectors_refresh_to_documented_precision() {
    check_refresh(Preset::Bootstrapping, 11, [-28.5, -25.5]);
    check_refresh(Preset::Dense(Dense::Bootstrapping), 12, [-24.5, -21.5]);
}

/// Refreshes values in all slots: gains `levels`, and `log2` of the worst error lies between the
/// bounds, its mean where it is predicted.
fn check_refresh(preset: Preset, levels: usize, worst_bits: [f64; 2]) {
    let party = party(preset, &Needs::new().bootstrap(), 4);
    let params = party.client.params();
    let bootstrapper = params.bootstrapper().unwrap();
    let values = spread(params.slots(), -1.0, 1.0);
    let x = encrypt(&party.client, &values, -1.0..=1.0);
    let low = party.server.drop_to_level(&x, bootstrapper.input_level()).unwrap();
    let fresh = party.server.bootstrap(&low).unwrap();
    assert_eq!(fresh.level() - low.level(), levels);
    assert_eq!(fresh.metadata(), bootstrapper.bootstrapped(&low.metadata()).unwrap());
    let found = party.client.decrypt(&fresh).unwrap();
    let (mean, worst) = errors(&found, values.iter().copied());
    let squares: f64 = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
    let rms = (squares / values.len() as f64).sqrt();
    let predicted = fresh.metadata().noise();
    let bits = [mean, worst, rms, predicted].map(f64::log2);
    eprintln!(
        "error: mean 2^{:.2}, worst 2^{:.2}, rms 2^{:.2}; predicted deviation 2^{:.2}",
        bits[0], bits[1], bits[2], bits[3]
    );
    let [least, most] = worst_bits;
    assert!(bits[1] > least && bits[1] < most, "worst 2^{}", bits[1]);
    let biased = bootstrapper.approximation_error();
    assert!(rms < 1.5 * predicted + biased && 2.0 * rms > predicted, "rms 2^{}", bits[2]);
    let declared = Declaration::from(-1.0..=1.0).with_noise(predicted);
    assert!(party.server.publish(&fresh, declared).is_ok());
}

/// `x <- 1 - 0.7 x^2` a hundred times, with a declared range in each step and automatic
/// bootstrapping: the error is that of the map, which contracts; its prediction is reported and
/// refuses nothing.
#[test]
fn a_hundred_steps_with_a_stated_range() {
    let needs = Needs::new().multiply().bootstrap();
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 9);
    let server = server.with_auto_bootstrap().unwrap();
    // As many values as slots, and fewer, whose padding follows the same map.
    for count in [128, 100] {
        let mut clear = spread(count, -1.0, 1.0);
        let mut x = encrypt(&client, &clear, -1.0..=1.0);
        for step in 1..=100 {
            let square = server.square(&x).unwrap();
            let next = server.mul_scalar(&square, -0.7).unwrap();
            let next = server.add_scalar(&next, 1.0).unwrap();
            x = server.assume_range(&next, -1.0..=1.0).unwrap();
            clear = clear.iter().map(|x| 1.0 - 0.7 * x * x).collect();
            if step % 20 == 0 {
                let (mean, worst) = errors(&client.decrypt(&x).unwrap(), clear.iter().copied());
                eprintln!(
                    "{count} values, step {step}: error {mean:.1e} on average, {worst:.1e} at most;\
                     predicted {:.1e}, beyond the range {:.1e}",
                    x.metadata().noise(),
                    x.metadata().excess()
                );
                assert!(
                    worst < 1e-6 && worst < 7.0 * x.metadata().noise(),
                    "step {step}: {worst:e}"
                );
            }
        }
        let refreshes =
            server.failures().log2() - client.params().bootstrapper().unwrap().spec().log2_failure;
        assert!(refreshes.exp2() > 50.0, "{refreshes}");
    }
}

/// The statements of docs/security/sharing.md about the bound on a bootstrapped vector and the
/// precision under flooding.
#[test]
fn bounds_of_a_refresh_at_full_size() {
    let params =
        ckks::Params::new(bellerophon::circuits::bootstrap::BootstrapSpec::full_size().unwrap())
            .unwrap();
    let slots = params.max_slots();
    let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(slots) };
    let bootstrapper = Arc::new(Bootstrapper::new(&params, spec).unwrap());
    let level = bootstrapper.input_level();
    let simulator = || Simulator::new(&params).with_bootstrapping(bootstrapper.clone()).unwrap();
    let (average, worst) = (simulator(), simulator().worst_case());
    let (zeros, unit) = (vec![0.0; slots], Interval::real(-1.0, 1.0).unwrap());
    let fresh = |simulator: &Simulator, range| simulator.encrypt(&zeros, range, level).unwrap();
    let expected = average.bootstrap(&fresh(&average, unit)).unwrap().metadata().noise();
    let bound = worst.noise_bound(&worst.bootstrap(&fresh(&worst, unit)).unwrap()).unwrap();
    let rms = |bits: f64, length: f64| (length / params.scale()).log2() + bits;
    assert!((expected.log2() + 29.4).abs() < 0.1, "{expected:e}");
    assert!(rms(22.9, bound.length()).abs() < 0.1, "{:e}", bound.length());
    let left = |s| -Predicted::new(&bound, &Flooding::new(1, s).unwrap()).worst(-20.0).log2();
    assert!((left(1.0) - 10.3).abs() < 0.1 && left(30.0) < 0.0, "{} {}", left(1.0), left(30.0));
    let complex = fresh(&worst, Interval::complex(1.0).unwrap());
    let twice = worst.bootstrap_iterated(&complex, 2).unwrap();
    let twice = worst.noise_bound(&twice).unwrap().length();
    assert!(rms(26.6, twice).abs() < 0.1, "{twice:e}");
}

/// Tables of 256 entries on full vectors.
#[test]
fn twenty_vectors_have_no_wrong_entry() {
    twenty_vectors(Preset::Tables(8), 8, 1 << 16);
}

/// The sets for small tables have half of the values.
#[test]
fn twenty_vectors_of_small_tables_have_no_wrong_entry() {
    for bits in [1, 4] {
        twenty_vectors(Preset::SmallTables(bits), bits, 1 << 15);
        twenty_vectors(Preset::Dense(Dense::SmallTables(bits)), bits, 1 << 15);
    }
}

/// Twenty full vectors through tables of all integers of some bits, five of each shape: random
/// entries, alternating ones, a step, and one entry among zeros. A vector is what the table made of
/// the one before, and fresh integers added, so that it has the noise of a bootstrap and all
/// values. None is wrong.
fn twenty_vectors(preset: Preset, bits: u32, count: usize) {
    let p = 1usize << bits;
    let Party { client, server } = party(preset, &Needs::new().functional(), 10);
    assert_eq!(count, 2 * client.params().slots());
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let last = p - 1;
    let mut random: Vec<usize> = (0..p).map(|_| rng.random_range(0..p)).collect();
    // Two entries differ: a constant is no table.
    random[last] = last - random[0];
    let shapes = [
        ("random", random),
        ("alternating", (0..p).map(|k| k % 2 * last).collect()),
        ("step", (0..p).map(|k| if 2 * k < p { 0 } else { last }).collect()),
        ("one entry", (0..p).map(|k| if k == p / 3 { last } else { 0 }).collect()),
    ];
    for (name, entries) in shapes {
        let table = IntTable::new(p, p, |k| entries[k]).unwrap();
        let mut before: Option<(IntVec, Vec<usize>)> = None;
        for run in 0..5 {
            let fresh: Vec<usize> = (0..count).map(|_| rng.random_range(0..p)).collect();
            let x = client.encrypt(&fresh, Modulo(p)).unwrap();
            let (x, clear) = match &before {
                None => (x, fresh),
                Some((y, found)) => {
                    let sums = fresh.iter().zip(found).map(|(x, y)| (x + y) % p);
                    (server.integers().add(&x, y).unwrap(), sums.collect())
                }
            };
            let y = server.integers().tables(&x, &[&table]).unwrap().remove(0);
            let wanted: Vec<usize> = clear.iter().map(|&k| entries[k]).collect();
            let found = client.decrypt_integers(&y).unwrap();
            let wrong = found.iter().zip(&wanted).filter(|(y, k)| y != k).count();
            let reals = client.decrypt_paired(y.values()).unwrap();
            let off = reals.iter().zip(&wanted).map(|(y, &k)| y - k as f64);
            let squares: f64 = off.clone().map(|d| d * d).sum();
            let (rms, worst) =
                ((squares / count as f64).sqrt(), off.fold(0.0, |m, d| d.abs().max(m)));
            // Of one of the two parts of a slot.
            let predicted = y.values().inner().metadata().noise() / 2f64.sqrt();
            eprintln!(
                "{name}, run {run}: {wrong} wrong, off by 2^{:.2}, at most 2^{:.2}; \
                 predicted 2^{:.2}",
                rms.log2(),
                worst.log2(),
                predicted.log2()
            );
            assert_eq!(wrong, 0, "{name}, run {run}");
            assert!(
                rms < 1.5 * predicted && 6.0 * rms > predicted,
                "{name}: {rms:e} {predicted:e}"
            );
            before = Some((y, found));
        }
    }
}

#[test]
fn preset_functions_keeps_its_promises() {
    let party = party(Preset::Functions, &Needs::new().multiply().map(), 1);
    assert!(party.client.params().security_bits() >= 128.0);
    assert!(party.client.params().slots() >= 1 << 13);
    for count in [1, 3] {
        check_map(&party, count, sigmoid, 7.5, 5.0);
    }
    check_map(&party, 150, sigmoid, 7.5, 5.0);
    check_map(&party, 150, f64::tanh, 6.0, 2.75);
    check_map(&party, 150, relu, 6.0, 2.75);

    // Two ciphertexts of the small ring full of values, out of the slots and back without a table:
    // right to 12 bits of the width, 15 in the mean.
    let values = spread(4096, -8.0, 8.0);
    let x = encrypt(&party.client, &values, -8.0..=8.0);
    let room = lwe::Headroom { terms: 2, levels: 0 };
    let out = party.server.extract_for(&x, -8.0..=8.0, room).unwrap();
    let back = party.server.pack(&out).unwrap();
    assert_eq!(back.level(), party.server.pack_level().unwrap());
    let found = party.client.decrypt(&back).unwrap();
    let (mean, max) = errors(&found, values.iter().copied());
    eprintln!("4096 values out and back: mean 2^{:.2}, max 2^{:.2}", mean.log2(), max.log2());
    assert!(max < 16.0 * 2f64.powi(-12) && mean < 16.0 * 2f64.powi(-15), "{mean:e} {max:e}");

    // A function of a function, with two multiplications between.
    let (client, server) = (&party.client, &party.server);
    let values = spread(3, -4.0, 4.0);
    let x = encrypt(client, &values, -4.0..=4.0);
    let tanh = MapRequest::new(f64::tanh).over(-4.0..=4.0);
    let y = server.map_with(&x, &tanh.engines([Engine::Rgsw])).unwrap();
    let y4 = server.square(&server.square(&y).unwrap()).unwrap();
    let root = MapRequest::new(|v| v.abs().sqrt()).over(-0.25..=1.25);
    let z = server.map_with(&y4, &root.engines([Engine::Rgsw])).unwrap();
    let found = client.decrypt(&z).unwrap();
    let (_, max) = errors(&found, values.iter().map(|v| v.tanh().powi(2)));
    assert!(max < 0.1, "{max}");
}
