//! The noise that vectors carry against the error that is measured, from both sides, for every operation
//! of evaluators that returns a ciphertext. Exact values are those of the shadow,
//! which follows approximations too, so that what is left is the noise alone.

mod common;

use std::sync::Arc;

use bellerophon_ckks::{
    Arithmetic, Ciphertext, Complex64, Interval, KeySpec, Params, ParamsSpec, Result, Security,
    approx::{Approximation, Function, Sign},
    bootstrap::{BootstrapKeys, BootstrapSpec, Bootstrapper},
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    encrypt_seeded,
    learning::{LogisticRegression, LogisticSpec},
    linear::{Giants, Hoisting, LinearOptions, LinearTransform},
    matrix::{MatrixProduct, Packing},
    polynomial::{Monomial, Polynomial},
    shadow::{Shadow, Vector},
    statistics::Table,
};
use common::{World, span};

const SLOTS: usize = 1 << 9;
const LEVELS: usize = 11;

/// A result, and by how much its prediction may exceed what is measured.
type Case<V> = (&'static str, f64, Result<V>);

/// How far measured errors of a few hundred slots may scatter above the prediction.
const ABOVE: f64 = 1.15;

/// Every slot at the ends of the range, where predictions are sharp.
const SHARP: f64 = 1.3;

/// Rotations whose noise is bounded by key switches of full digits.
const SWITCHED: f64 = 1.5;

/// Values inside of their range, whose products are predicted by the largest.
const INSIDE: f64 = 1.6;

/// Products with sums that may be as large as all of their terms together, and rarely are.
const SUMS: f64 = 6.0;

/// Polynomials, predicted for values that meet all of their domain.
const AVERAGED: f64 = 1.6;

/// `x` and `y` are at the ends of `[-1, 1]`, `u` in `[0.25, 1]`, `padded` has fewer values than slots.
fn operations<A: Arithmetic>(
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
        let at = LinearOptions::at_level(LEVELS).giants(giants).hoisting(hoisting);
        a.transform(x, &LinearTransform::new(params, &matrix, at).unwrap())
    };
    let function = |f: Function, log2_error| {
        a.apply(u, &Approximation::new(&f, 0.25, 1.0, log2_error).unwrap())
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
        ("mul_unscaled", SHARP, a.mul_unscaled(x, y)),
        ("square_unscaled", SHARP, a.square_unscaled(x)),
        ("mul", SHARP, a.mul(x, y)),
        ("mul inside", INSIDE, a.mul(u, u)),
        ("square", SHARP, a.square(x)),
        ("rescale", SHARP, raw(a.mul_unscaled(x, y))),
        ("mul_values", SHARP, a.mul_values(x, &values)),
        ("mul_values_to", SHARP, a.mul_values_to(x, &values, 1.5 * scale)),
        ("mul_scalar", SHARP, a.mul_scalar(x, -0.3)),
        ("mul_complex", SWITCHED, a.mul_complex(x, Complex64::new(0.5, -0.25))),
        ("mul_integer", SHARP, a.mul_integer(x, -7)),
        ("mul_i", SHARP, a.mul_i(x)),
        ("combination", SHARP, a.combination(&[(x, y), (u, y)], &[(x, 0.5)], 0.1, None)),
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
        ("times_free", SHARP, a.times_free(x.clone(), 0.999)),
        ("repeated", SHARP, a.repeated(x.clone(), SLOTS)),
        ("with_len", SHARP, a.with_len(x.clone(), SLOTS - 1)),
        ("inner_sum", SWITCHED, a.inner_sum(x, 8, 1)),
        ("total", SWITCHED, a.total(x)),
        ("keep", INSIDE, a.keep(x, 2..400)),
        ("keep_slots", INSIDE, a.keep_slots(x, &[0, 8, 16, 24])),
        ("clear_padding", SHARP, a.clear_padding(padded)),
        ("replicate", INSIDE, a.keep_slots(x, &[0]).and_then(|z| a.replicate(&z, 16, 1))),
        ("replicate_slot", INSIDE, a.replicate_slot(x, 3)),
        ("transform", INSIDE, transform(Hoisting::Single, Giants::Direct)),
        ("transform by Horner's rule", INSIDE, transform(Hoisting::Single, Giants::Horner)),
        ("transform hoisted twice", INSIDE, transform(Hoisting::Double, Giants::Direct)),
        ("polynomial", AVERAGED, a.polynomial(u, &p, None)),
        ("polynomials", AVERAGED, a.polynomials(u, &[&p, &q], None).map(|mut all| all.remove(1))),
        ("polynomial_in", AVERAGED, {
            a.chebyshev_basis(u, &[&p, &q]).and_then(|basis| a.polynomial_in(&basis, &q, None))
        }),
        ("monomial", AVERAGED, a.monomial(u, &m, None)),
        ("monomial_in", AVERAGED, {
            a.power_basis(u, &[&m]).and_then(|basis| a.monomial_in(&basis, &m, None))
        }),
        ("apply", AVERAGED, function(Function::inverse(), -12.0)),
        ("apply a root", AVERAGED, function(Function::sqrt(), -8.0)),
        ("apply an exponential", AVERAGED, function(Function::exp(), -20.0)),
        ("function", AVERAGED, a.function(u, &Function::tanh(), -20.0)),
        ("sign", AVERAGED, a.sign(u, &sign)),
        ("step", AVERAGED, a.step(u, &sign)),
        ("greater", AVERAGED, a.mul_scalar(u, 0.25).and_then(|z| a.greater(&z, u, &sign))),
        ("max", AVERAGED, a.mul_scalar(u, 0.25).and_then(|z| a.max(&z, u, &sign))),
        ("min", AVERAGED, a.mul_scalar(u, 0.25).and_then(|z| a.min(&z, u, &sign))),
        ("abs", AVERAGED, a.abs(u, &sign)),
        ("relu", AVERAGED, a.relu(u, &sign)),
    ]
}

/// Operations that refresh, from the lowest level that they take.
fn refreshes<A: Arithmetic>(a: &A, x: &A::Ciphertext) -> Vec<Case<A::Ciphertext>> {
    let scale = a.params().scale();
    vec![
        ("refresh", 4.0, a.refresh(x)),
        ("refresh_to", 4.0, a.refresh_to(x, scale / 4.0)),
        ("refresh_precisely", 4.0, a.refresh_precisely(x, 2)),
    ]
}

/// Statements of the caller, which have no noise of their own.
const STATEMENTS: [&str; 5] =
    ["restated", "broadcast", "assume_range", "assume_all", "assume_real"];

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
        expected: &[Case<Vector>],
        predicted: fn(&Ciphertext) -> f64,
    ) {
        assert_eq!(found.len(), expected.len());
        for (i, ((what, below, found), (.., expected))) in found.iter().zip(expected).enumerate() {
            let found = found.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
            let expected = expected.as_ref().unwrap();
            assert_eq!(found.account(), *expected.account(), "{what}");
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
    let mut world = World::of(params.clone(), KeySpec::new(), 7);
    let mut ratios = Ratios(vec![]);
    for run in 0..6 {
        let (x, y) = (signs(&world, SLOTS), signs(&world, SLOTS));
        let u: Vec<f64> = world.reals(SLOTS).iter().map(|v| 0.625 + 0.375 * v).collect();
        let inputs = [&x[..], &y, &u, &x[..400]];
        let shadow = Shadow::new(&params);
        let plain = inputs.map(|v| shadow.encrypt(v, span(v), LEVELS).unwrap());
        let in_range = |z: Vector| shadow.assume_range(z, Interval::real(0.25, 1.0).unwrap());
        let [px, py, pu, pp] = plain;
        let pu = in_range(pu);
        let expected = operations(&shadow, [&px, &py, &pu, &pp]);
        if run == 0 {
            let keys = shadow.report().keys;
            world = World::of(params.clone(), keys, 7);
        }
        let eval = world.evaluator();
        let [cx, cy, cu, cp] = inputs.map(|v| world.encrypt(v));
        let cu = Arithmetic::assume_range(&eval, cu, Interval::real(0.25, 1.0).unwrap());
        ratios.count(
            &world,
            &operations(&eval, [&cx, &cy, &cu, &cp]),
            &expected,
            Ciphertext::noise,
        );
    }
    ratios.check();
}

/// Every operation of [`Arithmetic`] that returns a ciphertext is measured here.
#[test]
fn no_operation_is_left_out() {
    let source = include_str!("../src/arithmetic.rs");
    let params = common::params(10, LEVELS);
    let shadow = Shadow::new(&params);
    let [x, y] =
        [&[1.0; SLOTS][..], &[1.0; 400]].map(|v| shadow.encrypt(v, span(v), LEVELS).unwrap());
    let mut measured: Vec<&str> =
        operations(&shadow, [&x, &x, &x, &y]).iter().map(|c| c.0).collect();
    measured.extend(refreshes(&shadow, &x).iter().map(|case| case.0));
    let mut count = 0;
    for declared in source.split("\n    fn ").skip(1) {
        let signature = declared.split(['{', ';']).next().unwrap();
        let name = signature.split(['(', '<']).next().unwrap();
        let result = signature.split_once("->").map_or("", |(_, result)| result);
        if result.contains("Self::Ciphertext") {
            count += 1;
            assert!(
                STATEMENTS.contains(&name) || measured.contains(&name),
                "{name} is not measured"
            );
        }
    }
    assert!(count > 50, "{count} operations found");
}

#[test]
fn operations_on_plaintexts() {
    let params = common::params(10, 3);
    let world = World::of(params.clone(), KeySpec::new().multiply(3).rotate([1], 3), 7);
    let eval = world.evaluator();
    let mut ratios = Ratios(vec![]);
    for _ in 0..6 {
        let (x, y) = (signs(&world, SLOTS), signs(&world, SLOTS));
        let shadow = Shadow::new(&params);
        let [px, py] = [&x, &y].map(|v| shadow.encrypt(v, span(v), 3).unwrap());
        let [cx, cy] = [&x, &y].map(|v| world.encrypt(v));
        let plain =
            eval.encoder().encode(&y, span(&y), params.scale(), params.limbs_at(3)).unwrap();
        let factor = eval.encoder().encode_factor(&y, span(&y), SLOTS, 3).unwrap();
        let seeded = encrypt_seeded(&params, &plain, &world.secret, &mut *world.rng.borrow_mut());
        let expected = [
            ("encrypt_seeded", SHARP, Ok(py.clone())),
            ("add_plain", SHARP, shadow.add_values(&px, &y)),
            ("mul_plain", SHARP, shadow.mul_values(&px, &y)),
            ("dot_plain", SHARP, shadow.dot_values(&[&px, &py], &[y.clone(), y.clone()])),
        ];
        let found = [
            ("encrypt_seeded", SHARP, seeded.and_then(|seeded| seeded.expand(&params))),
            ("add_plain", SHARP, eval.add_plain(&cx, &plain)),
            ("mul_plain", SHARP, eval.mul_plain(&cx, &factor)),
            ("dot_plain", SHARP, eval.dot_plain(&[&cx, &cy], &[&factor, &factor])),
        ];
        ratios.count(&world, &found, &expected, Ciphertext::noise);
        // Of an encoding, its rounding is left.
        let trivial = eval.trivial(&plain).unwrap();
        let exact: Vec<Complex64> = y.iter().map(|&v| v.into()).collect();
        let ratio = error(&world, &trivial, &exact) / trivial.noise();
        assert!(ratio > 0.8 && ratio < 1.2, "{ratio}");
    }
    ratios.check();
}

/// Compositions of operations, whose noise hangs together: the prediction takes errors as independent.
fn compositions<A: Arithmetic>(
    a: &A,
    [x, vector, matrix, table]: [&A::Ciphertext; 4],
) -> Vec<Case<A::Ciphertext>> {
    let packing = Packing::new(16, 32).unwrap();
    let square = MatrixProduct::new(a.params(), 16, LEVELS).unwrap();
    let columns = Table::new(64, 8).unwrap();
    let regression = regression();
    vec![
        ("matrix by rows", SUMS, packing.times_by_rows(a, x, vector)),
        ("matrix product", SUMS, square.apply(a, matrix, matrix)),
        ("sums of columns", INSIDE, columns.sums(a, x)),
        ("means of columns", INSIDE, columns.means(a, x)),
        ("variances of columns", SUMS, columns.variances(a, x)),
        ("logistic regression", SUMS, regression.train(a, table)),
    ]
}

fn regression() -> LogisticRegression {
    LogisticRegression::new(LogisticSpec { iterations: 2, ..LogisticSpec::new(60, 5) }).unwrap()
}

#[test]
fn whole_computations() {
    let params = common::params(10, LEVELS);
    let mut world = World::of(params.clone(), KeySpec::new(), 7);
    let mut ratios = Ratios(vec![]);
    for run in 0..6 {
        let [x, vector, matrix] = [SLOTS, 32, 256].map(|n| signs(&world, n));
        let rows: Vec<Vec<f64>> = (0..60).map(|_| world.reals(5)).collect();
        let labels: Vec<bool> = rows.iter().map(|row| row[0] > row[1]).collect();
        let table = regression().pack_training(&rows, &labels).unwrap();
        let shadow = Shadow::new(&params);
        let inputs = [&x, &vector, &matrix, &table];
        let plain = inputs.map(|v| shadow.encrypt(v, span(v), LEVELS).unwrap());
        let expected = compositions(&shadow, plain.each_ref());
        if run == 0 {
            world = World::of(params.clone(), shadow.report().keys, 7);
        }
        let found = inputs.map(|v| world.encrypt(v));
        let found = compositions(&world.evaluator(), found.each_ref());
        ratios.count(&world, &found, &expected, Ciphertext::noise);
    }
    ratios.check();
}

#[test]
fn refreshed_vectors() {
    let spec = BootstrapSpec { encode_ahead: false, ..BootstrapSpec::new(1 << 4) };
    let chain = spec.chain(1 << 10, 42, 3, (49, 6)).unwrap();
    let params = ParamsSpec::from_chain(&chain, 42, Security::Insecure).unwrap();
    let bootstrapper = Arc::new(Bootstrapper::new(&Params::new(params).unwrap(), spec).unwrap());
    let params = bootstrapper.params().clone();
    let world = World::of(params.clone(), bootstrapper.keys(), 5);
    let keys = BootstrapKeys::generate(&bootstrapper, &world.secret, &mut *world.rng.borrow_mut());
    let eval = world.evaluator().with_refresh(bootstrapper.clone(), keys.unwrap()).unwrap();
    let shadow = Shadow::new(&params).with_refresh(bootstrapper.clone()).unwrap();
    let mut ratios = Ratios(vec![]);
    for _ in 0..8 {
        let x = world.reals(1 << 4);
        let expected = refreshes(&shadow, &shadow.encrypt(&x, span(&x), 2).unwrap());
        let found = refreshes(&eval, &world.encrypt_at(&x, 2));
        // Beside the noise, the excess counts what the approximation is off by.
        ratios.count(&world, &found, &expected, Ciphertext::excess);
    }
    ratios.check();
}
