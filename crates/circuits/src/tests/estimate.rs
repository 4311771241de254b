//! What [`Metadata::estimate`] says is left, against what is left: the bound on the worst slot
//! holds, and is not far above the worst slot found.

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, Interval, KeyLevels, LevelGroup, ModulusChain, Params,
    ParamsSpec, PublicKey, Security, encrypt_public,
};

use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::lintrans::{LinearOptions, LinearTransform};
use crate::polynomial::Polynomial;
use crate::tests::common;
use crate::tests::common::{World, span};

/// The probability with which a bound may fail, `2^-20`: never in these tests.
const FAILURE: f64 = -20.0;

/// Bits by which the worst slot may stay below its bound: a bound that fails once in 2^20 is 1.5 to
/// 2.5 bits above what is typical (lighter tails make it more), and messages below their bounds
/// leave the rest.
const IDLE: f64 = 3.5;

/// The bound of the worst slot holds, by at most `idle` bits.
#[track_caller]
fn holds(world: &World, ct: &Ciphertext, expected: &[Complex64], idle: f64) {
    let found: Vec<Complex64> = world.decrypt(ct);
    assert_eq!(found.len(), expected.len());
    let error = |(a, b): (&Complex64, &Complex64)| {
        if ct.range().is_real() { (a.re - b.re).abs() } else { (a - b).norm() }
    };
    let worst = found.iter().zip(expected).map(error).fold(0.0, f64::max);
    let estimate = ct.metadata().estimate(&world.params, FAILURE);
    let loss = worst.log2() - estimate.log2_worst;
    assert!(loss < 0.0, "2^{:.2} against the bound: {estimate}", worst.log2());
    assert!(loss > -idle, "2^{:.2}, far below the bound: {estimate}", worst.log2());
}

fn complex(x: &[f64]) -> Vec<Complex64> {
    x.iter().map(|&x| x.into()).collect()
}

fn map(x: &[f64], f: impl Fn(f64) -> f64) -> Vec<Complex64> {
    x.iter().map(|&x| f(x).into()).collect()
}

/// Values of magnitude 1, where bounds on messages are attained.
fn signs(world: &World, n: usize) -> Vec<f64> {
    world.reals(n).into_iter().map(f64::signum).collect()
}

/// Every operation in the worst of `2^14` slots, at the sizes of primes of the set W1.
#[test]
fn every_operation_in_the_worst_of_all_slots() {
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: 50,
        levels: vec![LevelGroup::single(45, 2)],
        special: (50, 1),
    };
    let spec = ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap();
    let keys = KeyLevels::default().multiply(2).rotate([1, 5], 2).conjugate(2);
    let world = World::of(Params::new(spec).unwrap(), keys, 5);
    let eval = world.evaluator();
    let slots = world.params.max_slots();
    let (x, y) = (signs(&world, slots), signs(&world, slots));
    let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
    holds(&world, &cx, &complex(&x), IDLE);
    let public = {
        let rng = &mut *world.rng.borrow_mut();
        let key = PublicKey::generate(&world.secret, rng);
        let plain =
            Encoder::new(&world.params).encode(&x, span(&x), world.params.scale(), 3).unwrap();
        encrypt_public(&world.params, &plain, &key, rng).unwrap()
    };
    holds(&world, &public, &complex(&x), IDLE);
    let pairs = |f: fn(f64, f64) -> f64| -> Vec<Complex64> {
        x.iter().zip(&y).map(|(&a, &b)| f(a, b).into()).collect()
    };
    holds(&world, &eval.add(&cx, &cy).unwrap(), &pairs(|a, b| a + b), IDLE);
    holds(&world, &eval.sub(&cx, &cy).unwrap(), &pairs(|a, b| a - b), IDLE);
    holds(&world, &eval.mul(&cx, &cy).unwrap(), &pairs(|a, b| a * b), IDLE);
    holds(&world, &eval.mul_no_rescale(&cx, &cy).unwrap(), &pairs(|a, b| a * b), IDLE);
    holds(&world, &eval.square(&public).unwrap(), &pairs(|a, _| a * a), IDLE);
    holds(&world, &eval.mul_values(&cx, &y).unwrap(), &pairs(|a, b| a * b), IDLE);
    holds(&world, &eval.mul_scalar(&cx, 0.7).unwrap(), &map(&x, |a| 0.7 * a), IDLE);
    holds(&world, &eval.mul_integer(&cx, -3).unwrap(), &map(&x, |a| -3.0 * a), IDLE);
    holds(&world, &eval.add_scalar(&cx, 0.1).unwrap(), &map(&x, |a| a + 0.1), IDLE);
    let turned = common::rotated(&x, 1);
    holds(&world, &eval.rotate(&cx, 1).unwrap(), &complex(&turned), IDLE);
    let twice = eval.rotate_many(&cx, &[1, 5]).unwrap();
    holds(&world, &twice[1], &complex(&common::rotated(&x, 5)), IDLE);
    holds(&world, &eval.conjugate(&cx).unwrap(), &complex(&x), IDLE);
    let i: Vec<Complex64> = x.iter().map(|&a| Complex64::new(0.0, a)).collect();
    holds(&world, &eval.mul_i(&cx).unwrap(), &i, IDLE + 0.5);
    let combined = eval.mul_add_many(&[(&cx, &cy)], &[(&cx, 0.5)], 0.25, None).unwrap();
    holds(&world, &combined, &pairs(|a, b| a * b + 0.5 * a + 0.25), IDLE);
}

#[test]
fn ten_products() {
    let world = World::new(12, 10, KeyLevels::default().multiply(10));
    let eval = world.evaluator();
    let mut x = signs(&world, 2048);
    let mut ct = world.encrypt_span(&x);
    let mut before = f64::INFINITY;
    for level in (0..10).rev() {
        let y = signs(&world, 2048);
        ct = eval.mul(&ct, &world.encrypt_span(&y)).unwrap();
        x = x.iter().zip(&y).map(|(a, b)| a * b).collect();
        holds(&world, &ct, &complex(&x), IDLE);
        let estimate = ct.metadata().estimate(&world.params, FAILURE);
        assert_eq!(estimate.levels, level);
        assert!(estimate.bits() < before && estimate.bits() == estimate.bits_of_range());
        before = estimate.bits();
    }
    // Fifty-five bits hold the scale of 45, a sign, and nine more.
    let estimate = ct.metadata().estimate(&world.params, FAILURE);
    assert!((estimate.headroom - 9.0).abs() < 0.01, "{estimate}");
}

#[test]
fn polynomials_transforms_and_rotations() {
    let keys = KeyLevels::default().multiply(6).rotate([1, 2, 3, 64, 128, 2047], 6);
    let world = World::new(12, 6, keys);
    let eval = world.evaluator();
    let x = world.reals(2048);
    let ct = world.encrypt_span(&x);
    let sigmoid =
        Polynomial::new(Chebyshev::interpolate(|t| 1.0 / (1.0 + (-t).exp()), -2.0, 2.0, 15));
    let y = eval.polynomial(&ct, &sigmoid, None).unwrap();
    holds(&world, &y, &map(&x, |t| sigmoid.eval(t)), IDLE + 1.0);
    let mut m = Diagonals::zero(2048);
    for k in [0, 1, 2, 3, 64, 65, 66, 67, 128] {
        m.add_diagonal(k, complex(&signs(&world, 2048)));
    }
    let m = m.scaled(1.0 / 9.0);
    let transform = LinearTransform::new(&world.params, &m, 6, LinearOptions::default()).unwrap();
    let expected = m.apply(&complex(&x));
    holds(&world, &eval.transform(&ct, &transform).unwrap(), &expected, IDLE + 1.0);
    let mut turned = ct;
    for step in 1..=8 {
        turned = eval.rotate(&turned, 1).unwrap();
        holds(&world, &turned, &complex(&common::rotated(&x, step)), IDLE);
    }
}

/// A bound that may fail often is smaller, and fails no more often than it says.
#[test]
fn bounds_fail_as_rarely_as_they_say() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let (mut fails, runs) = (0, 64);
    for _ in 0..runs {
        let (x, y) = (signs(&world, 512), signs(&world, 512));
        let product = eval.mul(&world.encrypt_span(&x), &world.encrypt_span(&y)).unwrap();
        let found: Vec<f64> = world.decrypt(&product);
        let expected: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
        let [loose, tight] =
            [-20.0, -1.0].map(|f| product.metadata().estimate(&world.params, f).log2_worst);
        assert!(tight < loose - 0.5);
        fails += usize::from(common::max_error(&found, &expected).log2() > tight);
    }
    assert!(fails <= runs / 2, "{fails} of {runs}");
}

#[test]
fn accounts_read_as_sentences() {
    let world = World::new(10, 2, KeyLevels::default());
    let level = world.params.max_level();
    let range = Interval::real(-1.0, 0.5).unwrap();
    let ct = world.encrypt_in(&[0.5, -1.0, 0.25], range, level);
    let text = ct.metadata().estimate(&world.params, FAILURE).to_string();
    for part in ["2 level(s) left", "2^45.00", "3 values in 4 slots", "[-1, 0.5]", "room for"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let range = Interval::complex(2.0).unwrap();
    let complex = world.encrypt_in(&[Complex64::new(0.0, 2.0)], range, level);
    let estimate = complex.metadata().estimate(&world.params, FAILURE);
    assert!(estimate.to_string().contains("of modulus up to 2"), "{estimate}");
    assert_eq!(estimate.bits_of_range(), estimate.bits() + 1.0);
    let nothing = world.encrypt_in(&[0.0], Interval::real(0.0, 0.0).unwrap(), level);
    assert_eq!(nothing.metadata().estimate(&world.params, FAILURE).headroom, f64::INFINITY);
    let narrow = nothing.assume_range_with_padding(Interval::real(0.0, 0.5).unwrap());
    assert!(narrow.metadata().estimate(&world.params, FAILURE).bits_of_range() < estimate.bits());
}
