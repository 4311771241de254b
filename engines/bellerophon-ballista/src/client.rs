//! The client: a session whose queries run on a cluster.

use std::sync::Arc;

use ballista_core::{
    extension::SessionConfigExt, optimizer::with_ballista_optimizer_rules,
    planner::BallistaQueryPlanner,
};
use bellerophon_datafusion::{Describe, Node, Result, SessionOptions, state};
use datafusion::{
    catalog::Session,
    common::Result as EngineResult,
    execution::{SessionStateBuilder, context::QueryPlanner},
    logical_expr::LogicalPlan,
    physical_plan::ExecutionPlan,
    prelude::SessionContext,
};
use datafusion_proto::protobuf::LogicalPlanNode;

use crate::{Tls, settings};

/// A session on a cluster.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// Keys, vectors in a batch, and the partitions of a table: as many tasks run at the same time,
    /// at most.
    pub session: SessionOptions,
    /// Certificates; without them nothing is encrypted or authenticated.
    pub tls: Option<Tls>,
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
/// Those of the engine for settings that it does not take.
pub fn connect(
    scheduler: &str,
    node: &Arc<Node>,
    options: &ClientOptions,
) -> Result<SessionContext> {
    let local = state(node, &options.session)?;
    let config = settings::cluster(local.config().clone(), options.tls.as_ref())
        .with_ballista_shuffle_reader_force_remote_read(options.remote_shuffles);
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let planner = Planner {
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
        match plan {
            LogicalPlan::Explain(_) => self.local.create_physical_plan(plan, session).await,
            _ => self.cluster.create_physical_plan(plan, session).await,
        }
    }
}
