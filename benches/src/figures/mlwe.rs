//! Group `mlwe`: products of module ciphertexts (tensor, relinearization and rescale at the top
//! level) and ring switches between module and RLWE, on the sets of DPad-HE.
//!
//! `T3r2` to `T3r8` are Table 3 of the paper (n = 2^13), `SetI` to `SetVI` Table 5. `rank1` and
//! `direct` relinearize with one key switch, `dpad` at the paper's temporary rank, `chosen` by the
//! strategy that `RelinStrategy::choose` takes for the same set. Rows state the bytes of their keys
//! (seeded, packed), the digits and the rank of the first switch, and the security of the published
//! keys: that of the set, or of the temporary rank where it is less.
//!
//! From rank 7 on the direct key (18 and 36 GiB) does not fit memory. There every term of the
//! product is switched with the key of one term, which is the same work with less memory traffic,
//! and the row has `"key_shared": true`. Only its time counts.
//!
//! A small run measures `T3r2` only.

use std::hint::black_box;

use bellerophon_mlwe::{
    Ciphertext, KeySwitchKey, ModuleMap, Params, RelinKeys, RelinStrategy, RingConversion,
    SecretKey, Security, paper::DPad,
};
use bellerophon_ring::{Addend, Epilogue, KeyRows, Ntt, Poly};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::measure::{Bench, Row};
use common::program::Failure;

/// The smallest rank whose direct key does not fit memory.
const SHARED_RANK: usize = 7;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> Result<(), Failure> {
    if bench.is_small() {
        return products(bench, DPad::Rank2);
    }
    for set in DPad::TABLE_3.into_iter().chain(DPad::TABLE_5) {
        products(bench, set)?;
    }
    conversions(bench)
}

/// A set with a secret key and two ciphertexts.
struct World {
    set: DPad,
    secret: SecretKey,
    x: Ciphertext,
    y: Ciphertext,
    rng: ChaCha20Rng,
}

/// All strategies on one set; keys are freed before the next are generated.
fn products(bench: &mut Bench, set: DPad) -> Result<(), Failure> {
    let paper = set.relin_strategy()?;
    let params = paper.params().clone();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(&params, &mut rng)?;
    let mut fresh = || secret.encrypt(&params.q().zero(), &mut rng).map_err(Failure::run);
    let (x, y) = (fresh()?, fresh()?);
    let mut world = World { set, secret, x, y, rng };
    if set.rank() == 1 {
        return product(bench, &mut world, "rank1", &paper);
    }
    let direct = RelinStrategy::direct(&params);
    match set.rank() < SHARED_RANK {
        true => product(bench, &mut world, "direct", &direct)?,
        false => shared_product(bench, &mut world, &direct)?,
    }
    product(bench, &mut world, "dpad", &paper)?;
    let chosen = RelinStrategy::choose(&params, params.q().limbs())?;
    product(bench, &mut world, "chosen", &chosen)
}

fn product(
    bench: &mut Bench,
    world: &mut World,
    strategy: &str,
    route: &RelinStrategy,
) -> Result<(), Failure> {
    let World { set, secret, x, y, rng } = world;
    let limbs = route.params().q().limbs();
    let keys = RelinKeys::generate(route, secret, limbs, rng)?;
    let run = || keys.multiply(x, y, 1);
    // An operation that works once here works in the loop.
    run()?;
    let row = bench.time(format!("mlwe/{}/{strategy}", set.name()), 1, || {
        let _ = black_box(run());
    });
    describe(row, route, limbs)
}

/// As [`product`], with the key of one component for all of them.
fn shared_product(
    bench: &mut Bench,
    world: &mut World,
    route: &RelinStrategy,
) -> Result<(), Failure> {
    let World { set, secret, x, y, rng } = world;
    let (params, limbs) = (route.params(), route.params().q().limbs());
    let from = [secret.ntt(0)];
    let key = KeySwitchKey::generate(&from, (&*secret).into(), secret, limbs, rng)?;
    let (components, gadget) = (route.components(), params.gadget());
    let row = |at: usize| key.row(at / components, 0);
    let rows = || 0..gadget.digits(limbs) * components;
    let bodies = rows().map(|at| row(at).0).collect();
    let masks = (0..params.spec().rank).map(|c| rows().map(|at| &row(at).1[c]).collect());
    let rows = KeyRows { columns: std::iter::once(bodies).chain(masks).collect(), limbs };
    let (ring, rank) = (params.q().at_limbs(limbs), params.spec().rank);
    let (masks, others) = (x.masks(), y.masks());
    let row = bench.time(format!("mlwe/{}/direct", set.name()), 1, || {
        let pairs = (0..rank).flat_map(|i| (i..rank).map(move |j| (i, j)));
        let quadratic: Vec<_> = pairs
            .map(|(i, j)| match i == j {
                true => vec![(&masks[i], &others[i])],
                false => vec![(&masks[i], &others[j]), (&masks[j], &others[i])],
            })
            .collect();
        let quadratic: Vec<&[_]> = quadratic.iter().map(Vec::as_slice).collect();
        let quadratic = ring.sums_of_products(&quadratic);
        let linear = masks.iter().zip(others).map(|(a, b)| vec![(x.b(), b), (y.b(), a)]);
        let addends = std::iter::once(vec![(x.b(), y.b())]).chain(linear);
        let addends = addends.map(|pairs| Some(Addend::Products(pairs))).collect();
        let finish = Epilogue { addends, primes: 1, map: None };
        let quadratic: Vec<&Poly<Ntt>> = quadratic.iter().collect();
        drop(black_box(gadget.digits_of(&quadratic).divided_product(&rows, &finish)));
    });
    row.extra.insert("key_shared", true.into());
    describe(row, route, limbs)
}

fn describe(row: &mut Row, route: &RelinStrategy, limbs: usize) -> Result<(), Failure> {
    let key_bytes = route.seeded_byte_len(limbs)?;
    let digits = route.digits(limbs)?;
    row.extra.insert("key_bytes", key_bytes.into());
    row.extra.insert("digits", digits.into());
    row.extra.insert("ring_factor", route.factor().into());
    row.extra.insert("raised_rank", (route.raised().spec().rank * route.factor()).into());
    let bits = route.params().security_bits().min(route.raised().security_bits());
    secured(row, bits, route.params().spec().security);
    Ok(())
}

fn secured(row: &mut Row, bits: f64, security: Security) {
    row.extra.insert("security_bits", bits.into());
    if security == Security::Insecure {
        row.extra.insert("security", "insecure".into());
    }
}

/// A full ciphertext of set IV as a module of rank 4, and back.
fn conversions(bench: &mut Bench) -> Result<(), Failure> {
    let set = DPad::SetIV;
    let large = Params::new(set.spec()?)?;
    let small = large.module_view(4)?;
    let (limbs, bits, security) = (large.q().limbs(), large.security_bits(), large.spec().security);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(&large, &mut rng)?;
    let ct = secret.encrypt(&large.q().zero(), &mut rng)?;
    let map = ModuleMap::new(&large, &small, limbs)?;
    let module = map.extract(&ct)?;
    let row = bench.time("mlwe/to_rank/65536/r4".into(), 1, || {
        let _ = black_box(map.extract(&ct));
    });
    secured(row, bits, security);
    let row = bench.time("mlwe/embed/65536/r4".into(), 1, || {
        let _ = black_box(map.embed(&module));
    });
    secured(row, bits, security);
    let conversion = RingConversion::generate(&secret, &small, limbs, &mut rng)?;
    let row = bench.time("mlwe/from_rank/65536/r4".into(), 1, || {
        let _ = black_box(conversion.from_rank(&module));
    });
    row.extra.insert("key_bytes", conversion.galois().byte_len(&large).into());
    secured(row, bits, security);
    Ok(())
}
