//! The executor: it asks for tasks, computes them with the functions of its node, and serves their
//! results to other executors and to the client.

use std::{fs, net::SocketAddr, path::PathBuf, sync::Arc};

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::{
    config::TaskSchedulingPolicy,
    error::BallistaError,
    registry::BallistaFunctionRegistry,
    utils::{GrpcServerConfig, create_grpc_server},
};
use ballista_executor::{
    ArrowFlightServerProvider,
    execution_engine::DefaultExecutionEngine,
    executor_process::{ExecutorProcessConfig, start_executor_process},
    flight_service::BallistaFlightService,
    shutdown::Shutdown,
};
use bellerophon::mlwe::Security;
use bellerophon_datafusion::{
    Error, KeyStoreOptions, Node, NodeOptions, Result, SessionOptions, state,
};
use datafusion::{execution::runtime_env::RuntimeEnvBuilder, prelude::SessionConfig};

use crate::{
    Tls, TlsOptions,
    program::engine,
    roots::Roots,
    settings::{self, MESSAGE, REQUEST_SECONDS},
    stage::Stages,
    status, store,
    tls::check_plaintext,
};

/// Bytes of a MiB.
const MIB: usize = 1 << 20;

/// The arguments of an executor.
#[derive(Debug, Clone, clap::Args)]
pub struct ExecutorOptions {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "localhost:50050")]
    pub scheduler: String,

    /// Address to serve results at
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:50051")]
    pub bind: SocketAddr,

    /// Name under which other executors and clients reach that address
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    pub host: String,

    /// Store of keys and parameters: a folder, or the URL of an object store. Credentials of S3
    /// come from the environment (AWS_*)
    #[arg(long, value_name = "DIR|URL")]
    pub store: String,

    /// Folder for copies of objects; executors of one machine share it
    #[arg(long, value_name = "DIR")]
    pub cache: PathBuf,

    /// Folder for the results of tasks; one for each executor, and empty at the start
    #[arg(long, value_name = "DIR")]
    pub work: PathBuf,

    /// Folder or URL below which plans may read and write files, such as those of tables; may be
    /// given more than once. Without it they read and write none
    #[arg(long = "root", value_name = "DIR|URL")]
    pub roots: Vec<String>,

    /// Tasks at a time; the vectors of every task run in parallel anyway
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub tasks: u16,

    /// Threads for vectors; 0 for as many as the machine has
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,

    /// MiB of memory for keys, vectors in work and sums together
    #[arg(long, value_name = "MIB", default_value_t = 8192)]
    pub memory: usize,

    /// MiB of evaluation keys in memory, counted as their objects have
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub keys: u64,

    /// MiB of memory for the rotation keys of each set of keys
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    pub rotations: usize,

    /// Accept parameters below 128 bits of security: for tests
    #[arg(long)]
    pub insecure: bool,

    /// File that gets the counters of the executor five times a second
    #[arg(long, value_name = "FILE")]
    pub status: Option<PathBuf>,

    /// Certificates of this process.
    #[command(flatten)]
    pub tls: TlsOptions,
}

impl ExecutorOptions {
    /// The node of these options. Programs that define functions of their own add them to it.
    ///
    /// # Errors
    /// A store that cannot be opened, folders that cannot be made.
    pub fn node(&self) -> Result<Arc<Node>> {
        let security = if self.insecure { Security::Insecure } else { Security::Bits128 };
        let keys = KeyStoreOptions {
            folder: self.cache.clone(),
            security,
            budget: self.keys.saturating_mul(MIB as u64),
            rotations: self.rotations.saturating_mul(MIB),
        };
        let options =
            NodeOptions { keys, threads: self.threads, memory: self.memory.saturating_mul(MIB) };
        Node::new(store::open(&self.store)?, options)
    }

    /// Runs an executor with the functions of a node until the process gets a signal to end.
    ///
    /// # Errors
    /// Files of certificates that cannot be read, addresses beyond this machine without them, roots
    /// that are not there, an address that is in use, a scheduler that does not answer, those of
    /// the engine.
    pub async fn serve(self, node: Arc<Node>) -> Result<()> {
        let tls = self.tls.read()?;
        let roots = Roots::new(&self.roots)?;
        let failed = |reason: String| engine(BallistaError::Configuration(reason));
        let malformed = || failed(format!("{:?} is no HOST:PORT", self.scheduler));
        let (scheduler, port) = self.scheduler.rsplit_once(':').ok_or_else(malformed)?;
        let port = port.parse().map_err(|_| malformed())?;
        for host in [scheduler, &self.bind.ip().to_string()] {
            check_plaintext(host, tls.is_some(), self.tls.plaintext)?;
        }
        let work = self.work.display().to_string();
        let file = |source| Error::File { path: work.clone(), source };
        fs::create_dir_all(&self.work).map_err(file)?;
        if fs::read_dir(&self.work).map_err(file)?.next().is_some() {
            return Err(
                failed(format!("the folder {work} is not empty: give one of its own")).into()
            );
        }
        // Step 1: the functions and the settings that tasks begin with.
        let known = state(&node, &SessionOptions::default())?;
        let functions = BallistaFunctionRegistry::from(&known);
        let config = settings::cluster(known.config().clone(), tls.as_ref());
        // Step 2: one memory pool for all tasks, keys and vectors of the process.
        let (temporary, pool) = (work.clone(), node.memory().clone());
        let runtime = move |_: &SessionConfig| {
            RuntimeEnvBuilder::new()
                .with_temp_file_path(temporary.clone())
                .with_memory_pool(pool.clone())
                .build_arc()
        };
        // Step 3: stages whose settings and files are checked.
        let stages = Stages { engine: DefaultExecutionEngine::new(), roots };
        let process = ExecutorProcessConfig {
            bind_host: self.bind.ip().to_string(),
            port: self.bind.port(),
            external_host: Some(self.host),
            scheduler_host: scheduler.into(),
            scheduler_port: port,
            scheduler_connect_timeout_seconds: 30,
            vcores: self.tasks.into(),
            task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
            work_dir: Some(work),
            grpc_max_decoding_message_size: MESSAGE,
            grpc_max_encoding_message_size: MESSAGE,
            // The engine divides a pool of its own among tasks: 0 leaves that of the node.
            memory_pool_size: Some(0),
            override_execution_engine: Some(Arc::new(stages)),
            override_function_registry: Some(Arc::new(functions)),
            override_config_producer: Some(Arc::new(move || config.clone())),
            override_runtime_producer: Some(Arc::new(runtime)),
            override_arrow_flight_service: Some(flight(tls.clone())),
            override_create_grpc_client_endpoint: tls.as_ref().map(|tls| tls.endpoint()),
            ..ExecutorProcessConfig::default()
        };
        if let Some(path) = self.status {
            status::write(path, move || {
                serde_json::json!({
                    "calls": node.calls(),
                    "downloads": node.keys().downloads(),
                    "key_bytes": node.keys().loaded_bytes(),
                    "memory_bytes": node.memory().reserved(),
                })
            });
        }
        Ok(start_executor_process(Arc::new(process)).await.map_err(engine)?)
    }
}

/// The service that sends results to other processes.
fn flight(tls: Option<Tls>) -> Arc<ArrowFlightServerProvider> {
    Arc::new(move |work: String, address, mut shutdown: Shutdown, _| {
        let service = FlightServiceServer::new(BallistaFlightService::new(work))
            .max_decoding_message_size(MESSAGE as usize)
            .max_encoding_message_size(MESSAGE as usize);
        let settings =
            GrpcServerConfig { timeout_seconds: REQUEST_SECONDS, ..GrpcServerConfig::default() };
        let mut server = create_grpc_server(&settings);
        let tls = tls.clone();
        tokio::spawn(async move {
            if let Some(tls) = tls {
                server = server.tls_config(tls.server())?;
            }
            let serving = server.add_service(service);
            Ok(serving.serve_with_shutdown(address, shutdown.recv()).await?)
        })
    })
}
