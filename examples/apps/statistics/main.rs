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

mod columns;
mod moments;

use std::path::PathBuf;
use std::process::ExitCode;

use bellerophon::{
    circuits::{
        approx::{Approximation, Function, Known},
        statistics::DataTable,
    },
    ckks::{self, Interval, LevelGroup, ModulusChain, ParamsSpec, Security, simulator::Simulator},
    prelude::*,
};
use columns::{Columns, Origin};
use common::args::parse_range;
use common::data;
use common::prelude::*;
use moments::{Statistic, Truth};

/// The one parameter set: N = 2^15, scale 2^45.
const PRESET: &str = "statistics";
const LOG_SCALE: u32 = 45;
/// Bits of the inverse square roots of variances.
const ROOT_BITS: f64 = 20.0;
const SMALL: usize = 32;
/// The default range of the variances of scaled columns. Columns of values up to 1 have no variance
/// above 1.
const VARIANCES: [f64; 2] = [1.0 / 256.0, 1.0];
const UNIT: std::ops::RangeInclusive<f64> = -1.0..=1.0;

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

fn main() -> ExitCode {
    program::report(Defaults::of(&[PRESET]), |arguments: &Arguments, _| {
        output::check_out(arguments.out.as_deref(), arguments.csv.as_deref())?;
        let data = prepare(arguments)?;
        compute(arguments, &data, &Plan::new(arguments, &data)?)
    })
}

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
    table: DataTable,
    truth: Truth,
    root: Approximation,
    params: Params,
    /// The declarations of the results of each statistic, for any table of the shape and the
    /// ranges.
    declared: Vec<Vec<Declaration>>,
}

impl Plan {
    /// Refuses what does not fit: variances, slots, levels, and results beyond the lowest modulus.
    fn new(arguments: &Arguments, data: &Columns) -> Result<Self, Failure> {
        let (rows, width) = (data.rows.len(), data.names.len());
        let table = DataTable::new(rows, width).map_err(Failure::input)?;
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
        let levels =
            DataTable::correlation_levels(&root).max(DataTable::standardised_levels(&root));
        let params = parameters(levels, lo).map_err(wide)?;
        if table.slots() > params.slots() {
            return Err(Failure::input(format!(
                "{}: {rows} rows of {width} columns take {} slots, but one ciphertext holds {}",
                data.source,
                table.slots(),
                params.slots()
            )));
        }
        let unit = Interval::real(*UNIT.start(), *UNIT.end())?;
        // Any table: its variances are in every declared range.
        let part = (0.5 * (lo + hi)).sqrt();
        let any = |i: usize| vec![if i.is_multiple_of(2) { -part } else { part }; width];
        let any = table.pack(&(0..rows).map(any).collect::<Vec<_>>())?;
        let simulator = Simulator::new(params.ckks());
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
        Ok(Self { table, truth, root, params, declared })
    }
}

fn compute(arguments: &Arguments, data: &Columns, plan: &Plan) -> Result<Facts, Failure> {
    let Plan { table, truth, root, params, declared } = plan;
    let (levels, width) = (params.levels(), data.names.len());

    // The client.
    let mut session = Session::open(params.clone(), &Needs::new().keys(&table.keys(levels)))?;
    let x = session.encrypt(&table.pack(&data.scaled)?, UNIT, levels)?;

    // The server computes and publishes; the client decrypts and compares after each statistic.
    let (mut variances, mut rows, mut errors) = (vec![], vec![], vec![]);
    let mut last = (vec![], vec![]);
    for (statistic, declared) in Statistic::ALL.into_iter().zip(declared) {
        let name = statistic.name();
        let operand = statistic.operand(&x, &variances);
        let results = session.serve(name, |server| statistic.of(server, table, operand, root))?;
        let read = |(y, declared): (&Ciphertext, &Declaration)| session.read(y, *declared);
        let slots = results.iter().zip(declared).map(read).collect::<Result<Vec<_>, _>>()?;
        let got = statistic.read(table, width, &slots)?;
        let expected = statistic.expected(&data.scaled, truth);
        // In units of the scaled data.
        let error = Errors::between(&expected, &got).max / statistic.error_unit(data.rows.len());
        let level = results.iter().map(Ciphertext::level).min().unwrap_or(levels);
        last = (statistic.in_units(data, &expected), statistic.in_units(data, &got));
        rows.push(
            Facts::default()
                .with("statistic", name)
                .with("eval_s", session.stages.seconds(&[name]))
                .with("levels", levels - level)
                .with("expected", &last.0)
                .with("got", &last.1)
                .with("max_abs_err", error)
                .with("error_bits", -error.log2()),
        );
        errors.push(error);
        if statistic == Statistic::Variance {
            variances = results;
        }
    }
    output::write_out(arguments.out.as_deref(), &data.rows.concat(), &last.0, &last.1)?;
    let errors = Errors::between(&vec![0.0; errors.len()], &errors);
    // `ranges` are those of the columns that were mapped onto [-1, 1], `variances` is the declared
    // range of variances of scaled columns, `root_error` the certified error of their inverse
    // square roots.
    Ok(session
        .report(data.rows.len() * width, "ckks", &errors)
        .with("source", &data.source)
        .with("columns", &data.names)
        .with("rows", data.rows.len())
        .with("ranges", &data.ranges)
        .with("ranges_from", data.origin.name())
        .with("variances", [root.domain().lo(), root.domain().hi()])
        .rows("statistics", rows)
        .with("root_error", root.error())
        .with("levels", levels)
        .seconds("stages", &session.stages))
}

/// N = 2^15, 128 bits. The lowest prime holds the largest results: where columns have no partner, a
/// slot of the correlations may be as large as `1 + 2 / lo` for variances from `lo` on.
fn parameters(levels: usize, lo: f64) -> ckks::Result<Params> {
    let headroom = (1.0 + 2.0 / lo).log2().ceil() as u32 + 2;
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: LOG_SCALE + headroom,
        levels: vec![LevelGroup::single(LOG_SCALE, levels)],
        special: (50, 3),
    };
    let slots = ParamsSpec::from_chain(&chain, LOG_SCALE, Security::Bits128)?;
    Params::new(bellerophon::ParamsSpec::arithmetic(PRESET, slots))
}
