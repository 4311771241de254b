//! The stages of queries on an executor: their settings and files are checked before they start, and
//! their errors are sentences.

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
