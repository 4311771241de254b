//! Keys between ranks and rings, and requests for keys.

use bellerophon_mlwe::{SecretKey, Security};
use bellerophon_ring::{ErrorKind, error::refusal, wire::Wire};
use bellerophon_testing::bytes::{comes_back, read, write};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::tests::real;
use crate::ciphertext::Ciphertext;
use crate::encode::Encoder;
use crate::encrypt::encrypt;
use crate::keys::KeyLevels;
use crate::modulus_chain::{LevelGroup, ModulusChain};
use crate::ops::CkksOps;
use crate::params::{Params, ParamsSpec};
use crate::rank::{RankConversion, RankReduction, ReducingEvaluator, ReducingKeys, RingSwitch};

/// Five levels over a ring of this degree, at this rank.
fn set(degree: usize, rank: usize) -> Params {
    let chain = ModulusChain {
        degree: 128,
        first_bits: 50,
        levels: vec![LevelGroup::single(40, 5)],
        special: (51, 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    (spec.lattice.degree, spec.lattice.rank) = (degree, rank);
    Params::new(spec).unwrap()
}

fn encrypted(params: &Params, secret: &SecretKey, limbs: usize) -> Ciphertext {
    let plain = Encoder::new(params)
        .encode(&[0.5, -0.25, 1.0], real(-1.0, 1.0), params.scale(), limbs)
        .unwrap();
    encrypt(params, &plain, secret, &mut ChaCha20Rng::seed_from_u64(9)).unwrap()
}

#[test]
fn keys_between_two_sets_come_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (large, module, small) = (set(128, 1), set(64, 2), set(64, 1));
    let secret = SecretKey::generate(large.lattice(), &mut rng).unwrap();
    let x = encrypted(&large, &secret, 4);

    let both = (large.clone(), module.clone());
    let (keys, inner) = RankConversion::generate(&large, &secret, &module, &mut rng).unwrap();
    let back = comes_back(&both, &keys, 100);
    let y = keys.to_rank(&x).unwrap();
    assert_eq!(back.from_rank(&y).unwrap(), keys.from_rank(&y).unwrap());

    let both = (module.clone(), small.clone());
    let (key, _) = RankReduction::generate(&module, &inner, &small, &mut rng).unwrap();
    let back = comes_back(&both, &key, 160);
    assert_eq!(back.apply(&y).unwrap(), key.apply(&y).unwrap());
    // The same key between other sets.
    let bytes = write(&both, &key);
    let refused = read::<RankReduction>(&(large.clone(), small.clone()), &bytes).unwrap();
    let other = bellerophon_mlwe::error::params_mismatch(
        module.lattice().fingerprint(),
        large.lattice().fingerprint(),
    );
    assert!(refusal(&refused).is(other.kind(), other.message()));
    let refused = key.to_form(&(large.clone(), small.clone())).map(|_| ());
    assert!(refusal(&refused).is(other.kind(), other.message()));

    let both = (large.clone(), small.clone());
    let (switch, _) = RingSwitch::generate(&large, &secret, &small, 16, &mut rng).unwrap();
    let back = comes_back(&both, &switch, 160);
    assert_eq!(back.apply(&x).unwrap(), switch.apply(&x).unwrap());
}

#[test]
fn keys_of_all_ranks_come_back() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let params = set(64, 2);
    let secret = SecretKey::generate(params.lattice(), &mut rng).unwrap();
    let request = KeyLevels::default().multiply(2).rotate([1], 2).rotate_hoisted(1);
    let keys = ReducingKeys::generate(&params, &secret, &request, &mut rng).unwrap();
    assert_eq!(keys.ranks().len(), 2);
    let back = comes_back(&params, &keys, 120);
    let x = encrypted(&params, &secret, params.limbs_at(2));
    let [old, new] = [&keys, &back].map(|keys| {
        let server = ReducingEvaluator::new(keys).unwrap();
        server.rotate(&server.square(&x).unwrap(), 1).unwrap()
    });
    assert_eq!(old, new);

    // Keys of two clients in one set.
    let other = SecretKey::generate(params.lattice(), &mut rng).unwrap();
    let other = ReducingKeys::generate(&params, &other, &request, &mut rng).unwrap();
    let ranks = keys.ranks().map(|(params, keys)| (params.clone(), keys.clone())).collect();
    let mixed = ReducingKeys::from_parts(ranks, other.reductions().cloned().collect());
    assert!(
        refusal(&mixed).is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    // One set of keys where the parameters have two ranks.
    let sets = params.ranks().unwrap();
    let refused = ReducingKeys::check_counts(&sets, 1, 0);
    assert!(refusal(&refused).is(&ErrorKind::Bytes, "take the keys or the bytes that this"));
}

#[test]
fn requests_come_back() {
    let params = set(64, 1);
    let all = KeyLevels::default().multiply(5).conjugate(0).rotate([i64::MIN, -3, 1], 2);
    for request in [KeyLevels::default(), all.clone(), all.rotate_hoisted(4)] {
        assert_eq!(comes_back(&params, &request, usize::MAX), request);
    }
    // A level that the parameters do not have, on both sides.
    let high = KeyLevels::default().rotate([1], 6);
    let refused = high.to_form(&params).map(|_| ());
    assert!(refusal(&refused).is(
        &ErrorKind::Level,
        "level 6 was requested, and the highest one here is 5: choose a lower level, or"
    ));
    let mut bytes = write(&params, &KeyLevels::default().rotate([1], 5));
    let at = bytes.len() - 4;
    bytes[at] = 6;
    let refused = read::<KeyLevels>(&params, &bytes).unwrap();
    assert!(refusal(&refused).is(
        &ErrorKind::Level,
        "level 6 was requested, and the highest one here is 5: choose a lower level, or"
    ));
    // Steps twice, and in another order.
    let bytes = write(&params, &KeyLevels::default().rotate([1, 2], 0));
    for step in [2u8, 3] {
        let mut changed = bytes.clone();
        changed[11] = step;
        let refused = read::<KeyLevels>(&params, &changed).unwrap();
        assert!(
            refusal(&refused).is(&ErrorKind::Bytes, "take the keys or the bytes that this"),
            "{step}"
        );
    }
}
