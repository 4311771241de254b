//! Every pattern of absent rows, work counted, noise from both sides.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bellerophon_mlwe::{ParamsSpec, SecretKind, Security, noise::measured};
use bellerophon_ring::{ErrorKind, prime};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Normal};

use super::*;
use bellerophon_ring::refusal;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn params(degree: usize, limbs: usize, special: u32) -> Params {
    let q = prime::ntt_primes_around(degree, 45, limbs, &[]).unwrap();
    let p = prime::ntt_primes_below(degree, special, 1, &q).unwrap();
    Params::new(ParamsSpec {
        degree,
        rank: 1,
        q: q.iter().map(|q| q.value()).collect(),
        p: p.iter().map(|p| p.value()).collect(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        security: Security::Insecure,
    })
    .unwrap()
}

/// Coefficients of the phase less those expected, at the places `0, step, 2 step, ..`.
fn errors(secret: &SecretKey, ct: &Ciphertext, expected: &[i64]) -> Vec<f64> {
    let params = secret.params();
    let ring = ct.ring(params);
    let mut phase = ct.phase(secret).unwrap().clone();
    ring.sub_assign(&mut phase, &ring.forward(ring.from_signed(expected)));
    measured::centered_f64(&ring, &ring.inverse((*phase).clone()))
}

/// Rows with a message in `Y` and garbage elsewhere: the messages come out side by side.
#[test]
fn rows_of_every_n_land_side_by_side() {
    let params = params(32, 2, 50);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let mut random = rng(2);
    for n in [1, 2, 4, 16, 32] {
        let count = 32 / n;
        let keys = row_packing_keys(&secret, n, 2, &mut random).unwrap();
        assert_eq!(keys.exponents().len(), count.trailing_zeros() as usize);
        // All, one, a prefix, a random half.
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut random);
        let patterns =
            [(0..count).collect(), vec![count - 1], vec![0], order[..count.div_ceil(2)].to_vec()];
        for (indices, limbs) in patterns.iter().zip([1, 2, 1, 2]) {
            let ring = params.q().at_limbs(limbs);
            let mut expected = vec![0; 32];
            let mut rows = BTreeMap::new();
            for &i in indices {
                let row: Vec<i64> =
                    (0..32).map(|_| random.random_range(-(1i64 << 40)..1 << 40)).collect();
                (0..n).for_each(|k| expected[i + k * count] = row[k * count]);
                let message = ring.forward(ring.from_signed(&row));
                rows.insert(i, secret.encrypt(&message, &mut random).unwrap());
            }
            let packed = pack_rows(&params, &keys, n, rows).unwrap();
            let errors = errors(&secret, &packed, &expected);
            let largest = errors.iter().fold(0.0f64, |m, e| m.max(e.abs()));
            assert!(largest < 4096.0, "n = {n}, rows {indices:?}: {largest}");
        }
    }
}

/// Lemma 4, on the loop that packing runs.
#[test]
fn automorphisms_are_those_of_the_lemma() {
    let count_of = |degree: usize, n: usize, present: &[usize]| {
        let mut leaves = vec![None; degree / n];
        present.iter().for_each(|&i| leaves[i] = Some(()));
        let (total, stages) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
        let packed: Result<_> = pack_tree(degree, n, leaves, Ok, |stage: Stage, _| {
            total.fetch_add(1, Ordering::Relaxed);
            stages.lock().unwrap().insert(stage.exponent);
            Ok(())
        });
        assert_eq!(packed, Ok(Some(())));
        (total.into_inner(), stages.into_inner().unwrap().len())
    };
    for (degree, n) in [(4096, 1), (4096, 2), (1024, 8), (64, 64)] {
        let all: Vec<usize> = (0..degree / n).collect();
        let keys = row_packing_exponents(degree, n).unwrap();
        assert_eq!(count_of(degree, n, &all), (degree / n - 1, keys.len()));
        assert_eq!(1 << keys.len(), degree / n);
    }
    // One value: a trace. Every fourth one: a full tree, then a trace of two steps.
    assert_eq!(count_of(4096, 1, &[17]).0, 12);
    let fourth: Vec<usize> = (0..1024).map(|i| 4 * i).collect();
    assert_eq!(count_of(4096, 1, &fourth).0, 1023 + 2);
    // The same number side by side: two stages find no partner for any of them.
    let prefix: Vec<usize> = (0..1024).collect();
    assert_eq!(count_of(4096, 1, &prefix).0, 3071);
    assert_eq!(count_of(4096, 4, &prefix).0, 1023);
    let nothing: Result<_> = pack_tree(8, 1, vec![None; 8], Ok, |_: Stage, _: Pair<()>| Ok(()));
    assert_eq!(nothing, Ok(None));
}

/// Values at their places, and the noise from both sides.
#[test]
fn values_pack_with_the_predicted_noise() {
    for (degree, n, special, limit) in [(256, 1, 50, 1.35), (512, 2, 50, 1.35), (256, 1, 38, 1.35)]
    {
        let params = params(degree, 1, special);
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let mut random = rng(3);
        let keys = row_packing_keys(&secret, n, 1, &mut random).unwrap();
        let lwe_secret = secret.coefficients(0).to_vec().into();
        let lwe_secret = lwe::SecretKey::from_coefficients(lwe_secret).unwrap();
        let q = params.q().modulus(0);
        let (count, sigma) = (degree / n, 1e6);
        let mut squares = Vec::new();
        for (sigma, packings) in [(3.2, 8), (sigma, 8)] {
            squares.clear();
            for _ in 0..packings {
                let messages: Vec<i64> =
                    (0..count).map(|_| random.random_range(-(1i64 << 42)..1 << 42)).collect();
                let values: Vec<_> = messages
                    .iter()
                    .map(|&m| lwe::encrypt(q, &lwe_secret, m, sigma, &mut random).unwrap())
                    .collect();
                let values = values.iter().enumerate();
                let packed = pack_values(&params, &keys, secret.id(), n, values).unwrap();
                let mut expected = messages;
                expected.resize(degree, 0);
                squares.extend(errors(&secret, &packed, &expected)[..count].iter().map(|e| e * e));
            }
            let measured = squares.iter().sum::<f64>() / squares.len() as f64;
            let predicted = packed_values_noise(&params, n, sigma * sigma).unwrap();
            let ratio = measured / predicted;
            assert!(ratio < limit && ratio > 1.0 / limit, "{degree} {n} {sigma}: {ratio}");
        }
    }
}

/// More rows than fit one result, and more values: batches by their indices, absent ones left out.
#[test]
fn any_number_of_inputs_packs_in_batches() {
    let params = params(32, 2, 50);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let mut random = rng(5);
    let own = lwe::SecretKey::from_coefficients(secret.coefficients(0).to_vec().into()).unwrap();
    for n in [1, 8] {
        let count = 32 / n;
        let keys = row_packing_keys(&secret, n, 2, &mut random).unwrap();
        let indices = (0..2 * count).filter(|i| i % 2 == 0).chain([4 * count + 1]);
        let messages: BTreeMap<usize, i64> =
            indices.map(|i| (i, random.random_range(-(1i64 << 40)..1 << 40))).collect();
        let mut expected = BTreeMap::new();
        for (&i, &m) in &messages {
            expected.entry(i / count).or_insert_with(|| vec![0i64; 32])[i % count] = m;
        }
        let largest = |packed: &BTreeMap<usize, Ciphertext>, places: usize| {
            assert!(packed.keys().eq(expected.keys()));
            let all = packed.iter().flat_map(|(batch, ct)| {
                let errors = errors(&secret, ct, &expected[batch]);
                errors.into_iter().take(places)
            });
            all.fold(0.0f64, |m, e| m.max(e.abs()))
        };
        let ring = params.q();
        let rows: BTreeMap<usize, Ciphertext> = messages
            .iter()
            .map(|(&i, &m)| {
                let mut constant = vec![0; 32];
                constant[0] = m;
                let message = ring.forward(ring.from_signed(&constant));
                (i, secret.encrypt(&message, &mut random).unwrap())
            })
            .collect();
        let packed = pack_rows_in_batches(&params, &keys, n, rows.clone()).unwrap();
        assert!(largest(&packed, 32) < 4096.0);
        assert!(refusal(&pack_rows(&params, &keys, n, rows)).is(&ErrorKind::Shape, "is needed"));
        let values: Vec<_> = messages
            .iter()
            .map(|(&i, &m)| {
                let value = lwe::encrypt(params.q().modulus(0), &own, m, 3.2, &mut random);
                (i, value.unwrap())
            })
            .collect();
        let lent = || values.iter().map(|(i, value)| (*i, value));
        let packed = pack_values_in_batches(&params, &keys, secret.id(), n, lent()).unwrap();
        assert!(largest(&packed, count) < 4096.0);
        let far = pack_values(&params, &keys, secret.id(), n, lent());
        assert!(refusal(&far).is(&ErrorKind::Shape, "is needed"));
    }
}

/// Rows of several limbs.
#[test]
fn rows_pack_with_the_predicted_noise() {
    let params = params(256, 3, 50);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let mut random = rng(4);
    let keys = row_packing_keys(&secret, 2, 3, &mut random).unwrap();
    for limbs in [1, 2, 3] {
        let ring = params.q().at_limbs(limbs);
        let mut squares = Vec::new();
        for _ in 0..8 {
            let rows = (0..128).map(|i| (i, secret.encrypt(&ring.zero(), &mut random).unwrap()));
            let packed = pack_rows(&params, &keys, 2, rows.collect()).unwrap();
            squares.extend(errors(&secret, &packed, &[0; 256]).iter().map(|e| e * e));
        }
        let measured = squares.iter().sum::<f64>() / squares.len() as f64;
        let automorphism = noise::automorphism(&params, limbs);
        let fresh = noise::fresh_secret(&params);
        let ratio = measured / row_packing_noise(256, 2, fresh, automorphism).unwrap();
        assert!(ratio < 1.35 && ratio > 1.0 / 1.35, "{limbs} limbs: {ratio}");
    }
}

#[test]
fn misfits_are_refused() {
    let params = params(16, 2, 50);
    let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
    let stranger = SecretKey::generate(&params, &mut rng(9)).unwrap();
    let keys = row_packing_keys(&secret, 2, 1, &mut rng(2)).unwrap();
    let row = |secret: &SecretKey, limbs| {
        let ring = secret.params().q().at_limbs(limbs);
        secret.encrypt(&ring.zero(), &mut rng(3)).unwrap()
    };
    let pack = |n, rows: &[(usize, usize)]| {
        let rows = rows.iter().map(|&(i, limbs)| (i, row(&secret, limbs))).collect();
        pack_rows(&params, &keys, n, rows)
    };
    assert!(pack(2, &[(7, 1)]).is_ok());
    assert!(matches!(
        pack(2, &[]),
        Err(e)
            if e.op() == "pack_rows"
                && e.is(&ErrorKind::Length, "no rows: at least one is needed")
    ));
    for n in [0, 3, 32] {
        assert!(refusal(&pack(n, &[(0, 1)])).is(&ErrorKind::Shape, "is needed"));
        assert!(row_packing_keys(&secret, n, 1, &mut rng(1)).is_err());
        assert!(
            row_packing_exponents(16, n).is_err() && packed_values_noise(&params, n, 1.0).is_err()
        );
    }
    assert!(matches!(refusal(&pack(2, &[(8, 1)])).kind(), ErrorKind::Shape));
    assert!(refusal(&pack(2, &[(0, 1), (1, 2)])).is(&ErrorKind::Shape, "is needed"));
    let short = pack(2, &[(0, 2)]).unwrap_err();
    assert!(short.is(&ErrorKind::Level, "2 limbs where"), "{short}");
    let missing = pack(1, &[(0, 1)]).unwrap_err();
    assert!(
        missing.is(&ErrorKind::MissingKey { need: "" }, "generate it with the others (there are"),
        "{missing}"
    );
    // Rows of others, alone and among one's own, also where there is nothing to join.
    let other = super::tests::params(32, 1, 50);
    let other = SecretKey::generate(&other, &mut rng(1)).unwrap();
    for n in [2, 16] {
        let foreign = BTreeMap::from([(0, row(&other, 1))]);
        let refused = pack_rows(&params, &keys, n, foreign).unwrap_err();
        assert!(
            refused.is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
            "{refused}"
        );
    }
    let mixed = BTreeMap::from([(0, row(&secret, 1)), (1, row(&stranger, 1))]);
    for foreign in [mixed, BTreeMap::from([(0, row(&stranger, 1))])] {
        let refused = pack_rows(&params, &keys, 2, foreign).unwrap_err();
        assert!(
            refused.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
            "{refused}"
        );
    }
    let q = *params.q().modulus(0);
    let values = |n, values: &[(usize, lwe::Ciphertext)]| {
        let values = values.iter().map(|(i, v)| (*i, v));
        pack_values(&params, &keys, secret.id(), n, values)
    };
    let zero = |dimension| lwe::Ciphertext::trivial(q, dimension, 0);
    assert!(values(2, &[(3, zero(16))]).is_ok());
    assert!(matches!(
        values(2, &[]),
        Err(e)
            if e.op() == "pack_values"
                && e.is(&ErrorKind::Length, "no rows: at least one is needed")
    ));
    assert!(matches!(refusal(&values(2, &[(8, zero(16))])).kind(), ErrorKind::Shape));
    assert!(refusal(&values(2, &[(0, zero(8))])).is(&ErrorKind::Shape, "is needed"));
    let twice = values(2, &[(3, zero(16)), (3, zero(16))]);
    assert!(refusal(&twice).is(&ErrorKind::Shape, "index of two values is"));
    let other = lwe::Ciphertext::trivial(*params.q().modulus(1), 16, 0);
    assert!(refusal(&values(2, &[(0, other)])).is(&ErrorKind::Argument, "is not supported: need"));
}

/// The first coefficients of a ring ciphertext as LWE values.
fn extracted(params: &Params, ct: &Ciphertext, count: usize) -> Vec<lwe::Ciphertext> {
    let ring = params.q();
    let [b, a] = [ct.b(), &ct.masks()[0]].map(|poly| ring.inverse(poly.clone()));
    let value = |k| lwe::sample_extract(ring.modulus(0), b.limb(0), a.limb(0), k).unwrap();
    (0..count).map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Packing inverts extraction, and is linear, up to its noise; eight standard deviations of it
    /// are more than any coefficient shows.
    #[test]
    fn packing_inverts_extraction_and_is_linear(seed: u64, log_n in 0u32..4, c in -9i64..=9) {
        let (params, n) = (params(64, 1, 50), 1 << log_n);
        let random = &mut rng(seed);
        let secret = SecretKey::generate(&params, random).unwrap();
        let keys = row_packing_keys(&secret, n, 1, random).unwrap();
        let (ring, count) = (params.q(), 64 / n);
        let normal = Normal::new(0.0, f64::from(1 << 30)).unwrap();
        let [x, y] = [(); 2].map(|()| -> Vec<i64> {
            (0..64).map(|_| normal.sample(random).round() as i64).collect()
        });
        let [ct_x, ct_y] = [&x, &y].map(|message| {
            secret.encrypt(&ring.forward(ring.from_signed(message)), random).unwrap()
        });
        let pack = |ct: &Ciphertext| {
            let values = extracted(&params, ct, count);
            pack_values(&params, &keys, secret.id(), n, values.iter().enumerate()).unwrap()
        };
        let combined = |x: &Ciphertext, y: &Ciphertext| {
            let mut sum = x.clone();
            sum.mul_signed_assign(&params, c).unwrap();
            sum.add_assign(&params, y).unwrap();
            sum
        };
        // The places of the values; all others hold zero or what `n` leaves there.
        let largest = |ct: &Ciphertext, expected: &[i64]| {
            let errors = errors(&secret, ct, expected);
            errors[..count].iter().fold(0.0f64, |most, e| most.max(e.abs()))
        };
        let (fresh, weight) = (noise::fresh_secret(&params), (c * c + 1) as f64);
        let packed = pack(&ct_x);
        let bound = 8.0 * packed_values_noise(&params, n, fresh).unwrap().sqrt();
        let found = largest(&packed, &x);
        prop_assert!(found < bound && found > 0.0, "{n}: {found} of {bound}");
        let sum: Vec<i64> = x.iter().zip(&y).map(|(x, y)| c * x + y).collect();
        let bound = 8.0 * packed_values_noise(&params, n, weight * fresh).unwrap().sqrt();
        let found = largest(&pack(&combined(&ct_x, &ct_y)), &sum);
        prop_assert!(found < bound, "the packed sum, {n}: {found} of {bound}");
        let bound = 8.0 * (weight * packed_values_noise(&params, n, fresh).unwrap()).sqrt();
        let found = largest(&combined(&packed, &pack(&ct_y)), &sum);
        prop_assert!(found < bound, "the sum of packed terms, {n}: {found} of {bound}");
    }
}
