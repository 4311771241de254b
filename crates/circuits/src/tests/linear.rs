//! Slot matrices against the same product in the clear, in every form of evaluation.

use bellerophon_ckks::{Complex64, Error, ErrorKind, KeyLevels};

use crate::circuit_ops::CircuitOps;
use crate::diagonals::{Diagonals, GiantStep, Schedule};
use crate::lintrans::{Giants, Hoisting, LinearOptions, LinearTransform};
use crate::tests::common::{World, refusal};

/// A matrix with the given diagonals, random.
fn matrix(world: &World, slots: usize, diagonals: &[usize], real: bool) -> Diagonals {
    let mut m = Diagonals::zero(slots);
    for (i, &k) in diagonals.iter().enumerate() {
        // Some diagonals are periodic.
        let period = if i % 3 == 2 { slots / 2 } else { slots };
        let values = if real {
            world.reals(period).into_iter().map(|x| Complex64::new(x, 0.0)).collect()
        } else {
            world.complex(period)
        };
        m.add_diagonal(k, values);
    }
    m
}

fn steps(transform: &LinearTransform) -> Vec<i64> {
    transform.rotation_steps().into_iter().map(|step| step as i64).collect()
}

#[test]
fn products_by_every_kind_of_giant_step() {
    let scratch = World::new(10, 3, KeyLevels::default());
    for (slots, diagonals) in [
        (512, vec![0, 1, 2, 3, 17, 64, 65, 300, 511]),
        (64, (0..64).collect()),
        (64, vec![5]),
        (8, vec![0]),
        (2, vec![0, 1]),
        (1, vec![0]),
    ] {
        for real in [true, false] {
            let m = matrix(&scratch, slots, &diagonals, real);
            for (giants, hoisting, encode_ahead, halved) in [
                (Giants::Direct, Hoisting::Single, false, true),
                (Giants::Horner, Hoisting::Single, true, false),
                (Giants::Direct, Hoisting::Double, true, false),
                (Giants::Horner, Hoisting::Double, false, false),
                (Giants::Horner, Hoisting::Double, true, true),
            ] {
                let options = LinearOptions { encode_ahead, giants, hoisting, halved };
                let transform = LinearTransform::new(&scratch.params, &m, 2, options).unwrap();
                let spec = KeyLevels::default().rotate(steps(&transform), 2);
                let world = World::of(scratch.params.clone(), spec, 5);
                let x = scratch.complex(slots);
                // From a higher level: the operand is brought down.
                let product =
                    world.evaluator().transform(&world.encrypt_span(&x), &transform).unwrap();
                assert_eq!((product.level(), product.scale()), (1, world.params.scale()));
                world.check_complex(&product, &m.apply(&x));
                let x = scratch.reals(slots);
                let product =
                    world.evaluator().transform(&world.encrypt_span(&x), &transform).unwrap();
                assert_eq!(product.range().is_real(), real);
                let z: Vec<_> = x.iter().map(|&x| Complex64::new(x, 0.0)).collect();
                world.check_complex(&product, &m.apply(&z));
            }
        }
    }
}

#[test]
fn transpose_has_two_diagonals_per_row_less_one() {
    for d in [1, 2, 8] {
        assert_eq!(crate::matrix::transpose(d).unwrap().len(), 2 * d - 1);
    }
}

#[test]
fn horner_needs_one_key_beside_the_babies() {
    let world = World::new(10, 2, KeyLevels::default());
    let m = matrix(&world, 64, &(0..64).collect::<Vec<_>>(), true);
    let options = LinearOptions { giants: Giants::Horner, ..LinearOptions::default() };
    let transform = LinearTransform::new(&world.params, &m, 1, options).unwrap();
    assert_eq!(transform.giant_steps().len(), 1);
    let direct = LinearTransform::new(&world.params, &m, 1, LinearOptions::default()).unwrap();
    assert!(direct.giant_steps().len() > 1);
    assert_eq!(direct.norm, m.norm());
    assert_eq!((direct.level, direct.slots), (1, 64));
}

#[test]
fn halved_baby_steps_take_half_the_keys() {
    let world = World::new(10, 2, KeyLevels::default());
    let m = matrix(&world, 64, &(0..63).collect::<Vec<_>>(), true);
    let steps = |halved, hoisting| {
        let options =
            LinearOptions { giants: Giants::Horner, hoisting, halved, ..LinearOptions::default() };
        let schedule = m.schedule_with_babies(8);
        let transform =
            LinearTransform::with_schedule(&world.params, &m, &schedule, 2, options).unwrap();
        transform.rotation_steps()
    };
    assert_eq!(steps(false, Hoisting::Double), (1..=8).collect::<Vec<_>>());
    assert_eq!(steps(true, Hoisting::Double), [1, 2, 3, 4, 8]);
    // Nothing is saved where the far step is the only one, or where steps have gaps.
    for (babies, expected) in [(vec![0, 1, 2], vec![1, 2]), (vec![0, 5, 14], vec![5, 14])] {
        let giant = vec![GiantStep { step: 0, babies: babies.clone() }];
        let schedule = Schedule { baby: babies.clone(), giant };
        let m = matrix(&world, 64, &babies, true);
        let options = LinearOptions {
            giants: Giants::Direct,
            hoisting: Hoisting::Double,
            halved: true,
            ..LinearOptions::default()
        };
        let transform =
            LinearTransform::with_schedule(&world.params, &m, &schedule, 2, options).unwrap();
        assert_eq!(transform.rotation_steps(), expected);
    }
    // Single hoisting has no second operand.
    assert_eq!(steps(true, Hoisting::Single), steps(false, Hoisting::Single));
}

/// Short ones repeat only when they are asked to.
#[test]
fn short_operands_repeat_and_long_ones_are_refused() {
    let scratch = World::new(10, 2, KeyLevels::default());
    let m = matrix(&scratch, 8, &[0, 1, 5], true);
    let transform = LinearTransform::new(&scratch.params, &m, 2, LinearOptions::default()).unwrap();
    let spec = KeyLevels::default().rotate(steps(&transform), 2);
    let world = World::of(scratch.params.clone(), spec, 7);
    let x = world.reals(4);
    let short = world.encrypt_span(&x);
    let refused = world.evaluator().transform(&short, &transform);
    let refused_as =
        |error: &Error| error.is(&ErrorKind::Length, "4 values against 8: need equally many");
    assert!(refused.as_ref().is_err_and(refused_as), "{refused:?}");
    let product = world.evaluator().transform(&short.broadcast(8).unwrap(), &transform).unwrap();
    let z: Vec<_> = (0..8).map(|j| Complex64::new(x[j % 4], 0.0)).collect();
    let expected: Vec<f64> = m.apply(&z).iter().map(|z| z.re).collect();
    world.check(&product, &expected);
    let long = world.encrypt_span(&world.reals(16));
    let refused = world.evaluator().transform(&long, &transform);
    assert!(refusal(&refused).is(&ErrorKind::Shape, "8 slots: need"), "{refused:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = World::new(10, 2, KeyLevels::default());
    let m = matrix(&world, 8, &[0, 1, 5], true);
    let params = &world.params;
    let prepare = |m: &Diagonals, level| {
        LinearTransform::new(params, m, level, LinearOptions::default()).map(|_| ())
    };
    assert!(refusal(&prepare(&m, 0)).is(
        &ErrorKind::OutOfLevels { needed: 1, left: 0 },
        "needs 1 level(s), 0 left: encrypt at a"
    ));
    assert!(refusal(&prepare(&m, 3)).is(
        &ErrorKind::Level,
        "level 3 was requested, and the highest one here is 2: choose a lower level, or"
    ));
    let nothing = prepare(&Diagonals::zero(8), 1);
    assert!(matches!(refusal(&nothing).kind(), ErrorKind::Shape), "{nothing:?}");
    let large = prepare(&Diagonals::identity(1024), 1);
    assert!(matches!(refusal(&large).kind(), ErrorKind::TooManyValues { .. }), "{large:?}");
    let mut bad = m.clone();
    bad.add_diagonal(2, vec![Complex64::new(f64::NAN, 0.0)]);
    assert!(
        refusal(&prepare(&bad, 1))
            .is(&ErrorKind::NotFinite, "is NaN or infinite: need finite numbers")
    );
    let mut schedule = m.schedule();
    schedule.giant.pop();
    let options = LinearOptions::default();
    let partial = LinearTransform::with_schedule(params, &m, &schedule, 1, options);
    assert!(matches!(refusal(&partial).kind(), ErrorKind::Shape));
    // One diagonal twice and another not at all; a step without diagonals; a step out of range.
    let giant = |step, babies: &[usize]| GiantStep { step, babies: babies.to_vec() };
    for giants in [
        vec![giant(0, &[0, 1, 1])],
        vec![giant(0, &[0, 1, 5]), giant(4, &[])],
        vec![giant(0, &[0, 1]), giant(usize::MAX, &[5])],
    ] {
        let schedule = Schedule { baby: vec![0, 1, 5], giant: giants };
        let wrong = LinearTransform::with_schedule(params, &m, &schedule, 1, options);
        assert!(matches!(refusal(&wrong).kind(), ErrorKind::Shape), "{schedule:?}");
    }

    let transform = LinearTransform::new(params, &m, 1, options).unwrap();
    let x = world.encrypt_span(&world.reals(8));
    let missing = world.evaluator().transform(&x, &transform);
    assert!(
        refusal(&missing).is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"),
        "{missing:?}"
    );
    let low = world.encrypt_span_at(&[0.5; 8], 0);
    let low = world.evaluator().transform(&low, &transform);
    assert!(
        refusal(&low).is(
            &ErrorKind::Level,
            "for level 1, and the vector is at level 0: prepare it for a level"
        ),
        "{low:?}"
    );
    let huge = LinearTransform::new(params, &m.scaled(2f64.powi(57)), 1, options);
    assert!(refusal(&huge).is(&ErrorKind::Range, "may reach at most"), "{:?}", huge.map(|_| ()));
}
