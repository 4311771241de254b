//! Queries on a cluster that loses an executor on the way.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use bellerophon::Params;
use bellerophon_datafusion::Hash;
use common::program::Failure;
use datafusion::{
    arrow::{array::AsArray, compute::cast, datatypes::DataType},
    prelude::SessionContext,
};
use serde::Serialize;

use crate::{
    processes::{Cluster, Resources},
    world::{QUERIES, World, bits},
};

/// The nodes of the executors: two share one.
pub const NODES: [usize; 3] = [0, 0, 1];

/// Partitions of the table, so that every executor has several tasks.
const PARTITIONS: usize = 12;

/// Bytes of results that are more than empty partitions.
const PART: u64 = 1 << 17;

/// The time in which an executor tells the scheduler of a part that it wrote.
const REPORTED: Duration = Duration::from_millis(50);

/// When an executor dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// It computes, and has written nothing.
    MidStage,
    /// It wrote a part of a shuffle, and no result of the last stage.
    AfterShuffle,
}

impl Death {
    /// The query that it interrupts.
    fn query(self) -> usize {
        match self {
            Self::MidStage => 4,
            Self::AfterShuffle => 3,
        }
    }
}

/// What a run showed.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub lost: usize,
    pub duplicates: usize,
    pub identical: bool,
    pub executors_after: u64,
    pub key_loads_per_node: f64,
    /// Seconds of the query that lost an executor.
    pub interrupted_s: f64,
    /// Seconds of the query from the death on.
    pub recovery_s: f64,
    /// Seconds of the queries after it.
    pub others_s: f64,
}

/// The results of a query: how often each vector came, by its group and its bits.
pub type Results = BTreeMap<(String, Hash), usize>;

/// The results of all queries.
pub async fn results(params: &Params, session: &SessionContext) -> Result<Vec<Results>, Failure> {
    let mut all = vec![];
    for (_, sql) in QUERIES {
        all.push(result(params, session, sql).await?);
    }
    Ok(all)
}

async fn result(params: &Params, session: &SessionContext, sql: &str) -> Result<Results, Failure> {
    let frame = session.sql(sql).await.map_err(Failure::run)?;
    let mut results = Results::new();
    for batch in frame.collect().await.map_err(Failure::run)? {
        let groups = cast(batch.column(0), &DataType::Utf8).map_err(Failure::run)?;
        let groups = groups.as_string::<i32>();
        let vectors = batch.column(1).as_binary::<i32>();
        for row in 0..batch.num_rows() {
            let key = (groups.value(row).to_string(), bits(params, vectors.value(row))?);
            *results.entry(key).or_default() += 1;
        }
    }
    Ok(results)
}

/// Runs the queries on a fresh cluster, one executor of which dies.
pub async fn run(
    home: &Path,
    world: &World,
    expected: &[Results],
    death: Death,
    resources: Resources,
) -> Result<(Cluster, Outcome), Failure> {
    let mut cluster = Cluster::start(home, &format!("{death:?}"), &NODES, resources)?;
    let session = world.on(&cluster.address, PARTITIONS).await?;
    // Step 1: the query that loses an executor.
    let begin = Instant::now();
    let query = tokio::spawn({
        let (params, session) = (world.client.params().clone(), session.clone());
        async move { result(&params, &session, QUERIES[death.query()].1).await }
    });
    let mut victim = None;
    cluster.wait("executor to kill", |cluster| {
        victim = (0..NODES.len()).find(|&i| is_due(cluster, i, death));
        victim.is_some() || query.is_finished()
    })?;
    if query.is_finished() {
        let failed = query.await.map_err(Failure::run)?.err();
        return Err(failed.unwrap_or_else(|| Failure::run("the query ended before the death")));
    }
    let died = Instant::now();
    cluster.executors[victim.unwrap_or_default()].kill();
    let found = query.await.map_err(Failure::run)??;
    let (interrupted_s, recovery_s) = (begin.elapsed().as_secs_f64(), died.elapsed().as_secs_f64());
    let mut all = vec![(death.query(), found)];
    // Step 2: the others, on what is left.
    let begin = Instant::now();
    for (i, (_, sql)) in QUERIES.iter().enumerate().filter(|(i, _)| *i != death.query()) {
        all.push((i, result(world.client.params(), &session, sql).await?));
    }
    let others_s = begin.elapsed().as_secs_f64();
    // Step 3: the scheduler forgets an executor when it has been silent for long enough.
    cluster
        .wait("end of the dead executor", |cluster| cluster.registered() < NODES.len() as u64)?;
    let alive = cluster.executors.iter_mut().map(|process| u64::from(process.is_alive()));
    let alive: u64 = alive.sum();
    let mut outcome = Outcome {
        lost: 0,
        duplicates: 0,
        identical: true,
        executors_after: alive.min(cluster.registered()),
        key_loads_per_node: cluster.key_loads_per_node(),
        interrupted_s,
        recovery_s,
        others_s,
    };
    for (i, found) in &all {
        compare(&expected[*i], found, &mut outcome);
    }
    Ok((cluster, outcome))
}

/// Whether this executor is where it shall die. Both queries begin with stage 1, and the second one
/// ends with stage 2. An executor with results of its last stage stays alive: they are nowhere else
/// when the query ends.
fn is_due(cluster: &Cluster, executor: usize, death: Death) -> bool {
    let results = cluster.results(executor);
    match death {
        Death::MidStage => {
            let calls = &cluster.executors[executor].status()["calls"];
            let begun = calls["he_map"].as_u64().unwrap_or(0) > 0;
            begun && written(&results, 1, Duration::ZERO) < PART
        }
        Death::AfterShuffle => {
            written(&results, 1, REPORTED) > PART && written(&results, 2, Duration::ZERO) == 0
        }
    }
}

/// Bytes of the results of a stage that nobody has changed for some time. They are the folder
/// `job/stage`, and there is one job.
fn written(results: &Path, stage: usize, unchanged: Duration) -> u64 {
    let jobs = fs::read_dir(results).into_iter().flatten().flatten();
    jobs.map(|job| bytes(&job.path().join(stage.to_string()), unchanged)).sum()
}

/// Bytes of the files of a folder that nobody has changed for some time.
fn bytes(folder: &Path, unchanged: Duration) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes(&entry.path(), unchanged),
        Ok(data) => {
            let age = data.modified().ok().and_then(|time| time.elapsed().ok());
            if age.unwrap_or_default() >= unchanged { data.len() } else { 0 }
        }
        Err(_) => 0,
    });
    sizes.sum()
}

/// Counts what differs.
fn compare(expected: &Results, found: &Results, outcome: &mut Outcome) {
    let total = |results: &Results| results.values().sum::<usize>();
    outcome.identical &= expected == found;
    outcome.lost += total(expected).saturating_sub(total(found));
    outcome.duplicates += total(found).saturating_sub(total(expected));
}
