//! Repacking of LWE values of dimension 1024 into one CKKS ciphertext (N = 2^15): PEGASUS.LT for
//! several numbers of values, and the reduction modulo 1 after it.

mod common;

use bellerophon_ckks::{
    Chain, Encoder, EvaluationKeys, Evaluator, KeySpec, Levels, Params, ParamsSpec, SecretKey,
    SecretKind, Security, encrypt,
    mod1::{Mod1, Mod1Output, Mod1Spec},
};
use bellerophon_lwe as lwe;
use bellerophon_repack::{Layout, SeededRepackKey, partial_decryption, rotation_steps};
use bellerophon_ring::prime;
use common::{id, rng, slow};
use criterion::{Criterion, criterion_group, criterion_main};

const DIMENSION: usize = 1024;
const WEIGHT: usize = 192;
const BABY_STEPS: usize = 32;

fn repacking(c: &mut Criterion) {
    let rng = &mut rng();
    let chain = Chain {
        degree: 1 << 15,
        first_bits: 45,
        levels: vec![Levels::single(44, 15)],
        special: (50, 3),
    };
    let spec = ParamsSpec::from_chain(&chain, 44, Security::Bits128).unwrap();
    let params = Params::new(spec).unwrap();
    let (top, limbs) = (params.max_level(), params.limbs());
    let secret = SecretKey::generate(params.lattice(), rng).unwrap();
    let steps = rotation_steps(DIMENSION, BABY_STEPS).unwrap();
    let needs = KeySpec::new().multiply(top).rotate(steps, top);
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
    let plaintext = encoder.encode(&fractions, params.scale(), limbs).unwrap();
    let t = encrypt(&params, &plaintext, &secret, rng).unwrap();
    let output = Mod1Output { amplitude: 1.0, scale: params.scale() };
    let name = id(&format!("repack/f_mod_weight_{WEIGHT}"), params.ring(limbs), limbs);
    c.bench_function(&name, |b| b.iter(|| reduction.apply(&evaluator, &t, output).unwrap()));
}

criterion_group! { name = benches; config = slow(); targets = repacking }
criterion_main!(benches);
