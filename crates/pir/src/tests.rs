//! Every form of the protocol answers right; misfits.

use bellerophon_lwe as lwe;
use bellerophon_ring::ErrorKind;
use bellerophon_testing::silence::{refused, silent};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use super::*;
use crate::bfv::tests::{digits, special};
use crate::bfv::{Params, ParamsSpec};
use crate::error::{self, refusal};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

struct World {
    params: Params,
    client: Client,
    server: Server,
    random: ChaCha20Rng,
}

impl World {
    fn new(params: Params, seed: u64) -> Self {
        let mut random = rng(seed);
        let client = Client::generate(&params, &mut random).unwrap();
        let keys = client.server_keys(&mut random).unwrap();
        let server = Server::new(&params, &keys).unwrap();
        Self { params, client, server, random }
    }

    fn table(&mut self, domain: usize) -> Vec<u64> {
        (0..domain).map(|_| self.random.random_range(0..self.params.plain())).collect()
    }

    fn points(&mut self, domain: usize, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.random.random_range(0..domain)).collect()
    }
}

fn at(table: &[u64], points: &[usize]) -> Vec<u64> {
    points.iter().map(|&x| table[x]).collect()
}

/// Domains below, at and above the degree, whole and cut blocks; one point, more than `N`, repeated
/// ones.
#[test]
fn both_forms_answer_right() {
    for params in [digits(64, 257, 9, 4), special(64, 257, 2)] {
        let mut world = World::new(params, 1);
        for domain in [1, 2, 63, 64, 65, 500, 1 << 12] {
            for count in [1, 2, 40, 64, 100] {
                let table = world.table(domain);
                let function = Function::new(&world.params, &table).unwrap();
                let points = world.points(domain, count);
                for form in [QueryLayout::Paper, QueryLayout::Compact] {
                    let World { params, client, server, random } = &mut world;
                    let (query, pending) = client.query(domain, &points, form, random).unwrap();
                    let response = server.evaluate(&function, &query).unwrap();
                    let parts = query.shape().response_ciphertexts();
                    assert_eq!(response.ciphertexts(), parts);
                    assert_eq!(*client.read(&pending, &response).unwrap(), at(&table, &points));
                    let short = response.clone().truncated(params).unwrap();
                    assert!(short.byte_len(params) < response.byte_len(params));
                    assert!(short.log2_failure(params) <= -64.0);
                    assert_eq!(
                        *client.read(&pending, &short).unwrap(),
                        at(&table, &points),
                        "{domain} {count} {form}"
                    );
                }
            }
        }
    }
}

#[test]
fn seeded_queries_are_half_as_large_and_the_same() {
    let mut world = World::new(digits(64, 257, 9, 4), 2);
    let table = world.table(300);
    let function = Function::new(&world.params, &table).unwrap();
    let World { params, client, server, .. } = &mut world;
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        let (query, pending) = client.query(300, &[7, 299, 8], form, &mut rng(1)).unwrap();
        let bodies = query.shape().ciphertexts() * 64 * 50 / 8;
        let batch = if form == QueryLayout::Compact { 32 } else { 0 };
        assert_eq!(query.byte_len(params), bodies + 32 + batch);
        let response = server.evaluate(&function, &query).unwrap();
        let sending = client.clone().sending_masks();
        let (sent, _) = sending.query(300, &[7, 299, 8], form, &mut rng(1)).unwrap();
        assert_eq!(sent.byte_len(params), 2 * bodies + batch);
        assert_eq!(server.evaluate(&function, &sent).unwrap(), response);
        assert_eq!(*client.read(&pending, &response).unwrap(), at(&table, &[7, 299, 8]));
    }
}

/// Sums of functions of several variables with odd, even and zero factors.
#[test]
fn sums_of_several_variables() {
    let mut world = World::new(digits(64, 257, 9, 4), 3);
    let domains = [100, 64, 7];
    let tables = domains.map(|domain| world.table(domain));
    let alphas = [3u64, 4, 256];
    let terms: Vec<_> = alphas.iter().zip(&tables).map(|(&a, t)| (a, &t[..])).collect();
    let function = Function::sum(&world.params, &terms).unwrap();
    let points: Vec<Vec<usize>> = (0..70)
        .map(|_| domains.iter().map(|&d| world.random.random_range(0..d)).collect())
        .collect();
    let World { client, server, random, .. } = &mut world;
    let (query, pending) = client.query_sum(&domains, &points, random).unwrap();
    let response = server.evaluate(&function, &query).unwrap();
    let value = |point: &Vec<usize>| {
        let terms = (0..3).map(|v| alphas[v] * tables[v][point[v]]);
        terms.sum::<u64>() % 257
    };
    let expected: Vec<u64> = points.iter().map(value).collect();
    assert_eq!(*client.read(&pending, &response).unwrap(), expected);
}

/// Single answers as LWE values under the coefficients of the secret.
#[test]
fn values_come_unpacked_too() {
    for params in [digits(64, 257, 9, 4), special(64, 257, 2)] {
        let mut world = World::new(params, 4);
        let table = world.table(200);
        let function = Function::new(&world.params, &table).unwrap();
        let World { params, client, server, random } = &mut world;
        let (query, _) = client.query(200, &[0, 63, 64, 199], QueryLayout::Paper, random).unwrap();
        let values = server.evaluate_values(&function, &query, random).unwrap();
        let secret = Zeroizing::new(client.secret().coefficients().to_vec());
        let secret = lwe::SecretKey::from_coefficients(secret).unwrap();
        let q = params.ring().modulus(0).value() as f64;
        for (value, point) in values.iter().zip([0, 63, 64, 199]) {
            let phase = lwe::phase(value, &secret).unwrap() as f64;
            let rounded = (phase * 257.0 / q).round() as i64;
            assert_eq!(rounded.rem_euclid(257) as u64, table[point]);
        }
    }
}

/// Of a product as it is the quotient of its mask by the query's is the table; of a value that the
/// server sends it is nothing of the kind.
#[test]
fn the_masks_of_single_values_do_not_tell_the_table() {
    let mut world = World::new(digits(64, 257, 9, 4), 15);
    let table = world.table(64);
    let function = Function::new(&world.params, &table).unwrap();
    let World { params, client, server, random } = &mut world;
    let (query, _) = client.query(64, &[7], QueryLayout::Paper, random).unwrap();
    let (ring, mask) = (params.ring(), query.row(params, 0).a);
    let q = ring.modulus(0);
    let small = |value: &lwe::Ciphertext| {
        let mut product = ring.zero();
        for (i, &x) in value.a().iter().enumerate() {
            product.limb_mut(0)[(64 - i) % 64] = if i == 0 { x } else { q.neg(x) };
        }
        let mut quotient = ring.forward(product);
        for (x, &a) in quotient.limb_mut(0).iter_mut().zip(mask.limb(0)) {
            *x = q.mul(*x, q.inv(a).unwrap());
        }
        let quotient = ring.inverse(quotient);
        quotient.limb(0).iter().filter(|&&x| q.center(x).abs() <= 128).count()
    };
    let product = server.selection(&function, &query).unwrap().value(0).unwrap();
    assert_eq!(small(&server.constant(product).unwrap()), 64);
    let sent = server.evaluate_values(&function, &query, random).unwrap();
    assert_eq!(small(&sent[0]), 0);
}

#[test]
fn shuffled_answers_are_those_of_the_points() {
    let mut world = World::new(digits(64, 257, 9, 4), 5);
    let table = world.table(200);
    let function = Function::new(&world.params, &table).unwrap();
    let points = world.points(200, 50);
    let World { client, server, random, .. } = &mut world;
    let (query, pending) = client.query(200, &points, QueryLayout::Paper, random).unwrap();
    let budget = &mut PrivacyBudget::unstated();
    let response = server.evaluate_shuffled(&function, &query, budget, random).unwrap();
    let refused = client.read(&pending, &response).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Bytes));
    let mut found = client.read_shuffled(&pending, &response).unwrap().to_vec();
    let mut expected = at(&table, &points);
    assert_ne!(found, expected);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let refused = |pending: &Pending, response: &Response| {
        let refused = client.read_shuffled(pending, response);
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Bytes), "{refused:?}");
    };
    let (_, later) = client.query(200, &points, QueryLayout::Paper, random).unwrap();
    refused(&later, &response);
    refused(&pending, &server.evaluate(&function, &query).unwrap());
    let (query, _) = client.query(200, &points, QueryLayout::Compact, random).unwrap();
    let refused = server.evaluate_shuffled(&function, &query, budget, random).unwrap_err();
    assert!(refused.is(&ErrorKind::Shape, "the query has the"), "{refused}");
}

/// Phases of a response in order, less the nearest multiples of `q / t`.
fn noise_of(world: &World, response: &Response) -> Vec<f64> {
    let (params, client) = (&world.params, &world.client);
    let ring = params.ring().at_limbs(1);
    let (q, t) = (ring.modulus(0), i128::from(params.plain()));
    let secret = ring.forward_signed(client.secret().coefficients());
    let mut out = Vec::new();
    for polys in &response.parts {
        let [b, a] = [0, 1].map(|i| {
            let mut poly = ring.zero();
            for (x, &cut) in poly.limb_mut(0).iter_mut().zip(&polys[i]) {
                *x = q.reduce(cut << response.drop[i]);
            }
            ring.forward(poly)
        });
        let mut phase = b;
        ring.mul_add_assign(&mut phase, &a, &secret);
        let modulus = i128::from(q.value());
        let error = |&x: &u64| {
            let scaled = (i128::from(x) * t + modulus / 2).rem_euclid(modulus) - modulus / 2;
            scaled as f64 / t as f64
        };
        out.extend(ring.inverse(phase).limb(0).iter().map(error));
    }
    out
}

fn spread(noise: &[f64]) -> f64 {
    noise.iter().map(|x| x * x).sum::<f64>() / noise.len() as f64
}

/// At `t` just above a power of two flooding has a quarter of the room, just below one half of it.
#[test]
fn private_answers_are_right_and_drowned() {
    // Room for 2^-40, and none at all.
    let sets = [(special(64, 257, 2), -40.0), (special(64, 251, 2), -40.0)];
    for (params, distance) in sets.into_iter().chain([(digits(64, 257, 9, 4), 0.0)]) {
        let mut world = World::new(params, 6);
        let table = world.table(300);
        let function = Function::new(&world.params, &table).unwrap();
        let points = world.points(300, 30);
        for form in [QueryLayout::Paper, QueryLayout::Compact] {
            let World { params, client, server, random } = &mut world;
            let (query, pending) = client.query(300, &points, form, random).unwrap();
            let privacy = circuit_privacy(params, query.shape()).unwrap();
            assert!(privacy.log2_distance <= distance);
            // Two answers, and half of a third.
            let mut budget = match privacy.log2_distance {
                0.0 => PrivacyBudget::unstated(),
                each => PrivacyBudget::new(each + 2.5f64.log2()).unwrap(),
            };
            let mut answer = || server.evaluate_private(&function, &query, &mut budget, random);
            let responses = [answer().unwrap(), answer().unwrap()];
            assert_ne!(responses[0].parts[0][1], responses[1].parts[0][1], "masks");
            if privacy.log2_distance < 0.0 {
                let spent = budget.log2_spent();
                assert!((spent - privacy.log2_distance - 1.0).abs() < 1e-9, "{spent}");
                let refused = server.evaluate_private(&function, &query, &mut budget, random);
                assert!(
                    refusal(&refused)
                        .is(&ErrorKind::Budget, "use a new table, or state a larger distance"),
                    "{refused:?}"
                );
                assert_eq!(budget.log2_spent(), spent);
            }
            let mut small = PrivacyBudget::new((privacy.log2_distance - 1.0).min(-1.0)).unwrap();
            let refused = server.evaluate_private(&function, &query, &mut small, random);
            assert!(
                refusal(&refused)
                    .is(&ErrorKind::Noise, "is required: use `ParamsSpec::flooding`, a"),
                "{refused:?}"
            );
            assert_eq!(small.log2_spent(), f64::NEG_INFINITY);
            // Uniform noise of 2^f modulo Q, as it is modulo the first prime.
            let divisor = params.ring().log2_modulus() - params.ring().modulus(0).log2();
            let half = (f64::from(privacy.flood_bits) - 1.0 - divisor).exp2();
            let room = crate::bfv::noise::threshold(params);
            assert!(half <= room / 2.0 && half > room / 4.0, "{half} of {room}");
            for response in responses {
                let short = response.clone().truncated(&world.params).unwrap();
                assert_eq!(*world.client.read(&pending, &short).unwrap(), at(&table, &points));
                let flooded = noise_of(&world, &response);
                let ratio = spread(&flooded) / (half * half / 3.0);
                assert!(ratio > 0.6 && ratio < 1.5, "{ratio}");
                // Flooding at its largest, and all the rest at 9.1 deviations: 2^-63.
                let rest = 9.1 * short.variance.sqrt();
                assert!(half + rest <= room, "{half} and {rest} of {room}");
            }
        }
    }
}

#[test]
fn encrypted_functions_at_clear_points() {
    for params in [digits(64, 257, 9, 4), special(64, 257, 2)] {
        let mut world = World::new(params, 7);
        let table = world.table(300);
        let function = Function::new(&world.params, &table).unwrap();
        let points = world.points(300, 100);
        let World { client, server, random, .. } = &mut world;
        let encrypted = client.encrypt_function(&function, random).unwrap();
        assert_eq!(encrypted.domain, 300);
        let response = server.evaluate_encrypted(&encrypted, &points).unwrap();
        let found = client.read_encrypted(&encrypted, 100, &response).unwrap();
        assert_eq!(*found, at(&table, &points));
        let other = client.encrypt_function(&function, random).unwrap();
        for (function, count) in [(&other, 100), (&encrypted, 99)] {
            let refused = client.read_encrypted(function, count, &response);
            assert!(matches!(refusal(&refused).kind(), ErrorKind::Bytes), "{refused:?}");
        }
        let refused = server.evaluate_encrypted(&encrypted, &[0, 300]).unwrap_err();
        let outside = error::point_outside(1, 2, 300);
        assert!(refused.is(&ErrorKind::Domain, outside.message()), "{refused}");
        assert!(server.evaluate_encrypted(&encrypted, &[]).is_err());
    }
}

/// At full size and 128 bits: 2048 points of tables of every kind, the worst first.
#[test]
fn all_of_2048_answers_are_right_at_full_size() {
    let t = 65537;
    let params = Params::new(ParamsSpec::lookup(t).unwrap()).unwrap();
    let mut world = World::new(params, 8);
    let domain = 1 << 14;
    let tables: [Vec<u64>; 4] = [
        vec![(t - 1) / 2; domain],
        vec![5; domain],
        (0..domain as u64).collect(),
        world.table(domain),
    ];
    let points = world.points(domain, 2048);
    for table in tables {
        let function = Function::new(&world.params, &table).unwrap();
        let World { params, client, server, random } = &mut world;
        let (query, pending) = client.query(domain, &points, QueryLayout::Compact, random).unwrap();
        assert_eq!((query.shape().values(), query.shape().ciphertexts()), (3072, 24));
        for response in [
            server.evaluate(&function, &query).unwrap().truncated(params).unwrap(),
            server
                .evaluate_private(&function, &query, &mut PrivacyBudget::unstated(), random)
                .unwrap(),
        ] {
            assert_eq!(*client.read(&pending, &response).unwrap(), at(&table, &points));
        }
    }
}

/// The paper's form and a large domain at full size, and circuit privacy at its own set.
#[test]
fn large_domains_and_privacy_are_right_at_full_size() {
    let lookup = Params::new(ParamsSpec::lookup(65521).unwrap()).unwrap();
    let flooding = Params::new(ParamsSpec::flooding(65521).unwrap()).unwrap();
    for (params, form, domain, count, distance) in [
        (&lookup, QueryLayout::Paper, 3 << 11, 700, None),
        (&lookup, QueryLayout::Compact, 1 << 16, 2048, None),
        (&flooding, QueryLayout::Compact, 1 << 16, 300, Some(-40.0)),
    ] {
        let mut world = World::new(params.clone(), 16);
        let (table, points) = (world.table(domain), world.points(domain, count));
        let function = Function::new(params, &table).unwrap();
        let World { client, server, random, .. } = &mut world;
        let (query, pending) = client.query(domain, &points, form, random).unwrap();
        let response = match distance {
            None => server.evaluate(&function, &query).unwrap(),
            Some(distance) => {
                let budget = &mut PrivacyBudget::new(distance).unwrap();
                server.evaluate_private(&function, &query, budget, random).unwrap()
            }
        };
        let response = response.truncated(params).unwrap();
        assert!(response.log2_failure(params) <= -64.0);
        assert_eq!(*client.read(&pending, &response).unwrap(), at(&table, &points));
    }
}

/// The reference: the same values, counted, from as many keys and key switches as coefficients.
#[test]
fn the_split_domain_method_counts_the_same_values() {
    let mut world = World::new(digits(64, 257, 8, 6), 12);
    let points = world.points(50, 20);
    let table: Vec<usize> = (0..50).map(|x| x * x % 61).collect();
    let World { params, client, server, random } = &mut world;
    let keys = SplitDomainKeys::generate(client, random).unwrap();
    assert_eq!(keys.byte_len(), 32 + 64 * 6 * 400);
    let (query, pending) = client.query(50, &points, QueryLayout::Paper, random).unwrap();
    let counts = client.read_counts(&keys.count(&table, &query).unwrap()).unwrap();
    let values: Vec<u64> = table.iter().map(|&y| y as u64).collect();
    let function = Function::new(params, &values).unwrap();
    let response = server.evaluate(&function, &query).unwrap();
    let mut expected = vec![0; 64];
    for &value in client.read(&pending, &response).unwrap().iter() {
        expected[value as usize] += 1;
    }
    assert_eq!(*counts, expected);
    let room = crate::bfv::noise::log2_failure(params, keys.noise(20));
    assert!(room < -40.0, "{room}");
    // Coarse digits leave no room for so many points.
    let mut noisy = World::new(digits(64, 65537, 20, 2), 17);
    let World { client, random, .. } = &mut noisy;
    let coarse = SplitDomainKeys::generate(client, random).unwrap();
    let (many, _) = client.query(50, &[7; 400], QueryLayout::Paper, random).unwrap();
    let refused = coarse.count(&table, &many);
    assert!(
        refusal(&refused).is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"),
        "{refused:?}"
    );
    let World { client, random, .. } = &mut world;
    let (compact, _) = client.query(50, &points, QueryLayout::Compact, random).unwrap();
    assert!(refusal(&keys.count(&table, &compact)).is(&ErrorKind::Shape, "the query has the"));
    assert!(refusal(&keys.count(&table[1..], &query)).is(&ErrorKind::Shape, "is needed"));
    assert!(refusal(&keys.count(&[64; 50], &query)).is(&ErrorKind::Shape, "is 64"));
    let stranger = World::new(digits(64, 257, 8, 6), 13);
    let foreign = SplitDomainKeys::generate(&stranger.client, random).unwrap();
    assert_eq!(*refusal(&foreign.count(&table, &query)).kind(), ErrorKind::KeyMismatch);
    let other = World::new(special(64, 257, 1), 14);
    assert!(
        refusal(&SplitDomainKeys::generate(&other.client, random))
            .is(&ErrorKind::Argument, "is not supported: need")
    );
}

/// Noise of the split-domain method from both sides for functions without repeated values, with
/// exact digits and with dropped bits, which each key switch multiplies by one coefficient of the
/// secret alone. Others stay below.
#[test]
fn split_domain_method_has_the_predicted_noise() {
    for (seed, params) in [digits(64, 257, 8, 6), digits(64, 257, 8, 3)].into_iter().enumerate() {
        let mut world = World::new(params, 18 + seed as u64);
        let points = world.points(64, 3);
        let World { params, client, random, .. } = &mut world;
        let keys = SplitDomainKeys::generate(client, random).unwrap();
        let (ring, q) = (params.ring(), *params.ring().modulus(0));
        let mut ratio = |table: &dyn Fn(usize) -> usize| {
            let table: Vec<usize> = (0..64).map(table).collect();
            let (query, _) = client.query(64, &points, QueryLayout::Paper, random).unwrap();
            let counts = keys.count(&table, &query).unwrap();
            assert_eq!(counts.noise().variance(), keys.noise(3));
            let mut expected = vec![0u64; 64];
            points.iter().for_each(|&x| expected[table[x]] += 1);
            let mut phase = counts.b.clone();
            ring.mul_add_assign(&mut phase, &counts.a, client.secret().ntt());
            let phase = ring.inverse(phase);
            let squares = phase.limb(0).iter().zip(&expected).map(|(&x, &m)| {
                let exact = (u128::from(m) * u128::from(q.value()) / 257) as u64;
                (q.center(q.sub(x, exact)) as f64).powi(2)
            });
            squares.sum::<f64>() / 64.0 / keys.noise(3)
        };
        let permuted = (0..12).map(|i| ratio(&|x| (x * (2 * i + 1) + i) % 64)).sum::<f64>() / 12.0;
        assert!((0.75..1.33).contains(&permuted), "{seed}: {permuted}");
        let (constant, squares) = (ratio(&|_| 5), ratio(&|x| x * x % 61));
        assert!(constant < 0.2 && squares < 0.9, "{seed}: {constant}, {squares}");
    }
}

/// What the pages of the named sets say.
#[test]
fn named_sets_have_the_room_that_they_state() {
    let lookup = Params::new(ParamsSpec::lookup(1 << 17).unwrap()).unwrap();
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        Shape::new(&lookup, form, &[1 << 21], 64).unwrap();
    }
    let flooding = Params::new(ParamsSpec::flooding(65537).unwrap()).unwrap();
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        let shape = Shape::new(&flooding, form, &[1 << 16], 2048).unwrap();
        let privacy = circuit_privacy(&flooding, &shape).unwrap();
        assert!(privacy.log2_distance <= -40.0, "{form}: {privacy:?}");
    }
    let lookup = Params::new(ParamsSpec::lookup(65537).unwrap()).unwrap();
    let shape = Shape::new(&lookup, QueryLayout::Compact, &[1 << 16], 2048).unwrap();
    assert_eq!(circuit_privacy(&lookup, &shape).unwrap().log2_distance, 0.0);
    assert_eq!(Shape::best_form(&lookup, &[1 << 12], 1), QueryLayout::Paper);
    assert_eq!(Shape::best_form(&lookup, &[1 << 16], 2048), QueryLayout::Compact);
    assert_eq!(Shape::best_form(&lookup, &[1 << 16, 5], 20), QueryLayout::Paper);
}

#[test]
fn misfits_are_refused() {
    let mut world = World::new(digits(64, 257, 9, 4), 9);
    let stranger = World::new(digits(64, 257, 9, 4), 10);
    let table = world.table(100);
    let function = Function::new(&world.params, &table).unwrap();
    let World { params, client, server, random } = &mut world;
    // Points outside, too many, none; domains and variables.
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        let refused = client.query(100, &[5, 100], form, random).unwrap_err();
        let outside = "the point at position 1 of 2 lies outside the domain 0..100";
        assert!(refused.is(&ErrorKind::Domain, outside), "{refused}");
        for count in [0, (1 << 16) + 1] {
            let refused = client.query(100, &vec![0; count], form, random).unwrap_err();
            assert!(matches!(refused.kind(), ErrorKind::TooManyValues { .. }), "{refused}");
        }
        assert!(refusal(&client.query(0, &[0], form, random)).is(&ErrorKind::Shape, "is needed"));
    }
    // At `flooding` a body has 2^17 bytes.
    let flooding = Params::new(ParamsSpec::flooding(257).unwrap()).unwrap();
    let refused = Shape::new(&flooding, QueryLayout::Paper, &[1 << 16], 1 << 12).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::TooManyValues { most: 2048, .. }), "{refused}");
    let refused = Shape::new(params, QueryLayout::Paper, &[1 << 16], 1 << 10).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::TooManyValues { most: 128, .. }), "{refused}");
    assert!(
        refusal(&Shape::new(params, QueryLayout::Compact, &[5, 5], 1))
            .is(&ErrorKind::Shape, "is needed")
    );
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        for domain in [1 << 24, (1 << 28) + 1] {
            let refused = Shape::new(params, form, &[domain], 1);
            assert!(refusal(&refused).is(&ErrorKind::Shape, &format!("is {domain}, ")));
        }
    }
    assert!(refusal(&client.query_sum(&[], &[[0; 0]], random)).is(&ErrorKind::Shape, "is needed"));
    assert!(refusal(&client.query_sum(&[5, 5], &[[0]], random)).is(&ErrorKind::Shape, "is needed"));
    let refused = client.query_sum(&[5, 5], &[[4, 4], [0, 5]], random);
    assert!(refusal(&refused).is(&ErrorKind::Domain, "the point at position 1 of"));
    // Tables.
    let large = Function::new(params, &[3, 257]).unwrap_err();
    assert!(large.is(&ErrorKind::Range, "the entry at position 1 of 2 is not below t"));
    assert!(format!("{function:?}").starts_with("Function { plain: 257, domains: [100], .. }"));
    assert!(Function::new(params, &[]).is_err() && Function::sum(params, &[]).is_err());
    let (query, pending) = client.query(100, &[1, 2], QueryLayout::Compact, random).unwrap();
    let other = digits(64, 263, 9, 4);
    let wrong = Function::new(&other, &table).unwrap();
    let refused = server.evaluate(&wrong, &query).unwrap_err();
    assert_eq!(refused.op(), "evaluate");
    assert!(refused.is(&ErrorKind::ParamsMismatch, "modulo t = 263, the parameters have t = 257"));
    let short = Function::new(params, &table[..99]).unwrap();
    assert!(refusal(&server.evaluate(&short, &query)).is(&ErrorKind::Shape, "is 99"));
    let two = Function::sum(params, &[(1, &table), (1, &table)]).unwrap();
    assert!(matches!(refusal(&server.evaluate(&two, &query)).kind(), ErrorKind::Shape));
    // Keys, queries and responses of others.
    let refused = stranger.server.evaluate(&function, &query).unwrap_err();
    assert!(
        refused.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{refused}"
    );
    let keys = client.server_keys(random).unwrap();
    assert_eq!(*refusal(&Server::new(&other, &keys)).kind(), ErrorKind::ParamsMismatch);
    let response = server.evaluate(&function, &query).unwrap();
    let encrypted = stranger.client.encrypt_function(&function, random).unwrap();
    let foreign = stranger.server.evaluate_encrypted(&encrypted, &[1]).unwrap();
    let refused = client.read_encrypted(&encrypted, 1, &foreign);
    assert_eq!(*refusal(&refused).kind(), ErrorKind::KeyMismatch, "{refused:?}");
    let refused = stranger.client.read(&pending, &response).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Bytes));
    let (_, later) = client.query(100, &[1, 2], QueryLayout::Compact, random).unwrap();
    assert!(matches!(refusal(&client.read(&later, &response)).kind(), ErrorKind::Bytes));
    assert_eq!(format!("{pending:?}"), "Pending { points: 2, .. }");
    // Noise: digits of 25 bits leave no room.
    let noisy = digits(64, 65537, 25, 2);
    let refused = Shape::new(&noisy, QueryLayout::Paper, &[64], 1).unwrap_err();
    assert!(refused.is(&ErrorKind::Noise, "use a smaller t or domain, or parameters"), "{refused}");
}

/// The bound on the noise of packed values, from both sides, at the worst table, and one so large
/// that its noise is most of it.
#[test]
fn the_worst_table_has_the_predicted_noise() {
    let params = digits(256, 65537, 10, 5);
    let mut world = World::new(params, 11);
    let (domain, points) = (1 << 14, world.points(1 << 14, 256));
    let function = Function::new(&world.params, &vec![32768; domain]).unwrap();
    let World { params, client, server, random } = &mut world;
    let (query, _) = client.query(domain, &points, QueryLayout::Paper, random).unwrap();
    let selected = query.shape().selected_noise(params);
    let response = server.evaluate(&function, &query).unwrap();
    assert!(selected > 0.8 * response.variance);
    let ratio = spread(&noise_of(&world, &response)) / response.variance;
    assert!(ratio < 1.3 && ratio > 0.75, "{ratio}");
}

/// Neither errors nor `Debug` repeat a point, an entry of a table or a coefficient.
#[test]
fn errors_and_debug_repeat_no_value() {
    /// Digits that nothing else has.
    const SECRET: usize = 987_654;
    let params = digits(64, 257, 9, 4);
    let mut world = World::new(params.clone(), 6);
    let World { client, server, random, .. } = &mut world;
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        refused(client.query(100, &[1, SECRET], form, random));
        let (_, pending) = client.query(1 << 10, &[987, 654], form, random).unwrap();
        let text = format!("{pending:?} {pending:#?}");
        assert!(!text.contains("987") && !text.contains("654"), "{text}");
    }
    refused(client.query_sum(&[5, 5], &[[0, 0], [SECRET, 1]], random));
    refused(Function::new(&params, &[3, SECRET as u64]));
    let function = Function::new(&params, &[3, 7]).unwrap();
    let encrypted = client.encrypt_function(&function, random).unwrap();
    refused(server.evaluate_encrypted(&encrypted, &[0, SECRET]));
    let mut coefficients = vec![0; 64];
    coefficients[5] = SECRET as u64;
    refused(crate::bfv::Plaintext::new(&params, &coefficients));
    let large = digits(64, 1_000_003, 9, 4);
    let function = Function::new(&large, &[SECRET as u64]).unwrap();
    let plaintext = crate::bfv::Plaintext::new(&large, &[SECRET as u64; 64]).unwrap();
    silent(&(function, plaintext));
}
