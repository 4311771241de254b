//! Exact ciphertexts and private look-up over the wire.

use std::collections::BTreeMap;

use bellerophon_mlwe::Security;
use bellerophon_ring::wire::{SecretWire, Wire};
use bellerophon_ring::{Error, ErrorKind};
use bellerophon_testing::bytes::{config, read, set, survives, write};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::kind;
use crate::bfv::tests::{digits, special};
use crate::bfv::{
    Ciphertext, Params, ParamsSpec, Plaintext, PublicKey, SecretKey, SeededCiphertext,
    SeededPackingKeys, pack,
};
use crate::client::{Client, Pending};
use crate::encrypted_table::EncryptedFunction;
use crate::error::refusal;
use crate::function::Function;
use crate::query::Query;
use crate::query_layout::QueryLayout;
use crate::response::Response;
use crate::server::{Server, ServerKeys};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Keys in digits, and with special primes over two primes of ciphertexts.
fn sets() -> [Params; 2] {
    [digits(64, 257, 9, 4), special(64, 257, 2)]
}

fn there_and_back<T: Wire<Params = Params> + PartialEq>(params: &Params, object: &T) -> T {
    let bytes = write(params, object);
    survives::<T>(params, &bytes, 3, &[]);
    let back: T = read(params, &bytes).unwrap().unwrap();
    assert!(back == *object, "{}", T::NAME);
    for other in [digits(128, 257, 9, 4), digits(64, 257, 8, 4), special(64, 255, 2)] {
        assert!(object.to_form(&other).is_err(), "{}", T::NAME);
    }
    // All sets are told apart by the fingerprint that travels beside a form; most by the lengths in
    // it.
    let others = [(128, 2), (64, 3), (256, 2)].map(|(degree, limbs)| special(degree, 257, limbs));
    let refused = |other: &Params| read::<T>(other, &bytes).unwrap().is_err();
    assert!(others.iter().any(refused), "{}", T::NAME);
    back
}

#[test]
fn numbers_are_of_this_crate_and_differ() {
    let numbers = [
        kind::EXACT_PARAMS,
        kind::EXACT_CIPHERTEXT,
        kind::SEEDED_EXACT_CIPHERTEXT,
        kind::EXACT_PUBLIC_KEY,
        kind::PACKING_KEYS,
        kind::SERVER_KEYS,
        kind::QUERY,
        kind::RESPONSE,
        kind::ENCRYPTED_FUNCTION,
        kind::EXACT_SECRET_KEY,
        kind::CLIENT,
        kind::PENDING,
    ];
    // 0x0401 and 0x0402 belong to ring packing.
    assert!(numbers.into_iter().eq(0x0403..=0x040e));
}

#[test]
fn parameters_come_back() {
    let real = [ParamsSpec::lookup(257).unwrap(), ParamsSpec::flooding(65537).unwrap()];
    let real = real.map(|spec| Params::new(spec).unwrap());
    for params in sets().iter().chain(&real) {
        let wanted = params.spec().security;
        let bytes = write(&wanted, params);
        let back: Params = read(&wanted, &bytes).unwrap().unwrap();
        assert_eq!((back.fingerprint(), back.spec()), (params.fingerprint(), params.spec()));
        let back: Params = read(&Security::Insecure, &bytes).unwrap().unwrap();
        assert_eq!(back.spec(), params.spec());
        if wanted == Security::Insecure {
            assert!(read::<Params>(&Security::Bits128, &bytes).unwrap().is_err());
        }
        for len in 0..bytes.len() {
            assert!(read::<Params>(&wanted, &bytes[..len]).is_none_or(|read| read.is_err()));
        }
        for degree in [0u32, 63, 1 << 18, u32::MAX] {
            let changed = set(&bytes, 0, &degree.to_le_bytes());
            assert!(read::<Params>(&wanted, &changed).unwrap().is_err(), "{degree}");
        }
        assert!(read::<Params>(&wanted, &set(&bytes, 4, &[0xff; 8])).is_none());
        assert!(read::<Params>(&wanted, &set(&bytes, 12, &[0xff; 8])).unwrap().is_err());
    }
    // More primes than there may be: refused before tables are made.
    let form = (64u32, vec![97u64; 65], 17u64, (0u32, 9u32, 4u32), 3.2f64, 2u32);
    let bytes = bincode::serde::encode_to_vec(form, config()).unwrap();
    assert!(read::<Params>(&Security::Insecure, &bytes).is_none());
}

#[test]
fn ciphertexts_come_back_and_decrypt() {
    for params in sets() {
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        let message: Vec<u64> = (0..64).map(|i| i * 31 % 257).collect();
        let seeded = secret.encrypt_seeded(&message, &mut rng(2)).unwrap();
        let seeded: SeededCiphertext = there_and_back(&params, &seeded);
        let mut ct = there_and_back(&params, &seeded.expand(&params).unwrap());
        assert_eq!(*secret.decrypt(&ct).unwrap(), message);
        let mut two = vec![0; 64];
        two[0] = 2;
        ct.mul_plain_assign(&params, &Plaintext::new(&params, &two).unwrap()).unwrap();
        let ct: Ciphertext = there_and_back(&params, &ct.to_one_limb(&params).unwrap());
        let doubled: Vec<u64> = message.iter().map(|m| 2 * m % 257).collect();
        assert_eq!(*secret.decrypt(&ct).unwrap(), doubled);
        let bytes = write(&params, &ct);
        for limbs in [0u32, 2, 3, u32::MAX] {
            let changed = set(&bytes, 16, &limbs.to_le_bytes());
            assert!(read::<Ciphertext>(&params, &changed).unwrap().is_err(), "{limbs}");
        }
        for field in [20, 28] {
            for number in [-1.0, f64::NAN, f64::INFINITY] {
                let changed = set(&bytes, field, &f64::to_le_bytes(number));
                let refused = read::<Ciphertext>(&params, &changed).unwrap().unwrap_err();
                assert!(refused.is(&ErrorKind::Argument, "is not supported: need"), "{refused}");
            }
        }
    }
}

#[test]
fn packing_keys_come_back_and_pack() {
    for params in sets() {
        let secret = SecretKey::generate(&params, &mut rng(1)).unwrap();
        for n in [1, 16, 64] {
            let seeded = SeededPackingKeys::generate(&secret, n, &mut rng(2)).unwrap();
            let seeded = there_and_back(&params, &seeded);
            let keys = seeded.expand(&params).unwrap();
            assert_eq!(keys.compress(), seeded, "{n}");
            let message: Vec<u64> = (0..64).map(|i| u64::from(i % (64 / n) == 0)).collect();
            let ct = secret.encrypt(&message, &mut rng(3)).unwrap();
            let packed = pack(&keys, BTreeMap::from([(0, ct)])).unwrap();
            assert_eq!(*secret.decrypt(&packed).unwrap(), message, "{n}");
            let bytes = write(&params, &seeded);
            for wrong in [0u32, 3, n as u32 * 2, 128, u32::MAX] {
                let changed = set(&bytes, 16, &wrong.to_le_bytes());
                assert!(read::<SeededPackingKeys>(&params, &changed).unwrap().is_err(), "{wrong}");
            }
        }
    }
}

#[test]
fn a_look_up_goes_over_the_wire() {
    for params in sets() {
        let client = Client::generate(&params, &mut rng(1)).unwrap();
        let keys = there_and_back(&params, &client.server_keys(&mut rng(2)).unwrap());
        there_and_back::<PublicKey>(&params, &keys.public);
        let server = Server::new(&params, &keys).unwrap();
        let table: Vec<u64> = (0..150).map(|i| i * i % 257).collect();
        let function = Function::new(&params, &table).unwrap();
        let points = [0, 149, 64, 7, 7];
        for form in [QueryLayout::Paper, QueryLayout::Compact] {
            for client in [client.clone(), client.clone().sending_masks()] {
                let (query, pending) = client.query(150, &points, form, &mut rng(3)).unwrap();
                let bytes = write(&params, &query);
                assert!(bytes.len() - query.byte_len(&params) < 120);
                let query = there_and_back(&params, &query);
                let response = server.evaluate(&function, &query).unwrap();
                for response in [response.clone(), response.truncated(&params).unwrap()] {
                    let bytes = write(&params, &response);
                    assert!(bytes.len() - response.byte_len(&params) < 100);
                    let response = there_and_back(&params, &response);
                    let found = client.read(&pending, &response).unwrap();
                    assert!(found.iter().eq(points.iter().map(|&point| &table[point])), "{form}");
                }
            }
        }
        let encrypted = client.encrypt_function(&function, &mut rng(4)).unwrap();
        let encrypted = there_and_back(&params, &encrypted);
        let response = server.evaluate_encrypted(&encrypted, &points).unwrap();
        let response: Response = there_and_back(&params, &response);
        let found = client.read_encrypted(&encrypted, points.len(), &response).unwrap();
        assert!(found.iter().eq(points.iter().map(|&point| &table[point])));
    }
}

fn written<T: SecretWire<Params = Params>>(params: &Params, secret: &T) -> Vec<u8> {
    bincode::serde::encode_to_vec(secret.to_secret_form(params).unwrap(), config()).unwrap()
}

/// None if there is no form of this type in the bytes.
fn stored<T: SecretWire<Params = Params>>(
    params: &Params,
    bytes: &[u8],
) -> Option<Result<T, Error>> {
    let (form, used) = bincode::serde::decode_from_slice(bytes, config()).ok()?;
    (used == bytes.len()).then(|| T::from_secret_form(params, form))
}

#[test]
fn a_client_asks_in_one_process_and_reads_in_another() {
    for params in sets() {
        let table: Vec<u64> = (0..150).map(|i| i * i % 257).collect();
        let points = [0, 149, 64, 7, 7];
        for form in [QueryLayout::Paper, QueryLayout::Compact] {
            // The first has nothing but the parameters, and leaves bytes behind.
            let (kept, sent) = {
                let client = Client::generate(&params, &mut rng(1)).unwrap().sending_masks();
                let (query, pending) = client.query(150, &points, form, &mut rng(3)).unwrap();
                let keys = client.server_keys(&mut rng(2)).unwrap();
                let kept = [written(&params, &client), written(&params, &pending)];
                (kept, [write(&params, &keys), write(&params, &query)])
            };
            let answer = {
                let keys: ServerKeys = read(&params, &sent[0]).unwrap().unwrap();
                let query: Query = read(&params, &sent[1]).unwrap().unwrap();
                let server = Server::new(&params, &keys).unwrap();
                let function = Function::new(&params, &table).unwrap();
                write(&params, &server.evaluate(&function, &query).unwrap())
            };
            let client: Client = stored(&params, &kept[0]).unwrap().unwrap();
            let pending: Pending = stored(&params, &kept[1]).unwrap().unwrap();
            let found = client.read(&pending, &read(&params, &answer).unwrap().unwrap()).unwrap();
            assert!(found.iter().eq(points.iter().map(|&point| &table[point])), "{form}");
            assert_eq!([written(&params, &client), written(&params, &pending)], kept);
            assert_eq!(written(&params, client.secret())[..], kept[0][..kept[0].len() - 1]);
        }
    }
}

#[test]
fn stored_secrets_that_are_none_are_refused() {
    let params = digits(64, 257, 9, 4);
    let client = Client::generate(&params, &mut rng(1)).unwrap();
    let (_, pending) = client.query(150, &[0, 7], QueryLayout::Paper, &mut rng(2)).unwrap();
    for other in [digits(128, 257, 9, 4), digits(64, 257, 8, 4)] {
        assert!(client.to_secret_form(&other).is_err() && pending.to_secret_form(&other).is_err());
    }
    // key, number of bytes, coefficients.
    let bytes = written(&params, client.secret());
    for (place, value) in [(24, &[2, 0][..]), (24, &[0, 0x80]), (16, &[126]), (24, &[0; 128])] {
        let changed = set(&bytes, place, value);
        let refused = stored::<SecretKey>(&params, &changed);
        assert!(refused.is_none_or(|read| read.is_err()), "{value:?} at {place}");
    }
    // id, key, points.
    let bytes = written(&params, &pending);
    for points in [0u32, 1, 3, (1 << 16) + 1, u32::MAX] {
        let changed = set(&bytes, 32, &points.to_le_bytes());
        assert!(stored::<Pending>(&params, &changed).unwrap().is_err(), "{points}");
    }
    for len in 0..bytes.len() {
        assert!(stored::<Pending>(&params, &bytes[..len]).is_none(), "{len}");
    }
}

#[test]
fn what_does_not_fit_the_protocol_is_refused() {
    let params = digits(64, 257, 9, 4);
    let client = Client::generate(&params, &mut rng(1)).unwrap();
    let stranger = Client::generate(&params, &mut rng(2)).unwrap();
    let keys = client.server_keys(&mut rng(3)).unwrap();
    let other = stranger.server_keys(&mut rng(3)).unwrap();
    let mixed = ServerKeys { packing: keys.packing.clone(), public: other.public };
    let refused = read::<ServerKeys>(&params, &write(&params, &mixed)).unwrap().unwrap_err();
    assert!(
        refused.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or"),
        "{refused}"
    );
    let few = SeededPackingKeys::generate(client.secret(), 2, &mut rng(4)).unwrap();
    let few = ServerKeys { packing: few, public: keys.public.clone() };
    let refused = read::<ServerKeys>(&params, &write(&params, &few)).unwrap().unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Shape), "{refused}");

    // id, key, form, number of domains, domain, points, batch, seed.
    let (query, _) = client.query(150, &[3, 4], QueryLayout::Paper, &mut rng(5)).unwrap();
    let bytes = write(&params, &query);
    let refused = |place, value: &[u8]| {
        read::<Query>(&params, &set(&bytes, place, value)).unwrap().unwrap_err()
    };
    for domain in [0u32, 1 << 29, u32::MAX] {
        assert!(refused(44, &domain.to_le_bytes()).is(&ErrorKind::Shape, "is needed"), "{domain}");
    }
    for points in [0u32, (1 << 16) + 1, u32::MAX] {
        let refused = refused(48, &points.to_le_bytes());
        assert!(matches!(refused.kind(), ErrorKind::TooManyValues { .. }), "{points}: {refused}");
    }
    // More ciphertexts than there are.
    for points in [1u32, 3, 1 << 14] {
        assert!(matches!(refused(48, &points.to_le_bytes()).kind(), ErrorKind::Bytes), "{points}");
    }
    // A compact query without the seed of its batch code.
    assert!(refused(32, &[1]).is(&ErrorKind::Argument, "is not supported: need"));
    for count in [0u64, 2, 65, u64::MAX] {
        let changed = set(&bytes, 36, &count.to_le_bytes());
        assert!(read::<Query>(&params, &changed).is_none_or(|read| read.is_err()), "{count}");
    }

    // id, key, values, shuffled, drops, variance, weight.
    let server = Server::new(&params, &keys).unwrap();
    let function = Function::new(&params, &[5; 150]).unwrap();
    let response = server.evaluate(&function, &query).unwrap();
    // The largest number of as many bits is no residue.
    let bytes = write(&params, &response);
    let changed = set(&bytes, bytes.len() - 8, &[0xff; 8]);
    let refused = read::<Response>(&params, &changed).unwrap().unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Bytes), "{refused}");
    let bytes = write(&params, &response.truncated(&params).unwrap());
    let refused = |place, value: &[u8]| {
        read::<Response>(&params, &set(&bytes, place, value)).unwrap().unwrap_err()
    };
    assert!(refused(32, &[0; 4]).is(&ErrorKind::Argument, "is not supported: need"));
    for values in [65u32, u32::MAX] {
        assert!(matches!(refused(32, &values.to_le_bytes()).kind(), ErrorKind::Bytes), "{values}");
    }
    for place in [37, 41] {
        for drop in [49u32, 50, 64, u32::MAX] {
            assert!(
                refused(place, &drop.to_le_bytes())
                    .is(&ErrorKind::Argument, "is not supported: need"),
                "{drop}"
            );
        }
        assert!(matches!(refused(place, &[0]).kind(), ErrorKind::Bytes));
    }
    for (place, least) in [(45, 0.0f64), (53, 1.0)] {
        for number in [least - 0.5, f64::NAN, f64::INFINITY] {
            let refused = refused(place, &number.to_le_bytes());
            assert!(refused.is(&ErrorKind::Argument, "is not supported: need"), "{refused}");
        }
    }

    // id, key, domain.
    let encrypted = client.encrypt_function(&function, &mut rng(6)).unwrap();
    let bytes = write(&params, &encrypted);
    for domain in [0u32, 128, 193, 1 << 29, u32::MAX] {
        let changed = set(&bytes, 32, &domain.to_le_bytes());
        let refused = read::<EncryptedFunction>(&params, &changed).unwrap();
        assert!(
            matches!(refusal(&refused).kind(), ErrorKind::Shape | ErrorKind::Bytes),
            "{domain}"
        );
    }
}
