//! Which of some encrypted numbers is the largest.
//!
//! The client encrypts a column (generated, a column of iris, or `--csv FILE --column NAME`) in one
//! ciphertext. The server takes the values out of their slots and plays a contest among them, one
//! round of look-ups after the other, that remembers who won. One LWE value goes back: the number of
//! the largest, counted from 0. The server sees neither values nor who won.

mod common;

use std::process::ExitCode;

use bellerophon::lwe::{Output, Room, Values};
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Data, WITH_VALUES, parse_range};
use common::console::Console;
use common::data::{self, Column};
use common::output;
use common::program::{self, Defaults, Failure};
use common::session::{self, CLOSE, Outcome, Session};
use common::stats::Errors;
use serde::Serialize;

/// Of the generated values.
const SEED: u64 = 1968;

const COUNT: usize = 16;
const SMALL: usize = 5;

/// Finds the largest value of an encrypted column
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// Among how many values: generated, or the first of a column [default: 16, or the whole
    /// column]
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// The domain, which holds all values and which the server learns [default: -1,1, or from the
    /// smallest to the largest value of a column]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// The smallest value in place of the largest
    #[arg(long)]
    smallest: bool,
}

/// What is searched, and the truth about it.
struct Task {
    column: Column,
    range: [f64; 2],
    best: usize,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_VALUES, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        let task = prepare(arguments)?;
        let params = session::params(&arguments.common)?;
        compute(arguments, &task, params)
    })
}

/// Reads or generates the values and checks them; everything that the user can get wrong ends here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let read = arguments.data.csv.is_some() || arguments.data.column.is_some();
    let most = arguments.count.or(arguments.common.small.then_some(SMALL));
    if most == Some(0) {
        return Err(Failure::input("--count 0: need at least one value"));
    }
    let mut column = if read {
        data::load(&arguments.data, "")?
    } else {
        data::generated(arguments.range.unwrap_or([-1.0, 1.0]), most.unwrap_or(COUNT), SEED)
    };
    column.values.truncate(most.unwrap_or(usize::MAX));
    let range = match arguments.range {
        Some(range) => range,
        None if read => column.span(),
        None => [-1.0, 1.0],
    };
    column.check_within(range)?;
    let numbered = column.values.iter().enumerate();
    let best = if arguments.smallest {
        numbered.min_by(|a, b| a.1.total_cmp(b.1))
    } else {
        numbered.max_by(|a, b| a.1.total_cmp(b.1))
    };
    let best = best.ok_or_else(|| Failure::input("a column without values"))?.0;
    Ok(Task { column, range, best })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Search<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    /// The number of the value that was found, and of the largest.
    found: usize,
    best: usize,
    range: [f64; 2],
    source: &'a str,
    column: &'a str,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, range: [lo, hi], best } = task;
    let count = column.values.len();
    column.check_fits(&params)?;
    let level = params.lookups().map_err(Failure::input)?.levels();
    let mut session = Session::open(params, &Needs::new().map())?;

    let x = session.encrypt(&column.values, *lo..=*hi, level)?;
    let labels: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let winner = session.follow(|server| -> bellerophon::Result<Values> {
        let rounds = count.next_power_of_two().trailing_zeros();
        let values = server.extract_for(&x, *lo..=*hi, Room::comparators(rounds.max(1)))?;
        let lanes = (0..count).map(|i| values.select(&[i])).collect::<Result<Vec<_>, _>>()?;
        let tables = server.tables()?;
        let label = if arguments.smallest {
            tables.arg_min_label(&lanes, &labels, Output::Fit(Room::TABLE))?
        } else {
            tables.arg_max_label(&lanes, &labels, Output::Fit(Room::TABLE))?
        };
        Ok(label)
    })?;
    let got = session.decrypt_values(std::slice::from_ref(&winner))?;

    let found = got[0].round().clamp(0.0, (count - 1) as f64) as usize;
    let values = &column.values;
    // Which of two values is named that are as good as equal is a matter of chance.
    let close = (values[found] - values[*best]).abs() <= CLOSE * (hi - lo);
    let errors = Errors::between(&[*best as f64], &got);
    let accuracy = f64::from(u8::from(close));
    let op = if arguments.smallest { "arg-min" } else { "arg-max" };
    let report = session.report(count, session.engine(), &errors);
    let outcome = Outcome::new(&session, report, op, [accuracy, 1.0]);
    if let Some(path) = &arguments.data.out {
        output::write_out(path, &[values[found]], &[*best as f64], &got)?;
    }
    console.say(format_args!(
        "{count} values of column '{}' of {} in [{lo:?}, {hi:?}]: {op} {found}, in the clear {best}",
        column.name, column.source,
    ));
    outcome.say_parameters(&console);
    outcome.say_costs(&console, "values");
    console.say(format_args!(
        "the value found is {:?}, the one sought {:?}; the number came back as {:.4}",
        values[found], values[*best], got[0]
    ));
    if arguments.common.json {
        output::print_json(&Search {
            found,
            best: *best,
            range: task.range,
            source: &column.source,
            column: &column.name,
            outcome,
        })?;
    }
    Ok(())
}
