//! Padding never harms: every operation on slots of vectors with and without padding, clean and
//! dirty, and loops with bootstraps, against plain arithmetic on the values.

use std::collections::BTreeSet;

use bellerophon::{
    Engine,
    circuits::approx::{Function, Known},
    prelude::*,
};

use crate::common::{Party, errors, params_of, party, spread};
use crate::misuse::complete::methods_of;

mod circuits;
mod integers;
mod look_ups;
mod slots;

fn needs(preset: Preset) -> Needs {
    let slots = params_of(preset).slots();
    Needs::new().multiply().bootstrap().conjugate().rotate_any().sums(slots)
}

fn toy(seed: u64) -> Party {
    party(Preset::Insecure(Toy::Bootstrapping), &needs(Preset::Insecure(Toy::Bootstrapping)), seed)
}

/// Whether look-ups of whole vectors and sorts of long ones run.
const LONG: bool = cfg!(feature = "long-tests");

/// The lengths that matter in `slots` slots.
fn lengths(slots: usize) -> [usize; 4] {
    [199, 3, slots - 1, 1]
}

/// `x` with numbers up to `by` in the padding and the same values.
fn dirty(server: &Evaluator, x: &Ciphertext, by: f64) -> Ciphertext {
    let moved = server.add_scalar(x, by).unwrap();
    server.add_values(&moved, &vec![-by; x.len()]).unwrap()
}

/// Two vectors of one length on which all operations are called, and their values.
struct Bench<'a> {
    client: &'a ClientKey,
    server: &'a Evaluator,
    x: &'a Ciphertext,
    y: &'a Ciphertext,
    values: &'a [f64],
    others: &'a [f64],
    /// The operations that were called.
    called: &'a mut BTreeSet<&'static str>,
}

impl Bench<'_> {
    /// Compares every value of a result: `f` computes it of the values of both operands.
    fn check<E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        result: Result<Ciphertext, E>,
        f: impl Fn(f64, f64) -> f64,
    ) {
        let (values, others) = (self.values, self.others);
        self.slots(name, 1e-4, result, |i| Some(f(values[i], others[i])));
    }

    /// Compares the slots for which there is an expected value: padding moves to the others.
    fn slots<E: std::fmt::Display>(
        &mut self,
        name: &'static str,
        tolerance: f64,
        result: Result<Ciphertext, E>,
        expected: impl Fn(usize) -> Option<f64>,
    ) {
        let len = self.values.len();
        let result = result.unwrap_or_else(|e| panic!("{name} of {len}: {e}"));
        let found = self.client.decrypt(&result).unwrap();
        self.compare(name, tolerance, &found, expected);
    }

    fn compare(
        &mut self,
        name: &'static str,
        tolerance: f64,
        found: &[f64],
        expected: impl Fn(usize) -> Option<f64>,
    ) {
        let expected = (0..found.len()).map(|i| expected(i).unwrap_or(found[i]));
        let (_, worst) = errors(found, expected);
        assert!(worst < tolerance, "{name} of {}: {worst:e}", self.values.len());
        self.called.insert(name);
    }
}

/// Operations that have no case here, and why.
const OTHERS: [(&str, &str); 22] = [
    ("composed", "runs a closure"),
    ("fused", "runs an operation"),
    ("read_as", "runs `repeated`, `broadcast` and `reinterpret_scale`"),
    ("single", "runs an operation"),
    ("refreshed", "is what a bootstrap does to one operand"),
    ("new", "makes an evaluator"),
    ("with_auto_bootstrap", "in the loops below"),
    ("map_plan", "computes nothing"),
    ("map_watched", "a step of the debugger"),
    ("pack_level", "computes nothing"),
    ("tables", "of LWE values, which have no padding"),
    ("publish", "results that leave"),
    ("publish_paired", "results that leave"),
    ("publish_integers", "results that leave"),
    ("admit", "inputs with the metadata of their declaration"),
    ("admit_paired", "inputs with the metadata of their declaration"),
    ("admit_integers", "inputs with the metadata of their declaration"),
    ("extract_flooded", "as `extract`, with noise: `noise_flooding.rs`"),
    ("extract_flooded_with", "as `extract`, with noise: `noise_flooding.rs`"),
    ("map_flooded", "as `map_with`, with noise: `noise_flooding.rs`"),
    ("map_flooded_with", "as `map_with`, with noise: `noise_flooding.rs`"),
    ("apply (LWE)", "of LWE values, which have no padding"),
];

#[test]
fn every_operation_computes_the_values() {
    let needs =
        needs(Preset::Insecure(Toy::Full)).functional().map_with([Engine::Rgsw, Engine::Corrected]);
    let needs = needs.statistics(3, 3);
    let Party { client, server } = party(Preset::Insecure(Toy::Full), &needs, 31);
    let mut called = BTreeSet::new();
    for len in lengths(client.params().slots()) {
        let (values, others) = (&spread(len, 0.25, 1.0), &spread(len, 0.3, 0.9));
        let x = client.encrypt(values, 0.25..=1.0).unwrap();
        let y = client.encrypt(others, 0.25..=1.0).unwrap();
        for (x, is_clean) in [(&x, true), (&dirty(&server, &x, 3.0), false)] {
            let (client, server, y, called) = (&client, &server, &y, &mut called);
            let mut bench = Bench { client, server, x, y, values, others, called };
            bench.arithmetic();
            bench.functions();
            bench.moves();
            bench.sums();
            // Bootstraps and look-ups take longer. Zeros are the easier padding.
            if is_clean {
                continue;
            }
            bench.bootstraps();
            if len < 200 || LONG {
                bench.look_ups();
            }
            if len < 200 {
                bench.comparisons();
            }
        }
    }
    // Nothing is left out.
    let owners = ["Vectors", "CkksOps", "ComposedOps", "CircuitOps", "Evaluator"].map(methods_of);
    let ordering = methods_of("OrderOps").into_iter().map(|name| format!("{name} (LWE)"));
    let all: BTreeSet<String> = owners.into_iter().flatten().chain(ordering).collect();
    let known: BTreeSet<String> =
        called.into_iter().chain(OTHERS.map(|(name, _)| name)).map(String::from).collect();
    let missing: Vec<_> = all.symmetric_difference(&known).collect();
    assert!(missing.is_empty(), "no case, or no such operation: {missing:?}");
}

/// A step of a loop on ciphertexts, and on plain values.
type Step = (fn(&Evaluator, &Ciphertext) -> bellerophon::Result<Ciphertext>, fn(f64) -> f64);

/// The logistic map `3.2 x (1 - x)` has a stable cycle of two values; zero, the padding, is a fixed
/// point that is not stable.
fn logistic(server: &Evaluator, x: &Ciphertext) -> bellerophon::Result<Ciphertext> {
    let rest = server.add_scalar(&server.neg(x)?, 1.0)?;
    server.assume_range(&server.mul_scalar(&server.mul(x, &rest)?, 3.2)?, 0.0..=1.0)
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
    for len in lengths(client.params().slots()) {
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
    run(Preset::Insecure(Toy::Full), 32, (logistic, |x| 3.2 * x * (1.0 - x)), (0.2, 0.8));
}

#[test]
fn a_loop_whose_padding_flees_keeps_its_values() {
    let plain = |x: f64| 0.75 - 4.0 * (x - 0.5).powi(2);
    run(Preset::Insecure(Toy::Bootstrapping), 34, (fleeing, plain), (0.5, 0.75));
}

/// A functional bootstrap clears padding that leaves its domain: behind the results is the function
/// of the middle of the domain.
#[test]
fn functional_bootstraps_clear_padding_beyond_domains() {
    const FAR: f64 = 2.0;
    let Party { client, server } =
        party(Preset::Insecure(Toy::Smooth), &Needs::new().functional(), 37);
    let sigmoid = Function::from(Known::Sigmoid);
    let functional = client.params().functional().unwrap();
    let f = functional.real_function(&sigmoid, -0.125, 1.125, Accuracy::bits(16.0)).unwrap();
    assert!((f.eval(FAR) - f.eval(0.5)).abs() > 0.03, "{} {}", f.eval(FAR), f.eval(0.5));
    for len in lengths(client.params().slots()) {
        let values = spread(len, 0.2, 0.8);
        let x = dirty(&server, &client.encrypt(&values, 0.0..=1.0).unwrap(), FAR);
        let slots = x.meta().slots;
        let x = PairedVec::of_reals(&server, x).unwrap();
        let y = server.functions_of(&x, &[&f]).unwrap().remove(0).into_inner();
        let all = client.decrypt(&server.with_len(y, slots).unwrap()).unwrap();
        let expected = values.into_iter().chain(std::iter::repeat(0.5)).take(slots);
        let (_, worst) = errors(&all, expected.map(|v| f.eval(v)));
        assert!(worst < 1e-3, "{len} values: {worst:e}");
    }
}

/// Products without end, which keep a range.
#[test]
fn a_product_loop_within_a_range_has_no_end() {
    let Party { client, server } = toy(35);
    let server = server.with_auto_bootstrap().unwrap();
    let values = [1.0, -1.0, 0.999];
    let x = client.encrypt(&values, -1.0..=1.0).unwrap();
    let mut y = x.clone();
    let products = if cfg!(feature = "long-tests") { 500 } else { 150 };
    for _ in 0..products {
        y = server.keep_within(&server.mul(&y, &x).unwrap(), -1.0..=1.0).unwrap();
    }
    assert_eq!((y.range().lo(), y.range().hi()), (-1.0, 1.0));
    let (_, worst) =
        errors(&client.decrypt(&y).unwrap(), values.iter().map(|v| v.powi(products + 1)));
    assert!(worst < 1e-3, "{worst:e}");
    // Tighter ranges stay, and a contradiction is refused.
    let square = server.keep_within(&server.square(&x).unwrap(), -1.0..=1.0).unwrap();
    assert_eq!(square.range().lo(), 0.0);
    assert!(server.keep_within(&server.add_scalar(&x, 3.0).unwrap(), -1.0..=1.0).is_err());
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
