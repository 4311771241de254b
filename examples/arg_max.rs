//! The argmax of encrypted numbers.
//!
//! The client encrypts a column (generated, a column of iris, or `--csv FILE --column NAME`) in one
//! ciphertext, after it has mapped their declared range onto [-1, 1]. The server extracts the
//! values from their slots and runs a tournament of look-ups that tracks the winner, round by
//! round. It returns one LWE value: the index of the largest number, from 0. Of tied numbers the
//! index of any is right. The server sees neither the values nor the winner.

use std::process::ExitCode;

use bellerophon::lwe::{Headroom, LweVec, OutputEncoding};
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Tables, WITH_VALUES};
use common::console::Console;
use common::data::Column;
use common::numbers::{Numbers, Taken};
use common::output;
use common::program::{self, Defaults, Failure};
use common::session::{self, CLOSE, Outcome, Session};
use common::stats::{Errors, right_place};
use common::unit::Unit;
use serde::Serialize;

/// The declared noise of the returned index.
const NOISE: f64 = 1.0 / 16.0;

const COUNT: usize = 16;
const SMALL: usize = 5;

/// Finds the largest value of an encrypted column
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    numbers: Numbers,

    /// Find the smallest value instead of the largest
    #[arg(long)]
    smallest: bool,
}

/// The values, and the exact result.
struct Task {
    column: Column,
    range: [f64; 2],
    best: usize,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_VALUES, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        let task = prepare(arguments)?;
        compute(arguments, &task, session::params(&arguments.common)?)
    })
}

/// Reads or generates the values and checks them. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let (column, range) = arguments.numbers.prepared(&arguments.common, SMALL, COUNT)?;
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
    /// The index that was found, and that of the largest value: of tied values, the found one.
    found: usize,
    best: usize,
    #[serde(flatten)]
    taken: Taken<'a>,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, range: [lo, hi], best } = task;
    let count = column.values.len();
    column.check_fits(&params)?;
    let (mut session, level) = Session::with_tables(params, &arguments.tables)?;

    let unit = Unit::of([*lo, *hi]);
    let numbers: Vec<f64> = column.values.iter().map(|&value| unit.enter(value)).collect();
    let x = session.encrypt(&numbers, -1.0..=1.0, level)?;
    let labels: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let winner = session.follow(|server| -> bellerophon::Result<LweVec> {
        let rounds = count.next_power_of_two().trailing_zeros();
        let values = server.extract_for(&x, -1.0..=1.0, Headroom::comparators(rounds.max(1)))?;
        let lanes = (0..count).map(|i| values.select(&[i])).collect::<Result<Vec<_>, _>>()?;
        let tables = server.tables()?;
        let label = if arguments.smallest {
            tables.arg_min_label(&lanes, &labels, OutputEncoding::Fit(Headroom::TABLE))?
        } else {
            tables.arg_max_label(&lanes, &labels, OutputEncoding::Fit(Headroom::TABLE))?
        };
        Ok(label)
    })?;
    let winner = session.publish_values(&winner, 0.0..=(count - 1) as f64, NOISE)?;
    let got = session.decrypt_values(std::slice::from_ref(&winner))?;

    let found = got[0].round().clamp(0.0, (count - 1) as f64) as usize;
    let values = &column.values;
    let best = right_place(values, *best, found, CLOSE * (hi - lo));
    let errors = Errors::between(&[best as f64], &got);
    let accuracy = f64::from(u8::from(best == found));
    let op = if arguments.smallest { "arg-min" } else { "arg-max" };
    let report = session.report(count, session.engine(), &errors);
    let outcome = Outcome::new(&session, report, op, [accuracy, 1.0]);
    if let Some(path) = &arguments.numbers.data.out {
        output::write_out(path, &[values[found]], &[best as f64], &got)?;
    }
    console.say(format_args!(
        "{count} values of column '{}' of {} in [{lo:?}, {hi:?}]: {op} {found}, in the clear \
         {best}",
        column.name, column.source,
    ));
    outcome.say_parameters(&console);
    outcome.say_costs(&console, "values");
    console.say(format_args!(
        "the value found is {:?}, the correct one {:?}; the index decrypts to {:.4}",
        values[found], values[best], got[0]
    ));
    if arguments.common.json {
        output::print_json(&Search { found, best, taken: Taken::of(column, task.range), outcome })?;
    }
    Ok(())
}
