//! Slots to coefficients on ciphertexts.

use crate::common;

use crate::common::World;
use bellerophon_circuits::dft::{Coefficients, S2cSpec, SlotsToCoeffs};
use bellerophon_circuits::lintrans::Giants;
use bellerophon_ckks::{Complex64, ErrorKind, Interval, KeyLevels, Params};

/// All coefficients of the plaintext in units of the values.
fn coefficients(world: &World, ct: &Coefficients) -> Vec<f64> {
    let ring = ct.lattice().ring(world.params.lattice());
    let phase = ct.lattice().phase(&world.secret).unwrap();
    let centered = ring.centered(&ring.inverse((*phase).clone()));
    centered.iter().map(|c| c.to_string().parse::<f64>().unwrap() / ct.meta().scale).collect()
}

fn options(levels: usize, scale: f64) -> S2cSpec {
    S2cSpec {
        levels,
        output_level: 0,
        scale,
        modular: false,
        encode_ahead: false,
        giants: Giants::Direct,
    }
}

fn world(log_degree: u32, s2c: &SlotsToCoeffs, params: Params) -> World {
    assert_eq!(params.lattice().spec().degree, 1 << log_degree);
    World::of(params, s2c.keys(), 3)
}

#[test]
fn every_slot_count_in_one_and_two_levels() {
    let params = common::params(9, 3);
    for log in 0..=8 {
        for levels in 1..=2 {
            let slots = 1 << log;
            let scale = 2f64.powi(42);
            let s2c = SlotsToCoeffs::new(&params, slots, options(levels, scale)).unwrap();
            let world = world(9, &s2c, params.clone());
            let x: Vec<f64> = world.reals(slots).iter().map(|x| 8.0 * x).collect();
            let operand = world.encrypt_span(&x);
            let ct = s2c.apply(&world.evaluator(), &operand).unwrap();
            assert_eq!((ct.lattice().limbs(), ct.meta().scale, ct.meta().len), (1, scale, slots));
            let meta = s2c.lowered(&operand.metadata()).unwrap().meta;
            assert_eq!(meta, *ct.meta());
            let mut expected = vec![0.0; 512];
            for (i, &x) in x.iter().enumerate() {
                expected[ct.place(i)] = x;
            }
            let found = coefficients(&world, &ct);
            let square: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b).powi(2)).sum();
            let rms = (square / 512.0).sqrt();
            let predicted = ct.meta().noise.total.sqrt() / scale;
            // The noise of the first multiplications grows with the message; its bound is generous.
            assert!(rms < 2.0 * predicted, "2^{log}, {levels} levels: {rms:e} {predicted:e}");
            assert!(predicted < 12.0 * rms, "2^{log}, {levels} levels: {rms:e} {predicted:e}");
            assert!(common::max_error(&found, &expected) < 16.0 * predicted);
        }
    }
}

/// It is empty for real values.
#[test]
fn upper_half_holds_the_imaginary_part() {
    let params = common::params(8, 3);
    let s2c = SlotsToCoeffs::new(&params, 32, options(2, 2f64.powi(44))).unwrap();
    let world = world(8, &s2c, params);
    let x = world.complex(32);
    let ct = s2c.apply(&world.evaluator(), &world.encrypt_span(&x)).unwrap();
    let found = coefficients(&world, &ct);
    for (i, x) in x.iter().enumerate() {
        let y = Complex64::new(found[ct.place(i)], found[ct.place(i) + 128]);
        assert!((x - y).norm() < 1e-8);
    }
}

#[test]
fn operands_above_below_and_shorter() {
    let params = common::params(8, 5);
    let s2c = SlotsToCoeffs::new(
        &params,
        64,
        S2cSpec { output_level: 1, encode_ahead: true, ..options(2, 2f64.powi(45)) },
    )
    .unwrap();
    let world = world(8, &s2c, params.clone());
    let eval = world.evaluator();
    // From above, with fewer slots, padding included.
    let ct = s2c.apply(&eval, &world.encrypt_span(&[0.5, -0.25, 0.125])).unwrap();
    assert_eq!((ct.lattice().limbs(), ct.meta().len, ct.meta().slots), (2, 3, 64));
    let found = coefficients(&world, &ct);
    for i in 0..64 {
        let expected = [0.5, -0.25, 0.125, 0.0][i % 4];
        assert!((found[ct.place(i)] - expected).abs() < 1e-9);
    }
    let low = world.encrypt_span_at(&[0.5], 2);
    let error = s2c.apply(&eval, &low).unwrap_err();
    assert!(
        error.is(
            &ErrorKind::Level,
            "for level 3, and the vector is at level 2: prepare it for a level"
        ),
        "{error}"
    );
    let long = world.encrypt_span(&world.reals(128));
    let error = s2c.apply(&eval, &long).unwrap_err();
    assert!(error.is(&ErrorKind::Shape, "slots: need"), "{error}");
    let none = World::of(params, KeyLevels::default(), 4);
    let error = s2c.apply(&none.evaluator(), &none.encrypt_span(&[0.5])).unwrap_err();
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"), "{error}");
}

#[test]
fn wrapping_values_are_refused_and_the_edge_is_not() {
    // q_0 has 55 bits: 2^54 is half of it.
    let params = common::params(8, 2);
    let s2c = SlotsToCoeffs::new(&params, 128, options(2, 2f64.powi(51))).unwrap();
    let world = world(8, &s2c, params.clone());
    let eval = world.evaluator();
    let x = vec![7.9; 128];
    let ct = s2c.apply(&eval, &world.encrypt_span(&x)).unwrap();
    assert!((coefficients(&world, &ct)[ct.place(100)] - 7.9).abs() < 1e-6);
    let wide = world.encrypt_span(&x).assume_range_with_padding(Interval::real(-8.1, 8.1).unwrap());
    let error = s2c.apply(&eval, &wide).unwrap_err();
    assert!(error.is(&ErrorKind::Range, "may reach at most"), "{error}");

    for (slots, levels) in [(3, 2), (256, 2), (64, 0), (64, 4)] {
        assert!(SlotsToCoeffs::new(&params, slots, options(levels, 1e12)).is_err());
    }
    assert!(SlotsToCoeffs::new(&params, 64, options(2, f64::NAN)).is_err());
    let high = S2cSpec { output_level: 1, ..options(2, 1e12) };
    assert!(SlotsToCoeffs::new(&params, 64, high).is_err());
}
