//! Processes that die by SIGKILL.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use bellerophon_ballista::{ExecutorOptions, TlsOptions};
use datafusion::prelude::SessionContext;
use futures::{StreamExt, TryStreamExt};
use serde_json::Value;

use crate::world::{World, refusal, rows, scheduler};

/// A function of every value of a table that takes seconds: nobody dies when all is done.
const QUERY: &str = "SELECT g, he_map(x, 'sigmoid', -2.0, 2.0, 16.0) AS r FROM long";

/// Copies of the table in the long one.
const COPIES: usize = 16;

/// A process that dies with its owner.
struct Process(Child);

impl Process {
    fn start(program: &str, arguments: &[(&str, String)]) -> Self {
        let mut command = Command::new(program);
        for (name, value) in arguments {
            command.arg(format!("--{name}={value}"));
        }
        Self(command.stderr(Stdio::null()).spawn().unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A scheduler and executors as processes, with their status files, and a session on them.
async fn cluster(world: &World, executors: usize) -> (SessionContext, Process, Vec<Process>) {
    let options = scheduler(world.folder.path(), &TlsOptions::default());
    let address = options.bind.to_string();
    let started = Process::start(
        env!("CARGO_BIN_EXE_bellerophon-scheduler"),
        &[
            ("bind", address.clone()),
            ("work", options.work.display().to_string()),
            ("root", options.roots[0].clone()),
            ("executor-timeout", options.executor_timeout.to_string()),
            ("no-executor-grace", options.no_executor_grace.to_string()),
            ("status", options.status.unwrap().display().to_string()),
        ],
    );
    let executors = (0..executors).map(|i| {
        let options = world.executor(&address, &format!("executor-{i}"), "node");
        let ExecutorOptions { bind, store, cache, work, roots, status, .. } = options;
        let mut process = Command::new(env!("CARGO_BIN_EXE_bellerophon-executor"));
        process
            .args(["--scheduler", &address, "--bind", &bind.to_string(), "--store", &store])
            .args(["--threads", "1", "--insecure", "--root", &roots[0]])
            .arg("--cache")
            .arg(cache)
            .arg("--work")
            .arg(work)
            .arg("--status")
            .arg(status.unwrap());
        Process(process.stderr(Stdio::null()).spawn().unwrap())
    });
    let executors: Vec<_> = executors.collect();
    wait("executors", || known(world) == executors.len() as u64).await;
    (world.on(&address).await, started, executors)
}

/// The executors that the scheduler knows.
fn known(world: &World) -> u64 {
    counter(&world.path("scheduler-status"), "/executors")
}

/// Registers the long table.
async fn lengthen(world: &World, session: &SessionContext) {
    let (from, to) = (world.path("table").join("0.parquet"), world.path("long"));
    std::fs::create_dir_all(&to).unwrap();
    for i in 0..COPIES {
        // A second session finds the links of the first one.
        std::fs::hard_link(&from, to.join(format!("{i}.parquet"))).ok();
    }
    world.register(session, "long", "long").await;
}

/// A counter of a process.
fn counter(path: &Path, pointer: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let status: Value = serde_json::from_str(&text).unwrap_or_default();
    status.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Waits for something to come true.
async fn wait(what: &str, met: impl Fn() -> bool) {
    let begin = Instant::now();
    while !met() {
        assert!(begin.elapsed() < Duration::from_secs(100), "no {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Results of a query of one stage that an executor has begun: folders `job/stage/partition`. It
/// computes one at a time.
fn begun(world: &World, executor: usize) -> usize {
    let jobs = std::fs::read_dir(world.path(&format!("executor-{executor}")).join("work"));
    let jobs = jobs.into_iter().flatten().flatten();
    jobs.map(|job| std::fs::read_dir(job.path().join("1")).into_iter().flatten().count()).sum()
}

/// The executor has a result that the scheduler knows, and computes the next one.
#[tokio::test(flavor = "multi_thread")]
async fn an_executor_dies_and_the_others_give_the_same_bits() {
    let world = World::new();
    let (session, _scheduler, mut executors) = cluster(&world, 2).await;
    let status = |i: usize| world.path(&format!("executor-{i}-status"));
    let tasks = "SET datafusion.execution.target_partitions = 12";
    session.sql(tasks).await.unwrap().collect().await.unwrap();
    lengthen(&world, &session).await;
    let params = world.client.params().clone();
    let query = tokio::spawn(async move { rows(&params, &session, QUERY).await });
    // One node, two objects. A process writes its counters a moment after it has counted.
    let downloads = || [0, 1].map(|i| counter(&status(i), "/downloads")).iter().sum::<u64>();
    wait("result", || begun(&world, 0) > 1 && downloads() == 2).await;
    executors[0].kill();
    let found = query.await.unwrap();
    let here = world.here().await;
    lengthen(&world, &here).await;
    let expected = rows(world.client.params(), &here, QUERY).await;
    assert!(found == expected, "lost, twice, or other bits");
    wait("end of the dead executor", || known(&world) == 1).await;
    assert!(matches!(executors[1].0.try_wait(), Ok(None)));
    // The survivor copied none again.
    assert_eq!(downloads(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_without_executors_ends_with_an_error() {
    let world = World::new();
    let (session, _scheduler, mut executors) = cluster(&world, 1).await;
    lengthen(&world, &session).await;
    let query = tokio::spawn(async move { refusal(&session, QUERY).await });
    let status = world.path("executor-0-status");
    wait("work", || counter(&status, "/calls/he_map") > 0).await;
    executors[0].kill();
    let refused = tokio::time::timeout(Duration::from_secs(100), query).await;
    let refused = refused.expect("the job ends").unwrap();
    assert!(refused.to_lowercase().contains("executor"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_dies_in_a_query_is_named() {
    let world = World::new();
    let (session, mut scheduler, _executors) = cluster(&world, 1).await;
    lengthen(&world, &session).await;
    let query = tokio::spawn(async move { refusal(&session, QUERY).await });
    let status = world.path("executor-0-status");
    wait("work", || counter(&status, "/calls/he_map") > 0).await;
    scheduler.kill();
    let refused = tokio::time::timeout(Duration::from_secs(100), query).await;
    let refused = refused.expect("the query ends").unwrap();
    assert!(refused.contains("the scheduler at 127.0.0.1:"), "{refused}");
    assert!(refused.contains("has died"), "{refused}");
}

/// Results of the last stage are on their executors alone.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_died_before_they_were_fetched_are_an_error() {
    let world = World::new();
    let (session, _scheduler, mut executors) = cluster(&world, 2).await;
    lengthen(&world, &session).await;
    let mut results = session.sql(QUERY).await.unwrap().execute_stream().await.unwrap();
    assert!(results.next().await.unwrap().unwrap().num_rows() > 0);
    for executor in &mut executors {
        executor.kill();
    }
    let refused = results.try_collect::<Vec<_>>().await.unwrap_err().to_string();
    assert!(refused.contains("onnect"), "{refused}");
}
