//! Arithmetic and an arbitrary function of an encrypted column of measurements, end to end.
//!
//! The client standardises a column (iris, or `--csv FILE --column NAME`) and encrypts it. The
//! server, which never sees a value, computes `v = a x^2 + b x + c` in CKKS, applies any function
//! `f` to every value by look-up, returns the results to a CKKS ciphertext by ring packing, and
//! computes `1 - f(v)`. The client decrypts the result and compares it with the exact values.
//!
//! With `--preset full` the server bootstraps the results, so that they have levels again, and
//! computes `v` and `1 - f(v)` a second time, from them.
//!
//! The server learns the length of the column and two ranges that do not depend on it: the
//! standardised column is declared within `--deviations` of 0, and `v` in the domain of the
//! function (`--range`). The client refuses a column outside these ranges.

use std::ops::RangeInclusive;
use std::process::ExitCode;

use bellerophon::{Engine, Error, LutEngine, Stage, prelude::*};
use clap::Parser;
use common::args::{Common, Data, WITH_LOOKUPS, parse_numbers, parse_range};
use common::console::{Console, Stages};
use common::data::{self, Column};
use common::function::Function;
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::stats::{self, Errors, Standardised};
use serde::Serialize;

/// Number of values with `--small`.
const SMALL: usize = 16;

const KEY_GENERATION: &str = "key generation";
const QUADRATIC: &str = "quadratic";
const ONE_MINUS: &str = "1 - y";
const BOOTSTRAP: &str = "bootstrapping";

/// What the second round of `--preset full` leaves free at both ends of the domain for the error of
/// the first, as a part of its width.
const MARGIN: f64 = 1.0 / 128.0;

/// The stages of the server; those in the middle are the stages of [`Evaluator::map`].
const SERVER: [&str; 6] = [
    QUADRATIC,
    Stage::SlotsToCoefficients.name(),
    Stage::LookUps.name(),
    Stage::Repacking.name(),
    ONE_MINUS,
    BOOTSTRAP,
];

/// Encrypts a column, computes 1 - f(a x^2 + b x + c) without decrypting, compares with exact
/// values
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    data: Data,

    /// The quadratic in the standardised column [default: 0.25,1,-0.5; the constant is 1 for sqrt
    /// and 2 for reciprocal, whose arguments must not be negative]
    #[arg(long, value_name = "A,B,C", value_parser = parse_numbers::<3>, allow_hyphen_values = true)]
    quadratic: Option<[f64; 3]>,

    /// The function to look up
    #[arg(long, value_name = "NAME", default_value = "sigmoid")]
    function: Function,

    /// Its domain, which must contain all values of the quadratic [default: -8,8; 0,16 for sqrt and
    /// 0.5,16.5 for reciprocal]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// The standardised column is declared in [-D, D], which becomes public; a column with a value
    /// more than D standard deviations from its mean is refused
    #[arg(long, value_name = "D", default_value_t = stats::DEVIATIONS, value_parser = parse_deviations)]
    deviations: f64,
}

/// The largest `--deviations`.
const MOST_DEVIATIONS: f64 = 256.0;

fn parse_deviations(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(deviations) if (1.0..=MOST_DEVIATIONS).contains(&deviations) => Ok(deviations),
        _ => Err(format!("expected a number from 1 to {MOST_DEVIATIONS}")),
    }
}

/// The computation, and its exact results.
struct Task {
    column: Column,
    x: Standardised,
    /// The standardised values are declared in `[-deviations, deviations]`.
    deviations: f64,
    quadratic: [f64; 3],
    function: Function,
    range: [f64; 2],
    /// How often the program bootstraps: once for each round after the first.
    refreshes: usize,
    /// `1 - f(a x^2 + b x + c)` in f64, in the second round of that again.
    expected: Vec<f64>,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &WITH_LOOKUPS, threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.data.out.as_deref(), arguments.data.csv.as_deref())?;
        let task = prepare(arguments)?;
        compute(arguments, &task)
    })
}

/// Reads, standardises and checks the data. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Task, Failure> {
    let mut column = data::load(&arguments.data, "sepal_length")?;
    if arguments.common.small {
        column.values.truncate(SMALL);
    }
    let function = arguments.function;
    let range @ [lo, hi] = arguments.range.unwrap_or(function.default_range());
    function.check_range(range).map_err(Failure::Input)?;
    if function == Function::Sqrt && lo < 0.0 {
        return Err(Failure::input(format!(
            "sqrt needs nonnegative arguments: [{lo:?}, {hi:?}] begins below 0; give another \
             --range"
        )));
    }
    let quadratic @ [a, b, c] = arguments.quadratic.unwrap_or(function.default_quadratic());
    let x = stats::standardise(&column.values).ok_or_else(|| {
        let Column { source, name, .. } = &column;
        let why = "the values, or their differences, are too large or too small";
        Failure::input(format!("{source}: column '{name}': {why}"))
    })?;
    let mut expected = Vec::with_capacity(x.values.len());
    let refreshes = usize::from(arguments.common.preset == Preset::Full.name());
    let deviations = arguments.deviations;
    for (row, &x) in x.values.iter().enumerate() {
        // The messages repeat no value.
        let fail = |why: String| {
            let Column { source, name, .. } = &column;
            Failure::input(format!("{source}: row {}, column '{name}': {why}", row + 1))
        };
        if x.abs() > deviations {
            return Err(fail(format!(
                "the value lies more than {deviations:?} standard deviations from the mean; give \
                 more --deviations"
            )));
        }
        let mut z = x;
        for round in 0..=refreshes {
            let v = (a * z + b) * z + c;
            let margin = if round == 0 { 0.0 } else { MARGIN * (hi - lo) };
            if !(lo + margin..=hi - margin).contains(&v) {
                return Err(fail(format!(
                    "{} of the standardised value{} lies outside the domain [{lo:?}, {hi:?}]; \
                     give another --range or --quadratic",
                    formula(quadratic),
                    if round == 0 { "" } else { ", in the second round," }
                )));
            }
            z = 1.0 - function.value(v);
        }
        expected.push(z);
    }
    Ok(Task { column, x, deviations, quadratic, function, range, refreshes, expected })
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Quickstart<'a> {
    #[serde(flatten)]
    report: Report,
    max_err_bits: f64,
    mean_err_bits: f64,
    function: String,
    range: [f64; 2],
    deviations: f64,
    quadratic: [f64; 3],
    refreshes: usize,
    source: &'a str,
    column: &'a str,
    mean: f64,
    deviation: f64,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
    #[serde(rename = "stage_bytes", serialize_with = "Stages::as_sizes")]
    sizes: &'a Stages,
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, task: &Task) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let params = Params::preset(arguments.common.preset()?).map_err(Failure::run)?;
    // A domain that no look-up takes is refused before any work.
    let [lo, hi] = task.range;
    let table = MapRequest::new(|v| task.function.value(v)).over(lo..=hi);
    let table = table.engines([Engine::Rgsw]);
    params.map_plan(&table).map_err(Failure::input)?;
    let bytes = |ct: &Ciphertext| ct.lattice().byte_len(params.ckks().lattice()) as u64;
    task.column.check_fits(&params)?;

    // The client.
    let mut stages = Stages::default();
    let needs = match task.refreshes {
        0 => Needs::new().multiply().map(),
        _ => Needs::new().multiply().map().bootstrap(),
    };
    let (client, keys) =
        stages.run(KEY_GENERATION, || generate(&params, &needs)).map_err(Failure::run)?;
    let eval_key_bytes = keys.byte_len() as u64;
    stages.made(eval_key_bytes);
    let declared = -task.deviations..=task.deviations;
    let x = stages.run("encryption", || client.encrypt(&task.x.values, declared));
    let x = x.map_err(Failure::input)?;
    stages.made(bytes(&x));

    // The server. Its refusals here depend on the numbers that the user chose.
    let server = Evaluator::new(keys).map_err(Failure::run)?;
    let [least, most] = task.function.declared_results(task.range);
    let mut z = x.clone();
    for round in 0..=task.refreshes {
        if round > 0 {
            z = stages
                .run(BOOTSTRAP, || refreshed(&server, &z, 1.0 - most..=1.0 - least))
                .map_err(Failure::run)?;
            stages.made(bytes(&z));
        }
        let v = stages
            .run(QUADRATIC, || quadratic(&server, &z, task.quadratic, task.range))
            .map_err(Failure::input)?;
        stages.made(bytes(&v));
        let reporting = server.clone();
        let y = stages
            .follow(|to| reporting.with_progress(to).map_with(&v, &table))
            .map_err(Failure::input)?;
        stages.made(bytes(&y));
        z = stages.run(ONE_MINUS, || one_minus(&server, &y)).map_err(Failure::run)?;
        stages.made(bytes(&z));
    }
    // The result leaves the server with the metadata that the program declares, and nothing else.
    // Values are decrypted if their error is below half of their magnitude.
    let declared = Declaration::from(1.0 - most..=1.0 - least).with_noise(0.25 * (most - least));
    let z = server.publish(&z, declared).map_err(Failure::run)?;

    // The client.
    let got = stages.run("decryption", || client.decrypt(&z)).map_err(Failure::run)?;
    let errors = Errors::between(&task.expected, &got);
    let report = Report {
        n: got.len(),
        preset: params.name().to_string(),
        security_bits: params.security_bits(),
        engine: server.engine().map_or("none", LutEngine::name).to_string(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: stages.seconds(&SERVER),
        max_abs_err: errors.max,
        mean_abs_err: errors.mean,
        eval_key_bytes,
        ciphertext_bytes: bytes(&x),
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    if let Some(path) = &arguments.data.out {
        output::write_out(path, &task.column.values, &task.expected, &got)?;
    }
    show(&console, task, &got, &errors, &report, &stages);
    if arguments.common.json {
        output::print_json(&Quickstart {
            report,
            max_err_bits: errors.max_bits(),
            mean_err_bits: errors.mean_bits(),
            function: task.function.name(),
            range: task.range,
            deviations: task.deviations,
            quadratic: task.quadratic,
            refreshes: task.refreshes,
            source: &task.column.source,
            column: &task.column.name,
            mean: task.x.mean,
            deviation: task.x.deviation,
            stages: &stages,
            sizes: &stages,
        })?;
    }
    Ok(())
}

/// The secrets of the client, and the public keys for the program.
fn generate(params: &Params, needs: &Needs) -> Result<(ClientKey, EvaluationKeys), Error> {
    let client = ClientKey::generate(params)?;
    let keys = client.evaluation_keys(needs)?;
    Ok((client, keys))
}

/// `1 - y`.
fn one_minus(server: &Evaluator, y: &Ciphertext) -> Result<Ciphertext, Error> {
    server.add_scalar(&server.neg(y)?, 1.0)
}

/// The same values with levels for another round. A bootstrap takes values of `[-1, 1]`: others are
/// divided by the largest magnitude of their declared range before, and multiplied after.
fn refreshed(
    server: &Evaluator,
    z: &Ciphertext,
    declared: RangeInclusive<f64>,
) -> Result<Ciphertext, Error> {
    let largest = declared.start().abs().max(declared.end().abs()).max(1.0);
    // The table's results lie in the declared range, and the error of its index moves none out.
    let z = server.assume_range(z, declared)?;
    if largest == 1.0 {
        return server.bootstrap(&z);
    }
    let unit = server.mul_scalar(&z, 1.0 / largest)?;
    server.mul_scalar(&server.bootstrap(&unit)?, largest)
}

/// `a x^2 + b x + c`.
///
/// Interval arithmetic treats the two `x` as independent, so it may derive a range that is too
/// wide. The range of `v` is then a promise of the owner of the data, who has checked every value
/// ([`prepare`]).
fn quadratic(
    server: &Evaluator,
    x: &Ciphertext,
    [a, b, c]: [f64; 3],
    range: [f64; 2],
) -> Result<Ciphertext, Error> {
    let [lo, hi] = range;
    let square = server.mul_scalar(&server.square(x)?, a)?;
    let v = server.add_scalar(&server.add(&square, &server.mul_scalar(x, b)?)?, c)?;
    if lo <= v.range().lo() && v.range().hi() <= hi {
        return Ok(v);
    }
    server.assume_range(&v, lo..=hi)
}

/// The report for people.
fn show(
    console: &Console,
    task: &Task,
    got: &[f64],
    errors: &Errors,
    report: &Report,
    stages: &Stages,
) {
    let [lo, hi] = task.range;
    let (function, formula) = (task.function.name(), formula(task.quadratic));
    console.say(format_args!(
        "1 - {function}({formula}) of {} encrypted values, {function} by look-up on [{lo:?}, \
         {hi:?}]",
        report.n
    ));
    if task.refreshes > 0 {
        console.say("twice in a row, with a bootstrap in between");
    }
    console.say(format_args!(
        "x: column '{}' of {}, mean {:.4}, deviation {:.4}",
        task.column.name, task.column.source, task.x.mean, task.x.deviation
    ));
    console.say(format_args!(
        "preset {}, {:.1}-bit security, engine {}, {} threads\n",
        report.preset, report.security_bits, report.engine, report.threads
    ));
    console.values(&task.column.values, &task.expected, got);
    console.errors(errors);
    console.stages(stages);
    let peak = report.peak_rss_bytes.map_or_else(|| "unknown".to_string(), human);
    console.say(format_args!("{:28} {:>11} {peak:>12}", "peak memory", ""));
}

/// `a x^2 + b x + c` in the usual notation.
fn formula([a, b, c]: [f64; 3]) -> String {
    let term = |k: f64| format!("{} {:?}", if k < 0.0 { '-' } else { '+' }, k.abs());
    format!("{a:?} x^2 {} x {}", term(b), term(c))
}
