//! The driver of a program of many queries as a process: killed after its first iteration, and
//! started again.

use std::{fs, path::Path, sync::Arc, time::Duration};

use bellerophon::prelude::*;
use bellerophon_datafusion::{
    EncryptedColumn, Hash, Iteration, Result as SqlResult, State, logistic_regression,
};
use common::program::Failure;
use datafusion::arrow::{
    array::{ArrayRef, Float64Array},
    record_batch::RecordBatch,
};

use crate::{
    processes::{Cluster, Process, text},
    world::{self, World, bits},
};

/// Iterations, and the products in a row that each takes.
const ITERATIONS: usize = 2;
const DEPTH: usize = 6;

const RATE: f64 = 4.0;
const FEATURES: [&str; 2] = ["x", "y"];

/// Partitions of the table of a driver.
const PARTITIONS: usize = 4;

/// The arguments of a driver.
#[derive(Debug, Clone, clap::Args)]
pub struct DriverOptions {
    #[arg(long)]
    scheduler: String,
    /// The store, which is a folder
    #[arg(long)]
    store: std::path::PathBuf,
    #[arg(long)]
    table: std::path::PathBuf,
    #[arg(long)]
    rows: usize,
    #[arg(long)]
    keys: Hash,
    #[arg(long)]
    params: Hash,
    /// The first weights
    #[arg(long)]
    first: Vec<Hash>,
    /// The file for the number of the iteration at which the driver begins
    #[arg(long)]
    begun: std::path::PathBuf,
}

impl DriverOptions {
    /// Runs the iterations that are left.
    pub async fn drive(self) -> SqlResult<()> {
        let failed = |failure: Failure| match failure {
            Failure::Input(why) | Failure::Run(why) => {
                datafusion::common::DataFusionError::Execution(why)
            }
        };
        let node = world::node(&self.store, "driver").map_err(failed)?;
        node.keys().params(self.params)?;
        let session =
            world::remote(&node, self.keys, &self.scheduler, &self.table, PARTITIONS).await;
        let session = session.map_err(failed)?;
        let program = Iteration::new(&node, "regression");
        let mut state = program.resume(&self.first)?;
        fs::write(&self.begun, state.iteration.to_string())
            .map_err(datafusion::common::DataFusionError::from)?;
        while state.iteration < ITERATIONS {
            let sql = logistic_regression("t", &FEATURES, "l", (RATE, self.rows), &state);
            state = program.step(&session, &state, &sql).await?;
        }
        Ok(())
    }
}

/// What the second driver showed.
#[derive(Debug)]
pub struct Resumed {
    /// The iteration at which it began.
    pub at: usize,
    /// The weights have the bits of a driver without a death.
    pub identical: bool,
}

/// Runs a driver on a cluster, kills it after the first iteration, and starts it again.
pub async fn killed_and_resumed(
    home: &Path,
    cluster: &mut Cluster,
    small: bool,
) -> Result<Resumed, Failure> {
    // Step 1: the table, and the weights of a driver in this process.
    let vectors = if small { 1 } else { 4 };
    let (world, rows) = table(home, vectors)?;
    let first: Vec<Hash> = FEATURES.iter().map(|_| weight(&world)).collect::<Result<_, _>>()?;
    let here = world.here().await?;
    let program = Iteration::new(&world.node, "here");
    let mut state = program.resume(&first).map_err(Failure::run)?;
    while state.iteration < ITERATIONS {
        let sql = logistic_regression("t", &FEATURES, "l", (RATE, rows), &state);
        state = program.step(&here, &state, &sql).await.map_err(Failure::run)?;
    }
    // Step 2: a driver that dies when the store has its first state.
    let begun = home.join("begun");
    let mut arguments: Vec<String> = [
        ("--scheduler", cluster.address.clone()),
        ("--store", text(home)),
        ("--table", text(&world.table)),
        ("--rows", rows.to_string()),
        ("--keys", world.keys.to_string()),
        ("--params", world.params.to_string()),
        ("--begun", text(&begun)),
    ]
    .into_iter()
    .flat_map(|(name, value)| [name.to_string(), value])
    .collect();
    arguments.extend(first.iter().flat_map(|hash| ["--first".to_string(), hash.to_string()]));
    let mut driver = Process::start(&home.join("driver-1"), "driver", &arguments)?;
    let last = || Iteration::new(&world.node, "regression").resume(&first).map_err(Failure::run);
    cluster.wait("first state", |_| {
        last().is_ok_and(|state: State| state.iteration > 0) || !driver.is_alive()
    })?;
    driver.kill();
    // Step 3: another one, which goes on.
    let mut driver = Process::start(&home.join("driver-2"), "driver", &arguments)?;
    while driver.is_alive() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let at = fs::read_to_string(&begun).map_err(Failure::run)?.parse().map_err(Failure::run)?;
    let weights = |state: &State| -> Result<Vec<Hash>, Failure> {
        let object = |hash: &Hash| fs::read(home.join("vectors").join(hash.to_string()));
        let weight = |hash| bits(world.client.params(), &object(hash).map_err(Failure::run)?);
        state.vectors.iter().map(weight).collect()
    };
    let last = last()?;
    let ended = last.iteration == state.iteration;
    Ok(Resumed { at, identical: ended && weights(&last)? == weights(&state)? })
}

/// Vectors of two features and a label.
pub fn table(home: &Path, vectors: usize) -> Result<(World, usize), Failure> {
    let params = world::params(ITERATIONS * DEPTH)?;
    let slots = params.ckks().max_slots();
    let rows = vectors * slots;
    let x = |i: usize| (i as f64 * 0.37).sin();
    let y = |i: usize| (i as f64 * 0.11).cos();
    let label = |i: usize| f64::from(u8::from(x(i) - 0.5 * y(i) > 0.0));
    let column = |f: &dyn Fn(usize) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(f)))
    };
    let columns = [("x", column(&x)), ("y", column(&y)), ("l", column(&label))];
    let table = RecordBatch::try_from_iter(columns).map_err(Failure::run)?;
    let declared = |name: &str| EncryptedColumn::new(name, -1.0..=1.0);
    let columns = ["x", "y", "l"].map(declared).to_vec();
    let needs = Needs::new().multiply().sums(slots);
    let world = World::new(home, "regression", params, &needs, &table, (columns, None), vectors)?;
    Ok((world, rows))
}

/// An encrypted first weight, in the store.
fn weight(world: &World) -> Result<Hash, Failure> {
    let params = world.client.params();
    let zeros = vec![0.0; params.ckks().max_slots()];
    let weight = world.client.encrypt_seeded(&zeros, -4.0..=4.0).map_err(Failure::run)?;
    world.node.keys().put_vector(params, &weight).map_err(Failure::run)
}
