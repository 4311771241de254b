//! The noise that vectors carry against the error that is measured, from both sides, for every
//! operation of evaluators that returns a ciphertext. Exact values are those of the simulator,
//! which follows approximations too, so that what is left is the noise alone.

use crate::common;
use bellerophon_circuits::CircuitOps;
use bellerophon_circuits::bootstrap::EvaluatorExt;
use bellerophon_circuits::bootstrap::SimulatorExt;

use std::sync::Arc;

use crate::common::{
    World,
    functional::{Functional, functional},
    span,
};
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Known, Sign},
    bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    fbt::{FbtInput, FbtSpec, IntTable, IntVec, PairedVec, PeriodicFunction},
    learning::{LogisticRegression, LogisticSpec},
    lintrans::{Giants, Hoisting, LinearOptions, LinearTransform},
    matrix::{MatrixProduct, Packing},
    polynomial::{Monomial, Polynomial},
    statistics::DataTable,
};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, Encoder, Interval, KeyLevels, Params, ParamsSpec,
    Result, Security, encrypt_seeded,
    simulator::{SimCiphertext, Simulator},
};
use rand::RngExt;

const SLOTS: usize = 1 << 9;
const LEVELS: usize = 11;

/// A result, and by how much its prediction may exceed what is measured.
type Case<V> = (&'static str, f64, Result<V>);

/// How far measured errors of a few hundred slots may scatter above the prediction.
const ABOVE: f64 = 1.15;

/// Every slot at the ends of the range, where predictions are sharp.
const SHARP: f64 = 1.3;

/// Of sums of integers: the prediction is that of errors in common, `sqrt(2)` times that of
/// independent ones.
const COMMON: f64 = 1.6;

/// A value and its correction, which stem from the same operands: their errors, which partly
/// cancel, are taken to be equal.
const RELATED: f64 = 3.0;

/// Rotations whose noise is bounded by key switches of full digits.
const SWITCHED: f64 = 1.5;

/// Values inside of their range, whose products are predicted by the largest.
const INSIDE: f64 = 1.6;

/// Products with sums that may be as large as all of their terms together, and rarely are.
const SUMS: f64 = 6.0;

/// Polynomials, predicted for values that meet all of their domain.
const AVERAGED: f64 = 1.6;

/// `x` and `y` are at the ends of `[-1, 1]`, `u` in `[0.25, 1]`, `padded` has fewer values than
/// slots.
fn operations<A: CkksOps>(
    a: &A,
    [x, y, u, padded]: [&A::Ciphertext; 4],
) -> Vec<Case<A::Ciphertext>> {
    let (params, scale) = (a.params(), a.params().scale());
    let values: Vec<f64> = (0..SLOTS).map(|i| if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let halves: Vec<f64> = values.iter().map(|v| 0.5 * v).collect();
    let p = Polynomial::new(Chebyshev::interpolate(f64::sin, -1.0, 1.0, 7));
    let q = Polynomial::new(Chebyshev::interpolate(f64::cos, -1.0, 1.0, 4));
    let m = Monomial::new(&[0.1, 0.2, 0.3, 0.2]).unwrap();
    let transform = |hoisting, giants| {
        let mut matrix = Diagonals::zero(SLOTS);
        for k in [0, 1, 2, 9] {
            matrix.add_diagonal(k, values.iter().map(|&v| Complex64::from(v)).collect());
        }
        let at = LinearOptions { giants, hoisting, ..LinearOptions::default() };
        a.transform(x, &LinearTransform::new(params, &matrix, LEVELS, at).unwrap())
    };
    let function = |f: Function, log2_error: f64| {
        a.apply(u, &Approximation::new(&f, 0.25, 1.0, Accuracy::bits(-log2_error)).unwrap())
    };
    let sign = Sign::of_degrees(1.0, 0.25, &[3, 3]).unwrap();
    let raw = |z: Result<A::Ciphertext>| z.and_then(|z| a.rescale(&z));
    vec![
        ("add", SHARP, a.add(x, y)),
        ("sub", SHARP, a.sub(x, y)),
        ("neg", SHARP, a.neg(x)),
        ("add_values", SHARP, a.add_values(x, &values)),
        ("add_scalar", SHARP, a.add_scalar(x, 0.3)),
        ("add_many", SHARP, a.add_many(&[x, y, u])),
        ("mul_no_rescale", SHARP, a.mul_no_rescale(x, y)),
        ("square_no_rescale", SHARP, a.square_no_rescale(x)),
        ("mul", SHARP, a.mul(x, y)),
        ("mul inside", INSIDE, a.mul(u, u)),
        ("square", SHARP, a.square(x)),
        ("rescale", SHARP, raw(a.mul_no_rescale(x, y))),
        ("mul_values", SHARP, a.mul_values(x, &values)),
        ("mul_values_to", SHARP, a.mul_values_to(x, &values, 1.5 * scale)),
        ("mul_scalar", SHARP, a.mul_scalar(x, -0.3)),
        ("mul_complex", SWITCHED, a.mul_complex(x, Complex64::new(0.5, -0.25))),
        ("mul_integer", SHARP, a.mul_integer(x, -7)),
        ("mul_i", SHARP, a.mul_i(x)),
        ("mul_add_many", COMMON, a.mul_add_many(&[(x, y), (u, y)], &[(x, 0.5)], 0.1, None)),
        ("linear_combination", SHARP, a.linear_combination(&[(x, 0.5), (y, -2.0)], 0.1, None)),
        ("dot", SHARP, a.dot(&[x, u], &[y, y])),
        ("dot_values", SHARP, a.dot_values(&[x, y], &[values.clone(), halves])),
        ("rotate", SWITCHED, a.rotate(x, 5)),
        ("rotate_many", SWITCHED, a.rotate_many(x, &[1, 3]).map(|mut all| all.remove(1))),
        ("sum_of_rotations", SWITCHED, a.sum_of_rotations(&[(x, &[0, 1, 3]), (y, &[2])])),
        ("conjugate", SWITCHED, a.conjugate(x)),
        ("real_part", SWITCHED, a.mul_i(x).and_then(|z| a.real_part(&a.add(&z, y)?))),
        ("drop_to_level", SHARP, a.drop_to_level(x, 2)),
        ("match_scale", SHARP, a.match_scale(x, 1.01 * scale, 3)),
        ("reinterpret_scale", SHARP, a.reinterpret_scale(x.clone(), 0.999)),
        ("repeated", SHARP, a.repeated(x.clone(), SLOTS)),
        ("with_len", SHARP, a.with_len(x.clone(), SLOTS - 1)),
        ("inner_sum", SWITCHED, a.inner_sum(x, 8, 1)),
        ("sum_slots", SWITCHED, a.sum_slots(x)),
        ("mask", INSIDE, a.mask(x, 2..400)),
        ("mask_slots", INSIDE, a.mask_slots(x, &[0, 8, 16, 24])),
        ("clear_padding", SHARP, a.clear_padding(padded)),
        ("move_padding", SHARP, a.move_padding(padded, 0.5)),
        ("replicate", INSIDE, a.mask_slots(x, &[0]).and_then(|z| a.replicate(&z, 16, 1))),
        ("replicate_slot", INSIDE, a.replicate_slot(x, 3)),
        ("transform", INSIDE, transform(Hoisting::Single, Giants::Direct)),
        ("transform by Horner's rule", INSIDE, transform(Hoisting::Single, Giants::Horner)),
        ("transform hoisted twice", INSIDE, transform(Hoisting::Double, Giants::Direct)),
        ("polynomial", AVERAGED, a.polynomial(u, &p, None)),
        ("polynomials", AVERAGED, {
            a.polynomials(u, &[(&p, None), (&q, None)]).map(|mut all| all.remove(1))
        }),
        ("monomial", AVERAGED, a.monomial(u, &m, None)),
        ("monomials", AVERAGED, a.monomials(u, &[(&m, None)]).map(|mut all| all.remove(0))),
        ("apply", AVERAGED, function(Function::from(Known::Inverse), -12.0)),
        ("apply a root", AVERAGED, function(Function::from(Known::Sqrt), -8.0)),
        ("apply an exponential", AVERAGED, function(Function::from(Known::Exp), -20.0)),
        ("function", AVERAGED, a.function(u, &Function::from(Known::Tanh), Accuracy::bits(20.0))),
        ("sign", AVERAGED, a.sign(u, &sign)),
        ("step", AVERAGED, a.step(u, &sign)),
        ("greater", AVERAGED, a.mul_scalar(u, 0.25).and_then(|z| a.greater(&z, u, &sign))),
        ("max", RELATED, a.mul_scalar(u, 0.25).and_then(|z| a.max(&z, u, &sign))),
        ("min", RELATED, a.mul_scalar(u, 0.25).and_then(|z| a.min(&z, u, &sign))),
        ("abs", AVERAGED, a.abs(u, &sign)),
        ("relu", AVERAGED, a.relu(u, &sign)),
    ]
}

/// Functional bootstraps, whose predictions average over the circle.
const FUNCTIONAL: f64 = 4.0;

/// Operations that bootstrap functionally, and those of integers: `x` and `y` modulo 4, `z` modulo
/// 16, all of them in both parts of the slots, `few` in one, and reals `u` of the domain of `f`.
fn functional_operations<A: CkksOps>(
    a: &A,
    [x, y, z, few]: [&IntVec<A::Ciphertext>; 4],
    (u, f): (&PairedVec<A::Ciphertext>, &PeriodicFunction),
) -> Vec<Case<A::Ciphertext>> {
    let (on, scale) = (a.integers(), a.params().scale());
    let inner = |v: Result<IntVec<A::Ciphertext>>| v.map(|v| v.values().inner().clone());
    let last = |v: Result<Vec<IntVec<A::Ciphertext>>>| inner(v.map(|mut all| all.remove(1)));
    let [square, half] =
        [(4, 4), (4, 2)].map(|(from, to)| IntTable::new(from, to, |k| k * k % to).unwrap());
    let real = IntTable::real(4, |k| (k as f64).sin()).unwrap();
    let both = |table: &IntTable| a.functions_of(x.values(), &[table.function()]);
    let paired =
        |v: Result<Vec<PairedVec<A::Ciphertext>>>| v.map(|mut all| all.remove(0).into_inner());
    let of_one = |mut all: Vec<A::Ciphertext>| all.remove(0);
    vec![
        ("functional_bootstrap", FUNCTIONAL, {
            // One part, at another scale.
            let input = FbtInput { range: *few.values().range(), both: false };
            let inner = few.values().inner();
            a.functional_bootstrap(inner, input, &[(real.function(), 1.5 * scale)]).map(of_one)
        }),
        ("functions_of", FUNCTIONAL, paired(a.functions_of(u, &[f]))),
        ("functions_of both parts", FUNCTIONAL, paired(both(&real))),
        ("integers: add", COMMON, inner(on.add(x, y))),
        ("integers: sub", COMMON, inner(on.sub(x, y))),
        ("integers: neg", SHARP, inner(on.neg(x))),
        ("integers: add_constant", SHARP, inner(on.add_constant(x, 3))),
        ("integers: mul_constant", SHARP, inner(on.mul_constant(z, 7))),
        ("integers: table", FUNCTIONAL, inner(on.table(x, |k| 3 - k))),
        ("integers: apply", FUNCTIONAL, inner(on.apply(x, &square))),
        ("integers: tables", FUNCTIONAL, last(on.tables(x, &[&square, &half]))),
        ("integers: real_tables", FUNCTIONAL, paired(on.real_tables(few, &[&real]))),
        ("integers: table_of_two", FUNCTIONAL, inner(on.table_of_two(x, y, 16, |a, b| a * b))),
        ("integers: beside", SHARP, inner(on.beside(x, y))),
        ("integers: modulo", SHARP, inner(on.modulo(z, 4))),
        ("integers: digits", FUNCTIONAL, last(on.digits(z, 4))),
        ("integers: to_reals", SWITCHED, on.to_reals(x).map(|mut all| all.remove(1))),
        ("integers: from_reals", SHARP, inner(on.from_reals(few.values().inner(), 4))),
    ]
}

/// Operations that bootstrap, from the lowest level that they take.
fn bootstraps<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Vec<Case<A::Ciphertext>> {
    let scale = a.params().scale();
    vec![
        ("bootstrap", 4.0, a.bootstrap(x)),
        ("bootstrap_to", 4.0, a.bootstrap_to(x, scale / 4.0)),
        ("bootstrap_iterated", 4.0, a.bootstrap_iterated(x, 2)),
    ]
}

/// Statements of the caller, which have no noise of their own.
const STATEMENTS: [&str; 15] = [
    "refreshed",
    "as_message",
    "read_as",
    "fused",
    "single",
    "stated",
    "assume_noise",
    "with_metadata",
    "with_origins",
    "broadcast",
    "with_range",
    "assume_range",
    "keep_within",
    "assume_range_with_padding",
    "assume_real",
];

/// Root mean square of the errors: of real parts for real vectors, else of the whole.
fn error(world: &World, ct: &Ciphertext, expected: &[Complex64]) -> f64 {
    let found: Vec<Complex64> = world.decrypt(ct);
    assert_eq!(found.len(), expected.len());
    let real = ct.range().is_real();
    let square = |a: &Complex64, b: &Complex64| {
        let off = a - b;
        if real { off.re * off.re } else { off.norm_sqr() }
    };
    let squares: f64 = found.iter().zip(expected).map(|(a, b)| square(a, b)).sum();
    (squares / expected.len() as f64).sqrt()
}

/// Measured over predicted errors of several runs, by operation.
struct Ratios(Vec<(&'static str, f64, f64, usize)>);

impl Ratios {
    fn count(
        &mut self,
        world: &World,
        found: &[Case<Ciphertext>],
        expected: &[Case<SimCiphertext>],
        predicted: fn(&Ciphertext) -> f64,
    ) {
        assert_eq!(found.len(), expected.len());
        for (i, ((what, below, found), (.., expected))) in found.iter().zip(expected).enumerate() {
            let found = found.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
            let expected = expected.as_ref().unwrap();
            assert_eq!(found.metadata(), *expected.metadata(), "{what}");
            let ratio = error(world, found, expected.values()) / predicted(found);
            if self.0.len() == i {
                self.0.push((what, *below, 0.0, 0));
            }
            self.0[i].2 += ratio * ratio;
            self.0[i].3 += 1;
        }
    }

    fn check(self) {
        let mut wrong = vec![];
        for (what, below, squares, runs) in self.0 {
            let ratio = (squares / runs as f64).sqrt();
            println!("{what}: {ratio:.2}");
            if ratio >= ABOVE || ratio <= 1.0 / below {
                wrong.push(format!("{what}: {ratio:.3} of the prediction"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

fn signs(world: &World, n: usize) -> Vec<f64> {
    world.reals(n).into_iter().map(f64::signum).collect()
}

#[test]
fn every_operation() {
    let params = common::params(10, LEVELS);
    let mut world = World::of(params.clone(), KeyLevels::default(), 7);
    let mut ratios = Ratios(vec![]);
    for run in 0..6 {
        let (x, y) = (signs(&world, SLOTS), signs(&world, SLOTS));
        let u: Vec<f64> = world.reals(SLOTS).iter().map(|v| 0.625 + 0.375 * v).collect();
        let inputs = [&x[..], &y, &u, &x[..400]];
        let simulator = Simulator::new(&params);
        let plain = inputs.map(|v| simulator.encrypt(v, span(v), LEVELS).unwrap());
        let in_range =
            |z: SimCiphertext| simulator.with_range(z, Interval::real(0.25, 1.0).unwrap());
        let [px, py, pu, pp] = plain;
        let pu = in_range(pu);
        let expected = operations(&simulator, [&px, &py, &pu, &pp]);
        if run == 0 {
            let keys = simulator.report().keys;
            world = World::of(params.clone(), keys, 7);
        }
        let eval = world.evaluator();
        let [cx, cy, cu, cp] = inputs.map(|v| world.encrypt_span(v));
        let cu = CkksOps::with_range(&eval, cu, Interval::real(0.25, 1.0).unwrap());
        ratios.count(
            &world,
            &operations(&eval, [&cx, &cy, &cu, &cp]),
            &expected,
            |x: &Ciphertext| x.metadata().noise(),
        );
    }
    ratios.check();
}

/// A ring with functional bootstraps of tables of up to 16 entries, and a function of reals.
fn bootstrapping() -> (Functional, PeriodicFunction) {
    let f = functional(10, FbtSpec::table(1 << 9, 16).unwrap(), 6);
    let tanh = f
        .bootstrapper
        .real_function(&Function::from(Known::Tanh), -1.0, 1.0, Accuracy::bits(8.0))
        .unwrap();
    (f, tanh)
}

#[test]
fn functional_bootstraps_and_integers() {
    let (f, tanh) = bootstrapping();
    let (world, simulator, level) = (&f.world, f.simulator(), f.bootstrapper.input_level() + 1);
    let mut ratios = Ratios(vec![]);
    for _ in 0..4 {
        let random = |count: usize, p: usize| -> Vec<usize> {
            let rng = &mut *world.rng.borrow_mut();
            (0..count).map(|_| rng.random_range(0..p)).collect()
        };
        let integers = [(1024, 4), (1024, 4), (1000, 16), (500, 4)].map(|(n, p)| (random(n, p), p));
        let u = world.reals(SLOTS);
        let px =
            integers.each_ref().map(|(x, p)| simulator.encrypt_integers(x, *p, level).unwrap());
        let cx = integers.each_ref().map(|(x, p)| f.integers_at(x, *p, level));
        let pu = simulator.encrypt(&u, span(&u), level).unwrap();
        let pu = PairedVec::of_reals(&simulator, pu).unwrap();
        let cu = PairedVec::of_reals(&f.eval, world.encrypt_span_at(&u, level)).unwrap();
        let expected = functional_operations(&simulator, px.each_ref(), (&pu, &tanh));
        let found = functional_operations(&f.eval, cx.each_ref(), (&cu, &tanh));
        ratios.count(world, &found, &expected, |x: &Ciphertext| x.metadata().noise());
    }
    ratios.check();
}

/// Operations of a source that return a ciphertext, by their names.
fn returning<'s>(source: &'s str, start: &'s str, ciphertext: &'s str) -> Vec<&'s str> {
    let signatures = source.split(start).skip(1).filter_map(|declared| {
        let signature = declared.split(['{', ';']).next().unwrap();
        let result = signature.split_once("->").map_or("", |(_, result)| result);
        result.contains(ciphertext).then(|| signature.split(['(', '<']).next().unwrap())
    });
    signatures.collect()
}

/// Every operation of [`CkksOps`] and [`ComposedOps`] that returns a ciphertext is measured here.
#[test]
fn no_operation_is_left_out() {
    let source = concat!(
        include_str!("../../crates/ckks/src/vectors.rs"),
        include_str!("../../crates/ckks/src/ops.rs"),
        include_str!("../../crates/ckks/src/composed_ops.rs"),
        include_str!("../../crates/circuits/src/circuit_ops.rs")
    );
    let params = common::params(10, LEVELS);
    let simulator = Simulator::new(&params);
    let [x, y] =
        [&[1.0; SLOTS][..], &[1.0; 400]].map(|v| simulator.encrypt(v, span(v), LEVELS).unwrap());
    let mut measured: Vec<&str> =
        operations(&simulator, [&x, &x, &x, &y]).iter().map(|c| c.0).collect();
    measured.extend(bootstraps(&simulator, &x).iter().map(|case| case.0));
    let (f, tanh) = bootstrapping();
    let (simulator, level) = (f.simulator(), f.bootstrapper.input_level() + 1);
    let integers = [(1024, 4), (1024, 4), (1000, 16), (500, 4)]
        .map(|(n, p)| simulator.encrypt_integers(&vec![1; n], p, level).unwrap());
    let u =
        PairedVec::of_reals(&simulator, simulator.encrypt(&[1.0], span(&[1.0]), level).unwrap());
    let cases = functional_operations(&simulator, integers.each_ref(), (&u.unwrap(), &tanh));
    measured.extend(cases.iter().map(|case| case.0));
    let operations = returning(source, "\n    fn ", "Self::Ciphertext");
    for name in &operations {
        assert!(STATEMENTS.contains(name) || measured.contains(name), "{name} is not measured");
    }
    let source = include_str!("../../crates/circuits/src/fbt/integers.rs");
    let of_integers = returning(source, "\n    pub fn ", "<A");
    for name in &of_integers {
        let full = format!("integers: {name}");
        assert!(measured.contains(&&*full), "{name} of integers is not measured");
    }
    let counts = (operations.len(), of_integers.len());
    assert!(counts.0 > 50 && counts.1 > 12, "{counts:?} operations found");
}

#[test]
fn operations_on_plaintexts() {
    let params = common::params(10, 3);
    let world = World::of(params.clone(), KeyLevels::default().multiply(3).rotate([1], 3), 7);
    let (eval, encoder) = (world.evaluator(), Encoder::new(&params));
    let mut ratios = Ratios(vec![]);
    for _ in 0..6 {
        let (x, y) = (signs(&world, SLOTS), signs(&world, SLOTS));
        let simulator = Simulator::new(&params);
        let [px, py] = [&x, &y].map(|v| simulator.encrypt(v, span(v), 3).unwrap());
        let [cx, cy] = [&x, &y].map(|v| world.encrypt_span(v));
        let plain = encoder.encode(&y, span(&y), params.scale(), params.limbs_at(3)).unwrap();
        let factor = encoder.encode_factor(&y, span(&y), SLOTS, 3).unwrap();
        let seeded = encrypt_seeded(&params, &plain, &world.secret, &mut *world.rng.borrow_mut());
        let expected = [
            ("encrypt_seeded", SHARP, Ok(py.clone())),
            ("add_plain", SHARP, simulator.add_values(&px, &y)),
            ("mul_plain", SHARP, simulator.mul_values(&px, &y)),
            ("dot_plain", SHARP, simulator.dot_values(&[&px, &py], &[y.clone(), y.clone()])),
        ];
        let found = [
            ("encrypt_seeded", SHARP, seeded.and_then(|seeded| seeded.expand(&params))),
            ("add_plain", SHARP, eval.add_plain(&cx, &plain)),
            ("mul_plain", SHARP, eval.mul_plain(&cx, &factor)),
            ("dot_plain", SHARP, eval.dot_plain(&[&cx, &cy], &[&factor, &factor])),
        ];
        ratios.count(&world, &found, &expected, |x: &Ciphertext| x.metadata().noise());
    }
    ratios.check();
}

/// Compositions of operations, whose noise hangs together: the prediction takes errors as
/// independent.
fn compositions<A: CkksOps>(
    a: &A,
    [x, vector, matrix, table]: [&A::Ciphertext; 4],
) -> Vec<Case<A::Ciphertext>> {
    let packing = Packing::new(16, 32).unwrap();
    let square = MatrixProduct::new(a.params(), 16, LEVELS).unwrap();
    let columns = DataTable::new(64, 8).unwrap();
    let regression = regression();
    vec![
        ("matrix by rows", SUMS, packing.times_by_rows(a, x, vector)),
        ("matrix product", SUMS, square.apply(a, matrix, matrix)),
        ("DataTable::sums", INSIDE, columns.sums(a, x)),
        ("DataTable::means", INSIDE, columns.means(a, x)),
        ("DataTable::variances", SUMS, columns.variances(a, x)),
        ("logistic regression", SUMS, regression.train(a, table, |_| {})),
    ]
}

fn regression() -> LogisticRegression {
    LogisticRegression::new(LogisticSpec { iterations: 2, ..LogisticSpec::new(60, 5) }).unwrap()
}

#[test]
fn whole_computations() {
    let params = common::params(10, LEVELS);
    let mut world = World::of(params.clone(), KeyLevels::default(), 7);
    let mut ratios = Ratios(vec![]);
    for run in 0..6 {
        let [x, vector, matrix] = [SLOTS, 32, 256].map(|n| signs(&world, n));
        let rows: Vec<Vec<f64>> = (0..60).map(|_| world.reals(5)).collect();
        let labels: Vec<bool> = rows.iter().map(|row| row[0] > row[1]).collect();
        let table = regression().pack_training(&rows, &labels).unwrap();
        let simulator = Simulator::new(&params);
        let inputs = [&x, &vector, &matrix, &table];
        let plain = inputs.map(|v| simulator.encrypt(v, span(v), LEVELS).unwrap());
        let expected = compositions(&simulator, plain.each_ref());
        if run == 0 {
            world = World::of(params.clone(), simulator.report().keys, 7);
        }
        let found = inputs.map(|v| world.encrypt_span(v));
        let found = compositions(&world.evaluator(), found.each_ref());
        ratios.count(&world, &found, &expected, |x: &Ciphertext| x.metadata().noise());
    }
    ratios.check();
}

#[test]
fn bootstrapped_vectors() {
    let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(1 << 4) };
    let chain = spec.chain(1 << 10, 42, 3, (49, 6)).unwrap();
    let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    let params = Params::new(params).unwrap();
    let bootstrapper = Arc::new(Bootstrapper::new(&params, spec).unwrap());
    let world = World::of(params.clone(), bootstrapper.keys(), 5);
    let keys = BootstrapKeys::generate(
        bootstrapper.raising(),
        &world.secret,
        &mut *world.rng.borrow_mut(),
    );
    let eval = world.evaluator().with_bootstrapping(bootstrapper.clone(), keys.unwrap()).unwrap();
    let simulator = Simulator::new(&params).with_bootstrapping(bootstrapper.clone()).unwrap();
    let mut ratios = Ratios(vec![]);
    for _ in 0..8 {
        let x = world.reals(1 << 4);
        let expected = bootstraps(&simulator, &simulator.encrypt(&x, span(&x), 2).unwrap());
        let found = bootstraps(&eval, &world.encrypt_span_at(&x, 2));
        // Beside the noise, the excess counts what the approximation is off by.
        ratios.count(&world, &found, &expected, |x| x.metadata().excess());
    }
    ratios.check();
}
