//! The scheduler: it turns queries into tasks, and gives them to the executors that ask.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use ballista_core::{
    config::TaskSchedulingPolicy, optimizer::with_ballista_optimizer_rules,
    serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer,
};
use ballista_scheduler::{
    cluster::BallistaCluster,
    config::{SchedulerConfig, TaskDistributionPolicy},
    scheduler_process::create_scheduler,
};
use bellerophon_datafusion::{Node, NodeOptions, Result, SessionOptions, state};
use datafusion::{
    common::DataFusionError, execution::SessionStateBuilder, object_store::memory::InMemory,
    optimizer::Analyzer,
};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tonic::transport::{Server, server::TcpIncoming};

use crate::{
    TlsOptions,
    program::engine,
    results::EachOnce,
    roots::Roots,
    settings::{self, MESSAGE},
    status,
    tls::check_plaintext,
};

/// The arguments of a scheduler.
#[derive(Debug, Clone, clap::Args)]
pub struct SchedulerOptions {
    /// Address to listen at, for clients and executors
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:50050")]
    pub bind: SocketAddr,

    /// Folder for the scheduler itself; it holds no keys and no data
    #[arg(long, value_name = "DIR")]
    pub work: PathBuf,

    /// Folder or URL below which plans may read and write files, such as those of tables; may be
    /// given more than once. Without it they read and write none
    #[arg(long = "root", value_name = "DIR|URL")]
    pub roots: Vec<String>,

    /// Seconds without a sign of life after which an executor is dead and its tasks run elsewhere.
    /// Executors ask for work every 5 seconds at least
    #[arg(
        long,
        value_name = "S",
        default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(6..)
    )]
    pub executor_timeout: u64,

    /// Seconds without any executor after which running queries fail
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub no_executor_grace: u64,

    /// File that gets `{"executors":N}` five times a second
    #[arg(long, value_name = "FILE")]
    pub status: Option<PathBuf>,

    /// Certificates of this process.
    #[command(flatten)]
    pub tls: TlsOptions,
}

impl SchedulerOptions {
    /// Runs the scheduler until the process ends.
    ///
    /// # Errors
    /// Files of certificates that cannot be read, an address beyond this machine without them,
    /// roots that are not there, an address that is in use, those of the engine.
    pub async fn serve(self) -> Result<()> {
        let tls = self.tls.read()?;
        check_plaintext(&self.bind.ip().to_string(), tls.is_some(), self.tls.plaintext)?;
        let roots = Arc::new(Roots::new(&self.roots)?);
        // Step 1: sessions that know the functions. They compute nothing here: every call of a
        // query has the description of its result.
        let node = Node::new(
            Arc::new(InMemory::new()),
            NodeOptions { threads: 1, memory: 0, ..NodeOptions::new(&self.work) },
        )?;
        let known = state(&node, &SessionOptions::default())?;
        let config = settings::cluster(known.config().clone(), None);
        // Step 2: the scheduler of the engine.
        let config = SchedulerConfig {
            bind_host: self.bind.ip().to_string(),
            bind_port: self.bind.port(),
            external_host: self.bind.ip().to_string(),
            // Executors ask for work: no process connects to them but for shuffles.
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            task_distribution: TaskDistributionPolicy::RoundRobin,
            executor_timeout_seconds: self.executor_timeout,
            expire_dead_executor_interval_seconds: 1,
            no_executors_grace_period_seconds: self.no_executor_grace,
            grpc_server_max_decoding_message_size: MESSAGE,
            grpc_server_max_encoding_message_size: MESSAGE,
            grpc_client_max_message_size: MESSAGE,
            use_tls: tls.is_some(),
            override_create_grpc_client_endpoint: tls.as_ref().map(|tls| tls.endpoint()),
            override_config_producer: Some(Arc::new(move || config.clone())),
            override_session_builder: Some(Arc::new(move |config| {
                let rules = with_ballista_optimizer_rules(known.optimizers());
                // The client has analysed the plan with its own rules.
                let mut analysis = Analyzer::new().rules;
                analysis.insert(0, roots.clone());
                let known = SessionStateBuilder::new_from_existing(known.clone())
                    .with_analyzer_rules(analysis)
                    .with_optimizer_rules(rules);
                Ok(known.with_config(config).build())
            })),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await.map_err(engine)?;
        let executors = cluster.cluster_state();
        let server = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config.into());
        let server = SchedulerGrpcServer::new(EachOnce(server.await.map_err(engine)?))
            .max_decoding_message_size(MESSAGE as usize)
            .max_encoding_message_size(MESSAGE as usize);
        if let Some(path) = self.status {
            status::write(
                path,
                move || serde_json::json!({ "executors": executors.executor_heartbeats().len() }),
            );
        }
        // Step 3: its service, and no other: the engine's REST interface shows queries to everyone.
        let listener = TcpListener::bind(self.bind).await.map_err(DataFusionError::from)?;
        let mut service = Server::builder();
        if let Some(tls) = &tls {
            service = service.tls_config(tls.server()).map_err(engine)?;
        }
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Ok(service.add_service(server).serve_with_incoming(incoming).await.map_err(engine)?)
    }
}
