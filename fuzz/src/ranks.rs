//! Keys between ranks and rings, and requests for keys.

use bellerophon::{
    Bridge, Engine, Needs,
    circuits::rank_bootstrap::RankBootstrap,
    ckks::{KeyLevels, RankConversion, RankReduction, ReducingKeys, RingSwitch},
    mlwe::{RingConversion, RingSwitchKeys, SecretKey},
};

use crate::{
    World,
    target::sample,
    world::{Ranks, rng},
};

pub fn ring_conversions(world: &'static World) -> Vec<Vec<u8>> {
    let Ranks { rings, secret, .. } = world.ranks();
    let of = |limbs: usize| {
        let keys = RingConversion::generate(secret, &rings.1, limbs, &mut rng(30)).unwrap();
        sample(rings, &keys)
    };
    vec![of(6), of(2)]
}

pub fn ring_switch_keys(world: &'static World) -> Vec<Vec<u8>> {
    let Ranks { switched, secret, .. } = world.ranks();
    // For messages in the ring of half the degree: the trace has a key.
    let degree = switched.1.spec().degree / 2;
    let keys = RingSwitchKeys::generate(secret, &switched.1, degree, 3, &mut rng(31)).unwrap();
    vec![sample(switched, &keys.0)]
}

/// The conversion to rank 2, and the secret there.
fn conversion(ranks: &Ranks) -> (RankConversion, SecretKey) {
    let (large, module) = &ranks.conversion;
    RankConversion::generate(large, &ranks.secret, module, &mut rng(32)).unwrap()
}

pub fn conversions(world: &'static World) -> Vec<Vec<u8>> {
    vec![sample(&world.ranks().conversion, &conversion(world.ranks()).0)]
}

pub fn reductions(world: &'static World) -> Vec<Vec<u8>> {
    let both = &world.ranks().reduction;
    let secret = conversion(world.ranks()).1;
    let (key, _) = RankReduction::generate(&both.0, &secret, &both.1, &mut rng(33)).unwrap();
    vec![sample(both, &key)]
}

pub fn switches(world: &'static World) -> Vec<Vec<u8>> {
    let Ranks { switch, secret, .. } = world.ranks();
    let slots = switch.1.max_slots() / 2;
    let (key, _) = RingSwitch::generate(&switch.0, secret, &switch.1, slots, &mut rng(34)).unwrap();
    vec![sample(switch, &key)]
}

pub fn bootstraps(world: &'static World) -> Vec<Vec<u8>> {
    let both = &world.ranks().bootstrap;
    let (mut rng, (small, bootstrapper)) = (rng(36), both);
    let secret = SecretKey::generate(small.lattice(), &mut rng).unwrap();
    let keys = RankBootstrap::generate(small, &secret, bootstrapper.clone(), &mut rng).unwrap();
    vec![sample(both, &keys)]
}

pub fn reducing_keys(world: &'static World) -> Vec<Vec<u8>> {
    let params = &world.ranks().reduction.0;
    let secret = conversion(world.ranks()).1;
    let of = |request: KeyLevels| {
        let keys = ReducingKeys::generate(params, &secret, &request, &mut rng(35)).unwrap();
        sample(params, &keys)
    };
    vec![of(KeyLevels::default().multiply(1).rotate([1], 1)), of(KeyLevels::default())]
}

pub fn key_levels(world: &'static World) -> Vec<Vec<u8>> {
    let all = KeyLevels::default().multiply(3).conjugate(1).rotate([1, -2], 2).rotate_hoisted(3);
    [all, KeyLevels::default()].map(|request| sample(world.params.ckks(), &request)).to_vec()
}

pub fn needs(world: &'static World) -> Vec<Vec<u8>> {
    let all = Needs::new().conjugate().rotate([1, -2]).sums(3).statistics(2, 2);
    let all = all.map_with([Engine::Rgsw]).bridge(Bridge::Linear).bridge(Bridge::Ring);
    let all = all.keys(&KeyLevels::default().rotate([3], 1));
    [all, Needs::new()].map(|needs| sample(&world.tables().0, &needs)).to_vec()
}
