//! Loops that bootstrap, with and without a stated range.

use super::*;
use bellerophon::ckks::Vectors;
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;

/// `1 - 0.7 x^2`, which contracts to 0.678 but has derivatives up to 1.4 over `[-1, 1]`.
fn step<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    a.add_scalar(&a.mul_scalar(&a.square(x)?, -0.7)?, 1.0)
}

fn unit() -> Interval {
    Interval::real(-1.0, 1.0).unwrap()
}

fn stated<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    Ok(a.assume_range_with_padding(step(a, x)?, unit()))
}

/// Root mean square of differences.
fn rms(found: &[f64], expected: &[f64]) -> f64 {
    let squares: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / found.len() as f64).sqrt()
}

/// The departure from the range stays what one step adds, and the loop goes on; the error against
/// the exact program is counted over all steps, until it has no bound.
#[test]
fn ten_thousand_steps_with_a_stated_range_simulated() {
    let simulator = simulator().with_auto_bootstrap().unwrap();
    let mut x = simulator.encrypt(&wave(), span(&wave()), 5).unwrap();
    let (mut last, mut unbounded) = (0.0, None);
    for i in 0..10_000 {
        let next = step(&simulator, &x).unwrap();
        let (noise, excess) = (next.metadata().noise(), next.metadata().excess());
        assert!(excess > 2f64.powi(-40) && excess < 2f64.powi(-26), "step {i}: {excess:e}");
        assert!(noise >= last, "step {i}: {noise:e} after {last:e}");
        x = simulator.assume_range_with_padding(next, unit());
        assert_eq!((x.metadata().noise(), x.metadata().excess()), (noise, 0.0));
        last = noise;
        if noise.is_infinite() {
            unbounded = unbounded.or(Some(i));
        }
    }
    // A factor of at most 1.4 a step as long as the error is small.
    assert!(unbounded.is_some_and(|i| i > 30 && i < 200), "{unbounded:?}");
    let report = simulator.report();
    assert!(report.failure.is_none() && report.bootstraps > 5_000, "{report}");
    let estimate = x.metadata().estimate(&PARAMS, -20.0);
    assert!(estimate.to_string().contains("error of a slot unbounded"), "{estimate}");
    assert!(estimate.headroom.is_finite() && estimate.bits() == f64::NEG_INFINITY);
}

/// Padding, of which the statement does not speak, follows the same map.
#[test]
fn loops_with_padding_run_without_end() {
    let simulator = simulator().with_auto_bootstrap().unwrap();
    let mut x = simulator.encrypt(&wave()[1..], span(&wave()[1..]), 5).unwrap();
    for i in 0..1_000 {
        x = simulator.with_range(step(&simulator, &x).unwrap(), unit());
        let metadata = x.metadata();
        assert!(metadata.excess() < 2f64.powi(-8), "step {i}: {:e}", metadata.excess());
        assert!(metadata.meta.bounds.slots().bound() < 1.02, "step {i}");
    }
    assert_eq!(x.metadata().noise(), f64::INFINITY);
}

/// `1 - 2 x^2` leaves zeros, the padding, at -1, where errors grow fourfold a step: every bootstrap
/// clears it, and the statement on the values alone suffices.
#[test]
fn padding_that_leaves_its_range_is_cleared() {
    let simulator = simulator().with_auto_bootstrap().unwrap();
    let mut x = simulator.encrypt(&wave()[1..], span(&wave()[1..]), 5).unwrap();
    for i in 0..200 {
        let y = simulator.mul_scalar(&simulator.square(&x).unwrap(), -2.0).unwrap();
        x = simulator.with_range(simulator.add_scalar(&y, 1.0).unwrap(), unit());
        let padding = x.metadata().meta.bounds.padding;
        assert!(padding.bound() < 1e3, "step {i}: {padding:?}");
    }
}

/// A dozen steps of the loop on ciphertexts: as its simulator says, bootstrapped on the way, and
/// within the predicted error of the exact program.
#[test]
fn a_dozen_real_steps_with_a_stated_range() {
    let plain = simulator().with_auto_bootstrap().unwrap();
    let steps = |x: &SimCiphertext| (0..12).try_fold(x.clone(), |x, _| stated(&plain, &x));
    let expected = steps(&plain.encrypt(&wave(), span(&wave()), 5).unwrap()).unwrap();
    let (world, eval) = world(plain.report().keys);
    let eval = eval.with_auto_bootstrap().unwrap();
    let mut clear = wave();
    let mut x = world.encrypt_span_at(&clear, 5);
    for i in 0..12 {
        x = stated(&eval, &x).unwrap();
        clear = clear.iter().map(|x| 1.0 - 0.7 * x * x).collect();
        let off = rms(&world.decrypt(&x), &clear);
        assert!(off < x.metadata().noise(), "step {i}: {off:e}");
        assert!(off < 2f64.powi(-28), "step {i}: {off:e}");
    }
    assert_eq!(x.metadata(), *expected.metadata());
    assert!(plain.report().bootstraps >= 6);
    // Worst-case derivatives: far above what the map leaves, and reported.
    assert!(
        x.metadata().noise() > 2f64.powi(-28) && x.metadata().noise() < 2f64.powi(-20),
        "{:e}",
        x.metadata().noise()
    );
    // A vector whose error has no bound is decrypted, and bootstrapped, as any other.
    let noise = Noise { excess: x.meta().noise.excess, ..Noise::new(f64::INFINITY) };
    let endless = eval.with_metadata(x.clone(), CiphertextMeta { noise, ..*x.meta() });
    assert_eq!(world.decrypt::<f64>(&endless), world.decrypt::<f64>(&x));
    let low = eval.drop_to_level(&endless, 2).unwrap();
    for fresh in [eval.bootstrap(&low).unwrap(), eval.bootstrap_iterated(&low, 2).unwrap()] {
        assert!(rms(&world.decrypt(&fresh), &clear) < 2f64.powi(-27));
        assert_eq!(
            (fresh.metadata().noise(), fresh.metadata().excess() < 2f64.powi(-26)),
            (f64::INFINITY, true)
        );
    }
    // What the caller knows of a contracting map.
    let known = endless.assume_noise(2f64.powi(-28)).unwrap();
    assert!(
        (known.metadata().noise().log2() + 28.0).abs() < 1e-9
            && known.metadata().excess() <= known.metadata().noise()
    );
}

/// The excess is the error since the range was stated, of a bootstrap and of a step after it; the
/// noise is that and what the vector brought along. Both from both sides.
#[test]
fn the_excess_is_the_departure_from_the_stated_range() {
    let keys = BOOTSTRAPPER.keys().multiply(BOOTSTRAPPER.output_level());
    let (world, eval) = world(keys);
    let mut squares = [[0.0; 2]; 4];
    for i in 0..6 {
        let values: Vec<f64> = wave().iter().map(|x| (3.0 * x + i as f64).sin()).collect();
        // A sum that cancels, all but its noise.
        let [x, a, b] = [0; 3].map(|_| world.encrypt_span_at(&values, 2));
        let nothing = eval.mul_integer(&eval.sub(&a, &b).unwrap(), 1 << 12).unwrap();
        let x = eval.assume_range_with_padding(eval.add(&x, &nothing).unwrap(), unit());
        let here: Vec<f64> = world.decrypt(&x);
        let fresh = eval.bootstrap(&x).unwrap();
        let after = step(&eval, &fresh).unwrap();
        let map = |x: &[f64]| x.iter().map(|x| 1.0 - 0.7 * x * x).collect::<Vec<_>>();
        let pairs = [
            (&fresh, fresh.metadata().excess(), here.clone()),
            (&after, after.metadata().excess(), map(&here)),
            (&fresh, fresh.metadata().noise(), values.clone()),
            (&after, after.metadata().noise(), map(&values)),
        ];
        for (sum, (y, predicted, exact)) in squares.iter_mut().zip(pairs) {
            sum[0] += rms(&world.decrypt(y), &exact).powi(2);
            sum[1] += predicted.powi(2);
        }
        assert!(fresh.metadata().noise() > 16.0 * fresh.metadata().excess());
    }
    for (k, [found, predicted]) in squares.into_iter().enumerate() {
        let ratio = (found / predicted).sqrt();
        println!("{k}: {ratio}, predicted {:e}", (predicted / 6.0).sqrt());
        assert!(ratio < 1.2 && ratio > 0.25, "{k}: {ratio}");
    }
}

/// Ones and a -1, so that the range is all of `[-1, 1]`.
fn unit_ends() -> [f64; SLOTS] {
    let mut ends = [1.0; SLOTS];
    ends[0] = -1.0;
    ends
}

/// `2 x^2 - 1`, whose derivative at 1 is four: twice its average.
fn steep<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let p = Chebyshev::interpolate(|x| 2.0 * x * x - 1.0, -1.0, 1.0, 2);
    a.polynomial(x, &Polynomial::new(p), None)
}

/// Without a statement the worst case of a program counts: it is refused before anything could
/// wrap, and until then every result is what it says.
#[test]
fn loops_without_a_stated_range_are_refused_in_time() {
    type Program<A> = fn(&A, &<A as Vectors>::Ciphertext) -> Result<<A as Vectors>::Ciphertext>;
    let square: Program<Simulator> = |a, x| a.square(x);
    for (least, most, program) in
        [(25, 200, step as Program<Simulator>), (20, 40, square), (5, 20, steep)]
    {
        let simulator = simulator().with_auto_bootstrap().unwrap();
        let mut x = simulator.encrypt(&unit_ends(), span(&unit_ends()), 5).unwrap();
        let refused = (0..1000).find_map(|i| match program(&simulator, &x) {
            Ok(y) => {
                x = y;
                None
            }
            Err(error) => Some((i, error)),
        });
        let (i, error) = refused.unwrap();
        assert!((least..most).contains(&i), "{i}");
        assert!(matches!(error.kind(), ErrorKind::Range), "{error}");
    }
    // To the end in reality, where the error doubles, or grows fourfold.
    let (world, eval) = world(BOOTSTRAPPER.keys().multiply(5));
    let eval = eval.with_auto_bootstrap().unwrap();
    let square: Program<Evaluator> = |a, x| a.square(x);
    for (least, most, program) in [(20, 40, square), (5, 20, steep)] {
        let mut x = world.encrypt_span_at(&unit_ends(), 5);
        let mut steps = 0;
        let error = loop {
            match program(&eval, &x) {
                Ok(y) => x = y,
                Err(error) => break error,
            }
            let off = rms(&world.decrypt(&x), &[1.0; SLOTS]);
            assert!(
                off < 1.5 * x.metadata().excess(),
                "step {steps}: {off:e}, {:e}",
                x.metadata().excess()
            );
            steps += 1;
        };
        println!("refused after {steps} steps at {:e}", x.metadata().excess());
        assert!(matches!(error.kind(), ErrorKind::Range), "{error}");
        assert!((least..most).contains(&steps), "{steps}");
    }
}
