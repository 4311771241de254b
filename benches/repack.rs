//! Repacking of LWE values of dimension 1024 into one CKKS ciphertext (N = 2^15): PEGASUS.LT for
//! several numbers of values, and the reduction modulo 1 after it; LWE values of dimension 4096
//! into one ring ciphertext, by Algorithm 1 and through modules of middle rank; private look-up of
//! one point by the split-domain method and by repacking.

mod shared;

use bellerophon::circuits::eval_mod::{Mod1, Mod1Output, Mod1Spec};
use bellerophon_ckks::{
    Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, LevelGroup, ModulusChain, Params,
    ParamsSpec, SecretKey, SecretKind, Security, encrypt,
};
use bellerophon_lookup::{
    Layout, SeededRepackKey,
    linear_bridge::{partial_decryption, rotation_steps},
};
use bellerophon_lwe as lwe;
use bellerophon_mlwe as mlwe;
use bellerophon_pir::{Client, Function, QueryLayout, Server, SplitDomainKeys, bfv};
use bellerophon_repack::{ModulePacking, pack_values, row_packing_keys};
use bellerophon_ring::prime;
use criterion::{Criterion, criterion_group, criterion_main};
use shared::{id, rng, slow};

const DIMENSION: usize = 1024;
const WEIGHT: usize = 192;
const BABY_STEPS: usize = 32;

fn repacking(c: &mut Criterion) {
    let rng = &mut rng();
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, 15)],
        special: (50, 3),
    };
    let spec = ParamsSpec::from_chain(&chain, 44, Security::Bits128).unwrap();
    let params = Params::new(spec).unwrap();
    let (top, limbs) = (params.max_level(), params.limbs());
    let secret = SecretKey::generate(params.lattice(), rng).unwrap();
    let steps = rotation_steps(DIMENSION, BABY_STEPS).unwrap();
    let needs = KeyLevels::default().multiply(top).rotate(steps, top);
    let keys = EvaluationKeys::generate(&params, &secret, &needs, rng).unwrap();
    let evaluator = Evaluator::new(&params, &keys).unwrap();
    let lwe_secret = lwe::SecretKey::generate(DIMENSION, SecretKind::Sparse(WEIGHT), rng).unwrap();
    let coefficients = lwe_secret.coefficients();
    let key =
        SeededRepackKey::generate(&params, coefficients, &secret, BABY_STEPS, limbs, rng).unwrap();
    let key = key.expand(&params).unwrap();
    let q = prime::ntt_primes_below(DIMENSION, 28, 1, &[]).unwrap()[0];

    let spec = Mod1Spec {
        weight: WEIGHT,
        log2_failure: -60.0,
        log2_error: -20.0,
        arcsine: None,
        spare: 0,
        early_bits: [0; 2],
    };
    let reduction = Mod1::new(&spec).unwrap();
    let factor = 1.0 / reduction.width();
    for count in [64, 256, 1024, 4096] {
        let values: Vec<lwe::Ciphertext> =
            (0..count).map(|i| lwe::encrypt(&q, &lwe_secret, i << 12, 3.2, rng).unwrap()).collect();
        let layout = Layout::in_order(values.len()).unwrap();
        let name = id(&format!("repack/lt_of_{count}"), params.ring(limbs), limbs);
        c.bench_function(&name, |b| {
            b.iter(|| {
                let bound = reduction.bound();
                partial_decryption(&evaluator, &key, &values, &layout, factor, bound, top - 1)
                    .unwrap()
            })
        });
    }

    let encoder = Encoder::new(&params);
    let fractions: Vec<f64> = (0..params.max_slots()).map(|i| (i % 9) as f64 / 100.0).collect();
    let range = Interval::real(0.0, 0.1).unwrap();
    let plaintext = encoder.encode(&fractions, range, params.scale(), limbs).unwrap();
    let t = encrypt(&params, &plaintext, &secret, rng).unwrap();
    let output = Mod1Output { amplitude: 1.0, scale: params.scale() };
    let name = id(&format!("repack/eval_mod_weight_{WEIGHT}"), params.ring(limbs), limbs);
    c.bench_function(&name, |b| b.iter(|| reduction.apply(&evaluator, &t, output).unwrap()));
}

/// Degree of the ring in which values are packed.
const DEGREE: usize = 4096;

fn packing(c: &mut Criterion) {
    let rng = &mut rng();
    let q = prime::ntt_primes_around(DEGREE, 45, 1, &[]).unwrap();
    let p = prime::ntt_primes_below(DEGREE, 50, 1, &q).unwrap();
    let of_degree = |degree: usize| {
        mlwe::Params::new(mlwe::ParamsSpec {
            degree,
            rank: DEGREE / degree,
            q: vec![q[0].value()],
            p: vec![p[0].value()],
            secret: SecretKind::Ternary,
            sigma: 3.2,
            security: Security::Bits128,
        })
        .unwrap()
    };
    let params = of_degree(DEGREE);
    let secret = SecretKey::generate(&params, rng).unwrap();
    let own = secret.coefficients(0).to_vec().into();
    let own = lwe::SecretKey::from_coefficients(own).unwrap();
    let values: Vec<lwe::Ciphertext> =
        (0..DEGREE).map(|_| lwe::encrypt(&q[0], &own, 1 << 40, 3.2, rng).unwrap()).collect();
    let keys = row_packing_keys(&secret, 1, 1, rng).unwrap();
    let bytes: usize = keys.iter().map(|key| key.key().seeded_byte_len(&params)).sum();
    println!("pack/rows: {bytes} bytes of keys");
    // Places as the packing of few values likes them.
    let spread = |count: usize| (0..count).map(move |i| i * (DEGREE / count));
    for count in [256, DEGREE] {
        let name = id(&format!("pack/rows_of_{count}"), params.q(), 1);
        c.bench_function(&name, |b| {
            b.iter(|| {
                let values = spread(count).map(|i| (i, &values[i]));
                pack_values(&params, &keys, secret.id(), 1, values).unwrap()
            })
        });
    }
    for degree in [64, 512, 2048] {
        let packing = ModulePacking::new(&params, &of_degree(degree)).unwrap();
        let seeded = packing.keys(&secret, rng).unwrap();
        println!(
            "pack/module: degree {degree}, {} bytes of keys, {:.3e} multiplications",
            seeded.byte_len(&packing),
            packing.multiplications(DEGREE / degree)
        );
        let keys = seeded.expand(&packing).unwrap();
        for count in [256, DEGREE] {
            let name = id(&format!("pack/module_{degree}_of_{count}"), params.q(), 1);
            // As few groups as hold them.
            let rank = DEGREE / degree;
            let groups = count.div_ceil(degree);
            let places: Vec<usize> = (0..count).map(|i| i % groups + (i / groups) * rank).collect();
            c.bench_function(&name, |b| {
                b.iter(|| packing.pack(&keys, places.iter().map(|&i| (i, &values[i]))).unwrap())
            });
        }
    }
}

fn private_lookup(c: &mut Criterion) {
    let rng = &mut rng();
    let params = bfv::Params::new(bfv::ParamsSpec::lookup(65537).unwrap()).unwrap();
    let client = Client::generate(&params, rng).unwrap().sending_masks();
    let server = Server::new(&params, &client.server_keys(rng).unwrap()).unwrap();
    let domain = params.degree();
    let table: Vec<usize> = (0..domain).map(|x| x * 5 % domain).collect();
    let values: Vec<u64> = table.iter().map(|&y| y as u64).collect();
    let function = Function::new(&params, &values).unwrap();
    let split = SplitDomainKeys::generate(&client, rng).unwrap();
    println!("lookup/split_domain: {} bytes of keys", split.byte_len());
    for points in [1, 4] {
        let asked: Vec<usize> = (0..points).map(|i| 100 * i).collect();
        let (query, _) = client.query(domain, &asked, QueryLayout::Paper, rng).unwrap();
        let ring = params.ring();
        let name = id(&format!("lookup/split_domain_of_{points}"), ring, 1);
        c.bench_function(&name, |b| b.iter(|| split.count(&table, &query).unwrap()));
        let name = id(&format!("lookup/repacking_of_{points}"), ring, 1);
        c.bench_function(&name, |b| b.iter(|| server.evaluate(&function, &query).unwrap()));
    }
}

criterion_group! { name = benches; config = slow(); targets = repacking, packing, private_lookup }
criterion_main!(benches);
