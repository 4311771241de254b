//! Look-ups in a ring of degree 4096 from LWE dimension 1024, with both gadgets: one value, a
//! batch, and the key switch that follows.

mod shared;

use bellerophon_lwe::{
    Ciphertext, Engine, Evaluator, Params, ParamsSpec, RgswGadget, SecretKey, SeededLookupKeys,
    TableDomain, TestPolynomial, encrypt, switch_modulus,
};
use bellerophon_mlwe::{KeyId, SecretKind, Security};
use bellerophon_ring::prime;
use criterion::{Criterion, criterion_group, criterion_main};
use shared::{id, rng, slow};

const DIMENSION: usize = 1024;
const DEGREE: usize = 4096;
const BATCH: usize = 16;

/// The sizes of the preset `Functions`, with one gadget or the other.
fn spec(special_modulus: bool) -> ParamsSpec {
    let ring = prime::ntt_primes_below(DEGREE, 45, 1, &[]).unwrap();
    let special = prime::ntt_primes_below(DEGREE, 50, 1, &ring).unwrap();
    ParamsSpec {
        dimension: DIMENSION,
        modulus: prime::ntt_primes_below(DIMENSION, 28, 1, &[]).unwrap()[0].value(),
        secret: SecretKind::Sparse(192),
        sigma: 56.0,
        key_switch_base_log: 2,
        key_switch_digits: 14,
        ring_degree: DEGREE,
        ring_modulus: ring[0].value(),
        engine: Engine::Rgsw(if special_modulus {
            RgswGadget::SpecialModulus { modulus: special[0].value() }
        } else {
            RgswGadget::Digits { base_log: 16, count: 2 }
        }),
        ring_secret: SecretKind::Ternary,
        ring_sigma: 3.2,
        security: Security::Bits128,
    }
}

fn look_ups(c: &mut Criterion) {
    for (gadget, special_modulus) in [("special_modulus", true), ("digits", false)] {
        let rng = &mut rng();
        let params = Params::new(spec(special_modulus)).unwrap();
        let lwe = SecretKey::generate_lwe(&params, rng).unwrap();
        let ring = SecretKey::generate_ring(&params, rng).unwrap();
        let keys = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(1), rng).unwrap();
        let keys = keys.expand(&params).unwrap();
        let evaluator = Evaluator::new(&params, &keys);
        let domain = TableDomain::fit(-8.0, 8.0, DEGREE, 32).unwrap();
        let encode = |y: f64| (y * 2f64.powi(40)).round() as i64;
        let table = TestPolynomial::new(*params.ring_modulus(), domain, f64::tanh, encode).unwrap();
        let values: Vec<Ciphertext> = (0..BATCH)
            .map(|i| {
                let phase = domain.encode(i as f64 - 7.5, params.modulus());
                encrypt(params.modulus(), &lwe, phase, params.spec().sigma, rng).unwrap()
            })
            .collect();

        let full = params.rgsw().unwrap().ring();
        let name =
            |operation: &str| id(&format!("blind_rotate/{gadget}/{operation}"), full, full.limbs());
        c.bench_function(&name("one"), |b| {
            b.iter(|| evaluator.look_up(&values[..1], &[&table]).unwrap())
        });
        c.bench_function(&name(&format!("batch_of_{BATCH}")), |b| {
            b.iter(|| evaluator.look_up(&values, &[&table]).unwrap())
        });
        if special_modulus {
            let out = evaluator.look_up(&values[..1], &[&table]).unwrap();
            let value = switch_modulus(&out[0], params.modulus());
            let name = id("lwe/key_switch", params.lwe_ring(), 1);
            c.bench_function(&name, |b| b.iter(|| keys.switch.apply(&params, &value).unwrap()));
        }
    }
}

criterion_group! { name = benches; config = slow(); targets = look_ups }
criterion_main!(benches);
