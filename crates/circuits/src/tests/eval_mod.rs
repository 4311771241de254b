//! Reduction modulo 1 of encrypted values.

use std::f64::consts::TAU;

use bellerophon_ckks::{
    CkksOps, ErrorKind, Interval, LevelGroup, ModulusChain, Params, ParamsSpec, Security, encrypt,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::eval_mod::{Arcsine, Mod1, Mod1Output, Mod1Spec, Part};
use crate::tests::common::{World, max_error, mod1_spec as spec};

/// Phases under a secret of `weight` coefficients: integers plus fractions up to `message`.
fn phases(n: usize, weight: usize, message: f64) -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    (0..n)
        .map(|_| {
            let sum: f64 = (0..weight + 1).map(|_| rng.random_range(-0.5..0.5)).sum();
            sum.round() + rng.random_range(-message..=message)
        })
        .collect()
}

fn root_mean_square(found: &[f64], expected: &[f64]) -> f64 {
    let sum: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    (sum / found.len() as f64).sqrt()
}

#[test]
fn sine_of_the_phase_with_the_predicted_error() {
    for weight in [32, 192] {
        let plan = Mod1::new(&spec(weight)).unwrap();
        let world = World::new(11, plan.depth(), plan.keys(plan.depth()));
        let x = phases(1024, weight, 0.25);
        let t: Vec<f64> = x.iter().map(|x| x / plan.width()).collect();
        let range = plan.bound() / plan.width();
        let ct = world
            .encrypt_span(&t)
            .assume_range_with_padding(Interval::real(-range, range).unwrap());
        for amplitude in [1.0, 5.0] {
            let output = Mod1Output { amplitude, scale: world.params.scale() / amplitude };
            let y = plan.apply(&world.evaluator(), &ct, output).unwrap();
            assert_eq!((y.level(), y.scale()), (0, output.scale));
            let expected: Vec<f64> = x.iter().map(|x| amplitude * (TAU * x).sin()).collect();
            let found: Vec<f64> = world.decrypt(&y);
            // What the approximation alone does is known exactly.
            let clear: Vec<f64> = x.iter().map(|&x| amplitude * plan.eval(x)).collect();
            let rms = root_mean_square(&found, &clear);
            let noise = y.metadata().noise();
            assert!(rms < 1.5 * noise && noise < 3.0 * rms, "weight {weight}: {rms:e} {noise:e}");
            let allowed = amplitude * plan.approximation_error() + 16.0 * noise;
            assert!(max_error(&found, &expected) < allowed, "weight {weight}");
            assert!(max_error(&found, &clear) < amplitude * 2f64.powi(-20), "weight {weight}");
        }
    }
}

#[test]
fn full_size_at_128_bits() {
    let plan = Mod1::new(&spec(192)).unwrap();
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: 45,
        levels: vec![LevelGroup::single(44, 15)],
        special: (50, 3),
    };
    let params = ParamsSpec::from_chain(&chain, 44, Security::Bits128).unwrap();
    // One more than needed: a sine of amplitude 1 does not fit half of q_0.
    let level = plan.depth() + 2;
    let world = World::of(Params::new(params).unwrap(), plan.keys(level - 1), 6);
    let x = phases(1 << 14, 192, 0.25);
    let t: Vec<f64> = x.iter().map(|x| x / plan.width()).collect();
    let range = plan.bound() / plan.width();
    // With the noise of one rescaling, as after a linear transform.
    let eval = world.evaluator();
    let ct = eval.mul_scalar(&world.encrypt_span_at(&t, level), 1.0).unwrap();
    let ct = ct.assume_range_with_padding(Interval::real(-range, range).unwrap());
    let output = Mod1Output { amplitude: 1.0, scale: world.params.scale() };
    let y = plan.apply(&eval, &ct, output).unwrap();
    let found: Vec<f64> = world.decrypt(&y);
    let expected: Vec<f64> = x.iter().map(|x| (TAU * x).sin()).collect();
    assert!(max_error(&found, &expected) < 2f64.powi(-18));
    assert!(root_mean_square(&found, &expected) < 2f64.powi(-22));
}

#[test]
fn arcsine_gives_the_fraction_itself() {
    let message = 0.05;
    let arcsine = Some(Arcsine { degree: 7, message });
    let plan = Mod1::new(&Mod1Spec { arcsine, ..spec(64) }).unwrap();
    let world = World::new(10, plan.depth() + 1, plan.keys(plan.depth()));
    let x = phases(512, 64, message);
    let t: Vec<f64> = x.iter().map(|x| x / plan.width()).collect();
    let ct = world.encrypt_span_at(&t, plan.depth());
    // Whoever knows the modulus in units of the message gets the message back.
    let modulus = 8.0;
    let output = Mod1Output { amplitude: modulus / TAU, scale: world.params.scale() };
    let y = plan.apply(&world.evaluator(), &ct, output).unwrap();
    let expected: Vec<f64> = x.iter().map(|x| modulus * (x - x.round())).collect();
    let found: Vec<f64> = world.decrypt(&y);
    let allowed = output.amplitude * plan.approximation_error() + 16.0 * y.metadata().noise();
    assert!(allowed < 1e-5);
    assert!(max_error(&found, &expected) < allowed);
}

/// The error of a slot is that predicted for its integer, from both sides: where errors are
/// enlarged the least, by the median, and the most, which is far above the mean.
#[test]
fn the_error_of_a_slot_follows_its_integer() {
    let arcsine = Some(Arcsine { degree: 7, message: 1.0 / 32.0 });
    let plan = Mod1Spec { arcsine, log2_error: -34.0, spare: 1, ..spec(32) };
    let plan = Mod1::new(&plan).unwrap();
    let world = World::new(11, plan.depth(), plan.keys(plan.depth()));
    let (eval, slots) = (world.evaluator(), 1 << 10);
    let output = Mod1Output { amplitude: 1.0, scale: world.params.scale() };
    let range = plan.bound() / plan.width();
    let range = Interval::real(-range, range).unwrap();
    let fractions = phases(slots, 1, 1.0 / 32.0).into_iter().map(|x| x - x.round());
    let fractions: Vec<f64> = fractions.collect();
    let operand = |integer: f64| {
        let t: Vec<f64> = fractions.iter().map(|x| (integer + x) / plan.width()).collect();
        world.encrypt_span(&t).assume_range_with_padding(range)
    };
    let of_operand = operand(0.0).metadata();
    let scales = plan.meta(&world.params, &of_operand, output).unwrap().scales;
    let scales = plan.scales(&world.params, &of_operand, &scales, output.scale);
    let parts: Vec<Part> = plan.parts(&scales, of_operand.meta.scale).collect();
    let rounding = bellerophon_mlwe::noise::rounding(world.params.lattice());
    let variance =
        |part: &Part| part.slope.powi(2) * of_operand.meta.noise.total + rounding * part.steps;
    let mean: f64 = parts.iter().map(|part| part.weight * variance(part)).sum();
    let of_integer = |integer: f64| {
        let about = parts.iter().filter(|part| part.x.round() == integer);
        let (sum, count): (f64, f64) =
            about.fold((0.0, 0.0), |(s, n), part| (s + variance(part), n + 1.0));
        sum / count
    };
    let mut integers: Vec<f64> = parts.iter().map(|part| part.x.round()).collect();
    integers.dedup();
    integers.sort_by(|&x, &y| of_integer(x).total_cmp(&of_integer(y)));
    let last = integers[integers.len() - 1];
    assert!(of_integer(last) > 30.0 * mean, "{last}: {:e}, mean {mean:e}", of_integer(last));
    for integer in [integers[0], integers[integers.len() / 2], last] {
        let y = plan.apply(&eval, &operand(integer), output).unwrap();
        let found: Vec<f64> = world.decrypt(&y);
        let clear: Vec<f64> = fractions.iter().map(|x| plan.eval(integer + x)).collect();
        let rms = root_mean_square(&found, &clear);
        let predicted = (slots as f64 * of_integer(integer)).sqrt();
        println!("{integer}: {rms:e}, predicted {predicted:e}");
        assert!(rms < 1.5 * predicted && predicted < 2.0 * rms, "{integer}: {rms:e} {predicted:e}");
    }
}

#[test]
fn unfit_operands_are_refused() {
    let plan = Mod1::within(2.5, -20.0, None).unwrap();
    let world = World::new(9, plan.depth() + 1, plan.keys(plan.depth()));
    let eval = world.evaluator();
    let output = Mod1Output { amplitude: 1.0, scale: world.params.scale() };
    let ct = world.encrypt_span_at(&[0.5, -0.5], plan.depth());
    assert!(plan.apply(&eval, &ct, output).is_ok());
    let low = eval.drop_to_level(&ct, plan.depth() - 1).unwrap();
    let error = plan.apply(&eval, &low, output).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfLevels { .. }), "{error}");
    let wide = ct.clone().assume_range_with_padding(Interval::real(-1.5, 1.0).unwrap());
    let error = plan.apply(&eval, &wide, output).unwrap_err();
    assert!(error.is(&ErrorKind::Domain, "outside the domain ["), "{error}");
    let off = ct.clone().reinterpret_scale(0.01).unwrap();
    let error = plan.apply(&eval, &off, output).unwrap_err();
    assert!(error.is(&ErrorKind::Scale, "from level"), "{error}");
    for amplitude in [0.0, f64::NAN] {
        let error = plan.apply(&eval, &ct, Mod1Output { amplitude, ..output }).unwrap_err();
        assert!(error.is(&ErrorKind::Scale, "need a finite number above zero; the"), "{error}");
    }
}

/// Levels that divide by different amounts: `highest_level` and `lowest_level` name those from
/// which a reduction works, and from the others it says why not.
#[test]
fn a_reduction_starts_above_levels_of_about_one_size() {
    let plan = Mod1::new(&spec(32)).unwrap();
    let depth = plan.depth();
    let chain = ModulusChain {
        degree: 1 << 9,
        first_bits: 55,
        levels: vec![
            LevelGroup::single(45, depth + 1),
            LevelGroup::single(58, 2),
            LevelGroup::single(45, 2),
        ],
        special: (58, 2),
    };
    let params =
        Params::new(ParamsSpec::from_chain(&chain, 45, Security::Insecure).unwrap()).unwrap();
    let world = World::of(params, plan.keys(depth + 5), 1);
    let eval = world.evaluator();
    let bound = plan.bound() / plan.width();
    let works = |level: usize| {
        let divisor = world.params.divisor(level);
        let plain = eval
            .encoder()
            .encode(
                &[0.25],
                Interval::real(0.0, 1.0).unwrap(),
                divisor,
                world.params.limbs_at(level),
            )
            .unwrap();
        let x =
            encrypt(&world.params, &plain, &world.secret, &mut *world.rng.borrow_mut()).unwrap();
        let t = x.assume_range_with_padding(Interval::real(-bound, bound).unwrap());
        let output = Mod1Output { amplitude: 1.0, scale: world.params.scale() };
        match plan.apply(&eval, &t, output) {
            Ok(y) => {
                let found: Vec<f64> = world.decrypt(&y);
                let exact = plan.eval(0.25 * plan.width());
                assert!(
                    (found[0] - exact).abs() < 1e-4,
                    "from level {level}: {}",
                    found[0] - exact
                );
                true
            }
            Err(error) => {
                assert!(error.is(&ErrorKind::Scale, "from level"), "{error}");
                let text = error.to_string();
                assert!(text.contains(&format!("from level {level} at scale")), "{text}");
                false
            }
        }
    };
    let levels: Vec<usize> = (depth..=world.params.max_level()).filter(|&l| works(l)).collect();
    assert!(levels.contains(&depth) && levels.len() < 6, "{levels:?}");
    for most in depth..=world.params.max_level() {
        let highest = levels.iter().copied().filter(|&level| level <= most).max();
        assert_eq!(plan.highest_level(&world.params, most), highest);
    }
    for least in 0..=world.params.max_level() + 1 {
        let lowest = levels.iter().copied().find(|&level| level >= least);
        assert_eq!(plan.lowest_level(&world.params, least), lowest);
    }
    assert_eq!(plan.highest_level(&world.params, depth - 1), None);
}
