//! A client with a table, and clusters over its store.

use std::{
    fs::File,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::Arc,
};

use bellerophon::{Ciphertext, format, mlwe::Security, prelude::*};
use bellerophon_ballista::{ClientOptions, ExecutorOptions, SchedulerOptions, TlsOptions, connect};
use bellerophon_datafusion::{
    EncryptedColumn, Hash, KeyStoreOptions, Node, NodeOptions, SessionOptions, TableOptions,
    TableWriter, session,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, BinaryArray, Float64Array, StringArray},
        compute::cast,
        datatypes::{DataType, Schema},
        record_batch::RecordBatch,
    },
    object_store::local::LocalFileSystem,
    parquet::arrow::ArrowWriter,
    prelude::{ParquetReadOptions, SessionContext},
};
use tempfile::TempDir;

/// Rows of the table: five vectors of the group `a` and two of the group `b`. The last vector of
/// each group is not full.
pub const ROWS: usize = 6000;

/// A client with a table and keys in the store of a folder.
pub struct World {
    pub client: ClientKey,
    pub params: Hash,
    pub keys: Hash,
    pub node: Arc<Node>,
    pub folder: TempDir,
}

/// The rows of a result: group or constant, and the bits of a vector, in an order of their own.
pub type Rows = Vec<(String, Hash)>;

/// The polynomials of a result, in short. Its estimate of the noise and its range are sums of
/// floating-point numbers, whose last bits depend on their order.
pub fn bits(params: &Params, bytes: &[u8]) -> Hash {
    let x: Ciphertext = format::from_bytes(params, bytes).unwrap();
    let polys = std::iter::once(x.lattice().b()).chain(x.lattice().masks());
    let words = polys.flat_map(|poly| poly.data()).copied();
    let words = words.chain([x.meta().scale.to_bits(), x.len() as u64]);
    Hash::of(&words.flat_map(u64::to_le_bytes).collect::<Vec<_>>())
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::preset(Preset::Insecure(Toy::Functions)).unwrap();
        let client = ClientKey::generate(&params).unwrap();
        let store = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
        let keys = KeyStoreOptions {
            security: Security::Insecure,
            ..KeyStoreOptions::new(folder.path().join("client"))
        };
        let options = NodeOptions { keys, ..NodeOptions::new(folder.path().join("client")) };
        let node = Node::new(Arc::new(store), options).unwrap();
        let needs = Needs::new().multiply().sums(1024);
        let params = node.keys().put_params(&params).unwrap();
        let keys = node.keys().put_keys(&client.evaluation_keys(&needs).unwrap()).unwrap();
        let world = Self { client, params, keys, node, folder };
        world.write(&world.client, "table");
        world
    }

    /// The values of the column `x`.
    pub fn values() -> Vec<f64> {
        (0..ROWS).map(|i| (i as f64 * 0.37).sin() * 1.9).collect()
    }

    /// Encrypts the table for a client, into a folder.
    pub fn write(&self, client: &ClientKey, name: &str) {
        let groups: Vec<_> = (0..ROWS).map(|i| if i % 5 == 0 { "b" } else { "a" }).collect();
        let columns: [(&str, ArrayRef); 2] = [
            ("x", Arc::new(Float64Array::from(Self::values()))),
            ("g", Arc::new(StringArray::from(groups))),
        ];
        let plain = RecordBatch::try_from_iter(columns).unwrap();
        let column = EncryptedColumn::new("x", -2.0..=2.0);
        let (columns, group) = (vec![column], Some("g".to_string()));
        let options = TableOptions { params: self.params, columns, group, most_vectors: 8 };
        std::fs::create_dir(self.folder.path().join(name)).unwrap();
        let file = File::create(self.path(name).join("0.parquet")).unwrap();
        let mut writer = TableWriter::new(client, options, file).unwrap();
        writer.write(&plain).unwrap();
        writer.finish().unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A table of one column of bytes, with the description of the column of the real table.
    pub async fn forge(&self, here: &SessionContext, name: &str, values: Vec<Vec<u8>>) {
        let real = here.table("t").await.unwrap();
        let field = real.schema().field_with_unqualified_name("x").unwrap().clone();
        let schema = Arc::new(Schema::new(vec![field]));
        let column: ArrayRef = Arc::new(BinaryArray::from_iter_values(values));
        let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
        std::fs::create_dir(self.path(name)).unwrap();
        let file = File::create(self.path(name).join("0.parquet")).unwrap();
        let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    /// A session in this process.
    pub async fn here(&self) -> SessionContext {
        let options = SessionOptions { keys: Some(self.keys), ..Default::default() };
        let session = session(&self.node, &options).unwrap();
        self.register(&session, "t", "table").await;
        session
    }

    /// A session on a cluster.
    pub async fn on(&self, cluster: &str) -> SessionContext {
        self.with(cluster, ClientOptions::default(), Some(self.keys)).await
    }

    /// A session on a cluster with other options.
    pub async fn with(
        &self,
        cluster: &str,
        options: ClientOptions,
        keys: Option<Hash>,
    ) -> SessionContext {
        let session = SessionOptions { keys, partitions: 3, vectors_per_batch: 2 };
        let options = ClientOptions { session, remote_shuffles: true, ..options };
        let session = connect(cluster, &self.node, &options).unwrap();
        // The files are small: tables of real size are divided anyway.
        let divide = "SET datafusion.optimizer.repartition_file_min_size = 0";
        session.sql(divide).await.unwrap().collect().await.unwrap();
        self.register(&session, "t", "table").await;
        session
    }

    pub async fn register(&self, session: &SessionContext, table: &str, folder: &str) {
        let place = format!("{}/", self.path(folder).display());
        let options = ParquetReadOptions::default();
        session.register_parquet(table, place, options).await.unwrap();
    }

    /// The options of an executor with a folder of its own and the cache of a node.
    pub fn executor(&self, scheduler: &str, name: &str, cache: &str) -> ExecutorOptions {
        ExecutorOptions {
            scheduler: scheduler.into(),
            bind: free_address(),
            host: "localhost".into(),
            store: self.folder.path().display().to_string(),
            cache: self.path(cache),
            work: self.path(name).join("work"),
            roots: vec![self.folder.path().display().to_string()],
            tasks: 1,
            threads: 1,
            memory: 1024,
            keys: 512,
            rotations: 128,
            insecure: true,
            status: Some(self.path(&format!("{name}-status"))),
            tls: TlsOptions::default(),
        }
    }

    /// A scheduler and two executors in this process; `define` adds functions to their nodes.
    pub fn cluster(&self, tls: &TlsOptions, define: impl Fn(&Node)) -> String {
        let options = scheduler(self.folder.path(), tls);
        let address = format!("localhost:{}", options.bind.port());
        tokio::spawn(options.serve());
        for i in 0..2 {
            let executor = self.executor(&address, &format!("executor-{i}"), "node");
            let executor = ExecutorOptions { tls: tls.clone(), ..executor };
            let node = executor.node().unwrap();
            define(&node);
            tokio::spawn(executor.serve(node));
        }
        address
    }
}

/// The options of a scheduler that gives executors up soon.
pub fn scheduler(folder: &Path, tls: &TlsOptions) -> SchedulerOptions {
    SchedulerOptions {
        bind: free_address(),
        work: folder.join("scheduler"),
        roots: vec![folder.display().to_string()],
        executor_timeout: 6,
        no_executor_grace: 2,
        status: Some(folder.join("scheduler-status")),
        tls: tls.clone(),
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The rows of a query, sorted.
pub async fn rows(params: &Params, session: &SessionContext, sql: &str) -> Rows {
    let batches = session.sql(sql).await.unwrap().collect().await.unwrap();
    let mut rows = Rows::new();
    for batch in batches {
        let groups = cast(batch.column(0), &DataType::Utf8).unwrap();
        let vectors = batch.column(1).as_binary::<i32>();
        let groups = groups.as_string::<i32>();
        let bits = |i: usize| bits(params, vectors.value(i));
        rows.extend((0..batch.num_rows()).map(|i| (groups.value(i).into(), bits(i))));
    }
    rows.sort();
    rows
}

/// The message of a query that fails.
pub async fn refusal(session: &SessionContext, sql: &str) -> String {
    let result = async { session.sql(sql).await?.collect().await.map(|_| ()) };
    result.await.expect_err("the query fails").to_string()
}
