//! Linear programs whose operands share their errors: what is predicted is never below what there
//! is, and what is called exact is exact.

use std::collections::HashMap;

use crate::common::{params_of, party};
use bellerophon::ckks::{self, CkksOps, Interval, Metadata, simulator::Simulator};
use bellerophon::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// Slots of the vectors on the simulator.
const SLOTS: usize = 8;

/// The largest rotation, to the left.
const STEPS: [i64; 3] = [1, 2, 4];

/// The errors of a vector as multiples of those of encryptions: the encryption and the distance by
/// which its slots have moved, modulo the slots, and the factor.
type Form = HashMap<(usize, usize), f64>;

/// A vector of a program, its exact values, and its errors.
struct Known<C> {
    vector: C,
    values: Vec<f64>,
    form: Form,
    /// The terms of all sums that led to it, each as often as it was added: those of the form, unless
    /// some coincide or cancel.
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
    /// To integers modulo 256 and back.
    Integers(usize),
    /// `sum_i` of four vectors, of which some may be equal.
    Combined([usize; 4]),
    Window(usize),
}

/// A step on vectors that are known so far.
fn step(rng: &mut ChaCha20Rng, known: usize) -> Step {
    let mut any = || rng.random_range(0..known);
    let (a, b, more) = (any(), any(), [any(), any(), any(), any()]);
    match rng.random_range(0..8) {
        0 => Step::Add(a, b),
        1 => Step::Sub(a, b),
        2 => Step::Double(a),
        3 => Step::Times(a, rng.random_range(-3..=3)),
        4 => Step::Rotate(a, STEPS[rng.random_range(0..STEPS.len())]),
        5 => Step::Integers(a),
        6 => Step::Combined(more),
        _ => Step::Window(a),
    }
}

fn sum(x: &Form, y: &Form, sign: f64) -> Form {
    let mut sum = x.clone();
    y.iter().for_each(|(origin, factor)| *sum.entry(*origin).or_default() += sign * factor);
    sum
}

fn moved(x: &Form, by: usize, slots: usize) -> Form {
    x.iter().map(|(&(origin, at), &f)| ((origin, (at + by) % slots), f)).collect()
}

fn rotated(x: &[f64], by: usize) -> Vec<f64> {
    (0..x.len()).map(|i| x[(i + by) % x.len()]).collect()
}

/// The result of a step: on ciphertexts or on the simulator, in the clear, and of its errors.
fn apply<A: CkksOps>(
    a: &A,
    known: &[Known<A::Ciphertext>],
    step: Step,
) -> ckks::Result<Known<A::Ciphertext>> {
    let slots = known[0].values.len();
    let both = |x: usize, y: usize, sign: f64| -> (Vec<f64>, Form) {
        let values = known[x].values.iter().zip(&known[y].values).map(|(a, b)| a + sign * b);
        (values.collect(), sum(&known[x].form, &known[y].form, sign))
    };
    let times = |x: usize, k: f64| -> (Vec<f64>, Form) {
        let form = known[x].form.iter().map(|(&origin, f)| (origin, k * f)).collect();
        (known[x].values.iter().map(|v| k * v).collect(), form)
    };
    let of = |x: usize| &known[x].vector;
    let (vector, (values, form)) = match step {
        Step::Add(x, y) => (a.add(of(x), of(y))?, both(x, y, 1.0)),
        Step::Sub(x, y) => (a.sub(of(x), of(y))?, both(x, y, -1.0)),
        Step::Double(x) => (a.add(of(x), of(x))?, both(x, x, 1.0)),
        Step::Times(x, k) => (a.mul_integer(of(x), k)?, times(x, k as f64)),
        Step::Rotate(x, by) => {
            let form = moved(&known[x].form, by as usize, slots);
            (a.rotate(of(x), by)?, (rotated(&known[x].values, by as usize), form))
        }
        Step::Integers(x) => {
            let integers = a.integers().from_reals(of(x), 256)?;
            let reals = a.integers().to_reals(&integers)?.remove(0);
            (reals, (known[x].values.clone(), known[x].form.clone()))
        }
        Step::Combined(terms) => {
            let vector = a.add_many(&terms.map(of))?;
            let rest = terms[1..].iter().fold(times(terms[0], 1.0), |(values, form), &x| {
                let values = values.iter().zip(&known[x].values).map(|(a, b)| a + b).collect();
                (values, sum(&form, &known[x].form, 1.0))
            });
            (vector, rest)
        }
        Step::Window(x) => {
            let steps: Vec<i64> = [0].into_iter().chain(STEPS[..2].iter().copied()).collect();
            let vector = a.sum_of_rotations(&[(of(x), &steps)])?;
            let (mut values, mut form) = (vec![0.0; slots], Form::new());
            for by in steps.iter().map(|&by| by as usize) {
                let turned = rotated(&known[x].values, by);
                values.iter_mut().zip(turned).for_each(|(sum, v)| *sum += v);
                form = sum(&form, &moved(&known[x].form, by, slots), 1.0);
            }
            (vector, (values, form))
        }
    };
    let terms = |x: usize| known[x].terms;
    let terms = match step {
        Step::Add(x, y) | Step::Sub(x, y) => terms(x) + terms(y),
        Step::Double(x) => 2.0 * terms(x),
        Step::Times(x, k) => k.abs() as f64 * terms(x),
        Step::Rotate(x, _) | Step::Integers(x) => terms(x),
        Step::Combined(all) => all.into_iter().map(terms).sum(),
        Step::Window(x) => 3.0 * terms(x),
    };
    Ok(Known { vector, values, form, terms })
}

/// The standard deviation of the errors of a form, in those of one encryption.
fn deviation(form: &Form) -> f64 {
    form.values().map(|f| f * f).sum::<f64>().sqrt()
}

/// Whether no two terms of a vector are of one slot of an encryption, as in a sum of vectors that have
/// nothing in common.
fn is_independent<C>(x: &Known<C>) -> bool {
    x.form.len() as f64 == x.terms
}

#[test]
fn predictions_of_linear_programs_are_never_below_their_errors() {
    let params = params_of(Preset::ToyInsecure);
    let simulator = Simulator::new(params.ckks());
    let mut rng = ChaCha20Rng::seed_from_u64(36);
    let range = Interval::real(-1.0, 1.0).unwrap();
    let fresh = |origin| Known {
        vector: simulator.encrypt(&[0.0; SLOTS], range, params.levels()).unwrap(),
        values: vec![0.0; SLOTS],
        form: Form::from([((origin, 0), 1.0)]),
        terms: 1.0,
    };
    let unit = fresh(0).vector.metadata().noise();
    let (mut programs, mut sums) = (0, 0);
    while programs < 10_000 {
        let mut known: Vec<_> = (0..rng.random_range(1..=4)).map(fresh).collect();
        let encryptions = known.len();
        for _ in 0..12 {
            let step = step(&mut rng, known.len());
            // Values beyond the modulus, and integers of vectors that are not real.
            let Ok(next) = apply(&simulator, &known, step) else { continue };
            let (found, true_std) = (next.vector.metadata(), unit * deviation(&next.form));
            let rounding = 1.0 + 1e-9;
            assert!(
                found.noise() * rounding >= true_std,
                "{step:?}: {:e}, {true_std:e}",
                found.noise()
            );
            assert!(bound(found) * rounding >= found.noise(), "{step:?}");
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
    assert!(sums > 5000);
}

/// The bound on the standard deviation of a slot for errors of any correlation.
fn bound(x: &Metadata) -> f64 {
    ckks::noise::slot_std(x.meta.noise.bound, x.meta.slots, x.meta.scale, true)
}

/// The errors of ciphertexts: within the stated bound always, and within a factor 4 below the
/// prediction where the operands have nothing in common.
#[test]
fn errors_of_linear_programs_are_as_predicted() {
    let needs = Needs::new().rotate(STEPS);
    let crate::common::Party { client, server } = party(Preset::ToyInsecure, &needs, 36);
    let slots = client.params().slots();
    let mut rng = ChaCha20Rng::seed_from_u64(37);
    let (mut programs, mut independent) = (0, 0);
    while programs < 200 {
        let mut known: Vec<Known<Ciphertext>> = (0..rng.random_range(1..=3))
            .map(|origin| {
                let values: Vec<f64> = (0..slots).map(|_| rng.random_range(-1.0..1.0)).collect();
                let vector = client.encrypt_with(&values, -1.0..=1.0, 2, &mut rng).unwrap();
                Known { vector, values, form: Form::from([((origin, 0), 1.0)]), terms: 1.0 }
            })
            .collect();
        for _ in 0..6 {
            let step = step(&mut rng, known.len());
            let Ok(next) = apply(&*server, &known, step) else { continue };
            known.push(next);
        }
        let last = known.pop().unwrap();
        let Known { vector, values, .. } = &last;
        let found = client.decrypt(vector).unwrap();
        let errors: Vec<f64> = found.iter().zip(values).map(|(a, b)| a - b).collect();
        let rms = (errors.iter().map(|e| e * e).sum::<f64>() / slots as f64).sqrt();
        let worst = errors.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
        let metadata = vector.metadata();
        assert!(worst <= metadata.worst(-40.0) && worst <= metadata.surely(-40.0), "{worst:e}");
        assert!(rms <= 1.5 * metadata.noise(), "{rms:e}, {:e}", metadata.noise());
        if is_independent(&last) {
            assert!(metadata.noise() <= 4.0 * rms, "{rms:e}, {:e}", metadata.noise());
            independent += 1;
        }
        programs += 1;
    }
    assert!(independent > 20, "{independent}");
}

/// Doublings of zeros of a small range: integers are exact, or refused.
#[test]
fn integers_that_could_be_noise_are_refused() {
    let crate::common::Party { client, server } =
        party(Preset::ToyTables, &Needs::new().functional(), 38);
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

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}
