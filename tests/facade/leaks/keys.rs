//! Keys, whose messages are secrets: those of different secrets differ in nothing but masked
//! polynomials, their seeds and the identity of the client, which is drawn at random and written as
//! zeros here.

use std::sync::Arc;

use bellerophon::{
    circuits::{
        bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
        rank_bootstrap::RankBootstrap,
    },
    ckks::{RankConversion, RankReduction, ReducingKeys, RingSwitch},
    lookup::{RingBridge, RingBridgeKeys, RingBridgeSpec, SeededRepackKey},
    lwe::{SeededKeySwitchKey, SeededLookupKeys},
    mlwe::{
        self, GaloisKey, KeySwitchKey, ModRaiseKey, RankReduceKey, RelinKeys, RelinStrategy,
        RingConversion, RingSwitchKeys,
    },
};

use super::*;

/// Pairs of secrets a type.
const FEW: usize = 6;

/// Holds keys of the secrets of `params` against each other.
fn keys_tell_nothing<T: Wire>(
    name: &str,
    lattice: &mlwe::Params,
    params: &impl Context<T::Params>,
    make: impl Fn(&SecretKey, &mut ChaCha20Rng) -> T,
) {
    let secrets: Vec<SecretKey> = (0..=FEW as u64)
        .map(|i| SecretKey::generate(lattice, &mut rng(300 + i)).unwrap())
        .collect();
    assert_tells_nothing(name, FEW, |pair, seed| {
        let mut bytes = write(params, &make(&secrets[pair], &mut rng(seed)));
        let id = secrets[pair].id();
        // Some keys are of no client: they carry the identities of secrets that were made for them.
        if bytes.windows(16).any(|part| part == id.0.to_le_bytes()) {
            hide(&mut bytes, id);
        }
        bytes
    });
}

/// The generator of what belongs to a secret and is a message too.
fn beside(secret: &SecretKey) -> ChaCha20Rng {
    rng(secret.id().0 as u64)
}

/// Six primes over a ring of this degree, at this rank.
fn set(degree: usize, rank: usize) -> ckks::Params {
    let levels = vec![LevelGroup::single(40, 5)];
    let chain = ModulusChain { degree: 128, first_bits: 50, levels, special: (51, 1) };
    let mut spec = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    (spec.lattice.degree, spec.lattice.rank) = (degree, rank);
    ckks::Params::new(spec).unwrap()
}

#[test]
fn keys_of_a_lattice_tell_their_shape_alone() {
    let (large, module, small) = (set(128, 1), set(64, 2), set(64, 1));
    let (one, two) = (small.lattice(), module.lattice());
    keys_tell_nothing("public key", one, one, PublicKey::generate);
    keys_tell_nothing("switching key", one, one, |secret, rng| {
        let other = SecretKey::generate(one, &mut beside(secret)).unwrap();
        let other = SecretKey::restore(one, other.all_coefficients(), secret.id()).unwrap();
        KeySwitchKey::between(&other, secret, 3, rng).unwrap()
    });
    keys_tell_nothing("Galois key", one, one, |secret, rng| {
        GaloisKey::generate(secret, 5, 3, rng).unwrap()
    });
    // All under the identity of the client, which is hidden.
    let raised = |secret: &SecretKey| {
        let raised = secret.extend_rank(two, &mut beside(secret)).unwrap();
        SecretKey::restore(two, raised.all_coefficients(), secret.id()).unwrap()
    };
    keys_tell_nothing("rank key", one, one, |secret, rng| {
        RankReduceKey::generate(&raised(secret), secret, 3, rng).unwrap()
    });
    keys_tell_nothing("raising key", one, one, |secret, rng| {
        ModRaiseKey::generate(&raised(secret), secret, 3, rng).unwrap()
    });
    let route = RelinStrategy::new(one, 1, None).unwrap();
    keys_tell_nothing("relinearization keys", one, &route, |secret, rng| {
        RelinKeys::generate(&route, secret, 3, rng).unwrap()
    });
    let both = (large.lattice().clone(), two.clone());
    keys_tell_nothing("conversion of rings", large.lattice(), &both, |secret, rng| {
        RingConversion::generate(secret, two, 3, rng).unwrap()
    });
    let both = (large.lattice().clone(), one.clone());
    keys_tell_nothing("ring switch", large.lattice(), &both, |secret, rng| {
        RingSwitchKeys::generate(secret, one, 32, 3, rng).unwrap().0
    });
    covers("keys_of_a_lattice_tell_their_shape_alone");
}

#[test]
fn rank_and_bootstrap_keys_tell_their_shape_alone() {
    let (large, module, small) = (set(128, 1), set(64, 2), set(64, 1));
    let both = (large.clone(), module.clone());
    keys_tell_nothing("rank conversion", large.lattice(), &both, |secret, rng| {
        RankConversion::generate(&large, secret, &module, rng).unwrap().0
    });
    let both = (module.clone(), small.clone());
    keys_tell_nothing("rank reduction", module.lattice(), &both, |secret, rng| {
        RankReduction::generate(&module, secret, &small, rng).unwrap().0
    });
    let both = (large.clone(), small.clone());
    keys_tell_nothing("ring switch of slots", large.lattice(), &both, |secret, rng| {
        RingSwitch::generate(&large, secret, &small, 16, rng).unwrap().0
    });
    keys_tell_nothing("keys of all ranks", module.lattice(), &module, |secret, rng| {
        let request = KeyLevels::default().multiply(1).rotate([1], 1).rotate_hoisted(1);
        ReducingKeys::generate(&module, secret, &request, rng).unwrap()
    });
    let spec = BootstrapSpec::new(8);
    let chain = spec.chain(64, 40, 2, (50, 2)).unwrap();
    let large = ckks::ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
    let mut small = large.clone();
    (small.lattice.degree, small.lattice.rank) = (32, 2);
    let [large, small] = [large, small].map(|spec| ckks::Params::new(spec).unwrap());
    let bootstrapper = Arc::new(Bootstrapper::new(&large, spec).unwrap());
    keys_tell_nothing("bootstrapping keys", large.lattice(), bootstrapper.raising(), |s, rng| {
        BootstrapKeys::generate(bootstrapper.raising(), s, rng).unwrap()
    });
    let both = (small.clone(), bootstrapper.clone());
    keys_tell_nothing("keys to bootstrap a rank", small.lattice(), &both, |secret, rng| {
        RankBootstrap::generate(&small, secret, bootstrapper.clone(), rng).unwrap()
    });
    covers("rank_and_bootstrap_keys_tell_their_shape_alone");
}

#[test]
fn keys_of_tables_tell_their_shape_alone() {
    let params = tables(64);
    // The messages are an LWE secret and a ring secret.
    let secrets = |pair: usize| {
        let mut rng = rng(700 + pair as u64);
        let lwe = lwe::SecretKey::generate_lwe(&params, &mut rng).unwrap();
        (lwe, lwe::SecretKey::generate_ring(&params, &mut rng).unwrap())
    };
    let keys = |pair: usize, seed: u64| {
        let (lwe, ring) = secrets(pair);
        SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng(seed)).unwrap()
    };
    assert_tells_nothing("look-up keys", FEW, |pair, seed| write(&params, &keys(pair, seed)));
    assert_tells_nothing("blind-rotation key", FEW, |pair, seed| {
        write(&params, &keys(pair, seed).rotation)
    });
    assert_tells_nothing("part of a blind-rotation key", FEW, |pair, seed| {
        let keys = keys(pair, seed).expand(&params).unwrap();
        write(&params, &keys.rotation.parts(&params, 8).unwrap().next().unwrap())
    });
    assert_tells_nothing("LWE switching key", FEW, |pair, seed| {
        let (lwe, ring) = secrets(pair);
        write(&params, &SeededKeySwitchKey::generate(&params, &ring, &lwe, &mut rng(seed)).unwrap())
    });

    let slots = ckks::Params::new(slots()).unwrap();
    keys_tell_nothing("repacking key", slots.lattice(), &slots, |secret, rng| {
        let mut own = beside(secret);
        let coefficients: Vec<i64> = (0..8).map(|_| own.random_range(-1..=1)).collect();
        SeededRepackKey::generate(&slots, &coefficients, secret, 4, slots.limbs(), rng).unwrap()
    });
    let levels = vec![LevelGroup::single(44, 14)];
    let chain = ModulusChain { degree: 256, first_bits: 45, levels, special: (50, 2) };
    let slots = ckks::ParamsSpec::from_chain(&chain, 44, Security::Insecure).unwrap();
    let slots = ckks::Params::new(slots).unwrap();
    let (secret, weight) = (SecretKind::Ternary, 16);
    let spec = RingBridgeSpec { degree: 64, secret, weight, log2_failure: -50.0 };
    let bridge = RingBridge::new(&slots, spec).unwrap();
    keys_tell_nothing("keys of the ring bridge", slots.lattice(), &bridge, |secret, rng| {
        let kind = SecretKind::Ternary;
        let ring = lwe::SecretKey::generate(64, kind, &mut beside(secret)).unwrap();
        RingBridgeKeys::generate(&bridge, secret, &ring, rng).unwrap()
    });
    covers("keys_of_tables_tell_their_shape_alone");
}

/// The bytes of a set, of a list and of one key after the other.
#[test]
fn key_sets_tell_the_identity_of_their_client_alone() {
    let params = Params::new(ParamsSpec::arithmetic("tiny", slots())).unwrap();
    let needs = Needs::new().multiply().rotate([1, 3]).conjugate().rotate_any();
    let clients: Vec<ClientKey> = (0..=FEW as u64)
        .map(|i| ClientKey::generate_with(&params, &mut rng(100 + i)).unwrap())
        .collect();
    assert_tells_nothing("keys of arithmetic", FEW, |pair, seed| {
        let keys = clients[pair].evaluation_keys_with(&needs, &mut rng(seed)).unwrap();
        let mut bytes = Vec::new();
        keys.write_to(&mut bytes).unwrap();
        // The hash of the list of keys is over the identity and nothing random.
        without_hashes(&mut bytes);
        hide(&mut bytes, clients[pair].id());
        bytes
    });
    covers("key_sets_tell_the_identity_of_their_client_alone");
}

/// Zeros in place of the hashes of a set of keys: at the end of each envelope, and of all of them.
fn without_hashes(mut bytes: &mut [u8]) {
    while bytes.len() > ContentHash::LEN {
        let header = Header::parse(bytes).unwrap();
        let (envelope, rest) = bytes.split_at_mut(header.total() as usize);
        let end = envelope.len() - ContentHash::LEN;
        envelope[end..].fill(0);
        bytes = rest;
    }
    bytes.fill(0);
}
