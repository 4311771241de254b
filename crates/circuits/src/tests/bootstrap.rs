//! Bootstrapping on toy rings: every kind of vector comes back with new levels, within the error
//! that was predicted and not suspiciously far below it.

use crate::approx::{Accuracy, Sign};
use crate::bootstrap::EvaluatorExt;
use crate::bootstrap::SimulatorExt;
use crate::bootstrap::{BootstrapKeys, BootstrapMeta, BootstrapSpec, Bootstrapper};
use crate::circuit_ops::CircuitOps;
use crate::param_search::ProgramBounds;
use crate::tests::common::{World, refusal, span};
use bellerophon_ckks::noise::Noise;
use bellerophon_ckks::simulator::{Simulator, one_key};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ErrorKind, Evaluator, Interval, KeyLevels, LevelGroup,
    ModulusChain, Params, ParamsSpec, SecretKind, Security,
};

/// The structure of the full-size set with a small ring.
fn params(log_degree: u32) -> Params {
    let chain = BootstrapSpec::new(1 << (log_degree - 1)).chain(1 << log_degree, 42, 3, (49, 6));
    let chain = chain.unwrap();
    let mut spec = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    spec.lattice.secret = SecretKind::Sparse(64);
    Params::new(spec).unwrap()
}

struct Bootstrapping {
    world: World,
    bootstrapper: Bootstrapper,
    keys: BootstrapKeys,
    eval: Evaluator,
}

fn bootstrapping(log_degree: u32, spec: BootstrapSpec) -> Bootstrapping {
    bootstrapping_on(&params(log_degree), spec)
}

fn bootstrapping_on(params: &Params, spec: BootstrapSpec) -> Bootstrapping {
    let bootstrapper = Bootstrapper::new(params, spec).unwrap();
    let world = World::of(bootstrapper.params().clone(), bootstrapper.keys(), 1);
    let keys = BootstrapKeys::generate(
        bootstrapper.raising(),
        &world.secret,
        &mut *world.rng.borrow_mut(),
    );
    let keys = keys.unwrap();
    let eval = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys.clone()).unwrap();
    Bootstrapping { world, bootstrapper, keys, eval }
}

impl Bootstrapping {
    /// Root mean square and largest of the errors.
    fn error(&self, x: &[Complex64], ct: &Ciphertext) -> (f64, f64) {
        let found: Vec<Complex64> = self.world.decrypt(ct);
        assert_eq!(found.len(), x.len());
        let off: Vec<f64> = found.iter().zip(x).map(|(a, b)| (a - b).norm()).collect();
        let rms = (off.iter().map(|e| e * e).sum::<f64>() / x.len() as f64).sqrt();
        (rms, off.iter().copied().fold(0.0, f64::max))
    }

    fn bootstrapped(&self, x: &Ciphertext) -> Ciphertext {
        let fresh = self.eval.bootstrap(x).unwrap();
        assert_eq!(fresh.level(), self.bootstrapper.output_level());
        assert_eq!(fresh.scale(), self.world.params.scale());
        assert_eq!(fresh.meta().bounds, x.meta().bounds);
        fresh
    }
}

/// `log2` of the probability that an error exceeds the bound of a test.
const LOG2_FAILURE: f64 = -20.0;

/// Bootstrapped values lie within the prediction, and not suspiciously far within.
#[track_caller]
fn check(r: &Bootstrapping, x: &[Complex64], fresh: &Ciphertext) {
    let (rms, worst) = r.error(x, fresh);
    let most = fresh.metadata().worst(LOG2_FAILURE);
    let (predicted, biased) = (fresh.metadata().noise(), r.bootstrapper.approximation_error());
    let [a, b, c, d] = [rms, worst, predicted, biased].map(f64::log2);
    println!("error 2^{a:.2}, worst 2^{b:.2}; predicted 2^{c:.2}, worst {most:e}, bias 2^{d:.2}");
    assert!(predicted < 2f64.powi(-28) && biased < 2f64.powi(-28), "{predicted:e} {biased:e}");
    assert!(rms < 1.5 * predicted, "{rms:e}, predicted {predicted:e}");
    assert!(worst < most, "{worst:e}, at most {most:e}");
    assert!(4.0 * rms + biased > predicted, "{rms:e}, predicted {predicted:e}");
}

#[test]
fn vectors_of_every_shape() {
    let r = bootstrapping(11, BootstrapSpec::new(1 << 10));
    let n = 1 << 10;
    let level = r.bootstrapper.input_level();
    assert_eq!((level, r.bootstrapper.levels()), (2, 3));
    let one = |i: usize| if i == 17 { Complex64::ONE } else { Complex64::ZERO };
    let vectors: [Vec<Complex64>; 4] = [
        r.world.complex(n).iter().map(|z| z / 2f64.sqrt()).collect(),
        vec![Complex64::new(0.0, -1.0); n],
        (0..n).map(one).collect(),
        (0..n).map(|i| Complex64::from_polar(1.0, 0.7 * i as f64)).collect(),
    ];
    for x in vectors {
        let ct = r.world.encrypt_span_at(&x, level);
        let ct = ct.assume_range_with_padding(Interval::complex(1.0).unwrap());
        check(&r, &x, &r.bootstrapped(&ct));
    }
    // Real vectors, with padding, and repeated ones.
    for x in [r.world.reals(n), vec![1.0; n], vec![-1.0; 700], vec![0.25, -1.0, 0.5]] {
        let ct = r.world.encrypt_span_at(&x, level);
        let fresh = r.bootstrapped(&ct);
        assert!(fresh.range().is_real());
        let x: Vec<Complex64> = x.iter().map(|&x| x.into()).collect();
        check(&r, &x, &fresh);
    }
    // The new levels are as good as others.
    let x = r.world.reals(n);
    let fresh = r.bootstrapped(&r.world.encrypt_span_at(&x, level));
    let square = r.eval.square(&r.eval.square(&fresh).unwrap()).unwrap();
    let again = r.eval.bootstrap(&square).unwrap();
    r.world.check(&again, &x.iter().map(|x| x.powi(4)).collect::<Vec<_>>());
}

/// The first levels of EvalMod decide its precision. Those of a chain need not be the ones of
/// `BootstrapSpec::chain`: without larger ones, and with two of which only `T_2` gains, the error
/// is larger, and predicted as well.
#[test]
fn larger_first_levels_are_more_precise() {
    let spec = BootstrapSpec::new(1 << 9);
    let single = |count| LevelGroup::single(49, count);
    let two = |bits| LevelGroup::pairs(bits, 1);
    let bits = |reduction: Vec<LevelGroup>| {
        let mut levels = vec![LevelGroup::single(42, 5)];
        levels.extend(reduction);
        levels.push(single(2));
        let chain = ModulusChain { degree: 1 << 10, first_bits: 45, levels, special: (49, 6) };
        let mut params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
        params.lattice.secret = SecretKind::Sparse(64);
        let r = bootstrapping_on(&Params::new(params).unwrap(), spec.clone());
        let x = r.world.complex(1 << 9).iter().map(|z| z / 2f64.sqrt()).collect::<Vec<_>>();
        let ct = r.world.encrypt_span_at(&x, r.bootstrapper.input_level());
        let ct = ct.assume_range_with_padding(Interval::complex(1.0).unwrap());
        let fresh = r.bootstrapped(&ct);
        let most = fresh.metadata().worst(LOG2_FAILURE);
        let ((rms, worst), predicted) = (r.error(&x, &fresh), fresh.metadata().noise());
        let biased = r.bootstrapper.approximation_error();
        println!("error {rms:e}, worst {worst:e}, predicted {predicted:e}, at most {most:e}");
        assert!(rms < 1.5 * predicted && 4.0 * rms + biased > predicted, "{rms:e} {predicted:e}");
        assert!(worst < most, "{worst:e}, at most {most:e}");
        // Without the approximation error, which is the same.
        let meta = r.bootstrapper.meta(&ct.metadata(), r.world.params.scale(), &one_key);
        let BootstrapMeta { approximation, mut result, .. } = meta.unwrap();
        result.meta.noise += -approximation;
        -result.worst(LOG2_FAILURE).log2()
    };
    let uniform = bits(vec![single(11)]);
    let second = bits(vec![single(9), two(59), two(54)]);
    let both = bits(vec![single(8), two(55), two(54), two(53)]);
    assert!(uniform + 1.0 < second && second + 1.0 < both, "{uniform} {second} {both}");
}

/// The error that a part of a bootstrap adds, measured with the secret, and its prediction.
struct Term {
    name: &'static str,
    measured: f64,
    predicted: f64,
}

/// The parts of one bootstrap of complex values: S2C in the coefficients, from the mod raise to C2S
/// and EvalMod in the real parts of the slots.
fn terms(r: &Bootstrapping, x: &[Complex64]) -> [Term; 3] {
    let (params, raising, mod1) =
        (&r.world.params, r.bootstrapper.raising(), r.bootstrapper.reduction());
    let unit = Interval::complex(1.0).unwrap();
    let ct =
        r.world.encrypt_span_at(x, r.bootstrapper.input_level()).assume_range_with_padding(unit);
    let meta = r.bootstrapper.meta(&ct.metadata(), params.scale(), &one_key).unwrap();
    let rms =
        |errors: Vec<f64>| (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();

    // S2C: the coefficient of a value against the value.
    let enlarged = r.eval.mul_integer(&ct, meta.factor).unwrap();
    let coefficients = raising.to_coefficients(&r.keys, &enlarged).unwrap();
    let scale = coefficients.meta().scale;
    let places: Vec<usize> = (0..x.len()).map(|i| coefficients.place(i)).collect();
    let lowest = raising.s2c.params.lattice();
    let secret = r.world.secret.under(lowest).unwrap();
    let (ring, phase) =
        (coefficients.lattice().ring(lowest), coefficients.lattice().phase(&secret).unwrap());
    let phase = ring.inverse((*phase).clone());
    let q0 = params.lattice().q().modulus(0);
    let centered = |place: usize| q0.center(phase.limb(0)[place]) as f64;
    let factor = meta.factor as f64;
    let s2c =
        rms(places.iter().zip(x).map(|(&p, x)| centered(p) / scale - factor * x.re).collect());
    let s2c = Term {
        name: "S2C",
        measured: s2c,
        predicted: coefficients.meta().noise.total.sqrt() / scale,
    };

    // Mod raise and C2S: the distance from an integer against the coefficient over q_0.
    let exact: Vec<f64> = places.iter().map(|&p| centered(p) / q0.value() as f64).collect();
    let raised = raising.raise(&r.eval, &r.keys, coefficients, &meta.raising).unwrap();
    let (part, _) = raising.to_slots(&r.eval, &raised, &meta.raising, false).unwrap();
    let arguments: Vec<f64> = r.world.decrypt(&part);
    let width = mod1.width();
    let off = arguments.iter().zip(&exact).map(|(t, m)| t * width - m);
    // The predicted error of a slot includes that of its coefficient before the raise.
    let before = s2c.predicted * scale / (q0.value() as f64 * width);
    let c2s = Term {
        name: "mod raise and C2S",
        measured: rms(off.map(|off| (off - off.round()) / width).collect()),
        predicted: (part.metadata().noise().powi(2) - before.powi(2)).sqrt(),
    };

    // EvalMod: its result against its polynomials at the same argument.
    let mut silent = part.metadata();
    silent.meta.noise = Noise::NONE;
    let predicted = mod1.meta(params, &silent, meta.output).unwrap().result.noise();
    let reduced: Vec<f64> = r.world.decrypt(&mod1.apply(&r.eval, &part, meta.output).unwrap());
    let clear = arguments.iter().map(|t| meta.output.amplitude * mod1.eval(t * width));
    let off = reduced.iter().zip(clear).map(|(y, clear)| y - clear).collect();
    [s2c, c2s, Term { name: "EvalMod", measured: rms(off), predicted }]
}

/// Each part adds the error that is predicted of it, from both sides.
#[test]
fn every_part_adds_the_noise_that_is_predicted() {
    let r = bootstrapping(11, BootstrapSpec::new(1 << 10));
    let x: Vec<Complex64> = r.world.complex(1 << 10).iter().map(|z| z / 2f64.sqrt()).collect();
    for Term { name, measured, predicted } in terms(&r, &x) {
        let ratio = predicted / measured;
        println!("{name}: {measured:e}, predicted {predicted:e}: {ratio:.2}");
        assert!((1.0 / 1.2..2.0).contains(&ratio), "{name}: {measured:e} {predicted:e}");
    }
}

#[test]
fn small_messages_come_out_more_precise() {
    let r = bootstrapping(10, BootstrapSpec::new(1 << 9));
    let x: Vec<Complex64> = r.world.complex(1 << 9).iter().map(|z| z / 2000.0).collect();
    let ct = r.world.encrypt_span_at(&x, 2);
    let ct = ct.assume_range_with_padding(Interval::complex(1e-3).unwrap());
    let fresh = r.bootstrapped(&ct);
    assert!(fresh.metadata().noise() < 2f64.powi(-33), "{:e}", fresh.metadata().noise());
    let (rms, worst) = r.error(&x, &fresh);
    assert!(
        rms < 1.5 * fresh.metadata().noise() && worst < fresh.metadata().worst(LOG2_FAILURE),
        "{rms:e} {worst:e}"
    );
    let wide = r.world.encrypt_span_at(&[1.5], 2);
    let error = r.eval.bootstrap(&wide).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Range), "{error}");
}

#[test]
fn vectors_of_few_slots() {
    for slots in [1, 8, 128] {
        let r = bootstrapping(10, BootstrapSpec::new(slots));
        let x: Vec<Complex64> = r.world.complex(slots).iter().map(|z| z / 2.0).collect();
        let ct = r.world.encrypt_span_at(&x, 2);
        let ct = ct.assume_range_with_padding(Interval::complex(1.0).unwrap());
        let fresh = r.bootstrapped(&ct);
        let (_, worst) = r.error(&x, &fresh);
        let most = fresh.metadata().worst(LOG2_FAILURE);
        assert!(worst < most, "{worst:e}");
        assert!(fresh.metadata().noise() < 2f64.powi(-28), "{:e}", fresh.metadata().noise());
        let long = r.world.encrypt_span_at(&r.world.reals(2 * slots), 2);
        let error = r.eval.bootstrap(&long).unwrap_err();
        assert!(error.is(&ErrorKind::Shape, "slots: need"), "{error}");
    }
}

#[test]
fn repetition_is_more_precise() {
    // A gap that the arcsine is not made for: the first round is off by far more than noise.
    let spec = BootstrapSpec { log_gap: 4.0, arcsine: 3, ..BootstrapSpec::new(1 << 9) };
    let r = bootstrapping(10, spec);
    let x = r.world.complex(1 << 9).iter().map(|z| z / 2f64.sqrt()).collect::<Vec<_>>();
    let ct =
        r.world.encrypt_span_at(&x, 2).assume_range_with_padding(Interval::complex(1.0).unwrap());
    let errors = [1, 2, 3].map(|rounds| {
        let fresh = r.eval.bootstrap_iterated(&ct, rounds).unwrap();
        assert_eq!((fresh.level(), fresh.scale()), (r.bootstrapper.output_level(), ct.scale()));
        assert_eq!(fresh.meta().bounds, ct.meta().bounds);
        (r.error(&x, &fresh), fresh.metadata().noise())
    });
    for rounds in [0, usize::MAX] {
        assert!(
            refusal(&r.eval.bootstrap_iterated(&ct, rounds))
                .is(&ErrorKind::Parameters, "parameters")
        );
    }
    // Every round takes off another factor of that.
    let [((_, once), _), ((_, twice), _), ((rms, thrice), predicted)] = errors;
    assert!(once > 2f64.powi(-16) && twice < once / 1e3, "{once:e} {twice:e}");
    assert!(thrice < 2f64.powi(-30), "{thrice:e}");
    assert!(rms < 1.5 * predicted && predicted < 4.0 * rms, "{rms:e}, predicted {predicted:e}");
    // Levels above those that a bootstrap takes are given up.
    let top = r.world.encrypt_span_at(&x, r.world.params.max_level());
    let top = top.assume_range_with_padding(Interval::complex(1.0).unwrap());
    let fresh = r.eval.bootstrap_iterated(&top, 2).unwrap();
    assert!(r.error(&x, &fresh).1 < once / 1e3);
}

/// Products of numbers up to 1 have room at every level, whichever way their scales drift.
#[test]
fn products_of_all_levels_can_be_bootstrapped() {
    let r = bootstrapping(10, BootstrapSpec::new(1 << 9));
    let signs: Vec<f64> = r.world.reals(1 << 9).into_iter().map(f64::signum).collect();
    let simulator = Simulator::new(&r.world.params);
    for level in r.bootstrapper.input_level() + 1..=r.world.params.max_level() {
        let square =
            simulator.square(&simulator.encrypt(&signs, span(&signs), level).unwrap()).unwrap();
        let fresh = r.bootstrapper.bootstrapped(square.metadata()).unwrap();
        assert_eq!(fresh.level, r.bootstrapper.output_level());
    }
    let low = r.bootstrapper.input_level() + 2;
    let square = r.eval.square(&r.world.encrypt_span_at(&signs, low)).unwrap();
    let fresh = r.eval.bootstrap(&square).unwrap();
    let ones = vec![Complex64::ONE; 1 << 9];
    assert!(r.error(&ones, &fresh).1 < 2f64.powi(-16));
}

#[test]
fn an_evaluator_may_bootstrap_automatically() {
    let r = bootstrapping(10, BootstrapSpec::new(1 << 9));
    let x: Vec<f64> = r.world.reals(1 << 9);
    let ct = r.world.encrypt_span_at(&x, 3);
    // Without asking for it levels run out.
    let low = r.eval.square(&ct).unwrap();
    assert_eq!(low.level(), r.bootstrapper.input_level());
    let lower = r.eval.square(&low).unwrap();
    assert!(refusal(&r.eval.bootstrap(&lower)).is(
        &ErrorKind::OutOfLevels { needed: 2, left: 1 },
        "from level 2 on, and this one is at level 1, which nothing raises"
    ));
    let eval = r.eval.clone().with_auto_bootstrap().unwrap();
    let (mut power, mut expected) = (ct, x);
    for _ in 0..6 {
        power = eval.mul(&power, &power).unwrap();
        expected.iter_mut().for_each(|x| *x *= *x);
        assert!(power.level() >= r.bootstrapper.input_level());
    }
    let half = eval.mul_scalar(&eval.mul_values(&power, &[1.0; 512]).unwrap(), 0.5).unwrap();
    expected.iter_mut().for_each(|x| *x *= 0.5);
    r.world.check(&half, &expected);
    let low = r.eval.drop_to_level(&half, r.bootstrapper.input_level()).unwrap();
    let unscaled = eval.square_no_rescale(&low).unwrap();
    assert_eq!(unscaled.level(), r.bootstrapper.output_level());
}

/// What a simulation counts, and what a search reports, is what the bootstrap does.
#[test]
fn reports_are_those_of_the_bootstrap() {
    let (security, bootstraps) = (Security::Bits128, true);
    let bounds =
        ProgramBounds { security, slots: 32, depth: 2, accuracy: Accuracy::bits(12.0), bootstraps };
    let choice = bounds.choose().unwrap();
    let found = choice.bootstrap.unwrap();
    let bootstrapper = found.bootstrapper;
    let chosen = found.reductions[0].double_angles;
    assert_eq!(chosen, bootstrapper.reduction().doublings);
    let level = bootstrapper.input_level();
    let simulator =
        Simulator::new(&choice.params).with_bootstrapping(bootstrapper.clone()).unwrap();
    let x = simulator.encrypt(&[0.5; 32], Interval::real(-1.0, 1.0).unwrap(), level).unwrap();
    simulator.bootstrap(&x).unwrap();
    assert_eq!(simulator.report().key_switches, bootstrapper.key_switches(true));
}

/// A function that fits between two bootstraps is bootstrapped for once and planned from there; a
/// product in a longer one divides by whatever prime it meets.
#[test]
fn magnitudes_keep_their_scale_through_bootstraps() {
    let r = bootstrapping(10, BootstrapSpec { bound: 2.0, ..BootstrapSpec::new(1 << 9) });
    let (params, output) = (&r.world.params, r.bootstrapper.output_level());
    let eval = r.eval.clone().with_auto_bootstrap().unwrap();
    let x: Vec<f64> = r.world.reals(1 << 9);
    for degrees in [&[3][..], &[3, 3]] {
        let sign = Sign::of_degrees(1.0, 0.5, degrees).unwrap();
        let ct = r.world.encrypt_span_at(&x, r.bootstrapper.input_level() + 1);
        let found = eval.abs(&ct, &sign).unwrap();
        if sign.levels() < r.bootstrapper.levels() {
            assert_eq!(found.level(), output - sign.levels() - 1);
            assert_eq!(found.scale(), params.scale());
        } else {
            let scale = params.scale() * (params.scale() / params.divisor(found.level() + 1));
            assert!((found.scale() / scale - 1.0).abs() < 1e-12 && found.scale() != params.scale());
        }
        r.world.check(&found, &x.iter().map(|&x| x * sign.eval(x)).collect::<Vec<_>>());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let params = params(10);
    let spec = || BootstrapSpec::new(1 << 9);
    for spec in [
        BootstrapSpec { slots: 1 << 10, ..spec() },
        BootstrapSpec { slots: 3, ..spec() },
        BootstrapSpec { s2c_levels: 9, ..spec() },
        BootstrapSpec { c2s_levels: 0, ..spec() },
        BootstrapSpec { log_gap: 2.0, ..spec() },
        BootstrapSpec { log_gap: f64::NAN, ..spec() },
        BootstrapSpec { bound: 0.0, ..spec() },
        BootstrapSpec { weight: 0, ..spec() },
        BootstrapSpec { babies: 3, ..spec() },
        // What would take long to find out.
        BootstrapSpec { weight: 1 << 20, ..spec() },
        BootstrapSpec { bound: f64::NAN, ..spec() },
        BootstrapSpec { log2_error: -1e9, ..spec() },
        BootstrapSpec { log2_failure: -1e9, ..spec() },
        BootstrapSpec { arcsine: 33, ..spec() },
        BootstrapSpec { babies: 1 << 30, ..spec() },
        BootstrapSpec { s2c_levels: 1, ..spec() },
        BootstrapSpec { slots: 0, ..spec() },
    ] {
        assert!(Bootstrapper::new(&params, spec.clone()).is_err(), "{spec:?}");
    }
    // Chains of enough levels, of which those of the reduction, or its first ones, are too small.
    let levels = |reduction: [LevelGroup; 3]| {
        let mut levels = vec![LevelGroup::single(42, 5)];
        levels.extend(reduction);
        levels.push(LevelGroup::single(49, 2));
        ModulusChain { degree: 1 << 10, first_bits: 45, levels, special: (49, 6) }
    };
    let single = |count| LevelGroup::single(49, count);
    for (reduction, level) in [
        (
            [single(9), LevelGroup::pairs(59, 1), single(1)],
            "their sizes do not keep the scale of EvalMod",
        ),
        (
            [LevelGroup::single(42, 9), LevelGroup::pairs(59, 1), LevelGroup::pairs(54, 1)],
            "level 6 has 42.0 bits and must have 49",
        ),
    ] {
        let short = ParamsSpec::from_chain(&levels(reduction), 42, Security::Insecure).unwrap();
        let error = Bootstrapper::new(&Params::new(short).unwrap(), spec()).unwrap_err();
        assert!(error.to_string().contains(level), "{error}");
    }
    let bootstrapper = Bootstrapper::new(&params, spec()).unwrap();
    let world = World::of(params, KeyLevels::default(), 2);
    let other = World::of(world.params.clone(), KeyLevels::default(), 3);
    let ct = world.encrypt_span_at(&[0.5], 2);
    let error = world.evaluator().bootstrap(&ct).unwrap_err();
    assert!(
        error.is(&ErrorKind::MissingKey { need: "bootstrap" }, "contain no bootstrapping key"),
        "{error}"
    );
    assert!(world.evaluator().with_auto_bootstrap().is_err());
    let keys = |of: &World| {
        BootstrapKeys::generate(bootstrapper.raising(), &of.secret, &mut *of.rng.borrow_mut())
            .unwrap()
    };
    let refused = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys(&other));
    assert!(
        refusal(&refused)
            .is(&ErrorKind::KeyMismatch, "use operands and keys of one secret key, or")
    );
    let eval = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys(&world)).unwrap();
    assert!(
        refusal(&eval.bootstrap(&ct)).is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of")
    );
}

/// The full-size set is what its documentation says. (Bootstrapping at full size: `tests/long.rs`.)
#[test]
fn the_full_set_is_secure_and_has_the_stated_levels() {
    let spec = BootstrapSpec::full_size().unwrap();
    assert_eq!((spec.lattice.security, spec.lattice.degree), (Security::Bits128, 1 << 16));
    let params = Params::new(spec).unwrap();
    assert_eq!(params.max_level(), 2 + 11 + 11 + 2);
    assert_eq!(params.lattice().gadget().digits(params.limbs()), 3);
    let bootstrapper = Bootstrapper::new(&params, BootstrapSpec::new(8)).unwrap();
    assert_eq!((bootstrapper.input_level(), bootstrapper.levels()), (2, 11));
    assert!(bootstrapper.security_bits() >= 128.0);
    // C2S, reduction and S2C of full vectors take the same levels.
    assert_eq!(
        BootstrapSpec::new(1 << 15),
        BootstrapSpec { slots: 1 << 15, ..bootstrapper.spec().clone() }
    );
}
