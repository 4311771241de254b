//! Sorts encrypted numbers by a network of comparators.
//!
//! The client encrypts a column (generated, a column of iris, or `--csv FILE --column NAME`) in one
//! ciphertext. The server extracts the values from their slots, sorts them by Batcher's odd-even
//! network, one look-up per comparator, and packs them into slots again, in order. It sees neither
//! values nor outcomes: the declared range of the column is mapped onto [-1, 1] by the client.

use std::process::ExitCode;

use bellerophon::lwe::{Headroom, Network, SortOrder};
use bellerophon::prelude::*;
use common::numbers::{Numbers, Sent};
use common::prelude::*;
use common::stats;

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

fn main() -> ExitCode {
    program::report(Defaults::of(&WITH_VALUES), run)
}

fn run(arguments: &Arguments, console: &Console) -> Result<Facts, Failure> {
    let Arguments { common, tables, numbers, descending } = arguments;
    // Step 1: keys and encryption.
    let sent = numbers.send(common, tables, SMALL, COUNT)?;
    let Sent { column, range: range @ [lo, hi], unit, mut session, x } = sent;
    let (values, count) = (&column.values, column.values.len());

    // Step 2: slots to LWE, the network, LWE to slots.
    let network = Network::odd_even(count)?;
    let order = if *descending { SortOrder::Descending } else { SortOrder::Ascending };
    let y = session.follow(|server| {
        let headroom = Headroom::comparators(network.depth() as u32);
        let values = server.extract_for(&x, -DOMAIN..=DOMAIN, headroom)?;
        server.pack(&server.tables()?.sort_through(&values, &network, order)?)
    })?;
    // Step 3: publication and decryption.
    let declared = Declaration::from(-PUBLISHED..=PUBLISHED).with_noise(PUBLISHED - 1.0);
    let got: Vec<f64> = session.read(&y, declared)?.into_iter().map(|y| unit.leave(y)).collect();

    let mut expected = values.clone();
    expected.sort_by(f64::total_cmp);
    if *descending {
        expected.reverse();
    }
    let errors = Errors::between(&expected, &got);
    let right = [stats::close(&expected, &got, CLOSE * (hi - lo)), 1.0];
    output::write_out(numbers.data.out.as_deref(), values, &expected, &got)?;
    console.values(values, &expected, &got);
    let facts = session
        .outcome("sort", count, session.engine(), &errors, right)
        .with("comparators", network.comparators())
        .with("layers", network.depth())
        .with("range", range);
    Ok(column.named(facts))
}
