//! Encrypted integers: sums, multiples and tables are those modulo `p`, chains stay exact, the
//! simulator says the same beforehand, and what cannot work is refused.

use crate::common::functional::{Functional, functional};
use crate::common::refusal;
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;
use bellerophon_circuits::fbt::EncoderExt;
use bellerophon_circuits::fbt::{FbtSpec, IntTable, IntVec};
use bellerophon_ckks::{CkksOps, Encoder, ErrorKind};
use rand::RngExt;

fn random(f: &Functional, count: usize, p: usize) -> Vec<usize> {
    let rng = &mut *f.world.rng.borrow_mut();
    (0..count).map(|_| rng.random_range(0..p)).collect()
}

fn bytes() -> Functional {
    functional(10, FbtSpec::table(1 << 9, 256).unwrap(), 6)
}

#[test]
fn sums_and_multiples_are_those_modulo_p() {
    let f = bytes();
    let on = f.eval.integers();
    for (count, p) in [(1024, 256), (700, 256), (512, 100), (3, 17)] {
        let (x, y) = (random(&f, count, p), random(&f, count, p));
        let (a, b) = (f.integers(&x, p), f.integers(&y, p));
        let expect = |g: &dyn Fn(usize, usize) -> i64| -> Vec<usize> {
            let values = x.iter().zip(&y).map(|(&x, &y)| g(x, y).rem_euclid(p as i64) as usize);
            values.collect()
        };
        let sum = on.add(&a, &b).unwrap();
        assert_eq!(f.decrypt(&sum), expect(&|x, y| (x + y) as i64));
        let difference = on.sub(&a, &b).unwrap();
        assert_eq!(f.decrypt(&difference), expect(&|x, y| x as i64 - y as i64));
        assert_eq!(f.decrypt(&on.neg(&a).unwrap()), expect(&|x, _| -(x as i64)));
        for k in [0, 1, -1, 7, 1000, -77] {
            let shifted = on.add_constant(&a, k).unwrap();
            assert_eq!(f.decrypt(&shifted), expect(&|x, _| x as i64 + k), "{count} values + {k}");
            let product = on.mul_constant(&a, k).unwrap();
            assert_eq!(
                f.decrypt(&product),
                expect(&|x, _| x as i64 * k),
                "{count} values times {k}"
            );
            // A table reads what was not reduced modulo p.
            if (p, k) == (256, 7) {
                let again = on.table(&on.add(&product, &b).unwrap(), |k| 255 - k).unwrap();
                let wanted = expect(&|x, y| 255 - (x as i64 * 7 + y as i64).rem_euclid(256));
                assert_eq!(f.decrypt(&again), wanted);
                assert_eq!(
                    *again.values().range(),
                    bellerophon_ckks::Interval::real(0.0, 255.0).unwrap()
                );
            }
        }
    }
}

#[test]
fn chains_of_tables_stay_exact() {
    let f = bytes();
    let on = f.eval.integers();
    let x = random(&f, 1024, 256);
    let step = |k: usize| (k * k + 91 * k + 13) % 256;
    let (mut ct, mut expected) = (f.integers(&x, 256), x);
    let mut noise = vec![];
    for _ in 0..8 {
        ct = on.table(&ct, step).unwrap();
        expected = expected.into_iter().map(step).collect();
        assert_eq!(f.decrypt(&ct), expected);
        assert!(on.log2_failure(&ct) < -128.0);
        noise.push(ct.values().inner().metadata().noise());
    }
    // The noise of a table is that of the table, not of the chain.
    assert!(noise[7] < 1.01 * noise[1], "{noise:?}");
}

/// Sums of tables of the same integers have one error several times over; the prediction says so.
#[test]
fn noise_of_sums_is_that_of_errors_in_common() {
    let f = bytes();
    let on = f.eval.integers();
    let x = random(&f, 1024, 256);
    let y = on.table(&f.integers(&x, 256), |k| k * 13 % 256).unwrap();
    let mut sum = y.clone();
    for _ in 1..16 {
        sum = on.add(&sum, &y).unwrap();
    }
    let error = |ct: &IntVec, times: f64| {
        let found = ct.values().decrypt(&f.world.params, &f.world.secret).unwrap();
        let off = found.iter().zip(&x).map(|(y, x)| y - times * (x * 13 % 256) as f64);
        (off.map(|e| e * e).sum::<f64>() / 1024.0).sqrt() * 2f64.sqrt()
    };
    let (one, many) = (error(&y, 1.0), error(&sum, 16.0));
    assert!((many / one - 16.0).abs() < 1e-3);
    let (predicted_one, predicted) =
        (y.values().inner().metadata().noise(), sum.values().inner().metadata().noise());
    assert!((predicted / predicted_one - 16.0).abs() < 1e-6);
    assert!(many < 1.5 * predicted && 4.0 * many > predicted, "{many:e} {predicted:e}");
    let wanted: Vec<usize> = x.iter().map(|x| x * 13 % 256 * 16 % 256).collect();
    assert_eq!(f.decrypt(&sum), wanted);
}

#[test]
fn several_tables_two_variables_and_digits() {
    let f = bytes();
    let on = f.eval.integers();
    let x = random(&f, 1024, 256);
    let ct = f.integers(&x, 256);
    let tables: Vec<IntTable> = (1..4)
        .map(|s| IntTable::new(256, 16, move |k| (k >> s) % 16).unwrap())
        .chain([IntTable::new(256, 256, |k| k ^ 0x5a).unwrap()])
        .collect();
    let results = on.tables(&ct, &tables.iter().collect::<Vec<_>>()).unwrap();
    for (s, result) in (1..4).zip(&results) {
        assert_eq!(result.modulus(), 16);
        assert_eq!(f.decrypt(result), x.iter().map(|k| (k >> s) % 16).collect::<Vec<_>>());
    }
    assert_eq!(f.decrypt(&results[3]), x.iter().map(|k| k ^ 0x5a).collect::<Vec<_>>());

    // Two results of 16 values each are the digits of one table of 256 entries.
    let product = on.table_of_two(&results[0], &results[2], 256, |a, b| a * b).unwrap();
    let wanted: Vec<usize> = x.iter().map(|k| ((k >> 1) % 16) * ((k >> 3) % 16)).collect();
    assert_eq!(f.decrypt(&product), wanted);
    // Moduli that are no powers of two: the scales differ, and a level brings them together.
    let few = random(&f, 100, 7);
    let more = random(&f, 100, 11);
    let above = f.bootstrapper.input_level() + 2;
    let (a, b) = (f.integers_at(&few, 7, above), f.integers_at(&more, 11, above));
    let distance = |a: usize, b: usize| a.abs_diff(b);
    let apart = on.table_of_two(&a, &b, 11, distance).unwrap();
    let wanted: Vec<usize> = few.iter().zip(&more).map(|(&a, &b)| distance(a, b)).collect();
    assert_eq!(f.decrypt(&apart), wanted);

    let digits = on.digits(&ct, 16).unwrap();
    assert_eq!(digits.len(), 2);
    assert_eq!(f.decrypt(&digits[0]), x.iter().map(|k| k % 16).collect::<Vec<_>>());
    assert_eq!(f.decrypt(&digits[1]), x.iter().map(|k| k / 16).collect::<Vec<_>>());
    let high = on.table(&digits[1], |k| 15 - k).unwrap();
    assert_eq!(f.decrypt(&high), x.iter().map(|k| 15 - k / 16).collect::<Vec<_>>());
}

#[test]
fn integers_become_reals_and_come_back() {
    let f = bytes();
    let on = f.eval.integers();
    for count in [300, 800] {
        let x = random(&f, count, 256);
        let y = on.table(&f.integers(&x, 256), |k| k / 3).unwrap();
        let reals = on.to_reals(&y).unwrap();
        let found: Vec<f64> = reals.iter().flat_map(|part| f.world.decrypt::<f64>(part)).collect();
        assert_eq!(found.len(), count);
        assert!(found.iter().zip(&x).all(|(y, x)| (y - (x / 3) as f64).abs() < 1e-2));
        let halves: Vec<&[usize]> = x.chunks(512).collect();
        for (part, x) in reals.iter().zip(halves) {
            let back = on.from_reals(part, 256).unwrap();
            let again = on.table(&back, |k| (k + 1) % 256).unwrap();
            assert_eq!(f.decrypt(&again), x.iter().map(|x| x / 3 + 1).collect::<Vec<_>>());
        }
    }
}

/// The simulator meets the same metadata and the same errors.
#[test]
fn the_simulator_says_it_beforehand() {
    let f = bytes();
    let simulator = f.simulator();
    fn program<A: CkksOps>(
        a: &A,
        x: &IntVec<A::Ciphertext>,
    ) -> bellerophon_ckks::Result<IntVec<A::Ciphertext>> {
        let on = a.integers();
        let y = on.table(x, |k| (k * 5 + 1) % 256)?;
        on.add_constant(&on.add(&y, &on.mul_constant(&y, 3)?)?, 17)
    }
    for count in [100, 900] {
        let x = random(&f, count, 256);
        let ct = f.integers(&x, 256);
        let level = f.bootstrapper.input_level();
        let plain = simulator.encrypt_integers(&x, 256, level).unwrap();
        let (found, predicted) =
            (program(&f.eval, &ct).unwrap(), program(&simulator, &plain).unwrap());
        assert_eq!(found.values().inner().metadata(), *predicted.values().inner().metadata());
        assert_eq!(found.values().range(), predicted.values().range());
        let wanted: Vec<usize> = x.iter().map(|k| ((k * 5 + 1) % 256 * 4 + 17) % 256).collect();
        assert_eq!(f.decrypt(&found), wanted);
    }
    let report = simulator.report();
    assert_eq!(report.functional, 2);
    assert!((report.failures.log2() + 127.0).abs() < 1e-9);
    assert!((f.eval.failures().log2() + 127.0).abs() < 1e-9);
}

#[test]
fn what_cannot_work_is_refused() {
    let f = bytes();
    let on = f.eval.integers();
    let x = f.integers(&[1, 2, 3], 256);
    // Integers that are not below the modulus, moduli, tables.
    let encoder = Encoder::new(&f.world.params);
    let outside = encoder.encode_integers(&f.bootstrapper, &[3, 256], 256, 2);
    let above = "the integer at position 1 of 2 is not below the modulus 256";
    assert!(refusal(&outside).is(&ErrorKind::Range, above));
    for modulus in [0, 1, 65537] {
        let refused = encoder.encode_integers(&f.bootstrapper, &[0], modulus, 2);
        assert!(matches!(refusal(&refused).kind(), ErrorKind::Shape));
    }
    assert!(matches!(refusal(&IntTable::new(256, 16, |k| k)).kind(), ErrorKind::Shape));
    assert!(
        refusal(&IntTable::real(4, |_| f64::NAN))
            .is(&ErrorKind::NotFinite, "the entry at position 0 of 4 is NaN or")
    );
    let other = IntTable::new(16, 16, |k| k).unwrap();
    assert!(matches!(refusal(&on.tables(&x, &[&other])).kind(), ErrorKind::Shape));
    assert!(
        refusal(&on.tables(&x, &[]))
            .is(&ErrorKind::Length, "no operands or values: need at least one")
    );
    let real = IntTable::real(256, |k| k as f64).unwrap();
    assert!(matches!(refusal(&on.tables(&x, &[&real])).kind(), ErrorKind::Shape));
    // Other moduli and lengths.
    let y = f.integers(&[1, 2, 3], 16);
    assert!(matches!(refusal(&on.add(&x, &y)).kind(), ErrorKind::Shape));
    assert!(
        refusal(&on.add(&x, &f.integers(&[1], 256)))
            .is(&ErrorKind::Length, "need equally many; repeat the shorter")
    );
    assert!(matches!(refusal(&on.modulo(&x, 7)).kind(), ErrorKind::Shape));
    assert!(matches!(
        refusal(&on.beside(&x, &x).and_then(|z| on.beside(&z, &y))).kind(),
        ErrorKind::Shape
    ));
    // More entries than the chain has levels for.
    let wide = f.integers(&[5, 700], 1 << 16);
    assert!(matches!(refusal(&on.table(&wide, |k| k)).kind(), ErrorKind::OutOfLevels { .. }));
    // Noise that a table does not clean: a fresh vector times a large constant.
    let fine = f.integers(&[1, 2, 3], 1021);
    let mut noisy = fine.clone();
    let refused = (0..6).find_map(|_| {
        noisy = on.mul_constant(&noisy, 500).ok()?;
        on.table(&noisy, |k| k).err()
    });
    assert!(
        matches!(
            &refused,
            Some(e)
                if matches!(e.kind(), ErrorKind::OutOfLevels { .. } | ErrorKind::Noise)
        ),
        "{refused:?}"
    );
    let noise = f.integers(&[1, 2, 3], 256);
    let mut noisy = noise;
    let error = (0..5).find_map(|_| {
        noisy = on.mul_constant(&noisy, 127).ok()?;
        on.table(&noisy, |k| k).err()
    });
    let message = error.unwrap().to_string();
    assert!(message.contains("tolerates") && message.contains("identity"), "{message}");
    // Neither keys nor levels.
    let without = f.world.evaluator();
    assert!(matches!(
        refusal(&without.integers().table(&x, |k| k)).kind(),
        ErrorKind::MissingKey { .. }
    ));
    let low = f.eval.drop_to_level(x.values().inner(), 1).unwrap();
    let low = IntVec::new(low, 256, 3).unwrap();
    assert!(matches!(
        refusal(&on.table(&low, |k| k)).kind(),
        ErrorKind::OutOfLevels { left: 1, .. }
    ));
}
