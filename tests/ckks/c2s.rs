//! Coefficients to slots on ciphertexts, against the clear embedding and against its inverse.

use crate::common;

use crate::common::World;
use bellerophon_circuits::dft;
use bellerophon_circuits::dft::{C2sSpec, Coefficients, CoeffsToSlots, S2cSpec, SlotsToCoeffs};
use bellerophon_circuits::lintrans::Giants;
use bellerophon_ckks::{
    Bounds, CiphertextMeta, Complex64, ErrorKind, Interval, KeyLevels, noise::Noise,
};

fn options(levels: usize, factor: f64) -> C2sSpec {
    C2sSpec { levels, input_level: 4, factor, babies: 4, encode_ahead: true }
}

/// An encryption of a polynomial with these coefficients at the multiples of `N / length`.
fn polynomial(world: &World, coefficients: &[f64], scale: f64) -> Coefficients {
    let degree = world.params.lattice().spec().degree;
    let mut integers = vec![0; degree];
    for (i, c) in coefficients.iter().enumerate() {
        integers[i * (degree / coefficients.len())] = (c * scale).round() as i64;
    }
    let lattice = world.params.lattice();
    let message = lattice.q().forward(lattice.q().from_signed(&integers));
    let inner = world.secret.encrypt(&message, &mut *world.rng.borrow_mut()).unwrap();
    let slots = coefficients.len() / 2;
    let meta = CiphertextMeta {
        scale,
        slots,
        len: slots,
        bounds: Bounds::all(Interval::complex(1.0).unwrap()),
        noise: Noise::new(3.2 * 3.2),
    };
    Coefficients::from_parts(&world.params, inner, meta).unwrap()
}

#[test]
fn every_slot_count_in_one_to_three_levels() {
    let params = common::params(9, 4);
    for log in 0..=8 {
        for levels in 1..=3 {
            let slots = 1usize << log;
            let factor = (slots as f64).sqrt();
            let c2s = CoeffsToSlots::new(&params, slots, options(levels, factor)).unwrap();
            let world = World::of(params.clone(), c2s.keys(), 3);
            let coefficients = world.reals(2 * slots);
            let x = polynomial(&world, &coefficients, 2f64.powi(40));
            let ct = c2s.apply(&world.evaluator(), &x).unwrap();
            assert_eq!(ct.level(), params.max_level() - levels);
            assert!((ct.metadata().meta.scale / (2f64.powi(40) * factor) - 1.0).abs() < 1e-12);
            let expected: Vec<Complex64> = (0..slots)
                .map(|i| {
                    let place = dft::place(2 * slots, slots, i);
                    Complex64::new(coefficients[place], coefficients[place + slots])
                })
                .collect();
            let found: Vec<Complex64> = world.decrypt(&ct);
            let squares: f64 = found.iter().zip(&expected).map(|(a, b)| (a - b).norm_sqr()).sum();
            let rms = (squares / slots as f64).sqrt();
            assert!(
                rms < 3.0 * ct.metadata().noise(),
                "2^{log}, {levels}: {rms:e}, {:e}",
                ct.metadata().noise()
            );
            // A mean of few slots may be small by chance.
            let least = if slots < 32 { 100.0 } else { 3.0 };
            assert!(
                least * rms > ct.metadata().noise(),
                "2^{log}, {levels}: {rms:e}, {:e}",
                ct.metadata().noise()
            );
        }
    }
}

#[test]
fn transforms_in_two_share_their_keys() {
    let params = common::params(9, 4);
    let in_two = |slots| {
        CoeffsToSlots::in_two(&params, slots, 3, options(2, (slots as f64).sqrt())).unwrap()
    };
    let keys = in_two(256).keys();
    assert_eq!(keys.automorphisms(&params), in_two(64).keys().automorphisms(&params));
    let world = World::of(params.clone(), keys, 3);
    for slots in [64, 128, 256] {
        let c2s = in_two(slots);
        let coefficients = world.reals(2 * slots);
        let x = polynomial(&world, &coefficients, 2f64.powi(40));
        let found: Vec<Complex64> = world.decrypt(&c2s.apply(&world.evaluator(), &x).unwrap());
        for (i, found) in found.iter().enumerate() {
            let place = dft::place(2 * slots, slots, i);
            let expected = Complex64::new(coefficients[place], coefficients[place + slots]);
            assert!((found - expected).norm() < 1e-6, "slot {i} of {slots}");
        }
    }
    let wrong = options(3, 1.0);
    assert!(CoeffsToSlots::in_two(&params, 64, 3, wrong).is_err());
    assert!(CoeffsToSlots::in_two(&params, 64, 7, options(2, 1.0)).is_err());
}

#[test]
fn undoes_slots_to_coefficients() {
    let params = common::params(9, 7);
    let s2c = S2cSpec {
        levels: 3,
        output_level: 4,
        scale: 2f64.powi(45),
        modular: false,
        encode_ahead: false,
        giants: Giants::Horner,
    };
    let s2c = SlotsToCoeffs::new(&params, 256, s2c).unwrap();
    let c2s = CoeffsToSlots::new(&params, 256, options(3, 1.0)).unwrap();
    // Shifts into the last group leave one key for the giant steps of each level.
    assert!(c2s.keys().automorphisms(&params).len() <= 3 * 4);
    let world = World::of(params, s2c.keys().and(&c2s.keys()), 4);
    let eval = world.evaluator();
    let x = world.complex(256);
    let there = s2c.apply(&eval, &world.encrypt_span(&x)).unwrap();
    let back = c2s.apply(&eval, &there).unwrap();
    let found: Vec<Complex64> = world.decrypt(&back);
    let error = found.iter().zip(&x).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(
        error < 16.0 * back.metadata().noise() && back.metadata().noise() < 1e-7,
        "{error:e} {:e}",
        back.metadata().noise()
    );
}

#[test]
fn misfits_are_refused() {
    let params = common::params(8, 4);
    for (slots, options) in [
        (3, options(2, 1.0)),
        (256, options(2, 1.0)),
        (64, options(0, 1.0)),
        (64, options(5, 1.0)),
        (64, options(2, -1.0)),
        (64, C2sSpec { babies: 3, ..options(2, 1.0) }),
        (64, C2sSpec { input_level: 9, ..options(2, 1.0) }),
    ] {
        assert!(CoeffsToSlots::new(&params, slots, options).is_err(), "{slots} {options:?}");
    }
    let c2s = CoeffsToSlots::new(&params, 64, options(2, 1.0)).unwrap();
    let world = World::of(params, KeyLevels::default(), 5);
    let other = polynomial(&world, &world.reals(64), 1e12);
    let error = c2s.apply(&world.evaluator(), &other).unwrap_err();
    assert!(error.is(&ErrorKind::Shape, "slots: need"), "{error}");
    let fitting = polynomial(&world, &world.reals(128), 1e12);
    let error = c2s.apply(&world.evaluator(), &fitting).unwrap_err();
    assert!(error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"), "{error}");
}
