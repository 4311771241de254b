//! Functions of ciphertexts against the same functions of `f64`.

use crate::common::{World, max_error};
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::approx::{Accuracy, Approximation, Function, Known, Sign};
use bellerophon_ckks::noise::slot_std;
use bellerophon_ckks::{Ciphertext, CkksOps, ErrorKind, Interval, KeyLevels};

/// `count` numbers over `[lo, hi]`, its ends among them.
fn spread(world: &World, lo: f64, hi: f64, count: usize) -> Vec<f64> {
    let inner = world.reals(count - 2).into_iter().map(|t| lo + (hi - lo) * 0.5 * (1.0 + t));
    [lo, hi].into_iter().chain(inner).collect()
}

/// Values of a declared range at the highest level.
fn declared(world: &World, values: &[f64], lo: f64, hi: f64) -> Ciphertext {
    world.encrypt_in(values, Interval::real(lo, hi).unwrap(), world.params.max_level())
}

#[test]
fn functions_to_their_certified_error_in_their_levels() {
    let world = World::new(10, 9, KeyLevels::default().multiply(9));
    let eval = world.evaluator();
    let all = [
        (Function::from(Known::Inverse), 0.5, 1.5, -24.0),
        (Function::from(Known::Inverse), 0.05, 1.0, -16.0),
        (Function::from(Known::Inverse), -3.0, -0.5, -16.0),
        (Function::from(Known::Sqrt), 0.1, 4.0, -16.0),
        (Function::from(Known::InverseSqrt), 0.1, 1.0, -12.0),
        (Function::from(Known::Exp), -1.0, 1.0, -24.0),
        (Function::from(Known::Exp), -6.0, 2.0, -16.0),
        (Function::from(Known::Ln), 0.25, 4.0, -16.0),
        (Function::from(Known::Sigmoid), -8.0, 8.0, -16.0),
        (Function::from(Known::Tanh), -3.0, 3.0, -16.0),
        (Function::from(Known::Softplus), -6.0, 6.0, -16.0),
        (Function::from(Known::Silu), -6.0, 6.0, -14.0),
        (Function::from(Known::Gelu), -4.0, 4.0, -14.0),
        (Function::from(Known::Sin), -3.0, 3.0, -20.0),
    ];
    for (f, lo, hi, bits) in all {
        let plan = Approximation::new(&f, lo, hi, Accuracy::bits(-bits)).unwrap();
        let x = spread(&world, lo, hi, 512);
        let cx = world.encrypt_span(&x);
        let y = eval.apply(&cx, &plan).unwrap();
        assert_eq!(y.level(), cx.level() - plan.levels(), "{plan}");
        assert!((y.metadata().meta.scale / world.params.scale() - 1.0).abs() < 1e-3, "{plan}");
        let found: Vec<f64> = world.decrypt(&y);
        let expected: Vec<f64> = x.iter().map(|&x| f.value(x)).collect();
        let error = max_error(&found, &expected);
        let noise = y.metadata().noise();
        assert!(error <= plan.error() + 16.0 * noise, "{plan}: {error:e}, noise {noise:e}");
        assert!(noise < 2f64.powi(-18), "{plan}: the predicted noise {noise:e} allows anything");
        // Without the approximation, what the scheme adds is what was predicted, and not far less.
        let clear: Vec<f64> = x.iter().map(|&x| plan.eval(x)).collect();
        let squares: f64 = found.iter().zip(&clear).map(|(a, b)| (a - b).powi(2)).sum();
        let rms = (squares / 512.0).sqrt();
        assert!(rms < 2.0 * noise && noise < 64.0 * rms, "{plan}: {rms:e}, predicted {noise:e}");
        assert!(expected.iter().all(|v| y.range().lo() - 1e-9 <= v + plan.error()), "{plan}");
        assert!(expected.iter().all(|v| v - plan.error() <= y.range().hi() + 1e-9), "{plan}");
    }
}

#[test]
fn functions_over_the_carried_range() {
    let world = World::new(9, 6, KeyLevels::default().multiply(6));
    let eval = world.evaluator();
    let x = spread(&world, 1.0, 3.0, 256);
    let y = eval
        .function(&world.encrypt_span(&x), &Function::from(Known::Ln), Accuracy::bits(14.0))
        .unwrap();
    let expected: Vec<f64> = x.iter().map(|x| x.ln()).collect();
    assert!(max_error(&world.decrypt(&y), &expected) < 2f64.powi(-14) + 1e-6);
    // One value everywhere.
    let y = eval
        .function(
            &declared(&world, &[2.0; 256], 2.0, 2.0),
            &Function::from(Known::Inverse),
            Accuracy::bits(14.0),
        )
        .unwrap();
    assert!(max_error(&world.decrypt(&y), &[0.5; 256]) < 2f64.powi(-14) + 1e-6);
    // Padding with zeros has no logarithm: it moves into the domain, at no level.
    let short = world.encrypt_span(&x[..200]);
    let y = eval.function(&short, &Function::from(Known::Ln), Accuracy::bits(14.0)).unwrap();
    assert!(max_error(&world.decrypt(&y), &expected[..200]) < 2f64.powi(-14) + 1e-6);
    let wide = world.encrypt_span(&x).assume_range_with_padding(Interval::real(-1.0, 3.0).unwrap());
    let error = eval.function(&wide, &Function::from(Known::Ln), Accuracy::bits(14.0)).unwrap_err();
    assert!(error.is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of"), "{error}");
}

#[test]
fn violations_of_domain_and_levels_are_refused() {
    let world = World::new(9, 4, KeyLevels::default().multiply(4));
    let eval = world.evaluator();
    let plan =
        Approximation::new(&Function::from(Known::Exp), -1.0, 1.0, Accuracy::bits(20.0)).unwrap();
    let x = declared(&world, &[0.5, -0.5], -1.0, 1.0);
    assert!(eval.apply(&x, &plan).is_ok());
    let low = eval.drop_to_level(&x, plan.levels() - 1).unwrap();
    let error = eval.apply(&low, &plan).unwrap_err();
    assert!(
        error.is(
            &ErrorKind::OutOfLevels { needed: 3, left: 2 },
            "needs 3 level(s), 2 left: encrypt at a"
        ),
        "{error}"
    );
    let wide = x.clone().assume_range_with_padding(Interval::real(-1.5, 1.0).unwrap());
    let error = eval.apply(&wide, &plan).unwrap_err();
    assert!(error.is(&ErrorKind::Domain, "outside the domain ["), "{error}");
    assert!(error.to_string().contains("assume_range"), "{error}");
    let sign = Sign::new(1.0, 1.0 / 8.0, Accuracy::bits(3.0)).unwrap();
    let error = eval.sign(&wide, &sign).unwrap_err();
    assert!(error.is(&ErrorKind::Domain, "outside the domain ["), "{error}");
    let complex = x.assume_range_with_padding(Interval::complex(0.5).unwrap());
    let error = eval.abs(&complex, &sign).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Domain | ErrorKind::OutOfLevels { .. }));
}

/// Pairs of `[0, 1]`: random ones, and ones that differ by just the margin.
fn pairs(world: &World, margin: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let unit = |v: Vec<f64>| v.into_iter().map(|t| 0.5 * (1.0 + t)).collect::<Vec<f64>>();
    let (mut x, mut y) = (unit(world.reals(count)), unit(world.reals(count)));
    for i in 0..count {
        let close = margin * (1.0 + 1e-3 * (i % 7) as f64);
        match i % 4 {
            0 => y[i] = if x[i] < 0.5 { x[i] + close } else { x[i] - close },
            1 => x[i] = if y[i] < 0.5 { y[i] + close } else { y[i] - close },
            _ => {}
        }
        if i % 64 == 3 {
            y[i] = x[i];
        }
    }
    (x, y)
}

#[test]
fn comparisons_of_random_and_of_close_pairs() {
    for bits in [8.0, 12.0] {
        let sign = Sign::new(1.0, f64::exp2(-bits), Accuracy::bits(bits)).unwrap();
        let levels = sign.levels() + 1;
        let world = World::new(10, levels, KeyLevels::default().multiply(levels));
        let eval = world.evaluator();
        let (x, y) = pairs(&world, sign.threshold(), 512);
        let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));

        let greater = eval.greater(&cx, &cy, &sign).unwrap();
        assert_eq!(greater.level(), cx.level() - sign.levels(), "{sign}");
        let found: Vec<f64> = world.decrypt(&greater);
        let noise = greater.metadata().noise();
        assert!(noise < 0.1 * sign.error(), "{sign}: noise {noise:e}");
        let (mut worst, mut compared) = (0.0f64, 0);
        for i in 0..512 {
            if (x[i] - y[i]).abs() < sign.threshold() {
                continue;
            }
            let truth = if x[i] > y[i] { 1.0 } else { 0.0 };
            worst = worst.max((found[i] - truth).abs());
            compared += 1;
        }
        assert!(compared > 450);
        let allowed = 0.5 * sign.error();
        assert!(worst <= allowed * 1.01 + 16.0 * noise, "{sign}: {worst:e}, {allowed:e}");
        assert!(worst > 0.3 * allowed, "{sign}: {worst:e} is far below {allowed:e}");

        let larger = eval.max(&cx, &cy, &sign).unwrap();
        let smaller = eval.min(&cx, &cy, &sign).unwrap();
        assert_eq!((larger.level(), smaller.level()), (0, 0));
        let truth: Vec<(f64, f64)> =
            x.iter().zip(&y).map(|(x, y)| (x.max(*y), x.min(*y))).collect();
        let (most, least): (Vec<f64>, Vec<f64>) = truth.into_iter().unzip();
        for (ct, truth) in [(&larger, &most), (&smaller, &least)] {
            let error = max_error(&world.decrypt(ct), truth);
            let allowed = 0.5 * sign.magnitude_error() + 16.0 * ct.metadata().noise();
            assert!(error <= allowed, "{sign}: {error:e}, {allowed:e}");
            assert_eq!(ct.metadata().meta.scale, world.params.scale());
        }
    }
}

#[test]
fn signs_steps_and_magnitudes_over_any_radius() {
    for radius in [1.0, 5.0] {
        let sign = Sign::new(radius, 1.0 / 64.0, Accuracy::bits(10.0)).unwrap();
        let levels = sign.levels() + 1;
        let world = World::new(10, levels, KeyLevels::default().multiply(levels));
        let eval = world.evaluator();
        let mut x: Vec<f64> = world.reals(512).iter().map(|t| radius * t).collect();
        for (i, x) in x.iter_mut().enumerate().filter(|(i, _)| i % 8 == 0) {
            *x = if i % 16 == 0 { sign.threshold() } else { -sign.threshold() };
        }
        let cx = world.encrypt_span(&x);
        let outside = |x: f64| x.abs() >= sign.threshold();
        for (ct, truth, error) in [
            (eval.sign(&cx, &sign).unwrap(), f64::signum as fn(f64) -> f64, sign.error()),
            (eval.step(&cx, &sign).unwrap(), |x| f64::from(x > 0.0), 0.5 * sign.error()),
        ] {
            assert_eq!((ct.level(), ct.metadata().meta.scale), (1, world.params.scale()), "{sign}");
            let found: Vec<f64> = world.decrypt(&ct);
            let far = x.iter().zip(&found).filter(|(x, _)| outside(**x));
            let worst = far.map(|(x, y)| (truth(*x) - y).abs()).fold(0.0, f64::max);
            assert!(worst <= error + 16.0 * ct.metadata().noise(), "{sign}: {worst:e}");
        }
        for (ct, truth, share) in [
            (eval.abs(&cx, &sign).unwrap(), f64::abs as fn(f64) -> f64, 1.0),
            (eval.relu(&cx, &sign).unwrap(), |x| x.max(0.0), 0.5),
        ] {
            assert_eq!((ct.level(), ct.metadata().meta.scale), (0, world.params.scale()));
            let expected: Vec<f64> = x.iter().map(|&x| truth(x)).collect();
            let worst = max_error(&world.decrypt(&ct), &expected);
            let allowed = share * sign.magnitude_error() + 16.0 * ct.metadata().noise();
            assert!(worst <= allowed, "{sign}: {worst:e}, {allowed:e}");
            assert!(expected.iter().all(|y| ct.range().lo() <= *y && *y <= ct.range().hi()));
        }
    }
}

/// Values that the lowest level has no room for at the default scale.
#[test]
fn wide_rectifiers_end_at_the_lowest_level() {
    let levels =
        Sign::for_magnitudes(1024.0, Accuracy::absolute(1024.0 / 32.0)).unwrap().levels() + 1;
    let world = World::new(7, levels, KeyLevels::default().multiply(levels));
    let radius = world.params.divisor(0) / world.params.scale();
    let sign = Sign::for_magnitudes(radius, Accuracy::absolute(radius / 32.0)).unwrap();
    let x = spread(&world, -radius, radius, 64);
    let (eval, cx) = (world.evaluator(), world.encrypt_span(&x));
    for (y, truth, share) in [
        (eval.abs(&cx, &sign).unwrap(), f64::abs as fn(f64) -> f64, 1.0),
        (eval.relu(&cx, &sign).unwrap(), |x| x.max(0.0), 0.5),
    ] {
        assert!(
            y.level() == 0 && y.metadata().meta.scale < world.params.scale(),
            "{}",
            y.metadata().meta.scale
        );
        let expected: Vec<f64> = x.iter().map(|&x| truth(x)).collect();
        let worst = max_error(&world.decrypt(&y), &expected);
        let allowed = share * sign.magnitude_error() + 16.0 * y.metadata().noise();
        assert!(worst <= allowed && allowed < radius / 16.0, "{sign}: {worst:e}, {allowed:e}");
    }
}

/// Padding takes part where it is taken for a value, with its own range.
#[test]
fn the_larger_of_a_vector_and_padding() {
    let sign = Sign::new(1.0, 1.0 / 8.0, Accuracy::bits(3.0)).unwrap();
    let level = sign.levels() + 1;
    let world = World::new(7, level, KeyLevels::default().multiply(level));
    let x = declared(&world, &[0.5, 0.6, 0.7], 0.5, 0.7);
    let y = declared(&world, &[-0.1, -0.2, -0.3, -0.25], -0.3, -0.1);
    let refused = world.evaluator().max(&x, &y, &sign);
    assert!(matches!(
        &refused,
        Err(e)
            if e.op() == "max"
            && e.is(&ErrorKind::Length, "3 values against 4: need equally many")
    ));
    let eval = world.evaluator();
    let larger = eval.max(&eval.with_len(x, 4).unwrap(), &y, &sign).unwrap();
    let found = world.decrypt::<f64>(&larger);
    assert!(max_error(&found, &[0.5, 0.6, 0.7, 0.0]) <= 0.5 * sign.magnitude_error() + 1e-6);
    let range = larger.range();
    assert!(found.iter().all(|x| range.lo() <= *x && *x <= range.hi()), "{found:?} {range:?}");
}

/// All values may lie where the sign is steepest outside the margin.
#[test]
fn steep_signs_have_the_predicted_noise() {
    let sign = Sign::new(1.0, 1.0 / 64.0, Accuracy::bits(6.0)).unwrap();
    let world = World::new(10, sign.levels(), KeyLevels::default().multiply(sign.levels()));
    let eval = world.evaluator();
    let margin = sign.threshold();
    let slope = |x: f64| (sign.eval(x + 1e-6) - sign.eval(x - 1e-6)).abs();
    let points = (0..4000).map(|i| margin + (1.0 - 1e-6 - margin) * f64::from(i) / 4000.0);
    let steepest = points.max_by(|a, b| slope(*a).total_cmp(&slope(*b))).unwrap();
    let x = world.encrypt_in(&[steepest; 512], Interval::real(-1.0, 1.0).unwrap(), sign.levels());
    let y = eval.sign(&x, &sign).unwrap();
    let exact = sign.eval(steepest);
    let squares = world.decrypt::<f64>(&y).into_iter().map(|v| (v - exact).powi(2));
    let rms = (squares.sum::<f64>() / 512.0).sqrt();
    let meta = *y.meta();
    let peak = slot_std(meta.noise.peak, meta.slots, meta.scale, true);
    assert!(rms <= 1.5 * peak && peak <= 16.0 * rms, "{rms:e}, {peak:e}");
    assert!(rms > 1.1 * y.metadata().noise(), "the mean is as large: {rms:e}");
    assert!(meta.noise.bound >= meta.noise.peak);
}
