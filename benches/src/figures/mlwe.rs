//! Group `mlwe`: products of module ciphertexts (tensor, relinearization and rescale at the top
//! level), ring switches between module and RLWE, and rotations, on the sets of DPad-HE.
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

use bellerophon::Result;
use bellerophon::mlwe::{
    Ciphertext, GaloisKeys, KeySwitchKey, ModuleMap, Params, RankHoistedKeys, RankReduceKey,
    RelinKeys, RelinStrategy, RingConversion, SecretKey, Security, paper::DPad, rotation_exponent,
};
use bellerophon::ring::{Addend, Epilogue, KeyRows, Modulus, Ntt, Poly, prime};
use common::facts::Facts;
use common::program::Failure;
use common::random::seeded;
use rand_chacha::ChaCha20Rng;

use crate::measure::Bench;

/// The smallest rank whose direct key does not fit memory.
const SHARED_RANK: usize = 7;

/// Measures the group.
pub fn measure(bench: &mut Bench) -> std::result::Result<(), Failure> {
    if bench.small {
        return products(bench, DPad::Rank2);
    }
    for set in DPad::TABLE_3.into_iter().chain(DPad::TABLE_5) {
        products(bench, set)?;
    }
    for set in [DPad::SetI, DPad::SetIV] {
        conversions(bench, set)?;
    }
    // Rank 6 has room for two digits, rank 8 for one.
    rotations(bench, DPad::SetIII, Route::Own, &[1, 2, 4, 6])?;
    rotations(bench, DPad::SetIII, Route::Paper, &[1, 2, 4, 6])?;
    rotations(bench, DPad::SetIII, Route::Raised { rank: 6, primes: 9 }, &[6])?;
    rotations(bench, DPad::SetIII, Route::Raised { rank: 8, primes: 18 }, &[6])?;
    rotations(bench, DPad::SetI, Route::Own, &[1, 6])?;
    rotations(bench, DPad::SetI, Route::Raised { rank: 2, primes: 18 }, &[1, 6])
}

/// A secret key with two ciphertexts.
struct World {
    secret: SecretKey,
    x: Ciphertext,
    y: Ciphertext,
    rng: ChaCha20Rng,
}

impl World {
    fn new(params: &Params) -> Result<Self> {
        let mut rng = seeded(1);
        let secret = SecretKey::generate(params, &mut rng)?;
        let mut fresh = || secret.encrypt(&params.q().zero(), &mut rng);
        let (x, y) = (fresh()?, fresh()?);
        Ok(Self { secret, x, y, rng })
    }
}

/// Tables 4, 6 and 7: all strategies on one set; keys are freed before the next are generated.
fn products(bench: &mut Bench, set: DPad) -> std::result::Result<(), Failure> {
    let paper = set.relin_strategy()?;
    let params = paper.params().clone();
    let limbs = params.q().limbs();
    let mut world = World::new(&params)?;
    let strategies = match set.rank() {
        1 => vec![("rank1", paper)],
        _ => vec![
            ("direct", RelinStrategy::direct(&params)),
            ("dpad", paper),
            ("chosen", RelinStrategy::choose(&params, limbs)?),
        ],
    };
    for (strategy, route) in strategies {
        let name = format!("mlwe/{}/{strategy}", set.name());
        let row = if strategy == "direct" && set.rank() >= SHARED_RANK {
            shared_product(bench, &mut world, name, &route)?.with("key_shared", true)
        } else {
            let World { secret, x, y, rng } = &mut world;
            let keys = RelinKeys::generate(&route, secret, limbs, rng)?;
            bench.time(name, 1, || keys.multiply(x, y, 1))?.row
        };
        let bits = params.security_bits().min(route.raised().security_bits());
        let row = row
            .with("key_bytes", route.seeded_byte_len(limbs)?)
            .with("digits", route.digits(limbs)?)
            .with("ring_factor", route.factor())
            .with("raised_rank", route.raised().spec().rank * route.factor());
        bench.rows.push(secured(row, bits, &params));
    }
    Ok(())
}

/// A product with the key of one component for all of them.
fn shared_product(
    bench: &Bench,
    world: &mut World,
    name: String,
    route: &RelinStrategy,
) -> std::result::Result<Facts, Failure> {
    let World { secret, x, y, rng } = world;
    let (params, limbs) = (route.params(), route.params().q().limbs());
    let key = KeySwitchKey::generate(&[secret.ntt(0)], (&*secret).into(), secret, limbs, rng)?;
    let (components, gadget) = (route.components(), params.gadget());
    let row = |at: usize| key.row(at / components, 0);
    let rows = || 0..gadget.digits(limbs) * components;
    let bodies = rows().map(|at| row(at).0).collect();
    let masks = (0..params.spec().rank).map(|c| rows().map(|at| &row(at).1[c]).collect());
    let rows = KeyRows { columns: std::iter::once(bodies).chain(masks).collect(), limbs };
    let (ring, rank) = (params.q().at_limbs(limbs), params.spec().rank);
    let (masks, others) = (x.masks(), y.masks());
    let timed = bench.time(name, 1, || {
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
        Ok(gadget.digits_of(&quadratic).divided_product(&rows, &finish))
    })?;
    Ok(timed.row)
}

fn secured(row: Facts, bits: f64, params: &Params) -> Facts {
    let row = row.with("security_bits", bits);
    match params.spec().security {
        Security::Insecure => row.with("security", "insecure"),
        _ => row,
    }
}

/// Table 9: a full ciphertext of RLWE as a module of rank 2 and 4, and back; and a key switch.
fn conversions(bench: &mut Bench, set: DPad) -> std::result::Result<(), Failure> {
    let large = Params::new(set.spec()?)?;
    let (degree, limbs) = (large.spec().degree, large.q().limbs());
    let World { secret, x: ct, mut rng, .. } = World::new(&large)?;
    let name = |operation: &str, rank: usize| format!("mlwe/{operation}/{degree}/r{rank}");
    let secured = |row: Facts| secured(row, large.security_bits(), &large);
    for rank in [2, 4] {
        let small = large.module_view(rank)?;
        let map = ModuleMap::new(&large, &small, limbs)?;
        let to_rank = bench.time(name("to_rank", rank), 1, || map.extract(&ct))?;
        let module = to_rank.last;
        let embed = bench.time(name("embed", rank), 1, || map.embed(&module))?;
        let conversion = RingConversion::generate(&secret, &small, limbs, &mut rng)?;
        let from_rank = bench.time(name("from_rank", rank), 1, || conversion.from_rank(&module))?;
        let from_rank = from_rank.row.with("key_bytes", conversion.galois().byte_len(&large));
        bench.rows.extend([to_rank.row, embed.row, from_rank].map(secured));
    }
    let exponent = rotation_exponent(degree, 1);
    let keys = GaloisKeys::generate(&secret, [exponent], limbs, &mut rng)?;
    let key = keys.get(exponent)?;
    let timed = bench.time(name("rlwe_key_switch", 1), 1, || key.apply(&large, &ct))?;
    bench.rows.push(secured(timed.row));
    Ok(())
}

/// The rank at which rotations are done.
#[derive(Clone, Copy, PartialEq)]
enum Route {
    /// The set's own.
    Own,
    /// The paper's temporary rank.
    Paper,
    /// Another temporary rank, with as many special primes.
    Raised { rank: usize, primes: usize },
}

/// Fig. 4: rotations one after the other.
fn rotations(
    bench: &mut Bench,
    set: DPad,
    route: Route,
    counts: &[usize],
) -> std::result::Result<(), Failure> {
    let paper = set.relin_strategy()?;
    let params = paper.params().clone();
    let (degree, limbs) = (params.spec().degree, params.q().limbs());
    let World { secret, x: ct, mut rng, .. } = World::new(&params)?;
    let exponents: Vec<usize> = (0..6).map(|k| rotation_exponent(degree, 1 << k)).collect();
    let some = exponents.iter().copied();
    let mut add = |at: &str, count: usize, rotate: &dyn Fn(&[usize]) -> Result<Ciphertext>| {
        let name = format!("mlwe/{}/rotations={count}/{at}", set.name());
        let timed = bench.time(name, 1, || rotate(&exponents[..count]))?;
        bench.rows.push(secured(timed.row, params.security_bits(), &params));
        Ok::<(), Failure>(())
    };
    if route == Route::Own {
        let keys = GaloisKeys::generate(&secret, some, limbs, &mut rng)?;
        let rotate = |exponents: &[usize]| {
            exponents.iter().try_fold(ct.clone(), |ct, &g| keys.get(g)?.apply(&params, &ct))
        };
        return counts.iter().try_for_each(|&count| add("own_rank", count, &rotate));
    }
    let raised = match route {
        Route::Raised { rank, primes } => {
            let q: Vec<Modulus> = params.q().moduli().cloned().collect();
            let p = prime::ntt_primes_below(4 * degree, 47, primes, &q)?;
            let p = p.iter().map(Modulus::value).collect();
            RelinStrategy::new(&params, 1, Some((rank, p)))?.raised().clone()
        }
        _ => paper.raised().clone(),
    };
    let above = secret.extend_rank(&raised, &mut rng)?;
    let galois = GaloisKeys::generate(&above, some, limbs, &mut rng)?;
    let down = RankReduceKey::generate(&above, &secret, limbs, &mut rng)?;
    let keys = RankHoistedKeys::from_parts(&params, &raised, galois, Some(down))?;
    let at = format!("rank={}", raised.spec().rank);
    counts.iter().try_for_each(|&count| add(&at, count, &|exponents| keys.apply(&ct, exponents)))
}
