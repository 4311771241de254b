//! The stages of queries on an executor: their settings and files are checked before they start,
//! and their errors are sentences.

use std::{fmt, sync::Arc};

use ballista_core::{
    JobId,
    error::BallistaError,
    serde::protobuf::{
        RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
    },
};
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use bellerophon_datafusion::Error;
use datafusion::{
    common::{DataFusionError, Result},
    execution::TaskContext,
    physical_plan::{ExecutionPlan, metrics::MetricsSet},
    prelude::SessionConfig,
};

use crate::{roots::Roots, settings};

/// The stages of the engine, with the checks of this crate.
pub(crate) struct Stages {
    pub(crate) engine: DefaultExecutionEngine,
    pub(crate) roots: Roots,
}

impl ExecutionEngine for Stages {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        settings::check(config.options()).map_err(|error| readable(error.into()))?;
        self.roots.check_plan(&plan).map_err(|error| readable(error.into()))?;
        let engine = &self.engine;
        let inner =
            engine.create_query_stage_exec(job, stage, task, partitions, plan, work, config)?;
        Ok(Arc::new(Stage(inner)))
    }
}

#[derive(Debug)]
struct Stage(Arc<dyn QueryStageExecutor>);

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait::async_trait]
impl QueryStageExecutor for Stage {
    async fn execute_query_stage(
        &self,
        task: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        self.0.execute_query_stage(task, context).await.map_err(readable)
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.0.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.0.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.0.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.0.collect_column_stats()
    }
}

/// The engine shows the form of an error that programmers debug: errors of this crate and of stores
/// become text. Errors of the engine, such as a shuffle of a dead executor, stay as they are: it
/// repeats what failed.
fn readable(error: DataFusionError) -> DataFusionError {
    match root(&error) {
        DataFusionError::ObjectStore(fault) => {
            DataFusionError::Execution(format!("Object Store error: {fault}"))
        }
        DataFusionError::External(cause) => match cause.downcast_ref::<Error>() {
            Some(cause) => DataFusionError::Execution(cause.to_string()),
            None => error,
        },
        _ => error,
    }
}

/// The innermost error, also through the layers of the engine.
fn root(error: &DataFusionError) -> &DataFusionError {
    let inner = error.find_root();
    match inner {
        DataFusionError::External(cause) => match cause.downcast_ref::<BallistaError>() {
            Some(BallistaError::DataFusionError(cause)) => root(cause),
            _ => inner,
        },
        _ => inner,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bellerophon_datafusion::{Node, NodeOptions, SessionOptions, state};
    use datafusion::{
        object_store::memory::InMemory,
        prelude::{CsvReadOptions, SessionContext},
    };

    use super::*;

    /// Whatever the scheduler lets through: the executor checks the plan that it got.
    #[tokio::test]
    async fn stages_with_files_outside_the_roots_do_not_start() {
        let home = tempfile::tempdir().unwrap();
        let place = |name: &str| home.path().join(name).display().to_string();
        for name in ["inside", "outside"] {
            fs::create_dir(place(name)).unwrap();
            fs::write(format!("{}/table.csv", place(name)), "n\n1\n").unwrap();
        }
        let options = NodeOptions { threads: 1, memory: 0, ..NodeOptions::new(place("node")) };
        let node = Node::new(Arc::new(InMemory::new()), options).unwrap();
        let known = state(&node, &SessionOptions::default()).unwrap();
        let config = settings::cluster(known.config().clone(), None);
        let session = SessionContext::new_with_state(known);
        let roots = Roots::new(&[place("inside")]).unwrap();
        let stages = Stages { engine: DefaultExecutionEngine::new(), roots };
        let refused = async |sql: &str| {
            let plan = session.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
            let job = JobId::from("job");
            let made = stages.create_query_stage_exec(job, 1, 0, vec![0], plan, "work", &config);
            made.unwrap_err().to_string()
        };
        for (name, is_outside) in [("inside", false), ("outside", true)] {
            let file = format!("{}/table.csv", place(name));
            session.register_csv(name, &file, CsvReadOptions::new()).await.unwrap();
            let written = format!("COPY (VALUES (1)) TO '{}/new.csv' STORED AS CSV", place(name));
            for sql in [format!("SELECT n FROM {name}"), written] {
                // What may pass is refused by the engine, as no stage of its own.
                let refused = refused(&sql).await;
                assert_eq!(refused.contains("--root"), is_outside, "{sql}: {refused}");
            }
            assert!(!home.path().join(name).join("new.csv").exists());
        }
    }
}
