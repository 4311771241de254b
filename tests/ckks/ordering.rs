//! Sorting, selection and counting on encrypted vectors against the same on `f64`, and against a
//! simulator.

mod counts;

use crate::common;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;

use std::sync::{Arc, LazyLock};

use crate::common::{World, refusal};
use bellerophon_circuits::{
    approx::{Accuracy, Sign},
    bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
    ordering::{Comparator, OrderTask, SortOrder},
};
use bellerophon_ckks::{
    Ciphertext, Complex64, ErrorKind, Evaluator, Interval, KeyLevels, Metadata, Params, ParamsSpec,
    Result, Security,
    simulator::{SimCiphertext, Simulator},
};

const SLOTS: usize = 1 << 4;

/// Nine levels between bootstraps, as at full size.
static BOOTSTRAPPER: LazyLock<Arc<Bootstrapper>> =
    LazyLock::new(|| Arc::new(Bootstrapper::new(&PARAMS, spec()).unwrap()));

static PARAMS: LazyLock<Params> = LazyLock::new(|| {
    let chain = spec().chain(1 << 9, 42, 9, (49, 9)).unwrap();
    Params::new(ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap()).unwrap()
});

fn spec() -> BootstrapSpec {
    BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(SLOTS) }
}

/// A comparison fits between two bootstraps.
static COARSE: LazyLock<Comparator> =
    LazyLock::new(|| Comparator::of(Sign::of_degrees(1.0, 1.0 / 16.0, &[7, 27]).unwrap()).unwrap());

/// A comparison bootstraps on the way.
static FINE: LazyLock<Comparator> = LazyLock::new(|| {
    Comparator::of(Sign::of_degrees(1.0, 2f64.powi(-10), &[15, 31, 7, 7]).unwrap()).unwrap()
});

/// The declared range of all data here.
const RANGE: [f64; 2] = [-0.5, 1.0];
const WIDTH: f64 = RANGE[1] - RANGE[0];

fn range() -> Interval {
    Interval::real(RANGE[0], RANGE[1]).unwrap()
}

fn simulator() -> Simulator {
    let simulator = Simulator::new(&PARAMS).with_bootstrapping(BOOTSTRAPPER.clone()).unwrap();
    simulator.with_auto_bootstrap().unwrap()
}

/// A world whose evaluator bootstraps automatically, with these keys beside those of bootstrapping.
fn world(keys: KeyLevels) -> (World, Evaluator) {
    let world = World::of(PARAMS.clone(), keys.and(&BOOTSTRAPPER.keys()), 7);
    let rng = &mut *world.rng.borrow_mut();
    let keys = BootstrapKeys::generate(BOOTSTRAPPER.raising(), &world.secret, rng).unwrap();
    let eval = world.evaluator().with_bootstrapping(BOOTSTRAPPER.clone(), keys).unwrap();
    let world =
        World { rng: rng.clone().into(), ..World::of(world.params, KeyLevels::default(), 7) };
    (world, eval.with_auto_bootstrap().unwrap())
}

fn encrypt(world: &World, values: &[f64]) -> Ciphertext {
    let encoder = bellerophon_ckks::Encoder::new(&world.params);
    let limbs = world.params.limbs_at(BOOTSTRAPPER.output_level());
    let plain = encoder.encode(values, range(), world.params.scale(), limbs).unwrap();
    let rng = &mut *world.rng.borrow_mut();
    bellerophon_ckks::encrypt(&world.params, &plain, &world.secret, rng).unwrap()
}

fn on_simulator(simulator: &Simulator, values: &[f64]) -> SimCiphertext {
    simulator.encrypt(values, range(), BOOTSTRAPPER.output_level()).unwrap()
}

/// Values of the declared range: at random, with ties, sorted, reversed, constant, at its ends.
fn data(world: &World, n: usize) -> Vec<Vec<f64>> {
    let random: Vec<f64> = world.reals(n).iter().map(|x| 0.25 + 0.75 * x).collect();
    let ties = random.iter().map(|x| (x * 4.0).round() / 4.0).collect();
    let mut sorted = random.clone();
    sorted.sort_by(f64::total_cmp);
    let reversed = sorted.iter().rev().copied().collect();
    let ends = (0..n).map(|i| RANGE[i % 2]).collect();
    vec![random, ties, sorted, reversed, vec![0.3; n], ends]
}

fn sorted(values: &[f64], order: SortOrder) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    if order == SortOrder::Descending {
        values.reverse();
    }
    values
}

/// The program on ciphertexts and on the simulator: one account, and values that agree but for 16
/// predicted deviations of the noise and what the approximations of the bootstraps are off by.
/// Returns the values.
#[track_caller]
fn agree(
    world: &World,
    found: &Ciphertext,
    expected: &SimCiphertext,
    simulator: &Simulator,
) -> Vec<f64> {
    assert_eq!(found.metadata(), *expected.metadata());
    let bootstraps = simulator.report().bootstraps as f64;
    let unit = found.meta().bounds.slots().bound().max(1.0);
    let allowed =
        16.0 * found.metadata().noise() + unit * bootstraps * BOOTSTRAPPER.approximation_error();
    assert!(allowed < 1e-3 * unit, "the prediction {allowed:e} allows anything");
    let values: Vec<f64> = world.decrypt(found);
    let error = common::max_error(&values, &expected.reals());
    assert!(error <= allowed, "error {error:e}, allowed {allowed:e}");
    values
}

/// Sizes with and without padding.
const SIZES: [usize; 7] = [1, 2, 3, 5, 8, 13, 16];

const ORDERS: [SortOrder; 2] = [SortOrder::Ascending, SortOrder::Descending];

#[test]
fn sorts_as_its_simulator_and_within_the_bound() {
    let (world, eval) = world(OrderTask::Sort { len: SLOTS }.keys(BOOTSTRAPPER.output_level()));
    for (n, kind, comparator) in
        [(1, 0, &*COARSE), (3, 0, &COARSE), (8, 1, &COARSE), (5, 0, &FINE), (4, 4, &FINE)]
    {
        let values = &data(&world, n)[kind];
        for order in ORDERS {
            let simulator = simulator();
            let found = comparator.sort(&eval, &encrypt(&world, values), order).unwrap();
            let expected =
                comparator.sort(&simulator, &on_simulator(&simulator, values), order).unwrap();
            let found = agree(&world, &found, &expected, &simulator);
            let error = common::max_error(&found, &sorted(values, order));
            assert!(
                error <= WIDTH * comparator.error(OrderTask::Sort { len: n }) + 1e-6,
                "{n}: {error:e}"
            );
        }
    }
}

/// Every kind of data of every size on the simulator, which computes with the very polynomials.
#[test]
fn bounds_hold_for_all_data() {
    let world = World::new(9, 1, KeyLevels::default());
    for comparator in [&*COARSE, &FINE] {
        let bound = |stages: f64| WIDTH * stages + 1e-12;
        for n in SIZES {
            for values in data(&world, n) {
                let simulator = simulator();
                let x = on_simulator(&simulator, &values);
                for order in ORDERS {
                    let found = comparator.sort(&simulator, &x, order).unwrap().reals();
                    let error = common::max_error(&found, &sorted(&values, order));
                    assert!(
                        error <= bound(comparator.error(OrderTask::Sort { len: n })),
                        "{n}: {error:e}"
                    );
                }
                let descending = sorted(&values, SortOrder::Descending);
                for k in [1, n / 2, n - 1, n].into_iter().filter(|&k| k > 0) {
                    let y = comparator.top_k(&simulator, &x, k).unwrap();
                    assert_eq!((y.metadata().meta.len, y.metadata().meta.is_clear()), (k, true));
                    let error = common::max_error(&y.reals(), &descending[..k]);
                    assert!(
                        error <= bound(comparator.error(OrderTask::TopK { len: n, k })),
                        "{k} of {n}: {error:e}"
                    );
                }
                let slots = x.metadata().meta.slots;
                let (max, min) = (
                    comparator.max(&simulator, &x).unwrap(),
                    comparator.min(&simulator, &x).unwrap(),
                );
                for (found, expected) in [(max, descending[0]), (min, descending[n - 1])] {
                    let error = common::max_error(&found.reals(), &vec![expected; n]);
                    assert!(
                        error <= bound(comparator.error(OrderTask::Max { slots })),
                        "{n}: {error:e}"
                    );
                }
                // Near ties make the place of the largest value what they like; equal values do
                // not.
                let next = descending.iter().find(|&&v| v < descending[0]);
                if next.is_none_or(|next| descending[0] - next > 2.0 * comparator.margin() * WIDTH)
                {
                    let place = comparator.arg_max(&simulator, &x).unwrap().reals();
                    let expected = values.iter().position(|&v| v == descending[0]).unwrap() as f64;
                    assert!(place.len() == 1 && (place[0] - expected).abs() < 0.2, "{place:?}");
                }
            }
        }
    }
}

/// The error of one exchange comes up to its bound, of a maximum from below.
#[test]
fn the_bound_of_an_exchange_is_reached() {
    for comparator in [&*COARSE, &FINE] {
        let (mut most, mut least) = (0.0f64, 0.0f64);
        for i in 1..400 {
            let gap = WIDTH * comparator.margin() * f64::from(i) / 200.0;
            let simulator = simulator();
            let x = on_simulator(&simulator, &[0.1 - gap / 2.0, 0.1 + gap / 2.0]);
            let y = comparator.max(&simulator, &x).unwrap().reals();
            let z = comparator.sort(&simulator, &x, SortOrder::Descending).unwrap().reals();
            assert!((y[0] - z[0]).abs() < 1e-9 && (z[0] + z[1] - 0.2).abs() < 1e-9);
            let error = 0.1 + gap / 2.0 - y[0];
            (most, least) = (most.max(error), least.min(error));
        }
        let bound = WIDTH * comparator.error(OrderTask::Sort { len: 2 });
        assert!(most <= bound && most > 0.9 * bound, "{most:e} {bound:e}");
        assert!(least > -1e-12, "{least:e}");
    }
}

#[test]
fn selects_as_its_simulator() {
    let level = BOOTSTRAPPER.output_level();
    let keys = OrderTask::Sort { len: SLOTS }
        .keys(level)
        .and(&OrderTask::Max { slots: SLOTS }.keys(level));
    let (world, eval) = world(keys);
    let values = [0.25, -0.5, 0.75, 0.75, 0.0, 0.3, 0.74, 0.1, -0.1, 0.2, -0.2];
    let (simulator, x) = (simulator(), encrypt(&world, &values));
    let v = on_simulator(&simulator, &values);
    let found = COARSE.top_k(&eval, &x, 3).unwrap();
    let found = agree(&world, &found, &COARSE.top_k(&simulator, &v, 3).unwrap(), &simulator);
    assert!(
        common::max_error(&found, &[0.75, 0.75, 0.74])
            < WIDTH * COARSE.error(OrderTask::TopK { len: 11, k: 3 })
    );
    let found = COARSE.max(&eval, &x).unwrap();
    let found = agree(&world, &found, &COARSE.max(&simulator, &v).unwrap(), &simulator);
    assert!(
        common::max_error(&found, &[0.75; 11])
            < WIDTH * COARSE.error(OrderTask::Max { slots: SLOTS })
    );
    let found = FINE.min(&eval, &x).unwrap();
    let found = agree(&world, &found, &FINE.min(&simulator, &v).unwrap(), &simulator);
    assert!(
        common::max_error(&found, &[-0.5; 11])
            < WIDTH * FINE.error(OrderTask::Max { slots: SLOTS })
    );
    let found = FINE.arg_max(&eval, &x).unwrap();
    let found = agree(&world, &found, &FINE.arg_max(&simulator, &v).unwrap(), &simulator);
    assert!((found[0] - 2.0).abs() < 0.2, "{found:?}");
}

/// The keys that a function names are those that its simulator takes.
#[test]
fn keys_are_those_of_the_simulator() {
    let level = BOOTSTRAPPER.output_level();
    let own = |run: &dyn Fn(&Simulator, &SimCiphertext)| {
        let simulator = simulator();
        run(&simulator, &on_simulator(&simulator, &[0.5; 13]));
        simulator.report().keys
    };
    let sort = own(&|a, x| drop(FINE.sort(a, x, SortOrder::Ascending).unwrap()));
    let top = own(&|a, x| drop(FINE.top_k(a, x, 3).unwrap()));
    let max = own(&|a, x| drop(FINE.arg_max(a, x).unwrap()));
    let count = own(&|a, x| drop(FINE.median(a, x).unwrap()));
    let histogram = own(&|a, x| drop(FINE.histogram(a, x, &[-0.5, 0.0, 1.0]).unwrap()));
    // Steps modulo the slots of the vector.
    let steps = |keys: &KeyLevels| -> Vec<usize> {
        let mut steps: Vec<_> =
            keys.rotations.keys().map(|s| s.rem_euclid(SLOTS as i64) as usize).collect();
        steps.sort_unstable();
        steps.dedup();
        steps.retain(|&step| step != 0);
        steps
    };
    let bootstrapping = steps(&BOOTSTRAPPER.keys());
    for (named, taken) in [
        (OrderTask::Sort { len: 13 }.keys(level), sort),
        (OrderTask::Sort { len: 13 }.keys(level), top),
        (OrderTask::Max { slots: SLOTS }.keys(level), max),
        (OrderTask::Count { slots: SLOTS }.keys(level), count),
        (OrderTask::Count { slots: SLOTS }.keys(level), histogram),
    ] {
        let named = steps(&named.and(&BOOTSTRAPPER.keys()));
        assert_eq!(steps(&taken), named, "beside {bootstrapping:?}");
    }
}

/// What is predicted of the noise of a sort, over many values without near ties, from both sides.
#[cfg(feature = "long-tests")]
#[test]
fn noise_from_both_sides() {
    let (world, eval) = world(OrderTask::Sort { len: SLOTS }.keys(BOOTSTRAPPER.output_level()));
    let mut squares = [0.0; 2];
    for _ in 0..6 {
        let values = &data(&world, SLOTS)[0];
        let simulator = simulator();
        let found = FINE.sort(&eval, &encrypt(&world, values), SortOrder::Ascending).unwrap();
        let expected = FINE
            .sort(&simulator, &on_simulator(&simulator, values), SortOrder::Ascending)
            .unwrap()
            .reals();
        let errors = world.decrypt::<f64>(&found).into_iter().zip(&expected);
        squares[0] += errors.map(|(a, b)| (a - b).powi(2)).sum::<f64>() / SLOTS as f64;
        squares[1] += found.metadata().noise().powi(2);
    }
    let ratio = (squares[0] / squares[1]).sqrt();
    println!(
        "ratio {ratio}, predicted 2^{:.1}, approximation 2^{:.1}",
        (squares[1] / 6.0).sqrt().log2(),
        BOOTSTRAPPER.approximation_error().log2()
    );
    assert!(ratio < 1.2 && ratio > 0.05, "{ratio}");
}

/// Levels alone, without bootstrapping, and bootstrapping less often than once a stage.
#[test]
fn levels_are_those_stated() {
    let params = common::params(9, 24);
    let simulator = Simulator::new(&params);
    let level = |y: &SimCiphertext| -> usize { 24 - y.metadata().level };
    let x = simulator.encrypt(&[0.5, 0.25], range(), 24).unwrap();
    let stage = COARSE.levels();
    assert_eq!(stage, 9);
    assert_eq!(level(&COARSE.sort(&simulator, &x, SortOrder::Ascending).unwrap()), stage + 2);
    assert_eq!(level(&COARSE.max(&simulator, &x).unwrap()), stage + 2);
    assert_eq!(level(&COARSE.count_below(&simulator, &x, 0.3).unwrap()), stage);
    assert_eq!(level(&COARSE.histogram(&simulator, &x, &[-0.5, 0.3, 1.0]).unwrap()), stage + 1);
    let x = simulator.encrypt(&[0.5, 0.25, 0.1, 0.0], range(), 24).unwrap();
    let error = COARSE.sort(&simulator, &x, SortOrder::Ascending).unwrap_err();
    assert!(
        error.op() == "sort" && matches!(error.kind(), ErrorKind::OutOfLevels { .. }),
        "{error}"
    );
    // One bootstrap for every stage, and one on the way of every comparison of more levels.
    let bootstraps = |comparator: &Comparator, n| {
        let simulator = self::simulator();
        comparator
            .sort(&simulator, &on_simulator(&simulator, &vec![0.1; n]), SortOrder::Ascending)
            .unwrap();
        simulator.report().bootstraps
    };
    assert_eq!(bootstraps(&COARSE, 16), COARSE.stages(OrderTask::Sort { len: 16 }) + 1);
    assert_eq!(bootstraps(&FINE, 16), 2 * COARSE.stages(OrderTask::Sort { len: 16 }));
}

#[test]
fn nonsense_is_refused() {
    let (world, eval) = world(OrderTask::Sort { len: 2 }.keys(BOOTSTRAPPER.output_level()));
    let x = encrypt(&world, &[0.5, 0.25, 0.1]);
    let shape = |result: Result<Ciphertext>, op: &str, words: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Shape), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(op) && text.contains(words), "{text}");
    };
    for k in [0, 4, usize::MAX] {
        shape(COARSE.top_k(&eval, &x, k), "top k", "k from 1 to 3");
    }
    for q in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        shape(COARSE.quantile(&eval, &x, q), "quantile", "from 0 to 1");
    }
    for threshold in [-0.6, 1.1, f64::NAN, f64::NEG_INFINITY] {
        shape(COARSE.count_below(&eval, &x, threshold), "count below", "in the range");
    }
    let many: Vec<f64> = (0..1 << 9).map(f64::from).collect();
    for edges in [&[][..], &[0.0], &many] {
        shape(COARSE.histogram(&eval, &x, edges), "histogram", "bins");
    }
    for edges in [&[0.0, 0.0][..], &[0.5, 0.25], &[0.0, 0.5, 0.4]] {
        shape(COARSE.histogram(&eval, &x, edges), "histogram", "increase");
    }
    for edges in [&[0.0, f64::NAN][..], &[f64::NEG_INFINITY, 0.0]] {
        let error = COARSE.histogram(&eval, &x, edges).unwrap_err();
        assert!(
            error.op() == "histogram" && error.is(&ErrorKind::NotFinite, "the edge at position"),
            "{error}"
        );
    }
    let complex = world.encrypt_span_at(&[Complex64::new(0.1, 0.2); 2], 11);
    shape(COARSE.sort(&eval, &complex, SortOrder::Ascending), "sort", "complex");
    shape(COARSE.max(&eval, &complex), "maximum", "complex");
    shape(COARSE.arg_max(&eval, &complex), "index", "complex");
    shape(COARSE.median(&eval, &complex), "median", "complex");
    shape(COARSE.histogram(&eval, &complex, &[0.0, 1.0]), "histogram", "complex");
    // Levels and products, but no rotations.
    let poor = World::of(common::params(9, 24), KeyLevels::default().multiply(24), 3);
    let error =
        COARSE.sort(&poor.evaluator(), &poor.encrypt_span(&[0.1, 0.2]), SortOrder::Ascending);
    let error = error.unwrap_err();
    assert!(
        error.op() == "sort" && error.is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"),
        "{error}"
    );
    // Noise as large as the values.
    let noisy = x.clone().assume_noise(0.01).unwrap();
    let error = COARSE.sort(&eval, &noisy, SortOrder::Ascending).unwrap_err();
    assert!(error.op() == "sort" && matches!(error.kind(), ErrorKind::Noise), "{error}");
    // Margins and signs that compare nothing.
    for margin in [0.5, 1.0, f64::exp2(-25.0), -10.0, 0.0, f64::NAN] {
        assert!(
            refusal(&Comparator::new(margin))
                .is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of")
        );
    }
    let wide = Sign::new(2.0, 1.0 / 16.0, Accuracy::bits(4.0)).unwrap();
    assert!(
        refusal(&Comparator::of(wide))
            .is(&ErrorKind::Accuracy { log2_reached: None }, "approximation of")
    );
}

/// Neither the account of a result nor an error depends on the values.
#[test]
fn accounts_do_not_depend_on_values() {
    let metadata = |values: &[f64]| -> Vec<Metadata> {
        let simulator = simulator();
        let x = on_simulator(&simulator, values);
        let results = [
            FINE.sort(&simulator, &x, SortOrder::Ascending),
            FINE.arg_max(&simulator, &x),
            FINE.median(&simulator, &x),
            FINE.histogram(&simulator, &x, &[-0.5, 0.0, 1.0]),
        ];
        results.into_iter().map(|y| *y.unwrap().metadata()).collect()
    };
    assert_eq!(metadata(&[0.1, 0.2, 0.3]), metadata(&[1.0, -0.5, 1.0]));
}

/// Three levels between bootstraps: every polynomial of a sign, and the product after it,
/// bootstraps.
#[test]
fn bootstraps_as_often_as_it_takes() {
    let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(SLOTS) };
    let chain = spec.chain(1 << 9, 42, 3, (49, 6)).unwrap();
    let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    let params = Params::new(params).unwrap();
    let bootstrapper = Arc::new(Bootstrapper::new(&params, spec).unwrap());
    let level = bootstrapper.output_level();
    let keys =
        OrderTask::Sort { len: 3 }.keys(level).and(&OrderTask::Count { slots: 4 }.keys(level));
    let world = World::of(params, keys.and(&bootstrapper.keys()), 3);
    let keys = BootstrapKeys::generate(
        bootstrapper.raising(),
        &world.secret,
        &mut *world.rng.borrow_mut(),
    );
    let eval = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys.unwrap()).unwrap();
    let eval = eval.with_auto_bootstrap().unwrap();
    let simulator = Simulator::new(&world.params).with_bootstrapping(bootstrapper).unwrap();
    let simulator = simulator.with_auto_bootstrap().unwrap();

    let comparator = Comparator::of(Sign::of_degrees(1.0, 1.0 / 8.0, &[7, 7]).unwrap()).unwrap();
    let values = [0.5, -0.25, 0.125];
    let x = world.encrypt_span_at(&values, level);
    let v = simulator.encrypt(&values, *x.range(), level).unwrap();
    let width = x.range().hi() - x.range().lo();
    let found = comparator.sort(&eval, &x, SortOrder::Ascending).unwrap();
    let expected = comparator.sort(&simulator, &v, SortOrder::Ascending).unwrap();
    assert_eq!(found.metadata(), *expected.metadata());
    let found: Vec<f64> = world.decrypt(&found);
    assert!(common::max_error(&found, &expected.reals()) < 1e-4);
    let error = common::max_error(&found, &[-0.25, 0.125, 0.5]);
    assert!(error < width * comparator.error(OrderTask::Sort { len: 3 }), "{error:e}");
    let found = comparator.median(&eval, &x).unwrap();
    let expected = comparator.median(&simulator, &v).unwrap();
    assert_eq!(found.metadata(), *expected.metadata());
    assert!(common::max_error(&world.decrypt::<f64>(&found), &expected.reals()) < 1e-3);
    let found = comparator.histogram(&eval, &x, &[-0.25, 0.0, 0.5]).unwrap();
    let expected = comparator.histogram(&simulator, &v, &[-0.25, 0.0, 0.5]).unwrap();
    assert_eq!(found.metadata(), *expected.metadata());
    assert!(common::max_error(&world.decrypt::<f64>(&found), &expected.reals()) < 1e-3);
}
