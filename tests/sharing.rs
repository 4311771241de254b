//! Results for others than the owner of the key, and noise in front of the switch to LWE values.

mod common;

use bellerophon::{
    Error, Flooding, SharingBudget,
    ckks::{self, Interval, shadow::Shadow, sharing::NoiseBound},
    lwe::Room,
    prelude::*,
};
use common::{Party, encrypt, errors, party, sigmoid, spread};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// A quadratic in `x` that adds up correlated errors.
fn program<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> ckks::Result<A::Ciphertext> {
    let y = a.mul(x, &a.add_scalar(x, 1.0)?)?;
    a.add(&y, &y)
}

fn bound(params: &Params, count: usize) -> NoiseBound {
    let shadow = Shadow::new(params.arithmetic()).worst_case();
    let any = shadow.encrypt(&vec![0.0; count], params.levels()).unwrap();
    let any = shadow.assume_range(any, Interval::real(-1.0, 1.0).unwrap());
    shadow.noise_bound(&program(&shadow, &any).unwrap()).unwrap()
}

#[test]
fn shared_results_are_as_exact_as_they_say_and_counted() {
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().multiply(), 1);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for count in [1, 100, 1024] {
        let values = spread(count, -1.0, 1.0);
        let x = encrypt(&client, &values, -1.0..=1.0);
        let y = program(&*server, &x).unwrap();
        let bound = bound(client.params(), count);
        let mut budget = SharingBudget::new(2, 30.0).unwrap();
        let mut shared = || {
            client.decrypt_for_sharing_with(&y, &bound, &mut budget, &mut rng).inspect(|shared| {
                let expected = values.iter().map(|x| 2.0 * x * (x + 1.0));
                let (mean, max) = errors(&shared.values, expected);
                assert!(max < (-shared.bits).exp2(), "{count}: {max:e}");
                // The mean magnitude of a normal error.
                let ratio = mean / (shared.noise * (2.0 / std::f64::consts::PI).sqrt());
                assert!(count < 100 || (ratio - 1.0).abs() < 0.2, "{count}: {ratio}");
            })
        };
        let (first, second) = (shared().unwrap(), shared().unwrap());
        assert_ne!(first.values, second.values);
        assert!(first.bits == second.bits && first.bits > 4.0, "{count}: {}", first.bits);
        let spent = shared();
        assert!(matches!(spent, Err(Error::SharingSpent { queries: 2 })), "{spent:?}");
        assert_eq!(budget.left(), 0);
    }
}

#[test]
fn refused_results_cost_nothing() {
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().multiply(), 3);
    let x = encrypt(&client, &[0.5; 1024], -1.0..=1.0);
    let y = program(&*server, &x).unwrap();
    let bound = bound(client.params(), 1024);
    let mut strict = SharingBudget::new(1 << 20, 60.0).unwrap();
    let nothing = client.decrypt_for_sharing(&y, &bound, &mut strict);
    assert!(matches!(nothing, Err(Error::NothingLeft { .. })), "{nothing:?}");
    let mut budget = SharingBudget::resume(10, 30.0, 4).unwrap();
    let other = client.decrypt_for_sharing(&x, &bound, &mut budget);
    assert!(matches!(other, Err(Error::Ckks(ckks::Error::ScaleMismatch { .. }))), "{other:?}");
    let foreign = ClientKey::generate(client.params()).unwrap();
    assert!(foreign.decrypt_for_sharing(&y, &bound, &mut budget).is_err());
    assert_eq!((strict.left(), budget.left()), (1 << 20, 4));
    assert!(SharingBudget::new(0, 30.0).is_err());
    assert!(SharingBudget::resume(10, 30.0, 11).is_err());
}

/// Flooding in front of a table blurs its index by as much as is predicted, over either bridge, and much
/// more than noise does without.
#[test]
fn flooded_look_ups_err_as_predicted() {
    let terms = Flooding::new(4, 34.0).unwrap();
    let domain = -4.0..=4.0;
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().map(), 4);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for count in [64, 700] {
        let values = spread(count, -4.0, 4.0);
        let x = encrypt(&client, &values, domain.clone());
        let y = server.map_flooded_with(&x, domain.clone(), sigmoid, &terms, &mut rng).unwrap();
        let found = client.decrypt(&y).unwrap();
        let (mean, max) = errors(&found, values.iter().map(|&v| sigmoid(v)));
        let params = client.params();
        let flooded = params.map_accuracy_flooded(domain.clone(), sigmoid, &terms, count).unwrap();
        let plain = params.map_accuracy(domain.clone(), sigmoid).unwrap();
        let ratio = mean / flooded.mean_abs();
        let slack = (5.0 / (count as f64).sqrt()).clamp(0.2, 0.6);
        assert!((ratio - 1.0).abs() < slack, "{count}: {ratio}");
        assert!(max < flooded.max_abs(100 * count), "{count}: {max}");
        let (with, without) = (flooded.mean_abs(), plain.mean_abs());
        assert!(with > 1.5 * without, "{count}: {with} {without}");
    }
}

/// The noise of extracted values is what they say, nearly all of it flooding.
#[test]
fn flooded_values_carry_their_noise() {
    let terms = Flooding::new(1, 30.0).unwrap();
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().map(), 6);
    let values = spread(1000, -4.0, 4.0);
    let x = encrypt(&client, &values, -4.0..=4.0);
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let quiet = server.extract(&x, -4.0..=4.0).unwrap();
    let flooded =
        server.extract_flooded_with(&x, -4.0..=4.0, Room::TABLE, &terms, &mut rng).unwrap();
    let found = client.decrypt_values(&flooded).unwrap();
    let square: f64 = found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum();
    let ratio = square / 1000.0 / flooded.variance();
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
    assert!(flooded.variance() > 100.0 * quiet.variance());
    // Noise as wide as the table is refused.
    let wide = Flooding::new(1 << 20, 90.0).unwrap();
    assert!(server.extract_flooded(&x, -4.0..=4.0, Room::TABLE, &wide).is_err());
    assert!(server.map_flooded(&x, -4.0..=4.0, f64::abs, &wide).is_err());
}

/// What a program leaves behind the values of a vector is gone before it is handed on.
#[test]
fn padding_is_cleared_before_release() {
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().map(), 8);
    let x = encrypt(&client, &[0.5, -0.25, 1.0], -1.0..=1.0);
    let all = |y: &Ciphertext| client.decrypt(&y.clone().with_len(4).unwrap()).unwrap();
    for (y, left) in [
        (server.add_scalar(&x, 2.0).unwrap(), 2.0),
        // The middle of the range of exp on the domain.
        (server.map(&x, -1.0..=1.0, f64::exp).unwrap(), 1.0f64.cosh()),
    ] {
        assert!((all(&y)[3] - left).abs() < 0.2, "{:?}", all(&y));
        let cleared = server.clear_padding(&y).unwrap();
        assert_eq!((cleared.len(), cleared.level()), (3, y.level() - 1));
        let (before, after) = (all(&y), all(&cleared));
        assert!(after[3].abs() < 1e-4, "{after:?}");
        assert!(before[..3].iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

/// What SECURITY.md says of a product of two fresh vectors with values up to 1.
#[test]
fn what_sharing_leaves_of_a_product_at_full_size() {
    let params = Params::preset(Preset::Functions).unwrap();
    let shadow = Shadow::new(params.arithmetic()).worst_case();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    for (count, expected) in [(1 << 14, 3.3), (16, 8.6)] {
        let fresh = || shadow.encrypt(&vec![0.0; count], params.levels());
        let [x, y] = [fresh(), fresh()].map(|v| shadow.assume_range(v.unwrap(), unit));
        let bound = shadow.noise_bound(&shadow.mul(&x, &y).unwrap()).unwrap();
        let terms = Flooding::new(1, 30.0).unwrap();
        let bits = -ckks::sharing::Predicted::new(&bound, &terms).worst(-20.0).log2();
        assert!((bits - expected).abs() < 0.1, "{count}: {bits}");
    }
}
