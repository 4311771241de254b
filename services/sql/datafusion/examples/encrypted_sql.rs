//! SQL over an encrypted column: mean, variance, a sum for each group, and a function of every
//! value, each compared with the same query in the clear and with the same work by rayon alone.
//!
//! The client encrypts a table into a Parquet file and stores its public keys under their hashes.
//! The server, a session of DataFusion, has that file and these keys. The groups, their sizes and
//! the declared range of the column are public.

#[path = "encrypted_sql/bare.rs"]
mod bare;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use bare::Bare;
use bellerophon::{Engine, ProgramBounds, mlwe::Security, prelude::*};
use bellerophon_datafusion::{
    EncryptedColumn, Node, NodeOptions, SessionOptions, TableOptions, TableWriter, Values, decrypt,
    session,
};
use clap::Parser;
use common::{
    args::{Common, parse_range},
    console::Console,
    cpu::cpu_seconds,
    memory::{human, peak_rss_bytes},
    output::{self, Report},
    program::{self, Defaults, Failure},
    random,
    stats::Errors,
};
use datafusion::{
    arrow::{
        array::{Array, AsArray, Float64Array, StringArray},
        compute::cast,
        datatypes::{DataType, Float64Type},
        record_batch::RecordBatch,
    },
    object_store::local::LocalFileSystem,
    prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext},
};
use futures::StreamExt;
use rand::RngExt;
use serde::Serialize;

/// The one parameter set: vectors of 8192 values, seven products in a row.
const PRESET: &str = "sql";
const SLOTS: usize = 1 << 13;
const DEPTH: usize = 7;
const BITS: f64 = 22.0;
/// Rows and groups of the generated table.
const ROWS: usize = 1_000_000;
const SMALL: usize = 100_000;
const GROUPS: [&str; 8] = ["ne", "nw", "se", "sw", "north", "east", "south", "west"];
const RANGE: [f64; 2] = [-4.0, 4.0];
/// The sigmoid of wider ranges takes their values scaled to [-4, 4].
const WIDE: f64 = 8.0;
const MARGIN: f64 = 1.0 / 32.0;
/// Bits after the binary point of the function of every value.
const MAP_BITS: f64 = 12.0;

/// Runs SQL over an encrypted column, in this process
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Table to read (comma separated, first line = column names) instead of a generated one
    #[arg(long, value_name = "FILE", requires = "column")]
    csv: Option<PathBuf>,

    /// Column to encrypt
    #[arg(long, value_name = "NAME", requires = "csv")]
    column: Option<String>,

    /// Declared range of the column, which becomes public and must not depend on the values
    #[arg(long, value_name = "LO,HI", value_parser = parse_range, allow_hyphen_values = true)]
    range: Option<[f64; 2]>,

    /// Column whose values are the groups, in the clear
    #[arg(long, value_name = "NAME", requires = "csv")]
    group: Option<String>,
}

/// A column in the clear, and the group of every row.
struct Plain {
    source: String,
    range: [f64; 2],
    values: Vec<f64>,
    groups: Vec<String>,
}

/// Runs of a query, and of the same work by rayon alone: in turns, of which the fastest counts.
const RUNS: usize = 3;

/// A query beside the same work by rayon alone.
#[derive(Debug, Serialize)]
struct Query {
    query: &'static str,
    ciphertexts: usize,
    eval_s: f64,
    rayon_s: f64,
    /// `eval_s / rayon_s - 1`.
    overhead: f64,
    /// CPU seconds of all threads, which other programs of the machine do not change much; none
    /// where the system does not provide them.
    eval_cpu_s: Option<f64>,
    rayon_cpu_s: Option<f64>,
    /// `eval_cpu_s / rayon_cpu_s - 1`.
    overhead_cpu: Option<f64>,
    /// Numbers that were compared.
    results: usize,
    /// Relative to `max(1, |value|)`, as the mean.
    max_abs_err: f64,
    mean_abs_err: f64,
    /// Seconds on one thread that the planner predicted.
    predicted_s: f64,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct EncryptedSql<'a> {
    #[serde(flatten)]
    report: Report,
    source: &'a str,
    rows: usize,
    groups: usize,
    /// Encrypted vectors of the column.
    ciphertexts: usize,
    /// All queries together: wall time over that of rayon alone, less 1.
    overhead: f64,
    queries: &'a [Query],
    encrypt_s: f64,
    file_bytes: u64,
    key_downloads: u64,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &[PRESET], threads: None };
    program::run(defaults, |arguments: &Arguments| {
        // CPU seconds are those of the threads that exist: none ends in the middle of a
        // measurement.
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.enable_all().thread_keep_alive(Duration::MAX).build();
        let runtime = runtime.map_err(Failure::run)?;
        runtime.block_on(async { compute(arguments, &plain(arguments).await?).await })
    })
}

/// Reads or generates the table.
async fn plain(arguments: &Arguments) -> Result<Plain, Failure> {
    let (Some(path), Some(column)) = (&arguments.csv, &arguments.column) else {
        let rows = if arguments.common.small { SMALL } else { ROWS };
        let range = arguments.range.unwrap_or(RANGE);
        let mut rng = random::seeded(0);
        let values = (0..rows).map(|_| rng.random_range(range[0]..=range[1])).collect();
        let groups =
            (0..rows).map(|_| GROUPS[rng.random_range(0..GROUPS.len())].to_string()).collect();
        return Ok(Plain { source: "generated from a fixed seed".into(), range, values, groups });
    };
    let Some(range) = arguments.range else {
        return Err(Failure::input(format!(
            "no range is known for column '{column}'; give --range LO,HI, which becomes public and \
             must not depend on the values"
        )));
    };
    let source = path.display().to_string();
    let bad = |why: String| Failure::input(format!("{source}: {why}"));
    let reader = SessionContext::new();
    let options = CsvReadOptions::new().file_extension("");
    let frame = reader.read_csv(source.as_str(), options).await;
    let stream = frame.map_err(|e| bad(e.to_string()))?.execute_stream().await;
    let mut stream = stream.map_err(|e| bad(e.to_string()))?;
    let mut plain = Plain { source: source.clone(), range, values: vec![], groups: vec![] };
    while let Some(batch) = stream.next().await.transpose().map_err(|e| bad(e.to_string()))? {
        let find = |name: &str, data_type: &DataType| {
            let found = batch.column_by_name(name);
            let found = found.ok_or_else(|| bad(format!("there is no column '{name}'")))?;
            cast(found, data_type).map_err(|e| bad(format!("column '{name}': {e}")))
        };
        let values = find(column, &DataType::Float64)?;
        for value in values.as_primitive::<Float64Type>() {
            let row = plain.values.len() + 1;
            match value {
                Some(value) if (range[0]..=range[1]).contains(&value) => plain.values.push(value),
                _ => {
                    let [lo, hi] = range;
                    let why = format!("row {row}, column '{column}': no number in [{lo}, {hi}]");
                    return Err(bad(why));
                }
            }
        }
        match &arguments.group {
            Some(group) => {
                let groups = find(group, &DataType::Utf8)?;
                let groups = groups.as_string::<i32>();
                plain.groups.extend(groups.iter().map(|g| g.unwrap_or_default().to_string()));
            }
            None => plain.groups.resize(plain.values.len(), "all".into()),
        }
    }
    if plain.values.is_empty() {
        return Err(bad("there are no rows".into()));
    }
    Ok(plain)
}

impl Plain {
    fn batch(&self) -> Result<RecordBatch, Failure> {
        let values: Arc<dyn Array> = Arc::new(Float64Array::from(self.values.clone()));
        let groups: Arc<dyn Array> = Arc::new(StringArray::from(self.groups.clone()));
        RecordBatch::try_from_iter([("g", groups), ("v", values)]).map_err(Failure::run)
    }

    /// Values by group, in the order of the rows.
    fn by_group(&self) -> BTreeMap<&str, Vec<f64>> {
        let mut groups = BTreeMap::<&str, Vec<f64>>::new();
        for (group, value) in self.groups.iter().zip(&self.values) {
            groups.entry(group).or_default().push(*value);
        }
        groups
    }

    /// The map of every value to where the sigmoid varies, `offset + factor v`, with the domain of
    /// its results. None if the range already lies there.
    fn scaling(&self) -> (Option<[f64; 2]>, [f64; 2]) {
        let [lo, hi] = self.range;
        if lo >= -WIDE && hi <= WIDE {
            return (None, self.range);
        }
        let factor = 2.0 * RANGE[1] / (hi - lo);
        // A little wider than the results, which are not exact.
        let domain = RANGE.map(|end| end * (1.0 + MARGIN));
        (Some([-factor * (lo + hi) / 2.0, factor]), domain)
    }
}

/// Client, server, client.
async fn compute(arguments: &Arguments, plain: &Plain) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let threads = rayon::current_num_threads();
    let by_group = plain.by_group();
    let vectors: usize = by_group.values().map(|values| values.len().div_ceil(SLOTS)).sum();

    // Step 1: the client: parameters, keys, an encrypted table.
    let bounds = ProgramBounds {
        security: Security::Bits128,
        slots: SLOTS,
        depth: DEPTH,
        accuracy: Accuracy::bits(BITS),
        bootstraps: false,
    };
    let params = Params::choose(&bounds).map_err(Failure::run)?;
    let begin = Instant::now();
    let client = ClientKey::generate(&params).map_err(Failure::run)?;
    let needs = Needs::new().multiply().sums(params.ckks().max_slots());
    let needs = needs.map_with([Engine::Poly]);
    let keys = client.evaluation_keys(&needs).map_err(Failure::run)?;
    let keygen_s = begin.elapsed().as_secs_f64();
    let folder = std::env::temp_dir().join(format!("encrypted_sql-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(Failure::run)?;
    let cleanup = Cleanup(folder.clone());
    let store = LocalFileSystem::new_with_prefix(&folder).map_err(Failure::run)?;
    let options = NodeOptions { threads, ..NodeOptions::new(folder.join("cache")) };
    let node = Node::new(Arc::new(store), options).map_err(Failure::run)?;
    let stored = node.keys().put_params(&params).map_err(Failure::run)?;
    let eval_key_bytes = keys.byte_len() as u64;
    let keys = node.keys().put_keys(&keys).map_err(Failure::run)?;
    console.say(format!(
        "{} rows in {} group(s) of {}: {vectors} vectors of {} values, keys of {}",
        plain.values.len(),
        by_group.len(),
        plain.source,
        params.ckks().max_slots(),
        human(eval_key_bytes),
    ));
    let begin = Instant::now();
    let path = folder.join("table.parquet");
    let column = EncryptedColumn::new("v", plain.range[0]..=plain.range[1]);
    let (columns, group) = (vec![column], Some("g".to_string()));
    let declared = TableOptions { params: stored, columns, group, most_vectors: vectors };
    let file = File::create(&path).map_err(Failure::run)?;
    let mut writer = TableWriter::new(&client, declared, file).map_err(Failure::run)?;
    let clear = plain.batch()?;
    for start in (0..clear.num_rows()).step_by(SLOTS) {
        let rows = SLOTS.min(clear.num_rows() - start);
        writer.write(&clear.slice(start, rows)).map_err(Failure::input)?;
    }
    writer.finish().map_err(Failure::run)?;
    let encrypt_s = begin.elapsed().as_secs_f64();
    let file_bytes = fs::metadata(&path).map_err(Failure::run)?.len();
    console.say(format!("encrypted in {encrypt_s:.1} s: {} in Parquet", human(file_bytes)));

    // Step 2: the server: the queries, and the same work without an engine.
    let options = SessionOptions { keys: Some(keys), ..Default::default() };
    let encrypted = session(&node, &options).map_err(Failure::run)?;
    let name = path.to_string_lossy();
    let options = ParquetReadOptions::default();
    encrypted.register_parquet("t", name, options).await.map_err(Failure::run)?;
    let plain_session = SessionContext::new_with_config(SessionConfig::new());
    plain_session.register_batch("t", clear).map_err(Failure::run)?;
    let bare = Bare::new(&client, &needs, &encrypted, &folder).await?;
    let (scaling, [lo, hi]) = plain.scaling();
    let argument = match scaling {
        Some([offset, factor]) => format!("he_polynomial(v, '{offset:?},{factor:?}')"),
        None => "v".into(),
    };
    let map = format!("he_map({argument}, 'sigmoid', {lo:?}, {hi:?}, {MAP_BITS:?})");
    let mut run =
        Run { client: &client, encrypted: &encrypted, plain: &plain_session, queries: vec![] };
    // The first query loads the keys; it is not measured.
    let one = "SELECT first_value(v) AS v FROM t";
    let warm = format!("SELECT he_sum_slots({map}) AS s FROM ({one})");
    run.first(&warm).await?;

    let query = "SELECT he_mean(v) AS r FROM t";
    let alone = || bare.mean(false);
    run.number("mean", query, "SELECT avg(v) AS r FROM t", vectors, alone).await?;
    let query = "SELECT he_variance(v) AS r FROM t";
    let alone = || bare.mean(true);
    run.number("variance", query, "SELECT var_pop(v) AS r FROM t", vectors, alone).await?;
    let query = "SELECT g, he_sum_slots(he_sum(v)) AS r FROM t GROUP BY g ORDER BY g";
    let clear = "SELECT g, sum(v) AS r FROM t GROUP BY g ORDER BY g";
    run.number("sum for each group", query, clear, vectors, || bare.sums()).await?;
    // A partition for each thread: one reads and writes batches while others compute.
    let partitions = format!("SET datafusion.execution.target_partitions = {threads}");
    encrypted.sql(&partitions).await.map_err(Failure::run)?;
    let query = format!("SELECT g, {map} AS r FROM t");
    let sigmoid = |v: f64| {
        let [offset, factor] = scaling.unwrap_or([0.0, 1.0]);
        1.0 / (1.0 + (-offset - factor * v).exp())
    };
    let alone = || bare.map(scaling, lo..=hi);
    run.map(&query, &by_group, &sigmoid, vectors, alone).await?;
    drop(cleanup);

    // Step 3: the report.
    let queries = run.queries;
    for Query {
        query, eval_s, rayon_s, overhead, overhead_cpu, max_abs_err, predicted_s, ..
    } in &queries
    {
        let cpu = overhead_cpu.map(|cpu| format!(" ({:.1} % of CPU time)", cpu * 100.0));
        console.say(format!(
            "{query:20} {eval_s:8.3} s, rayon alone {rayon_s:8.3} s, overhead {:5.1} %{}, error \
             {max_abs_err:.1e}, predicted {predicted_s:.1} s on one thread",
            overhead * 100.0,
            cpu.unwrap_or_default()
        ));
    }
    let total = |f: fn(&Query) -> f64| queries.iter().map(f).sum::<f64>();
    let max_abs_err = queries.iter().map(|q| q.max_abs_err).fold(0.0, f64::max);
    let report = Report {
        n: plain.values.len(),
        preset: PRESET.into(),
        security_bits: params.security_bits(),
        engine: "DataFusion".into(),
        keygen_s,
        eval_s: total(|q| q.eval_s),
        max_abs_err,
        mean_abs_err: total(|q| q.mean_abs_err * q.results as f64) / total(|q| q.results as f64),
        eval_key_bytes,
        ciphertext_bytes: file_bytes,
        peak_rss_bytes: peak_rss_bytes(),
        threads,
    };
    if arguments.common.json {
        return output::print_json(&EncryptedSql {
            report,
            source: &plain.source,
            rows: plain.values.len(),
            groups: by_group.len(),
            ciphertexts: vectors,
            overhead: total(|q| q.eval_s) / total(|q| q.rayon_s) - 1.0,
            queries: &queries,
            encrypt_s,
            file_bytes,
            key_downloads: node.keys().downloads(),
        });
    }
    Ok(())
}

/// Removes the folder of the run.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The queries on the encrypted and on the clear table.
struct Run<'a> {
    client: &'a ClientKey,
    encrypted: &'a SessionContext,
    plain: &'a SessionContext,
    queries: Vec<Query>,
}

impl Run<'_> {
    /// Runs a query: its batches, its time and the seconds that were predicted.
    async fn evaluate(&self, sql: &str) -> Result<(Vec<RecordBatch>, Seconds, f64), Failure> {
        let frame = self.encrypted.sql(sql).await.map_err(Failure::input)?;
        let plan = frame.clone().into_optimized_plan().map_err(Failure::input)?;
        let predicted = bellerophon_datafusion::Predictions::of(&plan).map_err(Failure::run)?;
        let clock = Clock::start();
        // The rows of a partition keep their order, and so do the partitions.
        let batches = frame.collect_partitioned().await.map_err(Failure::run)?.concat();
        Ok((batches, clock.stop(), predicted.seconds()))
    }

    /// Runs a query and the same work by rayon alone: the batches of the last run, the fastest
    /// times of both, and the seconds that were predicted.
    async fn in_turns(
        &self,
        sql: &str,
        alone: impl Fn() -> Result<(), Failure>,
    ) -> Result<(Vec<RecordBatch>, (Seconds, Seconds, f64)), Failure> {
        let turn = async || {
            let clock = Clock::start();
            alone()?;
            let rayon = clock.stop();
            let (batches, eval, predicted_s) = self.evaluate(sql).await?;
            Ok::<_, Failure>((batches, (eval, rayon, predicted_s)))
        };
        let (mut batches, mut times) = turn().await?;
        for _ in 1..RUNS {
            // The results of the run before leave the memory first.
            drop(batches);
            let (eval, rayon, predicted_s);
            (batches, (eval, rayon, predicted_s)) = turn().await?;
            times = (eval.or_less(times.0), rayon.or_less(times.1), predicted_s);
        }
        Ok((batches, times))
    }

    async fn first(&self, sql: &str) -> Result<Vec<f64>, Failure> {
        let (batches, ..) = self.evaluate(sql).await?;
        let found = decrypt(self.client, &batches, Values::First).map_err(Failure::run)?;
        numbers(&found, found.num_columns() - 1)
    }

    /// A query with one number for each group, beside the same query in the clear.
    async fn number(
        &mut self,
        query: &'static str,
        sql: &str,
        clear: &str,
        ciphertexts: usize,
        alone: impl Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (batches, times) = self.in_turns(sql, alone).await?;
        let found = decrypt(self.client, &batches, Values::First).map_err(Failure::run)?;
        let found = numbers(&found, found.num_columns() - 1)?;
        let clear = self.plain.sql(clear).await.map_err(Failure::run)?;
        let clear = clear.collect().await.map_err(Failure::run)?;
        let expected: Vec<f64> = clear
            .iter()
            .map(|batch| numbers(batch, batch.num_columns() - 1))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        self.record(query, ciphertexts, times, &expected, &found);
        Ok(())
    }

    /// A query with a number for each row.
    async fn map(
        &mut self,
        sql: &str,
        by_group: &BTreeMap<&str, Vec<f64>>,
        function: &impl Fn(f64) -> f64,
        ciphertexts: usize,
        alone: impl Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (batches, times) = self.in_turns(sql, alone).await?;
        // The rows of a group keep their order.
        let found = decrypt(self.client, &batches, Values::All).map_err(Failure::run)?;
        let groups = cast(found.column(0), &DataType::Utf8).map_err(Failure::run)?;
        let groups = groups.as_string::<i32>();
        let mut results = BTreeMap::<&str, Vec<f64>>::new();
        for (group, value) in groups.iter().zip(numbers(&found, 1)?) {
            results.entry(group.unwrap_or_default()).or_default().push(value);
        }
        let expected: Vec<f64> = by_group.values().flatten().map(|&x| function(x)).collect();
        let found: Vec<f64> = results.into_values().flatten().collect();
        self.record("he_map of every value", ciphertexts, times, &expected, &found);
        Ok(())
    }

    fn record(
        &mut self,
        query: &'static str,
        ciphertexts: usize,
        (eval, rayon, predicted_s): (Seconds, Seconds, f64),
        expected: &[f64],
        found: &[f64],
    ) {
        let scaled = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(expected).map(|(x, e)| x / e.abs().max(1.0)).collect()
        };
        let errors = match expected.len() == found.len() {
            true => Errors::between(&scaled(expected), &scaled(found)),
            false => Errors { max: f64::INFINITY, mean: f64::INFINITY },
        };
        let query = Query {
            query,
            ciphertexts,
            eval_s: eval.wall,
            rayon_s: rayon.wall,
            overhead: eval.wall / rayon.wall - 1.0,
            eval_cpu_s: eval.cpu,
            rayon_cpu_s: rayon.cpu,
            overhead_cpu: eval.cpu.zip(rayon.cpu).map(|(eval, rayon)| eval / rayon - 1.0),
            results: expected.len(),
            max_abs_err: errors.max,
            mean_abs_err: errors.mean,
            predicted_s,
        };
        self.queries.push(query);
    }
}

/// The time of a piece of work.
#[derive(Debug, Clone, Copy)]
struct Seconds {
    wall: f64,
    cpu: Option<f64>,
}

impl Seconds {
    /// The smaller of both times of two runs.
    fn or_less(self, other: Self) -> Self {
        let cpu = self.cpu.zip(other.cpu).map(|(x, y)| x.min(y));
        Self { wall: self.wall.min(other.wall), cpu }
    }
}

/// Measures both times.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    fn stop(&self) -> Seconds {
        let cpu = cpu_seconds().zip(self.cpu).map(|(now, then)| now - then);
        Seconds { wall: self.wall.elapsed().as_secs_f64(), cpu }
    }
}

/// A column of numbers.
fn numbers(batch: &RecordBatch, column: usize) -> Result<Vec<f64>, Failure> {
    let column = batch.columns().get(column).ok_or_else(|| Failure::run("no result"))?;
    let column = cast(column, &DataType::Float64).map_err(Failure::run)?;
    Ok(column.as_primitive::<Float64Type>().values().to_vec())
}
