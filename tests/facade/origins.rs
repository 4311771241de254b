//! Linear programs whose operands share their errors: what is predicted is never below what there
//! is, and what is called exact is exact.

use std::collections::HashMap;

use crate::common::{Party, params_of, party};
use bellerophon::prelude::*;
use bellerophon::{
    circuits::fbt::IntVec,
    ckks::{self, CkksOps, Interval, KeyLevels, Metadata, noise, simulator::Simulator},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// Slots of the vectors on the simulator.
const SLOTS: usize = 8;

/// The largest rotation, to the left.
const STEPS: [i64; 3] = [1, 2, 4];

/// The constant of all plaintexts, which no scale represents.
pub(crate) const CONSTANT: f64 = 1.0 / 3.0;

/// Where an error comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Origin {
    Encryption(usize),
    /// The rounding of [`CONSTANT`] in every slot.
    Constant,
    /// The rounding of [`values`] in so many slots.
    Values(usize),
}

/// The errors of a vector as multiples of those of their origins: the origin and the distance by
/// which its slots have moved, and the factor. An encryption of `period` slots has errors of its
/// own in `2 period` slots; the errors of its slots are the means of two of them.
type Form = HashMap<(Origin, usize), f64>;

/// A vector of a program, its exact values, and its errors.
struct Known<C> {
    vector: C,
    values: Vec<f64>,
    form: Form,
    /// The terms of all sums that led to it, each as often as it was added: those of the form,
    /// unless some coincide or cancel.
    terms: f64,
}

/// One step of a linear program.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Double(usize),
    Times(usize, i64),
    Rotate(usize, i64),
    /// [`CONSTANT`] in every slot.
    AddScalar(usize),
    /// [`values`] in the slots.
    AddValues(usize),
    /// Twice as many slots as an encryption has.
    Repeat(usize),
    /// `sum_i` of four vectors, of which some may be equal.
    Combined([usize; 4]),
    Window(usize),
    /// [`CONSTANT`] in every slot, [`TIMES`] times.
    AddConstants(usize),
    SumSlots(usize),
    /// The reals taken for integers and back.
    Integers(usize),
    /// `sum_i p x_i` of four vectors with one plaintext. A level.
    Weighted([usize; 4]),
    /// [`CONSTANT`] times a vector. A level.
    Scaled(usize),
}

/// How often [`Step::AddConstants`] adds its constant.
const TIMES: usize = 16;

/// The values of all plaintext vectors.
fn values(len: usize) -> Vec<f64> {
    (0..len).map(|i| CONSTANT * (1.0 + i as f64 / len as f64)).collect()
}

/// The kinds of steps: those of integer coefficients, and all.
const LINEAR: usize = 13;
const ALL: usize = 15;

/// A step on vectors that are known so far, one of the first `kinds`.
fn step(rng: &mut ChaCha20Rng, known: usize, kinds: usize) -> Step {
    let mut any = || rng.random_range(0..known);
    let (a, b, more) = (any(), any(), [any(), any(), any(), any()]);
    match rng.random_range(0..kinds) {
        0 => Step::Add(a, b),
        1 => Step::Sub(a, b),
        2 => Step::Double(a),
        3 => Step::Times(a, rng.random_range(-3..=3)),
        4 => Step::Rotate(a, STEPS[rng.random_range(0..STEPS.len())]),
        5 => Step::AddScalar(a),
        6 => Step::AddValues(a),
        7 => Step::Repeat(a),
        8 => Step::Combined(more),
        9 => Step::Window(a),
        10 => Step::AddConstants(a),
        11 => Step::SumSlots(a),
        12 => Step::Integers(a),
        13 => Step::Weighted(more),
        _ => Step::Scaled(a),
    }
}

fn sum(x: &Form, y: &Form, sign: f64) -> Form {
    let mut sum = x.clone();
    y.iter().for_each(|(origin, factor)| *sum.entry(*origin).or_default() += sign * factor);
    sum
}

fn moved(x: &Form, by: usize, period: usize) -> Form {
    let place = |origin, at| match origin {
        Origin::Encryption(_) => (at + by) % (2 * period),
        Origin::Constant => 0,
        Origin::Values(slots) => (at + by) % slots,
    };
    x.iter().map(|(&(origin, at), &f)| ((origin, place(origin, at)), f)).collect()
}

/// `x + sign y`, of which the shorter one repeats.
fn zipped(x: &[f64], y: &[f64], sign: f64) -> Vec<f64> {
    let slots = x.len().max(y.len());
    (0..slots).map(|i| x[i % x.len()] + sign * y[i % y.len()]).collect()
}

fn rotated(x: &[f64], by: usize) -> Vec<f64> {
    (0..x.len()).map(|i| x[(i + by) % x.len()]).collect()
}

/// The result of a step: on ciphertexts or on the simulator, in the clear, and of its errors, for
/// encryptions of `period` slots.
fn apply<A: CkksOps>(
    a: &A,
    known: &[Known<A::Ciphertext>],
    step: Step,
    period: usize,
) -> ckks::Result<Known<A::Ciphertext>> {
    // Copies are padding, which sums clear and plaintexts of the values alone leave out.
    let repeated = |x: &usize| known[*x].values.len() > period;
    let step = match step {
        Step::SumSlots(x) if repeated(&x) => Step::Double(x),
        Step::Weighted(all) if all.iter().any(repeated) => Step::Combined(all),
        _ => step,
    };
    let both = |x: usize, y: usize, sign: f64| -> (Vec<f64>, Form) {
        let values = zipped(&known[x].values, &known[y].values, sign);
        (values, sum(&known[x].form, &known[y].form, sign))
    };
    let times = |x: usize, k: f64| -> (Vec<f64>, Form) {
        let form = known[x].form.iter().map(|(&origin, f)| (origin, k * f)).collect();
        (known[x].values.iter().map(|v| k * v).collect(), form)
    };
    let plus = |x: usize, plain: &[f64], origin: Origin, count: f64| -> (Vec<f64>, Form) {
        let form = sum(&known[x].form, &Form::from([((origin, 0), count)]), 1.0);
        let plain = plain.iter().copied().chain(std::iter::repeat(0.0));
        (known[x].values.iter().zip(plain).map(|(v, p)| v + p).collect(), form)
    };
    let turned = |x: usize, steps: &mut dyn Iterator<Item = usize>| -> (Vec<f64>, Form) {
        let (mut values, mut form) = (vec![0.0; known[x].values.len()], Form::new());
        for by in steps {
            values = zipped(&values, &rotated(&known[x].values, by), 1.0);
            form = sum(&form, &moved(&known[x].form, by, period), 1.0);
        }
        (values, form)
    };
    let of = |x: usize| &known[x].vector;
    let (vector, (values, form)) = match step {
        Step::Add(x, y) => (a.add(of(x), of(y))?, both(x, y, 1.0)),
        Step::Sub(x, y) => (a.sub(of(x), of(y))?, both(x, y, -1.0)),
        Step::Double(x) => (a.add(of(x), of(x))?, both(x, x, 1.0)),
        Step::Times(x, k) => (a.mul_integer(of(x), k)?, times(x, k as f64)),
        Step::Rotate(x, by) => {
            let form = moved(&known[x].form, by as usize, period);
            (a.rotate(of(x), by)?, (rotated(&known[x].values, by as usize), form))
        }
        Step::AddScalar(x) => {
            let constants = vec![CONSTANT; known[x].values.len()];
            (a.add_scalar(of(x), CONSTANT)?, plus(x, &constants, Origin::Constant, 1.0))
        }
        Step::AddConstants(x) => {
            let constants = vec![TIMES as f64 * CONSTANT; known[x].values.len()];
            let mut sum = of(x).clone();
            for _ in 0..TIMES {
                sum = a.add_scalar(&sum, CONSTANT)?;
            }
            (sum, plus(x, &constants, Origin::Constant, TIMES as f64))
        }
        Step::AddValues(x) => {
            let plain = values(period);
            let origin = Origin::Values(known[x].values.len());
            (a.add_values(of(x), &plain)?, plus(x, &plain, origin, 1.0))
        }
        Step::Repeat(x) => {
            let values = zipped(&known[x].values, &vec![0.0; 2 * period], 1.0);
            (a.repeated(of(x).clone(), 2 * period)?, (values, known[x].form.clone()))
        }
        Step::Combined(terms) => {
            let vector = a.add_many(&terms.map(of))?;
            let rest = terms[1..].iter().fold(times(terms[0], 1.0), |(values, form), &x| {
                (zipped(&values, &known[x].values, 1.0), sum(&form, &known[x].form, 1.0))
            });
            (vector, rest)
        }
        Step::Window(x) => {
            let steps: Vec<i64> = [0].into_iter().chain(STEPS[..2].iter().copied()).collect();
            (
                a.sum_of_rotations(&[(of(x), &steps)])?,
                turned(x, &mut steps.iter().map(|&s| s as usize)),
            )
        }
        Step::SumSlots(x) => (a.sum_slots(of(x))?, turned(x, &mut (0..known[x].values.len()))),
        Step::Integers(x) => {
            let on = a.integers();
            let again = on.to_reals(&on.from_reals(of(x), 256)?)?.swap_remove(0);
            (again, times(x, 1.0))
        }
        Step::Weighted(all) => {
            let plain = values(known[all[0]].values.len());
            let vector = a.dot_values(&all.map(of), &vec![plain.clone(); all.len()])?;
            let sum = |i: usize| all.iter().map(|&x| known[x].values[i]).sum::<f64>();
            let products = plain.iter().enumerate().map(|(i, p)| p * sum(i)).collect();
            (vector, (products, Form::new()))
        }
        Step::Scaled(x) => (a.mul_scalar(of(x), CONSTANT)?, times(x, CONSTANT)),
    };
    let terms = |x: usize| known[x].terms;
    let terms = match step {
        Step::Add(x, y) | Step::Sub(x, y) => terms(x) + terms(y),
        Step::Double(x) => 2.0 * terms(x),
        Step::Times(x, k) => k.abs() as f64 * terms(x),
        Step::Rotate(x, _) | Step::Repeat(x) | Step::Integers(x) => terms(x),
        Step::AddConstants(x) => terms(x) + TIMES as f64,
        Step::SumSlots(x) => known[x].values.len() as f64 * terms(x),
        // The roundings of products are not in the form: not known to be independent.
        Step::Weighted(_) | Step::Scaled(_) => f64::NAN,
        Step::AddScalar(x) | Step::AddValues(x) => terms(x) + 1.0,
        Step::Combined(all) => all.into_iter().map(terms).sum(),
        Step::Window(x) => 3.0 * terms(x),
    };
    Ok(Known { vector, values, form, terms })
}

/// The form of a vector of `slots` slots, with the errors of an encryption that its slots have.
fn folded(form: &Form, slots: usize, period: usize) -> Form {
    let mut folded = Form::new();
    for (&(origin, at), f) in form {
        let one = slots == period && matches!(origin, Origin::Encryption(_));
        *folded.entry((origin, if one { at % period } else { at })).or_default() += f;
    }
    folded
}

/// The root mean square of the errors of a vector; that of an encryption is `unit`.
fn deviation<C>(x: &Known<C>, unit: f64, period: usize, scale: f64) -> f64 {
    let slots = x.values.len();
    let rounded = CONSTANT * scale;
    let of = |origin: Origin| match origin {
        Origin::Encryption(_) => unit * (slots as f64 / period as f64).sqrt(),
        Origin::Constant => (rounded - rounded.round()).abs() / scale,
        // The coefficients of a real vector come in equal pairs.
        Origin::Values(slots) => noise::slot_std(2.0 * noise::ENCODING, slots, scale, true),
    };
    let form = folded(&x.form, slots, period);
    form.iter().map(|(&(origin, _), f)| (f * of(origin)).powi(2)).sum::<f64>().sqrt()
}

/// Whether no two terms of a vector are of one slot of an encryption, as in a sum of vectors that
/// have nothing in common.
fn is_independent<C>(x: &Known<C>, period: usize) -> bool {
    let form = folded(&x.form, x.values.len(), period);
    form.len() as f64 == x.terms && form.values().all(|f| f.abs() == 1.0)
}

/// From above in all programs, and from below in those whose operands have nothing in common.
#[test]
fn linear_programs_have_errors_near_predictions() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let simulator = Simulator::new(params.ckks());
    let mut rng = ChaCha20Rng::seed_from_u64(36);
    let range = Interval::real(-1.0, 1.0).unwrap();
    let fresh = |origin| Known {
        vector: simulator.encrypt(&[0.0; SLOTS], range, params.levels()).unwrap(),
        values: vec![0.0; SLOTS],
        form: Form::from([((Origin::Encryption(origin), 0), 1.0)]),
        terms: 1.0,
    };
    let (unit, scale) = (fresh(0).vector.metadata().noise(), params.ckks().scale());
    // What a rotation adds, which is no part of a form.
    let turned = simulator.rotate(&fresh(0).vector, 1).unwrap().metadata().noise();
    let (mut programs, mut sums, mut independent, mut most) = (0, 0, 0, 0.0_f64);
    while programs < 10_000 {
        let mut known: Vec<_> = (0..rng.random_range(1..=4)).map(fresh).collect();
        let encryptions = known.len();
        for _ in 0..12 {
            let step = step(&mut rng, known.len(), LINEAR);
            // Values beyond the modulus, and sums of different numbers of slots.
            let Ok(next) = apply(&simulator, &known, step, SLOTS) else { continue };
            let found = next.vector.metadata();
            let true_std = deviation(&next, unit, SLOTS, scale);
            let rounding = 1.0 + 1e-9;
            assert!(
                found.noise() * rounding >= true_std,
                "{step:?}: {:e}, {true_std:e}",
                found.noise()
            );
            assert!(bound(found) * rounding >= found.noise(), "{step:?}");
            if is_independent(&next, SLOTS) {
                most = most.max(found.noise() / deviation(&next, turned, SLOTS, scale));
                independent += 1;
            }
            known.push(next);
        }
        // Sums of vectors that have nothing in common count variances.
        let terms: Vec<_> = known[..encryptions].iter().map(|x| &x.vector).collect();
        let sum = simulator.add_many(&terms).unwrap();
        let expected = unit * (encryptions as f64).sqrt();
        assert!((sum.metadata().noise() / expected - 1.0).abs() < 1e-9);
        sums += usize::from(encryptions > 1);
        programs += 1;
    }
    assert!(sums > 5000 && independent > 10_000, "{sums} {independent}");
    assert!(most <= 4.0, "{most}");
}

/// A rotation by 7 of 8 slots, repeated, is the rotation by 7 of 16 slots of the repeated vector.
#[test]
fn rotations_of_other_slot_counts_share_errors() {
    let params = params_of(Preset::Insecure(Toy::Functions));
    let simulator = Simulator::new(params.ckks());
    let range = Interval::real(-1.0, 1.0).unwrap();
    let x = simulator.encrypt(&[0.5; SLOTS], range, params.levels()).unwrap();
    let copies = simulator.repeated(x.clone(), 2 * SLOTS).unwrap();
    let turned = simulator.rotate(&x, 7).unwrap();
    let right = simulator.rotate(&copies, 7).unwrap();
    let left = simulator.repeated(turned.clone(), 2 * SLOTS).unwrap();
    let both = left.metadata().noise() + right.metadata().noise();
    for sum in [simulator.add(&left, &right), simulator.add(&turned, &right)] {
        assert!(sum.unwrap().metadata().noise() >= both * (1.0 - 1e-9));
    }
}

/// The same constant added again and again has the same rounding each time.
#[test]
fn roundings_of_plaintexts_add_up() {
    const TIMES: usize = 1000;
    let Party { client, server } = party(Preset::Insecure(Toy::Functions), &Needs::new(), 40);
    let x = client.encrypt_with(&[0.25; SLOTS], -1.0..=1.0, 2, &mut rng(2)).unwrap();
    let plain = values(SLOTS);
    let (mut constants, mut vectors) = (x.clone(), x);
    for _ in 0..TIMES {
        constants = server.add_scalar(&constants, CONSTANT).unwrap();
        vectors = server.add_values(&vectors, &plain).unwrap();
    }
    for (y, added, most) in [(constants, [CONSTANT; SLOTS].to_vec(), 1.2), (vectors, plain, 4.0)] {
        let found: Vec<f64> = client.decrypt_noisy(&y).unwrap();
        let exact = added.iter().map(|c| 0.25 + TIMES as f64 * c);
        let squares = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2));
        let rms = (squares.sum::<f64>() / SLOTS as f64).sqrt();
        let noise = y.metadata().noise();
        assert!(rms <= 1.5 * noise && noise <= most * rms, "{rms:e}, {noise:e}");
        assert!(bound(&y.metadata()) >= noise);
    }
}

/// The bound on the standard deviation of a slot for errors of any correlation.
fn bound(x: &Metadata) -> f64 {
    ckks::noise::slot_std(x.meta.noise.bound, x.meta.slots, x.meta.scale, true)
}

/// The errors of ciphertexts: within the stated bound always, and within a factor 4 below the
/// prediction where the operands have nothing in common. The simulator predicts the same.
#[test]
fn errors_of_linear_programs_are_as_predicted() {
    let independent =
        programs_have_the_predicted_errors(Preset::Insecure(Toy::Functions), 200, LINEAR)
            + programs_have_the_predicted_errors(Preset::Insecure(Toy::Functions), 100, ALL);
    assert!(independent > 20, "{independent}");
}

/// The same under parameters with tables of integers.
#[test]
fn linear_programs_beside_tables_err_as_predicted() {
    let programs = if cfg!(feature = "long-tests") { 200 } else { 20 };
    programs_have_the_predicted_errors(Preset::Insecure(Toy::Tables), programs, ALL);
}

/// Runs random programs of steps of the first `kinds`. Returns how many have nothing in common.
fn programs_have_the_predicted_errors(preset: Preset, count: usize, kinds: usize) -> usize {
    let slots = params_of(preset).slots();
    let sums = KeyLevels::default().sum_slots(slots / 2, 2).sum_slots(slots, 2);
    let Party { client, server } = party(preset, &Needs::new().rotate(STEPS).keys(&sums), 36);
    let simulator = Simulator::new(client.params().ckks());
    let period = slots / 2;
    let range = Interval::real(-1.0, 1.0).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(37);
    let mut independent = 0;
    for _ in 0..count {
        let (mut known, mut predicted, mut summed) = (vec![], vec![], false);
        for origin in 0..rng.random_range(1..=3) {
            let values: Vec<f64> = (0..period).map(|_| rng.random_range(-1.0..1.0)).collect();
            let form = Form::from([((Origin::Encryption(origin), 0), 1.0)]);
            let vector = client.encrypt_with(&values, -1.0..=1.0, 2, &mut rng).unwrap();
            let foreseen = simulator.encrypt(&values, range, 2).unwrap();
            known.push(Known { vector, values: values.clone(), form: form.clone(), terms: 1.0 });
            predicted.push(Known { vector: foreseen, values, form, terms: 1.0 });
        }
        for _ in 0..6 {
            let step = step(&mut rng, known.len(), kinds);
            summed |= matches!(step, Step::SumSlots(_));
            let foreseen = apply(&simulator, &predicted, step, period);
            let Ok(next) = apply(&server, &known, step, period) else {
                assert!(foreseen.is_err(), "{step:?}");
                continue;
            };
            let foreseen = foreseen.unwrap();
            assert_eq!(next.vector.metadata(), *foreseen.vector.metadata(), "{step:?}");
            known.push(next);
            predicted.push(foreseen);
        }
        let last = known.pop().unwrap();
        let slots = match (is_independent(&last, period), summed) {
            (_, true) => Slots::Equal,
            (true, false) => Slots::Independent,
            (false, false) => Slots::Correlated,
        };
        has_predicted_errors(&client, &last.vector, &last.values, slots);
        independent += usize::from(slots == Slots::Independent);
    }
    independent
}

/// What is known of the errors of the slots of a vector.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Slots {
    /// They are independent, and the prediction is close.
    Independent,
    /// They are independent; operands may have been correlated.
    Correlated,
    /// They may all be equal: one sample.
    Equal,
}

/// Checks the errors of a vector from above, and from below where the prediction is close.
pub(crate) fn has_predicted_errors(
    client: &ClientKey,
    x: &Ciphertext,
    exact: &[f64],
    slots: Slots,
) {
    let found: Vec<f64> = client.decrypt_noisy(x).unwrap();
    let errors: Vec<f64> = found.iter().zip(exact).map(|(a, b)| a - b).collect();
    let rms = (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
    let worst = errors.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
    let (metadata, noise) = (x.metadata(), x.metadata().noise());
    assert!(worst <= metadata.worst(-40.0) && worst <= metadata.surely(-40.0), "{worst:e}");
    let most = if slots == Slots::Equal { 4.0 } else { 1.5 };
    assert!(rms <= most * noise, "{rms:e}, {noise:e}");
    assert!(slots != Slots::Independent || noise <= 4.0 * rms, "{rms:e}, {noise:e}");
}

/// Integers in both parts of the slots, as two vectors of reals.
#[test]
fn parts_of_integers_have_the_predicted_errors() {
    let needs = Needs::new().functional().conjugate();
    let Party { client, server } = party(Preset::Insecure(Toy::Tables), &needs, 39);
    let level = client.params().functional().unwrap().input_level();
    let slots = client.params().slots();
    let integers: Vec<usize> = (0..slots + 64).map(|i| i * 7 % 256).collect();
    let x = client.encrypt_with(&integers, Modulo(256), level, &mut rng(3)).unwrap();
    let on = server.integers();
    let y = on.mul_constant(&on.add(&x, &x).unwrap(), 3).unwrap();
    let parts = on.to_reals(&y).unwrap();
    for (part, exact) in parts.iter().zip([&integers[..slots], &integers[slots..]]) {
        let found = client.decrypt(part).unwrap();
        assert_eq!(found.len(), exact.len());
        let squares = found.iter().zip(exact).map(|(a, &b)| (a - 6.0 * b as f64).powi(2));
        let rms = (squares.sum::<f64>() / exact.len() as f64).sqrt();
        let noise = part.metadata().noise();
        assert!(rms <= 1.5 * noise && noise <= 4.0 * rms, "{rms:e}, {noise:e}");
        // They are integers by the word of the program.
        assert!(on.from_reals(part, 256).unwrap().is_of_reals());
    }
    assert_eq!(parts.len(), 2);
}

/// Only encryptions become integers whose noise counts as bounded; whatever an operation or a
/// statement has changed counts as a vector of reals.
#[test]
fn marks_of_integers_are_not_removed() {
    let Party { client, server } = party(Preset::Insecure(Toy::Tables), &Needs::new(), 38);
    let x = client.encrypt_with(&[0.5; 64], 0.0..=255.0, 3, &mut rng(4)).unwrap();
    let is_marked = |y: Ciphertext| IntVec::new(y, 256, 64).unwrap().is_of_reals();
    assert!(is_marked(x.clone()));
    let meta = x.metadata().meta;
    let changed = [
        server.add(&x, &x).unwrap(),
        server.add_scalar(&x, 0.0).unwrap(),
        server.add_values(&x, &[0.0; 64]).unwrap(),
        server.mul_integer(&x, 1).unwrap(),
        server.drop_to_level(&x, 2).unwrap(),
        server.neg(&server.neg(&x).unwrap()).unwrap(),
        server.with_metadata(server.add(&x, &x).unwrap(), meta),
        x.clone().assume_range_with_padding(meta.bounds.values),
        x.clone().assume_noise(1e-9).unwrap(),
    ];
    assert!(changed.into_iter().all(is_marked));
    let mut sum = x.clone();
    server.arithmetic().add_assign(&mut sum, &x).unwrap();
    assert!(is_marked(sum));
}

/// Doublings of zeros of a small range: integers are exact, or refused.
#[test]
fn integers_that_could_be_noise_are_refused() {
    let Party { client, server } =
        party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 38);
    let level = client.params().functional().unwrap().input_level();
    let zeros = client.encrypt_with(&[0.0; 64], -1e-9..=1e-9, level, &mut rng(1)).unwrap();
    let on = server.integers();
    let (mut y, mut exact, mut refused) = (zeros, 0, 0);
    for doublings in 1..=48 {
        y = server.add(&y, &y).unwrap();
        if doublings < 16 {
            continue;
        }
        let integers = on.from_reals(&y, 256).unwrap();
        // Reals are not shown as integers, whatever is known of their noise.
        let error = client.decrypt_integers(&integers).unwrap_err();
        assert!(error.to_string().contains("identity table"), "{error}");
        assert!(server.publish_integers(&integers).is_err());
        let laundered = on.from_reals(&on.to_reals(&integers).unwrap()[0], 256).unwrap();
        assert!(laundered.is_of_reals());
        for integers in [integers, laundered] {
            match on.table(&integers, |k| k) {
                Ok(table) => {
                    assert_eq!(client.decrypt_integers(&table).unwrap(), [0; 64], "{doublings}");
                    exact += 1;
                }
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains("noise") || said.contains("may reach"), "{said}");
                    refused += 1;
                }
            }
        }
    }
    assert!(exact > 0 && refused > 20, "{exact} {refused}");
}

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}
