//! Clients and public keys.

use bellerophon::{
    Bridge, ClientKey, Disc, Engine, Needs, Paired, Params, Preset, Provided, PublicKey, Toy,
    ckks::{self, Interval, PublicKey as LatticeKey},
    format,
};

use super::{BAD, Record, rng, stranger};
use crate::common::party;

fn client(preset: Preset) -> ClientKey {
    party(preset, &Needs::new(), 1).client
}

/// Vectors that do not fit, ranges that are none, levels that do not exist.
pub fn of_vectors(record: &mut Record) {
    let client = &client(Preset::Insecure(Toy::Functions));
    let public = &client.public_key_with(&mut rng()).unwrap();
    let (slots, top) = (client.params().slots(), client.params().ckks().max_level());
    let mut cases: Vec<(String, Vec<f64>)> = vec![
        ("no values".into(), vec![]),
        ("too many values".into(), vec![0.0; 2 * slots + 1]),
        ("a value out of range".into(), vec![0.0, 2.5]),
    ];
    cases.extend(BAD.map(|bad| (format!("a value {bad}"), vec![0.5, bad])));
    let unit = || -1.0..=1.0;
    for (why, v) in &cases {
        let (level, rng) = (client.params().levels(), &mut rng());
        refused!(record, why, ClientKey::encrypt(client, v, unit()));
        refused!(record, why, ClientKey::encrypt_with(client, v, unit(), level, rng));
        refused!(record, why, ClientKey::encrypt_seeded(client, v, unit()));
        refused!(record, why, ClientKey::encrypt_seeded_with(client, v, unit(), level, rng));
        refused!(record, why, ClientKey::encrypt(client, v, Paired(unit())));
        refused!(record, why, ClientKey::encrypt_with(client, v, Paired(unit()), level, rng));
        refused!(record, why, ClientKey::encrypt_seeded(client, v, Paired(unit())));
        refused!(
            record,
            why,
            ClientKey::encrypt_seeded_with(client, v, Paired(unit()), level, rng)
        );
        refused!(record, why, PublicKey::encrypt(public, v, unit()));
        refused!(record, why, PublicKey::encrypt_with(public, v, unit(), level, rng));
    }
    for (lo, hi) in [(1.0, -1.0), (f64::NAN, 1.0), (-1.0, f64::INFINITY), (-1e300, 1e300)] {
        let (why, range) = (format!("the range {lo}..={hi}"), || lo..=hi);
        refused!(record, why, ClientKey::encrypt(client, &[0.5], range()));
        refused!(record, why, ClientKey::encrypt_seeded(client, &[0.5], range()));
        refused!(record, why, ClientKey::encrypt(client, &[0.5], Paired(range())));
        refused!(record, why, ClientKey::encrypt_seeded(client, &[0.5], Paired(range())));
        refused!(record, why, PublicKey::encrypt(public, &[0.5], range()));
    }
    for level in [top + 1, usize::MAX] {
        let (why, v, rng) = ("a level above all", &[0.5][..], &mut rng());
        refused!(record, why, ClientKey::encrypt_with(client, v, unit(), level, rng));
        refused!(record, why, ClientKey::encrypt_seeded_with(client, v, unit(), level, rng));
        refused!(record, why, ClientKey::encrypt_with(client, v, Paired(unit()), level, rng));
        refused!(
            record,
            why,
            ClientKey::encrypt_seeded_with(client, v, Paired(unit()), level, rng)
        );
        refused!(record, why, PublicKey::encrypt_with(public, v, unit(), level, rng));
    }
    // Ciphertexts of a stranger, and of other parameters.
    for foreign in [stranger(client.params()), self::client(Preset::Insecure(Toy::Bootstrapping))] {
        let (why, unit) = (foreign.params().name(), -1.0..=1.0);
        let x = foreign.encrypt(&[0.5], unit.clone()).unwrap();
        refused!(record, why, ClientKey::decrypt(client, &x));
        refused!(record, why, ClientKey::decrypt_noisy::<f64>(client, &x));
        refused!(record, why, ClientKey::decrypt_complex(client, &x));
        let pair = foreign.encrypt(&[0.5], Paired(unit)).unwrap();
        refused!(record, why, ClientKey::decrypt_paired(client, &pair));
    }
    // Values that the noise covers, and complex ones.
    let narrow = 0.0..=1e-13;
    refused!(record, "noise above the range", ClientKey::encrypt(client, &[1e-14], narrow));
    let z = client.encrypt(&[ckks::Complex64::new(0.5, 0.5)], Disc(1.0)).unwrap();
    refused!(record, "complex values", ClientKey::decrypt(client, &z));
    refused!(record, "complex values", ClientKey::decrypt_noisy::<f64>(client, &z));
    for bad in [f64::NAN, -1.0] {
        refused!(
            record,
            "no modulus",
            ClientKey::encrypt(client, &[ckks::Complex64::ZERO], Disc(bad))
        );
    }
    // A plaintext at another scale than that of vectors of providers.
    let lattice = client.params().ckks();
    let (encoder, interval) = (ckks::Encoder::new(lattice), Interval::real(-1.0, 1.0).unwrap());
    let plain = encoder.encode(&[0.5], interval, lattice.scale() / 2.0, lattice.limbs()).unwrap();
    let secret = bellerophon::mlwe::SecretKey::generate(lattice.lattice(), &mut rng()).unwrap();
    let key = LatticeKey::generate(&secret, &mut rng());
    let rng = &mut rng();
    refused!(record, "another scale", Provided::encrypt(lattice, &plain, &key, rng));
}

/// Needs that the parameters cannot serve, and bytes that hold no key.
pub fn of_keys(record: &mut Record) {
    let (tables, plain) =
        (&client(Preset::Insecure(Toy::Functions)), &client(Preset::Insecure(Toy::Bootstrapping)));
    let unserved = [
        (tables, "bootstrapping", Needs::new().bootstrap()),
        (tables, "functional bootstrapping", Needs::new().functional()),
        (plain, "look-ups", Needs::new().map()),
        (plain, "corrected look-ups", Needs::new().map_with([Engine::Corrected])),
        (plain, "a bridge", Needs::new().map().bridge(Bridge::Linear)),
    ];
    for (client, why, needs) in &unserved {
        refused!(record, why, ClientKey::evaluation_keys(client, needs));
        refused!(record, why, ClientKey::evaluation_keys_with(client, needs, &mut rng()));
        refused!(record, why, ClientKey::reducing_keys(client, needs));
        refused!(record, why, Params::evaluation_key_bytes(client.params(), needs));
    }
    let (own, other) = (tables.params(), plain.params());
    let public = tables.public_key().unwrap().to_bytes().unwrap();
    let vector = tables.encrypt_seeded(&[0.5], -1.0..=1.0).unwrap();
    let damaged: Vec<u8> = public.iter().rev().copied().collect();
    for (why, bytes) in [
        ("no bytes", &[][..]),
        ("half of the bytes", &public[..public.len() / 2]),
        ("damaged bytes", &damaged),
        ("a vector", &format::to_bytes(own, &vector).unwrap()),
    ] {
        refused!(record, why, PublicKey::from_bytes(own, bytes));
    }
    refused!(record, "other parameters", PublicKey::from_bytes(other, &public));
    let secret = tables.to_secret_bytes().unwrap();
    refused!(record, "other parameters", ClientKey::from_secret_bytes(other, &secret));
    let none = format::SecretBytes::new(vec![]);
    refused!(record, "no bytes", ClientKey::from_secret_bytes(own, &none));
    let (why, cost) = ("no passphrase", format::PassphraseCost::default());
    refused!(record, why, ClientKey::to_encrypted_bytes(tables, ""));
    refused!(record, why, ClientKey::to_encrypted_bytes_with(tables, "", cost, &mut rng()));
    refused!(record, "no bytes", ClientKey::from_encrypted_bytes(own, &[], "passphrase"));
}
