//! A client, its table and a node.

use std::{fs::File, path::Path, sync::Arc};

use bellerophon::{mlwe::Security, prelude::*};
use bellerophon_datafusion::{
    EncryptedColumn, Hash, KeyStoreOptions, Node, NodeOptions, SessionOptions, TableOptions,
    TableProgress, TableWriter, Values, decrypt, session,
};
use datafusion::{
    arrow::{
        array::{ArrayRef, AsArray, BinaryArray, Float64Array, StringArray},
        datatypes::{Float64Type, Schema},
        record_batch::RecordBatch,
    },
    datasource::MemTable,
    object_store::{ObjectStore, local::LocalFileSystem},
    prelude::{ParquetReadOptions, SessionContext},
};
use tempfile::TempDir;

/// The declared range of both columns.
pub const RANGE: [f64; 2] = [-2.0, 2.0];

/// Bytes of memory of a node.
pub const MEMORY: usize = 1 << 30;

/// Rows: two vectors of the group `a` and one of the group `b`, the last ones not full.
pub const ROWS: usize = 2500;

/// A client with a table, its keys in a store, and a node with an empty cache.
pub struct World {
    pub client: ClientKey,
    pub params: Hash,
    pub keys: Hash,
    pub node: Arc<Node>,
    pub folder: TempDir,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub groups: Vec<&'static str>,
}

/// A node over the store of a folder, with a cache of its own.
pub fn node(folder: &Path, cache: &str, budget: u64) -> Arc<Node> {
    let store = LocalFileSystem::new_with_prefix(folder).unwrap();
    node_on(Arc::new(store), folder, cache, budget)
}

/// A node over any store, with a cache in a folder.
pub fn node_on(store: Arc<dyn ObjectStore>, folder: &Path, cache: &str, budget: u64) -> Arc<Node> {
    let keys = KeyStoreOptions {
        security: Security::Insecure,
        budget,
        ..KeyStoreOptions::new(folder.join(cache))
    };
    let options = NodeOptions { keys, threads: 2, memory: MEMORY };
    Node::new(store, options).unwrap()
}

/// The needs of all queries of the tests.
pub fn needs() -> Needs {
    Needs::new().multiply().rotate([1]).sums(1024)
}

impl World {
    pub fn new() -> Self {
        Self::of(Preset::Insecure(Toy::Functions), &needs())
    }

    /// A world with other parameters and keys.
    pub fn of(preset: Preset, needs: &Needs) -> Self {
        Self::with_rows(preset, needs, |i| {
            let x = (i as f64 * 0.37).sin() * 1.9;
            [x, (i as f64 * 0.11).cos() + 0.5 * x * 0.9]
        })
    }

    /// A world with other parameters, keys, and values `x` and `y` of row `i`.
    pub fn with_rows(preset: Preset, needs: &Needs, row: impl Fn(usize) -> [f64; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let params = Params::preset(preset).unwrap();
        let client = ClientKey::generate(&params).unwrap();
        let node = node(folder.path(), "cache", 1 << 30);
        let params = node.keys().put_params(&params).unwrap();
        let keys = node.keys().put_keys(&client.evaluation_keys(needs).unwrap()).unwrap();
        let (x, y) = (0..ROWS).map(|i| row(i).into()).unzip();
        let groups = (0..ROWS).map(|i| if i % 5 == 0 { "b" } else { "a" }).collect();
        let world = Self { client, params, keys, node, folder, x, y, groups };
        world.write(&world.client, "table.parquet");
        world
    }

    /// The table in the clear.
    pub fn plain(&self) -> RecordBatch {
        let columns: [(&str, ArrayRef); 3] = [
            ("x", Arc::new(Float64Array::from(self.x.clone()))),
            ("y", Arc::new(Float64Array::from(self.y.clone()))),
            ("g", Arc::new(StringArray::from(self.groups.clone()))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    pub fn options(&self) -> TableOptions {
        let column = |name: &str| EncryptedColumn::new(name, RANGE[0]..=RANGE[1]);
        let (columns, group) = (vec![column("x"), column("y")], Some("g".to_string()));
        TableOptions { params: self.params, columns, group, most_vectors: 6 }
    }

    /// Encrypts the table for a client.
    pub fn write(&self, client: &ClientKey, name: &str) -> TableProgress {
        let file = File::create(self.folder.path().join(name)).unwrap();
        let mut writer = TableWriter::new(client, self.options(), file).unwrap();
        // Batches do not end where vectors do.
        let plain = self.plain();
        for start in (0..ROWS).step_by(700) {
            writer.write(&plain.slice(start, 700.min(ROWS - start))).unwrap();
        }
        writer.finish().unwrap()
    }

    /// A session with the keys, and the table as `t`.
    pub async fn session(&self) -> SessionContext {
        self.session_on(&self.node, Some(self.keys), 1).await
    }

    pub async fn session_on(
        &self,
        node: &Arc<Node>,
        keys: Option<Hash>,
        partitions: usize,
    ) -> SessionContext {
        let options = SessionOptions { keys, partitions, ..Default::default() };
        let session = session(node, &options).unwrap();
        self.register(&session, "t", "table.parquet").await;
        session
    }

    pub async fn register(&self, session: &SessionContext, table: &str, file: &str) {
        let path = self.folder.path().join(file);
        let options = ParquetReadOptions::default();
        session.register_parquet(table, path.to_str().unwrap(), options).await.unwrap();
    }

    /// Runs a query and decrypts its result.
    pub async fn query(&self, session: &SessionContext, sql: &str, values: Values) -> RecordBatch {
        let batches = session.sql(sql).await.unwrap().collect().await.unwrap();
        decrypt(&self.client, &batches, values).unwrap()
    }

    /// The message of a query that fails.
    pub async fn refusal(&self, session: &SessionContext, sql: &str) -> String {
        let result = async { session.sql(sql).await?.collect().await.map(|_| ()) };
        result.await.expect_err(sql).to_string()
    }

    /// Runs a query that fails for this reason.
    pub async fn refuses(&self, session: &SessionContext, sql: &str, reason: &str) {
        let refusal = self.refusal(session, sql).await;
        assert!(refusal.contains(reason), "{sql}: {refusal}");
    }
}

/// The table `forged` of one column of bytes, with the description of a column of the real table.
pub async fn forged(session: &SessionContext, values: Vec<Vec<u8>>) {
    forged_as(session, "t", values).await;
}

/// The same with the description of a column of another table.
pub async fn forged_as(session: &SessionContext, table: &str, values: Vec<Vec<u8>>) {
    let real = session.table(table).await.unwrap();
    let field = real.schema().field_with_unqualified_name("x").unwrap().clone();
    let schema = Arc::new(Schema::new(vec![field]));
    let column: ArrayRef = Arc::new(BinaryArray::from_iter_values(values));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
    let table = MemTable::try_new(schema, vec![vec![batch]]).unwrap();
    session.deregister_table("forged").unwrap();
    session.register_table("forged", Arc::new(table)).unwrap();
}

/// The numbers of a column.
pub fn numbers(batch: &RecordBatch, column: &str) -> Vec<f64> {
    batch.column_by_name(column).unwrap().as_primitive::<Float64Type>().values().to_vec()
}

/// Checks numbers against expected ones.
pub fn close(found: &[f64], expected: &[f64], bound: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() < bound, "{i}: {found}, expected {expected}");
    }
}
