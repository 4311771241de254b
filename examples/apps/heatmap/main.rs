//! Encrypted places on a map of counts: the second kind of function of large-domain look-up, a sum
//! over two variables (Bossuat and Izabachene, section 4.3.4).
//!
//! The server has counted cases by row and by column of a grid. The client sends encrypted places
//! and learns `row count + 2 column count` for each of them; the server learns nothing. With
//! `--shuffle` the server permutes and re-randomises the answers, with as much additional noise as
//! the set has room for. That is too little to guarantee that the order stays hidden.

use std::process::ExitCode;

use bellerophon::bfv::{Params, ParamsSpec};
use bellerophon::pir::{Function, PrivacyBudget, QueryLayout, Shape};
use common::lookup::{DECRYPTION, ENCRYPTION, EVALUATION, PLAIN, Parties};
use common::prelude::*;
use rand::RngExt;

const SEED: u64 = 1986;

const CASES: usize = 20_000;

/// Weights of rows and columns; one of them is even.
const WEIGHTS: [u64; 2] = [1, 2];

/// Scores encrypted places on a map of counts
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Rows of the grid, and columns [default: 4096]
    #[arg(long, value_name = "N", default_value = "4096")]
    side: usize,

    /// Number of places of the client [default: 1024, 128 under --small]
    #[arg(long, value_name = "P")]
    points: Option<usize>,

    /// Let the server shuffle the answers
    #[arg(long)]
    shuffle: bool,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&["lookup"]), run)
}

/// Cases by row and by column: three clusters.
fn counts(side: usize) -> [Vec<u64>; 2] {
    let mut rng = random::seeded(SEED);
    let centres: Vec<[f64; 2]> =
        (0..3).map(|_| [0, 1].map(|_| rng.random_range(0.2..0.8) * side as f64)).collect();
    let mut counts = [vec![0; side], vec![0; side]];
    for case in 0..CASES {
        for (axis, counts) in counts.iter_mut().enumerate() {
            let place = centres[case % 3][axis] + 0.06 * side as f64 * random::normal(&mut rng);
            counts[place.clamp(0.0, side as f64 - 1.0) as usize] += 1;
        }
    }
    counts
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let (common, side) = (&arguments.common, arguments.side);
    let count = common.size(arguments.points, 128, 1024);
    let params = Params::new(ParamsSpec::lookup(PLAIN)?)?;
    Shape::new(&params, QueryLayout::Paper, &[side, side], count).map_err(Failure::input)?;
    let counts = counts(side);
    let mut draw = random::seeded(SEED ^ 0xff);
    let places: Vec<[usize; 2]> =
        (0..count).map(|_| [0, 1].map(|_| draw.random_range(0..side))).collect();
    let terms: Vec<(u64, &[u64])> =
        WEIGHTS.into_iter().zip(&counts).map(|(weight, counts)| (weight, &counts[..])).collect();

    let clock = Stages::default();
    let mut rng = random::fresh()?;
    let parties = Parties::open(&params, &clock, &mut rng)?;
    let Parties { client, server, .. } = &parties;
    let function = Function::sum(&params, &terms)?;
    let asked = clock.run(ENCRYPTION, || client.query_sum(&[side, side], &places, &mut rng));
    let (query, pending) = asked?;
    let response = clock.run(EVALUATION, || {
        let response = if arguments.shuffle {
            // This set has no room for a distance: the order is hidden from honest clients only.
            let mut budget = PrivacyBudget::unstated();
            server.evaluate_shuffled(&function, &query, &mut budget, &mut rng)?
        } else {
            server.evaluate(&function, &query)?
        };
        response.truncated(&params)
    })?;
    let read = clock.run(DECRYPTION, || match arguments.shuffle {
        true => client.read_shuffled(&pending, &response),
        false => client.read(&pending, &response),
    });
    let mut got = read?.to_vec();

    let score =
        |place: &[usize; 2]| WEIGHTS[0] * counts[0][place[0]] + WEIGHTS[1] * counts[1][place[1]];
    let mut expected: Vec<u64> = places.iter().map(score).collect();
    if arguments.shuffle {
        got.sort_unstable();
        expected.sort_unstable();
    }
    let errors: Vec<f64> = expected.iter().zip(&got).map(|(&e, &g)| e.abs_diff(g) as f64).collect();
    let hottest = got.iter().max().copied().unwrap_or(0);
    console.say(format_args!("{count} places, {CASES} cases: the highest score is {hottest}"));
    let facts = parties.outcome(&common.preset, &clock, &query, &[response], &errors);
    Ok(facts.with("side", side).with("shuffled", arguments.shuffle))
}
