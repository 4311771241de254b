//! A table of a whole encrypted column of integers, exactly.
//!
//! The client encrypts integers of `0 .. p`, up to 65536 in a ciphertext. The server applies a
//! table of `p` entries to all of them at once by functional bootstrapping. Results are exact
//! except with a failure probability of `2^-128` per vector, and have fresh levels. The client
//! decrypts and compares.

#[path = "table/entries.rs"]
mod entries;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::ckks::{CkksOps, fbt::IntTable, simulator::Simulator};
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Data};
use common::console::Console;
use common::data::{self, Column};
use common::output;
use common::program::{self, Defaults, Failure};
use common::random;
use common::session::{self, Outcome, Session};
use common::stats::Errors;
use entries::{Entries, Sbox};
use rand::RngExt;
use serde::Serialize;

/// Number of generated values, and the largest number of values with `--small`.
const GENERATED: usize = 1 << 16;
const SMALL: usize = 1024;

/// The seed of the generated values.
const SEED: u64 = 256;

const TABLE: &str = "table";

/// The largest number of generated values.
const MOST_VALUES: usize = 1 << 24;

/// The default: the smallest preset that supports the table.
const AUTO: &str = "auto";

/// The presets, the smallest first.
const PRESETS: [Preset; 5] =
    [Preset::Tables1, Preset::Tables4, Preset::Tables8, Preset::Tables12, Preset::Tables16];

/// Applies any table to an encrypted column of integers, exactly, and compares with exact values
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// The table: one whole number per line, 2 to 65536 lines; line k (from 0) is the result for k
    /// [default: the S-box of AES, with --small that of 16 entries of Simplified AES]
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Results are integers modulo Q [default: the smallest that holds the entries]
    #[arg(long, value_name = "Q", value_parser = parse_modulus)]
    modulus: Option<usize>,

    /// Number of values to generate if no column is read [default: 65536]
    #[arg(long, value_name = "N", conflicts_with_all = ["csv", "column"])]
    count: Option<usize>,
}

fn parse_modulus(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(q) if entries::SIZES.contains(&q) => Ok(q),
        _ => Err("expected a whole number from 2 to 65536".to_string()),
    }
}

fn main() -> ExitCode {
    let presets = PRESETS.into_iter().chain([Preset::ToyTables]).map(Preset::name);
    let names: Vec<_> = [AUTO].into_iter().chain(presets).collect();
    program::run(Defaults { presets: &names, threads: None }, |arguments: &Arguments| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        output::check_out(arguments.data.out.as_deref(), arguments.table.as_deref())?;
        let task = prepare(arguments)?;
        let params = parameters(arguments, &task)?;
        compute(arguments, &task, params)
    })
}

/// The computation.
struct Task {
    column: Column,
    entries: Entries,
    /// The values of the column, below the number of entries.
    values: Vec<usize>,
}

impl Task {
    fn table(&self) -> Result<IntTable, Failure> {
        let entries = &self.entries;
        let table = IntTable::new(entries.len(), entries.modulus(), |k| entries.at(k));
        table.map_err(Failure::run)
    }
}

/// Reads or generates table and values and checks them. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let small = arguments.common.small;
    let entries = match &arguments.table {
        Some(path) => Entries::read(path, arguments.modulus)?,
        None => {
            let (name, sbox) = match small {
                true => ("the S-box of Simplified AES", Sbox::SIMPLIFIED),
                false => ("the S-box of AES", Sbox::AES),
            };
            Entries::new(name.to_string(), sbox.entries(), arguments.modulus)?
        }
    };
    let p = entries.len();
    let column = if arguments.data.csv.is_some() || arguments.data.column.is_some() {
        let mut column = data::load(&arguments.data, "")?;
        if small {
            column.values.truncate(SMALL);
        }
        column
    } else {
        let count = arguments.count.unwrap_or(if small { SMALL } else { GENERATED });
        if !(1..=MOST_VALUES).contains(&count) {
            return Err(Failure::input(format!("--count {count}: need 1 to {MOST_VALUES} values")));
        }
        let mut rng = random::seeded(SEED);
        let values = (0..count).map(|_| rng.random_range(0..p) as f64).collect();
        let (source, name) = ("values from a fixed seed".to_string(), "v".to_string());
        Column { source, name, values, documented: None }
    };
    let values = column.integers_below(p)?;
    Ok(Task { column, entries, values })
}

/// The requested preset, or the smallest on which the simulator accepts the table: it has the
/// levels, and the table removes the noise.
fn parameters(arguments: &Arguments, task: &Task) -> Result<Params, Failure> {
    let presets = match arguments.common.preset.as_str() {
        AUTO => PRESETS.to_vec(),
        _ => vec![arguments.common.preset()?],
    };
    let table = task.table()?;
    let mut refused = None;
    for preset in presets {
        let params = session::params_for_vectors(preset, task.values.len())?;
        match simulate(&params, &table, &task.values) {
            Ok(()) => return Ok(params),
            Err(why) => refused = Some(format!("the preset {}: {why}", preset.name())),
        }
    }
    Err(Failure::input(refused.expect("a preset is tried")))
}

/// Applies the table on the simulator to a full vector.
fn simulate(params: &Params, table: &IntTable, values: &[usize]) -> bellerophon::Result<()> {
    let functional = params.functional()?;
    let simulator = Simulator::new(params.ckks()).with_functional(functional.clone())?;
    let count = values.len().min(2 * params.slots());
    let p = table.function().period() as usize;
    let x = simulator.encrypt_integers(&vec![0; count], p, functional.input_level())?;
    simulator.integers().tables(&x, &[table])?;
    Ok(())
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct TableReport<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    /// Values whose result is not the entry of the table.
    wrong: usize,
    /// `log2` of a bound on the probability that any result is wrong.
    log2_failure: f64,
    /// Entries of the table.
    entries: usize,
    /// The modulus of the results.
    modulus: usize,
    /// Ciphertexts of the column.
    vectors: usize,
    table: &'a str,
    source: &'a str,
    column: &'a str,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, entries, values } = task;
    let (p, modulus) = (entries.len(), entries.modulus());
    let table = task.table()?;
    let level = params.functional().map_err(Failure::input)?.input_level();
    let mut session = Session::open(params, &Needs::new().functional())?;

    // The client.
    let vectors: Vec<&[usize]> = values.chunks(2 * session.params.slots()).collect();
    let x = session.encrypt_integers(&vectors, p, level)?;

    // The server.
    let mut y = Vec::with_capacity(x.len());
    for x in &x {
        let results = session.serve(TABLE, |server| server.integers().tables(x, &[&table]))?;
        for result in &results {
            y.push(session.server.publish_integers(result).map_err(Failure::run)?);
        }
    }

    // The client.
    let got = session.decrypt_integers(&y)?.concat();
    let expected: Vec<usize> = values.iter().map(|&k| entries.at(k)).collect();
    let wrong = got.iter().zip(&expected).filter(|(g, e)| g != e).count();
    let reals = |integers: &[usize]| integers.iter().map(|&k| k as f64).collect::<Vec<_>>();
    let (expected, got) = (reals(&expected), reals(&got));
    let report = session.report(got.len(), "fbt", &Errors::between(&expected, &got));
    let accuracy = 1.0 - wrong as f64 / got.len() as f64;
    if let Some(path) = &arguments.data.out {
        output::write_out(path, &column.values, &expected, &got)?;
    }
    let result = TableReport {
        wrong,
        log2_failure: session.server.failures().log2(),
        entries: p,
        modulus,
        vectors: vectors.len(),
        table: entries.name(),
        source: &column.source,
        column: &column.name,
        outcome: Outcome::new(&session, report, "table", [accuracy, 1.0]),
    };
    console.say(format_args!(
        "{} of {} values: {p} entries modulo {modulus}",
        result.table, result.outcome.count
    ));
    console.say(format_args!("column '{}' of {}", result.column, result.source));
    result.outcome.say_parameters(&console);
    console.values(&column.values, &expected, &got);
    result.outcome.say_costs(&console, "values");
    console.say(format_args!(
        "{wrong} of {} values wrong; the probability of any wrong value is below 2^{:.0}",
        result.outcome.count, result.log2_failure
    ));
    if arguments.common.json { output::print_json(&result) } else { Ok(()) }
}
