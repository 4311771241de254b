//! Any function of an encrypted column of numbers: by look-up, or by a polynomial.
//!
//! The client encrypts a column as it stands (generated, a column of iris, or `--csv FILE --column
//! NAME`). The server applies the function to every value: by a table that each value reads for
//! itself (`rgsw`, PEGASUS), or by a polynomial of certified error on all of them at once (`poly`,
//! CKKS). The client decrypts and compares with the truth.

mod common;
#[path = "functions/polynomial.rs"]
mod polynomial;

use std::process::ExitCode;

use bellerophon::ckks::Arithmetic;
use bellerophon::ckks::approx::Approximation;
use bellerophon::prelude::*;
use clap::{Parser, ValueEnum};
use common::args::{Common, Data, WITH_LOOKUPS, parse_range};
use common::console::Console;
use common::data::{self, Column};
use common::function::Function;
use common::output;
use common::program::{self, Defaults, Failure};
use common::random;
use common::session::{self, Outcome, Session};
use common::stats::Errors;
use rand::RngExt;
use serde::Serialize;

/// Values that are generated where no column is read, and with `--small`, which keeps as many of a
/// column.
const GENERATED: usize = 1024;
const SMALL: usize = 64;

/// Of the generated values.
const SEED: u64 = 2021;

/// Bits that the noise of the slots leaves of values around 1.
const SLOT_NOISE_BITS: f64 = 20.0;

const POLYNOMIAL: &str = "polynomial";

/// Applies a function to an encrypted column and compares with the truth
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// The function
    #[arg(long, value_name = "NAME", default_value = "relu")]
    function: Function,

    /// Its domain, which holds all values [default: -8,8; -4,4 for exp and sin, 0.5,16.5 for
    /// reciprocal]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// How the function is evaluated
    #[arg(long, value_name = "NAME", default_value = "auto")]
    engine: Engine,

    /// How many values to generate, uniform in the domain, where no column is read [default: 1024]
    #[arg(long, value_name = "N", conflicts_with_all = ["csv", "column"])]
    count: Option<usize>,
}

/// What evaluates a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// A polynomial where the function is smooth over the domain, a table otherwise
    Auto,
    /// A Chebyshev polynomial of certified error, on all slots at once
    Poly,
    /// A table for each value, read by blind rotation with RGSW keys
    Rgsw,
}

/// What is computed, and the truth about it.
struct Task {
    column: Column,
    function: Function,
    range: [f64; 2],
    expected: Vec<f64>,
}

/// How it is computed, and the error that this may have.
struct Plan {
    /// The polynomial; none means a table.
    polynomial: Option<Approximation>,
    /// Largest error predicted for the values together.
    bound: f64,
    /// Level at which the values are encrypted.
    level: usize,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_LOOKUPS, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        let task = prepare(arguments)?;
        let params = session::params(&arguments.common)?;
        let plan = plan(arguments.engine, &task, &params)?;
        compute(arguments, &task, params, &plan)
    })
}

/// Reads or generates the values and checks them; everything that the user can get wrong ends here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let function = arguments.function;
    let range @ [lo, hi] = arguments.range.unwrap_or(match function {
        Function::Exp | Function::Sin => [-4.0, 4.0],
        Function::Reciprocal => [0.5, 16.5],
        _ => [-8.0, 8.0],
    });
    function.check_range(range).map_err(Failure::Input)?;
    let small = arguments.common.small;
    let column = if arguments.data.csv.is_some() || arguments.data.column.is_some() {
        let mut column = data::load(&arguments.data, "")?;
        if small {
            column.values.truncate(SMALL);
        }
        column
    } else {
        let count = arguments.count.unwrap_or(if small { SMALL } else { GENERATED });
        if count == 0 {
            return Err(Failure::input("--count 0: need at least one value"));
        }
        generate(range, count)
    };
    if let Some(row) = column.values.iter().position(|v| !(lo..=hi).contains(v)) {
        return Err(Failure::input(format!(
            "{}: row {}, column '{}': {:?} lies outside the domain [{lo:?}, {hi:?}]; give another \
             --range",
            column.source,
            row + 1,
            column.name,
            column.values[row]
        )));
    }
    let expected = column.values.iter().map(|&v| function.value(v)).collect();
    Ok(Task { column, function, range, expected })
}

fn generate([lo, hi]: [f64; 2], count: usize) -> Column {
    let mut rng = random::seeded(SEED);
    let values = (0..count).map(|_| rng.random_range(lo..=hi)).collect();
    Column { source: "generated from a fixed seed".to_string(), name: "v".to_string(), values }
}

/// Chooses the engine, and refuses what it cannot do before any key is made.
fn plan(engine: Engine, task: &Task, params: &Params) -> Result<Plan, Failure> {
    let Task { column, function, range: range @ [lo, hi], .. } = task;
    let count = column.values.len();
    if count > params.slots() {
        return Err(Failure::input(format!(
            "{}: {count} values, but one ciphertext of the preset {} holds {}",
            column.source,
            params.name(),
            params.slots()
        )));
    }
    let polynomial = match engine {
        Engine::Poly => Some(polynomial::best(*function, *range, params).map_err(Failure::Input)?),
        Engine::Auto if polynomial::is_smooth(*function, *range) => {
            polynomial::best(*function, *range, params).ok()
        }
        Engine::Auto | Engine::Rgsw => None,
    };
    if let Some(plan) = polynomial {
        let largest = task.expected.iter().fold(1.0f64, |m, y| m.max(y.abs()));
        let bound = plan.error() + largest * (-SLOT_NOISE_BITS).exp2();
        let level = plan.levels() + polynomial::SPARE;
        return Ok(Plan { bound, level, polynomial: Some(plan) });
    }
    let accuracy = params.map_accuracy(*lo..=*hi, |v| function.value(v)).map_err(Failure::input)?;
    let lookups = params.lookups().map_err(Failure::input)?;
    Ok(Plan { polynomial: None, bound: accuracy.max_abs(count), level: lookups.levels() })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Functions<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    max_err_bits: f64,
    mean_err_bits: f64,
    range: [f64; 2],
    /// The largest error of as many values with probability 95%.
    predicted_max_err: f64,
    polynomial: Option<String>,
    source: &'a str,
    column: &'a str,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params, plan: &Plan) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, function, range: [lo, hi], expected } = task;
    let needs = match plan.polynomial {
        Some(_) => Needs::new().multiply(),
        None => Needs::new().map(),
    };
    let mut session = Session::open(params, &needs)?;
    let x = session.encrypt(&column.values, *lo..=*hi, plan.level)?;
    let y = match &plan.polynomial {
        Some(plan) => session.serve(POLYNOMIAL, |server| server.apply(&x, plan))?,
        None => session.follow(|server| server.map(&x, *lo..=*hi, |v| function.value(v)))?,
    };
    let got = session.decrypt(&y)?;

    let errors = Errors::between(expected, &got);
    let engine = if plan.polynomial.is_some() { "poly" } else { "rgsw" };
    let right = got.iter().zip(expected).filter(|(g, e)| (*g - *e).abs() <= plan.bound).count();
    let report = session.report(got.len(), engine, &errors);
    let accuracy = right as f64 / got.len() as f64;
    let outcome = Outcome::new(&session, report, function.name(), [accuracy, 1.0]);
    if let Some(path) = &arguments.data.out {
        output::write_out(path, &column.values, expected, &got)?;
    }
    let name = function.name();
    let Column { source, name: of, .. } = column;
    console.say(format_args!("{name} of {} values on [{lo:?}, {hi:?}]", got.len()));
    console.say(format_args!("column '{of}' of {source}"));
    if let Some(plan) = &plan.polynomial {
        console.say(format_args!("{plan}"));
    }
    outcome.say_parameters(&console);
    console.values(&column.values, expected, &got);
    outcome.say_costs(&console, "values");
    console.say(format_args!(
        "{right} of {} values within the predicted {:.3e}",
        got.len(),
        plan.bound
    ));
    if arguments.common.json {
        output::print_json(&Functions {
            max_err_bits: errors.max_bits(),
            mean_err_bits: errors.mean_bits(),
            range: task.range,
            predicted_max_err: plan.bound,
            polynomial: plan.polynomial.as_ref().map(Approximation::to_string),
            source,
            column: of,
            outcome,
        })?;
    }
    Ok(())
}
