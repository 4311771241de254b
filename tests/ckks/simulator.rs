//! Programs on plain vectors and on ciphertexts: the same accounts, the same errors, just the keys
//! that are needed, and errors of the size predicted.

use crate::common;
use bellerophon_circuits::CircuitOps;

use crate::common::{World, refusal, span};
use bellerophon_circuits::{
    approx::{Accuracy, Approximation, Function, Known, Sign},
    chebyshev::Chebyshev,
    diagonals::Diagonals,
    learning::{LogisticRegression, LogisticSpec},
    lintrans::{Giants, LinearOptions, LinearTransform},
    matrix::{Matrix, MatrixProduct, MatrixVector, Packing},
    polynomial::{Monomial, Polynomial},
    statistics::DataTable,
};
use bellerophon_ckks::{
    Ciphertext, CkksOps, Complex64, ComposedOps, Error, ErrorKind, EvaluationKeys, Evaluator,
    Interval, KeyLevels, LevelGroup, Metadata, ModulusChain, Params, ParamsSpec, Result, Security,
    simulator::{SimCiphertext, Simulator, min_level},
    vectors::Vectors,
};
use proptest::{prelude::*, test_runner::RngSeed};
use std::sync::LazyLock;

const LEVELS: usize = 5;

/// One step of a random program: what it does to which of the vectors so far.
#[derive(Debug, Clone)]
enum Step {
    Add,
    Sub,
    Neg,
    AddScalar(f64),
    AddValues(usize),
    Mul,
    MulUnscaled,
    Square,
    Rescale,
    MulValues(usize),
    MulScalar(f64),
    MulInteger(i64),
    MulI,
    MulComplex(f64, f64),
    Combination(f64, f64),
    LinearCombination(f64, f64),
    Rotate(i64),
    RotateMany(i64, i64),
    Conjugate,
    RealPart,
    Polynomial(usize),
    Transform(bool),
    Drop(usize),
    MatchScale(f64, usize),
    TimesFree(f64),
    WithLen(usize),
    Repeated(usize),
    Monomial(usize, bool),
    Polynomials(usize),
    Apply(usize),
    Compared(usize),
    InnerSum(usize, i64),
    Replicate(usize, i64),
    Total,
    ReplicateSlot(usize),
    Keep(usize, usize),
    ClearPadding,
    Dot,
    DotValues(usize),
    MulValuesTo(usize, f64),
    SumOfRotations(i64),
}

/// What is prepared once for all programs: functions over `[1, 5]`, and a sign over `[-2, 2]`.
static PREPARED: LazyLock<(Vec<Approximation>, Sign)> = LazyLock::new(|| {
    let prepared =
        |f, log2_error: f64| Approximation::new(&f, 1.0, 5.0, Accuracy::bits(-log2_error)).unwrap();
    let functions = vec![
        prepared(Function::from(Known::Inverse), -7.0),
        prepared(Function::from(Known::Sqrt), -8.0),
        prepared(Function::from(Known::Sigmoid), -9.0),
    ];
    (functions, Sign::of_degrees(2.0, 0.25, &[3, 3]).unwrap())
});

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let c = -2.0..2.0f64;
    let small = prop_oneof![
        Just(Add),
        Just(Sub),
        Just(Neg),
        Just(Mul),
        Just(MulUnscaled),
        Just(Square),
        Just(Rescale),
        Just(MulI),
        Just(Conjugate),
        Just(RealPart),
        c.clone().prop_map(AddScalar),
        c.clone().prop_map(MulScalar),
        (-3i64..4).prop_map(MulInteger),
    ];
    let large = prop_oneof![
        (1usize..40).prop_map(AddValues),
        (1usize..40).prop_map(MulValues),
        (c.clone(), c.clone()).prop_map(|(a, b)| MulComplex(a, b)),
        (c.clone(), c.clone()).prop_map(|(a, b)| Combination(a, b)),
        (c.clone(), c.clone()).prop_map(|(a, b)| LinearCombination(a, b)),
        (-70i64..70).prop_map(Rotate),
        (0i64..9, -9i64..0).prop_map(|(a, b)| RotateMany(a, b)),
        (0usize..9).prop_map(Polynomial),
        any::<bool>().prop_map(Transform),
        (0usize..LEVELS).prop_map(Drop),
        (0.5..2.0f64, 0usize..LEVELS).prop_map(|(s, l)| MatchScale(s, l)),
        (0.3..3.0f64).prop_map(TimesFree),
        (0usize..70).prop_map(WithLen),
        (0u32..8).prop_map(|k| Repeated(1 << k)),
    ];
    let composed = prop_oneof![
        (0usize..9, any::<bool>()).prop_map(|(degree, complex)| Monomial(degree, complex)),
        (1usize..9).prop_map(Polynomials),
        (0usize..3).prop_map(Apply),
        (0usize..7).prop_map(Compared),
        (0usize..70, -9i64..9).prop_map(|(count, stride)| InnerSum(count, stride)),
        (1usize..9, -9i64..9).prop_map(|(count, stride)| Replicate(count, stride)),
        Just(Total),
        (0usize..70).prop_map(ReplicateSlot),
        (0usize..70, 0usize..70).prop_map(|(from, to)| Keep(from, to)),
        Just(ClearPadding),
        Just(Dot),
        (1usize..40).prop_map(DotValues),
        (1usize..40, 0.5..2.0f64).prop_map(|(n, s)| MulValuesTo(n, s)),
        (-70i64..70).prop_map(SumOfRotations),
    ];
    prop_oneof![3 => small, 2 => large, 3 => composed]
}

fn transform(params: &Params, horner: bool) -> LinearTransform {
    let mut m = Diagonals::zero(64);
    for k in [0, 1, 2, 9, 10, 40] {
        m.add_diagonal(k, (0..64).map(|i| Complex64::from((i + k) as f64 / 200.0)).collect());
    }
    let giants = if horner { Giants::Horner } else { Giants::Direct };
    let options = LinearOptions { giants, encode_ahead: horner, ..LinearOptions::default() };
    LinearTransform::new(params, &m, 2, options).unwrap()
}

/// The vector that a step makes of the two operands chosen for it.
fn perform<A: CkksOps>(
    a: &A,
    step: &Step,
    x: &A::Ciphertext,
    y: &A::Ciphertext,
) -> Result<A::Ciphertext> {
    let (of_x, of_y) = (a.metadata(x).meta, a.metadata(y).meta);
    let values = |n: usize| (0..n).map(|i| i as f64 / 20.0 - 1.0).collect::<Vec<_>>();
    // As many as there are, now and then another number.
    let fitting = |n: usize| values(if n < 5 { n } else { of_x.len });
    let fitted = of_x.len <= of_y.slots;
    let y = &if fitted { a.with_len(y.clone(), of_x.len)? } else { y.clone() };
    match *step {
        Step::Add => a.add(x, y),
        Step::Sub => a.sub(x, y),
        Step::Neg => a.neg(x),
        Step::AddScalar(c) => a.add_scalar(x, c),
        Step::AddValues(n) => a.add_values(x, &fitting(n)),
        Step::Mul => a.mul(x, y),
        Step::MulUnscaled => a.mul_no_rescale(x, y),
        Step::Square => a.square(x),
        Step::Rescale => a.rescale(x),
        Step::MulValues(n) => a.mul_values(x, &fitting(n)),
        Step::MulScalar(c) => a.mul_scalar(x, c),
        Step::MulInteger(k) => a.mul_integer(x, k),
        Step::MulI => a.mul_i(x),
        Step::MulComplex(re, im) => a.mul_complex(x, Complex64::new(re, im)),
        Step::Combination(c, d) => a.mul_add_many(&[(x, y), (y, x)], &[(y, c)], d, None),
        Step::LinearCombination(c, d) => a.linear_combination(&[(x, c), (y, d)], c, None),
        Step::Rotate(s) => a.rotate(x, s),
        Step::RotateMany(s, t) => {
            a.add_many(&a.rotate_many(x, &[s, t])?.iter().collect::<Vec<_>>())
        }
        Step::Conjugate => a.conjugate(x),
        Step::RealPart => a.real_part(x),
        Step::Polynomial(degree) => {
            let p = Chebyshev::interpolate(|t| (3.0 * t).sin() + 0.2, -1.5, 2.0, degree);
            a.polynomial(x, &Polynomial::new(p), None)
        }
        Step::Transform(horner) => a.transform(x, &transform(a.params(), horner)),
        Step::Drop(level) => a.drop_to_level(x, level),
        Step::MatchScale(factor, level) => a.match_scale(x, a.params().scale() * factor, level),
        Step::TimesFree(factor) => a.reinterpret_scale(x.clone(), factor),
        Step::WithLen(len) => a.with_len(x.clone(), len),
        Step::Repeated(slots) => a.repeated(x.clone(), slots),
        Step::Monomial(degree, complex) => {
            let c = |k: usize| Complex64::new(0.5 / (k + 1) as f64, 0.25 * k as f64);
            let c = |k| if complex { c(k) } else { c(k).re.into() };
            let p = Monomial::complex(&(0..=degree).map(c).collect::<Vec<_>>())?;
            a.monomial(x, &p, None)
        }
        Step::Polynomials(degree) => {
            let p = |f: fn(f64) -> f64, degree| {
                Polynomial::new(Chebyshev::interpolate(f, -1.0, 1.0, degree))
            };
            let (p, q) = (p(f64::sin, degree), p(f64::exp, degree.div_ceil(2)));
            let both = a.polynomials(x, &[(&p, None), (&q, None)])?;
            a.add(&both[0], &both[1])
        }
        Step::Apply(function) => a.apply(&a.add_scalar(x, 3.0)?, &PREPARED.0[function]),
        Step::Compared(how) => {
            let sign = &PREPARED.1;
            match how {
                0 => a.sign(x, sign),
                1 => a.step(x, sign),
                2 => a.greater(x, y, sign),
                3 => a.max(x, y, sign),
                4 => a.min(x, y, sign),
                5 => a.abs(x, sign),
                _ => a.relu(x, sign),
            }
        }
        Step::InnerSum(count, stride) => a.inner_sum(x, count, stride),
        Step::Replicate(count, stride) => a.replicate(x, count, stride),
        Step::Total => a.sum_slots(x),
        Step::ReplicateSlot(slot) => a.replicate_slot(x, slot),
        Step::Keep(from, to) => a.mask(x, from..to),
        Step::ClearPadding => a.clear_padding(x),
        Step::Dot => a.dot(&[x, y, x], &[y, x, x]),
        Step::DotValues(n) => a.dot_values(&[x, y], &[fitting(n), values(of_x.len)]),
        Step::MulValuesTo(n, scale) => a.mul_values_to(x, &fitting(n), a.params().scale() * scale),
        Step::SumOfRotations(step) => a.sum_of_rotations(&[(x, &[0, step, 3]), (y, &[-step])]),
    }
}

/// All vectors of a program, up to the first failure.
fn program<A: CkksOps>(
    a: &A,
    inputs: Vec<A::Ciphertext>,
    steps: &[(Step, usize, usize)],
) -> (Vec<A::Ciphertext>, Option<Error>) {
    let mut vectors = inputs;
    for (step, i, j) in steps {
        // The newest vectors most of all.
        let at = |k: &usize| vectors.len() - 1 - k % vectors.len();
        match perform(a, step, &vectors[at(i)], &vectors[at(j)]) {
            Ok(result) => vectors.push(result),
            Err(error) => return (vectors, Some(error)),
        }
    }
    (vectors, None)
}

fn inputs<V>(encrypt: impl Fn(&[f64], usize) -> V) -> Vec<V> {
    let wave = |n: usize, f: f64| (0..n).map(|i| (f * i as f64).sin()).collect::<Vec<_>>();
    vec![
        encrypt(&wave(64, 0.7), LEVELS),
        encrypt(&wave(19, 1.3), LEVELS),
        encrypt(&wave(64, 2.1), LEVELS - 1),
    ]
}

/// The world of a program with the keys that its simulator asked for.
fn world(keys: KeyLevels) -> World {
    World::of(common::params(8, LEVELS), keys, 9)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn simulators_keep_the_books_of_ciphertexts(
        steps in prop::collection::vec((step(), 0usize..4, 0usize..4), 1..14),
    ) {
        let params = common::params(8, LEVELS);
        let simulator = Simulator::new(&params);
        let plain = inputs(|x, level| simulator.encrypt(x, span(x), level).unwrap());
        let (expected, failure) = program(&simulator, plain, &steps);
        let report = simulator.report();
        prop_assert_eq!(report.failure.map(|f| f.error), failure.clone());
        let world = world(report.keys);
        let encrypted = inputs(|x, level| world.encrypt_span_at(x, level));
        let (found, error) = program(&world.evaluator(), encrypted, &steps);
        // The same errors, and no key missing.
        prop_assert_eq!(error, failure);
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found.metadata(), *expected.metadata());
            let values: Vec<Complex64> = world.decrypt(found);
            let size = expected.values().iter().fold(1.0f64, |m, z| m.max(z.norm()));
            // Errors of functions are predicted to first order: from errors that are small.
            if found.metadata().noise() > 1e-2 * size {
                continue;
            }
            let allowed = 20.0 * found.metadata().noise() + 1e-9 * size;
            for (a, b) in values.iter().zip(expected.values()) {
                prop_assert!((a - b).norm() <= allowed, "{a} against {b}, allowed {allowed:e}");
            }
        }
    }
}

/// A program with every kind of key.
fn every_key<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<A::Ciphertext> {
    let y = a.mul(x, &a.rotate(x, 3)?)?;
    let z = a.add(&a.conjugate(&y)?, &a.rotate(&y, -2)?)?;
    a.inner_sum(&a.square(&z)?, 4, 16)
}

#[test]
fn keys_are_reported_at_the_levels_of_their_use() {
    let params = common::params(8, LEVELS);
    let simulator = Simulator::new(&params);
    let x: Vec<f64> = (0..64).map(|i| (i as f64).cos()).collect();
    let expected =
        every_key(&simulator, &simulator.encrypt(&x, span(&x), LEVELS).unwrap()).unwrap();
    let report = simulator.report();
    let wanted = KeyLevels::default().multiply(5).conjugate(4).rotate([3], 5).rotate([62], 4);
    assert_eq!(report.keys, wanted.rotate([16, 32, 48], 3));
    assert_eq!((report.operations, report.key_switches), (7, 8));
    assert_eq!((report.lowest_level, report.failure), (Some(3), None));
    // Sufficient: they are all that it takes.
    let full = world(report.keys.clone());
    let run = |world: &World| every_key(&world.evaluator(), &world.encrypt_span(&x));
    assert_eq!(run(&full).unwrap().metadata(), *expected.metadata());
    full.check(&run(&full).unwrap(), &expected.reals());
    // Minimal: without any one of them, or with it one level lower, the program fails, or turns by
    // several other keys at the price of more noise.
    let rotations: Vec<(i64, usize)> = report.keys.rotations.clone().into_iter().collect();
    let with_rotations = |spec: KeyLevels, lowered: Option<usize>| {
        rotations.iter().enumerate().fold(spec, |spec, (i, &(step, level))| {
            spec.rotate([step], if lowered == Some(i) { level - 1 } else { level })
        })
    };
    let products = KeyLevels::default().multiply(4).conjugate(4);
    let conjugations = KeyLevels::default().multiply(5).conjugate(3);
    let mut lesser = vec![with_rotations(products, None), with_rotations(conjugations, None)];
    let complete = KeyLevels::default().multiply(5).conjugate(4);
    lesser.extend((0..rotations.len()).map(|i| with_rotations(complete.clone(), Some(i))));
    for keys in lesser {
        let world = world(keys);
        match run(&world) {
            Err(error) if matches!(error.kind(), ErrorKind::MissingKey { .. }) => {}
            Err(error) => panic!("{error}"),
            Ok(result) => assert!(result.metadata().noise() > expected.metadata().noise()),
        }
    }
}

/// The program on plain vectors, then on ciphertexts with just the keys that it asked for.
fn on_both(
    levels: usize,
    x: &[f64],
    on_vectors: impl Fn(&Simulator, &SimCiphertext) -> Result<Vec<SimCiphertext>>,
    on_ciphertexts: impl Fn(&Evaluator, &Ciphertext) -> Result<Vec<Ciphertext>>,
) {
    let params = common::params(9, levels);
    let simulator = Simulator::new(&params);
    let expected = on_vectors(&simulator, &simulator.encrypt(x, span(x), levels).unwrap()).unwrap();
    let world = World::of(params, simulator.report().keys, 4);
    let found = on_ciphertexts(&world.evaluator(), &world.encrypt_span(x)).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.metadata(), *expected.metadata());
        world.check(found, &expected.reals());
    }
}

/// Which rows lie above the mean of their column, and the statistics of the table.
fn outliers<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let (table, sign) = (DataTable::new(13, 3)?.sample()?, &PREPARED.1);
    let above = a.greater(x, &table.means(a, x)?, sign)?;
    let root =
        Approximation::new(&Function::from(Known::InverseSqrt), 0.2, 0.8, Accuracy::bits(5.0))?;
    let mut results = vec![above, table.standardised(a, x, &root)?, table.sums(a, x)?];
    results.extend(table.covariance_matrix(a, x)?);
    Ok(results)
}

#[test]
fn a_comparison_and_statistics() {
    let table = DataTable::new(13, 3).unwrap();
    let row = |i: usize| (0..3).map(|j| ((7 * i + 3 * j) as f64).sin()).collect();
    let x = table.pack(&(0..13).map(row).collect::<Vec<_>>()).unwrap();
    on_both(8, &x, outliers, outliers);
}

/// Products with matrices, plain and encrypted.
fn matrices<A: CkksOps>(a: &A, x: &A::Ciphertext) -> Result<Vec<A::Ciphertext>> {
    let row = |i: usize| (0..16).map(|j| ((i + 2 * j) as f64).cos() / 16.0).collect();
    let plain = Matrix::from_rows(&(0..5).map(row).collect::<Vec<Vec<f64>>>())?;
    let plain = MatrixVector::new(a.params(), &plain, 4, LinearOptions::default())?;
    let packing = Packing::new(4, 4)?;
    let vector = a.mask(x, 0..4)?;
    Ok(vec![
        plain.apply(a, x)?,
        MatrixProduct::new(a.params(), 4, 5)?.apply(a, x, x)?,
        packing.times_by_columns(a, x, &vector)?,
    ])
}

#[test]
fn products_of_matrices() {
    let x: Vec<f64> = (0..16).map(|i| (i as f64).sin()).collect();
    on_both(5, &x, matrices, matrices);
}

#[test]
fn logistic_regression() {
    let mut spec = LogisticSpec::new(6, 2);
    spec.iterations = 2;
    let model = LogisticRegression::new(spec).unwrap();
    let rows: Vec<Vec<f64>> =
        (0..6).map(|i| vec![(i as f64).sin(), (2.0 * i as f64).cos()]).collect();
    let labels: Vec<bool> = rows.iter().map(|row| row[0] > row[1]).collect();
    let x = model.pack_training(&rows, &labels).unwrap();
    let levels = model.levels();
    on_both(
        levels,
        &x,
        |a, x| model.train(a, x, |_| {}).map(|model| vec![model]),
        |a, x| model.train(a, x, |_| {}).map(|model| vec![model]),
    );
}

/// What a composed operation refuses by itself is a failure of the program, under its name.
#[test]
fn refusals_of_composed_operations_are_reported() {
    let simulator = Simulator::new(&common::params(8, LEVELS));
    let x = simulator.encrypt(&[0.5, 3.0], span(&[0.5, 3.0]), LEVELS).unwrap();
    let refused = simulator.sign(&x, &PREPARED.1).unwrap_err();
    assert!(
        refused.op() == "sign" && refused.is(&ErrorKind::Domain, "outside the domain ["),
        "{refused}"
    );
    let failure = simulator.report().failure.unwrap();
    assert_eq!((failure.operation, failure.error), (1, refused));
    // An operation inside one that fails keeps its number and gets the name.
    let simulator = Simulator::new(&common::params(8, LEVELS));
    let x = simulator.encrypt(&[0.5, 1.0], span(&[0.5, 1.0]), 0).unwrap();
    let refused = simulator.replicate_slot(&x, 1).unwrap_err();
    assert!(
        refused.op() == "replicate_slot" && matches!(refused.kind(), ErrorKind::OutOfLevels { .. }),
        "{refused}"
    );
    assert_eq!(simulator.report().failure.unwrap().error, refused);
}

#[test]
fn failures_are_found_without_keys() {
    let params = common::params(8, LEVELS);
    let x: Vec<f64> = (0..64).map(|i| 1.5 + (i as f64).cos()).collect();
    // Levels: the sixth square of five.
    let squares = |simulator: &Simulator, level: usize, count: usize| -> Result<SimCiphertext> {
        let x = simulator.encrypt(&x[..], span(&x[..]), level)?;
        (0..count).try_fold(x, |x, _| simulator.square(&x))
    };
    let simulator = Simulator::new(&params);
    assert!(matches!(refusal(&squares(&simulator, 2, 3)).kind(), ErrorKind::OutOfLevels { .. }));
    let failure = simulator.report().failure.unwrap();
    assert_eq!(failure.operation, 3);
    assert!(simulator.report().to_string().contains("operation 3 fails: square: needs 1 level(s)"));
    // The first failure stays in the report.
    assert!(
        simulator
            .add_scalar(&simulator.encrypt(&[1.0], span(&[1.0]), 0).unwrap(), f64::NAN)
            .is_err()
    );
    assert_eq!(simulator.report().failure, Some(failure));
    // Range: values up to 2.5 squared three times leave the 9 bits that level 0 has above the
    // scale, so that program needs a level more than it has products.
    let simulator = Simulator::new(&params);
    assert!(refusal(&squares(&simulator, 4, 4)).is(&ErrorKind::Range, "may reach at most"));
    assert_eq!(min_level(&params, |simulator, level| squares(simulator, level, 2)), Ok(2));
    assert_eq!(min_level(&params, |simulator, level| squares(simulator, level, 3)), Ok(4));
    assert_eq!(min_level(&params, |simulator, level| squares(simulator, level, 4)), Ok(5));
    // Beyond the chain; and a program that no chain helps.
    let sixth = |simulator: &Simulator, level: usize| {
        let x = simulator.with_range(squares(simulator, level, 3)?, Interval::real(0.0, 1.0)?);
        (0..3).try_fold(x, |x, _| simulator.square(&x))
    };
    assert_eq!(min_level(&params, sixth), Ok(6));
    let pairs = ModulusChain {
        degree: 1 << 8,
        first_bits: 58,
        levels: vec![LevelGroup::pairs(50, 2)],
        special: (55, 2),
    };
    let pairs = ParamsSpec::from_chain(&pairs, 50, Security::Insecure).unwrap();
    assert_eq!(min_level(&Params::new(pairs).unwrap(), sixth), Ok(6));
    let never = |simulator: &Simulator, level| {
        simulator.add_scalar(&simulator.encrypt(&x, span(&x), level)?, f64::INFINITY)
    };
    assert!(refusal(&min_level(&params, never)).is(&ErrorKind::NotFinite, "the constant is NaN"));
    // Domains of polynomials.
    let p = Polynomial::new(Chebyshev::interpolate(f64::sqrt, 0.0, 1.0, 7));
    let simulator = Simulator::new(&params);
    let refused = simulator.polynomial(&simulator.encrypt(&x, span(&x), 5).unwrap(), &p, None);
    assert!(refusal(&refused).is(&ErrorKind::Domain, "outside the domain ["));
}

#[test]
fn simulators_of_public_encryptions() {
    let world = world(KeyLevels::default());
    let x = world.reals(64);
    let rng = &mut *world.rng.borrow_mut();
    let public = bellerophon_ckks::PublicKey::generate(&world.secret, rng);
    let plain = bellerophon_ckks::Encoder::new(&world.params)
        .encode(&x, span(&x), world.params.scale(), 3)
        .unwrap();
    let ct = bellerophon_ckks::encrypt_public(&world.params, &plain, &public, rng).unwrap();
    let metadata: Metadata =
        *Simulator::new(&world.params).encrypt_public(&x, span(&x), 2).unwrap().metadata();
    assert_eq!(ct.metadata(), metadata);
    let none = EvaluationKeys::none(&world.params, world.secret.id());
    let turned = Evaluator::new(&world.params, &none).unwrap().rotate(&ct, 1);
    assert!(refusal(&turned).is(&ErrorKind::MissingKey { need: "rotate" }, "rotation of"));
    assert!(
        refusal(&Simulator::new(&world.params).encrypt(&x, span(&x), LEVELS + 1))
            .is(&ErrorKind::Level, "choose a lower level, or take parameters")
    );
}

/// A sum of vectors of several scales is the same in every order, at a scale that all of them
/// reach.
#[test]
fn sums_of_many_are_those_of_any_order() {
    let params = common::params(9, LEVELS);
    let simulator = Simulator::new(&params);
    let of = |values: &[f64], level| simulator.encrypt(values, span(&[-2.0, 2.0]), level).unwrap();
    let (x, y) = (of(&[0.5, -0.25], 3), of(&[1.0, 0.75], 3));
    let coarse = simulator.reinterpret_scale(of(&[0.25, 0.5], 3), 0.25).unwrap();
    let half = simulator.real_part(&y).unwrap();
    let product = simulator.mul_no_rescale(&x, &y).unwrap();
    for other in [&coarse, &half, &product] {
        let sum: Vec<f64> = x.reals().iter().zip(other.reals()).map(|(x, y)| x + y).collect();
        for order in [[&x, other], [other, &x]] {
            let found = simulator.add_many(&order).unwrap();
            assert!(found.reals().iter().zip(&sum).all(|(a, b)| (a - b).abs() < 1e-9));
            assert_eq!(simulator.add(order[0], order[1]).unwrap().reals(), found.reals());
        }
    }
    let orders = [[&x, &coarse, &half], [&half, &coarse, &x], [&coarse, &x, &half]];
    assert!(orders.iter().all(|order| simulator.add_many(order).is_ok()));
}
