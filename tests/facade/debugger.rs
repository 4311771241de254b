//! The debugger names the first promise of a program that is false, and no true one.

use bellerophon::{Debugger, Engine, prelude::*};
use bellerophon::{
    circuits::{
        approx::Sign,
        chebyshev::Chebyshev,
        polynomial::{Monomial, Polynomial},
        statistics::DataTable,
    },
    ckks::{
        self, Interval,
        debugging::{FalsePromise, Report, Step, Violation, Watched},
        simulator::Simulator,
    },
};

use crate::common::{Party, encrypt, errors, params_of, party, spread};

const LEN: usize = 199;

fn toy(seed: u64) -> Party {
    let slots = params_of(Preset::Insecure(Toy::Bootstrapping)).slots();
    let needs = Needs::new().multiply().bootstrap().conjugate().rotate_any().sums(slots);
    let Party { client, server } = party(Preset::Insecure(Toy::Bootstrapping), &needs, seed);
    Party { client, server: server.with_auto_bootstrap().unwrap() }
}

fn range(lo: f64, hi: f64) -> Interval {
    Interval::real(lo, hi).unwrap()
}

/// `3.2 x (1 - x)`, again and again, with the range that each step promises.
fn logistic<A: CkksOps>(
    a: &A,
    mut x: A::Ciphertext,
    promises: &[Interval],
) -> ckks::Result<A::Ciphertext> {
    for promise in promises {
        let rest = a.add_scalar(&a.neg(&x)?, 1.0)?;
        x = a.with_range(a.mul_scalar(&a.mul(&x, &rest)?, 3.2)?, *promise);
    }
    Ok(x)
}

/// Values of `[0, 1]`, encrypted and watched.
fn start(client: &ClientKey, debugger: &Debugger<'_>, values: &[f64]) -> Watched {
    debugger.watch(encrypt(client, values, 0.0..=1.0), values).unwrap()
}

fn promise(report: &Report) -> &FalsePromise {
    report.false_promise.as_ref().unwrap_or_else(|| panic!("nothing is false:\n{report}"))
}

fn is_automatic(step: &Step) -> bool {
    step.operation == "bootstrap (automatic)"
}

/// The automatic bootstraps of a program.
fn automatic(report: &Report) -> usize {
    report.steps.iter().filter(|step| is_automatic(step)).count()
}

#[track_caller]
fn check_true(report: &Report) {
    assert_eq!(report.false_promise, None, "{report}");
    for step in &report.steps {
        assert!(step.measured_noise <= 6.0 * step.predicted_noise, "{step:?}\n{report}");
    }
}

/// A loop of true promises, which bootstraps: nothing is false, and the metadata are those of the
/// evaluator.
#[test]
fn a_true_loop_has_no_false_promise() {
    let Party { client, server } = toy(61);
    let values = spread(LEN, 0.2, 0.8);
    let debugger = client.debugger(&server).unwrap();
    let watched = start(&client, &debugger, &values);
    let promises = [range(0.0, 1.0); 12];
    let expected = logistic(&server, watched.ciphertext().clone(), &promises).unwrap();
    let found = logistic(&debugger, watched, &promises).unwrap();
    assert_eq!(found.ciphertext(), &expected);

    let report = debugger.report();
    check_true(&report);
    let bootstraps = automatic(&report);
    assert!(bootstraps > 0 && report.steps.len() == 1 + 5 * 12 + bootstraps, "{report}");
    // Nothing else raises a level, and every bootstrap is in front of the operation that needs it.
    for pair in report.steps.windows(2) {
        let raised = pair[1].level > pair[0].level;
        assert!(!raised || is_automatic(&pair[1]) || is_automatic(&pair[0]), "{report}");
    }
    let last = report.steps.last().unwrap();
    assert!(last.padding.is_some() && (0.4..1.0).contains(&last.largest_value), "{last:?}");
    let exact = values.iter().map(|v| (0..12).fold(*v, |v, _| 3.2 * v * (1.0 - v)));
    assert!(found.exact().iter().zip(exact).all(|(z, v)| (z.re - v).abs() < 1e-9 && z.im == 0.0));
    assert!(report.to_string().ends_with("No promise is false"), "{report}");
}

/// Functions that bootstrap in between leave one step for each bootstrap.
#[test]
fn functions_leave_one_step_for_each_bootstrap() {
    let Party { client, server } = toy(75);
    let values = spread(LEN, 0.4, 0.8);
    let debugger = client.debugger(&server).unwrap();
    let params = client.params();
    let simulator = Simulator::new(params.ckks())
        .with_bootstrapping(params.bootstrapper().unwrap().clone())
        .and_then(SimulatorExt::with_auto_bootstrap)
        .unwrap();
    let sign = Sign::of_degrees(1.0, 0.25, &[3, 3]).unwrap();
    let lowest = params.bootstrapper().unwrap().input_level();
    let x = simulator.encrypt(&values, range(0.0, 1.0), lowest).unwrap();
    simulator.sign(&x, &sign).unwrap();
    let steps = &debugger;
    let x = steps.drop_to_level(&start(&client, &debugger, &values), lowest).unwrap();
    steps.sign(&x, &sign).unwrap();
    let report = debugger.report();
    check_true(&report);
    let bootstraps = simulator.report().bootstraps;
    assert!(bootstraps > 0 && automatic(&report) == bootstraps, "{bootstraps}: {report}");
}

/// In its third step one of the values leaves the promised range, in the fifth all of them.
#[test]
fn a_false_promise_is_named_with_step_and_position() {
    let Party { client, server } = toy(62);
    let mut values = [0.3; LEN];
    values[3] = 0.5;
    let debugger = client.debugger(&server).unwrap();
    let mut promises = [range(0.0, 1.0); 5];
    (promises[2], promises[4]) = (range(0.0, 0.75), range(0.0, 0.125));
    // The server sees nothing.
    let x = start(&client, &debugger, &values);
    logistic(&server, x.ciphertext().clone(), &promises).unwrap();
    logistic(&debugger, x, &promises).unwrap();

    let report = debugger.report();
    let promise = promise(&report);
    // The encryption, two steps of five operations, four operations before the third promise, and a
    // bootstrap.
    assert_eq!((promise.step, promise.operation), (1 + 2 * 5 + 5 + 1, "assume_range"));
    assert_eq!(report.steps[..promise.step].iter().filter(|step| is_automatic(step)).count(), 1);
    let what = "the value at position 3 of 199 is outside [0, 0.75], by 0.0495";
    assert_eq!(promise.to_string(), format!("step 17, assume_range: {what}"));
    assert!(report.to_string().ends_with(&promise.to_string()), "{report}");
    // The type for logs shows no secret.
    let shown = format!("{debugger:?}");
    assert!(shown.len() < 200 && shown.contains("Debugger"), "{shown}");
}

/// A promise that covers padding, which is zero.
#[test]
fn false_promises_about_padding_say_so() {
    let Party { client, server } = toy(63);
    let debugger = client.debugger(&server).unwrap();
    let x = start(&client, &debugger, &spread(LEN, 0.5, 0.75));
    let y = debugger.assume_range(&x, 0.25..=0.75).unwrap();
    assert_eq!(debugger.report().false_promise, None);
    debugger.assume_range_with_padding(y, range(0.25, 0.75));
    let report = debugger.report();
    let promise = promise(&report);
    assert!(matches!(promise.violation, Violation::Padding(_)), "{promise}");
    let what = "the padding at slot 199 of 256 is outside [0.25, 0.75], by 0.25";
    assert_eq!(promise.to_string(), format!("step 3, assume_range_with_padding: {what}"));
}

/// Promises of real values, and of little noise.
#[test]
fn other_false_promises_are_named() {
    let Party { client, server } = toy(64);
    let values = spread(LEN, 0.5, 0.75);
    let debugger = client.debugger(&server).unwrap();
    let x = debugger.mul_i(&start(&client, &debugger, &values)).unwrap();
    debugger.assume_real(x);
    assert_eq!(promise(&debugger.report()).operation, "assume_real");

    let debugger = client.debugger(&server).unwrap();
    let x = debugger.square(&start(&client, &debugger, &values)).unwrap();
    let noise = debugger.metadata(&x).noise();
    let x = debugger.assume_noise(x, noise).unwrap();
    assert_eq!(debugger.report().false_promise, None);
    debugger.assume_noise(x, 1e-6 * noise).unwrap();
    let report = debugger.report();
    let promise = promise(&report);
    assert!(matches!(promise.violation, Violation::Noise { .. }), "{promise}");
    assert!(promise.to_string().starts_with("step 4, assume_noise: the measured noise"));
}

/// Values at the ends of their range leave it by their noise, step by step, which harms nothing.
#[test]
fn noise_at_the_end_of_a_range_is_no_false_promise() {
    let Party { client, server } = toy(65);
    let debugger = client.debugger(&server).unwrap();
    let x = start(&client, &debugger, &[1.0, 0.5, 1.0]);
    let mut y = x.clone();
    for _ in 0..20 {
        y = debugger.assume_range(&debugger.mul(&y, &x).unwrap(), 0.0..=1.0).unwrap();
    }
    check_true(&debugger.report());
}

/// Circuits of the library, with shared powers, rotations, statements of their own and bootstraps.
fn circuits<A: CkksOps>(a: &A, x: &A::Ciphertext) -> ckks::Result<Vec<A::Ciphertext>> {
    let [ln, exp] = [f64::ln, f64::exp].map(|f| Chebyshev::interpolate(f, 0.25, 1.0, 7));
    let [ln, exp] = [ln, exp].map(Polynomial::new);
    let mut results = a.polynomials(x, &[(&ln, None), (&exp, None)])?;
    results.extend([
        a.polynomial(x, &ln, None)?,
        a.monomial(x, &Monomial::new(&[0.0, 0.5, 0.0, -0.5])?, None)?,
        a.sum_slots(x)?,
        a.replicate_slot(x, 7)?,
        DataTable::new(LEN, 1)?.variances(a, x)?,
        a.bootstrap(x)?,
        a.bootstrap_iterated(x, 2)?,
        a.real_part(x)?,
        a.add_many(&[x, x, x])?,
        a.dot(&[x, x], &[x, x])?,
        a.mul_values(x, &[0.5; LEN])?,
        a.linear_combination(&[(x, 0.5), (x, -0.25)], 0.125, None)?,
    ]);
    Ok(results)
}

#[test]
fn circuits_run_unchanged() {
    let Party { client, server } = toy(66);
    let debugger = client.debugger(&server).unwrap();
    let values = spread(LEN, 0.25, 1.0);
    let x = debugger.watch(client.encrypt(&values, 0.25..=1.0).unwrap(), &values).unwrap();
    let expected = circuits(&server, x.ciphertext()).unwrap();
    let found = circuits(&debugger, &x).unwrap();
    for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found.ciphertext().metadata(), expected.metadata(), "circuit {i}");
    }
    // The rounds of an iterated bootstrap have errors as messages, whose exact values are zero.
    let report = debugger.report();
    assert_eq!(report.false_promise, None, "{report}");
    for (x, predicted) in found.iter().zip(&expected) {
        let (_, worst) = errors(&client.decrypt(x).unwrap(), x.exact().iter().map(|z| z.re));
        assert!(worst <= predicted.metadata().worst(-40.0), "{worst:e}\n{report}");
    }
}

/// A program of the methods of the facade is watched from outside.
#[test]
fn vectors_of_other_programs_are_checked() {
    let Party { client, server } = toy(67);
    let debugger = client.debugger(&server).unwrap();
    let x = client.encrypt(&[0.25, 0.75], 0.0..=1.0).unwrap();
    let y = server.assume_range(&server.square(&x).unwrap(), 0.0..=0.5).unwrap();
    assert!(debugger.watch(x.clone(), &[0.25]).is_err());
    debugger.watch_decrypted(x).unwrap();
    debugger.watch_decrypted(y).unwrap();
    let report = debugger.report();
    let found =
        "step 2, watch_decrypted: the value at position 1 of 2 is outside [0, 0.5], by 0.0625";
    assert_eq!(promise(&report).to_string(), found);
    // Keys and vectors of another client are refused.
    let other = toy(68);
    assert!(other.client.debugger(&server).is_err());
    let x = other.client.encrypt(&[0.5], 0.0..=1.0).unwrap();
    assert!(debugger.watch_decrypted(x).is_err());
}

/// A logistic map whose results keep a range.
fn kept<A: CkksOps>(
    a: &A,
    mut x: A::Ciphertext,
    (lo, hi): (f64, f64),
) -> ckks::Result<A::Ciphertext> {
    for _ in 0..6 {
        let rest = a.keep_within(&a.sub(&x, &a.square(&x)?)?, lo..=hi)?;
        x = a.keep_within(&a.mul_scalar(&rest, 3.2)?, lo..=hi)?;
        x = a.keep_within(&a.rotate_many(&x, &[1])?[0], lo..=hi)?;
    }
    Ok(x)
}

/// The range of every result is that of the evaluator, and a false one is named.
#[test]
fn debugger_ranges_are_those_of_the_evaluator() {
    let Party { client, server } = toy(69);
    let values = spread(LEN, 0.2, 0.8);
    let debugger = client.debugger(&server).unwrap();
    let x = start(&client, &debugger, &values);
    let expected = kept(&server, x.ciphertext().clone(), (0.0, 1.0)).unwrap();
    assert_eq!(kept(&debugger, x.clone(), (0.0, 1.0)).unwrap().ciphertext(), &expected);
    let report = debugger.report();
    check_true(&report);
    assert!(automatic(&report) > 0, "{report}");
    assert!(report.steps.iter().any(|step| step.operation == "keep_within"), "{report}");

    kept(&debugger, x.clone(), (0.0, 0.75)).unwrap();
    assert_eq!(promise(&debugger.report()).operation, "keep_within");
    assert!(debugger.keep_within(&x, f64::NAN..=1.0).is_err());
}

/// A map is a step with the values of the function, by tables and by polynomials, which bootstrap
/// first.
#[test]
fn maps_are_steps() {
    // A table, with the keys of the evaluator.
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 70);
    let debugger = client.debugger(&server).unwrap();
    let values = [0.5, -1.5, 2.0];
    let x = debugger.watch(client.encrypt(&values, -2.0..=2.0).unwrap(), &values).unwrap();
    let y = server.map_watched(&debugger, &x, &MapRequest::new(f64::abs)).unwrap();
    assert_eq!(y.ciphertext().metadata(), server.map(x.ciphertext(), f64::abs).unwrap().metadata());
    let found: Vec<f64> = y.exact().iter().map(|z| z.re).collect();
    assert_eq!(found, [0.5, 1.5, 2.0]);
    let report = debugger.report();
    check_true(&report);
    assert_eq!((report.steps.len(), report.steps[1].operation), (2, "map"));
    assert!(report.steps[1].measured_noise > 0.0, "{report}");

    // A polynomial, whose operand has too few levels.
    let Party { client, server } = toy(71);
    let debugger = client.debugger(&server).unwrap();
    let x = debugger.watch(client.encrypt(&values, -2.0..=2.0).unwrap(), &values).unwrap();
    let x = debugger.mul_scalar(&x, 0.5).unwrap();
    let low = server.params().bootstrapper().unwrap().input_level();
    let x = debugger.drop_to_level(&x, low).unwrap();
    let request = MapRequest::new(|x| 0.5 * x * x).error(Accuracy::bits(6.0));
    let y = server.map_watched(&debugger, &x, &request.engines([Engine::Poly])).unwrap();
    let report = debugger.report();
    check_true(&report);
    let operations: Vec<_> = report.steps[3..].iter().map(|step| step.operation).collect();
    assert_eq!(operations, ["bootstrap (automatic)", "map"], "{report}");
    assert_eq!(y.exact()[2].re, 0.5);
}
