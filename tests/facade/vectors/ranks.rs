//! Keys between ranks and rings, and requests for keys.

use bellerophon::{
    circuits::rank_bootstrap::RankBootstrap,
    ckks::{
        self, Encoder, Interval, KeyLevels, RankConversion, RankReduction, ReducingEvaluator,
        ReducingKeys, RingSwitch,
    },
    mlwe::{RingConversion, RingSwitchKeys, SecretKey},
    prelude::*,
};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{Reader, VALUES, again, close, rank_sets::Ranks, stored};

pub const TYPES: [(&str, usize, Reader); 9] = [
    ("key_levels", 2, |s, b| again::<KeyLevels, _>(s.params.ckks(), b)),
    ("needs", 2, |s, b| again::<Needs, _>(&s.tables, b)),
    ("rank_bootstrap", 1, |s, b| again::<RankBootstrap, _>(&s.ranks.bootstrap, b)),
    ("rank_conversion", 1, |s, b| again::<RankConversion, _>(&s.ranks.conversion, b)),
    ("rank_reduction", 1, |s, b| again::<RankReduction, _>(&s.ranks.reduction, b)),
    ("reducing_keys", 2, |s, b| again::<ReducingKeys, _>(&s.ranks.reduction.0, b)),
    ("ring_conversion", 2, |s, b| again::<RingConversion, _>(&s.ranks.rings, b)),
    ("ring_switch", 1, |s, b| again::<RingSwitch, _>(&s.ranks.switch, b)),
    ("ring_switch_keys", 1, |s, b| again::<RingSwitchKeys, _>(&s.ranks.switched, b)),
];

/// [`VALUES`] in four slots.
fn encrypted(params: &ckks::Params, secret: &SecretKey, limbs: usize) -> Ciphertext {
    let (range, scale) = (Interval::real(-4.0, 4.0).unwrap(), params.scale());
    let plain = Encoder::new(params).encode(&VALUES, range, scale, limbs).unwrap();
    ckks::encrypt(params, &plain, secret, &mut super::rng()).unwrap()
}

fn holds(params: &ckks::Params, ct: &Ciphertext, secret: &SecretKey, expected: &[f64]) {
    close(&ckks::decrypt_values::<f64>(params, ct, secret).unwrap(), expected);
}

#[test]
fn keys_between_ranks_do_what_they_did() {
    let stored = stored();
    let Ranks { conversion, reduction, switch, secret, .. } = &stored.ranks;
    let (large, module) = conversion;
    // To rank 2 and back.
    let keys: RankConversion = stored.read(conversion, "rank_conversion/0.bin");
    let x = encrypted(large, secret, 6);
    let y = keys.to_rank(&x).unwrap();
    holds(large, &keys.from_rank(&y).unwrap(), secret, &VALUES);
    let rings: RingConversion = stored.read(&stored.ranks.rings, "ring_conversion/0.bin");
    let module_secret = rings.map().extract_secret(secret).unwrap();
    holds(module, &y, &module_secret, &VALUES);
    // To rank 1, under the first half of the secret of rank 2.
    let key: RankReduction = stored.read(reduction, "rank_reduction/0.bin");
    let coefficients = &module_secret.all_coefficients()[..reduction.1.lattice().spec().degree];
    let to = key.key().key().shape().to.key;
    let half = SecretKey::restore(reduction.1.lattice(), coefficients, to).unwrap();
    holds(&reduction.1, &key.apply(&y).unwrap(), &half, &VALUES);
    // To the ring of half the degree: the conversion in it starts at the new secret.
    let key: RingSwitch = stored.read(switch, "ring_switch/0.bin");
    let switched = key.apply(&x).unwrap();
    assert_eq!(switched.lattice().b().degree(), switch.1.lattice().spec().degree);
    let keys: RingSwitchKeys = stored.read(&stored.ranks.switched, "ring_switch_keys/0.bin");
    assert_eq!((keys.factor(), keys.source().spec().degree), (2, large.lattice().spec().degree));
    // A square and a rotation, and down in rank.
    let keys: ReducingKeys = stored.read(module, "reducing_keys/0.bin");
    let server = ReducingEvaluator::new(&keys).unwrap();
    let y = encrypted(module, &module_secret, module.limbs_at(1));
    let found = server.rotate(&server.square(&y).unwrap(), 1).unwrap();
    assert_eq!((found.level(), found.lattice().rank()), (0, 1));
    let found = server.padded(&found).unwrap();
    holds(module, &found, &module_secret, &[0.0625, 9.0, 0.0]);
}

#[test]
fn keys_to_bootstrap_a_rank_do_what_they_did() {
    let stored = stored();
    let (small, bootstrapper) = &stored.ranks.bootstrap;
    let keys: RankBootstrap = stored.read(&stored.ranks.bootstrap, "rank_bootstrap/0.bin");
    // The secret is the first that the seed of the file gives.
    let mut rng = ChaCha20Rng::seed_from_u64(36);
    let secret = SecretKey::generate(small.lattice(), &mut rng).unwrap();
    let (values, range) = ([0.5, -0.25, 0.75], Interval::real(-1.0, 1.0).unwrap());
    let limbs = small.limbs_at(bootstrapper.input_level());
    let x = Encoder::new(small).encode(&values, range, small.scale(), limbs).unwrap();
    let x = ckks::encrypt(small, &x, &secret, &mut rng).unwrap();
    let found = keys.bootstrap(&x).unwrap();
    assert_eq!((found.level(), found.lattice().rank()), (bootstrapper.output_level(), 2));
    holds(small, &found, &secret, &values);
}

#[test]
fn requests_ask_for_what_they_did() {
    let stored = stored();
    let levels: KeyLevels = stored.read(stored.params.ckks(), "key_levels/0.bin");
    let asked = KeyLevels::default().multiply(3).conjugate(1).rotate([1, -2], 2).rotate_hoisted(3);
    assert_eq!(levels, asked);
    let needs: Needs = stored.read(&stored.tables, "needs/1.bin");
    assert_eq!(needs, Needs::new());
    let needs: Needs = stored.read(&stored.tables, "needs/0.bin");
    let asked = Needs::new().conjugate().rotate([1, -2]).sums(3).statistics(2, 2);
    let asked = asked.map().bridge(bellerophon::Bridge::Linear);
    let asked = asked.bridge(bellerophon::Bridge::Ring);
    let asked = asked.map_with([bellerophon::Engine::Rgsw]);
    assert_eq!(needs, asked.keys(&KeyLevels::default().rotate([3], 1)));
    let bytes = stored.tables.evaluation_key_bytes(&needs).unwrap();
    assert!(bytes > 0);
}
