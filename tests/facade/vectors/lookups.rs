//! Stored tables, bridges and private look-up.

use std::{collections::BTreeMap, sync::LazyLock};

use bellerophon::{
    bfv,
    ckks::{self, SeededCiphertext},
    format::{SecretBytes, from_bytes},
    lookup::{RingBridge, RingBridgeKeys, RingBridgeSpec, SeededRepackKey},
    lwe::{
        self, BlindRotationKey, Encoding, Engine, LookupKeys, LweVec, NtruRotation, NtruSpec,
        OutputEncoding, PublishedValues, RgswGadget, RotationPart, SeededBlindRotationKey,
        SeededKeySwitchKey, SeededLookupKeys,
    },
    mlwe::{KeyId, SecretKind, Security},
    pir::{Client, EncryptedFunction, Function, Pending, Query, Response, Server, ServerKeys},
    ring::wire::SecretWire,
};
use zeroize::Zeroizing;

use super::{ANY, Reader, again, key_set, rng, stored};

/// The secrets of the values and of the ring of the tables.
const LWE: [i64; 8] = [-1, 1, 1, -1, 1, -1, 0, 0];
const RING: [i64; 16] = [-1, 0, -1, -1, 1, 0, 0, -1, 1, -1, 0, -1, 0, -1, 1, -1];

/// What was asked for of the function `x^2 mod 257` on 40 points.
const POINTS: [usize; 3] = [0, 39, 7];

/// The client that the keys of tables are of.
const KEY: KeyId = KeyId(7);

/// Every type: its folder, how many files that has, its reader.
pub const TYPES: [(&str, usize, Reader); 22] = [
    ("encrypted_function", 1, |_, b| again::<EncryptedFunction, _>(&LOOKUPS.exact[0], b)),
    ("evaluation_keys_tables", 2, |s, b| key_set(&s.tables, b)),
    ("exact_ciphertext", 2, |_, b| again::<bfv::Ciphertext, _>(&LOOKUPS.exact[1], b)),
    ("exact_params", 2, |_, b| again::<bfv::Params, _>(&ANY, b)),
    ("exact_public_key", 1, |_, b| again::<bfv::PublicKey, _>(&LOOKUPS.exact[1], b)),
    ("exact_secret_key", 1, |_, b| secret_again::<bfv::SecretKey>(1, b)),
    ("fresh_exact_ciphertext", 1, |_, b| again::<bfv::SeededCiphertext, _>(&LOOKUPS.exact[1], b)),
    ("lookup_client", 2, |_, b| secret_again::<Client>(0, b)),
    ("lookup_keys", 1, |_, b| again::<SeededLookupKeys, _>(&LOOKUPS.tables[1], b)),
    ("lookup_pending", 2, |_, b| secret_again::<Pending>(0, b)),
    ("lookup_server_keys", 1, |_, b| again::<ServerKeys, _>(&LOOKUPS.exact[0], b)),
    ("lwe_switching_key", 1, |_, b| again::<SeededKeySwitchKey, _>(&LOOKUPS.tables[0], b)),
    ("lwe_value", 2, |_, b| again::<lwe::Ciphertext, _>(&LOOKUPS.tables[0], b)),
    ("packing_keys", 2, |_, b| again::<bfv::SeededPackingKeys, _>(&LOOKUPS.exact[1], b)),
    ("published_values", 1, |_, b| again::<PublishedValues, _>(&LOOKUPS.tables[0], b)),
    ("query", 3, |_, b| again::<Query, _>(&LOOKUPS.exact[0], b)),
    ("repacking_key", 2, |s, b| again::<SeededRepackKey, _>(s.params.ckks(), b)),
    ("response", 2, |_, b| again::<Response, _>(&LOOKUPS.exact[0], b)),
    ("ring_bridge_keys", 1, |_, b| again::<RingBridgeKeys, _>(&LOOKUPS.bridge, b)),
    ("rotation_key", 1, |_, b| again::<SeededBlindRotationKey, _>(&LOOKUPS.tables[0], b)),
    ("rotation_part", 3, |_, b| again::<RotationPart, _>(&LOOKUPS.tables[1], b)),
    ("table_values", 2, |_, b| again::<LweVec, _>(&LOOKUPS.tables[0], b)),
];

fn secret_again<T>(set: usize, bytes: &[u8]) -> bellerophon::Result<Vec<u8>>
where
    T: SecretWire<Params = bfv::Params>,
{
    let params = &LOOKUPS.exact[set];
    let secret: T = SecretBytes::new(bytes.to_vec()).read(params)?;
    Ok(SecretBytes::of(params, &secret)?.expose().to_vec())
}

/// Parameters that objects are read with.
struct Lookups {
    /// Tables on RGSW, and on NTRU.
    tables: [lwe::Params; 2],
    /// Exact plaintexts with keys in digits, and with special primes.
    exact: [bfv::Params; 2],
    bridge: RingBridge,
}

static LOOKUPS: LazyLock<Lookups> = LazyLock::new(|| {
    let ntru = NtruSpec {
        modulus: NTRU,
        base_log: 15,
        count: 2,
        rotation: NtruRotation::Ternary,
        switch_base_log: 12,
        switch_count: 3,
    };
    let digits = RgswGadget::Digits { base_log: 16, count: 2 };
    let tables = [Engine::Rgsw(digits), Engine::Ntru(ntru)].map(|engine| {
        let spec = lwe::ParamsSpec {
            dimension: 8,
            modulus: SMALL,
            secret: SecretKind::Ternary,
            sigma: 3.2,
            key_switch_base_log: 7,
            key_switch_digits: 4,
            ring_degree: 16,
            ring_modulus: Q0,
            engine,
            ring_secret: SecretKind::Ternary,
            ring_sigma: 3.2,
            security: Security::Insecure,
        };
        lwe::Params::new(spec).unwrap()
    });
    let stored = stored();
    let exact = ["exact_params/0.bin", "exact_params/1.bin"].map(|name| stored.read(&ANY, name));
    let slots: ckks::Params = stored.read(&ANY, "slot_params/3.bin");
    let (secret, log2_failure) = (SecretKind::Ternary, -50.0);
    let spec = RingBridgeSpec { degree: 64, secret, weight: 16, log2_failure };
    Lookups { tables, exact, bridge: RingBridge::new(&slots, spec).unwrap() }
});

/// The moduli of the tables: of their values, of their inputs, of the NTRU rotation.
const Q0: u64 = 35_184_372_088_961;
const SMALL: u64 = 268_435_361;
const NTRU: u64 = 17_592_186_044_129;

/// The secrets of values and tables.
fn secrets() -> [lwe::SecretKey; 2] {
    [&LWE[..], &RING]
        .map(|secret| lwe::SecretKey::from_coefficients(Zeroizing::new(secret.to_vec())).unwrap())
}

#[test]
fn values_and_tables_do_what_they_did() {
    let stored = stored();
    let [rgsw, ntru] = &LOOKUPS.tables;
    let [low, high] = &secrets();
    for (name, secret, expected) in
        [("lwe_value/0.bin", low, 1i64 << 20), ("lwe_value/1.bin", high, 1 << 40)]
    {
        let value: lwe::Ciphertext = stored.read(rgsw, name);
        let error = lwe::phase(&value, secret).unwrap() - expected;
        assert!(error.abs() < 32, "{name}: {error}");
    }
    for (name, expected) in
        [("table_values/0.bin", &[-1.0, 0.25, 2.0][..]), ("table_values/1.bin", &[-1.0])]
    {
        let values: LweVec = stored.read(rgsw, name);
        super::close(&values.decrypt(high).unwrap(), expected);
    }
    let published: PublishedValues = stored.read(rgsw, "published_values/0.bin");
    let values: &LweVec = published.as_ref();
    super::close(&values.decrypt(high).unwrap(), &[-1.0, 0.25, 2.0]);
    assert_eq!((values.meta().lo, values.meta().hi, published.log2_noise()), (-2.0, 2.0, -9));
    let rotation: SeededBlindRotationKey = stored.read(rgsw, "rotation_key/0.bin");
    let switch: SeededKeySwitchKey = stored.read(rgsw, "lwe_switching_key/0.bin");
    let apart = SeededLookupKeys { rotation, switch, key: KEY };
    let whole: SeededLookupKeys = stored.read(ntru, "lookup_keys/0.bin");
    let parts =
        (0..3).map(|i| Ok(stored.read::<RotationPart, _>(ntru, &format!("rotation_part/{i}.bin"))));
    let rotation = BlindRotationKey::from_parts(ntru, parts).unwrap();
    let in_parts = LookupKeys { rotation, ..whole.expand(ntru).unwrap() };
    looks_up(rgsw, &apart.expand(rgsw).unwrap(), high);
    looks_up(ntru, &whole.expand(ntru).unwrap(), high);
    looks_up(ntru, &in_parts, high);
}

/// A step in a table of 16 entries, far from the step.
fn looks_up(params: &lwe::Params, keys: &LookupKeys, secret: &lwe::SecretKey) {
    let encoding = Encoding::new(0.0, 32.0).unwrap();
    let values = [-4.0, 4.0, 3.5];
    let range = -4.0..=4.0;
    let values = LweVec::encrypt(params, secret, KEY, &values, encoding, range, &mut rng());
    let output = OutputEncoding::Encoding(Encoding::new(0.0, 16.0).unwrap());
    let step = |x: f64| if x < 0.0 { -2.0 } else { 2.0 };
    // So small a table has no room for a guard band that keeps out more.
    let evaluator = lwe::Evaluator::new(params, keys).with_failure(-4.0).unwrap();
    let found = evaluator.map(&values.unwrap(), step, output).unwrap();
    super::close(&found.decrypt(secret).unwrap(), &[-2.0, 2.0, 2.0]);
}

#[test]
fn bridges_are_what_they_were() {
    let stored = stored();
    let slots = stored.params.ckks();
    for (name, count, limbs) in [("repacking_key/0.bin", 4, 3), ("repacking_key/1.bin", 1, 2)] {
        let key: SeededRepackKey = stored.read(slots, name);
        assert_eq!((key.dimension(), key.babies().len()), (8, count));
        for (g, baby) in key.babies().iter().enumerate() {
            let baby: &SeededCiphertext = baby;
            let ct = baby.expand(slots).unwrap();
            assert_eq!(ct.level(), limbs - 1);
            let expected: Vec<f64> = (0..8).map(|r| LWE[(r + g) % 8] as f64).collect();
            super::close(&stored.client.decrypt(&ct).unwrap(), &expected);
        }
    }
    // Little but the residues of its keys.
    let little = |name: &str, keys: usize| {
        let len = stored.bytes(name).len();
        assert!((len - 1000..len).contains(&keys), "{name}: {keys} of {len}");
    };
    let name = "ring_bridge_keys/0.bin";
    let bridge: RingBridgeKeys = stored.read(&LOOKUPS.bridge, name);
    little(name, bridge.byte_len());
    for name in ["evaluation_keys_tables/0.bin", "evaluation_keys_tables/1.bin"] {
        little(name, stored.keys(&stored.tables, name).byte_len());
    }
}

#[test]
fn exact_plaintexts_are_what_they_were() {
    let stored = stored();
    let params = &LOOKUPS.exact[1];
    let secret = SecretBytes::new(stored.bytes("exact_secret_key/0.bin"));
    let secret: bfv::SecretKey = secret.read(params).unwrap();
    let message: Vec<u64> = (0..16).map(|i| i * 31 % 257).collect();
    for name in ["exact_ciphertext/0.bin", "exact_ciphertext/1.bin"] {
        let ct: bfv::Ciphertext = stored.read(params, name);
        assert_eq!(*secret.decrypt(&ct).unwrap(), message, "{name}");
    }
    let fresh: bfv::SeededCiphertext = stored.read(params, "fresh_exact_ciphertext/0.bin");
    assert_eq!(*secret.decrypt(&fresh.expand(params).unwrap()).unwrap(), message);
    let public: bfv::PublicKey = stored.read(params, "exact_public_key/0.bin");
    assert_eq!(public.key(), secret.id());
    let zero = public.zero(params, &mut rng()).unwrap();
    assert_eq!(*secret.decrypt(&zero).unwrap(), [0; 16]);
    for (name, n) in [("packing_keys/0.bin", 1), ("packing_keys/1.bin", 8)] {
        let keys: bfv::SeededPackingKeys = stored.read(params, name);
        let message: Vec<u64> = (0..16).map(|i| u64::from(i % (16 / n) == 0)).collect();
        let ct = secret.encrypt(&message, &mut rng()).unwrap();
        let keys = keys.expand(params).unwrap();
        let packed = bfv::pack(&keys, BTreeMap::from([(0, ct)])).unwrap();
        assert_eq!(*secret.decrypt(&packed).unwrap(), message, "{name}");
    }
}

#[test]
fn private_look_ups_are_answered() {
    let stored = stored();
    let params = &LOOKUPS.exact[0];
    let secret = |name: &str| SecretBytes::new(stored.bytes(name));
    let expected = POINTS.map(|x| x as u64 * x as u64 % 257);
    let function: Vec<u64> = (0..40).map(|x| x * x % 257).collect();
    let function = Function::new(params, &function).unwrap();
    let keys: ServerKeys = stored.read(params, "lookup_server_keys/0.bin");
    let server = Server::new(params, &keys).unwrap();
    for client in ["lookup_client/0.bin", "lookup_client/1.bin"] {
        let client: Client = secret(client).read(params).unwrap();
        let [paper, compact] = ["lookup_pending/0.bin", "lookup_pending/1.bin"]
            .map(|name| secret(name).read::<Pending>(params).unwrap());
        for name in ["response/0.bin", "response/1.bin"] {
            let response: Response = stored.read(params, name);
            assert_eq!(*client.read(&paper, &response).unwrap(), expected, "{name}");
        }
        for (name, pending) in
            [("query/0.bin", &paper), ("query/1.bin", &compact), ("query/2.bin", &paper)]
        {
            let query: Query = stored.read(params, name);
            let response = server.evaluate(&function, &query).unwrap();
            assert_eq!(*client.read(pending, &response).unwrap(), expected, "{name}");
        }
        let function: EncryptedFunction = stored.read(params, "encrypted_function/0.bin");
        let response = server.evaluate_encrypted(&function, &POINTS).unwrap();
        let found = client.read_encrypted(&function, 3, &response).unwrap();
        assert_eq!(*found, expected);
    }
    let other = secret("lookup_client/0.bin").read::<Client>(&LOOKUPS.exact[1]);
    assert!(
        other.is_err() && from_bytes::<Query>(params, &stored.bytes("response/0.bin")).is_err()
    );
}
