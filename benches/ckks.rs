//! CKKS operations on full vectors at the top level of the set W1 (N = 2^15, 14 primes).

mod shared;

use bellerophon_ckks::{
    CkksOps, Encoder, EvaluationKeys, Evaluator, Interval, KeyLevels, Params, ParamsSpec,
    decrypt_values, encrypt, encrypt_public,
};
use bellerophon_mlwe::{PublicKey, SecretKey};
use criterion::{Criterion, criterion_group, criterion_main};
use shared::{id, rng, slow};

fn operations(c: &mut Criterion) {
    let rng = &mut rng();
    let params = Params::new(ParamsSpec::w1().unwrap()).unwrap();
    let (level, limbs) = (params.max_level(), params.limbs());
    let secret = SecretKey::generate(params.lattice(), rng).unwrap();
    let public = PublicKey::generate(&secret, rng);
    let steps = [1i64, 2, 3, 4, 5, 6, 7, 8];
    let needs = KeyLevels::default().multiply(level).conjugate(level).rotate(steps, level);
    let keys = EvaluationKeys::generate(&params, &secret, &needs, rng).unwrap();
    let evaluator = Evaluator::new(&params, &keys).unwrap();
    let encoder = Encoder::new(&params);
    let values: Vec<f64> = (0..params.max_slots()).map(|i| (i % 17) as f64 / 16.0).collect();
    let range = Interval::real(0.0, 1.0).unwrap();
    let plaintext = encoder.encode(&values, range, params.scale(), limbs).unwrap();
    let x = encrypt(&params, &plaintext, &secret, rng).unwrap();
    let y = encrypt(&params, &plaintext, &secret, rng).unwrap();

    let name = |operation: &str| id(operation, params.ring(limbs), limbs);
    c.bench_function(&name("ckks/encode"), |b| {
        b.iter(|| encoder.encode(&values, range, params.scale(), limbs).unwrap())
    });
    c.bench_function(&name("ckks/encrypt_secret"), |b| {
        b.iter(|| encrypt(&params, &plaintext, &secret, rng).unwrap())
    });
    c.bench_function(&name("ckks/encrypt_public"), |b| {
        b.iter(|| encrypt_public(&params, &plaintext, &public, rng).unwrap())
    });
    c.bench_function(&name("ckks/decrypt_decode"), |b| {
        b.iter(|| decrypt_values::<f64>(&params, &x, &secret).unwrap())
    });
    c.bench_function(&name("ckks/add"), |b| b.iter(|| evaluator.add(&x, &y).unwrap()));
    c.bench_function(&name("ckks/mul_plain_rescale"), |b| {
        b.iter(|| evaluator.mul_plain(&x, &plaintext).unwrap())
    });
    c.bench_function(&name("ckks/mul_relin_rescale"), |b| {
        b.iter(|| evaluator.mul(&x, &y).unwrap())
    });
    c.bench_function(&name("ckks/square_relin_rescale"), |b| {
        b.iter(|| evaluator.square(&x).unwrap())
    });
    c.bench_function(&name("ckks/rotate"), |b| b.iter(|| evaluator.rotate(&x, 1).unwrap()));
    c.bench_function(&name("ckks/rotate_8_hoisted"), |b| {
        b.iter(|| evaluator.rotate_many(&x, &steps).unwrap())
    });
    c.bench_function(&name("ckks/conjugate"), |b| b.iter(|| evaluator.conjugate(&x).unwrap()));
}

criterion_group! { name = benches; config = slow(); targets = operations }
criterion_main!(benches);
