//! Operands at different levels: every operation of two vectors aligns levels and scales, and a
//! refusal says what is wrong.

use std::{collections::BTreeSet, sync::LazyLock};

use bellerophon::lwe::Headroom;
use bellerophon::prelude::*;
use bellerophon::{
    circuits::{
        approx::Sign,
        diagonals::Diagonals,
        lintrans::{LinearOptions, LinearTransform},
    },
    ckks::{self, CkksOps, Complex64, Interval},
};

use crate::common::{Party, errors, party, spread};
use crate::misuse::complete::methods_of_several;

const TOP: usize = 8;
const COUNT: usize = 16;

fn toy() -> Party {
    party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().rotate([1]), 46)
}

fn encrypted(client: &ClientKey, values: &[f64]) -> Ciphertext {
    let mut rng = <rand_chacha::ChaCha20Rng as rand::SeedableRng>::seed_from_u64(4);
    client.encrypt_with(values, -1.0..=1.0, TOP, &mut rng).unwrap()
}

/// A vector, and what it holds.
#[derive(Clone)]
struct Vector {
    ciphertext: Ciphertext,
    values: Vec<f64>,
}

impl Vector {
    fn squared(&self, server: &Evaluator) -> Self {
        let values = self.values.iter().map(|x| x * x).collect();
        Self { ciphertext: server.square(&self.ciphertext).unwrap(), values }
    }

    fn dropped(&self, server: &Evaluator, level: usize) -> Self {
        let ciphertext = server.drop_to_level(&self.ciphertext, level).unwrap();
        Self { ciphertext, values: self.values.clone() }
    }
}

/// A result, how far it lies below the lower of two different levels, and what it is on plain
/// values, at a position and at the next one.
struct Case {
    name: &'static str,
    result: bellerophon::Result<Ciphertext>,
    levels: usize,
    expected: fn([f64; 2], [f64; 2]) -> f64,
}

/// For differences of values up to 1.
static SIGN: LazyLock<Sign> = LazyLock::new(|| Sign::of_degrees(2.0, 0.25, &[3]).unwrap());

fn step(d: f64) -> f64 {
    0.5 + 0.5 * SIGN.eval(d)
}

fn cases(server: &Evaluator, x: &Ciphertext, y: &Ciphertext) -> Vec<Case> {
    let case = |name, result, levels, expected| Case { name, result, levels, expected };
    let (scale, half) = (server.params().ckks().scale(), vec![0.5; COUNT]);
    let products =
        |terms: &[_], scale| CkksOps::mul_add_many(server, &[(x, x), (y, y)], terms, 0.125, scale);
    let turned = server.sum_of_rotations(&[(x, &[0]), (y, &[0, 1])]);
    let linear = server.linear_combination(&[(x, 0.5), (y, 2.0)], 0.25, None);
    let mut assigned = x.clone();
    let assigned = server.arithmetic().add_assign(&mut assigned, y).map(|()| assigned);
    vec![
        case("add", server.add(x, y), 0, |[x, _], [y, _]| x + y),
        case("add_assign", assigned, 0, |[x, _], [y, _]| x + y),
        case("sub", server.sub(x, y), 0, |[x, _], [y, _]| x - y),
        case("add_many", server.add_many(&[x, y, x]), 0, |[x, _], [y, _]| 2.0 * x + y),
        case("mul", server.mul(x, y), 1, |[x, _], [y, _]| x * y),
        case("mul_no_rescale", server.mul_no_rescale(x, y), 0, |[x, _], [y, _]| x * y),
        case("dot", server.dot(&[x, y], &[x, y]), 1, |[x, _], [y, _]| x * x + y * y),
        case("dot", server.dot(&[x, y, y], &[y, y, x]), 1, |[x, _], [y, _]| 2.0 * x * y + y * y),
        case("mul_add_many", products(&[(x, -1.0)], None), 1, |[x, _], [y, _]| {
            x * x + y * y - x + 0.125
        }),
        case("mul_add_many", products(&[], Some(scale)), 2, {
            |[x, _], [y, _]| x * x + y * y + 0.125
        }),
        case("dot_values", server.dot_values(&[x, y], &[half, vec![-0.75; COUNT]]), 1, {
            |[x, _], [y, _]| 0.5 * x - 0.75 * y
        }),
        case("linear_combination", linear, 1, |[x, _], [y, _]| 0.5 * x + 2.0 * y + 0.25),
        case("sum_of_rotations", turned, 0, |[x, _], [y, next]| x + y + next),
        case("greater", server.greater(x, y, &SIGN), SIGN.levels(), |[x, _], [y, _]| step(x - y)),
        case("max", server.max(x, y, &SIGN), SIGN.levels() + 1, |[x, _], [y, _]| {
            y + (x - y) * step(x - y)
        }),
        case("min", server.min(x, y, &SIGN), SIGN.levels() + 1, |[x, _], [y, _]| {
            y + (x - y) * step(y - x)
        }),
    ]
}

#[test]
fn every_operation_aligns_levels_and_scales() {
    let called: BTreeSet<String> =
        slots().into_iter().chain(integers()).chain(look_ups()).map(String::from).collect();
    // Nothing is left out.
    let owners =
        ["Vectors", "CkksOps", "ComposedOps", "CircuitOps", "Evaluator"].map(methods_of_several);
    let of_integers = methods_of_several("Integers").into_iter().map(|name| name + " (integers)");
    let all: BTreeSet<String> = owners.into_iter().flatten().chain(of_integers).collect();
    assert!(all.len() > 15, "{all:?}");
    // What runs an operation that it is given has no case of its own.
    let given = ["fused", "single"].map(String::from);
    let missing: Vec<_> = all.difference(&called).filter(|name| !given.contains(name)).collect();
    assert!(missing.is_empty(), "no case: {missing:?}");
}

/// Operations on slots. Returns the names of the cases.
fn slots() -> BTreeSet<&'static str> {
    let mut called = BTreeSet::new();
    let Party { client, server } = toy();
    let fresh = |values: Vec<f64>| {
        let ciphertext = encrypted(&client, &values);
        let once = Vector { ciphertext, values };
        let (square, at) = (once.squared(&server), once.dropped(&server, TOP - 2));
        // At levels TOP, TOP - 1 and TOP - 2 with a scale each, and at TOP - 2 with the first one.
        [once, square.clone(), square.squared(&server), at]
    };
    let (left, right) = (fresh(spread(COUNT, -0.75, 0.5)), fresh(spread(COUNT, 0.25, 1.0)));
    for (x, y) in left.iter().flat_map(|x| right.iter().map(move |y| (x, y))) {
        let levels = [x, y].map(|x| x.ciphertext.level());
        for Case { name, result, levels: taken, expected } in
            cases(&server, &x.ciphertext, &y.ciphertext)
        {
            let result = result.unwrap_or_else(|e| panic!("{name} at {levels:?}: {e}"));
            if levels[0] != levels[1] {
                assert_eq!(result.level() + taken, levels[0].min(levels[1]), "{name}, {levels:?}");
            }
            for (i, found) in client.decrypt(&result).unwrap().into_iter().enumerate() {
                let at = |x: &Vector| [x.values[i], x.values[(i + 1) % COUNT]];
                let error = (found - expected(at(x), at(y))).abs();
                assert!(error < 1e-6, "{name} at {levels:?}, position {i}: {error:e}");
            }
            called.insert(name);
        }
    }
    called
}

/// Operations on two vectors of integers, either of which has more levels.
fn integers() -> [&'static str; 4] {
    const P: usize = 16;
    let Party { client, server } =
        party(Preset::Insecure(Toy::Tables), &Needs::new().functional(), 47);
    let low = client.params().functional().unwrap().input_level();
    let mut rng = <rand_chacha::ChaCha20Rng as rand::SeedableRng>::seed_from_u64(5);
    let mut fresh = |factor: usize, level: usize| {
        let values: Vec<usize> = (0..COUNT).map(|i| factor * i % P).collect();
        (client.encrypt_with(&values, Modulo(P), level, &mut rng).unwrap(), values)
    };
    let on = server.integers();
    for levels in [[low + 1, low], [low, low + 1]] {
        let ((x, a), (y, b)) = (fresh(7, levels[0]), fresh(5, levels[1]));
        let check = |name: &str, result: ckks::Result<IntVec>, f: fn(usize, usize) -> usize| {
            let result = result.unwrap_or_else(|e| panic!("{name} at {levels:?}: {e}"));
            let expected: Vec<usize> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
            assert_eq!(client.decrypt_integers(&result).unwrap(), expected, "{name}, {levels:?}");
        };
        check("add", on.add(&x, &y), |a, b| (a + b) % P);
        check("sub", on.sub(&x, &y), |a, b| (P + a - b) % P);
        check("beside", on.beside(&x, &y), |a, b| a + P * b);
        check("table_of_two", on.table_of_two(&x, &y, P, |a, b| a * b % P), |a, b| a * b % P);
    }
    ["add (integers)", "sub (integers)", "beside (integers)", "table_of_two (integers)"]
}

/// Look-ups of two vectors of different levels and scales.
fn look_ups() -> [&'static str; 2] {
    // Tables of the toy set are coarse.
    const COARSE: f64 = 0.2;
    let Party { client, server } =
        party(Preset::Insecure(Toy::Functions), &Needs::new().multiply().map(), 48);
    let fresh = |values: Vec<f64>| Vector { ciphertext: encrypted(&client, &values), values };
    let x = fresh(spread(COUNT, -0.75, 0.5));
    let y = fresh(spread(COUNT, 0.25, 1.0)).squared(&server);
    for [x, y] in [[&x, &y], [&y, &x]] {
        let operands = [&x.ciphertext, &y.ciphertext];
        let tanh: [&dyn Fn(f64) -> f64; 1] = [&f64::tanh];
        let request = MapRequest::many(&tanh).over(-1.0..=1.0).packed();
        let found = client.decrypt(&server.map_many(&operands, &request).unwrap()[0]).unwrap();
        let expected = x.values.iter().chain(&y.values);
        let (_, worst) = errors(&found, expected.clone().map(|v| v.tanh()));
        assert!(worst < COARSE, "map_many: {worst}");
        let parts = server.extract_all(&operands, -1.0..=1.0, Headroom::TABLE).unwrap();
        let found: Vec<f64> =
            parts.iter().flat_map(|part| client.decrypt_lwe(part).unwrap()).collect();
        let (_, worst) = errors(&found, expected.copied());
        assert!(worst < COARSE, "extract_all: {worst}");
    }
    ["map_many", "extract_all"]
}

/// Where nothing can be aligned, the message says so of what there is.
#[test]
fn refusals_speak_of_the_operands_that_there_are() {
    let Party { client, server } = toy();
    let (params, values) = (client.params().ckks(), spread(COUNT, -0.75, 0.5));
    let x = encrypted(&client, &values);
    let unscaled = CkksOps::square_no_rescale(&server, &x).unwrap();
    let encoder = ckks::Encoder::new(params);
    let unit = Interval::real(-1.0, 1.0).unwrap();
    let factors =
        [TOP, TOP - 1].map(|level| encoder.encode_factor(&values, unit, COUNT, level).unwrap());
    let mut matrix = Diagonals::zero(COUNT);
    matrix.add_diagonal(0, vec![Complex64::ONE; COUNT]);
    let at =
        |level| LinearTransform::new(params, &matrix, level, LinearOptions::default()).unwrap();
    let other = 1.5 * params.scale();
    let refusals = [
        (
            "another scale takes a level above the requested one",
            CkksOps::match_scale(&server, &x, other, TOP),
        ),
        (
            "`rescale` it first",
            CkksOps::linear_combination(&server, &[(&unscaled, 0.5)], 0.0, None),
        ),
        (
            "`rescale` it first",
            CkksOps::dot_values(&server, &[&x, &unscaled], &[values.clone(), values.clone()]),
        ),
        (
            "encode the factors for one level (`encode_factor`)",
            server.arithmetic().dot_plain(&[&x, &x], &[&factors[0], &factors[1]]),
        ),
        (
            "prepared for level 9, and the vector is at level 8: prepare it for a level up to 8",
            CircuitOps::transform(&server, &x, &at(TOP + 1)),
        ),
    ];
    for (text, result) in refusals {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(text) && !message.contains("neither"), "{message}");
    }
}
