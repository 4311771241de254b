use bellerophon_ring::ErrorKind;
use bellerophon_ring::wire::Wire;
use bellerophon_testing::bytes::{read, write};
use proptest::prelude::*;

use crate::ciphertext::Ciphertext;
use crate::dpad::{RelinStrategy, RingConversion, RingSwitchKeys};
use crate::encrypt::{PublicKey, SeededCiphertext};
use crate::error::refusal;
use crate::galois::GaloisKey;
use crate::keyswitch::KeySwitchKey;
use crate::mod_raise::ModRaiseKey;
use crate::params::{Params, ParamsSpec};
use crate::rank_reduction::RankReduceKey;
use crate::relinearize::RelinKeys;
use crate::secret::SecretKey;
use crate::security::{SecretKind, Security};
use crate::testing::{message, params, rng, spec};

/// Reads what was written and writes the same bytes again. Truncated bytes are refused; with any
/// byte of the head changed, the bytes are refused or give another object. Returns the bytes.
fn comes_back<T: Wire>(params: &T::Params, object: &T) -> Vec<u8> {
    let bytes = write(params, object);
    let back: T = read(params, &bytes).expect("a form").unwrap();
    assert!(write(params, &back) == bytes, "{}", T::NAME);
    for cut in [0, 1, bytes.len() / 2, bytes.len() - 1] {
        assert!(!matches!(read::<T>(params, &bytes[..cut]), Some(Ok(_))), "{} at {cut}", T::NAME);
    }
    for at in 0..bytes.len().min(160) {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            if let Some(Ok(other)) = read::<T>(params, &changed) {
                assert!(write(params, &other) != bytes, "{} at {at}", T::NAME);
            }
        }
    }
    bytes
}

fn secret(params: &Params, seed: u64) -> SecretKey {
    SecretKey::generate(params, &mut rng(seed)).unwrap()
}

#[test]
fn ciphertexts_and_public_keys_come_back() {
    for rank in [1, 2, 3] {
        let params = params(64, rank, 3, 2);
        let key = secret(&params, 1);
        for limbs in 1..=3 {
            let m = message(&params, limbs, 5);
            let fresh = key.encrypt_seeded(&m, &mut rng(2)).unwrap();
            let bytes = comes_back(&params, &fresh);
            let back: SeededCiphertext = read(&params, &bytes).unwrap().unwrap();
            assert_eq!(back, fresh);
            assert_eq!(bytes.len(), 16 + 4 + 8 + fresh.byte_len(&params));
            let ct = fresh.expand(&params).unwrap();
            let bytes = comes_back(&params, &ct);
            assert_eq!(bytes.len(), 16 + 4 + 8 + ct.byte_len(&params));
            assert_eq!(read::<Ciphertext>(&params, &bytes).unwrap().unwrap(), ct);
        }
        let public = PublicKey::generate(&key, &mut rng(3));
        let bytes = comes_back(&params, &public);
        assert_eq!(read::<PublicKey>(&params, &bytes).unwrap().unwrap(), public);
    }
}

#[test]
fn keys_come_back() {
    for rank in [1, 2] {
        let small = params(64, rank, 3, 2);
        let large = params(64, rank + 2, 3, 2);
        let key = secret(&small, 1);
        let raised = key.extend_rank(&large, &mut rng(2)).unwrap();

        let switch = KeySwitchKey::between(&raised, &key, 2, &mut rng(3)).unwrap();
        let bytes = comes_back(&small, &switch);
        assert_eq!(read::<KeySwitchKey>(&small, &bytes).unwrap().unwrap(), switch);

        let galois = GaloisKey::generate(&key, 5, 3, &mut rng(4)).unwrap();
        let bytes = comes_back(&small, &galois);
        let back: GaloisKey = read(&small, &bytes).unwrap().unwrap();
        assert_eq!((back.exponent(), back.key()), (5, galois.key()));

        let down = RankReduceKey::generate(&raised, &key, 3, &mut rng(5)).unwrap();
        let bytes = comes_back(&small, &down);
        assert_eq!(read::<RankReduceKey>(&small, &bytes).unwrap().unwrap(), down);

        let raise = ModRaiseKey::generate(&raised, &key, 3, &mut rng(6)).unwrap();
        let bytes = comes_back(&small, &raise);
        assert_eq!(read::<ModRaiseKey>(&small, &bytes).unwrap().unwrap(), raise);

        let special = large.spec().p.clone();
        let through = RelinStrategy::new(&small, 1, Some((rank + 2, special))).unwrap();
        for strategy in [RelinStrategy::direct(&small), through] {
            let keys = RelinKeys::generate(&strategy, &key, 3, &mut rng(7)).unwrap();
            let bytes = comes_back(&strategy, &keys);
            let back: RelinKeys = read(&strategy, &bytes).unwrap().unwrap();
            assert_eq!((back.cross(), back.down()), (keys.cross(), keys.down()));
        }
    }
}

/// Forms of conversions are read with the parameters of both rings.
#[test]
fn conversions_between_rings_come_back() {
    for rank in [1, 2] {
        let large = params(256, rank, 3, 1);
        let key = secret(&large, 1);
        // To the module of a smaller ring.
        let both = (large.clone(), large.module_view(4).unwrap());
        let conversion = RingConversion::generate(&key, &both.1, 2, &mut rng(2)).unwrap();
        let bytes = comes_back(&both, &conversion);
        let back: RingConversion = read(&both, &bytes).unwrap().unwrap();
        let ct = conversion.to_rank(&key.encrypt(&message(&large, 2, 1), &mut rng(3)).unwrap());
        let ct = ct.unwrap();
        assert_eq!(back.from_rank(&ct).unwrap(), conversion.from_rank(&ct).unwrap());
        let swapped = read::<RingConversion>(&(both.1.clone(), both.0), &bytes).unwrap();
        assert!(refusal(&swapped).is(&ErrorKind::Shape, "a polynomial of degree bound"));

        // To a smaller ring, by a rank reduction in between.
        let target = ParamsSpec { degree: 128, ..large.spec().clone() };
        let target = Params::new(target).unwrap();
        let both = (large.clone(), target);
        let (keys, _) = RingSwitchKeys::generate(&key, &both.1, 64, 2, &mut rng(4)).unwrap();
        let bytes = comes_back(&both, &keys);
        let back: RingSwitchKeys = read(&both, &bytes).unwrap().unwrap();
        let ct = key.encrypt(&message(&large, 2, 1), &mut rng(5)).unwrap();
        assert_eq!(back.switch(&ct).unwrap(), keys.switch(&ct).unwrap());
        for degree in [0u32, 3, 96, 256, u32::MAX] {
            let mut changed = bytes.clone();
            changed[..4].copy_from_slice(&degree.to_le_bytes());
            let refused = read::<RingSwitchKeys>(&both, &changed).unwrap();
            assert!(
                refusal(&refused).is(&ErrorKind::Shape, "a polynomial of degree bound"),
                "{degree}"
            );
        }
        // Parts of two switches do not belong together.
        let (other, _) = RingSwitchKeys::generate(&key, &both.1, 64, 2, &mut rng(6)).unwrap();
        let mixed = RingSwitchKeys::from_parts(&large, keys.reduce().clone(), other.up().clone());
        assert!(
            refusal(&mixed)
                .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        );
    }
}

#[test]
fn objects_of_other_parameters_are_refused() {
    let (own, other) = (params(64, 1, 3, 2), params(64, 1, 2, 2));
    let key = secret(&own, 1);
    let switch = KeySwitchKey::between(&key, &secret(&own, 2), 2, &mut rng(3)).unwrap();
    assert!(
        refusal(&switch.to_form(&other))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let refused = read::<KeySwitchKey>(&other, &write(&own, &switch)).unwrap();
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let ct = key.encrypt(&message(&own, 3, 1), &mut rng(1)).unwrap();
    assert!(
        refusal(&ct.to_form(&other))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let refused = read::<Ciphertext>(&other, &write(&own, &ct)).unwrap();
    assert!(refusal(&refused).is(&ErrorKind::Level, "3 limbs where"));
    let longer = params(64, 2, 3, 2);
    let refused = read::<Ciphertext>(&longer, &write(&own, &ct)).unwrap();
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "bytes of packed residues where the shape"));
}

#[test]
fn hostile_counts_take_no_memory() {
    let params = params(64, 1, 3, 2);
    let (from, to) = (secret(&params, 1), secret(&params, 2));
    let bytes = write(&params, &KeySwitchKey::between(&from, &to, 2, &mut rng(3)).unwrap());
    // Two ends of 32 and 16 bytes, then limbs and rank.
    for (at, value) in [(96, 0), (96, u32::MAX), (100, 0), (100, 2), (100, u32::MAX)] {
        let mut changed = bytes.clone();
        changed[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let refused = read::<KeySwitchKey>(&params, &changed).unwrap();
        assert!(refused.is_err(), "{value} at {at}");
    }
    // The number of bytes of the residues, behind the seed.
    for length in [0, 1, u64::MAX / 2, u64::MAX] {
        let mut changed = bytes.clone();
        changed[136..144].copy_from_slice(&length.to_le_bytes());
        assert!(!matches!(read::<KeySwitchKey>(&params, &changed), Some(Ok(_))), "{length}");
    }
}

#[test]
fn parameters_come_back_with_the_security_asked_for() {
    let insecure =
        Params::new(ParamsSpec { secret: SecretKind::Sparse(20), sigma: 3.3, ..spec(64, 2, 3, 2) });
    let insecure = insecure.unwrap();
    let bytes = comes_back(&Security::Insecure, &insecure);
    let back: Params = read(&Security::Insecure, &bytes).unwrap().unwrap();
    assert_eq!(back.spec(), insecure.spec());
    for wanted in [Security::Bits128, Security::Bits128Classical] {
        let refused = read::<Params>(&wanted, &bytes).unwrap();
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameter security ="));
    }
    // A stated security level is checked.
    let mut lying = bytes.clone();
    let at = lying.len() - 4;
    lying[at..].copy_from_slice(&0u32.to_le_bytes());
    let refused = read::<Params>(&Security::Bits128, &lying).unwrap();
    assert!(matches!(refusal(&refused).kind(), ErrorKind::Insecure));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Objects of random keys, messages, ranks and levels come back, and different ones have
    /// different bytes.
    #[test]
    fn random_objects_come_back(seed: u64, rank in 1usize..=3, limbs in 1usize..=3) {
        fn back<T: Wire + PartialEq>(params: &T::Params, [x, y]: [&T; 2]) -> bool {
            let bytes = write(params, x);
            read::<T>(params, &bytes).expect("a form").unwrap() == *x && bytes != write(params, y)
        }
        let params = params(64, rank, 3, 2);
        let rng = &mut rng(seed);
        let keys = [(); 2].map(|()| SecretKey::generate(&params, rng).unwrap());
        let m = message(&params, limbs, seed);
        let seeded = keys.each_ref().map(|key| key.encrypt_seeded(&m, rng).unwrap());
        prop_assert!(back(&params, seeded.each_ref()));
        let full = seeded.map(|seeded| seeded.expand(&params).unwrap());
        prop_assert!(back(&params, full.each_ref()));
        let public = keys.each_ref().map(|key| PublicKey::generate(key, rng));
        prop_assert!(back(&params, public.each_ref()));
        let switch = [(); 2]
            .map(|()| KeySwitchKey::between(&keys[0], &keys[1], limbs, rng).unwrap());
        prop_assert!(back(&params, switch.each_ref()));
    }
}
