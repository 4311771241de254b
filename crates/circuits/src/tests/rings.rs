//! Vectors between rings: ring switching (DPad-HE, section 4.3), and bootstrapping at rank `r`, by
//! way of RLWE and back (section 6.2) or at the rank itself.

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, Encoder, ErrorKind, EvaluationKeys, Evaluator, Interval,
    KeyLevels, Params, ParamsSpec, RankConversion, RingSwitch, SecretKey, Security, decrypt_values,
    encrypt,
};

use crate::bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper, EvaluatorExt};
use crate::circuit_ops::CircuitOps;
use crate::rank_bootstrap::RankBootstrap;
use crate::tests::common;
use crate::tests::common::{World, max_error, refusal, rotated, span};

/// The set over another ring: same primes, the first `limbs` of them.
fn over(params: &Params, degree: usize, rank: usize, level: usize) -> Params {
    let mut lattice = params.lattice().spec().clone();
    (lattice.degree, lattice.rank) = (degree, rank);
    lattice.q.truncate(params.limbs_at(level));
    let widths = (1..=level).map(|l| params.limbs_at(l) - params.limbs_at(l - 1)).collect();
    let log_scale = params.scale().log2() as u32;
    Params::new(ParamsSpec { lattice, widths, log_scale }).unwrap()
}

/// Root mean square of the errors against what the account says, from both sides.
#[track_caller]
fn assert_noise(found: &[f64], expected: &[f64], predicted: f64, slack: f64) {
    let squares: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    let rms = (squares / found.len() as f64).sqrt();
    assert!(rms < 1.5 * predicted && predicted < slack * rms, "{rms:e}, predicted {predicted:e}");
}

#[test]
fn rings_are_switched_with_the_values_in_their_slots() {
    let large = common::params(11, 5);
    let world = World::of(large.clone(), KeyLevels::default().multiply(5), 1);
    for (degree, slots) in [(1 << 10, 512), (1 << 9, 256), (1 << 9, 64), (1 << 8, 16)] {
        let small = over(&large, degree, 1, 2);
        let mut rng = world.rng.borrow().clone();
        let (switch, part) =
            RingSwitch::generate(&large, &world.secret, &small, slots, &mut rng).unwrap();
        let spec = KeyLevels::default().multiply(2).rotate([1], 2);
        let keys = EvaluationKeys::generate(&small, &part, &spec, &mut rng).unwrap();
        let eval = Evaluator::new(&small, &keys).unwrap();
        assert_eq!(switch.keys().factor(), degree / (2 * slots));
        for used in [slots, slots / 4] {
            let x = world.reals(used);
            let squares: Vec<f64> = x.iter().map(|x| x * x).collect();
            // From above the target's levels, and from below.
            let high = world.evaluator().square(&world.encrypt_span(&x)).unwrap();
            for (ct, expected) in [(high, &squares), (world.encrypt_span_at(&x, 1), &x)] {
                let switched = switch.apply(&ct).unwrap();
                assert_eq!((switched.meta().slots, switched.level()), (used, ct.level().min(2)));
                assert_eq!(switched.lattice().b().degree(), degree);
                let found: Vec<f64> = decrypt_values(&small, &switched, &part).unwrap();
                assert!(max_error(&found, expected) < 16.0 * switched.metadata().noise());
                // Few values say little of a deviation.
                if used >= 64 {
                    assert_noise(&found, expected, switched.metadata().noise(), 1.5);
                }
                // It goes on there.
                let turned = eval.rotate(&switched, 1).unwrap();
                let found: Vec<f64> = decrypt_values(&small, &turned, &part).unwrap();
                assert!(
                    max_error(&found, &rotated(expected, 1)) < 16.0 * turned.metadata().noise()
                );
                let square = eval.square(&switched).unwrap();
                let found: Vec<f64> = decrypt_values(&small, &square, &part).unwrap();
                let expected: Vec<f64> = expected.iter().map(|x| x * x).collect();
                assert!(max_error(&found, &expected) < 16.0 * square.metadata().noise());
                assert!(square.metadata().noise() < 1e-6);
            }
        }
    }
}

#[test]
fn misfits_of_a_switch_are_named() {
    let large = common::params(9, 3);
    let small = over(&large, 1 << 7, 1, 1);
    let world = World::of(large.clone(), KeyLevels::default(), 1);
    let mut rng = world.rng.borrow().clone();
    let (switch, _) = RingSwitch::generate(&large, &world.secret, &small, 16, &mut rng).unwrap();
    let wide = world.encrypt_span(&vec![0.5; 32]);
    assert!(refusal(&switch.apply(&wide)).is(&ErrorKind::Shape, "32 slots: need"));
    let ct = world.encrypt_span(&[0.5]);
    let switched = switch.apply(&ct).unwrap();
    assert!(
        refusal(&switch.apply(&switched))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let other = SecretKey::generate(large.lattice(), &mut rng).unwrap();
    let plain = Encoder::new(&large).encode(&[0.5], span(&[0.5]), large.scale(), 1).unwrap();
    let foreign = encrypt(&large, &plain, &other, &mut rng).unwrap();
    assert_eq!(*refusal(&switch.apply(&foreign)).kind(), ErrorKind::KeyMismatch);
    // No room for the factor at the lowest level.
    let full = world.encrypt_span_at(&[400.0], 0);
    assert!(refusal(&switch.apply(&full)).is(&ErrorKind::Range, "may reach at most"));
    for slots in [3, 128] {
        let refused = RingSwitch::generate(&large, &world.secret, &small, slots, &mut rng);
        assert!(refusal(&refused).is(&ErrorKind::Shape, "slots: need"));
    }
    let refused = RingSwitch::generate(&small, &world.secret, &small, 16, &mut rng);
    assert!(
        refusal(&refused)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    let refused = RingSwitch::generate(&large, &world.secret, &large, 16, &mut rng);
    assert_eq!(*refusal(&refused).kind(), ErrorKind::Shape);
}

/// RLWE of degree `2^10` that can be bootstrapped in up to `slots` slots, and the same lattice at a
/// rank.
fn bootstrapping(rank: usize, slots: usize) -> (Bootstrapper, World) {
    let spec = BootstrapSpec::new(slots);
    let chain = spec.chain(1 << 10, 42, 3, (49, 6)).unwrap();
    let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    let bootstrapper = Bootstrapper::new(&Params::new(params).unwrap(), spec).unwrap();
    let large = bootstrapper.params();
    let small = over(large, large.lattice().spec().degree / rank, rank, large.max_level());
    (bootstrapper, World::of(small, KeyLevels::default().multiply(5), 1))
}

/// `log2` of the probability that an error exceeds the bound of a test.
const LOG2_FAILURE: f64 = -20.0;

/// A bootstrapped vector: values, level, and the error between the prediction and a quarter of it,
/// in the worst slot up to `most` predicted deviations.
#[track_caller]
fn check(world: &World, fresh: &Ciphertext, x: &[Complex64], bias: f64) {
    let found: Vec<Complex64> = world.decrypt(fresh);
    let off: Vec<f64> = found.iter().zip(x).map(|(a, b)| (a - b).norm()).collect();
    assert_eq!(off.len(), x.len());
    let rms = (off.iter().map(|e| e * e).sum::<f64>() / x.len() as f64).sqrt();
    let worst = off.iter().copied().fold(0.0, f64::max);
    let predicted = fresh.metadata().noise();
    assert!(predicted < 2f64.powi(-26), "{predicted:e}");
    assert!(rms < 1.5 * predicted && 4.0 * rms + bias > predicted, "{rms:e}, {predicted:e}");
    let most = fresh.metadata().worst(LOG2_FAILURE);
    assert!(worst < most, "{worst:e}, {most:e}");
}

#[test]
fn ranks_are_bootstrapped_through_rlwe() {
    for (rank, slots) in [(2, 256), (4, 128), (4, 16)] {
        let (bootstrapper, world) = bootstrapping(rank, slots);
        let rng = &mut world.rng.borrow().clone();
        let (level, output) = (bootstrapper.input_level(), bootstrapper.output_level());
        let bias = bootstrapper.approximation_error();
        let bootstrap =
            RankBootstrap::generate(&world.params, &world.secret, bootstrapper, rng).unwrap();
        let real: Vec<Complex64> = world.reals(slots).into_iter().map(Complex64::from).collect();
        let complex: Vec<Complex64> =
            world.complex(slots).iter().map(|z| z / 2f64.sqrt()).collect();
        for x in [real, complex] {
            for level in [level, level + 2] {
                let ct = world.encrypt_span_at(&x, level);
                let ct = match x[0].im {
                    0.0 => world.evaluator().assume_real(ct),
                    _ => ct.assume_range_with_padding(Interval::complex(1.0).unwrap()),
                };
                let fresh = bootstrap.bootstrap(&ct).unwrap();
                assert_eq!((fresh.level(), fresh.meta().slots), (output, slots));
                assert_eq!(fresh.lattice().rank(), rank);
                assert_eq!(fresh.scale(), world.params.scale());
                check(&world, &fresh, &x, bias);
            }
        }
        // The circuit goes on at the rank, and is bootstrapped again.
        let x = world.reals(slots);
        let ct = world.encrypt_span_at(&x, level);
        let fresh = bootstrap.bootstrap(&ct).unwrap();
        let eval = world.evaluator();
        let square = eval.square(&fresh).unwrap();
        // A square doubles what the approximation is off by.
        let squares: Vec<Complex64> = x.iter().map(|x| Complex64::from(x * x)).collect();
        check(&world, &square, &squares, 2.0 * bias);
        let again = bootstrap.bootstrap(&square).unwrap();
        check(&world, &again, &squares, 3.0 * bias);
    }
}

/// The evaluator's own bootstrap is generic in the rank.
#[test]
fn ranks_are_bootstrapped_at_their_own_rank() {
    for rank in [2, 4] {
        let (through, world) = bootstrapping(rank, 16);
        let spec = through.spec().clone();
        let bootstrapper = Bootstrapper::new(&world.params, spec).unwrap();
        let bias = bootstrapper.approximation_error();
        let native = World::of(world.params.clone(), bootstrapper.keys(), 1);
        let rng = &mut native.rng.borrow().clone();
        let keys = BootstrapKeys::generate(bootstrapper.raising(), &native.secret, rng).unwrap();
        let eval = native.evaluator().with_bootstrapping(bootstrapper, keys).unwrap();
        let x: Vec<Complex64> = native.reals(16).into_iter().map(Complex64::from).collect();
        let ct = eval.assume_real(native.encrypt_span_at(&x, 2));
        let fresh = eval.bootstrap(&ct).unwrap();
        assert_eq!((fresh.lattice().rank(), fresh.level()), (rank, through.output_level()));
        check(&native, &fresh, &x, bias);
    }
}

#[test]
fn misfits_of_a_bootstrap_are_named() {
    let (bootstrapper, world) = bootstrapping(2, 16);
    let rng = &mut world.rng.borrow().clone();
    let level = bootstrapper.input_level();
    let large = bootstrapper.params().clone();
    let bootstrap =
        RankBootstrap::generate(&world.params, &world.secret, bootstrapper, rng).unwrap();
    let low = world.encrypt_span_at(&[0.5], level - 1);
    let error = bootstrap.bootstrap(&low).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfLevels { .. }), "{error}");
    let wide = world.encrypt_span_at(&vec![0.5; 32], level);
    assert!(refusal(&bootstrap.bootstrap(&wide)).is(&ErrorKind::Shape, "slots: need"));
    let loud = world.encrypt_span_at(&[1.5], level);
    assert!(matches!(refusal(&bootstrap.bootstrap(&loud)).kind(), ErrorKind::Range));
    let other = World::of(large, KeyLevels::default(), 1);
    let error = bootstrap.bootstrap(&other.encrypt_span_at(&[0.5], level)).unwrap_err();
    assert!(
        error.is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set"),
        "{error}"
    );
    let (wide, world) = bootstrapping(4, 256);
    let refused = RankBootstrap::generate(&world.params, &world.secret, wide, rng).unwrap_err();
    assert!(refused.is(&ErrorKind::Shape, "256 slots: need"), "{refused}");
}

/// To the rank and back, every step on values.
#[test]
fn conversions_round_trip() {
    let large = common::params(11, 3);
    let world = World::of(large.clone(), KeyLevels::default(), 1);
    for rank in [2usize, 8, 64] {
        let small = over(&large, large.lattice().spec().degree / rank, rank, 3);
        let mut rng = world.rng.borrow().clone();
        let (conversion, module) =
            RankConversion::generate(&large, &world.secret, &small, &mut rng).unwrap();
        let x = world.reals(small.max_slots());
        let ct = world.encrypt_span_at(&x, 3);
        let down = conversion.to_rank(&ct).unwrap();
        assert_eq!((down.lattice().rank(), down.level()), (rank, 3));
        let found: Vec<f64> = decrypt_values(&small, &down, &module).unwrap();
        assert!(max_error(&found, &x) < 16.0 * down.metadata().noise());
        assert_noise(&found, &x, down.metadata().noise(), 2.0);
        let up = conversion.from_rank(&down).unwrap();
        world.check(&up, &x);
        assert_noise(&world.decrypt::<f64>(&up), &x, up.metadata().noise(), 2.0);
        let again = conversion.to_rank(&up).unwrap();
        let found: Vec<f64> = decrypt_values(&small, &again, &module).unwrap();
        assert!(max_error(&found, &x) < 16.0 * again.metadata().noise());
    }
}
