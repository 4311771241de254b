//! The argmax of encrypted numbers.
//!
//! The client encrypts a column (generated, a column of iris, or `--csv FILE --column NAME`) in one
//! ciphertext, after it has mapped their declared range onto [-1, 1]. The server extracts the
//! values from their slots and runs a tournament of look-ups that tracks the winner, round by
//! round. It returns one LWE value: the index of the largest number, from 0. Of tied numbers the
//! index of any is right. The server sees neither the values nor the winner.

use std::process::ExitCode;

use bellerophon::lwe::{Headroom, LweVec, OutputEncoding};
use common::numbers::{Numbers, Sent};
use common::prelude::*;
use common::stats::right_place;

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

fn main() -> ExitCode {
    program::report(Defaults::of(&WITH_VALUES), run)
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let Arguments { common, tables, numbers, smallest } = arguments;

    // The client.
    let sent = numbers.send(common, tables, SMALL, COUNT)?;
    let Sent { column, range: range @ [lo, hi], mut session, x, .. } = sent;
    let (values, count) = (&column.values, column.values.len());

    // The server.
    let labels: Vec<f64> = (0..count).map(|i| i as f64).collect();
    let winner = session.follow(|server| -> bellerophon::Result<LweVec> {
        let rounds = count.next_power_of_two().trailing_zeros();
        let values = server.extract_for(&x, -1.0..=1.0, Headroom::comparators(rounds.max(1)))?;
        let lanes = (0..count).map(|i| values.select(&[i])).collect::<Result<Vec<_>, _>>()?;
        let (tables, fit) = (server.tables()?, OutputEncoding::Fit(Headroom::TABLE));
        match smallest {
            true => tables.arg_min_label(&lanes, &labels, fit),
            false => tables.arg_max_label(&lanes, &labels, fit),
        }
    })?;
    let last = (count - 1) as f64;
    let winner = winner.publish(0.0..=last, NOISE)?;

    // The client.
    let got = session.decrypt(|client| client.decrypt_lwe(&winner))?;
    let found = got[0].round().clamp(0.0, last) as usize;
    let sign = if *smallest { -1.0 } else { 1.0 };
    let best = (0..count).max_by(|&a, &b| (sign * values[a]).total_cmp(&(sign * values[b])));
    let best = right_place(values, best.unwrap_or(0), found, CLOSE * (hi - lo));
    let errors = Errors::between(&[best as f64], &got);
    output::write_out(numbers.data.out.as_deref(), &[values[found]], &[best as f64], &got)?;
    console.say(format_args!("value found {:?}, correct {:?}", values[found], values[best]));
    let op = if *smallest { "arg-min" } else { "arg-max" };
    let right = [f64::from(u8::from(best == found)), 1.0];
    let facts = session.outcome(op, count, session.engine(), &errors, right);
    Ok(column.named(facts.with("found", found).with("best", best).with("range", range)))
}
