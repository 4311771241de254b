//! Look-ups and functions of LWE values at the sizes of the sets of full size.

use crate::common::params_of;
use bellerophon::lwe::{
    Encoding, Engine, Evaluator, Headroom, LookupKeys, LweVec, Network, OutputEncoding, Params,
    ParamsSpec, RgswGadget, SecretKey, SeededLookupKeys, SortOrder, TableDomain, TestPolynomial,
    encrypt, noise, phase,
};
use bellerophon::{mlwe::KeyId, prelude::Preset};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// The tables of the preset for functions, with a special modulus or with digits.
fn specs() -> [ParamsSpec; 2] {
    let params = params_of(Preset::Functions);
    let special = params.lookups().unwrap().on(bellerophon::Engine::Rgsw).unwrap().spec().clone();
    let engine = Engine::Rgsw(RgswGadget::Digits { base_log: 16, count: 2 });
    let digits = ParamsSpec { engine, ..special.clone() };
    [special, digits]
}

struct Keys {
    params: Params,
    lwe: SecretKey,
    ring: SecretKey,
    keys: LookupKeys,
    rng: ChaCha20Rng,
}

fn keys(spec: ParamsSpec) -> Keys {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let params = Params::new(spec).unwrap();
    assert!(params.security_bits() >= 128.0);
    let lwe = SecretKey::generate_lwe(&params, &mut rng).unwrap();
    let ring = SecretKey::generate_ring(&params, &mut rng).unwrap();
    let seeded = SeededLookupKeys::generate(&params, &lwe, &ring, KeyId(7), &mut rng).unwrap();
    let keys = seeded.expand(&params).unwrap();
    Keys { params, lwe, ring, keys, rng }
}

/// Values on a grid, a sigmoid, errors within the predicted index error.
#[test]
fn a_sigmoid_of_values() {
    for spec in specs() {
        let Keys { params, lwe, ring, keys, mut rng } = keys(spec);
        let degree = params.spec().ring_degree;
        let domain = TableDomain::fit(-8.0, 8.0, degree, 48).unwrap();
        let scale = 2f64.powi(40);
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let encode = |y: f64| (y * scale).round() as i64;
        let table = TestPolynomial::new(*params.ring_modulus(), domain, sigmoid, encode).unwrap();
        let inputs = [-8.0, -2.5, 0.0, 0.3, 8.0];
        let values = inputs.map(|x| {
            let message = domain.encode(x, params.modulus());
            encrypt(params.modulus(), &lwe, message, 3.2, &mut rng).unwrap()
        });
        let evaluator = Evaluator::new(&params, &keys);
        let out = evaluator.look_up(&values, &[&table]).unwrap();
        let error = 6.0 * noise::index_error(&params, lwe.norm2(), 3.2 * 3.2).sqrt();
        let slope = 0.25 * domain.step();
        let blind = 6.0 * noise::look_up(&params).sqrt();
        for (x, value) in inputs.iter().zip(&out) {
            assert_eq!(value.modulus(), params.ring_modulus());
            let got = phase(value, &ring).unwrap() as f64 / scale;
            let bound = (error + 0.5) * slope + blind / scale;
            assert!((got - sigmoid(*x)).abs() < bound, "{x}: {got} {bound}");
        }
        let switched = evaluator.look_up_and_switch(&values[2..3], &[&table]).unwrap();
        let q = params.modulus();
        let scale = scale * q.value() as f64 / params.ring_modulus().value() as f64;
        let got = phase(&switched[0], &lwe).unwrap() as f64 / scale;
        let more = 6.0 * noise::key_switch(&params, ring.norm2(), degree).sqrt() / scale;
        let bound = (error + 0.5) * slope + more + 0.001;
        assert!((got - 0.5).abs() < bound, "{got} {bound}");
    }
}

/// Eight values in order, and the position of the largest.
#[test]
fn values_are_sorted() {
    let [_, digits] = specs();
    let Keys { params, ring, keys, mut rng, .. } = keys(digits);
    let network = Network::odd_even(8).unwrap();
    let headroom = Headroom::comparators(network.depth() as u32);
    let encoding = Encoding::fit(&params, 0.0, 1.0, 1e6, headroom, -60.0).unwrap();
    let value = |i: u32| f64::from(i.wrapping_mul(2654435761) >> 16) / 65536.0;
    let mut input: Vec<f64> = (0..8).map(value).collect();
    let x = LweVec::encrypt(&params, &ring, KeyId(7), &input, encoding, 0.0..=1.0, &mut rng);
    let x = x.unwrap();
    let evaluator = Evaluator::new(&params, &keys);
    let labels: Vec<f64> = (0..8).map(f64::from).collect();
    let output = OutputEncoding::Fit(Headroom::TABLE);
    let label = evaluator.arg_max_label(&x.singles(), &labels, output).unwrap();
    let label = label.decrypt(&ring).unwrap()[0];
    let best = (0..8).max_by(|&i, &j| input[i].total_cmp(&input[j])).unwrap();
    assert!((label - labels[best]).abs() < 0.05, "{label} {best}");
    let sorted = evaluator.sort(&x, SortOrder::Ascending).unwrap();
    // Six comparators, each with its index steps.
    let deviation = sorted.variance().sqrt();
    let step = encoding.width() / (2 * params.spec().ring_degree) as f64;
    assert!((8.0 * step..12.0 * step).contains(&deviation), "{deviation} {step}");
    input.sort_by(f64::total_cmp);
    for (got, expected) in sorted.decrypt(&ring).unwrap().iter().zip(&input) {
        assert!((got - expected).abs() < 6.0 * deviation, "{got} {expected}");
    }
}
