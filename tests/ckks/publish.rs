//! Results as they leave a server: nothing is said of them but what their program declares.

use crate::common::{World, functional::functional, max_error};
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::SimulatorExt;
use bellerophon_circuits::fbt::PublishExt;
use bellerophon_circuits::{
    chebyshev::Chebyshev,
    fbt::{FbtSpec, IntVec, PairedVec},
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::vectors::Vectors;
use bellerophon_ckks::{
    Ciphertext, CkksOps, Declaration, ErrorKind, Evaluator, Interval, KeyLevels, Published,
    noise::slot_std, simulator::Simulator,
};
use bellerophon_ring::wire::Wire;

/// `w x + b` for secrets of the server, declared to lie in [-4, 4].
fn score(eval: &Evaluator, x: &Ciphertext, w: f64, b: f64) -> Published {
    let y = eval.add_scalar(&eval.mul_scalar(x, w).unwrap(), b).unwrap();
    eval.publish(&y, Declaration::from(-4.0..=4.0).with_noise(1e-6)).unwrap()
}

#[test]
fn constants_of_the_server_do_not_show() {
    let world = World::new(10, 2, KeyLevels::default());
    let eval = world.evaluator();
    let values = [0.5, -1.0, 0.25];
    let x = world.encrypt_span(&values);
    let metas: Vec<_> = [(0.37, -0.2), (-2.5, 1.25), (0.0, 0.0)]
        .into_iter()
        .map(|(w, b)| {
            let published = score(&eval, &x, w, b);
            let found: Vec<f64> = world.decrypt(published.as_ref());
            let expected: Vec<f64> = values.iter().map(|x| w * x + b).collect();
            assert!(max_error(&found, &expected) < 1e-6);
            // One that is read again is the same, and its form has no more in it.
            let form = published.to_form(&world.params).unwrap();
            let back = <Published>::from_form(&world.params, form).unwrap();
            assert_eq!(back, published);
            assert_eq!(published.log2_noise(), -19);
            *published.as_ref().meta()
        })
        .collect();
    assert!(metas.iter().all(|meta| *meta == metas[0]), "{metas:?}");
    assert_eq!((metas[0].bounds.values.lo(), metas[0].bounds.values.hi()), (-4.0, 4.0));
    // The declared variance is the declared deviation of a slot again.
    let noise = score(&eval, &x, 1.0, 0.0).as_ref().metadata().noise();
    assert!((noise.log2() + 19.0).abs() < 1e-9, "{noise}");
}

/// Degree and zero coefficients of a secret polynomial show neither in level nor in scale.
#[test]
fn polynomials_of_the_server_do_not_show() {
    let world = World::new(10, 6, KeyLevels::default().multiply(6));
    let eval = world.evaluator();
    let values = [0.5, -1.0, 0.25];
    let x = world.encrypt_span(&values);
    let secrets: [&[f64]; 5] = [
        &[0.25, -0.5],
        &[0.25, -0.5, 1.0],
        &[0.0, 0.0, 1.0],
        &[0.0, 0.0, 0.0, 0.0, 1.0],
        &[0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0, 1.0],
    ];
    let results = secrets.map(|secret| {
        let polynomial = Monomial::new(secret).unwrap();
        // The product by itself has another scale at every level.
        let y = eval.square(&eval.monomial(&x, &polynomial, None).unwrap()).unwrap();
        (y, values.map(|v| secret.iter().rev().fold(0.0, |sum, c| sum * v + c).powi(2)))
    });
    let found = |f: fn(&Ciphertext) -> u64| {
        results.iter().map(|(y, _)| f(y)).collect::<std::collections::HashSet<_>>().len()
    };
    assert!(found(|y| y.level() as u64) > 1 && found(|y| y.meta().scale.to_bits()) > 1);
    // The default is the lowest level, and the scale of the parameters.
    let range = Declaration::from(-64.0..=64.0).with_noise(1e-6);
    let scale = world.params.scale();
    for (declared, level, scale) in
        [(range, 0, scale), (range.with_scale(2.0 * scale).with_level(1), 1, 2.0 * scale)]
    {
        let all = results.each_ref().map(|(y, _)| eval.publish(y, declared).unwrap());
        for (published, (_, expected)) in all.iter().zip(&results) {
            let said: &Ciphertext = published.as_ref();
            assert_eq!((said.level(), said.meta().scale), (level, scale));
            assert_eq!(said.metadata(), all[0].as_ref().metadata());
            assert!(max_error(&world.decrypt(said), expected) < 1e-6);
        }
    }
    // Levels that are gone, and a scale that would take one that is gone.
    let (low, _) = results.iter().min_by_key(|(y, _)| y.level()).unwrap();
    let refused = |declared: Declaration| match eval.publish(low, declared) {
        Err(e) if e.is(&ErrorKind::Declaration, "does not cover the vector: declare") => {
            e.to_string()
        }
        other => panic!("{other:?}"),
    };
    let error = refused(range.with_level(low.level() + 1));
    assert!(error.contains("declared level") && error.contains("with_level"), "{error}");
    let error = refused(range.with_level(low.level()));
    assert!(error.contains("declared scale") && error.contains("with_scale"), "{error}");
    let own = range.with_level(low.level()).with_scale(low.meta().scale);
    assert_eq!(eval.publish(low, own).unwrap().as_ref().metadata().level, low.level());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = eval.publish(low, range.with_scale(bad)).unwrap_err();
        assert!(error.is(&ErrorKind::Scale, "need a finite number above zero; the"), "{error}");
    }
}

/// Integers and paired vectors of clients are admitted as reals are: by the declaration alone.
#[test]
fn admitted_vectors_differ_by_declaration_alone() {
    let f = functional(10, FbtSpec::table(1 << 9, 16).unwrap(), 4);
    let (eval, low, high) = (&f.eval, f.bootstrapper.input_level(), f.world.params.max_level());
    let what = |error: bellerophon_ckks::Error, op: &str| {
        assert!(error.op() == op && error.is(&ErrorKind::Declaration, "does not cover"), "{error}");
        let words = error.message().strip_prefix("the declared ").unwrap();
        words.split(" does not").next().unwrap().to_string()
    };

    // Integers, at two levels.
    let foreseen = f.simulator().encrypt_integers(&[0; 3], 16, low).unwrap();
    let declared = Declaration::from(foreseen.values()).with_len(3);
    let inputs = [low, high].map(|level| f.integers_at(&[3, 15, 7], 16, level));
    let admit = |x: &IntVec| eval.admit_integers(x, 16, declared);
    let admitted = inputs.each_ref().map(|x| admit(x).unwrap());
    assert!(inputs[0].values().inner().metadata() != inputs[1].values().inner().metadata());
    for x in &admitted {
        assert_eq!(x.values().inner().metadata(), admitted[0].values().inner().metadata());
        assert_eq!(f.decrypt(x), [3, 15, 7]);
    }
    let squares = eval.integers().table(&admitted[1], |k| k * k % 16).unwrap();
    assert_eq!(f.decrypt(&squares), [9, 1, 1]);
    let on = eval.integers();
    let noisy = inputs[1].values().inner().clone().assume_noise(0.1).unwrap();
    for (x, refused) in [
        (f.integers(&[3, 1, 2], 8), "modulus"),
        (on.add_constant(&inputs[1], 1).unwrap(), "range"),
        (f.integers(&[3, 15], 16), "number of values"),
    ] {
        assert_eq!(what(admit(&x).unwrap_err(), "admit_integers"), refused);
    }
    // Integers with a stated noise, and those from reals, whatever they state.
    let stated = admit(&IntVec::new(noisy, 16, 3).unwrap()).unwrap_err();
    assert!(stated.is(&ErrorKind::Noise, "the source of these integers"), "{stated}");
    let reals = on.to_reals(&inputs[1]).unwrap().remove(0);
    assert!(admit(&on.from_reals(&reals, 16).unwrap()).is_err());

    // Paired vectors, of two ranges.
    let range = |hi| Interval::real(0.0, hi).unwrap();
    let declared = Declaration::from(0.0..=1.0).with_noise(1e-4).with_level(low);
    let inputs = [range(1.0), range(0.75)].map(|range| f.reals(&[0.5, 0.25, 0.75], range));
    let admit = |x: &PairedVec| eval.admit_paired(x, declared);
    let admitted = inputs.each_ref().map(|x| admit(x).unwrap());
    assert_eq!(admitted[0].inner().metadata(), admitted[1].inner().metadata());
    assert_eq!(admitted[0].range(), admitted[1].range());
    let refused = admit(&f.reals(&[0.5], range(1.5))).unwrap_err();
    assert_eq!(what(refused, "admit_paired"), "range");
}

/// Inputs of other ranges, noise, levels and scales are the same to the program, or refused before
/// it: no refusal of an operation depends on what the client states.
#[test]
fn admitted_inputs_differ_by_declaration_alone() {
    let world = World::new(10, 4, KeyLevels::default().multiply(4));
    let eval = world.evaluator();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let simulator = Simulator::new(&world.params);
    let foreseen = simulator.encrypt(&[0.0; 3], unit, 2).unwrap();
    let declared = Declaration::from(&foreseen).with_len(3).with_slots(4);
    let values = [0.25, -0.125, 0.0];
    let narrow = Interval::real(-0.125, 0.25).unwrap();
    let inputs = [
        world.encrypt_in(&values, unit, 2),
        world.encrypt_in(&values, unit, 4),
        world.encrypt_in(&values, narrow, 3),
    ];
    let admitted = inputs.each_ref().map(|x| eval.admit(x, declared).unwrap());
    for x in &admitted {
        assert_eq!(x.metadata(), admitted[0].metadata());
        assert_eq!((x.level(), *x.range()), (2, unit));
        assert!(max_error(&world.decrypt(x), &values) < 1e-6);
    }
    // Without it, the range of the client decides whether a secret constant is refused.
    let wide = 2f64.powi(60);
    let product = |x: &Ciphertext| eval.mul_scalar(x, wide).is_ok();
    let tiny = Interval::real(-1e-6, 1e-6).unwrap();
    let probe = world.encrypt_in(&[0.0; 3], tiny, 2);
    assert!(product(&probe) != product(&inputs[0]));
    let probe = eval.admit(&probe, declared).unwrap();
    assert_eq!(product(&probe), product(&admitted[0]));
    // What the declaration does not cover is refused, and by its name.
    for (x, what) in [
        (world.encrypt_in(&values, Interval::real(-1.0, 1.5).unwrap(), 2), "range"),
        (world.encrypt_in(&values, unit, 1), "level"),
        (world.encrypt_in(&values[..2], unit, 2), "number of values"),
        (eval.repeated(world.encrypt_in(&values, unit, 2), 8).unwrap(), "number of slots"),
        (world.encrypt_in(&values, unit, 2).assume_noise(1e-3).unwrap(), "noise"),
    ] {
        let error = eval.admit(&x, declared).unwrap_err();
        let declared = format!("the declared {what} does not cover");
        assert!(error.op() == "admit" && error.is(&ErrorKind::Declaration, &declared), "{error}");
    }
}

#[test]
fn what_may_exceed_its_declaration_is_refused() {
    let world = World::new(10, 2, KeyLevels::default());
    let eval = world.evaluator();
    let x = world.encrypt_span(&[0.5, -1.0, 0.25]);
    let range = |declared: Declaration| eval.publish(&x, declared).unwrap_err();
    for declared in [0.0..=1.0, -1.0..=0.25, 0.0..=0.0] {
        let error = range(declared.into());
        assert!(
            error.is(&ErrorKind::Declaration, "the declared range does not cover the"),
            "{error}"
        );
    }
    let noise = |noise| range(Declaration::from(-1.0..=1.0).with_noise(noise));
    let small = noise(0.5 * x.metadata().noise());
    assert!(small.is(&ErrorKind::Declaration, "the declared noise does not cover the"), "{small}");
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200, 1e200] {
        let error = noise(bad);
        assert!(error.is(&ErrorKind::Argument, "the declared noise: need"), "{bad}: {error}");
    }
    for bad in [1.0..=-1.0, f64::NAN..=1.0, -1.0..=f64::INFINITY] {
        assert!(range(bad.into()).is(&ErrorKind::Domain, "interval ["));
    }
    // Padding that is larger than what is declared would be misread with the values.
    let y = eval
        .add_scalar(&x, 3.0)
        .unwrap()
        .assume_range_with_padding(Interval::real(-8.0, 8.0).unwrap());
    let y = eval.with_range(y, Interval::real(2.0, 3.5).unwrap());
    let error = eval.publish(&y, 2.0..=4.0).unwrap_err();
    assert!(error.to_string().contains("clear_padding"), "{error}");
    // A real result of a disc, a complex one of no interval.
    let z = eval.mul_i(&x).unwrap();
    assert!(eval.publish(&z, -1.0..=1.0).is_err());
    let published = eval.publish(&z, Declaration::complex(1.0)).unwrap();
    assert!(!published.as_ref().range().is_real());
    assert!(eval.publish(&x, Declaration::complex(1.0)).is_ok());
}

/// What a simulator of declared inputs foresees is a declaration that the result keeps.
#[test]
fn a_simulator_declares() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let eval = world.evaluator();
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let simulator = Simulator::new(&world.params);
    let foreseen = simulator.square(&simulator.encrypt(&[0.0; 3], unit, 2).unwrap()).unwrap();
    let declared = Declaration::from(&foreseen);
    let y = eval.square(&world.encrypt_span(&[0.5, -1.0, 0.25])).unwrap();
    let published = eval.publish(&y, declared).unwrap();
    assert_eq!(*published.as_ref().range(), Interval::real(0.0, 1.0).unwrap());
    let noise = foreseen.metadata().noise();
    assert!(noise <= declared.noise() && declared.noise() < 2.0 * noise);
    // Published results are inputs again.
    let again = eval.add(&published.into(), &y).unwrap();
    assert!(max_error(&world.decrypt(&again), &[0.5, 2.0, 0.125]) < 1e-4);
}

/// A declaration does not lower the bound for errors of any correlation: an admitted encryption has
/// the declared noise, and what may be noisier, or was published, the width of the range.
#[test]
fn a_declaration_lowers_no_bound() {
    let world = World::new(10, 4, KeyLevels::default());
    let eval = world.evaluator();
    let bound = |y: &Ciphertext| {
        slot_std(y.meta().noise.bound, y.meta().slots, y.meta().scale, y.range().is_real())
    };
    let x = world.encrypt_span(&[0.25, -0.5, 0.0, 1.0]);
    let range = -1.0..=1.0;
    for log2_noise in [-16, -12] {
        let noise = f64::from(log2_noise).exp2();
        let declared = Declaration::from(range.clone()).with_noise(noise);
        // Their statement of the noise leaves a bound above 64 times the declared one.
        let loose =
            x.clone().assume_noise(80.0 * noise).unwrap().assume_noise(noise / 2.0).unwrap();
        for y in [&x, &loose] {
            assert!(bound(&eval.publish(y, declared).unwrap().into()) >= 2.0);
        }
        assert!(bound(&eval.admit(&loose, declared).unwrap()) >= 2.0);
        let admitted = bound(&eval.admit(&x, declared).unwrap());
        assert!((admitted / (64.0 * noise) - 1.0).abs() < 1e-9 && bound(&x) <= admitted);
        let published = eval.publish(&x, declared.with_noise(noise / 2.0)).unwrap();
        assert!(bound(&eval.admit(published.as_ref(), declared).unwrap()) >= 2.0);
    }
}

/// The slope of `T_15` is 225 at 1 and far smaller on average: after three of them the worst slot
/// decides, whatever range is stated.
#[test]
fn the_worst_slot_is_declared_too() {
    let world = World::new(10, 12, KeyLevels::default().multiply(12));
    let eval = world.evaluator();
    let coefficients = (0..=15).map(|k| f64::from(u8::from(k == 15))).collect();
    let steep = Polynomial::new(Chebyshev::new(-1.0, 1.0, coefficients));
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let x = world.encrypt_in(&[1.0; 8], unit, 12);
    let y = (0..3).fold(x, |x, _| eval.polynomial(&x, &steep, None).unwrap());
    let y = eval.with_range(y, unit);
    let noise = y.metadata().noise();
    let declared = |noise: f64| Declaration::from(-1.0..=1.0).with_noise(noise);
    let worst = max_error(&world.decrypt(&y), &[1.0; 8]);
    assert!(worst > 64.0 * declared(noise).noise(), "{worst:e}, {noise:e}");
    let error = eval.publish(&y, declared(noise)).unwrap_err();
    assert!(error.to_string().contains("declared noise"), "{error}");
    let peak = slot_std(y.meta().noise.peak, y.meta().slots, y.meta().scale, true);
    let published = eval.publish(&y, declared(peak / 64.0)).unwrap();
    assert!(worst < 16.0 * 64.0 * declared(peak / 64.0).noise());
    assert_eq!(published.as_ref().range(), &unit);
}
