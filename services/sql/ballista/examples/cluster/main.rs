//! SQL over an encrypted column on a cluster of processes of this machine: a scheduler and three
//! executors, two of which share a node (a folder for copies of keys). The same queries run in this
//! process and on two fresh clusters. On the first one an executor is killed in the middle of a
//! stage, on the second one after it wrote its part of a shuffle. Results must be the same bits.
//! Then the driver of a logistic regression is killed between two iterations and started again.
//!
//! `--figures` measures instead: two executors against one, starts with cold and warm keys, memory
//! against what is counted, and sums of a thousand vectors.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use bellerophon_ballista::{ExecutorOptions, SchedulerOptions, run};
use clap::{Parser, Subcommand};
use common::{
    args::Common,
    console::Console,
    output,
    program::{self, Defaults, Failure},
};
use serde::Serialize;

use crate::{
    driver::DriverOptions,
    kills::{Death, Outcome},
    processes::Resources,
    world::World,
};

mod driver;
mod figures;
mod kills;
mod processes;
mod world;

/// Rows of the table: nine vectors for each group, or two. A task has four: more than one for each
/// executor.
const ROWS: usize = 560_000;
const SMALL: usize = 120_000;

/// Runs SQL over an encrypted column on a cluster of processes, and kills some of them
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Measure the cluster instead of killing its processes
    #[arg(long)]
    figures: bool,
}

/// The processes of the cluster, which are this program.
#[derive(Debug, Parser)]
struct Part {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Subcommand)]
enum Role {
    Scheduler(SchedulerOptions),
    Executor(ExecutorOptions),
    Driver(DriverOptions),
}

/// The report of `--json`.
#[derive(Debug, Serialize)]
struct Report {
    rows: usize,
    ciphertexts: usize,
    security_bits: f64,
    eval_key_bytes: u64,
    executors: usize,
    /// Results that are missing after a death, and those that came twice.
    lost: usize,
    duplicates: usize,
    /// All results have the bits of those in this process.
    identical: bool,
    /// Executors that the scheduler knows after a death: the smaller number of both runs.
    executors_after: u64,
    /// Copies of an object for each node, at most.
    key_loads_per_node: f64,
    /// The second driver began behind the first iteration, and got the bits of one without a death.
    resumed: bool,
    resumed_at: usize,
    mid_stage: Outcome,
    after_shuffle: Outcome,
}

fn main() -> ExitCode {
    let role = std::env::args().nth(1);
    if matches!(role.as_deref(), Some("scheduler" | "executor" | "driver")) {
        processes::end_with_owner();
        return match Part::parse().role {
            Role::Scheduler(options) => run(options.serve()),
            Role::Executor(options) => run(async {
                let node = options.node()?;
                options.serve(node).await
            }),
            Role::Driver(options) => run(options.drive()),
        };
    }
    let defaults = Defaults { presets: &["sql"], threads: None };
    program::run(defaults, |arguments: &Arguments| {
        let runtime = tokio::runtime::Runtime::new().map_err(Failure::run)?;
        let home = std::env::temp_dir().join(format!("cluster-{}", std::process::id()));
        fs::create_dir_all(&home).map_err(Failure::run)?;
        let console = Console::new(arguments.common.json);
        console.say(format!("logs are in {}", home.display()));
        let cleanup = Cleanup(home.clone());
        // The processes of the cluster end with this one.
        let scratch = home.clone();
        runtime.spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                fs::remove_dir_all(scratch).ok();
                std::process::exit(130);
            }
        });
        let finished = runtime.block_on(async {
            match arguments.figures {
                true => figures::measure(&home, arguments, &console).await,
                false => kill(&home, arguments, &console).await,
            }
        });
        match finished {
            Ok(()) => drop(cleanup),
            // The logs say why.
            Err(_) => std::mem::forget(cleanup),
        }
        finished
    })
}

/// The two runs, and the driver.
async fn kill(home: &Path, arguments: &Arguments, console: &Console) -> Result<(), Failure> {
    let rows = if arguments.common.small { SMALL } else { ROWS };
    // Step 1: the table, and the results in this process.
    let world = World::numbers(home, rows, 1)?;
    console.say(format!("{rows} rows: {} vectors", world.vectors));
    let begin = Instant::now();
    let expected = kills::results(world.client.params(), &world.here().await?).await?;
    console.say(format!("in this process: {:.1} s", begin.elapsed().as_secs_f64()));
    // Step 2: two fresh clusters, a death in each.
    let resources = Resources { threads: 0, memory_mib: 4096 };
    let (mut cluster, mid_stage) =
        kills::run(home, &world, &expected, Death::MidStage, resources).await?;
    console.say(format!("killed in the middle of a stage: {mid_stage:?}"));
    for process in &mut cluster.executors {
        process.kill();
    }
    drop(cluster);
    let (mut cluster, after_shuffle) =
        kills::run(home, &world, &expected, Death::AfterShuffle, resources).await?;
    console.say(format!("killed after its shuffle was written: {after_shuffle:?}"));
    // Step 3: the driver, on what is left of the second cluster.
    let resumed = driver::killed_and_resumed(home, &mut cluster, arguments.common.small).await?;
    console.say(format!("driver: {resumed:?}"));
    let outcomes = [&mid_stage, &after_shuffle];
    let report = Report {
        rows,
        ciphertexts: world.vectors,
        security_bits: world.client.params().security_bits(),
        eval_key_bytes: world.key_bytes,
        executors: kills::NODES.len(),
        lost: outcomes.iter().map(|outcome| outcome.lost).sum(),
        duplicates: outcomes.iter().map(|outcome| outcome.duplicates).sum(),
        identical: outcomes.iter().all(|outcome| outcome.identical),
        executors_after: mid_stage.executors_after.min(after_shuffle.executors_after),
        key_loads_per_node: mid_stage.key_loads_per_node.max(cluster.key_loads_per_node()),
        resumed: resumed.at > 0 && resumed.identical,
        resumed_at: resumed.at,
        mid_stage,
        after_shuffle,
    };
    if arguments.common.json {
        return output::print_json(&report);
    }
    Ok(())
}

/// Removes the folder of a run that succeeded.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        // Nothing depends on it.
        fs::remove_dir_all(&self.0).ok();
    }
}
