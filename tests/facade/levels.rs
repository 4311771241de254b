//! Operands at different levels: every operation of two vectors aligns levels and scales, and a
//! refusal says what is wrong.

use bellerophon::ckks::{
    self, CkksOps, Complex64, Interval,
    diagonals::Diagonals,
    lintrans::{LinearOptions, LinearTransform},
};
use bellerophon::prelude::*;

use crate::common::{Party, party, spread};

const TOP: usize = 6;
const COUNT: usize = 16;

fn toy() -> Party {
    party(Preset::ToyInsecure, &Needs::new().multiply().rotate([1]), 46)
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

fn cases(server: &Evaluator, x: &Ciphertext, y: &Ciphertext) -> Vec<Case> {
    let case = |name, result, levels, expected| Case { name, result, levels, expected };
    let (scale, half) = (server.params().ckks().scale(), vec![0.5; COUNT]);
    let products = |terms: &[_], scale| {
        CkksOps::mul_add_many(&**server, &[(x, x), (y, y)], terms, 0.125, scale)
    };
    let turned = server.sum_of_rotations(&[(x, &[0]), (y, &[0, 1])]);
    vec![
        case("add", server.add(x, y), 0, |[x, _], [y, _]| x + y),
        case("sub", server.sub(x, y), 0, |[x, _], [y, _]| x - y),
        case("add_many", server.add_many(&[x, y, x]), 0, |[x, _], [y, _]| 2.0 * x + y),
        case("mul", server.mul(x, y), 1, |[x, _], [y, _]| x * y),
        case("dot", server.dot(&[x, y], &[x, y]), 1, |[x, _], [y, _]| x * x + y * y),
        case("mixed dot", server.dot(&[x, y, y], &[y, y, x]), 1, |[x, _], [y, _]| {
            2.0 * x * y + y * y
        }),
        case("products", products(&[(x, -1.0)], None).map_err(Into::into), 1, |[x, _], [y, _]| {
            x * x + y * y - x + 0.125
        }),
        case("products to a scale", products(&[], Some(scale)).map_err(Into::into), 2, {
            |[x, _], [y, _]| x * x + y * y + 0.125
        }),
        case("dot_values", server.dot_values(&[x, y], &[half, vec![-0.75; COUNT]]), 1, {
            |[x, _], [y, _]| 0.5 * x - 0.75 * y
        }),
        case("linear", server.linear_combination(&[(x, 0.5), (y, 2.0)], 0.25, None), 1, {
            |[x, _], [y, _]| 0.5 * x + 2.0 * y + 0.25
        }),
        case("rotations", turned, 0, |[x, _], [y, next]| x + y + next),
    ]
}

#[test]
fn every_operation_aligns_levels_and_scales() {
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
        }
    }
}

/// Where nothing can be aligned, the message says so of what there is.
#[test]
fn refusals_speak_of_the_operands_that_there_are() {
    let Party { client, server } = toy();
    let (params, values) = (client.params().ckks(), spread(COUNT, -0.75, 0.5));
    let x = encrypted(&client, &values);
    let unscaled = CkksOps::square_no_rescale(&*server, &x).unwrap();
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
            CkksOps::match_scale(&*server, &x, other, TOP),
        ),
        (
            "`rescale` it first",
            CkksOps::linear_combination(&*server, &[(&unscaled, 0.5)], 0.0, None),
        ),
        (
            "`rescale` it first",
            CkksOps::dot_values(&*server, &[&x, &unscaled], &[values.clone(), values.clone()]),
        ),
        (
            "encode the factors for one level (`encode_factor`)",
            ckks::Evaluator::dot_plain(&server, &[&x, &x], &[&factors[0], &factors[1]]),
        ),
        (
            "prepared for level 7, and the vector is at level 6: prepare it for a level up to 6",
            CkksOps::transform(&*server, &x, &at(TOP + 1)),
        ),
    ];
    for (text, result) in refusals {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(text) && !message.contains("neither"), "{message}");
    }
}
