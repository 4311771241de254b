//! Errors that vectors of different encryptions have in common: the roundings of plaintexts and
//! constants; errors of products of correlated factors; and what decides exactness, which counts
//! all errors as common.

use crate::common::{Party, params_of, party};
use crate::origins::{CONSTANT, Slots, has_predicted_errors, rng};
use bellerophon::prelude::*;
use bellerophon::{
    circuits::{
        chebyshev::Chebyshev,
        diagonals::Diagonals,
        lintrans::{LinearOptions, LinearTransform},
        polynomial::{Monomial, Polynomial},
    },
    ckks::{
        self, Complex64, Interval,
        simulator::{SimCiphertext, Simulator},
    },
};

/// A number whose rounding at a scale is nearly one half.
fn halfway(scale: f64) -> f64 {
    ((CONSTANT * scale).floor() + 0.49) / scale
}

/// The rounding of a constant is the same in every slot and in every vector.
#[test]
fn roundings_of_constants_add_up_in_sums() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let slots = params.slots();
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().sums(slots), 41);
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
        party(Preset::Insecure(Toy::Functions), &Needs::new().sums(SLOTS).multiply(), 42);
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
        party(Preset::Insecure(Toy::Functions), &Needs::new().keys(&m.keys()), 42);
    let x = client.encrypt_with(&[1.0; SLOTS], -1.0..=1.0, LEVEL, &mut random).unwrap();
    let exact = [SLOTS as f64 * constant; SLOTS];
    has_predicted_errors(&client, &server.transform(&x, &m).unwrap(), &exact, Slots::Equal);
}

/// Products of a vector with itself and with what was computed from it: `x^2` has the error
/// `2 x e`, and `x x x` has `3 x^2 e`. The largest slots, on which publication stands, have the
/// same errors here.
#[test]
fn products_of_correlated_factors_err_as_predicted() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply(), 43);
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
    let fourth = server.monomial(&x, &fourth, None).unwrap();
    let powers = [
        (server.mul(&x, &same).unwrap(), 2.0),
        (server.mul(&cube, &square).unwrap(), 5.0),
        (fourth.clone(), 4.0),
        (server.mul(&fourth, &x).unwrap(), 5.0),
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

/// Predictions count variances of independent errors. What decides exactness and overflow counts
/// amplitudes: a sum of 16 vectors as 16 times one of them.
#[test]
fn what_decides_exactness_counts_amplitudes() {
    const TERMS: usize = 16;
    let Party { client, server } =
        party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 41);
    let level = client.params().functional().unwrap().input_level();
    let on = server.integers();
    let integers: Vec<IntVec> = (0..TERMS as u64)
        .map(|i| client.encrypt_with(&[1; 64], Modulo(256), level, &mut rng(i)).unwrap())
        .collect();
    let sum = integers[1..].iter().fold(integers[0].clone(), |sum, x| on.add(&sum, x).unwrap());
    let multiple = on.mul_constant(&integers[0], TERMS as i64).unwrap();
    let [found, expected] = [&sum, &multiple].map(|x| on.log2_failure(x));
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");

    let zeros: Vec<Ciphertext> = (0..TERMS as u64)
        .map(|i| client.encrypt_with(&[0.0; 64], -1e-9..=1e-9, level, &mut rng(i)).unwrap())
        .collect();
    let sum = server.add_many(&zeros).unwrap();
    let multiple = server.mul_integer(&zeros[0], TERMS as i64).unwrap();
    let ratio = multiple.metadata().noise() / sum.metadata().noise();
    assert!((ratio - (TERMS as f64).sqrt()).abs() < 1e-6, "{ratio}");
    let [found, expected] = [&sum, &multiple].map(|x| x.metadata().excess());
    assert!((found / expected - 1.0).abs() < 1e-6, "{found:e} {expected:e}");
    // Doublings until a table refuses them.
    let refused_after = |mut y: Ciphertext| {
        for doublings in 0..48 {
            if on.table(&on.from_reals(&y, 256).unwrap(), |k| k).is_err() {
                return doublings;
            }
            y = server.add(&y, &y).unwrap();
        }
        panic!("nothing is refused");
    };
    // The stated range takes in the error so far, and the bound on it remains.
    let start = |x: &Ciphertext| {
        let y = server.mul_integer(x, 1 << 8).unwrap();
        let range = y.range().lo()..=y.range().hi();
        server.assume_range(&y, range).unwrap()
    };
    assert_eq!(refused_after(start(&sum)), refused_after(start(&multiple)));
}

/// Errors of a vector in both factors of a product, and in a linear transform beside the vector.
#[test]
fn products_and_transforms_share_operand_errors() {
    const SLOTS: usize = 8;
    let params = params_of(Preset::Insecure(Toy::Functions));
    let simulator = Simulator::new(params.ckks());
    let range = Interval::real(-1.0, 1.0).unwrap();
    let x = simulator.encrypt(&[0.5; SLOTS], range, params.levels()).unwrap();
    let noise = |x: ckks::Result<SimCiphertext>| x.unwrap().metadata().noise();
    let product = noise(simulator.mul_no_rescale(&x, &x.clone()));
    let square = noise(simulator.square_no_rescale(&x));
    assert!((product / square - 1.0).abs() < 1e-3, "{product:e} {square:e}");
    let mut matrix = Diagonals::zero(SLOTS);
    matrix.add_diagonal(1, vec![Complex64::ONE; SLOTS]);
    let at = params.levels();
    let shift = LinearTransform::new(params.ckks(), &matrix, at, LinearOptions::default());
    let turned = simulator.transform(&x, &shift.unwrap()).unwrap();
    let other = simulator.drop_to_level(&simulator.rotate(&x, 1).unwrap(), at - 1).unwrap();
    let both = turned.metadata().noise() + other.metadata().noise();
    let sum = noise(simulator.add(&turned, &other));
    assert!(sum >= both * (1.0 - 1e-6), "{sum:e} {both:e}");
}
