//! The same work by Bellerophon and by other libraries, interleaved in one run on one thread.

mod ntt;

use clap::{Parser, Subcommand};
use serde::Serialize;

#[derive(Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    work: Work,
}

#[derive(Subcommand)]
enum Work {
    /// Number-theoretic transforms against tfhe-ntt.
    Ntt {
        /// One JSON object on standard output instead of a table.
        #[arg(long)]
        json: bool,
    },
}

/// One comparison.
#[derive(Serialize)]
struct Row {
    name: String,
    /// Median time of Bellerophon, microseconds.
    ours_us: f64,
    /// Median time of the peer, microseconds.
    theirs_us: f64,
    /// `ours_us / theirs_us`.
    ratio: f64,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
}

fn main() {
    let Arguments { work: Work::Ntt { json } } = Arguments::parse();
    let report = Report { rows: ntt::rows() };
    if json {
        println!("{}", serde_json::to_string(&report).expect("rows are plain numbers"));
        return;
    }
    println!("{:<14} {:>10} {:>10} {:>7}", "name", "ours us", "theirs us", "ratio");
    for Row { name, ours_us, theirs_us, ratio } in &report.rows {
        println!("{name:<14} {ours_us:>10.2} {theirs_us:>10.2} {ratio:>7.3}");
    }
}
