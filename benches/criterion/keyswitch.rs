//! The one key switch and what calls it, at several levels of a chain of 14 primes of 45 bits with
//! three special primes (N = 2^15).

use bellerophon_criterion::{id, rng, slow};
use bellerophon_mlwe::{
    Ciphertext, GaloisKey, HoistedDigits, Params, ParamsSpec, RelinKeys, RelinStrategy, SecretKey,
    SecretKind, Security, key_switch_decomposed, rotation_exponent,
};
use bellerophon_ring::{Modulus, prime};
use criterion::{Criterion, criterion_group, criterion_main};

const DEGREE: usize = 1 << 15;
const LIMBS: usize = 14;

fn params() -> Params {
    let q = prime::ntt_primes_around(DEGREE, 45, LIMBS, &[]).unwrap();
    let p = prime::ntt_primes_below(DEGREE, 50, 3, &q).unwrap();
    let values = |primes: &[Modulus]| primes.iter().map(Modulus::value).collect();
    Params::new(ParamsSpec {
        degree: DEGREE,
        rank: 1,
        q: values(&q),
        p: values(&p),
        secret: SecretKind::Ternary,
        sigma: 3.2,
        security: Security::Bits128,
    })
    .unwrap()
}

fn key_switch(c: &mut Criterion) {
    let rng = &mut rng();
    let params = params();
    let secret = SecretKey::generate(&params, rng).unwrap();
    let route = RelinStrategy::direct(&params);
    let relin = RelinKeys::generate(&route, &secret, LIMBS, rng).unwrap();
    let galois = GaloisKey::generate(&secret, rotation_exponent(DEGREE, 1), LIMBS, rng).unwrap();
    let seeded = relin.cross().compress();
    let zero = params.q().zero();
    let full = secret.encrypt(&zero, rng).unwrap();

    for limbs in [LIMBS, LIMBS / 2, 2] {
        let name = |operation: &str| id(operation, params.q(), limbs);
        let ct = truncated(&params, &full, limbs);
        let digits = HoistedDigits::new(&params, ct.masks()).unwrap();
        c.bench_function(&name("keyswitch/decompose"), |b| {
            b.iter(|| HoistedDigits::new(&params, ct.masks()).unwrap())
        });
        c.bench_function(&name("keyswitch/inner_product_mod_down"), |b| {
            b.iter(|| key_switch_decomposed(&params, &digits, galois.key()).unwrap())
        });
        c.bench_function(&name("keyswitch/automorphism"), |b| {
            b.iter(|| galois.apply(&params, &ct).unwrap())
        });
        c.bench_function(&name("keyswitch/automorphism_hoisted"), |b| {
            b.iter(|| galois.apply_decomposed(&params, &ct, &digits).unwrap())
        });
        c.bench_function(&name("keyswitch/multiply_relinearise"), |b| {
            b.iter(|| relin.multiply(&ct, &ct, 0).unwrap())
        });
    }
    let name = |operation: &str| id(operation, params.q(), LIMBS);
    c.bench_function(&name("keyswitch/generate_relinearisation_key"), |b| {
        b.iter(|| RelinKeys::generate(&route, &secret, LIMBS, rng).unwrap())
    });
    c.bench_function(&name("keyswitch/expand_relinearisation_key"), |b| {
        b.iter(|| seeded.expand(&params).unwrap())
    });
}

fn truncated(params: &Params, ct: &Ciphertext, limbs: usize) -> Ciphertext {
    let b = ct.b().limb_range(0..limbs);
    let a = ct.masks().iter().map(|mask| mask.limb_range(0..limbs)).collect();
    Ciphertext::new(params, b, a, ct.ident().key).unwrap()
}

criterion_group! { name = benches; config = slow(); targets = key_switch }
criterion_main!(benches);
