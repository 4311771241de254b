//! Every form there and back, and what peers may send instead.

use std::sync::OnceLock;

use bellerophon_ckks::{
    EvaluationKeys, Evaluator, KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, SecretKey,
    SecretKind, Security,
};
use bellerophon_lwe as lwe;
use bellerophon_mlwe::{self as mlwe, KeyId, KeySwitchKey, ModRaiseKey};
use bellerophon_repack::row_packing_keys;
use bellerophon_ring::{
    ErrorKind, refusal,
    wire::{Fingerprinted, Wire},
};
use bellerophon_testing::bytes::{read, set, survives, write};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::kind;
use crate::{
    linear_bridge::repack_key::{RepackKey, SeededRepackKey},
    ring_bridge::{
        bridge::{RingBridge, RingBridgeSpec},
        keys::RingBridgeKeys,
    },
};

fn params(degree: usize, levels: usize) -> Params {
    let chain = ModulusChain {
        degree,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, levels)],
        special: (50, 2),
    };
    Params::new(ParamsSpec::from_chain(&chain, 44, Security::Insecure).unwrap()).unwrap()
}

#[test]
fn numbers_are_of_this_crate_and_differ() {
    // From 0x0403 on the numbers belong to private look-up.
    assert_eq!([kind::REPACK_KEY, kind::RING_BRIDGE_KEYS], [0x0401, 0x0402]);
}

fn owner(params: &Params) -> SecretKey {
    SecretKey::generate(params.lattice(), &mut ChaCha20Rng::seed_from_u64(2)).unwrap()
}

fn repack_key(params: &Params, dimension: usize, baby: usize, limbs: usize) -> SeededRepackKey {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = owner(params);
    let lwe = lwe::SecretKey::generate(dimension, SecretKind::Ternary, &mut rng).unwrap();
    let lwe = lwe.coefficients();
    SeededRepackKey::generate(params, lwe, &secret, baby, limbs, &mut rng).unwrap()
}

#[test]
fn repacking_keys_come_back() {
    let params = params(128, 2);
    for (dimension, baby, limbs) in [(16, 4, 3), (13, 1, 2), (64, 8, 2)] {
        let seeded = repack_key(&params, dimension, baby, limbs);
        let bytes = write(&params, &seeded);
        assert!(bytes.len() - seeded.byte_len(&params) < 150);
        assert_eq!(read::<SeededRepackKey>(&params, &bytes).unwrap().unwrap(), seeded);
        let expanded = seeded.expand(&params).unwrap();
        assert_eq!(expanded.compress(&params).unwrap(), seeded);
        survives::<SeededRepackKey>(&params, &bytes, 1, &[]);
    }
}

#[test]
fn repacking_keys_that_do_not_fit_are_refused() {
    let params = params(128, 2);
    let seeded = repack_key(&params, 16, 4, 3);
    let bytes = write(&params, &seeded);
    let refused = |place, value: &[u8]| {
        read::<SeededRepackKey>(&params, &set(&bytes, place, value)).unwrap().unwrap_err()
    };
    for dimension in [0u32, 8, 17, 65, u32::MAX] {
        let error = refused(16, &dimension.to_le_bytes());
        assert!(error.is(&ErrorKind::Shape, "is needed"), "{dimension}: {error}");
    }
    for limbs in [0u32, 4, u32::MAX] {
        let error = refused(20, &limbs.to_le_bytes());
        assert!(error.is(&ErrorKind::Level, "limbs where"), "{limbs}: {error}");
    }
    assert_eq!(*refused(20, &[2]).kind(), ErrorKind::Bytes);
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        let error = refused(24, &f64::to_le_bytes(scale));
        assert!(matches!(error.kind(), ErrorKind::Scale | ErrorKind::Range), "{scale}: {error}");
    }
    let other = self::params(256, 2);
    assert!(read::<SeededRepackKey>(&other, &bytes).unwrap().is_err());
    assert!(seeded.to_form(&other).is_err());
    // One baby step less, and half of one.
    let few = SeededRepackKey::from_parts(16, seeded.babies()[..2].to_vec()).unwrap();
    assert!(read::<SeededRepackKey>(&params, &write(&params, &few)).unwrap().is_ok());
    assert!(SeededRepackKey::from_parts(16, seeded.babies()[..3].to_vec()).is_err());
    // Ciphertexts that do not belong together.
    let mixed = |other: &SeededRepackKey| {
        let both = [&seeded.babies()[..1], &other.babies()[..1]].concat();
        SeededRepackKey::from_parts(16, both)
    };
    let short = repack_key(&params, 16, 4, 2);
    assert!(refusal(&mixed(&short)).is(&ErrorKind::Level, "limbs where"));
    let wide = repack_key(&other, 16, 4, 3);
    assert!(
        refusal(&mixed(&wide))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let mut babies = seeded.babies()[..2].to_vec();
    babies[1].meta.scale *= 2.0;
    let uneven = SeededRepackKey::from_parts(16, babies).unwrap();
    assert!(refusal(&uneven.to_form(&params)).is(&ErrorKind::Argument, "is not supported: need"));
    let none = seeded.expand(&self::params(128, 3)).map(|_| ()).unwrap_err();
    assert!(none.to_string().contains("do not match"), "{none}");
}

#[test]
fn repacking_keys_from_rotations_have_no_seeds() {
    let params = params(128, 2);
    let (secret, mut rng) = (owner(&params), ChaCha20Rng::seed_from_u64(3));
    let spec = KeyLevels::default().rotate([1], params.max_level());
    let keys = EvaluationKeys::generate(&params, &secret, &spec, &mut rng).unwrap();
    let evaluator = Evaluator::new(&params, &keys).unwrap();
    let seeded = repack_key(&params, 16, 1, 3);
    let single = seeded.expand(&params).unwrap();
    let key = RepackKey::from_rotations(&evaluator, &single.babies()[0], 16, 2).unwrap();
    assert!(refusal(&key.compress(&params)).is(&ErrorKind::Argument, "is not supported: need"));
}

struct Bridge {
    bridge: RingBridge,
    secret: SecretKey,
    ring: lwe::SecretKey,
    keys: RingBridgeKeys,
}

fn spec(degree: usize, weight: usize) -> RingBridgeSpec {
    RingBridgeSpec { degree, secret: SecretKind::Ternary, weight, log2_failure: -50.0 }
}

fn bridge() -> &'static Bridge {
    static BRIDGE: OnceLock<Bridge> = OnceLock::new();
    BRIDGE.get_or_init(|| {
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let params = params(256, 14);
        let bridge = RingBridge::new(&params, spec(64, 16)).unwrap();
        let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
        let ring = lwe::SecretKey::generate(64, SecretKind::Ternary, &mut rng).unwrap();
        let keys = RingBridgeKeys::generate(&bridge, &secret, &ring, &mut rng).unwrap();
        Bridge { bridge, secret, ring, keys }
    })
}

#[test]
fn bridge_keys_come_back() {
    let Bridge { bridge, keys, .. } = bridge();
    let bytes = write(bridge, keys);
    assert!(bytes.len() - keys.byte_len() < 400, "{} {}", bytes.len(), keys.byte_len());
    let back: RingBridgeKeys = read(bridge, &bytes).unwrap().unwrap();
    assert!(write(bridge, &back) == bytes);
    assert_eq!((back.id(), back.byte_len()), (keys.id(), keys.byte_len()));
    assert_eq!((&back.down, &back.to_sparse), (&keys.down, &keys.to_sparse));
    assert_eq!(back.packing.exponents().len(), keys.packing.exponents().len());
    let mut pairs = back.packing.iter().zip(keys.packing.iter());
    assert!(pairs.all(|(x, y)| x.exponent() == y.exponent() && x.key() == y.key()));
    // The heads of the other keys, and the lengths of what stands at the end.
    let find = |part: &[u8]| bytes.windows(part.len()).position(|bytes| bytes == part).unwrap();
    let heads = [keys.to_sparse.shape().from, keys.raise.shape().from];
    let heads = heads.map(|end| find(end.fingerprint.as_bytes()));
    let seeds = bytes.len() - 8 - keys.packing.byte_len(bridge.ring()) - 8;
    survives::<RingBridgeKeys>(bridge, &bytes, 7, &[heads[0], heads[1], seeds]);
}

#[test]
fn mismatched_bridge_keys_are_refused() {
    let Bridge { bridge, secret, ring, keys } = bridge();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let bytes = write(bridge, keys);
    for other in [spec(128, 16), spec(64, 20)] {
        let other = RingBridge::new(bridge.slots(), other).unwrap();
        assert_ne!(other.fingerprint(), bridge.fingerprint());
        assert!(read::<RingBridgeKeys>(&other, &bytes).unwrap().is_err());
        assert!(keys.to_form(&other).is_err());
    }
    // Another client, whole or in part.
    assert!(read::<RingBridgeKeys>(bridge, &set(&bytes, 0, &[0xff; 16])).unwrap().is_err());
    let other = RingBridgeKeys::generate(bridge, secret, ring, &mut rng).unwrap();
    let assemble = |down: &KeySwitchKey, to_sparse: &KeySwitchKey, raise: &ModRaiseKey| {
        let (down, packing) = (down.clone(), keys.packing.clone());
        let (to_sparse, raise) = (to_sparse.clone(), raise.clone());
        RingBridgeKeys::from_parts(bridge, keys.id(), down, packing, to_sparse, raise).map(|_| ())
    };
    assemble(&keys.down, &keys.to_sparse, &keys.raise).unwrap();
    assemble(&other.down, &keys.to_sparse, &keys.raise).unwrap();
    // The sparse secret is another one.
    let mismatch = |found: bellerophon_ring::Result<()>| {
        found.is_err_and(|e| {
            e.is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
        })
    };
    assert!(mismatch(assemble(&keys.down, &other.to_sparse, &keys.raise)));
    assert!(mismatch(assemble(&keys.down, &keys.to_sparse, &other.raise)));
    let swapped = assemble(&keys.to_sparse, &keys.down, &keys.raise);
    assert!(
        refusal(&swapped)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    // A stage of the packing without its key, and keys of another client.
    let with = |packing| {
        let (down, to_sparse) = (keys.down.clone(), keys.to_sparse.clone());
        let raise = keys.raise.clone();
        RingBridgeKeys::from_parts(bridge, keys.id(), down, packing, to_sparse, raise).map(|_| ())
    };
    let few = keys.packing.iter().skip(1).map(|key| (**key).clone()).collect();
    assert!(
        refusal(&with(few))
            .is(&ErrorKind::MissingKey { need: "" }, "generate it with the others (there are")
    );
    let coefficients = ring.coefficients();
    let stranger = mlwe::SecretKey::restore(bridge.ring(), coefficients, KeyId(5)).unwrap();
    assert!(mismatch(with(row_packing_keys(&stranger, 2, 1, &mut rng).unwrap())));
    // A chain that the key does not reach the top of.
    let short = {
        let sparse = mlwe::SecretKey::generate(bridge.sparse_ring(), &mut rng).unwrap();
        let low = bridge.lifted(&sparse).unwrap();
        let to_sparse = KeySwitchKey::between(
            &mlwe::SecretKey::restore(bridge.ring(), coefficients, keys.id()).unwrap(),
            &sparse,
            1,
            &mut rng,
        );
        let raise = ModRaiseKey::generate(&low, secret, 3, &mut rng).unwrap();
        assemble(&keys.down, &to_sparse.unwrap(), &raise)
    };
    assert!(refusal(&short).is(&ErrorKind::Level, "3 limbs where"));
}
