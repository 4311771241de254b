//! The client: parameters, keys and tables, and sessions of its queries.

use std::{
    fs::{self, File},
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Arc,
};

use bellerophon::{Ciphertext, Engine, ProgramBounds, format, mlwe::Security, prelude::*};
use bellerophon_ballista::{ClientOptions, connect};
use bellerophon_datafusion::{
    EncryptedColumn, Hash, Node, NodeOptions, SessionOptions, TableOptions, TableWriter, session,
};
use common::program::Failure;
use datafusion::{
    arrow::{
        array::{ArrayRef, Float64Array, StringArray},
        record_batch::RecordBatch,
    },
    object_store::local::LocalFileSystem,
    prelude::{ParquetReadOptions, SessionContext},
};

/// The groups of the table.
const GROUPS: [&str; 8] = ["ne", "nw", "se", "sw", "north", "east", "south", "west"];

/// The declared range of the column of numbers.
pub const RANGE: RangeInclusive<f64> = -4.0..=4.0;

/// The queries: each has a group or a constant, and one encrypted result.
pub const QUERIES: [(&str, &str); 5] = [
    ("mean", "SELECT 'all' AS g, he_mean(v) AS r FROM t"),
    ("variance", "SELECT 'all' AS g, he_variance(v) AS r FROM t"),
    ("sum for each group", "SELECT g, he_sum_slots(he_sum(v)) AS r FROM t GROUP BY g"),
    (
        "sum of a function",
        "SELECT g, he_sum(he_map(v, 'sigmoid', -4.0, 4.0, 12.0)) AS r FROM t GROUP BY g",
    ),
    ("he_map of every value", "SELECT g, he_map(v, 'sigmoid', -4.0, 4.0, 12.0) AS r FROM t"),
];

/// A client with a table in a folder, and its public keys in the store of that folder.
pub struct World {
    pub client: ClientKey,
    pub node: Arc<Node>,
    pub params: Hash,
    pub keys: Hash,
    pub key_bytes: u64,
    pub table: PathBuf,
    pub vectors: usize,
}

/// Parameters for programs of this depth.
pub fn params(depth: usize) -> Result<Params, Failure> {
    let (security, slots) = (Security::Bits128, 1 << 13);
    let bounds =
        ProgramBounds { security, slots, depth, accuracy: Accuracy::bits(22.0), bootstraps: false };
    Params::choose(&bounds).map_err(Failure::run)
}

/// The node of this process, over the store of a folder.
pub fn node(home: &Path, cache: &str) -> Result<Arc<Node>, Failure> {
    let store = LocalFileSystem::new_with_prefix(home).map_err(Failure::run)?;
    Node::new(Arc::new(store), NodeOptions::new(home.join(cache))).map_err(Failure::run)
}

impl World {
    /// The table of the queries: numbers in eight groups. Its file may stand there several times.
    pub fn numbers(home: &Path, rows: usize, copies: usize) -> Result<Self, Failure> {
        let params = params(7)?;
        let needs = Needs::new().multiply().sums(params.ckks().max_slots());
        let [lo, hi] = [*RANGE.start(), *RANGE.end()];
        let place = |i: usize| lo + (hi - lo) * ((i as f64 * 0.618_033_988_75) % 1.0);
        let values = Float64Array::from_iter_values((0..rows).map(place));
        let groups = (0..rows).map(|i| GROUPS[i / 7 % GROUPS.len()]);
        let groups = StringArray::from_iter_values(groups);
        let columns: [(&str, ArrayRef); 2] = [("v", Arc::new(values)), ("g", Arc::new(groups))];
        let table = RecordBatch::try_from_iter(columns).map_err(Failure::run)?;
        let column = EncryptedColumn::new("v", RANGE);
        let slots = params.ckks().max_slots();
        let vectors: usize = (0..GROUPS.len())
            .map(|g| (0..rows).filter(|i| i / 7 % GROUPS.len() == g).count().div_ceil(slots))
            .sum();
        let needs = needs.map_with([Engine::Poly]);
        let declared = (vec![column], Some("g".to_string()));
        let vectors = vectors * copies;
        let world = Self::new(home, "numbers", params, &needs, &table, declared, vectors)?;
        let file = world.table.join("0.parquet");
        for i in 1..copies {
            let copy = world.table.join(format!("{i}.parquet"));
            fs::hard_link(&file, copy).map_err(Failure::run)?;
        }
        Ok(world)
    }

    /// A client with its keys in the store, and the encrypted table.
    pub fn new(
        home: &Path,
        name: &str,
        params: Params,
        needs: &Needs,
        table: &RecordBatch,
        (columns, group): (Vec<EncryptedColumn>, Option<String>),
        vectors: usize,
    ) -> Result<Self, Failure> {
        let client = ClientKey::generate(&params).map_err(Failure::run)?;
        let node = node(home, &format!("client-{name}"))?;
        let keys = client.evaluation_keys(needs).map_err(Failure::run)?;
        let key_bytes = keys.byte_len() as u64;
        let stored = node.keys().put_params(&params).map_err(Failure::run)?;
        let keys = node.keys().put_keys(&keys).map_err(Failure::run)?;
        node.keys().params(stored).map_err(Failure::run)?;
        let declared = TableOptions { params: stored, columns, group, most_vectors: vectors };
        // A folder: a table may have several files.
        let folder = home.join(name);
        fs::create_dir_all(&folder).map_err(Failure::run)?;
        let file = File::create(folder.join("0.parquet")).map_err(Failure::run)?;
        let mut writer = TableWriter::new(&client, declared, file).map_err(Failure::run)?;
        let slots = params.ckks().max_slots();
        for start in (0..table.num_rows()).step_by(slots) {
            let rows = slots.min(table.num_rows() - start);
            writer.write(&table.slice(start, rows)).map_err(Failure::run)?;
        }
        writer.finish().map_err(Failure::run)?;
        Ok(Self { client, node, params: stored, keys, key_bytes, table: folder, vectors })
    }

    /// A session in this process, with the table as `t`.
    pub async fn here(&self) -> Result<SessionContext, Failure> {
        let options = SessionOptions { keys: Some(self.keys), ..Default::default() };
        let session = session(&self.node, &options).map_err(Failure::run)?;
        register(&session, &self.table).await?;
        Ok(session)
    }

    /// A session on a cluster, with the table as `t` in so many partitions.
    pub async fn on(&self, cluster: &str, partitions: usize) -> Result<SessionContext, Failure> {
        remote(&self.node, self.keys, cluster, &self.table, partitions).await
    }
}

/// A session on a cluster.
pub async fn remote(
    node: &Arc<Node>,
    keys: Hash,
    cluster: &str,
    table: &Path,
    partitions: usize,
) -> Result<SessionContext, Failure> {
    let session = SessionOptions { keys: Some(keys), partitions, ..Default::default() };
    // Executors of this machine could read the files of a dead one.
    let options = ClientOptions { session, remote_shuffles: true, ..Default::default() };
    let session = connect(cluster, node, &options).map_err(Failure::run)?;
    register(&session, table).await?;
    Ok(session)
}

/// A hash of a result: of its polynomials, its scale, and its number of values. Its estimate of the
/// noise and its range are left out: they are sums of floating-point numbers, whose last bits
/// depend on their order.
pub fn bits(params: &Params, bytes: &[u8]) -> Result<Hash, Failure> {
    let x: Ciphertext = format::from_bytes(params, bytes).map_err(Failure::run)?;
    let polys = std::iter::once(x.lattice().b()).chain(x.lattice().masks());
    let words = polys.flat_map(|poly| poly.data()).copied();
    let words = words.chain([x.meta().scale.to_bits(), x.len() as u64]);
    Ok(Hash::of(&words.flat_map(u64::to_le_bytes).collect::<Vec<_>>()))
}

async fn register(session: &SessionContext, table: &Path) -> Result<(), Failure> {
    let options = ParquetReadOptions::default();
    let place = format!("{}/", table.display());
    session.register_parquet("t", place, options).await.map_err(Failure::run)
}
