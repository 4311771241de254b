//! Errors that vectors of different encryptions have in common: the roundings of plaintexts and
//! constants; and errors of products of correlated factors.

use crate::common::{Party, params_of, party};
use crate::origins::{CONSTANT, Slots, has_predicted_errors, rng};
use bellerophon::ckks::{
    self, Interval, KeyLevels,
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    lintrans::{LinearOptions, LinearTransform},
    polynomial::{Monomial, Polynomial},
};
use bellerophon::prelude::*;

/// A number whose rounding at a scale is nearly one half.
fn halfway(scale: f64) -> f64 {
    ((CONSTANT * scale).floor() + 0.49) / scale
}

/// The rounding of a constant is the same in every slot and in every vector.
#[test]
fn roundings_of_constants_add_up_in_sums_of_slots_and_vectors() {
    let params = params_of(Preset::ToyInsecure);
    let slots = params.slots();
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().sums(slots), 41);
    let constant = halfway(params.ckks().scale());
    let zeros =
        |seed| client.encrypt_with(&vec![0.0; slots], -1.0..=1.0, 2, &mut rng(seed)).unwrap();
    // Step 1: equal constants, then a sum of all slots.
    for times in [1, 16, 256] {
        let mut x = zeros(1);
        for _ in 0..times {
            x = server.add_scalar(&x, constant).unwrap();
        }
        let (sum, exact) = (server.sum_slots(&x).unwrap(), (slots * times) as f64 * constant);
        has_predicted_errors(&client, &sum, &vec![exact; slots], Slots::Equal);
    }
    // Step 2: equal constants in each of many vectors, then the sum.
    let plus = |x| (0..16).fold(x, |x, _| server.add_scalar(&x, constant).unwrap());
    let vectors: Vec<_> = (0..200).map(|seed| plus(zeros(seed))).collect();
    let all = server.add_many(&vectors.iter().collect::<Vec<_>>()).unwrap();
    let exact = 3200.0 * constant;
    has_predicted_errors(&client, &all, &vec![exact; slots], Slots::Independent);
    let (sum, exact) = (server.sum_slots(&all).unwrap(), slots as f64 * exact);
    has_predicted_errors(&client, &sum, &vec![exact; slots], Slots::Equal);
}

/// `sum_i p x_i` has the error `e_p sum_i x_i`, and sums of products with different plaintexts have
/// independent ones.
#[test]
fn roundings_of_a_plaintext_add_up_in_products() {
    const LEVEL: usize = 3;
    const SLOTS: usize = 64;
    let count = if cfg!(feature = "long-tests") { 1200 } else { 300 };
    let Party { client, server } =
        party(Preset::ToyInsecure, &Needs::new().sums(SLOTS).multiply(), 42);
    let mut random = rng(5);
    let mut ones = || client.encrypt_with(&[1.0; SLOTS], -1.0..=1.0, LEVEL, &mut random).unwrap();
    let x: Vec<_> = (0..count).map(|_| ones()).collect();
    let x: Vec<_> = x.iter().collect();
    let plain =
        |i: usize| -> Vec<f64> { (0..SLOTS).map(|k| ((i + k) as f64).cos() / 8.0).collect() };
    let check = |y: Ciphertext, exact: &[f64]| {
        has_predicted_errors(&client, &y, exact, Slots::Independent);
        let all = exact.iter().sum();
        has_predicted_errors(&client, &server.sum_slots(&y).unwrap(), &[all; SLOTS], Slots::Equal);
    };
    let times = |f: &dyn Fn(&Ciphertext) -> Ciphertext| {
        let products: Vec<_> = x.iter().map(|&x| f(x)).collect();
        server.add_many(&products.iter().collect::<Vec<_>>()).unwrap()
    };
    // Step 1: one plaintext, in one sum of products and in a sum of vectors.
    let exact: Vec<f64> = plain(0).iter().map(|p| count as f64 * p).collect();
    check(server.dot_values(&x, &vec![plain(0); count]).unwrap(), &exact);
    check(times(&|x| server.mul_values(x, &plain(0)).unwrap()), &exact);
    // Step 2: different plaintexts.
    let all: Vec<_> = (0..count).map(plain).collect();
    let exact: Vec<f64> = (0..SLOTS).map(|k| all.iter().map(|p| p[k]).sum()).collect();
    check(server.dot_values(&x, &all).unwrap(), &exact);
    // Step 3: one constant, in one sum of products and in a sum of vectors; one polynomial, and one
    // matrix of equal diagonals.
    let constant = halfway(client.params().ckks().divisor(LEVEL));
    let terms: Vec<_> = x.iter().map(|&x| (x, constant)).collect();
    let sum = server.mul_add_many(&[], &terms, 0.0, None).unwrap();
    check(sum, &[count as f64 * constant; SLOTS]);
    let scaled = times(&|x| server.mul_scalar(x, constant).unwrap());
    check(scaled, &[count as f64 * constant; SLOTS]);
    let p = Polynomial::new(Chebyshev::new(-1.0, 1.0, vec![constant / 4.0; 3]));
    let values = times(&|x| server.polynomial(x, &p, None).unwrap());
    check(values, &[count as f64 * 0.75 * constant; SLOTS]);
    let mut ones = Diagonals::zero(SLOTS);
    (0..SLOTS).for_each(|k| ones.add_diagonal(k, vec![constant.into(); SLOTS]));
    let m = LinearTransform::new(client.params().ckks(), &ones, LEVEL, LinearOptions::default())
        .unwrap();
    let Party { client, server } =
        party(Preset::ToyInsecure, &Needs::new().keys(&KeyLevels::default().transform(&m)), 42);
    let x = client.encrypt_with(&[1.0; SLOTS], -1.0..=1.0, LEVEL, &mut random).unwrap();
    let exact = [SLOTS as f64 * constant; SLOTS];
    has_predicted_errors(&client, &server.transform(&x, &m).unwrap(), &exact, Slots::Equal);
}

/// Products of a vector with itself and with what was computed from it: `x^2` has the error
/// `2 x e`, and `x x x` has `3 x^2 e`. The largest slots, on which publication stands, have the same errors
/// here.
#[test]
fn products_of_correlated_factors_have_the_predicted_errors() {
    let Party { client, server } = party(Preset::ToyInsecure, &Needs::new().multiply(), 43);
    let slots = client.params().slots();
    let level = client.params().levels();
    // Every slot is at the end of the range, where the predicted derivatives are largest, and the
    // error is far larger than that of a product.
    let encrypted = |value: f64, seed| {
        client.encrypt_with(&vec![value; slots], -1.0..=1.0, level, &mut rng(seed)).unwrap()
    };
    let noise = server.mul_integer(&encrypted(0.0, 6), 1000).unwrap();
    let range = Interval::real(0.99, 1.0).unwrap();
    let x = server.add(&encrypted(1.0, 7), &noise).unwrap().assume_range_with_padding(range);
    let same = x.clone();
    let square = server.square(&x).unwrap();
    let cube = server.mul(&square, &x).unwrap();
    let fourth = Monomial::new(&[0.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
    let basis = server.power_basis(&x, &[&fourth]).unwrap();
    let powers = [
        (server.mul(&x, &same).unwrap(), 2.0),
        (server.mul(&cube, &square).unwrap(), 5.0),
        (server.monomial_in(&basis, &fourth, None).unwrap(), 4.0),
        (server.mul(&server.monomial_in(&basis, &fourth, None).unwrap(), &x).unwrap(), 5.0),
        (square, 2.0),
        (cube, 3.0),
    ];
    let input = x.metadata().noise();
    for (power, degree) in powers {
        has_predicted_errors(&client, &power, &vec![1.0; slots], Slots::Independent);
        let found = power.metadata();
        assert!(found.noise() >= 0.95 * degree * input, "{degree}");
        let meta = found.meta;
        let peak = ckks::noise::slot_std(meta.noise.peak, meta.slots, meta.scale, true);
        assert!(peak >= found.noise() && peak <= 4.0 * degree * input, "{degree}");
        // Publication stands on these predictions.
        let declared = |noise: f64| Declaration::from(-1.0..=1.0).with_noise(noise);
        assert!(server.publish(&power, declared(found.noise() / 4.0)).is_err());
        assert!(server.publish(&power, declared(found.noise())).is_ok());
    }
}
