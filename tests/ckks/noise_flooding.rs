//! Noise bounded in the worst case, and results under flooding noise.

use crate::common;
use bellerophon_circuits::CircuitOps;
use bellerophon_ckks::vectors::Vectors;

use crate::common::{World, refusal, span};
use bellerophon_circuits::{
    chebyshev::Chebyshev,
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, Encoder, ErrorKind, Interval, KeyLevels,
    Result, decrypt, decrypt_values,
    noise::Noise,
    noise_flooding::{Flooding, NoiseBound, Predicted, decrypt_flooded},
    simulator::{SimCiphertext, Simulator},
};
use bellerophon_mlwe::RelinStrategy;
use bellerophon_ring::{Modulus, prime};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// The length of the noise polynomial: the slots are an isometry up to `sqrt(N / 2)`.
fn length(world: &World, ct: &Ciphertext, expected: &[f64]) -> f64 {
    let plain = decrypt(&world.params, ct, &world.secret).unwrap();
    let slots = Encoder::new(&world.params).decode_slots(&plain).unwrap();
    assert_eq!(slots.len(), world.params.max_slots());
    let square: f64 = slots.iter().zip(expected).map(|(z, x)| (z - x).norm_sqr()).sum();
    ct.metadata().meta.scale * (square / slots.len() as f64).sqrt()
}

fn bound_of(
    world: &World,
    program: impl Fn(&Simulator, &SimCiphertext) -> Result<SimCiphertext>,
) -> Result<NoiseBound> {
    let simulator = Simulator::new(&world.params).worst_case();
    let zeros = vec![0.0; world.params.max_slots()];
    let x = simulator.encrypt(&zeros, span(&zeros), world.params.max_level())?;
    let x = simulator.with_range(x, Interval::real(-1.0, 1.0)?);
    simulator.noise_bound(&program(&simulator, &x)?)
}

fn doubled<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    (0..8).try_fold(x.clone(), |y, _| a.add(&y, &y))
}

fn powers<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let x2 = a.square(x)?;
    a.mul(&a.mul(&x2, x)?, &x2)
}

/// The noise of what hangs together is as large as the bound allows, and as ciphertexts predict;
/// elsewhere, too, it stays below the bound, and the bound says something.
#[test]
fn bounds_hold_however_errors_hang_together() {
    let spec = KeyLevels::default().multiply(3).rotate([1], 3);
    let world = World::new(11, 3, spec);
    let n = world.params.max_slots();
    // Messages at the ends of their range, where products bring most noise along.
    let x: Vec<f64> = world.reals(n).into_iter().map(f64::signum).collect();
    let ct = world.encrypt_span(&x);
    let a = &world.evaluator();
    let shown = |found: &Ciphertext, expected: &[f64], bound: Result<NoiseBound>, loose: f64| {
        let (measured, bound) = (length(&world, found, expected), bound.unwrap());
        assert!(measured < bound.length(), "measured {measured:e}, bound {:e}", bound.length());
        assert!(measured * loose > bound.length(), "{measured:e}, {:e}", bound.length());
        assert_eq!(bound.metadata().level, found.level());
        measured / (found.meta().noise.total * 2.0 * n as f64).sqrt()
    };
    // A source is taken to be up to 5 times as long as it is on average at this degree.
    shown(&ct, &x, bound_of(&world, |_, x| Ok(x.clone())), 6.0);
    let many: Vec<f64> = x.iter().map(|x| 256.0 * x).collect();
    let beyond =
        shown(&doubled(a, &ct).unwrap(), &many, bound_of(&world, doubled::<Simulator>), 6.0);
    // 2^8 times the noise, as the prediction says.
    assert!((0.9..1.1).contains(&beyond), "{beyond}");
    shown(&powers(a, &ct).unwrap(), &x, bound_of(&world, powers::<Simulator>), 40.0);
    let mut first = vec![0.0; n];
    first[0] = 0.5;
    let program =
        |a: &Simulator, x: &SimCiphertext| a.sub(&a.mul_values(x, &first)?, &a.rotate(x, 1)?);
    let found = a.sub(&a.mul_values(&ct, &first).unwrap(), &a.rotate(&ct, 1).unwrap());
    let expected: Vec<f64> = (0..n).map(|i| 0.5 * x[i] * f64::from(u8::from(i == 0))).collect();
    let expected: Vec<f64> = (0..n).map(|i| expected[i] - x[(i + 1) % n]).collect();
    shown(&found.unwrap(), &expected, bound_of(&world, program), 20.0);
}

/// `sigma = sqrt(12 q) 2^(s/2) t`, and what follows from it.
#[test]
fn accounting_by_hand() {
    let one = Flooding::new(1, 30.0).unwrap();
    assert!((one.deviation(1.0) - 113_511.681_725).abs() < 1e-4);
    assert!((one.log2_distance() + 15.0 + 2.792_481).abs() < 1e-5);
    let many = Flooding::new(100, 40.0).unwrap();
    assert!((many.deviation(2.0) - 2.0 * 36_323_738.152).abs() < 1.0);
    for (terms, queries, bits) in [(one, 1.0, 30.0f64), (many, 100.0, 40.0)] {
        // The divergence of all queries from noise about zero: 2^-s / 24.
        let ratio = 3.5 / terms.deviation(3.5);
        let divergence = queries * ratio * ratio / 2.0;
        let expected = (-bits).exp2() / 24.0;
        assert!((divergence / expected - 1.0).abs() < 1e-12);
        assert!(((divergence / 2.0).sqrt().log2() - terms.log2_distance()).abs() < 1e-9);
    }
    for (queries, bits) in [(0, 30.0), (1, 0.5), (1, 64.5), (1, f64::NAN)] {
        assert!(
            refusal(&Flooding::new(queries, bits))
                .is(&ErrorKind::Argument, "bits: need at least 1 query, and 1 to 64")
        );
    }
}

/// What is added has the deviation that was asked for, in every slot, and differs from call to
/// call.
#[test]
fn flooding_is_as_wide_as_stated() {
    let world = World::new(11, 1, KeyLevels::default().multiply(1));
    let n = world.params.max_slots();
    let x = world.reals(n);
    let ct = world.evaluator().square(&world.encrypt_span(&x)).unwrap();
    let bound = bound_of(&world, |a, x| a.square(x)).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (mut sums, mut square) = (vec![0.0; n], 0.0);
    let calls = 20;
    let terms = Flooding::new(3, 12.0).unwrap();
    let predicted = Predicted::new(&bound, &terms);
    assert_eq!(predicted.deviation, 6.0 * 64.0 * bound.length());
    for _ in 0..calls {
        let flooded = decrypt_flooded(&world.params, &ct, &world.secret, &bound, &terms, &mut rng);
        let found: Vec<f64> = Encoder::new(&world.params).decode(&flooded.unwrap()).unwrap();
        for ((sum, found), x) in sums.iter_mut().zip(&found).zip(&x) {
            let error = found - x * x;
            assert!(error.abs() < predicted.worst(-20.0));
            *sum += error;
            square += error * error;
        }
    }
    let std = (square / (calls * n) as f64).sqrt();
    assert!((std / predicted.slot_std() - 1.0).abs() < 0.03, "{std:e} {:e}", predicted.slot_std());
    // Independent from call to call: sums grow by the root of their number.
    let of_sums = (sums.iter().map(|s| s * s).sum::<f64>() / (calls * n) as f64).sqrt();
    assert!((of_sums / predicted.slot_std() - 1.0).abs() < 0.1, "{of_sums:e}");
}

/// The attack of Li and Micciancio, section 3: from a decrypted vector, the phase; from the phase,
/// the key. Under flooding noise it comes to nothing.
#[test]
fn keys_are_in_decryptions_not_in_shared_results() {
    let world = World::new(10, 1, KeyLevels::default());
    let (params, n) = (&world.params, world.params.max_slots());
    let x = world.complex(n);
    let ct = world.encrypt_span(&x);
    let ternary = |values: &[Complex64]| {
        let phase = Encoder::new(params)
            .encode(values, span(values), ct.metadata().meta.scale, ct.lattice().limbs())
            .unwrap();
        let (q, ring) = (params.ring(1).modulus(0), params.ring(1));
        let (b, a) = (ct.lattice().b(), &ct.lattice().masks()[0]);
        let mut secret = ring.forward(ring.from_signed(&vec![0; params.lattice().spec().degree]));
        for (j, s) in secret.limb_mut(0).iter_mut().enumerate() {
            let inverse = q.pow(a.limb(0)[j], q.value() - 2);
            *s = q.mul(q.sub(phase.poly().limb(0)[j], b.limb(0)[j]), inverse);
        }
        let secret = ring.inverse(secret);
        secret.limb(0).iter().filter(|&&s| q.center(s).abs() <= 1).count()
    };
    let decrypted: Vec<Complex64> = decrypt_values(params, &ct, &world.secret).unwrap();
    assert_eq!(ternary(&decrypted), params.lattice().spec().degree);
    let bound = {
        let simulator = Simulator::new(params).worst_case();
        let y = simulator.encrypt(&x, span(&x), params.max_level()).unwrap();
        simulator.noise_bound(&y).unwrap()
    };
    let terms = Flooding::new(1, 30.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let flooded = decrypt_flooded(params, &ct, &world.secret, &bound, &terms, &mut rng).unwrap();
    let shared: Vec<Complex64> = Encoder::new(params).decode(&flooded).unwrap();
    assert!(shared.iter().zip(&x).all(|(a, b)| (a - b).norm() < 1e-3));
    assert!(ternary(&shared) < 8);
}

#[test]
fn what_has_no_bound_or_does_not_fit_it_is_refused() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    let (a, x) = (&world.evaluator(), world.encrypt_span(&vec![0.5; 512]));
    // Averages are no bounds.
    let average = Simulator::new(&world.params);
    let vector = average.encrypt(&[0.5], span(&[0.5]), 2).unwrap();
    assert!(
        refusal(&average.noise_bound(&vector))
            .is(&ErrorKind::Request, "averages and worst-case bounds of noise do")
    );
    let bootstrap = bound_of(&world, |a, x| a.bootstrap(x));
    assert!(matches!(refusal(&bootstrap).kind(), ErrorKind::MissingKey { .. }));

    let terms = Flooding::new(1, 10.0).unwrap();
    let share = |x: &Ciphertext, bound: &NoiseBound, terms| {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        decrypt_flooded(&world.params, x, &world.secret, bound, terms, &mut rng)
    };
    let square = bound_of(&world, |a, x| a.square(x)).unwrap();
    let y = a.square(&x).unwrap();
    assert!(share(&y, &square, &terms).is_ok());
    // Another level; a wider range; another size; padding handed out as values.
    let other = share(&x, &square, &terms);
    assert!(refusal(&other).is(&ErrorKind::Request, "the level is"), "{other:?}");
    let wide = y.clone().assume_range_with_padding(Interval::real(-1.0, 1.5).unwrap());
    assert!(refusal(&share(&wide, &square, &terms)).is(&ErrorKind::Domain, "outside the domain ["));
    let short = a.square(&world.encrypt_span(&[0.5, 0.25])).unwrap();
    assert!(refusal(&share(&short, &square, &terms)).is(&ErrorKind::Shape, "slots: need"));
    let three = a.square(&world.encrypt_span(&[0.5, 0.25, 1.0])).unwrap();
    let of_three = {
        let simulator = Simulator::new(&world.params).worst_case();
        let x = simulator.encrypt(&[1.0, -1.0, 0.0], span(&[1.0, -1.0, 0.0]), 2).unwrap();
        simulator.noise_bound(&simulator.square(&x).unwrap()).unwrap()
    };
    assert!(share(&three, &of_three, &terms).is_ok());
    let longer = a.with_len(three.clone(), 4).unwrap();
    assert!(
        refusal(&share(&longer, &of_three, &terms))
            .is(&ErrorKind::Request, "simulate the program that the evaluator")
    );
    // A sum of squares in the place of one: more noise than any square has.
    let many = vec![&y; 4096];
    let sum = a.add_many(&many).unwrap().assume_range_with_padding(*y.range());
    assert!(
        refusal(&share(&sum, &square, &terms))
            .is(&ErrorKind::Request, "simulate the program that the evaluator")
    );
    // Noise that could wrap around the 55 bits of the lowest level, and noise that nothing samples.
    let low = bound_of(&world, |a, x| a.drop_to_level(&a.square(x)?, 0)).unwrap();
    let z = a.drop_to_level(&y, 0).unwrap();
    assert!(share(&z, &low, &terms).is_ok());
    let strict = Flooding::new(1 << 20, 60.0).unwrap();
    assert!(refusal(&share(&z, &low, &strict)).is(&ErrorKind::Range, "may reach at most"));
    assert!(matches!(
        refusal(&share(&y, &square, &Flooding::new(1 << 60, 64.0).unwrap())).kind(),
        ErrorKind::Parameters
    ));
}

/// An average does not become a bound by being shown to a simulator in the worst case, nor by an
/// operation of one, nor does a vector of other parameters.
#[test]
fn bounds_come_from_one_worst_case_alone() {
    let params = common::params(10, 2);
    let (average, worst) = (Simulator::new(&params), Simulator::new(&params).worst_case());
    let x = average.encrypt(&[0.5, -0.5], span(&[0.5, -0.5]), 2).unwrap();
    let y = worst.encrypt(&[0.5, -0.5], span(&[0.5, -0.5]), 2).unwrap();
    let refused = |found: Result<SimCiphertext>| {
        assert!(
            refusal(&found).is(&ErrorKind::Request, "averages and worst-case bounds of noise do"),
            "{found:?}"
        );
    };
    assert!(
        refusal(&worst.noise_bound(&x))
            .is(&ErrorKind::Request, "averages and worst-case bounds of noise do")
    );
    refused(worst.add(&y, &x));
    refused(worst.mul(&x, &y));
    refused(worst.mul_scalar(&x, 2.0));
    refused(worst.rotate(&x, 1));
    refused(worst.sum_of_rotations(&[(&y, &[0]), (&x, &[1])]));
    refused(worst.dot_values(&[&y, &x], &[vec![1.0; 2], vec![1.0; 2]]));
    refused(worst.linear_combination(&[(&y, 1.0), (&x, 1.0)], 0.0, None));
    refused(average.add(&x, &y));
    assert!(worst.report().failure.is_some());

    // Polynomials of a vector of an average simulator, in both bases.
    let p = Monomial::new(&[0.0, 1.0, 1.0]).unwrap();
    refused(worst.monomial(&x, &p, None));
    let q = Polynomial::new(Chebyshev::new(-1.0, 1.0, vec![0.0, 1.0, 1.0]));
    refused(worst.polynomials(&x, &[(&q, None)]).map(|mut all| all.remove(0)));

    let others = common::params(11, 2);
    let other = Simulator::new(&others).worst_case();
    let foreign = other.encrypt(&[0.5, -0.5], span(&[0.5, -0.5]), 2).unwrap();
    assert!(
        refusal(&worst.noise_bound(&foreign))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    assert!(
        refusal(&worst.add(&y, &foreign))
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    assert!(worst.noise_bound(&worst.add(&y, &y).unwrap()).is_ok());
}

/// The noise of relinearization is that of its route: a bound for one is none for another.
#[test]
fn bounds_belong_to_a_route() {
    let params = common::params(10, 2);
    let direct = Simulator::new(&params).worst_case();
    let bound = |simulator: &Simulator| {
        let x = simulator.encrypt(&[0.5, -0.5], span(&[0.5, -0.5]), 2).unwrap();
        simulator.noise_bound(&simulator.square(&x).unwrap()).unwrap()
    };
    let bound = bound(&direct);
    let lattice = params.lattice();
    let q: Vec<Modulus> = lattice.q().moduli().cloned().collect();
    let p = prime::ntt_primes_below(lattice.spec().degree, 50, 3, &q).unwrap();
    let p = p.iter().map(Modulus::value).collect();
    let route = RelinStrategy::new(lattice, 1, Some((2, p))).unwrap();
    let raised = params.clone().relinearizing(route).unwrap();
    let world = World::of(raised.clone(), KeyLevels::default().multiply(2), 3);
    let y = world.evaluator().square(&world.encrypt_span(&[0.5, -0.5])).unwrap();
    let found = bound.check(&raised, &y);
    assert!(
        refusal(&found).is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from"),
        "{found:?}"
    );
    let vector = Simulator::new(&raised).worst_case().encrypt(&[0.5], span(&[0.5]), 2).unwrap();
    assert!(
        refusal(&direct.noise_bound(&vector))
            .is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from")
    );
}

/// A statement about values is none about padding, whose magnitude multiplies noise, too.
#[test]
fn padding_counts_in_bounds() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2));
    fn program<A: CkksOps>(a: &A, x: &A::Ciphertext, w: &A::Ciphertext) -> Result<A::Ciphertext> {
        // 0 to 0.1 where there are values, and -1000 behind them.
        let y = a.with_range(a.add_scalar(x, -1000.0)?, Interval::real(-1e-6, 0.1)?);
        a.mul(&y, &a.with_len(w.clone(), 3)?)
    }
    let (x, w) = ([1000.0, 1000.05, 1000.1], [1.0, -1.0, 1.0, -1.0]);
    let found =
        program(&world.evaluator(), &world.encrypt_span(&x), &world.encrypt_span(&w)).unwrap();
    let simulator = Simulator::new(&world.params).worst_case();
    let [x, w] = [&x[..], &w[..]].map(|values| simulator.encrypt(values, span(values), 2).unwrap());
    let y = program(&simulator, &x, &w).unwrap();
    let bound = simulator.noise_bound(&y).unwrap();
    let n = world.params.max_slots();
    let expected: Vec<f64> = (0..n).map(|i| [0.0, -0.05, 0.1, 1000.0][i % 4]).collect();
    let measured = length(&world, &world.evaluator().repeated(found, n).unwrap(), &expected);
    assert!(measured < bound.length() && bound.length() < 300.0 * measured, "{measured:e}");
}

/// Scales that pass for one leave a difference in proportion to the message, which a bound counts.
#[test]
fn scales_that_pass_for_one_count_in_bounds() {
    let world = World::new(10, 2, KeyLevels::default().multiply(2).rotate([1], 2));
    fn programs<A: CkksOps>(a: &A, x: A::Ciphertext, y: A::Ciphertext) -> [A::Ciphertext; 3] {
        let y = a.reinterpret_scale(y, NEAR).unwrap();
        let sum = a.add(&x, &y);
        let rotated = a.sum_of_rotations(&[(&x, &[0]), (&y, &[1])]);
        let combined = a.mul_add_many(&[(&x, &x), (&x, &y)], &[], 0.0, None);
        [sum, rotated, combined].map(Result::unwrap)
    }
    const NEAR: f64 = 1.0 + 1.0 / (1u64 << 41) as f64;
    let n = world.params.max_slots();
    let size = 2f64.powi(14);
    let x: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { size } else { -size }).collect();
    let found = programs(&world.evaluator(), world.encrypt_span(&x), world.encrypt_span(&x));
    let simulator = Simulator::new(&world.params).worst_case();
    let shown =
        [simulator.encrypt(&x, span(&x), 2).unwrap(), simulator.encrypt(&x, span(&x), 2).unwrap()];
    let [left, right] = shown;
    let bounds = programs(&simulator, left, right).map(|y| simulator.noise_bound(&y).unwrap());
    for (i, (found, bound)) in found.iter().zip(&bounds).enumerate() {
        let term = |j: usize| match i {
            0 => x[j] + x[j] * NEAR,
            1 => x[j] + x[(j + 1) % n] * NEAR,
            _ => x[j] * x[j] * (1.0 + NEAR),
        };
        let expected: Vec<f64> = (0..n).map(term).collect();
        let measured = length(&world, found, &expected);
        let off = found.range().bound() / 2.0 * (NEAR - 1.0) * found.metadata().meta.scale;
        assert!(measured > 0.9 * off && measured < bound.length(), "{i}: {measured:e} {off:e}");
    }
}

/// A statement of the range includes the error for what may wrap, and not for what flooding has to
/// hide; and what has no bound is not shared.
#[test]
fn bounds_count_the_error_of_the_whole_program() {
    let world = World::new(10, 5, KeyLevels::default());
    let simulator = Simulator::new(&world.params).worst_case();
    let x = simulator
        .encrypt(
            &vec![1.0; world.params.max_slots()],
            span(&vec![1.0; world.params.max_slots()]),
            5,
        )
        .unwrap();
    let square = simulator.square(&x).unwrap();
    let plain = simulator.noise_bound(&square).unwrap();
    let stated = simulator.assume_range_with_padding(square, Interval::real(-1.0, 1.0).unwrap());
    assert_eq!(simulator.noise_bound(&stated).unwrap().length(), plain.length());
    assert_eq!(stated.metadata().excess(), 0.0);
    let meta = stated.metadata().meta;
    let noise = Noise { total: f64::INFINITY, ..meta.noise };
    let endless = simulator.with_metadata(stated, CiphertextMeta { noise, ..meta });
    assert!(
        refusal(&simulator.noise_bound(&endless))
            .is(&ErrorKind::Argument, "need a finite number of at least 0; state")
    );
    // No operation makes a number that is none of it.
    let further = powers(&simulator, &endless).unwrap();
    assert_eq!(further.metadata().noise(), f64::INFINITY);
    assert!(further.metadata().excess() > 0.0 && further.metadata().excess() < 1e-6);
}
