//! Tables and bridges: what can be read of them.

use bellerophon::{
    ClientKey, Params, ParamsSpec, ckks,
    lookup::{RingBridge, RingBridgeKeys, RingBridgeSpec, SeededRepackKey},
    lwe::{self, Encoding, Engine, LweVec, NtruRotation, NtruSpec, RgswGadget, SeededLookupKeys},
    mlwe::{KeyId, SecretKind, Security},
    ring::prime,
};

use crate::{
    World,
    target::sample,
    world::{rng, slots},
};

/// Coordinates of an LWE secret, beside tables of a degree: few, but as many where that is large
/// that what a reader keeps of every polynomial is little beside it.
fn dimension(degree: usize) -> usize {
    (degree / 16).max(8)
}

/// Parameters of tables and of a bridge.
pub struct Lookups {
    /// Tables on RGSW, and on NTRU.
    pub tables: [Tables; 2],
    /// The bridge over the small ring.
    pub bridge: RingBridge,
    /// Those of its slots.
    pub slots: ckks::Params,
}

/// Parameters of tables, with secrets.
pub struct Tables {
    /// The parameters.
    pub params: lwe::Params,
    lwe: lwe::SecretKey,
    ring: lwe::SecretKey,
}

impl Lookups {
    /// Over rings of this degree, but for the bridge, whose slots have 256 coefficients.
    pub(crate) fn new(degree: usize) -> Self {
        let q0 = prime::ntt_primes_around(degree, 45, 1, &[]).unwrap()[0];
        let modulus = prime::ntt_primes_below(degree, 44, 1, &[]).unwrap()[0].value();
        let engines = [
            Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 }),
            Engine::Ntru(NtruSpec {
                modulus,
                base_log: 15,
                count: 2,
                rotation: NtruRotation::Ternary,
                switch_base_log: 12,
                switch_count: 3,
            }),
        ];
        let tables = engines.map(|engine| {
            let params = lwe::Params::new(tables_over(degree, q0.value(), engine)).unwrap();
            let lwe = lwe::SecretKey::generate_lwe(&params, &mut rng(30)).unwrap();
            let ring = lwe::SecretKey::generate_ring(&params, &mut rng(31)).unwrap();
            Tables { params, lwe, ring }
        });
        let slots = slots(degree.max(256), 45, (44, 14), (50, 2));
        let slots = ckks::Params::new(slots).unwrap();
        let (secret, degree_below) = (SecretKind::Ternary, degree.max(64));
        let spec = RingBridgeSpec { degree: degree_below, secret, weight: 16, log2_failure: -50.0 };
        Self { tables, bridge: RingBridge::new(&slots, spec).unwrap(), slots }
    }
}

/// Tables of a degree modulo the lowest prime of the slots.
fn tables_over(degree: usize, modulus: u64, engine: Engine) -> lwe::ParamsSpec {
    lwe::ParamsSpec {
        dimension: dimension(degree),
        modulus: prime::ntt_primes_below(dimension(degree), 28, 1, &[]).unwrap()[0].value(),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        key_switch_base_log: 7,
        key_switch_digits: 4,
        ring_degree: degree,
        ring_modulus: modulus,
        engine,
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Insecure,
    }
}

/// A set of slots with tables and both bridges, and a client of it.
pub fn set(degree: usize) -> (Params, ClientKey) {
    let slots = slots(degree.max(64), 45, (44, 14), (50, 2));
    let engine = Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 });
    let tables = tables_over(degree.max(64), slots.lattice.q[0], engine);
    let params = Params::new(ParamsSpec {
        lookup: Some(tables),
        log2_failure: -20.0,
        ring_bridge: Some(16),
        ..ParamsSpec::arithmetic("tiny", slots)
    });
    let params = params.unwrap();
    let client = ClientKey::generate_with(&params, &mut rng(50)).unwrap();
    (params, client)
}

fn tables(world: &'static World) -> &'static [Tables; 2] {
    &world.lookups().tables
}

fn keys(tables: &Tables) -> SeededLookupKeys {
    let Tables { params, lwe, ring } = tables;
    SeededLookupKeys::generate(params, lwe, ring, KeyId(7), &mut rng(32)).unwrap()
}

pub fn lwe_values(world: &'static World) -> Vec<Vec<u8>> {
    let [Tables { params, lwe, ring }, _] = tables(world);
    let low = lwe::encrypt(params.modulus(), lwe, 1 << 20, 3.2, &mut rng(33)).unwrap();
    let high = lwe::encrypt(params.ring_modulus(), ring, 1 << 40, 3.2, &mut rng(34)).unwrap();
    vec![sample(params, &low), sample(params, &high)]
}

pub fn table_values(world: &'static World) -> Vec<Vec<u8>> {
    let [Tables { params, ring, .. }, _] = tables(world);
    let encoding = Encoding::new(3.0, 16.0).unwrap();
    let (key, messages) = (KeyId(7), [-1.0, 0.25, 2.0]);
    let of = |count: usize| {
        let (messages, range) = (&messages[..count], -1.0..=2.0);
        let values = LweVec::encrypt(params, ring, key, messages, encoding, range, &mut rng(35));
        sample(params, &values.unwrap())
    };
    vec![of(3), of(1)]
}

pub fn published_values(world: &'static World) -> Vec<Vec<u8>> {
    let [Tables { params, ring, .. }, _] = tables(world);
    let encoding = Encoding::new(3.0, 16.0).unwrap();
    let (messages, range) = ([-1.0, 0.25, 2.0], -1.0..=2.0);
    let values = LweVec::encrypt(params, ring, KeyId(7), &messages, encoding, range, &mut rng(36));
    vec![sample(params, &values.unwrap().publish(-2.0..=2.0, 1e-3).unwrap())]
}

pub fn lwe_switching_keys(world: &'static World) -> Vec<Vec<u8>> {
    let first = &tables(world)[0];
    vec![sample(&first.params, &keys(first).switch)]
}

pub fn rotation_keys(world: &'static World) -> Vec<Vec<u8>> {
    let first = &tables(world)[0];
    vec![sample(&first.params, &keys(first).rotation)]
}

pub fn rotation_parts(world: &'static World) -> Vec<Vec<u8>> {
    let second = &tables(world)[1];
    let key = keys(second).rotation;
    let parts = key.parts(&second.params, 3).unwrap();
    parts.map(|part| sample(&second.params, &part)).collect()
}

pub fn lookup_keys(world: &'static World) -> Vec<Vec<u8>> {
    let second = &tables(world)[1];
    vec![sample(&second.params, &keys(second))]
}

pub fn repacking_keys(world: &'static World) -> Vec<Vec<u8>> {
    let (slots, lwe) = (world.params.ckks(), &tables(world)[0].lwe);
    let of = |baby: usize, limbs: usize| {
        let key = SeededRepackKey::generate(
            slots,
            lwe.coefficients(),
            &world.secret,
            baby,
            limbs,
            &mut rng(37),
        );
        sample(slots, &key.unwrap())
    };
    vec![of(4, 3), of(1, 2)]
}

pub fn ring_bridge_keys(world: &'static World) -> Vec<Vec<u8>> {
    let bridge = &world.lookups().bridge;
    let slots = world.lookups().slots.lattice();
    let secret = bellerophon::mlwe::SecretKey::generate(slots, &mut rng(38)).unwrap();
    let degree = bridge.spec().degree;
    let ring = lwe::SecretKey::generate(degree, SecretKind::Ternary, &mut rng(39)).unwrap();
    let keys = RingBridgeKeys::generate(bridge, &secret, &ring, &mut rng(40)).unwrap();
    vec![sample(bridge, &keys)]
}
