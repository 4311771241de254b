//! Sorts encrypted numbers by a network of comparators.
//!
//! The client encrypts a column (generated, a column of iris, or `--csv FILE --column NAME`) in one
//! ciphertext. The server extracts the values from their slots, sorts them by Batcher's odd-even
//! network, one look-up per comparator, and packs them into slots again, in order. It sees neither
//! values nor outcomes: the declared range of the column is mapped onto [-1, 1] by the client.

use std::process::ExitCode;

use bellerophon::lwe::{Headroom, Network, Order};
use bellerophon::prelude::*;
use clap::Parser;
use common::args::{Common, Tables, WITH_VALUES};
use common::console::Console;
use common::data::Column;
use common::numbers::{Numbers, Taken};
use common::output;
use common::program::{self, Defaults, Failure};
use common::session::{self, CLOSE, Outcome, Session};
use common::stats::Errors;
use common::unit::Unit;
use serde::Serialize;

/// The end of the domain of the tables: beyond the numbers of [-1, 1] it is free for the noise of
/// sorted numbers, which are packed with it.
const DOMAIN: f64 = 1.0 + 1.0 / 8.0;

/// The end of the declared range of the results.
const PUBLISHED: f64 = 1.5;

const COUNT: usize = 64;
const SMALL: usize = 12;

/// Sorts an encrypted column
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    numbers: Numbers,

    /// The largest value first
    #[arg(long)]
    descending: bool,
}

/// The values, and the exact result.
struct Task {
    column: Column,
    range: [f64; 2],
    expected: Vec<f64>,
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
    let mut expected = column.values.clone();
    expected.sort_by(f64::total_cmp);
    if arguments.descending {
        expected.reverse();
    }
    Ok(Task { column, range, expected })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Sorting<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    comparators: usize,
    layers: usize,
    #[serde(flatten)]
    taken: Taken<'a>,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, range: [lo, hi], expected } = task;
    let count = column.values.len();
    column.check_fits(&params)?;
    // Step 1: the network and the keys.
    let network = Network::odd_even(count).map_err(Failure::run)?;
    let (mut session, level) = Session::with_tables(params, &arguments.tables)?;

    // Step 2: encryption; slots to LWE, the network, LWE to slots.
    let unit = Unit::of([*lo, *hi]);
    let numbers: Vec<f64> = column.values.iter().map(|&value| unit.enter(value)).collect();
    let x = session.encrypt(&numbers, -1.0..=1.0, level)?;
    let order = if arguments.descending { Order::Descending } else { Order::Ascending };
    let y = session.follow(|server| {
        let headroom = Headroom::comparators(network.depth() as u32);
        let values = server.extract_for(&x, -DOMAIN..=DOMAIN, headroom)?;
        server.pack(&server.tables()?.sort_through(&values, &network, order)?)
    })?;
    // Step 3: publication and decryption.
    let declared = Declaration::from(-PUBLISHED..=PUBLISHED).with_noise(PUBLISHED - 1.0);
    let y = session.publish(&y, declared)?;
    let got: Vec<f64> = session.decrypt(&y)?.into_iter().map(|y| unit.leave(y)).collect();

    let errors = Errors::between(expected, &got);
    let close = got.iter().zip(expected).filter(|(g, e)| (*g - *e).abs() <= CLOSE * (hi - lo));
    let accuracy = close.count() as f64 / count as f64;
    let report = session.report(count, session.engine(), &errors);
    let outcome = Outcome::new(&session, report, "sort", [accuracy, 1.0]);
    if let Some(path) = &arguments.numbers.data.out {
        output::write_out(path, &column.values, expected, &got)?;
    }
    console.say(format_args!(
        "{count} values of column '{}' of {} in [{lo:?}, {hi:?}]: {} comparators in {} layers",
        column.name,
        column.source,
        network.comparators(),
        network.depth()
    ));
    outcome.say_parameters(&console);
    console.values(&column.values, expected, &got);
    outcome.say_costs(&console, "values");
    console.say(format_args!(
        "{:.1}% of the sorted values are right to within a 64th of the domain",
        100.0 * accuracy
    ));
    if arguments.common.json {
        output::print_json(&Sorting {
            comparators: network.comparators(),
            layers: network.depth(),
            taken: Taken::of(column, task.range),
            outcome,
        })?;
    }
    Ok(())
}
