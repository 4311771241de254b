//! The planner's table for one request, without a key: which engine applies a function to an
//! encrypted vector, and at what cost. With `--measure FILE`, the planner against measured times.
//!
//! `map_plan --preset smooth --function sigmoid --bits 16 --count 4096` prints time, error, levels
//! and keys of every engine, and the reasons of those that do not qualify.
//!
//! `map_plan --measure cells.jsonl --threads 1` measures the cells that `cells.jsonl` lacks, and
//! prints the chosen and the fastest pair of preset and engine for every question; `--summary`
//! measures nothing.

mod cells;
mod measure;
mod plot;
mod subject;
mod summary;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use bellerophon::{CostModel, Engine, MapPlan, prelude::*};
use common::args::{parse_range, parse_within};
use common::prelude::*;
use plot::Curves;
use serde::Serialize;
use subject::Subject;
use summary::Summary;

/// Prints cost and error of every engine for a function, or measures the planner
#[derive(Debug, Parser)]
#[command(version)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,

    /// The function
    #[arg(long, value_name = "NAME", default_value = "sigmoid")]
    function: Subject,

    /// Its domain [default: -8,8; 0.5,100 for reciprocal; 0,255 for table]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// Request an error of at most 2^-B in the worst value
    #[arg(long, value_name = "B", default_value = "10",
          value_parser = |text: &str| parse_within(text, -8.0..=30.0))]
    bits: f64,

    /// Number of values [default: 256]
    #[arg(long, value_name = "N")]
    count: Option<usize>,

    /// Level of the operand [default: the highest]
    #[arg(long, value_name = "L")]
    level: Option<usize>,

    /// Allow, or measure, only this engine
    #[arg(long, value_name = "poly|fbt|rgsw|corrected|ntru", conflicts_with = "ntru")]
    engine: Option<Engine>,

    /// Allow NTRU, too
    #[arg(long)]
    ntru: bool,

    /// Use prices of this machine, measured now, instead of the fixed ones
    #[arg(long)]
    calibrate: bool,

    /// Measure cells of functions, numbers of values and bits on the presets that serve them, and
    /// append one JSON line each to FILE; cells that FILE has are skipped
    #[arg(long, value_name = "FILE")]
    measure: Option<PathBuf>,

    /// Measure only on this preset
    #[arg(long, value_name = "PRESET", requires = "measure")]
    only: Option<Preset>,

    /// Measure nothing: plan anew and compare with the times in FILE
    #[arg(long, requires = "measure")]
    summary: bool,

    /// Draw the measured times of --function to --bits against the number of values
    #[arg(long, value_name = "FILE.svg", requires = "measure")]
    plot: Option<PathBuf>,
}

/// The default number of values.
const COUNT: usize = 256;

/// The output for one request.
#[derive(Debug, Serialize)]
struct Planned<'a> {
    op: &'static str,
    preset: &'a str,
    security_bits: f64,
    n: usize,
    model: CostModel,
    #[serde(flatten)]
    plan: &'a MapPlan,
}

/// The values of `--preset`: all of them.
const PRESETS: [&str; Preset::ALL.len()] = {
    let mut names = [""; Preset::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Preset::ALL[i].name();
        i += 1;
    }
    names
};

/// The defaults of the common flags.
pub const DEFAULTS: Defaults<'_> = Defaults { presets: &PRESETS, threads: None };

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let model = match arguments.calibrate {
        true => CostModel::calibrate()?,
        false => CostModel::default(),
    };
    if let Some(file) = &arguments.measure {
        return measured(arguments, file, &model, &console);
    }
    let params = session::params(&arguments.common)?;
    let threads = rayon::current_num_threads();
    let mut request = arguments.function.request(arguments.range, arguments.bits);
    request = request.count(arguments.count.unwrap_or(COUNT.min(params.slots())));
    if let Some(level) = arguments.level {
        request = request.level(level);
    }
    if arguments.ntru {
        request = request.allow(Engine::Ntru);
    }
    if let Some(engine) = arguments.engine {
        request = request.engines([engine]);
    }
    let request = request.prices(&model).threads(threads);
    let plan = params.map_plan(&request).map_err(Failure::input)?;
    console.say(format_args!("{params}\n\n{plan}"));
    match plan.chosen {
        Some(engine) => console.say(format_args!("picked: {engine}")),
        None => console.say("no engine qualifies; see the reasons above"),
    }
    if arguments.common.json {
        output::print_json(&Planned {
            op: "map_plan",
            preset: params.name(),
            security_bits: params.security_bits(),
            n: plan.count,
            model,
            plan: &plan,
        })?;
    }
    Ok(())
}

/// The planner against measured times.
fn measured(
    arguments: &Arguments,
    file: &Path,
    model: &CostModel,
    console: &Console,
) -> Result<(), Failure> {
    let mut known = cells::read(file)?;
    let planned = measure::planned(arguments.common.small, arguments.only, model)?;
    if !arguments.summary {
        let asked = |planned: &&measure::Planned| {
            arguments.engine.is_none_or(|engine| planned.key.engine == engine)
        };
        measure::all(file, planned.iter().filter(asked), &mut known, console)?;
    }
    let summary = Summary::new(&planned, &known);
    console.say(&summary);
    if let Some(path) = &arguments.plot {
        let curves = Curves::new(arguments.function, arguments.bits as i32, known.values());
        curves.draw(path)?;
        for (one, other, count) in curves.crossovers() {
            console.say(format_args!("{one} and {other} take the same time at {count:.0} values"));
        }
    }
    match arguments.common.json {
        true => output::print_json(&summary),
        false => Ok(()),
    }
}
