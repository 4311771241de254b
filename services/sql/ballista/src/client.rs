//! The client: a session whose queries run on a cluster.

use std::{fmt, sync::Arc};

use ballista_core::{
    extension::SessionConfigExt, optimizer::with_ballista_optimizer_rules,
    planner::BallistaQueryPlanner,
};
use bellerophon_datafusion::{Describe, Node, Result, SessionOptions, state};
use datafusion::{
    catalog::Session,
    common::{DataFusionError, Result as EngineResult, tree_node::TreeNodeRecursion},
    execution::{
        SendableRecordBatchStream, SessionStateBuilder, TaskContext, context::QueryPlanner,
    },
    logical_expr::LogicalPlan,
    physical_expr::PhysicalExpr,
    physical_plan::{
        DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, metrics::MetricsSet,
        stream::RecordBatchStreamAdapter,
    },
    prelude::SessionContext,
};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::TryStreamExt;

use crate::{Tls, settings, tls::check_plaintext};

/// A session on a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// Keys, vectors in a batch, and the partitions of a table: as many tasks run at the same time,
    /// at most.
    pub session: SessionOptions,
    /// Certificates; without them nothing is encrypted or authenticated.
    pub tls: Option<Tls>,
    /// Connect without certificates to a scheduler beyond this machine.
    pub plaintext: bool,
    /// Fetch every part of a shuffle over the network, also from executors on the same machine.
    pub remote_shuffles: bool,
}

/// A session whose queries run on the cluster of a scheduler, `host:port`. The connection is made
/// with the first query.
///
/// Queries are planned here, on the simulator of the library: a plan that cannot be computed is
/// refused before it leaves. The node gives parameters, and objects to put; keys are read where the
/// functions run. Paths of tables are those of the executors.
///
/// # Errors
/// A scheduler beyond this machine without TLS; those of the engine for settings that it does not
/// take.
pub fn connect(
    scheduler: &str,
    node: &Arc<Node>,
    options: &ClientOptions,
) -> Result<SessionContext> {
    let host = scheduler.rsplit_once(':').map_or(scheduler, |(host, _)| host);
    check_plaintext(host, options.tls.is_some(), options.plaintext)?;
    let local = state(node, &options.session)?;
    let config = settings::cluster(local.config().clone(), options.tls.as_ref())
        .with_ballista_shuffle_reader_force_remote_read(options.remote_shuffles);
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let planner = Planner {
        scheduler: scheduler.into(),
        local: local.query_planner().clone(),
        cluster: BallistaQueryPlanner::new(
            format!("{scheme}://{scheduler}"),
            config.ballista_config(),
        ),
    };
    // Step 1: the rules of the cluster. Step 2: descriptions, when nothing else changes any more.
    let mut rules = with_ballista_optimizer_rules(local.optimizers());
    rules.push(Arc::new(Describe));
    let state = SessionStateBuilder::new_from_existing(local)
        .with_config(config)
        .with_optimizer_rules(rules)
        .with_query_planner(Arc::new(planner))
        .build();
    Ok(SessionContext::new_with_state(state))
}

/// Sends queries to the cluster, and explains them here, with the predictions of the library.
#[derive(Debug)]
struct Planner {
    scheduler: Arc<str>,
    local: Arc<dyn QueryPlanner + Send + Sync>,
    cluster: BallistaQueryPlanner<LogicalPlanNode>,
}

#[async_trait::async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        if let LogicalPlan::Explain(_) = plan {
            return self.local.create_physical_plan(plan, session).await;
        }
        let inner = self.cluster.create_physical_plan(plan, session).await?;
        Ok(Arc::new(Remote { inner, scheduler: self.scheduler.clone() }))
    }
}

/// A query on the cluster, whose errors name the scheduler if it does not answer.
#[derive(Debug)]
struct Remote {
    inner: Arc<dyn ExecutionPlan>,
    scheduler: Arc<str>,
}

impl DisplayAs for Remote {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_as(form, f)
    }
}

impl ExecutionPlan for Remote {
    fn name(&self) -> &str {
        "RemoteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.inner.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> EngineResult<TreeNodeRecursion>,
    ) -> EngineResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> EngineResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> EngineResult<SendableRecordBatchStream> {
        let stream = self.inner.execute(partition, context)?;
        let (schema, scheduler) = (stream.schema(), self.scheduler.clone());
        let named = stream.map_err(move |error| named(error, &scheduler));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, named)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.inner.metrics()
    }
}

/// The engine passes on what the connection to the scheduler says, without its name. Errors of a
/// job and of executors begin otherwise.
fn named(error: DataFusionError, scheduler: &str) -> DataFusionError {
    let DataFusionError::Execution(text) = &error else { return error };
    let is_connection = text.starts_with("tonic::transport::Error");
    let is_answer = text.starts_with("Status {") || text.starts_with("code: ");
    let broken = ["h2 protocol error", "transport", "broken pipe", "connection error"];
    let is_broken = is_answer && broken.iter().any(|sign| text.contains(sign));
    if !is_connection && !is_broken && text != "Stream closed without job completing" {
        return error;
    }
    DataFusionError::Execution(format!(
        "the scheduler at {scheduler} does not answer, or has died, and with it the queries that \
         it held: start it, and run the query again ({text})"
    ))
}
