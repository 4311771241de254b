//! Tables 1 to 4 and Fig. 1 of Full-RNS HEAAN (Cheon, Han, Kim, Kim and Song, SAC 2018) from runs
//! of this library at the paper's own parameter sets.
//!
//! `cargo run --release --example paper_tables -- --docs docs` measures everything, writes
//! `docs/figures/*.svg` and rewrites the tables of `docs/full-rns-heaan.md`.

#[path = "paper_tables/analytic.rs"]
mod analytic;
mod common;
#[path = "paper_tables/figure.rs"]
mod figure;
#[path = "paper_tables/learning.rs"]
mod learning;
#[path = "figures/measure.rs"]
mod measure;
#[path = "paper_tables/moments.rs"]
mod moments;
#[path = "paper_tables/operations.rs"]
mod operations;
#[path = "paper_tables/page.rs"]
mod page;
#[path = "paper_tables/world.rs"]
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use common::console::Console;
use common::memory::peak_rss_bytes;
use common::program::{self, Defaults, Failure};
use common::{args::Common, output};
use measure::Bench;
use page::Table;
use serde::Serialize;

/// The one preset: the parameter sets of the paper.
const PRESET: &str = "full-rns-heaan";

/// Draws the tables and the figure of Full-RNS HEAAN from runs of this library
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Draw one of them
    #[arg(long, value_name = "WHICH")]
    only: Option<Part>,

    /// For table 4: a report of `logistic_regression --json`; may be given several times
    #[arg(long, value_name = "FILE")]
    logistic: Vec<PathBuf>,

    /// Write the figures under DIR/figures and the tables into DIR/full-rns-heaan.md
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Fig1,
    Table1,
    Table2,
    Table3,
    Table4,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    tables: Vec<Table>,
    rows: Vec<measure::Row>,
    peak_rss_bytes: Option<u64>,
    threads: usize,
}

fn main() -> ExitCode {
    program::run(Defaults { presets: &[PRESET], threads: Some(1) }, |arguments: &Arguments| {
        let common = &arguments.common;
        if let Some(docs) = &arguments.docs {
            page::check(docs)?;
        }
        let reports = learning::read(&arguments.logistic)?;
        if arguments.only == Some(Part::Table4) && reports.is_empty() {
            let why =
                "--only table4: give the reports of `logistic_regression --json` (--logistic)";
            return Err(Failure::input(why));
        }
        let console = Console::new(common.json);
        let mut bench = Bench::new(common.small);
        let mut tables = Vec::new();
        for part in Part::value_variants() {
            if arguments.only.is_some_and(|only| only != *part)
                || (*part == Part::Table4 && reports.is_empty())
            {
                continue;
            }
            let table = match part {
                Part::Fig1 => {
                    let curve = figure::measure()?;
                    if let Some(docs) = &arguments.docs {
                        figure::draw(&curve, &docs.join("figures/full-rns-heaan-fig1.svg"))?;
                    }
                    figure::table(&curve)
                }
                Part::Table1 => operations::measure(&mut bench)?,
                Part::Table2 => analytic::measure(&mut bench)?,
                Part::Table3 => moments::measure(&mut bench)?,
                Part::Table4 => learning::table(&reports),
            };
            console.say(table.title);
            console.say(table.markdown());
            if let Some(docs) = &arguments.docs {
                page::write(docs, &table)?;
            }
            tables.push(table);
        }
        if !common.json {
            return Ok(());
        }
        let (rows, threads) = (bench.into_rows(), rayon::current_num_threads());
        output::print_json(&Report { tables, rows, peak_rss_bytes: peak_rss_bytes(), threads })
    })
}
