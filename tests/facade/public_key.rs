//! Many providers encrypt under the public key of one owner.

use bellerophon::format::{self};
use bellerophon::prelude::*;
use bellerophon::{Engine, ErrorKind, mlwe};
use bellerophon::{
    circuits::statistics::DataTable,
    ckks::{self, SeededCiphertext},
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Normal, Uniform};

use crate::common::{Party, errors, params_of, party};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Normal values, cut off at a range.
fn drawn(count: usize, range: (f64, f64), rng: &mut ChaCha20Rng) -> Vec<f64> {
    let (lo, hi) = range;
    let normal = Normal::new((lo + hi) / 2.0, (hi - lo) / 6.0).unwrap();
    normal.sample_iter(rng).take(count).map(|x| x.clamp(lo, hi)).collect()
}

/// The standard deviation of decrypted errors lies within a tenth of the predicted one, at every
/// level, and is that of one rounding: far above the noise under the secret key.
#[test]
fn noise_is_the_predicted_one() {
    let Party { client, .. } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 1);
    let public = client.public_key_with(&mut rng(2)).unwrap();
    let slots = client.params().slots();
    for level in [1, client.params().levels()] {
        let mut rng = rng(level as u64);
        let (mut sum, mut predicted) = (0.0, 0.0);
        let vectors = 8;
        for _ in 0..vectors {
            let values = drawn(slots, (-1.0, 1.0), &mut rng);
            let x = public.encrypt_with(&values, -1.0..=1.0, level, &mut rng).unwrap();
            assert_eq!((x.level(), x.len(), x.lattice().ident().key), (level, slots, client.id()));
            let found = client.decrypt(&x).unwrap();
            sum += found.iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            predicted = x.metadata().noise();
        }
        let measured = (sum / (vectors * slots) as f64).sqrt();
        assert!((measured / predicted - 1.0).abs() < 0.1, "{level}: {measured} {predicted}");
        let own =
            client.encrypt_with(&[0.5], -1.0..=1.0, level, &mut rng).unwrap().metadata().noise();
        let one =
            public.encrypt_with(&[0.5], -1.0..=1.0, level, &mut rng).unwrap().metadata().noise();
        assert!(one > 2.0 * own, "{one} against {own}");
    }
}

/// The noise of a sum of providers' vectors is predicted, too.
#[test]
fn noise_of_a_sum_is_the_predicted_one() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 3);
    let public = client.public_key_with(&mut rng(4)).unwrap();
    let slots = client.params().slots();
    let mut rng = rng(5);
    let uniform = Uniform::new(-1.0, 1.0).unwrap();
    let mut exact = vec![0.0; slots];
    let mut total: Option<Ciphertext> = None;
    for _ in 0..12 {
        let values: Vec<f64> = uniform.sample_iter(&mut rng).take(slots).collect();
        let level = client.params().levels();
        let x = public.encrypt_with(&values, -1.0..=1.0, level, &mut rng).unwrap();
        exact.iter_mut().zip(&values).for_each(|(sum, v)| *sum += v);
        total = Some(match total {
            Some(total) => server.add(&total, &x).unwrap(),
            None => x.into(),
        });
    }
    let total = total.unwrap();
    let found = client.decrypt(&total).unwrap();
    let sum: f64 = found.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum();
    let (measured, predicted) = ((sum / slots as f64).sqrt(), total.metadata().noise());
    assert!((measured / predicted - 1.0).abs() < 0.15, "{measured} {predicted}");
}

#[test]
fn products_and_functions_of_provided_vectors() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 6);
    let public = client.public_key_with(&mut rng(7)).unwrap();
    let mut rng = rng(8);
    let [a, b] = [1, 2].map(|_| drawn(150, (-2.0, 2.0), &mut rng));
    let level = client.params().levels();
    let [x, y] = [&a, &b].map(|v| public.encrypt_with(v, -2.0..=2.0, level, &mut rng).unwrap());
    // One of two providers, and a vector of the owner.
    let z = client.encrypt_with(&b, -2.0..=2.0, level, &mut rng).unwrap();
    for y in [&*y, &z] {
        let product = server.mul(&x, y).unwrap();
        let exact: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let (_, largest) = errors(&client.decrypt(&product).unwrap(), exact.iter().copied());
        assert!(largest < 1e-6, "{largest}");
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        let request = MapRequest::new(sigmoid).over(-4.0..=4.0).engines([Engine::Rgsw]);
        let result = client.decrypt(&server.map_with(&product, &request).unwrap()).unwrap();
        let plan = client.params().map_plan(&request).unwrap();
        let law = plan.prediction().and_then(|table| table.accuracy.as_ref()).unwrap();
        let (mean, largest) = errors(&result, exact.iter().map(|&v| sigmoid(v)));
        assert!(largest < 1.6 * law.max_abs(150), "{largest} {}", law.max_abs(150));
        assert!(mean > 0.4 * law.mean_abs && mean < 2.5 * law.mean_abs, "{mean}");
    }
}

#[test]
fn statistics_of_provided_rows() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let table = DataTable::new(8, 2).unwrap();
    let needs = Needs::new().keys(&table.keys(params.levels()));
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 9);
    let public = client.public_key_with(&mut rng(10)).unwrap();
    // Each of eight providers fills one row and leaves zeros elsewhere.
    let mut rng = rng(11);
    let rows: Vec<Vec<f64>> = (0..8).map(|_| drawn(2, (0.0, 1.0), &mut rng)).collect();
    let mut sent = (0..8).map(|i| {
        let mut own = vec![vec![0.0; 2]; 8];
        own[i] = rows[i].clone();
        let packed = table.pack(&own).unwrap();
        public.encrypt_with(&packed, 0.0..=1.0, params.levels(), &mut rng).unwrap()
    });
    let first = Ciphertext::from(sent.next().unwrap());
    let all = sent.fold(first, |sum, x| server.add(&sum, &x).unwrap());
    let all = server.assume_range(&all, 0.0..=1.0).unwrap();
    let means = table.means(&server, &all).unwrap();
    let variances = table.variances(&server, &all).unwrap();
    for c in 0..2 {
        let column: Vec<f64> = rows.iter().map(|row| row[c]).collect();
        let mean = column.iter().sum::<f64>() / 8.0;
        let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 8.0;
        let found = [&means, &variances].map(|x| client.decrypt(x).unwrap()[c]);
        assert!((found[0] - mean).abs() < 1e-5 && (found[1] - variance).abs() < 1e-5, "{found:?}");
    }
}

/// Bootstraps and functional bootstraps.
#[test]
fn provided_vectors_take_both_kinds_of_bootstraps() {
    let needs = Needs::new().multiply().bootstrap();
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, 12);
    let public = client.public_key_with(&mut rng(13)).unwrap();
    let mut rng = rng(14);
    let values = drawn(100, (-1.0, 1.0), &mut rng);
    let x = public.encrypt_with(&values, -1.0..=1.0, client.params().levels(), &mut rng).unwrap();
    let used_up = server.drop_to_level(&x, client.params().bootstrapper().unwrap().input_level());
    let refreshed = server.bootstrap(&used_up.unwrap()).unwrap();
    let (_, largest) = errors(&client.decrypt(&refreshed).unwrap(), values.iter().copied());
    assert!(largest < 1e-4 && refreshed.level() == client.params().levels(), "{largest}");

    let Party { client, server } = party(Preset::Insecure(Toy::Smooth), &Needs::new().map(), 15);
    let public = client.public_key_with(&mut rng).unwrap();
    let x = public.encrypt_with(&values, -1.0..=1.0, client.params().levels(), &mut rng).unwrap();
    let result = client.decrypt(&server.map(&x, f64::tanh).unwrap()).unwrap();
    let (_, largest) = errors(&result, values.iter().map(|v| v.tanh()));
    assert!(largest < 2f64.powi(-8), "{largest}");
}

/// Integers of providers: exact tables, and noise that follows from the parameters on both sides.
#[test]
fn integers_of_providers_travel_without_their_noise() {
    for preset in [Preset::Insecure(Toy::Tables), Preset::Insecure(Toy::Full)] {
        let Party { client, server } = party(preset, &Needs::new().functional(), 19);
        let (params, public) = (client.params(), client.public_key_with(&mut rng(20)).unwrap());
        for count in [3, params.slots() + 5] {
            let integers: Vec<usize> = (0..count).map(|i| i * 50 % 256).collect();
            let sent = public.encrypt(&integers, Modulo(256)).unwrap();
            let bytes = format::to_bytes(params, &sent).unwrap();
            let received: Provided<IntVec> = format::from_bytes(params, &bytes).unwrap();
            assert_eq!(received, sent);
            let y = server.integers().table(&received, |k| k * k % 256).unwrap();
            let expected: Vec<usize> = integers.iter().map(|k| k * k % 256).collect();
            assert_eq!(client.decrypt_integers(&y).unwrap(), expected);
            // Measured noise is that of the prediction.
            let found = client.decrypt_paired(received.values()).unwrap();
            let rms = (found.iter().zip(&integers).map(|(a, &b)| (a - b as f64).powi(2)))
                .sum::<f64>()
                .sqrt()
                / (count as f64).sqrt();
            let predicted = received.values().inner().metadata().noise();
            let parts = if count > params.slots() { 2f64.sqrt() } else { 1.0 };
            let share = rms * parts / predicted;
            let most = if count < 10 { 3.0 } else { 1.5 };
            assert!(share < most && (count < 10 || share > 0.5), "{share}");
        }
    }
}

#[test]
fn keys_and_vectors_travel_as_bytes() {
    let Party { client, .. } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 16);
    let params = client.params();
    let public = client.public_key_with(&mut rng(17)).unwrap();
    let bytes = public.to_bytes().unwrap();
    let read = PublicKey::from_bytes(params, &bytes).unwrap();
    assert_eq!((read.id(), read.to_bytes().unwrap()), (client.id(), bytes.clone()));
    assert_eq!(format!("{read:?}"), format!("{public:?}"));
    let values = [0.5, -0.25, 3.0];
    let encrypt = |key: &PublicKey| key.encrypt_with(&values, -4.0..=4.0, 2, &mut rng(18)).unwrap();
    let sent = encrypt(&read);
    assert_eq!(sent, encrypt(&public));
    let object = format::to_bytes(params, &sent).unwrap();
    let received: Provided = format::from_bytes(params, &object).unwrap();
    assert_eq!(received, sent);
    assert_eq!(received.meta(), sent.meta());

    // A vector for the server is neither a result nor a vector of the owner, and the reverse.
    let refused = format::from_bytes::<Published>(params, &object).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Bytes, "): read them as the type that was written"),
        "{refused}"
    );
    let own = client.encrypt_seeded(&values, -4.0..=4.0).unwrap();
    let own = format::to_bytes(params, &own).unwrap();
    assert!(format::from_bytes::<SeededCiphertext>(params, &own).is_ok());
    let refused = format::from_bytes::<Provided>(params, &own).unwrap_err();
    assert!(
        refused.is(&ErrorKind::Bytes, "): read them as the type that was written"),
        "{refused}"
    );
    let refused = PublicKey::from_bytes(params, &object).unwrap_err().to_string();
    assert!(refused.contains("expects public key"), "{refused}");

    // Other parameters.
    let other = params_of(Preset::Insecure(Toy::Bootstrapping));
    let refused = PublicKey::from_bytes(&other, &bytes).unwrap_err();
    assert!(
        refused.is(&ErrorKind::ParamsMismatch, "read the sender's parameters first, or"),
        "{refused}"
    );
}

#[test]
fn foreign_keys_are_refused() {
    let needs = Needs::new().multiply().map();
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &needs, 19);
    let stranger = ClientKey::generate_with(client.params(), &mut rng(20)).unwrap();
    let [own, foreign] = [&client, &stranger].map(|owner| {
        let public = owner.public_key_with(&mut rng(21)).unwrap();
        public.encrypt_with(&[0.5, 1.0], -1.0..=1.0, 5, &mut rng(22)).unwrap()
    });
    let refusals = [
        client.decrypt(&foreign).map(|_| ()).unwrap_err().to_string(),
        server.add(&own, &foreign).map(|_| ()).unwrap_err().to_string(),
        server.mul(&foreign, &foreign).map(|_| ()).unwrap_err().to_string(),
        server.map(&foreign, f64::abs).map(|_| ()).unwrap_err().to_string(),
        server.publish(&foreign, -1.0..=1.0).map(|_| ()).unwrap_err().to_string(),
    ];
    for refused in refusals {
        for id in [client.id(), stranger.id()] {
            assert!(refused.contains(&id.to_string()), "{refused}");
        }
    }
}

#[test]
fn unusable_values_are_refused_without_repeating_them() {
    let Party { client, .. } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 23);
    let public = client.public_key_with(&mut rng(24)).unwrap();
    let encrypt = |values: &[f64], range| public.encrypt(values, range).unwrap_err();
    let slots = client.params().slots();
    let found = encrypt(&[], -1.0..=1.0);
    assert!(found.is(&ErrorKind::Length, "no operands or values: need at least one"), "{found}");
    assert_eq!(found.op(), "encrypt");
    let found = encrypt(&vec![0.0; slots + 1], -1.0..=1.0);
    assert!(matches!(found.kind(), ErrorKind::TooManyValues { .. }), "{found}");
    let found = encrypt(&[0.0, f64::NAN], -1.0..=1.0);
    assert!(found.is(&ErrorKind::NotFinite, "at position 1 of"), "{found}");
    let found = encrypt(&[0.0, 1.2345], -1.0..=1.0);
    assert!(found.is(&ErrorKind::Range, "the value at position 1 of"), "{found}");
    assert!(!found.to_string().contains("1.2345"), "{found}");
    let found = encrypt(&[0.0], 1.0..=-1.0);
    assert!(found.is(&ErrorKind::Domain, "interval ["), "{found}");
    let high = client.params().ckks().max_level() + 1;
    let found = public.encrypt_with(&[0.0], -1.0..=1.0, high, &mut rng(25)).unwrap_err();
    assert!(found.is(&ErrorKind::Level, "choose a lower level, or take parameters"), "{found}");
}

/// A provider cannot misstate scale or noise: another scale is refused, and noise does not travel.
#[test]
fn a_provider_cannot_misstate_scale_or_shape() {
    let Party { client, .. } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 26);
    let (params, mut rng) = (client.params().ckks(), rng(27));
    let secret = mlwe::SecretKey::generate(params.lattice(), &mut rng).unwrap();
    let key = mlwe::PublicKey::generate(&secret, &mut rng);
    let range = ckks::Interval::real(-1.0, 1.0).unwrap();
    let encoder = ckks::Encoder::new(params);
    let encoded = encoder.encode(&[0.5], range, params.scale() * 2.0, params.limbs_at(2)).unwrap();
    let refused = Provided::encrypt(params, &encoded, &key, &mut rng).unwrap_err();
    assert!(refused.is(&ErrorKind::Scale, "has another scale than the one needed ("), "{refused}");
}
