//! Nothing that is published depends on a plaintext: for every type that has a message and can be
//! written, objects of equal declared shape and different messages have the same bytes but for
//! masked polynomials, their seeds and the hash over them.
//!
//! Which bytes those are is measured: the ones that differ between encryptions of one message. All
//! others, header and metadata, must be the same whatever is encrypted.
//!
//! [`CASES`] lists the types of bytes that each test covers, and [`NO_MESSAGE`] those without a
//! message; together they are all types of the library.

use std::{cell::RefCell, collections::BTreeSet, f64::consts::PI};

use bellerophon::{
    Declaration, ParamsSpec, bfv,
    circuits::fbt::{FbtSpec, SeededPairedVec},
    ckks::{self, Complex64, Interval, KeyLevels, LevelGroup, ModulusChain},
    format::{self, ContentHash, Context, Header, to_bytes},
    lwe::{self, Encoding, Engine, LweVec, RgswGadget},
    mlwe::{KeyId, PublicKey, SecretKey, SecretKind, Security},
    pir::{Client, Function, QueryLayout, Server},
    prelude::*,
    ring::{prime, wire::Wire},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// Pairs of messages a type.
const PAIRS: usize = 1000;

/// Encryptions of one message that show which bytes are masked.
const SHOWN: u64 = 64;

/// The declared range.
const RANGE: std::ops::RangeInclusive<f64> = -3.0..=5.0;

/// How many values a message has: padding is there.
const COUNT: usize = 3;

/// The types of bytes that each test holds against each other.
const CASES: [(&str, &[u16]); 12] = [
    ("fresh_vectors_tell_their_shape_alone", &[0x0201, 0x0202]),
    ("provided_vectors_tell_their_shape_alone", &[0x0101, 0x0102, 0x0201, 0x020b, 0x0212]),
    ("published_results_tell_what_is_declared_alone", &[0x0204]),
    ("fresh_integers_and_paired_vectors_tell_shape_alone", &[0x0205, 0x0206, 0x0208, 0x0209]),
    ("published_integers_tell_their_shape_alone", &[0x020a]),
    ("published_paired_vectors_tell_declarations_alone", &[0x0207]),
    ("values_of_tables_tell_their_shape_alone", &[0x0301, 0x0302, 0x0307]),
    (
        "exact_ciphertexts_and_pir_tell_their_shape_alone",
        &[0x0404, 0x0405, 0x0406, 0x0407, 0x0408, 0x0409, 0x040a, 0x040b],
    ),
    (
        "keys_of_a_lattice_tell_their_shape_alone",
        &[0x0103, 0x0104, 0x0105, 0x0106, 0x0107, 0x0108, 0x0109, 0x010a],
    ),
    (
        "rank_and_bootstrap_keys_tell_their_shape_alone",
        &[0x0203, 0x020c, 0x020d, 0x020e, 0x020f, 0x0210],
    ),
    ("keys_of_tables_tell_their_shape_alone", &[0x0303, 0x0304, 0x0305, 0x0306, 0x0401, 0x0402]),
    ("key_sets_tell_the_identity_of_their_client_alone", &[0x0105, 0x0107, 0x0502, 0x0503]),
];

/// Types of bytes without a message, or that are the secret itself and go nowhere.
const NO_MESSAGE: [(&str, &[u16]); 3] = [
    ("parameters, which are public", &[0x0100, 0x0200, 0x0403, 0x0500]),
    ("requests for keys, which a program states", &[0x0211, 0x0504]),
    ("secrets, which their owner stores", &[0x0501, 0x040c, 0x040d, 0x040e]),
];

thread_local! {
    /// The types of the bytes that this test has held against each other.
    static SEEN: RefCell<BTreeSet<u16>> = RefCell::default();
}

/// Refuses a test that covers other types than its entry in [`CASES`] says.
#[track_caller]
fn covers(test: &str) {
    let (_, kinds) = CASES.iter().find(|(name, _)| *name == test).expect("an entry");
    let seen = SEEN.with_borrow(|seen| seen.iter().copied().collect::<Vec<_>>());
    assert_eq!(seen, *kinds, "{test}");
}

/// A new type of bytes has a case, or a reason why it has none.
#[test]
fn every_type_of_bytes_has_a_case() {
    let without: BTreeSet<u16> = NO_MESSAGE.iter().flat_map(|(_, kinds)| *kinds).copied().collect();
    let cases: BTreeSet<u16> = CASES.iter().flat_map(|(_, kinds)| *kinds).copied().collect();
    assert!(cases.is_disjoint(&without));
    for (kind, name) in format::kinds() {
        assert!(cases.contains(&kind) || without.contains(&kind), "{name} ({kind:#06x}): no case");
    }
    assert_eq!(format::kinds().count(), cases.len() + without.len(), "a case of no type");
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Ends of the range, zeros of both signs, subnormal numbers, and others.
fn edge(i: usize, rng: &mut ChaCha20Rng) -> f64 {
    let edges =
        [-3.0, 5.0, 0.0, -0.0, f64::from_bits(1), -f64::MIN_POSITIVE / 2.0, 1e-9, -PI / 2.0];
    match edges.get(i % 16) {
        Some(&edge) => edge,
        None => rng.random_range(RANGE),
    }
}

fn message(pair: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    // Every edge in all places, then mixed with others.
    match pair {
        0..16 => vec![edge(pair, rng); COUNT],
        _ => (0..COUNT).map(|i| edge(pair / 16 * 7 + pair * (i + 1), rng)).collect(),
    }
}

/// Holds the bytes of a type against each other. `write(pair, seed)` writes message `pair` with
/// randomness from a seed.
fn assert_tells_nothing(name: &str, pairs: usize, write: impl Fn(usize, u64) -> Vec<u8>) {
    assert_bytes_tell_nothing(name, pairs, &write);
}

fn assert_bytes_tell_nothing(name: &str, pairs: usize, write: &dyn Fn(usize, u64) -> Vec<u8>) {
    let first = write(0, 0);
    // One envelope, or a set of them with a hash behind.
    let mut rest = &first[..];
    while rest.len() > ContentHash::LEN {
        let header = Header::parse(rest).unwrap();
        SEEN.with_borrow_mut(|seen| seen.insert(header.kind));
        rest = &rest[header.total() as usize..];
    }
    let mut masked = vec![false; first.len()];
    for seed in 1..SHOWN {
        let other = write(0, seed);
        assert_eq!(other.len(), first.len(), "{name}: length depends on the randomness");
        masked.iter_mut().zip(first.iter().zip(&other)).for_each(|(m, (a, b))| *m |= a != b);
    }
    let open = masked.iter().filter(|&&m| !m).count();
    // The header at least is open, and most of an object is masked.
    assert!(open >= 32 && open < first.len() / 2, "{name}: {open} of {} bytes", first.len());
    for pair in 1..=pairs {
        let other = write(pair, SHOWN + pair as u64);
        assert_eq!(other.len(), first.len(), "{name}: length depends on message {pair}");
        let shown = (0..first.len()).find(|&i| !masked[i] && first[i] != other[i]);
        assert_eq!(shown, None, "{name}: a byte shows message {pair}");
    }
}

fn write<T: Wire>(params: &impl Context<T::Params>, object: &T) -> Vec<u8> {
    to_bytes(params, object).unwrap()
}

/// Zeros in place of the identity of a key, which is random.
fn hide(bytes: &mut [u8], id: KeyId) {
    let id = id.0.to_le_bytes();
    let found: Vec<usize> = (0..bytes.len() - 16).filter(|&i| bytes[i..i + 16] == id).collect();
    assert!(!found.is_empty());
    found.into_iter().for_each(|i| bytes[i..i + 16].fill(0));
}

/// A small ring, which protects nothing.
fn slots() -> ckks::ParamsSpec {
    let levels = vec![LevelGroup::single(40, 2)];
    let chain = ModulusChain { degree: 64, first_bits: 50, levels, special: (50, 1) };
    ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap()
}

fn client() -> (Params, ClientKey) {
    let params = Params::new(ParamsSpec::arithmetic("tiny", slots())).unwrap();
    let client = ClientKey::generate_with(&params, &mut rng(1)).unwrap();
    (params, client)
}

fn messages() -> Vec<Vec<f64>> {
    let mut rng = rng(2);
    (0..=PAIRS).map(|pair| message(pair, &mut rng)).collect()
}

#[test]
fn fresh_vectors_tell_their_shape_alone() {
    let (params, client) = client();
    let messages = messages();
    let level = params.levels();
    assert_tells_nothing("fresh vector", PAIRS, |pair, seed| {
        let values = &messages[pair];
        write(&params, &client.encrypt_seeded_with(values, RANGE, level, &mut rng(seed)).unwrap())
    });
    assert_tells_nothing("vector", PAIRS, |pair, seed| {
        let values = &messages[pair];
        write(&params, &client.encrypt_with(values, RANGE, level, &mut rng(seed)).unwrap())
    });
    covers("fresh_vectors_tell_their_shape_alone");
}

#[test]
fn provided_vectors_tell_their_shape_alone() {
    let params = ckks::Params::new(slots()).unwrap();
    let secret = SecretKey::generate(params.lattice(), &mut rng(1)).unwrap();
    let public = PublicKey::generate(&secret, &mut rng(2));
    let encoder = ckks::Encoder::new(&params);
    let (messages, range) = (messages(), Interval::real(-3.0, 5.0).unwrap());
    let encode =
        |values: &[f64]| encoder.encode(values, range, params.scale(), params.limbs()).unwrap();
    assert_tells_nothing("vector under a public key", PAIRS, |pair, seed| {
        let plain = encode(&messages[pair]);
        write(&params, &ckks::encrypt_public(&params, &plain, &public, &mut rng(seed)).unwrap())
    });
    let disc = Interval::complex(8.0).unwrap();
    assert_tells_nothing("complex vector", PAIRS, |pair, seed| {
        let message = &messages[pair];
        let values: Vec<_> =
            (0..COUNT).map(|i| Complex64::new(message[i], message[(i + 1) % COUNT])).collect();
        let plain = encoder.encode(&values, disc, params.scale(), 2).unwrap();
        write(&params, &ckks::encrypt(&params, &plain, &secret, &mut rng(seed)).unwrap())
    });
    let lattice = params.lattice();
    assert_tells_nothing("lattice ciphertext", PAIRS, |pair, seed| {
        let plain = encode(&messages[pair]);
        write(lattice, &secret.encrypt(plain.poly(), &mut rng(seed)).unwrap())
    });
    assert_tells_nothing("seeded lattice ciphertext", PAIRS, |pair, seed| {
        let plain = encode(&messages[pair]);
        write(lattice, &secret.encrypt_seeded(plain.poly(), &mut rng(seed)).unwrap())
    });
    assert_tells_nothing("provided vector", PAIRS, |pair, seed| {
        let plain = encode(&messages[pair]);
        write(&params, &Provided::encrypt(&params, &plain, &public, &mut rng(seed)).unwrap())
    });
    // Integers, in one part of the slots and in both.
    let (params, client, _) = functional();
    let public = client.public_key_with(&mut rng(3)).unwrap();
    for count in [20, 40] {
        assert_tells_nothing("provided integers", PAIRS, |pair, seed| {
            let (integers, rng) = (integers(pair, count), &mut rng(seed));
            let level = params.levels();
            write(&params, &public.encrypt_with(&integers, Modulo(4), level, rng).unwrap())
        });
    }
    covers("provided_vectors_tell_their_shape_alone");
}

/// A factor: a constant that rounding at its scale would destroy is refused, zero is not.
fn usable(factor: f64) -> f64 {
    if factor.abs() < 1e-6 { 0.0 } else { factor }
}

/// Constants of the server and values of the client: both are messages of a result.
#[test]
fn published_results_tell_what_is_declared_alone() {
    let params = ckks::Params::new(slots()).unwrap();
    let secret = SecretKey::generate(params.lattice(), &mut rng(1)).unwrap();
    let spec = KeyLevels::default().multiply(2).rotate([1], 2);
    let keys = ckks::EvaluationKeys::generate(&params, &secret, &spec, &mut rng(3)).unwrap();
    let eval = ckks::Evaluator::new(&params, &keys).unwrap();
    let encoder = ckks::Encoder::new(&params);
    let (messages, range) = (messages(), Interval::real(-3.0, 5.0).unwrap());
    let declared = Declaration::from(-128.0..=128.0).with_noise(1e-3);
    assert_tells_nothing("published vector", PAIRS, |pair, seed| {
        let plain = encoder.encode(&messages[pair], range, params.scale(), params.limbs()).unwrap();
        let x = ckks::encrypt(&params, &plain, &secret, &mut rng(seed)).unwrap();
        let [w, b, c] = messages[PAIRS - pair][..] else { unreachable!() };
        let w = usable(w);
        // Three programs: their results have two levels and two scales.
        let y = match pair % 3 {
            0 => x.clone(),
            1 => eval.square(&x).unwrap(),
            _ => eval.mul_scalar(&x, w).unwrap(),
        };
        let y = eval.add_scalar(&y, b).unwrap();
        let y = eval.rotate(&eval.add_values(&y, &[c; COUNT]).unwrap(), 1).unwrap();
        let y = eval.mul_integer(&y, 1 + (pair % 3) as i64).unwrap();
        write(&params, &eval.publish(&y, declared).unwrap())
    });
    covers("published_results_tell_what_is_declared_alone");
}

/// A ring with 32 slots and tables of up to four entries, which protects nothing, and the server of
/// a client.
fn functional() -> (Params, ClientKey, Evaluator) {
    let spec = FbtSpec::table(32, 4).unwrap();
    let chain = spec.chain(64, 42, 1, (50, 6));
    let slots = ckks::ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    let spec = ParamsSpec { functional: Some(spec), ..ParamsSpec::arithmetic("tiny", slots) };
    let params = Params::new(spec).unwrap();
    let client = ClientKey::generate_with(&params, &mut rng(1)).unwrap();
    let keys = client.evaluation_keys_with(&Needs::new().functional(), &mut rng(2)).unwrap();
    (params, client, Evaluator::new(keys).unwrap())
}

/// Integers modulo 4: all equal, one unlike the others, then any.
fn integers(pair: usize, count: usize) -> Vec<usize> {
    let mut rng = rng(4000 + pair as u64);
    match pair {
        0..4 => vec![pair; count],
        4..16 => (0..count).map(|i| if i == pair { 3 } else { 0 }).collect(),
        _ => (0..count).map(|_| rng.random_range(0..4)).collect(),
    }
}

#[test]
fn fresh_integers_and_paired_vectors_tell_shape_alone() {
    let (params, client, _) = functional();
    let level = params.levels();
    // In one part of the slots, and in both.
    for count in [20, 40] {
        assert_tells_nothing("fresh integers", PAIRS, |pair, seed| {
            let (integers, rng) = (integers(pair, count), &mut rng(seed));
            write(&params, &client.encrypt_seeded_with(&integers, Modulo(4), level, rng).unwrap())
        });
        assert_tells_nothing("integers", PAIRS, |pair, seed| {
            let (integers, rng) = (integers(pair, count), &mut rng(seed));
            write(&params, &client.encrypt_with(&integers, Modulo(4), level, rng).unwrap())
        });
    }
    let messages = messages();
    let values = |pair: usize| messages[pair].repeat(14);
    assert_tells_nothing("fresh paired vector", PAIRS, |pair, seed| {
        let fresh: SeededPairedVec = client
            .encrypt_seeded_with(&values(pair), Paired(RANGE), level, &mut rng(seed))
            .unwrap();
        write(&params, &fresh)
    });
    assert_tells_nothing("paired vector", PAIRS, |pair, seed| {
        let values = values(pair);
        write(&params, &client.encrypt_with(&values, Paired(RANGE), level, &mut rng(seed)).unwrap())
    });
    covers("fresh_integers_and_paired_vectors_tell_shape_alone");
}

/// Tables of the server and integers of the client: both are messages of a result. The slowest of
/// these tests: a functional bootstrap for each result.
#[cfg(feature = "long-tests")]
#[test]
fn published_integers_tell_their_shape_alone() {
    let (params, client, server) = functional();
    let level = params.functional().unwrap().input_level();
    let on = server.integers();
    assert_tells_nothing("published integers", PAIRS, |pair, seed| {
        let (x, table) = (integers(pair, 40), integers(PAIRS - pair, 4));
        let x = client.encrypt_with(&x, Modulo(4), level, &mut rng(seed)).unwrap();
        let multiple = on.mul_constant(&x, (pair % 3) as i64 + 1).unwrap();
        let sum = on.add_constant(&multiple, (pair % 4) as i64).unwrap();
        let y = on.table(&sum, |k| table[k]).unwrap();
        write(&params, &server.publish_integers(&y).unwrap())
    });
    // Fresh integers and those that only a sum was made of say the same as any table of their
    // level.
    let x = client.encrypt_with(&[1; 40], Modulo(4), 3, &mut rng(1)).unwrap();
    let y = on.table(&x, |k| 3 - k).unwrap();
    let [x, y] = [&x, &y].map(|x| server.publish_integers(x).unwrap().into_inner());
    assert_eq!(x.values().inner().meta(), y.values().inner().meta());
    assert_eq!(x.values().range(), y.values().range());
    covers("published_integers_tell_their_shape_alone");
}

#[test]
fn published_paired_vectors_tell_declarations_alone() {
    let (params, client, server) = functional();
    let messages = messages();
    let declared = Declaration::from(-128.0..=128.0).with_noise(1e-3);
    assert_tells_nothing("published paired vector", PAIRS, |pair, seed| {
        let x = client
            .encrypt_with(&messages[pair].repeat(14), Paired(RANGE), 3, &mut rng(seed))
            .unwrap();
        let [w, b, _] = messages[PAIRS - pair][..] else { unreachable!() };
        let w = usable(w);
        let y = server.add_scalar(&server.mul_scalar(x.inner(), w).unwrap(), b).unwrap();
        let y = server.mul_integer(&y, 1 + (pair % 3) as i64).unwrap();
        // A range of the server's own.
        let y = y.assume_range_with_padding(Interval::complex(179.0 - w.abs() / 4.0).unwrap());
        let range = Interval::real(w - 100.0, 100.0 - b).unwrap();
        let y = PairedVec::new(y, range, x.len()).unwrap();
        write(&params, &server.publish_paired(&y, declared).unwrap())
    });
    covers("published_paired_vectors_tell_declarations_alone");
}

/// Tables over a ring of this degree, which protect nothing.
fn tables(degree: usize) -> lwe::Params {
    lwe::Params::new(lwe::ParamsSpec {
        dimension: 8,
        modulus: prime::ntt_primes_below(8, 28, 1, &[]).unwrap()[0].value(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        key_switch_base_log: 7,
        key_switch_digits: 4,
        ring_degree: degree,
        ring_modulus: prime::ntt_primes_around(degree, 45, 1, &[]).unwrap()[0].value(),
        engine: Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }),
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Insecure,
    })
    .unwrap()
}

#[test]
fn values_of_tables_tell_their_shape_alone() {
    let params = tables(64);
    let ring = lwe::SecretKey::generate_ring(&params, &mut rng(4)).unwrap();
    let messages = messages();
    let encoding = Encoding::new(0.0, 64.0).unwrap();
    let encrypt = |pair: usize, seed: u64| {
        let (key, values) = (KeyId(7), &messages[pair]);
        LweVec::encrypt(&params, &ring, key, values, encoding, RANGE, &mut rng(seed)).unwrap()
    };
    assert_tells_nothing("values", PAIRS, |pair, seed| write(&params, &encrypt(pair, seed)));
    assert_tells_nothing("value", PAIRS, |pair, seed| {
        write(&params, &encrypt(pair, seed).items()[0])
    });
    assert_tells_nothing("published values", PAIRS, |pair, seed| {
        let values = encrypt(pair, seed);
        let y = values.times([1, -2, 3][pair % 3]).unwrap();
        write(&params, &y.publish(-20.0..=20.0, 1e-3).unwrap())
    });
    let outside = |value: f64| {
        let key = KeyId(7);
        LweVec::encrypt(&params, &ring, key, &[value], encoding, RANGE, &mut rng(1)).is_err()
    };
    assert!([f64::NAN, f64::INFINITY, 5.0000001, -4.0].into_iter().all(outside));
    covers("values_of_tables_tell_their_shape_alone");
}

#[test]
fn exact_ciphertexts_and_pir_tell_their_shape_alone() {
    let (degree, plain) = (64, 257);
    let q = vec![prime::ntt_primes_below(degree, 50, 1, &[]).unwrap()[0].value()];
    let gadget = bfv::KeyGadget::Digits { base_log: 9, count: 4 };
    let (sigma, security) = (3.2, Security::Insecure);
    let spec = bfv::ParamsSpec { degree, q, plain, gadget, sigma, security };
    let params = bfv::Params::new(spec).unwrap();
    let secret = bfv::SecretKey::generate(&params, &mut rng(5)).unwrap();
    let message = |pair: usize| -> Vec<u64> {
        let mut rng = rng(9000 + pair as u64);
        match pair {
            0 => vec![0; degree],
            1 => vec![plain - 1; degree],
            2 => vec![plain / 2; degree],
            _ => (0..degree).map(|_| rng.random_range(0..plain)).collect(),
        }
    };
    assert_tells_nothing("fresh exact ciphertext", PAIRS, |pair, seed| {
        write(&params, &secret.encrypt_seeded(&message(pair), &mut rng(seed)).unwrap())
    });
    assert_tells_nothing("exact ciphertext", PAIRS, |pair, seed| {
        let mut ct = secret.encrypt(&message(pair), &mut rng(seed)).unwrap();
        let factor = bfv::Plaintext::new(&params, &message(PAIRS - pair)).unwrap();
        ct.mul_plain_assign(&params, &factor).unwrap();
        write(&params, &ct)
    });

    // A query of points, and answers from tables.
    let client = Client::generate(&params, &mut rng(6)).unwrap();
    let server = Server::new(&params, &client.server_keys(&mut rng(7)).unwrap()).unwrap();
    let domain = 2 * degree;
    let points = |pair: usize| {
        let mut rng = rng(7000 + pair as u64);
        match pair {
            0 => [0; 2],
            1 => [domain - 1; 2],
            _ => [rng.random_range(0..domain), rng.random_range(0..domain)],
        }
    };
    for form in [QueryLayout::Paper, QueryLayout::Compact] {
        assert_tells_nothing("query", PAIRS, |pair, seed| {
            write(&params, &client.query(domain, &points(pair), form, &mut rng(seed)).unwrap().0)
        });
    }
    assert_tells_nothing("response", PAIRS, |pair, seed| {
        let table = [message(pair), message(PAIRS - pair)].concat();
        let function = Function::new(&params, &table).unwrap();
        let query =
            client.query(domain, &points(pair), QueryLayout::Paper, &mut rng(seed)).unwrap().0;
        write(&params, &server.evaluate(&function, &query).unwrap())
    });
    let clients: Vec<Client> = (0..=PAIRS as u64 / 10)
        .map(|i| Client::generate(&params, &mut rng(500 + i)).unwrap())
        .collect();
    assert_tells_nothing("keys of private look-up", PAIRS / 10, |pair, seed| {
        let keys = clients[pair].server_keys(&mut rng(seed)).unwrap();
        let query = clients[pair].query(domain, &[0], QueryLayout::Paper, &mut rng(1)).unwrap().0;
        let mut bytes = write(&params, &keys);
        hide(&mut bytes, query.key());
        bytes
    });
    let secrets: Vec<bfv::SecretKey> = (0..=PAIRS as u64 / 10)
        .map(|i| bfv::SecretKey::generate(&params, &mut rng(900 + i)).unwrap())
        .collect();
    assert_tells_nothing("public key of exact plaintexts", PAIRS / 10, |pair, seed| {
        let key = bfv::PublicKey::generate(&secrets[pair], &mut rng(seed));
        let mut bytes = write(&params, &key);
        hide(&mut bytes, secrets[pair].id());
        bytes
    });
    assert_tells_nothing("packing keys", PAIRS / 10, |pair, seed| {
        let keys = bfv::SeededPackingKeys::generate(&secrets[pair], 4, &mut rng(seed)).unwrap();
        let mut bytes = write(&params, &keys);
        hide(&mut bytes, secrets[pair].id());
        bytes
    });
    assert_tells_nothing("encrypted function", PAIRS / 10, |pair, seed| {
        let table = [message(pair), message(PAIRS - pair)].concat();
        let function = Function::new(&params, &table).unwrap();
        write(&params, &client.encrypt_function(&function, &mut rng(seed)).unwrap())
    });
    covers("exact_ciphertexts_and_pir_tell_their_shape_alone");
}

#[test]
fn unencodable_values_are_refused_without_being_told() {
    let (_, client) = client();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5.0 + 1e-12, -1e300] {
        let refused = client.encrypt(&[0.5, bad], RANGE).unwrap_err();
        let told = format!("{refused} {refused:?}");
        assert!(!told.contains("e300") && !told.contains("5.000000000001"), "{told}");
    }
    let ranges = [1.0..=-1.0, f64::NAN..=1.0, -1.0..=f64::INFINITY, -1e300..=1e300, 1.0..=2.0];
    for range in ranges {
        assert!(client.encrypt(&[0.5], range.clone()).is_err(), "{range:?}");
        assert!(client.encrypt_seeded(&[0.5], range).is_err());
    }
}

mod keys;
