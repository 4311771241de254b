//! Padding never harms: every operation on slots of vectors with and without padding, clean and
//! dirty, and loops with bootstraps, against plain arithmetic on the values.

use bellerophon::ckks::approx::{Approximation, Function, Known, Sign};
use bellerophon::ckks::{self, Complex64, polynomial::Monomial, polynomial::Polynomial};
use bellerophon::prelude::*;

use crate::common::{Party, cases, errors, params_of, party, spread};

fn needs(preset: Preset) -> Needs {
    let slots = params_of(preset).slots();
    Needs::new().multiply().bootstrap().conjugate().rotate_any().sums(slots)
}

fn toy(seed: u64) -> Party {
    party(Preset::ToyBootstrapping, &needs(Preset::ToyBootstrapping), seed)
}

/// The lengths that matter in `slots` slots.
fn lengths(slots: usize) -> [usize; 4] {
    [199, 3, slots - 1, 1]
}

/// `x` with another number in the padding and the same values.
fn dirty(server: &Evaluator, x: &Ciphertext) -> Ciphertext {
    let moved = server.add_scalar(x, 3.0).unwrap();
    server.add_values(&moved, &vec![-3.0; x.len()]).unwrap()
}

/// The result of an operation on a padded vector `x` and another one `y`, and what it is on plain
/// values.
type Case = (&'static str, bellerophon::Result<Ciphertext>, Box<dyn Fn(f64, f64) -> f64>);

fn case(
    name: &'static str,
    result: bellerophon::Result<Ciphertext>,
    f: impl Fn(f64, f64) -> f64 + 'static,
) -> Case {
    (name, result, Box::new(f))
}

fn slotwise(server: &Evaluator, x: &Ciphertext, y: &Ciphertext) -> Vec<Case> {
    let (ones, n) = (vec![0.5; x.len()], x.len());
    let ln = ckks::chebyshev::Chebyshev::interpolate(f64::ln, 0.25, 1.0, 15);
    let ln = Polynomial::new(ln);
    let inverse =
        Approximation::new(&Function::from(Known::Inverse), 0.25, 1.0, Accuracy::bits(16.0))
            .unwrap();
    let cube = Monomial::new(&[0.0, 0.5, 0.0, -0.5]).unwrap();
    let sign = Sign::of_degrees(1.0, 0.25, &[7, 7]).unwrap();
    let both = || [(x, 0.5), (y, -0.25)];
    vec![
        case("add", server.add(x, y), |x, y| x + y),
        case("sub", server.sub(x, y), |x, y| x - y),
        case("neg", server.neg(x), |x, _| -x),
        case("add_many", server.add_many(&[x, y, x]), |x, y| 2.0 * x + y),
        case("add_scalar", server.add_scalar(x, 0.5), |x, _| x + 0.5),
        case("add_values", server.add_values(x, &ones), |x, _| x + 0.5),
        case("mul", server.mul(x, y), |x, y| x * y),
        case("square", server.square(x), |x, _| x * x),
        case("dot", server.dot(&[x, y], &[y, y]), |x, y| x * y + y * y),
        case("mul_scalar", server.mul_scalar(x, -0.75), |x, _| -0.75 * x),
        case("mul_integer", server.mul_integer(x, 3), |x, _| 3.0 * x),
        case("mul_values", server.mul_values(x, &ones), |x, _| 0.5 * x),
        case("dot_values", server.dot_values(&[x], &[vec![2.0; n]]), |x, _| 2.0 * x),
        case("linear", server.linear_combination(&both(), 0.125, None), |x, y| {
            0.5 * x - 0.25 * y + 0.125
        }),
        case("clear_padding", server.clear_padding(x), |x, _| x),
        case("move_padding", server.move_padding(x, 0.5), |x, _| x),
        case("drop_to_level", server.drop_to_level(x, x.level() - 1), |x, _| x),
        case("real_part", server.real_part(x), |x, _| x),
        case("conjugate", server.conjugate(x), |x, _| x),
        case("polynomial", server.polynomial(x, &ln, None), |x, _| x.ln()),
        case("apply", server.apply(x, &inverse), |x, _| 1.0 / x),
        case(
            "function",
            server.function(x, &Function::from(Known::Inverse), Accuracy::bits(16.0)),
            |x, _| 1.0 / x,
        ),
        case("monomial", server.monomial(x, &cube, None), |x, _| 0.5 * (x - x * x * x)),
        case("sign", server.sign(x, &sign), {
            let sign = sign.clone();
            move |x, _| sign.eval(x)
        }),
        case("abs", server.abs(x, &sign), {
            let sign = sign.clone();
            move |x, _| x * sign.eval(x)
        }),
        case("relu", server.relu(x, &sign), {
            let sign = sign.clone();
            move |x, _| 0.5 * x * (1.0 + sign.eval(x))
        }),
        case("max", server.max(x, y, &sign), {
            let sign = sign.clone();
            move |x, y| y + 0.5 * (x - y) * (1.0 + sign.eval(x - y))
        }),
        case("greater", server.greater(x, y, &sign), move |x, y| 0.5 + 0.5 * sign.eval(x - y)),
        case("bootstrap", server.bootstrap(x), |x, _| x),
        case("bootstrap_iterated", server.bootstrap_iterated(x, 2), |x, _| x),
    ]
}

#[test]
fn every_operation_computes_the_values() {
    let Party { client, server } = party(Preset::ToyFull, &needs(Preset::ToyFull), 31);
    for len in cases(lengths(client.params().slots()), 2) {
        let (values, others) = (spread(len, 0.25, 1.0), spread(len, 0.3, 0.9));
        let x = client.encrypt(&values, 0.25..=1.0).unwrap();
        let y = client.encrypt(&others, 0.25..=1.0).unwrap();
        for (x, y) in [(&x, &y), (&dirty(&server, &x), &y)] {
            for (name, result, f) in slotwise(&server, x, y) {
                let result = result.unwrap_or_else(|e| panic!("{name} of {len}: {e}"));
                let expected = values.iter().zip(&others).map(|(x, y)| f(*x, *y));
                let found = client.decrypt(&result).unwrap();
                let (_, worst) = errors(&found, expected);
                assert!(worst < 1e-4, "{name} of {len}: {worst:e}");
            }
            sums(&client, &server, x, &values);
        }
    }
}

/// Operations that gather values, and those that choose some.
fn sums(client: &ClientKey, server: &Evaluator, x: &Ciphertext, values: &[f64]) {
    let (len, sum) = (values.len(), values.iter().sum::<f64>());
    let near = |name: &str, result: bellerophon::Result<Ciphertext>, expected: Vec<f64>| {
        let found = client.decrypt(&result.unwrap()).unwrap();
        let (_, worst) = errors(&found, expected.into_iter());
        assert!(worst < 1e-4 * (1.0 + sum), "{name} of {len}: {worst:e}");
    };
    near("sum_slots", server.sum_slots(x), vec![sum; len]);
    near("replicate_slot", server.replicate_slot(x, len - 1), vec![values[len - 1]; len]);
    let first = |kept: usize| {
        values.iter().enumerate().map(|(i, v)| if i < kept { *v } else { 0.0 }).collect()
    };
    near("mask", server.mask(x, 0..1), first(1));
    near("mask_slots", server.mask_slots(x, &[0]), first(1));
    near("with_len", server.with_len(x.clone(), 1).map_err(Into::into), vec![values[0]]);
    let z = server.mul_i(x).unwrap();
    let z = client.decrypt_complex(&z).unwrap();
    assert!(z.iter().zip(values).all(|(z, v)| (z - Complex64::new(0.0, *v)).norm() < 1e-6));
}

/// A step of a loop on ciphertexts, and on plain values.
type Step = (fn(&Evaluator, &Ciphertext) -> bellerophon::Result<Ciphertext>, fn(f64) -> f64);

/// The logistic map `3.2 x (1 - x)` has a stable cycle of two values; zero, the padding, is a fixed
/// point that is not stable.
fn logistic(server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
    let rest = server.add_scalar(&server.neg(x)?, 1.0)?;
    server.assume_range(&server.mul_scalar(&server.mul(x, &rest)?, 3.2)?, 0.0..=1.0)
}

/// `x (1 - x) / 2 + 1/4` converges in `[1/4, 1/2]`, where padding is 1/4 after the first step.
fn convergent(server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
    let square = server.mul_scalar(&server.square(x)?, -0.5)?;
    let half = server.mul_scalar(x, 0.5)?;
    let next = server.add_scalar(&server.add(&square, &half)?, 0.25)?;
    server.assume_range(&next, 0.25..=0.5)
}

/// `3/4 - 4 (x - 1/2)^2` maps `[1/2, 3/4]` onto itself, and takes padding to -1/4, -3/2, -61/4 and
/// on.
fn fleeing(server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
    let square = server.square(&server.add_scalar(x, -0.5)?)?;
    let next = server.add_scalar(&server.mul_integer(&square, -4)?, 0.75)?;
    server.assume_range(&next, 0.5..=0.75)
}

fn run(preset: Preset, seed: u64, (step, plain): Step, range: (f64, f64)) {
    let Party { client, server } = party(preset, &needs(preset), seed);
    let server = server.with_auto_bootstrap().unwrap();
    for len in cases(lengths(client.params().slots()), 2) {
        let mut values = spread(len, range.0, range.1);
        let mut x = client.encrypt(&values, range.0..=range.1).unwrap();
        for i in 0..30 {
            x = step(&server, &x).unwrap_or_else(|e| panic!("step {i} of {len}: {e}"));
            values.iter_mut().for_each(|v| *v = plain(*v));
        }
        let (_, worst) = errors(&client.decrypt(&x).unwrap(), values.into_iter());
        assert!(worst < 1e-4, "{len} values: {worst:e}");
    }
}

#[test]
fn a_logistic_loop_keeps_its_values() {
    run(Preset::ToyFull, 32, (logistic, |x| 3.2 * x * (1.0 - x)), (0.2, 0.8));
}

#[test]
fn a_convergent_loop_keeps_its_values() {
    let plain = |x: f64| 0.5 * x * (1.0 - x) + 0.25;
    run(Preset::ToyBootstrapping, 33, (convergent, plain), (0.25, 0.5));
}

#[test]
fn a_loop_whose_padding_flees_keeps_its_values() {
    let plain = |x: f64| 0.75 - 4.0 * (x - 0.5).powi(2);
    run(Preset::ToyBootstrapping, 34, (fleeing, plain), (0.5, 0.75));
}

/// Products without end: the range is stated once, for all results.
#[test]
fn a_product_loop_within_a_range_has_no_end() {
    let Party { client, server } = toy(35);
    let server = server.with_auto_bootstrap().unwrap().keep_within(-1.0..=1.0).unwrap();
    let values = [1.0, -1.0, 0.999];
    let x = client.encrypt(&values, -1.0..=1.0).unwrap();
    let mut y = x.clone();
    for _ in 0..150 {
        y = server.mul(&y, &x).unwrap();
    }
    assert_eq!((y.range().lo(), y.range().hi()), (-1.0, 1.0));
    let (_, worst) = errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.powi(151)));
    assert!(worst < 1e-3, "{worst:e}");
    // Tighter ranges stay, and a contradiction is refused.
    assert_eq!(server.square(&x).unwrap().range().lo(), 0.0);
    assert!(server.add_scalar(&x, 3.0).is_err());
}

/// Messages that padding causes say so.
#[test]
fn messages_name_the_padding() {
    let Party { client, server } = toy(36);
    let x = client.encrypt(&[0.5, 0.25, 0.75], 0.0..=1.0).unwrap();
    let far = server.add_scalar(&x, 1e6).unwrap();
    let far = server.add_values(&far, &[-1e6; 3]).unwrap();
    let low = server.drop_to_level(&far, 1).unwrap();
    let large = server.mul_integer(&low, 1 << 20).unwrap();
    let refused = server.mul_integer(&large, 1 << 12).unwrap_err().to_string();
    assert!(refused.contains("the padding may reach"), "{refused}");
    assert!(refused.contains("clear_padding"), "{refused}");
    // Without the padding there is room.
    let clear = server.clear_padding(&far).unwrap();
    let large = server.mul_integer(&server.drop_to_level(&clear, 1).unwrap(), 1 << 20).unwrap();
    assert!(server.mul_integer(&large, 1 << 12).is_ok());
}
