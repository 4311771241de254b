//! A sum of many vectors by one partition, and by many partitions whose sums are added.
//!
//! The aggregate `he_sum` adds the vectors of a partition, and its states are ciphertexts. With one
//! partition the sum is flat. With more it has two levels, as on several machines, and the result
//! is the same.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Instant,
};

use bellerophon::{ProgramBounds, mlwe::Security, prelude::*};
use bellerophon_datafusion::{
    EncryptedColumn, Node, NodeOptions, SessionOptions, TableOptions, TableWriter, Values, decrypt,
    session,
};
use clap::Parser;
use common::{
    args::Common,
    console::Console,
    cpu::cpu_seconds,
    memory::{human, peak_rss_bytes, reset_peak},
    output,
    program::{self, Defaults, Failure},
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, Float64Array},
        datatypes::Float64Type,
        record_batch::RecordBatch,
    },
    object_store::local::LocalFileSystem,
    prelude::ParquetReadOptions,
};
use serde::Serialize;

/// The one parameter set: vectors of 8192 values, seven levels.
const PRESET: &str = "sql";
const SLOTS: usize = 1 << 13;
/// Vectors of a file, and files of the table.
const VECTORS: usize = 64;
const FILES: usize = 16;
const SMALL: usize = 2;
const RANGE: f64 = 4.0;

/// Sums vectors by one partition and by many
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// One way to sum.
#[derive(Debug, Serialize)]
struct Sum {
    partitions: usize,
    wall_s: f64,
    /// CPU seconds of all threads; none where the system does not provide them.
    cpu_s: Option<f64>,
    /// The largest resident set, keys and buffers of the writer aside; none as above.
    peak_rss_bytes: Option<u64>,
    /// Of all values, relative to `max(1, |value|)`.
    max_abs_err: f64,
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct FlatSums {
    ciphertexts: usize,
    /// Bytes of a vector in the file, without the mask, which is a seed.
    vector_bytes: u64,
    /// Bytes of a state.
    state_bytes: usize,
    sums: Vec<Sum>,
    threads: usize,
}

fn main() -> ExitCode {
    let defaults = Defaults { presets: &[PRESET], threads: None };
    program::run(defaults, |arguments: &Arguments| {
        let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
        runtime.block_on(compute(arguments))
    })
}

/// Removes the folder of the run.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn compute(arguments: &Arguments) -> Result<(), Failure> {
    let console = Console::new(arguments.common.json);
    let files = if arguments.common.small { SMALL } else { FILES };
    let threads = rayon::current_num_threads();

    // Step 1: the client: a file of vectors, which stands in the table several times.
    let bounds = ProgramBounds {
        security: Security::Bits128,
        slots: SLOTS,
        depth: 7,
        accuracy: Accuracy::bits(22.0),
        bootstraps: false,
    };
    let params = Params::choose(&bounds).map_err(Failure::run)?;
    let client = ClientKey::generate(&params).map_err(Failure::run)?;
    let folder = std::env::temp_dir().join(format!("flat_sums-{}", std::process::id()));
    let table = folder.join("table");
    fs::create_dir_all(&table).map_err(Failure::run)?;
    let cleanup = Cleanup(folder.clone());
    let store = LocalFileSystem::new_with_prefix(&folder).map_err(Failure::run)?;
    let options = NodeOptions { threads, ..NodeOptions::new(folder.join("cache")) };
    let node = Node::new(Arc::new(store), options).map_err(Failure::run)?;
    let stored = node.keys().put_params(&params).map_err(Failure::run)?;
    let column = EncryptedColumn::new("v", -RANGE..=RANGE);
    let most_vectors = VECTORS * files;
    let declared =
        TableOptions { params: stored, columns: vec![column], group: None, most_vectors };
    let first = table.join("0.parquet");
    let file = File::create(&first).map_err(Failure::run)?;
    let mut writer = TableWriter::new(&client, declared, file).map_err(Failure::run)?;
    let value = |slot: usize| RANGE * (slot as f64 * 0.7).sin();
    for vector in 0..VECTORS {
        let values = (0..SLOTS).map(|slot| value(slot + vector));
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values(values));
        let batch = RecordBatch::try_from_iter([("v", values)]).map_err(Failure::run)?;
        writer.write(&batch).map_err(Failure::run)?;
    }
    writer.finish().map_err(Failure::run)?;
    for file in 1..files {
        let name = table.join(format!("{file}.parquet"));
        fs::hard_link(&first, name).map_err(Failure::run)?;
    }
    let vector_bytes = fs::metadata(&first).map_err(Failure::run)?.len() / VECTORS as u64;

    // Step 2: the server: one partition, then one for each file.
    let (mut sums, mut state_bytes) = (vec![], 0);
    for partitions in [1, files] {
        let options = SessionOptions { partitions, ..Default::default() };
        let session = session(&node, &options).map_err(Failure::run)?;
        let name = table.to_string_lossy();
        let options = ParquetReadOptions::default();
        session.register_parquet("t", name, options).await.map_err(Failure::run)?;
        let frame = session.sql("SELECT he_sum(v) AS s FROM t").await.map_err(Failure::run)?;
        reset_peak();
        let (begin, cpu) = (Instant::now(), cpu_seconds());
        let batches = frame.collect().await.map_err(Failure::run)?;
        let wall_s = begin.elapsed().as_secs_f64();
        let cpu_s = cpu_seconds().zip(cpu).map(|(now, then)| now - then);
        let peak_rss_bytes = peak_rss_bytes();

        // Step 3: the client again.
        let rows = batches.iter().filter(|batch| batch.num_rows() > 0);
        state_bytes = rows.map(|batch| batch.column(0).as_binary::<i32>().value(0).len()).sum();
        let found = decrypt(&client, &batches, Values::All).map_err(Failure::run)?;
        let found = found.column(0).as_primitive::<Float64Type>().values();
        let error = |(slot, found): (usize, &f64)| {
            let sum: f64 = (0..VECTORS).map(|vector| value(slot + vector)).sum();
            let sum = sum * files as f64;
            (found - sum).abs() / sum.abs().max(1.0)
        };
        let max_abs_err = found.iter().enumerate().map(error).fold(0.0, f64::max);
        sums.push(Sum { partitions, wall_s, cpu_s, peak_rss_bytes, max_abs_err });
    }
    drop(cleanup);

    // Step 4: the report.
    let ciphertexts = VECTORS * files;
    console.say(format!(
        "{ciphertexts} vectors of {} each in files, of {} as a state",
        human(vector_bytes),
        human(state_bytes as u64)
    ));
    for Sum { partitions, wall_s, cpu_s, max_abs_err, .. } in &sums {
        let cpu = cpu_s.map(|cpu| format!(", {cpu:.3} s of CPU time")).unwrap_or_default();
        console.say(format!(
            "{partitions:3} partition(s): {wall_s:.3} s{cpu}, error {max_abs_err:.1e}"
        ));
    }
    let report = FlatSums { ciphertexts, vector_bytes, state_bytes, sums, threads };
    if arguments.common.json { output::print_json(&report) } else { Ok(()) }
}
