//! Levels of several primes: every operation on them, with its noise from both sides.

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, ErrorKind, EvaluationKeys, Evaluator, Interval,
    KeyLevels, LevelGroup, ModulusChain, Params, ParamsSpec, Security, encrypt,
};

use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::eval_mod::{Mod1, Mod1Output};
use crate::lintrans::{LinearOptions, LinearTransform};
use crate::polynomial::Polynomial;
use crate::tests::common;
use crate::tests::common::{World, max_error, refusal, span};

const TOP: usize = 6;

/// 50, twice 40, three times 29 + 29, 45 bits.
fn mixed(log_scale: u32) -> ParamsSpec {
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 50,
        levels: vec![
            LevelGroup::single(40, 2),
            LevelGroup::pairs(58, 3),
            LevelGroup::single(45, 1),
        ],
        special: (50, 2),
    };
    ParamsSpec::from_chain(&chain, log_scale, Security::Insecure).unwrap()
}

fn world(log_scale: u32, spec: KeyLevels) -> World {
    World::of(Params::new(mixed(log_scale)).unwrap(), spec, 1)
}

fn encrypt_with(world: &World, values: &[f64], scale: f64, level: usize) -> Ciphertext {
    let limbs = world.params.limbs_at(level);
    let plain = Encoder::new(&world.params).encode(values, span(values), scale, limbs).unwrap();
    encrypt(&world.params, &plain, &world.secret, &mut *world.rng.borrow_mut()).unwrap()
}

/// Values of magnitude 1, where the bounds on messages are attained.
fn signs(world: &World) -> Vec<f64> {
    world.reals(world.params.max_slots()).into_iter().map(f64::signum).collect()
}

/// The mean square error is the predicted one, from both sides.
#[track_caller]
fn close(world: &World, ct: &Ciphertext, expected: &[f64], below: f64) {
    world.check(ct, expected);
    let found: Vec<f64> = world.decrypt(ct);
    let square: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    let (std, predicted) = ((square / expected.len() as f64).sqrt(), ct.metadata().noise());
    assert!(std < 1.1 * predicted, "measured {std:e}, predicted {predicted:e}");
    assert!(std > predicted / below, "measured {std:e}, predicted only {predicted:e}");
}

#[test]
fn levels_have_their_limbs_and_divisors() {
    let spec = mixed(45);
    assert_eq!(spec.widths, [1, 1, 2, 2, 2, 1]);
    let params = Params::new(spec.clone()).unwrap();
    assert_eq!((params.limbs(), params.max_level()), (10, TOP));
    let limbs: Vec<usize> = (0..=TOP).map(|level| params.limbs_at(level)).collect();
    assert_eq!(limbs, [1, 2, 3, 5, 7, 9, 10]);
    let levels: Vec<usize> = (1..=10).map(|limbs| params.level_at(limbs)).collect();
    assert_eq!(levels, [0, 1, 2, 2, 3, 3, 4, 4, 5, 6]);
    for level in 1..=TOP {
        let primes = &spec.lattice.q[limbs[level - 1]..limbs[level]];
        let product: u128 = primes.iter().map(|&q| q as u128).product();
        assert_eq!(params.divisor(level), product as f64);
        let below = params.log2_modulus(limbs[level - 1]);
        let log2 = params.log2_modulus(limbs[level]) - below;
        assert!((params.divisor(level).log2() - log2).abs() < 1e-9);
    }
    assert_eq!(params.divisor(0), spec.lattice.q[0] as f64);
    let single = Params::new(ParamsSpec { widths: vec![], ..spec }).unwrap();
    assert!((0..10).all(|level| single.limbs_at(level) == level + 1));
    assert!(
        (0..10).all(
            |level| single.divisor(level) == single.lattice().q().modulus(level).value() as f64
        )
    );
}

#[test]
fn groups_come_near_their_size() {
    for (degree, bits, primes, count, off) in [
        (1 << 16, 58, 2, 10, 2f64.powi(-8)),
        (1 << 15, 59, 2, 10, 2f64.powi(-9)),
        (1 << 14, 60, 2, 1, 2f64.powi(-14)),
        (1 << 12, 80, 3, 4, 2f64.powi(-12)),
    ] {
        let levels = vec![LevelGroup { bits, primes, count }];
        let chain = ModulusChain { degree, first_bits: 61, levels, special: (61, 1) };
        let spec = ParamsSpec::from_chain(&chain, 40, Security::Insecure).unwrap();
        assert_eq!(spec.widths, vec![primes; count]);
        for group in spec.lattice.q[1..].chunks(primes) {
            let log2: f64 = group.iter().map(|&q| (q as f64).log2()).sum();
            assert!((log2 - bits as f64).abs() < off, "N = {degree}: {group:?} for {bits} bits");
            let mean = bits as f64 / primes as f64;
            assert!(group.iter().all(|&q| ((q as f64).log2() - mean).abs() < 0.4), "{group:?}");
        }
        let mut all = [spec.lattice.q, spec.lattice.p].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2 + primes * count);
    }
    // Too few primes, or none, are an error.
    for (bits, primes, count) in [(30, 2, 40), (20, 0, 1), (40, 40, 2), (200, 2, 1)] {
        let levels = vec![LevelGroup { bits, primes, count }];
        let chain = ModulusChain { degree: 1 << 13, first_bits: 50, levels, special: (50, 1) };
        let refused = ParamsSpec::from_chain(&chain, 40, Security::Insecure);
        assert!(
            matches!(refusal(&refused).kind(), ErrorKind::Parameters),
            "{bits} bits of {primes} primes"
        );
    }
}

#[test]
fn products_and_rotations_at_every_level() {
    let world = world(45, KeyLevels::default().multiply(TOP).rotate([1], TOP));
    let eval = world.evaluator();
    let (x, y) = (signs(&world), signs(&world));
    let product: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a * b).collect();
    for level in 1..=TOP {
        let divisor = world.params.divisor(level);
        let scale = (divisor.sqrt() * 2f64.powi(22)).round();
        let (cx, cy) =
            (encrypt_with(&world, &x, scale, level), encrypt_with(&world, &y, scale, level));
        let z = eval.mul(&cx, &cy).unwrap();
        assert_eq!((z.level(), z.scale()), (level - 1, scale * scale / divisor));
        assert_eq!(z.lattice().limbs(), world.params.limbs_at(level - 1));
        close(&world, &z, &product, 1.1);
        close(&world, &eval.square(&cx).unwrap(), &vec![1.0; x.len()], 1.1);
        let z = eval.mul_values(&cx, &y).unwrap();
        assert!((z.scale() / scale - 1.0).abs() < 1e-15);
        close(&world, &z, &product, 1.1);
        let third: Vec<f64> = x.iter().map(|a| a / 3.0).collect();
        close(&world, &eval.mul_scalar(&cx, 1.0 / 3.0).unwrap(), &third, 1.1);
        let turned = eval.rotate(&cx, 1).unwrap();
        assert_eq!(turned.level(), level);
        close(&world, &turned, &common::rotated(&x, 1), 1.15);
    }
}

#[test]
fn operands_of_different_levels_and_scales() {
    let world = world(45, KeyLevels::default().multiply(TOP));
    let eval = world.evaluator();
    let (x, y) = (signs(&world), signs(&world));
    let sum: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a + b).collect();
    let high = encrypt_with(&world, &x, 2f64.powi(45), TOP);
    for level in 1..TOP {
        let low = encrypt_with(&world, &y, 2f64.powi(45), level);
        let z = eval.add(&high, &low).unwrap();
        assert_eq!((z.level(), z.scale()), (level, 2f64.powi(45)));
        close(&world, &z, &sum, 1.2);
        // Another scale takes a level of the higher one, and none of the lower.
        let low = encrypt_with(&world, &y, 2f64.powi(43), level);
        let z = eval.add(&high, &low).unwrap();
        assert_eq!(z.level(), level);
        assert!((z.scale() / low.scale() - 1.0).abs() < 2f64.powi(-40));
        close(&world, &z, &sum, 1.2);
        let dropped = eval.drop_to_level(&high, level).unwrap();
        assert_eq!(dropped.lattice().limbs(), world.params.limbs_at(level));
        close(&world, &dropped, &x, 1.1);
        let scale = 2f64.powf(46.7);
        let matched = eval.match_scale(&high, scale, level).unwrap();
        assert_eq!(matched.level(), level);
        assert!((matched.scale() / scale - 1.0).abs() < 2f64.powi(-40));
        close(&world, &matched, &x, 1.2);
    }
}

#[test]
fn polynomials_cross_levels_of_different_sizes() {
    let world = world(45, KeyLevels::default().multiply(TOP));
    let eval = world.evaluator();
    let x = world.reals(1024);
    let c = (0..=7).map(|k| (1.7 * k as f64 + 0.3).sin() / (1 + k) as f64).collect();
    let p = Polynomial::new(Chebyshev::new(-1.0, 1.0, c));
    let expected: Vec<f64> = x.iter().map(|&x| p.chebyshev.eval(x)).collect();
    // The scale fits the first level but not those that follow: brought to 58 bits, then on pairs.
    let cx = world.encrypt_span(&x);
    let y = eval.polynomial(&cx, &p, Some(2f64.powi(42))).unwrap();
    assert_eq!((y.level(), y.scale()), (2, 2f64.powi(42)));
    close(&world, &y, &expected, 4.0);
    let square: Vec<f64> = expected.iter().map(|y| y * y).collect();
    close(&world, &eval.square(&y).unwrap(), &square, 6.0);
    // On pairs alone, a scale of 58 bits is precise beyond what one prime below 2^50 allows.
    let cx = encrypt_with(&world, &x, world.params.divisor(5), 5);
    let y = eval.polynomial(&cx, &p, Some(2f64.powi(56))).unwrap();
    assert_eq!((y.level(), y.scale()), (2, 2f64.powi(56)));
    assert!(max_error(&world.decrypt(&y), &expected) < 2f64.powi(-44));
}

#[test]
fn matrices_at_levels_of_pairs() {
    let scratch = world(45, KeyLevels::default());
    for level in [3, 5, 6] {
        let mut m = Diagonals::zero(1024);
        for k in [0, 1, 2, 3, 64, 65, 66, 1023] {
            m.add_diagonal(k, scratch.reals(1024).into_iter().map(Complex64::from).collect());
        }
        let transform =
            LinearTransform::new(&scratch.params, &m, level, LinearOptions::default()).unwrap();
        let steps: Vec<i64> = transform.rotation_steps().iter().map(|&s| s as i64).collect();
        let world = World::of(scratch.params.clone(), KeyLevels::default().rotate(steps, level), 8);
        let x = signs(&world);
        let z: Vec<_> = x.iter().map(|&x| x.into()).collect();
        let expected: Vec<f64> = m.apply(&z).iter().map(|z| z.re).collect();
        let product = world.evaluator().transform(&world.encrypt_span(&x), &transform).unwrap();
        assert_eq!((product.level(), product.scale()), (level - 1, 2f64.powi(45)));
        close(&world, &product, &expected, 2.0);
    }
}

/// Reduction modulo 1, with two primes a level.
#[test]
fn reduction_on_pairs_is_as_precise_as_its_scale() {
    let plan = Mod1::within(4.5, -40.0, None).unwrap();
    let chain = ModulusChain {
        degree: 1 << 11,
        first_bits: 60,
        levels: vec![LevelGroup::pairs(58, plan.depth())],
        special: (50, 2),
    };
    let spec = ParamsSpec::from_chain(&chain, 58, Security::Insecure).unwrap();
    let world = World::of(Params::new(spec).unwrap(), plan.keys(plan.depth()), 3);
    let x: Vec<f64> = world
        .reals(1024)
        .iter()
        .enumerate()
        .map(|(i, x)| (i % 9) as f64 - 4.0 + 0.25 * x)
        .collect();
    let t: Vec<f64> = x.iter().map(|x| x / plan.width()).collect();
    let range = plan.bound() / plan.width();
    let ct =
        world.encrypt_span(&t).assume_range_with_padding(Interval::real(-range, range).unwrap());
    let output = Mod1Output { amplitude: 1.0, scale: world.params.scale() };
    let y = plan.apply(&world.evaluator(), &ct, output).unwrap();
    assert_eq!((y.level(), y.lattice().limbs()), (0, 1));
    let found: Vec<f64> = world.decrypt(&y);
    let sine: Vec<f64> = x.iter().map(|x| (std::f64::consts::TAU * x).sin()).collect();
    assert!(max_error(&found, &sine) < 2f64.powi(-37), "{}", max_error(&found, &sine).log2());
    // Less than the approximation errs: the noise alone is far smaller.
    let clear: Vec<f64> = x.iter().map(|&x| plan.eval(x)).collect();
    let square: f64 = found.iter().zip(&clear).map(|(a, b)| (a - b).powi(2)).sum();
    let (rms, noise) = ((square / 1024.0).sqrt(), y.metadata().noise());
    assert!(rms < 1.5 * noise && noise < 3.0 * rms, "{rms:e} {noise:e}");
    assert!(max_error(&found, &clear) < 2f64.powi(-38));
}

#[test]
fn what_does_not_stand_at_a_level_is_refused() {
    let world = world(45, KeyLevels::default().multiply(TOP));
    let eval = world.evaluator();
    let encoder = Encoder::new(&world.params);
    for limbs in [0, 4, 6, 8, 11] {
        let refused = encoder.encode(&[0.5], span(&[0.5]), world.params.scale(), limbs);
        assert!(
            refusal(&refused).is(&ErrorKind::Level, "take one at a level of these parameters"),
            "{limbs} limbs"
        );
    }
    let x = world.encrypt_span(&[0.5]);
    let (mut inner, meta) = x.clone().into_parts();
    inner.truncate(8).unwrap();
    let refused = Ciphertext::from_parts(&world.params, inner, meta);
    assert!(refusal(&refused).is(
        &ErrorKind::Level,
        "polynomial has 8 limbs, and level 4 needs 7: take one at a level of"
    ));

    let zero = eval.drop_to_level(&x, 0).unwrap();
    for result in [eval.rescale(&zero), eval.square(&zero), eval.mul_scalar(&zero, 0.5)] {
        assert!(refusal(&result).is(
            &ErrorKind::OutOfLevels { needed: 1, left: 0 },
            "needs 1 level(s), 0 left: encrypt at a"
        ));
    }
    assert!(
        refusal(&eval.drop_to_level(&x, 7))
            .is(&ErrorKind::Level, "one here is 6: choose a lower level, or")
    );
    assert!(
        refusal(&encoder.encode_factor(&[1.0], span(&[1.0]), 1, 7))
            .is(&ErrorKind::Level, "choose a lower level, or take parameters")
    );

    // The same primes in other levels.
    let spec = ParamsSpec { widths: vec![], ..mixed(45) };
    let other = Params::new(spec).unwrap();
    let keys = EvaluationKeys::none(&other, world.secret.id());
    let stranger = Evaluator::new(&other, &keys).unwrap();
    assert!(
        refusal(&stranger.rescale(&x))
            .is(&ErrorKind::Level, "take one at a level of these parameters")
    );
    let plain = Encoder::new(&other).encode(&[0.5], span(&[0.5]), other.scale(), 5).unwrap();
    assert!(
        refusal(&eval.add_plain(&x, &plain))
            .is(&ErrorKind::Level, "take one at a level of these parameters")
    );
    assert!(
        refusal(&eval.mul_plain(&x, &plain))
            .is(&ErrorKind::Level, "take one at a level of these parameters")
    );
    let mut identity = Diagonals::zero(1024);
    identity.add_diagonal(0, vec![Complex64::ONE; 1024]);
    let m = LinearTransform::new(&other, &identity, 4, LinearOptions::default()).unwrap();
    assert!(
        refusal(&eval.transform(&x, &m))
            .is(&ErrorKind::Level, "take one at a level of these parameters")
    );

    for widths in [vec![1; 8], vec![1; 10], vec![9, 0], vec![5, 4], vec![usize::MAX, 10]] {
        let refused = Params::new(ParamsSpec { widths, ..mixed(45) });
        assert!(refusal(&refused).is(&ErrorKind::Parameters, "parameters"), "{refused:?}");
    }
}
