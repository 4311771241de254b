//! Private look-up: a server evaluates its table at points that it never sees (Bossuat and
//! Izabachene, section 5).
//!
//! The client encrypts points of a domain of `2^B`. The server multiplies them with its table and
//! packs the values into few ciphertexts, which the client decrypts. The table is generated, or a
//! column of whole numbers from a file. `docs/private-lookup.md` has the tables of the paper from
//! runs of this program.

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::bfv::{Params, ParamsSpec};
use bellerophon::pir::{Function, PrivacyBudget, QueryLayout, Shape, circuit_privacy};
use clap::ValueEnum;
use common::data;
use common::lookup::{DECRYPTION, ENCRYPTION, EVALUATION, PLAIN, Parties};
use common::prelude::*;
use rand::RngExt;

const SEED: u64 = 2025;

const MOST_BITS: u32 = 24;

const PRESETS: [&str; 3] = ["lookup", "lookup-paper", "lookup-flooding"];

/// `log2` of the statistical distance of all answers about one table under `--private`, with the
/// set that has room for it.
const LOG2_DISTANCE: f64 = -40.0;

const ALPHAS: [u64; 2] = [3, 2];

/// Looks up encrypted points in a table of the server
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// The domain of each variable has 2^B points [default: 14, 12 under --small, or the size of
    /// the table]
    #[arg(long, value_name = "B",
          value_parser = clap::value_parser!(u32).range(1..=MOST_BITS as i64))]
    domain_bits: Option<u32>,

    /// Number of points to look up [default: 2048, 256 under --small]
    #[arg(long, value_name = "P")]
    points: Option<usize>,

    /// The layout of the query [default: the one with fewer ciphertexts]
    #[arg(long, value_name = "FORM")]
    form: Option<Shown>,

    /// A table (comma separated, first line = column names): one column of values in the order of
    /// the points, or two columns, points and values, with 0 for missing points; whole numbers,
    /// values up to 65536
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// The kind of the generated table
    #[arg(long, value_name = "KIND", default_value = "random", conflicts_with = "table")]
    kind: Kind,

    /// Number of variables: 2 adds functions of two coordinates, in the paper's layout
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u8).range(1..=2))]
    variables: u8,

    /// Hide the rest of the table from the client (circuit privacy)
    #[arg(long)]
    private: bool,

    /// The masks in the query: all of them, or a seed, with half the bytes and half the work of the
    /// server [default: sent in the paper's layout, a seed in the compact one]
    #[arg(long, value_name = "HOW")]
    masks: Option<SentMasks>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shown {
    Paper,
    Compact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SentMasks {
    Sent,
    Seed,
}

/// The kinds of tables; the worst for noise has the largest magnitude everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Random,
    Constant,
    Identity,
    Worst,
}

fn main() -> ExitCode {
    program::report(Defaults::of(&PRESETS), run)
}

fn params(name: &str) -> Result<Params, Failure> {
    let spec = match name {
        "lookup-paper" => ParamsSpec::paper(PLAIN),
        "lookup-flooding" => ParamsSpec::flooding(PLAIN),
        _ => ParamsSpec::lookup(PLAIN),
    };
    Ok(Params::new(spec?)?)
}

/// The table of one variable and the points of its domain.
fn table(arguments: &Arguments, variable: u64) -> Result<Vec<u64>, Failure> {
    let bits = arguments.domain_bits;
    let Some(path) = &arguments.table else {
        let size = 1 << arguments.common.size(bits, 12, 14);
        let mut rng = random::seeded(SEED + variable);
        let value = |x: u64| match arguments.kind {
            Kind::Random => rng.random_range(0..PLAIN),
            Kind::Constant => 5,
            Kind::Identity => x % PLAIN,
            Kind::Worst => (PLAIN - 1) / 2,
        };
        return Ok((0..size).map(value).collect());
    };
    let read = data::load_table(Some(path), &[])?;
    let (source, rows, columns) = (&read.source, read.rows.len(), read.names.len());
    let most = 1usize << bits.unwrap_or(MOST_BITS);
    let points = match columns {
        1 if rows > most => {
            let why = format!("{source}: {rows} rows do not fit a domain of {most} points");
            return Err(Failure::input(why));
        }
        1 => (0..rows).collect(),
        2 => read.column(0).integers_below(most)?,
        _ => {
            return Err(Failure::input(format!(
                "{source}: {columns} columns; need one of values, or two of points and values"
            )));
        }
    };
    let values = read.column(columns - 1).integers_below(PLAIN as usize)?;
    let last = points.iter().max().copied().unwrap_or(0);
    let mut entries = vec![None; if bits.is_some() { most } else { last + 1 }];
    for (row, (point, value)) in points.into_iter().zip(values).enumerate() {
        if entries[point].replace(value as u64).is_some() {
            let twice = format!("{source}: row {}: the point appears twice", row + 1);
            return Err(Failure::input(twice));
        }
    }
    Ok(entries.into_iter().map(Option::unwrap_or_default).collect())
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let (common, preset) = (&arguments.common, &arguments.common.preset);
    let variables = usize::from(arguments.variables);
    let tables = (0..arguments.variables.into()).map(|v| table(arguments, v));
    let tables: Vec<Vec<u64>> = tables.collect::<Result<_, _>>()?;
    let domains: Vec<usize> = tables.iter().map(Vec::len).collect();
    let count = common.size(arguments.points, 256, 2048);
    let params = params(preset)?;
    let form = match arguments.form {
        Some(Shown::Paper) => QueryLayout::Paper,
        Some(Shown::Compact) => QueryLayout::Compact,
        None => Shape::best_form(&params, &domains, count),
    };
    // All errors of the user are found here.
    let shape = Shape::new(&params, form, &domains, count).map_err(Failure::input)?;
    let mut budget = match (arguments.private, preset.as_str()) {
        (false, _) => None,
        (true, "lookup-flooding") => Some(PrivacyBudget::new(LOG2_DISTANCE)?),
        (true, _) => Some(PrivacyBudget::unstated()),
    };
    let stated = budget.as_ref().map(|_| circuit_privacy(&params, &shape)).transpose();
    let stated = stated.map_err(Failure::input)?;

    let sent = match arguments.masks {
        Some(masks) => masks == SentMasks::Sent,
        None => form == QueryLayout::Paper,
    };
    let clock = Stages::default();
    let mut rng = random::fresh()?;
    let mut draw = random::seeded(SEED ^ 0xff);
    let points: Vec<Vec<usize>> = (0..count)
        .map(|_| domains.iter().map(|&domain| draw.random_range(0..domain)).collect())
        .collect();
    let terms: Vec<(u64, &[u64])> = match variables {
        1 => vec![(1, &tables[0])],
        _ => ALPHAS.into_iter().zip(&tables).map(|(a, table)| (a, &table[..])).collect(),
    };

    let mut parties = Parties::open(&params, &clock, &mut rng)?;
    if sent {
        parties.client = parties.client.sending_masks();
    }
    let Parties { client, server, .. } = &parties;
    let function = Function::sum(&params, &terms).map_err(Failure::input)?;
    let asked = clock.run(ENCRYPTION, || match variables {
        1 => {
            let points: Vec<usize> = points.iter().map(|point| point[0]).collect();
            client.query(domains[0], &points, form, &mut rng)
        }
        _ => client.query_sum(&domains, &points, &mut rng),
    });
    let (query, pending) = asked?;
    let mut full = 0;
    let answered = clock.run(EVALUATION, || {
        let response = match &mut budget {
            None => server.evaluate(&function, &query)?,
            Some(budget) => server.evaluate_private(&function, &query, budget, &mut rng)?,
        };
        full = response.byte_len(&params);
        response.truncated(&params)
    });
    let response = answered.map_err(Failure::input)?;
    let read = clock.run(DECRYPTION, || client.read(&pending, &response))?;

    let expected = points.iter().map(|point| {
        let terms = terms.iter().zip(point).map(|((alpha, table), &x)| alpha * table[x]);
        terms.sum::<u64>() % PLAIN
    });
    let errors: Vec<f64> = expected.zip(read.iter()).map(|(e, &g)| e.abs_diff(g) as f64).collect();
    let (stated_for, budgeted) = (stated.as_ref(), budget.as_ref());
    let limited = budgeted.filter(|budget| budget.log2_distance().is_some());
    if stated_for.is_some_and(|stated| stated.log2_distance == 0.0) {
        console.say(
            "circuit privacy: re-randomised; this set has no room for a statistical claim, \
             lookup-flooding has",
        );
    }
    // `log2_distance` is that of this answer, `log2_budget` that of all answers about the table,
    // `response_bytes_full` counts the low bits that are cut off, and `log2_failure` bounds the
    // probability that one answer is wrong, over all tables.
    Ok(parties
        .outcome(preset, &clock, &query, std::slice::from_ref(&response), &errors)
        .with("domain", domains[0])
        .with("points", count)
        .with("variables", variables)
        .with("form", form.to_string())
        .with("private", arguments.private)
        .with("masks", if sent { "sent" } else { "seed" })
        .with("log2_distance", stated_for.map(|stated| stated.log2_distance))
        .with("log2_budget", budgeted.and_then(PrivacyBudget::log2_distance))
        .with("answers_left", limited.zip(stated_for).map(|(budget, s)| budget.answers(s)))
        .with("query_ciphertexts", query.shape().ciphertexts())
        .with("response_bytes_full", full as u64)
        .with("response_ciphertexts", response.ciphertexts())
        .with("log2_failure", response.log2_failure(&params)))
}
