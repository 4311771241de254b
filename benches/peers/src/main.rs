//! The same work by Bellerophon and by other libraries, interleaved in one run on one thread.

mod hostile;
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
    /// Changed ciphertexts given to the readers of Bellerophon and of fhe.
    Hostile {
        /// Changed ciphertexts for each reader.
        #[arg(long, default_value_t = 1000)]
        count: usize,
        /// Of the changes.
        #[arg(long, default_value_t = 1)]
        seed: u64,
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
    match Arguments::parse().work {
        Work::Ntt { json } => transforms(json),
        Work::Hostile { count, seed, json } => hostile(count, seed, json),
    }
}

fn transforms(json: bool) {
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

fn hostile(count: usize, seed: u64, json: bool) {
    let rows = hostile::rows(count, seed);
    if json {
        println!("{}", serde_json::to_string(&rows).expect("rows are plain numbers"));
        return;
    }
    println!(
        "{:<30} {:>7} {:>6} {:>8} {:>9} {:>9} {:>8} {:>7}",
        "reader", "bytes", "tried", "refused", "panicked", "accepted", "ignored", "memory"
    );
    for row in &rows {
        println!("{row}");
    }
}
