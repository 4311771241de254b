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
mod moments;
mod ntru;
mod operations;
mod page;
mod pegasus;
mod reports;

use std::path::{Path, PathBuf};

use bellerophon::ckks::{LevelGroup, ModulusChain, Params, ParamsSpec, SecretKind, Security};
use clap::ValueEnum;
use common::memory::peak_rss_bytes;
use common::prelude::*;
use page::{HEAAN, Table};
use reports::Measured;

use crate::measure::Bench;

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

/// The sets of Tables 2 and 3, made as those of Table 1
/// ([`FullRnsHeaan`](bellerophon::ckks::paper::FullRnsHeaan)): `q_0` of 61 bits, `levels` primes of
/// 55, one digit, `h = 64`.
fn params(log_degree: u32, levels: usize) -> bellerophon::Result<Params> {
    let chain = ModulusChain {
        degree: 1 << log_degree,
        first_bits: 61,
        levels: vec![LevelGroup::single(55, levels)],
        special: (60, levels + 1),
    };
    let mut spec = ParamsSpec::from_chain(&chain, 55, Security::Insecure)?;
    spec.lattice.secret = SecretKind::Sparse(64);
    Params::new(spec)
}

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &[PRESET], threads: Some(1) };

/// Draws the requested tables and figures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { common, only, docs, .. } = arguments;
    if let Some(docs) = docs {
        let page = match only {
            Some(Part::Dpad) => dpad::PAGE,
            Some(Part::Pegasus) => pegasus::PAGE,
            Some(Part::Ntru) => ntru::PAGE,
            _ => HEAAN,
        };
        page::check(docs, page)?;
    }
    let has_reports = !arguments.logistic.is_empty();
    if *only == Some(Part::Table4) && !has_reports {
        let why = "--only table4: give the reports of `logistic_regression --json` (--logistic)";
        return Err(Failure::input(why));
    }
    if only.is_some_and(Part::is_of_reports) && arguments.measured.is_empty() {
        let why = "--only dpad: give the reports of `figures --only mlwe --json` and of \
                   `module_rank --json`; --only pegasus: those of `functions --json`; --only ntru: \
                   those of `engines --json` and `functions --json` (--measured)";
        return Err(Failure::input(why));
    }
    let parts = Part::value_variants().iter().copied();
    let parts = parts.filter(|part| match only {
        Some(only) => only == part,
        None => !part.is_of_reports() && (*part != Part::Table4 || has_reports),
    });
    let console = Console::new(common.json);
    let mut bench = Bench::new(common.small);
    let mut tables = Vec::new();
    for part in parts {
        for table in drawn(arguments, part, &mut bench)? {
            console.say(table.title);
            console.say(table.markdown());
            if let Some(docs) = docs {
                page::write(docs, &table)?;
            }
            tables.push(table);
        }
    }
    if !common.json {
        return Ok(());
    }
    let facts = Facts::default().with("tables", tables).rows("rows", bench.rows);
    let facts = facts.with("peak_rss_bytes", peak_rss_bytes());
    output::print_json(&facts.with("threads", rayon::current_num_threads()))
}

/// The tables of a part. Its figures are drawn under the documents.
fn drawn(arguments: &Arguments, part: Part, bench: &mut Bench) -> Result<Vec<Table>, Failure> {
    let draw = |name: &str, draw: &dyn Fn(&Path) -> Result<(), Failure>| match &arguments.docs {
        Some(docs) => draw(&docs.join("figures").join(name)),
        None => Ok(()),
    };
    Ok(match part {
        Part::Fig1 => {
            let curve = figure::measure()?;
            draw("full-rns-heaan-fig1.svg", &|path| figure::draw(&curve, path))?;
            vec![figure::table(&curve)]
        }
        Part::Table1 => vec![operations::measure(bench)?],
        Part::Table2 => vec![analytic::measure(bench)?],
        Part::Table3 => vec![moments::measure(bench)?],
        Part::Table4 => {
            let reports = arguments.logistic.iter().map(|path| reports::read("--logistic", path));
            vec![learning::table(&reports.collect::<Result<Vec<_>, _>>()?)]
        }
        Part::Dpad => dpad::tables(&Measured::read(&arguments.measured)?)?,
        Part::Pegasus => {
            let reports = pegasus::read(&arguments.measured)?;
            let shares = pegasus::simulate()?;
            draw("pegasus-fig7.svg", &|path| pegasus::draw_accuracy(&reports, path))?;
            draw("pegasus-fig8.svg", &|path| pegasus::draw_shares(&shares, path))?;
            vec![pegasus::accuracy(&reports), pegasus::shares(&shares)]
        }
        Part::Ntru => ntru::Reports::read(&arguments.measured)?.tables(),
    })
}
