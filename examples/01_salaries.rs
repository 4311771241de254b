//! Mean and histogram of encrypted salaries.
//!
//! The server sums the salaries and compares the whole vector with every edge of the histogram. A
//! salary at an edge counts in the bin above it. The salaries are declared as integers, so the
//! counts are exact. Toy parameters protect nothing; comments name the preset of real programs.

use bellerophon::circuits::{
    approx::Sign,
    ordering::{Comparator, OrderTask},
    statistics::DataTable,
};
use bellerophon::prelude::*;

fn main() -> bellerophon::Result<()> {
    let salaries = [31.0, 44.0, 52.0, 40.0, 61.0, 47.0, 95.0, 56.0]; // thousands a year
    let edges = [0.0, 40.0, 60.0, 125.0];

    // Programs use `Preset::Bootstrapping`: a comparison takes more levels than a fresh vector has.
    let params = Params::preset(Preset::Insecure(Toy::Bootstrapping))?;
    let client = ClientKey::generate(&params)?;
    let table = DataTable::new(salaries.len(), 1)?;
    let needs = Needs::new()
        .bootstrap()
        .keys(&table.keys(params.levels()))
        .keys(&OrderTask::Count { slots: table.slots() }.keys(params.levels()));
    let server = Evaluator::new(client.evaluation_keys(&needs)?)?.with_auto_bootstrap()?;

    let x = client.encrypt(&salaries, 0.0..=125.0)?;
    let mean = table.means(&server, &x)?;
    // Programs: `Comparator::new(1.0 / 1024.0)`; it needs more levels than the toy set has.
    // For values that are no integers, leave out `of_integers`: those at an edge count one half.
    let comparator = Comparator::of(Sign::of_degrees(1.0, 1.0 / 256.0, &[7, 7, 7, 7])?)?;
    let counts = comparator.of_integers().histogram(&server, &x, &edges)?;

    let mean = client.decrypt(&mean)?[0];
    let counts: Vec<f64> = client.decrypt(&counts)?.iter().map(|n| n.round()).collect();
    assert!((mean - 53.25).abs() < 0.01);
    assert_eq!(counts, [1.0, 5.0, 2.0]);
    Ok(())
}
