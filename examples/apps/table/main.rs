//! A table of a whole encrypted column of integers, exactly.
//!
//! The client encrypts integers of `0 .. p`, up to 65536 in a ciphertext. The server applies a
//! table of `p` entries to all of them at once by functional bootstrapping. Results are exact
//! except with a failure probability of `2^-128` per vector, and have fresh levels. The client
//! decrypts and compares.

mod entries;

use bellerophon::circuits::bootstrap::SimulatorExt;
use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::prelude::*;
use bellerophon::{circuits::fbt::IntTable, ckks::simulator::Simulator};
use common::args::parse_within;
use common::data::{self, Column};
use common::prelude::*;
use common::stats::reals;
use entries::{Entries, Sbox};
use rand::RngExt;

/// Number of generated values, and the largest number of values with `--small`.
const GENERATED: usize = 1 << 16;
const SMALL: usize = 1024;

const SEED: u64 = 256;

const TABLE: &str = "table";

/// The default: the smallest preset that supports the table.
const AUTO: &str = "auto";

/// The presets, the smallest first.
const PRESETS: [Preset; 7] = [
    Preset::SmallTables(1),
    Preset::SmallTables(4),
    Preset::Tables(1),
    Preset::Tables(4),
    Preset::Tables(8),
    Preset::Tables(12),
    Preset::Tables(16),
];

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
    #[arg(long, value_name = "Q", value_parser = |text: &str| parse_within(text, entries::SIZES))]
    modulus: Option<usize>,

    /// Number of values to generate if no column is read [default: 65536]
    #[arg(long, value_name = "N", conflicts_with_all = ["csv", "column"])]
    count: Option<usize>,
}

fn main() -> ExitCode {
    let presets = PRESETS.into_iter().chain([Preset::Insecure(Toy::Tables)]).map(Preset::name);
    let names: Vec<_> = [AUTO].into_iter().chain(presets).collect();
    program::report(Defaults::of(&names), run)
}

struct Task {
    column: Column,
    entries: Entries,
    /// The values of the column, below the number of entries.
    values: Vec<usize>,
}

impl Task {
    fn table(&self) -> bellerophon::Result<IntTable> {
        let entries = &self.entries;
        IntTable::new(entries.values.len(), entries.modulus, |k| entries.values[k])
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
    let p = entries.values.len();
    let count = arguments.common.size(arguments.count, SMALL, GENERATED);
    let column = data::load_or(&arguments.data, small.then_some(SMALL), count, |count| {
        let mut rng = random::seeded(SEED);
        let values = (0..count).map(|_| rng.random_range(0..p) as f64).collect();
        let (source, name) = ("values from a fixed seed".to_string(), "v".to_string());
        Column { source, name, values, documented: None }
    })?;
    let values = column.integers_below(p)?;
    Ok(Task { column, entries, values })
}

/// The requested preset, or the smallest that holds the values in one vector and on which the
/// simulator accepts the table: it has the levels, the table removes the noise, and its results are
/// precise enough for their modulus.
fn parameters(arguments: &Arguments, task: &Task) -> Result<Params, Failure> {
    let presets = match arguments.common.preset.as_str() {
        AUTO => {
            let small = [1, 4].map(|bits| Preset::tables_for(bits, task.values.len()));
            small.into_iter().chain([1, 4, 8, 12, 16].map(Preset::Tables)).collect()
        }
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

/// Applies the table on the simulator to a full vector, or says why it cannot be.
fn simulate(params: &Params, table: &IntTable, values: &[usize]) -> Result<(), String> {
    let attempt = || {
        let functional = params.functional()?;
        let simulator = Simulator::new(params.ckks()).with_functional(functional.clone())?;
        let count = values.len().min(2 * params.slots());
        let p = table.function().period() as usize;
        let x = simulator.encrypt_integers(&vec![0; count], p, functional.input_level())?;
        let integers = simulator.integers();
        let results = integers.tables(&x, &[table])?;
        let worst = results.iter().map(|y| integers.log2_failure(y));
        Ok((worst.fold(f64::NEG_INFINITY, f64::max), functional.spec().log2_failure))
    };
    let (found, most) = attempt().map_err(|why: bellerophon::Error| why.to_string())?;
    match found <= most {
        true => Ok(()),
        false => Err(format!("results are wrong with a probability of up to 2^{found:.0}")),
    }
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let out = arguments.data.out.as_deref();
    output::check_out(out, arguments.data.csv.as_deref())?;
    output::check_out(out, arguments.table.as_deref())?;
    let task = prepare(arguments)?;
    let params = parameters(arguments, &task)?;
    let Task { column, entries, values } = &task;
    let (p, table) = (entries.values.len(), task.table()?);
    let level = params.functional().map_err(Failure::input)?.input_level();
    let mut session = Session::open(params, &Needs::new().functional())?;

    // The client.
    let vectors: Vec<&[usize]> = values.chunks(2 * session.params.slots()).collect();
    let x = session.encrypt_all(&vectors, Modulo(p), level)?;

    // The server.
    let mut y = Vec::with_capacity(x.len());
    for x in &x {
        let results = session.serve(TABLE, |server| server.integers().tables(x, &[&table]))?;
        for result in &results {
            y.push(session.server.publish_integers(result)?);
        }
    }

    // The client.
    let read = |client: &ClientKey| y.iter().map(|y| client.decrypt_integers(y)).collect();
    let got: Vec<Vec<usize>> = session.decrypt(read)?;
    let got = got.concat();
    let expected: Vec<usize> = values.iter().map(|&k| entries.values[k]).collect();
    let wrong = got.iter().zip(&expected).filter(|(g, e)| g != e).count();
    let (expected, got) = (reals(&expected), reals(&got));
    output::write_out(out, &column.values, &expected, &got)?;
    console.values(&column.values, &expected, &got);
    let (count, errors) = (got.len(), Errors::between(&expected, &got));
    let right = [1.0 - wrong as f64 / count as f64, 1.0];
    // `wrong` counts values whose result is not the entry of the table; `log2_failure` bounds the
    // probability of any; `modulus` is that of the results.
    let facts = session
        .outcome("table", count, "fbt", &errors, right)
        .with("wrong", wrong)
        .with("log2_failure", session.server.failures().log2())
        .with("entries", p)
        .with("modulus", entries.modulus)
        .with("vectors", vectors.len())
        .with("table", &entries.name);
    Ok(column.named(facts))
}
