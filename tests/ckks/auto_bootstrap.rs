//! Bootstrapping on plain vectors and on ciphertexts: the same accounts, by hand and automatically,
//! in every operation that takes levels.

mod loops;

use crate::common;
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;

use std::sync::{Arc, LazyLock};

use crate::common::{World, max_error, refusal, span};
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Known, Sign},
    bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    lintrans::{Giants, Hoisting, LinearOptions, LinearTransform},
    matrix::Packing,
    polynomial::{Monomial, Polynomial},
};
use bellerophon_ckks::{
    Ciphertext, CiphertextMeta, CkksOps, Complex64, ComposedOps, Encoder, Error, ErrorKind,
    Evaluator, Interval, KeyLevels, Params, ParamsSpec, Result, Security,
    noise::Noise,
    simulator::{SimCiphertext, Simulator},
    vectors::Vectors,
};
use bellerophon_mlwe::RelinStrategy;
use bellerophon_ring::{Modulus, prime};

const SLOTS: usize = 1 << 4;

/// Three levels between bootstraps, which take two.
static BOOTSTRAPPER: LazyLock<Arc<Bootstrapper>> =
    LazyLock::new(|| Arc::new(Bootstrapper::new(&PARAMS, spec()).unwrap()));

static PARAMS: LazyLock<Params> = LazyLock::new(|| {
    let chain = spec().chain(1 << 10, 42, 3, (49, 6)).unwrap();
    Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap()).unwrap()
});

fn spec() -> BootstrapSpec {
    BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(SLOTS) }
}

fn simulator() -> Simulator {
    Simulator::new(&PARAMS).with_bootstrapping(BOOTSTRAPPER.clone()).unwrap()
}

fn world(keys: KeyLevels) -> (World, Evaluator) {
    let world = World::of(PARAMS.clone(), keys, 5);
    let rng = &mut *world.rng.borrow_mut();
    let keys = BootstrapKeys::generate(BOOTSTRAPPER.raising(), &world.secret, rng).unwrap();
    let eval = world.evaluator().with_bootstrapping(BOOTSTRAPPER.clone(), keys).unwrap();
    let world =
        World { rng: rng.clone().into(), ..World::of(world.params, KeyLevels::default(), 5) };
    (world, eval)
}

fn wave() -> Vec<f64> {
    (0..SLOTS).map(|i| 0.6 + 0.4 * (0.7 * i as f64).sin()).collect()
}

/// The ciphertext is what its simulator says, but for six deviations of the noise that both predict
/// and what the bootstraps' approximations are off by: no program here takes more than the sum of
/// three products, each of two bootstrapped values of magnitude at most 1.
#[track_caller]
fn check(world: &World, found: &Ciphertext, expected: &SimCiphertext, what: &str) {
    assert_eq!(found.metadata(), *expected.metadata(), "{what}");
    let values: Vec<Complex64> = world.decrypt(found);
    let allowed = 6.0 * found.metadata().noise() + 6.0 * BOOTSTRAPPER.approximation_error();
    assert!(allowed < 2f64.powi(-25), "{what}: {allowed:e}");
    for (a, b) in values.iter().zip(expected.values()) {
        assert!((a - b).norm() <= allowed, "{what}: {a} against {b}, allowed {allowed:e}");
    }
}

/// By hand, once and in rounds, of what a program made and of what a bootstrap gave.
fn by_hand<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let y = a.bootstrap(&a.mul(x, &a.rotate(x, 3)?)?)?;
    let z = a.bootstrap_iterated(&a.drop_to_level(&y, 2)?, 2)?;
    let smaller = a.bootstrap_to(&a.mul_integer(&a.neg(x)?, 1)?, a.params().scale() / 4.0)?;
    let cube = a.square(&a.mul_i(&a.sub(&z, &y)?)?)?;
    let imaginary = a.bootstrap(&a.mul_i(x)?)?;
    Ok(vec![y, z, smaller, cube, imaginary])
}

#[test]
fn bootstrapping_programs_have_the_simulated_account() {
    let (simulator, one) = (simulator(), simulator());
    let expected =
        by_hand(&simulator, &simulator.encrypt(&wave(), span(&wave()), 3).unwrap()).unwrap();
    let report = simulator.report();
    assert_eq!((report.bootstraps, report.lowest_level, report.failure), (5, Some(2), None));
    let each = BOOTSTRAPPER.spec().log2_failure;
    assert!((report.failures.log2() - each - 5f64.log2()).abs() < 1e-9);
    one.bootstrap(&one.encrypt(&wave(), span(&wave()), 2).unwrap()).unwrap();
    assert!(report.key_switches > 4 * one.report().key_switches);
    let of_bootstrap = BOOTSTRAPPER.keys();
    assert_eq!(report.keys, of_bootstrap.rotate([3], 3));
    // Nothing but those keys.
    let (world, eval) = world(report.keys);
    let found = by_hand(&eval, &world.encrypt_span_at(&wave(), 3)).unwrap();
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        check(&world, found, expected, &format!("vector {i}"));
    }
    // What is predicted without a program is the same.
    let x = Simulator::new(&PARAMS).encrypt(&wave(), span(&wave()), 2).unwrap();
    let bootstrapped = BOOTSTRAPPER.bootstrapped(x.metadata()).unwrap();
    assert_eq!(
        eval.bootstrap(&world.encrypt_span_at(&wave(), 2)).unwrap().metadata(),
        bootstrapped
    );
}

/// The sums of what bootstraps made of five values in eight slots, with and without zeros behind
/// them.
fn totals<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let moved = a.add_scalar(x, -0.25)?;
    let bootstrapped = [
        a.bootstrap(x)?,
        a.bootstrap_to(x, a.params().scale() / 4.0)?,
        a.bootstrap_iterated(x, 2)?,
        a.bootstrap(&moved)?,
    ];
    bootstrapped.iter().map(|y| a.sum_slots(y)).collect()
}

#[test]
fn bootstrapped_padding_is_zero() {
    let values = &wave()[..5];
    let simulator = simulator();
    let expected =
        totals(&simulator, &simulator.encrypt(values, span(values), 3).unwrap()).unwrap();
    let (world, eval) = world(simulator.report().keys);
    let found = totals(&eval, &world.encrypt_span_at(values, 3)).unwrap();
    let (sum, top) = (values.iter().sum::<f64>(), BOOTSTRAPPER.output_level());
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        check(&world, found, expected, &format!("sum {i}"));
        // A bootstrap clears the padding of the last one, at no level.
        let moved = if i == 3 { 5.0 * 0.25 } else { 0.0 };
        assert!((expected.reals()[0] - sum + moved).abs() < 1e-12, "sum {i}");
        assert_eq!(found.level(), top, "sum {i}");
    }
}

/// Levels that no automatic bootstrap provides: those of an operand below the level of a bootstrap,
/// and those of an operation that takes more than a bootstrapped vector has.
#[test]
fn refusals_say_what_automatic_bootstraps_provide() {
    fn refused<A: CkksOps>(a: &A, x: &A::Ciphertext) -> [Error; 3] {
        let steep = Polynomial::new(Chebyshev::interpolate(|v| (20.0 * v).sin(), -1.0, 1.0, 70));
        let lowest = a.drop_to_level(x, 0).unwrap();
        [
            a.mul_scalar(&lowest, 0.5).map(drop).unwrap_err(),
            a.mul(&lowest, &lowest).map(drop).unwrap_err(),
            a.polynomial(x, &steep, None).map(drop).unwrap_err(),
        ]
    }
    let simulator = simulator().with_auto_bootstrap().unwrap();
    let expected = refused(&simulator, &simulator.encrypt(&wave(), span(&wave()), 5).unwrap());
    let (world, eval) = world(BOOTSTRAPPER.keys().multiply(5));
    let eval = eval.with_auto_bootstrap().unwrap();
    assert_eq!(refused(&eval, &world.encrypt_span_at(&wave(), 5)), expected);
    for (error, needed, left) in [(&expected[0], 1, 0), (&expected[1], 1, 0), (&expected[2], 7, 5)]
    {
        assert_eq!(*error.kind(), ErrorKind::OutOfLevels { needed, left }, "{error}");
        let message = error.to_string();
        assert!(message.contains("from level 2 on") && !message.contains("with_auto_bootstrap"));
    }
}

/// Values far below their noise are enlarged as far as the noise allows, and not refused.
#[test]
fn values_below_their_noise_are_bootstrapped() {
    let (world, eval) = world(BOOTSTRAPPER.keys());
    let x = world.encrypt_span_at(&[0.0; SLOTS], 2);
    let tiny = Interval::real(-1e-18, 1e-18).unwrap();
    let y = eval.bootstrap(&x.assume_range_with_padding(tiny)).unwrap();
    let found: Vec<f64> = world.decrypt(&y);
    assert!(
        found.iter().all(|v| v.abs() < 8.0 * y.metadata().noise().max(y.metadata().excess())),
        "{found:?}"
    );
}

#[test]
fn simulators_fail_where_ciphertexts_do() {
    let (world, eval) = world(BOOTSTRAPPER.keys());
    let both = |values: &[f64], level: usize, refused: fn(&Error) -> bool| {
        let simulator = simulator();
        let expected = simulator
            .bootstrap(&simulator.encrypt(values, span(values), level).unwrap())
            .unwrap_err();
        assert!(refused(&expected), "{expected}");
        let found = eval.bootstrap(&world.encrypt_span_at(values, level)).unwrap_err();
        assert_eq!(found, expected);
        assert_eq!(simulator.report().failure.unwrap().error, expected);
    };
    both(&[0.5], 1, |e| {
        e.op() == "bootstrap"
            && e.is(
                &ErrorKind::OutOfLevels { needed: 2, left: 1 },
                "from level 2 on, and this one is at level 1, which nothing raises",
            )
    });
    both(&[1.5], 2, |e| matches!(e.kind(), ErrorKind::Range));
    both(&[0.5; 2 * SLOTS], 2, |e| e.op() == "bootstrap" && e.is(&ErrorKind::Shape, "slots: need"));
    let without = Simulator::new(&PARAMS);
    let x = without.encrypt(&[0.5], span(&[0.5]), 2).unwrap();
    assert!(matches!(
        without.bootstrap(&x),
        Err(e) if e.op() == "bootstrap" && matches!(e.kind(), ErrorKind::MissingKey { .. })
    ));
    assert!(without.with_auto_bootstrap().is_err());
    let other = Simulator::new(&common::params(10, 3)).with_bootstrapping(BOOTSTRAPPER.clone());
    assert!(
        refusal(&other)
            .is(&ErrorKind::ParamsMismatch, "use operands and keys of one parameter set")
    );
    // The same chain, relinearizing another way.
    let lattice = world.params.lattice();
    let q: Vec<Modulus> = lattice.q().moduli().cloned().collect();
    let p = prime::ntt_primes_below(lattice.spec().degree, 50, 6, &q).unwrap();
    let p = p.iter().map(Modulus::value).collect();
    let route = RelinStrategy::new(lattice, 1, Some((2, p))).unwrap();
    let raised = world.params.clone().relinearizing(route).unwrap();
    let other = Simulator::new(&raised).with_bootstrapping(BOOTSTRAPPER.clone());
    assert!(
        refusal(&other).is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from")
    );
    let raised = World::of(raised, KeyLevels::default(), 5);
    let keys = BootstrapKeys::generate(
        BOOTSTRAPPER.raising(),
        &raised.secret,
        &mut *raised.rng.borrow_mut(),
    );
    let other = raised.evaluator().with_bootstrapping(BOOTSTRAPPER.clone(), keys.unwrap());
    assert!(
        refusal(&other).is(&ErrorKind::ParamsMismatch, "make the keys or the bootstrapper from")
    );
}

type Case<V> = (&'static str, Result<V>);

/// Every operation that takes levels, on vectors that have none to spare, one of them of 4 slots,
/// and on a high one.
fn operations<A: CkksOps>(
    a: &A,
    [x, y, few, high]: &[A::Ciphertext; 4],
) -> Vec<Case<A::Ciphertext>> {
    let (params, scale) = (a.params(), a.params().scale());
    let values: Vec<f64> = (0..SLOTS).map(|i| i as f64 / SLOTS as f64).collect();
    let polynomial =
        |f: fn(f64) -> f64, degree| Polynomial::new(Chebyshev::interpolate(f, -1.0, 1.0, degree));
    let (p, q) = (polynomial(f64::sin, 7), polynomial(f64::cos, 4));
    let m = Monomial::new(&[0.1, 0.2, 0.3, 0.2]).unwrap();
    let complex = Monomial::complex(&[Complex64::I, Complex64::ONE, Complex64::I]).unwrap();
    let transform = |hoisting| {
        let mut matrix = Diagonals::zero(SLOTS);
        for k in [0, 1, 2, 5] {
            let d = (0..SLOTS).map(|i| Complex64::from((i + k) as f64 / 200.0)).collect();
            matrix.add_diagonal(k, d);
        }
        let at = LinearOptions { giants: Giants::Horner, hoisting, ..LinearOptions::default() };
        LinearTransform::new(params, &matrix, 4, at).unwrap()
    };
    let function = |f: Function, lo, log2_error: f64| {
        a.apply(x, &Approximation::new(&f, lo, 1.0, Accuracy::bits(-log2_error)).unwrap())
    };
    let sign = Sign::of_degrees(1.0, 0.25, &[3, 3]).unwrap();
    let short = Sign::of_degrees(1.0, 0.25, &[3]).unwrap();
    // At a scale of its own, as sums of several histories meet.
    let drifted = a.reinterpret_scale(y.clone(), 0.999).unwrap();
    let packing = Packing::new(4, 4).unwrap();
    vec![
        ("mul", a.mul(x, y)),
        ("mul by a high one", a.mul(high, x)),
        ("square", a.square(x)),
        ("mul with itself", a.mul(x, x)),
        ("mul_unscaled", a.mul_no_rescale(x, y).and_then(|z| a.rescale(&z))),
        ("square_unscaled", a.square_no_rescale(x).and_then(|z| a.rescale(&z))),
        ("mul_values", a.mul_values(x, &values)),
        ("mul_values_to", a.mul_values_to(x, &values, 1.5 * scale)),
        ("mul_scalar", a.mul_scalar(x, -0.3)),
        ("mul_complex", a.mul_complex(x, Complex64::new(0.5, -0.25))),
        ("products", a.mul_add_many(&[(x, y), (y, x), (high, x)], &[], 0.1, None)),
        ("products and terms", a.mul_add_many(&[(x, high)], &[(y, 0.5), (high, 0.25)], 0.0, None)),
        (
            "products to a scale",
            a.mul_add_many(&[(x, y), (high, y)], &[(x, 0.5)], 0.0, Some(scale)),
        ),
        ("products of two scales", a.mul_add_many(&[(x, y), (x, &drifted)], &[], 0.1, None)),
        ("values of two scales", a.dot_values(&[x, &drifted], &[values.clone(), values.clone()])),
        ("rotations of two scales", a.sum_of_rotations(&[(x, &[0, 1]), (&drifted, &[1])])),
        ("linear_combination", a.linear_combination(&[(x, 0.5), (&drifted, 0.25)], 0.1, None)),
        ("dot", a.dot(&[x, y, x], &[y, y, high])),
        (
            "dot_values",
            a.dot_values(&[x, high, y], &[values.clone(), vec![0.5; SLOTS], vec![0.25; SLOTS]]),
        ),
        ("polynomial", a.polynomial(x, &p, None)),
        ("polynomials", {
            a.polynomials(x, &[(&p, None), (&q, None)]).and_then(|both| a.add(&both[0], &both[1]))
        }),
        ("monomial", a.monomial(x, &m, None)),
        ("complex monomial", a.monomial(x, &complex, None)),
        ("transform", a.transform(x, &transform(Hoisting::Single))),
        ("transform hoisted twice", a.transform(x, &transform(Hoisting::Double))),
        ("match_scale", a.match_scale(x, 1.01 * scale, 2)),
        ("add", a.add(x, &drifted)),
        ("sub", a.sub(&drifted, x)),
        ("keep", a.mask(x, 2..7)),
        ("clear_padding", a.with_len(x.clone(), 5).and_then(|x| a.clear_padding(&x))),
        ("replicate_slot", a.replicate_slot(x, 3)),
        ("matrix by rows", packing.times_by_rows(a, x, few)),
        ("inverse", function(Function::from(Known::Inverse), 0.2, -4.0)),
        ("exp", function(Function::from(Known::Exp), -1.0, -12.0)),
        ("root", function(Function::from(Known::Sqrt), 0.2, -7.0)),
        ("deep root", function(Function::from(Known::Sqrt), 0.1, -11.0)),
        ("short sign", a.sign(x, &short)),
        ("sign", a.sign(x, &sign)),
        ("step", a.step(x, &sign)),
        ("greater", a.greater(x, y, &sign)),
        ("short maximum", a.max(x, y, &short)),
        ("maximum beside a high one", a.max(high, y, &short)),
        ("maximum", a.max(x, y, &sign)),
        ("minimum", a.min(x, y, &sign)),
        ("magnitude", a.abs(x, &sign)),
        ("short magnitude", a.abs(x, &short)),
        ("rectifier", a.relu(x, &sign)),
    ]
}

/// Every operation that takes levels.
#[test]
fn operations_short_of_levels_bootstrap_automatically() {
    let (x, y) = (wave(), wave().into_iter().rev().collect::<Vec<_>>());
    let (least, top) = (BOOTSTRAPPER.input_level(), BOOTSTRAPPER.output_level());
    let automatic = simulator().with_auto_bootstrap().unwrap();
    let inputs = [(&x[..], least), (&y, least), (&y[..4], least), (&x, top)];
    let on_simulator =
        |s: &Simulator| inputs.map(|(v, level)| s.encrypt(v, span(v), level).unwrap());
    let expected = operations(&automatic, &on_simulator(&automatic));
    let report = automatic.report();
    assert!(report.failure.is_none(), "{report}");
    assert!(report.bootstraps >= expected.len(), "{report}");
    // Nothing of it works, or can be worked with, otherwise.
    let plain = simulator();
    for (what, result) in operations(&plain, &on_simulator(&plain)) {
        assert!(result.is_err() || result.unwrap().metadata().level < least, "{what}");
    }
    let (world, eval) = world(report.keys);
    let eval = eval.with_auto_bootstrap().unwrap();
    let found = operations(&eval, &inputs.map(|(v, level)| world.encrypt_span_at(v, level)));
    assert_eq!(found.len(), expected.len());
    for ((what, found), (_, expected)) in found.iter().zip(&expected) {
        let (found, expected) = (found.as_ref().unwrap(), expected.as_ref().unwrap());
        assert!(found.level() >= least, "{what} ends at level {}", found.level());
        check(&world, found, expected, what);
    }
}

#[test]
fn repeated_operands_are_bootstrapped_once() {
    let (least, top) = (BOOTSTRAPPER.input_level(), BOOTSTRAPPER.output_level());
    let bootstraps = |program: fn(&Simulator, [&SimCiphertext; 3]) -> Result<SimCiphertext>| {
        let simulator = simulator().with_auto_bootstrap().unwrap();
        let [x, y, high] = [least, least, top]
            .map(|level| simulator.encrypt(&wave(), span(&wave()), level).unwrap());
        program(&simulator, [&x, &y, &high]).unwrap();
        simulator.report().bootstraps
    };
    assert_eq!(bootstraps(|a, [x, y, high]| a.dot(&[x, y, x], &[y, y, high])), 2);
    assert_eq!(
        bootstraps(
            |a, [x, y, _]| a.dot_values(&[x, y, x], &[0.5, 0.25, 1.0].map(|c| vec![c; SLOTS]))
        ),
        2
    );
    assert_eq!(
        bootstraps(|a, [x, y, _]| a.linear_combination(&[(x, 0.5), (y, 1.0), (x, 2.0)], 0.0, None)),
        2
    );
    // Two clones are two operands.
    assert_eq!(bootstraps(|a, [x, ..]| a.dot(&[x], &[&x.clone()])), 2);
}

/// What has no simulator: encoded plaintexts, at any level.
#[test]
fn products_with_plaintexts_bootstrap_automatically() {
    let simulator = simulator().with_auto_bootstrap().unwrap();
    let values: Vec<f64> = (0..SLOTS).map(|i| i as f64 / SLOTS as f64).collect();
    let x = simulator.encrypt(&wave(), span(&wave()), 2).unwrap();
    let expected = simulator.mul_values(&x, &values).unwrap();
    let sums = simulator.dot_values(&[&x, &x], &[values.clone(), vec![0.5; SLOTS]]).unwrap();
    let (world, eval) = world(BOOTSTRAPPER.keys());
    let eval = eval.with_auto_bootstrap().unwrap();
    let encoder = Encoder::new(&world.params);
    let x = world.encrypt_span_at(&wave(), 2);
    // Six deviations, and what the approximation of a bootstrap of each operand is off by.
    let near = |found: &Ciphertext, expected: &SimCiphertext| {
        let allowed = 6.0 * found.metadata().noise() + 2.0 * BOOTSTRAPPER.approximation_error();
        let error = max_error(&world.decrypt(found), &expected.reals());
        assert!(allowed < 2f64.powi(-27) && error <= allowed, "{error:e}, allowed {allowed:e}");
    };
    for level in [1, 2, 4, 5] {
        let factor = |v: &[f64]| encoder.encode_factor(v, span(v), SLOTS, level).unwrap();
        let (p, half) = (factor(&values), factor(&[0.5; SLOTS]));
        let product = eval.mul_plain(&x, &p).unwrap();
        assert!((2..=4).contains(&product.level()), "level {level}: {}", product.level());
        assert!((product.metadata().meta.scale / x.metadata().meta.scale - 1.0).abs() < 1e-6);
        near(&product, &expected);
        let unscaled = eval.mul_plain_no_rescale(&x, &p).unwrap();
        assert_eq!(eval.rescale(&unscaled).unwrap().metadata(), product.metadata());
        let sum = eval.dot_plain(&[&x, &x], &[&p, &half]).unwrap();
        assert_eq!(sum.level(), product.level());
        near(&sum, &sums);
    }
}

/// Another bootstrap is not automatic before it is asked for: the levels of the first one are gone.
#[test]
fn another_bootstrap_starts_by_hand() {
    let automatic = simulator().with_auto_bootstrap().unwrap();
    assert!(automatic.refreshes().is_some());
    let again = automatic.with_bootstrapping(BOOTSTRAPPER.clone()).unwrap();
    assert_eq!(again.refreshes(), None);
    let (world, eval) = world(BOOTSTRAPPER.keys());
    let rng = &mut *world.rng.borrow_mut();
    let keys = BootstrapKeys::generate(BOOTSTRAPPER.raising(), &world.secret, rng).unwrap();
    let automatic = eval.with_auto_bootstrap().unwrap();
    assert!(automatic.refreshes().is_some());
    let again = automatic.with_bootstrapping(BOOTSTRAPPER.clone(), keys).unwrap();
    assert_eq!(again.refreshes(), None);
}
