//! Tables and figures of papers, from runs of this library.
//!
//! Tables 1 to 4 and Fig. 1 of Full-RNS HEAAN (Cheon, Han, Kim, Kim and Song, SAC 2018) come from
//! runs at the paper's own parameter sets. The tables of DPad-HE (Tang, Zheng, Fan, Zhou, Lin and
//! Jing, CCS 2024), Figs. 7 and 8 of PEGASUS (Lu, Huang, Hong, Ma and Qu, S&P 2021) and the tables
//! of PEGASUS with NTRU (Uemura and Fukushima, SECRYPT 2025) come from the reports of the programs
//! that measure them.
//!
//! `papers --docs docs` measures everything of Full-RNS HEAAN, writes `docs/figures/*.svg` and
//! rewrites the tables of `docs/full-rns-heaan.md`. With `--only dpad --measured FILE` it rewrites
//! the measured tables of `docs/dpad.md`, with `--only pegasus --measured FILE` both figures of
//! `docs/pegasus.md`, with `--only ntru --measured FILE` the tables of `docs/ntru.md`.

mod analytic;
mod dpad;
mod figure;
mod learning;
mod measured;
mod moments;
mod ntru;
mod operations;
mod page;
mod pegasus;
mod world;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use common::console::Console;
use common::memory::peak_rss_bytes;
use common::program::{Defaults, Failure};
use common::{args::Common, output};
use measured::Measured;
use page::{HEAAN, Table};
use serde::Serialize;

use crate::figures::measure::{Bench, Row};

/// The one preset: the parameter sets of the paper.
const PRESET: &str = "full-rns-heaan";

/// Draws the tables and figures of Full-RNS HEAAN, DPad-HE, PEGASUS and PEGASUS with NTRU from runs
/// of this library
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Draw only one of them
    #[arg(long, value_name = "WHICH")]
    only: Option<Part>,

    /// For table 4: a report of `logistic_regression --json`; may be given several times
    #[arg(long, value_name = "FILE")]
    logistic: Vec<PathBuf>,

    /// For dpad: a report of `figures --only mlwe --json` or `module_rank --json`; for pegasus: one
    /// of `functions --json`; for ntru: one of `engines --json` or `functions --json`; may be given
    /// several times
    #[arg(long, value_name = "FILE")]
    measured: Vec<PathBuf>,

    /// For dpad: where criterion keeps the results of `benches/mlwe.rs`, as target/criterion
    #[arg(long, value_name = "DIR")]
    criterion: Option<PathBuf>,

    /// Write the figures under DIR/figures and the tables into the pages in DIR
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
    Dpad,
    Pegasus,
    Ntru,
}

impl Part {
    /// Whether it is drawn from reports alone, and only on request.
    fn is_of_reports(self) -> bool {
        matches!(self, Self::Dpad | Self::Pegasus | Self::Ntru)
    }
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Report {
    tables: Vec<Table>,
    rows: Vec<Row>,
    peak_rss_bytes: Option<u64>,
    threads: usize,
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

/// Draws the requested tables and figures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let common = &arguments.common;
    if let Some(docs) = &arguments.docs {
        let page = match arguments.only {
            Some(Part::Dpad) => dpad::PAGE,
            Some(Part::Pegasus) => pegasus::PAGE,
            Some(Part::Ntru) => ntru::PAGE,
            _ => HEAAN,
        };
        page::check(docs, page)?;
    }
    let reports = learning::read(&arguments.logistic)?;
    if arguments.only == Some(Part::Table4) && reports.is_empty() {
        let why = "--only table4: give the reports of `logistic_regression --json` (--logistic)";
        return Err(Failure::input(why));
    }
    if arguments.only.is_some_and(Part::is_of_reports) && arguments.measured.is_empty() {
        let why = "--only dpad: give the reports of `figures --only mlwe --json` and of \
                   `module_rank --json`; --only pegasus: those of `functions --json`; --only ntru: \
                   those of `engines --json` and `functions --json` (--measured)";
        return Err(Failure::input(why));
    }
    let console = Console::new(common.json);
    let mut bench = Bench::new(common.small);
    let mut tables = Vec::new();
    for part in Part::value_variants() {
        if arguments.only.is_some_and(|only| only != *part)
            || (*part == Part::Table4 && reports.is_empty())
            || (part.is_of_reports() && arguments.only.is_none())
        {
            continue;
        }
        let drawn = match part {
            Part::Fig1 => {
                let curve = figure::measure()?;
                if let Some(docs) = &arguments.docs {
                    figure::draw(&curve, &docs.join("figures/full-rns-heaan-fig1.svg"))?;
                }
                vec![figure::table(&curve)]
            }
            Part::Table1 => vec![operations::measure(&mut bench)?],
            Part::Table2 => vec![analytic::measure(&mut bench)?],
            Part::Table3 => vec![moments::measure(&mut bench)?],
            Part::Table4 => vec![learning::table(&reports)],
            Part::Dpad => {
                let criterion = arguments.criterion.as_deref();
                dpad::tables(&Measured::read(&arguments.measured, criterion)?)?
            }
            Part::Pegasus => {
                let reports = pegasus::read(&arguments.measured)?;
                let shares = pegasus::simulate()?;
                if let Some(docs) = &arguments.docs {
                    let figures = docs.join("figures");
                    pegasus::draw_accuracy(&reports, &figures.join("pegasus-fig7.svg"))?;
                    pegasus::draw_shares(&shares, &figures.join("pegasus-fig8.svg"))?;
                }
                vec![pegasus::accuracy(&reports), pegasus::shares(&shares)]
            }
            Part::Ntru => ntru::Reports::read(&arguments.measured)?.tables(),
        };
        for table in drawn {
            console.say(table.title);
            console.say(table.markdown());
            if let Some(docs) = &arguments.docs {
                page::write(docs, &table)?;
            }
            tables.push(table);
        }
    }
    if !common.json {
        return Ok(());
    }
    let (rows, threads) = (bench.into_rows(), rayon::current_num_threads());
    output::print_json(&Report { tables, rows, peak_rss_bytes: peak_rss_bytes(), threads })
}
