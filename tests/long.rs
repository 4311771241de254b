//! Full-size runs that take minutes: `cargo test --release -p bellerophon --features long-tests`.
#![cfg(feature = "long-tests")]

mod common;

use bellerophon::{Bridge, MapEngine, prelude::*};
use common::{Party, check_map, encrypt, errors, party, relu, sigmoid, spread};

#[test]
fn a_thousand_values_and_a_full_vector() {
    let party = party(Preset::Functions, &Needs::new().map(), 2);
    check_map(&party, 1024, f64::tanh, 6.0, 2.75);
    check_map(&party, party.client.params().slots(), sigmoid, 7.5, 4.5);
}

#[test]
fn the_linear_bridge_keeps_its_promises() {
    let party = party(Preset::Functions, &Needs::new().map_over(Bridge::Linear), 2);
    let law = |bridge| {
        let params = party.client.params();
        let law = params.map_accuracy_over(bridge, MapEngine::Auto, -8.0..=8.0, f64::tanh);
        law.unwrap().mean_abs()
    };
    // What the second key switch of the values adds shows in the prediction, and little of it.
    assert!(
        law(Bridge::Linear) > law(Bridge::Ring) && law(Bridge::Linear) < 1.3 * law(Bridge::Ring)
    );
    let values = spread(150, -8.0, 8.0);
    let x = encrypt(&party.client, &values, -8.0..=8.0);
    let y = party.server.map_over(&x, -8.0..=8.0, f64::tanh).unwrap();
    let (mean, _) = errors(&party.client.decrypt(&y).unwrap(), values.iter().map(|v| v.tanh()));
    let ratio = mean / law(Bridge::Linear);
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
}

#[test]
fn the_fine_preset_keeps_its_promises() {
    let party = party(Preset::FunctionsFine, &Needs::new().map(), 3);
    check_map(&party, 256, f64::tanh, 9.0, 4.5);
    check_map(&party, 256, relu, 7.0, 4.5);
}

#[test]
fn the_precise_preset_keeps_its_promises() {
    let party = party(Preset::FunctionsPrecise, &Needs::new().map(), 3);
    check_map(&party, 256, f64::tanh, 10.0, 5.5);
    check_map(&party, 256, relu, 8.0, 5.5);
}

#[test]
fn the_dense_twin_keeps_its_promises() {
    let party = party(Preset::FunctionsDense, &Needs::new().map(), 3);
    check_map(&party, 150, sigmoid, 7.5, 5.0);
    check_map(&party, 150, f64::tanh, 6.0, 2.75);
    check_map(&party, 150, relu, 6.0, 2.75);
}

#[test]
fn the_fine_and_precise_dense_twins_keep_their_promises() {
    for (preset, bits) in
        [(Preset::FunctionsFineDense, [7.0, 3.75]), (Preset::FunctionsPreciseDense, [8.0, 4.75])]
    {
        let party = party(preset, &Needs::new().map(), 3);
        check_map(&party, 100, f64::tanh, bits[0], bits[1]);
    }
}

/// The figures in the documentation of both presets that refresh, one after the other: either takes
/// more than 6 GiB.
#[test]
fn a_full_vector_is_refreshed_to_the_documented_precision() {
    check_refresh(Preset::Bootstrapping, 9, [-28.0, -24.5]);
    check_refresh(Preset::BootstrappingDense, 11, [-24.5, -21.0]);
}

/// Refreshes values in all slots: gains `levels`, and `log2` of the worst error lies between the
/// bounds, its mean where it is predicted.
fn check_refresh(preset: Preset, levels: usize, worst_bits: [f64; 2]) {
    let party = party(preset, &Needs::new().refresh(), 4);
    let params = party.client.params();
    let bootstrapper = params.bootstrapper().unwrap();
    let values = spread(params.slots(), -1.0, 1.0);
    let x = encrypt(&party.client, &values, -1.0..=1.0);
    let low = party.server.drop_to_level(&x, bootstrapper.input_level()).unwrap();
    let fresh = party.server.refresh(&low).unwrap();
    assert_eq!(fresh.level() - low.level(), levels);
    assert_eq!(fresh.account(), bootstrapper.refreshed(&low.account()).unwrap());
    let found = party.client.decrypt(&fresh).unwrap();
    let (mean, worst) = errors(&found, values.iter().copied());
    let squares: f64 = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
    let rms = (squares / values.len() as f64).sqrt();
    let predicted = fresh.noise();
    let bits = [mean, worst, rms, predicted].map(f64::log2);
    eprintln!(
        "error: mean 2^{:.2}, worst 2^{:.2}, rms 2^{:.2}; predicted deviation 2^{:.2}",
        bits[0], bits[1], bits[2], bits[3]
    );
    let [least, most] = worst_bits;
    assert!(bits[1] > least && bits[1] < most, "worst 2^{}", bits[1]);
    let biased = bootstrapper.approximation_error();
    assert!(rms < 1.5 * predicted + biased && 4.0 * rms > predicted, "rms 2^{}", bits[2]);
}

/// `x <- 1 - 0.7 x^2` a hundred times, with a range stated in each step and refreshing as it is needed:
/// the error is that of the map, which contracts, and its prediction is reported and refuses nothing.
#[test]
fn a_hundred_steps_with_a_stated_range() {
    let needs = Needs::new().multiply().refresh();
    let Party { client, server } = party(Preset::ToyBootstrapping, &needs, 9);
    let server = server.refreshing_by_itself().unwrap();
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
                    "{count} values, step {step}: error {mean:.1e} on average, {worst:.1e} at most; \
                     predicted {:.1e}, beyond the range {:.1e}",
                    x.noise(),
                    x.excess()
                );
                assert!(worst < 1e-6 && worst < 7.0 * x.noise(), "step {step}: {worst:e}");
            }
        }
        let refreshes =
            server.failures().log2() - client.params().bootstrapper().unwrap().spec().log2_failure;
        assert!(refreshes.exp2() > 50.0, "{refreshes}");
    }
}
