//! The rule of lengths and padding: reductions take the values alone, after every operation, and
//! operands of unequal length are refused.

use std::collections::BTreeSet;

use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, ErrorKind, Evaluator, Interval, Metadata, Params,
    Result, simulator::Simulator, vectors::Vectors,
};

use crate::approx::{Accuracy, Approximation, Function, Known, Sign};
use crate::chebyshev::Chebyshev;
use crate::circuit_ops::CircuitOps;
use crate::diagonals::Diagonals;
use crate::error;
use crate::lintrans::{LinearOptions, LinearTransform};
use crate::polynomial::{Monomial, Polynomial};
use crate::tests::common;
use crate::tests::common::{World, refusal, span};

const LEVELS: usize = 8;

/// Results with their names; of a name there may be several.
type Results<C> = Vec<(&'static str, Result<C>)>;

/// The functions of a source file: those of a trait, or the public ones.
fn functions(source: &str, start: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let name = line.strip_prefix(start)?.split(['<', '(']).next()?;
        Some(name.to_string())
    };
    source.lines().filter_map(name).collect()
}

/// The body of the first public trait of a source.
fn first_trait(source: &str) -> &str {
    let (_, body) = source.split_once("\npub trait ").unwrap();
    body.split("\n}\n").next().unwrap()
}

/// A matrix that mixes slots, and moves padding into values.
fn mixing(params: &Params, slots: usize) -> LinearTransform {
    let mut m = Diagonals::zero(slots);
    for k in [0, 1] {
        m.add_diagonal(k, (0..slots).map(|i| Complex64::from(0.5 + 0.01 * i as f64)).collect());
    }
    LinearTransform::new(params, &m, LEVELS, LinearOptions::default()).unwrap()
}

/// Every operation of [`CkksOps`] and [`ComposedOps`] that returns a vector, on two vectors of one
/// length.
fn operations<A: CkksOps>(a: &A, x: &A::Ciphertext, y: &A::Ciphertext) -> Results<A::Ciphertext> {
    let Metadata { level, meta } = a.metadata(x);
    let (n, slots) = (meta.len, meta.slots);
    let ones = vec![1.5; n];
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let polynomial = |f: fn(f64) -> f64| Polynomial::new(Chebyshev::interpolate(f, -1.0, 1.0, 3));
    let (even, odd) = (polynomial(f64::cos), polynomial(|t| t * t * t));
    let monomial = Monomial::new(&[0.25, 0.0, 1.0]).unwrap();
    let sign = Sign::of_degrees(2.0, 0.25, &[3, 3]).unwrap();
    let exp =
        Approximation::new(&Function::from(Known::Exp), -1.0, 1.0, Accuracy::bits(12.0)).unwrap();
    let moved = a.add_scalar(x, 0.125).unwrap();
    vec![
        ("add", a.add(x, y)),
        ("add", a.add(&moved, y)),
        ("sub", a.sub(x, &moved)),
        ("neg", a.neg(&moved)),
        ("add_values", a.add_values(x, &ones)),
        ("add_scalar", a.add_scalar(x, -0.5)),
        ("mul_no_rescale", a.mul_no_rescale(x, &moved)),
        ("square_no_rescale", a.square_no_rescale(x)),
        ("mul", a.mul(x, y)),
        ("mul", a.mul(&moved, &moved)),
        ("square", a.square(&moved)),
        ("rescale", a.mul_no_rescale(x, y).and_then(|z| a.rescale(&z))),
        ("mul_values", a.mul_values(&moved, &ones)),
        ("mul_values_to", a.mul_values_to(&moved, &ones, meta.scale)),
        ("mul_scalar", a.mul_scalar(&moved, -0.7)),
        ("mul_complex", a.mul_complex(x, Complex64::new(0.5, -0.25))),
        ("mul_integer", a.mul_integer(&moved, 3)),
        ("mul_i", a.mul_i(&moved)),
        ("mul_add_many", a.mul_add_many(&[(x, y)], &[(&moved, 0.5)], 0.25, None)),
        ("mul_add_many", a.mul_add_many(&[(x, &moved)], &[(y, 0.5)], 0.0, None)),
        ("linear_combination", a.linear_combination(&[(x, 0.5), (y, 2.0)], 0.75, None)),
        ("rotate", a.rotate(x, 1)),
        ("rotate_many", a.rotate_many(x, &[0, -1]).map(|mut all| all.remove(1))),
        ("conjugate", a.mul_i(&moved).and_then(|z| a.conjugate(&z))),
        ("polynomial", a.polynomial(x, &even, None)),
        ("polynomial", a.polynomial(x, &odd, None)),
        ("transform", a.transform(x, &mixing(a.params(), slots))),
        ("drop_to_level", a.drop_to_level(&moved, level - 2)),
        ("match_scale", a.match_scale(&moved, 1.5 * meta.scale, level - 1)),
        ("reinterpret_scale", a.reinterpret_scale(moved.clone(), 3.0)),
        ("repeated", a.repeated(x.clone(), 2 * slots)),
        ("broadcast", a.broadcast(a.with_len(x.clone(), slots).unwrap(), 2 * slots - 1)),
        ("sum_of_rotations", a.sum_of_rotations(&[(x, &[0, 2]), (y, &[-1])])),
        ("dot_values", a.dot_values(&[x, &moved], &[ones.clone(), ones.clone()])),
        ("monomials", a.monomials(x, &[(&monomial, None)]).map(|mut all| all.remove(0))),
        ("assume_range", Ok(a.with_range(moved.clone(), unit))),
        ("assume_range_with_padding", Ok(a.assume_range_with_padding(moved.clone(), unit))),
        ("assume_range_with_padding", Ok(a.assume_range_with_padding(x.clone(), unit))),
        ("assume_real", a.mul_complex(&moved, 0.5.into()).map(|z| a.assume_real(z))),
        ("with_len", a.with_len(x.clone(), n - 1)),
        ("with_len", a.with_len(moved.clone(), n + 1)),
        ("add_many", a.add_many(&[x, &moved, y])),
        ("real_part", a.real_part(&moved)),
        ("inner_sum", a.inner_sum(&moved, 2, 1)),
        ("sum_slots", a.sum_slots(&moved)),
        ("replicate", a.replicate(x, 2, 1)),
        ("replicate_slot", a.replicate_slot(&moved, n - 1)),
        ("mask", a.mask(&moved, 1..n)),
        ("mask_slots", a.mask_slots(&moved, &[0, slots - 1])),
        ("clear_padding", a.clear_padding(&moved)),
        ("move_padding", a.move_padding(&moved, 0.5)),
        ("dot", a.dot(&[x, &moved], &[y, &moved])),
        ("monomial", a.monomial(x, &monomial, None)),
        (
            "polynomials",
            a.polynomials(x, &[(&odd, None), (&even, None)]).map(|mut all| all.remove(1)),
        ),
        ("apply", a.apply(x, &exp)),
        ("function", a.function(x, &Function::from(Known::Sigmoid), Accuracy::bits(9.0))),
        ("sign", a.sign(x, &sign)),
        ("step", a.step(x, &sign)),
        ("greater", a.greater(x, y, &sign)),
        ("max", a.max(x, y, &sign)),
        ("min", a.min(&moved, y, &sign)),
        ("abs", a.abs(x, &sign)),
        ("relu", a.relu(x, &sign)),
    ]
}

/// What is no operation on values, or what takes keys of its own: functional bootstrapping has its
/// tests in `fbt.rs` and `integers.rs` of `tests/ckks`, bootstrapping in `auto_bootstrap.rs` there.
const OTHERS: [&str; 27] = [
    "read_as",
    "with_range",
    "keep_within",
    "as_message",
    "attached",
    "fused",
    "noise_model",
    "refreshes",
    "refreshed",
    "stated",
    "single",
    "assume_noise",
    "origins",
    "with_origins",
    "params",
    "metadata",
    "with_metadata",
    "composed",
    "rotates_by",
    "bootstrapper",
    "functional_bootstrap",
    "functional_bootstrapper",
    "functions_of",
    "integers",
    "bootstrap_to",
    "bootstrap",
    "bootstrap_iterated",
];

/// The operations that the evaluator has beyond [`CkksOps`].
fn more_operations(eval: &Evaluator, x: &Ciphertext, y: &Ciphertext) -> Results<Ciphertext> {
    let ones = vec![1.5; x.len()];
    let plain = eval
        .encoder()
        .encode_in(&ones, span(&ones), x.meta().slots, x.scale(), x.lattice().limbs())
        .unwrap();
    let moved = eval.add_scalar(x, 0.125).unwrap();
    let of = |work: &dyn Fn(&mut Ciphertext) -> Result<()>| {
        let mut z = moved.clone();
        work(&mut z).map(|()| z)
    };
    vec![
        ("add_assign", of(&|z| eval.add_assign(z, y))),
        ("add_plain", eval.add_plain(&moved, &plain)),
        ("mul_plain", eval.mul_plain(&moved, &plain)),
        ("mul_plain_no_rescale", eval.mul_plain_no_rescale(&moved, &plain)),
        ("dot_plain", eval.dot_plain(&[x, &moved], &[&plain, &plain])),
        ("trivial", eval.trivial(&plain)),
    ]
}

/// What of the evaluator is no operation.
const NO_OPERATIONS: [&str; 13] = [
    "new",
    "params",
    "encoder",
    "keys",
    "refreshing",
    "attaching",
    "check",
    "check_plain",
    "poly_at",
    "rotation_cost",
    "rotation_path",
    "rules",
    "seen",
];

fn wave(n: usize, f: f64) -> Vec<f64> {
    (0..n).map(|i| 0.1 + 0.6 * (f * i as f64 + 0.5).sin()).collect()
}

/// The values of a vector and what stands behind them.
fn slots_of(world: &World, x: &Ciphertext) -> (Vec<Complex64>, Vec<Complex64>) {
    let mut all: Vec<Complex64> = world.decrypt(
        &world.evaluator().with_len(x.clone(), x.meta().slots).expect("as many as there are"),
    );
    let padding = all.split_off(x.len());
    (all, padding)
}

/// The sum of the values is what `sum_slots` says, and the padding what is known of it.
#[track_caller]
fn check(world: &World, what: &str, result: &Ciphertext, total: &Ciphertext) {
    let (values, padding) = slots_of(world, result);
    let expected: Complex64 = values.iter().sum();
    let allowed =
        16.0 * (total.metadata().noise() + values.len() as f64 * result.metadata().noise()) + 1e-9;
    assert!(allowed < 1e-2, "{what}: {allowed:e} allows anything");
    let (sums, behind) = slots_of(world, total);
    for sum in sums.iter().chain(&behind) {
        let error = (sum - expected).norm();
        assert!(error <= allowed, "{what}: {sum} instead of {expected}, allowed {allowed:e}");
    }
    let known = result.meta().bounds.padding;
    for z in padding {
        let slack = 16.0 * result.metadata().noise() + 1e-9;
        let inside = known.lo() - slack <= z.re && z.re <= known.hi() + slack;
        assert!(z.norm() <= known.bound() + slack && inside, "{what}: {z} in the padding");
    }
}

#[test]
fn totals_after_operations_are_those_of_the_values() {
    let params = common::params(9, LEVELS);
    for n in [3, 5, 100] {
        let (x, y) = (wave(n, 0.7), wave(n, 1.3));
        let simulator = Simulator::new(&params);
        let [px, py] = [&x, &y].map(|v| simulator.encrypt(v, span(v), LEVELS).unwrap());
        let expected: Vec<_> = operations(&simulator, &px, &py)
            .into_iter()
            .map(|(name, result)| {
                let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
                let total = simulator.sum_slots(&result).unwrap();
                (name, result, total)
            })
            .collect();
        let names: BTreeSet<String> = expected.iter().map(|(name, ..)| name.to_string()).collect();
        let all: BTreeSet<String> = [
            include_str!("../../../ckks/src/vectors.rs"),
            include_str!("../../../ckks/src/ops.rs"),
            include_str!("../../../ckks/src/composed_ops.rs"),
            include_str!("../circuit_ops.rs"),
        ]
        .into_iter()
        .flat_map(|source| functions(first_trait(source), "    fn "))
        .collect();
        let others = BTreeSet::from(OTHERS.map(str::to_string));
        assert_eq!(names.union(&others).cloned().collect::<BTreeSet<_>>(), all);

        let world = World::of(params.clone(), simulator.report().keys, 7);
        let eval = world.evaluator();
        let (cx, cy) = (world.encrypt_span(&x), world.encrypt_span(&y));
        let found = operations(&eval, &cx, &cy);
        assert_eq!(found.len(), expected.len());
        for ((name, found), (_, result, total)) in found.into_iter().zip(&expected) {
            let what = format!("{name} of {n}");
            let found = found.unwrap();
            assert_eq!(found.metadata(), *result.metadata(), "{what}");
            let of_found = eval.sum_slots(&found).unwrap();
            assert_eq!(of_found.metadata(), *total.metadata(), "{what}");
            check(&world, &what, &found, &of_found);
            // On the simulator without noise.
            let sum: Complex64 = result.values().iter().sum();
            let slack = 1e-9 * (1.0 + sum.norm());
            assert!(total.values().iter().all(|z| (z - sum).norm() < slack), "{what}");
            let meta = result.metadata().meta;
            let mut slots =
                simulator.with_len(result.clone(), meta.slots).unwrap().values().to_vec();
            if meta.is_clear() {
                let padding = slots.split_off(meta.len);
                assert!(padding.iter().all(|z| z.norm() < 1e-12), "{what}: {padding:?}");
                // Nothing is paid where nothing is to be cleared.
                assert_eq!(total.metadata().level, result.metadata().level, "{what}");
            }
        }
        let more = more_operations(&eval, &cx, &cy);
        let mut names: BTreeSet<String> = names.union(&others).cloned().collect();
        names.extend(more.iter().map(|(name, _)| name.to_string()));
        names.extend(NO_OPERATIONS.map(str::to_string));
        for source in [
            include_str!("../../../ckks/src/eval/mod.rs"),
            include_str!("../../../ckks/src/eval/plain.rs"),
        ] {
            let unnamed: Vec<_> =
                functions(source, "    pub fn ").difference(&names).cloned().collect();
            assert!(unnamed.is_empty(), "not among the operations: {unnamed:?}");
        }
        for (name, result) in more {
            let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            let total = eval.sum_slots(&result).unwrap();
            check(&world, &format!("{name} of {n}"), &result, &total);
        }
    }
}

/// A level is paid for padding that is not known to be zero, and for no other.
#[test]
fn clearing_padding_takes_a_level_only_where_needed() {
    let simulator = Simulator::new(&common::params(9, 2));
    let fresh = simulator.encrypt(&[1.0, 2.0, 3.0], span(&[1.0, 2.0, 3.0]), 1).unwrap();
    assert_eq!(simulator.sum_slots(&fresh).unwrap().metadata().level, 1);
    assert_eq!(simulator.sum_slots(&fresh).unwrap().metadata().meta.bounds.values.hi(), 9.0);
    let full = simulator
        .add_scalar(&simulator.encrypt(&[1.0, 2.0], span(&[1.0, 2.0]), 1).unwrap(), 1.0)
        .unwrap();
    assert_eq!(simulator.sum_slots(&full).unwrap().metadata().level, 1);
    let moved = simulator.add_scalar(&fresh, 1.0).unwrap();
    assert_eq!(simulator.sum_slots(&moved).unwrap().metadata().level, 0);
    assert_eq!(simulator.sum_slots(&moved).unwrap().reals(), [9.0; 3]);
    let low = simulator.drop_to_level(&moved, 0).unwrap();
    for (op, refused) in [
        ("sum_slots", simulator.sum_slots(&low)),
        ("inner_sum", simulator.inner_sum(&low, 2, 1)),
        ("replicate", simulator.replicate(&low, 2, 1)),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.op(), op);
        assert_eq!(error.message(), error::padding(3, 4).message());
        let text = error.to_string();
        assert!(text.contains("takes one level") && text.contains("`clear_padding`"), "{text}");
    }
    assert!(simulator.sum_slots(&simulator.drop_to_level(&fresh, 0).unwrap()).is_ok());
    // Windows take padding for zeros, too.
    assert_eq!(simulator.inner_sum(&moved, 2, 1).unwrap().reals(), [5.0, 7.0, 4.0]);
    // Padding is no value.
    let outside = simulator.replicate_slot(&moved, 3).unwrap_err();
    assert_eq!(outside.message(), error::position("values", 3, 3).message());
}

/// Everything of two operands, with a second one of another length.
fn mismatched<A: CkksOps>(a: &A, x: &A::Ciphertext, y: &A::Ciphertext) -> Results<A::Ciphertext> {
    let sign = Sign::of_degrees(2.0, 0.25, &[3, 3]).unwrap();
    let of_y = vec![0.5; a.metadata(y).meta.len];
    vec![
        ("add", a.add(x, y)),
        ("sub", a.sub(x, y)),
        ("mul", a.mul(x, y)),
        ("mul_no_rescale", a.mul_no_rescale(x, y)),
        ("mul_add_many", a.mul_add_many(&[(x, x)], &[(y, 1.0)], 0.0, None)),
        ("mul_add_many", a.mul_add_many(&[(x, y)], &[], 0.0, None)),
        ("linear_combination", a.linear_combination(&[(x, 1.0), (y, 1.0)], 0.0, None)),
        ("add_many", a.add_many(&[x, y])),
        ("dot", a.dot(&[x], &[y])),
        ("greater", a.greater(x, y, &sign)),
        ("max", a.max(x, y, &sign)),
        ("min", a.min(x, y, &sign)),
        ("add_values", a.add_values(x, &of_y)),
        ("mul_values", a.mul_values(x, &of_y)),
        ("mul_values_to", a.mul_values_to(x, &of_y, 1e9)),
        ("dot_values", a.dot_values(&[x], &[of_y])),
    ]
}

#[test]
fn unequal_lengths_are_refused_by_name() {
    let params = common::params(9, LEVELS);
    let simulator = Simulator::new(&params);
    let world = World::of(params, bellerophon_ckks::KeyLevels::default().multiply(LEVELS), 3);
    let eval = world.evaluator();
    for (n, m) in [(4, 1), (5, 6), (3, 4), (4, 8), (100, 64)] {
        let (x, y) = (wave(n, 0.7), wave(m, 0.3));
        let [px, py] = [&x, &y].map(|v| simulator.encrypt(v, span(v), LEVELS).unwrap());
        let [cx, cy] = [&x, &y].map(|v| world.encrypt_span(v));
        let found = mismatched(&eval, &cx, &cy);
        for ((name, found), (_, expected)) in
            found.into_iter().zip(mismatched(&simulator, &px, &py))
        {
            let error = found.unwrap_err();
            assert_eq!(error, expected.unwrap_err(), "{name}");
            let both = format!("{n} values against {m}");
            assert!(error.is(&ErrorKind::Length, &both), "{name}: {error}");
            let text = error.to_string();
            for remedy in ["`broadcast`", "`mul_scalar`", "`with_len`"] {
                assert!(text.contains(remedy), "{text}");
            }
        }
        let plain = eval.encoder().encode(&y, span(&y), cx.scale(), cx.lattice().limbs()).unwrap();
        let mut z = cx.clone();
        for refused in [
            eval.add_plain(&cx, &plain),
            eval.mul_plain(&cx, &plain),
            eval.mul_plain_no_rescale(&cx, &plain),
            eval.dot_plain(&[&cx], &[&plain]),
            eval.add_assign(&mut z, &cy).map(|()| z.clone()),
        ] {
            assert!(
                refusal(&refused).is(&ErrorKind::Length, "need equally many; repeat the shorter"),
                "{refused:?}"
            );
        }
        assert_eq!(z, cx);
    }
    let (small, m) = (
        simulator.encrypt(&[0.5; 4], span(&[0.5; 4]), LEVELS).unwrap(),
        mixing(simulator.params(), 8),
    );
    let refused = simulator.transform(&small, &m).unwrap_err();
    assert!(refused.is(&ErrorKind::Length, "4 values against 8: need equally many"));
    let refused = eval.transform(&world.encrypt_span(&[0.5; 4]), &m).unwrap_err();
    assert!(refused.is(&ErrorKind::Length, "4 values against 8: need equally many"));
}

#[test]
fn vectors_repeat_when_they_are_asked_to() {
    let params = common::params(9, LEVELS);
    let world =
        World::of(params.clone(), bellerophon_ckks::KeyLevels::default().multiply(LEVELS), 4);
    let eval = world.evaluator();
    let x = wave(5, 0.7);
    let cx = world.encrypt_span(&x);
    // A value under all.
    let two = world.encrypt_span(&[2.0]).broadcast(5).unwrap();
    assert_eq!((two.len(), two.meta().slots), (5, 8));
    world.check(&eval.mul(&cx, &two).unwrap(), &x.iter().map(|v| 2.0 * v).collect::<Vec<_>>());
    assert!(eval.mul(&cx, &two).unwrap().meta().is_clear());
    assert!(!eval.add(&cx, &two).unwrap().meta().is_clear());
    // A period.
    let pair = world.encrypt_span(&[1.0, -1.0]).broadcast(5).unwrap();
    world.check(&pair, &[1.0, -1.0, 1.0, -1.0, 1.0]);
    let simulator = Simulator::new(&params);
    let plain = simulator
        .broadcast(simulator.encrypt(&[1.0, -1.0], span(&[1.0, -1.0]), LEVELS).unwrap(), 5)
        .unwrap();
    assert_eq!(
        (plain.metadata(), plain.reals()),
        (&pair.metadata(), vec![1.0, -1.0, 1.0, -1.0, 1.0])
    );
    // Padding does not repeat, and vectors do not shrink.
    assert!(matches!(
        cx.clone().broadcast(16),
        Err(e) if matches!(e.kind(), ErrorKind::Shape)
    ));
    for len in [0, 1, 257] {
        assert!(
            refusal(&eval.broadcast(eval.with_len(pair.clone(), 8).unwrap(), len))
                .is(&ErrorKind::Argument, "values: need")
        );
    }
}
