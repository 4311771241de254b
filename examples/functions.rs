//! Any function of an encrypted column of numbers: by look-up, or by a polynomial.
//!
//! The client encrypts a column as it stands (generated, a column of iris, or `--csv FILE --column
//! NAME`). The server applies the function to every value: by a table that each value reads for
//! itself (`rgsw`, PEGASUS, or `ntru`), or by a polynomial of certified error on all of them at once (`poly`,
//! CKKS). The client decrypts and compares with the truth.

mod common;
#[path = "functions/polynomial.rs"]
mod polynomial;

use std::process::ExitCode;

use bellerophon::ckks::Arithmetic;
use bellerophon::ckks::approx::Approximation;
use bellerophon::{Bridge, MapEngine, prelude::*};
use clap::{Parser, ValueEnum};
use common::args::{Common, Data, WITH_LOOKUPS, parse_range};
use common::console::Console;
use common::data::{self, Column};
use common::function::Function;
use common::output;
use common::program::{self, Defaults, Failure};
use common::session::{self, Outcome, Session};
use common::stats::Errors;
use serde::Serialize;

/// Values that are generated where no column is read, and with `--small`, which keeps as many of a
/// column.
const GENERATED: usize = 1024;
const SMALL: usize = 64;

/// Of the generated values.
const SEED: u64 = 2021;

/// Bits that the noise of the slots leaves of values around 1.
const SLOT_NOISE_BITS: f64 = 20.0;

const POLYNOMIAL: &str = "polynomial";

/// Applies a function to an encrypted column and compares with the truth
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// The function
    #[arg(long, value_name = "NAME", default_value = "relu")]
    function: Function,

    /// Its domain, which holds all values and in which they are declared: everybody learns it [default:
    /// -8,8; -4,4 for exp and sin, 0.5,16.5 for reciprocal]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// How the function is evaluated
    #[arg(long, value_name = "NAME", default_value = "auto")]
    engine: Engine,

    /// The way between slots and tables
    #[arg(long, value_name = "NAME", default_value = "auto")]
    bridge: Way,

    /// Asks for errors of at most 2^-B of the largest value, or of 1 where that is below: a look-up
    /// whose error is corrected, or a polynomial as exact as that; without it a plain table does
    #[arg(long, value_name = "B", value_parser = parse_bits)]
    bits: Option<f64>,

    /// Tables of degree 2^LOG in place of the preset's: larger ones are slower and more exact
    #[arg(long, value_name = "LOG", value_parser = clap::value_parser!(u32).range(11..=14))]
    degree: Option<u32>,

    /// How many values to generate, uniform in the domain, where no column is read [default: 1024]
    #[arg(long, value_name = "N", conflicts_with_all = ["csv", "column"])]
    count: Option<usize>,
}

fn parse_bits(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(bits) if (1.0..=30.0).contains(&bits) => Ok(bits),
        _ => Err("expected a number of bits from 1 to 30".to_string()),
    }
}

/// What evaluates a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// A polynomial where the function is smooth over the domain, a table otherwise
    Auto,
    /// A Chebyshev polynomial of certified error, on all slots at once
    Poly,
    /// A table for each value, read by blind rotation with RGSW keys
    Rgsw,
    /// The same with NTRU keys
    Ntru,
}

impl Engine {
    /// What reads the tables, if there are any.
    fn of_tables(self) -> MapEngine {
        match self {
            Self::Auto | Self::Poly => MapEngine::Auto,
            Self::Rgsw => MapEngine::Rgsw,
            Self::Ntru => MapEngine::Ntru,
        }
    }
}

/// The ways between slots and tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// The cheaper one of those that the preset has
    Auto,
    /// Over the small ring of the tables
    Ring,
    /// PEGASUS, Fig. 6: a key switch for each value down, a linear transform up
    Linear,
}

impl Way {
    fn bridge(self) -> Bridge {
        match self {
            Self::Auto => Bridge::Auto,
            Self::Ring => Bridge::Ring,
            Self::Linear => Bridge::Linear,
        }
    }
}

/// The preset, with tables of the degree that was asked for.
fn parameters(arguments: &Arguments) -> Result<Params, Failure> {
    let Some(log) = arguments.degree else { return session::params(&arguments.common) };
    let mut spec = arguments.common.preset()?.spec().map_err(Failure::run)?;
    if let Some(lookup) = &mut spec.lookup {
        let preset = lookup.ring_degree.trailing_zeros();
        lookup.ring_degree = 1 << log;
        if log > preset {
            // More coordinates to switch, smaller cells: the smallest digits.
            let bits = lookup.key_switch_base_log as usize * lookup.key_switch_digits;
            (lookup.key_switch_base_log, lookup.key_switch_digits) = (1, bits);
        }
        if log < preset {
            // Its sparse secret needs the degree of the preset.
            spec.ring_bridge = None;
        }
    }
    Params::new(spec).map_err(Failure::input)
}

/// What is computed, and the truth about it.
struct Task {
    column: Column,
    function: Function,
    range: [f64; 2],
    expected: Vec<f64>,
}

/// How it is computed, and the error that this may have.
struct Plan {
    means: Means,
    /// Largest error predicted for the values together.
    bound: f64,
    /// Level at which the values are encrypted.
    level: usize,
}

enum Means {
    Polynomial(Box<Approximation>),
    Table,
    /// A table with its error corrected: the accuracy asked for, and the degree of the correction.
    Corrected(f64, usize),
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_LOOKUPS, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        let task = prepare(arguments)?;
        let params = parameters(arguments)?;
        let plan = plan(arguments, &task, &params)?;
        compute(arguments, &task, params, &plan)
    })
}

/// Reads or generates the values and checks them; everything that the user can get wrong ends here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let function = arguments.function;
    let range = arguments.range.unwrap_or(match function {
        Function::Exp | Function::Sin => [-4.0, 4.0],
        Function::Reciprocal => [0.5, 16.5],
        _ => [-8.0, 8.0],
    });
    function.check_range(range).map_err(Failure::Input)?;
    let small = arguments.common.small;
    let column = if arguments.data.csv.is_some() || arguments.data.column.is_some() {
        let mut column = data::load(&arguments.data, "")?;
        if small {
            column.values.truncate(SMALL);
        }
        column
    } else {
        let count = arguments.count.unwrap_or(if small { SMALL } else { GENERATED });
        if count == 0 {
            return Err(Failure::input("--count 0: need at least one value"));
        }
        data::generated(range, count, SEED)
    };
    column.check_within(range)?;
    let expected = column.values.iter().map(|&v| function.value(v)).collect();
    Ok(Task { column, function, range, expected })
}

/// Chooses the engine, and refuses what it cannot do before any key is made.
fn plan(arguments: &Arguments, task: &Task, params: &Params) -> Result<Plan, Failure> {
    let Task { column, function, range: range @ [lo, hi], .. } = task;
    column.check_fits(params)?;
    // As the library counts bits: of the largest value, if that is above 1.
    let steps = (0..=1000).map(|i| function.value(lo + (hi - lo) * f64::from(i) / 1000.0).abs());
    let unit = steps.fold(1.0, f64::max);
    let wanted = arguments.bits.map_or(f64::INFINITY, |bits| unit * (-bits).exp2());
    let polynomial = || {
        let plan = polynomial::best(*function, *range, params).map_err(Failure::Input)?;
        let bound = plan.error() + unit * (-SLOT_NOISE_BITS).exp2();
        if bound > wanted {
            let name = function.name();
            return Err(Failure::input(format!(
                "the best polynomial of {name} on [{lo:?}, {hi:?}] errs by {bound:.1e}: allow fewer \
                 --bits"
            )));
        }
        let level = plan.levels() + polynomial::SPARE;
        Ok(Plan { bound, level, means: Means::Polynomial(plan.into()) })
    };
    match arguments.engine {
        Engine::Poly => polynomial(),
        Engine::Rgsw | Engine::Ntru => table(arguments, task, params),
        Engine::Auto if polynomial::is_smooth(*function, *range) => {
            polynomial().or_else(|_| table(arguments, task, params))
        }
        Engine::Auto => table(arguments, task, params)
            .or_else(|why| if arguments.bits.is_some() { polynomial() } else { Err(why) }),
    }
}

/// A table, corrected if an accuracy is asked for.
fn table(arguments: &Arguments, task: &Task, params: &Params) -> Result<Plan, Failure> {
    let Task { column, function, range: [lo, hi], .. } = task;
    let (domain, f) = (*lo..=*hi, |v: f64| function.value(v));
    let (count, lookups) = (column.values.len(), params.lookups().map_err(Failure::input)?);
    let engine = arguments.engine.of_tables();
    let Some(bits) = arguments.bits else {
        let law = params.map_accuracy_over(arguments.bridge.bridge(), engine, domain, f);
        let bound = law.map_err(Failure::input)?.max_abs(count);
        return Ok(Plan { means: Means::Table, bound, level: lookups.levels() });
    };
    if arguments.bridge == Way::Linear {
        let why = "--bits: the linear bridge is too noisy for the correction: take --bridge ring";
        return Err(Failure::input(why));
    }
    let level = lookups.level_to_correct().min(params.levels());
    let plan = params.map_to_plan_on(engine, domain, f, bits, level).map_err(Failure::input)?;
    let bound = plan.accuracy().max_abs(count);
    Ok(Plan { means: Means::Corrected(bits, plan.order()), bound, level })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Functions<'a> {
    #[serde(flatten)]
    outcome: Outcome<'a>,
    max_err_bits: f64,
    mean_err_bits: f64,
    range: [f64; 2],
    /// The largest error of as many values with probability 95%.
    predicted_max_err: f64,
    polynomial: Option<String>,
    /// The degree of the correction of a look-up; 0 for a plain table.
    order: Option<usize>,
    /// The accuracy that was asked for.
    bits: Option<f64>,
    /// The way that was asked for, where there is a table.
    bridge: Option<&'static str>,
    /// The degree of the table, where there is one.
    degree: Option<usize>,
    source: &'a str,
    column: &'a str,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task, params: Params, plan: &Plan) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Task { column, function, range: [lo, hi], expected } = task;
    let bridge = arguments.bridge.bridge();
    let needs = match plan.means {
        Means::Polynomial(_) => Needs::new().multiply(),
        Means::Table => Needs::new().map_over(bridge),
        Means::Corrected(..) => Needs::new().map_to(),
    };
    let degree = params.lookups().map_err(Failure::input)?.lattice().ring_degree();
    let needs = needs.engine(arguments.engine.of_tables());
    let mut session = Session::open(params, &needs)?;
    let x = session.encrypt(&column.values, *lo..=*hi, plan.level)?;
    let (domain, f) = (*lo..=*hi, |v: f64| function.value(v));
    let y = match &plan.means {
        Means::Polynomial(plan) => session.serve(POLYNOMIAL, |server| server.apply(&x, plan))?,
        Means::Table => session.follow(|server| server.map_over(&x, domain, f))?,
        Means::Corrected(bits, _) => {
            session.follow(|server| server.map_to(&x, domain, f, *bits))?
        }
    };
    let [least, most] = function.declared_results(task.range);
    // The error of a table is no larger than its values are apart.
    let y = session.publish(&y, Declaration::from(least..=most).with_noise(most - least))?;
    let got = session.decrypt(&y)?;

    let errors = Errors::between(expected, &got);
    let (engine, polynomial, order) = match &plan.means {
        Means::Polynomial(plan) => ("poly", Some(plan.to_string()), None),
        Means::Table => (session.engine(), None, Some(0)),
        Means::Corrected(_, order) => (session.engine(), None, Some(*order)),
    };
    let right = got.iter().zip(expected).filter(|(g, e)| (*g - *e).abs() <= plan.bound).count();
    let report = session.report(got.len(), engine, &errors);
    let accuracy = right as f64 / got.len() as f64;
    let outcome = Outcome::new(&session, report, function.name(), [accuracy, 1.0]);
    if let Some(path) = &arguments.data.out {
        output::write_out(path, &column.values, expected, &got)?;
    }
    let name = function.name();
    let Column { source, name: of, .. } = column;
    console.say(format_args!("{name} of {} values on [{lo:?}, {hi:?}]", got.len()));
    console.say(format_args!("column '{of}' of {source}"));
    if let Some(polynomial) = &polynomial {
        console.say(polynomial);
    }
    if let Some(order @ 1..) = order {
        console.say(format_args!("look-ups with their error corrected to degree {order}"));
    }
    outcome.say_parameters(&console);
    console.values(&column.values, expected, &got);
    outcome.say_costs(&console, "values");
    console.say(format_args!(
        "{right} of {} values within the predicted {:.3e}",
        got.len(),
        plan.bound
    ));
    if arguments.common.json {
        output::print_json(&Functions {
            max_err_bits: errors.max_bits(),
            mean_err_bits: errors.mean_bits(),
            range: task.range,
            predicted_max_err: plan.bound,
            bridge: order.map(|_| bridge.name()),
            degree: order.map(|_| degree),
            polynomial,
            order,
            bits: arguments.bits,
            source,
            column: of,
            outcome,
        })?;
    }
    Ok(())
}
