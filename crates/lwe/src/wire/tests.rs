//! Round trips of every form, and invalid input of hostile peers.

use bellerophon_mlwe::{KeyId, SecretKind};
use bellerophon_ring::{Error, ErrorKind, prime, wire::Wire};
use bellerophon_testing::bytes::{read, set, survives, write};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::kind;
use crate::blind_rotate::tests::specs;
use crate::blind_rotate::{BlindRotationKey, RotationPart, SeededBlindRotationKey};
use crate::ciphertext::Ciphertext;
use crate::encoding::Encoding;
use crate::encrypt::encrypt;
use crate::engine::{Engine, RgswGadget};
use crate::error;
use crate::keys::{LookupKeys, SeededLookupKeys};
use crate::keyswitch::SeededKeySwitchKey;
use crate::lwe_vec::LweVec;
use crate::params::tests::insecure;
use crate::params::{Params, ParamsSpec};
use crate::secret::SecretKey;

fn keys(spec: ParamsSpec, seed: u64) -> (Params, SeededLookupKeys) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = Params::new(spec).unwrap();
    let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
    let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
    let keys = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7 << 100), &mut rng);
    (params, keys.unwrap())
}

#[test]
fn numbers_are_of_this_crate_and_differ() {
    let numbers = [
        kind::CIPHERTEXT,
        kind::VALUES,
        kind::KEY_SWITCH_KEY,
        kind::BLIND_ROTATION_KEY,
        kind::ROTATION_PART,
        kind::LOOKUP_KEYS,
    ];
    assert!(numbers.is_sorted_by(|x, y| x < y) && numbers.iter().all(|n| n >> 8 == 3));
}

#[test]
fn keys_of_every_engine_come_back() {
    for (name, spec) in specs(8, 64) {
        let (params, seeded) = keys(spec, 1);
        let bytes = write(&params, &seeded);
        let head = bytes.len() - seeded.byte_len(&params);
        assert!(head < 200, "{name}: {head} bytes beside seeds and residues");
        let back: SeededLookupKeys = read(&params, &bytes).unwrap().unwrap();
        assert_eq!(back, seeded, "{name}");
        let keys: LookupKeys = back.expand(&params).unwrap();
        assert_eq!(keys.rotation, seeded.rotation.expand(&params).unwrap(), "{name}");
        assert_eq!(keys.compress(&params).unwrap(), seeded, "{name}");
        assert_eq!(keys.switch.compress(), seeded.switch, "{name}");
        let bytes = write(&params, &seeded.rotation);
        let back: SeededBlindRotationKey = read(&params, &bytes).unwrap().unwrap();
        assert_eq!(back, seeded.rotation, "{name}");
        let bytes = write(&params, &seeded.switch);
        assert_eq!(read::<SeededKeySwitchKey>(&params, &bytes).unwrap().unwrap(), seeded.switch);
    }
}

#[test]
fn keys_come_back_in_parts() {
    for (name, spec) in specs(8, 64) {
        let (params, seeded) = keys(spec, 1);
        let expanded = seeded.rotation.expand(&params).unwrap();
        for size in [1, 3, 8, usize::MAX] {
            let parts = seeded.rotation.parts(&params, size).unwrap();
            assert_eq!(parts.len(), 8usize.div_ceil(size));
            let parts: Vec<_> = parts.map(|part| write(&params, &part)).collect();
            let again = expanded.parts(&params, size).unwrap().map(|part| write(&params, &part));
            assert!(again.eq(parts.iter().cloned()), "{name} {size}");
            let read = || parts.iter().map(|bytes| read::<RotationPart>(&params, bytes).unwrap());
            let back = SeededBlindRotationKey::from_parts(&params, read()).unwrap();
            assert_eq!(back, seeded.rotation, "{name} {size}");
            assert_eq!(BlindRotationKey::from_parts(&params, read()).unwrap(), expanded);
        }
        assert!(seeded.rotation.parts(&params, 0).is_err());
    }
}

#[test]
fn parts_are_all_of_one_key_in_order_or_refused() {
    for (name, spec) in specs(8, 64) {
        let (params, seeded) = keys(spec.clone(), 1);
        let (_, other) = keys(spec, 2);
        let parts: Vec<_> = seeded.rotation.parts(&params, 3).unwrap().collect();
        let others: Vec<_> = other.rotation.parts(&params, 3).unwrap().collect();
        let assemble = |parts: &[&RotationPart]| {
            let parts = || parts.iter().map(|&part| Ok::<_, Error>(part.clone()));
            let seeded = SeededBlindRotationKey::from_parts(&params, parts()).map(|_| ());
            assert_eq!(seeded, BlindRotationKey::from_parts(&params, parts()).map(|_| ()));
            seeded
        };
        let [a, b, c] = &parts[..] else { panic!("three parts") };
        assemble(&[a, b, c]).unwrap();
        for wrong in [&[][..], &[a], &[a, b], &[b, c], &[a, c], &[a, a, b, c], &[a, b, c, c]] {
            let error = assemble(wrong).unwrap_err();
            assert!(
                error.is(&ErrorKind::Bytes, "are missing: give all parts of one key in"),
                "{name}: {error}"
            );
        }
        let error = assemble(&[a, &others[1], c]).unwrap_err();
        assert_eq!(error, error::foreign_part(3..6), "{name}");
        let stop = error::no_values();
        let broken = [Ok(a.clone()), Err(stop.clone())];
        assert_eq!(BlindRotationKey::from_parts(&params, broken).unwrap_err(), stop);
    }
}

/// Every engine's key under every other engine, and sets that differ in one number.
#[test]
fn keys_of_other_parameters_are_refused() {
    let all = specs(8, 64).map(|(name, spec)| (name, keys(spec, 1)));
    for (name, (params, seeded)) in &all {
        let bytes = write(params, seeded);
        let rotation = write(params, &seeded.rotation);
        for (other_name, (other, _)) in &all {
            let engine = params.spec().engine == other.spec().engine;
            let read = read::<SeededBlindRotationKey>(other, &rotation).unwrap();
            assert_eq!(read.is_ok(), engine, "{name} {other_name}");
            assert_eq!(seeded.to_form(other).is_ok(), engine, "{name} {other_name}");
        }
        let spec = params.spec();
        for other in [
            ParamsSpec { dimension: 16, ..spec.clone() },
            ParamsSpec { modulus: moved(8, 28, spec.modulus), ..spec.clone() },
            ParamsSpec { key_switch_digits: 13, ..spec.clone() },
            ParamsSpec { key_switch_base_log: 3, ..spec.clone() },
            ParamsSpec { ring_degree: 128, ..spec.clone() },
            ParamsSpec { ring_modulus: moved(64, 45, spec.ring_modulus), ..spec.clone() },
        ] {
            // Not all numbers are compatible.
            let Ok(other) = Params::new(other) else { continue };
            assert_ne!(other.fingerprint(), params.fingerprint());
            assert!(read::<SeededLookupKeys>(&other, &bytes).unwrap().is_err(), "{name}");
        }
    }
}

#[test]
fn damaged_keys_are_refused() {
    let [rgsw, _, ternary, _, any, _] = specs(8, 64);
    for (_, spec) in [rgsw, ternary, any] {
        let (params, seeded) = keys(spec, 1);
        survives::<SeededLookupKeys>(&params, &write(&params, &seeded), 1, &[]);
        survives::<SeededKeySwitchKey>(&params, &write(&params, &seeded.switch), 1, &[]);
        survives::<SeededBlindRotationKey>(&params, &write(&params, &seeded.rotation), 1, &[]);
        for part in seeded.rotation.parts(&params, 3).unwrap() {
            survives::<RotationPart>(&params, &write(&params, &part), 1, &[]);
        }
    }
}

/// Fields at their byte offsets, as `docs/FORMAT.md` specifies.
#[test]
fn fields_that_do_not_fit_have_their_errors() {
    let (params, seeded) = keys(insecure(8, 64, false), 1);
    let bytes = write(&params, &seeded.switch);
    let switch = |place, value: &[u8]| {
        read::<SeededKeySwitchKey>(&params, &set(&bytes, place, value)).unwrap().unwrap_err()
    };
    for source in [0u32, 56, 65, u32::MAX] {
        let error = switch(0, &source.to_le_bytes());
        assert!(matches!(error.kind(), ErrorKind::Bytes | ErrorKind::Shape), "{error}");
    }
    assert!(switch(4, &[9]).is(&ErrorKind::Shape, "dimension 9 where 8 is needed"));
    assert!(switch(8, &[0xff; 8]).is(&ErrorKind::ParamsMismatch, &u64::MAX.to_string()));
    for place in [16, 20] {
        let error = switch(place, &u32::MAX.to_le_bytes());
        assert!(error.is(&ErrorKind::Parameters, "parameter key_switch_digits ="), "{error}");
    }
    // The modulus itself as the last residue: 28 bits from the middle of a byte on.
    let q = params.modulus();
    let end = (q.value() << 4 | u64::from(bytes[bytes.len() - 4] & 0xf)).to_le_bytes();
    let error = switch(bytes.len() - 4, &end[..4]);
    assert_eq!(error, bellerophon_ring::error::residue(q.value(), q.value()));

    let part = seeded.rotation.parts(&params, 3).unwrap().nth(1).unwrap();
    let bytes = write(&params, &part);
    let rotation = |place, value: &[u8]| {
        read::<RotationPart>(&params, &set(&bytes, place, value)).unwrap().unwrap_err()
    };
    for place in [0, 4] {
        assert!(rotation(place, &[0xff; 4]).is(&ErrorKind::Shape, "is needed"));
    }
    for place in [8, 20] {
        assert!(rotation(place, &[0xff; 8]).is(&ErrorKind::Parameters, "parameter engine ="));
    }
    for first in [6u32, 8, u32::MAX] {
        assert!(
            rotation(60, &first.to_le_bytes())
                .is(&ErrorKind::Bytes, "are missing: give all parts of one key in"),
            "{first}"
        );
    }
    for count in [0, 6, u32::MAX] {
        assert!(
            rotation(64, &count.to_le_bytes())
                .is(&ErrorKind::Bytes, "are missing: give all parts of one key in"),
            "{count}"
        );
    }
    assert_eq!(*rotation(64, &[2]).kind(), ErrorKind::Bytes);
    // What goes with the first part only, and what no RGSW key has.
    for extra in [bytes.len() - 16, bytes.len() - 8] {
        let mut longer = set(&bytes, extra, &[1]);
        longer.insert(extra + 8, 0);
        assert!(matches!(
            read::<RotationPart>(&params, &longer),
            Some(Err(e)) if matches!(e.kind(), ErrorKind::Bytes)
        ));
    }
    let other = keys(insecure(8, 64, true), 1);
    assert!(part.to_form(&other.0).is_err());
    // The key switch of look-up keys has the ring secret as its source.
    let mut short = seeded.clone();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let secret = SecretKey::generate(56, SecretKind::Ternary, &mut rng).unwrap();
    let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
    short.switch = SeededKeySwitchKey::generate(&params, &secret, &lwe, &mut rng).unwrap();
    let error = read::<SeededLookupKeys>(&params, &write(&params, &short)).unwrap().unwrap_err();
    assert!(error.is(&ErrorKind::Shape, "dimension 56 where 64 is needed"), "{error}");
}

#[test]
fn values_come_back_and_damaged_ones_do_not() {
    let params = Params::new(insecure(8, 64, false)).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
    let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
    for (q, secret) in [(params.modulus(), &lwe), (params.ring_modulus(), &ring)] {
        let value = encrypt(q, secret, 5 << 20, 1.0, &mut rng).unwrap();
        let bytes = write(&params, &value);
        assert_eq!(read::<Ciphertext>(&params, &bytes).unwrap().unwrap(), value);
        survives::<Ciphertext>(&params, &bytes, 1, &[]);
        assert!(read::<Ciphertext>(&params, &set(&bytes, 8, &[9])).unwrap().is_err());
        let error = read::<Ciphertext>(&params, &set(&bytes, 0, &[0])).unwrap().unwrap_err();
        assert!(
            error.is(&ErrorKind::ParamsMismatch, "is needed; switch the modulus first"),
            "{error}"
        );
    }
    // Inputs and results modulo the same prime: the dimension distinguishes them.
    let base = insecure(8, 64, false);
    let modulus = base.ring_modulus;
    let one = ParamsSpec { modulus, key_switch_base_log: 7, key_switch_digits: 4, ..base };
    let one = Params::new(one).unwrap();
    for dimension in [8, 64] {
        let value = Ciphertext::trivial(*one.modulus(), dimension, 5);
        let bytes = write(&one, &value);
        assert_eq!(read::<Ciphertext>(&one, &bytes).unwrap().unwrap(), value);
    }
    assert!(Ciphertext::trivial(*one.modulus(), 16, 0).to_form(&one).is_err());
    let strange = Ciphertext::trivial(*params.modulus(), 64, 0);
    assert!(strange.to_form(&params).is_err());

    let encoding = Encoding::new(3.0, 16.0).unwrap();
    let messages = [-1.0, 0.25, 2.0];
    let key = KeyId(9 << 90);
    let values = LweVec::encrypt(&params, &ring, key, &messages, encoding, -1.0..=2.0, &mut rng);
    let values = values.unwrap();
    for values in [values.add(&values).unwrap(), values.times(2).unwrap(), values] {
        let bytes = write(&params, &values);
        let back: LweVec = read(&params, &bytes).unwrap().unwrap();
        assert_eq!(back, values);
        survives::<LweVec>(&params, &bytes, 1, &[]);
        let change = |place: usize, value: &[u8]| {
            read::<LweVec>(&params, &set(&bytes, place, value)).unwrap()
        };
        for count in [0u32, 2, 4, u32::MAX] {
            assert!(change(16, &count.to_le_bytes()).is_err(), "{count}");
        }
        // Centre, width, both ends, and the deviations of noise and index errors.
        for field in 0..8 {
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300] {
                // A width and the bound on index errors may be arbitrarily large.
                assert!(
                    matches!((field, value), (1 | 7, 1e300))
                        || change(20 + 8 * field, &value.to_le_bytes()).is_err(),
                    "{field} {value}"
                );
            }
        }
        assert!(change(28, &0f64.to_le_bytes()).is_err());
        assert!(change(52, &(-0.5f64).to_le_bytes()).is_err());
        assert!(change(68, &(-0.5f64).to_le_bytes()).is_err());
        let less = values.meta().noise.predicted * 0.99;
        let error = change(60, &less.to_le_bytes()).unwrap_err();
        assert!(error.is(&ErrorKind::Argument, "noise of values"), "{error}");
        let error = change(76, &(-1f64).to_le_bytes()).unwrap_err();
        assert!(error.is(&ErrorKind::Argument, "index errors of values"), "{error}");
        let other = insecure(8, 128, false);
        assert!(read::<LweVec>(&Params::new(other).unwrap(), &bytes).unwrap().is_err());
    }
}

/// Another prime of a size.
fn moved(degree: usize, bits: u32, than: u64) -> u64 {
    let primes = prime::ntt_primes_below(degree, bits, 3, &[]).unwrap();
    primes.into_iter().map(|q| q.value()).find(|&q| q != than).unwrap()
}

/// Fingerprints must not change, because files contain them. The expected value comes from another
/// implementation of BLAKE3 over the fields that `docs/FORMAT.md` lists.
#[test]
fn fingerprints_tell_every_field_but_the_security() {
    let spec = insecure(8, 64, false);
    let print = |spec: &ParamsSpec| Params::new(spec.clone()).unwrap().fingerprint();
    let mut seen = vec![print(&spec)];
    let known = "fa4f53f6c953de513125dfc7fa13e959e7b3965a4ca8c39de4a66ab2462fccc4";
    assert_eq!(format!("{:?}", seen[0]), known);
    seen.extend(specs(8, 64)[1..].iter().map(|(_, spec)| print(spec)));
    let gadget = RgswGadget::Digits { base_log: 15, count: 2 };
    for other in [
        ParamsSpec { dimension: 16, ..spec.clone() },
        ParamsSpec { modulus: moved(8, 28, spec.modulus), ..spec.clone() },
        ParamsSpec { ring_modulus: moved(64, 45, spec.ring_modulus), ..spec.clone() },
        ParamsSpec { secret: SecretKind::Sparse(4), ..spec.clone() },
        ParamsSpec { secret: SecretKind::Sparse(5), ..spec.clone() },
        ParamsSpec { sigma: 3.3, ..spec.clone() },
        ParamsSpec { key_switch_base_log: 3, ..spec.clone() },
        ParamsSpec { key_switch_digits: 13, ..spec.clone() },
        ParamsSpec { ring_degree: 32, ..spec.clone() },
        ParamsSpec { engine: Engine::Rgsw(gadget), ..spec.clone() },
        ParamsSpec { ring_secret: SecretKind::Sparse(4), ..spec.clone() },
        ParamsSpec { ring_sigma: 3.3, ..spec.clone() },
    ] {
        seen.push(print(&other));
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
}
