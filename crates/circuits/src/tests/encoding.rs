//! The encoder against the definition of the canonical embedding, for every slot count.

use crate::tests::common;
use bellerophon_ckks::CkksOps;

use crate::tests::common::{World, refusal, span};
use bellerophon_ckks::{Complex64, Encoder, ErrorKind, Interval, KeyLevels, Params, Plaintext};
use rand::{RngExt, SeedableRng};

/// Centred integer coefficients of a plaintext (two limbs hold them), by the CRT.
fn coefficients(params: &Params, plain: &Plaintext) -> Vec<i128> {
    let ring = params.ring(2);
    let poly = ring.inverse(plain.poly().limb_range(0..2));
    let (q0, q1) = (ring.modulus(0), ring.modulus(1));
    let product = q0.value() as i128 * q1.value() as i128;
    let inverse = q1.inv(q1.reduce(q0.value())).unwrap();
    (0..ring.degree())
        .map(|k| {
            let (x0, x1) = (poly.limb(0)[k], poly.limb(1)[k]);
            let digit = q1.mul(q1.sub(x1, q1.reduce(x0)), inverse);
            let x = x0 as i128 + q0.value() as i128 * digit as i128;
            if x > product / 2 { x - product } else { x }
        })
        .collect()
}

/// Slot `j` of the polynomial: its value at `exp(2 pi i 5^j / 2N)`, term by term.
fn slot(coefficients: &[i128], j: usize) -> Complex64 {
    let order = 2 * coefficients.len();
    let power = (0..j).fold(1, |p, _| p * 5 % order);
    let unit = std::f64::consts::TAU / order as f64;
    coefficients
        .iter()
        .enumerate()
        .map(|(k, &c)| Complex64::cis(unit * (k * power % order) as f64) * c as f64)
        .sum()
}

#[test]
fn slots_are_values_at_powers_of_five() {
    let world = World::new(8, 2, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    let scale = 2f64.powi(40);
    for slots in [1usize, 2, 4, 8, 16, 32, 64, 128] {
        for len in [slots, slots / 2 + 1] {
            let values = world.complex(len);
            let plain = encoder.encode(&values, span(&values), scale, 3).unwrap();
            let c = coefficients(&world.params, &plain);
            for j in 0..128 {
                let found = slot(&c, j) / scale;
                let expected = *values.get(j % plain.slots()).unwrap_or(&Complex64::ZERO);
                // 2n roundings of at most half a unit.
                let allowed = plain.slots() as f64 / scale;
                assert!((found - expected).norm() <= allowed, "{slots} slots, slot {j}");
            }
            let decoded: Vec<Complex64> = encoder.decode(&plain).unwrap();
            assert_eq!(decoded.len(), len);
            let error = decoded.iter().zip(&values).map(|(a, b)| (a - b).norm());
            assert!(error.fold(0.0, f64::max) <= plain.slots() as f64 / scale);
        }
    }
}

#[test]
fn round_trips_for_every_slot_count_and_many_scales() {
    let world = World::new(12, 3, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    for log in 0..=11 {
        for (log_scale, limbs) in [(20, 1), (45, 2), (60, 2), (100, 4), (120, 4)] {
            let values = world.reals(1 << log);
            let scale = 2f64.powi(log_scale);
            let plain = encoder.encode(&values, span(&values), scale, limbs).unwrap();
            let decoded: Vec<f64> = encoder.decode(&plain).unwrap();
            let error = common::max_error(&decoded, &values);
            // Six standard deviations of the rounding, or those of the transforms in f64.
            let allowed = 6.0 * (values.len() as f64 / 12.0).sqrt() / scale + 1e-14;
            assert!(error <= allowed, "2^{log} slots at 2^{log_scale}: {error:e} > {allowed:e}");
            if log_scale <= 45 && log >= 5 {
                assert!(error > 0.2 / scale, "no rounding at all is suspicious");
            }
        }
    }
}

#[test]
fn rings_without_small_transforms_work() {
    // N = 8 has no smaller supported transform, N = 16 one.
    for log in [3, 4] {
        let world = World::new(log, 2, KeyLevels::default().multiply(2).rotate([1], 2));
        for n in 1..=1 << (log - 1) {
            let x = world.reals(n);
            let square = world.evaluator().square(&world.encrypt_span(&x)).unwrap();
            let found: Vec<f64> = world.decrypt(&square);
            let expected: Vec<f64> = x.iter().map(|x| x * x).collect();
            assert!(common::max_error(&found, &expected) < 1e-9);
        }
    }
}

#[test]
fn the_edges_of_the_range() {
    let world = World::new(10, 2, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    let half = world.params.capacity(1, world.params.scale());
    assert_eq!((half.log2() * 100.0).round(), 900.0);
    for size in [0.999 * half, -0.999 * half] {
        let plain = encoder.encode(&[size; 512], span(&[size]), world.params.scale(), 1).unwrap();
        let decoded: Vec<f64> = encoder.decode(&plain).unwrap();
        assert!(common::max_error(&decoded, &[size; 512]) < 1e-9);
    }
    for bad in [1.001 * half, -1.001 * half, 1e300] {
        let refused = encoder.encode(&[bad], span(&[bad]), world.params.scale(), 1);
        assert!(refusal(&refused).is(&ErrorKind::Range, "may reach at most"), "{refused:?}");
    }
    // Tiny and zero values are not refused.
    for small in [0.0, -0.0, 1e-300, f64::MIN_POSITIVE] {
        let plain =
            encoder.encode(&[small, 1.0], span(&[small, 1.0]), world.params.scale(), 1).unwrap();
        let decoded: Vec<f64> = encoder.decode(&plain).unwrap();
        assert!(decoded[0].abs() < 1e-12);
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let world = World::new(10, 2, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    let scale = world.params.scale();
    let (unit, disc) = (Interval::real(-1.0, 1.0).unwrap(), Interval::complex(1.0).unwrap());
    assert!(
        refusal(&encoder.encode::<f64>(&[], unit, scale, 1))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    let many = encoder.encode(&[0.0; 513], unit, scale, 1);
    assert!(refusal(&many).is(
        &ErrorKind::TooManyValues { found: 513, most: 512 },
        "513 values, but there are 512 slots: split"
    ));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = encoder.encode(&[0.0, bad], unit, scale, 1);
        assert!(refusal(&refused).is(&ErrorKind::NotFinite, "at position 1 of"));
        let refused = encoder.encode(&[Complex64::new(0.0, bad)], disc, scale, 1);
        assert!(refusal(&refused).is(&ErrorKind::NotFinite, "at position 0 of"));
    }
    // Outside the declared range, by as little as there is; the error does not repeat the value.
    for bad in [1.0 + f64::EPSILON, -1.0 - f64::EPSILON, 1234.56789, 1e300] {
        let refused = encoder.encode(&[0.0, bad], unit, scale, 1).unwrap_err();
        assert!(refused.is(&ErrorKind::Range, "the value at position 1 of"), "{refused:?}");
        assert!(!format!("{refused} {refused:?}").contains("234"));
        let refused = encoder.encode(&[Complex64::new(0.0, bad)], disc, scale, 1);
        assert!(refusal(&refused).is(&ErrorKind::Range, "the value at position 0 of"));
    }
    let refused = encoder.encode(&[Complex64::new(0.5, 0.0)], unit, scale, 1);
    assert!(
        refusal(&refused).is(&ErrorKind::Range, "]: declare a range that contains every"),
        "complex numbers of a real range"
    );
    for edge in [1.0, -1.0, 0.0, -0.0, f64::MIN_POSITIVE / 2.0] {
        assert_eq!(encoder.encode(&[edge], unit, scale, 1).unwrap().bounds().values, unit);
        assert!(encoder.encode(&[edge], disc, scale, 1).is_ok());
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(
            refusal(&encoder.encode(&[0.5], unit, bad, 1))
                .is(&ErrorKind::Scale, "need a finite number above zero; the")
        );
    }
    for bad in [0, 4] {
        let refused = encoder.encode(&[0.5], unit, scale, bad);
        assert!(refusal(&refused).is(&ErrorKind::Level, &format!("has {bad} limbs")));
    }
    for bad in [0, 2, 3, 1024] {
        let refused = encoder.encode_in(&[0.5; 3], unit, bad, scale, 1);
        let needed = format!("{bad} slots: need a power of two from 3 to 512");
        assert!(refusal(&refused).is(&ErrorKind::Shape, &needed));
    }
    let plain = encoder.encode(&[0.5], unit, scale, 1).unwrap();
    let other = Encoder::new(&common::params(9, 2));
    assert!(
        refusal(&other.decode::<f64>(&plain))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
}

#[test]
fn ranges_are_those_declared() {
    let world = World::new(10, 2, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    let (range, disc) = (Interval::real(0.5, 4.0).unwrap(), Interval::complex(6.0).unwrap());
    let plain = encoder.encode(&[1.0, 3.0, 2.0], range, 2f64.powi(40), 2).unwrap();
    assert_eq!(plain.bounds().values, range);
    assert_eq!(plain.bounds().slots(), Interval::real(0.0, 4.0).unwrap());
    assert_eq!((plain.len(), plain.slots(), plain.limbs(), plain.level()), (3, 4, 2, 1));
    let plain = encoder.encode(&[Complex64::new(3.0, -4.0)], disc, 2f64.powi(40), 2).unwrap();
    assert_eq!(plain.bounds().values, disc);
    assert!(plain.len() > 0 && !format!("{plain:?}").contains("3.0"));
}

#[test]
fn decoding_reads_large_values_over_many_limbs() {
    // Values that need three limbs: mixed-radix digits beyond the second.
    let world = World::new(10, 3, KeyLevels::default());
    let encoder = Encoder::new(&world.params);
    let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(9);
    let values: Vec<f64> = (0..512).map(|_| rng.random_range(-1e9..1e9)).collect();
    let plain = encoder.encode(&values, span(&values), 2f64.powi(90), 4).unwrap();
    let decoded: Vec<f64> = encoder.decode(&plain).unwrap();
    assert!(common::max_error(&decoded, &values) < 1e-5);
    let ct = world.encrypt_span(&values.iter().map(|v| v * 1e-6).collect::<Vec<_>>());
    world.check(&ct, &values.iter().map(|v| v * 1e-6).collect::<Vec<_>>());
}
