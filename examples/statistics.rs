//! Statistics of encrypted columns (Full-RNS HEAAN, section 5.2, Table 3).
//!
//! The client scales every column of a table (iris, or `--csv FILE`) by its largest magnitude,
//! packs the rows into one ciphertext and encrypts it. The server computes sums, means, variances,
//! standard deviations, covariances, correlations and the standardised table. The client decrypts,
//! scales back and compares with the same statistics of the plain data.
//!
//! The numbers of rows and columns are public, and so are two ranges that do not depend on the
//! table: that of the scaled values, [-1, 1], and that of their variances (`--variances`), for
//! which the polynomial of the inverse square root is made. The scales stay secret with the client,
//! which refuses a table with a variance outside the range.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use bellerophon::ckks::{
    self, Ciphertext, CkksOps, Encoder, EvaluationKeys, Evaluator, Interval, LevelGroup,
    ModulusChain, ParamsSpec, SecretKey, Security,
    approx::{Approximation, Function, Known},
    simulator::{SimCiphertext, Simulator},
    statistics::Table,
};
use clap::Parser;
use common::args::{Common, parse_range};
use common::console::{Console, Stages};
use common::data;
use common::memory::{human, peak_rss_bytes};
use common::output::{self, Report};
use common::program::{self, Defaults, Failure};
use rand::{SeedableRng, rngs::SysRng};
use rand_chacha::ChaCha20Rng;
use serde::Serialize;

const KEY_GENERATION: &str = "key generation";
/// The one parameter set: N = 2^15, scale 2^45.
const PRESET: &str = "statistics";
const LOG_SCALE: u32 = 45;
/// `log2` of the error of the inverse square roots of variances.
const ROOT_ERROR: f64 = -20.0;
/// The largest number of rows with `--small`.
const SMALL: usize = 32;
/// The largest number of columns shown and of columns with covariances.
const MOST_COLUMNS: usize = 64;
/// The largest magnitude of a column: squares and their sums stay within `f64`.
const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-100..=1e100;
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

    /// Declared range of the variances of the columns, each scaled to values up to 1: it becomes
    /// public, and a wider one takes more levels [default: 0.00390625,1]
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

/// Columns, and their values scaled to [-1, 1].
struct Data {
    source: String,
    names: Vec<String>,
    rows: Vec<Vec<f64>>,
    scaled: Vec<Vec<f64>>,
    scales: Vec<f64>,
}

/// A statistic: its result in the units of the data.
#[derive(Debug, Serialize)]
struct Row {
    statistic: &'static str,
    eval_s: f64,
    levels: usize,
    expected: Vec<f64>,
    got: Vec<f64>,
    /// Relative to the unit of the scaled data.
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
        compute(arguments, &prepare(arguments)?)
    })
}

/// Reads, scales and checks the data. All errors of the user are found here.
fn prepare(arguments: &Arguments) -> Result<Data, Failure> {
    let data::Table { source, names, mut rows } =
        data::load_table(arguments.csv.as_deref(), &arguments.column)?;
    if names.len() > MOST_COLUMNS {
        let found = names.len();
        return Err(Failure::input(format!(
            "{source}: {found} columns, at most {MOST_COLUMNS} at a time; choose some by --column"
        )));
    }
    if arguments.common.small {
        // Rows from all over the table, which may be sorted.
        let step = rows.len().div_ceil(SMALL);
        rows = rows.into_iter().step_by(step).collect();
    }
    if rows.len() < 2 {
        return Err(Failure::input(format!("{source}: at least two rows are needed")));
    }
    let mut scales = Vec::with_capacity(names.len());
    for (c, name) in names.iter().enumerate() {
        if rows.iter().all(|row| row[c] == rows[0][c]) {
            return Err(Failure::input(format!(
                "{source}: column '{name}' has one value only, and so no standard deviation to \
                 divide by"
            )));
        }
        let scale = rows.iter().fold(0.0f64, |m, row| m.max(row[c].abs()));
        if !MAGNITUDES.contains(&scale) {
            return Err(Failure::input(format!(
                "{source}: column '{name}': its largest magnitude must lie between {:e} and {:e}",
                MAGNITUDES.start(),
                MAGNITUDES.end()
            )));
        }
        scales.push(scale);
    }
    let scale = |row: &Vec<f64>| row.iter().zip(&scales).map(|(x, s)| x / s).collect();
    let scaled = rows.iter().map(scale).collect();
    Ok(Data { source, names, rows, scaled, scales })
}

/// Means and second moments of the plain data.
struct Truth {
    means: Vec<f64>,
    covariances: Vec<Vec<f64>>,
}

impl Truth {
    fn of(rows: &[Vec<f64>]) -> Self {
        let n = rows.len() as f64;
        let width = rows[0].len();
        let means: Vec<f64> =
            (0..width).map(|c| rows.iter().map(|row| row[c]).sum::<f64>() / n).collect();
        let covariance = |i: usize, j: usize| {
            rows.iter().map(|row| (row[i] - means[i]) * (row[j] - means[j])).sum::<f64>() / n
        };
        let covariances =
            (0..width).map(|i| (0..width).map(|j| covariance(i, j)).collect()).collect();
        Self { means, covariances }
    }
}

/// The statistics, in the order of computation.
#[derive(Debug, Clone, Copy)]
enum Statistic {
    Sum,
    Mean,
    Variance,
    StandardDeviation,
    Covariance,
    Correlation,
    Standardised,
}

impl Statistic {
    const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Variance => "variance",
            Self::StandardDeviation => "standard deviation",
            Self::Covariance => "covariance",
            Self::Correlation => "correlation",
            Self::Standardised => "standardised",
        }
    }

    /// Computes the statistic of a table, standard deviations from variances. All slots of each
    /// result repeat it.
    fn of<A: CkksOps>(
        self,
        a: &A,
        table: &Table,
        x: &A::Ciphertext,
        root: &Approximation,
    ) -> ckks::Result<Vec<A::Ciphertext>> {
        let results = match self {
            Self::Sum => vec![table.sums(a, x)?],
            Self::Mean => vec![table.means(a, x)?],
            Self::Variance => vec![table.variances(a, x)?],
            Self::StandardDeviation => vec![table.standard_deviations(a, x, root)?],
            Self::Covariance => table.covariance_matrix(a, x)?,
            Self::Correlation => table.correlations(a, x, root)?,
            Self::Standardised => vec![table.standardised(a, x, root)?],
        };
        let slots = |y: A::Ciphertext| {
            let slots = a.metadata(&y).meta.slots;
            a.with_len(y, slots)
        };
        results.into_iter().map(slots).collect()
    }
}

/// Collects the statistics as they are computed.
struct Session<'a> {
    params: &'a ckks::Params,
    secret: &'a SecretKey,
    server: &'a Evaluator,
    table: &'a Table,
    root: &'a Approximation,
    /// Predicts the declarations of results, from the shape of the table and the declared ranges.
    simulator: Simulator,
    top: usize,
    stages: Stages,
    rows: Vec<Row>,
    eval_s: f64,
}

impl Session<'_> {
    /// Computes one statistic on the server, publishes and decrypts it and records its time. The
    /// declaration of the results is that of the same statistic on declared inputs.
    fn measure(
        &mut self,
        statistic: Statistic,
        (x, foreseen): (&Ciphertext, &SimCiphertext),
    ) -> Result<(Vec<Ciphertext>, Vec<Vec<f64>>), Failure> {
        let Self { server, table, root, .. } = *self;
        let begin = Instant::now();
        let work = || statistic.of(server, table, x, root);
        let results = self.stages.run(statistic.name(), work).map_err(Failure::run)?;
        let eval_s = begin.elapsed().as_secs_f64();
        self.eval_s += eval_s;
        let declared =
            statistic.of(&self.simulator, table, foreseen, root).map_err(Failure::run)?;
        let decrypt = |(ct, declared): (&Ciphertext, &SimCiphertext)| {
            let published = server.publish(ct, declared)?;
            ckks::decrypt_values::<f64>(self.params, published.as_ref(), self.secret)
        };
        let values = results.iter().zip(&declared).map(decrypt).collect::<ckks::Result<_>>();
        let level = results.iter().map(Ciphertext::level).min().unwrap_or(self.top);
        self.rows.push(Row {
            statistic: statistic.name(),
            eval_s,
            levels: self.top - level,
            expected: vec![],
            got: vec![],
            max_abs_err: 0.0,
            error_bits: 0.0,
        });
        Ok((results, values.map_err(Failure::run)?))
    }

    /// Compares the latest statistic with the exact one, in units of the data.
    fn compare(&mut self, expected: Vec<f64>, got: Vec<f64>, units: &[f64]) {
        let row = self.rows.last_mut().expect("a statistic was measured");
        let error = |((e, g), unit): ((&f64, &f64), &f64)| {
            let error = ((e - g) / unit).abs();
            if error.is_nan() { f64::INFINITY } else { error }
        };
        row.max_abs_err = expected.iter().zip(&got).zip(units).map(error).fold(0.0, f64::max);
        row.error_bits = -row.max_abs_err.log2();
        (row.expected, row.got) = (expected, got);
    }
}

/// The protocol: client, server, client.
fn compute(arguments: &Arguments, data: &Data) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let width = data.names.len();
    let table = Table::new(data.rows.len(), width).map_err(Failure::input)?;
    let (truth, scaled) = (Truth::of(&data.rows), Truth::of(&data.scaled));
    let [lo, hi] = arguments.variances.unwrap_or(VARIANCES);
    if let Some(c) = (0..width).find(|&c| !(lo..=hi).contains(&scaled.covariances[c][c])) {
        return Err(Failure::input(format!(
            "{}: column '{}', scaled to values up to 1, has a variance outside the declared range \
             [{lo:?}, {hi:?}]; give another one by --variances, or leave the column out",
            data.source, data.names[c]
        )));
    }
    let wide = |error| Failure::input(format!("--variances {lo:?},{hi:?} is too wide: {error}"));
    let root = Approximation::new(&Function::from(Known::InverseSqrt), lo, hi, ROOT_ERROR)
        .map_err(wide)?;
    let levels = Table::correlation_levels(&root).max(Table::standardised_levels(&root));
    let params = parameters(levels).map_err(wide)?;
    if table.slots() > params.max_slots() {
        return Err(Failure::input(format!(
            "{}: {} rows of {width} columns take {} slots, but one ciphertext holds {}",
            data.source,
            data.rows.len(),
            table.slots(),
            params.max_slots()
        )));
    }

    // The client.
    let mut rng = ChaCha20Rng::try_from_rng(&mut SysRng).map_err(Failure::run)?;
    let mut stages = Stages::default();
    let (secret, keys) = stages.run(KEY_GENERATION, || -> Result<_, Failure> {
        let secret = SecretKey::generate(params.lattice(), &mut rng).map_err(Failure::run)?;
        let keys = EvaluationKeys::generate(&params, &secret, &table.keys(levels), &mut rng);
        Ok((secret, keys.map_err(Failure::run)?))
    })?;
    let unit = Interval::real(-1.0, 1.0).map_err(Failure::run)?;
    let x = stages.run("encryption", || -> ckks::Result<Ciphertext> {
        let packed = table.pack(&data.scaled)?;
        let plain = Encoder::new(&params).encode(&packed, unit, params.scale(), params.limbs())?;
        ckks::encrypt(&params, &plain, &secret, &mut rng)
    });
    let x = x.map_err(Failure::run)?;

    // The server; the client compares after each statistic.
    let eval = Evaluator::new(&params, &keys).map_err(Failure::run)?;
    // Any table of the same shape and range, with variances in the declared range.
    let simulator = Simulator::new(&params);
    let any: Vec<Vec<f64>> =
        (0..data.rows.len()).map(|i| vec![if i % 2 == 0 { -0.5 } else { 0.5 }; width]).collect();
    let any = table.pack(&any).and_then(|any| simulator.encrypt(&any, unit, levels));
    let any = any.map_err(Failure::run)?;
    let any_variances = table.variances(&simulator, &any).map_err(Failure::run)?;
    let mut session = Session {
        params: &params,
        secret: &secret,
        server: &eval,
        table: &table,
        root: &root,
        simulator,
        top: levels,
        stages,
        rows: vec![],
        eval_s: 0.0,
    };
    let units = &data.scales;
    let squares: Vec<f64> = units.iter().map(|s| s * s).collect();
    let back = |values: &[f64], units: &[f64]| -> Vec<f64> {
        values.iter().zip(units).map(|(x, s)| x * s).collect()
    };
    let rows = data.rows.len() as f64;
    let (_, got) = session.measure(Statistic::Sum, (&x, &any))?;
    let sums = truth.means.iter().map(|m| m * rows).collect();
    session.compare(
        sums,
        back(&got[0], units),
        &units.iter().map(|s| s * rows).collect::<Vec<_>>(),
    );
    let (_, got) = session.measure(Statistic::Mean, (&x, &any))?;
    session.compare(truth.means.clone(), back(&got[0], units), units);
    let (variances, got) = session.measure(Statistic::Variance, (&x, &any))?;
    let expected: Vec<f64> = (0..width).map(|c| truth.covariances[c][c]).collect();
    session.compare(expected.clone(), back(&got[0], &squares), &squares);
    let (_, got) =
        session.measure(Statistic::StandardDeviation, (&variances[0], &any_variances))?;
    let deviations: Vec<f64> = expected.iter().map(|v| v.sqrt()).collect();
    session.compare(deviations.clone(), back(&got[0], units), units);

    let (_, got) = session.measure(Statistic::Covariance, (&x, &any))?;
    let products: Vec<f64> = units.iter().flat_map(|a| units.iter().map(move |b| a * b)).collect();
    let got = back(&table.symmetric(&got).map_err(Failure::run)?.concat(), &products);
    session.compare(truth.covariances.concat(), got, &products);
    let (_, got) = session.measure(Statistic::Correlation, (&x, &any))?;
    let correlation =
        |i: usize, j: usize| truth.covariances[i][j] / (deviations[i] * deviations[j]);
    let expected = (0..width).flat_map(|i| (0..width).map(move |j| (i, j)));
    let expected: Vec<f64> = expected.map(|(i, j)| correlation(i, j)).collect();
    let got = table.symmetric(&got).map_err(Failure::run)?.concat();
    session.compare(expected, got, &vec![1.0; width * width]);

    let (_, got) = session.measure(Statistic::Standardised, (&x, &any))?;
    let got = table.unpack(&got[0]).map_err(Failure::run)?.concat();
    let standard = |row: &Vec<f64>| -> Vec<f64> {
        (0..width).map(|c| (row[c] - truth.means[c]) / deviations[c]).collect()
    };
    let expected = data.rows.iter().map(standard).collect::<Vec<_>>().concat();
    if let Some(path) = &arguments.out {
        output::write_out(path, &data.rows.concat(), &expected, &got)?;
    }
    let ones = vec![1.0; got.len()];
    session.compare(expected, got, &ones);

    report(arguments, &console, data, &params, &keys, &x, &root, session)
}

/// N = 2^15, 128 bits.
fn parameters(levels: usize) -> ckks::Result<ckks::Params> {
    let chain = ModulusChain {
        degree: 1 << 15,
        first_bits: LOG_SCALE + 10,
        levels: vec![LevelGroup::single(LOG_SCALE, levels)],
        special: (50, 3),
    };
    ParamsSpec::from_chain(&chain, LOG_SCALE, Security::Bits128).and_then(ckks::Params::new)
}

/// The report for people and programs.
#[expect(clippy::too_many_arguments, reason = "all that the run left behind")]
fn report(
    arguments: &Arguments,
    console: &Console,
    data: &Data,
    params: &ckks::Params,
    keys: &EvaluationKeys,
    x: &Ciphertext,
    root: &Approximation,
    session: Session<'_>,
) -> Result<(), Failure> {
    let Session { stages, rows, eval_s, top, .. } = session;
    let largest = rows.iter().map(|row| row.max_abs_err).fold(0.0, f64::max);
    let mean = rows.iter().map(|row| row.max_abs_err).sum::<f64>() / rows.len() as f64;
    let report = Report {
        n: data.rows.len() * data.names.len(),
        preset: PRESET.to_string(),
        security_bits: params.security_bits(),
        engine: "ckks".to_string(),
        keygen_s: stages.seconds(&[KEY_GENERATION]),
        eval_s,
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
    for row in &rows {
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
            variances: [root.domain().lo(), root.domain().hi()],
            statistics: &rows,
            root_error: root.error(),
            levels: top,
            stages: &stages,
        })?;
    }
    Ok(())
}
