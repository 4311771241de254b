//! The whole path, from slots through tables and back, in toy dimensions.

use bellerophon::prelude::*;
use bellerophon::{Error, ckks};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

struct Party {
    client: ClientKey,
    server: Evaluator,
}

fn party(preset: Preset, needs: Needs, seed: u64) -> Party {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = Params::preset(preset).unwrap();
    let client = ClientKey::generate_with(&params, &mut rng).unwrap();
    let keys = client.evaluation_keys_with(&needs, &mut rng).unwrap();
    Party { client, server: Evaluator::new(keys).unwrap() }
}

fn spread(count: usize, lo: f64, hi: f64) -> Vec<f64> {
    (0..count).map(|i| lo + (hi - lo) * ((i * 7919) % count) as f64 / count as f64).collect()
}

fn worst(found: &[f64], expected: impl Iterator<Item = f64>) -> f64 {
    found.iter().zip(expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[test]
fn functions_of_vectors_of_any_length() {
    let Party { client, server } = party(Preset::ToyInsecure, Needs::new().multiply().map(), 1);
    let accuracy = server.map_accuracy(-8.0..=8.0, sigmoid).unwrap();
    for count in [1, 3, 64, 65, 150, 1024] {
        let values = spread(count, -8.0, 8.0);
        let x = client.encrypt_in(&values, -8.0..=8.0).unwrap();
        let y = server.map(&x, -8.0..=8.0, sigmoid).unwrap();
        assert_eq!(y.len(), count);
        assert_eq!(y.level(), client.params().level_after_map());
        let found = client.decrypt(&y).unwrap();
        let error = worst(&found, values.iter().map(|&v| sigmoid(v)));
        eprintln!("{count}: {error} predicted {}", accuracy.max_abs(count));
        assert!(error < 1.5 * accuracy.max_abs(100 * count), "{count}: {error}");
    }
}

#[test]
fn a_function_of_a_function_with_arithmetic_between() {
    let Party { client, server } = party(Preset::ToyInsecure, Needs::new().multiply().map(), 2);
    let values = spread(100, -2.0, 2.0);
    let x = client.encrypt_in(&values, -2.0..=2.0).unwrap();
    let y = server.map(&x, -2.0..=2.0, f64::exp).unwrap();
    let z = server.add_scalar(&server.square(&y).unwrap(), 1.0).unwrap();
    let w = server.map(&z, 0.0..=60.0, f64::sqrt).unwrap();
    let found = client.decrypt(&w).unwrap();
    let error = worst(&found, values.iter().map(|v| ((2.0 * v).exp() + 1.0).sqrt()));
    assert!(error < 0.5, "{error}");
}

#[test]
fn refusals_say_why() {
    let Party { client, server } = party(Preset::ToyInsecure, Needs::new().map(), 3);
    let x = client.encrypt_in(&[1.0, 9.0], -10.0..=10.0).unwrap();
    let outside = server.map(&x, -8.0..=8.0, f64::abs);
    assert!(matches!(outside, Err(Error::OutsideDomain { op: "map", .. })));
    let low = server.drop_to_level(&x, 1).unwrap();
    let levels = server.map(&low, -10.0..=10.0, f64::abs);
    assert!(matches!(
        levels,
        Err(Error::Ckks(ckks::Error::OutOfLevels { needed: 2, left: 1, .. }))
    ));
    let other = party(Preset::ToyInsecure, Needs::new(), 4);
    let y = other.client.encrypt(&[1.0]).unwrap();
    let needs = other.server.map(&y, -8.0..=8.0, f64::abs);
    assert!(matches!(needs, Err(Error::MissingKeys { need: "map", .. })));
    assert!(server.map(&y, -8.0..=8.0, f64::abs).is_err());
    assert!(matches!(server.map(&x, 3.0..=3.0, f64::abs), Err(Error::Domain { .. })));
    assert!(server.map(&x, -10.0..=10.0, f64::sqrt).unwrap_err().to_string().contains("NaN"));
    assert!(client.encrypt(&[]).is_err());
    assert!(client.encrypt(&[f64::NAN]).is_err());
    assert!(client.encrypt(&vec![0.0; 1025]).is_err());
    assert!(matches!(client.encrypt_in(&[2.0], 0.0..=1.0), Err(Error::OutsideRange { .. })));
    let contradiction = server.assume_range(&x, 20.0..=30.0);
    assert!(matches!(contradiction, Err(Error::Contradiction { .. })));
}
