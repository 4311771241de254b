//! DPad-HE, Tables 4, 6, 7 and 9 and Fig. 4: products of module ciphertexts by every strategy,
//! sizes of their keys, conversions, and rotations hoisted to a temporary rank. On the paper's
//! sets, at the top level. Keys are made when the filter asks for their bench: direct keys take up
//! to 12 GiB.

mod shared;

use std::cell::LazyCell;

use bellerophon_mlwe::{
    Ciphertext, GaloisKeys, ModuleMap, Params, RankHoistedKeys, RelinKeys, RelinStrategy,
    RingConversion, SecretKey, paper::DPad, rotation_exponent,
};
use bellerophon_ring::{Modulus, prime};
use criterion::{Criterion, criterion_group, criterion_main};
use shared::{id, rng, slow};

/// Direct keys of larger ranks do not fit a machine of 24 GiB.
const LARGEST_DIRECT: usize = 6;

fn fresh(params: &Params) -> (SecretKey, Ciphertext) {
    let secret = SecretKey::generate(params, &mut rng()).unwrap();
    let ct = secret.encrypt(&params.q().zero(), &mut rng()).unwrap();
    (secret, ct)
}

/// Tables 4 and 6: product and rescaling. Table 7 and the sizes of Table 4 go to standard error.
fn products(c: &mut Criterion) {
    for set in DPad::TABLE_3.into_iter().chain(DPad::TABLE_5) {
        let paper = set.relin_strategy().unwrap();
        let params = paper.params().clone();
        let limbs = params.q().limbs();
        let chosen = RelinStrategy::choose(&params, limbs).unwrap();
        let routes =
            [("direct", RelinStrategy::direct(&params)), ("dpad", paper), ("chosen", chosen)];
        for (strategy, route) in routes {
            let bytes = route.seeded_byte_len(limbs).unwrap() as f64 / 1048576.0;
            let name = format!("mlwe/{}/{strategy}", set.name());
            eprintln!("{name}: keys {bytes:.1} MiB seeded");
            if strategy == "direct" && set.rank() > LARGEST_DIRECT {
                continue;
            }
            let world = LazyCell::new(|| {
                let (secret, ct) = fresh(&params);
                (RelinKeys::generate(&route, &secret, limbs, &mut rng()).unwrap(), ct)
            });
            c.bench_function(&id(&name, params.q(), limbs), |b| {
                let (keys, ct) = &*world;
                b.iter(|| keys.multiply(ct, ct, 1).unwrap())
            });
        }
    }
}

/// Table 9: R -> M, M -> R and a key switch of RLWE.
fn conversions(c: &mut Criterion) {
    for set in [DPad::SetI, DPad::SetIV] {
        let large = Params::new(set.spec().unwrap()).unwrap();
        let limbs = large.q().limbs();
        let rlwe = LazyCell::new(|| fresh(&large));
        let name = |operation: &str, rank: usize| {
            id(&format!("mlwe/{}/{operation}/r={rank}", set.name()), large.q(), limbs)
        };
        for factor in [2, 4] {
            let small = large.module_view(factor).unwrap();
            let map = LazyCell::new(|| ModuleMap::new(&large, &small, limbs).unwrap());
            let module = LazyCell::new(|| map.extract(&rlwe.1).unwrap());
            c.bench_function(&name("to_rank", factor), |b| {
                let (map, ct) = (&*map, &rlwe.1);
                b.iter(|| map.extract(ct).unwrap())
            });
            c.bench_function(&name("embed", factor), |b| {
                let (map, ct) = (&*map, &*module);
                b.iter(|| map.embed(ct).unwrap())
            });
            let conversion = LazyCell::new(|| {
                RingConversion::generate(&rlwe.0, &small, limbs, &mut rng()).unwrap()
            });
            c.bench_function(&name("from_rank", factor), |b| {
                let (conversion, ct) = (&*conversion, &*module);
                b.iter(|| conversion.from_rank(ct).unwrap())
            });
        }
        let exponent = rotation_exponent(large.spec().degree, 1);
        let keys =
            LazyCell::new(|| GaloisKeys::generate(&rlwe.0, [exponent], limbs, &mut rng()).unwrap());
        c.bench_function(&name("rlwe_key_switch", 1), |b| {
            let (key, ct) = (keys.get(exponent).unwrap(), &rlwe.1);
            b.iter(|| key.apply(&large, ct).unwrap())
        });
    }
}

/// Fig. 4: `1, 2, 4, 6` rotations one after the other on set III, at its own rank and hoisted to
/// the paper's temporary rank, then six rotations hoisted to other ranks; and one and six of RLWE
/// (set I), at rank 1 and by way of rank 2.
fn rotations(c: &mut Criterion) {
    let world = |set: DPad, raised: Option<(usize, usize)>| {
        let route = set.relin_strategy().unwrap();
        let params = route.params().clone();
        let raised = match raised {
            None => route.raised().clone(),
            Some((rank, primes)) => {
                let q: Vec<Modulus> = params.q().moduli().cloned().collect();
                let p = prime::ntt_primes_below(4 * params.spec().degree, 47, primes, &q).unwrap();
                let p = p.iter().map(Modulus::value).collect();
                RelinStrategy::new(&params, 1, Some((rank, p))).unwrap().raised().clone()
            }
        };
        (params, raised)
    };
    let exponents = |params: &Params, count: usize| -> Vec<usize> {
        (0..count).map(|k| rotation_exponent(params.spec().degree, 1 << k)).collect()
    };
    for (set, counts) in [(DPad::SetIII, &[1, 2, 4, 6][..]), (DPad::SetI, &[1, 6])] {
        let params = set.relin_strategy().unwrap().params().clone();
        let limbs = params.q().limbs();
        let own = LazyCell::new(|| {
            let (secret, ct) = fresh(&params);
            (GaloisKeys::generate(&secret, exponents(&params, 6), limbs, &mut rng()).unwrap(), ct)
        });
        for &count in counts {
            let name = format!("mlwe/{}/rotations={count}/own_rank", set.name());
            c.bench_function(&id(&name, params.q(), limbs), |b| {
                let (keys, ct) = &*own;
                b.iter(|| {
                    exponents(&params, count).iter().fold(ct.clone(), |ct, &g| {
                        keys.get(g).unwrap().apply(&params, &ct).unwrap()
                    })
                })
            });
        }
    }
    // Rank 6 has room for two digits, rank 8 for one.
    let ranks = [
        (DPad::SetIII, None, &[1, 2, 4, 6][..]),
        (DPad::SetIII, Some((6, 9)), &[6]),
        (DPad::SetIII, Some((8, 18)), &[6]),
        (DPad::SetI, Some((2, 18)), &[1, 6]),
    ];
    for (set, raised, counts) in ranks {
        let (params, raised) = world(set, raised);
        let limbs = params.q().limbs();
        let hoisted = LazyCell::new(|| {
            let (secret, ct) = fresh(&params);
            let above = secret.extend_rank(&raised, &mut rng()).unwrap();
            let galois = GaloisKeys::generate(&above, exponents(&params, 6), limbs, &mut rng());
            let down =
                bellerophon_mlwe::RankReduceKey::generate(&above, &secret, limbs, &mut rng());
            let (galois, down) = (galois.unwrap(), Some(down.unwrap()));
            (RankHoistedKeys::from_parts(&params, &raised, galois, down).unwrap(), ct)
        });
        for &count in counts {
            let name = format!("mlwe/{}/rotations={count}/rank={}", set.name(), raised.spec().rank);
            c.bench_function(&id(&name, params.q(), limbs), |b| {
                let (keys, ct) = &*hoisted;
                b.iter(|| keys.apply(ct, &exponents(&params, count)).unwrap())
            });
        }
    }
}

criterion_group! { name = benches; config = slow(); targets = products, conversions, rotations }
criterion_main!(benches);
