//! Statistics of encrypted columns (Full-RNS HEAAN, section 5.2, Table 3).
//!
//! The client maps the range of every column of a table (iris, or `--csv FILE`) onto [-1, 1], packs
//! the rows into one ciphertext and encrypts it. The server computes sums, means, variances,
//! standard deviations, covariances, correlations and the standardised table. The client decrypts,
//! returns to the units of the data and compares with the same statistics of the plain data.
//!
//! The ranges of the columns are those of `--range`, the documented ones of the iris table, or else
//! those of the client's own values. The last ones stay with the client, which owns the values as
//! well as the results: years and time stamps need no flag.
//!
//! The numbers of rows and columns are public, and so are two ranges that do not depend on the
//! table: that of the scaled values, [-1, 1], and that of their variances (`--variances`), for
//! which the polynomial of the inverse square root is made. The client refuses a table with a
//! variance outside that range, and whatever the levels or the slots do not suffice for, before it
//! makes a key.

#[path = "statistics/columns.rs"]
mod columns;
#[path = "statistics/moments.rs"]
mod moments;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use bellerophon::ckks::{
    self, Ciphertext, Declaration, Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup,
    ModulusChain, ParamsSpec, SecretKey, Security,
    approx::{Accuracy, Approximation, Function, Known},
    simulator::Simulator,
    statistics::Table,
};
use clap::Parser;
use columns::{Columns, Origin};
use common::args::{Common, parse_range};
use common::console::{Console, Stages};
use common::data;
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use common::stats::Errors;
use moments::{Statistic, Truth};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

const KEY_GENERATION: &str = "key generation";
/// The one parameter set: N = 2^15, scale 2^45.
const PRESET: &str = "statistics";
const LOG_SCALE: u32 = 45;
/// Bits of the inverse square roots of variances.
const ROOT_BITS: f64 = 20.0;
/// The largest number of rows with `--small`.
const SMALL: usize = 32;
/// The default range of the variances of scaled columns. Columns of values up to 1 have no variance
/// above 1.
const VARIANCES: [f64; 2] = [1.0 / 256.0, 1.0];

/// Encrypts a table and computes statistics of its columns
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Numeric table to read (comma separated, first line = column names) instead of the iris table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Columns to take, with commas [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    column: Vec<String>,

    /// Write a table of input, expected and got: the standardised values, row by row
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Declared range of all columns, which contains their values and is mapped onto [-1, 1]
    /// [default: the documented ranges of iris, or the client's own values, whose range stays with
    /// it]
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// Declared range of the variances of the columns, each scaled to [-1, 1]: it becomes public,
    /// and a wider one takes more levels [default: 0.00390625,1]
    #[arg(long, value_name = "LO,HI", value_parser = parse_variances)]
    variances: Option<[f64; 2]>,
}

/// Parses `LO,HI` with `0 < LO < HI <= 1`.
fn parse_variances(text: &str) -> Result<[f64; 2], String> {
    match parse_range(text)? {
        [lo, hi] if lo > 0.0 && hi <= 1.0 => Ok([lo, hi]),
        _ => Err("expected 0 < LO < HI <= 1".to_string()),
    }
}

/// A statistic: its result in the units of the data.
#[derive(Debug, Serialize)]
struct Row {
    statistic: &'static str,
    eval_s: f64,
    levels: usize,
    expected: Vec<f64>,
    got: Vec<f64>,
    /// In units of the scaled data.
    max_abs_err: f64,
    error_bits: f64,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Statistics<'a> {
    #[serde(flatten)]
    report: Report,
    source: &'a str,
    columns: &'a [String],
    rows: usize,
    /// The range of each column that was mapped onto [-1, 1], and where it comes from.
    ranges: &'a [[f64; 2]],
    ranges_from: &'a str,
    /// The declared range of variances of scaled columns.
    variances: [f64; 2],
    statistics: &'a [Row],
    /// Certified error of the inverse square roots of variances.
    root_error: f64,
    levels: usize,
    #[serde(serialize_with = "Stages::as_seconds")]
    stages: &'a Stages,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &[PRESET], threads: None };
    program::run(defaults, |arguments: &Arguments| {
        output::check_out(arguments.out.as_deref(), arguments.csv.as_deref())?;
        let data = prepare(arguments)?;
        compute(arguments, &data, &Plan::new(arguments, &data)?)
    })
}

/// Reads, scales and checks the data.
fn prepare(arguments: &Arguments) -> Result<Columns, Failure> {
    let mut table = data::load_table(arguments.csv.as_deref(), &arguments.column)?;
    if arguments.common.small {
        // Rows from all over the table, which may be sorted.
        let step = table.rows.len().div_ceil(SMALL);
        table.rows = table.rows.into_iter().step_by(step).collect();
    }
    let origin = match (arguments.range, &arguments.csv) {
        (Some(_), _) => Origin::Declared,
        (None, None) => Origin::Documented,
        (None, Some(_)) => Origin::Own,
    };
    Columns::of(table, origin, arguments.range)
}

/// What is computed, and how: all that is known before any work.
struct Plan {
    table: Table,
    truth: Truth,
    root: Approximation,
    params: ckks::Params,
    /// The range of scaled values.
    unit: Interval,
    /// The declarations of the results of each statistic, for any table of the shape and the
    /// ranges.
    declared: Vec<Vec<Declaration>>,
}

impl Plan {
    /// Refuses what does not fit: variances, slots, levels, and results beyond the lowest modulus.
    fn new(arguments: &Arguments, data: &Columns) -> Result<Self, Failure> {
        let (rows, width) = (data.rows.len(), data.names.len());
        let table = Table::new(rows, width).map_err(Failure::input)?;
        let truth = Truth::of(&data.scaled);
        let [lo, hi] = arguments.variances.unwrap_or(VARIANCES);
        if let Some(c) = truth.variances().iter().position(|v| !(lo..=hi).contains(v)) {
            return Err(Failure::input(format!(
                "{}: column '{}', scaled to [-1, 1], has a variance outside the declared range \
                 [{lo:?}, {hi:?}]; give another one by --variances, a narrower --range if there is \
                 one, or leave the column out by --column",
                data.source, data.names[c]
            )));
        }
        let wide =
            |error| Failure::input(format!("--variances {lo:?},{hi:?} is too wide: {error}"));
        let accuracy = Accuracy::bits(ROOT_BITS);
        let root = Approximation::new(&Function::from(Known::InverseSqrt), lo, hi, accuracy)
            .map_err(wide)?;
        let levels = Table::correlation_levels(&root).max(Table::standardised_levels(&root));
        let params = parameters(levels, lo).map_err(wide)?;
        if table.slots() > params.max_slots() {
            return Err(Failure::input(format!(
                "{}: {rows} rows of {width} columns take {} slots, but one ciphertext holds {}",
                data.source,
                table.slots(),
                params.max_slots()
            )));
        }
        let unit = Interval::real(-1.0, 1.0).map_err(Failure::run)?;
        // Any table: its variances are in every declared range.
        let part = (0.5 * (lo + hi)).sqrt();
        let any = |i: usize| vec![if i.is_multiple_of(2) { -part } else { part }; width];
        let any = table.pack(&(0..rows).map(any).collect::<Vec<_>>()).map_err(Failure::run)?;
        let simulator = Simulator::new(&params);
        let any = simulator.encrypt(&any, unit, levels).map_err(wide)?;
        let (mut variances, mut declared) = (vec![], vec![]);
        for statistic in Statistic::ALL {
            let operand = statistic.operand(&any, &variances);
            let results = statistic.of(&simulator, &table, operand, &root).map_err(wide)?;
            declared.push(results.iter().map(Declaration::from).collect());
            if statistic == Statistic::Variance {
                variances = results;
            }
        }
        Ok(Self { table, truth, root, params, unit, declared })
    }
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, data: &Columns, plan: &Plan) -> Result<(), Failure> {
    let Plan { table, truth, root, params, unit, declared } = plan;
    let levels = params.max_level();

    // The client.
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let mut stages = Stages::default();
    let (secret, keys) = stages.run(KEY_GENERATION, || -> Result<_, Failure> {
        let secret = SecretKey::generate(params.lattice(), &mut rng).map_err(Failure::run)?;
        let keys = EvaluationKeys::generate(params, &secret, &table.keys(levels), &mut rng);
        Ok((secret, keys.map_err(Failure::run)?))
    })?;
    let x = stages.run("encryption", || -> ckks::Result<Ciphertext> {
        let packed = table.pack(&data.scaled)?;
        let plain = Encoder::new(params).encode(&packed, *unit, params.scale(), params.limbs())?;
        ckks::encrypt(params, &plain, &secret, &mut rng)
    });
    let x = x.map_err(Failure::run)?;

    // The server computes and publishes; the client decrypts and compares after each statistic.
    let server = Evaluator::new(params, &keys).map_err(Failure::run)?;
    let (mut variances, mut rows) = (vec![], vec![]);
    for (statistic, declared) in Statistic::ALL.into_iter().zip(declared) {
        let begin = Instant::now();
        let operand = statistic.operand(&x, &variances);
        let work = || statistic.of(&server, table, operand, root);
        let results = stages.run(statistic.name(), work).map_err(Failure::run)?;
        let eval_s = begin.elapsed().as_secs_f64();
        let decrypt = |(ct, declared): (&Ciphertext, &Declaration)| {
            let published = server.publish(ct, *declared)?;
            ckks::decrypt_values::<f64>(params, published.as_ref(), &secret)
        };
        let slots = results.iter().zip(declared).map(decrypt).collect::<ckks::Result<Vec<_>>>();
        let got = statistic.read(table, data.names.len(), &slots.map_err(Failure::run)?);
        let got = got.map_err(Failure::run)?;
        let expected = statistic.expected(&data.scaled, truth);
        let max_abs_err =
            Errors::between(&expected, &got).max / statistic.error_unit(data.rows.len());
        let level = results.iter().map(Ciphertext::level).min().unwrap_or(levels);
        rows.push(Row {
            statistic: statistic.name(),
            eval_s,
            levels: levels - level,
            expected: statistic.in_units(data, &expected),
            got: statistic.in_units(data, &got),
            max_abs_err,
            error_bits: -max_abs_err.log2(),
        });
        if statistic == Statistic::Variance {
            variances = results;
        }
    }
    if let (Some(path), Some(last)) = (&arguments.out, rows.last()) {
        output::write_out(path, &data.rows.concat(), &last.expected, &last.got)?;
    }
    report(arguments, data, plan, &keys, &x, &stages, &rows)
}

/// N = 2^15, 128 bits. The lowest prime holds the largest results: where columns have no partner, a
/// slot of the correlations may be as large as `1 + 2 / lo` for variances from `lo` on.
fn parameters(levels: usize, lo: f64) -> ckks::Result<ckks::Params> {
    let headroom = (1.0 + 2.0 / lo).log2().ceil() as u32 + 2;
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: LOG_SCALE + headroom,
        levels: vec![LevelGroup::single(LOG_SCALE, levels)],
        special: (50, 3),
    };
    ParamsSpec::from_chain(&chain, LOG_SCALE, Security::Bits128).and_then(ckks::Params::new)
}

/// The report for people and programs.
fn report(
    arguments: &Arguments,
    data: &Columns,
    plan: &Plan,
    keys: &EvaluationKeys,
    x: &Ciphertext,
    stages: &Stages,
    rows: &[Row],
) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let Plan { params, root, .. } = plan;
    let top = params.max_level();
    let largest = rows.iter().map(|row| row.max_abs_err).fold(0.0, f64::max);
    let mean = rows.iter().map(|row| row.max_abs_err).sum::<f64>() / rows.len() as f64;
    let report = Report {
        n: data.rows.len() * data.names.len(),
        preset: PRESET.to_string(),
        security_bits: params.security_bits(),
        engine: "ckks".to_string(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s: rows.iter().map(|row| row.eval_s).sum(),
        max_abs_err: largest,
        mean_abs_err: mean,
        eval_key_bytes: keys.byte_len() as u64,
        ciphertext_bytes: x.lattice().byte_len(params.lattice()) as u64,
        peak_rss_bytes: peak_rss_bytes(),
        threads: rayon::current_num_threads(),
    };
    console.say(format_args!(
        "statistics of {} encrypted rows and {} columns ({}) of {}",
        data.rows.len(),
        data.names.len(),
        data.names.join(", "),
        data.source
    ));
    console.say(format_args!("ranges of the columns: {}", data.origin.name()));
    console.say(format_args!(
        "N = {}, {top} levels at scale 2^{LOG_SCALE}, {:.1}-bit security, {} thread(s); inverse square roots to {:.1e}\n",
        params.lattice().spec().degree,
        report.security_bits,
        report.threads,
        root.error()
    ));
    console.say(format_args!(
        "{:20} {:>7} {:>9} {:>6}  first expected and got",
        "statistic", "levels", "time", "bits"
    ));
    for row in rows {
        console.say(format_args!(
            "{:20} {:>7} {:>7.3} s {:>6.1}  {:.8} {:.8}",
            row.statistic, row.levels, row.eval_s, row.error_bits, row.expected[0], row.got[0]
        ));
    }
    console.say(format_args!(
        "\nkeys {:.2} s, {}; table {}; peak memory {}",
        report.keygen_s,
        human(report.eval_key_bytes),
        human(report.ciphertext_bytes),
        report.peak_rss_bytes.map_or_else(|| "unknown".to_string(), human)
    ));
    if arguments.common.json {
        output::print_json(&Statistics {
            report,
            source: &data.source,
            columns: &data.names,
            rows: data.rows.len(),
            ranges: &data.ranges,
            ranges_from: data.origin.name(),
            variances: [root.domain().lo(), root.domain().hi()],
            statistics: rows,
            root_error: root.error(),
            levels: top,
            stages,
        })?;
    }
    Ok(())
}
