//! What a cluster costs and gains, measured.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bellerophon_datafusion::Predictions;
use common::{console::Console, output, program::Failure};
use datafusion::prelude::SessionContext;
use serde::Serialize;

use crate::{
    Arguments, driver,
    processes::{Cluster, Process, Resources},
    world::World,
};

const MAP: &str = "SELECT g, he_map(v, 'sigmoid', -4.0, 4.0, 12.0) AS r FROM t";
const SUM: &str = "SELECT he_sum(v) AS r FROM t";
const KEYED: &str = "SELECT he_sum_slots(he_sum(he_mul(x, y))) AS r FROM t";

/// Partitions of the table for several executors, and for the two levels of a sum.
const PARTITIONS: usize = 12;

/// Vectors of the long sum.
const SUMMED: usize = 1000;

/// Runs of a query whose time does not depend on what ran before: the fastest counts.
const RUNS: usize = 3;

/// One thread for each executor: two of them use two cores.
const RESOURCES: Resources = Resources { threads: 1, memory_mib: 4096 };

/// What a query took.
#[derive(Debug, Default, Serialize)]
struct Cost {
    wall_s: f64,
    /// CPU seconds of all executors, which other programs of the machine do not change.
    cpu_s: f64,
}

/// The report of `--figures --json`.
#[derive(Debug, Default, Serialize)]
struct Figures {
    vectors: usize,
    /// `he_map` of every value on one executor and on two. The efficiency is half of the ratio of
    /// their times, and that of CPU times the ratio.
    one_executor: Cost,
    two_executors: Cost,
    efficiency: f64,
    efficiency_cpu: f64,
    /// Seconds that the planner predicted for one thread.
    predicted_s: f64,
    /// Bytes of memory of an executor before its first query, what its pool counted at most, and
    /// what the process had at most.
    before_bytes: u64,
    counted_bytes: u64,
    peak_bytes: u64,
    /// A query of one vector: keys in the store, on the disk of the node, in memory.
    key_bytes: u64,
    cold: Cost,
    warm: Cost,
    hot: Cost,
    /// A sum by one task, and by twelve and one.
    summed: usize,
    flat: Cost,
    two_level: Cost,
}

/// Measures everything.
pub async fn measure(home: &Path, arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let (rows, summed) = match arguments.common.small {
        true => (crate::SMALL, SUMMED / 20),
        false => (crate::SMALL * 4, SUMMED),
    };
    let mut figures = Figures::default();
    let world = World::numbers(home, rows, 1)?;
    figures.vectors = world.vectors;
    // Step 1: one executor, and two.
    let mut one = Cluster::start(home, "one", &[0], RESOURCES)?;
    let session = world.on(&one.address, PARTITIONS).await?;
    figures.before_bytes = one.executors[0].peak_bytes();
    let vector = "SELECT first_value(g) AS g, first_value(v) AS v FROM t";
    let map = format!("SELECT g, he_map(v, 'sigmoid', -4.0, 4.0, 12.0) AS r FROM ({vector})");
    timed(&one, &session, &map).await?;
    figures.predicted_s = predicted(&session, MAP).await?;
    let watched = Watched::start(&one);
    figures.one_executor = fastest(&one, &session, MAP).await?;
    figures.counted_bytes = watched.end().await?;
    figures.peak_bytes = one.executors[0].peak_bytes();
    one.executors[0].kill();
    drop(one);
    let two = Cluster::start(home, "two", &[0, 0], RESOURCES)?;
    let session = world.on(&two.address, PARTITIONS).await?;
    // Both load their keys.
    timed(&two, &session, MAP).await?;
    figures.two_executors = fastest(&two, &session, MAP).await?;
    let (one, both) = (&figures.one_executor, &figures.two_executors);
    figures.efficiency = one.wall_s / both.wall_s / 2.0;
    figures.efficiency_cpu = one.cpu_s / both.cpu_s;
    console.say(format!("{figures:?}"));
    // Step 2: a sum of many vectors, on the same executors.
    let folder = home.join("long");
    fs::create_dir_all(&folder).map_err(Failure::run)?;
    let long = World::numbers(&folder, rows, summed.div_ceil(world.vectors))?;
    figures.summed = long.vectors;
    let place = folder.join("keys");
    for object in fs::read_dir(&place).map_err(Failure::run)?.flatten() {
        let to = home.join("keys").join(object.file_name());
        fs::copy(object.path(), to).map_err(Failure::run)?;
    }
    let flat = long.on(&two.address, 1).await?;
    figures.flat = fastest(&two, &flat, SUM).await?;
    let two_level = long.on(&two.address, PARTITIONS).await?;
    figures.two_level = fastest(&two, &two_level, SUM).await?;
    drop(two);
    // Step 3: starts with keys of a deep program.
    let (deep, _) = driver::table(home, 1)?;
    figures.key_bytes = deep.key_bytes;
    let cold = Cluster::start(home, "cold", &[0], RESOURCES)?;
    let session = deep.on(&cold.address, 1).await?;
    figures.cold = timed(&cold, &session, KEYED).await?;
    figures.hot = fastest(&cold, &session, KEYED).await?;
    drop(cold);
    let (from, to) = (home.join("cold").join("node-0"), home.join("warm").join("node-0"));
    fs::create_dir_all(home.join("warm")).map_err(Failure::run)?;
    fs::rename(from, to).map_err(Failure::run)?;
    let warm = Cluster::start(home, "warm", &[0], RESOURCES)?;
    let session = deep.on(&warm.address, 1).await?;
    figures.warm = timed(&warm, &session, KEYED).await?;
    console.say(format!("{figures:?}"));
    if arguments.common.json {
        return output::print_json(&figures);
    }
    Ok(())
}

/// The cost of a query, its results read.
async fn timed(cluster: &Cluster, session: &SessionContext, sql: &str) -> Result<Cost, Failure> {
    let cpu = || cluster.executors.iter().map(Process::cpu_seconds).sum::<f64>();
    let (begin, cpu_begin) = (Instant::now(), cpu());
    let frame = session.sql(sql).await.map_err(Failure::run)?;
    frame.collect().await.map_err(Failure::run)?;
    Ok(Cost { wall_s: begin.elapsed().as_secs_f64(), cpu_s: cpu() - cpu_begin })
}

/// The smallest costs of some runs, which other programs of the machine disturb least.
async fn fastest(cluster: &Cluster, session: &SessionContext, sql: &str) -> Result<Cost, Failure> {
    let mut least = timed(cluster, session, sql).await?;
    for _ in 1..RUNS {
        let Cost { wall_s, cpu_s } = timed(cluster, session, sql).await?;
        least = Cost { wall_s: least.wall_s.min(wall_s), cpu_s: least.cpu_s.min(cpu_s) };
    }
    Ok(least)
}

async fn predicted(session: &SessionContext, sql: &str) -> Result<f64, Failure> {
    let frame = session.sql(sql).await.map_err(Failure::run)?;
    let plan = frame.into_optimized_plan().map_err(Failure::run)?;
    Ok(Predictions::of(&plan).map_err(Failure::run)?.seconds())
}

/// The most memory that the pool of the first executor counted, while a query runs.
struct Watched {
    ended: Arc<AtomicBool>,
    most: tokio::task::JoinHandle<u64>,
}

impl Watched {
    fn start(cluster: &Cluster) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (end, status) = (ended.clone(), cluster.folder.join("executor-0").join("status"));
        let most = tokio::spawn(async move {
            let mut most = 0;
            while !end.load(Ordering::Relaxed) {
                let text = fs::read_to_string(&status).unwrap_or_default();
                let status: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                most = status["memory_bytes"].as_u64().unwrap_or(0).max(most);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            most
        });
        Self { ended, most }
    }

    async fn end(self) -> Result<u64, Failure> {
        self.ended.store(true, Ordering::Relaxed);
        self.most.await.map_err(Failure::run)
    }
}
